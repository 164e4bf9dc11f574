/*
 * setup_calls.h - functions of Python's library and of well-known packages that make what a program makes once: a
 * loaded model, a session, a client, a context of TLS, a connection, a process, compiled code.
 */
#ifndef ISC_ANALYZE_VERDICT_SETUP_CALLS_H
#define ISC_ANALYZE_VERDICT_SETUP_CALLS_H

#include "trace/frame.h"

enum isc_setup {
	ISC_SETUP_NONE,
	ISC_SETUP_MODEL,      /* weights are read, layers are made */
	ISC_SETUP_FILE,	      /* a file is read and parsed */
	ISC_SETUP_CLIENT,     /* a client or session of a network library, a context of TLS */
	ISC_SETUP_CONNECTION, /* a connection is opened */
	ISC_SETUP_PROCESS,
	ISC_SETUP_CODE, /* code is imported or compiled */
	ISC_SETUPS
};

/* What a function of Python makes; none: nothing that is known here. */
enum isc_setup isc_setup_of(const isc_frame *frame);

/* "load_model": for JSON and rules files. */
const char *isc_setup_name(enum isc_setup what);

#endif

/*
 * native.h - places in native code, by name.
 */
#ifndef ISC_TRACE_NATIVE_H
#define ISC_TRACE_NATIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/reader.h"

/* Names are data of the program: escape them. */
typedef struct isc_native_name {
	const char *name,
		*file;	    /* of the source, "" without a line; names are borrowed from the trace, or from fallback */
	const char *module; /* the path of the program or library; "": none */
	uint32_t name_len, file_len, module_len;
	uint32_t line;	/* 0: not known */
	uint32_t flags; /* enum isc_native_place */
	char fallback[320];
} isc_native_name;

/* Is this definition a place in native code?  Then what it is called: by the recorder, or
 * else by its module and its offset there. */
bool isc_native_find(const isc_trace *tr, uint32_t process, uint32_t id, isc_native_name *out);

#endif

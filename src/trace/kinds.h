/*
 * kinds.h - events and waits by their names, as docs/trace-format.md has them.
 */
#ifndef ISC_TRACE_KINDS_H
#define ISC_TRACE_KINDS_H

/* NULL: there is none of this number. */
const char *isc_kind_name(unsigned kind);
const char *isc_wait_name(unsigned call);    /* enum isc_wait_call */
const char *isc_syscall_name(unsigned call); /* enum isc_syscall */
const char *isc_memory_name(unsigned call);  /* enum isc_memory_call */

#endif

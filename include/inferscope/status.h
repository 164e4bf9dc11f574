/*
 * status.h - what every function that can fail returns.
 *
 * A status says what kind of thing went wrong; the optional isc_error carries
 * the sentence for a person: what happened, and what to do about it.
 */
#ifndef INFERSCOPE_STATUS_H
#define INFERSCOPE_STATUS_H

#if defined(__GNUC__)
#define ISC_API __attribute__((visibility("default")))
#else
#define ISC_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum isc_status {
	ISC_OK = 0,
	ISC_ERR_NOMEM,	    /* no memory */
	ISC_ERR_SYSTEM,	    /* a system call failed; isc_error.sys has errno */
	ISC_ERR_DENIED,	    /* not permitted here */
	ISC_ERR_ABSENT,	    /* the thing asked for is not there */
	ISC_ERR_EXISTS,	    /* it is there already and not ours to replace */
	ISC_ERR_CORRUPT,    /* input is damaged or was made to mislead */
	ISC_ERR_VERSION,    /* input of a version this build does not read */
	ISC_ERR_INVALID,    /* a value the user gave is not valid */
	ISC_ERR_LIMIT,	    /* a stated limit was reached */
	ISC_ERR_UNSUPPORTED /* not on this system or in this build */
} isc_status;

typedef struct isc_error {
	isc_status status;
	int sys;	/* errno, or 0 */
	char what[256]; /* "cannot open trace x.isc: No such file or directory" */
	char hint[256]; /* "check the path"; empty when there is nothing to do */
} isc_error;

/* "damaged input", ...: the words for a status. */
ISC_API const char *isc_status_text(isc_status status);

#ifdef __cplusplus
}
#endif
#endif

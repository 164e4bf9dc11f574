/*
 * pywalk.h - Python frames, read from the outside of the interpreter.
 *
 * Runs in a signal handler on the thread whose frames they are, at any
 * instruction: frames may be half made.  Nothing is called, locked or changed;
 * every loop is bounded.  Loads may fault: call under isc_fault_arm(), or with a
 * reader that asks the kernel.  Signal-safe, all of it.
 */
#ifndef ISC_COLLECT_SAMPLE_PYWALK_H
#define ISC_COLLECT_SAMPLE_PYWALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/record.h"
#include "runtime/python.h"

/* How memory is read: by loads, or by process_vm_readv() where nobody would catch a fault. */
typedef struct isc_reach {
	bool careful;
	bool failed; /* of careful ones: some memory was not there */
	uint32_t pid;
} isc_reach;

__attribute__((cold)) bool isc_reach_carefully(isc_reach *r, uintptr_t at, void *to, size_t len);

static inline bool isc_reach_bytes(isc_reach *r, uintptr_t at, void *to, size_t len)
{
	if (__builtin_expect(r->careful, 0))
		return isc_reach_carefully(r, at, to, len);
	memcpy(to, (const void *)at, len);
	return true;
}

/* The calls of the interpreter that the frames belong to, newest first, as far as they are known. */
typedef struct isc_activations {
	int n;
	isc_python_activation at[ISC_STACK_FRAMES_MAX];
} isc_activations;

/* The frames of this thread, newest first; how many, -1 when it has no thread
 * state.  Adds to flags, of enum isc_sample_flag.  activations may be NULL. */
int isc_pywalk(const isc_python_layout *l, isc_reach *r, isc_python_frame *frames, int max,
	       isc_activations *activations, uint32_t *flags);

/* Tells a code object from others that had its address before; 0: this is none. */
uint64_t isc_pywalk_key(const isc_python_layout *l, isc_reach *r, uintptr_t code);

/* Its definition: isc_def_code and the texts behind it, as python/code.c writes it; its length. */
#define ISC_PYWALK_CODE_ROOM 4096u
size_t isc_pywalk_code(const isc_python_layout *l, isc_reach *r, uintptr_t code, char *to, size_t room);

/* The definition of its lines, except for the code's id; its length, 0 when there are none. */
size_t isc_pywalk_lines(const isc_python_layout *l, isc_reach *r, uintptr_t code, char *to, size_t room);

#endif

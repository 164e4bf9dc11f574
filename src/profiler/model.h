/*
 * model.h - a profile with names: what the files are written from.
 *
 * Stacks that read the same are one: several instructions may be on a line, and
 * several calls in a function without lines.  The tables lie in the memory of the
 * program, which may have written over them: every id is checked.
 */
#ifndef ISC_PROFILER_MODEL_H
#define ISC_PROFILER_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"
#include "runtime/profile.h"

typedef struct isc_profile_name {
	const char *symbol, *file; /* bytes that anybody chose; file "": not known */
	size_t symbol_len, file_len;
	uint32_t line; /* 0: not known */
} isc_profile_name;

typedef struct isc_profile_line {
	const uint32_t *name; /* root first; in isc_profile_model.name */
	uint32_t frames;
	uint32_t tid;
	uint64_t count; /* steps */
	uint64_t counted;
	int64_t memory;
} isc_profile_line;

typedef struct isc_profile_model {
	isc_arena *arena;
	isc_profile_name *name;
	size_t names, names_room;
	isc_profile_line *stack; /* most steps first */
	size_t stacks, stacks_room;
	uint64_t total; /* steps of all stacks */
	uint64_t other, unknown;
	uint64_t elapsed_us;
	uint32_t interval_us;
	int count_error, memory_error; /* errno: not known */
} isc_profile_model;

/* To be finished in any case. */
isc_status isc_profile_model_init(isc_profile_model *m, const isc_profile *p, isc_error *err);
void isc_profile_model_fini(isc_profile_model *m);

/* How long it has run, or ran. */
uint64_t isc_profile_elapsed_us(const isc_profile *p);

#endif

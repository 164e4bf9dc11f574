/*
 * table.h - the tables of a profile: frames, the tree of stacks, what each has.
 *
 * An entry is claimed by one compare-and-swap of its key and never moves, so its
 * place is its id.  Full is full: 0, and the caller counts the time as "(other)".
 * Signal-safe, all of it, and for any number of threads at once.
 */
#ifndef ISC_COLLECT_PROFILE_TABLE_H
#define ISC_COLLECT_PROFILE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/profile.h"

/* Mixes two numbers into a key that is never 0. */
uint64_t isc_profile_key(uint64_t a, uint64_t b);

/* The node of a frame that this node called (0: none did). */
uint32_t isc_profile_node(isc_profile *p, uint32_t parent, uint32_t frame);

/* The frame of a key; *fill: the caller is to fill it and then to say so. */
uint32_t isc_profile_frame_of(isc_profile *p, uint64_t key, bool *fill);
void isc_profile_frame_filled(isc_profile *p, uint32_t id, bool done);

/* What was entered for a key before; 0: nothing. */
uint64_t isc_profile_find(const isc_profile_entry *table, uint32_t size, uint64_t key);
void isc_profile_enter(isc_profile_entry *table, uint32_t size, _Atomic uint32_t *count, uint64_t key, uint64_t value);

/* Keeps a copy; where it lies in the profile's text, 0: there is no room. */
uint32_t isc_profile_keep(isc_profile *p, const void *data, size_t len);

/* What a sample adds. */
typedef struct isc_profile_sample {
	uint32_t node; /* 0: there was no room for it */
	uint32_t tid;
	uint64_t ns;
	uint64_t counted;
	int64_t memory;
} isc_profile_sample;

void isc_profile_count(isc_profile *p, const isc_profile_sample *s);

#endif

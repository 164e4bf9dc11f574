/*
 * definitions.h - every definition of a trace by process and id.  Internal to
 * trace/.
 */
#ifndef ISC_TRACE_DEFINITIONS_H
#define ISC_TRACE_DEFINITIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "base/status.h"

/* What a reader holds of definitions at most; a file that unpacks to more is
 * read without the rest. */
#define ISC_DEFINITIONS_MAX (512u << 20)

typedef struct isc_definition {
	const void *data;
	uint32_t process;
	uint32_t id;
	uint32_t len;
	uint16_t type;
} isc_definition;

typedef struct isc_definitions {
	isc_hashmap by_id;
	isc_definition *entry;
	size_t count, room;
	void **block; /* the payloads that entries point into */
	size_t blocks, blocks_room;
	uint64_t bytes;
} isc_definitions;

void isc_definitions_fini(isc_definitions *d);

/* Takes over what a chunk says, by copy.  ISC_ERR_CORRUPT, _LIMIT or _NOMEM;
 * what came before the fault is kept. */
isc_status isc_definitions_load(isc_definitions *d, uint32_t process, const uint8_t *raw, size_t len);

/* One more, by copy; it counts instead of an earlier one with this id. */
isc_status isc_definitions_add(isc_definitions *d, const isc_definition *definition);

const isc_definition *isc_definitions_find(const isc_definitions *d, uint32_t process, uint32_t id);

#endif

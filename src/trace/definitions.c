#include "trace/definitions.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "trace/records.h"

#define ENTRY_BYTES 96u /* an entry with its place in the map, which may be half empty */

void isc_definitions_fini(isc_definitions *d)
{
	for (size_t i = 0; i < d->blocks; i++)
		free(d->block[i]);
	free(d->block);
	free(d->entry);
	isc_hashmap_fini(&d->by_id);
	*d = (isc_definitions){0};
}

static isc_status add(isc_definitions *d, const isc_definition *definition)
{
	isc_definition *bigger = isc_grow(d->entry, d->count, &d->room, sizeof(*bigger));
	uint64_t *at;

	if (bigger == NULL)
		return ISC_ERR_NOMEM;
	d->entry = bigger;
	if (d->bytes + ENTRY_BYTES > ISC_DEFINITIONS_MAX)
		return ISC_ERR_LIMIT;
	at = isc_hashmap_put(&d->by_id, isc_hashmap_key(definition->process, definition->id), NULL);
	if (at == NULL)
		return ISC_ERR_NOMEM;
	*at = d->count;
	d->entry[d->count++] = *definition;
	d->bytes += ENTRY_BYTES;
	return ISC_OK;
}

isc_status isc_definitions_load(isc_definitions *d, uint32_t process, const uint8_t *raw, size_t len)
{
	void **bigger = isc_grow(d->block, d->blocks, &d->blocks_room, sizeof(*bigger));
	isc_definition def = {.process = process};
	isc_status st = ISC_OK;
	uint8_t *copy;
	isc_bytes b;

	if (bigger == NULL)
		return ISC_ERR_NOMEM;
	d->block = bigger;
	if (d->bytes + len > ISC_DEFINITIONS_MAX)
		return ISC_ERR_LIMIT;
	copy = malloc(len + 1);
	if (copy == NULL)
		return ISC_ERR_NOMEM;
	memcpy(copy, raw, len);
	d->block[d->blocks++] = copy;
	d->bytes += len;
	b = (isc_bytes){copy, copy + len};
	while (st == ISC_OK && b.at < b.end)
		st = isc_record_get_define(&b, &def.id, &def.type, &def.data, &def.len) ? add(d, &def)
											: ISC_ERR_CORRUPT;
	return st;
}

const isc_definition *isc_definitions_find(const isc_definitions *d, uint32_t process, uint32_t id)
{
	const uint64_t *at = isc_hashmap_find(&d->by_id, isc_hashmap_key(process, id));

	return at != NULL ? &d->entry[*at] : NULL;
}

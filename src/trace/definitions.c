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

/* Room in a block of its own; NULL with why in *st. */
static uint8_t *copy_of(isc_definitions *d, const void *data, size_t len, isc_status *st)
{
	void **bigger = isc_grow(d->block, d->blocks, &d->blocks_room, sizeof(*bigger));
	uint8_t *copy;

	*st = ISC_ERR_NOMEM;
	if (bigger == NULL)
		return NULL;
	d->block = bigger;
	*st = d->bytes + len > ISC_DEFINITIONS_MAX ? ISC_ERR_LIMIT : ISC_ERR_NOMEM;
	copy = *st == ISC_ERR_NOMEM ? malloc(len + 1) : NULL;
	if (copy == NULL)
		return NULL;
	memcpy(copy, data, len);
	d->block[d->blocks++] = copy;
	d->bytes += len;
	*st = ISC_OK;
	return copy;
}

isc_status isc_definitions_add(isc_definitions *d, const isc_definition *definition)
{
	isc_definition mine = *definition;
	isc_status st;

	mine.data = copy_of(d, definition->data, definition->len, &st);
	return mine.data != NULL ? add(d, &mine) : st;
}

isc_status isc_definitions_load(isc_definitions *d, uint32_t process, const uint8_t *raw, size_t len)
{
	isc_definition def = {.process = process};
	isc_status st;
	uint8_t *copy = copy_of(d, raw, len, &st);
	isc_byte_range b;

	if (copy == NULL)
		return st;
	b = (isc_byte_range){copy, copy + len};
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

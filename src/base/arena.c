#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Large enough that a usual analysis takes a handful of blocks, small enough
 * that an empty one costs nothing worth mentioning. */
#define BLOCK_BYTES (64u << 10)
#define ALIGNMENT _Alignof(max_align_t)

struct isc_arena_block {
	struct isc_arena_block *next;
	size_t used;
	size_t size;
	_Alignas(max_align_t) unsigned char data[];
};

isc_arena *isc_arena_new(void)
{
	return calloc(1, sizeof(isc_arena));
}

void isc_arena_free(isc_arena *a)
{
	struct isc_arena_block *block, *next;

	if (a == NULL)
		return;
	for (block = a->block; block != NULL; block = next) {
		next = block->next;
		free(block);
	}
	free(a);
}

static struct isc_arena_block *add_block(isc_arena *a, size_t bytes)
{
	size_t size = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
	struct isc_arena_block *block = calloc(1, sizeof(*block) + size);

	if (block == NULL)
		return NULL;
	block->size = size;
	a->total_bytes += size;
	/* A block made for one large thing is full at once: it goes behind the
	 * newest one, which may still have room. */
	if (bytes > BLOCK_BYTES && a->block != NULL) {
		block->next = a->block->next;
		a->block->next = block;
	} else {
		block->next = a->block;
		a->block = block;
	}
	return block;
}

void *isc_arena_alloc(isc_arena *a, size_t bytes)
{
	struct isc_arena_block *block = a->block;
	void *at;

	if (bytes > SIZE_MAX / 4)
		goto failed;
	bytes = (bytes + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
	if (block == NULL || block->size - block->used < bytes) {
		block = add_block(a, bytes);
		if (block == NULL)
			goto failed;
	}
	at = block->data + block->used;
	block->used += bytes;
	return at;
failed:
	a->failed = true;
	return NULL;
}

void *isc_arena_array(isc_arena *a, size_t n, size_t size)
{
	if (size != 0 && n > SIZE_MAX / 4 / size) {
		a->failed = true;
		return NULL;
	}
	return isc_arena_alloc(a, n * size);
}

char *isc_arena_copy(isc_arena *a, const void *data, size_t len)
{
	char *at = len < SIZE_MAX ? isc_arena_alloc(a, len + 1) : NULL;

	if (at != NULL && len > 0)
		memcpy(at, data, len);
	return at;
}

char *isc_arena_format(isc_arena *a, const char *format, ...)
{
	va_list args;
	char *at;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0) {
		a->failed = true;
		return NULL;
	}
	at = isc_arena_alloc(a, (size_t)len + 1);
	if (at == NULL)
		return NULL;
	va_start(args, format);
	vsnprintf(at, (size_t)len + 1, format, args);
	va_end(args);
	return at;
}

void *isc_arena_push(isc_arena *a, void *items, size_t *count, size_t *room, size_t size)
{
	/* items points to a pointer of any type; memcpy keeps that within the rules. */
	unsigned char *at;

	memcpy(&at, items, sizeof(at));
	if (*count == *room) {
		size_t more = *room == 0 ? 16 : *room * 2;
		unsigned char *grown = isc_arena_array(a, more, size);

		if (grown == NULL)
			return NULL;
		if (*count > 0)
			memcpy(grown, at, *count * size);
		at = grown;
		memcpy(items, &at, sizeof(at));
		*room = more;
	}
	return at + (*count)++ * size;
}

#include "trace/source.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LIVE_TRIES 4	/* a chunk that is being written is whole a moment later */
#define WAITS_MAX 32	/* in all: a broken file is not worth more */

void isc_source_fini(isc_source *s)
{
	isc_codec_fini(&s->codec);
	free(s->stored);
	free(s->raw);
	*s = (isc_source){.fd = -1};
}

static bool reserve(uint8_t **bytes, size_t *room, size_t want)
{
	uint8_t *bigger;

	if (want <= *room)
		return true;
	bigger = realloc(*bytes, want);
	if (bigger == NULL)
		return false;
	*bytes = bigger;
	*room = want;
	return true;
}

static bool same(const isc_chunk_header *h, const isc_chunk_ref *ref)
{
	return h->sequence == ref->sequence && h->type == ref->type && h->stream == ref->stream &&
	       h->process == ref->process && h->thread == ref->thread && h->number == ref->number &&
	       h->events == ref->events && h->slots == ref->slots && h->stored_size == ref->stored_size;
}

static int read_once(isc_source *s, const isc_chunk_ref *ref)
{
	size_t bytes = sizeof(s->header) + ref->stored_size;

	if (ref->stored_size > ISC_CHUNK_RAW_MAX)
		return ISC_SOURCE_BAD;
	if (!reserve(&s->stored, &s->stored_room, bytes))
		return ISC_SOURCE_NOMEM;
	if (!isc_file_read(s->fd, s->stored, bytes, ref->offset))
		return ISC_SOURCE_BAD;
	memcpy(&s->header, s->stored, sizeof(s->header));
	if (!isc_chunk_header_holds(&s->header) || !same(&s->header, ref))
		return s->live ? ISC_SOURCE_GONE : ISC_SOURCE_BAD;
	if (!reserve(&s->raw, &s->raw_room, s->header.raw_size + 1u))
		return ISC_SOURCE_NOMEM;
	switch (isc_codec_unpack(&s->codec, &s->header, s->stored + sizeof(s->header), s->raw)) {
	case ISC_OK:
		return ISC_SOURCE_OK;
	case ISC_ERR_NOMEM:
		return ISC_SOURCE_NOMEM;
	default:
		return ISC_SOURCE_BAD;
	}
}

int isc_source_read(isc_source *s, const isc_chunk_ref *ref)
{
	int result = read_once(s, ref);

	for (int i = 1; i < LIVE_TRIES && s->live && result == ISC_SOURCE_BAD && s->waited < WAITS_MAX; i++) {
		s->waited++;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		result = read_once(s, ref);
	}
	return result;
}

#include "trace/file/chunk_source.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* A chunk that is being written is whole a moment later, or much later when its
 * writer lost the CPU in the middle.  In all a broken file is not worth more. */
#define WAIT_FIRST_MS 1u
#define WAIT_CHUNK_MS 128u
#define WAIT_ALL_MS 400u
#define FRESH_S 2 /* who writes does so at least four times a second */

void isc_chunk_source_fini(isc_chunk_source *s)
{
	isc_codec_fini(&s->codec);
	free(s->stored);
	free(s->raw);
	*s = (isc_chunk_source){.fd = -1};
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

static int read_once(isc_chunk_source *s, const isc_chunk_ref *ref)
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

static bool is_fresh(int fd)
{
	struct timespec now;
	struct stat sb;

	return fstat(fd, &sb) == 0 && clock_gettime(CLOCK_REALTIME, &now) == 0 &&
	       sb.st_mtim.tv_sec + FRESH_S >= now.tv_sec;
}

bool isc_chunk_source_wait(isc_chunk_source *s, unsigned ms)
{
	if (!s->live || s->waited_ms + ms > WAIT_ALL_MS || !is_fresh(s->fd))
		return false;
	s->waited_ms += ms;
	nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
	return true;
}

int isc_chunk_source_read(isc_chunk_source *s, const isc_chunk_ref *ref)
{
	int result = read_once(s, ref);

	for (unsigned ms = WAIT_FIRST_MS;
	     result == ISC_SOURCE_BAD && ms <= WAIT_CHUNK_MS && isc_chunk_source_wait(s, ms); ms *= 2)
		result = read_once(s, ref);
	return result;
}

#include "trace/file/space.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "trace/file/chunk.h"

void isc_space_fini(isc_space *s)
{
	free(s->segment);
	s->segment = NULL;
	s->count = s->room = 0;
}

uint32_t isc_space_available(const isc_space *s)
{
	return s->in_use[0] + (s->plan.segments - s->count);
}

bool isc_space_fits_empty(const isc_space *s, uint32_t stored_size)
{
	return sizeof(isc_chunk_header) + isc_chunk_extent(stored_size) <= s->plan.segment_size;
}

bool isc_space_fits(const isc_space *s, int use, uint32_t stored_size)
{
	const isc_segment *seg;

	if (s->current[use] == 0)
		return false;
	seg = &s->segment[s->current[use] - 1];
	return (seg->used ? seg->used : sizeof(isc_chunk_header)) + isc_chunk_extent(stored_size) <=
	       s->plan.segment_size;
}

isc_status isc_space_status(const isc_space *s, isc_error *err)
{
	if (s->error.status != ISC_OK && err != NULL)
		*err = s->error;
	return s->error.status;
}

isc_status isc_space_take(isc_space *s, int use, uint64_t checkpoint, isc_error *err)
{
	uint32_t i = 0;

	if (isc_space_available(s) == 0)
		return isc_fail(err, ISC_ERR_LIMIT, "the trace is full");
	if (s->in_use[0] > 0) {
		while (s->segment[i].use != 0)
			i++;
		s->in_use[0]--;
	} else {
		if (s->count == s->room) {
			uint32_t room = s->room ? s->room * 2 : 64;
			isc_segment *bigger = realloc(s->segment, room * sizeof(*bigger));

			if (bigger == NULL)
				return isc_fail(err, ISC_ERR_NOMEM, "no memory for the trace's segments");
			s->segment = bigger;
			s->room = room;
		}
		i = s->count++;
	}
	s->segment[i] = (isc_segment){.use = (uint8_t)use, .checkpoint = checkpoint};
	s->in_use[use]++;
	s->current[use] = i + 1;
	return ISC_OK;
}

void isc_space_release(isc_space *s, uint32_t segment)
{
	isc_segment *seg = &s->segment[segment];

	if (s->current[seg->use] == segment + 1)
		s->current[seg->use] = 0;
	s->in_use[seg->use]--;
	s->in_use[0]++;
	*seg = (isc_segment){0};
}

void isc_space_empty(isc_space *s, uint32_t segment)
{
	uint64_t start = s->plan.segment_size * (uint64_t)segment + ISC_PLAN_SEGMENT_START;

	/* When it cannot be, old chunks stay until they are written over, as ever. */
	(void)fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)start, s->plan.segment_size);
}

/* Writes all of it; a partly written chunk is told by its hash. */
static bool write_all(int fd, struct iovec *iov, int n, uint64_t offset)
{
	while (n > 0) {
		ssize_t done = pwritev(fd, iov, n, (off_t)offset);

		if (done < 0 && errno == EINTR)
			continue;
		if (done == 0)
			errno = ENOSPC;
		if (done <= 0)
			return false;
		offset += (uint64_t)done;
		while (n > 0 && (size_t)done >= iov->iov_len) {
			done -= (ssize_t)iov->iov_len;
			iov++;
			n--;
		}
		if (n > 0) {
			iov->iov_base = (char *)iov->iov_base + done;
			iov->iov_len -= (size_t)done;
		}
	}
	return true;
}

isc_status isc_space_write(isc_space *s, int use, isc_chunk_header *h, const void *payload, isc_error *err)
{
	static const uint8_t zeros[16];
	isc_segment *seg = &s->segment[s->current[use] - 1];
	uint64_t start = s->plan.segment_size * (uint64_t)(s->current[use] - 1) + ISC_PLAN_SEGMENT_START, end;
	uint32_t used = seg->used, sequence = s->sequence;
	size_t padding = isc_chunk_extent(h->stored_size) - sizeof(*h) - h->stored_size;
	isc_chunk_header head = {.type = ISC_CHUNK_SEGMENT, .slots = (uint32_t)use, .number = seg->checkpoint};
	struct iovec iov[5];
	int n = 0;

	if (s->error.status != ISC_OK)
		return isc_space_status(s, err);
	if (used == 0) {
		head.sequence = ++sequence;
		isc_codec_pack(&(isc_codec_state){0}, &head, zeros, 0);
		isc_chunk_seal(&head);
		iov[n++] = (struct iovec){&head, sizeof(head)};
	}
	h->sequence = ++sequence;
	isc_chunk_seal(h);
	iov[n++] = (struct iovec){h, sizeof(*h)};
	if (h->stored_size > 0)
		iov[n++] = (struct iovec){(void *)(uintptr_t)payload, h->stored_size};
	end = (used == 0 ? sizeof(head) : used) + isc_chunk_extent(h->stored_size);
	/* Zeros behind it hide what an earlier use of the segment left there. */
	if (end + 8 <= s->plan.segment_size)
		padding += 8;
	if (padding > 0)
		iov[n++] = (struct iovec){(void *)(uintptr_t)zeros, padding};
	if (!write_all(s->fd, iov, n, start + used)) {
		int sys = errno;

		/* The part of it that may stand there ends as cleanly as it can. */
		if (pwrite(s->fd, zeros, 8, (off_t)(start + used)) < 0)
			errno = sys;
		errno = sys;
		isc_fail_errno(&s->error, "cannot write the trace");
		if (sys == ENOSPC || sys == EDQUOT)
			isc_hint(&s->error, "free some space, or write elsewhere with --trace PATH");
		else if (sys == EFBIG)
			isc_hint(&s->error, "raise the file size limit (ulimit -f), or lower --trace-size-mb");
		return isc_space_status(s, err);
	}
	if (used == 0)
		seg->first = head.sequence;
	seg->last = h->sequence;
	seg->used = (uint32_t)end;
	seg->events += h->type == ISC_CHUNK_EVENTS ? h->events : 0;
	s->chunks += sequence - s->sequence;
	s->sequence = sequence;
	end += start;
	if (end < start + s->plan.segment_size)
		end += 8;
	if (end > s->file_bytes)
		s->file_bytes = end;
	return ISC_OK;
}

#include "timeline/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/temporary.h"

/* Of a run in the file, read at a time. */
#define RUN_BUFFER_BYTES (64u << 10)

struct run {
	off_t begin, at, end; /* from at on it is not read yet */
	char *buffer;
	size_t have, used; /* records in the buffer, and given */
};

struct isc_spool {
	size_t size, most; /* bytes of a record, records in memory */
	int (*compare)(const void *, const void *);
	char *records;
	size_t count, room;
	bool unsorted;
	uint64_t total;
	int fd;
	off_t file_end;
	struct run *runs; /* in the file */
	size_t run_count, run_room;
	char *probe;  /* one record of a run */
	size_t *heap; /* runs by their next record, smallest first */
	size_t heap_count;
	bool sorted;	  /* rewound: nothing is added */
	bool step_needed; /* the top of the heap was given and is to be moved on */
	size_t given;	  /* with no run in the file */
	isc_error failed;
};

isc_status isc_spool_new(size_t size, int (*compare)(const void *, const void *), size_t memory_bytes, isc_spool **out,
			 isc_error *err)
{
	isc_spool *s = calloc(1, sizeof(*s));

	*out = s;
	if (s == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to sort records");
	s->size = size;
	s->most = memory_bytes / size > 16 ? memory_bytes / size : 16;
	s->compare = compare;
	s->fd = -1;
	return ISC_OK;
}

void isc_spool_free(isc_spool *s)
{
	if (s == NULL)
		return;
	for (size_t i = 0; i < s->run_count; i++)
		free(s->runs[i].buffer);
	if (s->fd >= 0)
		close(s->fd);
	free(s->runs);
	free(s->heap);
	free(s->probe);
	free(s->records);
	free(s);
}

static isc_status no_memory(isc_error *err)
{
	return isc_fail(err, ISC_ERR_NOMEM, "no memory to sort records");
}

static isc_status open_file(isc_spool *s, isc_error *err)
{
	static const char *const made[] = {"spool", NULL};
	const char *folder = getenv("TMPDIR");
	isc_temporary named;
	isc_status st;

	if (folder == NULL || folder[0] == 0)
		folder = "/tmp";
	s->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (s->fd >= 0)
		return ISC_OK;
	/* Not every file system can make a file without a name. */
	st = isc_temporary_make(&named, "inferscope", err);
	if (st == ISC_OK && (s->fd = isc_temporary_create(&named, made[0])) < 0)
		st = isc_fail_errno(err, "cannot make a temporary file in %.100s", folder);
	isc_temporary_remove(&named, made);
	if (st != ISC_OK)
		isc_hint(err, "set TMPDIR to a folder with room");
	return st;
}

static void sort(isc_spool *s)
{
	if (s->unsorted)
		qsort(s->records, s->count, s->size, s->compare);
	s->unsorted = false;
}

static isc_status write_all(isc_spool *s, const char *data, size_t len, isc_error *err)
{
	while (len > 0) {
		ssize_t n = pwrite(s->fd, data, len, s->file_end);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			isc_status st = isc_fail_errno(err, "cannot write a temporary file");

			isc_hint(err, "set TMPDIR to a folder with room");
			return st;
		}
		data += n;
		len -= (size_t)n;
		s->file_end += n;
	}
	return ISC_OK;
}

static struct run *add_run(isc_spool *s)
{
	if (s->run_count == s->run_room) {
		size_t room = s->run_room > 0 ? s->run_room * 2 : 16;
		struct run *runs = realloc(s->runs, room * sizeof(*runs));

		if (runs == NULL)
			return NULL;
		s->runs = runs;
		s->run_room = room;
	}
	s->runs[s->run_count] = (struct run){0};
	return &s->runs[s->run_count++];
}

static isc_status put_away(isc_spool *s, isc_error *err)
{
	isc_status st = s->fd < 0 ? open_file(s, err) : ISC_OK;
	struct run *run;

	if (st != ISC_OK)
		return st;
	run = add_run(s);
	if (run == NULL)
		return no_memory(err);
	sort(s);
	run->begin = run->at = s->file_end;
	st = write_all(s, s->records, s->count * s->size, err);
	run->end = s->file_end;
	s->count = 0;
	return st;
}

static isc_status grow(isc_spool *s, isc_error *err)
{
	size_t room = s->room > 0 ? s->room * 2 : 256;
	char *records;

	room = room < s->most ? room : s->most;
	records = realloc(s->records, room * s->size);
	if (records == NULL)
		return no_memory(err);
	s->records = records;
	s->room = room;
	return ISC_OK;
}

isc_status isc_spool_add(isc_spool *s, const void *record, isc_error *err)
{
	isc_status st = ISC_OK;
	char *at;

	if (s->count == s->most)
		st = put_away(s, err);
	if (st == ISC_OK && s->count == s->room)
		st = grow(s, err);
	if (st != ISC_OK)
		return st;
	at = s->records + s->count * s->size;
	memcpy(at, record, s->size);
	/* What comes in order, as most traces do, is not sorted again. */
	if (s->count > 0 && !s->unsorted)
		s->unsorted = s->compare(at - s->size, at) > 0;
	s->count++;
	s->total++;
	return ISC_OK;
}

/* ---- giving back ---- */

static const char *head_of(const isc_spool *s, size_t run)
{
	return s->runs[run].buffer + s->runs[run].used * s->size;
}

/* Puts the run at place where it belongs below. */
static void sink(isc_spool *s, size_t place)
{
	for (;;) {
		size_t child = place * 2 + 1, run = s->heap[place];

		if (child >= s->heap_count)
			return;
		if (child + 1 < s->heap_count &&
		    s->compare(head_of(s, s->heap[child + 1]), head_of(s, s->heap[child])) < 0)
			child++;
		if (s->compare(head_of(s, run), head_of(s, s->heap[child])) <= 0)
			return;
		s->heap[place] = s->heap[child];
		s->heap[child] = run;
		place = child;
	}
}

static bool read_at(isc_spool *s, char *to, size_t len, off_t at)
{
	while (len > 0) {
		ssize_t n = pread(s->fd, to, len, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			isc_fail_errno(&s->failed, "cannot read a temporary file");
			return false;
		}
		to += n;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

/* False: the run is at its end, or could not be read. */
static bool refill(isc_spool *s, struct run *run)
{
	size_t room = RUN_BUFFER_BYTES / s->size > 0 ? RUN_BUFFER_BYTES / s->size : 1;
	size_t len = room * s->size;

	run->used = run->have = 0;
	if (run->at >= run->end)
		return false;
	if ((off_t)len > run->end - run->at)
		len = (size_t)(run->end - run->at);
	if (!read_at(s, run->buffer, len, run->at))
		return false;
	run->at += (off_t)len;
	run->have = len / s->size;
	return true;
}

/* How many of these records are in front of one. */
static size_t count_before(const isc_spool *s, const char *records, size_t count, const void *record)
{
	size_t low = 0;

	while (low < count) {
		size_t middle = low + (count - low) / 2;

		if (s->compare(records + middle * s->size, record) < 0)
			low = middle + 1;
		else
			count = middle;
	}
	return low;
}

/* The same of a run in the file. */
static size_t count_before_in_file(isc_spool *s, const struct run *run, const void *record)
{
	size_t low = 0, high = (size_t)(run->end - run->begin) / s->size;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (!read_at(s, s->probe, s->size, run->begin + (off_t)(middle * s->size)))
			return 0;
		if (s->compare(s->probe, record) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* To the first record, or the first that is not in front of this one.  Who looks for records that lie near each other finds
 * them in the buffer. */
static void start_run(isc_spool *s, struct run *run, const void *record)
{
	if (record != NULL && run->have > 0 && s->compare(run->buffer, record) < 0 &&
	    s->compare(run->buffer + (run->have - 1) * s->size, record) >= 0) {
		run->used = count_before(s, run->buffer, run->have, record);
		return;
	}
	run->at = run->begin;
	if (record != NULL)
		run->at += (off_t)(count_before_in_file(s, run, record) * s->size);
	refill(s, run);
}

static isc_status make_buffers(isc_spool *s, isc_error *err)
{
	size_t room = RUN_BUFFER_BYTES / s->size > 0 ? RUN_BUFFER_BYTES / s->size : 1;

	s->heap = calloc(s->run_count, sizeof(*s->heap));
	s->probe = malloc(s->size);
	if (s->heap == NULL || s->probe == NULL)
		return no_memory(err);
	for (size_t i = 0; i < s->run_count; i++) {
		s->runs[i].buffer = malloc(room * s->size);
		if (s->runs[i].buffer == NULL)
			return no_memory(err);
	}
	return ISC_OK;
}

static isc_status merge_runs(isc_spool *s, const void *record, isc_error *err)
{
	s->heap_count = 0;
	s->step_needed = false;
	for (size_t i = 0; i < s->run_count; i++) {
		start_run(s, &s->runs[i], record);
		if (s->runs[i].used < s->runs[i].have)
			s->heap[s->heap_count++] = i;
	}
	for (size_t i = s->heap_count / 2; i-- > 0;)
		sink(s, i);
	return isc_spool_failed(s, err);
}

/* The last records are sorted as well. */
static isc_status end_adding(isc_spool *s, isc_error *err)
{
	isc_status st = s->run_count > 0 && s->count > 0 ? put_away(s, err) : ISC_OK;

	if (st != ISC_OK)
		return st;
	sort(s);
	if (s->run_count > 0) {
		free(s->records);
		s->records = NULL;
		st = make_buffers(s, err);
	}
	s->sorted = st == ISC_OK;
	return st;
}

static isc_status start_at(isc_spool *s, const void *record, isc_error *err)
{
	isc_status st = s->sorted ? ISC_OK : end_adding(s, err);

	if (st == ISC_OK && s->run_count > 0)
		return merge_runs(s, record, err);
	s->given = record != NULL && st == ISC_OK ? count_before(s, s->records, s->count, record) : 0;
	return st;
}

isc_status isc_spool_rewind(isc_spool *s, isc_error *err)
{
	return start_at(s, NULL, err);
}

isc_status isc_spool_seek(isc_spool *s, const void *record, isc_error *err)
{
	return start_at(s, record, err);
}

const void *isc_spool_next(isc_spool *s)
{
	struct run *run;

	if (s->run_count == 0)
		return s->given < s->count ? s->records + s->size * s->given++ : NULL;
	if (s->step_needed) {
		run = &s->runs[s->heap[0]];
		run->used++;
		if (run->used == run->have && !refill(s, run))
			s->heap[0] = s->heap[--s->heap_count];
		if (s->failed.status != ISC_OK)
			return NULL;
		if (s->heap_count > 0)
			sink(s, 0);
	}
	s->step_needed = s->heap_count > 0;
	return s->heap_count > 0 ? head_of(s, s->heap[0]) : NULL;
}

isc_status isc_spool_failed(const isc_spool *s, isc_error *err)
{
	if (s->failed.status != ISC_OK && err != NULL)
		*err = s->failed;
	return s->failed.status;
}

uint64_t isc_spool_count(const isc_spool *s)
{
	return s->total;
}

uint64_t isc_spool_runs(const isc_spool *s)
{
	return s->run_count;
}

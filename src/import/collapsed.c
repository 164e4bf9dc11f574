/*
 * collapsed.c - stacks as flame graphs are drawn from: a line for each, functions
 * from the outermost on with semicolons between them, a blank and a count.
 *
 * What is counted is not said.  A count is taken for a microsecond, as in our own
 * files of calls, and the reader of the report is told.
 */
#include <stdlib.h>
#include <string.h>

#include "import/number.h"
#include "import/reader.h"

#define LINE_MOST (4u << 20)
#define FRAMES_MOST (ISC_STACK_DEPTH_MOST + 1) /* one more is one too many, and counted */

/* Where the count begins; NULL: there is none. */
static const char *count_of(const char *line, size_t len, uint64_t *count)
{
	const char *blank = memrchr(line, ' ', len);
	int64_t whole;

	if (blank == NULL || blank == line)
		return NULL;
	/* Some tools write what a sampler weighs as a fraction. */
	if (!isc_number_whole(blank + 1, len - (size_t)(blank + 1 - line), count)) {
		if (!isc_number_scaled(blank + 1, len - (size_t)(blank + 1 - line), 0, &whole) || whole < 0)
			return NULL;
		*count = (uint64_t)whole;
	}
	return blank;
}

static size_t trim(const char *line, size_t len)
{
	while (len > 0 && (line[len - 1] == '\r' || line[len - 1] == ' ' || line[len - 1] == '\t'))
		len--;
	return len;
}

bool isc_collapsed_is(const char *head, size_t len, bool whole)
{
	const char *line = head, *end = head + len;
	uint64_t count;

	while (line < end) {
		const char *stop = memchr(line, '\n', (size_t)(end - line));
		size_t n = trim(line, (size_t)((stop != NULL ? stop : end) - line));

		if (stop == NULL && !whole) /* a line that goes on: one of functions has nothing but text */
			return line > head || (memchr(line, ';', n) != NULL && memchr(line, 0, n) == NULL);
		if (n > 0 && line[0] != '#')
			return memchr(line, 0, n) == NULL && count_of(line, n, &count) != NULL;
		line = stop != NULL ? stop + 1 : end;
	}
	return false;
}

/* Texts that were written into the buffer of pieces, which has its last place now. */
static bool settle(const isc_reader *r, isc_text *names, size_t n)
{
	const char *at = r->piece.data;

	for (size_t i = 0; i < n && !r->piece.failed; i++) {
		if (names[i].at != NULL)
			continue;
		names[i].at = at;
		at += names[i].len;
	}
	return !r->piece.failed;
}

static isc_status take_line(isc_reader *r, const char *line, size_t len, isc_error *err)
{
	isc_text names[FRAMES_MOST];
	const char *blank, *end;
	uint64_t count = 0;
	size_t n = 0;

	len = trim(line, len);
	if (len == 0 || line[0] == '#')
		return ISC_OK;
	r->file->events++;
	blank = count_of(line, len, &count);
	if (blank == NULL) {
		r->file->malformed++;
		return ISC_OK;
	}
	end = line + trim(line, (size_t)(blank - line));
	isc_buffer_clear(&r->piece);
	while (line <= end && n < FRAMES_MOST) {
		const char *stop = memchr(line, ';', (size_t)(end - line));

		stop = stop != NULL ? stop : end;
		names[n++] = isc_reader_function_text(r, line, (size_t)(stop - line));
		line = stop + 1;
	}
	if (!settle(r, names, n))
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to read the stacks");
	return isc_reader_sample(r, names, n, count, count < INT64_MAX / 1000 ? (int64_t)count * 1000 : INT64_MAX, err);
}

isc_status isc_collapsed_read(isc_reader *r, isc_bytes *bytes, isc_error *err)
{
	char *line = malloc(LINE_MOST);
	isc_status st = line != NULL ? ISC_OK : isc_fail(err, ISC_ERR_NOMEM, "no memory to read the stacks");
	size_t len = 0, got = 1;
	bool skipping = false;

	r->file->format = "collapsed stacks";
	r->file->no_unit = true;
	while (st == ISC_OK && got > 0) {
		char *at = line, *stop;

		st = isc_bytes_read(bytes, line + len, LINE_MOST - len, &got, err);
		len += got;
		while (st == ISC_OK && (stop = memchr(at, '\n', len - (size_t)(at - line))) != NULL) {
			if (!skipping)
				st = take_line(r, at, (size_t)(stop - at), err);
			skipping = false;
			at = stop + 1;
		}
		len -= (size_t)(at - line);
		memmove(line, at, len);
		if (len == LINE_MOST) { /* no stack is that long */
			r->file->malformed += !skipping;
			skipping = true;
			len = 0;
		}
	}
	if (st == ISC_OK && len > 0 && !skipping)
		st = take_line(r, line, len, err);
	free(line);
	return st;
}

/*
 * stacks.c - functions and stacks of other tools, in the words of the timeline: a
 * function with a place is "path/file.py(12): name".
 */
#include <string.h>

#include "import/reader.h"

/* A name as it is, however long; 0: no memory. */
static uint32_t take_piece(isc_reader *r)
{
	r->nameless |= r->piece.failed;
	return r->piece.failed ? 0 : isc_timeline_name(r->timeline, r->piece.data, r->piece.len);
}

static void add_placed(isc_reader *r, const char *file, size_t file_len, uint64_t line, const char *name,
		       size_t name_len)
{
	isc_buffer_add(&r->piece, file, file_len);
	isc_buffer_format(&r->piece, "(%llu): ", (unsigned long long)line);
	isc_buffer_add(&r->piece, name, name_len);
}

uint32_t isc_reader_placed(isc_reader *r, const char *file, size_t file_len, uint64_t line, const char *name,
			   size_t name_len)
{
	isc_buffer_clear(&r->piece);
	add_placed(r, file, file_len, line, name, name_len);
	return take_piece(r);
}

uint32_t isc_reader_joined(isc_reader *r, yyjson_val *first, const char *between, yyjson_val *second)
{
	isc_buffer_clear(&r->piece);
	isc_buffer_add(&r->piece, yyjson_get_str(first), yyjson_get_len(first));
	isc_buffer_text(&r->piece, between);
	isc_buffer_add(&r->piece, yyjson_get_str(second), yyjson_get_len(second));
	return take_piece(r);
}

/* The line behind the last colon of "name (path/file.py:12)"; NULL: it has none. */
static const char *line_of(const char *open, const char *end, uint64_t *line)
{
	const char *colon = memrchr(open, ':', (size_t)(end - open)), *at;

	*line = 0;
	for (at = colon != NULL ? colon + 1 : end; at < end && *at >= '0' && *at <= '9' && *line < 100000000; at++)
		*line = *line * 10 + (uint64_t)(*at - '0');
	return colon != NULL && at == end && at > colon + 1 ? colon : NULL;
}

/* Is it "name (path/file.py:12)"?  Then where the file begins and ends. */
static bool is_placed(const char *name, size_t len, const char **open, const char **colon, uint64_t *line)
{
	*open = len > 3 && name[len - 1] == ')' ? memrchr(name, '(', len) : NULL;
	if (*open == NULL || *open < name + 2 || (*open)[-1] != ' ')
		return false;
	*colon = line_of(*open + 1, name + len - 1, line);
	return *colon != NULL && *colon > *open + 1;
}

uint32_t isc_reader_function(isc_reader *r, const char *name, size_t len)
{
	const char *open, *colon;
	uint64_t line;

	if (len == 0)
		return isc_timeline_name(r->timeline, "?", 1);
	if (!is_placed(name, len, &open, &colon, &line))
		return isc_timeline_name(r->timeline, name, len);
	return isc_reader_placed(r, open + 1, (size_t)(colon - open - 1), line, name, (size_t)(open - 1 - name));
}

isc_text isc_reader_function_text(isc_reader *r, const char *name, size_t len)
{
	const char *open, *colon;
	uint64_t line;
	size_t from = r->piece.len;

	if (len == 0)
		return (isc_text){"?", 1};
	if (!is_placed(name, len, &open, &colon, &line))
		return (isc_text){name, len};
	add_placed(r, open + 1, (size_t)(colon - open - 1), line, name, (size_t)(open - 1 - name));
	return (isc_text){NULL, r->piece.len - from};
}

isc_status isc_reader_stack(isc_reader *r, const uint32_t *names, size_t count, uint64_t samples, int64_t ns,
			    isc_error *err)
{
	isc_text texts[ISC_STACK_DEPTH_MOST + 1];

	count = count < ISC_STACK_DEPTH_MOST + 1 ? count : ISC_STACK_DEPTH_MOST + 1;
	for (size_t i = 0; i < count; i++)
		texts[i] = isc_timeline_text(r->timeline, names[i]);
	return isc_reader_sample(r, texts, count, samples, ns, err);
}

isc_status isc_reader_sample(isc_reader *r, const isc_text *names, size_t count, uint64_t samples, int64_t ns,
			     isc_error *err)
{
	r->sampled_ns = ns > 0 && r->sampled_ns <= INT64_MAX - ns ? r->sampled_ns + ns : r->sampled_ns;
	r->sampled |= samples > 0;
	return isc_timeline_stack(r->timeline, names, count, samples, ns, err);
}

/*
 * stacks.c - functions and stacks of other tools, in the words of the timeline: a
 * function with a place is "path/file.py(12): name".
 */
#include <stdio.h>
#include <string.h>

#include "import/reader.h"

#define NAME_BYTES 4096u
#define HALF (NAME_BYTES / 2 - 32)

uint32_t isc_reader_placed(isc_reader *r, const char *file, size_t file_len, uint64_t line, const char *name,
			   size_t name_len)
{
	char text[NAME_BYTES], number[24];
	size_t n = file_len < HALF ? file_len : HALF, m = name_len < HALF ? name_len : HALF;
	int digits = snprintf(number, sizeof(number), "(%llu): ", (unsigned long long)line);

	memcpy(text, file, n);
	memcpy(text + n, number, (size_t)digits);
	n += (size_t)digits;
	memcpy(text + n, name, m);
	return isc_timeline_name(r->timeline, text, n + m);
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

uint32_t isc_reader_function(isc_reader *r, const char *name, size_t len)
{
	const char *open = len > 3 && name[len - 1] == ')' ? memrchr(name, '(', len) : NULL, *colon;
	uint64_t line;

	if (len == 0)
		return isc_timeline_name(r->timeline, "?", 1);
	if (open == NULL || open < name + 2 || open[-1] != ' ')
		return isc_timeline_name(r->timeline, name, len);
	colon = line_of(open + 1, name + len - 1, &line);
	if (colon == NULL || colon == open + 1)
		return isc_timeline_name(r->timeline, name, len);
	return isc_reader_placed(r, open + 1, (size_t)(colon - open - 1), line, name, (size_t)(open - 1 - name));
}

isc_status isc_reader_stack(isc_reader *r, const uint32_t *names, size_t count, uint64_t samples, int64_t ns,
			    isc_error *err)
{
	r->sampled_ns = ns > 0 && r->sampled_ns <= INT64_MAX - ns ? r->sampled_ns + ns : r->sampled_ns;
	r->sampled |= samples > 0;
	return isc_timeline_stack(r->timeline, names, count, samples, ns, err);
}

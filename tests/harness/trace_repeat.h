/*
 * trace_repeat.h - parts of a trace as text that come again and again, written once:
 *
 *	repeat 20 100ms
 *	t1 @50ms span_enter request # 0
 *	again
 *
 * Every time behind an @ is later by 100 ms in each round, # is the number of the round, from 1; 200# puts digits
 * before it.
 */
#ifndef ISC_HARNESS_TRACE_REPEAT_H
#define ISC_HARNESS_TRACE_REPEAT_H

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"

static inline double repeat_us(const char *text, char **end)
{
	double number = strtod(text, end);
	double unit = strncmp(*end, "us", 2) == 0 ? 1 : strncmp(*end, "ms", 2) == 0 ? 1e3 : **end == 's' ? 1e6 : 0;

	*end += unit > 1e5 ? 1 : unit > 0 ? 2 : 0;
	return number * unit;
}

static inline void repeat_line(isc_buffer *out, const char *line, size_t len, unsigned round, double later_us)
{
	for (const char *at = line; at < line + len;) {
		bool begins = at == line || at[-1] == ' ' || (at[-1] >= '0' && at[-1] <= '9');
		char *end;

		if (*at == '@' && begins) {
			isc_buffer_format(out, "%.3fus", repeat_us(at + 1, &end) + later_us);
			at = end;
		} else if (*at == '#' && begins && at > line) {
			isc_buffer_format(out, "%u", round);
			at++;
		} else {
			isc_buffer_add(out, at++, 1);
		}
	}
	isc_buffer_add(out, "\n", 1);
}

/* The text with all rounds in it, to be freed; NULL: no memory. */
static inline char *repeat_expand(const char *text)
{
	isc_buffer out = {0};

	while (*text != 0) {
		size_t len = strcspn(text, "\n");
		const char *body = text[len] != 0 ? text + len + 1 : text + len, *stop = body;
		unsigned rounds = 0;
		char step[32] = "", *end;

		if (sscanf(text, "repeat %u %31s\n", &rounds, step) != 2) {
			isc_buffer_add(&out, text, len);
			isc_buffer_add(&out, "\n", 1);
			text = body;
			continue;
		}
		while (*stop != 0 && strncmp(stop, "again\n", 6) != 0)
			stop += strcspn(stop, "\n") + (stop[strcspn(stop, "\n")] != 0);
		for (unsigned i = 0; i < rounds; i++) {
			for (const char *line = body; line < stop; line += strcspn(line, "\n") + 1)
				repeat_line(&out, line, strcspn(line, "\n"), i + 1, i * repeat_us(step, &end));
		}
		text = *stop != 0 ? stop + 6 : stop;
	}
	isc_buffer_add(&out, "", 1);
	if (out.failed)
		isc_buffer_fini(&out);
	return out.data;
}

#endif

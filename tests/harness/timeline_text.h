/*
 * timeline_text.h - a timeline written as text, one thing a line:
 *
 *	gpu D sS FROM..TO KIND NAME cN	work of a device on a stream (kernel h2d d2h d2d memset)
 *	call tT FROM..TO NAME cN	a call of the GPU's library
 *	op|py|scope tT FROM..TO NAME	a span of a thread
 *
 * Times are nanoseconds.
 */
#ifndef TIMELINE_TEXT_H
#define TIMELINE_TEXT_H

#include <stdio.h>
#include <string.h>

#include "timeline/timeline.h"

static inline uint32_t name_in(isc_timeline *t, const char *name)
{
	return isc_timeline_name(t, name, strlen(name));
}

static inline void add_line(isc_timeline *t, uint32_t source, const char *line)
{
	static const char *const kinds[] = {"kernel", "h2d", "d2h", "d2d", "p2p", "copy", "memset"};
	long long from, to;
	unsigned device, stream, thread, correlation = 0;
	char what[16], kind[16], name[256];

	if (sscanf(line, "gpu %u s%u %lld..%lld %15s %255s c%u", &device, &stream, &from, &to, kind, name,
		   &correlation) >= 6) {
		isc_gpu_record r = {.start_ns = from,
				    .end_ns = to,
				    .stream = stream,
				    .correlation = correlation,
				    .domain = isc_timeline_domain(t, source, 0),
				    .device = isc_timeline_device(t, source, device),
				    .thread = ISC_GPU_UNKNOWN,
				    .bytes = 1000,
				    .name = name_in(t, name)};

		for (unsigned i = 0; i < 7; i++) {
			if (strcmp(kind, kinds[i]) == 0)
				r.kind = (uint8_t)i;
		}
		assert_int_equal(isc_timeline_add(t, &r, NULL), ISC_OK);
	} else if (sscanf(line, "call t%u %lld..%lld %255s c%u", &thread, &from, &to, name, &correlation) >= 4) {
		isc_gpu_record r = {.start_ns = from,
				    .end_ns = to,
				    .correlation = correlation,
				    .domain = isc_timeline_domain(t, source, 0),
				    .thread = isc_timeline_thread(t, source, 1, thread),
				    .name = name_in(t, name),
				    .kind = ISC_GPU_API};

		assert_int_equal(isc_timeline_add(t, &r, NULL), ISC_OK);
	} else if (sscanf(line, "%15s t%u %lld..%lld %255[^\n]", what, &thread, &from, &to, name) == 5) {
		isc_host_span s = {.start_ns = from,
				   .end_ns = to,
				   .thread = isc_timeline_thread(t, source, 1, thread),
				   .name = name_in(t, name)};

		s.kind = what[0] == 'o' ? ISC_HOST_OP : what[0] == 'p' ? ISC_HOST_PYTHON : ISC_HOST_SCOPE;
		assert_int_equal(isc_timeline_span(t, &s, NULL), ISC_OK);
	} else {
		fail_msg("no line of a timeline: %s", line);
	}
}

static inline void add_text(isc_timeline *t, uint32_t source, const char *text)
{
	char line[512];

	while (*text != 0) {
		size_t len = strcspn(text, "\n");

		assert_true(len < sizeof(line));
		memcpy(line, text, len);
		line[len] = 0;
		if (len > 0)
			add_line(t, source, line);
		text += len + (text[len] == '\n');
	}
}

#endif

/*
 * trace_gpu_words.h - records of GPUs for trace_text.h:
 *
 *	t1 3ms gpu_call launch clEnqueue 1ms 1.2ms 7 [holds] [device=0] [tid=9] [error=-5] ["run m.py 1 9" ...]
 *	t2 9ms gpu_work kernel gemm 0 2ms 3ms 7 [time=device] [stream=1] [bytes=64] [pinned]
 *	t2 9ms gpu_clock 0 1ms 501ms 1.01ms		device, host before, device, host after
 *	t2 1ms gpu_scope decode 7
 *	t2 1ms gpu_source OpenCL dropped [code=3] [count=7] [detail=cuptiSubscribe]
 *
 * Devices are those of OpenCL.  Times count from the start, those of a device from 0 of its clock.
 */
#ifndef ISC_HARNESS_TRACE_GPU_WORDS_H
#define ISC_HARNESS_TRACE_GPU_WORDS_H

#include <stdio.h>

#include "base/record.h"
#include "trace/gpu.h"
#include "trace_words.h"

struct gpu_maker {
	void *self;
	uint32_t process;
	uint32_t (*define)(void *self, uint32_t process, uint16_t type, const void *at, size_t len);
	uint32_t (*frame)(void *self, uint32_t process, uint32_t parent, const struct word *w);
	uint64_t start_ns;
};

static inline uint64_t gpu_time(const char *text)
{
	char *end;
	double number = strtod(text, &end);

	return (uint64_t)(number * (strcmp(end, "us") == 0   ? 1e3
				    : strcmp(end, "ms") == 0 ? 1e6
				    : strcmp(end, "s") == 0  ? 1e9
							     : 1) +
			  0.5);
}

static inline uint32_t gpu_device(const struct gpu_maker *m, const char *number)
{
	struct {
		isc_def_gpu head;
		char name[8];
	} def = {{(uint32_t)strtoul(number, NULL, 10), ISC_GPU_OPENCL, 0, 8}, "device "};

	def.name[7] = number[0];
	return m->define(m->self, m->process, ISC_DEF_GPU, &def, sizeof(def));
}

static inline const char *gpu_value(const struct word *w, const char *key)
{
	size_t len = strlen(key);

	return strncmp(w->at, key, len) == 0 && w->at[len] == '=' ? w->at + len + 1 : NULL;
}

static inline unsigned gpu_word_of(const char *(*name)(unsigned), const char *word)
{
	unsigned i = 0;

	while (i < 32 && (name(i) == NULL || strcmp(name(i), word) != 0))
		i++;
	return i;
}

static inline uint32_t gpu_called(const struct gpu_maker *m, const struct word *word, size_t words, isc_record *slot)
{
	isc_gpu_called c = {.start = m->start_ns + gpu_time(word[5].at),
			    .end = m->start_ns + gpu_time(word[6].at),
			    .correlation = strtoull(word[7].at, NULL, 10)};
	bool holds = false;

	for (size_t i = 8; i < words; i++) {
		const char *value;

		if (strcmp(word[i].at, "holds") == 0)
			holds = true;
		else if ((value = gpu_value(&word[i], "device")) != NULL)
			c.device = gpu_device(m, value);
		else if ((value = gpu_value(&word[i], "tid")) != NULL)
			c.tid = (uint32_t)strtoul(value, NULL, 10);
		else if ((value = gpu_value(&word[i], "error")) != NULL)
			c.error = (uint32_t)strtol(value, NULL, 10);
		else
			c.stack = m->frame(m->self, m->process, c.stack, &word[i]);
	}
	slot->id = m->define(m->self, m->process, ISC_DEF_STRING, word[4].at, word[4].len);
	slot->arg = ISC_GPU_ARG(gpu_word_of(isc_gpu_role_name, word[3].at), ISC_GPU_TIME_TICKS, 0, holds);
	memcpy(&slot[1], &c, sizeof(c));
	return 1 + sizeof(c) / sizeof(*slot);
}

static inline uint32_t gpu_work(const struct gpu_maker *m, const struct word *word, size_t words, isc_record *slot)
{
	isc_gpu_work w = {.start = gpu_time(word[6].at),
			  .end = gpu_time(word[7].at),
			  .correlation = strtoull(word[8].at, NULL, 10),
			  .device = gpu_device(m, word[5].at),
			  .grid = {4, 2, 1},
			  .block = {64, 1, 1}};
	unsigned time = ISC_GPU_TIME_MONOTONIC, page = ISC_PAGE_UNKNOWN;

	for (size_t i = 9; i < words; i++) {
		const char *value;

		if (strcmp(word[i].at, "time=device") == 0)
			time = ISC_GPU_TIME_DEVICE;
		else if (strcmp(word[i].at, "pinned") == 0 || strcmp(word[i].at, "pageable") == 0)
			page = word[i].at[1] == 'i' ? ISC_PAGE_PINNED : ISC_PAGE_PAGEABLE;
		else if ((value = gpu_value(&word[i], "stream")) != NULL)
			w.stream = strtoull(value, NULL, 10);
		else if ((value = gpu_value(&word[i], "bytes")) != NULL)
			w.bytes = strtoull(value, NULL, 10);
	}
	if (time == ISC_GPU_TIME_MONOTONIC && w.end != 0) {
		w.start += m->start_ns;
		w.end += m->start_ns;
	}
	slot->id = m->define(m->self, m->process, ISC_DEF_STRING, word[4].at, word[4].len);
	slot->arg = ISC_GPU_ARG(gpu_word_of(isc_gpu_job_name, word[3].at), time, page, 0);
	memcpy(&slot[1], &w, sizeof(w));
	return 1 + sizeof(w) / sizeof(*slot);
}

static inline uint32_t gpu_source(const struct gpu_maker *m, const struct word *word, size_t words, isc_record *slot)
{
	isc_gpu_source s = {0};

	for (size_t i = 5; i < words; i++) {
		const char *value;

		if ((value = gpu_value(&word[i], "code")) != NULL)
			s.code = (uint32_t)strtol(value, NULL, 10);
		else if ((value = gpu_value(&word[i], "count")) != NULL)
			s.count = strtoull(value, NULL, 10);
		else if ((value = gpu_value(&word[i], "detail")) != NULL)
			s.detail = m->define(m->self, m->process, ISC_DEF_STRING, value, strlen(value));
	}
	slot->id = m->define(m->self, m->process, ISC_DEF_GPU_SOURCE, word[3].at, word[3].len);
	slot->arg = (uint16_t)gpu_word_of(isc_gpu_news_name, word[4].at);
	memcpy(&slot[1], &s, sizeof(s));
	return 1 + sizeof(s) / sizeof(*slot);
}

static inline uint32_t gpu_scope(const struct gpu_maker *m, const struct word *word, isc_record *slot)
{
	isc_gpu_scope s = {.correlation = strtoull(word[4].at, NULL, 10)};

	slot->id = m->define(m->self, m->process, ISC_DEF_STRING, word[3].at, word[3].len);
	memcpy(&slot[1], &s, sizeof(s));
	return 1 + sizeof(s) / sizeof(*slot);
}

/* Its slots; 0: something is missing. */
static inline uint32_t gpu_words(const struct gpu_maker *m, const struct word *word, size_t words, isc_record *slot)
{
	isc_gpu_reading r;

	if (slot->kind == ISC_KIND_GPU_CALL)
		return words >= 8 ? gpu_called(m, word, words, slot) : 0;
	if (slot->kind == ISC_KIND_GPU_WORK)
		return words >= 9 ? gpu_work(m, word, words, slot) : 0;
	if (slot->kind == ISC_KIND_GPU_SOURCE)
		return words >= 5 ? gpu_source(m, word, words, slot) : 0;
	if (slot->kind == ISC_KIND_GPU_SCOPE)
		return words >= 5 ? gpu_scope(m, word, slot) : 0;
	if (words < 7)
		return 0;
	r = (isc_gpu_reading){.before = m->start_ns + gpu_time(word[4].at),
			      .device_ns = gpu_time(word[5].at),
			      .after = m->start_ns + gpu_time(word[6].at)};
	slot->id = gpu_device(m, word[3].at);
	memcpy(&slot[1], &r, sizeof(r));
	return 1 + sizeof(r) / sizeof(*slot);
}

#endif

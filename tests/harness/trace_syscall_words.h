/*
 * trace_syscall_words.h - records of system calls for trace_text.h:
 *
 *	t1 9ms syscalls read 2ms 100 [4096 [3 [1]]]	how long in all, how many, bytes, errors, slow ones
 *	t1 9ms syscall read 400us 4096 0 [about=/x] ["run m.py 1 9" ...]	how long, bytes, errno, frames
 *	t1 9ms syscall_errors read 11 3			errno, how many
 *	t1 9ms syscall_sample read 400ns 16 1024 ["run m.py 1 9" ...]	how long, bytes, calls that it stands for, frames
 */
#ifndef ISC_HARNESS_TRACE_SYSCALL_WORDS_H
#define ISC_HARNESS_TRACE_SYSCALL_WORDS_H

#include "base/syscall.h"
#include "trace/kinds.h"
#include "trace_gpu_words.h"

static inline uint64_t syscall_number(const struct word *word, size_t words, size_t at)
{
	return at < words ? strtoull(word[at].at, NULL, 10) : 0;
}

static inline uint32_t syscall_slow(const struct gpu_maker *m, const struct word *word, size_t words, isc_record *slot)
{
	isc_syscall_slow slow = {.ticks = gpu_time(word[4].at),
				 .bytes = syscall_number(word, words, 5),
				 .error = (uint32_t)syscall_number(word, words, 6)};

	for (size_t i = 7; i < words; i++) {
		const char *about = gpu_value(&word[i], "about");

		if (about != NULL)
			slow.detail = m->define(m->self, m->process, ISC_DEF_STRING, about, strlen(about));
		else
			slot->id = m->frame(m->self, m->process, slot->id, &word[i]);
	}
	memcpy(&slot[1], &slow, sizeof(slow));
	return 3;
}

static inline uint32_t syscall_sample(const struct gpu_maker *m, const struct word *word, size_t words,
				      isc_record *slot)
{
	isc_syscall_sample sample = {.ticks = gpu_time(word[4].at),
				     .bytes = syscall_number(word, words, 5),
				     .count = syscall_number(word, words, 6)};

	for (size_t i = 7; i < words; i++)
		slot->id = m->frame(m->self, m->process, slot->id, &word[i]);
	memcpy(&slot[1], &sample, sizeof(sample));
	return 3;
}

/* Its slots; 0: not understood. */
static inline uint32_t syscall_words(const struct gpu_maker *m, const struct word *word, size_t words, isc_record *slot)
{
	isc_syscall_sum sum = {0};
	isc_syscall_errors errors = {0};

	for (unsigned call = 1; call < ISC_SYSCALL_COUNT; call++) {
		if (strcmp(word[3].at, isc_syscall_name(call)) == 0)
			slot->arg = (uint16_t)call;
	}
	if (slot->arg == 0 || words < 6)
		return 0;
	if (slot->kind == ISC_KIND_SYSCALL)
		return syscall_slow(m, word, words, slot);
	if (slot->kind == ISC_KIND_SYSCALL_SAMPLE)
		return syscall_sample(m, word, words, slot);
	if (slot->kind == ISC_KIND_SYSCALL_ERRORS) {
		slot->id = (uint32_t)syscall_number(word, words, 4);
		errors.count = syscall_number(word, words, 5);
		memcpy(&slot[1], &errors, sizeof(errors));
		return 2;
	}
	sum.ticks = gpu_time(word[4].at);
	sum.count = syscall_number(word, words, 5);
	sum.bytes = syscall_number(word, words, 6);
	sum.errors = (uint32_t)syscall_number(word, words, 7);
	sum.slow = (uint32_t)syscall_number(word, words, 8);
	memcpy(&slot[1], &sum, sizeof(sum));
	return 3;
}

#endif

/*
 * trace_memory_words.h - records of memory for trace_text.h:
 *
 *	t1 1ms memory_source libc.so.6 0		whose malloc, flags
 *	t1 3ms memory_alloc malloc 7 40000 0 ["run m.py 1 9" ...]	address, bytes, mean of them between records
 *	t1 9ms memory_free malloc 7 40000 0 ["run m.py 1 9" ...]
 *	t1 9ms memory_total 2 10 400000 9 [1 65536]	when, calls, bytes, frees, mappings and bytes of those
 */
#ifndef ISC_HARNESS_TRACE_MEMORY_WORDS_H
#define ISC_HARNESS_TRACE_MEMORY_WORDS_H

#include "base/record.h"
#include "trace/kinds.h"
#include "trace_gpu_words.h"

/* Its slots; 0: something is missing. */
static inline uint32_t memory_words(const struct gpu_maker *m, const struct word *word, size_t words, isc_record *slot)
{
	uint64_t number[6] = {0};
	isc_memory_total total;
	isc_memory memory;

	for (size_t i = 0; i < 6 && i + 3 < words; i++)
		number[i] = strtoull(word[i + 3].at, NULL, 10);
	if (slot->kind == ISC_KIND_MEMORY_SOURCE) {
		slot->id = m->define(m->self, m->process, ISC_DEF_MEMORY, word[3].at, word[3].len);
		slot->arg = (uint16_t)number[1];
		return 1;
	}
	if (slot->kind == ISC_KIND_MEMORY_TOTAL) {
		total = (isc_memory_total){.calls = number[1],
					   .bytes = number[2],
					   .frees = number[3],
					   .maps = number[4],
					   .mapped_bytes = number[5],
					   .mean = 524288};
		slot->arg = (uint16_t)number[0];
		memcpy(&slot[1], &total, sizeof(total));
		return 5;
	}
	if (words < 7)
		return 0;
	for (unsigned call = 1; call < ISC_MEMORY_CALLS; call++)
		slot->arg = strcmp(word[3].at, isc_memory_name(call)) == 0 ? (uint16_t)call : slot->arg;
	memory = (isc_memory){
		.address = number[1], .bytes = number[2], .mean = (uint32_t)number[3], .node = ISC_NODE_UNKNOWN};
	memcpy(&slot[1], &memory, sizeof(memory));
	for (size_t i = 7; i < words; i++)
		slot->id = m->frame(m->self, m->process, slot->id, &word[i]);
	return 3;
}

#endif

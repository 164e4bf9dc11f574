/*
 * rule.c - what CFI says about an address, kept.
 *
 * Three tables for the process: rules by address, entries of .eh_frame by the code
 * that they cover, and stretches of code that no entry covers.  Handlers of several
 * threads write into them without waiting: what two of them wrote half each does
 * not match its key and is a miss.
 */
#include "collect/unwind/unwind.h"

#include <stdatomic.h>
#include <string.h>

#define RULES (1u << 14)   /* 256 KiB, touched as it fills */
#define ENTRIES (1u << 11) /* 128 KiB, likewise */
#define ENTRY_BLOCK 7	   /* bits of an address: of so much code one entry is kept */
#define GAPS 16u	   /* BLAS has a few large ones */
#define GAP_AT 1u	   /* instead of an entry: none covers this code */
#define NO_RULE UINT64_MAX /* instead of a rule: none applies */

_Static_assert(sizeof(isc_cfi_rule) == 8, "with its key a rule is 16 bytes");
/* key ^ data */
static struct {
	_Atomic uint64_t key, data;
} rules[RULES];

/* To search for an entry means a look at a dozen places of a large table, and to read it some more, all cold.  Each
 * is kept with the rule of the instructions that were asked for last: in a loop they are the same ones.
 * all: key ^ the other words.  One line of the cache. */
enum { ENTRY_FIRST, ENTRY_PAST, ENTRY_AT, ENTRY_ROW_FIRST, ENTRY_ROW_PAST, ENTRY_RULE, ENTRY_WORDS };
static _Alignas(64) struct {
	_Atomic uint64_t all, word[ENTRY_WORDS];
	uint64_t spare;
} entries[ENTRIES];

/* Code that has none.  all: tag ^ first ^ past. */
static struct {
	_Atomic uint64_t all, first, past;
} gaps[GAPS];
static _Atomic uint32_t gap_turn;

static isc_cfi_image image_of(const isc_module *m)
{
	return (isc_cfi_image){m->start, m->end, m->cfi};
}

static bool in_gap(const isc_module *m, uintptr_t ip, isc_cfi_entry *gap)
{
	for (uint32_t i = 0; i < GAPS; i++) {
		uint64_t first = atomic_load_explicit(&gaps[i].first, memory_order_relaxed);
		uint64_t past = atomic_load_explicit(&gaps[i].past, memory_order_relaxed);

		if (ip >= first && ip < past &&
		    (atomic_load_explicit(&gaps[i].all, memory_order_relaxed) ^ first ^ past) == m->tag) {
			*gap = (isc_cfi_entry){.first = first, .past = past, .at = GAP_AT};
			return true;
		}
	}
	return false;
}

static void keep_gap(const isc_module *m, uintptr_t ip)
{
	isc_cfi_image image = image_of(m);
	uintptr_t first, past;
	uint32_t i;

	if (!isc_cfi_gap(&image, ip, &first, &past))
		return;
	i = atomic_fetch_add_explicit(&gap_turn, 1, memory_order_relaxed) % GAPS;
	atomic_store_explicit(&gaps[i].first, first, memory_order_relaxed);
	atomic_store_explicit(&gaps[i].past, past, memory_order_relaxed);
	atomic_store_explicit(&gaps[i].all, m->tag ^ first ^ past, memory_order_relaxed);
}

/* Words of two writers at once must not cancel each other out: rows of one function differ alike. */
static uint64_t turned(uint64_t word, int i)
{
	unsigned by = 8u * (unsigned)i + 1;

	return word << by | word >> (64 - by);
}

/* What is kept under a key; false: nothing is. */
static bool read_entry(uint32_t at, uint64_t key, uint64_t *word)
{
	uint64_t all = atomic_load_explicit(&entries[at].all, memory_order_relaxed);

	for (int i = 0; i < ENTRY_WORDS; i++) {
		word[i] = atomic_load_explicit(&entries[at].word[i], memory_order_relaxed);
		all ^= turned(word[i], i);
	}
	return all == key && word[ENTRY_AT] != 0;
}

static void keep_entry(uint32_t at, uint64_t key, const isc_cfi_entry *entry, uint64_t rule)
{
	const uint64_t word[ENTRY_WORDS] = {entry->first,     entry->past,     entry->at,
					    entry->row_first, entry->row_past, rule};

	for (int i = 0; i < ENTRY_WORDS; i++) {
		atomic_store_explicit(&entries[at].word[i], word[i], memory_order_relaxed);
		key ^= turned(word[i], i);
	}
	atomic_store_explicit(&entries[at].all, key, memory_order_relaxed);
}

/* The rule at ip, with the entry that says it. */
static isc_cfi_rule entry_at(const isc_module *m, uintptr_t ip, isc_cfi_entry *entry)
{
	uint64_t key = ((ip >> ENTRY_BLOCK) * 0x9e3779b97f4a7c15ull ^ m->tag), word[ENTRY_WORDS], data;
	uint32_t at = (uint32_t)(key >> 53);
	isc_cfi_image image = image_of(m);
	isc_cfi_entry gap;
	isc_cfi_rule r;
	bool known;

	*entry = (isc_cfi_entry){0};
	known = read_entry(at, key, word);
	if (known && word[ENTRY_AT] == GAP_AT) {
		if (ip >= word[ENTRY_FIRST] && ip < word[ENTRY_PAST])
			return (isc_cfi_rule){.kind = ISC_CFI_NONE};
	} else if (known) {
		*entry = (isc_cfi_entry){word[ENTRY_FIRST], word[ENTRY_PAST], word[ENTRY_AT], word[ENTRY_ROW_FIRST],
					 word[ENTRY_ROW_PAST]};
		if (ip >= entry->row_first && ip < entry->row_past) {
			memcpy(&r, &word[ENTRY_RULE], sizeof(r));
			return r;
		}
	}
	if ((ip < entry->first || ip >= entry->past) && in_gap(m, ip, &gap)) {
		*entry = (isc_cfi_entry){0};
		/* One line of the cache instead of all gaps, the next time. */
		keep_entry(at, key, &gap, 0);
		return (isc_cfi_rule){.kind = ISC_CFI_NONE};
	}
	r = isc_cfi_at(&image, ip, entry);
	if (r.kind == ISC_CFI_NONE && entry->at == 0)
		keep_gap(m, ip);
	if (entry->at != 0) {
		memcpy(&data, &r, sizeof(data));
		keep_entry(at, key, entry, data);
	}
	return r;
}

isc_cfi_rule isc_unwind_rule(const isc_module *m, uintptr_t ip, isc_cfi_entry *entry)
{
	uint64_t key = (ip * 0x9e3779b97f4a7c15ull ^ m->tag), data, was;
	uint32_t at = (uint32_t)(key >> 50);
	isc_cfi_entry covers;
	isc_cfi_rule r;

	if (entry != NULL)
		return entry_at(m, ip, entry);
	data = atomic_load_explicit(&rules[at].data, memory_order_relaxed);
	was = atomic_load_explicit(&rules[at].key, memory_order_relaxed);
	if (data != 0 && (was ^ data) == key) {
		memcpy(&r, &data, sizeof(r));
		return data != NO_RULE ? r : (isc_cfi_rule){.kind = ISC_CFI_NONE};
	}
	r = entry_at(m, ip, &covers);
	memcpy(&data, &r, sizeof(r));
	/* A scan meets the same words again that are no code: each time that would be a search. */
	if (r.kind == ISC_CFI_NONE)
		data = NO_RULE;
	atomic_store_explicit(&rules[at].data, data, memory_order_relaxed);
	atomic_store_explicit(&rules[at].key, key ^ data, memory_order_relaxed);
	return r;
}

bool isc_unwind_function(const isc_unwind *u, uintptr_t ip, uintptr_t *first, uintptr_t *past)
{
	int module = isc_unwind_module(ip);
	isc_cfi_entry entry = u->entry;

	*first = *past = 0;
	if (module < 0)
		return false;
	if (u->newest != ip) {
		isc_module m = isc_unwind_known(module);

		entry_at(&m, ip, &entry);
	}
	*first = entry.first;
	*past = entry.past;
	return *past != 0;
}

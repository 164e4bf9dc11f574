/*
 * unwind_rule.c - what CFI says about an address, kept.
 *
 * Three tables for the process: rules by address, entries of .eh_frame by the code
 * that they cover, and stretches of code that no entry covers.  Handlers of several
 * threads write into them without waiting: what two of them wrote half each does
 * not match its key and is a miss.
 */
#include "collect/unwind.h"

#include <stdatomic.h>
#include <string.h>

#define RULES (1u << 14)   /* 256 KiB, touched as it fills */
#define ENTRIES (1u << 11) /* 64 KiB */
#define ENTRY_BLOCK 7	   /* bits of an address: of so much code one entry is kept */
#define GAPS 16u	   /* BLAS has a few large ones */

_Static_assert(sizeof(isc_cfi_rule) == 8, "with its key a rule is 16 bytes");
/* key ^ data */
static struct {
	_Atomic uint64_t key, data;
} rules[RULES];

/* To search for an entry means a look at a dozen places of a large table, all cold.
 * all: key ^ first ^ past ^ at. */
static struct {
	_Atomic uint64_t all, first, past, at;
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

static bool in_gap(const isc_module *m, uintptr_t ip)
{
	for (uint32_t i = 0; i < GAPS; i++) {
		uint64_t first = atomic_load_explicit(&gaps[i].first, memory_order_relaxed);
		uint64_t past = atomic_load_explicit(&gaps[i].past, memory_order_relaxed);

		if (ip >= first && ip < past &&
		    (atomic_load_explicit(&gaps[i].all, memory_order_relaxed) ^ first ^ past) == m->tag)
			return true;
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

/* The rule at ip, with the entry that says it. */
static isc_cfi_rule entry_at(const isc_module *m, uintptr_t ip, isc_cfi_entry *entry)
{
	uint64_t key = ((ip >> ENTRY_BLOCK) * 0x9e3779b97f4a7c15ull ^ m->tag), all;
	uint32_t at = (uint32_t)(key >> 53);
	isc_cfi_image image = image_of(m);
	isc_cfi_entry kept;
	isc_cfi_rule r;

	all = atomic_load_explicit(&entries[at].all, memory_order_relaxed);
	kept = (isc_cfi_entry){atomic_load_explicit(&entries[at].first, memory_order_relaxed),
			       atomic_load_explicit(&entries[at].past, memory_order_relaxed),
			       atomic_load_explicit(&entries[at].at, memory_order_relaxed)};
	if ((all ^ kept.first ^ kept.past ^ kept.at) != key)
		kept = (isc_cfi_entry){0, 0, 0};
	*entry = (isc_cfi_entry){0, 0, 0};
	if (kept.at == 0 && in_gap(m, ip))
		return (isc_cfi_rule){.kind = ISC_CFI_NONE};
	*entry = kept;
	r = isc_cfi_at(&image, ip, entry);
	if (r.kind == ISC_CFI_NONE && entry->at == 0)
		keep_gap(m, ip);
	if (entry->at != 0 && entry->at != kept.at) {
		atomic_store_explicit(&entries[at].first, entry->first, memory_order_relaxed);
		atomic_store_explicit(&entries[at].past, entry->past, memory_order_relaxed);
		atomic_store_explicit(&entries[at].at, entry->at, memory_order_relaxed);
		atomic_store_explicit(&entries[at].all, key ^ entry->first ^ entry->past ^ entry->at,
				      memory_order_relaxed);
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
		return r;
	}
	r = entry_at(m, ip, &covers);
	memcpy(&data, &r, sizeof(r));
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

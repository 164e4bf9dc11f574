/*
 * totals_syscalls.c - system calls: how many and how long, where the slow ones were made,
 * and with which errors they failed.
 */
#include <string.h>

#include "base/grow.h"
#include "base/syscall.h"
#include "trace/totals/totals_lane.h"

/* What one hashmap key of two numbers holds. */
#define FIRST(thread, kind, call) ((uint32_t)(thread) << 8 | ((kind) & 3u) << 6 | ((call) & 63u))

static isc_total_syscall *new_row(isc_totals *t, uint32_t first, uint32_t key)
{
	isc_total_syscall *bigger = isc_grow(t->syscalls, t->syscall_count, &t->syscall_room, sizeof(*bigger));

	if (bigger == NULL || t->broken)
		return NULL;
	t->syscalls = bigger;
	if (!isc_totals_enter(&t->by_syscall, isc_hashmap_key(first, key), t->syscall_count))
		return NULL;
	bigger += t->syscall_count++;
	*bigger = (isc_total_syscall){.thread = first >> 8, .kind = first >> 6 & 3u, .call = first & 63u, .key = key};
	isc_totals_weigh(t, ISC_PART_WAITS, ISC_WEIGHT_SYSCALL);
	return bigger;
}

isc_total_syscall *isc_totals_syscall_find(const isc_totals *t, const isc_total_syscall *like)
{
	uint64_t key = isc_hashmap_key(FIRST(like->thread, like->kind, like->call), like->key);
	const uint64_t *at = isc_hashmap_find(&t->by_syscall, key);

	return at != NULL ? &t->syscalls[*at] : NULL;
}

static isc_total_syscall *find_row(isc_totals *t, uint32_t first, uint32_t key)
{
	const uint64_t *at = isc_hashmap_find(&t->by_syscall, isc_hashmap_key(first, key));

	if (at == NULL && !isc_totals_make_room(t, ISC_PART_WAITS, ISC_WEIGHT_SYSCALL, false)) {
		isc_totals_note_folded(t, ISC_FOLDED_SYSCALLS, first, key);
		key = 0;
		at = isc_hashmap_find(&t->by_syscall, isc_hashmap_key(first, key));
	}
	return at != NULL ? &t->syscalls[*at] : new_row(t, first, key);
}

uint64_t isc_totals_syscall_key(const isc_total_syscall *s)
{
	return isc_hashmap_key(FIRST(s->thread, s->kind, s->call), s->key);
}

isc_total_syscall *isc_totals_add_syscall(isc_totals *t, const isc_total_syscall *like)
{
	return new_row(t, FIRST(like->thread, like->kind, like->call), like->key);
}

static isc_total_syscall *row(isc_totals *t, const isc_totals_lane *lane, enum isc_total_syscall_kind kind,
			      uint32_t call, uint32_t key)
{
	isc_total_syscall *s = find_row(t, FIRST(lane->thread, kind, call), key);

	if (s != NULL)
		s->process = s->thread == lane->thread ? lane->process : 0;
	return s;
}

static bool add_sum(isc_totals *t, const isc_totals_lane *lane, uint32_t call, const isc_syscall_sum *sum)
{
	isc_total_syscall *s = row(t, lane, ISC_SYSCALL_ALL, call, 0);

	if (s == NULL)
		return false;
	s->count += sum->count;
	s->ticks += sum->ticks;
	s->bytes += sum->bytes;
	s->errors += sum->errors;
	s->slow += sum->slow;
	return true;
}

static bool add_slow(isc_totals *t, const isc_totals_lane *lane, uint32_t call, uint32_t stack,
		     const isc_syscall_slow *slow)
{
	isc_total_syscall *s = row(t, lane, ISC_SYSCALL_SITE, call, stack);

	if (s == NULL)
		return false;
	s->count++;
	s->slow++;
	s->ticks += slow->ticks;
	s->bytes += slow->bytes;
	s->errors += slow->error != 0;
	if (slow->ticks >= s->max_ticks) {
		s->max_ticks = slow->ticks;
		s->detail = slow->detail;
	}
	return true;
}

static bool add_sample(isc_totals *t, const isc_totals_lane *lane, uint32_t call, uint32_t stack,
		       const isc_syscall_sample *sample)
{
	isc_total_syscall *s = row(t, lane, ISC_SYSCALL_LIKE, call, stack);

	if (s == NULL)
		return false;
	s->count += sample->count;
	s->ticks += sample->ticks * sample->count;
	s->bytes += sample->bytes * sample->count;
	s->slow++;
	return true;
}

bool isc_totals_syscalls_feed(isc_totals *t, isc_totals_lane *lane, const isc_record *r, const void *extra,
			      uint32_t extra_len)
{
	isc_syscall_errors errors;
	isc_syscall_sample sample;
	isc_syscall_slow slow;
	isc_syscall_sum sum;
	isc_total_syscall *s;

	if (r->arg == 0 || r->arg >= ISC_SYSCALL_COUNT)
		return true; /* of a later version */
	switch (r->kind) {
	case ISC_KIND_SYSCALLS:
		if (extra_len < sizeof(sum))
			return true;
		memcpy(&sum, extra, sizeof(sum));
		return add_sum(t, lane, r->arg, &sum);
	case ISC_KIND_SYSCALL:
		if (extra_len < sizeof(slow))
			return true;
		memcpy(&slow, extra, sizeof(slow));
		return add_slow(t, lane, r->arg, r->id, &slow);
	case ISC_KIND_SYSCALL_SAMPLE:
		if (extra_len < sizeof(sample))
			return true;
		memcpy(&sample, extra, sizeof(sample));
		return add_sample(t, lane, r->arg, r->id, &sample);
	default:
		if (extra_len < sizeof(errors))
			return true;
		memcpy(&errors, extra, sizeof(errors));
		s = row(t, lane, ISC_SYSCALL_FAIL, r->arg, r->id);
		if (s != NULL)
			s->count += errors.count;
		return s != NULL;
	}
}

const isc_total_syscall *isc_totals_syscall_at(const isc_totals *t, size_t i)
{
	return i < t->syscall_count ? &t->syscalls[i] : NULL;
}

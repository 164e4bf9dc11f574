/*
 * syscalls.c - system calls by name, over all processes: the one with the most time first.
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/build.h"
#include "analyze/code/places.h"
#include "base/syscall.h"
#include "trace/kinds.h"

#define COUNT_MOST 9e15 /* whole numbers up to here are exact */
#define SITES_MAX 20u	/* places of a call: what is behind them is little */

/* A call while it is summed up. */
struct syscall_sum {
	isc_analysis_syscall out;
	size_t fail_room, site_room;
	double like_count, like_us; /* what samples stand for */
	double told_us;
};

static isc_text name_of(isc_build *b, uint32_t process, uint32_t id)
{
	isc_text name, copy = {0};

	if (id == 0)
		return copy;
	name = isc_trace_name(b->trace, process, id);
	if (name.len > 0)
		copy = (isc_text){isc_arena_copy(b->arena, name.at, name.len), name.len};
	return copy.at != NULL ? copy : (isc_text){0};
}

static bool add_fail(isc_build *b, struct syscall_sum *s, const isc_total_syscall *row)
{
	isc_analysis_syscall_fail *f;

	for (size_t i = 0; i < s->out.fail_count; i++) {
		if (s->out.fails[i].error == row->key) {
			s->out.fails[i].count += row->count;
			return true;
		}
	}
	f = isc_arena_push(b->arena, &s->out.fails, &s->out.fail_count, &s->fail_room, sizeof(*f));
	if (f != NULL)
		*f = (isc_analysis_syscall_fail){row->key, row->count};
	return f != NULL;
}

/* Places were numbered when they were met; of two rows with one place the numbers are equal. */
static isc_analysis_syscall_site *site_of(isc_build *b, isc_places *places, struct syscall_sum *s,
					  const isc_total_syscall *row)
{
	uint32_t place = row->process != 0 ? isc_places_stack(places, b, row->process, row->key) : 0;
	isc_analysis_syscall_site *site;

	if (place == ISC_PLACE_NO_MEMORY)
		return NULL;
	for (size_t i = 0; i < s->out.site_count; i++) {
		if (s->out.sites[i].place == place)
			return &s->out.sites[i];
	}
	site = isc_arena_push(b->arena, &s->out.sites, &s->out.site_count, &s->site_room, sizeof(*site));
	if (site == NULL)
		return NULL;
	*site = (isc_analysis_syscall_site){.place = place};
	if (place != 0)
		site->where = places->at[place];
	return site;
}

static bool add_like(isc_build *b, isc_places *places, struct syscall_sum *s, const isc_total_syscall *row)
{
	isc_analysis_syscall_site *site = site_of(b, places, s, row);
	double us = (double)row->ticks * b->us_per_tick;

	if (site == NULL)
		return false;
	site->samples += row->slow;
	site->fast_count += (double)row->count;
	site->fast_us += us;
	s->out.samples += row->slow;
	s->like_count += (double)row->count;
	s->like_us += us;
	return true;
}

static bool add_site(isc_build *b, isc_places *places, struct syscall_sum *s, const isc_total_syscall *row)
{
	double max_us = (double)row->max_ticks * b->us_per_tick;
	isc_analysis_syscall_site *site = site_of(b, places, s, row);

	if (site == NULL)
		return false;
	s->out.slow_told += row->count;
	s->out.max_us = max_us > s->out.max_us ? max_us : s->out.max_us;
	s->told_us += (double)row->ticks * b->us_per_tick;
	site->count += row->count;
	site->total_us += (double)row->ticks * b->us_per_tick;
	site->bytes += row->bytes;
	site->errors += row->errors;
	if (max_us >= site->max_us) {
		site->max_us = max_us;
		site->about = name_of(b, row->process, row->detail);
	}
	return true;
}

static bool add_row(isc_build *b, isc_places *places, struct syscall_sum *s, const isc_total_syscall *row)
{
	if (row->kind == ISC_SYSCALL_FAIL)
		return add_fail(b, s, row);
	if (row->kind == ISC_SYSCALL_SITE)
		return add_site(b, places, s, row);
	if (row->kind == ISC_SYSCALL_LIKE)
		return add_like(b, places, s, row);
	s->out.count += row->count;
	s->out.total_us += (double)row->ticks * b->us_per_tick;
	s->out.bytes += row->bytes;
	s->out.errors += row->errors;
	s->out.slow += row->slow;
	return true;
}

static int by_count(const void *x, const void *y)
{
	const isc_analysis_syscall_fail *f = x, *g = y;

	return f->count != g->count ? (f->count < g->count) - (f->count > g->count)
				    : (f->error > g->error) - (f->error < g->error);
}

static int by_site_time(const void *x, const void *y)
{
	const isc_analysis_syscall_site *s = x, *t = y;

	if (s->total_us + s->fast_us != t->total_us + t->fast_us)
		return s->total_us + s->fast_us < t->total_us + t->fast_us ? 1 : -1;
	return (s->place > t->place) - (s->place < t->place);
}

static int by_time(const void *x, const void *y)
{
	const isc_analysis_syscall *s = x, *t = y;

	if (s->total_us != t->total_us)
		return s->total_us < t->total_us ? 1 : -1;
	return (s->call > t->call) - (s->call < t->call);
}

/* How many calls there were is known, and how long they took: samples only say whose share is how large. */
static void share_out(struct syscall_sum *s)
{
	double count = fmax((double)s->out.count - (double)s->out.slow_told, 0);
	double us = fmax(s->out.total_us - s->told_us, 0);

	for (size_t i = 0; i < s->out.site_count; i++) {
		isc_analysis_syscall_site *site = &s->out.sites[i];
		double part = s->like_count > 0 ? site->fast_count / s->like_count : 0;

		site->fast_us = us * (s->like_us > 0 ? site->fast_us / s->like_us : part);
		site->fast_count = fmin(count * part, COUNT_MOST);
	}
}

static void finish(struct syscall_sum *s, uint32_t call)
{
	share_out(s);
	s->out.call = call;
	s->out.name = isc_syscall_name(call);
	if (s->out.slow_told == 0)
		s->out.max_us = -1;
	if (s->out.fail_count > 0)
		qsort(s->out.fails, s->out.fail_count, sizeof(*s->out.fails), by_count);
	if (s->out.site_count > 0)
		qsort(s->out.sites, s->out.site_count, sizeof(*s->out.sites), by_site_time);
	s->out.site_count = s->out.site_count < SITES_MAX ? s->out.site_count : SITES_MAX;
}

isc_status isc_build_syscalls(isc_build *b, isc_error *err)
{
	struct syscall_sum sums[ISC_SYSCALL_COUNT] = {0};
	isc_analysis *a = b->a;
	isc_places places = {0};
	const isc_total_syscall *row;
	bool ok = true;

	for (size_t i = 0; ok && (row = isc_totals_syscall_at(b->totals, i)) != NULL; i++) {
		/* Number 0 has what there was no room for, one by one. */
		if (row->call > 0 && row->call < ISC_SYSCALL_COUNT)
			ok = add_row(b, &places, &sums[row->call], row);
	}
	isc_places_fini(&places);
	a->syscalls = ok ? isc_arena_array(b->arena, ISC_SYSCALL_COUNT, sizeof(*a->syscalls)) : NULL;
	if (a->syscalls == NULL)
		return isc_build_no_memory(err);
	for (uint32_t call = 1; call < ISC_SYSCALL_COUNT; call++) {
		if (sums[call].out.count == 0 && sums[call].out.site_count == 0 && sums[call].out.fail_count == 0)
			continue;
		finish(&sums[call], call);
		a->syscalls[a->syscall_count++] = sums[call].out;
	}
	if (a->syscall_count > 0)
		qsort(a->syscalls, a->syscall_count, sizeof(*a->syscalls), by_time);
	return ISC_OK;
}

/*
 * threads.c - the threads of all processes, and where the time of each went.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/names.h"
#include "analyze/time/thread_states.h"
#include "analyze/time/tracks.h"

#define THREAD_MAIN 1u
#define THREAD_ENDED 2u

/* Beside a->threads, by the same rank. */
struct tracks {
	isc_track *track;
	isc_text *kernel;     /* the kernel's name for it */
	size_t *next;	      /* another thread with this tid, later: rank + 1 */
	isc_hashmap by_tid;   /* tid -> rank + 1 of the one that lives now */
	isc_hashmap by_index; /* thread index -> rank + 1 */
	isc_hashmap main_of;  /* process rank -> rank + 1 of its main thread */
	isc_gaps gaps;
	bool launched; /* by us: nothing ran before we watched */
	uint64_t first_switch_ns;
	bool any;
};

static uint64_t process_end_ns(const isc_build *b, const isc_trace_thread *thread)
{
	const isc_trace_process *image = isc_trace_process_find(b->trace, thread->process);

	return image != NULL && image->flags & ISC_PROCESS_ENDED ? image->end_ns : b->end_ns;
}

/* An exec leaves the main thread alone, in a new image: to people it is the same thread. */
static bool main_entry(struct tracks *s, size_t process, bool is_main, uint64_t **entry)
{
	*entry = NULL;
	if (!is_main || process == SIZE_MAX)
		return true;
	*entry = isc_hashmap_put(&s->main_of, process, NULL);
	return *entry != NULL;
}

static bool add_thread(isc_build *b, struct tracks *s, const isc_trace_thread *thread)
{
	size_t process = isc_build_process_rank(b, thread->process), rank;
	bool ended = (thread->flags & THREAD_ENDED) != 0, is_main = (thread->flags & THREAD_MAIN) != 0;
	uint64_t end_ns = ended ? thread->end_ns : process_end_ns(b, thread);
	uint64_t *of_main, *of_index;
	isc_analysis_thread *t;
	isc_track *track;
	size_t len;

	if (!main_entry(s, process, is_main, &of_main))
		return false;
	rank = of_main != NULL && *of_main != 0 ? (size_t)*of_main - 1 : b->a->thread_count++;
	t = &b->a->threads[rank];
	track = &s->track[rank];
	if (of_main == NULL || *of_main == 0) {
		t->tid = thread->tid;
		t->pid = process != SIZE_MAX ? b->a->processes[process].pid : 0;
		t->main = is_main;
		track->start_ns = thread->start_ns;
		track->end_ns = end_ns;
		track->process = process;
	}
	if (of_main != NULL)
		*of_main = rank + 1;
	if (thread->start_ns < track->start_ns)
		track->start_ns = thread->start_ns;
	if (end_ns > track->end_ns)
		track->end_ns = end_ns;
	/* The scheduler counts on over an exec, so the last reading stands for all. */
	if (thread->flags & ISC_THREAD_COUNTED && thread->counted_ns > track->counted_ns) {
		track->counted_ns = thread->counted_ns;
		track->on_cpu_ns = thread->on_cpu_ns;
		track->run_queue_ns = thread->run_queue_ns;
	}
	len = strnlen(thread->name, sizeof(thread->name));
	if (len > 0)
		s->kernel[rank] = t->name = (isc_text){isc_arena_copy(b->arena, thread->name, len), len};
	of_index = isc_hashmap_put(&s->by_index, thread->thread, NULL);
	if (of_index == NULL || (len > 0 && t->name.at == NULL))
		return false;
	*of_index = rank + 1;
	return true;
}

/* Threads that had the same tid one after the other are linked in that order.
 * Ranks rise with the time a thread began. */
static bool link_tids(isc_build *b, struct tracks *s)
{
	for (size_t i = b->a->thread_count; i-- > 0;) {
		uint64_t *first = isc_hashmap_put(&s->by_tid, b->a->threads[i].tid, NULL);

		if (first == NULL)
			return false;
		s->next[i] = (size_t)*first;
		*first = i + 1;
	}
	return true;
}

static isc_track *track_at(struct tracks *s, uint32_t tid, uint64_t time_ns)
{
	uint64_t *now = isc_hashmap_find(&s->by_tid, tid);

	if (now == NULL)
		return NULL;
	while (s->next[*now - 1] != 0 && s->track[s->next[*now - 1] - 1].start_ns <= time_ns)
		*now = s->next[*now - 1];
	return &s->track[*now - 1];
}

static bool follow_switches(isc_build *b, struct tracks *s)
{
	isc_trace_switch sw;
	uint64_t done = 0;

	isc_trace_rewind(b->trace);
	while (isc_trace_next_switch(b->trace, &sw)) {
		isc_track *track;

		isc_build_progress(b, ++done, b->facts.switches);
		if (sw.kind == ISC_SWITCH_GAP_BEGIN || sw.kind == ISC_SWITCH_GAP_END) {
			if (!isc_gaps_note(&s->gaps, b->arena, &sw))
				return false;
			continue;
		}
		if (sw.kind == ISC_SWITCH_FAULT) {
			track = track_at(s, sw.tid, sw.time_ns);
			if (track != NULL)
				isc_track_fault(track);
			continue;
		}
		if (sw.kind < ISC_SWITCH_IN || sw.kind > ISC_SWITCH_OUT_PREEMPT)
			continue;
		if (!s->any)
			s->first_switch_ns = sw.time_ns;
		s->any = true;
		isc_build_on_cpu(b, &sw);
		track = track_at(s, sw.tid, sw.time_ns);
		if (track == NULL) {
			b->bare_switches++;
			continue;
		}
		track->fresh = s->launched || track->start_ns >= s->first_switch_ns;
		isc_track_switch(track, b, &s->gaps, &sw);
	}
	if (s->gaps.open)
		s->gaps.gap[s->gaps.count - 1].end_ns = b->end_ns;
	s->gaps.open = false;
	return true;
}

/* Without a single switch a thread either ran all the time or slept all the
 * time.  Only for a program that we started ourselves is it known which. */
static bool ran_without_pause(const isc_build *b, const struct tracks *s, const isc_analysis_thread *t)
{
	return s->launched && t->main && b->root != SIZE_MAX && t->pid == b->a->processes[b->root].pid &&
	       b->facts.perf_ok && b->facts.switches_lost == 0 && s->gaps.count == 0;
}

/* Without switches: what the scheduler had counted at the last look, and nothing
 * about the time after it.  Sums say nothing of a part of the run. */
static void take_counts(const isc_build *b, const isc_track *track, isc_analysis_thread *t)
{
	uint64_t until = track->counted_ns < track->end_ns ? track->counted_ns : track->end_ns;
	double seen_us = until > track->start_ns ? (double)(until - track->start_ns) / 1e3 : 0;

	if (track->counted_ns == 0 || isc_build_is_part(b))
		return;
	t->estimated = true;
	t->on_cpu_us = fmin((double)track->on_cpu_ns / 1e3, seen_us);
	t->run_queue_us = fmin((double)track->run_queue_ns / 1e3, seen_us - t->on_cpu_us);
	t->waiting_us = seen_us - t->on_cpu_us - t->run_queue_us;
	t->unwatched_us = fmax(t->wall_us - seen_us, 0);
}

/* A thread whose tid another has had since, which nobody told of, has no more time than it lived. */
static double part_of(double *left_us, uint64_t ns)
{
	double us = fmin((double)ns / 1e3, *left_us);

	*left_us -= us;
	return us;
}

static void take_times(isc_build *b, struct tracks *s, size_t rank)
{
	isc_analysis_thread *t = &b->a->threads[rank];
	isc_track *track = &s->track[rank];

	isc_track_finish(track, b, &s->gaps);
	t->start_us = isc_build_us(b, track->start_ns);
	t->wall_us = isc_build_inside_us(b, track->start_ns, track->end_ns);
	t->switches = track->switches;
	t->on_cpu_us = t->run_queue_us = t->waiting_us = t->unwatched_us = -1;
	if (track->state != ISC_TRACK_UNSEEN) {
		double left = t->wall_us;

		t->on_cpu_us = part_of(&left, track->in_ns[ISC_TRACK_RUNNING]);
		t->run_queue_us = part_of(&left, track->in_ns[ISC_TRACK_QUEUED]);
		t->waiting_us = part_of(&left, track->in_ns[ISC_TRACK_WAITING]);
		t->unwatched_us = part_of(&left, track->in_ns[ISC_TRACK_UNWATCHED]);
	} else if (ran_without_pause(b, s, t)) {
		t->on_cpu_us = t->wall_us;
		t->run_queue_us = t->waiting_us = t->unwatched_us = 0;
	} else {
		take_counts(b, track, t);
	}
}

/* Thread-1, Thread-1 (work): Python made it up. */
static bool is_made_up(const char *name, size_t len)
{
	static const char start[] = "Thread-";
	size_t n = sizeof(start) - 1;

	return len > n && memcmp(name, start, n) == 0 && name[n] >= '0' && name[n] <= '9';
}

/* A thread that was not given one has the name of the program. */
static bool has_kernel_name(isc_build *b, const struct tracks *s, size_t rank)
{
	const uint64_t *of_main = isc_hashmap_find(&s->main_of, s->track[rank].process);
	const isc_text *name = &s->kernel[rank];

	return name->len > 0 && of_main != NULL && isc_names_compare(name, &s->kernel[*of_main - 1]) != 0 &&
	       !b->a->threads[rank].main;
}

/* What a thread calls itself says more than the kernel's name for it. */
static void take_name(isc_build *b, const struct tracks *s, size_t rank, const isc_total_thread *total)
{
	isc_text name = isc_trace_name(b->trace, total->process, total->name);
	char *copy;

	if (is_made_up(name.at, name.len) && has_kernel_name(b, s, rank))
		return;
	copy = isc_arena_copy(b->arena, name.at, name.len);
	if (copy != NULL)
		b->a->threads[rank].name = (isc_text){copy, name.len};
}

static void take_events(isc_build *b, const struct tracks *s)
{
	const isc_total_thread *total;

	for (size_t i = 0; (total = isc_totals_thread_at(b->totals, i)) != NULL; i++) {
		const uint64_t *rank = isc_hashmap_find(&s->by_index, total->thread);
		size_t process = isc_build_process_rank(b, total->process);

		if (rank != NULL)
			b->a->threads[*rank - 1].events += total->events;
		if (rank != NULL && total->name != 0)
			take_name(b, s, (size_t)*rank - 1, total);
		if (process != SIZE_MAX) {
			b->a->processes[process].events += total->events;
			b->a->processes[process].traced = true;
		}
	}
}

/* The newest frame tells what kind of code ran. */
static void take_samples(isc_build *b, const struct tracks *s)
{
	const isc_total_stack *total;
	isc_frame frame;

	for (size_t i = 0; (total = isc_totals_stack_at(b->totals, i)) != NULL; i++) {
		const uint64_t *rank = isc_hashmap_find(&s->by_index, total->thread);
		double us = (double)total->cpu_ns / 1e3;
		isc_analysis_thread *t;

		if (rank == NULL)
			continue;
		t = &b->a->threads[*rank - 1];
		t->samples += total->samples;
		t->sampled_us += us;
		if (!isc_trace_frame(b->trace, total->process, total->stack, &frame))
			frame.kind = ISC_FRAME_UNKNOWN;
		t->sampled_python_us += frame.kind == ISC_FRAME_PYTHON ? us : 0;
		t->sampled_native_us += frame.kind == ISC_FRAME_NATIVE ? us : 0;
	}
}

static int by_weight(const void *x, const void *y)
{
	const isc_analysis_thread *t = x, *u = y;

	if (t->on_cpu_us != u->on_cpu_us)
		return t->on_cpu_us < u->on_cpu_us ? 1 : -1;
	if (t->events != u->events)
		return t->events < u->events ? 1 : -1;
	if (t->pid != u->pid)
		return t->pid > u->pid ? 1 : -1;
	if (t->tid != u->tid)
		return t->tid > u->tid ? 1 : -1;
	if (t->start_us != u->start_us)
		return t->start_us > u->start_us ? 1 : -1;
	return isc_names_compare(&t->name, &u->name);
}

static int by_start(const void *x, const void *y)
{
	const isc_trace_thread *t = *(const isc_trace_thread *const *)x, *u = *(const isc_trace_thread *const *)y;

	if (t->start_ns != u->start_ns)
		return t->start_ns > u->start_ns ? 1 : -1;
	return (t->thread > u->thread) - (t->thread < u->thread);
}

/* The thread that helps to count calls (python/budget/waker.c): it bears our name, hardly runs and makes no events; the
 * sampler may meet it. */
static bool is_ours(const isc_analysis_thread *t)
{
	static const char name[] = "inferscope";

	return !t->main && t->events <= t->samples && t->on_cpu_us * 50 <= t->wall_us &&
	       t->name.len == sizeof(name) - 1 && memcmp(t->name.at, name, t->name.len) == 0;
}

static bool fill(isc_build *b, struct tracks *s)
{
	isc_analysis *a = b->a;
	const isc_trace_thread **thread;
	size_t n = 0, kept = 0;

	while (isc_trace_thread_at(b->trace, n) != NULL)
		n++;
	thread = isc_arena_array(b->arena, n, sizeof(*thread));
	a->threads = isc_arena_array(b->arena, n, sizeof(*a->threads));
	s->track = isc_arena_array(b->arena, n, sizeof(*s->track));
	s->kernel = isc_arena_array(b->arena, n, sizeof(*s->kernel));
	s->next = isc_arena_array(b->arena, n, sizeof(*s->next));
	if (thread == NULL || a->threads == NULL || s->track == NULL || s->kernel == NULL || s->next == NULL)
		return false;
	for (size_t i = 0; i < n; i++)
		thread[i] = isc_trace_thread_at(b->trace, i);
	qsort(thread, n, sizeof(*thread), by_start);
	for (size_t i = 0; i < n; i++) {
		if (!add_thread(b, s, thread[i]))
			return false;
	}
	/* Where the file was cut short, who is first heard of late may have done anything before. */
	s->launched = a->exit_known && a->retired == 0;
	if (!link_tids(b, s) || !follow_switches(b, s))
		return false;
	for (size_t i = 0; i < a->thread_count; i++)
		take_times(b, s, i);
	take_events(b, s);
	take_samples(b, s);
	if (!isc_thread_states_fill(b, s->track, &s->by_index))
		return false;
	a->switches_seen = s->any;
	for (size_t i = 0; i < s->gaps.count; i++)
		b->gap_ns += (uint64_t)(isc_build_inside_us(b, s->gaps.gap[i].begin_ns, s->gaps.gap[i].end_ns) * 1e3);
	/* A thread that lived outside the window has no part in it, and ours none in the program. */
	for (size_t i = 0; i < a->thread_count; i++) {
		if (!is_ours(&a->threads[i]) &&
		    (!isc_build_is_part(b) || a->threads[i].wall_us > 0 || a->threads[i].events > 0))
			a->threads[kept++] = a->threads[i];
	}
	a->thread_count = kept;
	qsort(a->threads, a->thread_count, sizeof(*a->threads), by_weight);
	isc_build_breakdown(b);
	return true;
}

isc_status isc_build_threads(isc_build *b, isc_error *err)
{
	struct tracks s = {0};
	bool ok = fill(b, &s);

	isc_hashmap_fini(&s.by_tid);
	isc_hashmap_fini(&s.by_index);
	isc_hashmap_fini(&s.main_of);
	return ok ? ISC_OK : isc_build_no_memory(err);
}

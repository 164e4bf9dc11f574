/*
 * switches.c - read the rings, put their records in order, and stay inside the
 * budget.
 *
 * Records of one thread may lie in the rings of several CPUs, so the newest few
 * milliseconds are held back until all rings have been read past them.
 */
#include "session/machine/switches.h"

#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "session/machine/switches_state.h"

#define HOLD_NS 5000000u       /* a record is in its ring long before it is this old */
#define COST_NS 650.0	       /* of one record: 1.3 us for going out and coming in */
#define CREDIT_NS 1000000000.0 /* budget of this much time may be spent at once */
#define FIRST_NS 200000000.0   /* and of this much at the start: short programs have a budget too */
#define RESUME_NS 100000000.0  /* and of this much is saved before watching again */
#define WEIGH_NS 1000000000u   /* between two looks at what it costs the program */
#define BATCH 4096u

enum { GAP_BEGIN = 64, GAP_END }; /* kinds beside enum isc_perf_kind */

/* ---- queues ----------------------------------------------------------- */

static bool queue_room(isc_switches_ring *r)
{
	if (r->to < r->room)
		return true;
	if (r->from > r->room / 2) {
		memmove(r->queue, r->queue + r->from, (r->to - r->from) * sizeof(*r->queue));
		r->to -= r->from;
		r->from = 0;
		return true;
	}
	size_t room = r->room ? r->room * 2 : 1024;
	isc_perf_record *more = realloc(r->queue, room * sizeof(*more));
	if (more == NULL)
		return false;
	r->queue = more;
	r->room = room;
	return true;
}

/* A ring is nearly in order: an interrupt may have put its record first. */
static void queue_add(isc_switches *s, isc_switches_ring *r, const isc_perf_record *record)
{
	size_t at;

	if (!queue_room(r)) {
		s->nomem++;
		return;
	}
	for (at = r->to++; at > r->from && r->queue[at - 1].time_ns > record->time_ns; at--)
		r->queue[at] = r->queue[at - 1];
	r->queue[at] = *record;
}

struct switch_reading {
	isc_switches *s;
	isc_switches_ring *ring;
};

static void count_run(isc_switches *s, isc_switches_ring *ring, const isc_perf_record *record)
{
	if (record->kind != ISC_PERF_SWITCH_IN && ring->in_ns != 0 && record->time_ns > ring->in_ns)
		s->ran_ns += record->time_ns - ring->in_ns;
	ring->in_ns = record->kind == ISC_PERF_SWITCH_IN ? record->time_ns : 0;
}

static void on_record(void *self, const isc_perf_record *record)
{
	struct switch_reading *in = self;
	isc_switches *s = in->s;

	if (record->kind == ISC_PERF_LOST) {
		s->lost_told[in->ring->use] += record->count;
		return;
	}
	if (record->kind <= ISC_PERF_SWITCH_PREEMPT) {
		s->counted++;
		/* The events of all CPUs do not stop at one instant: what some
		 * still wrote belongs to the gap. */
		if (record->time_ns > s->gap[0] && record->time_ns < s->gap[1])
			return;
		count_run(s, in->ring, record);
	}
	queue_add(s, in->ring, record);
}

static void read_rings(isc_switches *s)
{
	for (size_t i = 0; i < s->rings; i++) {
		struct switch_reading in = {s, &s->ring[i]};
		struct perf_event_mmap_page *page = s->ring[i].page;
		const char *data = (const char *)page + page->data_offset;
		uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);

		uint64_t tail =
			isc_perf_ring_read(data, s->ring[i].size, page->data_tail, head, on_record, &in, &s->seen);
		__atomic_store_n(&page->data_tail, tail, __ATOMIC_RELEASE);
	}
}

/* ---- in order, to where they go --------------------------------------- */

static uint64_t head_time(const isc_switches *s, size_t ring)
{
	const isc_switches_ring *r = &s->ring[ring];

	return r->from < r->to ? r->queue[r->from].time_ns : UINT64_MAX;
}

static void sift(const isc_switches *s, size_t *heap, size_t n, size_t at)
{
	for (;;) {
		size_t least = at, left = 2 * at + 1;

		for (size_t c = left; c < left + 2 && c < n; c++)
			if (head_time(s, heap[c]) < head_time(s, heap[least]))
				least = c;
		if (least == at)
			return;
		size_t swap = heap[at];
		heap[at] = heap[least];
		heap[least] = swap;
		at = least;
	}
}

static isc_status flush(isc_switches *s, const isc_switches_sink *sink, isc_error *err)
{
	isc_status st = ISC_OK;

	if (s->batched > 0 && sink->switches != NULL)
		st = sink->switches(sink->self, s->batch, s->batched, err);
	s->batched = 0;
	return st;
}

static isc_status give_switch(isc_switches *s, const isc_perf_record *r, const isc_switches_sink *sink, isc_error *err)
{
	static const uint8_t kinds[] = {
		[ISC_PERF_SWITCH_IN] = ISC_SWITCH_IN,
		[ISC_PERF_SWITCH_OUT] = ISC_SWITCH_OUT,
		[ISC_PERF_SWITCH_PREEMPT] = ISC_SWITCH_OUT_PREEMPT,
		[ISC_PERF_FAULT] = ISC_SWITCH_FAULT,
		[GAP_BEGIN] = ISC_SWITCH_GAP_BEGIN,
		[GAP_END] = ISC_SWITCH_GAP_END,
	};

	s->batch[s->batched++] = (isc_trace_switch){
		.time_ns = r->time_ns, .pid = r->pid, .tid = r->tid, .cpu = r->cpu, .kind = kinds[r->kind]};
	if (r->kind <= ISC_PERF_SWITCH_PREEMPT)
		s->stored++;
	return s->batched == BATCH ? flush(s, sink, err) : ISC_OK;
}

static void give_task(const isc_perf_record *r, isc_follow *follow)
{
	if (follow == NULL)
		return;
	if (r->kind == ISC_PERF_FORK)
		isc_follow_forked(follow, r->pid, r->tid, r->other, r->time_ns);
	else if (r->kind == ISC_PERF_EXIT)
		isc_follow_exited(follow, r->pid, r->tid, r->time_ns);
	else if (r->kind == ISC_PERF_EXEC)
		isc_follow_execed(follow, r->pid, r->name, r->time_ns);
	else
		isc_follow_named(follow, r->pid, r->tid, r->name);
}

static isc_status give(isc_switches *s, uint64_t until_ns, const isc_switches_sink *sink, isc_follow *follow,
		       isc_error *err)
{
	isc_status st = ISC_OK, last;
	size_t *heap = malloc(s->rings * sizeof(*heap));

	if (heap == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to sort context switches");
	for (size_t i = 0; i < s->rings; i++)
		heap[i] = i;
	for (size_t i = s->rings; i-- > 0;)
		sift(s, heap, s->rings, i);
	while (head_time(s, heap[0]) <= until_ns && head_time(s, heap[0]) != UINT64_MAX) {
		isc_switches_ring *ring = &s->ring[heap[0]];
		const isc_perf_record *r = &ring->queue[ring->from++];

		/* A full disk stops the storing, not the following. */
		if (r->kind <= ISC_PERF_SWITCH_PREEMPT || r->kind >= ISC_PERF_FAULT) {
			last = give_switch(s, r, sink, st == ISC_OK ? err : NULL);
			if (last != ISC_OK)
				st = last;
		} else {
			give_task(r, follow);
		}
		sift(s, heap, s->rings, 0);
	}
	free(heap);
	for (size_t i = 0; i < s->rings; i++)
		if (s->ring[i].from == s->ring[i].to)
			s->ring[i].from = s->ring[i].to = 0;
	last = flush(s, sink, st == ISC_OK ? err : NULL);
	return last != ISC_OK ? last : st;
}

/* ---- the budget ------------------------------------------------------- */

static void mark_gap(isc_switches *s, uint8_t kind, uint64_t time_ns)
{
	isc_perf_record mark = {.time_ns = time_ns, .kind = kind};

	queue_add(s, &s->ring[0], &mark);
}

static void govern(isc_switches *s, uint64_t records)
{
	uint64_t now = isc_clock_mono_ns();

	if (s->budget_share < 0)
		return;
	s->tokens_ns += (double)(now - s->tokens_at_ns) * s->budget_share;
	if (s->tokens_ns > CREDIT_NS * s->budget_share)
		s->tokens_ns = CREDIT_NS * s->budget_share;
	s->tokens_ns -= (double)records * COST_NS;
	s->tokens_at_ns = now;
	if (!s->paused && s->tokens_ns < 0) {
		isc_switches_enable(s, false);
		s->paused = true;
		for (size_t i = 0; i < s->rings; i++)
			s->ring[i].in_ns = 0;
		s->gap[0] = now;
		s->gap[1] = UINT64_MAX;
		mark_gap(s, GAP_BEGIN, now);
	} else if (s->paused && s->budget_share > 0 && s->tokens_ns >= RESUME_NS * s->budget_share) {
		isc_switches_enable(s, true);
		s->paused = false;
		s->gap[1] = isc_clock_mono_ns();
		s->paused_ns += s->gap[1] - s->gap[0];
		mark_gap(s, GAP_END, s->gap[1]);
	}
}

/* A thread that runs on and on makes no record, and costs nothing either. */
static void weigh(isc_switches *s)
{
	uint64_t now = isc_clock_mono_ns();
	double cost = (double)(s->counted - s->weighed.counted) * COST_NS;
	double ran = (double)(s->ran_ns - s->weighed.ran_ns);

	if (now - s->weighed.at_ns < WEIGH_NS)
		return;
	s->share = cost <= 0 ? 0 : cost < ran ? cost / ran : 1;
	s->weighed.at_ns = now;
	s->weighed.ran_ns = s->ran_ns;
	s->weighed.counted = s->counted;
}

double isc_switches_share(const isc_switches *s)
{
	return s->share;
}

/* ---- the interface ---------------------------------------------------- */

isc_status isc_switches_open(pid_t target, const isc_switches_options *options, isc_switches **out, isc_error *err)
{
	isc_switches *s = calloc(1, sizeof(*s));
	isc_status st;

	*out = NULL;
	if (s != NULL)
		s->batch = malloc(BATCH * sizeof(*s->batch));
	if (s == NULL || s->batch == NULL) {
		free(s);
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to watch context switches");
	}
	st = isc_switches_open_all(s, target, options->running, err);
	if (st != ISC_OK) {
		isc_switches_close(s);
		return st;
	}
	s->budget_share = options->budget_pct < 0 ? -1 : options->budget_pct / 100;
	s->begin_ns = s->tokens_at_ns = s->weighed.at_ns = isc_clock_mono_ns();
	s->tokens_ns = s->budget_share * FIRST_NS;
	*out = s;
	return ISC_OK;
}

size_t isc_switches_pollfds(const isc_switches *s, struct pollfd *fds, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < s->rings && n < room; i++)
		if (!s->ring[i].over)
			fds[n++] = (struct pollfd){.fd = s->ring[i].fd, .events = POLLIN};
	return n;
}

/* A ring whose last thread has ended would wake its poller for ever. */
static void find_over(isc_switches *s)
{
	for (size_t i = 0; i < s->rings; i++) {
		struct pollfd p = {.fd = s->ring[i].fd, .events = POLLIN};

		if (!s->ring[i].over && poll(&p, 1, 0) == 1 && p.revents & (POLLHUP | POLLERR))
			s->ring[i].over = true;
	}
}

static uint64_t lost_of(const isc_switches *s, int use)
{
	return s->lost_read[use] > s->lost_told[use] ? s->lost_read[use] : s->lost_told[use];
}

isc_status isc_switches_drain_to(isc_switches *s, const isc_switches_sink *sink, isc_follow *follow, bool final,
				 isc_error *err)
{
	uint64_t before = isc_clock_mono_ns(), counted = s->counted;

	find_over(s);
	read_rings(s);
	govern(s, s->counted - counted);
	weigh(s);
	if (final)
		isc_switches_read_lost(s);
	if (follow != NULL && lost_of(s, ISC_PERF_TASKS) > s->tasks_lost) {
		s->tasks_lost = lost_of(s, ISC_PERF_TASKS);
		isc_follow_doubt(follow);
	}
	return give(s, final ? UINT64_MAX : before > HOLD_NS ? before - HOLD_NS : 0, sink, follow, err);
}

static isc_status to_writer(void *self, const isc_trace_switch *switches, size_t n, isc_error *err)
{
	return isc_writer_switches(self, switches, n, err);
}

isc_status isc_switches_drain(isc_switches *s, isc_writer *writer, isc_follow *follow, bool final, isc_error *err)
{
	isc_switches_sink sink = {writer, to_writer};

	return isc_switches_drain_to(s, &sink, follow, final, err);
}

void isc_switches_stats_get(const isc_switches *s, isc_switches_stats *out)
{
	uint64_t now = isc_clock_mono_ns();
	double wall = (double)(now - s->begin_ns);

	*out = (isc_switches_stats){
		.switches = s->stored,
		.lost = lost_of(s, ISC_PERF_SWITCHES) + s->nomem,
		.tasks_lost = lost_of(s, ISC_PERF_TASKS),
		.paused_ns = s->paused_ns + (s->paused ? now - s->gap[0] : 0),
		.cost_pct = wall > 0 ? (double)s->counted * COST_NS / wall * 100 : 0,
	};
}

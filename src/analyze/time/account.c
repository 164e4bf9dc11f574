#include "analyze/time/account.h"

#include <math.h>

/* The parts of a thread's time that have no state yet. */
enum { ON_CPU, QUEUE, BLOCKED, UNWATCHED, PARTS };

struct settling {
	double left[PARTS];
	isc_analysis_thread *t;
};

/* Moves up to so much into a state, from these parts in their order. */
static void take(struct settling *s, enum isc_state state, double us, const int *from)
{
	for (; *from < PARTS && us > 0; from++) {
		double part = fmin(us, s->left[*from]);

		s->left[*from] -= part;
		s->t->state_us[state] += part;
		us -= part;
	}
}

static void know(struct settling *s, enum isc_state state, enum isc_source source)
{
	s->t->source[state] = source;
	s->t->state_us[state] = 0;
}

/* What was told must fit into the time there is: overlapping waits share it. */
static double fitting(const isc_account *a)
{
	double told = 0;

	for (int state = 0; state < ISC_STATES; state++)
		told += a->told[state];
	return told > a->wall ? a->wall / told : 1;
}

/* A page that has to be read is waited for; one that has only to be filled is so on the CPU. */
static void settle_faults(struct settling *s, const isc_account *a, double fit)
{
	static const int waits[] = {BLOCKED, PARTS}, runs[] = {ON_CPU, UNWATCHED, PARTS};
	double read = a->faults ? a->told[ISC_STATE_PAGE_FAULT] * fit : 0, filled = a->fills ? a->filled : 0;

	know(s, ISC_STATE_PAGE_FAULT,
	     !a->faults || (a->fills && filled > read) ? ISC_SOURCE_ESTIMATED : ISC_SOURCE_SWITCHES);
	take(s, ISC_STATE_PAGE_FAULT, read, waits);
	take(s, ISC_STATE_PAGE_FAULT, filled, runs);
}

static void settle_told(struct settling *s, const isc_account *a)
{
	/* CPU time first for what computes; blocked time for what waits. */
	static const int computes[] = {ON_CPU, UNWATCHED, QUEUE, BLOCKED, PARTS};
	static const int waits[] = {BLOCKED, UNWATCHED, ON_CPU, QUEUE, PARTS};
	static const int queues[] = {QUEUE, UNWATCHED, BLOCKED, PARTS};
	static const int blocks[] = {BLOCKED, UNWATCHED, PARTS}, runs[] = {ON_CPU, UNWATCHED, PARTS};
	/* In the order in which they count; null: nobody tells of them yet.  Faults are what switches saw of a wait, and
	 * the time in a read or write is more than it was blocked: it would take theirs. */
	static const struct {
		enum isc_state state;
		const int *from;
	} order[] = {{ISC_STATE_GC, computes},	    {ISC_STATE_GPU_WAIT, waits}, {ISC_STATE_GIL_WAIT, waits},
		     {ISC_STATE_LOCK_WAIT, waits},  {ISC_STATE_SLEEP, waits},	 {ISC_STATE_IDLE, waits},
		     {ISC_STATE_PAGE_FAULT, waits}, {ISC_STATE_IO_WAIT, waits},	 {ISC_STATE_SYSCALL, computes},
		     {ISC_STATE_THROTTLED, queues}};
	double fit = fitting(a), at_once = 0;

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		enum isc_state state = order[i].state;
		bool known = state == ISC_STATE_GC	    ? a->collections
			     : state == ISC_STATE_GPU_WAIT  ? a->gpu
			     : state == ISC_STATE_THROTTLED ? a->throttling
							    : a->agent;

		if (state == ISC_STATE_PAGE_FAULT) {
			if (a->faults || a->fills)
				settle_faults(s, a, fit);
			continue;
		}
		if (!known)
			continue;
		know(s, state, state == ISC_STATE_THROTTLED ? ISC_SOURCE_ESTIMATED : ISC_SOURCE_AGENT);
		if (state == ISC_STATE_IO_WAIT && a->switches) {
			/* A read or write in which the thread was not blocked did not wait: it had a CPU, or was
			 * kept from one as anything else would have been. */
			take(s, state, a->told[state] * fit, blocks);
			at_once = fmax(a->told[state] * fit - s->t->state_us[state], 0);
			at_once *= a->on_cpu + a->queue > 0 ? a->on_cpu / (a->on_cpu + a->queue) : 1;
			continue;
		}
		take(s, state, a->told[state] * fit + (state == ISC_STATE_SYSCALL ? at_once : 0),
		     state == ISC_STATE_SYSCALL && at_once > 0 ? runs : order[i].from);
	}
}

void isc_account_sample(isc_account *a, const isc_attribution *what, double us)
{
	switch (what->state) {
	case ISC_STATE_UNATTRIBUTED:
		a->unattributed[what->why] += us;
		break;
	case ISC_STATE_SPIN:
		a->spin += us;
		break;
	case ISC_STATE_NATIVE:
		a->native += us;
		break;
	default:
		a->python += us;
	}
}

static double unattributed(const isc_account *a)
{
	double us = 0;

	for (int why = 0; why < ISC_UNATTRIBUTED_REASONS; why++)
		us += fmax(a->unattributed[why], 0);
	return us;
}

/* Loops that yield are told by the agent, and seen in samples with those that do not: the larger one is all. */
static void settle_spinning(struct settling *s, const isc_account *a)
{
	static const int ran[] = {ON_CPU, UNWATCHED, PARTS};
	double all = a->python + a->native + a->spin + unattributed(a), told = a->told[ISC_STATE_SPIN] * fitting(a),
	       seen = 0;

	if (a->sampled && a->spin > 0)
		seen = a->switches ? s->left[ON_CPU] * a->spin / all : a->spin;
	if (a->agent || (a->sampled && a->placed)) {
		know(s, ISC_STATE_SPIN, !a->agent || seen > told ? ISC_SOURCE_SAMPLED : ISC_SOURCE_AGENT);
		take(s, ISC_STATE_SPIN, fmax(told, seen), ran);
	}
}

/* Most of the time without a stack. */
static enum isc_unattributed main_reason(const isc_account *a)
{
	int most = 0;

	for (int why = 1; why < ISC_UNATTRIBUTED_REASONS; why++)
		most = a->unattributed[why] > a->unattributed[most] ? why : most;
	return (enum isc_unattributed)most;
}

/* So much of a part is shared out as the samples are.  all: the last state takes what is left, so that rounding leaves
 * nothing. */
static void share_out(struct settling *s, const isc_account *a, double us, bool all, const int *from)
{
	double none = unattributed(a), seen = none + a->python + a->native;

	take(s, ISC_STATE_UNATTRIBUTED, us * none / seen, from);
	if (a->merged) {
		take(s, ISC_STATE_ON_CPU, all ? us : us * (a->python + a->native) / seen, from);
		return;
	}
	take(s, ISC_STATE_PYTHON, us * a->python / seen, from);
	take(s, ISC_STATE_NATIVE, all ? us : us * a->native / seen, from);
}

/* What ran, by its samples. */
static void settle_sampled(struct settling *s, const isc_account *a)
{
	static const int runs[] = {ON_CPU, PARTS}, unseen[] = {UNWATCHED, PARTS};
	double seen = unattributed(a) + a->python + a->native, running = s->left[ON_CPU], rest;

	know(s, ISC_STATE_UNATTRIBUTED, ISC_SOURCE_SAMPLED);
	if (a->merged) {
		know(s, ISC_STATE_ON_CPU, ISC_SOURCE_SAMPLED);
	} else {
		know(s, ISC_STATE_PYTHON, ISC_SOURCE_SAMPLED);
		know(s, ISC_STATE_NATIVE, ISC_SOURCE_SAMPLED);
	}
	if (seen <= 0) {
		/* It ran, and no sample says where. */
		if (a->switches && running > 0) {
			take(s, ISC_STATE_UNATTRIBUTED, running, runs);
			s->t->unattributed = ISC_UNATTRIBUTED_UNSAMPLED;
		}
		return;
	}
	s->t->unattributed = (uint8_t)main_reason(a);
	if (a->switches)
		share_out(s, a, running, true, runs);
	/* Without switches, or while nobody watched: the samples themselves. */
	rest = seen - s->t->state_us[ISC_STATE_UNATTRIBUTED] -
	       (a->merged ? s->t->state_us[ISC_STATE_ON_CPU]
			  : s->t->state_us[ISC_STATE_PYTHON] + s->t->state_us[ISC_STATE_NATIVE]);
	if (rest > 0)
		share_out(s, a, rest, false, unseen);
}

static void settle_running(struct settling *s, const isc_account *a)
{
	static const int runs[] = {ON_CPU, PARTS};
	double running;

	settle_spinning(s, a);
	running = s->left[ON_CPU];
	if (a->sampled) {
		settle_sampled(s, a);
	} else if (a->traced) {
		know(s, ISC_STATE_PYTHON, ISC_SOURCE_ESTIMATED);
		take(s, ISC_STATE_PYTHON, running, runs);
	}
}

void isc_account_settle(const isc_account *a, isc_analysis_thread *t)
{
	struct settling s = {.t = t};
	double rest = 0;

	for (int state = 0; state < ISC_STATES; state++) {
		t->state_us[state] = -1;
		t->source[state] = ISC_SOURCE_NONE;
	}
	t->unattributed = ISC_UNATTRIBUTED_UNKNOWN;
	s.left[UNWATCHED] = a->wall;
	if (a->switches) {
		s.left[ON_CPU] = a->on_cpu;
		s.left[QUEUE] = a->queue;
		s.left[BLOCKED] = a->blocked;
		s.left[UNWATCHED] = fmax(a->wall - a->on_cpu - a->queue - a->blocked, 0);
	}
	settle_told(&s, a);
	if (a->switches) {
		know(&s, ISC_STATE_RUN_QUEUE, a->estimated ? ISC_SOURCE_ESTIMATED : ISC_SOURCE_SWITCHES);
		take(&s, ISC_STATE_RUN_QUEUE, s.left[QUEUE], (const int[]){QUEUE, PARTS});
	}
	settle_running(&s, a);
	for (int part = 0; part < PARTS; part++)
		rest += s.left[part];
	t->state_us[ISC_STATE_OTHER] = rest;
	t->source[ISC_STATE_OTHER] = a->switches && !a->estimated ? ISC_SOURCE_SWITCHES : ISC_SOURCE_ESTIMATED;
}

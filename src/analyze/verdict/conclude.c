/*
 * conclude.c - what was read of the focus thread, as rules want it, and the verdict on it.
 */
#include <math.h>
#include <string.h>

#include "analyze/verdict/hot_path.h"
#include "analyze/verdict/observed.h"
#include "analyze/time/thread_states.h"
#include "analyze/verdict/verdict.h"
#include "base/units.h"

#define POOL_BUSY 0.9 /* workers that are idle for less have no time for more */

/* ---- places ---- */

struct best {
	uint32_t code, line;
	uint64_t ns, line_ns;
};

/* The function with the most time of each kind, and the line in it. */
static bool choose_places(const isc_observed *d, struct best *best)
{
	uint64_t key, ns, *sum;
	isc_hashmap sums = {0};
	size_t at = 0;

	while (isc_hashmap_next(&d->place_of, &at, &key, &ns)) {
		sum = isc_hashmap_put(&sums, key >> 24, NULL);
		if (sum == NULL) {
			isc_hashmap_fini(&sums);
			return false;
		}
		*sum += ns;
	}
	for (at = 0; isc_hashmap_next(&sums, &at, &key, &ns);) {
		struct best *b = &best[key >> 32];

		/* Of two alike the one that was defined first: the same trace gives the same report. */
		if (ns > b->ns || (ns == b->ns && (uint32_t)key < b->code)) {
			b->code = (uint32_t)key;
			b->ns = ns;
		}
	}
	for (at = 0; isc_hashmap_next(&d->place_of, &at, &key, &ns);) {
		struct best *b = &best[key >> 56];
		uint32_t line = key & 0xffffffu;

		if (b->code != (uint32_t)(key >> 24) || (ns < b->line_ns || (ns == b->line_ns && line > b->line)))
			continue;
		b->line = line;
		b->line_ns = ns;
	}
	isc_hashmap_fini(&sums);
	return true;
}

isc_place isc_observed_place(const isc_observed *d, uint32_t code, uint32_t line)
{
	isc_place place = {.line = line};
	isc_frame frame = {0};

	if (code == 0 || !isc_trace_code(d->b->trace, d->focus.process, code, &frame))
		return (isc_place){0};
	/* The trace may be closed before the analysis is read. */
	place.name = (isc_text){isc_arena_copy(d->b->arena, frame.name.at, frame.name.len), frame.name.len};
	place.file = (isc_text){isc_arena_copy(d->b->arena, frame.file.at, frame.file.len), frame.file.len};
	return place;
}

static isc_text thread_named(const isc_analysis *a, uint32_t tid)
{
	for (size_t i = 0; i < a->thread_count; i++) {
		if (a->threads[i].tid == tid)
			return a->threads[i].name;
	}
	return (isc_text){0};
}

/* Who had the GIL or the lock for most of the time that was waited for it. */
static bool take_holder(isc_evidence *j, isc_observed *d, enum isc_state state, const struct best *others)
{
	uint64_t key, ns, most = 0, found = 0;
	const isc_stack_fact *fact;
	size_t at = 0;

	while (isc_hashmap_next(&d->blame, &at, &key, &ns)) {
		bool gil = key >> 63 != 0;

		if (gil == (state == ISC_STATE_GIL_WAIT) && (ns > most || (ns == most && key < found))) {
			most = ns;
			found = key;
		}
	}
	if (most > 0) {
		j->holder_thread[state] = thread_named(j->a, (uint32_t)(found >> 32) & 0x7fffffffu);
		fact = isc_stack_facts_of(&d->stacks, d->b, d->focus.process, (uint32_t)found);
		if (fact == NULL)
			return false;
		j->holder[state] = isc_observed_place(d, fact->user.code, fact->user.line);
	}
	/* Whoever runs Python has it. */
	if (state == ISC_STATE_GIL_WAIT && j->holder[state].name.len == 0)
		j->holder[state] = isc_observed_place(d, others->code, others->line);
	return true;
}

/* The function that runs most in a scope, and its line with the most time. */
static isc_place hot_in(const isc_observed *d, uint32_t name)
{
	uint64_t key, ns, most = 0, line_ns = 0;
	uint32_t code = 0, line = 0;
	size_t at = 0;

	while (isc_hashmap_next(&d->in_stage, &at, &key, &ns)) {
		if (key >> 32 == name && (ns > most || (ns == most && (uint32_t)key < code))) {
			most = ns;
			code = (uint32_t)key;
		}
	}
	for (at = 0; isc_hashmap_next(&d->place_of, &at, &key, &ns);) {
		uint32_t its = key & 0xffffffu;

		if (key >> 56 != ISC_OBSERVED_HOT || (uint32_t)(key >> 24) != code || ns < line_ns ||
		    (ns == line_ns && its > line))
			continue;
		line_ns = ns;
		line = its;
	}
	return isc_observed_place(d, code, line);
}

static void take_stage(isc_evidence *j, const isc_observed *d, double scale)
{
	uint32_t found = 0;
	uint64_t key, ns;
	size_t at = 0;

	/* Which scope is the innermost is not known while tasks take turns. */
	while (!d->tasks && isc_hashmap_next(&d->stage_of, &at, &key, &ns)) {
		uint32_t len = 0;
		const char *name = isc_build_label(d->b, d->focus.process, (uint32_t)key, &len);

		if ((double)ns / 1e3 * scale <= j->stage.us ||
		    (len == j->scope.len && memcmp(name, j->scope.at, len) == 0))
			continue;
		j->stage = (isc_place){.name = {isc_arena_copy(d->b->arena, name, len), len},
				       .us = (double)ns / 1e3 * scale};
		found = (uint32_t)key;
	}
	j->stage_cpu_us = scale > 0 ? j->stage.us / scale : 0;
	if (j->stage.us > 0)
		j->in_stage = hot_in(d, found);
}

/* The thread waits for a pool whose workers have no time for more. */
static void take_pool(isc_evidence *j, const isc_observed *d, const struct best *best)
{
	uint64_t span = d->focus.at[d->focus.count - 1].to_ns - d->focus.at[0].from_ns, thread, idle;
	double busy = 0;
	size_t at = 0;

	while (isc_hashmap_next(&d->worker_of, &at, &thread, &idle))
		busy += 1 - fmin(1, (double)idle / (double)span);
	j->workers = (uint32_t)d->worker_of.count;
	if (j->workers == 0 || busy / j->workers < POOL_BUSY)
		return;
	j->pool = isc_observed_place(d, best->code, best->line);
	/* An event loop waits for its pool as it waits for everything. */
	j->pool.us = d->loop ? fmax(j->state_us[ISC_STATE_IDLE], 0) : d->pool_ns / 1e3;
	j->awaits_pool = !d->loop && j->pool.us > j->state_us[ISC_STATE_IDLE] / 2;
}

/* ---- states ---- */

static void settle(isc_evidence *j, isc_observed *d)
{
	const isc_build *b = d->b;
	size_t rank = isc_build_process_rank(b, d->focus.process);
	bool traced = rank != SIZE_MAX && b->a->processes[rank].traced;
	isc_account *account = &d->account;
	isc_analysis_thread t = {0};

	account->wall = j->window_us;
	account->merged = b->facts.native_off;
	for (int why = 0; why < ISC_UNATTRIBUTED_REASONS; why++)
		account->unattributed[why] = fmax(account->unattributed[why], 0);
	account->python = fmax(account->python, 0);
	account->native = fmax(account->native, 0);
	account->spin = fmax(account->spin, 0);
	account->switches = d->switched;
	account->unwatched = fmax(account->wall - account->on_cpu - account->queue - account->blocked, 0);
	account->agent = b->facts.waits && traced && b->tick_us > 0;
	account->faults = b->facts.faults && d->switched;
	account->sampled |= b->a->samples.count > 0 && traced;
	account->traced = b->calls_seen && traced;
	account->fills = b->fills && account->sampled;
	/* What one takes here, if enough were met here. */
	account->filled = d->faulting >= ISC_FAULTS_ENOUGH ? d->fault_ns / 1e3 : d->faults * b->a->usage.fault_us;
	if (b->facts.throttled_us >= 0 && b->a->wall_us > 0 && d->switched) {
		account->throttling = true;
		account->told[ISC_STATE_THROTTLED] =
			fmin(b->facts.throttled_us * fmin(1, j->window_us / b->a->wall_us), account->queue);
	}
	isc_account_settle(account, &t);
	for (int s = 0; s < ISC_STATES; s++) {
		j->state_us[s] = t.state_us[s];
		j->source[s] = t.source[s];
	}
	j->unattributed = t.unattributed;
	j->merged = account->merged;
}

static unsigned count_cpus(const isc_observed *d)
{
	unsigned n = 0;

	for (size_t i = 0; i < sizeof(d->cpu_seen) / sizeof(d->cpu_seen[0]); i++)
		n += (unsigned)__builtin_popcountll(d->cpu_seen[i]);
	return n;
}

/* A function that wants a CPU and gets none is as slow as one that runs: the queue is shared out by CPU time. */
static double stretch(const isc_evidence *j, const isc_observed *d)
{
	static const int ran[] = {ISC_STATE_PYTHON, ISC_STATE_NATIVE,	    ISC_STATE_ON_CPU,
				  ISC_STATE_SPIN,   ISC_STATE_UNATTRIBUTED, ISC_STATE_RUN_QUEUE};
	double sampled = d->account.python + d->account.native + d->account.spin + d->fault_ns / 1e3;
	double all = j->filled_us;

	for (int why = 0; why < ISC_UNATTRIBUTED_REASONS; why++)
		sampled += d->account.unattributed[why];
	for (size_t i = 0; i < sizeof(ran) / sizeof(ran[0]); i++)
		all += fmax(j->state_us[ran[i]], 0);
	return sampled > 0 && all > 0 ? all / sampled : 1;
}

/* The same for states, which are CPU time that switches told. */
static double stretch_states(const isc_evidence *j)
{
	double ran = isc_evidence_ran(j) + fmax(j->state_us[ISC_STATE_SPIN], 0) +
		     fmax(j->state_us[ISC_STATE_UNATTRIBUTED], 0) + j->filled_us;

	return ran > 0 ? (ran + fmax(j->state_us[ISC_STATE_RUN_QUEUE], 0)) / ran : 1;
}

static bool fill(isc_evidence *j, isc_observed *d)
{
	struct best best[ISC_OBSERVED_KINDS] = {0};
	const isc_focus *f = &d->focus;
	double scale;

	j->known = true;
	j->window_us = (double)isc_focus_length(f) / 1e3;
	j->scope = f->scope;
	j->scopes = f->scopes;
	j->samples = d->samples;
	j->start_up_us = f->start_up_us;
	j->warm_up_us = f->warm_up_us;
	j->warm_ups = f->warm_ups;
	settle(j, d);
	j->long_calls_us = fmax(j->state_us[ISC_STATE_SYSCALL] - d->account.told[ISC_STATE_SYSCALL], 0);
	if (!choose_places(d, best))
		return false;
	j->fills = d->account.fills;
	j->filled_us = j->fills ? fmin(d->account.filled, fmax(j->state_us[ISC_STATE_PAGE_FAULT], 0)) : 0;
	scale = stretch(j, d);
	j->stretch = stretch_states(j);
	for (int s = 0; s < ISC_STATES; s++)
		j->at[s] = isc_observed_place(d, best[s].code, best[s].line);
	j->mapping_us = d->mapping_ns / 1e3;
	j->faults = d->faults;
	if (best[ISC_OBSERVED_FILLED].ns * 2 > (uint64_t)d->fault_ns)
		j->filled_for = isc_observed_place(d, best[ISC_OBSERVED_FILLED].code, best[ISC_OBSERVED_FILLED].line);
	j->hot = isc_observed_place(d, best[ISC_OBSERVED_HOT].code, best[ISC_OBSERVED_HOT].line);
	j->hot_cpu_us = (double)best[ISC_OBSERVED_HOT].ns / 1e3;
	j->hot.us = j->hot_cpu_us * scale;
	j->net = isc_observed_place(d, best[ISC_OBSERVED_NET].code, best[ISC_OBSERVED_NET].line);
	j->net.us = fmin(d->net_ns / 1e3, fmax(j->state_us[ISC_STATE_IO_WAIT], 0));
	j->logged = isc_observed_place(d, best[ISC_OBSERVED_LOGGED].code, best[ISC_OBSERVED_LOGGED].line);
	j->logged.us = fmin(d->logged_ns / 1e3 * scale, j->window_us);
	if (d->loop) {
		j->loop = isc_observed_place(d, best[ISC_OBSERVED_LOOP].code, best[ISC_OBSERVED_LOOP].line);
		j->loop.us = d->blocked_ns / 1e3;
	}
	take_stage(j, d, scale);
	take_pool(j, d, &best[ISC_OBSERVED_POOL]);
	if (!isc_hot_path_find(j, d, scale))
		return false;
	/* Threads that take turns may all be on one of several. */
	j->cpus = count_cpus(d);
	j->cpus = d->b->a->cpus > j->cpus ? d->b->a->cpus : j->cpus;
	j->demand = d->switched ? d->wanted_ns / (double)(f->at[f->count - 1].to_ns - f->at[0].from_ns) : 0;
	return take_holder(j, d, ISC_STATE_GIL_WAIT, &best[ISC_OBSERVED_OTHERS]) &&
	       take_holder(j, d, ISC_STATE_LOCK_WAIT, &best[ISC_OBSERVED_OTHERS]);
}

/* The report's breakdown and window are those that were judged. */
static void tell(const isc_evidence *j, const isc_observed *d)
{
	const isc_focus *f = &d->focus;
	isc_build *b = d->b;
	isc_analysis_breakdown *out = &b->a->breakdown;
	isc_analysis_window *w = &b->a->window;
	isc_units u;

	out->known = true;
	out->tid = f->tid;
	out->name = thread_named(b->a, f->tid);
	for (int s = 0; s < ISC_STATES; s++) {
		out->pct[s] = isc_evidence_pct(j, (enum isc_state)s);
		out->source[s] = j->source[s];
	}
	out->unattributed = j->unattributed;
	*w = (isc_analysis_window){.from_us = isc_build_us(b, f->at[0].from_ns),
				   .to_us = isc_build_us(b, f->at[f->count - 1].to_ns),
				   .judged_us = j->window_us,
				   .scope = j->scope,
				   .scopes = j->scopes,
				   .start_up_us = j->start_up_us,
				   .warm_up_us = j->warm_up_us,
				   .warm_ups = j->warm_ups};
	/* Who asks for a time has it; what was judged is inside. */
	if (isc_build_is_part(b) && b->only.at == NULL) {
		w->from_us = b->a->from_us;
		w->to_us = b->a->to_us;
	}
	if (j->scope.len > 0)
		w->why = isc_arena_format(b->arena, "inside the scope %.*s, %s %s",
					  (int)(j->scope.len < 80 ? j->scope.len : 80), j->scope.at,
					  isc_units_count(&u, j->scopes), j->scopes == 1 ? "time" : "times");
	else
		w->why = isc_build_is_part(b) ? b->a->why
			 : f->serving	      ? "serving"
			 : b->retained_ns > 0 ? "the last part, whose events are all in the trace"
			 : j->start_up_us > 0 ? "the steady part, after the imports"
					      : "the whole run";
}

/* Fewer samples than that do not say what start-up cost. */
#define START_UP_SAMPLES 20u

/* What recording cost start-up, where the recorder does not say it and all events of that time are there. */
static void tell_start_up(const isc_observed *d)
{
	isc_analysis *a = d->b->a;
	double own_ns = d->start_up_own_ns + (double)d->start_up_calls * d->call_ns;

	if (a->startup_pct >= 0 || d->start_up_samples < START_UP_SAMPLES || d->start_up_ns <= 0)
		return;
	if (a->retired > 0) {
		a->startup_unknown = "events of start-up were dropped to hold the trace to its size";
		return;
	}
	a->startup_pct = own_ns / d->start_up_ns * 100;
	a->startup_unknown = NULL;
}

isc_status isc_build_verdict(isc_build *b, isc_error *err)
{
	isc_evidence j = {.a = b->a, .arena = b->arena};
	isc_observed *d = b->observed;
	bool good = isc_observed_end(b);
	isc_rules own;
	isc_status st;

	b->a->window = (isc_analysis_window){.from_us = b->a->from_us, .to_us = b->a->to_us, .why = b->a->why};
	if (good && d->focus.count > 0)
		good = fill(&j, d);
	if (good && j.known && j.window_us > 0)
		tell(&j, d);
	if (good)
		tell_start_up(d);
	if (!good || b->arena->failed)
		return isc_build_no_memory(err);
	isc_rules_init(&own);
	st = isc_verdict_reach(&j, b->options != NULL && b->options->rules != NULL ? b->options->rules : &own, b->a,
			       err);
	isc_rules_fini(&own);
	if (j.known) {
		const isc_trace_process *process = isc_trace_process_find(b->trace, d->focus.process);

		b->a->verdict.pid = process != NULL ? process->pid : 0;
		b->a->verdict.tid = d->focus.tid;
	}
	return st;
}

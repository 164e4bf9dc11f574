#include "analyze/time/thread_states.h"

#include <math.h>

#include "analyze/time/account.h"
#include "analyze/time/attribution.h"
#include "analyze/gpu/gpu_waits.h"

const char *isc_source_name(enum isc_source source)
{
	static const char *const names[] = {[ISC_SOURCE_NONE] = NULL,
					    [ISC_SOURCE_AGENT] = "agent",
					    [ISC_SOURCE_SWITCHES] = "switches",
					    [ISC_SOURCE_SAMPLED] = "sampled",
					    [ISC_SOURCE_ESTIMATED] = "estimated"};

	return names[source];
}

/* What is known of a process as a whole. */
struct told_process {
	bool sampled, placed, collections;
};

static size_t rank_of(const isc_hashmap *by_index, uint32_t thread)
{
	const uint64_t *rank = isc_hashmap_find(by_index, thread);

	return rank != NULL ? (size_t)*rank - 1 : SIZE_MAX;
}

static void take_waits(isc_build *b, const isc_hashmap *by_index, isc_account *account, struct told_process *told)
{
	const isc_total_wait *w;

	for (size_t i = 0; (w = isc_totals_wait_at(b->totals, i)) != NULL; i++) {
		size_t rank = rank_of(by_index, w->thread), process = isc_build_process_rank(b, w->process);
		double brief = (double)w->brief_ticks * b->us_per_tick, us = (double)w->ticks * b->us_per_tick - brief;

		b->a->waits_seen |= w->call != ISC_WAIT_GC;
		b->a->gc_unseen += w->unseen;
		if (w->call == ISC_WAIT_GC && process != SIZE_MAX)
			told[process].collections = true;
		if (rank == SIZE_MAX)
			continue;
		account[rank].told[isc_waits_of(&b->waits, w)] += us > 0 ? us : 0;
		account[rank].told[isc_waits_brief(w->call, brief * 1e3, w->count)] += brief;
	}
}

/* Where anything of GPUs was told, a thread that never waited for one has 0 of it. */
static bool take_gpu_waits(isc_build *b, const isc_hashmap *by_index, isc_account *account)
{
	isc_gpu_waits waits = {0};

	/* Of the judged part only the time on a CPU is wanted. */
	if (b->part)
		return true;
	if (!isc_gpu_waits_find(b, &waits))
		return false;
	for (size_t i = 0; b->gpu_calls && b->only.at == NULL && i < b->a->thread_count; i++)
		account[i].gpu = true;
	for (size_t i = 0; i < waits.count; i++) {
		const isc_gpu_waiting *w = &waits.thread[i];
		size_t rank = rank_of(by_index, w->thread);

		if (rank == SIZE_MAX)
			continue;
		b->a->threads[rank].launches = w->calls;
		account[rank].told[ISC_STATE_GPU_WAIT] += w->us;
		for (int state = 0; state < ISC_STATES; state++) {
			double left = account[rank].told[state] - w->inside_us[state];

			account[rank].told[state] = left > 0 ? left : 0;
		}
	}
	return true;
}

static void take_samples(isc_build *b, const isc_hashmap *by_index, isc_account *account, struct told_process *told)
{
	const isc_total_stack *s;

	for (size_t i = 0; (s = isc_totals_stack_at(b->totals, i)) != NULL; i++) {
		size_t rank = rank_of(by_index, s->thread), process = isc_build_process_rank(b, s->process);
		isc_attribution what = isc_attribution_of(b, s->process, s->stack);

		if (process != SIZE_MAX) {
			told[process].sampled = true;
			told[process].placed |= what.native;
		}
		if (rank == SIZE_MAX)
			continue;
		isc_account_sample(&account[rank], &what,
				   (double)(s->cpu_ns > s->fault_ns ? s->cpu_ns - s->fault_ns : 0) / 1e3);
		account[rank].filled += (double)s->faults * b->a->usage.fault_us;
	}
}

/* What a page fault takes: where enough samples met some, as they tell.  What a page is, and what it is filled with,
 * is not the same everywhere; a recorder that has measured it beforehand knows of small ones. */
static bool take_fault_cost(isc_build *b)
{
	isc_analysis_usage *u = &b->a->usage;
	double faults = 0, us = 0;
	uint64_t faulting = 0;
	const isc_total_stack *s;

	for (size_t i = 0; (s = isc_totals_stack_at(b->totals, i)) != NULL; i++) {
		faults += (double)s->faults;
		us += (double)s->fault_ns / 1e3;
		faulting += s->faulting;
	}
	if (faulting >= ISC_FAULTS_ENOUGH) {
		u->fault_us = us / faults;
		u->fault_sampled = true;
	}
	return faults > 0 && (u->fault_sampled || u->fault_us > 0);
}

static void take_scopes(isc_build *b, const isc_hashmap *by_index)
{
	const isc_total_thread *total;

	for (size_t i = 0; (total = isc_totals_thread_at(b->totals, i)) != NULL; i++) {
		size_t rank = rank_of(by_index, total->thread);

		if (rank != SIZE_MAX)
			b->a->threads[rank].scope_us += (double)total->scope_ticks * b->us_per_tick;
	}
}

static void settle(const isc_build *b, const isc_track *track, const struct told_process *told, isc_account *account,
		   isc_analysis_thread *t)
{
	size_t process = track->process;

	account->wall = t->wall_us;
	account->merged = b->facts.native_off;
	account->switches = t->on_cpu_us >= 0;
	account->estimated = t->estimated;
	account->on_cpu = t->on_cpu_us;
	account->queue = t->run_queue_us;
	account->blocked = t->waiting_us;
	account->unwatched = t->unwatched_us;
	if (process != SIZE_MAX) {
		const isc_analysis_process *p = &b->a->processes[process];

		account->agent = b->facts.waits && p->traced && b->us_per_tick > 0;
		account->collections = told[process].collections && b->us_per_tick > 0;
		account->sampled = told[process].sampled;
		account->placed = told[process].placed;
		account->traced = p->python && b->calls_seen;
	}
	/* One figure for the whole group: at most what the thread was ready and had no CPU. */
	if (b->facts.throttled_us >= 0 && !isc_build_is_part(b) && account->switches) {
		account->throttling = true;
		account->told[ISC_STATE_THROTTLED] =
			b->facts.throttled_us < account->queue ? b->facts.throttled_us : account->queue;
	}
	if (b->facts.faults && account->switches && !account->estimated) {
		account->faults = true;
		account->told[ISC_STATE_PAGE_FAULT] = (double)track->fault_ns / 1e3;
	}
	account->fills = account->sampled && b->fills;
	isc_account_settle(account, t);
}

bool isc_thread_states_fill(isc_build *b, const isc_track *track, const isc_hashmap *by_index)
{
	isc_analysis *a = b->a;
	isc_account *account = isc_arena_array(b->arena, a->thread_count, sizeof(*account));
	struct told_process *told = isc_arena_array(b->arena, a->process_count, sizeof(*told));

	if ((account == NULL && a->thread_count > 0) || (told == NULL && a->process_count > 0))
		return false;
	take_waits(b, by_index, account, told);
	if (!take_gpu_waits(b, by_index, account))
		return false;
	b->fills = take_fault_cost(b);
	take_samples(b, by_index, account, told);
	take_scopes(b, by_index);
	for (size_t i = 0; i < a->thread_count; i++) {
		settle(b, &track[i], told, &account[i], &a->threads[i]);
		if (a->threads[i].unattributed == ISC_UNATTRIBUTED_UNSAMPLED)
			a->samples.unattributed_us[ISC_UNATTRIBUTED_UNSAMPLED] +=
				fmax(a->threads[i].state_us[ISC_STATE_UNATTRIBUTED], 0);
	}
	return true;
}

/* Most time in scopes, else most launches on GPUs, else the program's main thread, else the one that ran most. */
static const isc_analysis_thread *focus_of(const isc_build *b)
{
	const isc_analysis_thread *focus = NULL;
	const isc_analysis *a = b->a;

	for (size_t i = 0; i < a->thread_count; i++) {
		const isc_analysis_thread *t = &a->threads[i];

		if (t->scope_us > 0 && t->wall_us > 0 && (focus == NULL || t->scope_us > focus->scope_us))
			focus = t;
	}
	for (size_t i = 0; (focus == NULL || focus->scope_us <= 0) && i < a->thread_count; i++) {
		const isc_analysis_thread *t = &a->threads[i];

		if (t->launches > 0 && t->wall_us > 0 && (focus == NULL || t->launches > focus->launches))
			focus = t;
	}
	for (size_t i = 0; focus == NULL && i < a->thread_count; i++) {
		const isc_analysis_thread *t = &a->threads[i];

		if (t->main && t->wall_us > 0 && b->root != SIZE_MAX && t->pid == a->processes[b->root].pid)
			focus = t;
	}
	if (focus == NULL && a->thread_count > 0 && a->threads[0].wall_us > 0)
		focus = &a->threads[0];
	return focus;
}

void isc_build_breakdown(isc_build *b)
{
	const isc_analysis_thread *t = focus_of(b);
	isc_analysis_breakdown *out = &b->a->breakdown;

	if (t == NULL)
		return;
	out->known = true;
	out->tid = t->tid;
	out->pid = t->pid;
	out->name = t->name;
	for (int state = 0; state < ISC_STATES; state++) {
		out->pct[state] = t->state_us[state] >= 0 ? t->state_us[state] / t->wall_us * 100 : -1;
		out->source[state] = t->source[state];
	}
	out->unattributed = t->unattributed;
}

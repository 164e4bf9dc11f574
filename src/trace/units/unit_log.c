#include "trace/units/unit_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "trace/totals/totals_lane.h"
#include "trace/writing.h"

/* Spans that were left on another thread before their enter was fed: of about a second. */
#define EARLY 1024u
/* Outermost spans of a process that are open; of more the oldest is not matched, as if its enter had been lost. */
#define SPANS_MAX 65536u
#define TASKS_MAX 4096u /* of a process that are open */
/* Events of a process that has ended are read in the same turn, and gaps are settled some flushes later. */
#define QUIET_FLUSHES 6u
/* One that has no room in the file has no known end either. */
#define SILENT_FLUSHES 60u

isc_unit_log *isc_unit_log_new(uint64_t limit_bytes)
{
	isc_unit_log *u = calloc(1, sizeof(*u));

	if (u == NULL)
		return NULL;
	u->lost_from = UINT64_MAX;
	u->budget = limit_bytes != 0 && limit_bytes / ISC_UNITS_PART < ISC_UNITS_BYTES ? limit_bytes / ISC_UNITS_PART
										       : ISC_UNITS_BYTES;
	return u;
}

static void free_process(isc_unit_process *p)
{
	free(p->tasks);
	isc_aging_fini(&p->by_task);
	isc_aging_fini(&p->by_await);
	free(p->awaits);
	isc_aging_fini(&p->spans);
	free(p->span_threads);
	free(p->early);
	isc_hashmap_fini(&p->off);
	isc_unit_log_loops_free(p->loops);
	free(p);
}

void isc_unit_log_free(isc_unit_log *u)
{
	if (u == NULL)
		return;
	for (size_t i = 0; i < u->process_count; i++)
		free_process(u->processes[i]);
	free(u->processes);
	isc_hashmap_fini(&u->by_process);
	isc_hashmap_fini(&u->counted);
	free(u->rows);
	free(u->gaps);
	free(u->changes);
	isc_buffer_fini(&u->payload);
	free(u);
}

isc_unit_process *isc_unit_log_of(isc_unit_log *u, uint32_t process)
{
	isc_unit_process **bigger, *p;
	uint64_t *at;

	if (u->last != NULL && u->last->process == process) {
		u->last->heard = u->flushes;
		return u->last;
	}
	at = isc_hashmap_find(&u->by_process, process);
	if (at != NULL) {
		u->last = u->processes[*at];
		u->last->heard = u->flushes;
		return u->last;
	}
	bigger = isc_grow(u->processes, u->process_count, &u->process_room, sizeof(*bigger));
	if (bigger == NULL)
		return NULL;
	u->processes = bigger;
	p = calloc(1, sizeof(*p));
	at = p != NULL ? isc_hashmap_put(&u->by_process, process, NULL) : NULL;
	if (at == NULL) {
		free(p);
		return NULL;
	}
	p->process = process;
	p->heard = u->flushes;
	*at = u->process_count;
	at = isc_hashmap_find(&u->counted, process);
	p->count = at != NULL ? *at : 0;
	isc_hashmap_remove(&u->counted, process);
	u->processes[u->process_count++] = p;
	return u->last = p;
}

uint64_t isc_unit_log_counted(const isc_unit_log *u, uint32_t process)
{
	const uint64_t *at = isc_hashmap_find(&u->by_process, process);

	if (at != NULL)
		return u->processes[*at]->count;
	at = isc_hashmap_find(&u->counted, process);
	return at != NULL ? *at : 0;
}

void isc_unit_log_add(isc_unit_log *u, isc_unit_process *p, const isc_unit_row *row)
{
	if ((p->count++ & ((1u << u->shift) - 1)) == 0)
		isc_unit_log_keep(u, row);
}

void isc_unit_log_keep(isc_unit_log *u, const isc_unit_row *row)
{
	isc_unit_row *bigger = isc_grow(u->rows, u->row_count, &u->row_room, sizeof(*row));

	if (bigger == NULL) {
		u->refused++;
		return;
	}
	u->rows = bigger;
	u->rows[u->row_count++] = *row;
}

/* ---- scopes ---- */

void isc_unit_log_scope(isc_totals *t, const isc_totals_lane *lane, uint32_t name, uint64_t begin, uint64_t end)
{
	isc_unit_process *p = isc_unit_log_of(t->units, lane->process);

	if (p != NULL)
		isc_unit_log_add(t->units, p,
				 &(isc_unit_row){.process = lane->process,
						 .thread = lane->thread,
						 .source = ISC_UNIT_SCOPE,
						 .name = name,
						 .begin = begin,
						 .end = end > begin ? end : begin});
}

static isc_unit_span *find_early(const isc_unit_process *p, uint64_t instance)
{
	uint32_t n = p->early_count < EARLY ? p->early_count : EARLY;

	for (uint32_t i = 0; i < n; i++) {
		if (p->early[i].instance == instance)
			return &p->early[i];
	}
	return NULL;
}

static void put_early(isc_unit_process *p, const isc_unit_span *span)
{
	if (p->early == NULL)
		p->early = calloc(EARLY, sizeof(*p->early));
	if (p->early != NULL)
		p->early[p->early_count++ % EARLY] = *span;
}

static void put_span(isc_unit_process *p, uint64_t instance, uint32_t thread)
{
	uint32_t place = isc_aging_find(&p->spans, instance), *bigger;

	if (place == 0)
		place = isc_aging_put(&p->spans, instance, SPANS_MAX);
	if (place > p->span_room) {
		bigger = realloc(p->span_threads, p->spans.room * sizeof(*bigger));
		if (bigger == NULL) {
			isc_aging_drop(&p->spans, place);
			return;
		}
		p->span_threads = bigger;
		p->span_room = p->spans.room;
	}
	if (place != 0)
		p->span_threads[place - 1] = thread;
}

void isc_unit_log_span_enter(isc_totals *t, const isc_totals_lane *lane, const isc_record *r, const isc_span *span)
{
	isc_unit_process *p = span->more == 0 ? isc_unit_log_of(t->units, lane->process) : NULL;
	isc_unit_span *early;

	if (p == NULL)
		return;
	early = find_early(p, span->instance);
	if (early != NULL) {
		early->instance = 0;
		isc_unit_log_scope(t, lane, r->id, early->begin, early->end);
		return;
	}
	put_span(p, span->instance, lane->thread);
}

/* Its begin follows from its end: an enter that was cut to other ticks is no matter. */
void isc_unit_log_span_exit(isc_totals *t, const isc_totals_lane *lane, const isc_record *r, const isc_span *span)
{
	isc_unit_process *p = isc_unit_log_of(t->units, lane->process);
	uint64_t begin = r->ticks > span->more ? r->ticks - span->more : 0;
	uint32_t place;

	if (p == NULL)
		return;
	place = isc_aging_find(&p->spans, span->instance);
	if (place != 0) {
		isc_totals_lane entered = {.process = lane->process, .thread = p->span_threads[place - 1]};

		isc_aging_drop(&p->spans, place);
		isc_unit_log_scope(t, &entered, r->id, begin, r->ticks);
	} else if (r->arg == ISC_SPAN_MOVED) {
		put_early(p, &(isc_unit_span){.instance = span->instance, .begin = begin, .end = r->ticks});
	}
}

/* ---- tasks ---- */

/* Where so many are open that one must have ended unseen, it is the one that was not heard of for longest. */
static uint32_t add_task(isc_unit_process *p, uint64_t key, const isc_unit_task *task)
{
	uint32_t place = isc_aging_put(&p->by_task, key, TASKS_MAX);
	isc_unit_task *bigger;

	if (place > p->task_room) {
		bigger = realloc(p->tasks, p->by_task.room * sizeof(*bigger));
		if (bigger == NULL) {
			isc_aging_drop(&p->by_task, place);
			return 0;
		}
		p->tasks = bigger;
		p->task_room = p->by_task.room;
	}
	if (place != 0)
		p->tasks[place - 1] = *task;
	return place;
}

/* The task of the lane's step; NULL: none, or its place is another's by now. */
static isc_unit_task *task_of(const isc_unit_process *p, const isc_totals_calls *c)
{
	return c->task != 0 && isc_aging_find(&p->by_task, c->task_key) == c->task ? &p->tasks[c->task - 1] : NULL;
}

static void end_step(isc_totals *t, isc_unit_process *p, const isc_totals_calls *c, uint64_t ticks)
{
	const isc_unit_task *task = task_of(p, c);

	/* What its coroutine called may be all that was seen of the step. */
	if (task == NULL || c->step_end != ISC_STEP_LEFT)
		return;
	isc_unit_log_add(t->units, p,
			 &(isc_unit_row){.process = p->process,
					 .thread = task->thread,
					 .source = ISC_UNIT_TASK,
					 .name = task->code,
					 .begin = task->begin,
					 .end = ticks > task->begin ? ticks : task->begin});
	isc_totals_unit_end(t, ticks);
	isc_aging_drop(&p->by_task, c->task);
}

void isc_unit_log_task(isc_totals *t, const isc_totals_lane *lane, const isc_record *r)
{
	isc_unit_process *p = isc_unit_log_of(t->units, lane->process);
	isc_totals_calls *c = lane->calls;
	uint64_t key = (uint64_t)r->arg << 32 | r->id;

	if (p == NULL)
		return;
	if (r->id == 0)
		end_step(t, p, c, r->ticks);
	c->task = 0;
	c->step_end = ISC_STEP_UNSEEN;
	c->step_code = 0;
	c->unnamed = r->id != 0;
	if (r->id == 0)
		return;
	c->task = isc_aging_find(&p->by_task, key);
	c->task_key = key;
	if (c->task != 0) {
		isc_aging_touch(&p->by_task, c->task);
		p->tasks[c->task - 1].last = r->ticks;
		return;
	}
	isc_totals_unit_begin(t, r->ticks);
	c->task = add_task(p, key, &(isc_unit_task){.begin = r->ticks, .last = r->ticks, .thread = lane->thread});
}

void isc_unit_log_task_called(isc_totals *t, const isc_totals_lane *lane, const isc_record *r)
{
	isc_unit_process *p = isc_unit_log_of(t->units, lane->process);
	isc_unit_task *task = p != NULL ? task_of(p, lane->calls) : NULL;

	lane->calls->unnamed = false;
	if (task == NULL)
		return;
	/* A coroutine begins once: an earlier task that looked the same has ended unseen. */
	if (task->code != 0 && r->kind == ISC_KIND_CALL_ENTER) {
		task->begin = task->last;
		task->thread = lane->thread;
		task->code = 0;
	}
	task->code = task->code != 0 ? task->code : r->id;
	if (task->code == r->id) {
		lane->calls->step_code = r->id;
		lane->calls->step_depth = lane->calls->depth;
	}
}

/* ---- as the recording goes on ---- */

void isc_unit_log_flush(isc_totals *t, bool last)
{
	isc_unit_log *u = t->units;

	u->flushes++;
	u->moment[u->flushes % ISC_UNITS_MOMENTS] = u->now;
	for (size_t i = 0; i < u->process_count; i++)
		isc_unit_log_loops_flush(t, u->processes[i], last);
	isc_unit_log_gaps_flush(u, last);
}

static bool is_over(const isc_writer *w, const isc_unit_process *p)
{
	const isc_trace_process *known = isc_session_state_process(&w->state, p->process);
	uint32_t quiet = w->units->flushes - p->heard;

	return known != NULL ? (known->flags & ISC_PROCESS_ENDED) && quiet >= QUIET_FLUSHES : quiet >= SILENT_FLUSHES;
}

/* What its last flush would have written is written now.  False: no memory to keep its count. */
static bool release_process(isc_totals *t, size_t i)
{
	isc_unit_log *u = t->units;
	isc_unit_process *p = u->processes[i], *moved = u->processes[u->process_count - 1];
	uint64_t *count, *at = isc_hashmap_find(&u->by_process, moved->process);

	isc_unit_log_loops_flush(t, p, true);
	count = at != NULL ? isc_hashmap_put(&u->counted, p->process, NULL) : NULL;
	if (count == NULL)
		return false;
	*count = p->count;
	isc_unit_log_gaps_put(u, p, true);
	*at = i;
	u->processes[i] = moved;
	u->process_count--;
	isc_hashmap_remove(&u->by_process, p->process);
	if (u->last == p)
		u->last = NULL;
	free_process(p);
	return true;
}

void isc_unit_log_release(isc_writer *w)
{
	isc_unit_log *u = w->units;

	for (size_t i = u->process_count; i-- > 0;) {
		if (is_over(w, u->processes[i]) && !release_process(w->totals, i))
			return;
	}
}

/*
 * totals_row.c - rows of totals, added at the end of their table.
 */
#include <string.h>

#include "base/grow.h"
#include "trace/totals/totals_lane.h"

bool isc_totals_enter(isc_hashmap *map, uint64_t key, size_t index)
{
	uint64_t *value = isc_hashmap_put(map, key, NULL);

	if (value != NULL)
		*value = index;
	return value != NULL;
}

#define ADD(t, array, count_, room_, map, key, weigh) \
	do { \
		void *bigger_ = isc_grow((t)->array, (t)->count_, &(t)->room_, sizeof(*(t)->array)); \
		if (bigger_ == NULL || (t)->broken) \
			return NULL; \
		(t)->array = bigger_; \
		if (!isc_totals_enter(map, key, (t)->count_)) \
			return NULL; \
		memset(&(t)->array[(t)->count_], 0, sizeof(*(t)->array)); \
		(t)->count_++; \
		weigh; \
	} while (0)

static void weigh_thread(isc_totals *t, unsigned weight)
{
	t->weight += weight;
	t->thread_weight += weight;
}

isc_total_scope *isc_totals_add_scope(isc_totals *t, uint32_t process, uint32_t name)
{
	isc_total_scope *e;

	ADD(t, scopes, scope_count, scope_room, &t->by_name[ISC_BY_SCOPE], isc_hashmap_key(process, name),
	    isc_totals_weigh(t, ISC_PART_NAMES, ISC_WEIGHT_SCOPE));
	e = &t->scopes[t->scope_count - 1];
	e->process = process;
	e->name = name;
	return e;
}

isc_total_mark *isc_totals_add_mark(isc_totals *t, uint32_t process, uint32_t name)
{
	ADD(t, marks, mark_count, mark_room, &t->by_name[ISC_BY_MARK], isc_hashmap_key(process, name),
	    isc_totals_weigh(t, ISC_PART_NAMES, ISC_WEIGHT_MARK));
	t->marks[t->mark_count - 1] = (isc_total_mark){.process = process, .name = name};
	return &t->marks[t->mark_count - 1];
}

isc_total_counter *isc_totals_add_counter(isc_totals *t, uint32_t process, uint32_t name)
{
	ADD(t, counters, counter_count, counter_room, &t->by_name[ISC_BY_COUNTER], isc_hashmap_key(process, name),
	    isc_totals_weigh(t, ISC_PART_NAMES, ISC_WEIGHT_COUNTER));
	t->counters[t->counter_count - 1] = (isc_total_counter){.process = process, .name = name};
	return &t->counters[t->counter_count - 1];
}

isc_total_thread *isc_totals_add_thread(isc_totals *t, uint32_t process, uint32_t thread)
{
	ADD(t, threads, thread_count, thread_room, &t->by_thread, isc_hashmap_key(process, thread),
	    weigh_thread(t, ISC_WEIGHT_THREAD));
	t->threads[t->thread_count - 1] = (isc_total_thread){.process = process, .thread = thread};
	return &t->threads[t->thread_count - 1];
}

isc_total_function *isc_totals_add_function(isc_totals *t, uint32_t process, uint32_t code)
{
	ADD(t, functions, function_count, function_room, &t->by_name[ISC_BY_FUNCTION], isc_hashmap_key(process, code),
	    isc_totals_weigh(t, ISC_PART_FUNCTIONS, ISC_WEIGHT_FUNCTION));
	t->functions[t->function_count - 1] = (isc_total_function){.process = process, .code = code};
	return &t->functions[t->function_count - 1];
}

isc_total_stack *isc_totals_add_stack(isc_totals *t, uint32_t thread, uint32_t stack)
{
	ADD(t, stacks, stack_count, stack_room, &t->by_stack, isc_hashmap_key(thread, stack),
	    isc_totals_weigh(t, ISC_PART_STACKS, ISC_WEIGHT_STACK));
	t->stacks[t->stack_count - 1] = (isc_total_stack){.thread = thread, .stack = stack};
	return &t->stacks[t->stack_count - 1];
}

isc_total_wait *isc_totals_add_wait(isc_totals *t, uint32_t thread_and_call, uint32_t stack)
{
	ADD(t, waits, wait_count, wait_room, &t->by_wait, isc_hashmap_key(thread_and_call, stack),
	    isc_totals_weigh(t, ISC_PART_WAITS, ISC_WEIGHT_WAIT));
	t->waits[t->wait_count - 1] =
		(isc_total_wait){.thread = thread_and_call >> 5, .call = thread_and_call & 31, .stack = stack};
	return &t->waits[t->wait_count - 1];
}

struct isc_totals_process *isc_totals_add_process(isc_totals *t, uint32_t process)
{
	ADD(t, processes, process_count, process_room, &t->by_process, process, t->weight += ISC_WEIGHT_CALLS);
	t->processes[t->process_count - 1].calls.process = process;
	return &t->processes[t->process_count - 1];
}

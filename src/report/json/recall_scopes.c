/*
 * recall_scopes.c - scopes and their tails from the JSON report.
 */
#include <string.h>

#include "report/json/recall.h"
#include "report/json/recall_read.h"

static void recall_group(yyjson_val *o, double mean_us, uint64_t count, isc_analysis_scope_group *g)
{
	yyjson_val *breakdown = yyjson_obj_get(o, "breakdown");

	isc_recall_states(breakdown, g->state_us, g->source);
	g->unattributed = isc_recall_why(breakdown);
	g->mean_us = mean_us;
	g->count = count;
	for (int s = 0; s < ISC_STATES; s++)
		g->state_us[s] = g->state_us[s] >= 0 ? g->state_us[s] * mean_us / 100 : -1;
}

static void cause_named(yyjson_val *name, isc_analysis_cause *c)
{
	c->state = ISC_STATE_OTHER;
	c->event_loop = yyjson_equals_str(name, "event_loop");
	c->not_seen = yyjson_equals_str(name, "not_seen");
	for (int s = 0; s < ISC_STATES; s++) {
		if (yyjson_equals_str(name, isc_state_name((enum isc_state)s)))
			c->state = (enum isc_state)s;
	}
}

/* The report has the place of a holder as it is read: it is then a name. */
static void recall_cause(isc_arena *arena, yyjson_val *o, isc_analysis_cause *c)
{
	yyjson_val *where = yyjson_obj_get(o, "where"), *held = yyjson_obj_get(o, "held_by");
	isc_analysis_frame at = frame_in(arena, o, "function");

	cause_named(yyjson_obj_get(o, "cause"), c);
	/* Who waits for the GIL is often not known, and who had it stands for the place. */
	if (c->state == ISC_STATE_GIL_WAIT && !c->event_loop && yyjson_equals(where, held)) {
		c->holder = at;
	} else {
		c->where = at;
		c->holder.name = text_as(arena, held);
	}
	c->holder_tid = id_in(o, "holder_thread_id");
	c->extra_us = real_in(o, "extra_us");
}

static void recall_what_if(isc_arena *arena, yyjson_val *list, isc_analysis_scope *s)
{
	yyjson_val *o;
	size_t i, n;

	s->what_if = room_for(arena, &list, sizeof(*s->what_if), &s->what_if_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		isc_analysis_what_if *w = &s->what_if[i];

		cause_named(yyjson_obj_get(o, "without"), &w->cause);
		w->cause.where.name = text_in(arena, o, "where");
		w->cause.holder.name = text_in(arena, o, "held_by");
		w->saves_at_most_us = real_in(o, "saves_at_most_us");
		w->total_us = real_in(o, "total_us");
	}
}

static void recall_inside(isc_arena *arena, yyjson_val *scope, isc_analysis_scope *s)
{
	yyjson_val *list = yyjson_obj_get(scope, "nested"), *o;
	size_t i, n;

	s->nested = room_for(arena, &list, sizeof(*s->nested), &s->nested_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		s->nested[i] = (isc_analysis_nested){.name = text_in(arena, o, "name"),
						     .count = count_in(o, "count"),
						     .total_us = real_in(o, "total_us"),
						     .us_median = real_in(o, "us_median"),
						     .us_slow = real_in(o, "us_slow")};
	}
	list = yyjson_obj_get(scope, "slowest");
	s->slowest = room_for(arena, &list, sizeof(*s->slowest), &s->slowest_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		s->slowest[i] = (isc_analysis_slowest){.start_us = real_in(o, "start_us"),
						       .dur_us = real_in(o, "dur_us"),
						       .tid = id_in(o, "thread_id"),
						       .pid = id_in(o, "process_id")};
	}
	list = yyjson_obj_get(scope, "histogram");
	s->bins = room_for(arena, &list, sizeof(*s->bins), &s->bin_count);
	yyjson_arr_foreach(list, i, n, o)
	{
		s->bins[i] = (isc_analysis_bin){real_in(o, "from_us"), real_in(o, "to_us"), count_in(o, "count")};
	}
}

static void recall_scope(isc_arena *arena, yyjson_val *o, isc_analysis_scope *s)
{
	yyjson_val *groups = yyjson_obj_get(o, "groups"), *group, *list = yyjson_obj_get(o, "slow_because"), *cause;
	size_t i, n;

	s->name = text_in(arena, o, "name");
	s->count = count_in(o, "count");
	s->open = count_in(o, "open");
	s->unmatched = count_in(o, "unmatched");
	s->total_us = real_in(o, "total_us");
	s->mean_us = real_in(o, "mean_us");
	s->p50_us = real_in(o, "p50_us");
	s->p90_us = real_in(o, "p90_us");
	s->p99_us = real_in(o, "p99_us");
	s->max_us = real_in(o, "max_us");
	/* Of all of them there are shares alone, whatever they are shares of. */
	recall_group(o, 100, yyjson_is_obj(yyjson_obj_get(o, "breakdown")), &s->all);
	s->all.unseen_us = real_in(o, "unseen_us");
	group = yyjson_obj_get(groups, "median");
	recall_group(group, real_in(group, "mean_us"), count_in(group, "count"), &s->median);
	group = yyjson_obj_get(groups, "slow");
	recall_group(group, real_in(group, "mean_us"), count_in(group, "count"), &s->slow);
	s->causes = room_for(arena, &list, sizeof(*s->causes), &s->cause_count);
	yyjson_arr_foreach(list, i, n, cause) recall_cause(arena, cause, &s->causes[i]);
	recall_what_if(arena, yyjson_obj_get(o, "what_if"), s);
	recall_inside(arena, o, s);
}

void isc_recall_scopes(yyjson_val *list, isc_analysis *a)
{
	yyjson_val *o;
	size_t i, n;

	a->scopes = room_for(a->arena, &list, sizeof(*a->scopes), &a->scope_count);
	yyjson_arr_foreach(list, i, n, o) recall_scope(a->arena, o, &a->scopes[i]);
}

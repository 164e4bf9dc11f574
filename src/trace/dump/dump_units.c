/*
 * dump_units.c - units and gaps, which outlive the events too.
 */
#include "trace/dump/dump_text.h"

static const char *source_name(uint32_t source)
{
	static const char *const names[] = {[ISC_UNIT_SCOPE] = "scope",		[ISC_UNIT_TASK] = "task",
					    [ISC_UNIT_LOOP] = "loop",		[ISC_MILESTONE_IMPORT] = "import",
					    [ISC_MILESTONE_MODULE] = "module",	[ISC_MILESTONE_SHUTDOWN] = "shutdown",
					    [ISC_MILESTONE_LEAVING] = "leaving"};

	return names[source];
}

static const char *gap_name(uint32_t kind)
{
	static const char *const names[] = {[ISC_GAP_THINNED] = "thinned",
					    [ISC_GAP_GATED] = "gated",
					    [ISC_GAP_PAUSED] = "paused",
					    [ISC_GAP_LOST] = "lost"};

	return names[kind];
}

static void add_code(struct dump *d, uint32_t process, uint32_t id)
{
	uint32_t len = 0;
	const void *data = isc_trace_define(d->trace, process, id, ISC_DEF_CODE, &len);

	isc_buffer_text(&d->line, " ");
	isc_dump_code(d, data, len);
}

static bool dump_unit(void *self, const isc_trace_unit *u)
{
	struct dump *d = self;

	isc_buffer_format(&d->line, "unit p%u t%u %s from ", u->process, u->thread, source_name(u->source));
	isc_dump_time(d, u->begin_ns);
	isc_buffer_text(&d->line, " to ");
	isc_dump_time(d, u->end_ns);
	if (u->source == ISC_UNIT_SCOPE)
		isc_dump_name(d, u->process, u->name);
	else
		add_code(d, u->process, u->name);
	if (u->source == ISC_UNIT_LOOP) {
		isc_buffer_text(&d->line, " in");
		add_code(d, u->process, u->parent);
	}
	isc_dump_finish(d);
	return !ferror(d->out);
}

static bool dump_milestone(void *self, const isc_trace_unit *u)
{
	struct dump *d = self;

	isc_buffer_format(&d->line, "milestone p%u t%u %s from ", u->process, u->thread, source_name(u->source));
	isc_dump_time(d, u->begin_ns);
	isc_buffer_text(&d->line, " to ");
	isc_dump_time(d, u->end_ns);
	if (u->name != 0)
		add_code(d, u->process, u->name);
	isc_dump_finish(d);
	return !ferror(d->out);
}

bool isc_dump_units(struct dump *d, isc_error *err)
{
	const isc_trace_gap *g;

	for (size_t i = 0; (g = isc_trace_gap_at(d->trace, i)) != NULL; i++) {
		isc_buffer_format(&d->line, "gap p%u %s from ", g->process, gap_name(g->kind));
		isc_dump_time(d, g->from_ns);
		isc_buffer_text(&d->line, " to ");
		if (g->to_ns == UINT64_MAX)
			isc_buffer_text(&d->line, "end");
		else
			isc_dump_time(d, g->to_ns);
		isc_dump_finish(d);
	}
	return isc_trace_milestones_each(d->trace, dump_milestone, d, err) == ISC_OK &&
	       isc_trace_units_each(d->trace, dump_unit, d, err) == ISC_OK;
}

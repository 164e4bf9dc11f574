/* recorder_facts.c - what is known of a session when it ends. */
#include "base/clock.h"
#include "session/facts.h"
#include "session/recorder_state.h"

static uint64_t micros(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

/* What recording took up to now. */
static isc_facts_end cost_now(const isc_recorder *r)
{
	isc_facts_end facts = {.wall_ns = (r->ended_ns ? r->ended_ns : isc_clock_mono_ns()) - r->begin_ns,
			       .start_cost_ns = atomic_load(&r->folder.control->start_cost_ns),
			       .produced = r->sink.produced,
			       .clock_source = r->clock_source};

	if (facts.start_cost_ns > facts.wall_ns) /* the program can write there */
		facts.start_cost_ns = facts.wall_ns;
	isc_writer_stats_get(r->writer, &facts.writer);
	facts.at_once = isc_writer_at_once(r->writer, facts.wall_ns);
	if (r->switches != NULL)
		isc_switches_stats_get(r->switches, &facts.switches);
	return facts;
}

double isc_recorder_cost_apart_ns(const isc_recorder *r)
{
	isc_facts_end facts = cost_now(r);

	return isc_facts_apart_ns(&facts);
}

void isc_recorder_last_facts(isc_recorder *r)
{
	isc_facts_end facts = cost_now(r);
	isc_follow_stats follow;
	isc_buffer text = {0};

	isc_follow_stats_get(r->follow, &follow);
	facts.roster_lost = follow.roster_lost;
	facts.attach_failed = atomic_load(&r->folder.control->attach_failed);
	facts.on_disk = r->folder.on_disk;
	facts.throttle = r->throttle.count > 0 ? &r->throttle : NULL;
	facts.throttle_unknown = &r->throttle_unknown;
	facts.kernel_calls = r->settings->kernel_calls ? &r->calls : NULL;
	facts.kernel_calls_unknown = &r->calls_unknown;
	/* Of a program that is our child, and of its own that it waited for. */
	if (r->end.known) {
		facts.faults_known = true;
		facts.collecting_ns = r->ended_cpu_ns - r->begin_cpu_ns;
		facts.minor_faults = (uint64_t)r->use.ru_minflt;
		facts.user_us = micros(&r->use.ru_utime);
		facts.system_us = micros(&r->use.ru_stime);
		facts.major_faults = (uint64_t)r->use.ru_majflt;
	}
	isc_facts_last(&text, &facts);
	isc_recorder_facts(r, text.data, text.len);
	isc_buffer_fini(&text);
	isc_recorder_tell_sources(r);
}

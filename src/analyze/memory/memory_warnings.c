#include "analyze/memory/memory.h"

#include "base/text.h"
#include "base/units.h"

#define NAME_MAX_LEN 48u
#define UNKNOWN_SHARE 0.05 /* of what was taken: so much may be without a place before it is said */

enum { NOTE = 0, GRAVE = 1 };

static void about_bypass(isc_build *b)
{
	const isc_analysis_memory *m = &b->a->memory;
	isc_buffer name = {0};

	if (!m->bypassed && !m->new_bypassed)
		return;
	isc_text_terminal(&name, m->allocator.at, m->allocator.len, NAME_MAX_LEN);
	if (name.failed)
		b->arena->failed = true;
	else if (m->bypassed)
		isc_build_say(b, GRAVE, "memory_bypassed", NULL,
			      isc_arena_format(b->arena,
					       "the program has an allocator of its own (%s) that comes before any "
					       "preloaded library: what it takes was not seen",
					       name.len > 0 ? name.data : "?"));
	else
		isc_build_say(b, NOTE, "memory_bypassed", "run without that library to see memory of C++",
			      isc_arena_format(b->arena,
					       "the allocator %s answers C++'s new and delete itself: memory taken by "
					       "them was not seen, that of malloc and its like was",
					       name.len > 0 ? name.data : "?"));
	isc_buffer_fini(&name);
}

void isc_memory_warn(isc_build *b)
{
	const isc_analysis_memory *m = &b->a->memory;
	double unknown = 0, all = 0;
	isc_units n;

	about_bypass(b);
	if (m->python_told)
		isc_build_say(b, NOTE, "memory_of_python", "run without --no-agent, under inferscope run",
			      m->hooks_told
				      ? "in a process without the agent memory is what Python's own allocators gave "
					"out: what numpy, torch and other native code there took from malloc() or "
					"mapped was not seen"
				      : "memory is what Python's own allocators gave out, as the agent was not "
					"there: what numpy, torch and other native code took from malloc() or "
					"mapped was not seen");
	if (b->only.at != NULL)
		isc_build_say(b, NOTE, "memory_of_scope", "look at the whole run, or at a time with --from and --to",
			      "which memory is a scope's own cannot be told, so memory is empty");
	if (b->stats->retired_events > 0 && m->samples > 0)
		isc_build_say(b, NOTE, "memory_retired", "keep more events with --trace-size-mb",
			      "records of memory were dropped to hold the trace to its size: sites, the peak and what "
			      "is held are of those that are left, and growth is not judged; totals are exact");
	if (m->unfollowed > 0)
		isc_build_say(b, NOTE, "memory_unfollowed", "look at fewer with --memory-sample-kb",
			      isc_arena_format(b->arena,
					       "too much was held at once to follow it all: of %s records nobody knows "
					       "when the memory was given back, and it counts as held",
					       isc_units_count(&n, m->unfollowed)));
	for (size_t i = 0; i < m->site_count; i++) {
		all += m->sites[i].bytes;
		unknown += m->sites[i].at.name.len == 0 ? m->sites[i].bytes : 0;
	}
	if (unknown > all * UNKNOWN_SHARE)
		isc_build_say(b, NOTE, "memory_unplaced", b->a->samples.count == 0 ? "run without --no-sample" : NULL,
			      isc_arena_format(b->arena, "where %s of the memory was taken is not known",
					       isc_units_percent(&n, unknown / all * 100)));
}

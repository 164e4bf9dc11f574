/*
 * verdict_scene.h - one thread, or one GPU, of which a test says what it did, and the verdict on that.
 */
#ifndef ISC_HARNESS_VERDICT_SCENE_H
#define ISC_HARNESS_VERDICT_SCENE_H

#include <stdlib.h>

#include "analyze/verdict/verdict.h"
#include "verdict_says.h"

/* A thread of one second in states that a test chooses, and a GPU of one second. */
struct scene {
	isc_analysis a;
	isc_evidence j;
	isc_rules rules;
	isc_timeline_facts timeline;
	isc_facts_gpu gpu;
	isc_facts_source source;
	isc_facts_process process;
	isc_facts_thread thread;
	isc_facts_copy copy;
};

static inline struct scene *scene(void)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->a.events = 5000;
	s->a.samples.count = 500;
	s->a.lost_known = s->a.complete = true;
	s->j = (isc_evidence){.a = &s->a, .arena = isc_arena_new(), .known = true, .window_us = 1e6, .samples = 500};
	assert_non_null(s->j.arena);
	for (int i = 0; i < ISC_STATES; i++)
		s->j.source[i] = ISC_SOURCE_AGENT;
	isc_rules_init(&s->rules);
	return s;
}

static inline void drop(struct scene *s)
{
	isc_arena_free(s->j.arena);
	isc_rules_fini(&s->rules);
	free(s);
}

static inline void with_gpu(struct scene *s)
{
	s->source.rank = ISC_GPU_UNKNOWN;
	s->gpu = (isc_facts_gpu){.seen = true,
				 .number = 3,
				 .last_ns = 1000000000,
				 .busy_ns = 1000000000,
				 .kernel_ns = 1000000000,
				 .kernels = 1000,
				 .bounded = true};
	s->thread = (isc_facts_thread){.asked = 1000, .busy_ns = 1000000000};
	s->timeline = (isc_timeline_facts){.sources = &s->source,
					   .source_count = 1,
					   .gpus = &s->gpu,
					   .gpu_count = 1,
					   .processes = &s->process,
					   .process_count = 1,
					   .threads = &s->thread,
					   .thread_count = 1,
					   .copies = &s->copy,
					   .to_ns = 1000000000};
	s->a.timeline = &s->timeline;
	s->j.known = false;
}

static inline const isc_analysis_verdict *reach(struct scene *s)
{
	isc_error err;

	assert_int_equal(isc_verdict_reach(&s->j, &s->rules, &s->a, &err), ISC_OK);
	return &s->a.verdict;
}

static inline void set(struct scene *s, enum isc_state state, double pct)
{
	s->j.state_us[state] = pct * 1e4;
}

#endif

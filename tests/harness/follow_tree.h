/*
 * follow_tree.h - a tree of processes for tests of follow: a roster in plain
 * memory, and a sink that keeps the last word on everything.
 */
#ifndef ISC_TESTS_FOLLOW_TREE_H
#define ISC_TESTS_FOLLOW_TREE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "session/follow/follow.h"

#define MS 1000000ull

/* ---- a sink that keeps the last word on everything --------------------- */

typedef struct kept {
	isc_trace_process process[8192];
	char argv[8192][32];
	uint32_t processes;
	isc_trace_thread thread[8192];
	uint32_t threads;
	uint64_t writes;
} kept;

static inline isc_status keep_process(void *self, const isc_trace_process *p, isc_error *err)
{
	kept *k = self;

	(void)err;
	k->writes++;
	if (p->process >= 8192)
		return ISC_OK;
	k->process[p->process] = *p;
	snprintf(k->argv[p->process], sizeof(k->argv[0]), "%.*s", (int)p->argv_len, p->argv);
	if (p->process > k->processes)
		k->processes = p->process;
	return ISC_OK;
}

static inline isc_status keep_thread(void *self, const isc_trace_thread *t, isc_error *err)
{
	kept *k = self;

	(void)err;
	k->writes++;
	if (t->thread >= 8192)
		return ISC_OK;
	k->thread[t->thread] = *t;
	if (t->thread > k->threads)
		k->threads = t->thread;
	return ISC_OK;
}

/* ---- a tree of told news ----------------------------------------------- */

typedef struct tree {
	isc_control *control;
	isc_follow *follow;
	kept *kept;
	uint64_t zero_ns; /* time 0 of the scripts below */
} tree;

static inline void tree_open(tree *t, uint32_t roster_entries, bool blind, pid_t root)
{
	isc_error err;

	t->control = calloc(1, sizeof(*t->control) + ISC_ROSTER_ENTRIES * sizeof(isc_roster_entry));
	t->control->roster_entries = roster_entries;
	t->kept = calloc(1, sizeof(*t->kept));
	isc_follow_options options = {.sink = {.self = t->kept, .process = keep_process, .thread = keep_thread},
				      .control = t->control,
				      .clock_source = ISC_CLOCK_MONOTONIC,
				      .root = root,
				      .blind = blind};
	/* Announcements of the future are not believed: the scripts play in the last 900 ms. */
	t->zero_ns = isc_clock_mono_ns() - 900 * MS;
	assert_int_equal(isc_follow_open(&options, &t->follow, &err), ISC_OK);
}

static inline void tree_close(tree *t)
{
	isc_follow_free(t->follow);
	free(t->kept);
	free(t->control);
}

static inline uint64_t at(const tree *t, double ms)
{
	return t->zero_ns + (uint64_t)(ms * 1e6);
}

static inline void announce(tree *t, uint32_t pid, uint32_t ppid, int birth, double ms, const char *name)
{
	uint64_t n = atomic_fetch_add(&t->control->roster_tail, 1);
	isc_roster_entry *e = &t->control->roster[n % t->control->roster_entries];

	e->ticks = at(t, ms);
	e->pid = pid;
	e->ppid = ppid;
	e->birth = (uint16_t)birth;
	e->traced = 1;
	e->argv_cut = 0;
	e->argv_len = (uint16_t)(name[0] ? strlen(name) + 1 : 0);
	strcpy(e->argv, name);
	atomic_store(&e->seq, n + 1);
}

#endif

/* recorder_sources.c - what a recorder watches from outside the program, one row each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "session/facts.h"
#include "session/machine/fault_cost.h"
#include "session/recorder_state.h"

#define NS_PER_S 1000000000ull
#define THROTTLE_EVERY_NS (NS_PER_S / 10)
/* For tests on machines with one node, or with enough memory; in the environment alone, as a file of settings must not
 * make a report say something else. */
#define NUMA_VARIABLE "INFERSCOPE_TEST_NUMA"
#define MEMORY_VARIABLE "INFERSCOPE_TEST_MEMORY"
/* Of the budget: watching from outside takes no more. */
#define OUTSIDE_SHARE 0.3

/* The moment of a look. */
struct source_look {
	uint64_t now;
	bool flush; /* somebody waits for everything up to now */
	bool last;
};

/* The recorder calls the rows in order and skips functions that are NULL. */
struct source {
	void (*open)(isc_recorder *r, pid_t root, bool running);
	void (*look)(isc_recorder *r, const struct source_look *at);
	void (*facts)(const isc_recorder *r, isc_buffer *out); /* at the end, as a JSON object */
	void (*close)(isc_recorder *r);
};

static const char *numa_folder(void)
{
	const char *pretended = getenv(NUMA_VARIABLE);

	return pretended != NULL ? pretended : ISC_NUMA_FOLDER;
}

static void proc_path(char path[64], pid_t root)
{
	snprintf(path, 64, "/proc/%d", (int)root);
}

/* ---- context switches ---- */

static void open_switches(isc_recorder *r, pid_t root, bool running)
{
	isc_switches_options options = {.budget_pct = r->settings->budget_pct, .running = running};
	isc_buffer facts = {0};
	isc_error err = {0};

	if (options.budget_pct > 0)
		options.budget_pct *= OUTSIDE_SHARE;
	if (r->folder.control->flags & ISC_CONTROL_SCRATCH) {
		/* Switches would cost the program something between its windows too. */
		isc_fail(&err, ISC_ERR_UNSUPPORTED, "when threads ran is not watched for a part of a program");
		isc_hint(&err, "inferscope run watches it for a whole one");
	} else if (isc_switches_open(root, &options, &r->switches, &err) != ISC_OK) {
		r->switches = NULL;
	}
	isc_facts_perf(&facts, r->switches != NULL ? NULL : &err);
	isc_recorder_facts(r, facts.data, facts.len);
	isc_buffer_fini(&facts);
}

static void look_at_switches(isc_recorder *r, const struct source_look *at)
{
	isc_error err;

	if (r->switches != NULL)
		isc_recorder_wrote(r, isc_switches_drain(r->switches, r->writer, r->follow, at->last, &err), &err);
}

static void close_switches(isc_recorder *r)
{
	isc_switches_close(r->switches);
}

/* ---- hardware counters, which the program reads itself ---- */

static void tell_counters(isc_recorder *r, pid_t root, bool running)
{
	isc_buffer facts = {0};

	(void)root, (void)running;
	if (!r->settings->sample)
		return;
	isc_facts_counters(&facts, r->counters_refused.what[0] != 0 ? &r->counters_refused : NULL,
			   r->counters.stand_in);
	isc_recorder_facts(r, facts.data, facts.len);
	isc_buffer_fini(&facts);
}

/* ---- system calls by the kernel's own count ---- */

static void open_kernel_calls(isc_recorder *r, pid_t root, bool running)
{
	(void)running;
	if (r->settings->kernel_calls)
		isc_kernel_calls_open(&r->calls, root, &r->calls_unknown);
}

static void close_kernel_calls(isc_recorder *r)
{
	isc_kernel_calls_close(&r->calls);
}

/* ---- the share of CPU time that the control group had used up ---- */

static void open_throttle(isc_recorder *r, pid_t root, bool running)
{
	char path[64];

	(void)running;
	proc_path(path, root);
	isc_throttle_open(&r->throttle, path, isc_clock_mono_ns(), &r->throttle_unknown);
}

static void look_at_throttle(isc_recorder *r, const struct source_look *at)
{
	if (at->now >= r->throttle.looked_ns + THROTTLE_EVERY_NS || at->last)
		isc_throttle_look(&r->throttle, at->now);
}

static void close_throttle(isc_recorder *r)
{
	isc_throttle_close(&r->throttle);
}

/* ---- memory over time ---- */

static void open_usage(isc_recorder *r, pid_t root, bool running)
{
	const char *pretended = getenv(MEMORY_VARIABLE);
	char path[64];

	(void)running;
	proc_path(path, root);
	isc_usage_open(&r->usage, pretended != NULL ? pretended : path, r->start_ns);
	r->usage.pretended = pretended != NULL;
	r->usage.fault_ns = isc_fault_cost_ns();
}

static void look_at_usage(isc_recorder *r, const struct source_look *at)
{
	isc_usage_look(&r->usage, at->now);
}

static void tell_usage(const isc_recorder *r, isc_buffer *out)
{
	isc_usage_facts(&r->usage, out);
}

static void close_usage(isc_recorder *r)
{
	isc_usage_close(&r->usage);
}

/* ---- memory nodes ---- */

static void open_nodes(isc_recorder *r, pid_t root, bool running)
{
	const char *pretended = getenv(NUMA_VARIABLE);
	char path[64];

	(void)running;
	proc_path(path, root);
	isc_numa_open(&r->numa, numa_folder(), pretended != NULL ? pretended : path);
	r->numa.pretended = pretended != NULL;
}

static void tell_nodes(const isc_recorder *r, isc_buffer *out)
{
	isc_numa_facts(&r->numa, out);
}

static void look_at_nodes(isc_recorder *r, const struct source_look *at)
{
	isc_buffer text = {0};

	isc_numa_look(&r->numa, at->now, at->flush);
	if (!at->flush || r->numa.moves == r->moves_told)
		return;
	/* A reader of a part of a trace does not wait for its end. */
	r->moves_told = r->numa.moves;
	tell_nodes(r, &text);
	isc_recorder_facts(r, text.data, text.len);
	isc_buffer_fini(&text);
}

static void close_nodes(isc_recorder *r)
{
	isc_numa_close(&r->numa);
}

/* ---- all of them ---- */

/* The facts of kernel calls and of throttling depend on how the program ended: recorder_facts.c has them. */
/* clang-format off */
static const struct source sources[] = {
	{open_switches, look_at_switches, NULL, close_switches},
	{tell_counters, NULL, NULL, NULL},
	{open_kernel_calls, NULL, NULL, close_kernel_calls},
	{open_throttle, look_at_throttle, NULL, close_throttle},
	{open_usage, look_at_usage, tell_usage, close_usage},
	{open_nodes, look_at_nodes, tell_nodes, close_nodes},
};
/* clang-format on */
#define SOURCES (sizeof(sources) / sizeof(sources[0]))

void isc_recorder_prepare_sources(isc_recorder *r, isc_folder_options *folder)
{
	isc_numa_cpus(numa_folder(), folder->node_of_cpu, ISC_CONTROL_CPUS);
	if (!r->settings->sample || isc_counters_find(&r->counters, &r->counters_refused) != ISC_OK)
		return;
	folder->flags |= ISC_CONTROL_COUNTS;
	folder->count_type = r->counters.type;
	memcpy(folder->count_config, r->counters.config, sizeof(folder->count_config));
}

void isc_recorder_open_sources(isc_recorder *r, pid_t root, bool running)
{
	for (size_t i = 0; i < SOURCES; i++)
		sources[i].open(r, root, running);
}

void isc_recorder_look_at_sources(isc_recorder *r, uint64_t now, bool flush, bool last)
{
	struct source_look at = {now, flush, last};

	for (size_t i = 0; i < SOURCES; i++) {
		if (sources[i].look != NULL)
			sources[i].look(r, &at);
	}
}

void isc_recorder_tell_sources(isc_recorder *r)
{
	isc_buffer text = {0};

	for (size_t i = 0; i < SOURCES; i++) {
		if (sources[i].facts == NULL)
			continue;
		isc_buffer_clear(&text);
		sources[i].facts(r, &text);
		isc_recorder_facts(r, text.data, text.len);
	}
	isc_buffer_fini(&text);
}

void isc_recorder_close_sources(isc_recorder *r)
{
	for (size_t i = 0; i < SOURCES; i++) {
		if (sources[i].close != NULL)
			sources[i].close(r);
	}
}

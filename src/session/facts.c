#include "session/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <yyjson.h>

#include "base/clock.h"
#include "session/machine/crowding.h"
#include "session/secret.h"

#define CALIBRATE_READS 2000u
/* What a record costs beside reading the clock: bench/record_cost. */
#define RECORD_NS 3.0
/* What the interpreter does to call us before and after a collection. */
#define COLLECTION_NS 800.0
/* Of system calls that are counted and of memory that is looked at: bench/ measures them one by one. */
#define SYSCALL_NS 25.0
#define LOOK_NS 4000.0
/* Of memory that is taken or given back, in a loop of nothing else; and above that in a program that does other things
 * in between, as long at least on average (bench/, a decoder). */
#define ALLOCATION_NS 1.0
#define ALLOCATION_COLD_NS 3.0
#define ALLOCATION_GAP_NS 200.0

static void render(isc_buffer *out, yyjson_mut_doc *doc)
{
	size_t len;
	char *text = yyjson_mut_write(doc, YYJSON_WRITE_ALLOW_INVALID_UNICODE, &len);

	if (text != NULL)
		isc_buffer_add(out, text, len);
	else
		out->failed = true;
	free(text);
	yyjson_mut_doc_free(doc);
}

static yyjson_mut_doc *new_object(yyjson_mut_val **root)
{
	yyjson_mut_doc *doc = yyjson_mut_doc_new(NULL);

	*root = yyjson_mut_obj(doc);
	yyjson_mut_doc_set_root(doc, *root);
	return doc;
}

static void add_argv(yyjson_mut_doc *doc, yyjson_mut_val *root, char *const *argv)
{
	yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "argv");
	isc_buffer flat = {0};
	char *safe;

	for (size_t i = 0; argv[i] != NULL; i++)
		isc_buffer_add(&flat, argv[i], strlen(argv[i]) + 1);
	/* Taking out never makes it longer than one "***" for each argument. */
	safe = flat.failed ? NULL : malloc(flat.len * 4 + 1);
	if (safe != NULL) {
		size_t len = isc_secret_redact(flat.data, flat.len, safe, flat.len * 4);

		for (size_t at = 0; at < len;) {
			size_t one = strnlen(safe + at, len - at);

			yyjson_mut_arr_add_strncpy(doc, list, safe + at, one);
			at += one + 1;
		}
	}
	free(safe);
	isc_buffer_fini(&flat);
}

static void add_labels(yyjson_mut_doc *doc, yyjson_mut_val *root, const isc_setting_list *labels)
{
	yyjson_mut_val *map = yyjson_mut_obj_add_obj(doc, root, "labels");

	for (size_t i = 0; i < labels->count; i++) {
		const char *pair = labels->item[i], *eq = strchr(pair, '=');

		if (eq != NULL)
			yyjson_mut_obj_put(map, yyjson_mut_strncpy(doc, pair, (size_t)(eq - pair)),
					   yyjson_mut_strcpy(doc, eq + 1));
	}
}

/* What times depend on: two machines are compared by it. */
static void add_machine(yyjson_mut_doc *doc, yyjson_mut_val *root)
{
	static const char key[] = "model name";
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256], *value;
	int cpus = isc_crowding_cpus();

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, key, sizeof(key) - 1) != 0 || (value = strchr(line, ':')) == NULL)
			continue;
		value += 1 + strspn(value + 1, " \t");
		yyjson_mut_obj_add_strncpy(doc, root, "cpu", value, strcspn(value, "\n"));
		break;
	}
	if (f != NULL)
		fclose(f);
	if (cpus > 0)
		yyjson_mut_obj_add_uint(doc, root, "cpus", (uint64_t)cpus);
}

void isc_facts_first(isc_buffer *out, const isc_settings *settings, char *const *argv)
{
	static const char *const follow[] = {"python", "all", "none"}, *const native[] = {"on", "leaf", "off"};
	yyjson_mut_val *root;
	yyjson_mut_doc *doc = new_object(&root);
	struct utsname host;

	yyjson_mut_obj_add_str(doc, root, "version", ISC_VERSION);
	add_argv(doc, root, argv);
	if (uname(&host) == 0) {
		yyjson_mut_obj_add_strcpy(doc, root, "host", host.nodename);
		yyjson_mut_obj_add_strcpy(doc, root, "kernel", host.release);
	}
	add_machine(doc, root);
	add_labels(doc, root, &settings->labels);
	if (settings->budget_pct >= 0)
		yyjson_mut_obj_add_real(doc, root, "budget_pct", settings->budget_pct);
	else
		yyjson_mut_obj_add_null(doc, root, "budget_pct");
	if (settings->sample)
		yyjson_mut_obj_add_uint(doc, root, "rate_hz", settings->rate_hz);
	if (settings->sample)
		yyjson_mut_obj_add_str(doc, root, "native", native[settings->native]);
	yyjson_mut_obj_add_str(doc, root, "follow", follow[settings->follow]);
	yyjson_mut_obj_add_bool(doc, root, "agent", settings->agent);
	yyjson_mut_obj_add_bool(doc, root, "waits", settings->agent && settings->syscalls);
	yyjson_mut_obj_add_real(doc, root, "delay_s", settings->delay_s);
	yyjson_mut_obj_add_real(doc, root, "duration_s", settings->duration_s);
	render(out, doc);
}

void isc_facts_perf(isc_buffer *out, const isc_error *why_not)
{
	yyjson_mut_val *root;
	yyjson_mut_doc *doc = new_object(&root);

	yyjson_mut_obj_add_strcpy(doc, root, "perf", why_not == NULL ? "ok" : why_not->what);
	yyjson_mut_obj_add_bool(doc, root, "faults", why_not == NULL);
	if (why_not != NULL)
		yyjson_mut_obj_add_strcpy(doc, root, "perf_remedy", why_not->hint);
	render(out, doc);
}

void isc_facts_window(isc_buffer *out, double from_us, double to_us)
{
	yyjson_mut_val *root;
	yyjson_mut_doc *doc = new_object(&root);

	yyjson_mut_obj_add_real(doc, root, "collected_from_us", from_us);
	if (to_us >= 0)
		yyjson_mut_obj_add_real(doc, root, "collected_to_us", to_us);
	render(out, doc);
}

void isc_facts_counters(isc_buffer *out, const isc_error *why_not, bool stand_in)
{
	yyjson_mut_val *root;
	yyjson_mut_doc *doc = new_object(&root);

	yyjson_mut_obj_add_strcpy(doc, root, "counters", why_not == NULL ? "ok" : why_not->what);
	if (why_not != NULL && why_not->hint[0] != 0)
		yyjson_mut_obj_add_strcpy(doc, root, "counters_remedy", why_not->hint);
	if (stand_in)
		yyjson_mut_obj_add_bool(doc, root, "counters_stand_in", true);
	render(out, doc);
}

void isc_facts_missing(isc_buffer *out, const isc_error *why_not, size_t count)
{
	yyjson_mut_val *root;
	yyjson_mut_doc *doc = new_object(&root);
	yyjson_mut_val *list = yyjson_mut_obj_add_arr(doc, root, "warnings");

	for (size_t i = 0; i < count; i++) {
		yyjson_mut_val *one = yyjson_mut_arr_add_obj(doc, list);

		yyjson_mut_obj_add_strcpy(doc, one, "text", why_not[i].what);
		if (why_not[i].hint[0] != 0)
			yyjson_mut_obj_add_strcpy(doc, one, "remedy", why_not[i].hint);
	}
	render(out, doc);
}

static double cpu_us(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* One event's cost here: the clock, read as the program reads it, and the record. */
static double event_ns(uint32_t source)
{
	uint64_t start = isc_clock_mono_ns();

	for (unsigned i = 0; i < CALIBRATE_READS; i++)
		(void)*(volatile uint64_t *)&(uint64_t){isc_clock_ticks(source)};
	return (double)(isc_clock_mono_ns() - start) / CALIBRATE_READS + RECORD_NS;
}

/* CPU time of the program; 0: not known.  The kernel counts children that were waited for, samples those that were traced:
 * where one is less, it has missed some. */
static double program_cpu_ns(const isc_facts_end *end)
{
	double kernel_ns = end->faults_known ? (double)(end->user_us + end->system_us) * 1e3 : 0;
	double sampled_ns = (double)end->writer.cpu_ns;

	return kernel_ns > sampled_ns ? kernel_ns : sampled_ns;
}

static double allocations_ns(const isc_facts_end *end)
{
	double n = (double)end->writer.allocations;
	double cpu_ns = program_cpu_ns(end), time = cpu_ns > 0 ? cpu_ns : (double)end->wall_ns;
	double apart = time / ALLOCATION_GAP_NS; /* as many as would come so far apart */

	return n * ALLOCATION_NS + (n < apart ? n : apart) * ALLOCATION_COLD_NS;
}

/* CPU time that recording took in the program, by what it was for; names as reports have them. */
struct cost {
	const char *name;
	double ns;
};
#define COSTS 7

static void cost_parts(const isc_facts_end *end, struct cost part[COSTS])
{
	const isc_writer_stats *w = &end->writer;
	uint64_t calls = w->call_events < end->produced ? w->call_events : end->produced;
	double calls_ns = (double)w->syscalls * SYSCALL_NS, looks_ns = (double)w->looked_at * LOOK_NS;

	/* The program has measured what a call costs it; other events are a clock and a record. */
	part[0] = (struct cost){"calls", w->call_ns};
	/* The cost that samples report includes waits, counting system calls and looking at memory. */
	part[1] = (struct cost){"samples", w->sample_ns > calls_ns + looks_ns ? w->sample_ns - calls_ns - looks_ns : 0};
	part[2] = (struct cost){"events", (double)(end->produced - calls) * event_ns(end->clock_source)};
	part[3] = (struct cost){"collections", (double)w->collections * COLLECTION_NS};
	part[4] = (struct cost){"system_calls", calls_ns};
	part[5] = (struct cost){"memory", allocations_ns(end) + looks_ns};
	part[6] = (struct cost){"start", (double)end->start_cost_ns};
}

static double inside_us(const isc_facts_end *end)
{
	struct cost part[COSTS];
	double ns = 0;

	cost_parts(end, part);
	for (size_t i = 0; i < COSTS; i++)
		ns += part[i].ns;
	return ns / 1e3;
}

static double switches_us(const isc_facts_end *end)
{
	return end->switches.cost_pct / 100 * ((double)end->wall_ns / 1e3) * end->at_once;
}

double isc_facts_apart_ns(const isc_facts_end *end)
{
	double ns = inside_us(end) * 1e3 - end->writer.call_ns - end->writer.sample_ns;

	return (ns > 0 ? ns : 0) + switches_us(end) * 1e3;
}

/* What the program lost, as far as it is known: what it spent itself, and the recorder where no other CPU was idle.
 * Of processes that worked at once each lost its part. */
static double cost_us(const isc_facts_end *end)
{
	double crowded = end->faults_known ? isc_crowding_of(program_cpu_ns(end), (double)end->wall_ns) : 0;

	return (inside_us(end) + (double)end->collecting_ns * crowded / 1e3) / end->at_once;
}

static void put_cost(yyjson_mut_doc *doc, yyjson_mut_val *root, const isc_facts_end *end)
{
	yyjson_mut_val *o = yyjson_mut_obj_add_obj(doc, root, "cost_us");
	struct cost part[COSTS];

	cost_parts(end, part);
	for (size_t i = 0; i < COSTS; i++)
		yyjson_mut_obj_add_real(doc, o, part[i].name, part[i].ns / 1e3);
	yyjson_mut_obj_add_real(doc, o, "switches", switches_us(end));
}

void isc_facts_last(isc_buffer *out, const isc_facts_end *end)
{
	yyjson_mut_val *root;
	yyjson_mut_doc *doc = new_object(&root);
	double wall_us = (double)end->wall_ns / 1e3;
	double recorder_us = cpu_us();

	yyjson_mut_obj_add_real(doc, root, "wall_us", wall_us);
	yyjson_mut_obj_add_real(doc, root, "recorder_cpu_us", recorder_us);
	if (wall_us > 0) {
		yyjson_mut_obj_add_real(doc, root, "recorder_cpu_pct", recorder_us / wall_us * 100);
		yyjson_mut_obj_add_real(doc, root, "measured_pct",
					cost_us(end) / wall_us * 100 + end->switches.cost_pct);
	}
	yyjson_mut_obj_add_real(doc, root, "own_cpu_us", inside_us(end) + switches_us(end));
	put_cost(doc, root, end);
	if (program_cpu_ns(end) > 0)
		yyjson_mut_obj_add_real(doc, root, "program_cpu_us", program_cpu_ns(end) / 1e3);
	yyjson_mut_obj_add_uint(doc, root, "switches", end->switches.switches);
	yyjson_mut_obj_add_uint(doc, root, "switches_lost", end->switches.lost);
	yyjson_mut_obj_add_real(doc, root, "switches_paused_us", (double)end->switches.paused_ns / 1e3);
	yyjson_mut_obj_add_real(doc, root, "switch_cost_pct", end->switches.cost_pct);
	yyjson_mut_obj_add_uint(doc, root, "roster_lost", end->roster_lost);
	yyjson_mut_obj_add_uint(doc, root, "attach_failed", end->attach_failed);
	yyjson_mut_obj_add_uint(doc, root, "refused_definitions", end->writer.refused_definitions);
	yyjson_mut_obj_add_uint(doc, root, "refused_records", end->writer.refused_records);
	yyjson_mut_obj_add_bool(doc, root, "session_on_disk", end->on_disk);
	if (end->throttle != NULL) {
		yyjson_mut_obj_add_real(doc, root, "throttled_us", (double)end->throttle->us);
		yyjson_mut_obj_add_uint(doc, root, "throttled_times", end->throttle->times);
	} else {
		yyjson_mut_obj_add_strcpy(doc, root, "throttle", end->throttle_unknown->what);
	}
	if (end->kernel_calls != NULL && end->kernel_calls->fd >= 0) {
		yyjson_mut_obj_add_uint(doc, root, "kernel_calls", isc_kernel_calls_count(end->kernel_calls));
		yyjson_mut_obj_add_bool(doc, root, "kernel_calls_pretended", end->kernel_calls->stand_in);
	} else if (end->kernel_calls != NULL) {
		yyjson_mut_obj_add_strcpy(doc, root, "kernel_calls_unknown", end->kernel_calls_unknown->what);
	}
	if (end->faults_known) {
		yyjson_mut_obj_add_uint(doc, root, "minor_faults", end->minor_faults);
		yyjson_mut_obj_add_uint(doc, root, "user_us", end->user_us);
		yyjson_mut_obj_add_uint(doc, root, "system_us", end->system_us);
		yyjson_mut_obj_add_uint(doc, root, "major_faults", end->major_faults);
	}
	render(out, doc);
}

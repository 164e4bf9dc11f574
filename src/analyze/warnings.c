/*
 * warnings.c - everything that a reader of the report should doubt, and what to
 * do about it.  Grave ones first: figures may be wrong or missing because of them.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/build.h"
#include "analyze/gpu/gpu.h"
#include "analyze/memory/memory.h"
#include "base/text.h"
#include "base/units.h"

/* Of a list only so many are named; a name is cut after so many characters. */
#define NAMED_MAX 4u
#define NAME_MAX_LEN 48u

#define RERECORD "record again; what could be read is shown"
#define ROOM "make room in /dev/shm, or lower --trace-size-mb"
#define DOCTOR "inferscope doctor says what is missing here and how to get it"

#define RECORD_ALL "record every call with --budget off, or allow more with --budget"

/* Of the time so much may be without calls before it is said. */
#define PAUSED_SHARE 0.05
#define NO_WORD "the trace does not say why"

enum { NOTE = 0, GRAVE = 1 };

void isc_build_warn(isc_build *b, int grave, const char *id, const char *remedy, const char *format, ...)
{
	isc_analysis_warning *w =
		isc_arena_push(b->arena, &b->a->warnings, &b->a->warning_count, &b->warning_room, sizeof(*w));
	va_list args;
	int len;

	if (w == NULL)
		return; /* the arena remembers */
	w->id = id;
	w->grave = grave;
	w->remedy = remedy != NULL ? isc_arena_copy(b->arena, remedy, strlen(remedy)) : NULL;
	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	w->text = isc_arena_alloc(b->arena, len < 0 ? 1 : (size_t)len + 1);
	if (w->text == NULL || len < 0)
		return;
	va_start(args, format);
	vsnprintf(w->text, (size_t)len + 1, format, args);
	va_end(args);
}

void isc_build_say(isc_build *b, int grave, const char *id, const char *remedy, const char *text)
{
	if (text != NULL)
		isc_build_warn(b, grave, id, remedy, "%s", text);
}

/* ---- the file ---- */

static void about_file(isc_build *b)
{
	const isc_trace_stats *s = b->stats;
	isc_units n, bytes, at;

	if (s->damaged_chunks > 0 || s->lost_bytes > 0)
		isc_build_warn(b, GRAVE, "damaged", RERECORD,
			       "the trace is damaged: %s chunks could not be read and %s bytes were stepped over, the "
			       "first at "
			       "byte %s",
			       isc_units_count(&n, s->damaged_chunks), isc_units_count(&bytes, s->lost_bytes),
			       isc_units_count(&at, s->first_damage));
	if (!s->complete && b->a->live)
		isc_build_warn(b, NOTE, "unfinished", "analyse it again when the program has ended",
			       "the trace is still being written: this report goes up to %s",
			       isc_units_time(&n, isc_build_us(b, b->end_ns)));
	else if (!s->complete)
		isc_build_warn(b, GRAVE, "unfinished", "inferscope doctor saves what a killed recorder left in memory",
			       "the trace %s: the recorder was killed, or the disk was full; this report goes up to %s",
			       s->truncated ? "is truncated, it ends inside a chunk" : "is truncated, it has no end",
			       isc_units_time(&n, isc_build_us(b, b->end_ns)));
	if ((!b->facts.present && !b->a->live) || b->facts.broken)
		isc_build_warn(b, GRAVE, "no_facts", RERECORD, "what the recorder says about the session is %s",
			       b->facts.present ? "damaged" : "missing");
	if (b->us_per_tick <= 0 && b->a->scope_count + b->a->function_count > 0)
		isc_build_warn(b, GRAVE, "no_clock", RERECORD,
			       "the clock of this trace was never calibrated: durations are not known");
}

/* Rows that there was no room for, by kind; how many. */
static uint64_t list_folded(const isc_build *b, isc_buffer *out)
{
	static const char *const where[ISC_FOLDED_KINDS] = {
		[ISC_FOLDED_FUNCTIONS] = "functions, as \"(other functions of FILE)\"",
		[ISC_FOLDED_STACKS] = "stacks, at their callers",
		[ISC_FOLDED_SCOPES] = "scopes, as \"(other scopes)\"",
		[ISC_FOLDED_MARKS] = "marks, as \"(other marks)\"",
		[ISC_FOLDED_COUNTERS] = "counters, as \"(other counters)\"",
		[ISC_FOLDED_WAITS] = "places of waits, at their callers",
		[ISC_FOLDED_SYSCALLS] = "places of system calls, at their callers",
		[ISC_FOLDED_THREADS] = "threads, as one"};
	uint64_t all = 0;
	isc_units n;

	for (int i = 0; i < ISC_FOLDED_KINDS; i++) {
		if (b->folded[i] == 0)
			continue;
		isc_buffer_format(out, "%s%s %s", all > 0 ? "; " : "", isc_units_count(&n, b->folded[i]), where[i]);
		all += b->folded[i];
	}
	return all;
}

static void about_folded(isc_build *b)
{
	isc_buffer list = {0};
	isc_units n;

	if (list_folded(b, &list) > 0 && !list.failed)
		isc_build_warn(
			b, NOTE, "too_many_names", "raise --trace-size-mb, or set it to 0: totals grow with it",
			"the totals had no room for all names, and counted those together that were used least: about "
			"%.*s; sums are exact",
			(int)list.len, list.data);
	isc_buffer_fini(&list);
	if (b->undefined > 0)
		isc_build_warn(b, GRAVE, "too_many_names",
			       "raise --trace-size-mb: what a program may define grows with it",
			       "%s %s no room to define all functions: later ones are counted together as \"(other "
			       "functions)\"",
			       isc_units_count(&n, b->undefined), b->undefined == 1 ? "process had" : "processes had");
	if (b->missed > 0)
		isc_build_warn(b, GRAVE, "too_many_names", "raise --trace-size-mb, or set it to 0: totals grow with it",
			       "the totals had no room for %s threads, scopes or calls that were open: their times are "
			       "not known",
			       isc_units_count(&n, b->missed));
}

static void about_events(isc_build *b)
{
	const isc_analysis *a = b->a;
	isc_units n, of, pct;

	if (!a->lost_known)
		isc_build_warn(b, GRAVE, "lost_unknown", RERECORD,
			       "the trace breaks off: %s events are in it, and how many were lost is not known",
			       isc_units_count(&n, a->events));
	else if (a->lost > 0)
		isc_build_warn(b, GRAVE, "lost_events",
			       "mark less often, or give the events more memory with --trace-size-mb",
			       "%s of %s events (%s) were lost before they were stored: counts are too low",
			       isc_units_count(&n, a->lost), isc_units_count(&of, a->events + a->lost),
			       isc_units_percent(&pct, (double)a->lost / ((double)a->events + (double)a->lost) * 100));
	if (a->retired > 0)
		isc_build_warn(b, b->cut ? GRAVE : NOTE, "retired_events",
			       "raise --trace-size-mb, or set it to 0 for no limit",
			       "the %s oldest of %s events were dropped to hold the trace to its size: totals still "
			       "count them, "
			       "%s",
			       isc_units_count(&n, a->retired), isc_units_count(&of, a->events),
			       b->cut ? "this report does not" : "a report with --scope or --from will not");
	if (b->judged_absent)
		isc_build_warn(b, NOTE, "judged_unknown", "raise --trace-size-mb, or set it to 0 for no limit",
			       "the events before the judged time were dropped and no totals of its beginning were "
			       "kept: judged "
			       "figures of functions, lines, stacks and threads are null");
	about_folded(b);
	isc_build_warn_labels(b);
	if (a->complete && !a->damaged && b->accounted != a->events)
		isc_build_warn(b, GRAVE, "accounts_differ", RERECORD, "%s events are said to be stored, and %s are",
			       isc_units_count(&n, b->accounted), isc_units_count(&of, a->events));
}

/* ---- the program ---- */

static void about_end(isc_build *b)
{
	const isc_analysis *a = b->a;
	isc_units u;

	if (a->exit_known && a->signal != 0)
		isc_build_warn(b, NOTE, "killed",
			       a->signal == 9
				       ? "if you did not end it yourself, look for the out-of-memory killer in dmesg"
				       : NULL,
			       "the program was ended by %s: what it did in its last moments may be missing",
			       isc_units_signal(&u, a->signal));
	else if (!a->exit_known && a->complete)
		isc_build_warn(b, NOTE, "exit_unknown", NULL,
			       "how the program ended is not known: it was still running, or was not ours to wait for");
}

static void add_name(isc_buffer *out, const isc_analysis_process *p)
{
	const char *slash;
	isc_text name = p->argc > 0 ? p->argv[0] : (isc_text){"?", 1};

	slash = name.len > 0 ? memrchr(name.at, '/', name.len) : NULL;
	if (slash != NULL && slash + 1 < name.at + name.len)
		name = (isc_text){slash + 1, name.len - (size_t)(slash + 1 - name.at)};
	isc_text_terminal(out, name.at, name.len, NAME_MAX_LEN);
	isc_buffer_format(out, " %u", p->pid);
}

/* One warning for the processes that were not traced for one reason; how many. */
static uint64_t about_untraced(isc_build *b, bool failed, const char *id, const char *remedy, const char *why)
{
	isc_buffer names = {0};
	uint64_t n = 0;
	isc_units some, all;

	for (size_t i = 0; i < b->a->process_count; i++) {
		const isc_analysis_process *p = &b->a->processes[i];

		if (p->traced || p->failed != failed)
			continue;
		if (n < NAMED_MAX) {
			isc_buffer_text(&names, n > 0 ? ", " : "");
			add_name(&names, p);
		}
		n++;
	}
	if (n > NAMED_MAX)
		isc_buffer_format(&names, " and %s more", isc_units_count(&some, n - NAMED_MAX));
	if (names.failed)
		b->arena->failed = true;
	else if (n > 0)
		isc_build_warn(b, failed ? GRAVE : NOTE, id, remedy, "%s of %s processes were not traced, %s: %s",
			       isc_units_count(&some, n), isc_units_count(&all, b->a->process_count), why, names.data);
	isc_buffer_fini(&names);
	return n;
}

static void about_processes(isc_build *b)
{
	const char *follow = b->facts.follow.at;
	bool none = follow != NULL && strcmp(follow, "none") == 0, all = follow != NULL && strcmp(follow, "all") == 0;
	uint64_t failed;
	isc_units n;

	failed = about_untraced(b, true, "attach_failed", ROOM, "as no shared memory could be opened for them");
	about_untraced(b, false, "untraced",
		       none  ? "trace children with --follow python or --follow all"
		       : all ? "the runtime reaches dynamically linked 64-bit glibc programs only"
			     : "trace every program that can be with --follow all",
		       none  ? "as --follow none was asked for"
		       : all ? "as the runtime is not in them"
			     : "as only Python programs are followed or the runtime is not in them");
	if (b->facts.attach_failed > 0 && failed == 0)
		isc_build_warn(b, GRAVE, "attach_failed", ROOM,
			       "processes for which no shared memory could be opened: %s; they were not traced",
			       isc_units_count(&n, b->facts.attach_failed));
	if (b->facts.roster_lost > 0)
		isc_build_warn(b, GRAVE, "roster_lost", NULL, "processes that came and went too fast to be listed: %s",
			       isc_units_count(&n, b->facts.roster_lost));
	if (b->facts.session_on_disk)
		isc_build_warn(b, NOTE, "session_on_disk", "make room in /dev/shm",
			       "shared memory had no room, so events went through files on a disk: tracing cost more "
			       "than usual");
}

/* ---- switches ---- */

static void about_switches(isc_build *b)
{
	const isc_analysis *a = b->a;
	double window_us = a->to_us - a->from_us;
	uint64_t unseen = 0;
	isc_units n, pct;
	bool counted = false;

	for (size_t i = 0; i < a->thread_count; i++)
		counted |= a->threads[i].estimated;

	/* One that never waited has no switches, and its times are known all the same. */
	if (b->facts.perf_known ? !b->facts.perf_ok : !a->switches_seen) {
		isc_buffer why = {0};

		isc_text_terminal(&why, b->facts.perf.at, b->facts.perf_ok ? 0 : b->facts.perf.len, 200);
		if (why.failed)
			b->arena->failed = true;
		isc_build_warn(b, GRAVE, "no_switches", b->facts.perf_remedy.len > 0 ? b->facts.perf_remedy.at : DOCTOR,
			       counted ? "on-CPU, run-queue and waiting times are estimated, from what the scheduler "
					 "had counted "
					 "every 100 ms: %s"
				       : "on-CPU, run-queue and waiting times are not known: %s",
			       why.len > 0 ? why.data : "the trace has no context switches");
		isc_buffer_fini(&why);
		return;
	}
	if (b->facts.switches_lost > 0)
		isc_build_warn(b, GRAVE, "switches_lost", "raise kernel.perf_event_mlock_kb",
			       "%s context switches were lost: times of threads leave those moments out",
			       isc_units_count(&n, b->facts.switches_lost));
	if (b->gap_ns > 0)
		isc_build_warn(b, GRAVE, "switch_gaps", "allow tracing to cost more with --budget",
			       "context switches were not watched for %s (%s of the time), to stay inside the budget: "
			       "times of "
			       "threads "
			       "leave those moments out",
			       isc_units_time(&n, (double)b->gap_ns / 1e3),
			       isc_units_percent(&pct, window_us > 0 ? (double)b->gap_ns / 10 / window_us : 0));
	if (b->bare_switches > 0)
		isc_build_warn(b, NOTE, "unlisted_threads", NULL,
			       "%s context switches are of threads that nothing else told of",
			       isc_units_count(&n, b->bare_switches));
	for (size_t i = 0; i < a->thread_count; i++)
		unseen += a->threads[i].on_cpu_us < 0;
	if (unseen > 0)
		isc_build_warn(b, NOTE, "unseen_threads", NULL,
			       "threads that were never seen to switch: %s; whether they ran or slept is not known",
			       isc_units_count(&n, unseen));
}

/* ---- scopes, and what this trace does not have ---- */

static void about_scopes(isc_build *b)
{
	uint64_t open = 0, unmatched = 0;
	isc_units n;

	for (size_t i = 0; i < b->a->scope_count; i++) {
		open += b->a->scopes[i].open;
		unmatched += b->a->scopes[i].unmatched;
	}
	if (open > 0)
		isc_build_warn(b, NOTE, "open_scopes", NULL,
			       "scopes that were entered and not left%s: %s; they are not in the times",
			       b->cut ? " in the part looked at" : "", isc_units_count(&n, open));
	if (unmatched > 0)
		isc_build_warn(b, NOTE, "unmatched_scopes", NULL,
			       "scopes that were left and not entered%s: %s; they are not in the times",
			       b->cut ? " in the part looked at" : ", or the entering was lost",
			       isc_units_count(&n, unmatched));
}

/* A program that marks nothing has none, and other warnings say so or why none was found. */
static bool is_plain(const isc_build *b)
{
	return !b->a->units.any && b->a->scope_count == 0 &&
	       (!b->calls_seen || b->too_short || b->a->samples.count > 0);
}

static void about_units(isc_build *b)
{
	if (b->a->units.unknown != NULL && !is_plain(b))
		isc_build_warn(b, NOTE, "units_unknown", "mark a request or a step as a scope", "units is null: %s",
			       b->a->units.unknown);
}

/* ---- calls ---- */

/* The process that was paused longest. */
static void about_pauses(isc_build *b)
{
	double window_us = isc_build_inside_us(b, b->from_ns, b->to_ns), most_us = 0;
	uint64_t process, of;
	size_t at = 0;
	isc_units n, pct;

	while (isc_hashmap_next(&b->unseen.processes, &at, &process, &of)) {
		const isc_unseen_process *p = isc_unseen_of(&b->unseen, (uint32_t)process);
		double us = 0;

		for (size_t i = 0; i < p->count; i++)
			us += isc_build_inside_us(b, p->pause[i].from_ns, p->pause[i].to_ns);
		most_us = us > most_us ? us : most_us;
	}
	if (window_us > 0 && most_us > window_us * PAUSED_SHARE)
		isc_build_warn(b, NOTE, "paused_calls", RECORD_ALL,
			       "no calls were recorded for %s (%s of the time), to stay inside the budget: what ran "
			       "meanwhile is "
			       "known from samples only",
			       isc_units_time(&n, most_us), isc_units_percent(&pct, most_us / window_us * 100));
}

static void about_calls(isc_build *b)
{
	const isc_analysis *a = b->a;
	size_t traced = 0, sampled = 0;
	bool paused = false;
	isc_units n, of;

	for (size_t i = 0; i < a->function_count; i++) {
		traced += a->functions[i].traced;
		sampled += a->functions[i].governed && a->functions[i].by_samples;
	}
	for (size_t i = 0; i < b->table.side_count; i++)
		paused |= b->table.side[i].paused;
	if (a->governed_count > 0)
		isc_build_warn(b, NOTE, "governed_functions", RECORD_ALL,
			       "%s of %s functions were not recorded all the time, to stay inside the budget: their "
			       "call counts "
			       "are estimates, and %s%s",
			       isc_units_count(&n, a->governed_count), isc_units_count(&of, traced),
			       sampled == a->governed_count ? "their times are CPU time by samples"
			       : sampled > 0 ? "some of their times are CPU time by samples, the others estimates"
					     : "too few samples say how long they took unrecorded",
			       paused ? "; a function that was called only meanwhile, and briefly, may be missing"
				      : "");
	about_pauses(b);
	if (a->skipped > 0)
		isc_build_warn(
			b, NOTE, "skipped_calls", "give the thread a larger stack",
			"times that a stack was nearly used up: %s; calls there were not traced, their time is their "
			"caller's",
			isc_units_count(&n, a->skipped));
	if (b->calls_seen && b->subinterpreters > 0)
		isc_build_warn(b, NOTE, "subinterpreters",
			       "run that code in the main interpreter, or in a process of its own",
			       "subinterpreters: %s; only calls of the main interpreter are traced",
			       isc_units_count(&n, b->subinterpreters));
	if (b->unmatched_calls > 0)
		isc_build_warn(b, NOTE, "unmatched_calls", NULL,
			       "calls whose beginning was lost: %s; they are not in the figures",
			       isc_units_count(&n, b->unmatched_calls));
}

#define UNSEEN_CALLS \
	"syscalls has what goes through the functions of libc that are hooked: calls that libc makes inside itself " \
	"(fread, printf, the loader, its allocator), raw ones and other kinds (stat, ioctl, futex) are not seen"

static void about_unseen_calls(isc_build *b)
{
	isc_units all, some;
	uint64_t seen = 0;

	for (size_t i = 0; i < b->a->syscall_count; i++)
		seen += b->a->syscalls[i].count;
	if (b->a->kernel_calls >= 0 && !isc_build_is_part(b))
		isc_build_warn(b, b->facts.kernel_calls_pretended ? GRAVE : NOTE, "unseen_syscalls",
			       b->facts.kernel_calls_pretended ? "run without INFERSCOPE_TEST_TRACEFS" : NULL,
			       "of %s system calls that the kernel counted%s %s are in syscalls, those through hooked "
			       "functions "
			       "of libc",
			       isc_units_count(&all, (uint64_t)b->a->kernel_calls),
			       b->facts.kernel_calls_pretended ? " (another event stands for them, as tests asked for)"
							       : "",
			       isc_units_count(&some, seen));
	else if (b->facts.kernel_calls_unknown.len > 0)
		isc_build_warn(b, NOTE, "unseen_syscalls", "see inferscope doctor, kernel calls",
			       UNSEEN_CALLS ", nor counted: %.*s", (int)b->facts.kernel_calls_unknown.len,
			       b->facts.kernel_calls_unknown.at);
	else if (seen > 0)
		isc_build_warn(b, NOTE, "unseen_syscalls",
			       "run with --kernel-calls: the kernel counts those too, where it may be asked",
			       UNSEEN_CALLS);
}

/* What there is nothing of, and what is empty because of it. */
static void about_unseen(isc_build *b)
{
	bool calls = b->a->syscall_count > 0;

	if (b->a->samples.count == 0 && b->calls_seen)
		isc_build_warn(b, NOTE, "no_samples", "run without --no-sample",
			       calls ? "no samples were recorded: slow_because, lines and stacks are empty"
				     : "no samples or system calls were recorded: slow_because, lines, stacks and "
				       "syscalls are "
				       "empty");
	else if (b->a->samples.count == 0)
		isc_build_warn(
			b, NOTE, "no_calls",
			"mark the parts of interest as scopes (inferscope/mark.h): their times are exact",
			calls ? "no calls or samples were recorded: slow_because, functions, lines and stacks are empty"
			      : "no calls, samples or system calls were recorded: slow_because, functions, lines, "
				"stacks "
				"and syscalls are empty");
	else if (!calls)
		isc_build_warn(b, NOTE, "no_syscalls", "run without --no-agent and --no-syscalls",
			       "no system calls were recorded: slow_because and syscalls are empty%s",
			       b->calls_seen ? "" : ", and no calls: functions are those that samples met");
	else if (!b->calls_seen)
		isc_build_warn(b, NOTE, "no_calls", NULL,
			       "no calls were recorded: functions are those that samples met");
	about_unseen_calls(b);
	for (size_t i = 0; calls && i < b->a->process_count; i++) {
		const isc_analysis_process *p = &b->a->processes[i];

		if (p->traced && p->exit_known && p->signal != 0) {
			isc_build_warn(
				b, NOTE, "cut_syscalls", NULL,
				"process %u was ended by a signal: system calls of its last 10 ms may be missing",
				p->pid);
			break;
		}
	}
}

static void about_parts(isc_build *b)
{
	isc_units u;

	if (b->a->measured_pct < 0)
		isc_build_warn(
			b, NOTE, "no_overhead", NULL,
			"what tracing cost the program (overhead.measured_pct) is not known: the trace does not say");
	if (b->too_short)
		isc_build_warn(b, NOTE, "short_run", "trace a longer run",
			       "the program ran for %s: the recorder's start and end would be most of "
			       "overhead.recorder_cpu_pct, "
			       "so it is left out",
			       isc_units_time(&u, b->a->wall_us));
	about_unseen(b);
	if (b->a->memory.recorded)
		isc_memory_warn(b);
	else
		isc_build_warn(b, NOTE, "no_memory", "run without --no-agent and --no-memory",
			       "who takes memory was not recorded: memory has no allocations, sites, peak or growth%s",
			       b->facts.faults ? ""
					       : "; how long faults took is not known, as no switches were seen: it is "
						 "part of what they "
						 "interrupted");
	if (b->a->numa.pretended)
		isc_build_warn(b, GRAVE, "pretended_numa", "run without INFERSCOPE_TEST_NUMA",
			       "memory nodes are none of this machine: others stand for them, as tests asked for");
	if (b->a->usage.pretended)
		isc_build_warn(b, GRAVE, "pretended_memory", "run without INFERSCOPE_TEST_MEMORY",
			       "memory in use, swap and the control group are none of the program's: others stand for "
			       "them, as "
			       "tests "
			       "asked for");
	if (b->a->numa.told && b->a->numa.count < 2)
		isc_build_warn(b, NOTE, "no_numa", NULL,
			       "the machine has one memory node, or tells of none: numa is null");
	if (b->facts.throttled_us < 0)
		isc_build_warn(b, NOTE, "no_throttling", NULL,
			       "whether a limit of CPU time held the program up is not known%s%.*s",
			       b->facts.throttle.len > 0 ? ": " : "", (int)b->facts.throttle.len,
			       b->facts.throttle.len > 0 ? b->facts.throttle.at : "");
	else if (isc_build_is_part(b))
		isc_build_warn(b, NOTE, "no_throttling", b->limited ? NULL : "look at the whole run",
			       "whether a limit of CPU time held the program up is known of the whole run alone");
	if (b->a->clock_sync == NULL)
		isc_build_warn(b, NOTE, "no_gpu", NULL,
			       "GPU activity was not recorded: gpus, kernels, copies and clock.sync are empty, "
			       "gpu_wait is not "
			       "known");
}

static void about_waits(isc_build *b)
{
	isc_units n;

	if (!b->facts.waits)
		isc_build_warn(
			b, NOTE, "no_waits", "run without --no-agent and --no-syscalls",
			"what threads waited for was not recorded: that time is in the state other, and gil_wait, "
			"lock_wait, "
			"io_wait, sleep, idle, syscall and spin are not known");
	if (b->a->gc_unseen > 0)
		isc_build_warn(b, NOTE, "unseen_collections", NULL,
			       "%s collections of garbage were not timed, and count as what they interrupted",
			       isc_units_count(&n, b->a->gc_unseen));
}

static void grave_first(isc_analysis *a)
{
	/* Insertion keeps the order of equals; there are a dozen. */
	for (size_t i = 1; i < a->warning_count; i++) {
		isc_analysis_warning w = a->warnings[i];
		size_t j = i;

		for (; j > 0 && w.grave && !a->warnings[j - 1].grave; j--)
			a->warnings[j] = a->warnings[j - 1];
		a->warnings[j] = w;
	}
}

isc_status isc_build_warnings(isc_build *b, isc_error *err)
{
	about_file(b);
	about_end(b);
	about_events(b);
	about_processes(b);
	about_switches(b);
	about_scopes(b);
	about_units(b);
	about_calls(b);
	about_waits(b);
	isc_sample_warnings(b);
	if (b->gpu != NULL)
		isc_gpu_warn(b);
	about_parts(b);
	if (b->arena->failed)
		return isc_build_no_memory(err);
	grave_first(b->a);
	return ISC_OK;
}

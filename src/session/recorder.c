#include "session/recorder_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/facts.h"

#define NS_PER_S 1000000000ull
#define CLOCK_EVERY_NS NS_PER_S
/* A reader of the growing file, and a dead recorder, miss at most this much. */
#define FLUSH_EVERY_NS (NS_PER_S / 4)
#define PERIOD_NS (10 * NS_PER_S) /* of what a report shows over time */
#define POLLFDS 512
/* Of the budget: a fifth is for what nobody can count (caches, and us where the program leaves no CPU free).  The rest is one
 * for all that runs inside the program, less what watching it from outside takes, which is bounded. */
#define COUNTED_SHARE 0.8
#define NAMES_LAST_NS (3 * NS_PER_S)
/* Of gate.h: a slot is so many units long, as far as that is not too long to wait for the next one. */
#define SLOT_UNITS 16u
#define SLOT_US_LEAST 64000u
#define SLOT_US_MOST 2048000u

isc_folder *isc_recorder_folder(isc_recorder *r)
{
	return &r->folder;
}

unsigned isc_recorder_alive(const isc_recorder *r)
{
	isc_follow_stats stats;

	isc_follow_stats_get(r->follow, &stats);
	return stats.alive;
}

static void tell(isc_recorder *r, int level, const char *what, const char *hint)
{
	if (r->say != NULL)
		r->say(r->say_self, level, what, hint);
}

void isc_recorder_wrote(isc_recorder *r, isc_status st, const isc_error *err)
{
	/* One thing that found no room under the limit is counted by the writer. */
	if (st == ISC_OK || st == ISC_ERR_LIMIT || r->write_failed)
		return;
	r->write_failed = true;
	tell(r, ISC_LOG_ERROR, err->what, "the program goes on; what was traced until now can be read");
}

static uint32_t flags_of(const isc_settings *s, bool agent, bool scratch)
{
	uint32_t flags = (agent ? ISC_CONTROL_AGENT : 0) | (scratch ? ISC_CONTROL_SCRATCH : 0);

	if (s->follow == ISC_FOLLOW_PYTHON)
		flags |= ISC_CONTROL_FOLLOW_PYTHON;
	if (s->follow == ISC_FOLLOW_ALL)
		flags |= ISC_CONTROL_FOLLOW_ALL;
	/* With a scratch trace the program itself says when. */
	if (s->python_calls && !scratch)
		flags |= ISC_CONTROL_CALLS;
	if (s->all_frames)
		flags |= ISC_CONTROL_ALL_FRAMES;
	if (s->c_calls)
		flags |= ISC_CONTROL_C_CALLS;
	if (agent && s->syscalls)
		flags |= ISC_CONTROL_WAITS;
	if (s->memory)
		flags |= ISC_CONTROL_MEMORY;
	if (agent && s->syscalls && s->syscall_args)
		flags |= ISC_CONTROL_SYSCALL_ARGS;
	if (s->gpu)
		flags |= ISC_CONTROL_GPU;
	if (s->sample)
		flags |= ISC_CONTROL_SAMPLE;
	if (s->native == ISC_NATIVE_ON)
		flags |= ISC_CONTROL_NATIVE;
	if (s->native == ISC_NATIVE_LEAF)
		flags |= ISC_CONTROL_NATIVE_LEAF;
	return flags;
}

/* Without one things go on, and answers come later. */
static int make_bell(isc_folder *folder)
{
	if (mkfifoat(folder->dir, ISC_BELL_NAME, 0600) < 0)
		return -1;
	isc_folder_vouch(folder, ISC_BELL_NAME);
	/* For writing too: without a writer it would be readable all the time. */
	return openat(folder->dir, ISC_BELL_NAME, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
}

isc_status isc_recorder_new(const isc_recorder_options *options, isc_recorder **out, isc_error *err)
{
	const isc_settings *s = options->settings;
	isc_recorder *r = calloc(1, sizeof(*r));
	isc_folder_options folder = {.trace_path = options->trace_path};
	isc_writer_options writer = {.limit_bytes = (uint64_t)s->trace_size_mb << 20};
	isc_clock_pair pair;
	isc_status st;

	*out = NULL;
	if (r == NULL) {
		close(options->trace_fd);
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for the recorder");
	}
	r->settings = s;
	r->calls.fd = -1;
	r->say = options->say;
	r->say_self = options->say_self;
	r->folder.dir = r->folder.lock_fd = -1;
	r->clock_source = isc_clock_source();
	pair = isc_clock_read_pair(r->clock_source);
	r->start_ns = pair.mono_ns;

	if (getrandom(folder.session_id, sizeof(folder.session_id), 0) != sizeof(folder.session_id)) {
		close(options->trace_fd);
		free(r);
		return isc_fail_errno(err, "no random number for the session");
	}
	folder.flags = flags_of(s, options->agent, options->scratch);
	folder.budget_pct = (float)(s->budget_pct > 0 ? s->budget_pct * COUNTED_SHARE : s->budget_pct);
	folder.startup_pct = (float)s->budget_pct;
	folder.rate_hz = s->rate_hz;
	folder.memory_mean = s->memory_sample_kb * 1024;
	isc_recorder_prepare_sources(r, &folder);
	folder.clock_source = r->clock_source;
	folder.start_ns = pair.mono_ns;
	/* --trace-size-mb bounds the shared memory as well. */
	folder.memory_bytes = s->trace_size_mb != 0 ? (uint64_t)s->trace_size_mb << 20 : UINT64_MAX;
	memcpy(writer.session_id, folder.session_id, sizeof(writer.session_id));
	writer.clock_source = r->clock_source;
	writer.start_ticks = pair.ticks;
	writer.start_ns = pair.mono_ns;
	writer.start_unix_ns = isc_clock_unix_ns();

	st = isc_writer_open(options->trace_fd, &writer, &r->writer, err);
	if (st != ISC_OK)
		close(options->trace_fd);
	else
		st = isc_folder_make(&folder, &r->folder, err);
	if (st != ISC_OK) {
		isc_writer_close(r->writer, NULL, NULL);
		free(r);
		return st;
	}
	r->bell = make_bell(&r->folder);
	r->sink.clock_source = r->clock_source;
	isc_event_sink_clock(&r->sink, pair);
	r->sink.writer = r->writer;
	r->sink.namer = r->namer = s->sample && s->native != ISC_NATIVE_OFF ? isc_namer_new() : NULL;
	isc_event_sink_begin(&r->sink, NULL);
	*out = r;
	return ISC_OK;
}

void isc_recorder_facts(isc_recorder *r, const char *json, size_t len)
{
	isc_error err;

	isc_recorder_wrote(r, isc_writer_meta(r->writer, json, len, &err), &err);
}

static void set_phase(isc_recorder *r, uint32_t phase)
{
	atomic_store_explicit(&r->folder.control->phase, phase, memory_order_release);
}

/* Written at once: a recorder that is killed leaves a trace that says where its window began. */
static void tell_window(isc_recorder *r, bool over)
{
	uint64_t now = isc_clock_mono_ns();
	isc_buffer facts = {0};

	if (r->settings->delay_s <= 0 && r->settings->duration_s <= 0)
		return;
	if (r->collected_from_ns == 0)
		r->collected_from_ns = now;
	isc_facts_window(&facts, (double)(r->collected_from_ns - r->start_ns) / 1e3,
			 over && r->settings->duration_s > 0
				 ? (double)((r->ended_ns != 0 ? r->ended_ns : now) - r->start_ns) / 1e3
				 : -1);
	isc_recorder_facts(r, facts.data, facts.len);
	isc_buffer_fini(&facts);
	/* Before --delay some things are recorded all the same, and after --duration what is on its way. */
	if (!over || r->settings->duration_s > 0)
		isc_writer_mark(r->writer, over ? ISC_BOUNDARY_WINDOW_END : ISC_BOUNDARY_WINDOW_BEGIN,
				isc_clock_read_pair(r->clock_source).ticks, NULL);
}

static void start_collecting(isc_recorder *r)
{
	set_phase(r, ISC_PHASE_COLLECTING);
	tell_window(r, false);
}

isc_status isc_recorder_begin(isc_recorder *r, pid_t root, const char *rt_path, bool running, isc_error *err)
{
	isc_drain_options options = {.dir = r->folder.dir, .limit_bytes = r->folder.memory_bytes};
	isc_drain_sink sink;
	isc_status st;

	memcpy(options.session_id, r->folder.seal.session_id, sizeof(options.session_id));
	st = isc_follow_new(r->writer, r->folder.control, r->clock_source, root, &r->follow, err);
	if (st != ISC_OK)
		return st;
	r->sink.follow = r->follow;
	sink = isc_event_sink_drain(&r->sink);
	st = isc_drain_new(&options, &sink, &r->drain, err);
	if (st != ISC_OK)
		return st;
	isc_recorder_open_sources(r, root, running);
	isc_event_sink_clock(&r->sink, isc_clock_read_pair(r->clock_source));
	r->begin_ns = isc_clock_mono_ns();
	r->begin_cpu_ns = isc_clock_thread_ns();
	r->collect_ns = r->begin_ns + (uint64_t)(r->settings->delay_s * 1e9);
	r->next_clock_ns = r->begin_ns;
	r->next_flush_ns = r->begin_ns;
	r->period_ns = r->begin_ns;
	if (r->settings->delay_s > 0)
		set_phase(r, ISC_PHASE_WAITING);
	else
		start_collecting(r);
	isc_folder_publish(&r->folder, rt_path, root);
	return ISC_OK;
}

/* When --duration has passed: it counts from when collection really began. */
static uint64_t over_ns(const isc_recorder *r)
{
	uint64_t from = r->collected_from_ns != 0 ? r->collected_from_ns : r->collect_ns;

	return from + (uint64_t)(r->settings->duration_s * 1e9);
}

bool isc_recorder_over(const isc_recorder *r)
{
	return r->settings->duration_s > 0 && isc_clock_mono_ns() >= over_ns(r);
}

/* Those who wait hear that what they had written when they asked is in the file. */
static void answer(isc_recorder *r, uint32_t asked)
{
	isc_control *control = r->folder.control;

	atomic_store_explicit(&control->flush_done, asked, memory_order_release);
	syscall(SYS_futex, &control->flush_done, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* A scratch trace is there to be read soon: what nobody looks at any more need not be read past each time. */
static void forget(isc_recorder *r)
{
	isc_control *control = r->folder.control;
	isc_error err;

	if (atomic_exchange(&control->forget, 0) == 0 || (control->flags & ISC_CONTROL_SCRATCH) == 0 ||
	    atomic_load(&control->windows) != 0)
		return;
	isc_recorder_wrote(r, isc_writer_forget(r->writer, &err), &err);
	atomic_fetch_add(&control->forgotten, 1);
}

/* At the end all of them, within reason. */
static void name_places(isc_recorder *r, bool last)
{
	isc_error err;

	if (r->namer == NULL)
		return;
	isc_recorder_wrote(r,
			   last ? isc_namer_finish(r->namer, r->writer, isc_clock_mono_ns() + NAMES_LAST_NS, &err)
				: isc_namer_write(r->namer, r->writer, &err),
			   &err);
}

/* Behind a flush: everything up to now is in the totals. */
static void end_period(isc_recorder *r, uint64_t now, bool last)
{
	isc_error err;

	if (now < r->period_ns + PERIOD_NS && !last)
		return;
	isc_writer_cost_apart(r->writer, isc_recorder_cost_apart_ns(r));
	isc_recorder_wrote(r, isc_writer_over_time(r->writer, r->period_ns, now, &err), &err);
	r->period_ns = now;
}

static size_t units_of(void *self, uint32_t process, uint32_t codes[ISC_DRAIN_UNIT_CODES])
{
	isc_recorder *r = self;
	uint64_t unit_ns = isc_writer_unit_ns(r->writer, process);

	r->unit_ns = unit_ns > r->unit_ns ? unit_ns : r->unit_ns;
	return isc_writer_unit_codes(r->writer, process, codes);
}

/* Programs never leave out the calls that their units begin with, and a slot of time in which units are recorded or not
 * is long beside the longest of them, so that few are cut. */
static void tell_units(isc_recorder *r)
{
	uint32_t slot_us = SLOT_US_LEAST;

	r->unit_ns = 0;
	isc_drain_tell_units(r->drain, units_of, r);
	while (slot_us < SLOT_US_MOST && (uint64_t)slot_us * 1000 < SLOT_UNITS * r->unit_ns)
		slot_us *= 2;
	atomic_store_explicit(&r->folder.control->slot_us, slot_us, memory_order_relaxed);
}

/* What switches cost, and this thread where it is in the way, comes out of what processes may spend. */
static void tell_outside(isc_recorder *r, uint64_t now)
{
	double share = r->switches != NULL ? isc_switches_share(r->switches) : 0;
	double spare = r->settings->budget_pct > 0 ? r->settings->budget_pct * (1 - COUNTED_SHARE) / 100 : 0;

	isc_crowding_look(&r->crowding, now, isc_clock_thread_ns(), isc_writer_cpu_ns(r->writer));
	share += r->crowding.share > spare ? r->crowding.share - spare : 0;
	atomic_store_explicit(&r->folder.control->outside_ppm, (uint32_t)(share * 1e6), memory_order_relaxed);
}

static void collect(isc_recorder *r, bool last)
{
	/* Read before anything is drained. */
	uint32_t asked = atomic_load_explicit(&r->folder.control->flush_asked, memory_order_acquire);
	bool flush = asked != atomic_load_explicit(&r->folder.control->flush_done, memory_order_relaxed);
	isc_error err;
	uint64_t now;

	now = isc_clock_mono_ns();
	isc_recorder_look_at_sources(r, now, flush, last);
	isc_follow_poll(r->follow, now);
	isc_recorder_wrote(r, last ? isc_drain_finish(r->drain, &err) : isc_drain_run(r->drain, &r->cycle, &err), &err);
	isc_follow_flush(r->follow);
	name_places(r, last);
	isc_recorder_wrote(r, r->sink.failed, &r->sink.err);
	if (now >= r->next_clock_ns || last || flush) {
		isc_clock_pair pair = isc_clock_read_pair(r->clock_source);

		r->next_clock_ns = now + CLOCK_EVERY_NS;
		isc_event_sink_clock(&r->sink, pair);
		isc_recorder_wrote(r, isc_writer_clock(r->writer, pair.ticks, pair.mono_ns, &err), &err);
	}
	if (now >= r->next_flush_ns || last || flush) {
		r->next_flush_ns = now + FLUSH_EVERY_NS;
		isc_recorder_wrote(r, isc_writer_flush(r->writer, &err), &err);
		end_period(r, now, last);
		tell_outside(r, now);
		if (!last)
			tell_units(r);
	}
	if (flush) {
		forget(r);
		answer(r, asked);
	}
}

/* Not past the next thing that is due. */
static uint64_t sleep_ns(const isc_recorder *r, uint64_t now)
{
	uint64_t sleep = (uint64_t)isc_drain_sleep_us(r->drain, &r->cycle) * 1000;
	uint64_t due[] = {r->next_flush_ns, r->collect_ns, over_ns(r)};

	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++) {
		if (due[i] > now && due[i] - now < sleep)
			sleep = due[i] - now;
	}
	return sleep;
}

bool isc_recorder_turn(isc_recorder *r, int fd)
{
	struct pollfd fds[POLLFDS] = {{.fd = fd, .events = POLLIN}, {.fd = r->bell, .events = POLLIN}};
	char rung[64];
	uint64_t now = isc_clock_mono_ns(), sleep = sleep_ns(r, now);
	struct timespec timeout = {(time_t)(sleep / NS_PER_S), (long)(sleep % NS_PER_S)};
	size_t n = 2;
	bool failed;

	if (r->switches != NULL)
		n += isc_switches_pollfds(r->switches, fds + n, POLLFDS - n);
	/* When it says nothing, the caller looks: the program's end is not missed. */
	failed = ppoll(fds, n, &timeout, NULL) < 0;
	while (r->bell >= 0 && read(r->bell, rung, sizeof(rung)) == (ssize_t)sizeof(rung))
		continue;
	now = isc_clock_mono_ns();
	if (now >= r->collect_ns && atomic_load(&r->folder.control->phase) == ISC_PHASE_WAITING)
		start_collecting(r);
	collect(r, false);
	return fd >= 0 && (failed || fds[0].revents != 0);
}

void isc_recorder_ended(isc_recorder *r, int wait_status, const struct rusage *use)
{
	r->ended_ns = isc_clock_mono_ns();
	r->ended_cpu_ns = isc_clock_thread_ns();
	r->use = *use;
	r->end.wait_status = wait_status;
	r->end.known = 1;
	isc_follow_root_status(r->follow, wait_status, r->ended_ns);
}

static void release(isc_recorder *r)
{
	isc_drain_free(r->drain);
	isc_recorder_close_sources(r);
	isc_follow_free(r->follow);
	isc_event_sink_fini(&r->sink);
	isc_namer_free(r->namer);
	if (r->bell >= 0)
		close(r->bell);
	free(r);
}

/* Whoever put something there wants to know where it is. */
static void remove_folder(isc_recorder *r, bool alive)
{
	isc_folder_left left;
	char path[sizeof(r->folder.path)], what[sizeof(path) + sizeof(left.name) + 100];

	memcpy(path, r->folder.path, sizeof(path));
	isc_folder_remove(&r->folder, alive, &left);
	if (left.count == 0)
		return;
	snprintf(what, sizeof(what), "%s stays: it holds %s%s, which InferScope did not make", path, left.name,
		 left.count > 1 ? " and more" : "");
	tell(r, ISC_LOG_WARN, what, "move out what you need and remove the folder");
}

isc_status isc_recorder_finish(isc_recorder *r, isc_error *err)
{
	isc_status st;
	bool alive;

	/* Nothing is produced from here on, so the last drain sees the end of every stream. */
	set_phase(r, ISC_PHASE_DONE);
	if (r->collected_from_ns != 0)
		tell_window(r, true);
	collect(r, true);
	isc_recorder_last_facts(r);
	alive = isc_recorder_alive(r) > 0;
	r->end.end_ns = isc_clock_mono_ns();
	st = isc_writer_close(r->writer, &r->end, err);
	if (r->write_failed)
		st = ISC_OK; /* told already */
	r->writer = NULL;
	remove_folder(r, alive);
	release(r);
	return st;
}

void isc_recorder_abandon(isc_recorder *r)
{
	if (r == NULL)
		return;
	isc_writer_close(r->writer, NULL, NULL);
	isc_folder_remove(&r->folder, false, NULL);
	release(r);
}

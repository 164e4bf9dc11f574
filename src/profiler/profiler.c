/*
 * profiler.c - the functions of inferscope/profiler.h.
 */
#include "inferscope/profiler.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "profiler/births.h"
#include "profiler/write.h"
#include "runtime/profile.h"
#include "runtime/runtime.h"

/* The runtime of another installation may be in the process, and lack them. */
#pragma weak isc_rt_profile_start
#pragma weak isc_rt_profile_stop
#pragma weak isc_rt_profile_forked
#pragma weak isc_rt_profile

#define INTERVAL_US 1000u
#define INTERVAL_LEAST_US 100u
#define INTERVAL_MOST_US 1000000u
#define FRAMES_LEAST 2u

/* start, stop and the writers: one at a time. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Nobody forks while we hold the loader's lock: the child would have it for ever. */
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;
static bool forked_since; /* this process is a child: what its parent found is enough */

static void before_fork(void)
{
	pthread_mutex_lock(&looking);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&looking);
}

/* Also a child whose parent held the lock in another thread. */
static void forked(void)
{
	pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	lock = looking = fresh;
	forked_since = true;
	isc_rt_profile_forked();
}

static void watch_forks(void)
{
	pthread_atfork(before_fork, after_fork, forked);
}

/* Another thread of the parent may have had the loader's lock: a child does not ask for it. */
static void watch_births(void)
{
	if (forked_since)
		return;
	pthread_mutex_lock(&looking);
	isc_births_watch();
	pthread_mutex_unlock(&looking);
}

static bool fits(void)
{
	return isc_rt_abi() == ISC_RT_ABI;
}

static const isc_profile *profile_now(void)
{
	return fits() ? isc_rt_profile() : NULL;
}

static int result(int error)
{
	if (error == 0)
		return 0;
	errno = error;
	return -1;
}

/* What the caller's header has of them: a newer library has more. */
static int read_options(const profiler_options *given, isc_profile_options *to)
{
	profiler_options o = {0};

	if (given != NULL) {
		if (given->size < sizeof(given->size) || given->size > sizeof(o))
			return EINVAL;
		memcpy(&o, given, given->size);
	}
	if (o.interval_us == 0)
		o.interval_us = INTERVAL_US;
	if (o.max_frames == 0)
		o.max_frames = ISC_PROFILE_FRAMES_MAX;
	if (o.interval_us < INTERVAL_LEAST_US || o.interval_us > INTERVAL_MOST_US || o.max_frames < FRAMES_LEAST ||
	    o.max_frames > ISC_PROFILE_FRAMES_MAX || o.native > PROFILER_NATIVE_OFF ||
	    o.counter > PROFILER_COUNT_TASK_CLOCK)
		return EINVAL;
	*to = (isc_profile_options){o.interval_us * 1000, o.max_frames, o.native, o.counter};
	return 0;
}

int profiler_start_opts(const profiler_options *options)
{
	isc_profile_options wanted;
	int error = read_options(options, &wanted);

	if (error != 0)
		return result(error);
	if (!fits())
		return result(EPROTO);
	pthread_once(&once, watch_forks);
	watch_births();
	pthread_mutex_lock(&lock);
	error = isc_rt_profile_start(&wanted);
	pthread_mutex_unlock(&lock);
	return result(error);
}

int profiler_start(void)
{
	return profiler_start_opts(NULL);
}

int profiler_stop(void)
{
	int error;

	if (!fits())
		return 0;
	pthread_mutex_lock(&lock);
	error = isc_rt_profile_stop();
	pthread_mutex_unlock(&lock);
	return result(error);
}

/* ---- files --------------------------------------------------------------- */

static int errno_of(isc_status status, const isc_error *err)
{
	if (status == ISC_OK)
		return 0;
	if (err->sys != 0)
		return err->sys;
	return status == ISC_ERR_NOMEM ? ENOMEM : status == ISC_ERR_EXISTS ? EEXIST : EIO;
}

static int save(const char *path, void (*write)(isc_buffer *out, const isc_profile_model *m))
{
	const isc_profile *p = profile_now();
	isc_profile_model m;
	isc_buffer out = {0};
	isc_error err = {0};
	isc_status status;

	if (path == NULL || path[0] == '\0')
		return EINVAL;
	if (p == NULL)
		return ENODATA;
	status = isc_profile_model_init(&m, p, &err);
	if (status == ISC_OK) {
		write(&out, &m);
		status = out.failed ? ISC_ERR_NOMEM : isc_output_save(path, true, NULL, out.data, out.len, &err);
	}
	isc_buffer_fini(&out);
	isc_profile_model_fini(&m);
	return errno_of(status, &err);
}

static int save_locked(const char *path, void (*write)(isc_buffer *out, const isc_profile_model *m))
{
	int error;

	pthread_mutex_lock(&lock);
	error = save(path, write);
	pthread_mutex_unlock(&lock);
	return result(error);
}

int profiler_write_json(const char *path)
{
	return save_locked(path, isc_profile_json);
}

int profiler_write_summary(const char *path)
{
	return save_locked(path, isc_profile_summary);
}

/* ---- state --------------------------------------------------------------- */

static const char *note_of(const isc_profile *p)
{
	if (p->pid != (uint32_t)getpid())
		return "the process was forked: this is its parent's profile up to then";
	if (atomic_load(&p->taken))
		return "the program took SIGURG for itself: samples ended there";
	if (p->shared)
		return "a session records this process: its steps are used";
	if (atomic_load(&p->refused) > 0)
		return "some threads got no timer and were not sampled";
	return NULL;
}

const profiler_state *profiler_get_state(void)
{
	static _Thread_local profiler_state state;
	const isc_profile *p = profile_now();
	uint64_t step;

	state = (profiler_state){.size = sizeof(state),
				 .note = fits() ? "nothing was profiled yet"
						: "another version of InferScope is in this process"};
	if (p == NULL)
		return &state;
	step = p->interval_ns != 0 ? p->interval_ns : 1;
	state.running = atomic_load(&p->running) != 0 && p->pid == (uint32_t)getpid();
	state.shared = (int)p->shared;
	state.interval_us = p->interval_ns / 1000;
	state.elapsed_us = isc_profile_elapsed_us(p);
	state.samples = atomic_load(&p->total_ns) / step;
	state.signals = atomic_load(&p->samples);
	state.stacks = atomic_load(&p->stacks);
	state.refused_threads = atomic_load(&p->refused);
	state.other = atomic_load(&p->other_ns) / step;
	state.unknown = atomic_load(&p->unknown_ns) / step;
	state.spent_us = atomic_load(&p->spent_ns) / 1000;
	state.instructions = isc_profile_why_no_count(atomic_load(&p->count_error));
	state.memory = isc_profile_why_no_memory(p->memory_error);
	state.note = note_of(p);
	return &state;
}

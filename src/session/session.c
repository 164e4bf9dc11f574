#include "session/session.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/launch/environment.h"
#include "session/facts.h"
#include "session/follow/proc.h"
#include "session/launch/gpu_parts.h"
#include "runtime/layout.h"
#include "session/launch/parts.h"

#define EXIT_OURS 125

static void add_facts(isc_recorder *r, const isc_settings *settings, char *const *argv)
{
	isc_buffer facts = {0};

	isc_facts_first(&facts, settings, argv);
	isc_recorder_facts(r, facts.data, facts.len);
	isc_buffer_fini(&facts);
}

/* The runtime as the program is to preload it; "" when it is not wanted or not there. */
static isc_status find_preload(const isc_session_options *options, isc_folder *folder, char *out, size_t room,
			       isc_error *err)
{
	isc_parts parts;
	isc_status st = ISC_OK;

	out[0] = 0;
	if (!options->settings->agent)
		return ISC_OK;
	st = isc_parts_find(&parts, err);
	if (st == ISC_OK) {
		st = isc_parts_preload_path(&parts, folder->path, out, room, err);
		isc_folder_vouch(folder, ISC_PRELOAD_NAME);
		isc_folder_vouch(folder, ISC_INJECT_NAME);
	}
	if (st != ISC_OK)
		out[0] = 0;
	return st;
}

static isc_status find_proc(isc_error *err)
{
	isc_proc_stat own;

	if (isc_proc_stat_read((uint32_t)getpid(), &own))
		return ISC_OK;
	isc_fail(err, ISC_ERR_ABSENT, "/proc cannot be read: of processes without the runtime little is known");
	isc_hint(err, "mount -t proc proc /proc");
	return ISC_ERR_ABSENT;
}

/* What is not there to be used is told in the report; now if there is to be none. */
static void find_sources(isc_recorder *r, const isc_session_options *options, char *preload, size_t room)
{
	isc_error missing[4];
	isc_buffer facts = {0};
	size_t n = 0;

	n += find_preload(options, isc_recorder_folder(r), preload, room, &missing[n]) != ISC_OK;
	n += find_proc(&missing[n]) != ISC_OK;
	n += isc_gpu_parts_cuda(options->settings, options->cuda_elsewhere, &missing[n]) != ISC_OK;
	isc_gpu_parts_opencl(options->settings);
	n += isc_gpu_parts_asked(options->settings, &missing[n]) != ISC_OK;
	if (n == 0)
		return;
	for (size_t i = 0; i < n && options->say != NULL && !options->settings->report; i++)
		options->say(options->say_self, ISC_LOG_WARN, missing[i].what, missing[i].hint);
	isc_facts_missing(&facts, missing, n);
	isc_recorder_facts(r, facts.data, facts.len);
	isc_buffer_fini(&facts);
}

/* What we do can wait: waking up, we do not take a CPU from a thread of the program while it has a turn.
 * A policy that somebody chose for us stays. */
static void give_way(void)
{
	const struct sched_param none = {0};

	if (sched_getscheduler(0) == SCHED_OTHER)
		sched_setscheduler(0, SCHED_BATCH, &none);
}

/* Until the program has ended or --duration has passed: true when it ended. */
static bool record(isc_recorder *r, isc_launch *launch)
{
	for (;;) {
		if (isc_recorder_turn(r, isc_launch_fd(launch)) && !isc_launch_dispatch(launch)) {
			isc_recorder_ended(r, isc_launch_status(launch), isc_launch_use(launch));
			return true;
		}
		if (isc_recorder_over(r))
			return false;
	}
}

/* ^C or a termination while nothing but children is waited for?  They are held
 * back since the launch. */
static bool told_to_stop(void)
{
	const struct timespec now = {0, 0};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return sigtimedwait(&set, NULL, &now) > 0;
}

/* News of a process that was born just now comes a few milliseconds late: nobody
 * is believed to be alone before this has passed. */
#define NEWS_NS 100000000u

static bool anybody_left(isc_recorder *r, uint64_t ended_ns)
{
	return isc_recorder_alive(r) > 0 || isc_clock_mono_ns() < ended_ns + NEWS_NS;
}

/* Children that outlive the program are recorded for --wait-children seconds. */
static void wait_children(isc_recorder *r, double seconds)
{
	uint64_t ended = isc_clock_mono_ns(), until = ended + (uint64_t)(seconds * 1e9);

	while (isc_clock_mono_ns() < until && anybody_left(r, ended) && !isc_recorder_over(r) && !told_to_stop()) {
		isc_recorder_turn(r, -1);
		/* As PID 1 every orphan is ours to reap. */
		while (getpid() == 1 && waitpid(-1, NULL, WNOHANG) > 0)
			continue;
	}
}

/* What Python children have to find in their environment, since no agent will put
 * it there: "" when none is to be seen into. */
static void find_inject(const isc_session_options *options, isc_folder *folder, const char *preload, char *out,
			size_t room)
{
	isc_parts parts;

	out[0] = 0;
	if (preload[0] == 0 && (options->settings->follow != ISC_FOLLOW_NONE || options->lacks_package) &&
	    isc_parts_find(&parts, NULL) == ISC_OK) {
		isc_parts_inject_path(&parts, folder->path, out, room);
		isc_folder_vouch(folder, ISC_INJECT_NAME);
	}
}

isc_status isc_session_run(const isc_session_options *options, char *const *argv, isc_session_result *result,
			   isc_error *err)
{
	isc_recorder_options recorder = {.settings = options->settings,
					 .trace_fd = options->trace_fd,
					 .trace_path = options->trace_path,
					 .agent = options->settings->agent,
					 .say = options->say,
					 .say_self = options->say_self};
	isc_launch_options launch = {.argv = argv};
	char preload[1200], inject[1200];
	char **env = NULL;
	isc_recorder *r = NULL;
	isc_status st;

	*result = (isc_session_result){.exit_code = EXIT_OURS};
	st = isc_recorder_new(&recorder, &r, err);
	if (st != ISC_OK)
		return st;
	add_facts(r, options->settings, argv);
	find_sources(r, options, preload, sizeof(preload));
	find_inject(options, isc_recorder_folder(r), preload, inject, sizeof(inject));
	env = isc_parts_environment(isc_recorder_folder(r)->path, preload, inject);
	if (env == NULL) {
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory for the program's environment");
		goto failed;
	}
	launch.env = env;
	st = isc_launch_start(&launch, &result->launch, err);
	if (st != ISC_OK)
		goto failed;
	st = isc_recorder_begin(r, isc_launch_pid(result->launch), preload, false, err);
	if (st == ISC_OK)
		st = isc_launch_go(result->launch, &result->exit_code, err);
	if (st != ISC_OK)
		goto failed;
	free(env);
	isc_launch_release_standard();
	give_way();
	if (record(r, result->launch)) {
		result->wait_status = isc_launch_status(result->launch);
		wait_children(r, options->settings->wait_children_s);
	} else {
		result->running = true;
	}
	return isc_recorder_finish(r, err);
failed:
	free(env);
	isc_launch_free(result->launch);
	result->launch = NULL;
	isc_recorder_abandon(r);
	return st;
}

isc_status isc_session_watch(const isc_session_options *options, pid_t pid, isc_session_ready ready, void *self,
			     isc_error *err)
{
	isc_recorder_options recorder = {.settings = options->settings,
					 .trace_fd = options->trace_fd,
					 .trace_path = options->trace_path,
					 .agent = options->settings->agent,
					 .scratch = options->scratch,
					 .say = options->say,
					 .say_self = options->say_self};
	char name[64], preload[1200];
	char *argv[2] = {name, NULL};
	uint64_t ended;
	isc_recorder *r;
	isc_status st;
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	if (fd < 0) {
		close(options->trace_fd);
		return isc_fail_errno(err, "cannot watch process %d", (int)pid);
	}
	st = isc_recorder_new(&recorder, &r, err);
	if (st != ISC_OK) {
		close(fd);
		return st;
	}
	snprintf(name, sizeof(name), "pid %d", (int)pid);
	add_facts(r, options->settings, argv);
	find_sources(r, options, preload, sizeof(preload));
	st = isc_recorder_begin(r, pid, preload, true, err);
	if (st != ISC_OK) {
		isc_recorder_abandon(r);
		close(fd);
		return st;
	}
	ready(self, isc_recorder_folder(r)->path, preload);
	give_way();
	/* The descriptor becomes readable when the process ends; its children may go on. */
	while (!isc_recorder_turn(r, fd) && !isc_recorder_over(r))
		continue;
	ended = isc_clock_mono_ns();
	while (anybody_left(r, ended) && !isc_recorder_over(r))
		isc_recorder_turn(r, -1);
	close(fd);
	return isc_recorder_finish(r, err);
}

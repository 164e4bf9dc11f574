/* switches_open.c - open perf events on a program, and say why not. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "session/follow/proc.h"
#include "session/machine/switches_state.h"

/* An ordinary user may map kernel.perf_event_mlock_kb (516 kB) per CPU and what
 * RLIMIT_MEMLOCK adds, all rings together: 64+1 and 32+1 pages always fit.
 * 128 pages hold 8,000 switches: 80 ms at 100,000 a second. */
#define SWITCH_PAGES 128u
#define TASK_PAGES 32u

#ifndef PERF_FORMAT_LOST /* kernel 6.0 */
#define PERF_FORMAT_LOST (1u << 4)
#endif

static int event_open(const isc_switches *s, pid_t target, int cpu, int use, bool running)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		/* The event that tells of switches may as well be one that tells of something: each page fault
		 * that had to read is a sample, behind the switches of the wait for it. */
		.config = use == ISC_PERF_SWITCHES ? PERF_COUNT_SW_PAGE_FAULTS_MAJ : PERF_COUNT_SW_DUMMY,
		.sample_period = use == ISC_PERF_SWITCHES,
		.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
		.read_format = s->reads_lost ? PERF_FORMAT_LOST : 0,
		.disabled = !running,
		.inherit = 1,
		.enable_on_exec = !running,
		.exclude_kernel = 1, /* else paranoid 2 refuses ordinary users */
		.exclude_hv = 1,
		.sample_id_all = 1,
		.context_switch = use == ISC_PERF_SWITCHES,
		.task = use == ISC_PERF_TASKS,
		.comm = use == ISC_PERF_TASKS,
		.comm_exec = use == ISC_PERF_TASKS,
		.watermark = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	size_t pages = use == ISC_PERF_SWITCHES ? s->switch_pages : s->task_pages;

	attr.wakeup_watermark = (uint32_t)(pages * (size_t)getpagesize() / 2);
	return (int)syscall(SYS_perf_event_open, &attr, target, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* ---- why not ---------------------------------------------------------- */

static long read_number(const char *path, const char *key)
{
	char text[4096], *at = text;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return -100;
	text[n] = '\0';
	if (key != NULL) {
		at = strstr(text, key);
		if (at == NULL)
			return -100;
		at += strlen(key);
	}
	return strtol(at, NULL, 10);
}

static isc_status refused(int code, isc_error *err)
{
	long paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", NULL);
	bool filtered = read_number("/proc/self/status", "\nSeccomp:") > 0;
	isc_status st;

	errno = code;
	if (code == ENOSYS) {
		st = isc_fail(err, ISC_ERR_UNSUPPORTED, "this kernel has no perf events, or a filter hides them");
		isc_hint(err, "run outside the sandbox, or allow perf_event_open in its seccomp profile");
	} else if (code == EPERM && filtered) {
		st = isc_fail_errno(err, "a seccomp filter refuses perf events");
		isc_hint(err, "allow perf_event_open in the container's seccomp profile (Docker: --cap-add PERFMON)");
	} else if (code == EACCES || code == EPERM) {
		st = paranoid > -100
			     ? isc_fail_errno(err, "perf events are refused (kernel.perf_event_paranoid is %ld)",
					      paranoid)
			     : isc_fail_errno(err, "perf events are refused");
		isc_hint(err, "sysctl kernel.perf_event_paranoid=2, or give the command CAP_PERFMON");
	} else if (code == EMFILE || code == ENFILE) {
		st = isc_fail(err, ISC_ERR_LIMIT, "too few descriptors to watch every thread on every CPU");
		isc_hint(err, "raise the limit of open files (ulimit -n)");
	} else if (code == ESRCH) {
		st = isc_fail(err, ISC_ERR_ABSENT, "the program to watch has ended");
	} else {
		st = isc_fail_errno(err, "cannot open perf events");
		isc_hint(err, "see inferscope doctor");
	}
	if (err != NULL)
		err->sys = code;
	return st;
}

/* ---- rings ------------------------------------------------------------ */

static bool extra_add(isc_switches *s, int fd, int use)
{
	if (s->extras == s->extras_room) {
		size_t room = s->extras_room ? s->extras_room * 2 : 16;
		int *fds = realloc(s->extra, room * sizeof(*fds));

		if (fds == NULL)
			return false;
		s->extra = fds;
		uint8_t *uses = realloc(s->extra_use, room);
		if (uses == NULL)
			return false;
		s->extra_use = uses;
		s->extras_room = room;
	}
	s->extra[s->extras] = fd;
	s->extra_use[s->extras++] = (uint8_t)use;
	return true;
}

static bool ring_add(isc_switches *s, int fd, int use, int *code)
{
	size_t page = (size_t)getpagesize(), size = (use == ISC_PERF_SWITCHES ? s->switch_pages : s->task_pages) * page;
	void *map;

	if (s->rings == s->rings_room) {
		size_t room = s->rings_room ? s->rings_room * 2 : 8;
		isc_switches_ring *rings = realloc(s->ring, room * sizeof(*rings));

		if (rings == NULL) {
			*code = ENOMEM;
			return false;
		}
		s->ring = rings;
		s->rings_room = room;
	}
	map = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED) {
		*code = errno;
		return false;
	}
	s->ring[s->rings++] = (isc_switches_ring){.fd = fd, .use = use, .page = map, .size = size};
	return true;
}

static void close_all(isc_switches *s)
{
	for (size_t i = 0; i < s->rings; i++) {
		munmap(s->ring[i].page, s->ring[i].size + (size_t)getpagesize());
		close(s->ring[i].fd);
		free(s->ring[i].queue);
		s->ring[i].queue = NULL;
	}
	for (size_t i = 0; i < s->extras; i++)
		close(s->extra[i]);
	s->rings = s->extras = 0;
}

/* One thread on one CPU: a ring of its own, or that of the first thread. */
static int open_one(isc_switches *s, pid_t tid, int cpu, int use, bool running, int ring_fd, int *code)
{
	int fd = event_open(s, tid, cpu, use, running);

	if (fd < 0 && errno == EINVAL && s->reads_lost) {
		s->reads_lost = false;
		fd = event_open(s, tid, cpu, use, running);
		if (fd < 0)
			s->reads_lost = true;
	}
	if (fd < 0) {
		*code = errno;
		return -1;
	}
	if (ring_fd < 0) {
		if (ring_add(s, fd, use, code))
			return fd;
	} else if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring_fd) == 0 && extra_add(s, fd, use)) {
		return fd;
	} else {
		*code = errno ? errno : ENOMEM;
	}
	close(fd);
	return -1;
}

static int open_thread(isc_switches *s, pid_t tid, bool running, bool first)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	size_t at = 0;
	int code = 0;

	for (long cpu = 0; cpu < cpus; cpu++) {
		for (int use = ISC_PERF_TASKS; use <= ISC_PERF_SWITCHES; use++) {
			int ring_fd = first ? -1 : at < s->rings ? s->ring[at].fd : -1;

			if (!first && ring_fd < 0)
				return 0;
			if (open_one(s, tid, (int)cpu, use, running, ring_fd, &code) >= 0) {
				at++;
				continue;
			}
			if (code == ENODEV)
				break; /* this CPU is offline */
			return code;
		}
	}
	return s->rings > 0 ? 0 : ENODEV;
}

/* ---- a program that runs already -------------------------------------- */

struct switched_threads {
	isc_switches *s;
	uint32_t *tid;
	size_t count, room;
	int code;
	bool fresh;
};

static bool thread_visit(void *self, uint32_t tid)
{
	struct switched_threads *t = self;

	for (size_t i = 0; i < t->count; i++)
		if (t->tid[i] == tid)
			return true;
	if (t->count == t->room) {
		size_t room = t->room ? t->room * 2 : 64;
		uint32_t *more = realloc(t->tid, room * sizeof(*more));

		if (more == NULL) {
			t->code = ENOMEM;
			return false;
		}
		t->tid = more;
		t->room = room;
	}
	t->tid[t->count++] = tid;
	t->fresh = true;
	int code = open_thread(t->s, (pid_t)tid, true, t->s->rings == 0);
	if (code != 0 && code != ESRCH)
		t->code = code;
	return t->code == 0;
}

/* Threads begin while we list them: until a listing shows nothing new. */
static int open_running(isc_switches *s, pid_t target)
{
	struct switched_threads t = {.s = s};

	do {
		t.fresh = false;
		if (!isc_proc_each_thread((uint32_t)target, thread_visit, &t))
			t.code = ESRCH;
	} while (t.fresh && t.code == 0);
	free(t.tid);
	return t.code ? t.code : s->rings > 0 ? 0 : ESRCH;
}

isc_status isc_switches_open_all(isc_switches *s, pid_t target, bool running, isc_error *err)
{
	int code;

	s->switch_pages = SWITCH_PAGES;
	s->task_pages = TASK_PAGES;
	for (;;) {
		s->reads_lost = true;
		code = running ? open_running(s, target) : open_thread(s, target, false, true);
		if (code == 0)
			return ISC_OK;
		close_all(s);
		/* EPERM may come from mapping more than is allowed: less may do. */
		if (code != EPERM || s->switch_pages <= 8)
			break;
		s->switch_pages /= 2;
		if (s->task_pages > 8)
			s->task_pages /= 2;
	}
	return refused(code, err);
}

void isc_switches_close(isc_switches *s)
{
	if (s == NULL)
		return;
	close_all(s);
	free(s->ring);
	free(s->extra);
	free(s->extra_use);
	free(s->batch);
	free(s);
}

void isc_switches_enable(isc_switches *s, bool on)
{
	unsigned long request = on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	for (size_t i = 0; i < s->rings; i++)
		if (s->ring[i].use == ISC_PERF_SWITCHES)
			ioctl(s->ring[i].fd, request, 0);
	for (size_t i = 0; i < s->extras; i++)
		if (s->extra_use[i] == ISC_PERF_SWITCHES)
			ioctl(s->extra[i], request, 0);
}

static uint64_t lost_of(int fd)
{
	uint64_t value[2] = {0, 0}; /* count, lost */

	return read(fd, value, sizeof(value)) == (ssize_t)sizeof(value) ? value[1] : 0;
}

void isc_switches_read_lost(isc_switches *s)
{
	if (!s->reads_lost)
		return;
	s->lost_read[ISC_PERF_TASKS] = s->lost_read[ISC_PERF_SWITCHES] = 0;
	for (size_t i = 0; i < s->rings; i++)
		s->lost_read[s->ring[i].use] += lost_of(s->ring[i].fd);
	for (size_t i = 0; i < s->extras; i++)
		s->lost_read[s->extra_use[i]] += lost_of(s->extra[i]);
}

isc_status isc_switches_probe(isc_error *why_not)
{
	isc_switches s = {0};
	isc_status st = isc_switches_open_all(&s, 0, false, why_not);

	close_all(&s);
	free(s.ring);
	free(s.extra);
	free(s.extra_use);
	return st;
}

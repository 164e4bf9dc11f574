/*
 * polling.c - what only looking tells: deaths by pidfd, and, where perf does
 * not tell, children, threads, names and programs from /proc.
 *
 * Looking costs tens of microseconds per process, so it is done ten times a
 * second, once a second when perf tells, and never for more than 2 % of the
 * time.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "session/follow/tables.h"

#define LOOK_NS 100000000u
#define ASK_NS 20000000u
#define LOOK_SLOW_NS 1000000000u
#define LOOK_SHARE 50u		 /* at most 1/50 of the time */
#define START_SLACK_NS 20000000u /* /proc counts start times in 10 ms */

/* Does this pid still belong to the image's process? */
static bool alive(const isc_program_image *x, isc_proc_stat *st)
{
	if (!isc_proc_stat_read(x->host_pid, st))
		return kill((pid_t)x->host_pid, 0) == 0 || errno == EPERM; /* no /proc: believe the kernel */
	if (st->state == 'Z' || st->state == 'X')
		return false;
	return st->start_ns <= x->start_ns + START_SLACK_NS;
}

bool isc_follow_is_dead(isc_follow *f, uint32_t process)
{
	isc_program_image *x = isc_program_image_of(f, process);
	isc_proc_stat st;

	if (x->seen & ISC_SEEN_DEAD)
		return true;
	if (f->blind || x->host_pid == 0)
		return false;
	if (x->pidfd >= 0) {
		struct pollfd p = {x->pidfd, POLLIN, 0};

		return poll(&p, 1, 0) == 1;
	}
	return !alive(x, &st);
}

static void notice_death(isc_follow *f, uint32_t process)
{
	/* Now, not when this poll began: what it announced before it died is in the
	 * roster with an earlier time. */
	isc_image_end(f, process, isc_clock_mono_ns(), false);
	isc_program_image_of(f, process)->seen |= ISC_SEEN_DEAD;
}

void isc_follow_watch(isc_follow *f, uint32_t process)
{
	isc_program_image *x = isc_program_image_of(f, process);
	isc_proc_stat st;

	/* perf tells of every end; without it a descriptor says which process is
	 * meant even after its number is used again. */
	if (f->blind || f->perf || x->host_pid == 0 || x->pidfd >= 0 || x->live_place == 0)
		return;
	if (f->pidfds < f->pidfds_max) {
		int fd = (int)syscall(SYS_pidfd_open, x->host_pid, 0);

		if (fd < 0 && errno == ESRCH) {
			notice_death(f, process);
			return;
		}
		if (fd >= 0) {
			x->pidfd = fd;
			f->pidfds++;
		}
	}
	if (!alive(x, &st))
		notice_death(f, process);
}

void isc_follow_unwatch(isc_follow *f, uint32_t process)
{
	isc_program_image *x = isc_program_image_of(f, process);

	if (x->pidfd < 0)
		return;
	close(x->pidfd);
	x->pidfd = -1;
	f->pidfds--;
}

void isc_follow_read_argv(isc_follow *f, uint32_t process, const char *comm)
{
	isc_program_image *x = isc_program_image_of(f, process);
	char argv[ISC_FOLLOW_ARGV_MAX], name[16];
	bool cut;
	size_t len;

	if (x->argv_rank == ISC_ARGV_WHOLE)
		return;
	if (!f->blind && x->host_pid != 0 && x->live_place != 0) {
		len = isc_proc_argv(x->host_pid, argv, sizeof(argv), &cut);
		/* By now it may be another program, or another process. */
		if (len > 0 && (comm == NULL || (isc_proc_thread_name(x->host_pid, x->host_pid, name) &&
						 strncmp(name, comm, 15) == 0))) {
			isc_image_argv(f, process, argv, len, cut ? ISC_ARGV_CUT : ISC_ARGV_WHOLE);
			return;
		}
	}
	if (comm != NULL && comm[0] != '\0')
		isc_image_argv(f, process, comm, strnlen(comm, 15) + 1, ISC_ARGV_COMM);
}

/* ---- deaths, at every poll -------------------------------------------- */

static void reap(isc_follow *f)
{
	struct pollfd fds[256];
	uint32_t whose[256], n = 0;

	for (uint32_t i = 0; i < f->live_count && n < 256 && n < f->pidfds; i++) {
		const isc_program_image *x = isc_program_image_of(f, f->live[i]);

		if (x->pidfd < 0)
			continue;
		fds[n] = (struct pollfd){x->pidfd, POLLIN, 0};
		whose[n++] = f->live[i];
	}
	if (n > 0 && poll(fds, n, 0) > 0)
		for (uint32_t i = 0; i < n; i++)
			if (fds[i].revents != 0)
				notice_death(f, whose[i]);
	/* Those without a descriptor are asked for by number; whether the number
	 * means another process by now is for the next look. */
	if (f->live_count <= f->pidfds || f->now_ns < f->next_ask_ns)
		return;
	f->next_ask_ns = f->now_ns + ASK_NS;
	for (uint32_t i = f->live_count; i-- > 0;) {
		const isc_program_image *x = isc_program_image_of(f, f->live[i]);

		if (x->pidfd < 0 && x->host_pid != 0 && kill((pid_t)x->host_pid, 0) < 0 && errno == ESRCH)
			notice_death(f, f->live[i]);
	}
}

/* ---- threads ---------------------------------------------------------- */

struct polled_threads {
	isc_follow *f;
	uint32_t process;
	bool names;
};

static void count_times(isc_follow *f, uint32_t thread, uint32_t pid)
{
	isc_task *t = isc_task_of(f, thread);

	if (!isc_proc_thread_times(pid, t->tid, &t->on_cpu_ns, &t->run_queue_ns))
		return;
	t->counted_ns = isc_clock_mono_ns();
	t->flags |= ISC_THREAD_COUNTED;
	isc_task_touch(f, thread);
}

static bool thread_visit(void *self, uint32_t tid)
{
	struct polled_threads *s = self;
	isc_follow *f = s->f;
	uint32_t pid = isc_program_image_of(f, s->process)->host_pid;
	uint32_t thread = isc_task_find(f, s->process, tid);
	isc_task *t = isc_task_of(f, thread);
	char name[16];

	if (t == NULL || t->flags & 2) {
		thread = isc_task_add(f, s->process, tid, f->now_ns);
		t = isc_task_of(f, thread);
		if (t == NULL)
			return false;
	}
	t->seen |= ISC_TASK_FOUND;
	/* perf tells every switch; without it the scheduler's own sums are the next best. */
	if (!f->perf)
		count_times(f, thread, pid);
	if ((s->names || !(t->seen & ISC_TASK_NAMED)) && isc_proc_thread_name(pid, tid, name)) {
		t->seen |= ISC_TASK_NAMED;
		isc_task_name(f, thread, name);
	}
	return true;
}

static void look_at_threads(isc_follow *f, uint32_t process)
{
	struct polled_threads s = {f, process, f->looks % 10 == 0};

	if (!isc_proc_each_thread(isc_program_image_of(f, process)->host_pid, thread_visit, &s))
		return;
	for (uint32_t i = isc_program_image_of(f, process)->threads; i != 0; i = isc_task_of(f, i)->sibling) {
		isc_task *t = isc_task_of(f, i);

		/* One that began since the listing is not missing. */
		if (!(t->flags & 2) && !(t->seen & ISC_TASK_FOUND) && t->start_ns < f->now_ns)
			isc_task_end(f, i, f->now_ns);
		t->seen &= (uint8_t)~ISC_TASK_FOUND;
	}
}

/* ---- children --------------------------------------------------------- */

static void found_child(isc_follow *f, uint32_t pid, const isc_proc_stat *st)
{
	uint64_t start = st->start_ns > f->first.mono_ns ? st->start_ns : f->first.mono_ns;
	uint32_t process;

	if (start > f->now_ns)
		start = f->now_ns;
	process = isc_image_newest(f, pid);
	if (process != 0 && !(isc_program_image_of(f, process)->flags & ISC_PROCESS_ENDED))
		return;
	process = isc_image_add(f, pid, pid, st->ppid, start);
	if (process == 0)
		return;
	isc_program_image *x = isc_program_image_of(f, process);
	x->seen |= ISC_SEEN_PROC;
	x->told_ns = f->now_ns;
	isc_image_find_parent(f, process);
	isc_task_name(f, isc_task_find(f, process, pid), st->comm);
	isc_follow_read_argv(f, process, NULL);
	isc_follow_watch(f, process);
}

static bool child_visit(void *self, uint32_t pid)
{
	isc_follow *f = self;
	isc_proc_stat st;

	if (isc_image_newest(f, pid) != 0 &&
	    !(isc_program_image_of(f, isc_image_newest(f, pid))->flags & ISC_PROCESS_ENDED))
		return true;
	if (isc_proc_stat_read(pid, &st) && st.state != 'Z' && st.state != 'X')
		found_child(f, pid, &st);
	return true;
}

static bool any_visit(void *self, uint32_t pid)
{
	isc_follow *f = self;
	isc_proc_stat st;
	uint32_t parent;

	if (isc_image_newest(f, pid) != 0 &&
	    !(isc_program_image_of(f, isc_image_newest(f, pid))->flags & ISC_PROCESS_ENDED))
		return true;
	if (!isc_proc_stat_read(pid, &st) || st.state == 'Z' || st.state == 'X' ||
	    st.start_ns + START_SLACK_NS < f->first.mono_ns)
		return true;
	parent = isc_image_newest(f, st.ppid);
	if (parent != 0 && !(isc_program_image_of(f, parent)->flags & ISC_PROCESS_ENDED))
		found_child(f, pid, &st);
	return true;
}

/* ---- one look --------------------------------------------------------- */

static void look_at_namespace(isc_follow *f, uint32_t process)
{
	isc_program_image *x = isc_program_image_of(f, process);
	uint32_t own, levels;

	if (x->seen & ISC_SEEN_NSPID || !isc_proc_own_pid(x->host_pid, 0, &own, &levels))
		return;
	x->seen |= ISC_SEEN_NSPID;
	if (levels < 2)
		return;
	uint64_t *place = isc_hashmap_put(&f->by_own, own, NULL);
	x->seen |= ISC_SEEN_NESTED;
	x->pid = own;
	if (place != NULL)
		*place = process;
}

static void look_at(isc_follow *f, uint32_t process, bool thorough)
{
	isc_program_image *x = isc_program_image_of(f, process);
	isc_proc_stat st;
	uint64_t exe;

	if (x->host_pid == 0)
		return;
	if (!alive(x, &st)) {
		notice_death(f, process);
		return;
	}
	look_at_namespace(f, process);
	if (thorough && !f->root_waiting && (exe = isc_proc_exe(x->host_pid)) != 0) {
		/* Another file behind the same process: an exec that nobody announced. */
		if (x->exe != 0 && x->exe != exe) {
			process = isc_claim_changed(f, process, f->now_ns);
			if (process == 0)
				return;
			isc_follow_read_argv(f, process, NULL);
			x = isc_program_image_of(f, process);
		}
		x->exe = exe;
	}
	if (thorough)
		look_at_threads(f, process);
	x = isc_program_image_of(f, process);
	if (x->argv_rank < ISC_ARGV_CUT && x->argv_tries < 3 && !f->root_waiting &&
	    (x->seen & ISC_SEEN_PROGRAM || x->argv_rank == ISC_ARGV_NONE)) {
		x->argv_tries++;
		isc_follow_read_argv(f, process, NULL);
	}
}

void isc_follow_look(isc_follow *f)
{
	bool thorough = !f->perf || f->now_ns < f->doubt_until_ns, children = true;
	uint64_t begin;

	if (f->blind)
		return;
	if (!f->perf)
		reap(f);
	if (f->now_ns < f->next_look_ns)
		return;
	begin = isc_clock_mono_ns();
	/* Both lists grow while they are walked: grandchildren come too. */
	for (uint32_t i = 0; i < f->live_count; i++) {
		uint32_t process = f->live[i];

		look_at(f, process, thorough);
		if (thorough && children && i < f->live_count && f->live[i] == process)
			children = isc_proc_each_child(isc_program_image_of(f, process)->host_pid, child_visit, f);
	}
	if (thorough && !children)
		isc_proc_each(any_visit, f);
	f->looks++;
	uint64_t took = isc_clock_mono_ns() - begin, wait = thorough ? LOOK_NS : LOOK_SLOW_NS;
	f->next_look_ns = f->now_ns + (took * LOOK_SHARE > wait ? took * LOOK_SHARE : wait);
}

/* switches: perf on real programs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "session/machine/switches.h"

/* ---- targets: this program, started again ------------------------------ */

static int there[2], back[2];
static long rounds;

static long switches_of_thread(void)
{
	char path[64], line[256];
	long sum = 0, n;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/status", syscall(SYS_gettid));
	FILE *file = fopen(path, "r");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "voluntary_ctxt_switches: %ld", &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %ld", &n) == 1)
			sum += n;
	if (file != NULL)
		fclose(file);
	return sum;
}

static void *pong(void *out)
{
	char c;

	for (long i = 0; i < rounds; i++)
		if (read(there[0], &c, 1) != 1 || write(back[1], &c, 1) != 1)
			break;
	((long *)out)[0] = syscall(SYS_gettid);
	((long *)out)[1] = switches_of_thread();
	return NULL;
}

/* Two threads on one CPU hand a byte to and fro; prints the kernel's own counts.  With a pace it stops after so many
 * rounds until it is told to go on, so that a reader who is late loses nothing. */
static int target_pingpong(long n, long pace)
{
	cpu_set_t cpu;
	pthread_t other;
	long told[4];
	char c = 0;

	rounds = n;
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	if (pipe(there) < 0 || pipe(back) < 0 || pthread_create(&other, NULL, pong, told) != 0)
		return 1;
	for (long i = 0; i < n; i++) {
		if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
			return 1;
		if (pace != 0 && i % pace == pace - 1)
			raise(SIGSTOP);
	}
	pthread_join(other, NULL);
	told[2] = syscall(SYS_gettid);
	told[3] = switches_of_thread();
	return write(STDOUT_FILENO, told, sizeof(told)) != sizeof(told);
}

static int target_children(long n, bool spawn)
{
	char *const args[] = {"true", NULL};
	pid_t child;

	for (long i = 0; i < n; i++) {
		if (spawn) {
			if (posix_spawn(&child, "/bin/true", NULL, NULL, args, environ) != 0)
				return 1;
		} else if ((child = fork()) == 0) {
			_exit(0);
		}
		if (child < 0 || waitpid(child, NULL, 0) != child)
			return 1;
	}
	return 0;
}

typedef struct target {
	pid_t pid;
	int go, out;
	long before; /* switches of the main thread before its exec */
} target;

static target start(const char *what, long n)
{
	target t;
	int go[2], out[2];
	char number[16], c;

	snprintf(number, sizeof(number), "%ld", n);
	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(out), 0);
	t.pid = fork();
	if (t.pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves nobody behind */
		close(go[1]);
		dup2(out[1], STDOUT_FILENO);
		if (read(go[0], &c, 1) != 1)
			_exit(1);
		execl("/proc/self/exe", "test_switches", what, number, (char *)NULL);
		_exit(1);
	}
	close(go[0]);
	close(out[1]);
	t.go = go[1];
	t.out = out[0];
	return t;
}

static void let_go(target *t)
{
	assert_int_equal(write(t->go, "x", 1), 1);
	close(t->go);
}

/* ---- what was seen ----------------------------------------------------- */

typedef struct seen {
	struct {
		uint32_t tid;
		long in, out;
	} thread[8];
	size_t threads;
	uint64_t last_ns, disorder, gaps, in_gap, switches;
	bool gap;
} seen;

static isc_status see(void *self, const isc_trace_switch *sw, size_t n, isc_error *err)
{
	seen *s = self;

	(void)err;
	for (size_t i = 0; i < n; i++) {
		s->disorder += sw[i].time_ns < s->last_ns;
		s->last_ns = sw[i].time_ns;
		if (sw[i].kind == ISC_SWITCH_FAULT)
			continue;
		if (sw[i].kind >= ISC_SWITCH_GAP_BEGIN) {
			assert_int_equal(s->gap, sw[i].kind == ISC_SWITCH_GAP_END);
			s->gap = !s->gap;
			s->gaps += s->gap;
			continue;
		}
		s->in_gap += s->gap;
		s->switches++;
		size_t t = 0;
		while (t < s->threads && s->thread[t].tid != sw[i].tid)
			t++;
		if (t == 8)
			continue;
		if (t == s->threads)
			s->thread[s->threads++].tid = sw[i].tid;
		if (sw[i].kind == ISC_SWITCH_IN)
			s->thread[t].in++;
		else
			s->thread[t].out++;
	}
	return ISC_OK;
}

static long out_of(const seen *s, long tid)
{
	for (size_t t = 0; t < s->threads; t++)
		if (s->thread[t].tid == (uint32_t)tid)
			return s->thread[t].out;
	return -1;
}

static isc_switches *open_or_skip(pid_t pid, double budget, bool running)
{
	isc_switches_options options = {.budget_pct = budget, .running = running};
	isc_switches *s = NULL;
	isc_error err;

	if (isc_switches_probe(&err) != ISC_OK) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		print_message("# skipped: %s; %s\n", err.what, err.hint);
		skip();
	}
	assert_int_equal(isc_switches_open(pid, &options, &s, &err), ISC_OK);
	return s;
}

/* Drains until the target has ended; every 20 ms or when a ring is half full.  One that stopped goes on after that. */
static int drain_to_the_end(isc_switches *s, pid_t pid, seen *out, isc_follow *follow)
{
	isc_switches_sink sink = {out, see};
	struct pollfd fds[64];
	isc_error err;
	int status = 0;
	pid_t told;

	while ((told = waitpid(pid, &status, WNOHANG | WUNTRACED)) == 0 || (told == pid && WIFSTOPPED(status))) {
		size_t n = isc_switches_pollfds(s, fds, 64);

		if (told == 0)
			poll(fds, n, 20);
		assert_int_equal(isc_switches_drain_to(s, &sink, follow, false, &err), ISC_OK);
		if (follow != NULL)
			isc_follow_poll(follow, isc_clock_mono_ns());
		if (told == pid)
			kill(pid, SIGCONT);
	}
	assert_int_equal(isc_switches_drain_to(s, &sink, follow, true, &err), ISC_OK);
	/* Nothing is left that could wake a poller. */
	assert_int_equal(isc_switches_drain_to(s, &sink, follow, true, &err), ISC_OK);
	assert_int_equal(isc_switches_pollfds(s, fds, 64), 0);
	return status;
}

/* ---- perf --------------------------------------------------------------- */

static void switches_equal_the_kernels_own_count(void **state)
{
	target t = start("paced", 20000);
	isc_switches *s = open_or_skip(t.pid, -1, false);
	isc_switches_stats stats;
	seen got = {.threads = 0};
	long told[4];

	(void)state;
	let_go(&t);
	assert_int_equal(drain_to_the_end(s, t.pid, &got, NULL), 0);
	assert_int_equal(read(t.out, told, sizeof(told)), sizeof(told));
	isc_switches_stats_get(s, &stats);
	assert_int_equal(stats.lost, 0);
	assert_int_equal(stats.switches, got.switches);
	assert_int_equal(got.disorder, 0);
	assert_int_equal(got.gaps, 0);
	/* The second thread is watched from its birth; it may be preempted between
	 * reading its count and its end, and its last way out is not recorded. */
	long more = out_of(&got, told[0]) - told[1];
	print_message("# second thread: kernel %ld, recorded %ld\n", told[1], told[1] + more);
	assert_in_range(more + 1, 0, 4);
	/* The main thread also switched while it waited and in its exec; and on a busy machine at its end. */
	more = told[3] - out_of(&got, told[2]);
	assert_in_range(more + 20, 0, 57);
	isc_switches_close(s);
	close(t.out);
}

static void what_is_not_read_in_time_is_counted_exactly(void **state)
{
	target t = start("pingpong", 60000);
	isc_switches *s = open_or_skip(t.pid, -1, false);
	isc_switches_stats stats;
	seen got = {.threads = 0};
	long told[4];

	(void)state;
	let_go(&t);
	/* Nobody reads until it has written everything. */
	assert_int_equal(read(t.out, told, sizeof(told)), sizeof(told));
	assert_int_equal(drain_to_the_end(s, t.pid, &got, NULL), 0);
	isc_switches_stats_get(s, &stats);
	long all = 2 * (told[1] + told[3]);
	print_message("# %ld records by the kernel's count: %lu stored, %lu lost\n", all, stats.switches, stats.lost);
	assert_true(stats.lost > 0);
	/* Less: switches before its exec.  More: those after it read its count, which a busy machine makes many of, and
	 * those of a thread that a sanitizer runs beside.  A record that is counted wrongly is wrong by thousands. */
	assert_in_range((long)(stats.switches + stats.lost) - all + 60, 0, 260);
	isc_switches_close(s);
	close(t.out);
}

static void switches_pause_to_stay_inside_the_budget(void **state)
{
	target t = start("pingpong", 300000);
	isc_switches *s = open_or_skip(t.pid, 1, false);
	isc_switches_stats stats;
	seen got = {.threads = 0};

	(void)state;
	let_go(&t);
	assert_int_equal(drain_to_the_end(s, t.pid, &got, NULL), 0);
	isc_switches_stats_get(s, &stats);
	print_message("# cost %.2f %%, paused %.3f s, %lu gaps, %lu of 1,200,000 records\n", stats.cost_pct,
		      (double)stats.paused_ns / 1e9, got.gaps, got.switches);
	assert_true(got.gaps >= 1);
	assert_int_equal(got.in_gap, 0);
	assert_int_equal(got.disorder, 0);
	assert_true(stats.paused_ns > 0);
	assert_true(got.switches < 600000);
	isc_switches_close(s);
	close(t.out);
}

static void a_running_program_is_watched_with_all_its_threads(void **state)
{
	target t = start("pingpong", 200000);
	isc_switches_sink sink;
	seen got = {.threads = 0};
	isc_error err;

	(void)state;
	let_go(&t);
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)t.pid);
	usleep(20000);
	isc_switches *s = open_or_skip(t.pid, -1, true);
	sink = (isc_switches_sink){&got, see};
	for (int i = 0; i < 200 && got.threads < 2; i++, usleep(5000))
		assert_int_equal(isc_switches_drain_to(s, &sink, NULL, false, &err), ISC_OK);
	assert_int_equal(got.threads, 2);
	kill(t.pid, SIGKILL);
	waitpid(t.pid, NULL, 0);
	isc_switches_close(s);
	close(t.out);
}

/* ---- children ----------------------------------------------------------- */

typedef struct list {
	isc_trace_process *process;
	uint32_t n;
} list;

static isc_status list_process(void *self, const isc_trace_process *p, isc_error *err)
{
	list *l = self;

	(void)err;
	if (p->process < 8192)
		l->process[p->process] = *p;
	if (p->process > l->n)
		l->n = p->process;
	return ISC_OK;
}

static isc_status list_thread(void *self, const isc_trace_thread *t, isc_error *err)
{
	(void)self;
	(void)t;
	(void)err;
	return ISC_OK;
}

static void no_child_is_missing(const char *what, double budget)
{
	target t = start(what, 1000);
	list l = {calloc(8192, sizeof(isc_trace_process)), 0};
	isc_follow_options options = {.sink = {.self = &l, .process = list_process, .thread = list_thread},
				      .root = t.pid};
	isc_switches *s = open_or_skip(t.pid, budget, false);
	isc_follow *follow;
	isc_follow_stats stats;
	seen got = {.threads = 0};
	isc_error err;
	unsigned children = 0, ended = 0;

	assert_int_equal(isc_follow_open(&options, &follow, &err), ISC_OK);
	let_go(&t);
	int status = drain_to_the_end(s, t.pid, &got, follow);
	assert_int_equal(status, 0);
	isc_follow_root_status(follow, status, isc_clock_mono_ns());
	assert_int_equal(isc_follow_poll(follow, isc_clock_mono_ns()), 0);
	for (uint32_t i = 1; i <= l.n; i++) {
		children += l.process[i].parent == 1;
		ended += (l.process[i].flags & ISC_PROCESS_ENDED) != 0;
		assert_int_equal(isc_follow_image_gone(follow, i), true);
	}
	isc_follow_stats_get(follow, &stats);
	print_message("# %s: %u images, %u children of the root, %u ended\n", what, stats.processes, children, ended);
	assert_int_equal(children, 1000);
	assert_int_equal(ended, 1001);
	assert_int_equal(stats.processes, 1001);
	assert_int_equal(stats.alive, 0);
	isc_follow_free(follow);
	isc_switches_close(s);
	free(l.process);
	close(t.out);
}

static void of_a_thousand_forks_none_is_missing(void **state)
{
	(void)state;
	no_child_is_missing("fork", -1);
}

static void of_a_thousand_spawns_none_is_missing_even_while_paused(void **state)
{
	(void)state;
	no_child_is_missing("spawn", 0);
}

/* ---- refusals ------------------------------------------------------------ */

static void deny(unsigned call, unsigned answer)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) != 0)
		_exit(77);
}

/* Probes in a child under a filter, and says what came of it. */
static void probe_under(unsigned answer, char *text, size_t room)
{
	int out[2], status;
	isc_error err = {0};

	assert_int_equal(pipe(out), 0);
	pid_t pid = fork();
	if (pid == 0) {
		deny(SYS_perf_event_open, answer);
		isc_switches_probe(&err);
		dprintf(out[1], "%d|%s|%s", (int)err.status, err.what, err.hint);
		_exit(0);
	}
	close(out[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	ssize_t n = read(out[0], text, room - 1);
	text[n > 0 ? n : 0] = '\0';
	close(out[0]);
	if (WEXITSTATUS(status) == 77)
		skip();
}

static void each_refusal_has_its_own_reason_and_remedy(void **state)
{
	char text[600], status[8];

	(void)state;
	probe_under(EPERM, text, sizeof(text));
	snprintf(status, sizeof(status), "%d|", ISC_ERR_DENIED);
	assert_memory_equal(text, status, strlen(status));
	assert_non_null(strstr(text, "seccomp filter"));
	assert_non_null(strstr(text, "perf_event_open"));
	probe_under(EACCES, text, sizeof(text));
	assert_memory_equal(text, status, strlen(status));
	assert_non_null(strstr(text, "kernel.perf_event_paranoid is"));
	assert_non_null(strstr(text, "sysctl kernel.perf_event_paranoid=2"));
	assert_non_null(strstr(text, "CAP_PERFMON"));
	probe_under(ENOSYS, text, sizeof(text));
	snprintf(status, sizeof(status), "%d|", ISC_ERR_UNSUPPORTED);
	assert_memory_equal(text, status, strlen(status));
}

static void an_ordinary_user_may_watch_at_paranoid_2(void **state)
{
	int out[2], level = 9;
	char text[600] = "";
	isc_error err = {0};
	FILE *file = fopen("/proc/sys/kernel/perf_event_paranoid", "r");

	(void)state;
	if (file == NULL || fscanf(file, "%d", &level) != 1 || level > 2 || geteuid() != 0) {
		if (file != NULL)
			fclose(file);
		print_message("# skipped: paranoid %d, uid %d\n", level, (int)geteuid());
		skip();
	}
	fclose(file);
	assert_int_equal(pipe(out), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (setgid(65534) != 0 || setuid(65534) != 0)
			_exit(1);
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
		dprintf(out[1], "%d|%s", (int)isc_switches_probe(&err), err.what);
		_exit(0);
	}
	close(out[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_true(read(out[0], text, sizeof(text) - 1) > 0);
	close(out[0]);
	assert_string_equal(text, "0|");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(switches_equal_the_kernels_own_count),
		cmocka_unit_test(what_is_not_read_in_time_is_counted_exactly),
		cmocka_unit_test(switches_pause_to_stay_inside_the_budget),
		cmocka_unit_test(a_running_program_is_watched_with_all_its_threads),
		cmocka_unit_test(of_a_thousand_forks_none_is_missing),
		cmocka_unit_test(of_a_thousand_spawns_none_is_missing_even_while_paused),
		cmocka_unit_test(each_refusal_has_its_own_reason_and_remedy),
		cmocka_unit_test(an_ordinary_user_may_watch_at_paranoid_2),
	};

	/* Without exit handlers: a leak checker would start a process of its own. */
	if (argc > 2 && strcmp(argv[1], "pingpong") == 0)
		_exit(target_pingpong(atol(argv[2]), 0));
	if (argc > 2 && strcmp(argv[1], "paced") == 0)
		_exit(target_pingpong(atol(argv[2]), 2000)); /* 8,000 records: half of what a ring holds */
	if (argc > 2)
		_exit(target_children(atol(argv[2]), strcmp(argv[1], "spawn") == 0));
	return cmocka_run_group_tests(tests, NULL, NULL);
}

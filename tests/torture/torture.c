/*
 * torture.c - the cases.  Usage: torture [--long] [CASE...]
 *
 * Prints TAP, one line for each combination tried.  INFERSCOPE_LONG in the
 * environment means --long.
 */
#include "torture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "transport_session.h"

#define STAGE_VARIABLE "ISC_TORTURE_STAGE"

stage *the_stage;
int failures;

static int stage_fd;
static int tests, bad_tests;
static bool thorough;

enum { WITH_THREADS, WITH_CHURN, WITH_TREE };

typedef struct trial {
	int how;
	unsigned kill_writer_us;   /* 0: it ends by itself */
	unsigned kill_recorder_us; /* at most so long between two kills; 0: it lives */
} trial;

typedef struct sums {
	uint64_t produced, stored, lost, nested, deep, noslot, begun, done, slack;
	unsigned exact;
} sums;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int by_key(const void *a, const void *b)
{
	const end_entry *x = a, *y = b;

	if (x->gen != y->gen)
		return x->gen < y->gen ? -1 : 1;
	if (x->serial != y->serial)
		return x->serial < y->serial ? -1 : 1;
	return x->stream < y->stream ? -1 : x->stream > y->stream;
}

/* The last word on every stream: a replaced recorder may have said it once before. */
static end_entry *read_ends(size_t *n)
{
	char path[300];
	struct stat sb;
	end_entry *all;
	size_t kept = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/end", the_stage->task.folder);
	fd = open(path, O_RDONLY);
	*n = 0;
	if (fd < 0 || fstat(fd, &sb) != 0)
		return NULL;
	all = malloc((size_t)sb.st_size + 1);
	if (read(fd, all, (size_t)sb.st_size) != sb.st_size)
		abort();
	close(fd);
	*n = (size_t)sb.st_size / sizeof(*all);
	qsort(all, *n, sizeof(*all), by_key);
	for (size_t i = 0; i < *n; i++) {
		if (kept > 0 && by_key(&all[kept - 1], &all[i]) == 0) {
			if (memcmp(&all[kept - 1], &all[i], sizeof(*all)) != 0)
				FAIL("two last words that differ");
			continue;
		}
		all[kept++] = all[i];
	}
	*n = kept;
	return all;
}

static size_t first_of(const end_entry *e, size_t n, uint64_t gen, uint64_t serial)
{
	end_entry key = {.gen = gen, .serial = serial};
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (by_key(&e[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void check_thread(const end_entry *e, size_t n, uint32_t k, sums *sum)
{
	const oracle *o = &the_stage->oracle[k];
	uint64_t begun = 0, done = 0, produced = 0;

	for (unsigned i = 0; i < ORIGINS; i++) {
		begun += atomic_load(&o->begun[i]);
		done += atomic_load(&o->done[i]);
	}
	sum->begun += begun;
	sum->done += done;
	sum->slack += o->slack;
	/* Threads of a vfork child write into their parent's; without a slot there is no stream to compare. */
	if (o->gen == 0 || the_stage->task.rounds != 0)
		return;
	for (size_t i = first_of(e, n, o->gen, o->serial); i < n && e[i].gen == o->gen && e[i].serial == o->serial; i++)
		produced += e[i].produced;
	if (produced + o->slack < done || produced > begun + o->slack)
		FAIL("thread %u: produced %llu, wrote %llu to %llu", k, (unsigned long long)produced,
		     (unsigned long long)done, (unsigned long long)begun);
	else
		sum->exact++;
}

static void check(bool killed, sums *sum)
{
	uint32_t oracles = atomic_load(&the_stage->oracles);
	size_t n;
	end_entry *e = read_ends(&n);

	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; i < n; i++) {
		if (e[i].produced != e[i].stored + e[i].lost)
			FAIL("produced %llu is not stored %llu + lost %llu", (unsigned long long)e[i].produced,
			     (unsigned long long)e[i].stored, (unsigned long long)e[i].lost);
		sum->produced += e[i].produced;
		sum->stored += e[i].stored;
		sum->lost += e[i].lost;
		sum->nested += e[i].stream == 1 ? e[i].produced : 0;
		sum->deep += e[i].stream == 2 ? e[i].produced : 0;
		sum->noslot += e[i].stream == 3 ? e[i].produced : 0;
	}
	for (uint32_t k = 0; k < oracles; k++)
		check_thread(e, n, k, sum);
	free(e);
	if (the_stage->task.define)
		return;
	if (sum->produced + sum->slack < sum->done || sum->produced > sum->begun + sum->slack)
		FAIL("produced %llu in all, wrote %llu to %llu", (unsigned long long)sum->produced,
		     (unsigned long long)sum->done, (unsigned long long)sum->begun);
	if (!killed && !the_stage->task.jump && !the_stage->task.forks && sum->done != sum->begun)
		FAIL("%llu writes begun, %llu done", (unsigned long long)sum->begun, (unsigned long long)sum->done);
	if (sum->produced == 0 && !killed)
		FAIL("nothing was produced");
}

/* Nothing is left of the dead but pools that they had not finished making. */
static void check_folder(const transport_session *session)
{
	DIR *dir = opendir(session->folder);
	struct dirent *e;

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		uint64_t magic = 0;
		int fd = e->d_name[0] == 'p' ? openat(dirfd(dir), e->d_name, O_RDONLY | O_CLOEXEC) : -1;

		if (fd >= 0 && pread(fd, &magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) && magic != 0)
			FAIL("the pool %s of a dead process was not removed", e->d_name);
		if (fd >= 0)
			close(fd);
	}
	if (dir != NULL)
		closedir(dir);
}

static pid_t start_recorder(bool takeover)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(record(takeover));
	return pid;
}

static pid_t start_producer(int how)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid != 0)
		return pid;
	setpgid(0, 0);
	setenv(ISC_SESSION_VARIABLE, the_stage->task.folder, 1);
	if (isc_rt_attach(the_stage->task.folder) != 0 || !isc_rt_active())
		_exit(7);
	if (how == WITH_THREADS)
		produce_with_threads();
	else if (how == WITH_CHURN)
		produce_with_churn();
	else
		produce_with_tree();
	_exit(0);
}

static int kill_recorders(pid_t *recorder, pid_t writer, unsigned most_us)
{
	uint64_t seed = most_us * 77777ull + 5 + the_stage->task.seed;
	int status = 0;

	for (;;) {
		usleep(200 + (unsigned)(random_next(&seed) % most_us));
		kill(*recorder, SIGKILL);
		waitpid(*recorder, NULL, 0);
		*recorder = start_recorder(true);
		if (waitpid(writer, &status, WNOHANG) == writer)
			return status;
	}
}

/* One session from start to end; what it came to is in *sum. */
static void run(const trial *what, const task *wish, sums *sum)
{
	isc_control control = {.flags = ISC_CONTROL_FOLLOW_ALL,
			       .first_blocks = wish->blocks,
			       .max_blocks = wish->max_blocks,
			       .max_slots = wish->slots};
	transport_session session;
	pid_t recorder = -1, writer;
	int status = 0;

#ifdef __x86_64__
	control.clock_source = ISC_CLOCK_TSC;
#endif
	if (!transport_session_make(&session, &control)) {
		FAIL("cannot make a session folder: %s", strerror(errno));
		return;
	}
	memset(the_stage->oracle, 0, (atomic_load(&the_stage->oracles) + 1) * sizeof(oracle));
	atomic_store(&the_stage->oracles, 0);
	atomic_store(&the_stage->stop_noise, 0);
	atomic_store(&the_stage->stop_recorder, 0);
	the_stage->task = *wish;
	strcpy(the_stage->task.folder, session.folder);

	if (!wish->absent)
		recorder = start_recorder(false);
	writer = start_producer(what->how);
	if (what->kill_writer_us != 0) {
		usleep(what->kill_writer_us);
		kill(writer, SIGKILL);
	}
	if (what->kill_recorder_us != 0)
		status = kill_recorders(&recorder, writer, what->kill_recorder_us);
	else
		waitpid(writer, &status, 0);
	if (what->kill_writer_us == 0 && status != 0)
		FAIL("the writer ended with status %x", (unsigned)status);
	atomic_store(&the_stage->stop_recorder, 1);
	if (wish->absent)
		recorder = start_recorder(false);
	waitpid(recorder, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == RECORD_LEFT) {
		FAIL("a child of the writer did not end");
		kill(-writer, SIGKILL);
	} else if (status != 0)
		FAIL("the recorder ended with status %x", (unsigned)status);
	check(what->kill_writer_us != 0, sum);
	check_folder(&session);
	transport_session_remove(&session);
}

static void tell(const char *name, const sums *sum, double begun)
{
	tests++;
	bad_tests += failures != 0;
	printf("%s %d - D1 %s # produced %llu stored %llu lost %llu (nested %llu, deep %llu, no slot %llu), %u threads "
	       "exact, %.2f s\n",
	       failures ? "not ok" : "ok", tests, name, (unsigned long long)sum->produced,
	       (unsigned long long)sum->stored, (unsigned long long)sum->lost, (unsigned long long)sum->nested,
	       (unsigned long long)sum->deep, (unsigned long long)sum->noslot, sum->exact, now() - begun);
	fflush(stdout);
	failures = 0;
}

static void once(const char *name, const trial *what, const task *wish)
{
	double begun = now();
	sums sum = {0};

	run(what, wish, &sum);
	tell(name, &sum, begun);
}

static task basic(void)
{
	return (task){.threads = 4, .blocks = 64, .max_blocks = 256, .slots = 128, .period_us = 1000, .seed = 1};
}

static void case_rate(void)
{
	static const char *const speeds[] = {"fast", "every 20 ms", "only at the end"};
	uint64_t capacity = 64ull * ISC_BLOCK_SLOTS;
	trial what = {WITH_THREADS, 0, 0};
	char name[100];

	for (unsigned times = 1; times <= 100; times *= 10)
		for (unsigned speed = 0; speed < 3; speed++)
			for (unsigned multi = 0; multi < 2; multi++) {
				task t = basic();

				t.per_thread = capacity * times / 4;
				t.multi = multi;
				t.period_us = speed == 1 ? 20000 : 0;
				t.absent = speed == 2;
				t.seed = times + speed;
				snprintf(name, sizeof(name), "%ux capacity%s, recorder %s", times,
					 multi ? ", events of many sizes" : "", speeds[speed]);
				once(name, &what, &t);
			}
}

static void case_tiny(void)
{
	trial what = {WITH_THREADS, 0, 0};
	task t = basic();

	t.blocks = 4;
	t.threads = 9;
	t.per_thread = thorough ? 4000000 : 400000;
	t.period_us = 0;
	once("9 threads on 4 blocks", &what, &t);
	t.multi = true;
	t.period_us = 300;
	once("9 threads on 4 blocks, events of many sizes", &what, &t);
}

static void case_grow(void)
{
	trial what = {WITH_THREADS, 0, 0};
	task t = basic();

	t.blocks = 8;
	t.max_blocks = 2048;
	t.per_thread = thorough ? 4000000 : 800000;
	t.period_us = 300;
	t.grow = t.multi = true;
	once("the pool grows while it is used", &what, &t);
}

static void case_many(void)
{
	trial what = {WITH_THREADS, 0, 0};
	task t = basic();

	t.threads = 1000;
	t.slots = 1100;
	t.blocks = t.max_blocks = 1024;
	t.per_thread = thorough ? 5000 : 1500;
	t.period_us = 5000;
	once("1000 threads on 1024 blocks", &what, &t);
	t.blocks = t.max_blocks = 200;
	once("1000 threads on 200 blocks", &what, &t);
	t.max_blocks = 8192;
	t.grow = true;
	once("1000 threads on blocks that grow with them", &what, &t);
}

static void case_signals(void)
{
	trial what = {WITH_THREADS, 0, 0};
	task t = basic();

	t.threads = 3;
	t.per_thread = thorough ? 20000000 : 5000000;
	t.noise = t.multi = true;
	t.period_us = 500;
	once("handlers that nest", &what, &t);
	t.jump = true;
	once("handlers that leave by siglongjmp", &what, &t);
	t.jump = false;
	t.forks = true;
	t.per_thread = thorough ? 20000000 : 5000000;
	once("handlers that fork in the middle of a write", &what, &t);
}

static void case_churn(void)
{
	trial what = {WITH_CHURN, 0, 0};
	task t = basic();

	t.threads = 32;
	t.slots = 64;
	t.rounds = thorough ? 1200 : 200;
	t.period_us = 200;
	once("short threads over 64 slots", &what, &t);
}

static void case_tree(void)
{
	trial what = {WITH_TREE, 0, 0};
	task t = basic();

	t.blocks = 32;
	t.slots = 16;
	t.rounds = 2;
	t.period_us = 300;
	once("fork, raw clone, vfork and exec, 3 deep", &what, &t);
}

static void case_kill_writer(void)
{
	double begun = now();
	uint64_t seed = 4242;
	sums sum, all = {0};

	for (unsigned k = 0; k < 100; k++) {
		trial what = {WITH_THREADS, 1000 + (unsigned)(random_next(&seed) % 30000), 0};
		task t = basic();

		t.threads = 3;
		t.per_thread = 1u << 30;
		t.multi = k & 1;
		t.noise = k % 4 == 3;
		t.period_us = k % 3 ? 1000 : 0;
		t.seed = 2 * k + 1; /* odd: the pool is there before the threads */
		run(&what, &t, &sum);
		all.produced += sum.produced;
		all.stored += sum.stored;
		all.lost += sum.lost;
	}
	tell("100 programs killed at any moment", &all, begun);
}

static void case_kill_recorder(void)
{
	double begun = now();
	sums sum, all = {0};

	for (unsigned k = 0; k < (thorough ? 20u : 6u); k++) {
		trial what = {WITH_THREADS, 0, 5000};
		task t = basic();

		t.threads = 3;
		t.per_thread = (thorough ? 20000000 : 5000000) / (ISC_BLOCK_SIZE < 8192 ? 10 : 1);
		t.multi = k & 1;
		t.period_us = k % 3 ? 200 : 0;
		t.seed = k + 1;
		run(&what, &t, &sum);
		all.produced += sum.produced;
		all.stored += sum.stored;
		all.lost += sum.lost;
	}
	tell("recorders killed every 0.2 to 5 ms, and replaced", &all, begun);
}

static void case_define(void)
{
	double begun = now();
	uint64_t seed = 777;
	sums sum = {0};

	atomic_store(&the_stage->defined, 0);
	atomic_store(&the_stage->resolved, 0);
	for (unsigned k = 0; k < (thorough ? 100u : 20u); k++) {
		trial what = {WITH_THREADS, 2000 + (unsigned)(random_next(&seed) % 30000), 0};
		task t = basic();

		t.threads = 3;
		t.define = t.grow = true;
		t.period_us = 100;
		t.seed = k + 1;
		run(&what, &t, &sum);
	}
	printf("# %llu definitions, %llu ids in stored records\n", (unsigned long long)atomic_load(&the_stage->defined),
	       (unsigned long long)atomic_load(&the_stage->resolved));
	if (atomic_load(&the_stage->resolved) == 0)
		FAIL("no id was ever looked up");
	tell("every id is defined before its event, also in killed programs", &sum, begun);
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"rate", case_rate},
	{"tiny", case_tiny},
	{"grow", case_grow},
	{"many", case_many},
	{"signals", case_signals},
	{"churn", case_churn},
	{"tree", case_tree},
	{"kill-writer", case_kill_writer},
	{"kill-recorder", case_kill_recorder},
	{"define", case_define},
};

static bool asked_for(const char *name, int argc, char **argv)
{
	bool any = false;

	for (int i = 1; i < argc; i++) {
		if (argv[i][0] == '-')
			continue;
		any = true;
		if (strcmp(argv[i], name) == 0)
			return true;
	}
	return !any;
}

static bool map_stage(void)
{
	const char *given = getenv(STAGE_VARIABLE);
	char number[16];

	stage_fd = given != NULL ? atoi(given) : memfd_create("stage", 0);
	if (stage_fd < 0 || (given == NULL && ftruncate(stage_fd, sizeof(stage)) != 0))
		return false;
	snprintf(number, sizeof(number), "%d", stage_fd);
	setenv(STAGE_VARIABLE, number, 1);
	the_stage = mmap(NULL, sizeof(stage), PROT_READ | PROT_WRITE, MAP_SHARED, stage_fd, 0);
	return the_stage != MAP_FAILED;
}

int main(int argc, char **argv)
{
	if (!map_stage())
		return 2;
	if (argc == 3 && strcmp(argv[1], "--exec") == 0) {
		produce_after_exec(atoi(argv[2]));
		return 0;
	}
	thorough = getenv("INFERSCOPE_LONG") != NULL;
	for (int i = 1; i < argc; i++)
		thorough |= strcmp(argv[i], "--long") == 0;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (asked_for(cases[i].name, argc, argv))
			cases[i].run();
	printf("1..%d\n", tests);
	return bad_tests != 0;
}

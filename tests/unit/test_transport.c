/* transport: joining a session, what a process leaves in its folder, and who is traced. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "runtime/image.h"
#include "runtime/kernel.h"
#include "transport_process.h"

static void control_path(char *to, size_t room)
{
	snprintf(to, room, "%s/" ISC_CONTROL_NAME, session.folder);
}

/* ---- joining ---------------------------------------------------------- */

static int attach_error(const char *folder)
{
	int status, result[2] = {0};
	int ends[2];
	pid_t child;

	if (pipe(ends) != 0)
		return -1;
	child = fork();
	if (child == 0) {
		result[0] = isc_rt_attach(folder);
		result[1] = errno;
		if (isc_rt_control() != NULL || isc_rt_active())
			result[0] = 99;
		_exit(write(ends[1], result, sizeof(result)) != sizeof(result));
	}
	waitpid(child, &status, 0);
	if (read(ends[0], result, sizeof(result)) != sizeof(result))
		result[1] = -1;
	close(ends[0]);
	close(ends[1]);
	return result[0] == -1 && status == 0 ? result[1] : -1;
}

static void a_session_that_is_not_there_is_not_joined(void **state)
{
	(void)state;
	assert_int_equal(attach_error("/nonexistent/folder"), ENOENT);
	assert_int_equal(attach_error("relative"), ENAMETOOLONG);
	assert_int_equal(attach_error(""), ENAMETOOLONG);
}

static void a_session_of_another_version_is_not_joined(void **state)
{
	(void)state;
	session.control->abi = ISC_RT_ABI + 1;
	assert_int_equal(attach_error(session.folder), EPROTO);
	session.control->abi = ISC_RT_ABI;
	atomic_store(&session.control->magic, 0);
	assert_int_equal(attach_error(session.folder), EPROTO);
}

static void a_control_file_that_others_can_write_is_not_believed(void **state)
{
	char path[300];

	(void)state;
	control_path(path, sizeof(path));
	assert_int_equal(chmod(path, 0602), 0);
	assert_int_equal(attach_error(session.folder), EACCES);
	assert_int_equal(chmod(path, 0620), 0);
	assert_int_equal(attach_error(session.folder), EACCES);
}

static void a_control_file_of_somebody_else_is_not_believed(void **state)
{
	char path[300];

	(void)state;
	if (geteuid() != 0)
		skip();
	control_path(path, sizeof(path));
	assert_int_equal(chown(path, 65534, 65534), 0);
	assert_int_equal(attach_error(session.folder), EACCES);
}

static void a_control_file_must_be_as_large_as_it_says(void **state)
{
	char path[300], other[320];

	(void)state;
	session.control->roster_entries = ISC_ROSTER_ENTRIES + 1;
	assert_int_equal(attach_error(session.folder), EPROTO);
	session.control->roster_entries = UINT32_MAX;
	assert_int_equal(attach_error(session.folder), EPROTO);
	session.control->roster_entries = 0;
	assert_int_equal(attach_error(session.folder), EPROTO);
	control_path(path, sizeof(path));
	snprintf(other, sizeof(other), "%s.other", path);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(attach_error(session.folder), ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(attach_error(session.folder), EPROTO);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600) >= 0, 1);
	assert_int_equal(attach_error(session.folder), EPROTO);
}

/* ---- what a process leaves in the folder ------------------------------ */

static void join_and_do_nothing(void)
{
	join();
	HOLDS(isc_rt_active());
	HOLDS(isc_rt_attach(session.folder) == 0);
	HOLDS(transport_session_files(&session, 'p') == 0);
}

static void no_pool_before_the_first_event(void **state)
{
	(void)state;
	assert_int_equal(in_child(join_and_do_nothing), 0);
	assert_int_equal(transport_session_files(&session, 'p'), 0);
	assert_int_equal(atomic_load(&session.control->roster_tail), 1);
}

static unsigned open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static void write_one(void)
{
	unsigned before = open_descriptors();
	uint64_t mask = 0, now = 1;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &mask, sizeof(mask));
	join();
	errno = 4711;
	event();
	HOLDS(errno == 4711);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &now, sizeof(now));
	HOLDS(mask == now);
	HOLDS(open_descriptors() == before);
}

static void the_first_event_keeps_errno_mask_and_descriptors(void **state)
{
	(void)state;
	assert_int_equal(in_child(write_one), 0);
	assert_int_equal(transport_sink_drain(sink, session.folder, NULL), ISC_OK);
	assert_int_equal(sink->pools, 1);
	assert_int_equal(sink->events, 1);
	assert_int_equal(sink->event[0].id, 7);
	assert_int_equal(sink->produced, 1);
	assert_int_equal(transport_session_files(&session, 'p') + transport_session_files(&session, 'd'), 0);
}

/* ---- a handler at every step of the first event --------------------------- */

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define STEPS_MOST 20000
#define STEP_FLAG 0x100ull /* of the processor: a trap after every instruction */

static volatile long steps_left;

/* At the last step a handler writes an event; until then the program goes on by one instruction. */
static void on_step(int number, siginfo_t *info, void *context)
{
	ucontext_t *c = context;

	(void)number;
	(void)info;
	if (steps_left-- > 0)
		return;
	c->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)STEP_FLAG;
	event();
}

/* The way to the guard is gone once before: what is done for the first call of a function takes long. */
static void write_in_steps(void)
{
	struct sigaction step = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
	isc_guard guard;

	isc_guard_enter(&guard);
	isc_guard_leave(&guard);
	sigfillset(&step.sa_mask);
	HOLDS(sigaction(SIGTRAP, &step, NULL) == 0);
	join();
	__asm__ volatile("pushfq; orq %0, (%%rsp); popfq" ::"i"(STEP_FLAG) : "memory", "cc");
	event();
	__asm__ volatile("pushfq; andq %0, (%%rsp); popfq" ::"i"(~STEP_FLAG) : "memory", "cc");
	HOLDS(steps_left < 0);
	HOLDS(atomic_load(&isc_image_self.pool->noslot) == 0);
	HOLDS(atomic_load(&isc_image_self.pool->serial) == 1);
}

static void a_handler_before_the_pool_is_made_loses_nothing(void **state)
{
	long steps;
	int status = 0;

	(void)state;
	for (steps = 0; steps < STEPS_MOST; steps++) {
		steps_left = steps;
		status = in_child(write_in_steps);
		/* Behind the guard there are no handlers: the kernel does not let a trap wait. */
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGTRAP)
			break;
		assert_int_equal(status, 0);
		transport_session_remove(&session);
		make_session(NULL);
	}
	assert_in_range(steps, 20, STEPS_MOST - 1);
}
#else
static void a_handler_before_the_pool_is_made_loses_nothing(void **state)
{
	(void)state;
	skip();
}
#endif

static void write_under_a_small_file_limit(void)
{
	struct rlimit limit = {4096, 4096};

	join();
	HOLDS(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	event(); /* SIGXFSZ would end us here */
	HOLDS(!isc_rt_active());
	event();
}

static void a_file_size_limit_leaves_the_program_alone(void **state)
{
	(void)state;
	assert_int_equal(in_child(write_under_a_small_file_limit), 0);
	assert_int_equal(atomic_load(&session.control->attach_failed), 1);
	assert_int_equal(transport_session_files(&session, 'p') + transport_session_files(&session, 'd'), 0);
}

static void write_where_the_folder_is_gone(void)
{
	join();
	transport_folder_remove(session.folder);
	event();
	HOLDS(!isc_rt_active());
	HOLDS(isc_rt_define(ISC_DEF_STRING, "x", 1) == 0);
}

static void a_process_that_cannot_open_its_pool_is_counted(void **state)
{
	(void)state;
	assert_int_equal(in_child(write_where_the_folder_is_gone), 0);
	assert_int_equal(atomic_load(&session.control->attach_failed), 1);
}

/* Fills a file system of 1 MiB until there is room for less than a pool asks. */
static void write_on_a_full_disk(void)
{
	isc_control wish = usual();
	transport_session small;
	char path[320];
	int fd;

	wish.first_blocks = 128;
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("tmpfs", session.folder, "tmpfs", 0, "size=2m,mode=0700") != 0)
		_exit(77);
	setenv("ISC_TEST_FOLDER", session.folder, 1);
	HOLDS(transport_session_make(&small, &wish) == false || small.control != NULL);
	snprintf(path, sizeof(path), "%s/fill", session.folder);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	HOLDS(posix_fallocate(fd, 0, 500 << 10) == 0);
	HOLDS(isc_rt_attach(small.folder) == 0);
	for (unsigned i = 0; i < 100000; i++)
		event(); /* SIGBUS would end us here */
	HOLDS(isc_rt_active());
	HOLDS(atomic_load(&isc_image_self.pool->nblocks) >= 4);
	HOLDS(atomic_load(&isc_image_self.pool->nblocks) < 128);
}

static void a_pool_shrinks_to_what_fits(void **state)
{
	int status = in_child(write_on_a_full_disk);

	(void)state;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip();
	assert_int_equal(status, 0);
}

/* ---- who is traced ---------------------------------------------------- */

static uint16_t roster_birth(unsigned i)
{
	return session.control->roster[i].birth;
}

static void fork_three_ways(void)
{
	pid_t child;

	join();
	event();
	child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child == 0) {
		event();
		_exit(0);
	}
	waitpid(child, NULL, 0);
	child = vfork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
}

static void every_image_is_in_the_roster(void **state)
{
	/* The image, the fork, the clone at its first event; the vfork child is its parent. */
	unsigned images = 3;

	(void)state;
#ifdef __SANITIZE_THREAD__
	images = 4; /* which makes a fork of every vfork */
#endif
	assert_int_equal(in_child(fork_three_ways), 0);
	assert_int_equal(atomic_load(&session.control->roster_tail), images);
	assert_int_equal(roster_birth(0), ISC_BIRTH_IMAGE);
	assert_int_equal(roster_birth(1), ISC_BIRTH_FORK);
	assert_int_equal(roster_birth(2), ISC_BIRTH_FORK);
	assert_int_equal(session.control->roster[1].ppid, session.control->roster[0].pid);
	assert_int_equal(session.control->roster[2].ppid, session.control->roster[0].pid);
	for (unsigned i = 0; i < images; i++) {
		assert_int_equal(atomic_load(&session.control->roster[i].seq), i + 1);
		assert_int_equal(session.control->roster[i].traced, 1);
	}
	assert_int_equal(transport_session_files(&session, 'p'), 2);
}

static bool fork_child_is_active(void)
{
	int status;
	pid_t child = fork();

	if (child == 0)
		_exit(isc_rt_active());
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

static void be_the_root_alone(void)
{
	session.control->flags = 0;
	session.control->root_pid = (uint32_t)getpid();
	join();
	HOLDS(isc_rt_active());
	HOLDS(!fork_child_is_active());
}

static void be_no_python(void)
{
	session.control->flags = ISC_CONTROL_FOLLOW_PYTHON;
	session.control->root_pid = 0;
	join();
	HOLDS(!isc_rt_active());
	event();
	HOLDS(isc_rt_name("x", 1) == 0);
	HOLDS(transport_session_files(&session, 'p') == 0);
	isc_rt_is_python();
	HOLDS(isc_rt_active());
	HOLDS(fork_child_is_active());
}

static void be_a_root_that_is_no_python(void)
{
	session.control->flags = ISC_CONTROL_FOLLOW_PYTHON;
	session.control->root_pid = (uint32_t)getpid();
	join();
	HOLDS(isc_rt_active());
	HOLDS(!fork_child_is_active());
}

static void follow_none_traces_the_root_alone(void **state)
{
	(void)state;
	assert_int_equal(in_child(be_the_root_alone), 0);
}

static void follow_python_traces_python_and_its_forks(void **state)
{
	(void)state;
	assert_int_equal(in_child(be_no_python), 0);
	assert_int_equal(in_child(be_a_root_that_is_no_python), 0);
}

static void wait_for_the_start(void)
{
	atomic_store(&session.control->phase, ISC_PHASE_WAITING);
	join();
	HOLDS(!isc_rt_active());
	event();
	HOLDS(transport_session_files(&session, 'p') == 0);
	atomic_store(&session.control->phase, ISC_PHASE_COLLECTING);
	HOLDS(isc_rt_active());
	event();
	atomic_store(&session.control->phase, ISC_PHASE_DONE);
	HOLDS(!isc_rt_active());
}

static void events_are_wanted_between_start_and_end(void **state)
{
	(void)state;
	assert_int_equal(in_child(wait_for_the_start), 0);
	transport_sink_drain(sink, session.folder, NULL);
	assert_int_equal(sink->events, 1);
}

/* ---- more threads than slots ------------------------------------------- */

static void *write_without_a_slot(void *unused)
{
	isc_pool *pool = isc_image_self.pool;
	isc_slot *slot = ISC_POOL_SLOTS(pool);

	event();
	HOLDS(atomic_load(&pool->noslot) == 1);
	atomic_store(&slot->phase, ISC_SLOT_FREE); /* as the recorder does for a dead thread */
	for (int i = 0; i < 63; i++)
		event();
	HOLDS(atomic_load(&pool->noslot) == 64);
	event();
	HOLDS(atomic_load(&pool->noslot) == 64);
	HOLDS(atomic_load(&slot->phase) == ISC_SLOT_LIVE);
	return unused;
}

static void outnumber_the_slots(void)
{
	pthread_t thread;

	session.control->max_slots = 1;
	join();
	event();
	HOLDS(pthread_create(&thread, NULL, write_without_a_slot, NULL) == 0);
	pthread_join(thread, NULL);
}

static void a_slot_is_not_looked_for_at_every_event(void **state)
{
	(void)state;
	assert_int_equal(in_child(outnumber_the_slots), 0);
}

/* Ten children of one program on two CPUs do read the same ticks now and then: their events are their own. */
static void images_that_begin_at_one_tick_are_told_apart(void **state)
{
	const uint64_t ticks[] = {0, 1, 5000000000001ull, UINT64_MAX - 4096};

	(void)state;
	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++) {
		for (uint32_t pid = 1; pid < 4194304; pid = pid * 2 + 1) {
			uint64_t gen = isc_image_gen(ticks[i], pid);

			assert_true(gen != 0 && gen >> ISC_IMAGE_GEN_BITS == ticks[i] >> ISC_IMAGE_GEN_BITS);
			for (uint32_t next = 1; next < 100; next++)
				assert_true(gen != isc_image_gen(ticks[i], pid + next));
			/* And later ones come later. */
			assert_true(gen < isc_image_gen(ticks[i] + 1000, pid + 1));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		JOINED(a_session_that_is_not_there_is_not_joined),
		JOINED(a_session_of_another_version_is_not_joined),
		JOINED(a_control_file_that_others_can_write_is_not_believed),
		JOINED(a_control_file_of_somebody_else_is_not_believed),
		JOINED(a_control_file_must_be_as_large_as_it_says),
		JOINED(no_pool_before_the_first_event),
		JOINED(the_first_event_keeps_errno_mask_and_descriptors),
		JOINED(a_handler_before_the_pool_is_made_loses_nothing),
		JOINED(a_file_size_limit_leaves_the_program_alone),
		JOINED(a_process_that_cannot_open_its_pool_is_counted),
		JOINED(a_pool_shrinks_to_what_fits),
		JOINED(every_image_is_in_the_roster),
		cmocka_unit_test(images_that_begin_at_one_tick_are_told_apart),
		JOINED(follow_none_traces_the_root_alone),
		JOINED(follow_python_traces_python_and_its_forks),
		JOINED(events_are_wanted_between_start_and_end),
		JOINED(a_slot_is_not_looked_for_at_every_event),
	};

	return cmocka_run_group_tests_name("transport", tests, NULL, NULL);
}

/* producer.c - numbered events from threads, handlers and children. */
#include "torture.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "runtime/runtime.h"
#include "runtime/write.h"

#define THREADS_MAX 2048u

static __thread oracle *volatile me;
static __thread oracle own; /* where handlers fork: a child must not count for its parent */
static __thread oracle *shown;
static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t may_jump;
static __thread volatile sig_atomic_t child_events; /* in a child of a handler: how many more */
static __thread volatile unsigned handled;

static void emit(unsigned origin, unsigned n)
{
	oracle *o = me;
	uint64_t number = atomic_fetch_add(&o->begun[origin], 1);
	isc_record r[8];

	if (n == 1) {
		isc_write1(number, ISC_RECORD_WORD(payload(number, 0), origin, 0));
	} else {
		for (unsigned k = 0; k < n; k++)
			r[k] = (isc_record){number, payload(number, k), (uint8_t)origin, (uint8_t)(k ? 0 : n),
					    (uint16_t)k};
		isc_write(r, n);
	}
	atomic_fetch_add(&o->done[origin], 1);
}

static void bind_oracle(void)
{
	uint32_t k = atomic_fetch_add(&the_stage->oracles, 1);

	if (k >= ORACLES)
		abort();
	me = shown = &the_stage->oracle[k];
	if (the_stage->task.forks) {
		memset(&own, 0, sizeof(own));
		me = &own;
	}
}

static void note_serial(void)
{
	const isc_producer *t = isc_producer_self;

	me->gen = 0;
	if (t != NULL && t->gen == atomic_load(&isc_wiped_page->gen)) {
		me->serial = t->slots[t->slot].serial;
		me->gen = t->gen;
	}
	if (me == &own) {
		/* Signals go on to come: what a handler wrote after the copy would count as produced alone. */
		me = NULL;
		memcpy(shown, &own, sizeof(own));
	}
}

/* The child writes, and then returns into whatever the signal interrupted. */
static void fork_in_handler(bool raw)
{
	sigset_t both, before;
	pid_t child;

	/* Not inside libc's fork: a child made there, by a raw clone in the
	 * other handler, would wait for ever for a lock of its parent's. */
	sigemptyset(&both);
	sigaddset(&both, SIGUSR1);
	sigaddset(&both, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &both, &before);
	child = raw ? (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : fork();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (child != 0)
		return;
	bind_oracle();
	/* The interrupted write goes to the child's own pool if it had not
	 * begun, or nowhere; it may count as begun, done, both or neither. */
	own.slack = 2 * ORIGINS;
	emit(0, 1);
	emit(0, 3);
	child_events = 300;
}

static void on_signal(int sig)
{
	unsigned origin = sig == SIGUSR2 ? 2 : 1;
	int error = errno;

	if (me != NULL && child_events == 0) {
		emit(origin, 1);
		emit(origin, origin + 1);
		handled++;
		if (the_stage->task.forks && handled % 64 == 0)
			fork_in_handler(handled % 128 == 0);
	}
	errno = error;
	if (the_stage->task.jump && may_jump && handled % 16 == 0)
		siglongjmp(back, 1);
}

static void end_child(void)
{
	for (unsigned k = 0; k < 300; k++)
		emit(0, k % 3 + 1);
	note_serial();
	_exit(0);
}

static void *define_and_write(void *arg)
{
	static _Atomic uint32_t shared;
	uint64_t seed = (uintptr_t)arg * 7919 + 1;
	uint32_t id = 0;
	char text[300];

	memset(text, 'x', sizeof(text));
	for (;;) {
		uint64_t r = random_next(&seed);

		if (r % 16 == 0) {
			memcpy(text, &r, sizeof(r));
			id = isc_rt_define(ISC_DEF_STRING, text, 8 + (r >> 20) % 63);
			if (id != 0)
				atomic_store_explicit(&shared, id, memory_order_release);
		} else if (r % 16 == 1) {
			id = atomic_load_explicit(&shared, memory_order_acquire);
		}
		isc_write1(1, ISC_RECORD_WORD(id, 0, 0));
	}
	return NULL;
}

static void *thread_main(void *arg)
{
	const task *t = &the_stage->task;
	volatile uint64_t start_seed = (uintptr_t)arg * 0x9e3779b97f4a7c15ull | 1;
	uint64_t seed;

	bind_oracle();
	if (t->jump) {
		sigsetjmp(back, 1);
		may_jump = 1;
	}
	seed = start_seed;
	while (atomic_load_explicit(&me->begun[0], memory_order_relaxed) < t->per_thread) {
		emit(0, t->multi && random_next(&seed) % 4 == 0 ? 1 + random_next(&seed) % 7 : 1);
		if (child_events != 0)
			end_child();
	}
	may_jump = 0;
	note_serial();
	return NULL;
}

static void *noise_main(void *arg)
{
	pthread_t *threads = arg;
	uint64_t seed = 88172645463325252ull;

	while (!atomic_load(&the_stage->stop_noise)) {
		for (unsigned k = 0; k < the_stage->task.threads; k++)
			pthread_kill(threads[k], random_next(&seed) % 3 ? SIGUSR1 : SIGUSR2);
		if (random_next(&seed) % 8 == 0)
			usleep(1);
	}
	return NULL;
}

static void wait_for_quiet(uint32_t first)
{
	for (;;) {
		uint32_t n = atomic_load(&the_stage->oracles);
		unsigned busy = 0;

		for (uint32_t k = first; k < n && k < first + the_stage->task.threads; k++)
			busy += atomic_load(&the_stage->oracle[k].begun[0]) < the_stage->task.per_thread;
		if (busy == 0 && n >= first + the_stage->task.threads)
			return;
		usleep(500);
	}
}

static void start(pthread_t *thread, void *(*run)(void *), void *arg)
{
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	if (pthread_create(thread, &attr, run, arg) != 0)
		abort();
	pthread_attr_destroy(&attr);
}

/* Events that come while another thread makes the pool have no slot: counted,
 * but not numbered, and unknown to all if the process is killed before the pool
 * is there.  Most cases number from the start. */
static void open_pool(void)
{
	if (!isc_image_open())
		_exit(6);
}

void produce_with_threads(void)
{
	static pthread_t threads[THREADS_MAX];
	const task *t = &the_stage->task;
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	uint32_t first = atomic_load(&the_stage->oracles);
	pthread_t noise;

	if (!t->define && t->seed % 8 != 0)
		open_pool();
	if (t->noise) {
		sigaction(SIGUSR1, &action, NULL);
		sigaction(SIGUSR2, &action, NULL);
		signal(SIGCHLD, SIG_IGN);
	}
	for (unsigned k = 0; k < t->threads; k++)
		start(&threads[k], t->define ? define_and_write : thread_main,
		      (void *)(uintptr_t)(t->seed * 1000 + k + 1));
	if (t->noise) {
		start(&noise, noise_main, threads);
		/* The threads must still exist when the last signal is sent. */
		if (!t->forks)
			wait_for_quiet(first);
		else
			usleep(400000);
		atomic_store(&the_stage->stop_noise, 1);
		pthread_join(noise, NULL);
	}
	for (unsigned k = 0; k < t->threads; k++)
		pthread_join(threads[k], NULL);
}

/* Many short threads over few slots. */
void produce_with_churn(void)
{
	for (unsigned round = 0; round < the_stage->task.rounds; round++) {
		the_stage->task.seed = round;
		the_stage->task.per_thread = 1 + (round * 7919u) % 1500;
		produce_with_threads();
	}
}

static void exec_myself(int depth)
{
	char level[8];

	snprintf(level, sizeof(level), "%d", depth);
	execl("/proc/self/exe", "torture", "--exec", level, (char *)NULL);
	_exit(9);
}

static void wait_for(pid_t child)
{
	int status = 0;

	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (status != 0)
		_exit(8);
}

static void *short_thread(void *arg)
{
	(void)arg;
	bind_oracle();
	for (unsigned j = 0; j < 900; j++)
		emit(0, 1 + j % 2);
	note_serial();
	return NULL;
}

/* Its first event comes from a vfork child, whose id is not the thread's. */
static void *borrowed_thread(void *arg)
{
	struct timespec pause = {0, 200000};
	volatile pid_t child;

	bind_oracle();
	child = vfork();
	if (child == 0) {
		emit(0, 1);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	for (unsigned j = 0; j < 100; j++) {
		for (unsigned k = 0; k < 10; k++)
			emit(0, 1);
		nanosleep(&pause, NULL);
	}
	note_serial();
	return arg;
}

static void tree(int depth);

static void branch(int depth)
{
	oracle *mine;
	pthread_t two[2];

	bind_oracle();
	for (unsigned j = 0; j < 3000; j++)
		emit(0, j % 5 ? 1 : 3);
	note_serial();
	mine = me;
	if (depth > 0)
		tree(depth - 1);
	for (unsigned k = 0; k < 2; k++)
		start(&two[k], k == 0 ? short_thread : borrowed_thread, NULL);
	for (unsigned k = 0; k < 2; k++)
		pthread_join(two[k], NULL);
	me = mine;
	for (unsigned j = 0; j < 10; j++)
		emit(0, 1);
	_exit(0);
}

static void tree(int depth)
{
	/* volatile: a vfork child shares this frame. */
	for (volatile int how = 0; how < 5; how++) {
		volatile pid_t child = -1;

		switch (how) {
		case 0:
			child = fork();
			if (child == 0)
				branch(depth);
			break;
		case 1: /* no fork hook sees this one */
			child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
			if (child == 0)
				branch(depth);
			break;
		case 2: /* writes into its parent's stream */
			emit(0, 1);
			child = vfork();
			if (child == 0) {
				emit(0, 1);
				emit(0, 2);
				_exit(0);
			}
			break;
		case 3: /* events, then another image */
			child = fork();
			if (child == 0) {
				bind_oracle();
				for (unsigned j = 0; j < 700; j++)
					emit(0, 1);
				note_serial();
				exec_myself(depth);
			}
			break;
		default:
			child = vfork();
			if (child == 0) {
				emit(0, 1);
				exec_myself(depth);
			}
			break;
		}
		for (unsigned j = 0; j < 100; j++)
			emit(0, 1);
		if (child > 0)
			wait_for(child);
	}
}

void produce_with_tree(void)
{
	bind_oracle();
	emit(0, 1);
	note_serial();
	tree((int)the_stage->task.rounds);
}

void produce_after_exec(int depth)
{
	bind_oracle();
	for (unsigned j = 0; j < 600; j++)
		emit(0, 1 + j % 2);
	note_serial();
	if (depth > 0)
		exec_myself(depth - 1);
}

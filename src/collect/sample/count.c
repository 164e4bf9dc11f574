/*
 * count.c - what the kernel and the processor count, from sample to sample.
 *
 * Two events of perf as one group, read by one system call.  The recorder has tried them and
 * says which they are; a thread that gets none has no counts.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/resource.h>

#include "collect/sample/sample.h"
#include "runtime/kernel.h"
#include "runtime/runtime.h"

#define DESCRIPTOR 200 /* out of the way of those that programs count on */
#define UNASKED_MOST 8 /* samples of a thread that meets no faults */

/* By the place of the thread; descriptors + 1, 0: none. */
static struct counts {
	_Atomic int first, second;
	uint64_t first_id, second_id;
	isc_sample_counts last;
	bool known; /* the next four */
	uint64_t faults, kernel_us;
	uint64_t waits;	   /* times that the thread gave its CPU away */
	uint64_t in_calls; /* ticks in system calls */
} counts[ISC_SAMPLED_MAX];

static _Atomic uint64_t most_kib; /* that is told of */
static _Atomic uint32_t most_pid; /* of this process */

/* Of one thread the most memory that the process ever had is told without a look at all of them. */
static void read_usage(struct rusage *u)
{
	if (syscall(SYS_getrusage, RUSAGE_THREAD, u) != 0)
		*u = (struct rusage){0};
}

static int open_one(const isc_control *control, int which, uint32_t tid, int group, uint64_t *id)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = control->count_type,
				       .config = control->count_config[which],
				       .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
						      PERF_FORMAT_TOTAL_TIME_RUNNING,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, group, (unsigned long)PERF_FLAG_FD_CLOEXEC), high;

	if (fd < 0)
		return -1;
	*id = isc_sample_perf_id(fd);
	high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, DESCRIPTOR);
	if (high < 0)
		return fd;
	isc_kernel_close(fd);
	return high;
}

void isc_sample_count_begin(const isc_sampled *t, uint32_t tid)
{
	const isc_control *control = isc_rt_control();
	struct counts *c = &counts[t->index];
	int error = errno, first, second;
	uint32_t pid = isc_kernel_pid();
	struct rusage u;

	/* What it had before nobody's stack has taken; so in a fork child. */
	if (atomic_exchange(&most_pid, pid) != pid) {
		read_usage(&u);
		atomic_store(&most_kib, (uint64_t)u.ru_maxrss);
	}
	c->known = false; /* it may be another thread's, and then it is not ours to ask */
	if (control == NULL || (control->flags & ISC_CONTROL_COUNTS) == 0)
		return;
	isc_sample_count_end(t);
	first = open_one(control, 0, tid, -1, &c->first_id);
	second = first >= 0 ? open_one(control, 1, tid, first, &c->second_id) : -1;
	if (second < 0 && first >= 0)
		isc_kernel_close(first);
	if (second >= 0) {
		c->last = (isc_sample_counts){0};
		atomic_store(&c->second, second + 1);
		atomic_store(&c->first, first + 1);
	}
	errno = error;
}

void isc_sample_count_end(const isc_sampled *t)
{
	struct counts *c = &counts[t->index];
	int first = atomic_exchange(&c->first, 0), second = atomic_exchange(&c->second, 0);

	/* Numbers may be the program's by now. */
	if (first > 0 && isc_sample_perf_id(first - 1) == c->first_id)
		isc_kernel_close(first - 1);
	if (second > 0 && isc_sample_perf_id(second - 1) == c->second_id)
		isc_kernel_close(second - 1);
}

/* Where more is counted than the processor has counters for, each has its turn. */
static uint64_t since(uint64_t now, uint64_t *last, uint64_t enabled, uint64_t running)
{
	uint64_t all =
		running < enabled && running > 0 ? (uint64_t)((double)now * (double)enabled / (double)running) : now;
	uint64_t more = all > *last ? all - *last : 0;

	*last += more;
	return more;
}

static bool read_group(struct counts *c, isc_sample_counts *out)
{
	struct {
		uint64_t events, enabled, running, instructions, cycles;
	} group;
	int first = atomic_load_explicit(&c->first, memory_order_relaxed);

	if (first == 0)
		return false;
	/* The program may have closed it, and opened something else there, from which nothing may be read. */
	if (isc_sample_perf_id(first - 1) != c->first_id ||
	    syscall(SYS_read, first - 1, &group, sizeof(group)) != (long)sizeof(group) || group.events != 2) {
		atomic_store(&c->first, 0);
		atomic_store(&c->second, 0);
		return false;
	}
	out->instructions = since(group.instructions, &c->last.instructions, group.enabled, group.running);
	out->cycles = since(group.cycles, &c->last.cycles, group.enabled, group.running);
	return true;
}

static uint64_t grown(uint64_t now)
{
	uint64_t last = atomic_load_explicit(&most_kib, memory_order_relaxed);

	/* Who moves it on has it: threads together tell it once. */
	while (now > last) {
		if (atomic_compare_exchange_weak_explicit(&most_kib, &last, now, memory_order_relaxed,
							  memory_order_relaxed))
			return (now - last) << 10;
	}
	return 0;
}

/* A timer meets system calls as often as they take time, and the sample says so.  perf meets none: of a thread that has
 * not waited meanwhile the time in them is taken off. */
static uint64_t kernel_without_calls(const isc_sampled *t, const struct counts *c, const struct counts *now)
{
	uint64_t kernel_us = now->kernel_us > c->kernel_us ? now->kernel_us - c->kernel_us : 0, calls_us;

	if (t->perf < 0 || now->waits != c->waits || isc_image_self.ticks_per_us == 0)
		return kernel_us;
	calls_us = (now->in_calls - c->in_calls) / isc_image_self.ticks_per_us;
	return kernel_us > calls_us ? kernel_us - calls_us : 0;
}

/* Only of samples with faults: others have no use for it. */
static void take_faults(const isc_sampled *t, struct counts *c, const struct rusage *u, isc_sample_counts *out)
{
	const isc_producer *p = isc_producer_self;
	struct counts now = {.faults = (uint64_t)u->ru_minflt,
			     .kernel_us = (uint64_t)u->ru_stime.tv_sec * 1000000u + (uint64_t)u->ru_stime.tv_usec,
			     .waits = (uint64_t)u->ru_nvcsw,
			     .in_calls = p != NULL ? p->in_calls : 0};

	if (c->known && now.faults > c->faults) {
		uint64_t kernel_us = kernel_without_calls(t, c, &now);

		out->faults = now.faults - c->faults < UINT32_MAX ? (uint32_t)(now.faults - c->faults) : UINT32_MAX;
		out->kernel_us = kernel_us < UINT32_MAX ? (uint32_t)kernel_us : 0;
	}
	c->known = true;
	c->faults = now.faults;
	c->kernel_us = now.kernel_us;
	c->waits = now.waits;
	c->in_calls = now.in_calls;
}

/* A question to the kernel is a tenth of a sample.  A thread that met faults lately is asked for at each one, so
 * that each tells its own. */
static bool may_wait(isc_sampled *t, bool sure)
{
	if (sure || atomic_load_explicit(&counts[t->index].first, memory_order_relaxed) != 0 ||
	    ++t->unasked >= UNASKED_MOST) {
		t->unasked = 0;
		return false;
	}
	return true;
}

bool isc_sample_count(isc_sampled *t, bool sure, isc_sample_counts *out)
{
	struct rusage u;

	if (may_wait(t, sure))
		return false;
	read_usage(&u);
	*out = (isc_sample_counts){
		.instructions = ISC_COUNT_UNKNOWN, .cycles = ISC_COUNT_UNKNOWN, .grown = grown((uint64_t)u.ru_maxrss)};
	take_faults(t, &counts[t->index], &u, out);
	if (out->faults != 0 || out->grown != 0)
		t->unasked = UNASKED_MOST;
	return read_group(&counts[t->index], out) || out->grown != 0 || out->faults != 0;
}

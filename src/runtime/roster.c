/*
 * roster.c - every image says that it exists, in one line of the control file.
 */
#include <stddef.h>
#include <string.h>

#include "runtime/image.h"
#include "runtime/kernel.h"
#include "runtime/write.h"

void isc_roster_add(isc_control *control, uint16_t birth, bool traced)
{
	const isc_image *me = &isc_image_self;
	uint64_t n = atomic_fetch_add_explicit(&control->roster_tail, 1, memory_order_acq_rel);
	isc_roster_entry *e = &control->roster[n % control->roster_entries];

	/* A reader that is a whole round behind sees the number change. */
	atomic_store_explicit(&e->seq, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	e->ticks = isc_ticks();
	e->pid = me->pid;
	e->ppid = (uint32_t)syscall(SYS_getppid);
	e->birth = birth;
	e->argv_len = me->argv_len;
	e->argv_cut = me->argv_cut;
	e->traced = traced;
	memcpy(e->argv, me->argv, sizeof(e->argv));
	atomic_store_explicit(&e->seq, n + 1, memory_order_release);
}

static void argv_from_kernel(void)
{
	isc_image *me = &isc_image_self;
	char beyond;
	long n;
	int fd = isc_kernel_open("/proc/self/cmdline", O_RDONLY, 0);

	if (fd < 0)
		return;
	n = syscall(SYS_read, fd, me->argv, sizeof(me->argv));
	me->argv_len = (uint16_t)(n > 0 ? n : 0);
	me->argv_cut = n == (long)sizeof(me->argv) && syscall(SYS_read, fd, &beyond, 1) == 1;
	isc_kernel_close(fd);
}

void isc_roster_argv(char *const *argv)
{
	isc_image *me = &isc_image_self;
	size_t at = 0;

	if (argv == NULL) {
		argv_from_kernel();
		return;
	}
	for (int i = 0; argv[i] != NULL; i++)
		for (const char *c = argv[i];; c++) {
			if (at == sizeof(me->argv)) {
				me->argv_cut = 1;
				goto out;
			}
			me->argv[at++] = *c;
			if (*c == '\0')
				break;
		}
out:
	me->argv_len = (uint16_t)at;
}

/*
 * privileges.c - hook on a program giving up rights.
 *
 * Under a filter of system calls one of ours may be the program's end.  A filter
 * needs PR_SET_NO_NEW_PRIVS before it, and strict mode is set by prctl() itself: from
 * then on nothing here makes a system call of its own accord.
 */
#include "collect/hooks/hook.h"

#include <stdarg.h>
#include <sys/prctl.h>

#include "collect/memory/memory.h"
#include "collect/sample/sample.h"
#include "runtime/image.h"
#include "runtime/kernel.h"

static void confined(void)
{
	int error = errno;

	/* A vfork child is about to start another program, and has our memory. */
	if (isc_kernel_pid() == isc_image_self.pid) {
		isc_image_self.flags &= ~ISC_CONTROL_WAITS;
		isc_sample_give_way();
		isc_sample_confine();
		isc_memory_give_way();
	}
	errno = error;
}

ISC_HOOK int prctl(int option, ...)
{
	unsigned long a, b, c, d;
	va_list rest;

	/* All four, whatever the option: the kernel takes as many. */
	va_start(rest, option);
	a = va_arg(rest, unsigned long);
	b = va_arg(rest, unsigned long);
	c = va_arg(rest, unsigned long);
	d = va_arg(rest, unsigned long);
	va_end(rest);
	if (option == PR_SET_SECCOMP || (option == PR_SET_NO_NEW_PRIVS && a == 1))
		confined();
	return ISC_REAL(prctl)(option, a, b, c, d);
}

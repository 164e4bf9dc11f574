/*
 * flush.c - asking the recorder for everything up to now.
 *
 * Two counters in the control file: this side counts what it asks, the recorder
 * stores what it has answered.  A byte in a FIFO ends the recorder's sleep; when
 * that cannot be, it wakes up by itself some milliseconds later.
 */
#include <linux/futex.h>
#include <string.h>
#include <time.h>

#include "runtime/image.h"
#include "runtime/kernel.h"
#include "runtime/runtime.h"

static void ring(void)
{
	static const char name[] = "/" ISC_BELL_NAME;
	char path[ISC_FOLDER_MAX + sizeof(name)];
	size_t n = strlen(isc_image_self.folder);
	int fd;

	memcpy(path, isc_image_self.folder, n);
	memcpy(path + n, name, sizeof(name));
	/* For reading too: with a reader of its own a write raises no signal. */
	fd = isc_kernel_open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW, 0);
	if (fd < 0)
		return;
	syscall(SYS_write, fd, "", 1);
	isc_kernel_close(fd);
}

void isc_rt_window(bool open)
{
	isc_control *control = atomic_load_explicit(&isc_image_self.control, memory_order_acquire);

	if (control == NULL)
		return;
	if (open)
		atomic_fetch_add(&control->windows, 1);
	else
		atomic_fetch_sub(&control->windows, 1);
}

uint32_t isc_rt_flush_ask(bool forget)
{
	isc_control *control = atomic_load_explicit(&isc_image_self.control, memory_order_acquire);
	isc_guard guard;
	uint32_t asked;

	if (control == NULL)
		return 0;
	isc_guard_enter(&guard);
	if (forget)
		atomic_store(&control->forget, 1);
	asked = atomic_fetch_add(&control->flush_asked, 1) + 1;
	ring();
	isc_guard_leave(&guard);
	return asked;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

bool isc_rt_flush_wait(uint32_t asked, uint32_t patience_ms)
{
	isc_control *control = atomic_load_explicit(&isc_image_self.control, memory_order_acquire);
	uint64_t until = now_ms() + patience_ms;
	int error = errno;

	if (control == NULL)
		return false;
	for (;;) {
		uint32_t done = atomic_load_explicit(&control->flush_done, memory_order_acquire);
		uint64_t now = now_ms();
		struct timespec rest;

		/* They may run over. */
		if ((int32_t)(done - asked) >= 0)
			return true;
		if (now >= until || atomic_load_explicit(&control->phase, memory_order_relaxed) == ISC_PHASE_DONE)
			break;
		rest = (struct timespec){(time_t)((until - now) / 1000), (long)((until - now) % 1000) * 1000000};
		syscall(SYS_futex, &control->flush_done, FUTEX_WAIT, done, &rest, NULL, 0);
	}
	errno = error;
	return false;
}

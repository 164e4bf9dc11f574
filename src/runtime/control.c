/*
 * control.c - joining a session: the control file, checked before it is believed.
 *
 * The folder's name comes from the environment, so the file could be anybody's.
 * It must be ours, closed to others, of our version and as large as it says.
 */
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "runtime/image.h"
#include "runtime/kernel.h"
#include "runtime/runtime.h"

#define ROSTER_MAX (1u << 16)

/* glibc keeps the one, musl the other, and neither has both where it matters. */
extern int __register_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void), void *dso)
	__attribute__((weak, visibility("default")));
extern int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
	__attribute__((weak, visibility("default")));

static void watch_fork(void)
{
	/* No handle of ours: the handler stays for good, as the library does. */
	if (__register_atfork != NULL)
		__register_atfork(NULL, NULL, isc_boot_forked, NULL);
	else if (pthread_atfork != NULL)
		pthread_atfork(NULL, NULL, isc_boot_forked);
}

static int check_file(const struct stat *sb)
{
	if (!S_ISREG(sb->st_mode) || sb->st_size < (off_t)sizeof(isc_control))
		return EPROTO;
	if (sb->st_uid != (uid_t)syscall(SYS_geteuid) || (sb->st_mode & 022) != 0)
		return EACCES;
	return 0;
}

static int check_content(isc_control *control, uint64_t size)
{
	if (atomic_load_explicit(&control->magic, memory_order_acquire) != ISC_CONTROL_MAGIC ||
	    control->abi != ISC_RT_ABI)
		return EPROTO;
	if (control->roster_entries == 0 || control->roster_entries > ROSTER_MAX ||
	    sizeof(isc_control) + (uint64_t)control->roster_entries * sizeof(isc_roster_entry) > size)
		return EPROTO;
	return 0;
}

static int map_control(const char *path, isc_control **out)
{
	struct stat sb;
	void *at;
	int error;
	int fd = isc_kernel_open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);

	if (fd < 0)
		return errno;
	error = isc_kernel_stat(fd, &sb) ? check_file(&sb) : errno;
	if (error != 0) {
		isc_kernel_close(fd);
		return error;
	}
	at = isc_kernel_map(NULL, (size_t)sb.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
	error = errno;
	isc_kernel_close(fd);
	if (at == MAP_FAILED)
		return error;
	error = check_content(at, (uint64_t)sb.st_size);
	if (error != 0)
		isc_kernel_unmap(at, (size_t)sb.st_size);
	else
		*out = at;
	return error;
}

int isc_rt_attach(const char *session_folder)
{
	static _Atomic uint32_t attaching;
	static const char name[] = "/" ISC_CONTROL_NAME;
	char path[ISC_FOLDER_MAX + sizeof(name)];
	isc_control *control = NULL;
	uint32_t none = 0;
	size_t n = strlen(session_folder);
	int error;

	if (isc_rt_control() != NULL)
		return 0;
	if (getauxval(AT_SECURE) != 0)
		error = EPERM;
	else if (n == 0 || n >= ISC_FOLDER_MAX || session_folder[0] != '/')
		error = ENAMETOOLONG;
	else if (!atomic_compare_exchange_strong(&attaching, &none, 1))
		error = EBUSY;
	else {
		memcpy(path, session_folder, n);
		memcpy(path + n, name, sizeof(name));
		error = map_control(path, &control);
		if (error == 0 && !isc_wiped_make())
			error = ENOSYS; /* the control stays mapped; there is one try per image */
		if (error == 0) {
			memcpy(isc_image_self.folder, session_folder, n + 1);
			isc_image_self.clock_source = control->clock_source;
			isc_image_self.ticks_per_us = control->ticks_per_us != 0 ? control->ticks_per_us : 1000;
			isc_image_self.flags = control->flags;
			atomic_store_explicit(&isc_image_self.control, control, memory_order_release);
			watch_fork();
			isc_image_arrive(ISC_BIRTH_IMAGE);
		} else {
			atomic_store(&attaching, 0);
		}
	}
	errno = error;
	return error == 0 ? 0 : -1;
}

const isc_control *isc_rt_control(void)
{
	return atomic_load_explicit(&isc_image_self.control, memory_order_acquire);
}

bool isc_rt_active(void)
{
	isc_control *control = atomic_load_explicit(&isc_image_self.control, memory_order_acquire);

	return control != NULL && isc_image_following() == ISC_FOLLOWING_YES &&
	       atomic_load_explicit(&control->phase, memory_order_relaxed) == ISC_PHASE_COLLECTING;
}

uint64_t isc_rt_cpu_ns(void)
{
	struct timespec t = {0};

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void isc_rt_started(uint64_t since)
{
	isc_control *control = atomic_load_explicit(&isc_image_self.control, memory_order_acquire);
	uint64_t now = isc_rt_cpu_ns();

	if (control != NULL && since != 0 && now > since)
		atomic_fetch_add_explicit(&control->start_cost_ns, now - since, memory_order_relaxed);
}

void isc_rt_is_python(void)
{
	isc_control *control = atomic_load_explicit(&isc_image_self.control, memory_order_acquire);
	uint32_t no = ISC_FOLLOWING_NO;

	atomic_store_explicit(&isc_image_self.python, 1, memory_order_relaxed);
	/* A pool that could not be opened stays closed. */
	if (control != NULL && isc_image_following() == ISC_FOLLOWING_NO &&
	    (control->flags & ISC_CONTROL_FOLLOW_PYTHON) != 0 &&
	    atomic_load(&isc_wiped_page->opening) != ISC_OPENING_FAILED &&
	    atomic_compare_exchange_strong(&isc_wiped_page->following, &no, ISC_FOLLOWING_YES) &&
	    isc_image_arrived != NULL) {
		isc_guard guard;

		isc_guard_enter(&guard);
		isc_image_self.mask = guard.mask;
		isc_image_arrived(ISC_BIRTH_IMAGE);
		isc_guard_leave(&guard);
	}
}

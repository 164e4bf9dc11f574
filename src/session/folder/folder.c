#include "session/folder/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A child's pool: 324 KiB with its tables, 0.15 ms to make. */
#define FIRST_BLOCKS 16u
#define MAX_SLOTS 2048u
#define FIRST_DEFS_BYTES (256u << 10) /* a quarter in fork children; one import may need 100 KiB at once */
#define MAX_DEFS_BYTES (64u << 20)
#define MAX_BLOCKS ((64u << 20) / ISC_BLOCK_SIZE)

/* The root process starts with this much room; 8 MiB are 52 ms at 10 million
 * records a second.  The least is what a small container may leave. */
#define SPARE_BYTES (8u << 20)
#define SPARE_BYTES_LEAST (1u << 20)

/* Beside the pools: the control file, definitions, and what other programs need. */
#define ROOM_BESIDE (4u << 20)

static bool make_control(isc_folder *f, const isc_folder_options *options)
{
	size_t size = isc_folder_control_size();
	isc_control *c;
	int fd = isc_seal_make(f->dir, ISC_CONTROL_NAME, size, offsetof(isc_control, seal), &f->seal);

	if (fd < 0)
		return false;
	c = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (c == MAP_FAILED)
		return false;
	c->abi = ISC_RT_ABI;
	c->flags = options->flags;
	memcpy(c->session_id, options->session_id, sizeof(c->session_id));
	c->clock_source = options->clock_source;
	c->budget_pct = options->budget_pct;
	c->startup_pct = options->startup_pct;
	c->rate_hz = options->rate_hz;
	c->memory_mean = options->memory_mean;
	memcpy(c->node_of_cpu, options->node_of_cpu, sizeof(c->node_of_cpu));
	c->count_type = options->count_type;
	memcpy(c->count_config, options->count_config, sizeof(c->count_config));
	c->first_blocks = FIRST_BLOCKS;
	c->max_blocks = MAX_BLOCKS;
	c->max_slots = MAX_SLOTS;
	c->first_defs_bytes = FIRST_DEFS_BYTES;
	c->max_defs_bytes = MAX_DEFS_BYTES;
	c->roster_entries = ISC_ROSTER_ENTRIES;
	c->start_ns = options->start_ns;
	snprintf(c->trace_path, sizeof(c->trace_path), "%s", options->trace_path);
	f->control = c;
	f->control_size = size;
	f->made = isc_clock_read_pair(c->clock_source);
	return true;
}

static bool make_spare(const isc_folder *f)
{
	for (size_t size = SPARE_BYTES; size >= SPARE_BYTES_LEAST; size /= 2) {
		int fd = isc_seal_make(f->dir, ISC_SPARE_NAME, size, offsetof(isc_pool, seal), &f->seal);

		if (fd >= 0) {
			close(fd);
			return true;
		}
		if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)
			return false;
	}
	return false;
}

/* Sealed before all else: from here on the folder is known as ours, whenever we end. */
static bool make_lock(isc_folder *f)
{
	f->lock_fd =
		isc_seal_make(f->dir, ISC_LOCK_NAME, sizeof(isc_lock_file), offsetof(isc_lock_file, seal), &f->seal);
	return f->lock_fd >= 0 && flock(f->lock_fd, LOCK_EX | LOCK_NB) == 0;
}

bool isc_folder_place(unsigned i, const char *trace_path, char *out, size_t room)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	const char *slash;

	switch (i) {
	case 0:
		snprintf(out, room, "/dev/shm");
		return true;
	case 1:
		/* An unset or relative one names the same place twice, which does no harm. */
		snprintf(out, room, "%s", runtime != NULL && runtime[0] == '/' ? runtime : "/dev/shm");
		return true;
	case 2:
		slash = trace_path != NULL ? strrchr(trace_path, '/') : NULL;
		if (slash == NULL)
			return false;
		snprintf(out, room, "%.*s", slash == trace_path ? 1 : (int)(slash - trace_path), trace_path);
		return true;
	default:
		return false;
	}
}

static uint64_t room_in(const char *parent)
{
	struct statvfs v;

	return statvfs(parent, &v) == 0 ? (uint64_t)v.f_bavail * v.f_frsize : 0;
}

static isc_status make_in(const char *parent, const isc_folder_options *options, isc_folder *out, isc_error *err)
{
	uint64_t random, room = room_in(parent);
	isc_status st;

	if (room < isc_folder_control_size() + SPARE_BYTES_LEAST + ROOM_BESIDE)
		return isc_fail(err, ISC_ERR_LIMIT, "no room in %s", parent);
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return isc_fail_errno(err, "no random number for a session folder");
	if ((size_t)snprintf(out->path, sizeof(out->path), "%s/inferscope-%u-%016llx", parent, (unsigned)geteuid(),
			     (unsigned long long)random) >= sizeof(out->path)) {
		out->path[0] = 0;
		return isc_fail(err, ISC_ERR_LIMIT, "the path of %s is too long for a session folder", parent);
	}
	if (mkdir(out->path, 0700) < 0)
		return isc_fail_errno(err, "cannot make the session folder %s", out->path);
	out->seal = isc_seal_of(options->session_id);
	out->dir = open(out->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (out->dir < 0 || !make_lock(out) || !make_control(out, options) || !make_spare(out)) {
		st = isc_fail_errno(err, "cannot make the session in %s", parent);
		if (out->dir < 0)
			rmdir(out->path); /* nothing is in it yet */
		isc_folder_remove(out, false, NULL);
		return st;
	}
	out->memory_bytes = options->memory_bytes;
	if (out->memory_bytes > room - isc_folder_control_size() - ROOM_BESIDE)
		out->memory_bytes = room - isc_folder_control_size() - ROOM_BESIDE;
	return ISC_OK;
}

isc_status isc_folder_make(const isc_folder_options *options, isc_folder *out, isc_error *err)
{
	char parent[PATH_MAX];
	isc_status st = ISC_ERR_SYSTEM;

	for (unsigned i = 0; isc_folder_place(i, options->trace_path, parent, sizeof(parent)); i++) {
		*out = (isc_folder){.dir = -1, .lock_fd = -1, .on_disk = i == 2};
		st = make_in(parent, options, out, err);
		if (st == ISC_OK)
			return ISC_OK;
	}
	if (err != NULL && err->sys == EFBIG)
		isc_hint(err, "raise the limit of file sizes (ulimit -f) to 4 MB or more");
	else if (err != NULL && (err->sys == EMFILE || err->sys == ENFILE))
		isc_hint(err, "raise the limit of open files (ulimit -n)");
	else
		isc_hint(err, "free some space in /dev/shm, or set XDG_RUNTIME_DIR to a folder with 16 MB of room");
	return st;
}

void isc_folder_publish(isc_folder *f, const char *rt_path, pid_t root_pid)
{
	snprintf(f->control->rt_path, sizeof(f->control->rt_path), "%s", rt_path);
	f->control->root_pid = (uint32_t)root_pid;
	f->control->ticks_per_us = isc_clock_per_us(f->control->clock_source, f->made);
	atomic_store_explicit(&f->control->magic, ISC_CONTROL_MAGIC, memory_order_release);
}

void isc_folder_close(isc_folder *f)
{
	if (f->control != NULL)
		munmap(f->control, f->control_size);
	f->control = NULL;
	if (f->lock_fd >= 0)
		close(f->lock_fd);
	f->lock_fd = -1;
	if (f->dir >= 0)
		close(f->dir);
	f->dir = -1;
}

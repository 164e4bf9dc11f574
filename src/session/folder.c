#include "session/folder.h"

#include <dirent.h>
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
#include <time.h>
#include <unistd.h>

#define LOCK_NAME "lock"
#define PRELOAD_NAME "rt.so" /* the link that session/parts.c makes for awkward paths */

/* From its first moment to its publication a session takes milliseconds. */
#define MAKING_S 10

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

static size_t control_size(void)
{
	return sizeof(isc_control) + (size_t)ISC_ROSTER_ENTRIES * sizeof(isc_roster_entry);
}

/* A new file of that size whose every byte is there: a full disk is an error
 * now and never a bus error later. */
static int make_file(int dir, const char *name, size_t size)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int failed;

	if (fd < 0)
		return -1;
	failed = size > 0 ? posix_fallocate(fd, 0, (off_t)size) : 0;
	if (failed != 0) {
		close(fd);
		unlinkat(dir, name, 0);
		errno = failed;
		return -1;
	}
	return fd;
}

static bool make_control(isc_folder *f, int dir, const isc_folder_options *options)
{
	isc_control *c;
	int fd = make_file(dir, ISC_CONTROL_NAME, control_size());

	if (fd < 0)
		return false;
	c = mmap(NULL, control_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (c == MAP_FAILED)
		return false;
	c->abi = ISC_RT_ABI;
	c->flags = options->flags;
	memcpy(c->session_id, options->session_id, sizeof(c->session_id));
	c->clock_source = options->clock_source;
	c->budget_pct = options->budget_pct;
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
	f->control_size = control_size();
	f->made = isc_clock_read_pair(c->clock_source);
	return true;
}

static bool make_spare(int dir)
{
	for (size_t size = SPARE_BYTES; size >= SPARE_BYTES_LEAST; size /= 2) {
		int fd = make_file(dir, ISC_SPARE_NAME, size);

		if (fd >= 0) {
			close(fd);
			return true;
		}
		if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG)
			return false;
	}
	return false;
}

static bool lock_folder(isc_folder *f, int dir, bool fresh)
{
	f->lock_fd = openat(dir, LOCK_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW | (fresh ? O_CREAT | O_EXCL : 0), 0600);
	if (f->lock_fd < 0)
		return false;
	if (flock(f->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return true;
	close(f->lock_fd);
	f->lock_fd = -1;
	return false;
}

/* Where session folders are made, best first; false past the end. */
static bool place(unsigned i, const char *trace_path, char *out, size_t room)
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

static void empty_folder(const char *path, bool keep_preload)
{
	DIR *d = opendir(path);
	struct dirent *e;

	if (d == NULL)
		return;
	/* Names go one by one and never through links or into folders: nothing
	 * but files of ours is made here. */
	while ((e = readdir(d)) != NULL) {
		bool keep = strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
			    (keep_preload && strcmp(e->d_name, PRELOAD_NAME) == 0);

		if (!keep)
			unlinkat(dirfd(d), e->d_name, 0);
	}
	closedir(d);
	rmdir(path);
}

static isc_status make_in(const char *parent, const isc_folder_options *options, isc_folder *out, isc_error *err)
{
	uint64_t random, room = room_in(parent);
	int dir = -1;
	isc_status st;

	if (room < control_size() + SPARE_BYTES_LEAST + ROOM_BESIDE)
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
	dir = open(out->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0 || !lock_folder(out, dir, true) || !make_control(out, dir, options) || !make_spare(dir)) {
		st = isc_fail_errno(err, "cannot make the session in %s", parent);
		if (dir >= 0)
			close(dir);
		isc_folder_remove(out, false);
		return st;
	}
	close(dir);
	out->memory_bytes = options->memory_bytes;
	if (out->memory_bytes > room - control_size() - ROOM_BESIDE)
		out->memory_bytes = room - control_size() - ROOM_BESIDE;
	return ISC_OK;
}

isc_status isc_folder_make(const isc_folder_options *options, isc_folder *out, isc_error *err)
{
	char parent[PATH_MAX];
	isc_status st = ISC_ERR_SYSTEM;

	for (unsigned i = 0; place(i, options->trace_path, parent, sizeof(parent)); i++) {
		*out = (isc_folder){.lock_fd = -1, .on_disk = i == 2};
		st = make_in(parent, options, out, err);
		if (st == ISC_OK)
			return ISC_OK;
	}
	if (err != NULL && err->sys == EFBIG)
		isc_hint(err, "raise the limit of file sizes (ulimit -f) to 4 MB or more");
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
}

void isc_folder_remove(isc_folder *f, bool alive)
{
	/* Removed before the lock goes, so that nobody adopts the remains. */
	if (f->path[0] != 0)
		empty_folder(f->path, alive);
	f->path[0] = 0;
	isc_folder_close(f);
}

/* "pPID.GEN" of a process that still runs?  It has this very file mapped: the
 * number may be a stranger's by now, and one that waits to be reaped maps nothing. */
static bool pool_alive(const char *name)
{
	char path[64], line[PATH_MAX + 128], *end;
	bool alive = false;
	FILE *maps;
	long pid;

	if (name[0] != 'p')
		return false;
	pid = strtol(name + 1, &end, 10);
	if (*end != '.' || pid <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%ld/maps", pid);
	maps = fopen(path, "re");
	if (maps == NULL)
		return false;
	while (!alive && fgets(line, sizeof(line), maps) != NULL)
		alive = strstr(line, name) != NULL;
	fclose(maps);
	return alive;
}

static bool any_pool_alive(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	bool alive = false;

	if (d == NULL)
		return false;
	while (!alive && (e = readdir(d)) != NULL)
		alive = pool_alive(e->d_name);
	closedir(d);
	return alive;
}

static bool recorder_alive(const char *path)
{
	char name[600];
	int fd;
	bool held;

	snprintf(name, sizeof(name), "%s/" LOCK_NAME, path);
	fd = open(name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return false;
	held = flock(fd, LOCK_EX | LOCK_NB) < 0;
	close(fd);
	return held;
}

/* A folder of ours and of this user, that nobody else could have filled. */
static bool is_session(const char *path)
{
	struct stat sb;

	return lstat(path, &sb) == 0 && S_ISDIR(sb.st_mode) && sb.st_uid == geteuid() && (sb.st_mode & 077) == 0;
}

/* Made just now by a recorder that may not even hold its lock yet?  Then not even
 * the lock is tried: the maker would find it taken. */
static bool being_made(const char *path)
{
	char name[600];
	uint64_t magic = 0;
	struct stat sb;
	ssize_t n;
	int fd;

	if (stat(path, &sb) < 0 || time(NULL) - sb.st_mtim.tv_sec >= MAKING_S)
		return false;
	snprintf(name, sizeof(name), "%s/" ISC_CONTROL_NAME, path);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return true;
	n = pread(fd, &magic, sizeof(magic), offsetof(isc_control, magic));
	close(fd);
	return n != (ssize_t)sizeof(magic) || magic == 0;
}

void isc_folder_each(const char *trace_path, isc_folder_visit visit, void *self)
{
	char parent[PATH_MAX], earlier[PATH_MAX] = "", prefix[64];

	snprintf(prefix, sizeof(prefix), "inferscope-%u-", (unsigned)geteuid());
	for (unsigned i = 0; place(i, trace_path, parent, sizeof(parent)); i++) {
		DIR *d;
		struct dirent *e;

		if (strcmp(parent, earlier) == 0)
			continue;
		snprintf(earlier, sizeof(earlier), "%s", parent);
		d = opendir(parent);
		if (d == NULL)
			continue;
		while ((e = readdir(d)) != NULL) {
			char path[512];

			if (strncmp(e->d_name, prefix, strlen(prefix)) != 0 ||
			    (size_t)snprintf(path, sizeof(path), "%s/%s", parent, e->d_name) >= sizeof(path) ||
			    !is_session(path) || being_made(path))
				continue;
			visit(self, path, recorder_alive(path), any_pool_alive(path));
		}
		closedir(d);
	}
}

isc_status isc_folder_adopt(const char *path, isc_folder *out, isc_error *err)
{
	int dir, fd;
	struct stat sb;
	isc_control *c;
	isc_status st = ISC_OK;

	*out = (isc_folder){.lock_fd = -1};
	snprintf(out->path, sizeof(out->path), "%s", path);
	dir = is_session(path) ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW) : -1;
	if (dir < 0)
		return isc_fail(err, ISC_ERR_CORRUPT, "%s is not a session folder", path);
	if (!lock_folder(out, dir, false)) {
		st = errno == EWOULDBLOCK ? isc_fail(err, ISC_ERR_EXISTS, "the session in %s is still recorded", path)
					  : isc_fail(err, ISC_ERR_CORRUPT, "%s has no lock", path);
		goto out;
	}
	fd = openat(dir, ISC_CONTROL_NAME, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fstat(fd, &sb) < 0 || (size_t)sb.st_size != control_size()) {
		if (fd >= 0)
			close(fd);
		st = isc_fail(err, ISC_ERR_CORRUPT, "%s has no control file", path);
		goto out;
	}
	c = mmap(NULL, control_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (c == MAP_FAILED) {
		st = isc_fail_errno(err, "cannot map the control file in %s", path);
		goto out;
	}
	out->control = c;
	out->control_size = control_size();
	if (atomic_load_explicit(&c->magic, memory_order_acquire) != ISC_CONTROL_MAGIC || c->abi != ISC_RT_ABI ||
	    memchr(c->trace_path, 0, sizeof(c->trace_path)) == NULL)
		st = isc_fail(err, ISC_ERR_CORRUPT, "the session in %s is of another version or was never begun", path);
out:
	close(dir);
	if (st != ISC_OK && st != ISC_ERR_CORRUPT)
		isc_folder_close(out);
	return st;
}

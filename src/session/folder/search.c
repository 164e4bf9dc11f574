/*
 * search.c - folders that are named like sessions: which of them are, and
 * taking over one whose recorder is gone.
 *
 * Anybody can give a folder such a name, and whoever owns the parent can give it to
 * a folder of ours that holds something else.  So the name only says where to look:
 * a session has a lock file with our seal and, once it has begun, a control file
 * with the same one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "session/folder/files.h"

/* From its first moment to its publication a session takes milliseconds. */
#define MAKING_S 10
#define RANDOM_DIGITS 16

/* inferscope-UID-RANDOM, exactly as they are made. */
static bool is_named_like_a_session(const char *name)
{
	char prefix[64];
	size_t n = (size_t)snprintf(prefix, sizeof(prefix), "inferscope-%u-", (unsigned)geteuid());

	return strncmp(name, prefix, n) == 0 && strlen(name + n) == RANDOM_DIGITS &&
	       strspn(name + n, "0123456789abcdef") == RANDOM_DIGITS;
}

/* Why it cannot be a session of this user that nobody else could have filled; NULL: it can. */
static const char *not_private(const struct stat *sb)
{
	if (!S_ISDIR(sb->st_mode))
		return "it is not a folder";
	if (sb->st_uid != geteuid())
		return "it belongs to another user";
	if ((sb->st_mode & 077) != 0)
		return "others have access to it";
	return NULL;
}

/* The folder, open, or -1 and why not. */
static int open_private(int parent, const char *name, const char **why)
{
	struct stat sb;
	int dir;

	*why = "it cannot be opened";
	if (fstatat(parent, name, &sb, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	*why = not_private(&sb);
	if (*why != NULL)
		return -1;
	*why = "it cannot be opened";
	dir = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir < 0)
		return -1;
	*why = fstat(dir, &sb) == 0 ? not_private(&sb) : "it cannot be opened";
	if (*why == NULL)
		return dir;
	close(dir);
	return -1;
}

/* "pPID.GEN" of a process that still runs?  It has this very file mapped: the
 * number may be a stranger's by now, and one that waits to be reaped maps nothing. */
static bool pool_alive(const char *name)
{
	char path[64], line[PATH_MAX + 128];
	bool alive = false;
	uint32_t pid;
	uint64_t gen;
	FILE *maps;

	if (!isc_seal_pool_name(name, 'p', &pid, &gen))
		return false;
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	maps = fopen(path, "re");
	if (maps == NULL)
		return false;
	while (!alive && fgets(line, sizeof(line), maps) != NULL)
		alive = strstr(line, name) != NULL;
	fclose(maps);
	return alive;
}

static bool any_pool_alive(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;
	bool alive = false;

	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	while (!alive && (e = readdir(d)) != NULL)
		alive = pool_alive(e->d_name);
	closedir(d);
	return alive;
}

/* Of a control file: absent, with another seal than this one, not begun, or begun. */
enum control_state { CONTROL_ABSENT, CONTROL_FOREIGN, CONTROL_UNBEGUN, CONTROL_BEGUN };

static enum control_state look_at_control(int dir, const isc_seal *seal, int *fd)
{
	uint64_t magic = 0;
	struct stat sb;

	*fd = -1;
	if (fstatat(dir, ISC_CONTROL_NAME, &sb, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? CONTROL_ABSENT : CONTROL_FOREIGN;
	*fd = isc_seal_open(dir, ISC_CONTROL_NAME, offsetof(isc_control, seal), seal, NULL);
	if (*fd < 0)
		return CONTROL_FOREIGN;
	if (pread(*fd, &magic, sizeof(magic), offsetof(isc_control, magic)) != (ssize_t)sizeof(magic) || magic == 0)
		return CONTROL_UNBEGUN;
	return CONTROL_BEGUN;
}

/* Made just now by a recorder that may not even hold its lock yet?  Then not even
 * the lock is tried: the maker would find it taken. */
static bool being_made(int dir)
{
	enum control_state control;
	struct stat sb;
	int fd;

	if (fstat(dir, &sb) < 0 || time(NULL) - sb.st_mtim.tv_sec >= MAKING_S)
		return false;
	control = look_at_control(dir, NULL, &fd);
	if (fd >= 0)
		close(fd);
	return control != CONTROL_BEGUN;
}

static enum isc_folder_state look_at_folder(int dir, const char **why)
{
	enum control_state control;
	isc_seal seal;
	bool held;
	int fd;

	if (being_made(dir))
		return ISC_FOLDER_MAKING;
	*why = "it has no lock file of InferScope's";
	fd = isc_seal_open(dir, ISC_LOCK_NAME, offsetof(isc_lock_file, seal), NULL, &seal);
	if (fd < 0)
		return ISC_FOLDER_FOREIGN;
	held = flock(fd, LOCK_EX | LOCK_NB) < 0;
	close(fd);
	if (held)
		return ISC_FOLDER_RECORDED;
	*why = "its control file is not InferScope's";
	control = look_at_control(dir, &seal, &fd);
	if (fd >= 0)
		close(fd);
	if (control == CONTROL_FOREIGN)
		return ISC_FOLDER_FOREIGN;
	return any_pool_alive(dir) ? ISC_FOLDER_RUNNING : ISC_FOLDER_DEAD;
}

static void look_at_place(const char *parent, isc_folder_visit visit, void *self)
{
	DIR *d = opendir(parent);
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL) {
		enum isc_folder_state state = ISC_FOLDER_FOREIGN;
		char path[sizeof(((isc_folder *)0)->path)];
		const char *why = NULL;
		int dir;

		if (!is_named_like_a_session(e->d_name) ||
		    (size_t)snprintf(path, sizeof(path), "%s/%s", parent, e->d_name) >= sizeof(path))
			continue;
		dir = open_private(dirfd(d), e->d_name, &why);
		if (dir >= 0) {
			state = look_at_folder(dir, &why);
			close(dir);
		}
		if (state != ISC_FOLDER_MAKING)
			visit(self, path, state, why);
	}
	if (d != NULL)
		closedir(d);
}

void isc_folder_each(const char *trace_path, isc_folder_visit visit, void *self)
{
	char parent[PATH_MAX], earlier[PATH_MAX] = "";

	for (unsigned i = 0; isc_folder_place(i, trace_path, parent, sizeof(parent)); i++) {
		if (strcmp(parent, earlier) == 0)
			continue;
		snprintf(earlier, sizeof(earlier), "%s", parent);
		look_at_place(parent, visit, self);
	}
}

/* A control file that has begun, and is of our version. */
static isc_status map_control(isc_folder *f, int fd, isc_error *err)
{
	size_t size = isc_folder_control_size();
	struct stat sb;
	isc_control *c;

	if (fstat(fd, &sb) < 0 || (size_t)sb.st_size != size)
		return isc_fail(err, ISC_ERR_VERSION, "the session in %s is of another version", f->path);
	c = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (c == MAP_FAILED)
		return isc_fail_errno(err, "cannot map the control file in %s", f->path);
	f->control = c;
	f->control_size = size;
	if (atomic_load_explicit(&c->magic, memory_order_acquire) != ISC_CONTROL_MAGIC || c->abi != ISC_RT_ABI ||
	    memchr(c->trace_path, 0, sizeof(c->trace_path)) == NULL ||
	    memcmp(c->session_id, f->seal.session_id, sizeof(c->session_id)) != 0)
		return isc_fail(err, ISC_ERR_VERSION, "the session in %s is of another version", f->path);
	return ISC_OK;
}

static isc_status adopt(isc_folder *f, isc_error *err)
{
	isc_status st = ISC_OK;
	int fd;

	f->lock_fd = isc_seal_open(f->dir, ISC_LOCK_NAME, offsetof(isc_lock_file, seal), NULL, &f->seal);
	if (f->lock_fd < 0)
		return isc_fail(err, ISC_ERR_CORRUPT, "%s has no lock", f->path);
	if (flock(f->lock_fd, LOCK_EX | LOCK_NB) < 0)
		return isc_fail(err, ISC_ERR_EXISTS, "the session in %s is still recorded", f->path);
	switch (look_at_control(f->dir, &f->seal, &fd)) {
	case CONTROL_FOREIGN:
		st = isc_fail(err, ISC_ERR_CORRUPT, "%s has no control file", f->path);
		break;
	case CONTROL_BEGUN:
		st = map_control(f, fd, err);
		break;
	default:
		break;
	}
	if (fd >= 0)
		close(fd);
	return st;
}

isc_status isc_folder_adopt(const char *path, isc_folder *out, isc_error *err)
{
	const char *why;
	isc_status st;

	*out = (isc_folder){.dir = -1, .lock_fd = -1};
	if ((size_t)snprintf(out->path, sizeof(out->path), "%s", path) >= sizeof(out->path))
		return isc_fail(err, ISC_ERR_LIMIT, "the path of %s is too long for a session folder", path);
	out->dir = open_private(AT_FDCWD, path, &why);
	if (out->dir < 0)
		return isc_fail(err, ISC_ERR_CORRUPT, "%s is not a session folder: %s", path, why);
	st = adopt(out, err);
	if (st != ISC_OK)
		isc_folder_close(out);
	return st;
}

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/output_target.h"

static isc_status busy(const isc_output_target *t, isc_error *err)
{
	isc_fail(err, ISC_ERR_EXISTS, "cannot write %.180s: another inferscope is recording into it", t->path);
	isc_hint(err, "wait for it, or choose another path with --trace");
	return ISC_ERR_EXISTS;
}

/* Whoever analyses a trace holds its lock for a moment to see whether a recorder
 * does: that is waited for.  A recorder holds it for as long as it records. */
#define LOCK_TRIES 20
#define LOCK_PAUSE_NS 5000000

/* Some network file systems have no locks; the mark alone must do there. */
static bool lock(int fd)
{
	const struct timespec pause = {.tv_nsec = LOCK_PAUSE_NS};

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK)
			return true;
		nanosleep(&pause, NULL);
	}
	return false;
}

static bool still_named(const isc_output_target *t, int fd)
{
	struct stat named, open;

	return fstatat(t->dir_fd, t->name, &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(fd, &open) == 0 &&
	       named.st_dev == open.st_dev && named.st_ino == open.st_ino;
}

/* Unlinks the old trace while holding its lock, so that of two recorders that
 * want the name only one takes the old file away.  When the name means another
 * file by then nothing happens and the caller looks again. */
static isc_status take_away(const isc_output_target *t, isc_error *err)
{
	bool exists;
	isc_status st = isc_output_target_check(t, &exists, err);
	int fd;

	if (st != ISC_OK || !exists)
		return st;
	fd = openat(t->dir_fd, t->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	/* Unreadable, so checked by force alone: a recorder's own trace could be read. */
	if (fd < 0 && errno != EACCES)
		return ISC_OK;
	if (fd >= 0 && !lock(fd))
		st = busy(t, err);
	else if ((fd < 0 || (isc_output_target_check_fd(t, fd, NULL) == ISC_OK && still_named(t, fd))) &&
		 unlinkat(t->dir_fd, t->name, 0) < 0)
		st = isc_output_target_fail(t, "cannot replace", err);
	if (fd >= 0)
		close(fd);
	return st;
}

static isc_status create(const isc_output_target *t, int *out, isc_error *err)
{
	isc_status st = ISC_OK;

	for (int tries = 0; tries < 16 && st == ISC_OK; tries++) {
		int fd = openat(t->dir_fd, t->name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

		if (fd < 0 && errno != EEXIST)
			return isc_output_target_fail(t, "cannot write", err);
		/* Another recorder may see a new file before it is locked, and take it. */
		if (fd >= 0 && lock(fd) && still_named(t, fd)) {
			*out = fd;
			return ISC_OK;
		}
		if (fd >= 0) {
			close(fd);
			break;
		}
		st = take_away(t, err);
	}
	return st == ISC_OK ? busy(t, err) : st;
}

/* Takes the folder over from the target.  A new file that cannot be held goes again. */
static isc_status hold(isc_output_target *t, int *fd, isc_output_made *made, isc_error *err)
{
	isc_status st;

	snprintf(made->name, sizeof(made->name), "%s", t->name);
	made->file_fd = openat(t->dir_fd, t->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (made->file_fd >= 0) {
		made->dir_fd = t->dir_fd;
		t->dir_fd = -1;
		return ISC_OK;
	}
	st = isc_output_target_fail(t, "cannot write", err);
	if (still_named(t, *fd))
		unlinkat(t->dir_fd, t->name, 0);
	close(*fd);
	*fd = -1;
	return st;
}

isc_status isc_output_make_trace(const char *path, bool force, isc_output_is_ours is_ours, int *fd,
				 isc_output_made *made, isc_error *err)
{
	isc_output_target t;
	isc_status st = isc_output_target_open(&t, path, force, is_ours, err);

	*fd = -1;
	if (made != NULL)
		*made = (isc_output_made){.dir_fd = -1, .file_fd = -1};
	if (st == ISC_OK)
		st = create(&t, fd, err);
	if (st == ISC_OK && made != NULL)
		st = hold(&t, fd, made, err);
	isc_output_target_close(&t);
	return st;
}

isc_status isc_output_create_trace(const char *path, bool force, isc_output_is_ours is_ours, int *fd, isc_error *err)
{
	return isc_output_make_trace(path, force, is_ours, fd, NULL, err);
}

void isc_output_made_release(isc_output_made *made, bool remove)
{
	struct stat named, ours;

	if (made->dir_fd < 0)
		return;
	if (remove && fstatat(made->dir_fd, made->name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fstat(made->file_fd, &ours) == 0 && named.st_dev == ours.st_dev && named.st_ino == ours.st_ino)
		unlinkat(made->dir_fd, made->name, 0);
	close(made->dir_fd);
	close(made->file_fd);
	made->dir_fd = made->file_fd = -1;
}

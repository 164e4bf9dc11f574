/*
 * removal.c - removing a session: the files that are ours, then the folder if
 * nothing else is in it.
 *
 * The program has the same rights as we have and may have put something here, and
 * whoever owns the parent may have put another folder in the place of this one.
 * So every file shows that it is ours before it goes, names are looked up in the
 * open folder, and the folder goes only if its name still means that one.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temporary.h"
#include "session/folder/files.h"

typedef struct vouched {
	const char *name;
	mode_t type;
} vouched;

static const vouched vouched_for[ISC_VOUCHED] = {
	[ISC_VOUCHED_BELL] = {ISC_BELL_NAME, S_IFIFO},
	[ISC_VOUCHED_PRELOAD] = {ISC_PRELOAD_NAME, S_IFLNK},
	[ISC_VOUCHED_INJECT] = {ISC_INJECT_NAME, S_IFLNK},
};

void isc_folder_vouch(isc_folder *f, const char *name)
{
	for (size_t i = 0; i < ISC_VOUCHED; i++) {
		struct stat sb;
		uint64_t ino;

		if (strcmp(name, vouched_for[i].name) != 0 || fstatat(f->dir, name, &sb, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		ino = sb.st_ino;
		/* Not written, it is left there in the end. */
		if (pwrite(f->lock_fd, &ino, sizeof(ino), (off_t)(offsetof(isc_lock_file, ino) + i * sizeof(ino))) !=
		    (ssize_t)sizeof(ino))
			return;
	}
}

static bool remove_vouched(int dir, size_t i, uint64_t ino)
{
	struct stat sb;

	return fstatat(dir, vouched_for[i].name, &sb, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (sb.st_mode & S_IFMT) == vouched_for[i].type && sb.st_ino == ino && sb.st_uid == geteuid() &&
	       sb.st_nlink == 1 && unlinkat(dir, vouched_for[i].name, 0) == 0;
}

static bool remove_one(const isc_folder *f, const isc_lock_file *lock, const char *name)
{
	uint32_t pid;
	uint64_t gen;

	for (size_t i = 0; i < ISC_VOUCHED; i++)
		if (strcmp(name, vouched_for[i].name) == 0)
			return remove_vouched(f->dir, i, lock->ino[i]);
	if (strcmp(name, ISC_CONTROL_NAME) == 0)
		return isc_seal_remove(f->dir, name, offsetof(isc_control, seal), &f->seal);
	if (strcmp(name, ISC_SPARE_NAME) == 0 || isc_seal_pool_name(name, 'p', &pid, &gen))
		return isc_seal_remove(f->dir, name, offsetof(isc_pool, seal), &f->seal);
	if (isc_seal_pool_name(name, 'd', &pid, &gen))
		return isc_seal_remove(f->dir, name, offsetof(isc_defs, seal), &f->seal);
	return false;
}

/* Everything but the lock, and the preloaded runtime if that is to stay: it, too, is counted then. */
static unsigned empty_folder(const isc_folder *f, const isc_lock_file *lock, bool keep_preload, isc_folder_left *left)
{
	int fd = openat(f->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;
	unsigned kept = 0;

	if (d == NULL) {
		if (fd >= 0)
			close(fd);
		return 1;
	}
	while ((e = readdir(d)) != NULL) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    strcmp(e->d_name, ISC_LOCK_NAME) == 0)
			continue;
		if (keep_preload && strcmp(e->d_name, ISC_PRELOAD_NAME) == 0) {
			kept++;
		} else if (!remove_one(f, lock, e->d_name)) {
			kept++;
			if (left->count++ == 0)
				snprintf(left->name, sizeof(left->name), "%s", e->d_name);
		}
	}
	closedir(d);
	return kept;
}

void isc_folder_remove(isc_folder *f, bool alive, isc_folder_left *left)
{
	isc_folder_left unread;
	isc_lock_file lock;

	if (left == NULL)
		left = &unread;
	*left = (isc_folder_left){0};
	/* Removed before the lock goes, so that nobody adopts the remains.  While anything else
	 * is in the folder the lock stays: it says whose the rest is. */
	if (f->dir >= 0 && f->lock_fd >= 0 && pread(f->lock_fd, &lock, sizeof(lock), 0) == (ssize_t)sizeof(lock) &&
	    empty_folder(f, &lock, alive, left) == 0 && isc_seal_remove(f->dir, ISC_LOCK_NAME, 0, &f->seal))
		isc_temporary_rmdir(f->path, f->dir);
	else if (f->dir >= 0 && f->lock_fd < 0) /* it never had one */
		isc_temporary_rmdir(f->path, f->dir);
	f->path[0] = 0;
	isc_folder_close(f);
}

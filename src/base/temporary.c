#include "base/temporary.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

isc_status isc_temporary_make(isc_temporary *t, const char *stem, isc_error *err)
{
	const char *place = getenv("TMPDIR");
	isc_status st;
	int n;

	*t = (isc_temporary){.dir = -1};
	if (place == NULL || place[0] == 0)
		place = "/tmp";
	if (strchr(stem, '/') != NULL)
		n = snprintf(t->path, sizeof(t->path), "%s-XXXXXX", stem);
	else
		n = snprintf(t->path, sizeof(t->path), "%s/%s-XXXXXX", place, stem);
	if (n < 0 || (size_t)n >= sizeof(t->path)) {
		t->path[0] = 0;
		return isc_fail(err, ISC_ERR_INVALID, "the path %.100s is too long", stem);
	}
	if (mkdtemp(t->path) == NULL) {
		st = isc_fail_errno(err, "cannot make a temporary folder %.150s", t->path);
		t->path[0] = 0;
		return st;
	}
	t->dir = open(t->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (t->dir >= 0)
		return ISC_OK;
	st = isc_fail_errno(err, "cannot open the temporary folder %.150s", t->path);
	rmdir(t->path); /* nothing is in it yet */
	t->path[0] = 0;
	return st;
}

int isc_temporary_create(const isc_temporary *t, const char *name)
{
	return openat(t->dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

void isc_temporary_rmdir(const char *path, int dir)
{
	char parent[PATH_MAX];
	struct stat ours, named;
	int fd;

	if (!isc_path_folder(path, parent, sizeof(parent)))
		return;
	fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	if (fstat(dir, &ours) == 0 && fstatat(fd, isc_path_name(path), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
	    ours.st_dev == named.st_dev && ours.st_ino == named.st_ino)
		unlinkat(fd, isc_path_name(path), AT_REMOVEDIR);
	close(fd);
}

void isc_temporary_remove(isc_temporary *t, const char *const *names)
{
	if (t->path[0] == 0)
		return;
	for (; *names != NULL; names++)
		unlinkat(t->dir, *names, 0);
	isc_temporary_rmdir(t->path, t->dir);
	close(t->dir);
	*t = (isc_temporary){.dir = -1};
}

#include "base/output_target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

static void hint_for(int sys, isc_error *err)
{
	switch (sys) {
	case ENOENT:
		isc_hint(err, "make the folder first");
		break;
	case ENOTDIR:
		isc_hint(err, "a part of the path is a file; choose another path");
		break;
	case EACCES:
	case EPERM:
		isc_hint(err, "choose a folder that you may write to");
		break;
	case EROFS:
		isc_hint(err, "the file system is read-only; choose a path on another one");
		break;
	case ENOSPC:
	case EDQUOT:
		isc_hint(err, "make room, or choose a path on another disk");
		break;
	case EEXIST:
		isc_hint(err, "a file appeared there in the meantime; move it away or add --force");
		break;
	case EMFILE:
	case ENFILE:
		isc_hint(err, "raise the limit of open files (ulimit -n)");
		break;
	case ENAMETOOLONG:
		isc_hint(err, "choose a shorter name");
		break;
	default:
		break;
	}
}

isc_status isc_output_target_fail(const isc_output_target *t, const char *verb, isc_error *err)
{
	int sys = errno;
	isc_status st = isc_fail_errno(err, "%s %.180s", verb, t->path);

	hint_for(sys, err);
	return st;
}

isc_status isc_output_target_open(isc_output_target *t, const char *path, bool force, isc_output_is_ours is_ours,
				  isc_error *err)
{
	const char *name = isc_path_name(path);
	char folder[PATH_MAX];

	*t = (isc_output_target){.dir_fd = -1, .force = force, .is_ours = is_ours};
	t->path = strdup(path);
	if (t->path == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to open %.180s", path);
	if (name[0] == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
		isc_fail(err, ISC_ERR_INVALID, "cannot write %.180s: it names a folder", path);
		isc_hint(err, "add a file name");
		return ISC_ERR_INVALID;
	}
	errno = ENAMETOOLONG;
	if (strlen(name) > NAME_MAX || !isc_path_folder(path, folder, sizeof(folder)))
		return isc_output_target_fail(t, "cannot write", err);
	memcpy(t->name, name, strlen(name) + 1);
	t->dir_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->dir_fd < 0)
		return isc_output_target_fail(t, "cannot write", err);
	if (faccessat(t->dir_fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return isc_output_target_fail(t, "cannot write", err);
	return ISC_OK;
}

void isc_output_target_close(isc_output_target *t)
{
	if (t->dir_fd >= 0)
		close(t->dir_fd);
	t->dir_fd = -1;
	free(t->path);
	t->path = NULL;
}

static isc_status refuse(const isc_output_target *t, const char *why, const char *hint, isc_error *err)
{
	isc_fail(err, ISC_ERR_EXISTS, "cannot write %.180s: %s", t->path, why);
	isc_hint(err, "%s", hint);
	return ISC_ERR_EXISTS;
}

static isc_status check_kind(const isc_output_target *t, const struct stat *sb, isc_error *err)
{
	static const char elsewhere[] = "choose the path of a file";

	switch (sb->st_mode & S_IFMT) {
	case S_IFREG:
		return ISC_OK;
	case S_IFLNK:
		return refuse(t, "a symbolic link is there, and links are not followed",
			      "remove it, or give the path that it leads to", err);
	case S_IFDIR:
		return refuse(t, "it is a folder", "add a file name", err);
	case S_IFIFO:
		return refuse(t, "a named pipe is there", elsewhere, err);
	case S_IFSOCK:
		return refuse(t, "a socket is there", elsewhere, err);
	default:
		return refuse(t, "a device is there", elsewhere, err);
	}
}

isc_status isc_output_target_check_fd(const isc_output_target *t, int fd, isc_error *err)
{
	char head[ISC_OUTPUT_HEAD];
	size_t len = 0;

	if (t->force)
		return ISC_OK;
	while (fd >= 0 && len < sizeof(head)) {
		ssize_t n = pread(fd, head + len, sizeof(head) - len, (off_t)len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		len += (size_t)n;
	}
	if (fd >= 0 && t->is_ours != NULL && t->is_ours(head, len))
		return ISC_OK;
	return refuse(t, "a file is there that InferScope did not write",
		      "move it away, choose another path, or add --force", err);
}

isc_status isc_output_target_check(const isc_output_target *t, bool *exists, isc_error *err)
{
	struct stat sb, folder;
	isc_status st;
	int fd;

	if (exists != NULL)
		*exists = false;
	if (fstatat(t->dir_fd, t->name, &sb, AT_SYMLINK_NOFOLLOW) < 0) {
		if (errno == ENOENT)
			return ISC_OK;
		return isc_output_target_fail(t, "cannot write", err);
	}
	st = check_kind(t, &sb, err);
	if (st != ISC_OK)
		return st;
	/* In /tmp and the like a file of someone else can be read but not replaced. */
	if (fstat(t->dir_fd, &folder) == 0 && folder.st_mode & S_ISVTX && geteuid() != 0 && sb.st_uid != geteuid() &&
	    folder.st_uid != geteuid())
		return refuse(t, "the file there belongs to another user", "choose another path", err);
	/* O_NONBLOCK: it may have become a pipe since, which would wait for a writer. */
	fd = openat(t->dir_fd, t->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && (fstat(fd, &sb) < 0 || !S_ISREG(sb.st_mode))) {
		close(fd);
		fd = -1;
	}
	st = isc_output_target_check_fd(t, fd, err);
	if (fd >= 0)
		close(fd);
	if (st == ISC_OK && exists != NULL)
		*exists = true;
	return st;
}

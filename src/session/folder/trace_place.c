#include "session/folder/trace_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "trace/format.h"

static enum isc_trace_place place_by_errno(void)
{
	return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? ISC_TRACE_GONE : ISC_TRACE_UNKNOWN;
}

static bool is_trace_of(int fd, const uint8_t session_id[16])
{
	isc_file_header h;

	return pread(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h) && isc_trace_is_ours(h.magic, sizeof(h.magic)) &&
	       memcmp(h.session_id, session_id, sizeof(h.session_id)) == 0;
}

enum isc_trace_place isc_trace_place_folder(const char *path, int *dir)
{
	char folder[PATH_MAX];

	*dir = -1;
	if (path[0] != '/' || !isc_path_folder(path, folder, sizeof(folder)))
		return ISC_TRACE_GONE;
	*dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return *dir >= 0 ? ISC_TRACE_THERE : place_by_errno();
}

enum isc_trace_place isc_trace_place_file(int dir, const char *path, const uint8_t session_id[16], int mode, int *fd)
{
	const char *name = isc_path_name(path);
	enum isc_trace_place place;
	struct stat sb;

	*fd = -1;
	/* Looked at first: to open a device can do something. */
	if (fstatat(dir, name, &sb, AT_SYMLINK_NOFOLLOW) < 0)
		return place_by_errno();
	if (!S_ISREG(sb.st_mode))
		return ISC_TRACE_GONE;
	*fd = openat(dir, name, mode | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	if (*fd < 0)
		return place_by_errno();
	if (fstat(*fd, &sb) < 0 || !S_ISREG(sb.st_mode) || !is_trace_of(*fd, session_id))
		place = ISC_TRACE_GONE;
	else if (sb.st_uid != geteuid()) /* given away since */
		place = ISC_TRACE_UNKNOWN;
	else
		return ISC_TRACE_THERE;
	close(*fd);
	*fd = -1;
	return place;
}

bool isc_trace_place_is(int dir, const char *folder)
{
	struct stat one, other;

	return fstat(dir, &one) == 0 && stat(folder, &other) == 0 && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

#include "session/folder/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

isc_seal isc_seal_of(const uint8_t session_id[16])
{
	isc_seal seal = {.magic = ISC_SEAL_MAGIC};

	memcpy(seal.session_id, session_id, sizeof(seal.session_id));
	return seal;
}

int isc_seal_make(int dir, const char *name, size_t size, size_t seal_at, const isc_seal *seal)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int failed = 0;

	if (fd < 0)
		return -1;
	/* A write that is cut short has met a limit or the end of the disk. */
	errno = ENOSPC;
	if (pwrite(fd, seal, sizeof(*seal), (off_t)seal_at) != (ssize_t)sizeof(*seal))
		failed = errno;
	else if (size > 0)
		failed = posix_fallocate(fd, 0, (off_t)size);
	if (failed != 0) {
		close(fd);
		unlinkat(dir, name, 0);
		errno = failed;
		return -1;
	}
	return fd;
}

static bool is_plain(const struct stat *sb)
{
	return S_ISREG(sb->st_mode) && sb->st_uid == geteuid() && sb->st_nlink == 1;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The open file, and in *sb which one it is. */
static int open_ours(int dir, const char *name, int mode, size_t seal_at, const isc_seal *seal, isc_seal *found,
		     struct stat *sb)
{
	isc_seal read;
	int fd;

	/* Looked at first: to open a device can do something. */
	if (fstatat(dir, name, sb, AT_SYMLINK_NOFOLLOW) < 0 || !is_plain(sb))
		return -1;
	fd = openat(dir, name, mode | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -1;
	if (fstat(fd, sb) == 0 && is_plain(sb) &&
	    pread(fd, &read, sizeof(read), (off_t)seal_at) == (ssize_t)sizeof(read) && read.magic == ISC_SEAL_MAGIC &&
	    (seal == NULL || memcmp(&read, seal, sizeof(read)) == 0)) {
		if (found != NULL)
			*found = read;
		return fd;
	}
	close(fd);
	return -1;
}

int isc_seal_open(int dir, const char *name, size_t seal_at, const isc_seal *seal, isc_seal *found)
{
	struct stat sb;

	return open_ours(dir, name, O_RDWR, seal_at, seal, found, &sb);
}

bool isc_seal_remove(int dir, const char *name, size_t seal_at, const isc_seal *seal)
{
	struct stat ours, named;
	int fd = open_ours(dir, name, O_RDONLY, seal_at, seal, NULL, &ours);
	bool removed;

	if (fd < 0)
		return false;
	/* While it is open nothing else can have its number. */
	removed = fstatat(dir, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && same_file(&ours, &named) &&
		  unlinkat(dir, name, 0) == 0;
	close(fd);
	return removed;
}

bool isc_seal_pool_name(const char *name, char letter, uint32_t *pid_out, uint64_t *gen_out)
{
	uint64_t pid = 0, gen = 0;
	const char *at = name;

	if (*at++ != letter || *at == '0' || *at == '.')
		return false;
	for (; *at >= '0' && *at <= '9' && pid <= INT32_MAX; at++)
		pid = pid * 10 + (uint64_t)(*at - '0');
	if (pid > INT32_MAX || *at++ != '.' || *at == '0' || *at == '\0' || strlen(at) > 16)
		return false;
	for (; *at != '\0'; at++) {
		const char *digit = strchr("0123456789abcdef", *at);

		if (digit == NULL)
			return false;
		gen = gen << 4 | (uint64_t)(digit - "0123456789abcdef");
	}
	*pid_out = (uint32_t)pid;
	*gen_out = gen;
	return true;
}

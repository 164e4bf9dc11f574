/*
 * files.c - hooks on opening, reading, writing, syncing and locking files; descriptors.c has the end of them.
 *
 * The names with _chk and _2 are what a program built with FORTIFY calls; they
 * are forwarded under the same name, so their checks stay.  On 64-bit Linux a
 * name with 64 is the same function, but a program may call either.
 */
#include "collect/hooks/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "collect/hooks/channel.h"
#include "collect/hooks/syscall.h"

/* Only with these flags is there a mode behind them. */
static inline int has_mode(int flags)
{
	return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

#define MODE_BEHIND(flags, mode) \
	do { \
		if (has_mode(flags)) { \
			va_list rest; \
			va_start(rest, flags); \
			mode = va_arg(rest, mode_t); \
			va_end(rest); \
		} \
	} while (0)

ISC_HOOK int open(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_BEHIND(flags, mode);
	ISC_SYSCALL(openat, ISC_SYSCALL_NO_WAIT, int, ISC_REAL(open)(path, flags, mode), ISC_OF_PATH(path));
}

ISC_HOOK int open64(const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_BEHIND(flags, mode);
	ISC_SYSCALL(openat, ISC_SYSCALL_NO_WAIT, int, ISC_REAL(open64)(path, flags, mode), ISC_OF_PATH(path));
}

ISC_HOOK int openat(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_BEHIND(flags, mode);
	ISC_SYSCALL(openat, ISC_SYSCALL_NO_WAIT, int, ISC_REAL(openat)(dir, path, flags, mode), ISC_OF_PATH(path));
}

ISC_HOOK int openat64(int dir, const char *path, int flags, ...)
{
	mode_t mode = 0;

	MODE_BEHIND(flags, mode);
	ISC_SYSCALL(openat, ISC_SYSCALL_NO_WAIT, int, ISC_REAL(openat64)(dir, path, flags, mode), ISC_OF_PATH(path));
}

ISC_HOOK int __open_2(const char *path, int flags)
{
	ISC_SYSCALL(openat, ISC_SYSCALL_NO_WAIT, int, ISC_REAL(__open_2)(path, flags), ISC_OF_PATH(path));
}

ISC_HOOK int __open64_2(const char *path, int flags)
{
	ISC_SYSCALL(openat, ISC_SYSCALL_NO_WAIT, int, ISC_REAL(__open64_2)(path, flags), ISC_OF_PATH(path));
}

ISC_HOOK int __openat_2(int dir, const char *path, int flags)
{
	ISC_SYSCALL(openat, ISC_SYSCALL_NO_WAIT, int, ISC_REAL(__openat_2)(dir, path, flags), ISC_OF_PATH(path));
}

ISC_HOOK int __openat64_2(int dir, const char *path, int flags)
{
	ISC_SYSCALL(openat, ISC_SYSCALL_NO_WAIT, int, ISC_REAL(__openat64_2)(dir, path, flags), ISC_OF_PATH(path));
}

ISC_HOOK ssize_t read(int fd, void *buf, size_t len)
{
	ISC_SYSCALL_MOVES(read, ISC_WAIT_READ, ssize_t, ISC_REAL(read)(fd, buf, len), fd);
}

ISC_HOOK ssize_t __read_chk(int fd, void *buf, size_t len, size_t room)
{
	ISC_SYSCALL_MOVES(read, ISC_WAIT_READ, ssize_t, ISC_REAL(__read_chk)(fd, buf, len, room), fd);
}

ISC_HOOK ssize_t readv(int fd, const struct iovec *parts, int n)
{
	ISC_SYSCALL_MOVES(readv, ISC_WAIT_READ, ssize_t, ISC_REAL(readv)(fd, parts, n), fd);
}

ISC_HOOK ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
	ISC_SYSCALL_MOVES(pread64, ISC_WAIT_READ, ssize_t, ISC_REAL(pread)(fd, buf, len, at), fd);
}

ISC_HOOK ssize_t pread64(int fd, void *buf, size_t len, off64_t at)
{
	ISC_SYSCALL_MOVES(pread64, ISC_WAIT_READ, ssize_t, ISC_REAL(pread64)(fd, buf, len, at), fd);
}

ISC_HOOK ssize_t __pread_chk(int fd, void *buf, size_t len, off_t at, size_t room)
{
	ISC_SYSCALL_MOVES(pread64, ISC_WAIT_READ, ssize_t, ISC_REAL(__pread_chk)(fd, buf, len, at, room), fd);
}

ISC_HOOK ssize_t __pread64_chk(int fd, void *buf, size_t len, off64_t at, size_t room)
{
	ISC_SYSCALL_MOVES(pread64, ISC_WAIT_READ, ssize_t, ISC_REAL(__pread64_chk)(fd, buf, len, at, room), fd);
}

ISC_HOOK ssize_t preadv(int fd, const struct iovec *parts, int n, off_t at)
{
	ISC_SYSCALL_MOVES(preadv, ISC_WAIT_READ, ssize_t, ISC_REAL(preadv)(fd, parts, n, at), fd);
}

ISC_HOOK ssize_t preadv64(int fd, const struct iovec *parts, int n, off64_t at)
{
	ISC_SYSCALL_MOVES(preadv, ISC_WAIT_READ, ssize_t, ISC_REAL(preadv64)(fd, parts, n, at), fd);
}

ISC_HOOK ssize_t preadv2(int fd, const struct iovec *parts, int n, off_t at, int flags)
{
	ISC_SYSCALL_MOVES(preadv2, ISC_WAIT_READ, ssize_t, ISC_REAL(preadv2)(fd, parts, n, at, flags), fd);
}

ISC_HOOK ssize_t preadv64v2(int fd, const struct iovec *parts, int n, off64_t at, int flags)
{
	ISC_SYSCALL_MOVES(preadv2, ISC_WAIT_READ, ssize_t, ISC_REAL(preadv64v2)(fd, parts, n, at, flags), fd);
}

ISC_HOOK ssize_t write(int fd, const void *buf, size_t len)
{
	ISC_SYSCALL_MOVES(write, ISC_WAIT_WRITE, ssize_t, ISC_REAL(write)(fd, buf, len), fd);
}

ISC_HOOK ssize_t writev(int fd, const struct iovec *parts, int n)
{
	ISC_SYSCALL_MOVES(writev, ISC_WAIT_WRITE, ssize_t, ISC_REAL(writev)(fd, parts, n), fd);
}

ISC_HOOK ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
	ISC_SYSCALL_MOVES(pwrite64, ISC_WAIT_WRITE, ssize_t, ISC_REAL(pwrite)(fd, buf, len, at), fd);
}

ISC_HOOK ssize_t pwrite64(int fd, const void *buf, size_t len, off64_t at)
{
	ISC_SYSCALL_MOVES(pwrite64, ISC_WAIT_WRITE, ssize_t, ISC_REAL(pwrite64)(fd, buf, len, at), fd);
}

ISC_HOOK ssize_t pwritev(int fd, const struct iovec *parts, int n, off_t at)
{
	ISC_SYSCALL_MOVES(pwritev, ISC_WAIT_WRITE, ssize_t, ISC_REAL(pwritev)(fd, parts, n, at), fd);
}

ISC_HOOK ssize_t pwritev64(int fd, const struct iovec *parts, int n, off64_t at)
{
	ISC_SYSCALL_MOVES(pwritev, ISC_WAIT_WRITE, ssize_t, ISC_REAL(pwritev64)(fd, parts, n, at), fd);
}

ISC_HOOK ssize_t pwritev2(int fd, const struct iovec *parts, int n, off_t at, int flags)
{
	ISC_SYSCALL_MOVES(pwritev2, ISC_WAIT_WRITE, ssize_t, ISC_REAL(pwritev2)(fd, parts, n, at, flags), fd);
}

ISC_HOOK ssize_t pwritev64v2(int fd, const struct iovec *parts, int n, off64_t at, int flags)
{
	ISC_SYSCALL_MOVES(pwritev2, ISC_WAIT_WRITE, ssize_t, ISC_REAL(pwritev64v2)(fd, parts, n, at, flags), fd);
}

ISC_HOOK ssize_t sendfile(int out, int in, off_t *at, size_t len)
{
	ISC_SYSCALL_MOVES(sendfile, ISC_WAIT_WRITE, ssize_t, ISC_REAL(sendfile)(out, in, at, len), out);
}

ISC_HOOK ssize_t sendfile64(int out, int in, off64_t *at, size_t len)
{
	ISC_SYSCALL_MOVES(sendfile, ISC_WAIT_WRITE, ssize_t, ISC_REAL(sendfile64)(out, in, at, len), out);
}

static inline ssize_t move(int in, off64_t *in_at, int out, off64_t *out_at, size_t len, unsigned int flags)
{
	ISC_SYSCALL_MOVES(splice, ISC_WAIT_WRITE, ssize_t, ISC_REAL(splice)(in, in_at, out, out_at, len, flags), in);
}

/* Of two descriptors: what came out of the one went into the other. */
ISC_HOOK ssize_t splice(int in, off64_t *in_at, int out, off64_t *out_at, size_t len, unsigned int flags)
{
	uint64_t begin = isc_syscall_enter(ISC_SYSCALL_NO_WAIT);
	ssize_t moved = move(in, in_at, out, out_at, len, flags);

	if (begin != 0 && moved > 0)
		isc_channel_moved(out, ISC_CHANNEL_SENT, begin, isc_ticks(), (uint64_t)moved);
	return moved;
}

ISC_HOOK int fsync(int fd)
{
	ISC_SYSCALL(fsync, ISC_WAIT_SYNC, int, ISC_REAL(fsync)(fd), ISC_OF_FD(fd));
}

ISC_HOOK int fdatasync(int fd)
{
	ISC_SYSCALL(fdatasync, ISC_WAIT_SYNC, int, ISC_REAL(fdatasync)(fd), ISC_OF_FD(fd));
}

/* Shared or not, held by whoever has the file open: a lock as any other. */
ISC_HOOK int flock(int fd, int operation)
{
	enum isc_wait_call wait = (operation & (LOCK_NB | LOCK_UN)) == 0 ? ISC_WAIT_RWLOCK : ISC_SYSCALL_NO_WAIT;

	ISC_SYSCALL(flock, wait, int, ISC_REAL(flock)(fd, operation), ISC_OF_FD(fd));
}

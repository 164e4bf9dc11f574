#include "base/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/output_target.h"

struct isc_output {
	isc_output_target target;
	char temp[48]; /* in the same folder; "" while there is none */
	int fd;	       /* of the temporary file, or -1 */
	isc_output *next;
};

/* Those that are open; what a handler may find, so each step leaves it whole. */
static isc_output *volatile all;

isc_status isc_output_open(const char *path, bool force, isc_output_is_ours is_ours, isc_output **out, isc_error *err)
{
	isc_output *o = calloc(1, sizeof(*o));
	isc_status st;

	*out = NULL;
	if (o == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to open %s", path);
	o->fd = -1;
	st = isc_output_target_open(&o->target, path, force, is_ours, err);
	if (st == ISC_OK)
		st = isc_output_target_check(&o->target, NULL, err);
	if (st != ISC_OK) {
		isc_output_close(o);
		return st;
	}
	o->next = all;
	all = o;
	*out = o;
	return ISC_OK;
}

/* The name cannot be guessed, so that nobody can lie in wait for it. */
static isc_status make_temp(isc_output *o, isc_error *err)
{
	for (int tries = 0; tries < 16; tries++) {
		uint64_t random[2];

		if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return isc_fail_errno(err, "cannot name a temporary file for %s", o->target.path);
		snprintf(o->temp, sizeof(o->temp), ".inferscope-%016llx%08llx", (unsigned long long)random[0],
			 (unsigned long long)(random[1] & 0xffffffffu));
		o->fd = openat(o->target.dir_fd, o->temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (o->fd >= 0)
			return ISC_OK;
		if (errno != EEXIST)
			break;
	}
	o->temp[0] = 0;
	return isc_output_target_fail(&o->target, "cannot write", err);
}

isc_status isc_output_write(isc_output *o, const void *data, size_t len, isc_error *err)
{
	const char *at = data;

	if (o->fd < 0) {
		isc_status st = make_temp(o, err);

		if (st != ISC_OK)
			return st;
	}
	while (len > 0) {
		ssize_t n = write(o->fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return isc_output_target_fail(&o->target, "cannot write", err);
		at += n;
		len -= (size_t)n;
	}
	return ISC_OK;
}

/* Where nothing was, nothing may be replaced: what came in the meantime is not ours. */
static int put_new(isc_output *o)
{
	int dir = o->target.dir_fd;

	if (renameat2(dir, o->temp, dir, o->target.name, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	/* A file system without that flag: a link fails too when the name is taken. */
	if (linkat(dir, o->temp, dir, o->target.name, 0) < 0)
		return -1;
	return unlinkat(dir, o->temp, 0);
}

isc_status isc_output_commit(isc_output *o, isc_error *err)
{
	bool exists;
	isc_status st = isc_output_write(o, "", 0, err); /* an empty file is a file too */
	int put;

	if (st == ISC_OK)
		st = isc_output_target_check(&o->target, &exists, err);
	if (st != ISC_OK)
		return st;
	/* Network file systems tell of a full disk only here. */
	put = close(o->fd);
	o->fd = -1;
	if (put == 0)
		put = exists ? renameat(o->target.dir_fd, o->temp, o->target.dir_fd, o->target.name) : put_new(o);
	if (put < 0)
		return isc_output_target_fail(&o->target, "cannot write", err);
	o->temp[0] = 0;
	return ISC_OK;
}

/* Out of the list of all; not there when it was never opened. */
static void forget(const isc_output *o)
{
	isc_output *before = all;

	if (before == o) {
		all = o->next;
		return;
	}
	while (before != NULL && before->next != o)
		before = before->next;
	if (before != NULL)
		before->next = o->next;
}

void isc_output_drop_all(void)
{
	for (const isc_output *o = all; o != NULL; o = o->next)
		if (o->temp[0])
			unlinkat(o->target.dir_fd, o->temp, 0);
}

void isc_output_close(isc_output *o)
{
	if (o == NULL)
		return;
	if (o->fd >= 0)
		close(o->fd);
	if (o->temp[0])
		unlinkat(o->target.dir_fd, o->temp, 0);
	forget(o);
	isc_output_target_close(&o->target);
	free(o);
}

isc_status isc_output_check(const char *path, bool force, isc_output_is_ours is_ours, isc_error *err)
{
	isc_output *o;
	isc_status st = isc_output_open(path, force, is_ours, &o, err);

	isc_output_close(o);
	return st;
}

isc_status isc_output_save(const char *path, bool force, isc_output_is_ours is_ours, const void *data, size_t len,
			   isc_error *err)
{
	isc_output *o;
	isc_status st = isc_output_open(path, force, is_ours, &o, err);

	if (st == ISC_OK)
		st = isc_output_write(o, data, len, err);
	if (st == ISC_OK)
		st = isc_output_commit(o, err);
	isc_output_close(o);
	return st;
}

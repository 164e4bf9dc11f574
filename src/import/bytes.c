#include "import/bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define INPUT_BYTES (256u << 10)
#define HEAD_BYTES 4096u
#define WINDOW_GZIP (15 + 16)

struct isc_bytes {
	int fd;
	bool own;
	char *path;
	char head[HEAD_BYTES];
	size_t head_len, head_used;
	bool head_read;
	bool started, ended; /* inflating; nothing comes any more */
	bool file_ended;
	z_stream z;
	unsigned char *input;
	isc_bytes_stats stats;
};

isc_status isc_bytes_open_fd(int fd, const char *path, isc_bytes **out, isc_error *err)
{
	isc_bytes *b = calloc(1, sizeof(*b));
	struct stat sb;

	*out = NULL;
	if (b == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to read %.150s", path);
	b->fd = fd;
	b->path = strdup(path);
	b->input = malloc(INPUT_BYTES);
	if (b->path == NULL || b->input == NULL) {
		isc_bytes_close(b);
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to read %.150s", path);
	}
	if (fstat(fd, &sb) == 0 && S_ISREG(sb.st_mode))
		b->stats.file_bytes = (uint64_t)sb.st_size;
	*out = b;
	return ISC_OK;
}

isc_status isc_bytes_open(const char *path, isc_bytes **out, isc_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	isc_status st;

	*out = NULL;
	if (fd < 0)
		return isc_fail_errno(err, "cannot open trace %.150s", path);
	st = isc_bytes_open_fd(fd, path, out, err);
	if (st == ISC_OK)
		(*out)->own = true;
	else
		close(fd);
	return st;
}

void isc_bytes_close(isc_bytes *b)
{
	if (b == NULL)
		return;
	if (b->started)
		inflateEnd(&b->z);
	if (b->own)
		close(b->fd);
	free(b->path);
	free(b->input);
	free(b);
}

static isc_status read_file(isc_bytes *b, void *at, size_t room, size_t *got, isc_error *err)
{
	ssize_t n;

	do {
		n = read(b->fd, at, room);
	} while (n < 0 && errno == EINTR);
	*got = n > 0 ? (size_t)n : 0;
	b->file_ended |= n == 0;
	b->stats.read_bytes += *got;
	return n < 0 ? isc_fail_errno(err, "cannot read %.150s", b->path) : ISC_OK;
}

static isc_status fill_input(isc_bytes *b, isc_error *err)
{
	size_t got = 0;
	isc_status st = ISC_OK;

	if (b->z.avail_in > 0 || b->file_ended)
		return ISC_OK;
	st = read_file(b, b->input, INPUT_BYTES, &got, err);
	b->z.next_in = b->input;
	b->z.avail_in = (uInt)got;
	return st;
}

static void note_damage(isc_bytes *b)
{
	if (b->stats.damages++ == 0)
		b->stats.first_damage = b->stats.read_bytes - b->z.avail_in;
}

/* From here to the next beginning of a member, or to the end. */
static isc_status find_member(isc_bytes *b, isc_error *err)
{
	unsigned matched = 0;
	static const unsigned char magic[3] = {0x1f, 0x8b, 0x08};
	isc_status st = ISC_OK;

	while (matched < 3) {
		st = fill_input(b, err);
		if (st != ISC_OK || b->z.avail_in == 0) {
			b->stats.lost_bytes += matched;
			b->ended = true;
			return st;
		}
		if (*b->z.next_in == magic[matched]) {
			matched++;
		} else {
			b->stats.lost_bytes += matched + (*b->z.next_in != magic[0]);
			matched = *b->z.next_in == magic[0];
		}
		b->z.next_in++;
		b->z.avail_in--;
	}
	if (inflateReset2(&b->z, -15) != Z_OK) {
		b->ended = true;
		return ISC_OK;
	}
	/* The magic may be split over two reads, so the rest of the header is taken by hand: without
	 * flags, as every writer of traces leaves it. */
	for (unsigned i = 0; i < 7; i++) {
		st = fill_input(b, err);
		if (st != ISC_OK || b->z.avail_in == 0) {
			b->ended = true;
			return st;
		}
		if (i == 0 && *b->z.next_in != 0)
			return ISC_OK; /* wrong from the first byte: the next search begins here */
		b->z.next_in++;
		b->z.avail_in--;
	}
	return ISC_OK;
}

/* A member has ended: another one follows, or padding, or what does not belong there. */
static isc_status next_member(isc_bytes *b, isc_error *err)
{
	isc_status st = fill_input(b, err);

	while (st == ISC_OK && b->z.avail_in > 0 && *b->z.next_in == 0) {
		b->z.next_in++;
		b->z.avail_in--;
		st = fill_input(b, err);
	}
	if (st != ISC_OK || b->z.avail_in == 0) {
		b->ended = true;
		return st;
	}
	if (*b->z.next_in == 0x1f)
		return inflateReset2(&b->z, WINDOW_GZIP) == Z_OK ? ISC_OK
								 : isc_fail(err, ISC_ERR_NOMEM, "no memory to unpack");
	note_damage(b);
	return find_member(b, err);
}

static bool too_large(isc_bytes *b, size_t got)
{
	uint64_t used = b->stats.read_bytes - b->z.avail_in;

	return b->stats.given_bytes + got > ISC_BYTES_RATIO_FREE &&
	       (b->stats.given_bytes + got) / ISC_BYTES_RATIO_MOST > used;
}

static isc_status unpack(isc_bytes *b, char *at, size_t room, size_t *got, isc_error *err)
{
	*got = 0;
	while (*got == 0 && !b->ended) {
		isc_status st = fill_input(b, err);
		int result;

		if (st != ISC_OK)
			return st;
		if (b->z.avail_in == 0) {
			b->stats.cut = true;
			b->ended = true;
			break;
		}
		b->z.next_out = (unsigned char *)at;
		b->z.avail_out = (uInt)room;
		result = inflate(&b->z, Z_NO_FLUSH);
		*got = room - b->z.avail_out;
		if (too_large(b, *got)) {
			b->stats.bomb = b->ended = true;
			*got = 0;
		} else if (result == Z_STREAM_END) {
			st = next_member(b, err);
		} else if (result == Z_MEM_ERROR) {
			st = isc_fail(err, ISC_ERR_NOMEM, "no memory to unpack %.150s", b->path);
		} else if (result != Z_OK && result != Z_BUF_ERROR) {
			note_damage(b);
			st = find_member(b, err);
		}
		if (st != ISC_OK)
			return st;
	}
	return ISC_OK;
}

static isc_status start(isc_bytes *b, const char *head, size_t len, isc_error *err)
{
	b->stats.packed = len >= 3 && (unsigned char)head[0] == 0x1f && (unsigned char)head[1] == 0x8b && head[2] == 8;
	if (!b->stats.packed)
		return ISC_OK;
	memcpy(b->input, head, len);
	b->z.next_in = b->input;
	b->z.avail_in = (uInt)len;
	if (inflateInit2(&b->z, WINDOW_GZIP) != Z_OK)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to unpack %.150s", b->path);
	b->started = true;
	return ISC_OK;
}

static isc_status fill_head(isc_bytes *b, isc_error *err)
{
	isc_status st = ISC_OK;
	size_t got = 1, len = 0;

	if (b->head_read)
		return ISC_OK;
	b->head_read = true;
	while (st == ISC_OK && got > 0 && len < HEAD_BYTES) {
		st = read_file(b, b->head + len, HEAD_BYTES - len, &got, err);
		len += got;
	}
	if (st == ISC_OK)
		st = start(b, b->head, len, err);
	if (!b->stats.packed) {
		b->head_len = len;
		return st;
	}
	for (got = 1; st == ISC_OK && got > 0 && b->head_len < HEAD_BYTES; b->head_len += got)
		st = unpack(b, b->head + b->head_len, HEAD_BYTES - b->head_len, &got, err);
	return st;
}

isc_status isc_bytes_peek(isc_bytes *b, const char **at, size_t *len, isc_error *err)
{
	isc_status st = fill_head(b, err);

	*at = b->head;
	*len = b->head_len;
	return st;
}

isc_status isc_bytes_read(isc_bytes *b, char *at, size_t room, size_t *got, isc_error *err)
{
	isc_status st = fill_head(b, err);

	*got = 0;
	if (st != ISC_OK || room == 0)
		return st;
	if (b->head_used < b->head_len) {
		*got = b->head_len - b->head_used < room ? b->head_len - b->head_used : room;
		memcpy(at, b->head + b->head_used, *got);
		b->head_used += *got;
	} else if (b->stats.packed) {
		st = unpack(b, at, room, got, err);
	} else if (!b->file_ended) {
		st = read_file(b, at, room, got, err);
	}
	b->stats.given_bytes += *got;
	return st;
}

const isc_bytes_stats *isc_bytes_stats_get(const isc_bytes *b)
{
	return &b->stats;
}

/*
 * fuzz_trace_reader.c - the trace reader on any bytes, and exports of what it reads.
 *
 * Hashes would keep every damaged byte from the decoders, so an input that is
 * not a whole file is a row of chunks (header, payload) of which this target
 * makes a file with right hashes: what a header claims and a payload says is
 * still the input's.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "export_fuzz.h"
#include "trace/file/chunk.h"
#include "trace/dump/dump.h"
#include "trace/opened.h"
#include "trace/writer.h"

#define FILE_MAX (4096u + (1u << 20))

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t image[FILE_MAX];
static int fd = -1;

/* The bytes of the payload stay, its size and hash are made to fit. */
static size_t build(const uint8_t *data, size_t size)
{
	isc_file_header file = {.version = ISC_FILE_VERSION,
				.header_size = sizeof(file),
				.segment_size = 256u << 10,
				.segment_start = 4096,
				.start_ns = 1000};
	isc_codec_state codec = {0};
	size_t at = 4096;

	memset(image, 0, sizeof(image));
	if (size > 0) {
		file.clock_source = data[0] & 1;
		file.tick_shift = data[0] >> 1 & 7;
		file.limit_bytes = data[0] & 16 ? 1 << 20 : 0;
		data++;
		size--;
	}
	isc_file_header_seal(&file);
	memcpy(image, &file, sizeof(file));
	while (size >= sizeof(isc_chunk_header)) {
		isc_chunk_header h, packed;
		const void *stored;

		memcpy(&h, data, sizeof(h));
		data += sizeof(h);
		size -= sizeof(h);
		if (h.stored_size > size)
			h.stored_size = (uint32_t)size;
		/* Packed if the input asks for it; otherwise as it stands. */
		packed = h;
		stored = data;
		packed.codec = ISC_CODEC_RAW;
		packed.raw_size = h.stored_size;
		if (h.codec == ISC_CODEC_ZSTD)
			stored = isc_codec_pack(&codec, &packed, data, h.stored_size);
		data += h.stored_size;
		size -= h.stored_size;
		if (at + isc_chunk_extent(packed.stored_size) > FILE_MAX)
			break;
		memcpy(image + at + sizeof(packed), stored, packed.stored_size);
		packed.hash = isc_codec_hash(image + at + sizeof(packed), packed.stored_size);
		isc_chunk_seal(&packed);
		memcpy(image + at, &packed, sizeof(packed));
		at += isc_chunk_extent(packed.stored_size);
	}
	isc_codec_fini(&codec);
	return at;
}

/* In one format, whole and a piece, that the end of the input chooses. */
static void export_some(isc_trace *tr, const uint8_t *data, size_t size)
{
	isc_export_options options = {.format = size > 0 ? data[size - 1] % ISC_EXPORT_FORMATS : 0};

	export_check(tr, &options);
	if (size < 4)
		return;
	options.from_us = data[size - 2];
	options.to_us = options.from_us + 1 + data[size - 3];
	options.scope = data[size - 4] % 4 == 0 ? "request" : NULL;
	export_check(tr, &options);
}

/* Totals of moments that the file names and of others, and what lies between them. */
static void subtract_some(isc_trace *tr)
{
	isc_totals *later = NULL, *earlier = NULL;
	const isc_trace_snapshot *s;

	if (isc_trace_totals(tr, &later, NULL) != ISC_OK)
		return;
	for (size_t i = 0; (s = isc_trace_snapshot_at(tr, i)) != NULL && i < 4; i++) {
		if (isc_trace_totals_until(tr, s->ticks + (i & 1) * 4096, &earlier, NULL) == ISC_OK) {
			isc_totals_settle(earlier, NULL, NULL);
			isc_totals_less(later, earlier);
		}
		isc_totals_free(earlier);
	}
	isc_totals_free(later);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *sink;
	const struct timespec old[2] = {{1, 0}, {1, 0}}; /* at rest: the reader waits for nobody */
	const isc_dump_options options = {.definitions = true};
	size_t len = size < FILE_MAX ? size : FILE_MAX;
	isc_writer *w;
	isc_trace *tr;
	int copy;

	if (fd < 0)
		fd = memfd_create("trace", MFD_CLOEXEC);
	if (sink == NULL)
		sink = fopen("/dev/null", "we");
	if (fd < 0 || sink == NULL)
		return 0;
	if (size >= 8 && memcmp(data, ISC_FILE_MAGIC, 8) == 0)
		memcpy(image, data, len);
	else
		len = build(data, size);
	if (ftruncate(fd, 0) != 0 || pwrite(fd, image, len, 0) != (ssize_t)len || futimens(fd, old) != 0)
		return 0;
	if (isc_trace_open_fd(fd, "input", &tr, NULL) == ISC_OK) {
		isc_dump_write(tr, &options, sink, NULL);
		export_some(tr, data, size);
		subtract_some(tr);
		isc_trace_close(tr);
	}
	/* A recorder that takes over has to cope with the same file. */
	copy = dup(fd);
	if (copy >= 0 && isc_writer_resume(copy, &w, NULL) == ISC_OK)
		isc_writer_close(w, NULL, NULL);
	else if (copy >= 0)
		close(copy);
	return 0;
}

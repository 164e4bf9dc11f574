#include "import/import.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/temporary.h"
#include "base/units.h"
#include "import/bytes.h"
#include "import/reader.h"
#include "import/splitter.h"
#include "trace/format.h"

#define SQLITE_MAGIC "SQLite format 3"
#define HEAD_BYTES 4096u	  /* that are looked at, of a file that has them */
#define FOLDER_MOST 4096u	  /* files of a folder */
#define PROGRESS_BYTES (4u << 20) /* between two steps of it */

/* ---- which format ---- */

static enum isc_import_format format_of(const char *head, size_t len)
{
	size_t at = len >= 3 && memcmp(head, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	if (len >= sizeof(SQLITE_MAGIC) && memcmp(head, SQLITE_MAGIC, sizeof(SQLITE_MAGIC)) == 0)
		return ISC_IMPORT_SQLITE;
	if (len >= 8 && memcmp(head, ISC_FILE_MAGIC, 8) == 0)
		return ISC_IMPORT_ISC;
	while (at < len && (head[at] == ' ' || head[at] == '\n' || head[at] == '\t' || head[at] == '\r'))
		at++;
	if (at < len && (head[at] == '{' || head[at] == '['))
		return ISC_IMPORT_JSON;
	return isc_collapsed_is(head + at, len - at, len < HEAD_BYTES) ? ISC_IMPORT_STACKS : ISC_IMPORT_UNKNOWN;
}

/* A trace of another tool, which can be read. */
static bool is_foreign(enum isc_import_format format)
{
	return format == ISC_IMPORT_JSON || format == ISC_IMPORT_SQLITE || format == ISC_IMPORT_STACKS;
}

/* What Nsight Systems writes by itself: of a format that only it knows.  Told by its ending. */
static bool is_nsys_report(const char *path)
{
	static const char *const endings[] = {".nsys-rep", ".qdrep", ".qdstrm"};
	size_t len = strlen(path);

	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		size_t n = strlen(endings[i]);

		if (len > n && strcmp(path + len - n, endings[i]) == 0)
			return true;
	}
	return false;
}

static bool is_folder(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0 && S_ISDIR(sb.st_mode);
}

static bool is_file(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0 && S_ISREG(sb.st_mode);
}

isc_status isc_import_sniff(const char *path, enum isc_import_format *format, isc_error *err)
{
	isc_bytes *bytes = NULL;
	const char *head = NULL;
	size_t len = 0;
	isc_status st;

	*format = ISC_IMPORT_UNKNOWN;
	if (is_folder(path)) {
		*format = ISC_IMPORT_FOLDER;
		return ISC_OK;
	}
	st = isc_bytes_open(path, &bytes, err);
	if (st == ISC_OK)
		st = isc_bytes_peek(bytes, &head, &len, err);
	if (st == ISC_OK)
		*format = format_of(head, len);
	if (st == ISC_OK && *format == ISC_IMPORT_UNKNOWN && is_nsys_report(path))
		*format = ISC_IMPORT_NSYS_REPORT;
	isc_bytes_close(bytes);
	return st;
}

/* ---- JSON ---- */

static void step(isc_import *import, const isc_bytes *bytes)
{
	if (import->progress != NULL)
		import->progress(import->progress_self, import->done_bytes + isc_bytes_stats_get(bytes)->read_bytes,
				 import->total_bytes);
}

static isc_status read_events(isc_import *import, isc_reader *r, isc_bytes *bytes, isc_splitter *splitter,
			      isc_error *err)
{
	uint64_t stepped = 0;
	isc_json_piece piece;
	bool more = true;
	isc_status st = isc_splitter_next(splitter, &piece, &more, err);

	while (st == ISC_OK && more) {
		if (piece.key != NULL)
			st = isc_chrome_member(r, piece.key, piece.value, err);
		else if (yyjson_obj_get(piece.value, "event_type") != NULL)
			st = isc_event_dictionary(r, piece.value, err);
		else
			st = isc_chrome_event(r, piece.value, err);
		r->file->events += piece.key == NULL;
		if (isc_bytes_stats_get(bytes)->given_bytes - stepped > PROGRESS_BYTES) {
			stepped = isc_bytes_stats_get(bytes)->given_bytes;
			step(import, bytes);
		}
		if (st == ISC_OK)
			st = isc_splitter_next(splitter, &piece, &more, err);
	}
	return st;
}

/* What was lost, and where, in one sentence. */
static void tell_damage(isc_import_file *file, const isc_bytes_stats *b, const isc_splitter_stats *s)
{
	isc_units n, at, places;

	file->bytes = b->given_bytes;
	file->damaged = s->damages > 0 || s->cut || b->damages > 0 || b->cut || b->bomb;
	if (!file->damaged)
		return;
	if (b->bomb)
		snprintf(file->lost, sizeof(file->lost), "it unpacks to over %u times its size: reading ended there",
			 ISC_BYTES_RATIO_MOST);
	else if (b->damages > 0)
		snprintf(file->lost, sizeof(file->lost),
			 "its packed data is wrong from byte %s on: %s bytes of it were stepped over%s",
			 isc_units_count(&at, b->first_damage), isc_units_count(&n, b->lost_bytes),
			 s->cut ? ", and the text breaks off" : "");
	else if (s->damages > 0)
		snprintf(file->lost, sizeof(file->lost), "%s bytes in %s %s could not be read, the first at byte %s%s",
			 isc_units_count(&n, s->lost_bytes), isc_units_count(&places, s->damages),
			 s->damages == 1 ? "place" : "places", isc_units_count(&at, s->first_damage),
			 s->cut ? ", and it breaks off" : "");
	else
		snprintf(file->lost, sizeof(file->lost), "it breaks off at byte %s%s, inside what begins at byte %s",
			 isc_units_count(&n, b->given_bytes), b->packed ? " of the unpacked text" : "",
			 isc_units_count(&at, s->first_damage));
}

static const char *json_format(const isc_import_file *file)
{
	return file->dictionaries ? "event JSON" : file->kineto ? "Kineto" : "Chrome JSON";
}

/* Entered, and never left. */
static void count_open(isc_reader *r)
{
	uint64_t key, place;
	size_t at = 0;

	while (isc_hashmap_next(&r->top, &at, &key, &place)) {
		for (; place != 0; place = r->open[place - 1].below)
			r->file->unmatched++;
	}
	at = 0;
	while (isc_hashmap_next(&r->arrows, &at, &key, &place))
		r->file->loose += (int64_t)place < 0 ? 0 - place : place;
}

static isc_status read_json(isc_import *import, isc_reader *r, isc_bytes *bytes, isc_error *err)
{
	isc_splitter *splitter = NULL;
	isc_status st = isc_splitter_new(bytes, &splitter, err);

	if (st == ISC_OK)
		st = read_events(import, r, bytes, splitter, err);
	if (st == ISC_OK) {
		tell_damage(r->file, isc_bytes_stats_get(bytes), isc_splitter_stats_get(splitter));
		r->file->format = json_format(r->file);
		count_open(r);
		if (!r->file->chrome && !r->file->dictionaries) {
			st = isc_fail(err, ISC_ERR_CORRUPT, "%.120s is JSON, but holds no events of a trace",
				      r->file->path);
			isc_hint(err, "give a trace of InferScope, torch.profiler or Nsight Systems");
		}
	}
	isc_splitter_free(splitter);
	return st;
}

/* ---- SQLite ---- */

#define COPY "copy.sqlite"

/* SQLite reads files with names: what is packed goes into a temporary one. */
static isc_status unpack(isc_bytes *bytes, const isc_temporary *folder, isc_error *err)
{
	char *buffer = malloc(256u << 10);
	isc_status st = ISC_OK;
	size_t got = 1;
	int fd;

	if (buffer == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to unpack");
	fd = isc_temporary_create(folder, COPY);
	if (fd < 0)
		st = isc_fail_errno(err, "cannot make a temporary file in %.100s", folder->path);
	while (st == ISC_OK && got > 0) {
		st = isc_bytes_read(bytes, buffer, 256u << 10, &got, err);
		for (size_t done = 0; st == ISC_OK && done < got;) {
			ssize_t n = write(fd, buffer + done, got - done);

			if (n > 0)
				done += (size_t)n;
			else if (errno != EINTR)
				st = isc_fail_errno(err, "cannot write a temporary file in %.100s", folder->path);
		}
	}
	if (fd >= 0)
		close(fd);
	free(buffer);
	return st;
}

static isc_status read_sqlite(isc_reader *r, isc_bytes *bytes, const char *path, isc_error *err)
{
	static const char *const made[] = {COPY, NULL};
	const isc_bytes_stats *stats = isc_bytes_stats_get(bytes);
	isc_splitter_stats none = {0};
	char copy[PATH_MAX + sizeof(COPY)];
	isc_temporary folder;
	isc_status st;

	r->file->format = "Nsight Systems";
	if (!stats->packed)
		return isc_nsys_read(r, path, err);
	st = isc_temporary_make(&folder, "inferscope", err);
	if (st == ISC_OK)
		st = unpack(bytes, &folder, err);
	if (st == ISC_ERR_SYSTEM)
		isc_hint(err, "set TMPDIR to a folder with room");
	if (st == ISC_OK) {
		snprintf(copy, sizeof(copy), "%s/" COPY, folder.path);
		st = isc_nsys_read(r, copy, err);
	}
	isc_temporary_remove(&folder, made);
	if (st == ISC_OK && !r->file->damaged)
		tell_damage(r->file, stats, &none);
	return st;
}

/* ---- stacks ---- */

static isc_status read_stacks(isc_reader *r, isc_bytes *bytes, enum isc_import_format format, isc_error *err)
{
	isc_splitter_stats none = {0};
	isc_status st =
		format == ISC_IMPORT_STACKS ? isc_collapsed_read(r, bytes, err) : isc_speedscope_read(r, bytes, err);

	if (st == ISC_OK) {
		tell_damage(r->file, isc_bytes_stats_get(bytes), &none);
		count_open(r);
		/* Samples alone have no time but what they stand for. */
		if (r->sampled && r->open_count == 0)
			isc_timeline_source_covers(r->timeline, r->source, 0, r->sampled_ns);
	}
	return st;
}

/* ---- files ---- */

static isc_import_file *add_file(isc_import *import, const char *path)
{
	isc_import_file *file;

	if (import->file_count == import->room) {
		size_t room = import->room > 0 ? import->room * 2 : 8;

		file = realloc(import->files, room * sizeof(*file));
		if (file == NULL)
			return NULL;
		import->files = file;
		import->room = room;
	}
	file = &import->files[import->file_count];
	*file = (isc_import_file){.path = strdup(path), .format = "?"};
	if (file->path == NULL)
		return NULL;
	import->file_count++;
	return file;
}

/* The file's own name tells ranks apart; where it lies is the user's business. */
static const char *label_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL && slash[1] != 0 ? slash + 1 : path;
}

static isc_status unknown(const char *path, isc_error *err)
{
	if (is_nsys_report(path)) {
		isc_fail(err, ISC_ERR_CORRUPT, "%.100s is a report of Nsight Systems, which only nsys can read", path);
		isc_hint(err, "make an SQLite file of it: nsys export --type sqlite %.100s", label_of(path));
		return ISC_ERR_CORRUPT;
	}
	isc_fail(err, ISC_ERR_CORRUPT, "%.150s is no trace that InferScope knows", path);
	isc_hint(err, "give an .isc, torch.profiler or Chrome JSON (also .gz), speedscope, collapsed stacks or an nsys "
		      ".sqlite");
	return ISC_ERR_CORRUPT;
}

static isc_status read_bytes(isc_import *import, isc_bytes *bytes, const char *path, isc_timeline *timeline,
			     isc_error *err)
{
	isc_reader r = {.timeline = timeline};
	enum isc_import_format format = ISC_IMPORT_UNKNOWN;
	const char *head;
	size_t len;
	isc_status st = isc_bytes_peek(bytes, &head, &len, err);

	if (st == ISC_OK)
		format = format_of(head, len);
	if (st == ISC_OK && !is_foreign(format))
		return unknown(path, err);
	if (st != ISC_OK)
		return st;
	r.file = add_file(import, path);
	if (r.file == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to read %.150s", path);
	r.source = isc_timeline_source(timeline, label_of(path));
	r.domain = isc_timeline_domain(timeline, r.source, 0);
	if (format == ISC_IMPORT_SQLITE)
		st = read_sqlite(&r, bytes, path, err);
	else if (format == ISC_IMPORT_JSON && !isc_speedscope_is(head, len))
		st = read_json(import, &r, bytes, err);
	else
		st = read_stacks(&r, bytes, format, err);
	if (st == ISC_OK && r.nameless)
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory to read %.150s", path);
	import->done_bytes += isc_bytes_stats_get(bytes)->read_bytes;
	isc_reader_fini(&r);
	if (st != ISC_OK) {
		/* What it added up to then stays: the file is listed as one that failed. */
		r.file->damaged = true;
		snprintf(r.file->lost, sizeof(r.file->lost), "%.190s", err != NULL ? err->what : "it cannot be read");
	}
	return st;
}

isc_status isc_import_beside(isc_import *import, const char *path, uint64_t start_unix_ns, isc_timeline *timeline,
			     uint32_t source, bool *placed, isc_error *err)
{
	isc_reader r = {.timeline = timeline, .source = source, .start_unix_ns = start_unix_ns};
	isc_bytes *bytes = NULL;
	const char *head;
	size_t len;
	isc_status st = isc_bytes_open(path, &bytes, err);

	*placed = false;
	if (st == ISC_OK)
		st = isc_bytes_peek(bytes, &head, &len, err);
	if (st == ISC_OK && format_of(head, len) != ISC_IMPORT_SQLITE)
		st = unknown(path, err);
	if (st == ISC_OK && (r.file = add_file(import, path)) == NULL)
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory to read %.150s", path);
	if (st == ISC_OK)
		st = read_sqlite(&r, bytes, path, err);
	*placed = r.placed;
	isc_reader_fini(&r);
	isc_bytes_close(bytes);
	return st;
}

isc_status isc_import_read_fd(isc_import *import, int fd, const char *label, isc_timeline *timeline, isc_error *err)
{
	isc_bytes *bytes = NULL;
	isc_status st = isc_bytes_open_fd(fd, label, &bytes, err);

	if (st == ISC_OK)
		st = read_bytes(import, bytes, label, timeline, err);
	isc_bytes_close(bytes);
	return st;
}

static isc_status read_file(isc_import *import, const char *path, isc_timeline *timeline, isc_error *err)
{
	isc_bytes *bytes = NULL;
	isc_status st = isc_bytes_open(path, &bytes, err);

	if (st == ISC_OK)
		st = read_bytes(import, bytes, path, timeline, err);
	isc_bytes_close(bytes);
	return st;
}

/* One that cannot be read is counted; memory and disk are everybody's. */
static isc_status try_file(isc_import *import, const char *path, isc_timeline *timeline, isc_error *err)
{
	isc_error why = {0};
	isc_status st = read_file(import, path, timeline, &why);

	if (st == ISC_OK)
		return st;
	if (st == ISC_ERR_NOMEM || st == ISC_ERR_LIMIT) {
		if (err != NULL)
			*err = why;
		return st;
	}
	if (import->failed++ == 0) {
		snprintf(import->first_failed, sizeof(import->first_failed), "%.255s", why.what);
		if (err != NULL)
			*err = why;
	}
	return ISC_OK;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static isc_status read_folder(isc_import *import, const char *path, isc_timeline *timeline, isc_error *err)
{
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, is_visible, alphasort);
	isc_status st = n < 0 ? isc_fail_errno(err, "cannot read folder %.150s", path) : ISC_OK;
	unsigned found = 0;

	for (int i = 0; i < n; i++) {
		char file[4096];
		enum isc_import_format format = ISC_IMPORT_UNKNOWN;
		bool fits = snprintf(file, sizeof(file), "%s/%s", path, entries[i]->d_name) < (int)sizeof(file);

		free(entries[i]);
		if (st != ISC_OK || !fits)
			continue;
		if (found == FOLDER_MOST || !is_file(file) || isc_import_sniff(file, &format, NULL) != ISC_OK ||
		    !is_foreign(format)) {
			import->skipped++;
			continue;
		}
		found++;
		st = try_file(import, file, timeline, err);
	}
	free(entries);
	if (st == ISC_OK && found == 0) {
		isc_fail(err, ISC_ERR_ABSENT, "there is no trace in folder %.150s", path);
		isc_hint(err, "give the folder that torch.profiler wrote its traces into");
		import->failed++;
		snprintf(import->first_failed, sizeof(import->first_failed), "there is no trace in folder %.150s",
			 path);
	}
	return st;
}

static uint64_t size_of(const char *path)
{
	struct stat sb;

	return stat(path, &sb) == 0 && S_ISREG(sb.st_mode) ? (uint64_t)sb.st_size : 0;
}

isc_status isc_import_read(isc_import *import, char *const *paths, size_t count, isc_timeline *timeline, isc_error *err)
{
	isc_status st = ISC_OK;
	isc_error why = {0};

	for (size_t i = 0; i < count; i++)
		import->total_bytes += size_of(paths[i]);
	for (size_t i = 0; st == ISC_OK && i < count; i++)
		st = is_folder(paths[i]) ? read_folder(import, paths[i], timeline, &why)
					 : try_file(import, paths[i], timeline, &why);
	if (st == ISC_OK && import->failed > 0) {
		bool any = false;

		for (size_t i = 0; i < import->file_count; i++)
			any |= import->files[i].events > 0;
		if (!any)
			st = why.status != ISC_OK ? why.status : ISC_ERR_CORRUPT;
	}
	if (st != ISC_OK && err != NULL)
		*err = why;
	return st;
}

void isc_import_fini(isc_import *import)
{
	for (size_t i = 0; i < import->file_count; i++)
		free(import->files[i].path);
	free(import->files);
	import->files = NULL;
	import->file_count = 0;
}

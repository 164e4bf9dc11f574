/*
 * nsys.c - the SQLite export of Nsight Systems.
 *
 * Its tables grow columns from version to version: each is asked which columns
 * it has, and one that is missing reads as NULL.  Names of kernels and calls are
 * numbers into StringIds in newer exports and text in older ones.
 *
 * The database is not trusted: it is opened read-only and without locks, only
 * plain tables are read, and none of its own code (views, triggers) is run.  Where
 * a page is damaged a table is read from its other end too.
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/gpu_names.h"
#include "import/reader.h"

#define COLUMNS_MOST 20u
/* By one thread, from one place, and never written. */
#define OPENED (SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_NOMUTEX)
#define STEPS_BETWEEN 100000	/* of SQLite's machine, between two looks at how far it is */
#define STEPS_MOST 4000000	/* of those: a query that runs for hours is made to */
#define APART_NS 86400000000000 /* a day: two files that began further apart are not of one run */

typedef struct table {
	isc_reader *r;
	sqlite3 *db;
	sqlite3_stmt *row;
	sqlite3_stmt *asked; /* whether there is a table */
	isc_hashmap strings; /* number -> name + 1 */
	isc_hashmap domains;
	isc_error *err;
	unsigned steps;
	uint64_t lost_tables;
	const char *lost_table;
} table;

static bool has_table(table *t, const char *name)
{
	bool has;

	if (t->asked == NULL &&
	    sqlite3_prepare_v2(t->db, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1", -1, &t->asked,
			       NULL) != SQLITE_OK)
		return false;
	sqlite3_bind_text(t->asked, 1, name, -1, SQLITE_STATIC);
	has = sqlite3_step(t->asked) == SQLITE_ROW;
	sqlite3_reset(t->asked);
	return has;
}

/* Which of these columns it has, a bit for each.  One question for all: SQLite compiles it anew for every
 * name, which takes longer than reading most tables. */
static uint32_t columns_of(table *t, const char *name, const char *const *columns)
{
	sqlite3_stmt *found = NULL;
	uint32_t has = 0;

	if (sqlite3_prepare_v2(t->db, "SELECT name FROM pragma_table_info(?1)", -1, &found, NULL) == SQLITE_OK) {
		sqlite3_bind_text(found, 1, name, -1, SQLITE_STATIC);
		while (sqlite3_step(found) == SQLITE_ROW) {
			const char *column = (const char *)sqlite3_column_text(found, 0);

			for (uint32_t i = 0; column != NULL && columns[i] != NULL; i++)
				if (strcmp(column, columns[i]) == 0)
					has |= 1u << i;
		}
	}
	sqlite3_finalize(found);
	return has;
}

static int64_t number_at(table *t, int column, int64_t otherwise)
{
	return sqlite3_column_type(t->row, column) == SQLITE_INTEGER ? sqlite3_column_int64(t->row, column) : otherwise;
}

/* A moment, on the clock of the trace that it goes with. */
static int64_t time_at(table *t, int column, int64_t otherwise)
{
	int64_t ns = number_at(t, column, otherwise), moved;

	return ns > 0 && !__builtin_add_overflow(ns, t->r->shift_ns, &moved) ? moved : ns;
}

static uint32_t small_at(table *t, int column)
{
	int64_t n = number_at(t, column, -1);

	return n >= 0 && n < ISC_GPU_UNKNOWN ? (uint32_t)n : ISC_GPU_UNKNOWN;
}

/* All text of the file: any may be the name of a range, and no other has what is cut off from those. */
static uint32_t text_at(table *t, int column)
{
	const char *text = (const char *)sqlite3_column_text(t->row, column);

	return isc_timeline_name(t->r->timeline, text,
				 isc_range_name_bytes(text, (size_t)sqlite3_column_bytes(t->row, column)));
}

/* A name: a number of StringIds, or text. */
static uint32_t name_at(table *t, int column)
{
	if (sqlite3_column_type(t->row, column) == SQLITE_TEXT)
		return text_at(t, column);
	if (sqlite3_column_type(t->row, column) == SQLITE_INTEGER) {
		uint64_t *name = isc_hashmap_find(&t->strings, (uint64_t)sqlite3_column_int64(t->row, column));

		return name != NULL ? (uint32_t)*name : 0;
	}
	return 0;
}

static uint32_t name_or(table *t, int column, const char *otherwise)
{
	uint32_t name = name_at(t, column);

	return name != 0 ? name : isc_timeline_name(t->r->timeline, otherwise, strlen(otherwise));
}

/* Ids are made of machine, process and thread: 24 bits each of the latter two. */
static uint64_t pid_of(int64_t id)
{
	return (uint64_t)id >> 24 & 0xffffff;
}

static uint32_t thread_at(table *t, int column)
{
	int64_t id = number_at(t, column, 0);

	return isc_reader_thread(t->r, pid_of(id), (uint64_t)id & 0xffffff);
}

static uint32_t domain_of(table *t, int64_t id)
{
	uint64_t *known = isc_hashmap_put(&t->domains, pid_of(id), NULL);

	if (known == NULL)
		return ISC_GPU_UNKNOWN;
	if (*known == 0)
		*known = (uint64_t)isc_timeline_domain(t->r->timeline, t->r->source, pid_of(id) + 1) + 1;
	return (uint32_t)(*known - 1);
}

/* ---- reading a table ---- */

typedef isc_status (*take_row)(table *t);

/* Rows in the order of their numbers, or from the other end down to the one given. */
static int step_through(table *t, const char *query, int64_t stop, take_row take, isc_status *st, int64_t *last)
{
	int result = sqlite3_prepare_v2(t->db, query, -1, &t->row, NULL);

	if (result == SQLITE_OK) {
		sqlite3_bind_int64(t->row, 1, stop);
		while (*st == ISC_OK && (result = sqlite3_step(t->row)) == SQLITE_ROW) {
			*last = sqlite3_column_int64(t->row, 0);
			t->r->file->events++;
			*st = take(t);
		}
	}
	sqlite3_finalize(t->row);
	t->row = NULL;
	return result;
}

static isc_status read_table(table *t, const char *name, const char *const *columns, take_row take)
{
	char list[1024] = "rowid", query[1400];
	int64_t last = INT64_MIN, other = 0;
	isc_status st = ISC_OK;
	uint32_t has;
	int result;

	has = columns_of(t, name, columns);
	for (uint32_t i = 0; columns[i] != NULL; i++) {
		size_t len = strlen(list);

		snprintf(list + len, sizeof(list) - len, has >> i & 1 ? ", \"%s\"" : ", NULL", columns[i]);
	}
	snprintf(query, sizeof(query), "SELECT %s FROM \"%s\" WHERE rowid > ?1 ORDER BY rowid", list, name);
	result = step_through(t, query, INT64_MIN, take, &st, &last);
	if (st != ISC_OK || result == SQLITE_DONE)
		return st;
	t->lost_table = t->lost_tables++ == 0 ? name : t->lost_table;
	/* What lies behind the damage. */
	snprintf(query, sizeof(query), "SELECT %s FROM \"%s\" WHERE rowid > ?1 ORDER BY rowid DESC", list, name);
	step_through(t, query, last, take, &st, &other);
	return st;
}

/* ---- the tables ---- */

static isc_status take_string(table *t)
{
	uint64_t *name = isc_hashmap_put(&t->strings, (uint64_t)sqlite3_column_int64(t->row, 1), NULL);

	if (name == NULL)
		return isc_fail(t->err, ISC_ERR_NOMEM, "no memory to read the trace");
	if (sqlite3_column_type(t->row, 2) == SQLITE_TEXT)
		*name = text_at(t, 2);
	return ISC_OK;
}

/* The time of day at which its clock was 0. */
static isc_status take_start(table *t)
{
	int64_t start = number_at(t, 1, 0), shift;

	if (t->r->start_unix_ns == 0 || start <= 0 ||
	    __builtin_sub_overflow(start, (int64_t)t->r->start_unix_ns, &shift) || shift < -APART_NS ||
	    shift > APART_NS)
		return ISC_OK;
	t->r->shift_ns = shift;
	t->r->placed = true;
	return ISC_OK;
}

static isc_status take_gpu(table *t)
{
	uint32_t name = name_at(t, 2), number = small_at(t, 1);

	if (name != 0 && number < 4096)
		isc_timeline_device_named(t->r->timeline, t->r->source, number, name);
	return ISC_OK;
}

static isc_status take_process(table *t)
{
	uint32_t name = name_at(t, 2);

	if (name != 0)
		isc_timeline_process_named(t->r->timeline, t->r->source, pid_of(number_at(t, 1, 0)), name);
	return ISC_OK;
}

static isc_status take_thread(table *t)
{
	uint32_t name = name_at(t, 2);

	if (name != 0)
		isc_timeline_thread_named(t->r->timeline, thread_at(t, 1), name);
	return ISC_OK;
}

/* Columns 1 to 7 of all work: start, end, deviceId, contextId, streamId, correlationId, globalPid. */
#define WORK_COLUMNS "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid"

static isc_gpu_record work_at(table *t, enum isc_gpu_kind kind)
{
	isc_gpu_record record = {.start_ns = time_at(t, 1, 0),
				 .end_ns = time_at(t, 2, -1),
				 .context = small_at(t, 4),
				 .stream = (uint64_t)number_at(t, 5, 0),
				 .correlation = (uint64_t)number_at(t, 6, 0),
				 .thread = ISC_GPU_UNKNOWN,
				 .kind = (uint8_t)kind};
	uint32_t device = small_at(t, 3);

	record.device = isc_timeline_device(t->r->timeline, t->r->source, device != ISC_GPU_UNKNOWN ? device : 0);
	record.domain = domain_of(t, number_at(t, 7, 0));
	return record;
}

static isc_status take_kernel(table *t)
{
	isc_gpu_record record = work_at(t, ISC_GPU_KERNEL);

	record.name = name_at(t, 8);
	record.name = record.name != 0 ? record.name : name_or(t, 9, "?");
	for (int i = 0; i < 3; i++) {
		record.grid[i] = small_at(t, 10 + i);
		record.block[i] = small_at(t, 13 + i);
	}
	return isc_timeline_add(t->r->timeline, &record, t->err);
}

static isc_status take_copy(table *t)
{
	/* By CUDA's numbers of copies; those of unified memory behind them. */
	static const uint8_t kinds[] = {ISC_GPU_COPY, ISC_GPU_H2D, ISC_GPU_D2H, ISC_GPU_H2D, ISC_GPU_D2H,
					ISC_GPU_D2D,  ISC_GPU_D2D, ISC_GPU_D2D, ISC_GPU_D2D, ISC_GPU_COPY,
					ISC_GPU_P2P,  ISC_GPU_H2D, ISC_GPU_D2H, ISC_GPU_D2D};
	uint32_t kind = small_at(t, 9);
	isc_gpu_record record = work_at(t, kind < sizeof(kinds) ? (enum isc_gpu_kind)kinds[kind] : ISC_GPU_COPY);
	uint32_t memory = record.kind == ISC_GPU_H2D ? small_at(t, 10) : small_at(t, 11);

	record.bytes = (uint64_t)(number_at(t, 8, 0) > 0 ? number_at(t, 8, 0) : 0);
	if (record.kind == ISC_GPU_H2D || record.kind == ISC_GPU_D2H)
		record.memory = memory == 0   ? ISC_MEMORY_PAGEABLE
				: memory == 1 ? ISC_MEMORY_PINNED
					      : ISC_MEMORY_UNKNOWN;
	record.name = isc_timeline_name(t->r->timeline, "Memcpy", 6);
	return isc_timeline_add(t->r->timeline, &record, t->err);
}

static isc_status take_set(table *t)
{
	isc_gpu_record record = work_at(t, ISC_GPU_MEMSET);

	record.bytes = (uint64_t)(number_at(t, 8, 0) > 0 ? number_at(t, 8, 0) : 0);
	record.name = isc_timeline_name(t->r->timeline, "Memset", 6);
	return isc_timeline_add(t->r->timeline, &record, t->err);
}

static isc_status take_sync(table *t)
{
	isc_gpu_record record = work_at(t, ISC_GPU_SYNC);

	record.name = isc_timeline_name(t->r->timeline, "Synchronize", 11);
	return isc_timeline_add(t->r->timeline, &record, t->err);
}

/* A graph that was recorded as a whole is one piece of work. */
static isc_status take_graph(table *t)
{
	isc_gpu_record record = work_at(t, ISC_GPU_KERNEL);

	record.name = isc_timeline_name(t->r->timeline, "CUDA graph", 10);
	return isc_timeline_add(t->r->timeline, &record, t->err);
}

static isc_status take_call(table *t)
{
	isc_gpu_record record = {.start_ns = time_at(t, 1, 0),
				 .end_ns = time_at(t, 2, -1),
				 .device = ISC_GPU_UNKNOWN,
				 .correlation = (uint64_t)number_at(t, 4, 0),
				 .kind = ISC_GPU_API};
	isc_text name;

	record.thread = thread_at(t, 3);
	record.domain = domain_of(t, number_at(t, 3, 0));
	record.name = name_or(t, 5, "?");
	name = isc_timeline_text(t->r->timeline, record.name);
	record.name = isc_timeline_name(t->r->timeline, name.at, isc_call_name_bytes(name.at, name.len));
	return isc_timeline_add(t->r->timeline, &record, t->err);
}

static isc_status take_range(table *t)
{
	isc_host_span span = {.start_ns = time_at(t, 1, 0), .kind = ISC_HOST_SCOPE};
	int64_t type = number_at(t, 3, 59);

	/* Pushed and popped, or started and ended: a range with both its ends. */
	if ((type != 59 && type != 60) || sqlite3_column_type(t->row, 2) != SQLITE_INTEGER) {
		t->r->file->unused++;
		return ISC_OK;
	}
	span.end_ns = time_at(t, 2, 0);
	span.name = name_at(t, 4);
	span.name = span.name != 0 ? span.name : name_or(t, 5, "?");
	span.thread = thread_at(t, 6);
	return isc_timeline_span(t->r->timeline, &span, t->err);
}

static const struct {
	const char *name;
	const char *columns[COLUMNS_MOST];
	take_row take;
} tables[] = {
	{"TARGET_INFO_SESSION_START_TIME", {"utcEpochNs"}, take_start},
	{"StringIds", {"id", "value"}, take_string},
	{"TARGET_INFO_GPU", {"id", "name"}, take_gpu},
	{"TARGET_INFO_CUDA_GPU", {"cuDevice", "name"}, take_gpu},
	{"PROCESSES", {"globalPid", "name"}, take_process},
	{"ThreadNames", {"globalTid", "nameId"}, take_thread},
	{"CUPTI_ACTIVITY_KIND_KERNEL",
	 {WORK_COLUMNS, "demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"},
	 take_kernel},
	{"CUPTI_ACTIVITY_KIND_MEMCPY", {WORK_COLUMNS, "bytes", "copyKind", "srcKind", "dstKind"}, take_copy},
	{"CUPTI_ACTIVITY_KIND_MEMSET", {WORK_COLUMNS, "bytes"}, take_set},
	{"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", {WORK_COLUMNS}, take_sync},
	{"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", {WORK_COLUMNS}, take_graph},
	{"CUPTI_ACTIVITY_KIND_RUNTIME", {"start", "end", "globalTid", "correlationId", "nameId"}, take_call},
	{"CUPTI_ACTIVITY_KIND_DRIVER", {"start", "end", "globalTid", "correlationId", "nameId"}, take_call},
	{"NVTX_EVENTS", {"start", "end", "eventType", "text", "textId", "globalTid"}, take_range},
};

/* Asked for by SQLite now and then: a query that never ends is ended. */
static int count_steps(void *self)
{
	table *t = self;

	return ++t->steps > STEPS_MOST;
}

/* Does the file end before the pages that its head counts? */
static bool is_cut(const char *path)
{
	unsigned char head[32];
	uint64_t page, pages;
	struct stat sb;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool read_it = fd >= 0 && fstat(fd, &sb) == 0 && pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head);

	if (fd >= 0)
		close(fd);
	if (!read_it)
		return false;
	page = (uint64_t)head[16] << 8 | head[17];
	page = page == 1 ? 65536 : page;
	pages = (uint64_t)head[28] << 24 | (uint64_t)head[29] << 16 | (uint64_t)head[30] << 8 | head[31];
	return (uint64_t)sb.st_size < page * pages;
}

static isc_status open_database(const char *path, sqlite3 **db, bool cut, isc_error *err)
{
	char uri[4096] = "file:";
	size_t len = 5;
	int result;

	/* As a URI, so that nothing is locked or written beside it; what has a meaning in one is escaped. */
	for (const char *p = path; *p != 0; p++) {
		bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9') ||
			     strchr("/._-", *p) != NULL;

		if (len + 32 > sizeof(uri))
			return isc_fail(err, ISC_ERR_INVALID, "the path %.100s is too long", path);
		len += (size_t)snprintf(uri + len, sizeof(uri) - len, plain ? "%c" : "%%%02X", (unsigned char)*p);
	}
	snprintf(uri + len, sizeof(uri) - len, "?immutable=1");
	result = sqlite3_open_v2(uri, db, OPENED, NULL);
	if (result != SQLITE_OK)
		return isc_fail(err, ISC_ERR_CORRUPT, "cannot read %.120s: %.80s", path,
				*db != NULL ? sqlite3_errmsg(*db) : "no memory");
	/* SQLite reads nothing of a file that breaks off, but for who may repair it.  Nothing is ever written here. */
	sqlite3_db_config(*db, SQLITE_DBCONFIG_DEFENSIVE, cut ? 0 : 1, NULL);
	sqlite3_db_config(*db, SQLITE_DBCONFIG_WRITABLE_SCHEMA, cut ? 1 : 0, NULL);
	sqlite3_db_config(*db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(*db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_limit(*db, SQLITE_LIMIT_LENGTH, 64 << 20);
	sqlite3_exec(*db, "PRAGMA mmap_size=0; PRAGMA cache_size=-8192; PRAGMA cell_size_check=ON", NULL, NULL, NULL);
	return ISC_OK;
}

isc_status isc_nsys_read(isc_reader *r, const char *path, isc_error *err)
{
	table t = {.r = r, .err = err};
	bool any = false, cut = is_cut(path);
	isc_status st = open_database(path, &t.db, cut, err);

	if (st == ISC_OK)
		sqlite3_progress_handler(t.db, STEPS_BETWEEN, count_steps, &t);
	for (size_t i = 0; st == ISC_OK && i < sizeof(tables) / sizeof(tables[0]); i++) {
		if (!has_table(&t, tables[i].name))
			continue;
		any = true;
		st = read_table(&t, tables[i].name, tables[i].columns, tables[i].take);
	}
	if (st == ISC_OK && !any && cut) {
		st = isc_fail(err, ISC_ERR_CORRUPT, "%.120s breaks off before its first table", path);
		isc_hint(err, "export the trace again");
	} else if (st == ISC_OK && !any) {
		st = isc_fail(err, ISC_ERR_CORRUPT, "%.120s is an SQLite file, but not one of Nsight Systems", path);
		isc_hint(err, "make it with: nsys export --type sqlite REPORT.nsys-rep");
	}
	if (st == ISC_OK && cut) {
		r->file->damaged = true;
		snprintf(r->file->lost, sizeof(r->file->lost),
			 "it breaks off: %u of its tables could not be read to the end", (unsigned)t.lost_tables);
	} else if (st == ISC_OK && t.lost_tables > 0) {
		r->file->damaged = true;
		snprintf(r->file->lost, sizeof(r->file->lost),
			 "%u of its tables could be read in part only, the first is %s", (unsigned)t.lost_tables,
			 t.lost_table);
	}
	isc_hashmap_fini(&t.strings);
	isc_hashmap_fini(&t.domains);
	sqlite3_finalize(t.asked);
	sqlite3_close(t.db);
	return st;
}

#include "trace/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/opened.h"
#include "trace/records.h"

#define SCANS_MAX 10	       /* of a file that is being written to, until one is consistent */
#define LOADS_MAX 4	       /* likewise of what is kept */
#define STATE_MAX (256u << 20) /* of processes, threads and the like, as they weigh in the file */
#define ANCESTORS_MAX 256      /* forks of forks whose definitions an image may use */

/* False: it was counted before. */
static bool note_once(isc_trace *tr, size_t chunk)
{
	if (tr->seen_bad[chunk / 8] >> chunk % 8 & 1)
		return false;
	tr->seen_bad[chunk / 8] |= (uint8_t)(1u << chunk % 8);
	return true;
}

static void note_damage(isc_trace *tr, size_t chunk)
{
	if (tr->stats.damaged_chunks == 0 || tr->table.ref[chunk].offset < tr->stats.first_damage)
		tr->stats.first_damage = tr->table.ref[chunk].offset;
	tr->stats.damaged_chunks++;
}

void isc_trace_note_bad(isc_trace *tr, size_t chunk, int result)
{
	if (!note_once(tr, chunk))
		return;
	if (result == ISC_SOURCE_GONE) {
		/* Not damage: the recorder has gone on. */
		if (tr->table.ref[chunk].type == ISC_CHUNK_EVENTS)
			tr->stats.retired_events += tr->table.ref[chunk].events;
		return;
	}
	note_damage(tr, chunk);
	tr->stats.lost_bytes += isc_chunk_extent(tr->table.ref[chunk].stored_size);
}

/* Who was wrong about one chunk may be about others: what it hid so far cannot be had back, and all the rest is read. */
static void distrust(isc_trace *tr, size_t chunk)
{
	if (note_once(tr, chunk))
		note_damage(tr, chunk);
	for (size_t i = 0; i < tr->table.count; i++) {
		if (!tr->table.ref[i].opened)
			tr->table.ref[i].contents.kinds = 0;
	}
}

void isc_trace_found(isc_trace *tr, size_t chunk, const isc_contents *found)
{
	isc_chunk_ref *ref = &tr->table.ref[chunk];
	const isc_contents said = ref->contents;

	ref->contents = *found;
	ref->opened = true;
	if (said.kinds != 0 && (said.kinds != found->kinds || said.first != found->first || said.last != found->last))
		distrust(tr, chunk);
}

/* Reads the table of a file that may be changing under us. */
static isc_status read_table(isc_trace *tr, isc_chunk_source *source)
{
	uint32_t last_sequence = 0;
	size_t last_count = 0;
	uint64_t last_bytes = 0;

	for (unsigned i = 0; i < SCANS_MAX; i++) {
		struct stat sb;
		uint32_t sequence;

		if (fstat(tr->fd, &sb) < 0)
			return ISC_ERR_SYSTEM;
		if (isc_table_read(&tr->table, tr->fd, &tr->header, (uint64_t)sb.st_size, &source->codec) != ISC_OK)
			return ISC_ERR_NOMEM;
		isc_table_sort(&tr->table);
		source->live = !tr->table.complete;
		if (isc_checkpoint_find(&tr->table, tr->table.count, source, &tr->checkpoint) == ISC_SOURCE_NOMEM)
			return ISC_ERR_NOMEM;
		/* What looks broken may be a chunk on its way into the file. */
		if (tr->table.complete || (!tr->table.truncated && tr->table.damaged == 0 &&
					   !isc_table_has_holes(&tr->table, &tr->checkpoint)))
			break;
		/* Nothing moved since the last look, and nobody is at work: this is all there will be. */
		sequence = tr->table.count > 0 ? tr->table.ref[tr->table.count - 1].sequence : 0;
		if (i > 0 && sequence == last_sequence && tr->table.count == last_count &&
		    tr->table.file_bytes == last_bytes && !isc_chunk_source_wait(source, 1u << i))
			break;
		last_sequence = sequence;
		last_count = tr->table.count;
		last_bytes = tr->table.file_bytes;
	}
	return ISC_OK;
}

static isc_status load_chunk(isc_trace *tr, const isc_chunk_source *source)
{
	const isc_chunk_header *h = &source->header;
	isc_byte_range b = {source->raw, source->raw + h->raw_size};

	switch (h->type) {
	case ISC_CHUNK_META:
	case ISC_CHUNK_PROCESS:
	case ISC_CHUNK_THREAD:
	case ISC_CHUNK_ACCOUNT:
	case ISC_CHUNK_CLOCK:
	case ISC_CHUNK_OVER_TIME:
	case ISC_CHUNK_PERIODS:
		return isc_session_state_load(&tr->state, h->type, source->raw, h->raw_size);
	case ISC_CHUNK_DEFS:
		return isc_definitions_load(&tr->definitions, h->process, source->raw, h->raw_size);
	case ISC_CHUNK_UNITS:
		return isc_gaps_decode(&tr->raw_gaps, &tr->raw_gap_count, &tr->raw_gap_room, source->raw, h->raw_size,
				       h->slots, h->time, tr->header.tick_shift);
	case ISC_CHUNK_CONTENTS:
		return isc_table_take_contents(&tr->table, source->raw, h->raw_size);
	case ISC_CHUNK_END:
		tr->ended = isc_record_get_end(&b, &tr->end);
		return tr->ended ? ISC_OK : ISC_ERR_CORRUPT;
	default:
		return ISC_OK;
	}
}

/* Of units only gaps are: rows are read when somebody asks for them. */
static bool is_kept(const isc_chunk_ref *ref)
{
	int type = ref->type;

	return (type == ISC_CHUNK_UNITS && ref->events == 0) || type == ISC_CHUNK_META || type == ISC_CHUNK_PROCESS ||
	       type == ISC_CHUNK_THREAD || type == ISC_CHUNK_CLOCK || type == ISC_CHUNK_DEFS ||
	       type == ISC_CHUNK_ACCOUNT || type == ISC_CHUNK_END || type == ISC_CHUNK_OVER_TIME ||
	       type == ISC_CHUNK_PERIODS || type == ISC_CHUNK_CONTENTS;
}

/* ISC_ERR_LIMIT: something was written over meanwhile; look again. */
static isc_status load_kept(isc_trace *tr, isc_chunk_source *source)
{
	bool gone = false;

	isc_session_state_fini(&tr->state);
	isc_definitions_fini(&tr->definitions);
	isc_kin_fini(&tr->kin);
	tr->kin_count = tr->raw_gap_count = 0;
	tr->state.weight_max = STATE_MAX;
	for (size_t i = 0; i < tr->table.count; i++) {
		isc_status st;
		int result;

		if (!is_kept(&tr->table.ref[i]))
			continue;
		result = isc_chunk_source_read(source, &tr->table.ref[i]);
		st = result == ISC_SOURCE_OK ? load_chunk(tr, source) : ISC_OK;
		if (result == ISC_SOURCE_NOMEM || st == ISC_ERR_NOMEM)
			return ISC_ERR_NOMEM;
		/* Notes go with the events that they are about. */
		gone |= result == ISC_SOURCE_GONE && tr->table.ref[i].type != ISC_CHUNK_CONTENTS;
		if (result != ISC_SOURCE_OK || st != ISC_OK)
			isc_trace_note_bad(tr, i, st != ISC_OK ? ISC_SOURCE_BAD : result);
	}
	if (isc_session_state_put_pair(&tr->state, (isc_clock_pair){tr->header.start_ticks, tr->header.start_ns}) !=
	    ISC_OK)
		return ISC_ERR_NOMEM;
	isc_session_state_sort(&tr->state);
	return gone ? ISC_ERR_LIMIT : ISC_OK;
}

static void fill_stats(isc_trace *tr)
{
	uint64_t present = 0;

	tr->stats = (isc_trace_stats){.file_bytes = tr->table.file_bytes,
				      .chunks = tr->table.count,
				      .damaged_chunks = tr->table.damaged,
				      .lost_bytes = tr->table.lost_bytes,
				      .first_damage = tr->table.first_damage,
				      .truncated = tr->table.truncated,
				      .complete = tr->table.complete};
	/* Numbers are missing that nobody gave up: whole segments were cut off. */
	tr->stats.truncated |= tr->table.damaged == 0 && isc_table_has_holes(&tr->table, &tr->checkpoint);
	if (!tr->checkpoint.found)
		return;
	for (size_t i = 0; i < tr->table.count && tr->table.ref[i].sequence <= tr->checkpoint.cover.sequence; i++)
		present += tr->table.ref[i].type == ISC_CHUNK_EVENTS ? tr->table.ref[i].events : 0;
	if (tr->checkpoint.cover.events > present)
		tr->stats.retired_events = tr->checkpoint.cover.events - present;
}

static isc_status open_trace(isc_trace *tr, const char *name, isc_error *err)
{
	uint8_t head[sizeof(isc_file_header)] = {0};
	isc_chunk_source source = {.fd = tr->fd};
	isc_status st;
	ssize_t n = pread(tr->fd, head, sizeof(head), 0);

	if (n < 0)
		return isc_fail_errno(err, "cannot read %s", name);
	st = isc_file_header_check(head, (size_t)n, name, &tr->header, err);
	if (st != ISC_OK)
		return st;
	for (int i = 0; i < LOADS_MAX; i++) {
		st = read_table(tr, &source);
		if (st == ISC_ERR_SYSTEM) {
			st = isc_fail_errno(err, "cannot read %s", name);
			goto out;
		}
		fill_stats(tr);
		free(tr->seen_bad);
		tr->seen_bad = calloc(tr->table.count / 8 + 1, 1);
		if (st == ISC_OK && tr->seen_bad != NULL)
			st = isc_trace_find_snapshots(tr, &source);
		if (st == ISC_OK && tr->seen_bad != NULL)
			st = load_kept(tr, &source);
		if (st != ISC_ERR_LIMIT)
			break;
		st = ISC_OK;
	}
	if (st != ISC_OK || tr->seen_bad == NULL ||
	    !isc_timebase_init(&tr->timebase, tr->state.pairs, tr->state.pair_count, tr->header.clock_source) ||
	    isc_trace_settle_gaps(tr) != ISC_OK) {
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory to open %s", name);
		goto out;
	}
	if (tr->table.count == 0 && tr->table.damaged > 0)
		st = isc_fail(err, ISC_ERR_CORRUPT, "%s is damaged: it has no whole chunk", name);
	tr->events.source = (isc_chunk_source){.fd = tr->fd, .live = !tr->table.complete};
	tr->switches.source = tr->events.source;
	isc_trace_rewind(tr);
out:
	isc_chunk_source_fini(&source);
	return st;
}

isc_status isc_trace_open_fd(int fd, const char *name, isc_trace **out, isc_error *err)
{
	isc_trace *tr = calloc(1, sizeof(*tr));
	isc_status st;

	*out = NULL;
	if (tr == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to open %s", name);
	tr->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	st = tr->fd < 0 ? isc_fail_errno(err, "cannot open trace %s", name) : open_trace(tr, name, err);
	if (st != ISC_OK) {
		isc_trace_close(tr);
		tr = NULL;
	}
	*out = tr;
	return st;
}

isc_status isc_trace_open(const char *path, isc_trace **out, isc_error *err)
{
	struct stat sb;
	isc_status st;
	/* Without waiting: a pipe of that name shall not hold us up. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	*out = NULL;
	if (fd < 0 || fstat(fd, &sb) < 0) {
		st = isc_fail_errno(err, "cannot open trace %s", path);
		isc_hint(err, "check the path");
	} else if (!S_ISREG(sb.st_mode)) {
		st = isc_fail(err, ISC_ERR_INVALID, "%s is not an InferScope trace: it is no regular file", path);
		isc_hint(err, "give the file that inferscope run --trace wrote");
	} else {
		st = isc_trace_open_fd(fd, path, out, err);
	}
	if (fd >= 0)
		close(fd);
	return st;
}

void isc_trace_close(isc_trace *tr)
{
	if (tr == NULL)
		return;
	if (tr->fd >= 0)
		close(tr->fd);
	isc_table_fini(&tr->table);
	isc_session_state_fini(&tr->state);
	isc_definitions_fini(&tr->definitions);
	isc_kin_fini(&tr->kin);
	isc_timebase_fini(&tr->timebase);
	isc_chunk_source_fini(&tr->events.source);
	isc_chunk_source_fini(&tr->switches.source);
	isc_columns_fini(&tr->events.columns);
	free(tr->switches.switches);
	free(tr->seen_bad);
	free(tr->snapshots);
	free(tr->raw_gaps);
	free(tr->gaps);
	free(tr);
}

const isc_file_header *isc_trace_header(const isc_trace *tr)
{
	return &tr->header;
}

const isc_trace_stats *isc_trace_stats_get(const isc_trace *tr)
{
	return &tr->stats;
}

bool isc_trace_is_damaged(const isc_trace *tr)
{
	const isc_trace_stats *s = isc_trace_stats_get(tr);

	return s->damaged_chunks > 0 || s->lost_bytes > 0 || s->truncated || s->chunks == 0;
}

const char *isc_trace_meta(const isc_trace *tr, size_t *len)
{
	*len = tr->state.meta.len;
	return tr->state.meta.len > 0 ? tr->state.meta.data : NULL;
}

const isc_trace_process *isc_trace_process_at(const isc_trace *tr, size_t i)
{
	return i < tr->state.process_count ? &tr->state.processes[i] : NULL;
}

const isc_trace_thread *isc_trace_thread_at(const isc_trace *tr, size_t i)
{
	return i < tr->state.thread_count ? &tr->state.threads[i] : NULL;
}

const isc_trace_account *isc_trace_account_at(const isc_trace *tr, size_t i)
{
	return i < tr->state.account_count ? &tr->state.accounts[i] : NULL;
}

const isc_trace_period *isc_trace_period_at(const isc_trace *tr, size_t i)
{
	return i < tr->state.over_time.count ? &tr->state.over_time.row[i] : NULL;
}

const isc_trace_process *isc_trace_process_find(const isc_trace *tr, uint32_t process)
{
	return isc_session_state_process(&tr->state, process);
}

const isc_trace_thread *isc_trace_thread_find(const isc_trace *tr, uint32_t thread)
{
	return isc_session_state_thread(&tr->state, thread);
}

const isc_trace_end *isc_trace_end_get(const isc_trace *tr)
{
	return tr->ended ? &tr->end : NULL;
}

uint64_t isc_trace_thread_end_ns(const isc_trace *tr, uint32_t thread, uint64_t otherwise_ns)
{
	const isc_trace_thread *t = isc_trace_thread_find(tr, thread);
	const isc_trace_process *p = t != NULL ? isc_trace_process_find(tr, t->process) : NULL;

	if (t != NULL && (t->flags & ISC_THREAD_ENDED) != 0)
		return t->end_ns;
	return p != NULL && (p->flags & ISC_PROCESS_ENDED) != 0 ? p->end_ns : otherwise_ns;
}

const void *isc_trace_define_any(const isc_trace *tr, uint32_t process, uint32_t id, uint16_t *type, uint32_t *len)
{
	/* Generations may form a circle in a broken file: the way up is bounded. */
	for (int i = 0; i < ANCESTORS_MAX; i++) {
		const isc_definition *d = isc_definitions_find(&tr->definitions, process, id);
		const isc_trace_process *p;

		if (d != NULL) {
			*len = d->len;
			*type = d->type;
			return d->data;
		}
		p = isc_session_state_process(&tr->state, process);
		if (p == NULL || (id & ~ISC_DEF_NAMED) >= p->defs_base_id)
			return NULL;
		p = isc_session_state_process_of_gen(&tr->state, p->defs_parent_gen);
		if (p == NULL || p->process == process)
			return NULL;
		process = p->process;
	}
	return NULL;
}

const void *isc_trace_define(const isc_trace *tr, uint32_t process, uint32_t id, uint16_t type, uint32_t *len)
{
	uint16_t found = 0;
	const void *data = isc_trace_define_any(tr, process, id, &found, len);

	return found == type ? data : NULL;
}

isc_status isc_trace_redefine(isc_trace *tr, uint32_t process, uint32_t id, uint16_t type, const void *data,
			      uint32_t len)
{
	return isc_definitions_add(&tr->definitions, &(isc_definition){data, process, id, len, type});
}

const void *isc_trace_define_at(const isc_trace *tr, size_t i, uint32_t *process, uint32_t *id, uint16_t *type,
				uint32_t *len)
{
	const isc_definition *d = i < tr->definitions.count ? &tr->definitions.entry[i] : NULL;

	if (d == NULL)
		return NULL;
	*process = d->process;
	*id = d->id;
	*type = d->type;
	*len = d->len;
	return d->data;
}

isc_text isc_trace_name(const isc_trace *tr, uint32_t process, uint32_t id)
{
	uint32_t len = 0;
	const char *text = isc_trace_define(tr, process, id, ISC_DEF_STRING, &len);

	return text != NULL ? (isc_text){text, len} : (isc_text){"?", 1};
}

isc_text isc_trace_task(const isc_trace *tr, uint32_t process, uint32_t task, char made[ISC_TASK_TEXT])
{
	if ((task & ISC_TASK_NUMBERED) == 0)
		return isc_trace_name(tr, process, task);
	return (isc_text){made, (size_t)snprintf(made, ISC_TASK_TEXT, "Task-%u", task & ~ISC_TASK_NUMBERED)};
}

uint64_t isc_trace_ticks_to_ns(const isc_trace *tr, uint64_t ticks)
{
	size_t hint = 0;

	return isc_timebase_ns(&tr->timebase, ticks, &hint);
}

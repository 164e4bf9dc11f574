#include "trace/session_state.h"

#include <stdlib.h>
#include <string.h>

#include "trace/format.h"
#include "trace/meta.h"
#include "trace/records.h"

/* Worst bytes of a record, less the text in it. */
enum { PROCESS_WEIGHT = 96, THREAD_WEIGHT = 84, ACCOUNT_WEIGHT = 44, PAIR_WEIGHT = 20 };
#define CHUNK_BYTES (16u << 10)

void isc_session_state_fini(isc_session_state *s)
{
	for (size_t i = 0; i < s->process_count; i++)
		free((char *)(uintptr_t)s->processes[i].argv);
	free(s->processes);
	free(s->threads);
	free(s->accounts);
	free(s->pairs);
	free(s->process_dirty);
	free(s->thread_dirty);
	free(s->account_dirty);
	isc_hashmap_fini(&s->by_process);
	isc_hashmap_fini(&s->by_thread);
	isc_hashmap_fini(&s->by_account);
	isc_hashmap_fini(&s->by_gen);
	isc_hashmap_fini(&s->by_serial);
	isc_over_time_fini(&s->over_time);
	isc_buffer_fini(&s->meta);
	*s = (isc_session_state){0};
}

/* Room for one more in both arrays; false: no memory. */
static bool grow(void *items, bool **dirty, size_t count, size_t *room, size_t size)
{
	void **array = items, *bigger;
	size_t more = *room ? *room * 2 : 16;
	bool *flags;

	if (count < *room)
		return true;
	bigger = realloc(*array, more * size);
	if (bigger == NULL)
		return false;
	*array = bigger;
	if (dirty != NULL) {
		flags = realloc(*dirty, more * sizeof(*flags));
		if (flags == NULL)
			return false;
		memset(flags + count, 0, (more - count) * sizeof(*flags));
		*dirty = flags;
	}
	*room = more;
	return true;
}

static void mark(bool *flag, size_t *count)
{
	*count += !*flag;
	*flag = true;
}

isc_status isc_session_state_put_process(isc_session_state *s, const isc_trace_process *p)
{
	const uint64_t *at = isc_hashmap_find(&s->by_process, p->process);
	size_t i = at != NULL ? (size_t)*at : s->process_count;
	uint64_t old = at != NULL ? s->processes[i].argv_len : 0, weight = s->weight - old + p->argv_len;
	char *argv = NULL;
	uint64_t *slot;

	if (at == NULL)
		weight += PROCESS_WEIGHT;
	if (weight > s->weight_max && weight > s->weight)
		return ISC_ERR_LIMIT;
	if (at == NULL && !grow(&s->processes, &s->process_dirty, i, &s->process_room, sizeof(*s->processes)))
		return ISC_ERR_NOMEM;
	if (p->argv_len > 0) {
		argv = malloc((size_t)p->argv_len + 1);
		if (argv == NULL)
			return ISC_ERR_NOMEM;
		memcpy(argv, p->argv, p->argv_len);
		argv[p->argv_len] = 0;
	}
	if (at == NULL) {
		slot = isc_hashmap_put(&s->by_process, p->process, NULL);
		if (slot == NULL) {
			free(argv);
			return ISC_ERR_NOMEM;
		}
		*slot = i;
		s->process_count++;
		s->processes[i].argv = NULL;
	}
	free((char *)(uintptr_t)s->processes[i].argv);
	s->processes[i] = *p;
	s->processes[i].argv = argv;
	s->weight = weight;
	mark(&s->process_dirty[i], &s->dirty_processes);
	if (p->gen != 0) {
		slot = isc_hashmap_put(&s->by_gen, p->gen, NULL);
		if (slot == NULL)
			return ISC_ERR_NOMEM;
		*slot = p->process;
	}
	return ISC_OK;
}

isc_status isc_session_state_put_thread(isc_session_state *s, const isc_trace_thread *t)
{
	const uint64_t *at = isc_hashmap_find(&s->by_thread, t->thread);
	size_t i = at != NULL ? (size_t)*at : s->thread_count;
	uint64_t *slot;

	if (at == NULL) {
		if (s->weight + THREAD_WEIGHT > s->weight_max)
			return ISC_ERR_LIMIT;
		if (!grow(&s->threads, &s->thread_dirty, i, &s->thread_room, sizeof(*s->threads)))
			return ISC_ERR_NOMEM;
		slot = isc_hashmap_put(&s->by_thread, t->thread, NULL);
		if (slot == NULL)
			return ISC_ERR_NOMEM;
		*slot = i;
		s->thread_count++;
		s->weight += THREAD_WEIGHT;
	}
	s->threads[i] = *t;
	s->threads[i].name[sizeof(t->name) - 1] = 0;
	mark(&s->thread_dirty[i], &s->dirty_threads);
	if (t->serial != 0) {
		slot = isc_hashmap_put(&s->by_serial, isc_hashmap_key(t->process, (uint32_t)t->serial), NULL);
		if (slot == NULL)
			return ISC_ERR_NOMEM;
		*slot = t->thread;
	}
	return ISC_OK;
}

isc_status isc_session_state_put_account(isc_session_state *s, const isc_trace_account *a)
{
	uint64_t key = isc_stream_key(a->process, a->thread, a->stream), *slot;
	const uint64_t *at = isc_hashmap_find(&s->by_account, key);
	size_t i = at != NULL ? (size_t)*at : s->account_count;

	if (at == NULL) {
		if (s->weight + ACCOUNT_WEIGHT > s->weight_max)
			return ISC_ERR_LIMIT;
		if (!grow(&s->accounts, &s->account_dirty, i, &s->account_room, sizeof(*s->accounts)))
			return ISC_ERR_NOMEM;
		slot = isc_hashmap_put(&s->by_account, key, NULL);
		if (slot == NULL)
			return ISC_ERR_NOMEM;
		*slot = i;
		s->account_count++;
		s->weight += ACCOUNT_WEIGHT;
	} else if (s->accounts[i].produced == a->produced && s->accounts[i].stored == a->stored &&
		   s->accounts[i].lost == a->lost) {
		return ISC_OK;
	}
	s->accounts[i] = *a;
	mark(&s->account_dirty[i], &s->dirty_accounts);
	return ISC_OK;
}

/* Every second one goes.  From then on only every second of those that come is
 * kept, so that all of the run has pairs at the same distance. */
static void thin_out(isc_session_state *s)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->pair_count; i += 2)
		s->pairs[kept++] = s->pairs[i];
	s->weight -= (s->pair_count - kept) * PAIR_WEIGHT;
	s->pair_count = kept;
	s->pair_stride *= 2;
	/* All that came so far are in the file until the next checkpoint, or will be
	 * replaced by the one that is coming. */
	s->pairs_clean = s->pairs_clean < kept ? s->pairs_clean : kept;
}

isc_status isc_session_state_put_pair(isc_session_state *s, isc_clock_pair pair)
{
	bool passing;

	if (s->pair_stride == 0)
		s->pair_stride = 1;
	/* The last one is only kept until the next comes, unless its turn is now. */
	passing = s->pair_count > 1 && (s->pairs_given - 1) % s->pair_stride != 0;
	if (!passing && s->pair_count >= s->pairs_max && s->pairs_max > 2)
		thin_out(s);
	if (!passing && !grow(&s->pairs, NULL, s->pair_count, &s->pair_room, sizeof(*s->pairs)))
		return ISC_ERR_NOMEM;
	s->pair_count += !passing;
	s->weight += passing ? 0 : PAIR_WEIGHT;
	s->pairs[s->pair_count - 1] = pair;
	s->pairs_clean = s->pairs_clean < s->pair_count - 1 ? s->pairs_clean : s->pair_count - 1;
	s->pairs_given++;
	return ISC_OK;
}

isc_status isc_session_state_put_meta(isc_session_state *s, const char *json, size_t len)
{
	isc_buffer meta = {0};

	if (s->weight - s->meta.len + len > s->weight_max && len > s->meta.len)
		return ISC_ERR_LIMIT;
	isc_buffer_add(&meta, json, len);
	if (meta.failed) {
		isc_buffer_fini(&meta);
		return ISC_ERR_NOMEM;
	}
	s->weight += len - s->meta.len;
	isc_buffer_fini(&s->meta);
	s->meta = meta;
	s->meta_dirty = true;
	return ISC_OK;
}

static isc_status load_one(isc_session_state *s, int chunk_type, isc_byte_range *b)
{
	isc_trace_process process;
	isc_trace_thread thread;
	isc_trace_account account;
	isc_trace_period period;
	isc_clock_pair pair;

	switch (chunk_type) {
	case ISC_CHUNK_PROCESS:
		return isc_record_get_process(b, &process) ? isc_session_state_put_process(s, &process)
							   : ISC_ERR_CORRUPT;
	case ISC_CHUNK_THREAD:
		return isc_record_get_thread(b, &thread) ? isc_session_state_put_thread(s, &thread) : ISC_ERR_CORRUPT;
	case ISC_CHUNK_ACCOUNT:
		return isc_record_get_account(b, &account) ? isc_session_state_put_account(s, &account)
							   : ISC_ERR_CORRUPT;
	case ISC_CHUNK_CLOCK:
		return isc_record_get_clock(b, &pair) ? isc_session_state_put_pair(s, pair) : ISC_ERR_CORRUPT;
	case ISC_CHUNK_OVER_TIME:
	case ISC_CHUNK_PERIODS:
		return isc_record_get_period(b, chunk_type == ISC_CHUNK_OVER_TIME, &period)
			       ? isc_over_time_put(&s->over_time, &period)
			       : ISC_ERR_CORRUPT;
	default:
		return ISC_ERR_CORRUPT;
	}
}

isc_status isc_session_state_load(isc_session_state *s, int chunk_type, const uint8_t *raw, size_t len)
{
	isc_byte_range b = {raw, raw + len};
	isc_status st = ISC_OK;

	if (chunk_type == ISC_CHUNK_META)
		return isc_meta_holds((const char *)raw, len) ? isc_session_state_put_meta(s, (const char *)raw, len)
							      : ISC_ERR_CORRUPT;
	while (st == ISC_OK && b.at < b.end)
		st = load_one(s, chunk_type, &b);
	return st;
}

bool isc_session_state_is_dirty(const isc_session_state *s)
{
	return s->dirty_processes || s->dirty_threads || s->dirty_accounts || s->meta_dirty ||
	       s->pairs_clean < s->pair_count || s->over_time.clean < s->over_time.count;
}

void isc_session_state_clean(isc_session_state *s)
{
	if (s->dirty_processes > 0)
		memset(s->process_dirty, 0, s->process_count * sizeof(bool));
	if (s->dirty_threads > 0)
		memset(s->thread_dirty, 0, s->thread_count * sizeof(bool));
	if (s->dirty_accounts > 0)
		memset(s->account_dirty, 0, s->account_count * sizeof(bool));
	s->dirty_processes = s->dirty_threads = s->dirty_accounts = 0;
	s->meta_dirty = false;
	s->pairs_clean = s->pair_count;
	s->over_time.clean = s->over_time.count;
}

const isc_trace_process *isc_session_state_process(const isc_session_state *s, uint32_t process)
{
	const uint64_t *at = isc_hashmap_find(&s->by_process, process);

	return at != NULL ? &s->processes[*at] : NULL;
}

const isc_trace_thread *isc_session_state_thread(const isc_session_state *s, uint32_t thread)
{
	const uint64_t *at = isc_hashmap_find(&s->by_thread, thread);

	return at != NULL ? &s->threads[*at] : NULL;
}

const isc_trace_process *isc_session_state_process_of_gen(const isc_session_state *s, uint64_t gen)
{
	const uint64_t *at = gen != 0 ? isc_hashmap_find(&s->by_gen, gen) : NULL;

	return at != NULL ? isc_session_state_process(s, (uint32_t)*at) : NULL;
}

const isc_trace_thread *isc_session_state_thread_of_serial(const isc_session_state *s, uint32_t process,
							   uint64_t serial)
{
	const uint64_t *at = isc_hashmap_find(&s->by_serial, isc_hashmap_key(process, (uint32_t)serial));
	const isc_trace_thread *t = at != NULL ? isc_session_state_thread(s, (uint32_t)*at) : NULL;

	return t != NULL && t->process == process && t->serial == serial ? t : NULL;
}

static int by_index_of_process(const void *a, const void *b)
{
	uint32_t x = ((const isc_trace_process *)a)->process, y = ((const isc_trace_process *)b)->process;

	return (x > y) - (x < y);
}

static int by_index_of_thread(const void *a, const void *b)
{
	uint32_t x = ((const isc_trace_thread *)a)->thread, y = ((const isc_trace_thread *)b)->thread;

	return (x > y) - (x < y);
}

static int by_key_of_account(const void *a, const void *b)
{
	const isc_trace_account *p = a, *q = b;
	uint64_t x = isc_stream_key(p->process, p->thread, p->stream),
		 y = isc_stream_key(q->process, q->thread, q->stream);

	return (x > y) - (x < y);
}

static int by_ticks_of_pair(const void *a, const void *b)
{
	uint64_t x = ((const isc_clock_pair *)a)->ticks, y = ((const isc_clock_pair *)b)->ticks;

	return (x > y) - (x < y);
}

isc_status isc_session_state_sort(isc_session_state *s)
{
	size_t kept = 0;

	if (s->process_count > 0)
		qsort(s->processes, s->process_count, sizeof(*s->processes), by_index_of_process);
	if (s->thread_count > 0)
		qsort(s->threads, s->thread_count, sizeof(*s->threads), by_index_of_thread);
	if (s->account_count > 0)
		qsort(s->accounts, s->account_count, sizeof(*s->accounts), by_key_of_account);
	if (s->pair_count > 0)
		qsort(s->pairs, s->pair_count, sizeof(*s->pairs), by_ticks_of_pair);
	/* Every key is there already, so putting needs no memory. */
	for (size_t i = 0; i < s->process_count; i++)
		*isc_hashmap_find(&s->by_process, s->processes[i].process) = i;
	for (size_t i = 0; i < s->thread_count; i++)
		*isc_hashmap_find(&s->by_thread, s->threads[i].thread) = i;
	for (size_t i = 0; i < s->account_count; i++)
		*isc_hashmap_find(&s->by_account, isc_stream_key(s->accounts[i].process, s->accounts[i].thread,
								 s->accounts[i].stream)) = i;
	/* Checkpoints repeat pairs; and time that goes back is no time. */
	for (size_t i = 0; i < s->pair_count; i++) {
		if (kept == 0 ||
		    (s->pairs[i].ticks > s->pairs[kept - 1].ticks && s->pairs[i].mono_ns >= s->pairs[kept - 1].mono_ns))
			s->pairs[kept++] = s->pairs[i];
	}
	s->pair_count = kept;
	isc_over_time_sort(&s->over_time);
	return ISC_OK;
}

enum { STEP_META, STEP_PROCESS, STEP_THREAD, STEP_ACCOUNT, STEP_CLOCK, STEP_OVER_TIME, STEPS };

/* Adds records from *at on until the chunk is full; how many. */
static uint32_t fill(const isc_session_state *s, int step, size_t *at, bool all, isc_buffer *out)
{
	const size_t count[] = {[STEP_META] = s->meta.len > 0,	 [STEP_PROCESS] = s->process_count,
				[STEP_THREAD] = s->thread_count, [STEP_ACCOUNT] = s->account_count,
				[STEP_CLOCK] = s->pair_count,	 [STEP_OVER_TIME] = s->over_time.count};
	uint32_t records = 0;

	if (step == STEP_CLOCK && !all && *at < s->pairs_clean)
		*at = s->pairs_clean;
	if (step == STEP_OVER_TIME && !all && *at < s->over_time.clean)
		*at = s->over_time.clean;
	for (; *at < count[step] && out->len < CHUNK_BYTES; (*at)++) {
		bool wanted = all;

		switch (step) {
		case STEP_META:
			wanted |= s->meta_dirty;
			if (wanted)
				isc_buffer_add(out, s->meta.data, s->meta.len);
			break;
		case STEP_PROCESS:
			wanted |= s->process_dirty[*at];
			if (wanted)
				isc_record_put_process(out, &s->processes[*at]);
			break;
		case STEP_THREAD:
			wanted |= s->thread_dirty[*at];
			if (wanted)
				isc_record_put_thread(out, &s->threads[*at]);
			break;
		case STEP_ACCOUNT:
			wanted |= s->account_dirty[*at];
			if (wanted)
				isc_record_put_account(out, &s->accounts[*at]);
			break;
		case STEP_CLOCK:
			wanted = true;
			isc_record_put_clock(out, &s->pairs[*at]);
			break;
		default:
			wanted = true;
			isc_record_put_period(out, &s->over_time.row[*at]);
			break;
		}
		records += wanted;
	}
	return records;
}

bool isc_session_state_next_chunk(const isc_session_state *s, isc_session_state_cursor *c, bool all, int *chunk_type,
				  uint32_t *records, isc_buffer *out)
{
	static const int types[] = {[STEP_META] = ISC_CHUNK_META,     [STEP_PROCESS] = ISC_CHUNK_PROCESS,
				    [STEP_THREAD] = ISC_CHUNK_THREAD, [STEP_ACCOUNT] = ISC_CHUNK_ACCOUNT,
				    [STEP_CLOCK] = ISC_CHUNK_CLOCK,   [STEP_OVER_TIME] = ISC_CHUNK_PERIODS};

	isc_buffer_clear(out);
	for (; c->step < STEPS; c->step++, c->at = 0) {
		*records = fill(s, c->step, &c->at, all, out);
		if (*records > 0) {
			*chunk_type = types[c->step];
			return true;
		}
	}
	return false;
}

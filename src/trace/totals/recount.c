#include <string.h>
#include <sys/stat.h>

#include "trace/opened.h"
#include "trace/file/plan.h"

/* Totals out of a file: the newest whole checkpoint, then every chunk of
 * events that it does not cover. */

#define RETRIES_MAX 8 /* while the recorder overtakes us */

int isc_checkpoint_find(const isc_table *table, size_t before, isc_chunk_source *source, isc_checkpoint *out)
{
	uint32_t want = 0, parts = 0;
	uint64_t id = 0;
	size_t last = 0;

	*out = (isc_checkpoint){0};
	/* Parts are written in order, so from the end they come backwards. */
	for (size_t i = before; i-- > 0;) {
		const isc_chunk_ref *ref = &table->ref[i];
		const uint8_t *at;

		if (ref->type != ISC_CHUNK_TOTALS)
			continue;
		if (want == 0 || ref->number != id || ref->slots != parts || ref->events != want - 1) {
			/* Not the next part of what we followed: perhaps the last of another. */
			want = ref->slots > 0 && ref->events == ref->slots - 1 ? ref->slots : 0;
			id = ref->number;
			parts = ref->slots;
			last = i;
		}
		if (want == 0 || --want > 0)
			continue;
		switch (isc_chunk_source_read(source, ref)) {
		case ISC_SOURCE_NOMEM:
			return ISC_SOURCE_NOMEM;
		case ISC_SOURCE_OK:
			at = source->raw;
			if (!isc_totals_read_cover(&at, source->raw + source->header.raw_size, &out->cover))
				break;
			out->found = true;
			out->first = i;
			out->last = last;
			out->id = id;
			return ISC_SOURCE_OK;
		default:
			break;
		}
	}
	*out = (isc_checkpoint){0};
	return ISC_SOURCE_OK;
}

bool isc_table_has_holes(const isc_table *table, const isc_checkpoint *checkpoint)
{
	uint32_t covered = checkpoint->found ? checkpoint->cover.sequence : 0;
	uint64_t present = 0, before = 0;
	uint32_t newest = table->count > 0 ? table->ref[table->count - 1].sequence : 0;

	for (size_t i = table->count; i-- > 0 && table->ref[i].sequence > covered;) {
		present += table->ref[i].sequence != before;
		before = table->ref[i].sequence;
	}
	return newest > covered && present != newest - covered;
}

bool isc_totals_feed_columns(isc_totals *t, const isc_chunk_header *h, const isc_columns *c)
{
	isc_totals_lane *lane = isc_totals_lane_of(t, h->process, h->thread, h->stream);
	const uint8_t *extra = c->extra;

	if (lane == NULL || !isc_totals_lane_reach(t, lane, h->number))
		return false;
	for (uint32_t i = 0; i < c->events; i++) {
		isc_record r = {.ticks = c->ticks[i],
				.id = c->id[i],
				.kind = c->kind[i],
				.slots = c->slots[i],
				.arg = c->arg[i]};
		uint32_t len = (r.slots - 1u) * (uint32_t)sizeof(r);

		if (!isc_totals_lane_feed(t, lane, &r, extra, len))
			return false;
		extra += len;
	}
	lane->next = h->number + h->events;
	return true;
}

/* Definitions are looked through when somebody asks, as most totals have room for all. */
static uint32_t kin_of(void *self, uint32_t process, uint32_t id)
{
	isc_trace *tr = self;

	for (; tr->kin_count < tr->definitions.count; tr->kin_count++) {
		const isc_definition *d = &tr->definitions.entry[tr->kin_count];

		/* Without memory less is known, and more is folded together. */
		if (!isc_kin_note(&tr->kin, d->process, d->id, d->type, d->data, d->len))
			break;
	}
	return isc_kin_of(&tr->kin, &tr->state, process, id);
}

void isc_trace_relate(isc_trace *tr, isc_totals *totals)
{
	isc_totals_relate(totals, kin_of, tr);
}

int isc_checkpoint_load(isc_totals *t, const isc_table *table, const isc_checkpoint *cp, isc_chunk_source *source)
{
	for (size_t i = cp->first; i <= cp->last; i++) {
		int result;
		isc_status st;

		if (table->ref[i].type != ISC_CHUNK_TOTALS || table->ref[i].number != cp->id)
			continue;
		result = isc_chunk_source_read(source, &table->ref[i]);
		if (result != ISC_SOURCE_OK)
			return result;
		st = isc_totals_read(t, source->raw, source->header.raw_size);
		if (st != ISC_OK)
			return st == ISC_ERR_NOMEM ? ISC_SOURCE_NOMEM : ISC_SOURCE_BAD;
	}
	return ISC_SOURCE_OK;
}

static int feed_rest(isc_totals *t, const isc_table *table, uint32_t covered, uint32_t tick_shift,
		     isc_chunk_source *source)
{
	isc_columns columns = {0};
	int result = ISC_SOURCE_OK;

	for (size_t i = 0; i < table->count && result == ISC_SOURCE_OK; i++) {
		const isc_chunk_header *h = &source->header;

		if (table->ref[i].type != ISC_CHUNK_EVENTS || table->ref[i].sequence <= covered)
			continue;
		result = isc_chunk_source_read(source, &table->ref[i]);
		if (result == ISC_SOURCE_BAD)
			result = ISC_SOURCE_OK; /* damage is for whoever reads events to report */
		else if (result == ISC_SOURCE_OK) {
			int decoded = isc_columns_decode(&columns, source->raw, h->raw_size, h->events, h->slots,
							 h->time, tick_shift);

			if (decoded == ISC_COLUMNS_NOMEM ||
			    (decoded == ISC_COLUMNS_OK && !isc_totals_feed_columns(t, h, &columns)))
				result = ISC_SOURCE_NOMEM;
		}
	}
	isc_columns_fini(&columns);
	return result;
}

/* One try on one table.  ISC_SOURCE_GONE: the table is outdated. */
static int count(isc_trace *tr, const isc_table *table, isc_chunk_source *source, isc_totals **out)
{
	size_t before = table->count;
	isc_checkpoint cp;
	int result;

	do {
		isc_totals_free(*out);
		if (isc_totals_new(out, NULL) != ISC_OK)
			return ISC_SOURCE_NOMEM;
		isc_totals_bound(*out, isc_plan_of(tr->header.limit_bytes).totals_weight);
		isc_trace_relate(tr, *out);
		if (isc_checkpoint_find(table, before, source, &cp) == ISC_SOURCE_NOMEM)
			return ISC_SOURCE_NOMEM;
		result = cp.found ? isc_checkpoint_load(*out, table, &cp, source) : ISC_SOURCE_OK;
		before = cp.first;
	} while (result == ISC_SOURCE_BAD);
	if (result == ISC_SOURCE_OK)
		result = feed_rest(*out, table, cp.found ? cp.cover.sequence : 0, tr->header.tick_shift, source);
	return result;
}

isc_status isc_trace_totals(isc_trace *tr, isc_totals **out, isc_error *err)
{
	isc_chunk_source source = {.fd = tr->fd, .live = !tr->table.complete};
	isc_table newer = {0};
	isc_checkpoint cp;
	struct stat sb;
	int result;

	*out = NULL;
	result = count(tr, &tr->table, &source, out);
	for (int i = 0; i < RETRIES_MAX && result == ISC_SOURCE_GONE && fstat(tr->fd, &sb) == 0; i++) {
		if (isc_table_scan(&newer, tr->fd, &tr->header, (uint64_t)sb.st_size) != ISC_OK) {
			result = ISC_SOURCE_NOMEM;
			break;
		}
		isc_table_sort(&newer);
		if (isc_checkpoint_find(&newer, newer.count, &source, &cp) == ISC_SOURCE_NOMEM)
			result = ISC_SOURCE_NOMEM;
		else if (!isc_table_has_holes(&newer, &cp) || i == RETRIES_MAX - 1)
			result = count(tr, &newer, &source, out);
	}
	isc_table_fini(&newer);
	isc_chunk_source_fini(&source);
	if (result == ISC_SOURCE_OK)
		return ISC_OK;
	isc_totals_free(*out);
	*out = NULL;
	if (result == ISC_SOURCE_NOMEM)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for running totals");
	isc_fail(err, ISC_ERR_LIMIT, "the trace is written faster than its totals can be read");
	isc_hint(err, "try again when the program has ended");
	return ISC_ERR_LIMIT;
}

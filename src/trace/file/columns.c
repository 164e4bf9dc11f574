#include "trace/file/columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/varint.h"

/*
 * A payload is seven lengths as varints (entries of the dictionary; bytes of
 * dictionary, ids, ticks, slots, args, extra), then the columns in this order:
 *
 *	dictionary	ids in order of first use
 *	kinds		one byte an event
 *	ids		1 + place in the dictionary, or 0: the guess below was right
 *	ticks		distance to the event before, modulo 2^64
 *	slots, args	only where not 1 and not 0: events skipped, then the value
 *	extra		the bytes behind first slots
 */

/*
 * The guess: a leave has the id of the enter that is open.  Both sides keep a
 * small stack: an id that stands on top is taken off and needs no place, any
 * other is put on top.  Kinds do not matter, so later ones gain from it as well.
 */
#define GUESSES 64u /* deeper ones fall out at the bottom */

#define PLACES 32768u /* twice the events of a chunk: probes stay short */
#define LENGTHS 7

struct column_place {
	uint32_t id;
	uint32_t stamp;
	uint32_t index;
};

/* Worst case of each column for one event. */
enum { DICT_MAX = 5, ID_MAX = 3, SLOTS_MAX = 5, ARGS_MAX = 6 };

bool isc_columns_encoder_init(isc_columns_encoder *e)
{
	*e = (isc_columns_encoder){0};
	e->place = calloc(PLACES, sizeof(struct column_place));
	e->scratch =
		malloc((size_t)ISC_COLUMNS_SLOTS_MAX * (DICT_MAX + 1 + ID_MAX + ISC_VARINT_MAX + SLOTS_MAX + ARGS_MAX));
	if (e->place != NULL && e->scratch != NULL)
		return true;
	isc_columns_encoder_fini(e);
	return false;
}

void isc_columns_encoder_fini(isc_columns_encoder *e)
{
	free(e->place);
	free(e->scratch);
	isc_buffer_fini(&e->out);
	*e = (isc_columns_encoder){0};
}

static inline struct column_place *place_of(struct column_place *places, uint32_t id, uint32_t stamp)
{
	uint32_t at = id * 0x9e3779b1u >> 17;

	while (places[at].stamp == stamp && places[at].id != id)
		at = (at + 1) & (PLACES - 1);
	return &places[at];
}

bool isc_columns_encode(isc_columns_encoder *e, const isc_record *slots, uint32_t events, uint32_t n,
			uint32_t tick_shift)
{
	struct column_place *places = e->place;
	uint8_t *dict = e->scratch, *kinds = dict + (size_t)DICT_MAX * ISC_COLUMNS_SLOTS_MAX;
	uint8_t *ids = kinds + ISC_COLUMNS_SLOTS_MAX, *ticks = ids + (size_t)ID_MAX * ISC_COLUMNS_SLOTS_MAX;
	uint8_t *sizes = ticks + (size_t)ISC_VARINT_MAX * ISC_COLUMNS_SLOTS_MAX;
	uint8_t *args = sizes + (size_t)SLOTS_MAX * ISC_COLUMNS_SLOTS_MAX;
	uint8_t *const start[] = {dict, kinds, ids, ticks, sizes, args};
	uint32_t known = 0, last_size = 0, last_arg = 0, event = 0;
	uint64_t before = slots[0].ticks >> tick_shift;
	uint32_t guess[GUESSES] = {0}, top = 0;
	uint64_t latest = before;

	if (++e->stamp == 0) {
		memset(places, 0, PLACES * sizeof(*places));
		e->stamp = 1;
	}
	for (uint32_t i = 0; i < n; i += slots[i].slots, event++) {
		const isc_record *r = &slots[i];
		uint64_t now = r->ticks >> tick_shift;

		*kinds++ = r->kind;
		latest = now > latest ? now : latest;
		if (guess[top % GUESSES] == r->id && top > 0) {
			*ids++ = 0;
			top--;
		} else {
			struct column_place *p = place_of(places, r->id, e->stamp);

			if (p->stamp != e->stamp) {
				*p = (struct column_place){r->id, e->stamp, known++};
				dict = isc_varint_put(dict, r->id);
			}
			ids = isc_varint_put(ids, p->index + 1u);
			guess[++top % GUESSES] = r->id;
		}
		ticks = isc_varint_put(ticks, now - before);
		before = now;
		if (r->slots != 1) {
			sizes = isc_varint_put(sizes, event - last_size);
			*sizes++ = r->slots;
			last_size = event;
		}
		if (r->arg != 0) {
			args = isc_varint_put(args, event - last_arg);
			args = isc_varint_put(args, r->arg);
			last_arg = event;
		}
	}

	uint8_t *const stop[] = {dict, kinds, ids, ticks, sizes, args};
	isc_buffer *out = &e->out;

	e->contents = (isc_contents){isc_contents_kinds(start[1], events), slots[0].ticks >> tick_shift, latest};
	isc_buffer_clear(out);
	isc_varint_add(out, known);
	for (int c = 0; c < 6; c++) {
		if (start[c] != start[1])
			isc_varint_add(out, (uint64_t)(stop[c] - start[c]));
	}
	isc_varint_add(out, (uint64_t)(n - events) * sizeof(*slots));
	for (int c = 0; c < 6; c++)
		isc_buffer_add(out, start[c], (size_t)(stop[c] - start[c]));
	if (n != events) {
		for (uint32_t i = 0; i < n; i += slots[i].slots)
			isc_buffer_add(out, &slots[i + 1], (slots[i].slots - 1u) * sizeof(*slots));
	}
	return !out->failed;
}

void isc_columns_fini(isc_columns *c)
{
	free(c->ticks);
	free(c->id);
	free(c->arg);
	free(c->kind);
	free(c->slots);
	*c = (isc_columns){0};
}

static bool reserve(isc_columns *c, uint32_t events)
{
	if (events <= c->room)
		return true;
	isc_columns_fini(c);
	c->ticks = malloc(events * sizeof(*c->ticks));
	c->id = malloc(events * sizeof(*c->id));
	c->arg = malloc(events * sizeof(*c->arg));
	c->kind = malloc(events);
	c->slots = malloc(events);
	if (c->ticks == NULL || c->id == NULL || c->arg == NULL || c->kind == NULL || c->slots == NULL) {
		isc_columns_fini(c);
		return false;
	}
	c->room = events;
	return true;
}

struct column_span {
	const uint8_t *at, *end;
};

static bool decode_ids(isc_columns *c, struct column_span ids, struct column_span dict, uint64_t known, uint32_t *table)
{
	uint32_t guess[GUESSES] = {0}, top = 0;
	uint64_t place;

	for (uint64_t i = 0; i < known; i++) {
		if (!isc_varint_get32(&dict.at, dict.end, &table[i]))
			return false;
	}
	for (uint32_t i = 0; i < c->events; i++) {
		if (!isc_varint_get(&ids.at, ids.end, &place) || place > known || (place == 0 && top == 0))
			return false;
		if (place == 0) {
			c->id[i] = guess[top-- % GUESSES];
		} else {
			c->id[i] = table[place - 1];
			guess[++top % GUESSES] = c->id[i];
		}
	}
	return ids.at == ids.end && dict.at == dict.end;
}

static bool decode_ticks(isc_columns *c, struct column_span ticks, uint64_t now, uint32_t shift)
{
	uint64_t step;

	for (uint32_t i = 0; i < c->events; i++) {
		if (!isc_varint_get(&ticks.at, ticks.end, &step))
			return false;
		now += step;
		c->ticks[i] = now << shift;
	}
	return ticks.at == ticks.end;
}

static bool decode_sizes(isc_columns *c, struct column_span sizes, size_t *extra)
{
	uint64_t event = 0, skip;

	memset(c->slots, 1, c->events);
	while (sizes.at < sizes.end) {
		if (!isc_varint_get_max(&sizes.at, sizes.end, c->events, &skip) || sizes.at == sizes.end)
			return false;
		event += skip;
		if (event >= c->events || c->slots[event] != 1 || *sizes.at < 2)
			return false;
		c->slots[event] = *sizes.at++;
		*extra += (c->slots[event] - 1u) * sizeof(isc_record);
	}
	return true;
}

static bool decode_args(isc_columns *c, struct column_span args)
{
	uint64_t event = 0, skip, value;

	memset(c->arg, 0, c->events * sizeof(*c->arg));
	while (args.at < args.end) {
		if (!isc_varint_get_max(&args.at, args.end, c->events, &skip) ||
		    !isc_varint_get_max(&args.at, args.end, UINT16_MAX, &value))
			return false;
		event += skip;
		if (event >= c->events)
			return false;
		c->arg[event] = (uint16_t)value;
	}
	return true;
}

int isc_columns_decode(isc_columns *c, const uint8_t *raw, size_t len, uint32_t events, uint32_t slots, uint64_t time,
		       uint32_t tick_shift)
{
	const uint8_t *at = raw, *end = raw + len;
	uint64_t length[LENGTHS], sum = events;
	struct column_span column[LENGTHS];
	size_t extra = 0;
	uint32_t *table;
	bool good;

	/* A kind is a byte, so there are never more events than bytes. */
	if (events == 0 || events > len || slots < events)
		return ISC_COLUMNS_BAD;
	for (int i = 0; i < LENGTHS; i++) {
		if (!isc_varint_get_max(&at, end, len, &length[i]))
			return ISC_COLUMNS_BAD;
		sum += i > 0 ? length[i] : 0;
	}
	if (length[0] > length[1] || length[0] > events || sum != (uint64_t)(end - at))
		return ISC_COLUMNS_BAD;
	if (!reserve(c, events))
		return ISC_COLUMNS_NOMEM;
	table = malloc((length[0] + 1) * sizeof(*table));
	if (table == NULL)
		return ISC_COLUMNS_NOMEM;
	c->events = events;
	column[1] = (struct column_span){at, at + length[1]};
	at += length[1];
	memcpy(c->kind, at, events);
	at += events;
	for (int i = 2; i < LENGTHS; i++) {
		column[i] = (struct column_span){at, at + length[i]};
		at += length[i];
	}
	good = decode_ids(c, column[2], column[1], length[0], table) && decode_ticks(c, column[3], time, tick_shift) &&
	       decode_sizes(c, column[4], &extra) && decode_args(c, column[5]) && extra == length[6] &&
	       extra / sizeof(isc_record) + events == slots;
	c->extra = column[6].at;
	free(table);
	return good ? ISC_COLUMNS_OK : ISC_COLUMNS_BAD;
}

isc_contents isc_columns_contents(const isc_columns *c, uint32_t tick_shift)
{
	uint64_t latest = 0;

	for (uint32_t i = 0; i < c->events; i++)
		latest = c->ticks[i] > latest ? c->ticks[i] : latest;
	return (isc_contents){isc_contents_kinds(c->kind, c->events), c->ticks[0] >> tick_shift, latest >> tick_shift};
}

#include "analyze/picture/lanes.h"

#include <stdlib.h>
#include <string.h>

#define GRAIN_NS 64u /* a clock is no finer */
#define KEPT_SHARE 3 /* a third of the room, at most, goes to stretches that stay fine */

isc_lanes *isc_lanes_new(isc_arena *arena, size_t most)
{
	isc_lanes *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return NULL;
	l->arena = arena;
	l->most = most;
	l->grain_ns = l->kept_grain_ns = GRAIN_NS;
	l->from_ns = UINT64_MAX;
	return l;
}

void isc_lanes_free(isc_lanes *l)
{
	if (l == NULL)
		return;
	for (size_t i = 0; i < l->lane_count; i++) {
		for (size_t r = 0; r < l->lanes[i].row_count; r++)
			free(l->lanes[i].rows[r].piece);
	}
	isc_hashmap_fini(&l->lane_of);
	isc_names_fini(&l->keys);
	free(l->values);
	free(l);
}

void isc_lanes_keep(isc_lanes *l, uint64_t from_ns, uint64_t to_ns)
{
	if (l->kept_count < ISC_LANES_KEPT && to_ns > from_ns) {
		l->kept[l->kept_count].from_ns = from_ns;
		l->kept[l->kept_count++].to_ns = to_ns;
	}
}

/* The report is written when the trace may be closed. */
void isc_lanes_call(isc_lanes *l, isc_lane *lane, isc_text name)
{
	char *copy = name.len > 0 ? isc_arena_copy(l->arena, name.at, name.len) : NULL;

	l->failed |= name.len > 0 && copy == NULL;
	lane->name = (isc_text){copy, copy != NULL ? name.len : 0};
}

isc_lane *isc_lanes_lane(isc_lanes *l, uint64_t key, const isc_lane *as)
{
	uint64_t *place = isc_hashmap_find(&l->lane_of, key);
	isc_lane *lane;

	if (place != NULL)
		return &l->lanes[*place - 1];
	if (l->lane_count >= ISC_LANES_MOST || l->failed)
		return NULL;
	place = isc_hashmap_put(&l->lane_of, key, NULL);
	lane = isc_arena_push(l->arena, &l->lanes, &l->lane_count, &l->lane_room, sizeof(*lane));
	if (place == NULL || lane == NULL) {
		l->failed = true;
		return NULL;
	}
	*lane = *as;
	isc_lanes_call(l, lane, as->name);
	lane->rows = NULL;
	lane->row_count = lane->row_room = 0;
	*place = l->lane_count;
	return lane;
}

uint32_t isc_lanes_name(isc_lanes *l, const isc_piece_name *name)
{
	isc_buffer key = {0};
	size_t number;
	isc_piece_name *to;

	isc_buffer_add(&key, name->name.at, name->name.len);
	isc_buffer_add(&key, "\0", 1);
	isc_buffer_add(&key, name->file.at, name->file.len);
	isc_buffer_add(&key, &name->line, sizeof(name->line));
	number = key.failed ? SIZE_MAX : isc_names_put(&l->keys, l->arena, key.data, key.len);
	isc_buffer_fini(&key);
	if (number == SIZE_MAX) {
		l->failed = true;
		return 0;
	}
	if (number >= l->name_count) {
		to = isc_arena_push(l->arena, &l->names, &l->name_count, &l->name_room, sizeof(*to));
		if (to == NULL) {
			l->failed = true;
			return 0;
		}
		/* The key is a copy that stays. */
		*to = *name;
		to->name.at = l->keys.text[number].at;
		to->file.at = to->name.at + name->name.len + 1;
	}
	return (uint32_t)number;
}

/* ---- coarser, when there is no room ---- */

static bool is_kept(const isc_lanes *l, const isc_lane_piece *p)
{
	for (size_t i = 0; i < l->kept_count; i++) {
		if (p->start_ns <= l->kept[i].to_ns && p->end_ns >= l->kept[i].from_ns)
			return true;
	}
	return false;
}

static uint64_t grain_of(const isc_lanes *l, const isc_lane_piece *p)
{
	return is_kept(l, p) ? l->kept_grain_ns : l->grain_ns;
}

static bool joins(const isc_lane_piece *last, const isc_lane_piece *p, uint64_t grain)
{
	return p->end_ns - p->start_ns < grain && last->end_ns - last->start_ns < grain &&
	       last->start_ns / grain == p->start_ns / grain;
}

static void join(isc_lane_piece *last, const isc_lane_piece *p)
{
	uint64_t longest = last->top_ns > p->top_ns ? last->top_ns : p->top_ns;

	if (last->name == p->name)
		last->top_ns += p->top_ns;
	else if (p->top_ns > last->top_ns)
		last->name = p->name;
	if (last->top_ns < longest)
		last->top_ns = longest;
	last->end_ns = p->end_ns;
	last->busy_ns += p->busy_ns;
	last->count += p->count;
	last->launch_ns = UINT64_MAX;
}

/* A counter keeps the larger of two values: what stands out is what is looked for. */
static void join_values(const isc_lanes *l, isc_lane_piece *last, const isc_lane_piece *p)
{
	if (l->values[p->name] > l->values[last->name])
		last->name = p->name;
	last->end_ns = p->end_ns;
	last->count += p->count;
}

static void thin(isc_lanes *l, isc_lane_row *row)
{
	size_t kept = 0;

	for (size_t i = 0; i < row->count; i++) {
		const isc_lane_piece *p = &row->piece[i];
		isc_lane_piece *last = kept > 0 ? &row->piece[kept - 1] : NULL;
		uint64_t grain = grain_of(l, p);

		if (last == NULL || !joins(last, p, grain))
			row->piece[kept++] = *p;
		else if (row->kind == ISC_ROW_COUNTER)
			join_values(l, last, p);
		else
			join(last, p);
	}
	l->pieces -= row->count - kept;
	row->count = kept;
}

static size_t in_kept(const isc_lanes *l)
{
	size_t n = 0;

	for (size_t i = 0; l->kept_count > 0 && i < l->lane_count; i++) {
		for (size_t r = 0; r < l->lanes[i].row_count; r++) {
			const isc_lane_row *row = &l->lanes[i].rows[r];

			for (size_t k = 0; k < row->count; k++)
				n += is_kept(l, &row->piece[k]);
		}
	}
	return n;
}

/* Down to half the room, so that it does not come often. */
static void coarsen(isc_lanes *l)
{
	while (l->pieces > l->most / 2 && l->grain_ns < UINT64_MAX / 4) {
		l->grain_ns *= 2;
		if (in_kept(l) > l->most / KEPT_SHARE)
			l->kept_grain_ns *= 2;
		for (size_t i = 0; i < l->lane_count; i++) {
			for (size_t r = 0; r < l->lanes[i].row_count; r++)
				thin(l, &l->lanes[i].rows[r]);
		}
	}
}

/* ---- adding ---- */

static isc_lane_row *row_of(isc_lanes *l, isc_lane *lane, enum isc_row_kind kind, uint16_t depth)
{
	isc_lane_row *row;

	for (size_t i = 0; i < lane->row_count; i++) {
		if (lane->rows[i].kind == kind && lane->rows[i].depth == depth)
			return &lane->rows[i];
	}
	row = isc_arena_push(l->arena, &lane->rows, &lane->row_count, &lane->row_room, sizeof(*row));
	if (row == NULL)
		l->failed = true;
	else
		*row = (isc_lane_row){.kind = (uint8_t)kind, .depth = depth};
	return row;
}

static bool grow(isc_lane_row *row)
{
	size_t room = row->room > 0 ? row->room * 2 : 16;
	isc_lane_piece *wider;

	if (row->count < row->room)
		return true;
	wider = realloc(row->piece, room * sizeof(*wider));
	if (wider == NULL)
		return false;
	row->piece = wider;
	row->room = room;
	return true;
}

void isc_lanes_add(isc_lanes *l, isc_lane *lane, enum isc_row_kind kind, uint16_t depth, const isc_lane_piece *piece)
{
	isc_lane_row *row;
	isc_lane_piece *to;

	if (l->failed)
		return;
	if (lane == NULL || depth >= ISC_LANES_DEEPEST) {
		l->left_out++;
		return;
	}
	row = row_of(l, lane, kind, depth);
	if (row == NULL || !grow(row)) {
		l->failed = true;
		return;
	}
	to = &row->piece[row->count];
	*to = *piece;
	if (to->end_ns < to->start_ns)
		to->end_ns = to->start_ns;
	/* Clocks of two threads, or of two sources, may disagree by a little. */
	if (row->count > 0 && to->start_ns < to[-1].end_ns) {
		if (to->end_ns <= to[-1].end_ns) {
			l->left_out++;
			return;
		}
		to->start_ns = to[-1].end_ns;
	}
	to->busy_ns = to->top_ns = to->end_ns - to->start_ns;
	to->count = 1;
	l->from_ns = to->start_ns < l->from_ns ? to->start_ns : l->from_ns;
	l->to_ns = to->end_ns > l->to_ns ? to->end_ns : l->to_ns;
	l->events++;
	/* Most short ones join the last at once. */
	if (row->count > 0 && kind != ISC_ROW_COUNTER && joins(to - 1, to, grain_of(l, to))) {
		join(to - 1, to);
		return;
	}
	row->count++;
	if (++l->pieces > l->most)
		coarsen(l);
}

void isc_lanes_value(isc_lanes *l, isc_lane *lane, uint64_t ns, double value)
{
	isc_lane_piece p = {.start_ns = ns, .end_ns = ns, .launch_ns = UINT64_MAX, .name = (uint32_t)l->value_count};
	double *wider;

	if (l->value_count == l->value_room) {
		wider = realloc(l->values, (l->value_room * 2 + 256) * sizeof(*wider));
		if (wider == NULL) {
			l->failed = true;
			return;
		}
		l->values = wider;
		l->value_room = l->value_room * 2 + 256;
	}
	/* A counter that is told a million times does not need a million values. */
	if (l->value_count >= (1u << 20)) {
		l->left_out++;
		return;
	}
	l->values[l->value_count++] = value;
	isc_lanes_add(l, lane, ISC_ROW_COUNTER, 0, &p);
}

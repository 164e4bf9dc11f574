#include "export/gpu_rows.h"

#include <stdlib.h>

#include "base/grow.h"

/* What a row remembers; work that lies before that goes to another row. */
#define RECENT 64u
/* A stream of a sane trace has three; with more the last takes the rest. */
#define ROWS_OF_STREAM 64u
#define ROWS_MOST 16384u

typedef struct isc_gpu_row {
	uint64_t stream;
	uint32_t device;
	uint32_t nth;
	size_t next;	       /* older row of this chain + 1 */
	uint64_t last_ns;      /* everything in it has ended by then */
	uint64_t forgotten_ns; /* everything that is remembered no more has */
	struct {
		uint64_t start_ns, end_ns;
	} recent[RECENT];
	uint32_t used; /* of recent, also more: the oldest is written over */
} isc_gpu_row;

void isc_gpu_rows_fini(isc_gpu_rows *rows)
{
	isc_hashmap_fini(&rows->streams);
	free(rows->row);
	*rows = (isc_gpu_rows){0};
}

/* Also when it begins or ends at the very moment at which the other does: whoever sorts the ends of slices by
 * their time must find those of the inner one between those of the outer one. */
static bool fits(const isc_gpu_row *row, uint64_t start_ns, uint64_t end_ns)
{
	if (start_ns >= row->last_ns)
		return true;
	if (start_ns < row->forgotten_ns)
		return false;
	for (uint32_t i = 0; i < row->used && i < RECENT; i++) {
		uint64_t from = row->recent[i].start_ns, to = row->recent[i].end_ns;
		bool apart = start_ns >= to || end_ns < from;
		bool inside = start_ns >= from && end_ns <= to;
		bool around = start_ns < from && end_ns >= to;

		if (!apart && !inside && !around)
			return false;
	}
	return true;
}

static void remember(isc_gpu_row *row, uint64_t start_ns, uint64_t end_ns)
{
	uint32_t at = row->used % RECENT;

	if (row->used >= RECENT && row->recent[at].end_ns > row->forgotten_ns)
		row->forgotten_ns = row->recent[at].end_ns;
	row->recent[at].start_ns = start_ns;
	row->recent[at].end_ns = end_ns;
	row->used = row->used + 1 < 2 * RECENT ? row->used + 1 : RECENT;
	row->last_ns = end_ns > row->last_ns ? end_ns : row->last_ns;
}

static bool add_row(isc_gpu_rows *rows, uint32_t device, uint64_t stream, uint32_t nth, uint64_t *newest)
{
	isc_gpu_row *grown = isc_grow(rows->row, rows->count, &rows->room, sizeof(*grown));

	if (grown == NULL)
		return false;
	rows->row = grown;
	rows->row[rows->count] = (isc_gpu_row){.stream = stream, .device = device, .nth = nth, .next = (size_t)*newest};
	*newest = ++rows->count;
	return true;
}

size_t isc_gpu_rows_place(isc_gpu_rows *rows, uint32_t device, uint64_t stream, uint64_t start_ns, uint64_t end_ns,
			  uint32_t *nth, bool *fresh)
{
	uint64_t key = (stream ^ (uint64_t)device << 48) * 0x9e3779b97f4a7c15ull;
	uint64_t *newest = isc_hashmap_put(&rows->streams, key, NULL);
	size_t best = SIZE_MAX, any = SIZE_MAX;
	uint32_t taken = 0;

	if (newest == NULL)
		return SIZE_MAX;
	/* From the newest to the first: the first that fits is the one that comes last. */
	for (size_t i = (size_t)*newest; i != 0; i = rows->row[i - 1].next) {
		const isc_gpu_row *row = &rows->row[i - 1];

		if (row->stream != stream || row->device != device)
			continue;
		taken++;
		any = any == SIZE_MAX ? i - 1 : any;
		if (fits(row, start_ns, end_ns))
			best = i - 1;
	}
	*fresh = false;
	if (best == SIZE_MAX && (taken == ROWS_OF_STREAM || rows->count >= ROWS_MOST))
		best = any != SIZE_MAX ? any : 0;
	if (best == SIZE_MAX) {
		if (!add_row(rows, device, stream, taken, newest))
			return SIZE_MAX;
		best = rows->count - 1;
		*fresh = true;
	}
	*nth = rows->row[best].nth;
	remember(&rows->row[best], start_ns, end_ns);
	return best;
}

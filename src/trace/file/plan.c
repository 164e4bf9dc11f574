#include "trace/file/plan.h"

#include "trace/file/columns.h"
#include "trace/format.h"
#include "trace/totals/totals_lane.h"

#define SEGMENT_USUAL (256u << 10)
#define STATE_WEIGHT_MAX (64u << 20)

/* Files that may be this large have totals of at least so much: what imports of large programs take. */
#define ROOMY_LIMIT (64u * 1000 * 1000)
#define TOTALS_FLOOR (16u << 20)

/* In a segment so much is lost to chunk headers and to its end: parts are of 16 KiB. */
static uint32_t segments_for(uint64_t weight, uint32_t segment_size)
{
	return (uint32_t)((weight + weight / 12) / segment_size) + 2;
}

isc_plan isc_plan_of(uint64_t limit_bytes)
{
	isc_plan p = {.segment_size = SEGMENT_USUAL,
		      .segments = UINT32_MAX,
		      .keep_segments = UINT32_MAX,
		      .checkpoint_segments = UINT32_MAX,
		      .journal_segments = UINT32_MAX,
		      .chunk_slots = ISC_COLUMNS_SLOTS_MAX,
		      .totals_weight = ISC_TOTALS_WEIGHT_MAX,
		      .state_weight = STATE_WEIGHT_MAX,
		      .clock_pairs = 4096,
		      .argv_bytes = 16384,
		      .meta_bytes = 32768};
	uint64_t n, checkpoint;

	if (limit_bytes == 0)
		return p;
	while (p.segment_size > ISC_SEGMENT_MIN && p.segment_size > limit_bytes / 64)
		p.segment_size /= 2;
	n = (limit_bytes - ISC_PLAN_SEGMENT_START) / p.segment_size;
	p.segments = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX - 1;
	p.checkpoint_segments = p.segments / 6 > 2 ? p.segments / 6 : 2;
	p.journal_segments = p.checkpoint_segments;
	p.chunk_slots = p.segment_size / 16 < ISC_COLUMNS_SLOTS_MAX ? p.segment_size / 16 : ISC_COLUMNS_SLOTS_MAX;
	/* Entries weigh their worst; the rest is for chunk headers and for what stays
	 * empty at the ends of segments. */
	checkpoint = (uint64_t)p.checkpoint_segments * p.segment_size;
	p.totals_weight = checkpoint / 16 * 5;
	p.state_weight = checkpoint / 16 * 5;
	if (p.totals_weight > ISC_TOTALS_WEIGHT_MAX)
		p.totals_weight = ISC_TOTALS_WEIGHT_MAX;
	if (p.state_weight > STATE_WEIGHT_MAX)
		p.state_weight = STATE_WEIGHT_MAX;
	if (limit_bytes >= ROOMY_LIMIT && p.totals_weight < TOTALS_FLOOR) {
		p.totals_weight = TOTALS_FLOOR;
		p.checkpoint_segments = segments_for(p.totals_weight + p.state_weight, p.segment_size);
		p.journal_segments = p.checkpoint_segments / 4;
	}
	/* Beside definitions: one checkpoint with what changed since, the next one,
	 * two segments of events, and the end. */
	p.keep_segments = p.segments - 2 * p.checkpoint_segments - p.journal_segments - 3;
	if (p.segment_size < SEGMENT_USUAL) {
		p.clock_pairs = 512;
		p.argv_bytes = 4096;
		p.meta_bytes = 8192;
	}
	return p;
}

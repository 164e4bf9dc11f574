#include "trace/totals/totals_fields.h"

#include <string.h>

#include "base/syscall.h"
#include "base/varint.h"

#define TYPE(member) _Generic((member), uint32_t: ISC_TOTAL_U32, uint64_t: ISC_TOTAL_U64, double: ISC_TOTAL_REAL)
#define FIELD(row, member, sum, most) {offsetof(row, member), TYPE(((row *)0)->member), sum, most}
#define IS(row, member) FIELD(row, member, false, 0)
#define IS_AT_MOST(row, member, most) FIELD(row, member, false, most)
#define SUM(row, member) FIELD(row, member, true, 0)
_Static_assert(sizeof(isc_total_function) <= UINT16_MAX, "places in rows");

/* clang-format off */
#define SCOPE isc_total_scope
const isc_total_field isc_scope_fields[] = {
	IS(SCOPE, process), IS(SCOPE, name), SUM(SCOPE, count), IS(SCOPE, open), SUM(SCOPE, unmatched),
	SUM(SCOPE, total_ticks), IS(SCOPE, min_ticks), IS(SCOPE, max_ticks), {0}};

#define MARK isc_total_mark
const isc_total_field isc_mark_fields[] = {IS(MARK, process), IS(MARK, name), SUM(MARK, count), {0}};

#define COUNTER isc_total_counter
const isc_total_field isc_counter_fields[] = {
	IS(COUNTER, process), IS(COUNTER, name), SUM(COUNTER, count), IS(COUNTER, min), IS(COUNTER, max),
	SUM(COUNTER, sum), IS(COUNTER, last), {0}};

#define THREAD isc_total_thread
const isc_total_field isc_thread_fields[] = {
	IS(THREAD, process), IS(THREAD, thread), SUM(THREAD, events), IS(THREAD, first_ticks), IS(THREAD, last_ticks),
	IS(THREAD, name), {0}};
const isc_total_field isc_thread_scopes_fields[] = {SUM(THREAD, scope_ticks), {0}};

#define STACK isc_total_stack
const isc_total_field isc_stack_fields[] = {
	IS(STACK, process), IS(STACK, thread), IS(STACK, stack), SUM(STACK, samples), SUM(STACK, steps),
	SUM(STACK, cpu_ns), IS(STACK, flags), {0}};
const isc_total_field isc_stack_counts_fields[] = {
	SUM(STACK, counted), SUM(STACK, instructions), SUM(STACK, cycles), SUM(STACK, grown), {0}};
const isc_total_field isc_stack_faults_fields[] = {
	SUM(STACK, faults), SUM(STACK, fault_ns), SUM(STACK, faulting), {0}};

#define WAIT isc_total_wait
const isc_total_field isc_wait_fields[] = {
	IS(WAIT, process), IS(WAIT, thread), IS_AT_MOST(WAIT, call, ISC_WAIT_GC), IS(WAIT, stack), SUM(WAIT, count),
	SUM(WAIT, ticks), IS(WAIT, max_ticks), SUM(WAIT, brief_ticks), SUM(WAIT, unseen), IS(WAIT, holder),
	IS(WAIT, holder_stack), {0}};

#define CALL isc_total_syscall
const isc_total_field isc_syscall_fields[] = {
	IS(CALL, process), IS(CALL, thread), IS_AT_MOST(CALL, kind, ISC_SYSCALL_LIKE), IS_AT_MOST(CALL, call, 63),
	IS(CALL, key), SUM(CALL, count), SUM(CALL, ticks), SUM(CALL, bytes), SUM(CALL, errors), SUM(CALL, slow),
	IS(CALL, max_ticks), IS(CALL, detail), {0}};

#define PROCESS isc_total_calls
const isc_total_field isc_process_fields[] = {
	IS(PROCESS, process), IS(PROCESS, cost), IS(PROCESS, tasks), IS(PROCESS, missed), IS(PROCESS, unmatched),
	IS(PROCESS, first_pause), IS(PROCESS, paused_since), IS(PROCESS, paused_ticks), {0}};
const isc_total_field isc_process_windows_fields[] = {
	IS(PROCESS, windows), IS(PROCESS, window_ticks), IS(PROCESS, window_ns), IS(PROCESS, apart_ns),
	IS(PROCESS, farthest_ns), IS(PROCESS, between_ns), IS(PROCESS, inside_ns), IS(PROCESS, end_ns), {0}};
const isc_total_field isc_process_startup_fields[] = {
	IS(PROCESS, startup_end), IS(PROCESS, startup_cost_ns), IS(PROCESS, startup_worked_ns), {0}};

#define FUNCTION isc_total_function
const isc_total_field isc_function_fields[] = {
	SUM(FUNCTION, calls), SUM(FUNCTION, resumes), SUM(FUNCTION, self_ticks), SUM(FUNCTION, total_ticks),
	SUM(FUNCTION, unmatched), IS(FUNCTION, first_ticks), {0}};
const isc_total_field isc_function_brief_fields[] = {
	SUM(FUNCTION, calls), SUM(FUNCTION, self_ticks), SUM(FUNCTION, total_ticks), {0}};
const isc_total_field isc_function_window_fields[] = {
	SUM(FUNCTION, window_calls), IS(FUNCTION, window),
	IS(FUNCTION, rate.least), IS(FUNCTION, rate.likely), IS(FUNCTION, rate.most),
	SUM(FUNCTION, between.least), SUM(FUNCTION, between.likely), SUM(FUNCTION, between.most),
	SUM(FUNCTION, spread), IS(FUNCTION, rate_most), {0}};
const isc_total_field isc_function_exact_fields[] = {
	SUM(FUNCTION, exact_calls), SUM(FUNCTION, exact_resumes), SUM(FUNCTION, exact_self),
	SUM(FUNCTION, exact_total), {0}};
/* clang-format on */

static const void *place_of(const isc_total_field *f, const void *row)
{
	return (const char *)row + f->at;
}

void isc_totals_fields_store(const isc_total_field *fields, const void *row, isc_buffer *out)
{
	for (const isc_total_field *f = fields; f->type != ISC_TOTAL_END; f++) {
		const void *from = place_of(f, row);

		if (f->type == ISC_TOTAL_REAL)
			isc_buffer_add(out, from, sizeof(double));
		else
			isc_varint_add(out,
				       f->type == ISC_TOTAL_U32 ? *(const uint32_t *)from : *(const uint64_t *)from);
	}
}

static bool load_real(void *to, const uint8_t **at, const uint8_t *end)
{
	if ((size_t)(end - *at) < sizeof(double))
		return false;
	memcpy(to, *at, sizeof(double));
	*at += sizeof(double);
	return true;
}

static bool load_whole(const isc_total_field *f, void *to, const uint8_t **at, const uint8_t *end)
{
	uint64_t value, most = f->most != 0 ? f->most : f->type == ISC_TOTAL_U32 ? UINT32_MAX : UINT64_MAX;

	if (!isc_varint_get_max(at, end, most, &value))
		return false;
	if (f->type == ISC_TOTAL_U32)
		*(uint32_t *)to = (uint32_t)value;
	else
		*(uint64_t *)to = value;
	return true;
}

bool isc_totals_fields_load(const isc_total_field *fields, void *row, const uint8_t **at, const uint8_t *end)
{
	for (const isc_total_field *f = fields; f->type != ISC_TOTAL_END; f++) {
		void *to = (char *)row + f->at;

		if (f->type == ISC_TOTAL_REAL ? !load_real(to, at, end) : !load_whole(f, to, at, end))
			return false;
	}
	return true;
}

void isc_totals_fields_add(const isc_total_field *fields, void *row, const void *other)
{
	for (const isc_total_field *f = fields; f->type != ISC_TOTAL_END; f++) {
		void *to = (char *)row + f->at;

		if (f->sum && f->type == ISC_TOTAL_REAL)
			*(double *)to += *(const double *)place_of(f, other);
		else if (f->sum)
			*(uint64_t *)to += *(const uint64_t *)place_of(f, other);
	}
}

void isc_totals_fields_less(const isc_total_field *fields, void *row, const void *earlier)
{
	for (const isc_total_field *f = fields; f->type != ISC_TOTAL_END; f++) {
		void *to = (char *)row + f->at;

		if (f->sum && f->type == ISC_TOTAL_REAL) {
			double *left = to, taken = *(const double *)place_of(f, earlier);

			*left -= taken < *left ? taken : *left;
		} else if (f->sum) {
			uint64_t *left = to, taken = *(const uint64_t *)place_of(f, earlier);

			*left -= taken < *left ? taken : *left;
		}
	}
}

/* perf_ring: the decoder on made-up bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "session/machine/perf_ring.h"

#define RING 4096u

typedef struct made {
	unsigned char data[RING];
	uint64_t head;
} made;

typedef struct heard {
	isc_perf_record record[256];
	size_t n;
} heard;

static void hear(void *self, const isc_perf_record *record)
{
	heard *h = self;

	if (h->n < 256)
		h->record[h->n] = *record;
	h->n++;
}

static void put(made *m, const void *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		m->data[(m->head + i) % RING] = ((const unsigned char *)bytes)[i];
	m->head += len;
}

static void put_record(made *m, uint32_t type, uint16_t misc, const void *body, size_t len, uint32_t tid,
		       uint64_t time_ns)
{
	struct perf_event_header h = {.type = type, .misc = misc, .size = (uint16_t)(sizeof(h) + len + 24)};
	struct {
		uint32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
	} trailer = {7, tid, time_ns, 1, 0};

	put(m, &h, sizeof(h));
	put(m, body, len);
	put(m, &trailer, sizeof(trailer));
}

static void every_kind_is_decoded_across_the_end_of_the_ring(void **state)
{
	made m = {.head = 0};
	heard h = {.n = 0};
	isc_perf_ring_stats stats = {0};
	uint32_t fork[6] = {101, 100, 102, 100, 0, 0}, exits[6] = {101, 100, 101, 100, 0, 0};
	struct {
		uint32_t pid, tid;
		char name[16];
	} comm = {101, 101, "a-name-of-fifte"};
	uint64_t lost[2] = {1, 33}, tail = 0;

	(void)state;
	/* Round and round, so that every record meets the end of the ring. */
	for (unsigned round = 0; round < 200; round++) {
		h.n = 0;
		put_record(&m, PERF_RECORD_SWITCH, 0, NULL, 0, 7, 1000);
		put_record(&m, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, NULL, 0, 7, 1001);
		put_record(&m, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT | PERF_RECORD_MISC_SWITCH_OUT_PREEMPT,
			   NULL, 0, 8, 1002);
		put_record(&m, PERF_RECORD_FORK, 0, fork, 24, 7, 1003);
		put_record(&m, PERF_RECORD_EXIT, 0, exits, 24, 7, 1004);
		put_record(&m, PERF_RECORD_COMM, 0, &comm, 24, 7, 1005);
		put_record(&m, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, &comm, 24, 7, 1006);
		put_record(&m, PERF_RECORD_LOST, 0, lost, 16, 7, 1007);
		put_record(&m, PERF_RECORD_SAMPLE, 0, NULL, 0, 7, 1008);
		put_record(&m, PERF_RECORD_THROTTLE, 0, lost, 16, 7, 1009);
		tail = isc_perf_ring_read(m.data, RING, tail, m.head, hear, &h, &stats);
		assert_int_equal(tail, m.head);
		assert_int_equal(h.n, 9);
		for (size_t i = 0; i < 9; i++) {
			assert_int_equal(h.record[i].kind, i + 1);
			assert_int_equal(h.record[i].time_ns, 1000 + i);
			assert_int_equal(h.record[i].cpu, 1);
		}
		assert_int_equal(h.record[2].tid, 8);
		assert_int_equal(h.record[3].pid, 101);
		assert_int_equal(h.record[3].tid, 102);
		assert_int_equal(h.record[3].other, 100);
		assert_string_equal(h.record[6].name, "a-name-of-fifte");
		assert_int_equal(h.record[7].count, 33);
	}
	assert_int_equal(stats.damaged, 0);
	assert_int_equal(stats.unknown, 200);
}

static void a_size_that_cannot_be_ends_the_reading(void **state)
{
	static const uint16_t sizes[] = {0, 4, 7, 8, 9, 31, 33, 136, 4096, 65535};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		made m = {.head = 0};
		heard h = {.n = 0};
		isc_perf_ring_stats stats = {0};
		struct perf_event_header bad = {.type = PERF_RECORD_SWITCH, .size = sizes[i]};

		put_record(&m, PERF_RECORD_SWITCH, 0, NULL, 0, 7, 1);
		put(&m, &bad, sizeof(bad));
		put_record(&m, PERF_RECORD_SWITCH, 0, NULL, 0, 7, 2);
		assert_int_equal(isc_perf_ring_read(m.data, RING, 0, m.head, hear, &h, &stats), m.head);
		assert_int_equal(h.n, 1);
		assert_int_equal(stats.damaged, 1);
	}
}

static void a_head_that_cannot_be_reads_nothing(void **state)
{
	made m = {.head = 0};
	heard h = {.n = 0};
	isc_perf_ring_stats stats = {0};

	(void)state;
	assert_int_equal(isc_perf_ring_read(m.data, RING, 0, RING + 8, hear, &h, &stats), RING + 8);
	assert_int_equal(isc_perf_ring_read(m.data, RING, 16, 8, hear, &h, &stats), 8);
	assert_int_equal(isc_perf_ring_read(m.data, RING, 3, 11, hear, &h, &stats), 11);
	put_record(&m, PERF_RECORD_SWITCH, 0, NULL, 0, 7, 1);
	assert_int_equal(isc_perf_ring_read(m.data, RING, 0, m.head - 8, hear, &h, &stats), m.head - 8);
	assert_int_equal(h.n, 0);
	assert_int_equal(stats.damaged, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_is_decoded_across_the_end_of_the_ring),
		cmocka_unit_test(a_size_that_cannot_be_ends_the_reading),
		cmocka_unit_test(a_head_that_cannot_be_reads_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

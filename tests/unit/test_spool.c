/* spool: records sorted in bounded memory, read from the first or from anywhere. */
#include <stdlib.h>

#include "check.h"
#include "timeline/spool.h"

#define RECORDS 60000u
#define BELOW 20000u /* so that many are alike */

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % below;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t sorted[RECORDS];

static isc_spool *filled(size_t memory_bytes)
{
	isc_spool *s = NULL;
	isc_error err = {0};

	random_state = 7;
	CHECK_OK(isc_spool_new(sizeof(uint64_t), by_number, memory_bytes, &s, &err), &err);
	for (size_t i = 0; i < RECORDS; i++) {
		sorted[i] = draw(BELOW);
		CHECK_OK(isc_spool_add(s, &sorted[i], &err), &err);
	}
	qsort(sorted, RECORDS, sizeof(*sorted), by_number);
	return s;
}

/* The rank of the first that is not below a number. */
static size_t rank_of(uint64_t number)
{
	size_t rank = 0;

	while (rank < RECORDS && sorted[rank] < number)
		rank++;
	return rank;
}

static void check_from(isc_spool *s, size_t rank, size_t count)
{
	for (; count > 0; rank++, count--) {
		const uint64_t *next = isc_spool_next(s);

		CHECK_EQ(next != NULL, rank < RECORDS);
		if (next == NULL)
			return;
		CHECK_EQ(*next, sorted[rank]);
	}
}

static void check_seeks(size_t memory_bytes, bool in_file)
{
	isc_spool *s = filled(memory_bytes);
	isc_error err = {0};

	CHECK_OK(isc_spool_rewind(s, &err), &err);
	CHECK_EQ(isc_spool_runs(s) > 1, in_file);
	check_from(s, 0, RECORDS + 1);
	for (int n = 0; n < 300; n++) {
		/* Near the last one as often as anywhere; in front of all and behind all too. */
		uint64_t number = n % 3 == 0 ? draw(BELOW + 2) : n % 3 == 1 ? 9000u + (unsigned)n : 0;

		CHECK_OK(isc_spool_seek(s, &number, &err), &err);
		check_from(s, rank_of(number), draw(5000));
	}
	CHECK_OK(isc_spool_rewind(s, &err), &err);
	check_from(s, 0, 100);
	isc_spool_free(s);
}

TEST(a_record_in_memory_is_found)
{
	check_seeks(1u << 20, false);
}

TEST(a_record_in_the_file_is_found)
{
	check_seeks(64u << 10, true);
}

TEST(an_empty_spool_has_nothing_anywhere)
{
	isc_spool *s = NULL;
	isc_error err = {0};
	uint64_t number = 5;

	CHECK_OK(isc_spool_new(sizeof(uint64_t), by_number, 4096, &s, &err), &err);
	CHECK_OK(isc_spool_seek(s, &number, &err), &err);
	CHECK(isc_spool_next(s) == NULL);
	isc_spool_free(s);
}

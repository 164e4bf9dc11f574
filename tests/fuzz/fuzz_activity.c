/*
 * Any bytes as a buffer of CUPTI, and steps through it that go anywhere: what is
 * read lies inside, and the reading ends.
 *
 * Input: a byte for the version, a byte for the first step, then the buffer.  A step
 * is what the second word of a record says.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/activity.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t *begin, *end;
static int8_t first;
static unsigned steps;

static void must(bool holds)
{
	if (!holds)
		abort();
}

static isc_cupti_result step(uint8_t *buffer, size_t valid, isc_cupti_record **record)
{
	uint8_t *at = (uint8_t *)*record;
	int16_t far;

	must(buffer == begin && valid == (size_t)(end - begin));
	if (steps++ > 100000)
		abort(); /* it went back, and did not notice */
	if (at == NULL) {
		*record = (isc_cupti_record *)(void *)(buffer + first);
		return valid == 0 ? ISC_CUPTI_AT_END : ISC_CUPTI_OK;
	}
	must(at >= begin && at + 8 <= end);
	memcpy(&far, at + 4, sizeof(far));
	if (far == 0)
		return ISC_CUPTI_AT_END;
	*record = (isc_cupti_record *)(void *)(at + far);
	return ISC_CUPTI_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t versions[] = {13, 18, 23, 130000, 130001, 999999};
	isc_activity_reader reader = {.next = step};
	isc_activity a;
	unsigned read = 0;
	uint8_t *copy;

	if (size < 2)
		return 0;
	reader.version = versions[data[0] % 6];
	first = (int8_t)(data[1] % 4 == 0 ? data[1] : 0);
	size -= 2;
	/* Of its own and to the byte, so that a step outside is seen. */
	copy = aligned_alloc(8, (size + 7) & ~(size_t)7);
	must(copy != NULL || size == 0);
	memcpy(copy, data + 2, size);
	begin = copy;
	end = copy + size;
	steps = 0;
	reader.buffer = copy;
	reader.valid = size;
	while (isc_activity_next(&reader, &a)) {
		must(++read <= size / 8);
		must(a.job < ISC_JOBS && a.page <= ISC_PAGE_PAGEABLE && a.work.device == 0);
	}
	free(copy);
	return 0;
}

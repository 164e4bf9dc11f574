/*
 * external.c - external correlation, as CUPTI has it: a thread pushes numbers, and the
 * record of each call that it makes is preceded by one with the last of each kind.
 */
#include <string.h>

#include "double.h"

#define NUMBERS 1024
#define DEPTH 256
#define WHOSE_MOST 8

static _Atomic uint8_t on[ISC_CUPTI_DOMAINS][NUMBERS];

static __thread struct {
	uint32_t depth;
	uint64_t number[DEPTH];
} pushed[WHOSE_MOST];

/* With a name that is in no header; before 12.5 there is no such function. */
static bool lacks(const char *name)
{
	return scripted.version < ISC_CUPTI_12_5 || script_fails(name);
}

API isc_cupti_result cuptiActivityPushExternalCorrelationId(uint32_t whose, uint64_t number)
{
	if (script_fails("cuptiActivityPushExternalCorrelationId"))
		return scripted.fail_code;
	if (whose == 0 || whose >= WHOSE_MOST || pushed[whose].depth == DEPTH)
		return ISC_CUPTI_INVALID_PARAMETER;
	pushed[whose].number[pushed[whose].depth++] = number;
	return ISC_CUPTI_OK;
}

API isc_cupti_result cuptiActivityPopExternalCorrelationId(uint32_t whose, uint64_t *number)
{
	if (script_fails("cuptiActivityPopExternalCorrelationId"))
		return scripted.fail_code;
	if (whose == 0 || whose >= WHOSE_MOST)
		return ISC_CUPTI_INVALID_PARAMETER;
	if (pushed[whose].depth == 0)
		return ISC_CUPTI_QUEUE_EMPTY;
	pushed[whose].depth--;
	if (number != NULL)
		*number = pushed[whose].number[pushed[whose].depth];
	return ISC_CUPTI_OK;
}

static isc_cupti_result enable(uint32_t domain, uint32_t number, uint8_t is_on)
{
	if (number == 0 || number >= NUMBERS)
		return ISC_CUPTI_INVALID_PARAMETER;
	on[domain][number] = is_on;
	return ISC_CUPTI_OK;
}

API isc_cupti_result cuptiActivityEnableRuntimeApi(uint32_t number, uint8_t is_on)
{
	return lacks("cuptiActivityEnableRuntimeApi") ? scripted.fail_code
						      : enable(ISC_CUPTI_DOMAIN_RUNTIME, number, is_on);
}

API isc_cupti_result cuptiActivityEnableDriverApi(uint32_t number, uint8_t is_on)
{
	return lacks("cuptiActivityEnableDriverApi") ? scripted.fail_code
						     : enable(ISC_CUPTI_DOMAIN_DRIVER, number, is_on);
}

void external_called(const call *c)
{
	struct {
		uint32_t kind, number;
		uint64_t start, end;
		uint32_t process, thread, correlation, result;
	} api = {.kind = c->domain == ISC_CUPTI_DOMAIN_RUNTIME ? ISC_CUPTI_RUNTIME : ISC_CUPTI_DRIVER,
		 .number = c->number,
		 .correlation = c->correlation};

	if (c->number >= NUMBERS || !on[c->domain][c->number])
		return;
	for (uint32_t whose = 1; cupti_is_on(ISC_CUPTI_EXTERNAL) && whose < WHOSE_MOST; whose++) {
		isc_cupti_external record = {
			.kind = ISC_CUPTI_EXTERNAL, .whose = whose, .correlation = c->correlation, .pad0 = 0xa5a5a5a5};

		if (pushed[whose].depth == 0)
			continue;
		record.number = pushed[whose].number[pushed[whose].depth - 1];
		cupti_put(&record, sizeof(record));
	}
	cupti_put(&api, sizeof(api));
}

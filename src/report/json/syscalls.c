/*
 * syscalls.c - system calls, their errors, and the lines that made them.
 */
#include "report/json/tables.h"
#include "report/text/syscall_words.h"

/* What the interpreter does before its first line has no place. */
static val *first_place(struct json *j, const void *from)
{
	const isc_analysis_syscall *s = from;

	for (size_t i = 0; i < s->site_count; i++) {
		if (s->sites[i].where.name.len > 0)
			return isc_place_value(j, &s->sites[i].where);
	}
	return yyjson_mut_null(j->doc);
}

static val *mean_of(struct json *j, const void *from)
{
	const isc_analysis_syscall *s = from;

	return us_of(j, s->total_us / (double)s->count);
}

static val *errno_name(struct json *j, const void *from)
{
	isc_buffer raw = {0};

	isc_syscall_words_errno(&raw, *(const uint32_t *)from);
	return isc_raw_value(j, &raw);
}

#define FAIL(as, member) ISC_AT(as, isc_analysis_syscall_fail, member)
static const isc_field fail_rows[] = {
	{"name", FAIL(CUSTOM, error), .value = errno_name},
	{"errno", FAIL(COUNT32, error)},
	{"count", FAIL(COUNT, count)},
	{.kind = ISC_FIELD_END},
};

#define SITE(as, member) ISC_AT(as, isc_analysis_syscall_site, member)
static const isc_field site_rows[] = {
	{"where", SITE(CUSTOM, where), .value = isc_place_value},
	{NULL, SITE(OBJECT, where), .of = isc_place_rows},
	{"count", SITE(COUNT, count)},
	{"total_us", SITE(US, total_us)},
	{"max_us", SITE(US, max_us)},
	{"bytes", SITE(COUNT, bytes)},
	{"errors", SITE(COUNT, errors)},
	{"about", SITE(TEXT, about)},
	{"samples", SITE(COUNT, samples)},
	{"fast_count", SITE(ROUNDED, fast_count)},
	{"fast_us", SITE(US, fast_us)},
	{.kind = ISC_FIELD_END},
};

#define SYSCALL(as, member) ISC_AT(as, isc_analysis_syscall, member)
const isc_field isc_syscall_rows[] = {
	{"name", SYSCALL(WORDS, name), .otherwise = "?"},
	{"where", .value = first_place},
	{"count", SYSCALL(COUNT, count)},
	{"total_us", SYSCALL(US, total_us)},
	{"mean_us", .value = mean_of, ISC_IF(isc_analysis_syscall, count)},
	{"max_us", SYSCALL(US, max_us)},
	{"bytes", SYSCALL(COUNT, bytes)},
	{"errors", SYSCALL(COUNT, errors)},
	{"errnos", ISC_LIST(isc_analysis_syscall, fails, fail_count, fail_rows)},
	{"slow", SYSCALL(COUNT, slow)},
	{"slow_told", SYSCALL(COUNT, slow_told)},
	{"samples", SYSCALL(COUNT, samples)},
	{"sites", ISC_LIST(isc_analysis_syscall, sites, site_count, site_rows)},
	{.kind = ISC_FIELD_END},
};

/*
 * check.h - tests that read like a specification, run by cmocka.
 *
 *	#include "check.h"
 *
 *	TEST(a_cut_trace_reads_up_to_its_last_whole_chunk)
 *	{
 *		CHECK_OK(isc_trace_open(path, &trace, &err), &err);
 *		CHECK_EQ(trace->chunks, 3);
 *		CHECK_TEXT(trace_to_text(trace), "t1  1..2  request\n");
 *	}
 *
 * The name is the claim.  A file of tests is a program: tests register themselves
 * and run in the order of the file, and main() is in check.c.  A failed check ends
 * its test and prints both values.  cmocka.h is included, and its own asserts work
 * beside these.
 */
#ifndef ISC_HARNESS_CHECK_H
#define ISC_HARNESS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "inferscope/status.h"

/* More tests than this in one file are two subjects. */
#define CHECK_TESTS_MAX 128

typedef struct check_test {
	const char *name;
	int line;
	void (*run)(void);
} check_test;

/* Where a check stands, and the words of its two sides. */
typedef struct check_place {
	const char *file;
	int line;
	const char *got, *wanted;
} check_place;

enum check_kind { CHECK_KIND_SIGNED, CHECK_KIND_UNSIGNED, CHECK_KIND_DOUBLE, CHECK_KIND_POINTER };

typedef struct check_value {
	enum check_kind kind;
	union {
		intmax_t i;
		uintmax_t u;
		double d;
		const volatile void *p;
	};
} check_value;

/* Both before main() begins. */
void check_add(const check_test *test);
void check_around(CMFixtureFunction before, CMFixtureFunction after);

/* At file scope, once: fixtures of cmocka that run before and after every test of the file. */
#define AROUND_EACH(before, after) CHECK_AT_START(around, check_around(before, after))

#define TEST(claim) \
	static void claim(void); \
	static const check_test check_test_##claim = {#claim, __LINE__, claim}; \
	CHECK_AT_START(claim, check_add(&check_test_##claim)); \
	static void claim(void)

/* A condition that has no two sides. */
#define CHECK(truth) check_truth((truth), CHECK_HERE(#truth, ""))

/* Numbers, truths and pointers, by value: -1 is no unsigned number. */
#define CHECK_EQ(got, wanted) check_eq(CHECK_VALUE(got), CHECK_VALUE(wanted), CHECK_HERE(#got, #wanted))

/* A number that is off by at most so much; both ends of a range are allowed. */
#define CHECK_NEAR(got, wanted, by) check_near((got), (wanted), (by), CHECK_HERE(#got, #wanted))
#define CHECK_IN(got, low, high) \
	check_in(CHECK_VALUE(got), CHECK_VALUE(low), CHECK_VALUE(high), CHECK_HERE(#got, #low " to " #high))

/* Strings; NULL is equal to NULL alone. */
#define CHECK_TEXT(got, wanted) check_text((got), (wanted), CHECK_HERE(#got, #wanted))
#define CHECK_BYTES(got, wanted, size) check_bytes((got), (wanted), (size), CHECK_HERE(#got, #wanted))

/* A call that returns an isc_status; its isc_error, if given, is printed too. */
#define CHECK_OK(...) CHECK_OK_OF(__VA_ARGS__, NULL, )
#define CHECK_OK_OF(call, err, ...) check_ok((call), (err), CHECK_HERE(#call, "ISC_OK"))

/* ---- what the macros are made of ---------------------------------------- */

#define CHECK_AT_START(name, act) \
	__attribute__((constructor)) static void check_at_start_##name(void) \
	{ \
		act; \
	} \
	struct check_semicolon

#define CHECK_HERE(left, right) \
	(check_place) \
	{ \
		__FILE__, __LINE__, left, right \
	}

#define CHECK_VALUE(x) \
	_Generic((x), \
		_Bool: check_unsigned, \
		unsigned char: check_unsigned, \
		unsigned short: check_unsigned, \
		unsigned: check_unsigned, \
		unsigned long: check_unsigned, \
		unsigned long long: check_unsigned, \
		char: check_signed, \
		signed char: check_signed, \
		short: check_signed, \
		int: check_signed, \
		long: check_signed, \
		long long: check_signed, \
		float: check_double, \
		double: check_double, \
		default: check_pointer)(x)

static inline check_value check_signed(intmax_t i)
{
	return (check_value){.kind = CHECK_KIND_SIGNED, .i = i};
}

static inline check_value check_unsigned(uintmax_t u)
{
	return (check_value){.kind = CHECK_KIND_UNSIGNED, .u = u};
}

static inline check_value check_double(double d)
{
	return (check_value){.kind = CHECK_KIND_DOUBLE, .d = d};
}

static inline check_value check_pointer(const volatile void *p)
{
	return (check_value){.kind = CHECK_KIND_POINTER, .p = p};
}

void check_truth(bool truth, check_place place);
void check_eq(check_value got, check_value wanted, check_place place);
void check_near(double got, double wanted, double by, check_place place);
void check_in(check_value got, check_value low, check_value high, check_place place);
void check_text(const char *got, const char *wanted, check_place place);
void check_bytes(const void *got, const void *wanted, size_t size, check_place place);
void check_ok(isc_status status, const isc_error *err, check_place place);

#endif

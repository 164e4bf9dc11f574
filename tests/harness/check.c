#include "check.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const check_test *added[CHECK_TESTS_MAX];
static size_t added_count;
static CMFixtureFunction before_each, after_each;

/* Constructors run in an order that is the linker's; lines are the reader's. */
void check_add(const check_test *test)
{
	size_t at = added_count;

	if (added_count == CHECK_TESTS_MAX) {
		fprintf(stderr, "%s: more than %d tests in one file\n", test->name, CHECK_TESTS_MAX);
		_Exit(1);
	}
	for (; at > 0 && added[at - 1]->line > test->line; at--)
		added[at] = added[at - 1];
	added[at] = test;
	added_count++;
}

void check_around(CMFixtureFunction before, CMFixtureFunction after)
{
	before_each = before;
	after_each = after;
}

/* ---- checks ------------------------------------------------------------- */

__attribute__((noreturn, format(printf, 2, 3))) static void fail_at(check_place place, const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vprint_error(format, list);
	va_end(list);
	_fail(place.file, place.line);
	__builtin_unreachable(); /* it jumps out of the test */
}

void check_truth(bool truth, check_place place)
{
	if (!truth)
		fail_at(place, "%s does not hold\n", place.got);
}

/* Below, equal or above, across kinds; 2: no number. */
static int compare_numbers(check_value a, check_value b)
{
	if (a.kind == CHECK_KIND_DOUBLE || b.kind == CHECK_KIND_DOUBLE) {
		double left = a.kind == CHECK_KIND_DOUBLE   ? a.d
			      : a.kind == CHECK_KIND_SIGNED ? (double)a.i
							    : (double)a.u;
		double right = b.kind == CHECK_KIND_DOUBLE   ? b.d
			       : b.kind == CHECK_KIND_SIGNED ? (double)b.i
							     : (double)b.u;

		return isunordered(left, right) ? 2 : (left > right) - (left < right);
	}
	if (a.kind == CHECK_KIND_SIGNED && a.i < 0)
		return b.kind == CHECK_KIND_SIGNED ? (a.i > b.i) - (a.i < b.i) : -1;
	if (b.kind == CHECK_KIND_SIGNED && b.i < 0)
		return 1;
	return (a.u > b.u) - (a.u < b.u);
}

static int compare(check_value a, check_value b)
{
	if (a.kind == CHECK_KIND_POINTER && b.kind == CHECK_KIND_POINTER)
		return a.p == b.p ? 0 : 2;
	if (a.kind == CHECK_KIND_POINTER || b.kind == CHECK_KIND_POINTER)
		return 2;
	return compare_numbers(a, b);
}

typedef struct value_text {
	char at[48];
} value_text;

static value_text text_of(check_value v)
{
	value_text t;

	if (v.kind == CHECK_KIND_SIGNED)
		snprintf(t.at, sizeof(t.at), "%jd", v.i);
	else if (v.kind == CHECK_KIND_UNSIGNED)
		snprintf(t.at, sizeof(t.at), "%ju", v.u);
	else if (v.kind == CHECK_KIND_DOUBLE)
		snprintf(t.at, sizeof(t.at), "%.17g", v.d);
	else
		snprintf(t.at, sizeof(t.at), "%p", (const void *)(uintptr_t)v.p);
	return t;
}

void check_eq(check_value got, check_value wanted, check_place place)
{
	if (compare(got, wanted) != 0)
		fail_at(place, "%s is %s, and %s is %s\n", place.got, text_of(got).at, place.wanted,
			text_of(wanted).at);
}

void check_near(double got, double wanted, double by, check_place place)
{
	if (!(fabs(got - wanted) <= by))
		fail_at(place, "%s is %.17g, more than %g off %s, which is %.17g\n", place.got, got, by, place.wanted,
			wanted);
}

void check_in(check_value got, check_value low, check_value high, check_place place)
{
	int below = compare(got, low), above = compare(got, high);

	if (below < 0 || above > 0 || below == 2)
		fail_at(place, "%s is %s, and not in %s, which is %s to %s\n", place.got, text_of(got).at, place.wanted,
			text_of(low).at, text_of(high).at);
}

/* Of a long text the line that differs is what one looks for. */
static size_t first_line_that_differs(const char *a, const char *b)
{
	size_t line = 1;

	for (; *a && *a == *b; a++, b++)
		line += *a == '\n';
	return line;
}

void check_text(const char *got, const char *wanted, check_place place)
{
	if (got == wanted || (got != NULL && wanted != NULL && strcmp(got, wanted) == 0))
		return;
	if (got == NULL || wanted == NULL)
		fail_at(place, "%s is %s%s%s, and %s is %s%s%s\n", place.got, got ? "\"" : "", got ? got : "NULL",
			got ? "\"" : "", place.wanted, wanted ? "\"" : "", wanted ? wanted : "NULL",
			wanted ? "\"" : "");
	fail_at(place, "%s is\n%s\nand %s is\n%s\nThey differ from line %zu on.\n", place.got, got, place.wanted,
		wanted, first_line_that_differs(got, wanted));
}

static void hex(const uint8_t *bytes, size_t size, char *out, size_t room)
{
	for (size_t i = 0; i < size && i * 3 + 4 < room; i++)
		snprintf(out + i * 3, 4, "%02x ", bytes[i]);
}

void check_bytes(const void *got, const void *wanted, size_t size, check_place place)
{
	const uint8_t *a = got, *b = wanted;
	char left[64] = "", right[64] = "";
	size_t at = 0, rest;

	while (at < size && a[at] == b[at])
		at++;
	if (at == size)
		return;
	rest = size - at < 16 ? size - at : 16;
	hex(a + at, rest, left, sizeof(left));
	hex(b + at, rest, right, sizeof(right));
	fail_at(place, "from byte %zu of %zu on %s is %s, and %s is %s\n", at, size, place.got, left, place.wanted,
		right);
}

void check_ok(isc_status status, const isc_error *err, check_place place)
{
	if (status != ISC_OK)
		fail_at(place, "%s is status %d, and not ISC_OK: %s\n", place.got, (int)status,
			err != NULL ? err->what : "no error was given");
}

/* ---- the program ---------------------------------------------------------- */

static void start_test(void **state)
{
	const check_test *test = *state;

	test->run();
}

int main(void)
{
	struct CMUnitTest tests[CHECK_TESTS_MAX];
	const char *name = program_invocation_short_name;

	for (size_t i = 0; i < added_count; i++)
		tests[i] = (struct CMUnitTest){.name = added[i]->name,
					       .test_func = start_test,
					       .setup_func = before_each,
					       .teardown_func = after_each,
					       .initial_state = (void *)(uintptr_t)added[i]};
	if (strncmp(name, "test_", 5) == 0)
		name += 5;
	return _cmocka_run_group_tests(name, tests, added_count, NULL, NULL);
}

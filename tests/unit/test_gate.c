/* gate: limits as people write them, where they are wrong, and what noise leaves of them. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "analyze/compare/condition.h"

static isc_condition gate_of(const char *text)
{
	isc_condition gate;
	isc_error err = {0};

	if (isc_condition_parse(text, &gate, &err) != ISC_OK)
		fail_msg("%s: %s", text, err.what);
	return gate;
}

TEST(limits_are_read)
{
	isc_condition g = gate_of("p99_us(request) > +5%");

	CHECK_TEXT(g.metric.name, "p99_us");
	CHECK_TEXT(g.subject, "request");
	CHECK(g.change && g.relative && g.limit == 5 && g.compare == ISC_CONDITION_ABOVE);
	g = gate_of("  self_us( Model.run ) >= +2.5ms ");
	CHECK_TEXT(g.subject, "Model.run");
	CHECK(g.change && !g.relative && g.limit == 2500 && g.compare == ISC_CONDITION_AT_LEAST);
	g = gate_of("p50_us(\"a ) b\")<200ms");
	CHECK_TEXT(g.subject, "a ) b");
	CHECK(!g.change && g.limit == 200000 && g.compare == ISC_CONDITION_BELOW);
	g = gate_of("calls(f(int)) <= 10");
	CHECK_TEXT(g.subject, "f(int)");
	g = gate_of("wall_us > 3s");
	CHECK(g.limit == 3e6 && g.subject[0] == 0);
	/* Shares change by points: a percent of percent would be read wrongly. */
	g = gate_of("gil_wait_pct > +3%");
	CHECK(g.change && !g.relative && g.limit == 3);
	g = gate_of("busy_pct < 80%");
	CHECK(!g.change && g.limit == 80);
	g = gate_of("sleep_us(request) > -1e3");
	CHECK(g.change && g.limit == -1000);
}

TEST(what_is_wrong_has_its_place)
{
	static const struct {
		const char *text, *says;
		int at;
	} wrong[] = {
		{"", "a metric is missing", 1},
		{"p98_us(request) > 5", "not known", 1},
		{"  nonsense > 5", "not known", 3},
		{"p99_us > 5", "in brackets", 8},
		{"p99_us(request > 5", "not closed", 7},
		{"p99_us(\"request) > 5", "do not end", 7},
		{"p99_us() > 5", "an empty name", 8},
		{"wall_us(x) > 5", "does not take", 8},
		{"wall_us 5", "a comparison is missing", 9},
		{"wall_us > fast", "a number is missing", 11},
		{"wall_us > 0x10", "no decimal number", 11},
		{"wall_us > 5%", "percent of what", 12},
		{"wall_us > +5 km", "a unit that is not known", 14},
		{"lost > 5ms", "no time", 9},
		{"wall_us > 5 and lost > 3", "not known", 13},
		{"wall_us > 5 > 3", "behind the limit", 13},
		{"wall_us > 1e999", "cannot be read", 11},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		isc_condition gate;
		isc_error err = {0};
		char place[40];

		CHECK_EQ(isc_condition_parse(wrong[i].text, &gate, &err), ISC_ERR_INVALID);
		snprintf(place, sizeof(place), "at character %d of ", wrong[i].at);
		if (strstr(err.what, wrong[i].says) == NULL || strstr(err.what, place) == NULL || err.hint[0] == 0)
			fail_msg("\"%s\" gives \"%s\" (%s)", wrong[i].text, err.what, err.hint);
	}
}

TEST(noise_is_not_called_slower)
{
	isc_condition percent = gate_of("p99_us(request) > +5%"), absolute = gate_of("wall_us > 100us");
	isc_condition less = gate_of("busy_pct < -5%");

	CHECK_EQ(isc_condition_judge(&percent, 1000, 1200, 50), ISC_CONDITION_FIRES);
	CHECK_EQ(isc_condition_judge(&percent, 1000, 1080, 50), ISC_CONDITION_UNDECIDED);
	CHECK_EQ(isc_condition_judge(&percent, 1000, 1000, 40), ISC_CONDITION_PASSES);
	/* Exactly at the limit is not above it. */
	CHECK_EQ(isc_condition_judge(&percent, 1000, 1050, 0), ISC_CONDITION_PASSES);
	CHECK_EQ(isc_condition_judge(&percent, 1000, 1050.1, 0), ISC_CONDITION_FIRES);
	CHECK_EQ(isc_condition_judge(&percent, NAN, 1000, 0), ISC_CONDITION_UNDECIDED);
	CHECK_EQ(isc_condition_judge(&percent, 0, 10, 0), ISC_CONDITION_FIRES);
	CHECK_EQ(isc_condition_judge(&percent, 0, 0, 0), ISC_CONDITION_PASSES);
	CHECK_EQ(isc_condition_judge(&absolute, NAN, 150, 10), ISC_CONDITION_FIRES);
	CHECK_EQ(isc_condition_judge(&absolute, 0, 95, 10), ISC_CONDITION_UNDECIDED);
	CHECK_EQ(isc_condition_judge(&less, 90, 80, 1), ISC_CONDITION_FIRES);
	CHECK_EQ(isc_condition_judge(&less, 90, 89, 1), ISC_CONDITION_PASSES);
}

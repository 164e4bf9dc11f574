#include "report/text/phase_words.h"

#include "base/units.h"

#define NAMED_MAX 2u	 /* imports in the sentence */
#define NAME_MAX_LEN 60u /* bytes: a longer one is left out */
#define NAMED_SHARE 0.1	 /* of the imports, at least */
#define LONG_US 1e6	 /* a start that is worth a line, */
#define LEAST_US 1e5	 /* or, if it is no shorter than that, */
#define LONG_SHARE 0.1	 /* or of the run */

static void add_imports(const isc_analysis_startup *s, isc_buffer *out)
{
	const char *before = " (";
	isc_units u;

	for (size_t i = 0; i < s->top_count && i < NAMED_MAX && s->top[i].name.len <= NAME_MAX_LEN &&
			   s->top[i].us >= s->imports_us * NAMED_SHARE;
	     i++) {
		isc_buffer_format(out, "%s%s ", before, isc_units_time(&u, s->top[i].us));
		isc_buffer_add(out, s->top[i].name.at, s->top[i].name.len);
		before = ", ";
	}
	isc_buffer_text(out, before[0] == ',' ? ")" : "");
}

void isc_phase_words_startup(const isc_analysis_startup *s, isc_buffer *out)
{
	isc_units u;

	if (s->took_us >= 0)
		isc_buffer_format(out, "The program serves after %s", isc_units_time(&u, s->took_us));
	else
		isc_buffer_text(out, "The program was not seen to serve");
	if (s->imports_us > 0) {
		isc_buffer_format(out, ": %s of imports", isc_units_time(&u, s->imports_us));
		add_imports(s, out);
	}
	if (s->loading_us > 0)
		isc_buffer_format(out, "%s %s of loading", s->imports_us > 0 ? " and" : ":",
				  isc_units_time(&u, s->loading_us));
	isc_buffer_text(out, ".");
}

bool isc_phase_words_is_long(const isc_analysis *a)
{
	double us = a->startup.took_us >= 0 ? a->startup.took_us : a->startup.imports_us;

	return a->startup.known && (us >= LONG_US || (us >= LEAST_US && us >= a->wall_us * LONG_SHARE));
}

void isc_phase_words_phases(const isc_analysis *a, isc_buffer *out)
{
	double us[ISC_PHASE_NAMES] = {0};
	const char *before = "";
	isc_units u;

	for (size_t i = 0; i < a->phase_count; i++) {
		if (a->startup.known && a->phases[i].pid == a->startup.pid)
			us[a->phases[i].phase] += a->phases[i].to_us - a->phases[i].from_us;
	}
	for (int p = 0; p < ISC_PHASE_NAMES; p++) {
		if (us[p] <= 0)
			continue;
		isc_buffer_format(out, "%s%s %s", before, p == ISC_PHASE_WARM_UP ? "warm-up" : isc_phase_name(p),
				  isc_units_time(&u, us[p]));
		before = ", ";
	}
}

#include "cli/moment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

isc_status isc_moment_parse(const isc_option *option, const char *value, double *us, isc_error *err)
{
	static const struct {
		const char *name;
		double us;
	} units[] = {{"", 1e6}, {"s", 1e6}, {"ms", 1e3}, {"us", 1}};
	char *end = NULL;
	double number = strtod(value, &end);

	if (end != value && isfinite(number) && number >= 0) {
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
			if (strcmp(end, units[i].name) == 0) {
				*us = number * units[i].us;
				return ISC_OK;
			}
		}
	}
	isc_fail(err, ISC_ERR_INVALID, "--%s %.60s is not a time", option->name, value);
	isc_hint(err, "write seconds from the start such as 1.5, or 200ms, or 1500us");
	return ISC_ERR_INVALID;
}

/* Any text as a --fail-if: an error that says where, or a gate inside its limits that gives one of three answers. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compare/condition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	isc_error err = {0};
	isc_figure again;
	isc_condition gate;

	must(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	text[size] = 0;
	if (isc_condition_parse(text, &gate, &err) != ISC_OK) {
		must(strncmp(err.what, "--fail-if: ", 11) == 0 && err.hint[0] != 0);
		must(strlen(text) > ISC_CONDITION_MAX || strstr(err.what, "at character ") != NULL);
	} else {
		must(isc_figure_find(gate.metric.name, strlen(gate.metric.name), &again));
		must(isfinite(gate.limit) && memchr(gate.subject, 0, sizeof(gate.subject)) != NULL);
		must((gate.metric.subject == ISC_SUBJECT_RUN) <= (gate.subject[0] == 0));
		must(!gate.relative || gate.change);
		must(isc_condition_judge(&gate, NAN, NAN, 0) == ISC_CONDITION_UNDECIDED);
		must(isc_condition_judge(&gate, 1, 2, 0) != ISC_CONDITION_UNDECIDED);
	}
	free(text);
	return 0;
}

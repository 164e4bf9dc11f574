/* Any bytes as a file of rules: an error with its line, or rules inside their limits. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/rules/rules_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	isc_rules rules;
	isc_error err;

	isc_rules_init(&rules);
	if (isc_rules_parse(&rules, (const char *)data, size, "fuzz.yaml", &err) != ISC_OK) {
		must(strncmp(err.what, "fuzz.yaml:", 10) == 0);
	} else {
		must(rules.count <= ISC_RULES_MAX);
		for (size_t i = 0; i < rules.count; i++) {
			const isc_rule *rule = &rules.rule[i];

			must(rule->metric != NULL && rule->kind != ISC_CLAIM_NONE && rule->fix < ISC_FIXES);
			must(rule->fix != ISC_FIX_NONE || rule->own_title != NULL || rule->kind == ISC_CLAIM_LIMIT);
			must(isfinite(rule->threshold) && rule->threshold >= 0 && isfinite(rule->weight) &&
			     rule->weight >= 0);
			must(strlen(rule->id) < ISC_RULE_ID_MAX);
		}
	}
	isc_rules_fini(&rules);
	return 0;
}

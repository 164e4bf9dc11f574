/*
 * rules: a file changes, adds and switches off rules, and is told what is wrong with it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/rules/rules_file.h"

static isc_status parse(isc_rules *rules, const char *text, isc_error *err)
{
	isc_rules_init(rules);
	return isc_rules_parse(rules, text, strlen(text), "rules.yaml", err);
}

static void every_built_in_rule_is_whole_and_has_its_own_id(void **state)
{
	isc_rules rules;

	(void)state;
	isc_rules_init(&rules);
	assert_true(rules.count >= 20);
	for (size_t i = 0; i < rules.count; i++) {
		const isc_rule *rule = &rules.rule[i];

		assert_ptr_equal(isc_rules_find(&rules, rule->id), rule);
		assert_ptr_equal(isc_metric_named(rule->metric->name), rule->metric);
		assert_true(rule->threshold > 0 && rule->weight > 0 && !rule->off);
		assert_true(rule->kind != ISC_CLAIM_NONE);
		/* There is something to do about every fault. */
		assert_true(rule->kind == ISC_CLAIM_LIMIT || rule->fix != ISC_FIX_NONE);
		assert_true(rule->own_title == NULL && rule->own_fix == NULL && rule->own_check == NULL);
	}
	isc_rules_fini(&rules);
}

static void a_file_changes_what_it_names_and_nothing_else(void **state)
{
	isc_rules rules, own;
	isc_error err;

	(void)state;
	isc_rules_init(&own);
	assert_int_equal(parse(&rules,
			       "# ours\nrules:\n  gil_contention: {threshold: 20.5}\n  sleeping: off\n  io_wait:\n    "
			       "weight: 3\n",
			       &err),
			 ISC_OK);
	assert_int_equal(rules.count, own.count);
	assert_true(isc_rules_find(&rules, "gil_contention")->threshold == 20.5);
	assert_true(isc_rules_find(&rules, "gil_contention")->weight == 1);
	assert_true(isc_rules_find(&rules, "sleeping")->off);
	assert_true(isc_rules_find(&rules, "io_wait")->weight == 3);
	assert_true(isc_rules_find(&rules, "io_wait")->threshold == isc_rules_find(&own, "io_wait")->threshold);
	assert_null(isc_rules_find(&rules, "io_wait")->own_title);
	assert_int_equal(isc_rules_find(&rules, "io_wait")->fix, isc_rules_find(&own, "io_wait")->fix);
	isc_rules_fini(&rules);
	/* JSON is YAML too. */
	assert_int_equal(parse(&rules,
			       "{\"rules\": {\"gpu_idle\": {\"enabled\": false}, \"copy_bound\": {\"threshold\": 5}}}",
			       &err),
			 ISC_OK);
	assert_true(isc_rules_find(&rules, "gpu_idle")->off);
	assert_true(isc_rules_find(&rules, "copy_bound")->threshold == 5);
	isc_rules_fini(&rules);
	assert_int_equal(parse(&rules, "", &err), ISC_OK);
	isc_rules_fini(&rules);
}

static void a_new_rule_is_a_metric_and_a_threshold(void **state)
{
	const isc_rule *rule;
	isc_rules rules;
	isc_error err;

	(void)state;
	assert_int_equal(
		parse(&rules,
		      "rules:\n  busy_bus:\n    metric: pcie_gb_per_s\n    threshold: 5\n    class: memory_bound\n"
		      "    title: Send less\n    fix: sending less\n    check: halve it\n",
		      &err),
		ISC_OK);
	rule = isc_rules_find(&rules, "busy_bus");
	assert_non_null(rule);
	assert_ptr_equal(rule->metric, &isc_metric_pcie);
	assert_true(rule->threshold == 5 && rule->weight == 1 && rule->bound == ISC_BOUND_MEMORY && !rule->off);
	assert_string_equal(rule->own_title, "Send less");
	assert_true(rule->kind == ISC_CLAIM_FAULT && rule->fix == ISC_FIX_NONE);
	isc_rules_fini(&rules);
}

static void what_is_wrong_is_told_with_its_line(void **state)
{
	static const struct {
		const char *text, *what, *hint;
	} rows[] = {
		{"rules:\n  gil_contention: {treshold: 20}\n", "rules.yaml:2: treshold:", "threshold"},
		{"rules:\n  gil_contention: {threshold: lots}\n", "rules.yaml:2: threshold: it is a number", NULL},
		{"rules:\n  gil_contention: {threshold: -1}\n", "rules.yaml:2: threshold:", NULL},
		{"rules:\n  gil_contention: {threshold: nan}\n", "rules.yaml:2: threshold:", NULL},
		{"rules:\n  gil_contention: maybe\n", "rules.yaml:2: gil_contention:", NULL},
		{"rules:\n\n  gill: {threshold: 20}\n", "rules.yaml:3: gill: there is no such rule", NULL},
		{"rules:\n  mine: {metric: gil_wait, threshold: 1}\n",
		 "rules.yaml:2: gil_wait: there is no such metric", "gil_wait_pct"},
		{"rules:\n  Mine!: {metric: gil_wait_pct, threshold: 1}\n", "rules.yaml:2: the id of a rule", NULL},
		{"rules:\n  io_wait: {metric: gil_wait_pct}\n", "rules.yaml:2: io_wait: a rule with another metric",
		 NULL},
		{"rules:\n  io_wait: {class: slow}\n", "rules.yaml:2: class:", NULL},
		{"rules:\n  io_wait: off\n  io_wait: on\n", "rules.yaml:3: io_wait: this rule stands here twice", NULL},
		{"rules: &a\n  io_wait: off\n", "rules.yaml:1: an anchor", NULL},
		{"rules:\n  io_wait: !!python/object x\n", "rules.yaml:2: a tag", NULL},
		{"rules:\n  io_wait: {title: [a]}\n", "rules.yaml:2: title: a plain value", NULL},
		{"thresholds: {}\n", "rules.yaml:1: thresholds:", NULL},
		{"- a\n", "rules.yaml:1: this is not a mapping", NULL},
		{"rules: {}\n---\nrules: {}\n", "rules.yaml:2: a second document", NULL},
		{"rules: {io_wait: {\n", "rules.yaml:", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		isc_rules rules;
		isc_error err = {0};

		assert_int_equal(parse(&rules, rows[i].text, &err), ISC_ERR_INVALID);
		if (strncmp(err.what, rows[i].what, strlen(rows[i].what)) != 0)
			fail_msg("%s gives %s", rows[i].text, err.what);
		if (rows[i].hint != NULL && strstr(err.hint, rows[i].hint) == NULL)
			fail_msg("%s hints %s", rows[i].text, err.hint);
		assert_true(err.hint[0] != 0);
		isc_rules_fini(&rules);
	}
}

static void more_rules_than_there_is_room_for_are_an_error(void **state)
{
	isc_buffer text = {0};
	isc_rules rules;
	isc_error err;

	(void)state;
	isc_buffer_text(&text, "rules:\n");
	for (int i = 0; i < 300; i++)
		isc_buffer_format(&text, "  r%d: {metric: gc_pct, threshold: 1}\n", i);
	isc_rules_init(&rules);
	assert_int_equal(isc_rules_parse(&rules, text.data, text.len, "rules.yaml", &err), ISC_ERR_INVALID);
	assert_true(rules.count <= ISC_RULES_MAX);
	isc_rules_fini(&rules);
	isc_buffer_fini(&text);
}

static void a_file_that_is_none_is_told_so(void **state)
{
	isc_rules rules;
	isc_error err;

	(void)state;
	isc_rules_init(&rules);
	assert_int_not_equal(isc_rules_read(&rules, "/nowhere/rules.yaml", &err), ISC_OK);
	assert_non_null(strstr(err.what, "/nowhere/rules.yaml"));
	assert_int_equal(isc_rules_read(&rules, "/dev/zero", &err), ISC_ERR_INVALID);
	isc_rules_fini(&rules);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_built_in_rule_is_whole_and_has_its_own_id),
		cmocka_unit_test(a_file_changes_what_it_names_and_nothing_else),
		cmocka_unit_test(a_new_rule_is_a_metric_and_a_threshold),
		cmocka_unit_test(what_is_wrong_is_told_with_its_line),
		cmocka_unit_test(more_rules_than_there_is_room_for_are_an_error),
		cmocka_unit_test(a_file_that_is_none_is_told_so),
	};

	return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}

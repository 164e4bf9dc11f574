/*
 * phrase: claims in words, the same for every medium, and names that try to be more than names.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/rules/rule.h"
#include "base/arena.h"
#include "base/text.h"
#include "payloads.h"
#include "report/json/tables.h"
#include "report/text/fix_words.h"
#include "report/text/phrase.h"

#define TEXT(words) {words, sizeof(words) - 1}

/* A lock that somebody holds, with this for each name. */
static isc_claim lock_of(isc_text name)
{
	return (isc_claim){.finding = "lock_wait_pct",
			   .cause = "lock_contention",
			   .kind = ISC_CLAIM_FAULT,
			   .subject = {ISC_CLAIM_OF_SCOPES, name, 0, -1, 0},
			   .share = 41.25,
			   .place = {name, name, 44, {0}},
			   .holder = {name, name, 12, name},
			   .saving_us = 41250,
			   .of_us = 100000,
			   .fix = ISC_FIX_SHORTEN_LOCK};
}

static void write_headline(const isc_claim *c, isc_buffer *out)
{
	isc_buffer_clear(out);
	isc_phrase_headline(out, &(isc_analysis_verdict){.claim = *c});
	assert_false(out->failed);
}

static void a_claim_is_one_sentence_with_what_it_is_worth(void **state)
{
	isc_claim c = lock_of((isc_text)TEXT("update"));
	isc_buffer out = {0};

	(void)state;
	c.subject.name = (isc_text)TEXT("request");
	c.place.file = (isc_text)TEXT("/srv/app/serve.py");
	c.holder = (isc_claim_place){.function = TEXT("flush"), .thread = TEXT("flusher")};
	write_headline(&c, &out);
	assert_string_equal(out.data,
			    "41.2% of each request waits for a lock in update (app/serve.py:44), held by flush in "
			    "thread flusher; at most 41.2 ms of 100 ms can be saved by holding the lock only for what "
			    "needs it, or one lock for each piece of data.");
	/* A file of rules has words of its own; without a bound they are not said. */
	c.own_fix = (isc_text)TEXT("a queue");
	write_headline(&c, &out);
	assert_non_null(strstr(out.data, "can be saved by a queue."));
	c.saving_us = -1;
	write_headline(&c, &out);
	assert_null(strstr(out.data, "can be saved"));
	isc_buffer_fini(&out);
}

static bool is_marked(const isc_phrase *p, enum isc_phrase_role role, const char *words)
{
	for (size_t i = 0; i < p->marks; i++) {
		const isc_phrase_mark *m = &p->mark[i];

		if (m->role == role && m->to - m->from == strlen(words) &&
		    memcmp(p->text.data + m->from, words, strlen(words)) == 0)
			return true;
	}
	return false;
}

static void what_a_medium_may_show_in_its_own_way_is_marked(void **state)
{
	isc_claim c = lock_of((isc_text)TEXT("flush"));
	isc_phrase p = {0};

	(void)state;
	assert_true(isc_phrase_claim(&p, &c));
	assert_true(is_marked(&p, ISC_PHRASE_SHARE, "41.2%"));
	assert_true(is_marked(&p, ISC_PHRASE_NAME, "flush"));
	assert_true(is_marked(&p, ISC_PHRASE_PLACE, " (flush:44)") && is_marked(&p, ISC_PHRASE_PLACE, " (flush:12)"));
	isc_phrase_fini(&p);
	c = (isc_claim){.finding = "gpu_sync_idle_pct",
			.subject = {.kind = ISC_CLAIM_OF_GPU, .device = 1, .rank = 3},
			.share = 19.9,
			.place = {.function = TEXT("clFinish")}};
	assert_true(isc_phrase_claim(&p, &c));
	assert_string_equal(p.text.data, "GPU 1 of rank 3 is idle for 19.9% of its time because the host waits for it, "
					 "most of all in clFinish");
	assert_true(is_marked(&p, ISC_PHRASE_MOST, "in clFinish"));
	isc_phrase_fini(&p);
}

static void every_metric_has_words(void **state)
{
	const isc_metric *metric;

	(void)state;
	for (size_t i = 0; (metric = isc_metric_at(i)) != NULL; i++) {
		isc_claim bare = {.finding = metric->name, .share = 12};
		isc_phrase p = {0};

		if (!isc_phrase_claim(&p, &bare))
			fail_msg("no words for %s", metric->name);
		assert_true(p.text.len > 10 && (p.text.data[0] < 'a' || p.text.data[0] > 'z'));
		isc_phrase_fini(&p);
	}
}

static void every_rule_has_a_kind_and_a_fix_with_words(void **state)
{
	isc_rules rules;

	(void)state;
	isc_rules_init(&rules);
	for (size_t i = 0; i < rules.count; i++) {
		const isc_rule *rule = &rules.rule[i];
		const isc_fix_words *fix = isc_fix_words_of(rule->fix);

		if (rule->kind == ISC_CLAIM_NONE)
			fail_msg("%s has no kind", rule->id);
		/* Work that takes what it takes may leave nothing to do. */
		if (rule->kind == ISC_CLAIM_LIMIT && rule->fix == ISC_FIX_NONE)
			continue;
		if (fix == NULL)
			fail_msg("%s has no fix", rule->id);
		assert_true(fix->title[0] != 0 && fix->fix[0] != 0 && fix->check[0] != 0);
	}
	isc_rules_fini(&rules);
}

static void fixes_are_a_closed_list_with_ids_of_their_own(void **state)
{
	(void)state;
	assert_null(isc_fix_words_of(ISC_FIX_NONE));
	for (int fix = ISC_FIX_NONE + 1; fix < ISC_FIXES; fix++) {
		const isc_fix_words *words = isc_fix_words_of((enum isc_fix)fix);

		assert_non_null(words);
		assert_int_equal(isc_fix_named(words->id), fix);
	}
	assert_int_equal(isc_fix_named("no_such_fix"), ISC_FIX_NONE);
	assert_int_equal(isc_fix_named(NULL), ISC_FIX_NONE);
}

/* A phrase is raw, and each medium escapes it as one text. */
static void payloads_stay_text_in_every_medium(void **state)
{
	isc_buffer raw = {0}, out = {0};
	uint32_t c;

	(void)state;
	for (size_t i = 0; i < PAYLOADS; i++) {
		isc_claim claim = lock_of((isc_text){payloads[i].text, payloads[i].len});

		write_headline(&claim, &raw);
		isc_buffer_clear(&out);
		isc_text_html(&out, raw.data, raw.len, 0);
		assert_null(strpbrk(out.data, "<>\""));
		isc_buffer_clear(&out);
		isc_text_prose(&out, raw.data, raw.len);
		assert_null(strchr(out.data, '\n'));
		isc_buffer_clear(&out);
		isc_text_terminal(&out, raw.data, raw.len, 0);
		for (size_t at = 0; at < out.len;) {
			size_t n = isc_text_decode(out.data + at, out.len - at, &c);

			assert_true(n > 0 && !isc_text_is_control(c));
			at += n;
		}
	}
	isc_buffer_fini(&raw);
	isc_buffer_fini(&out);
}

static void a_long_name_is_cut_between_its_characters(void **state)
{
	enum { LONG = 1 << 20 };
	char *name = malloc(LONG);
	isc_buffer out = {0};
	isc_claim c;

	(void)state;
	assert_non_null(name);
	for (size_t i = 0; i < LONG; i++)
		name[i] = i % 2 == 0 ? '\xc3' : '\xa9';
	c = lock_of((isc_text){name + 1, LONG - 1});
	write_headline(&c, &out);
	assert_true(out.len < 2000);
	assert_non_null(strstr(out.data, "\xc3\xa9..."));
	assert_null(strstr(out.data, "\xc3..."));
	free(name);
	isc_buffer_fini(&out);
}

/* The claim as JSON has it, read back. */
static void read_back(const isc_claim *c, isc_arena *arena, isc_claim *out)
{
	struct json j = {.doc = yyjson_mut_doc_new(NULL)};
	isc_analysis_suggestion s = {.claim = *c};
	yyjson_doc *doc;
	size_t len;
	char *text;

	yyjson_mut_doc_set_root(j.doc, isc_fields_object(&j, isc_suggestion_rows, &s));
	text = yyjson_mut_write(j.doc, 0, &len);
	assert_non_null(text);
	doc = yyjson_read(text, len, 0);
	isc_claim_read(arena, yyjson_doc_get_root(doc), out);
	yyjson_doc_free(doc);
	free(text);
	isc_buffer_fini(&j.text);
	yyjson_mut_doc_free(j.doc);
}

static void a_claim_says_the_same_when_it_is_read_back(void **state)
{
	isc_arena *arena = isc_arena_new();
	isc_buffer was = {0}, is = {0};
	const isc_metric *metric;
	isc_claim again;

	(void)state;
	for (size_t i = 0; (metric = isc_metric_at(i)) != NULL; i++) {
		isc_claim c = lock_of((isc_text)TEXT("flush"));

		c.finding = metric->name;
		c.subject.kind = metric->device ? ISC_CLAIM_OF_GPU : ISC_CLAIM_OF_THREAD;
		c.subject.rank = i % 2 == 0 ? 7 : -1;
		c.subject.file = 2;
		isc_claim_number(&c, ISC_DETAIL_KERNELS, 1234567);
		isc_claim_number(&c, ISC_DETAIL_GB_PER_S, 19.047619047619047);
		isc_claim_number(&c, ISC_DETAIL_WORKERS, 1);
		isc_claim_text(&c, ISC_DETAIL_IDLE_CAUSE, (isc_text)TEXT("sync"));
		isc_claim_number(&c, ISC_DETAIL_IDLE_CAUSE_PCT, 33.3333);
		read_back(&c, arena, &again);
		write_headline(&c, &was);
		write_headline(&again, &is);
		assert_string_equal(was.data, is.data);
		assert_int_equal(again.kind, c.kind);
		assert_int_equal(again.fix, c.fix);
	}
	isc_arena_free(arena);
	isc_buffer_fini(&was);
	isc_buffer_fini(&is);
}

static void a_fix_has_its_id_unless_a_file_of_rules_has_other_words(void **state)
{
	isc_claim c = lock_of((isc_text)TEXT("flush")), again;
	isc_arena *arena = isc_arena_new();

	(void)state;
	read_back(&c, arena, &again);
	assert_int_equal(again.fix, ISC_FIX_SHORTEN_LOCK);
	c.own_fix = (isc_text)TEXT("a queue");
	read_back(&c, arena, &again);
	assert_int_equal(again.fix, ISC_FIX_NONE);
	assert_int_equal(isc_phrase_fix(&again).len, strlen("a queue"));
	isc_arena_free(arena);
}

static void a_claim_has_no_more_details_than_there_is_room_for(void **state)
{
	isc_claim c = {0};

	(void)state;
	for (int i = 0; i < 100; i++)
		isc_claim_number(&c, ISC_DETAIL_CPUS, i);
	assert_int_equal(c.details, ISC_CLAIM_DETAILS);
	assert_true(isc_claim_number_of(&c, ISC_DETAIL_CPUS) == 0);
	assert_true(isc_claim_number_of(&c, ISC_DETAIL_KERNELS) < 0);
	assert_int_equal(isc_claim_text_of(&c, ISC_DETAIL_CPUS).len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_claim_is_one_sentence_with_what_it_is_worth),
		cmocka_unit_test(what_a_medium_may_show_in_its_own_way_is_marked),
		cmocka_unit_test(every_metric_has_words),
		cmocka_unit_test(every_rule_has_a_kind_and_a_fix_with_words),
		cmocka_unit_test(fixes_are_a_closed_list_with_ids_of_their_own),
		cmocka_unit_test(payloads_stay_text_in_every_medium),
		cmocka_unit_test(a_long_name_is_cut_between_its_characters),
		cmocka_unit_test(a_claim_says_the_same_when_it_is_read_back),
		cmocka_unit_test(a_fix_has_its_id_unless_a_file_of_rules_has_other_words),
		cmocka_unit_test(a_claim_has_no_more_details_than_there_is_room_for),
	};

	return cmocka_run_group_tests_name("phrase", tests, NULL, NULL);
}

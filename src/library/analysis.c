/* analysis.c - inferscope/analysis.h over what the command uses itself. */
#include <stdlib.h>
#include <string.h>

#include "analyze/imported.h"
#include "analyze/rules/rules_file.h"
#include "import/import.h"
#include "library/library.h"
#include "report/text/phrase.h"

/* A trace of ours, and not one of another tool?  What cannot be told is left to our reader, which says what is wrong. */
static bool is_ours(const char *path)
{
	enum isc_import_format format = ISC_IMPORT_UNKNOWN;

	return isc_import_sniff(path, &format, NULL) != ISC_OK || format == ISC_IMPORT_ISC ||
	       format == ISC_IMPORT_UNKNOWN;
}

static isc_status analyse_own(const char *path, const inferscope_analysis_options *o, const isc_rules *rules,
			      isc_analysis **out, isc_error *err)
{
	isc_trace *trace = NULL;
	isc_status st = isc_trace_open(path, &trace, err);

	if (st == ISC_OK)
		st = isc_analysis_new(trace,
				      &(isc_analysis_options){.scope = o->scope,
							      .from_us = o->from_us,
							      .to_us = o->to_us,
							      .lanes = true,
							      .rules = rules},
				      out, err);
	isc_trace_close(trace);
	return st;
}

static isc_status analyse(const char *const *paths, size_t count, const inferscope_analysis_options *o,
			  const isc_rules *rules, isc_analysis **out, isc_error *err)
{
	bool read;

	if (count == 1 && is_ours(paths[0]))
		return analyse_own(paths[0], o, rules, out, err);
	for (size_t i = 0; i < count; i++) {
		if (is_ours(paths[i]))
			return isc_fail(err, ISC_ERR_INVALID,
					"%.150s is not the only trace, and one of ours is read alone", paths[i]);
	}
	return isc_imported_new(
		(char *const *)(uintptr_t)paths, count,
		&(isc_imported_options){
			.scope = o->scope, .from_us = o->from_us, .to_us = o->to_us, .lanes = true, .rules = rules},
		out, &read, err);
}

/* Members that the caller's header did not have yet are 0. */
static inferscope_analysis_options options_of(const inferscope_analysis_options *given)
{
	inferscope_analysis_options o = {0};

	if (given != NULL)
		memcpy(&o, given, given->size < sizeof(o) ? given->size : sizeof(o));
	return o;
}

static isc_status make(inferscope_analysis *a, isc_error *err)
{
	const isc_analysis_verdict *v = &a->found->verdict;
	isc_buffer headline = {0};

	isc_phrase_headline(&headline, v);
	a->headline = headline.failed ? NULL : strndup(headline.len > 0 ? headline.data : "", headline.len);
	isc_buffer_fini(&headline);
	if (a->headline == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for the verdict");
	a->verdict = (inferscope_verdict){.size = sizeof(a->verdict),
					  .bottleneck = v->bottleneck,
					  .cause = v->claim.cause,
					  .share_pct = v->claim.share,
					  .confidence = v->confidence,
					  .headline = a->headline,
					  .withheld = v->withheld,
					  .damaged = a->found->damaged};
	return ISC_OK;
}

ISC_API isc_status inferscope_analysis_new(const char *const *paths, size_t count,
					   const inferscope_analysis_options *options, inferscope_analysis **out,
					   isc_error *err)
{
	inferscope_analysis_options o = options_of(options);
	inferscope_analysis *a = calloc(1, sizeof(*a));
	isc_rules rules;
	isc_status st = ISC_OK;

	*out = NULL;
	if (a == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to analyse a trace");
	isc_rules_init(&rules);
	if (count == 0)
		st = isc_fail(err, ISC_ERR_INVALID, "no trace was given");
	if (st == ISC_OK && o.rules_file != NULL)
		st = isc_rules_read(&rules, o.rules_file, err);
	if (st == ISC_OK)
		st = analyse(paths, count, &o, &rules, &a->found, err);
	if (st == ISC_OK)
		st = make(a, err);
	isc_rules_fini(&rules);
	if (st != ISC_OK) {
		inferscope_analysis_free(a);
		a = NULL;
	}
	*out = a;
	return st;
}

ISC_API const inferscope_verdict *inferscope_analysis_verdict(const inferscope_analysis *analysis)
{
	return &analysis->verdict;
}

ISC_API void inferscope_analysis_free(inferscope_analysis *analysis)
{
	if (analysis == NULL)
		return;
	isc_analysis_free(analysis->found);
	free(analysis->headline);
	free(analysis);
}

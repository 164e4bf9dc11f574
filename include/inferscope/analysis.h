/*
 * analysis.h - why a recorded program was slow: the verdict on a trace, for C and C++ programs.
 *
 *	const char *path = "inferscope.isc";
 *	inferscope_analysis *a;
 *
 *	if (inferscope_analysis_new(&path, 1, NULL, &a, &error) == ISC_OK)
 *		puts(inferscope_analysis_verdict(a)->headline);
 *	inferscope_analysis_free(a);
 *
 * Traces of other tools (torch.profiler, Nsight Systems, ...) are read too; several of them are the ranks of one run.
 * report.h writes what was found as Markdown, HTML or JSON, which has every figure.
 */
#ifndef INFERSCOPE_ANALYSIS_H
#define INFERSCOPE_ANALYSIS_H

#include <stddef.h>
#include <stdint.h>

#include "inferscope/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct inferscope_analysis inferscope_analysis; /* opaque; one thread at a time */

/* 0 in a member means the usual; NULL for the struct too. */
typedef struct inferscope_analysis_options {
	uint32_t size;	   /* sizeof(inferscope_analysis_options) */
	const char *scope; /* only this scope and what happened inside it */
	double from_us;	   /* since the start of the session */
	double to_us;
	const char *rules_file; /* YAML that changes the rules of the verdict */
} inferscope_analysis_options;

/* Borrowed until the analysis is freed. */
typedef struct inferscope_verdict {
	uint32_t size;
	const char *bottleneck; /* cpu_bound, gpu_bound, memory_bound, balanced or unknown */
	const char *cause;	/* id of the rule that won; NULL: none */
	double share_pct;	/* of the time that was judged; negative: not known */
	double confidence;	/* 0 to 1 */
	const char *headline;	/* one sentence, with names of the program in it; empty: none */
	const char *withheld;	/* why no verdict is given; NULL: one is */
	int damaged;		/* 1: a part of the input could not be read */
} inferscope_verdict;

/* On success *out is the caller's.  Damage is no failure. */
ISC_API isc_status inferscope_analysis_new(const char *const *paths, size_t count,
					   const inferscope_analysis_options *options, inferscope_analysis **out,
					   isc_error *err);
ISC_API const inferscope_verdict *inferscope_analysis_verdict(const inferscope_analysis *analysis);
ISC_API void inferscope_analysis_free(inferscope_analysis *analysis); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif

/*
 * condition.h - "p99_us(request) > +5%": a limit that a new run must keep.
 *
 *	gate    = metric [ "(" subject ")" ] ( ">" | ">=" | "<" | "<=" ) limit
 *	subject = anything up to the ")" that belongs to it, or "in quotes"
 *	limit   = [ "+" | "-" ] number [ "%" | "us" | "ms" | "s" ]
 *
 * With a sign the limit is a change from the base, in percent of it or in the metric's
 * own unit; without one it is the value of the new run.  Text is anybody's.
 */
#ifndef ISC_ANALYZE_COMPARE_CONDITION_H
#define ISC_ANALYZE_COMPARE_CONDITION_H

#include "analyze/compare/figure.h"

#define ISC_CONDITION_MAX 1024u /* bytes of text; more is no limit that a person wrote */

enum isc_condition_compare { ISC_CONDITION_ABOVE, ISC_CONDITION_AT_LEAST, ISC_CONDITION_BELOW, ISC_CONDITION_AT_MOST };

typedef struct isc_condition {
	const char *text; /* as it was given; borrowed */
	isc_figure metric;
	char subject[256];
	enum isc_condition_compare compare;
	double limit;  /* in the unit of the metric, or percent */
	bool change;   /* from the base */
	bool relative; /* in percent of it */
} isc_condition;

/* ISC_ERR_INVALID says what is wrong and at which character, counted from 1. */
isc_status isc_condition_parse(const char *text, isc_condition *out, isc_error *err);

enum isc_condition_result { ISC_CONDITION_PASSES, ISC_CONDITION_FIRES, ISC_CONDITION_UNDECIDED };

/* noise: by how much the compared value may be off, in the unit of the metric. */
enum isc_condition_result isc_condition_judge(const isc_condition *gate, double base, double fresh, double noise);

#endif

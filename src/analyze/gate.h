/*
 * gate.h - "p99_us(request) > +5%": a limit that a new run must keep.
 *
 *	gate    = metric [ "(" subject ")" ] ( ">" | ">=" | "<" | "<=" ) limit
 *	subject = anything up to the ")" that belongs to it, or "in quotes"
 *	limit   = [ "+" | "-" ] number [ "%" | "us" | "ms" | "s" ]
 *
 * With a sign the limit is a change from the base, in percent of it or in the metric's
 * own unit; without one it is the value of the new run.  Text is anybody's.
 */
#ifndef ISC_ANALYZE_GATE_H
#define ISC_ANALYZE_GATE_H

#include "analyze/figure.h"

#define ISC_GATE_MAX 1024u /* bytes of text; more is no limit that a person wrote */

enum isc_gate_compare { ISC_GATE_ABOVE, ISC_GATE_AT_LEAST, ISC_GATE_BELOW, ISC_GATE_AT_MOST };

typedef struct isc_gate {
	const char *text; /* as it was given; borrowed */
	isc_figure metric;
	char subject[256];
	enum isc_gate_compare compare;
	double limit;  /* in the unit of the metric, or percent */
	bool change;   /* from the base */
	bool relative; /* in percent of it */
} isc_gate;

/* ISC_ERR_INVALID says what is wrong and at which character, counted from 1. */
isc_status isc_gate_parse(const char *text, isc_gate *out, isc_error *err);

enum isc_gate_result { ISC_GATE_PASSES, ISC_GATE_FIRES, ISC_GATE_UNDECIDED };

/* noise: by how much the compared value may be off, in the unit of the metric. */
enum isc_gate_result isc_gate_judge(const isc_gate *gate, double base, double fresh, double noise);

#endif

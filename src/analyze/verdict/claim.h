/*
 * claim.h - the parts of a claim by name, and what else it says.
 */
#ifndef ISC_ANALYZE_VERDICT_CLAIM_H
#define ISC_ANALYZE_VERDICT_CLAIM_H

#include "analyze/analysis.h"

/* As the JSON report has them. */
const char *isc_claim_kind_name(enum isc_claim_kind kind);	      /* "fault", "limit"; NULL: ISC_CLAIM_NONE */
const char *isc_claim_subject_name(enum isc_claim_subject_kind kind); /* "each_scope" */
const char *isc_detail_name(enum isc_detail what);		      /* "idle_cause" */
const char *isc_change_kind_name(enum isc_change_kind kind);	      /* "falls" */

/* Adds a detail; a number that is not known, an empty text, and what there is no more room for are left out. */
void isc_claim_number(isc_claim *c, enum isc_detail what, double number);
void isc_claim_text(isc_claim *c, enum isc_detail what, isc_text text);

/* The number, negative when it is not known; the text, empty likewise. */
double isc_claim_number_of(const isc_claim *c, enum isc_detail what);
isc_text isc_claim_text_of(const isc_claim *c, enum isc_detail what);

/* The GPU that it is about; -1: none. */
int64_t isc_claim_device(const isc_claim *c);

#endif

/*
 * claim_json.h - a claim as fields of a verdict or a suggestion, written and read back.
 */
#ifndef ISC_REPORT_JSON_CLAIM_JSON_H
#define ISC_REPORT_JSON_CLAIM_JSON_H

#include "analyze/analysis.h"
#include "base/arena.h"

struct json;
struct yyjson_mut_val;
struct yyjson_val;

/* All but cause and share, which verdicts and suggestions have had before. */
void isc_claim_json(struct json *j, struct yyjson_mut_val *o, const isc_claim *c);
void isc_change_json(struct json *j, struct yyjson_mut_val *list, const isc_analysis_change *c);

/* Texts are the arena's; what a report of an older version does not have is not known. */
void isc_claim_recall(isc_arena *arena, struct yyjson_val *o, isc_claim *out);

/* told: the sentence of the same change, for what has no parts. */
void isc_change_recall(isc_arena *arena, struct yyjson_val *o, struct yyjson_val *told, isc_analysis_change *out);

#endif

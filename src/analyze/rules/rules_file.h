/*
 * rules_file.h - rules from a file: docs/rules.md has its form.
 *
 * The file is not trusted: its size, its texts and the number of rules are bounded,
 * and it can only change numbers and words.
 */
#ifndef ISC_ANALYZE_RULES_RULES_FILE_H
#define ISC_ANALYZE_RULES_RULES_FILE_H

#include "analyze/rules/rule.h"

/* Changes rules that were initialised.  ISC_ERR_INVALID: "FILE:LINE: what is wrong"; the rules are then not to be used. */
isc_status isc_rules_read(isc_rules *rules, const char *path, isc_error *err);

/* The same from text; name is what errors call it. */
isc_status isc_rules_parse(isc_rules *rules, const char *text, size_t len, const char *name, isc_error *err);

#endif

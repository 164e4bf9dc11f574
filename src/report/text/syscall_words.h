/*
 * syscall_words.h - the system calls of a report: JSON and Markdown.
 */
#ifndef ISC_REPORT_TEXT_SYSCALL_WORDS_H
#define ISC_REPORT_TEXT_SYSCALL_WORDS_H

#include "report/json/json_tree.h"

void isc_syscall_json(struct json *j, val *root, const isc_analysis *a);
void isc_syscall_markdown(const isc_analysis *a, isc_buffer *out);

#endif

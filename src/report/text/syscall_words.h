/*
 * syscall_words.h - the system calls of a report, in words and tables.
 */
#ifndef ISC_REPORT_TEXT_SYSCALL_WORDS_H
#define ISC_REPORT_TEXT_SYSCALL_WORDS_H

#include "analyze/analysis.h"
#include "base/buffer.h"

/* "EAGAIN", or "errno 512" for what only the kernel knows. */
void isc_syscall_words_errno(isc_buffer *out, uint32_t error);

/* The part of the Markdown report. */
void isc_syscall_markdown(const isc_analysis *a, isc_buffer *out);

#endif

/* gpu_words.h - what GPUs did, and what was imported, for people. */
#ifndef ISC_REPORT_TEXT_GPU_WORDS_H
#define ISC_REPORT_TEXT_GPU_WORDS_H

#include "analyze/analysis.h"
#include "base/buffer.h"

/* The heading of an imported trace, raw: "a.json.gz: Kineto trace of 3.91 ms, ...". */
void isc_gpu_words_input(const isc_analysis *a, isc_buffer *out);

/* Sections of the Markdown report: GPUs, why they were idle, kernels, copies. */
void isc_gpu_words_markdown(const isc_analysis *a, isc_buffer *out);

/* One line of the summary for each GPU, few of them. */
void isc_gpu_words_summary(const isc_analysis *a, const char *prefix, isc_buffer *out);

#endif

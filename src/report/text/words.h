/*
 * words.h - what several reports say in the same words.  Raw text unless said
 * otherwise: the caller escapes for its medium.
 */
#ifndef ISC_REPORT_TEXT_WORDS_H
#define ISC_REPORT_TEXT_WORDS_H

#include "analyze/analysis.h"
#include "base/buffer.h"

/* A command line as one would type it: arguments with blanks in quotes. */
void isc_words_command(isc_buffer *out, const isc_text *argv, size_t argc, bool cut);

/* "exited with 0", "was ended by SIGKILL, signal 9", "was not seen to end". */
void isc_words_end(isc_buffer *out, bool known, int exit_code, int signal);

/* "1 thread", "2,048 threads". */
void isc_words_plural(isc_buffer *out, uint64_t n, const char *one, const char *many);

/* Do the shares of wall time and of CPU time that recording cost differ by more than a point? */
bool isc_words_costs_apart(const isc_analysis *a);

/* The thread that ran longest: what a summary speaks of; NULL when no thread's time is known. */
const isc_analysis_thread *isc_words_busiest(const isc_analysis *a);

/* The scope with the longest single time; one that was there only once, as loading a model is,
 * counts when there is no other.  NULL when none was timed. */
const isc_analysis_scope *isc_words_slowest(const isc_analysis *a);

/* A function's name without what only a compiler wants to know: Python's <module> is
 * "(module infer.py)", and "outer.<locals>.inner" is "outer.inner". */
void isc_words_function(isc_buffer *out, const isc_analysis_function *f);

/* The same for a name alone; <module>, whose file is not known then, stays. */
void isc_words_names(isc_buffer *out, const char *text, size_t len);

/* "torch/nn/functional.py:17": the path inside site-packages, or from the folder of Python's own
 * library on, or its last two parts; "(frozen runpy):7"; without a file the library; nothing when there is none. */
void isc_words_place(isc_buffer *out, const isc_analysis_function *f);

/* Of a frame, so that it can be said in the same words. */
isc_analysis_function isc_words_of_frame(const isc_analysis_frame *at);

/* One of these two, escaped for a medium, of which isc_text_markdown() is one. */
void isc_words_escaped(isc_buffer *out, const isc_analysis_function *f,
		       void (*words)(isc_buffer *, const isc_analysis_function *),
		       void (*escape)(isc_buffer *, const char *text, size_t len, size_t max), size_t max);

/* Does it wait for something to do, or for another thread, as far as its name tells?  Functions of
 * Python's own library alone. */
bool isc_words_waits(const isc_analysis_function *f);

/* Where the time went: the functions with the most time of their own that were traced, if any was, and
 * do not wait; all of them, if every one waits.  How many of room there are. */
size_t isc_words_top(const isc_analysis *a, const isc_analysis_function **top, size_t room);

/* Where the CPU time went by samples: the functions with the most of their own.  How many of room
 * there are. */
size_t isc_words_hottest(const isc_analysis *a, const isc_analysis_function **top, size_t room);

/* What lies in the judged time is known of functions, and is not all of it. */
bool isc_words_has_judged(const isc_analysis *a);

#endif

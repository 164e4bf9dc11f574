/*
 * phrase.h - what a claim says, as a sentence: the one place where causes get their words.
 *
 * A phrase is raw text with marks on what a medium may show in its own way: the share that counts most, names of the
 * program and where they are, and a last part that is detail.  Whoever shows it escapes it.  The wording of each
 * cause is in phrase_waits.c, phrase_code.c, phrase_memory.c and phrase_gpu.c; fix_words.c has the remedies.
 */
#ifndef ISC_REPORT_TEXT_PHRASE_H
#define ISC_REPORT_TEXT_PHRASE_H

#include "analyze/verdict/claim.h"
#include "base/buffer.h"

enum isc_phrase_role {
	ISC_PHRASE_SHARE, /* "41.2%" */
	ISC_PHRASE_NAME,  /* "detokenise" */
	ISC_PHRASE_PLACE, /* " (app/metrics.py:12)" */
	ISC_PHRASE_MOST	  /* all behind "most of all": "in clFinish"; it is the end */
};

#define ISC_PHRASE_MOST_OF_ALL ", most of all "
#define ISC_PHRASE_MARKS 8u

typedef struct isc_phrase_mark {
	enum isc_phrase_role role;
	size_t from, to; /* bytes of the text */
} isc_phrase_mark;

/* A zeroed one is empty. */
typedef struct isc_phrase {
	isc_buffer text;
	isc_phrase_mark mark[ISC_PHRASE_MARKS]; /* in the order of the text, MOST before those inside it */
	size_t marks;
} isc_phrase;

void isc_phrase_fini(isc_phrase *p);

/* "41.2% of each request waits for the GIL, held by f (app/m.py:12)", without the full stop.  False: there are no
 * words for what was found. */
bool isc_phrase_claim(isc_phrase *p, const isc_claim *c);

/* What saves the time: "holding the lock only for what needs it"; of a suggestion also its title, and how to find out
 * whether it helps.  Empty: not known. */
isc_text isc_phrase_fix(const isc_claim *c);
isc_text isc_phrase_title(const isc_claim *c);
isc_text isc_phrase_check(const isc_claim *c);

/* ---- whole sentences, raw ---- */

/* The headline of a verdict; nothing: there is none. */
void isc_phrase_headline(isc_buffer *out, const isc_analysis_verdict *v);

/* Of a suggestion: what was seen, and where; nothing: not known. */
void isc_phrase_why(isc_buffer *out, const isc_analysis_suggestion *s);
void isc_phrase_where(isc_buffer *out, const isc_analysis_suggestion *s);

/* "gil_wait_pct at or below 10.0% (it is 60.0%): then it would be balanced"; metric: how to call it, NULL: as it is. */
void isc_phrase_change(isc_buffer *out, const isc_analysis_change *c, const char *metric);

#endif

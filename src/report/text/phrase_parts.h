/*
 * phrase_parts.h - what sentences about claims are made of.  For phrase*.c alone.
 */
#ifndef ISC_REPORT_TEXT_PHRASE_PARTS_H
#define ISC_REPORT_TEXT_PHRASE_PARTS_H

#include "base/units.h"
#include "report/text/phrase.h"

/* What a claim says, without the full stop. */
typedef void isc_phrase_writer(isc_phrase *p, const isc_claim *c);

typedef struct isc_phrase_kind {
	const char *finding;
	isc_phrase_writer *write;
	bool by_holder; /* its place is that of the holder, where that is known */
} isc_phrase_kind;

/* Ends with an empty one. */
extern const isc_phrase_kind isc_phrase_waits[], isc_phrase_code[], isc_phrase_memory[], isc_phrase_gpu[];

/* A name that is no function: of a scope, a thread.  A long one is cut. */
void isc_phrase_text(isc_phrase *p, isc_text name);

/* A figure that counts most. */
void isc_phrase_figure(isc_phrase *p, const char *figure);

/* "41.2% of each request"; the same of another share. */
void isc_phrase_share(isc_phrase *p, const isc_claim *c);
void isc_phrase_share_of(isc_phrase *p, const isc_claim *c, double pct);

/* "GPU 0", "GPU 0 of rank 3". */
void isc_phrase_device(isc_phrase *p, const isc_claim *c);

/* "flush (app/flush.py:12)"; nothing: not known. */
void isc_phrase_place(isc_phrase *p, const isc_claim_place *place);

/* " in flush (app/flush.py:12)", with these words before it; nothing: the place is not known. */
void isc_phrase_at(isc_phrase *p, const char *words, const isc_claim_place *place);

/* The same as text; whole: however long the name is. */
void isc_phrase_add_place(isc_buffer *out, const isc_claim_place *place, bool whole);

/* ", most of all in clFinish", or nothing; before: "in ". */
void isc_phrase_most(isc_phrase *p, const char *before, const isc_claim_place *place);

/* ", held by flush (app/flush.py:12) in thread metrics", or nothing. */
void isc_phrase_held(isc_phrase *p, const isc_claim *c);

/* The detail as people read it: "1,024", "?" when it is not known. */
const char *isc_phrase_number(isc_units *u, const isc_claim *c, enum isc_detail what);

/* Bytes as MiB. */
const char *isc_phrase_mib(isc_units *u, const isc_claim *c, enum isc_detail what);

#endif

/*
 * html_page.h - the page of the HTML report as it lies in page/, cut where figures
 * of a run go.  embed.py makes the pieces when the project is built.
 */
#ifndef ISC_REPORT_HTML_HTML_PAGE_H
#define ISC_REPORT_HTML_HTML_PAGE_H

enum isc_page_slot {
	ISC_SLOT_TITLE,
	ISC_SLOT_COMMAND,
	ISC_SLOT_VERDICT,
	ISC_SLOT_SUGGESTIONS,
	ISC_SLOT_HONEST,
	ISC_SLOT_NOT_SEEN,
	ISC_SLOT_FOOTER,
	ISC_SLOT_REPORT,
	ISC_SLOT_DETAIL,
	ISC_SLOT_PIECES,
	ISC_SLOT_END /* nothing comes behind the piece */
};

typedef struct isc_page_piece {
	enum isc_page_slot slot; /* what comes behind it */
	unsigned len;
	const char *text;
} isc_page_piece;

extern const isc_page_piece isc_page[];
extern const unsigned isc_page_pieces;

/* The page of a comparison, with some of the same slots. */
extern const isc_page_piece isc_diff_page[];
extern const unsigned isc_diff_page_pieces;

#endif

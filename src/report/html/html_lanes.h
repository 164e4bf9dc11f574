/* html_lanes.h - see html_lanes.c. */
#ifndef ISC_REPORT_HTML_HTML_LANES_H
#define ISC_REPORT_HTML_HTML_LANES_H

#include "report/json/json_tree.h"

struct isc_lanes;

/* l may be NULL: nothing is known of them. */
void isc_html_lanes(struct json *j, val *root, const struct isc_lanes *l);
void isc_html_pieces(const struct isc_lanes *l, isc_buffer *out);

#endif

#include "report/html/html.h"

#include <stdlib.h>
#include <yyjson.h>

#include "report/html/html_block.h"
#include "report/html/html_detail.h"
#include "report/html/html_lanes.h"
#include "report/html/html_page.h"
#include "report/html/html_parts.h"
#include "report/json/json.h"

/* Rows that a page holds of lists that may be endless; the page says how many there are. */
#define FUNCTIONS_MAX 2000u
#define GOVERNED_MAX 100u
#define OTHERS_MAX 1000u

static void cut(yyjson_mut_doc *doc, yyjson_mut_val *holder, yyjson_mut_val *left_out, const char *key, size_t most)
{
	yyjson_mut_val *list = yyjson_mut_obj_get(holder, key);
	size_t n = yyjson_mut_arr_size(list);

	if (n <= most)
		return;
	yyjson_mut_arr_remove_range(list, most, n - most);
	yyjson_mut_obj_add_uint(doc, left_out, key, n - most);
}

/* The JSON report as the page has it: the same, less the ends of long lists. */
static void add_report(isc_buffer *out, yyjson_mut_doc *report)
{
	static const char *const others[] = {"kernels", "scopes", "threads", "marks", "counters", "syscalls"};
	yyjson_mut_val *root = yyjson_mut_doc_get_root(report), *left_out = yyjson_mut_obj(report);
	char *text = NULL;
	size_t len = 0;

	if (yyjson_mut_obj_add_val(report, root, "left_out", left_out)) {
		cut(report, root, left_out, "functions", FUNCTIONS_MAX);
		cut(report, yyjson_mut_obj_get(root, "overhead"), left_out, "governed", GOVERNED_MAX);
		cut(report, yyjson_mut_obj_get(root, "program"), left_out, "processes", OTHERS_MAX);
		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
			cut(report, root, left_out, others[i], OTHERS_MAX);
		text = yyjson_mut_write(report, YYJSON_WRITE_NOFLAG, &len);
	}
	if (text == NULL)
		out->failed = true;
	else
		isc_html_block(out, text, len);
	free(text);
}

/* A report that can be read, and the same to be cut. */
struct page {
	yyjson_doc *report;
	yyjson_mut_doc *copy;
	const isc_html_more *more;
};

static void fill(isc_buffer *out, enum isc_page_slot slot, const struct page *page)
{
	static void (*const parts[])(isc_buffer *, yyjson_val *) = {
		[ISC_SLOT_TITLE] = isc_html_title,     [ISC_SLOT_COMMAND] = isc_html_command,
		[ISC_SLOT_VERDICT] = isc_html_verdict, [ISC_SLOT_SUGGESTIONS] = isc_html_suggestions,
		[ISC_SLOT_HONEST] = isc_html_honest,   [ISC_SLOT_NOT_SEEN] = isc_html_not_seen,
		[ISC_SLOT_FOOTER] = isc_html_footer,
	};
	const isc_html_more *more = page->more;

	if (slot == ISC_SLOT_REPORT)
		add_report(out, page->copy);
	else if (slot == ISC_SLOT_DETAIL && more != NULL && more->detail.len > 0)
		isc_html_block(out, more->detail.data, more->detail.len);
	else if (slot == ISC_SLOT_PIECES && more != NULL && more->pieces.len > 0)
		isc_html_block(out, more->pieces.data, more->pieces.len);
	else if (slot < sizeof(parts) / sizeof(parts[0]))
		parts[slot](out, yyjson_doc_get_root(page->report));
}

static void write_page(isc_buffer *out, const struct page *page)
{
	if (page->report == NULL || page->copy == NULL) {
		out->failed = true;
		return;
	}
	for (unsigned i = 0; i < isc_page_pieces; i++) {
		isc_buffer_add(out, isc_page[i].text, isc_page[i].len);
		fill(out, isc_page[i].slot, page);
	}
}

void isc_html_write_report(yyjson_doc *report, const isc_html_more *more, isc_buffer *out)
{
	struct page page = {report, yyjson_doc_mut_copy(report, NULL), more};

	write_page(out, &page);
	yyjson_mut_doc_free(page.copy);
}

void isc_html_write(const isc_analysis *a, isc_buffer *out)
{
	isc_html_more more = {0};
	struct page page = {.copy = isc_json_tree(a), .more = &more};

	page.report = yyjson_mut_doc_imut_copy(page.copy, NULL);
	isc_html_detail(a, &more.detail);
	isc_html_pieces(a->lanes, &more.pieces);
	write_page(out, &page);
	out->failed |= more.detail.failed || more.pieces.failed;
	yyjson_doc_free(page.report);
	yyjson_mut_doc_free(page.copy);
	isc_buffer_fini(&more.detail);
	isc_buffer_fini(&more.pieces);
}

#include "report/html/html.h"

#include <stdlib.h>
#include <string.h>
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
static void add_report(isc_buffer *out, yyjson_doc *doc)
{
	static const char *const others[] = {"kernels", "scopes", "threads", "marks", "counters", "syscalls"};
	yyjson_mut_doc *copy = yyjson_doc_mut_copy(doc, NULL);
	yyjson_mut_val *root = yyjson_mut_doc_get_root(copy), *left_out = yyjson_mut_obj(copy);
	char *text = NULL;
	size_t len = 0;

	if (root != NULL && yyjson_mut_obj_add_val(copy, root, "left_out", left_out)) {
		cut(copy, root, left_out, "functions", FUNCTIONS_MAX);
		cut(copy, yyjson_mut_obj_get(root, "overhead"), left_out, "governed", GOVERNED_MAX);
		cut(copy, yyjson_mut_obj_get(root, "program"), left_out, "processes", OTHERS_MAX);
		for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
			cut(copy, root, left_out, others[i], OTHERS_MAX);
		text = yyjson_mut_write(copy, YYJSON_WRITE_NOFLAG, &len);
	}
	if (text == NULL)
		out->failed = true;
	else
		isc_html_block(out, text, len);
	free(text);
	yyjson_mut_doc_free(copy);
}

static void fill(isc_buffer *out, enum isc_page_slot slot, yyjson_doc *doc, const isc_html_more *more)
{
	static void (*const parts[])(isc_buffer *, yyjson_val *) = {
		[ISC_SLOT_TITLE] = isc_html_title,     [ISC_SLOT_COMMAND] = isc_html_command,
		[ISC_SLOT_VERDICT] = isc_html_verdict, [ISC_SLOT_SUGGESTIONS] = isc_html_suggestions,
		[ISC_SLOT_HONEST] = isc_html_honest,   [ISC_SLOT_NOT_SEEN] = isc_html_not_seen,
		[ISC_SLOT_FOOTER] = isc_html_footer,
	};

	if (slot == ISC_SLOT_REPORT)
		add_report(out, doc);
	else if (slot == ISC_SLOT_DETAIL && more != NULL && more->detail.len > 0)
		isc_html_block(out, more->detail.data, more->detail.len);
	else if (slot == ISC_SLOT_PIECES && more != NULL && more->pieces.len > 0)
		isc_html_block(out, more->pieces.data, more->pieces.len);
	else if (slot < sizeof(parts) / sizeof(parts[0]))
		parts[slot](out, yyjson_doc_get_root(doc));
}

isc_status isc_html_write_json(const char *json, size_t len, const isc_html_more *more, isc_buffer *out, isc_error *err)
{
	yyjson_read_err why = {0};
	/* The parser writes into the text only when it is asked to. */
	yyjson_doc *doc = yyjson_read_opts((char *)(uintptr_t)json, len, YYJSON_READ_NOFLAG, NULL, &why);
	const char *schema = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "schema"));

	if (doc == NULL && why.code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for the report");
	if (schema == NULL || strcmp(schema, ISC_JSON_SCHEMA) != 0) {
		yyjson_doc_free(doc);
		isc_fail(err, ISC_ERR_INVALID, "this is no report: its schema is not " ISC_JSON_SCHEMA);
		isc_hint(err, "give what analyze() returned");
		return ISC_ERR_INVALID;
	}
	for (unsigned i = 0; i < isc_page_pieces; i++) {
		isc_buffer_add(out, isc_page[i].text, isc_page[i].len);
		fill(out, isc_page[i].slot, doc, more);
	}
	yyjson_doc_free(doc);
	return out->failed ? isc_fail(err, ISC_ERR_NOMEM, "no memory for the report") : ISC_OK;
}

void isc_html_write(const isc_analysis *a, isc_buffer *out)
{
	isc_html_more more = {0};
	isc_buffer json = {0};

	isc_json_write(a, &json);
	isc_html_detail(a, &more.detail);
	isc_html_pieces(a->lanes, &more.pieces);
	if (json.failed || more.detail.failed || more.pieces.failed ||
	    isc_html_write_json(json.data, json.len, &more, out, NULL) != ISC_OK)
		out->failed = true;
	isc_buffer_fini(&json);
	isc_buffer_fini(&more.detail);
	isc_buffer_fini(&more.pieces);
}

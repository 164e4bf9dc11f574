/*
 * html_detail.c - what the page shows beyond the JSON report: the tree of stacks
 * and the timeline.  In columns, which deflate well.
 */
#include "report/html/html_detail.h"

#include <stdlib.h>

#include "report/html/html_lanes.h"
#include "report/json/json_tree.h"

static void put_frames(struct json *j, val *tree, const isc_analysis *a)
{
	val *list = list_in(j, tree, "frames");

	for (size_t i = 0; i < a->tree_frame_count; i++) {
		const isc_analysis_frame *f = &a->tree_frames[i];
		val *o = add(j, list, yyjson_mut_obj(j->doc));

		put_words(j, o, "kind", f->python ? "python" : f->native ? "native" : NULL);
		put(j, o, "name", text_of(j, &f->name));
		put_text(j, o, "file", &f->file);
		put_text(j, o, "module", &f->module);
		put_count(j, o, "line", f->line);
	}
}

val *isc_html_tree(struct json *j, const isc_analysis *a)
{
	val *tree = yyjson_mut_obj(j->doc), *parent, *frame, *pid, *samples, *us, *median, *slow;

	put_frames(j, tree, a);
	parent = list_in(j, tree, "parent");
	frame = list_in(j, tree, "frame");
	pid = list_in(j, tree, "pid");
	samples = list_in(j, tree, "samples");
	us = list_in(j, tree, "us");
	median = list_in(j, tree, "us_median");
	slow = list_in(j, tree, "us_slow");
	for (size_t i = 0; i < a->tree_count; i++) {
		const isc_analysis_node *n = &a->tree[i];

		add(j, parent, yyjson_mut_uint(j->doc, n->parent));
		add(j, frame, yyjson_mut_uint(j->doc, n->frame));
		add(j, pid, yyjson_mut_uint(j->doc, n->pid));
		add(j, samples, yyjson_mut_uint(j->doc, n->samples));
		add(j, us, real_of(j, n->us));
		add(j, median, real_of(j, n->median_us));
		add(j, slow, real_of(j, n->slow_us));
	}
	return tree;
}

void isc_html_detail(const isc_analysis *a, isc_buffer *out)
{
	struct json j = {.doc = yyjson_mut_doc_new(NULL)};
	char *text = NULL;
	size_t len = 0;
	val *root;

	if (j.doc != NULL) {
		root = yyjson_mut_obj(j.doc);
		yyjson_mut_doc_set_root(j.doc, root);
		put(&j, root, "tree", a->tree_count > 0 ? isc_html_tree(&j, a) : yyjson_mut_null(j.doc));
		isc_html_lanes(&j, root, a->lanes);
		if (!j.failed)
			text = yyjson_mut_write(j.doc, YYJSON_WRITE_NOFLAG, &len);
	}
	if (text != NULL)
		isc_buffer_add(out, text, len);
	else
		out->failed = true;
	free(text);
	isc_buffer_fini(&j.text);
	yyjson_mut_doc_free(j.doc);
}

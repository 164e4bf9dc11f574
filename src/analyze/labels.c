/*
 * labels.c - names that a program made up, with an id in each.
 *
 * When there were many like it, the program wrote the pattern instead ("request-#").
 * The first ones it still wrote as they were: here they are counted with the others, so
 * that a report has one row of them.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/build.h"
#include "base/pattern.h"
#include "base/text.h"
#include "base/units.h"

#define NAMED_MAX 4u
#define NAME_MAX_LEN 48u

static int by_text(const void *x, const void *y)
{
	return isc_names_compare(&((const isc_label *)x)->text, &((const isc_label *)y)->text);
}

static int by_count(const void *x, const void *y)
{
	const isc_label *a = x, *b = y;

	return a->count != b->count ? (a->count < b->count ? 1 : -1) : by_text(x, y);
}

static isc_text text_of(const isc_build *b, uint32_t process, uint32_t id, bool *code)
{
	isc_frame frame = {0};

	*code = isc_trace_code(b->trace, process, id, &frame);
	return *code ? frame.name : isc_trace_name(b->trace, process, id);
}

/* Each process tells again and again, with more each time. */
static bool put(isc_build *b, isc_hashmap *at, uint32_t process, const isc_def_folded *told)
{
	uint64_t *known = isc_hashmap_put(at, isc_hashmap_key(process, told->name), NULL);
	isc_label *label;

	if (known == NULL)
		return false;
	if (*known == 0) {
		label = isc_arena_push(b->arena, &b->labels, &b->label_count, &b->label_room, sizeof(*label));
		if (label == NULL)
			return false;
		*known = b->label_count;
		label->text = text_of(b, process, told->name, &label->code);
	}
	label = &b->labels[*known - 1];
	label->count = told->count > label->count ? told->count : label->count;
	return true;
}

/* Processes that have the same pattern. */
static void merge(isc_build *b)
{
	size_t kept = 0;

	qsort(b->labels, b->label_count, sizeof(*b->labels), by_text);
	for (size_t i = 0; i < b->label_count; i++) {
		if (kept > 0 && by_text(&b->labels[kept - 1], &b->labels[i]) == 0)
			b->labels[kept - 1].count += b->labels[i].count;
		else
			b->labels[kept++] = b->labels[i];
	}
	b->label_count = kept;
}

/* The function that stands for all that a process had no room to define? */
static bool is_rest(const void *data, uint32_t len)
{
	const char *rest = isc_totals_rest_text(ISC_FOLDED_FUNCTIONS);
	isc_def_code head;

	if (len != sizeof(head) + strlen(rest))
		return false;
	memcpy(&head, data, sizeof(head));
	return head.file_len == 0 && memcmp((const char *)data + sizeof(head), rest, strlen(rest)) == 0;
}

isc_status isc_build_labels(isc_build *b, isc_error *err)
{
	uint32_t process, id, len;
	isc_hashmap at = {0};
	isc_def_folded told;
	const void *data;
	uint16_t type;
	bool ok = true;

	for (size_t i = 0; ok && (data = isc_trace_define_at(b->trace, i, &process, &id, &type, &len)) != NULL; i++) {
		b->undefined += type == ISC_DEF_CODE && is_rest(data, len);
		if (type != ISC_DEF_FOLDED || len < sizeof(told))
			continue;
		memcpy(&told, data, sizeof(told));
		ok = put(b, &at, process, &told);
	}
	isc_hashmap_fini(&at);
	if (ok && b->label_count > 0)
		merge(b);
	return ok ? ISC_OK : isc_build_no_memory(err);
}

const char *isc_build_label(const isc_build *b, uint32_t process, uint32_t id, uint32_t *len)
{
	isc_text text = isc_trace_name(b->trace, process, id);
	char pattern[ISC_PATTERN_MAX];
	const isc_label *found = NULL;
	size_t n = b->label_count > 0 ? isc_pattern_of(text.at, text.len, pattern) : 0;

	if (n > 0)
		found = bsearch(&(isc_label){.text = {pattern, n}}, b->labels, b->label_count, sizeof(*b->labels),
				by_text);
	if (found != NULL && !found->code)
		text = found->text;
	*len = (uint32_t)text.len;
	return text.at;
}

void isc_build_warn_labels(isc_build *b)
{
	isc_label *most;
	isc_buffer out = {0};
	isc_units n;

	if (b->label_count == 0)
		return;
	most = isc_arena_array(b->arena, b->label_count, sizeof(*most));
	if (most == NULL)
		return; /* the arena remembers */
	memcpy(most, b->labels, b->label_count * sizeof(*most));
	qsort(most, b->label_count, sizeof(*most), by_count);
	isc_buffer_text(&out, "names that differ in an id are counted together, for there are many: ");
	for (size_t i = 0; i < b->label_count && i < NAMED_MAX; i++) {
		isc_buffer_text(&out, i > 0 ? ", \"" : "\"");
		isc_text_terminal(&out, most[i].text.at, most[i].text.len, NAME_MAX_LEN);
		isc_buffer_format(&out, "\" (about %s names)", isc_units_count(&n, most[i].count));
	}
	if (b->label_count > NAMED_MAX)
		isc_buffer_format(&out, " and %s more", isc_units_count(&n, b->label_count - NAMED_MAX));
	isc_buffer_add(&out, "", 1);
	if (!out.failed)
		isc_build_say(b, 0, "folded_names",
			      "put what varies into metadata: mark_event(\"request\", {\"id\": 8231})", out.data);
	isc_buffer_fini(&out);
}

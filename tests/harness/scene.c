#include "scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"
#include "trace_text.h"

#define KEPT "# golden: "
#define NAME_MAX_LEN 64

char *scene_read(const char *path, size_t *len)
{
	isc_buffer b = {0};
	FILE *f = fopen(path, "rb");
	char part[4096];
	size_t n;

	if (f == NULL)
		return NULL;
	while ((n = fread(part, 1, sizeof(part), f)) > 0)
		isc_buffer_add(&b, part, n);
	fclose(f);
	isc_buffer_add(&b, "", 0);
	*len = b.len;
	return b.data;
}

void scene_path(const char *events, const char *ending, char *out, size_t room)
{
	snprintf(out, room, "%.*s%s", (int)(strlen(events) - strlen(".events")), events, ending);
}

static isc_status report_scene(scene *s, isc_error *err)
{
	isc_status st = isc_report_write(s->analysis, ISC_REPORT_JSON, &s->json, err);

	if (st == ISC_OK)
		st = isc_report_write(s->analysis, ISC_REPORT_MARKDOWN, &s->markdown, err);
	if (st == ISC_OK)
		st = isc_report_summary(s->analysis, "report.md", "inferscope.isc", &s->summary, err);
	return st;
}

isc_status scene_open(scene *s, const char *path, isc_error *err)
{
	isc_trace *trace = NULL;
	isc_status st;
	size_t len;

	*s = (scene){.text = scene_read(path, &len)};
	if (s->text == NULL)
		return isc_fail_errno(err, "cannot read %.180s", path);
	st = trace_text_open(s->text, &trace, err);
	if (st == ISC_OK)
		st = isc_analysis_new(trace, NULL, &s->analysis, err);
	isc_trace_close(trace);
	return st == ISC_OK ? report_scene(s, err) : st;
}

void scene_close(scene *s)
{
	free(s->text);
	isc_analysis_free(s->analysis);
	isc_buffer_fini(&s->json);
	isc_buffer_fini(&s->markdown);
	isc_buffer_fini(&s->summary);
	*s = (scene){0};
}

/* What the line names, without its end; "" when there is none. */
static void kept_of(const scene *s, char *out, size_t room)
{
	const char *at = strstr(s->text, KEPT);

	out[0] = 0;
	if (at != NULL)
		snprintf(out, room, "%.*s", (int)strcspn(at + strlen(KEPT), "\n"), at + strlen(KEPT));
}

bool scene_is_whole(const scene *s)
{
	char kept[512];

	kept_of(s, kept, sizeof(kept));
	return strcmp(kept, "whole") == 0;
}

/* From the first line that begins like this up to the next that begins like that, or the end. */
static bool add_lines(isc_buffer *out, const char *text, const char *begin, const char *next)
{
	const char *at = strstr(text, begin), *end;

	if (at == NULL)
		return false;
	end = strstr(at + 1, next);
	isc_buffer_add(out, at + 1, end != NULL ? (size_t)(end - at) : strlen(at + 1));
	return true;
}

/* A member of the report itself stands two blanks from the margin, and no string has an end of line. */
static isc_status add_member(const scene *s, const char *name, isc_buffer *out, isc_error *err)
{
	char begin[NAME_MAX_LEN + 8];

	snprintf(begin, sizeof(begin), "\n  \"%.*s\": ", NAME_MAX_LEN, name);
	return add_lines(out, s->json.data, begin, "\n  \"")
		       ? ISC_OK
		       : isc_fail(err, ISC_ERR_ABSENT, "the JSON report has no %s", name);
}

static isc_status add_section(const scene *s, const char *heading, isc_buffer *out, isc_error *err)
{
	char begin[NAME_MAX_LEN + 8];

	snprintf(begin, sizeof(begin), "\n## %.*s\n", NAME_MAX_LEN, heading);
	return add_lines(out, s->markdown.data, begin, "\n## ")
		       ? ISC_OK
		       : isc_fail(err, ISC_ERR_ABSENT, "the Markdown report has no section %s", heading);
}

static isc_status add_members(const scene *s, char *names, isc_buffer *out, isc_error *err)
{
	isc_status st = add_member(s, "verdict", out, err);
	char *rest = NULL;

	if (st == ISC_OK)
		st = add_member(s, "suggestions", out, err);
	for (char *name = strtok_r(names, " ", &rest); st == ISC_OK && name != NULL; name = strtok_r(NULL, " ", &rest))
		st = add_member(s, name, out, err);
	return st;
}

/* The head of the report says the verdict; without one there is nothing to change, and no evidence. */
static isc_status add_sections(const scene *s, char *headings, isc_buffer *out, isc_error *err)
{
	const char *end = strstr(s->markdown.data, "\n## ");
	isc_status st = ISC_OK;
	char *rest = NULL;

	isc_buffer_add(out, s->markdown.data, (size_t)(end - s->markdown.data) + 1);
	add_section(s, "What to change", out, NULL);
	add_section(s, "Evidence", out, NULL);
	for (char *h = strtok_r(headings, ",", &rest); st == ISC_OK && h != NULL; h = strtok_r(NULL, ",", &rest))
		st = add_section(s, h + strspn(h, " "), out, err);
	return st;
}

/* What ended how, and the verdict. */
static void add_first_lines(const isc_buffer *summary, isc_buffer *out)
{
	const char *end = strchr(strchr(summary->data, '\n') + 1, '\n');

	isc_buffer_add(out, summary->data, (size_t)(end - summary->data) + 1);
}

isc_status scene_verdict(const scene *s, isc_buffer *out, isc_error *err)
{
	char kept[512], *headings;
	isc_status st;

	kept_of(s, kept, sizeof(kept));
	headings = kept + strcspn(kept, "|");
	if (*headings == '|')
		*headings++ = 0;
	st = add_members(s, kept, out, err);
	isc_buffer_text(out, "\n");
	if (st == ISC_OK)
		st = add_sections(s, headings, out, err);
	isc_buffer_text(out, "\n");
	add_first_lines(&s->summary, out);
	return st;
}

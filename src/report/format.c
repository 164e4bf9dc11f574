#include "report/report.h"

#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "report/html/html.h"
#include "report/json/json.h"
#include "report/markdown/markdown.h"

static const struct {
	const char *name;
	int format;
} names[] = {
	{"markdown", ISC_REPORT_MARKDOWN}, {"md", ISC_REPORT_MARKDOWN}, {"html", ISC_REPORT_HTML},
	{"htm", ISC_REPORT_HTML},	   {"json", ISC_REPORT_JSON},
};

int isc_report_format_named(const char *name)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcasecmp(name, names[i].name) == 0)
			return names[i].format;
	}
	return ISC_REPORT_UNKNOWN;
}

int isc_report_format_of(const char *path)
{
	const char *ending = isc_path_extension(path);

	return ending[0] == '.' ? isc_report_format_named(ending + 1) : ISC_REPORT_UNKNOWN;
}

isc_status isc_report_choose(const char *path, const char *name, int *format, isc_error *err)
{
	isc_status st;

	*format = name != NULL ? isc_report_format_named(name) : isc_report_format_of(path);
	if (*format != ISC_REPORT_UNKNOWN)
		return ISC_OK;
	if (name != NULL)
		st = isc_fail(err, ISC_ERR_INVALID, "\"%.60s\" is not a report format that this build writes", name);
	else
		st = isc_fail(err, ISC_ERR_INVALID,
			      "the ending of \"%.150s\" names no report format that this build writes", path);
	isc_hint(err, "give a path ending in .md, .html or .json, or --format markdown, html or json");
	return st;
}

isc_status isc_report_write(const isc_analysis *a, int format, isc_buffer *out, isc_error *err)
{
	switch (format) {
	case ISC_REPORT_MARKDOWN:
		isc_markdown_write(a, out);
		break;
	case ISC_REPORT_JSON:
		isc_json_write(a, out);
		break;
	case ISC_REPORT_HTML:
		isc_html_write(a, out);
		break;
	default:
		return isc_fail(err, ISC_ERR_INVALID, "there is no report format %d", format);
	}
	return out->failed ? isc_fail(err, ISC_ERR_NOMEM, "no memory for the report") : ISC_OK;
}

/* Steps over blanks and the given word; NULL when it is not there. */
static const char *past(const char *at, const char *end, const char *word)
{
	size_t len = strlen(word);

	while (at != NULL && at < end && strchr(" \t\r\n", *at) != NULL && *at != 0)
		at++;
	return at != NULL && (size_t)(end - at) >= len && memcmp(at, word, len) == 0 ? at + len : NULL;
}

static bool begins(const char *head, size_t len, const char *mark)
{
	return len >= strlen(mark) && memcmp(head, mark, strlen(mark)) == 0;
}

bool isc_report_is_ours(const char *head, size_t len)
{
	const char *end = head + len;

	if (begins(head, len, ISC_MARKDOWN_MARK) || begins(head, len, ISC_HTML_MARK))
		return true;
	/* "schema" is our first key; one in the middle of another's file is not our mark. */
	head = past(past(past(head, end, "{"), end, "\"schema\""), end, ":");
	return past(head, end, "\"inferscope-report-") != NULL || past(head, end, "\"inferscope-diff-") != NULL;
}

/*
 * markdown_json.c - the report for a pull request, from the JSON report: the same
 * figures in the same words as markdown.c has from an analysis, less what JSON
 * does not hold.
 */
#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "report/from_json.h"
#include "report/grid.h"
#include "report/markdown.h"

#define NAME_CHARACTERS 100u
#define ROWS_MAX 25u

static double number(yyjson_val *object, const char *key)
{
	yyjson_val *n = yyjson_obj_get(object, key);

	return yyjson_is_num(n) ? yyjson_get_num(n) : -1;
}

static void add_sentence(isc_buffer *out, yyjson_val *text)
{
	if (yyjson_is_str(text))
		isc_text_prose(out, yyjson_get_str(text), yyjson_get_len(text));
}

/* ---- cells ---- */

enum cell { NAME, WORDS, TIME, SHARE, COUNT };

struct column {
	const char *title, *key;
	enum cell kind;
};

static void add_cell(isc_grid *t, yyjson_val *row, const struct column *c)
{
	yyjson_val *text = yyjson_obj_get(row, c->key);
	double value = number(row, c->key);
	isc_units u;

	if (c->kind == NAME && yyjson_is_str(text)) {
		isc_text_markdown(&t->text, yyjson_get_str(text), yyjson_get_len(text), NAME_CHARACTERS);
		isc_grid_end(t);
	} else if (c->kind == WORDS && yyjson_is_str(text)) {
		isc_text_prose(&t->text, yyjson_get_str(text), yyjson_get_len(text));
		isc_grid_end(t);
	} else if (c->kind == NAME || c->kind == WORDS) {
		isc_grid_cell(t, yyjson_is_num(text) ? isc_units_number(&u, value) : "");
	} else {
		isc_grid_cell(t, c->kind == TIME    ? isc_units_time(&u, value)
				 : c->kind == SHARE ? isc_units_percent(&u, value)
				 : value >= 0	    ? isc_units_number(&u, value)
						    : "?");
	}
}

static void add_table(isc_buffer *out, const char *title, yyjson_val *rows, const struct column *columns, size_t n)
{
	const char *titles[ISC_GRID_COLUMNS + 1] = {0};
	isc_grid t = {0};
	yyjson_val *row;
	size_t i, count;

	if (yyjson_arr_size(rows) == 0)
		return;
	for (i = 0; i < n; i++)
		titles[i] = columns[i].title;
	isc_buffer_format(out, "\n## %s\n\n", title);
	isc_grid_init(&t, titles);
	yyjson_arr_foreach(rows, i, count, row)
	{
		for (size_t k = 0; i < ROWS_MAX && k < n; k++)
			add_cell(&t, row, &columns[k]);
	}
	isc_grid_write(&t, out);
	isc_grid_fini(&t);
	if (count > ROWS_MAX)
		isc_buffer_format(out, "\n%zu more are in the JSON report.\n", count - ROWS_MAX);
}

#define TABLE(out, title, rows, columns) add_table(out, title, rows, columns, sizeof(columns) / sizeof((columns)[0]))

/* ---- the parts ---- */

static void add_verdict(isc_buffer *out, yyjson_val *report)
{
	static const struct column evidence[] = {{"rule", "rule", NAME},
						 {"metric", "metric", NAME},
						 {">value", "value", COUNT},
						 {">threshold", "threshold", COUNT},
						 {">GPU", "device_id", NAME}};
	yyjson_val *verdict = yyjson_obj_get(report, "verdict"), *withheld = yyjson_obj_get(verdict, "withheld");
	isc_units u;

	if (yyjson_is_str(withheld)) {
		isc_buffer_text(out, "**No verdict is given:** ");
		add_sentence(out, withheld);
		isc_buffer_text(out, "\n");
		return;
	}
	isc_buffer_text(out, "**");
	add_sentence(out, yyjson_obj_get(verdict, "headline"));
	isc_buffer_text(out, "**\n\n");
	isc_buffer_text(out, "It is ");
	add_sentence(out, yyjson_obj_get(verdict, "bottleneck"));
	isc_buffer_format(out, ", with a confidence of %s of 1.\n",
			  isc_units_number(&u, number(verdict, "confidence")));
	TABLE(out, "Evidence", yyjson_obj_get(verdict, "evidence"), evidence);
}

static void add_suggestions(isc_buffer *out, yyjson_val *list)
{
	yyjson_val *s, *where;
	size_t i, n;
	isc_units u;

	if (yyjson_arr_size(list) > 0)
		isc_buffer_text(out, "\n## What to change, best first\n\n");
	yyjson_arr_foreach(list, i, n, s)
	{
		isc_buffer_format(out, "%zu. ", i + 1);
		add_sentence(out, yyjson_obj_get(s, "title"));
		isc_buffer_format(out, ": saves at most %s. ", isc_units_time(&u, number(s, "saves_at_most_us")));
		add_sentence(out, yyjson_obj_get(s, "why"));
		where = yyjson_obj_get(s, "where");
		if (yyjson_is_str(where)) {
			isc_buffer_text(out, " Where: ");
			isc_text_markdown(out, yyjson_get_str(where), yyjson_get_len(where), NAME_CHARACTERS);
			isc_buffer_text(out, ".");
		}
		isc_buffer_text(out, "\n");
	}
}

static void add_breakdown(isc_buffer *out, yyjson_val *breakdown)
{
	const char *titles[] = {"state", ">share", NULL};
	yyjson_val *key, *share;
	isc_grid t = {0};
	size_t i, n;
	isc_units u;

	if (!yyjson_is_obj(breakdown))
		return;
	isc_buffer_text(out, "\n## Where the time went\n\n");
	isc_grid_init(&t, titles);
	yyjson_obj_foreach(breakdown, i, n, key, share)
	{
		if (!yyjson_is_num(share) || yyjson_get_num(share) <= 0 || yyjson_equals_str(key, "thread_id"))
			continue;
		isc_text_markdown(&t.text, yyjson_get_str(key), yyjson_get_len(key), NAME_CHARACTERS);
		isc_grid_end(&t);
		isc_grid_cell(&t, isc_units_percent(&u, yyjson_get_num(share)));
	}
	isc_grid_write(&t, out);
	isc_grid_fini(&t);
}

static void add_tables(isc_buffer *out, yyjson_val *report)
{
	static const struct column gpus[] = {{"GPU", "device_id", NAME},	  {"name", "name", NAME},
					     {">span", "span_us", TIME},	  {">busy", "busy_pct", SHARE},
					     {">idle", "idle_pct", SHARE},	  {">copies", "copy_pct", SHARE},
					     {">collectives", "comm_pct", SHARE}, {">kernels", "kernel_count", COUNT}};
	static const struct column scopes[] = {{"scope", "name", NAME},	   {">count", "count", COUNT},
					       {">mean", "mean_us", TIME}, {">p50", "p50_us", TIME},
					       {">p90", "p90_us", TIME},   {">p99", "p99_us", TIME},
					       {">max", "max_us", TIME}};
	static const struct column functions[] = {{"function", "name", NAME},	  {"file", "file", NAME},
						  {">line", "line", NAME},	  {">calls", "calls", COUNT},
						  {">own time", "self_us", TIME}, {">total", "total_us", TIME}};
	static const struct column kernels[] = {{"kernel", "name", NAME},
						{"class", "class", NAME},
						{">count", "count", COUNT},
						{">total", "total_us", TIME},
						{">mean", "mean_us", TIME},
						{">max", "max_us", TIME},
						{"launched from", "launched_from", NAME}};
	static const struct column threads[] = {{"thread", "name", NAME},	 {">id", "thread_id", NAME},
						{">time", "wall_us", TIME},	 {">on CPU", "on_cpu_us", TIME},
						{">GIL wait", "gil_wait", TIME}, {">run queue", "run_queue", TIME}};

	static const struct column memory[] = {{"taken at", "where", NAME},
					       {">bytes", "bytes", COUNT},
					       {">allocations", "count", COUNT},
					       {">at the peak", "peak_bytes", COUNT},
					       {">at the end", "live_bytes", COUNT}};

	TABLE(out, "GPUs", yyjson_obj_get(report, "gpus"), gpus);
	TABLE(out, "Scopes", yyjson_obj_get(report, "scopes"), scopes);
	TABLE(out, "Functions", yyjson_obj_get(report, "functions"), functions);
	TABLE(out, "Kernels", yyjson_obj_get(report, "kernels"), kernels);
	TABLE(out, "Threads", yyjson_obj_get(report, "threads"), threads);
	TABLE(out, "Memory", yyjson_obj_get(yyjson_obj_get(report, "memory"), "sites"), memory);
}

static void add_doubts(isc_buffer *out, yyjson_val *report)
{
	yyjson_val *overhead = yyjson_obj_get(report, "overhead"), *warnings = yyjson_obj_get(report, "warnings"), *w;
	double lost = number(overhead, "lost");
	size_t i, n;
	isc_units u;

	isc_buffer_text(out, "\n## What to doubt\n\n");
	isc_buffer_format(out, "- %s events, ", isc_units_number(&u, number(overhead, "events")));
	isc_buffer_format(out, "%s lost\n", lost >= 0 ? isc_units_number(&u, lost) : "an unknown number");
	if (number(overhead, "measured_pct") >= 0)
		isc_buffer_format(out, "- tracing slowed the program by %s\n",
				  isc_units_percent(&u, number(overhead, "measured_pct")));
	yyjson_arr_foreach(warnings, i, n, w)
	{
		isc_buffer_text(out, "- ");
		add_sentence(out, yyjson_obj_get(w, "text"));
		if (yyjson_is_str(yyjson_obj_get(w, "remedy"))) {
			isc_buffer_text(out, ": ");
			add_sentence(out, yyjson_obj_get(w, "remedy"));
		}
		isc_buffer_text(out, "\n");
	}
}

void isc_markdown_from_json(yyjson_val *report, isc_buffer *out)
{
	yyjson_val *window = yyjson_obj_get(report, "window");
	double from = number(window, "from_us"), to = number(window, "to_us");
	isc_units u;

	isc_buffer_text(out, ISC_MARKDOWN_MARK "1 -->\n# InferScope\n\n");
	add_verdict(out, report);
	if (to > from && from >= 0) {
		isc_buffer_format(out, "\nJudged: %s", isc_units_time(&u, to - from));
		if (yyjson_is_str(yyjson_obj_get(window, "why"))) {
			isc_buffer_text(out, ", ");
			add_sentence(out, yyjson_obj_get(window, "why"));
		}
		isc_buffer_text(out, ".\n");
	}
	add_suggestions(out, yyjson_obj_get(report, "suggestions"));
	add_breakdown(out, yyjson_obj_get(report, "breakdown"));
	add_tables(out, report);
	add_doubts(out, report);
}

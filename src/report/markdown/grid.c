#include "report/markdown/grid.h"

#include <stdbool.h>
#include <string.h>

#include "base/units.h"

/* A column is padded no further: one long name must not push all numbers away. */
#define PAD_MAX 56u
#define PAD_MIN 3u /* --- */

void isc_grid_init(isc_grid *t, const char *const *titles)
{
	memset(t, 0, sizeof(*t));
	while (titles[t->columns] != NULL && t->columns < ISC_GRID_COLUMNS) {
		t->title[t->columns] = titles[t->columns];
		t->columns++;
	}
}

void isc_grid_fini(isc_grid *t)
{
	isc_buffer_fini(&t->text);
	isc_buffer_fini(&t->ends);
}

void isc_grid_end(isc_grid *t)
{
	isc_buffer_add(&t->ends, &t->text.len, sizeof(t->text.len));
}

void isc_grid_cell(isc_grid *t, const char *text)
{
	isc_buffer_text(&t->text, text);
	isc_grid_end(t);
}

void isc_grid_id(isc_grid *t, uint32_t id)
{
	isc_buffer_format(&t->text, "%u", id);
	isc_grid_end(t);
}

void isc_grid_count(isc_grid *t, uint64_t n)
{
	isc_units u;

	isc_grid_cell(t, isc_units_count(&u, n));
}

void isc_grid_number(isc_grid *t, double value)
{
	isc_units u;

	isc_grid_cell(t, isc_units_number(&u, value));
}

void isc_grid_percent(isc_grid *t, double percent)
{
	isc_units u;

	isc_grid_cell(t, isc_units_percent(&u, percent));
}

void isc_grid_share(isc_grid *t, double part, double whole)
{
	isc_grid_percent(t, part >= 0 && whole > 0 ? part / whole * 100 : -1);
}

void isc_grid_time(isc_grid *t, double us)
{
	isc_units u;

	isc_grid_cell(t, isc_units_time(&u, us));
}

void isc_grid_name(isc_grid *t, isc_text name, size_t max)
{
	isc_text_markdown(&t->text, name.at, name.len, max);
	isc_grid_end(t);
}

static bool numeric(const isc_grid *t, size_t column)
{
	return t->title[column][0] == '>';
}

static const char *title(const isc_grid *t, size_t column)
{
	return t->title[column] + numeric(t, column);
}

static size_t end_of(const isc_grid *t, size_t cell)
{
	size_t end;

	memcpy(&end, t->ends.data + cell * sizeof(end), sizeof(end));
	return end;
}

static void pad(isc_buffer *out, size_t n, char with)
{
	while (n-- > 0)
		isc_buffer_add(out, &with, 1);
}

static void put(isc_buffer *out, const char *text, size_t len, size_t width, bool right)
{
	size_t own = isc_text_width(text, len), free_columns = own < width ? width - own : 0;

	isc_buffer_text(out, "| ");
	pad(out, right ? free_columns : 0, ' ');
	isc_buffer_add(out, text, len);
	pad(out, right ? 0 : free_columns, ' ');
	isc_buffer_text(out, " ");
}

static void measure(const isc_grid *t, size_t cells, size_t *width)
{
	size_t begin = 0;

	for (size_t c = 0; c < t->columns; c++) {
		width[c] = strlen(title(t, c));
		width[c] = width[c] < PAD_MIN ? PAD_MIN : width[c];
	}
	for (size_t i = 0; i < cells; i++) {
		size_t end = end_of(t, i), own = isc_text_width(t->text.data + begin, end - begin);

		own = own < PAD_MAX ? own : PAD_MAX;
		if (own > width[i % t->columns])
			width[i % t->columns] = own;
		begin = end;
	}
}

void isc_grid_write(const isc_grid *t, isc_buffer *out)
{
	size_t width[ISC_GRID_COLUMNS], cells = t->ends.len / sizeof(size_t), begin = 0;

	if (t->text.failed || t->ends.failed) {
		out->failed = true;
		return;
	}
	measure(t, cells, width);
	for (size_t c = 0; c < t->columns; c++)
		put(out, title(t, c), strlen(title(t, c)), width[c], numeric(t, c));
	isc_buffer_text(out, "|\n");
	for (size_t c = 0; c < t->columns; c++) {
		isc_buffer_text(out, "| ");
		pad(out, width[c] - numeric(t, c), '-');
		isc_buffer_text(out, numeric(t, c) ? ": " : " ");
	}
	isc_buffer_text(out, "|\n");
	for (size_t i = 0; i < cells; i++) {
		size_t end = end_of(t, i), c = i % t->columns;

		put(out, t->text.data != NULL ? t->text.data + begin : "", end - begin, width[c], numeric(t, c));
		if (c + 1 == t->columns)
			isc_buffer_text(out, "|\n");
		begin = end;
	}
}

void isc_grid_close(isc_grid *t, isc_buffer *out)
{
	isc_grid_write(t, out);
	isc_grid_fini(t);
}

void isc_grid_more(isc_buffer *out, size_t shown, size_t all)
{
	isc_units u;

	if (all > shown)
		isc_buffer_format(out, "\n... and %s more, in the JSON report.\n", isc_units_count(&u, all - shown));
}

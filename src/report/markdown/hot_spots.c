#include "report/markdown/hot_spots.h"

#include <string.h>

#include "base/text.h"
#include "base/units.h"
#include "report/markdown/grid.h"
#include "report/text/words.h"

#define NAME_MAX_LEN 60u
#define PLACE_MAX_LEN 80u
#define LINES_MAX 15u
/* Of functions in one row so many are named, half of them at each end. */
#define FOLDED_MAX 4u

/* Words about a frame, made safe for a block of code: no line of it begins with a name. */
static void add_words(isc_buffer *out, const isc_analysis_frame *frame,
		      void (*words)(isc_buffer *, const isc_analysis_function *), size_t max)
{
	isc_analysis_function f = isc_words_of_frame(frame);

	isc_words_escaped(out, &f, words, isc_text_terminal, max);
}

static void write_row(const isc_analysis *a, const isc_analysis_path *row, isc_buffer *out)
{
	const isc_analysis_frame *last = row->frame_count > 0 ? &row->frames[row->frame_count - 1] : NULL;
	isc_units pct, time;

	isc_buffer_format(out, "%6s %9s  %*s", isc_units_percent(&pct, row->us / a->samples.us * 100),
			  isc_units_time(&time, row->us), (int)row->depth * 2, "");
	if (last == NULL) {
		isc_buffer_format(out, row->pid != 0 ? "process %u\n" : "process ?\n", row->pid);
		return;
	}
	for (size_t i = 0; i < row->frame_count; i++) {
		bool cut = row->frame_count > FOLDED_MAX && i == FOLDED_MAX / 2;

		isc_buffer_text(out, i > 0 ? " > " : "");
		if (cut) {
			isc_buffer_text(out, "... > ");
			i = row->frame_count - FOLDED_MAX / 2;
		}
		add_words(out, &row->frames[i], isc_words_function, NAME_MAX_LEN);
	}
	if (last->file.len > 0 || last->module.len > 0) {
		isc_buffer_text(out, "  [");
		add_words(out, last, isc_words_place, PLACE_MAX_LEN);
		isc_buffer_text(out, "]");
	}
	isc_buffer_text(out, "\n");
}

static void write_paths(const isc_analysis *a, isc_buffer *out)
{
	if (a->path_count == 0)
		return;
	isc_buffer_text(out,
			"\nWho called whom; each time is with the functions called. A row under 1% is left out, and "
			"functions that only lead to one other share its row.\n\n```text\n");
	for (size_t i = 0; i < a->path_count; i++)
		write_row(a, &a->paths[i], out);
	isc_buffer_text(out, "```\n");
}

static void add_code(isc_grid *t, const isc_analysis_frame *frame,
		     void (*words)(isc_buffer *, const isc_analysis_function *))
{
	isc_analysis_function f = isc_words_of_frame(frame);

	isc_words_escaped(&t->text, &f, words, isc_text_markdown, PLACE_MAX_LEN);
	isc_grid_end(t);
}

static void write_lines(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {"line", "function", ">self", ">share", ">native", ">samples", NULL};
	size_t n = a->line_count < LINES_MAX ? a->line_count : LINES_MAX;
	isc_units u;
	isc_grid t;

	if (n == 0)
		return;
	isc_grid_init(&t, titles);
	isc_buffer_text(out,
			"\nThe hottest lines; self is CPU time on the line with the native code that it called, native "
			"that code alone.\n\n");
	for (size_t i = 0; i < n; i++) {
		const isc_analysis_line *l = &a->lines[i];

		add_code(&t, &l->at, isc_words_place);
		add_code(&t, &l->at, isc_words_function);
		isc_grid_time(&t, l->self_us);
		isc_grid_share(&t, l->self_us, a->samples.us);
		isc_grid_time(&t, l->native_us);
		isc_grid_count(&t, l->samples);
	}
	isc_grid_close(&t, out);
	if (a->samples.lines > n)
		isc_buffer_format(out, "\n... and %s more%s\n", isc_units_count(&u, a->samples.lines - n),
				  a->samples.lines > a->line_count ? ", some of them in the JSON report."
								   : ", in the JSON report.");
}

void isc_hot_spots_write(const isc_analysis *a, isc_buffer *out)
{
	const isc_analysis_samples *s = &a->samples;
	isc_units n, time, pct;

	if (s->count == 0)
		return;
	isc_buffer_text(out, "\n## Where the CPU time went\n\n");
	isc_buffer_format(out, "%s sample%s stand%s for %s of CPU time", isc_units_count(&n, s->count),
			  s->count == 1 ? "" : "s", s->count == 1 ? "s" : "", isc_units_time(&time, s->us));
	if (s->covered_pct >= 0)
		isc_buffer_format(out, ", %s of what was used",
				  isc_units_percent(&pct, s->covered_pct < 100 ? s->covered_pct : 100));
	if (s->count < ISC_SAMPLES_ENOUGH) {
		isc_buffer_text(out, ": too few to say where it went. The JSON report has them.\n");
		return;
	}
	isc_buffer_text(out, ".\n");
	write_paths(a, out);
	write_lines(a, out);
}

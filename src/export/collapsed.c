/*
 * collapsed.c - "root;caller;function 12", a line for every stack: what
 * flamegraph.pl, inferno and speedscope read.  The number is samples; where there
 * are none, microseconds that the function itself took by its traced calls.
 */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "export/json_text.h"
#include "export/paths.h"

#define DEPTH_MAX 4096u

typedef struct collapsed {
	isc_sink sink;
	isc_paths paths;
} collapsed;

static isc_sink *begin(isc_trace *trace, isc_export_out *out)
{
	collapsed *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->sink = (isc_sink){.listener = {.trace = trace}, .out = out};
	c->paths.frames = (isc_frames){.trace = trace, .out = out};
	return &c->sink;
}

static void open_slice(isc_listener *self, const isc_slice *s)
{
	isc_paths_open(&((collapsed *)self)->paths, s);
}

static void close_slice(isc_listener *self, const isc_slice *s)
{
	isc_paths_close(&((collapsed *)self)->paths, s);
}

static void sample(isc_listener *self, const isc_listener_sample *s)
{
	if (s->wait_ns == 0)
		isc_paths_sample(&((collapsed *)self)->paths, s);
}

/* A semicolon would be two frames, a line feed two lines. */
static void add_name(isc_buffer *out, const isc_text *text)
{
	size_t from = out->len;

	isc_text_terminal(out, text->at, text->len, 0);
	for (size_t i = from; i < out->len; i++)
		if (out->data[i] == ';')
			out->data[i] = ':';
}

static isc_text last_part(const isc_text *path)
{
	const char *slash = path->len > 0 ? memrchr(path->at, '/', path->len) : NULL;

	if (slash == NULL)
		return *path;
	return (isc_text){slash + 1, path->len - (uint32_t)(slash + 1 - path->at)};
}

static void add_frame(isc_buffer *out, const isc_export_frame *f)
{
	isc_text place = last_part(f->native || f->file.len == 0 ? &f->module : &f->file);

	add_name(out, &f->name);
	if (place.len == 0)
		return;
	isc_buffer_text(out, " (");
	add_name(out, &place);
	if (f->first_line != 0 && !f->native)
		isc_buffer_format(out, ":%u", f->first_line);
	isc_buffer_text(out, ")");
}

static void write_row(const collapsed *c, const isc_path_row *row, uint64_t count)
{
	isc_buffer *out = &c->sink.out->text;
	size_t frames[DEPTH_MAX], n = isc_paths_frames(&c->paths, row->node, frames, DEPTH_MAX);

	if (n == 0)
		isc_buffer_text(out, "(unknown)");
	for (size_t i = n; i > 0; i--) {
		add_frame(out, &c->paths.frames.frame[frames[i - 1]]);
		isc_buffer_text(out, i > 1 ? ";" : "");
	}
	isc_buffer_text(out, " ");
	isc_json_number(out, count);
	isc_buffer_text(out, "\n");
	isc_export_send(c->sink.out, false);
}

static void end(isc_sink *self, const isc_export_result *result)
{
	collapsed *c = (collapsed *)self;

	(void)result;
	for (size_t i = 0; i < c->paths.row_count && !c->paths.failed; i++) {
		const isc_path_row *row = &c->paths.row[i];
		uint64_t count = c->paths.sampled ? row->samples : (row->self_ns + 500) / 1000;

		if (count > 0)
			write_row(c, row, count);
	}
	if (c->paths.failed)
		self->out->text.failed = true;
	isc_paths_fini(&c->paths);
	free(c);
}

const isc_sink_class isc_sink_collapsed = {
	.timeless = true,
	.begin = begin,
	.hears = {.texts = true, .open = open_slice, .close = close_slice, .sample = sample, .after = isc_export_after},
	.end = end,
};

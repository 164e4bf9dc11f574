/*
 * speedscope.c - one profile of calls and one of samples for every thread that has
 * any.  The table of frames comes last: only then all of them are known.
 */
#include <stdlib.h>

#include "export/frames.h"
#include "export/json_text.h"
#include "export/format.h"
#include "export/spill.h"

enum { CALLS, CALLS_IN_HANDLER, STACKS, WEIGHTS, TEXTS };

typedef struct row {
	const isc_listener_thread *on;
	uint64_t first_ns[2], last_ns[2]; /* of each stream */
	uint64_t events[2];
	uint64_t samples, weight_ns;
	bool skip; /* the slice that is open came too late */
} row;

typedef struct speedscope {
	isc_sink sink;
	isc_frames frames;
	isc_spill *spill;
	row *rows;
	size_t count, room;
	isc_hashmap by_thread; /* rank + 1 */
	bool first;
} speedscope;

static isc_sink *begin(isc_trace *trace, isc_export_out *out)
{
	speedscope *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->sink = (isc_sink){.listener = {.trace = trace}, .out = out};
	p->frames = (isc_frames){.trace = trace, .out = out};
	p->spill = isc_spill_new();
	p->sink.listener.failed = p->spill == NULL;
	p->first = true;
	isc_buffer_text(&out->text, "{\"exporter\":\"" ISC_EXPORT_MARK
				    "\",\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n"
				    "\"profiles\":[");
	return &p->sink;
}

static row *row_of(speedscope *p, const isc_listener_thread *on)
{
	uint64_t *rank = isc_hashmap_put(&p->by_thread, on->thread, NULL);

	if (rank != NULL && *rank == 0) {
		if (p->count == p->room) {
			size_t room = p->room != 0 ? p->room * 2 : 16;
			row *grown = realloc(p->rows, room * sizeof(*grown));

			if (grown == NULL) {
				p->sink.listener.failed = true;
				return NULL;
			}
			p->rows = grown;
			p->room = room;
		}
		p->rows[p->count++] = (row){.on = on};
		*rank = p->count;
	}
	p->sink.listener.failed |= rank == NULL;
	return rank != NULL ? &p->rows[*rank - 1] : NULL;
}

static isc_buffer *text_of(speedscope *p, const row *r, unsigned which)
{
	isc_buffer *text = isc_spill_text(p->spill, (size_t)(r - p->rows) * TEXTS + which);

	p->sink.listener.failed |= text == NULL;
	return text;
}

static void event(speedscope *p, row *r, const isc_slice *s, char type, uint64_t at)
{
	unsigned stream = s->stream != 0;
	isc_buffer *text = text_of(p, r, stream != 0 ? CALLS_IN_HANDLER : CALLS);
	size_t frame = isc_frames_of_slice(&p->frames, s);

	if (text == NULL || frame == SIZE_MAX) {
		p->sink.listener.failed = true;
		return;
	}
	if (r->events[stream]++ == 0)
		r->first_ns[stream] = at;
	isc_buffer_format(text, "%s{\"type\":\"%c\",\"frame\":", r->events[stream] > 1 ? "," : "", type);
	isc_json_number(text, frame);
	isc_buffer_text(text, ",\"at\":");
	isc_json_number(text, at);
	isc_buffer_text(text, "}");
	r->last_ns[stream] = at;
}

/* In order: what began before something that is told already cannot be told any more. */
static void open_slice(isc_listener *self, const isc_slice *s)
{
	speedscope *p = (speedscope *)self;
	row *r = row_of(p, s->on);

	if (r == NULL)
		return;
	r->skip = r->events[s->stream != 0] > 0 && s->start_ns < r->last_ns[s->stream != 0] &&
		  (s->kind == ISC_SLICE_WAIT || s->kind == ISC_SLICE_GC);
	if (!r->skip)
		event(p, r, s, 'O', s->start_ns);
}

static void close_slice(isc_listener *self, const isc_slice *s)
{
	speedscope *p = (speedscope *)self;
	row *r = row_of(p, s->on);

	if (r == NULL)
		return;
	if (!r->skip)
		event(p, r, s, 'C', s->end_ns);
	r->skip = false;
}

static void sample(isc_listener *self, const isc_listener_sample *s)
{
	speedscope *p = (speedscope *)self;
	size_t numbers[ISC_STACK_FRAMES_MAX], n;
	row *r;
	isc_buffer *text;

	if (s->wait_ns > 0)
		return;
	r = row_of(p, s->on);
	n = isc_frames_stack(&p->frames, s->on->process, s->stack, numbers, ISC_STACK_FRAMES_MAX);
	text = r != NULL ? text_of(p, r, STACKS) : NULL;
	if (text == NULL)
		return;
	isc_buffer_text(text, r->samples > 0 ? ",[" : "[");
	for (size_t i = n; i > 0; i--) {
		isc_json_number(text, numbers[i - 1]);
		isc_buffer_text(text, i > 1 ? "," : "");
	}
	isc_buffer_text(text, "]");
	text = text_of(p, r, WEIGHTS);
	if (text == NULL)
		return;
	isc_buffer_text(text, r->samples > 0 ? "," : "");
	isc_json_number(text, s->cpu_ns);
	r->samples++;
	r->weight_ns += s->cpu_ns;
}

/* ---- the end ------------------------------------------------------------- */

static void head(speedscope *p, const row *r, const char *type, const char *what, uint64_t from, uint64_t to)
{
	isc_buffer *out = &p->sink.out->text;
	isc_buffer name = {0};

	isc_buffer_add(&name, r->on->name.at, r->on->name.len);
	isc_buffer_format(&name, " %u: %s", r->on->tid, what);
	isc_buffer_format(out, "%s{\"type\":\"%s\",\"name\":", p->first ? "\n" : ",\n", type);
	isc_json_string(out, name.data != NULL ? name.data : "", name.len);
	isc_buffer_format(out, ",\"unit\":\"nanoseconds\",\"startValue\":%llu,\"endValue\":%llu,",
			  (unsigned long long)from, (unsigned long long)to);
	p->first = false;
	p->sink.listener.failed |= name.failed;
	isc_buffer_fini(&name);
}

static void send(speedscope *p, const row *r, const char *key, unsigned which, const char *close)
{
	isc_buffer_text(&p->sink.out->text, key);
	p->sink.listener.failed |= !isc_spill_send(p->spill, (size_t)(r - p->rows) * TEXTS + which, p->sink.out);
	isc_buffer_text(&p->sink.out->text, close);
}

static void write_profiles(speedscope *p, const row *r)
{
	static const char *const what[2] = {"calls", "calls in signal handlers"};

	for (unsigned stream = 0; stream < 2; stream++) {
		if (r->events[stream] == 0)
			continue;
		head(p, r, "evented", what[stream], r->first_ns[stream], r->last_ns[stream]);
		send(p, r, "\"events\":[", stream != 0 ? CALLS_IN_HANDLER : CALLS, "]}");
	}
	if (r->samples > 0) {
		head(p, r, "sampled", "samples of CPU time", 0, r->weight_ns);
		send(p, r, "\"samples\":[", STACKS, "]");
		send(p, r, ",\"weights\":[", WEIGHTS, "]}");
	}
}

static void write_frames(speedscope *p)
{
	isc_buffer *out = &p->sink.out->text;

	isc_buffer_text(out, "],\n\"shared\":{\"frames\":[");
	for (size_t i = 0; i < p->frames.count; i++) {
		const isc_export_frame *f = &p->frames.frame[i];

		isc_buffer_text(out, i > 0 ? ",\n{\"name\":" : "\n{\"name\":");
		isc_json_string(out, f->name.at, f->name.len);
		if (f->file.len > 0 || f->module.len > 0) {
			isc_buffer_text(out, ",\"file\":");
			isc_json_string(out, f->file.len > 0 ? f->file.at : f->module.at,
					f->file.len > 0 ? f->file.len : f->module.len);
		}
		if (f->line != 0)
			isc_buffer_format(out, ",\"line\":%u", f->line);
		isc_buffer_text(out, "}");
		isc_export_send(p->sink.out, false);
	}
	isc_buffer_text(out, "]}}\n");
}

static void end(isc_sink *self, const isc_export_result *result)
{
	speedscope *p = (speedscope *)self;

	(void)result;
	for (size_t i = 0; i < p->count && !self->listener.failed; i++)
		write_profiles(p, &p->rows[i]);
	write_frames(p);
	if (self->listener.failed)
		self->out->text.failed = true;
	isc_frames_fini(&p->frames);
	isc_spill_free(p->spill);
	isc_hashmap_fini(&p->by_thread);
	free(p->rows);
	free(p);
}

const isc_sink_class isc_sink_speedscope = {
	.timeless = true,
	.begin = begin,
	.hears = {.texts = true, .open = open_slice, .close = close_slice, .sample = sample, .after = isc_export_after},
	.end = end,
};

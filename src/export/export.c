#include "export/export.h"

#include <string.h>

#include "base/suggest.h"
#include "export/format.h"
#include "timeline/own.h"

#define SEND_AT (256u << 10)

static const struct format {
	const char *name;
	const char *ending;
	const isc_sink_class *sink;
} formats[ISC_EXPORT_FORMATS] = {
	[ISC_EXPORT_CHROME] = {"chrome", ".chrome.json", &isc_sink_chrome},
	[ISC_EXPORT_PERFETTO] = {"perfetto", ".pftrace", &isc_sink_perfetto},
	[ISC_EXPORT_SPEEDSCOPE] = {"speedscope", ".speedscope.json", &isc_sink_speedscope},
	[ISC_EXPORT_COLLAPSED] = {"collapsed", ".folded", &isc_sink_collapsed},
	[ISC_EXPORT_PPROF] = {"pprof", ".pb.gz", &isc_sink_pprof},
	[ISC_EXPORT_EVENTS] = {"events", ".events.json", &isc_sink_events},
};

const char *isc_export_name(int format)
{
	return format >= 0 && format < ISC_EXPORT_FORMATS ? formats[format].name : NULL;
}

const char *isc_export_ending(int format)
{
	return format >= 0 && format < ISC_EXPORT_FORMATS ? formats[format].ending : NULL;
}

isc_status isc_export_choose(const char *name, int *format, isc_error *err)
{
	const char *names[ISC_EXPORT_FORMATS], *near;

	for (int i = 0; i < ISC_EXPORT_FORMATS; i++) {
		names[i] = formats[i].name;
		if (strcmp(name, names[i]) == 0) {
			*format = i;
			return ISC_OK;
		}
	}
	near = isc_suggest(name, names, ISC_EXPORT_FORMATS);
	isc_fail(err, ISC_ERR_INVALID, "export: %.60s is not a format", name);
	if (near != NULL)
		isc_hint(err, "did you mean %s?", near);
	else
		isc_hint(err, "choose chrome, perfetto, speedscope, collapsed, pprof or events");
	return ISC_ERR_INVALID;
}

bool isc_export_is_ours(const char *head, size_t len)
{
	static const char events[] = ISC_EXPORT_EVENTS_HEAD;

	/* A list of events has no room for a mark; nobody else begins it like this. */
	if (len >= sizeof(events) - 1 && memcmp(head, events, sizeof(events) - 1) == 0)
		return true;
	return memmem(head, len < 256 ? len : 256, "\"" ISC_EXPORT_MARK "\"", sizeof(ISC_EXPORT_MARK) + 1) != NULL;
}

const isc_sink_class *isc_export_sink(int format)
{
	return formats[format].sink;
}

void isc_export_send(isc_export_out *out, bool all)
{
	if (out->status != ISC_OK || (!all && out->text.len < SEND_AT))
		return;
	if (out->text.failed)
		out->status = isc_fail(out->err, ISC_ERR_NOMEM, "no memory for the export");
	else if (out->text.len > 0)
		out->status = out->write(out->self, out->text.data, out->text.len, out->err);
	out->bytes += out->text.len;
	isc_buffer_clear(&out->text);
}

isc_status isc_export_after(isc_listener *self)
{
	isc_export_out *out = ((isc_sink *)self)->out;

	isc_export_send(out, false);
	return out->status;
}

/* What was heard is told by its end; what it still writes of a failed export goes nowhere. */
static isc_status end_sink(const isc_sink_class *class, isc_sink *sink, isc_status st,
			   const isc_listener_counts *counts, isc_export_result *result)
{
	st = st == ISC_OK ? sink->out->status : st;
	if (st != ISC_OK)
		sink->out->status = st;
	result->slices = counts->slices;
	result->marks = counts->marks;
	result->samples = counts->samples;
	result->unmatched = counts->unmatched;
	result->unfinished = counts->unfinished;
	class->end(sink, result);
	return st;
}

/* The rest goes out. */
static isc_status end_out(isc_export_out *out, isc_status st, isc_export_result *result)
{
	if (st == ISC_OK) {
		isc_export_send(out, true);
		st = out->status;
	}
	result->bytes = out->bytes;
	isc_buffer_fini(&out->text);
	return st;
}

isc_status isc_export_run(isc_trace *trace, const isc_export_options *options, isc_export_write_fn write, void *self,
			  isc_export_result *result, isc_error *err)
{
	const isc_cut_options part = {options->scope, options->from_us, options->to_us};
	const isc_sink_class *class = formats[options->format].sink;
	isc_export_out out = {.write = write, .self = self, .err = err};
	isc_listener_counts counts = {0};
	isc_arena *arena;
	isc_status st;
	isc_sink *sink;
	isc_cut cut;

	*result = (isc_export_result){0};
	st = isc_cut_make(&cut, trace, &part, err);
	if (st != ISC_OK)
		return st;
	arena = isc_arena_new();
	sink = arena != NULL ? class->begin(trace, &out) : NULL;
	if (sink == NULL) {
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory");
	} else {
		st = isc_own_run(trace,
				 &(isc_own_options){.cut = &cut,
						    .progress = options->progress,
						    .progress_self = options->progress_self},
				 &class->hears, &sink->listener, arena, &counts, err);
		st = end_sink(class, sink, st, &counts, result);
	}
	/* Then nothing was sent either: what a file without events holds is short. */
	if (st == ISC_OK && !cut.whole && result->slices + result->marks + result->samples == 0) {
		st = isc_fail(err, ISC_ERR_INVALID, "there is nothing in the time that was asked for");
		isc_hint(err, "inferscope analyze says how long the trace is");
	}
	st = end_out(&out, st, result);
	result->damaged = isc_trace_is_damaged(trace);
	isc_arena_free(arena);
	isc_cut_fini(&cut);
	return st;
}

isc_status isc_export_imported(isc_imported_stream_fill_fn fill, void *fill_self, const isc_export_options *options,
			       isc_export_write_fn write, void *self, isc_export_result *result, isc_error *err)
{
	const isc_cut_options part = {options->scope, options->from_us, options->to_us};
	const isc_sink_class *class = isc_export_sink(options->format);
	isc_export_out out = {.write = write, .self = self, .err = err, .frame = isc_imported_stream_frame};
	isc_listener_counts counts = {0};
	isc_imported_stream *imported = NULL;
	isc_sink *sink = NULL;
	isc_status st;

	*result = (isc_export_result){0};
	st = isc_imported_stream_new(&class->hears, &counts, &imported, err);
	out.frame_self = imported;
	if (st == ISC_OK) {
		sink = class->begin(NULL, &out);
		st = sink != NULL ? ISC_OK : isc_fail(err, ISC_ERR_NOMEM, "no memory");
	}
	if (st == ISC_OK) {
		st = isc_imported_stream_run(imported, &sink->listener, fill, fill_self, &part, err);
		if (st == ISC_OK && class->timeless)
			st = isc_imported_stream_stacks(imported, &result->folded);
		if (st == ISC_OK && counts.slices + counts.marks + counts.samples == 0) {
			st = isc_fail(err, ISC_ERR_INVALID,
				      "the files have no spans, marks, counters or GPU work to export");
			isc_hint(err, "stacks without moments go to collapsed, speedscope and pprof, whole");
		}
		st = end_sink(class, sink, st, &counts, result);
	}
	st = end_out(&out, st, result);
	isc_imported_stream_free(imported);
	return st;
}

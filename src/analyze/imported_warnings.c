#include "analyze/imported_warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "import/import.h"
#include "timeline/timeline.h"

/* Of many files only so many are named. */
#define NAMED_MAX 8u
#define AGAIN "export the trace again; what could be read is shown"

enum { NOTE = 0, GRAVE = 1 };

struct warnings {
	isc_analysis *a;
	isc_arena *arena;
	size_t room;
	int pass; /* grave ones in the first, others in the second */
};

static void warn(struct warnings *w, int grave, const char *id, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

static void warn(struct warnings *w, int grave, const char *id, const char *remedy, const char *format, ...)
{
	isc_analysis_warning *warning;
	char text[640];
	va_list args;
	int len;

	if (grave != w->pass)
		return;
	warning = isc_arena_push(w->arena, &w->a->warnings, &w->a->warning_count, &w->room, sizeof(*warning));
	if (warning == NULL)
		return;
	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	warning->id = id;
	warning->grave = grave;
	warning->remedy = remedy != NULL ? isc_arena_copy(w->arena, remedy, strlen(remedy)) : NULL;
	warning->text = isc_arena_copy(w->arena, text, len < 0 ? 0 : strnlen(text, sizeof(text)));
}

static const char *name_of(const isc_import_file *file)
{
	const char *slash = strrchr(file->path, '/');

	return slash != NULL ? slash + 1 : file->path;
}

static void about_files(struct warnings *w)
{
	const isc_import *import = w->a->import;
	size_t damaged = 0;
	isc_units n, all;

	for (size_t i = 0; i < import->file_count; i++) {
		const isc_import_file *f = &import->files[i];

		if (f->damaged && damaged++ < NAMED_MAX)
			warn(w, GRAVE, "damaged", AGAIN, "%.120s is damaged: %s", name_of(f), f->lost);
	}
	if (damaged > NAMED_MAX)
		warn(w, GRAVE, "damaged", AGAIN, "%s of %s files are damaged", isc_units_count(&n, damaged),
		     isc_units_count(&all, import->file_count));
	if (import->failed > 0)
		warn(w, GRAVE, "unreadable", "see whether they are traces", "%s of the files could not be read: %s",
		     isc_units_count(&n, import->failed), import->first_failed);
	if (import->skipped > 0)
		warn(w, NOTE, "skipped_files", NULL, "files of the folder that are no traces: %s",
		     isc_units_count(&n, import->skipped));
}

static void about_events(struct warnings *w)
{
	const isc_timeline_facts *f = w->a->timeline;
	uint64_t malformed = 0, unmatched = 0, loose = 0;
	bool no_unit = false;
	isc_units n, all;

	for (size_t i = 0; i < w->a->import->file_count; i++) {
		malformed += w->a->import->files[i].malformed;
		unmatched += w->a->import->files[i].unmatched;
		loose += w->a->import->files[i].loose;
		no_unit |= w->a->import->files[i].no_unit;
	}
	if (no_unit && w->a->samples.count > 0)
		warn(w, GRAVE, "no_unit", "read shares, and no times",
		     "the stacks have counts, and what is counted is not said: each is taken for a microsecond");
	if (loose > 0)
		warn(w, NOTE, "loose_flows", NULL, "ends of flows whose other end is not in the trace: %s",
		     isc_units_count(&n, loose));
	if (malformed > 0)
		warn(w, GRAVE, "malformed_events", NULL, "events without a name or a time: %s; they are left out",
		     isc_units_count(&n, malformed));
	if (unmatched > 0)
		warn(w, NOTE, "unmatched_spans", NULL,
		     "spans that were only entered or only left: %s; they are left out",
		     isc_units_count(&n, unmatched));
	if (f->backward > 0)
		warn(w, GRAVE, "backward_spans", NULL, "spans that end before they begin: %s; they are left out",
		     isc_units_count(&n, f->backward));
	if (f->overlapping > 0)
		warn(w, NOTE, "overlapping_spans", NULL,
		     "spans of one thread that overlap without one being inside the other: %s; times of functions are "
		     "estimates there",
		     isc_units_count(&n, f->overlapping));
	if (f->too_deep > 0)
		warn(w, NOTE, "deep_spans", NULL,
		     "spans below the deepest level that is followed: %s; they are left out",
		     isc_units_count(&n, f->too_deep));
	if (f->folded > 0)
		warn(w, GRAVE, "too_many_names", NULL,
		     "the trace has more names than the tables hold: %s times one was counted with others",
		     isc_units_count(&n, f->folded));
	if (f->stacks_folded > 0)
		warn(w, GRAVE, "stacks_folded", "record with fewer names: leave out numbers and addresses in them",
		     "the trace has more different stacks than are told apart: %s of %s samples, the rarest, stand as "
		     "(other stacks) below their callers",
		     isc_units_count(&n, f->samples_folded), isc_units_count(&all, w->a->samples.count));
	if (f->apart)
		warn(w, GRAVE, "files_apart", "see whether they are of one run",
		     "the files do not overlap in time: each is shown from its own beginning");
}

static void about_gpu(struct warnings *w, const isc_facts_gpu *g)
{
	isc_units n, of, t;
	uint64_t work = g->kernels + g->copies + g->sets;

	if (g->unstamped > 0)
		warn(w, GRAVE, "unstamped_work", "give the profiler more device memory",
		     "GPU %u: %s records have no time stamps, and are left out", g->number,
		     isc_units_count(&n, g->unstamped));
	if (g->seen && g->early > 0 && g->shift_ns == 0)
		warn(w, GRAVE, "early_work", NULL,
		     "GPU %u: %s of %s pieces of work begin before the call that asked for them, and no shift of the "
		     "clock mends that",
		     g->number, isc_units_count(&n, g->early), isc_units_count(&of, work));
	else if (g->seen && g->early > 0)
		warn(w, NOTE, "early_work", NULL,
		     "GPU %u: %s of %s pieces of work begin before the call that asked for them; the clock of the GPU "
		     "was "
		     "shifted by %s for causes of idle time",
		     g->number, isc_units_count(&n, g->early), isc_units_count(&of, work),
		     isc_units_time(&t, (double)(g->shift_ns < 0 ? -g->shift_ns : g->shift_ns) / 1e3));
	if (g->seen && g->unlinked > 0)
		warn(w, NOTE, "unlinked_work", NULL,
		     "GPU %u: which call asked for it is not known of %s of %s pieces of work", g->number,
		     isc_units_count(&n, g->unlinked), isc_units_count(&of, work));
}

static void about_gpus(struct warnings *w)
{
	const isc_timeline_facts *f = w->a->timeline;
	isc_units t;
	size_t seen = 0;

	for (size_t i = 0; i < f->gpu_count; i++) {
		seen += f->gpus[i].seen;
		if (i < NAMED_MAX)
			about_gpu(w, &f->gpus[i]);
	}
	if (seen == 0)
		warn(w, NOTE, "no_gpu", "record with the activity of the GPU switched on",
		     "the trace has no GPU activity: gpus, kernels, copies and clock.sync are empty");
	else if (strcmp(w->a->clock_sync, "assumed") == 0)
		warn(w, NOTE, "clock_assumed", "set INFERSCOPE_SYNC_ERROR_MARGIN_US to what you know",
		     "nothing in the trace bounds the error between the clocks of CPU and GPU: %s is assumed for "
		     "causes "
		     "of idle time and queue delays",
		     isc_units_time(&t, w->a->clock_error_us));
}

static void about_parts(struct warnings *w)
{
	if (w->a->function_count == 0)
		warn(w, NOTE, "no_calls", "record with stacks", "the trace has no functions or operators of the CPU");
	if (w->a->samples.count == 0)
		warn(w, NOTE, "no_samples", NULL,
		     "the trace has no samples, and memory and states of threads are not imported: breakdown, "
		     "slow_because, lines, stacks, syscalls, memory, numa and overhead are empty");
	else
		warn(w, NOTE, "no_states", NULL,
		     "memory and states of threads are not imported: breakdown, slow_because, lines, syscalls, "
		     "memory, numa and overhead are empty");
}

void isc_imported_warn(isc_analysis *a, isc_arena *arena)
{
	struct warnings w = {.a = a, .arena = arena};

	for (w.pass = GRAVE; w.pass >= NOTE; w.pass--) {
		about_files(&w);
		about_events(&w);
		about_gpus(&w);
		about_parts(&w);
	}
}

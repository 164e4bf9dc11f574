#include "report/text/gpu_words.h"

#include <string.h>

#include "analyze/names.h"
#include "base/ns.h"
#include "base/text.h"
#include "base/units.h"
#include "import/import.h"
#include "report/markdown/grid.h"
#include "report/text/words.h"

#define US 1e3 /* nanoseconds */
#define NAME_MAX_LEN 80u
#define ROWS_MAX 25u
#define GPUS_IN_SUMMARY 2u

/* As the verdict names them: the JSON report has the whole of it. */
static void add_kernel(isc_buffer *out, isc_text s)
{
	isc_buffer name = {0};

	isc_names_kernel(&name, s.at, s.len);
	out->failed |= name.failed;
	isc_text_markdown(out, name.data, name.len, NAME_MAX_LEN);
	isc_buffer_fini(&name);
}

static void add_time(isc_grid *t, int64_t ns)
{

	isc_grid_time(t, (double)ns / US);
}

static double share(int64_t part, int64_t whole)
{
	return whole > 0 ? (double)part / (double)whole * 100 : -1;
}

static int64_t span_of(const isc_facts_gpu *g)
{
	return g->last_ns - g->first_ns;
}

static size_t count_seen(const isc_timeline_facts *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->gpu_count; i++)
		n += f->gpus[i].seen;
	return n;
}

/* "0", or "rank 3: 0" when there are several files. */
static void add_device(isc_grid *t, const isc_timeline_facts *f, const isc_facts_gpu *g)
{
	const isc_facts_source *s = &f->sources[g->source];

	if (f->source_count > 1 && s->rank != ISC_GPU_UNKNOWN)
		isc_buffer_format(&t->text, "rank %u: ", s->rank);
	else if (f->source_count > 1)
		isc_buffer_format(&t->text, "file %u: ", g->source + 1);
	isc_grid_id(t, g->number);
}

/* ---- what it is ---- */

void isc_gpu_words_input(const isc_analysis *a, isc_buffer *out)
{
	const isc_import *import = a->import;
	const char *slash;
	isc_units u;

	if (import->file_count == 1) {
		slash = strrchr(import->files[0].path, '/');
		isc_buffer_text(out, slash != NULL ? slash + 1 : import->files[0].path);
	} else {
		isc_words_plural(out, import->file_count, "file", "files");
	}
	isc_buffer_format(out, ": %s trace of %s, ", import->file_count > 0 ? import->files[0].format : "empty",
			  isc_units_time(&u, a->wall_us));
	isc_words_plural(out, a->process_count, "process", "processes");
	isc_buffer_text(out, ", ");
	isc_words_plural(out, a->thread_count, "thread", "threads");
	isc_buffer_text(out, ", ");
	isc_words_plural(out, count_seen(a->timeline), "GPU", "GPUs");
}

void isc_gpu_words_summary(const isc_analysis *a, const char *prefix, isc_buffer *out)
{
	const isc_timeline_facts *f = a->timeline;
	size_t shown = 0, seen = f != NULL ? count_seen(f) : 0;
	isc_units u, v, w, x;

	for (size_t i = 0; seen > 0 && i < f->gpu_count && shown < GPUS_IN_SUMMARY; i++) {
		const isc_facts_gpu *g = &f->gpus[i];
		int most = 0;

		if (!g->seen)
			continue;
		for (int c = 1; c < ISC_IDLE_CAUSES; c++)
			most = g->idle[c].ns > g->idle[most].ns ? c : most;
		isc_buffer_format(out, "%sGPU %u: busy %s, idle %s of %s", prefix, g->number,
				  isc_units_percent(&u, share(g->busy_ns, span_of(g))),
				  isc_units_percent(&v, share(span_of(g) - g->busy_ns, span_of(g))),
				  isc_units_time(&w, (double)span_of(g) / US));
		if (g->idle[most].ns > 0)
			isc_buffer_format(out, ", most of it %s (%s)", isc_idle_cause_name((enum isc_idle_cause)most),
					  isc_units_percent(&x, share(g->idle[most].ns, span_of(g))));
		isc_buffer_text(out, "\n");
		shown++;
	}
	if (seen > shown)
		isc_buffer_format(out, "%s... and %s more in the report\n", prefix, isc_units_count(&u, seen - shown));
}

/* ---- sections ---- */

static void add_delay(isc_grid *t, const isc_facts_gpu *g, int64_t ns)
{
	if (g->delays > 0)
		add_time(t, ns);
	else
		isc_grid_cell(t, "?");
}

static void write_gpus(const isc_timeline_facts *f, isc_buffer *out)
{
	static const char *const titles[] = {">GPU",	   "name",	 ">span",      ">busy",	     ">idle",
					     ">compute",   ">comm",	 ">copy",      ">kernels",   ">copies",
					     ">h2d bytes", ">d2h bytes", ">queue p50", ">queue p99", NULL};
	isc_grid t;
	size_t shown = 0;

	isc_grid_init(&t, titles);
	isc_buffer_text(out,
			"\n## GPUs\n\n"
			"Span is from the first to the last work; shares are of it, and of time in which at least one "
			"piece of work ran. Queue is the time from the end of a call to the start of its work.\n\n");
	for (size_t i = 0; i < f->gpu_count && shown < ROWS_MAX; i++) {
		const isc_facts_gpu *g = &f->gpus[i];

		if (!g->seen)
			continue;
		shown++;
		add_device(&t, f, g);
		isc_grid_name(&t, g->name, NAME_MAX_LEN);
		add_time(&t, span_of(g));
		isc_grid_share(&t, g->busy_ns, span_of(g));
		isc_grid_share(&t, span_of(g) - g->busy_ns, span_of(g));
		isc_grid_share(&t, g->compute_ns, span_of(g));
		isc_grid_share(&t, g->comm_ns, span_of(g));
		isc_grid_share(&t, g->copy_ns, span_of(g));
		isc_grid_count(&t, g->kernels);
		isc_grid_count(&t, g->copies);
		isc_grid_count(&t, g->h2d_bytes);
		isc_grid_count(&t, g->d2h_bytes);
		add_delay(&t, g, g->delay_p50_ns);
		add_delay(&t, g, g->delay_p99_ns);
	}
	isc_grid_close(&t, out);
	isc_grid_more(out, shown, count_seen(f));
}

static void write_idle(const isc_analysis *a, isc_buffer *out)
{
	static const char *const titles[] = {">GPU",  "waited for", ">time", ">share of span",
					     ">gaps", "mostly at",  NULL};
	const isc_timeline_facts *f = a->timeline;
	size_t shown = 0;
	isc_units u;
	isc_grid t;

	isc_grid_init(&t, titles);
	isc_buffer_text(
		out, "\n## Why GPUs were idle\n\n"
		     "host_wait: nothing was asked of the GPU yet; kernel_wait: work was asked for and had not begun; "
		     "sync and copy: the thread that asked next was waiting for the GPU, or copying.");
	if (a->clock_error_us >= 0)
		isc_buffer_format(out, " The clocks of CPU and GPU may differ by %s (%s).",
				  isc_units_time(&u, a->clock_error_us),
				  strcmp(a->clock_sync, "assumed") == 0	 ? "assumed"
				  : strcmp(a->clock_sync, "direct") == 0 ? "the GPU's clock was read"
									 : "from calls and their work");
	isc_buffer_text(out, "\n\n");
	for (size_t i = 0; i < f->gpu_count && shown < ROWS_MAX; i++) {
		const isc_facts_gpu *g = &f->gpus[i];

		for (int c = 0; c < ISC_IDLE_CAUSES && g->seen; c++) {
			if (g->idle[c].ns == 0)
				continue;
			shown++;
			add_device(&t, f, g);
			isc_grid_cell(&t, isc_idle_cause_name((enum isc_idle_cause)c));
			add_time(&t, g->idle[c].ns);
			isc_grid_share(&t, g->idle[c].ns, span_of(g));
			isc_grid_count(&t, g->idle[c].gaps);
			if (g->idle[c].where.len > 0 && (c == ISC_IDLE_KERNEL_WAIT || c == ISC_IDLE_UNKNOWN))
				add_kernel(&t.text, g->idle[c].where);
			else if (g->idle[c].where.len > 0)
				isc_text_markdown(&t.text, g->idle[c].where.at, g->idle[c].where.len, NAME_MAX_LEN);
			isc_grid_end(&t);
		}
	}
	isc_grid_close(&t, out);
}

static void write_kernels(const isc_timeline_facts *f, isc_buffer *out)
{
	static const char *const titles[] = {"kernel", "class", ">GPU",		 ">count", ">total",
					     ">mean",  ">max",	"launched from", NULL};
	size_t n = f->kernel_count < ROWS_MAX ? f->kernel_count : ROWS_MAX;
	int64_t all = 0, other = 0;
	isc_units u;
	isc_grid t;

	if (n == 0)
		return;
	for (size_t i = 0; i < f->gpu_count; i++) {
		for (int c = 0; c < ISC_CLASSES; c++)
			isc_ns_add(&all, f->gpus[i].class_ns[c]);
		isc_ns_add(&other, f->gpus[i].class_ns[ISC_CLASS_OTHER]);
	}
	isc_grid_init(&t, titles);
	isc_buffer_format(out, "\n## Kernels\n\nClasses are found from names; %s of the time is of none.\n\n",
			  isc_units_percent(&u, share(other, all)));
	for (size_t i = 0; i < n; i++) {
		const isc_facts_kernel *k = &f->kernels[i];

		add_kernel(&t.text, k->name);
		isc_grid_end(&t);
		isc_grid_cell(&t, isc_gpu_class_name((enum isc_gpu_class)k->class));
		add_device(&t, f, &f->gpus[k->gpu]);
		isc_grid_count(&t, k->count);
		add_time(&t, k->total_ns);
		add_time(&t, k->total_ns / (int64_t)k->count);
		add_time(&t, k->max_ns);
		if (k->launched_from.len > 0)
			isc_text_markdown(&t.text, k->launched_from.at, k->launched_from.len, NAME_MAX_LEN);
		isc_grid_end(&t);
	}
	isc_grid_close(&t, out);
	isc_grid_more(out, n, f->kernel_count);
}

static void write_copies(const isc_timeline_facts *f, isc_buffer *out)
{
	static const char *const titles[] = {"copy", ">GPU", ">count", ">total", ">bytes", ">GB/s", ">pageable", NULL};
	size_t n = f->copy_count < ROWS_MAX ? f->copy_count : ROWS_MAX;
	isc_units u;
	isc_grid t;

	if (n == 0)
		return;
	isc_grid_init(&t, titles);
	isc_buffer_text(out, "\n## Copies\n\n");
	for (size_t i = 0; i < n; i++) {
		const isc_facts_copy *c = &f->copies[i];
		uint64_t known = c->pageable + c->pinned;

		isc_grid_cell(&t, isc_gpu_kind_name((enum isc_gpu_kind)c->kind));
		add_device(&t, f, &f->gpus[c->gpu]);
		isc_grid_count(&t, c->count);
		add_time(&t, c->total_ns);
		isc_grid_count(&t, c->bytes);
		isc_grid_cell(&t, c->total_ns > 0 ? isc_units_number(&u, (double)c->bytes / (double)c->total_ns) : "?");
		isc_grid_share(&t, (double)c->pageable, (double)known);
	}
	isc_grid_close(&t, out);
	isc_grid_more(out, n, f->copy_count);
}

void isc_gpu_words_markdown(const isc_analysis *a, isc_buffer *out)
{
	if (a->timeline == NULL || count_seen(a->timeline) == 0)
		return;
	write_gpus(a->timeline, out);
	write_idle(a, out);
	write_kernels(a->timeline, out);
	write_copies(a->timeline, out);
}

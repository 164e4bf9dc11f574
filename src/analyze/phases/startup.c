/*
 * startup.c - how the process whose time is judged started: what it imported, and how long it loaded.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/phases/phases.h"
#include "trace/frame.h"

#define TOP_MAX 10u

/* "torch" of .../torch/__init__.py, "json.decoder" stays "decoder". */
static isc_text module_name(const isc_text *file)
{
	static const char init[] = "/__init__.py";
	const char *end = file->at + file->len, *at;

	if (file->len > sizeof(init) - 1 && memcmp(end - (sizeof(init) - 1), init, sizeof(init) - 1) == 0)
		end -= sizeof(init) - 1;
	else if (file->len > 3 && memcmp(end - 3, ".py", 3) == 0)
		end -= 3;
	for (at = end; at > file->at && at[-1] != '/';)
		at--;
	return (isc_text){at, (size_t)(end - at)};
}

static int by_time(const void *x, const void *y)
{
	const isc_analysis_import *p = x, *q = y;

	return (p->us < q->us) - (p->us > q->us);
}

/* False: no memory. */
static bool take_imports(isc_build *b, const isc_phase_process *p, isc_analysis_startup *out)
{
	out->top = isc_arena_array(b->arena, p->import_count + 1, sizeof(*out->top));
	if (out->top == NULL)
		return false;
	for (size_t i = 0; i < p->import_count && p->imports[i].from_ns < p->until_ns; i++) {
		const isc_phase_span *m = &p->imports[i];
		isc_analysis_import *at = &out->top[out->top_count];
		isc_frame frame = {0};

		if (m->code == 0 || !isc_trace_code(b->trace, p->process, m->code, &frame) || frame.file.len == 0)
			continue;
		at->file = (isc_text){isc_arena_copy(b->arena, frame.file.at, frame.file.len), frame.file.len};
		if (at->file.at == NULL)
			return false;
		at->name = module_name(&at->file);
		at->us = (double)(m->to_ns - m->from_ns) / 1e3;
		out->top_count++;
	}
	if (out->top_count > 1)
		qsort(out->top, out->top_count, sizeof(*out->top), by_time);
	out->top_count = out->top_count < TOP_MAX ? out->top_count : TOP_MAX;
	return true;
}

static void take_phases(const isc_analysis *a, isc_analysis_startup *out)
{
	double began_us = -1, served_us = -1;

	for (size_t i = 0; i < a->phase_count; i++) {
		const isc_analysis_phase *f = &a->phases[i];
		double us = f->to_us - f->from_us;

		if (f->pid != out->pid)
			continue;
		began_us = began_us < 0 ? f->from_us : began_us;
		if (f->phase == ISC_PHASE_SERVING || f->phase == ISC_PHASE_WARM_UP) {
			served_us = f->from_us;
			break;
		}
		out->imports_us += f->phase == ISC_PHASE_IMPORTS ? us : 0;
		out->loading_us += f->phase == ISC_PHASE_LOADING ? us : 0;
	}
	out->took_us = served_us >= 0 ? served_us - began_us : -1;
	out->known = out->imports_us > 0 || out->took_us > 0;
}

isc_status isc_build_startup(isc_build *b, isc_error *err)
{
	isc_analysis_startup *out = &b->a->startup;
	bool good = true;

	*out = (isc_analysis_startup){.pid = b->a->breakdown.pid, .took_us = -1};
	for (size_t i = 0; b->phases != NULL && i < b->phases->count; i++) {
		const isc_phase_process *p = &b->phases->process[i];

		if (p->pid != out->pid || p->import_count == 0 || !good)
			continue;
		/* Of the images that an exec left, the last that imported. */
		out->top_count = 0;
		good = take_imports(b, p, out);
	}
	take_phases(b->a, out);
	return good ? ISC_OK : isc_build_no_memory(err);
}

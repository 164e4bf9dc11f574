#include "analyze/verdict/evidence.h"

#include <math.h>
#include <string.h>

#include "analyze/names.h"
#include "analyze/verdict/whatif.h"
#include "base/units.h"

#define NAME_MAX_BYTES 120u

void isc_evidence_name(isc_buffer *out, isc_text name)
{
	size_t len = name.len;

	if (len > NAME_MAX_BYTES) {
		len = NAME_MAX_BYTES;
		/* Not inside a character. */
		while (len > 0 && ((unsigned char)name.at[len] & 0xc0) == 0x80)
			len--;
	}
	isc_buffer_add(out, name.at, len);
	isc_buffer_text(out, len < name.len ? "..." : "");
}

double isc_evidence_pct(const isc_evidence *j, enum isc_state state)
{
	if (!j->known || j->window_us <= 0 || j->state_us[state] < 0)
		return -1;
	return j->state_us[state] / j->window_us * 100;
}

double isc_evidence_ran(const isc_evidence *j)
{
	return fmax(j->state_us[ISC_STATE_PYTHON], 0) + fmax(j->state_us[ISC_STATE_NATIVE], 0) +
	       fmax(j->state_us[ISC_STATE_ON_CPU], 0);
}

double isc_evidence_solid(const isc_evidence *j, enum isc_state state)
{
	switch (j->source[state]) {
	case ISC_SOURCE_AGENT:
	case ISC_SOURCE_SWITCHES:
		return 1;
	case ISC_SOURCE_SAMPLED:
		/* 50 samples tell half from a third; 200 are enough for shares. */
		return (double)j->samples / ((double)j->samples + 20);
	default:
		return 0.7;
	}
}

void isc_evidence_sampled(const isc_evidence *j, isc_finding *out)
{
	double part = fmin(out->us / j->window_us, 1), n = j->samples > 0 ? (double)j->samples : 1;

	/* One more than was seen: none of a few does not mean never. */
	out->us = fmin(out->us + 2 * sqrt((part * (1 - part) + 1 / n) / n) * j->window_us, j->window_us);
}

void isc_evidence_at_least(const isc_evidence *j, double us, isc_finding *out)
{
	double mean = isc_whatif_mean(j->a, &j->scope);

	/* Scopes may lie beside each other in the window: what one of them saves of itself is saved of all. */
	if (mean > 0 && us > 0)
		out->us = fmin(fmax(out->us, us / mean * j->window_us), j->window_us);
}

void isc_evidence_and_kernel(const isc_evidence *j, isc_finding *out)
{
	double kernel = j->a->wall_us > 0 ? fmax(j->a->system_us, 0) / j->a->wall_us : 0;

	out->us = fmin(out->us + kernel * j->window_us, j->window_us);
}

bool isc_evidence_state(const isc_evidence *j, enum isc_state state, isc_finding *out)
{
	double pct = isc_evidence_pct(j, state);

	if (pct < 0)
		return false;
	*out = (isc_finding){.value = pct,
			     .share = pct,
			     .us = j->state_us[state],
			     .solid = isc_evidence_solid(j, state),
			     .device_id = -1,
			     .where = isc_evidence_where(j, &j->at[state])};
	if (j->source[state] == ISC_SOURCE_SAMPLED)
		isc_evidence_sampled(j, out);
	isc_evidence_at_least(j, isc_whatif_bound(j->a, &j->scope, state, NULL), out);
	return true;
}

bool isc_evidence_place(const isc_evidence *j, const isc_place *place, isc_finding *out)
{
	double pct;

	if (!j->known || j->window_us <= 0)
		return false;
	pct = place->us / j->window_us * 100;
	*out = (isc_finding){.value = pct,
			     .share = pct,
			     .us = place->us,
			     .solid = 1,
			     .device_id = -1,
			     .where = isc_evidence_where(j, place)};
	return true;
}

/* Work whose call is not known explains no gap; a clock that is only assumed may shift them. */
static double solid_of(const isc_facts_gpu *g)
{
	double work = (double)(g->kernels + g->copies + g->sets);
	double linked = work > 0 ? 1 - 0.5 * (double)g->unlinked / work : 0;

	return linked * work / (work + 5) * (g->bounded ? 1 : 0.9);
}

bool isc_evidence_gpu(const isc_evidence *j, size_t gpu, int64_t ns, isc_finding *out)
{
	const isc_facts_gpu *g = &j->a->timeline->gpus[gpu];
	int64_t span = g->last_ns - g->first_ns;

	if (!g->seen || span <= 0)
		return false;
	*out = (isc_finding){.value = (double)ns / (double)span * 100,
			     .share = (double)ns / (double)span * 100,
			     .us = (double)ns / 1e3,
			     .solid = solid_of(g),
			     .device_id = g->number};
	return true;
}

void isc_evidence_device(const isc_evidence *j, size_t gpu, isc_buffer *out)
{
	const isc_timeline_facts *f = j->a->timeline;
	const isc_facts_gpu *g = &f->gpus[gpu];
	uint32_t rank = f->sources[g->source].rank;

	isc_buffer_format(out, "GPU %u", g->number);
	if (f->source_count > 1 && rank != ISC_GPU_UNKNOWN)
		isc_buffer_format(out, " of rank %u", rank);
	else if (f->source_count > 1)
		isc_buffer_format(out, " of file %u", g->source + 1);
}

/* Tasks that take turns on the thread: a scope is longer than its part of the thread's time. */
#define BESIDE 1.5

double isc_evidence_whole(const isc_evidence *j)
{
	double part = j->scopes > 1 ? j->window_us / (double)j->scopes : j->window_us;
	double mean = j->scopes > 1 ? isc_whatif_mean(j->a, &j->scope) : -1;

	return mean > part * BESIDE ? mean : part;
}

void isc_evidence_each(const isc_evidence *j, double pct, isc_buffer *out)
{
	isc_units u;

	isc_buffer_format(out, "%s of ", isc_units_percent(&u, pct));
	if (j->scope.len > 0) {
		isc_buffer_text(out, j->scopes > 1 ? "each " : "");
		isc_evidence_name(out, j->scope);
	} else {
		isc_buffer_text(out, "the time");
	}
}

void isc_evidence_share(const isc_evidence *j, double pct, isc_buffer *out)
{
	isc_units u;

	if (j->scopes <= 1 || isc_evidence_whole(j) <= j->window_us / (double)j->scopes * BESIDE) {
		isc_evidence_each(j, pct, out);
		return;
	}
	isc_buffer_format(out, "%s of the thread's time in ", isc_units_percent(&u, pct));
	isc_evidence_name(out, j->scope);
}

void isc_evidence_holder(const isc_evidence *j, enum isc_state state, isc_buffer *text, isc_finding *out)
{
	isc_text where = isc_evidence_where(j, &j->holder[state]);

	if (where.len == 0 && j->holder_thread[state].len == 0)
		return;
	isc_buffer_text(text, ", held by ");
	if (where.len > 0) {
		out->where = where;
		isc_evidence_name(text, where);
	}
	if (j->holder_thread[state].len > 0) {
		isc_buffer_text(text, where.len > 0 ? " in thread " : "thread ");
		isc_evidence_name(text, j->holder_thread[state]);
	}
}

void isc_evidence_in(const isc_finding *f, isc_buffer *out)
{
	if (f->where.len == 0)
		return;
	isc_buffer_text(out, " in ");
	isc_evidence_name(out, f->where);
}

/* The file and the folder it lies in: enough to find it, short enough for a sentence. */
static isc_text short_path(isc_text path)
{
	size_t from = path.len, slashes = 0;

	while (from > 0 && !(path.at[from - 1] == '/' && ++slashes == 2))
		from--;
	return (isc_text){path.at + from, path.len - from};
}

isc_text isc_evidence_where(const isc_evidence *j, const isc_place *place)
{
	isc_text path = short_path(place->file);
	isc_buffer out = {0};

	if (place->name.len == 0)
		return (isc_text){0};
	isc_evidence_name(&out, place->name);
	if (path.len > 0) {
		isc_buffer_text(&out, " (");
		isc_evidence_name(&out, path);
		if (place->line > 0)
			isc_buffer_format(&out, ":%u", place->line);
		isc_buffer_text(&out, ")");
	}
	return isc_evidence_keep(j, &out);
}

isc_text isc_evidence_kernel(const isc_evidence *j, isc_string name)
{
	isc_buffer out = {0};

	isc_names_kernel(&out, name.at, name.len);
	return isc_evidence_keep(j, &out);
}

isc_text isc_evidence_keep(const isc_evidence *j, isc_buffer *text)
{
	isc_text kept = {0};

	if (text->failed)
		j->arena->failed = true;
	else if (text->len > 0)
		kept = (isc_text){isc_arena_copy(j->arena, text->data, text->len), text->len};
	if (kept.at == NULL)
		kept.len = 0;
	isc_buffer_fini(text);
	return kept;
}

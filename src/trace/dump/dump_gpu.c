#include <inttypes.h>

#include "trace/dump/dump_text.h"
#include "trace/gpu.h"

static void add_word(struct dump *d, const char *word, const char *other, unsigned number)
{
	if (word != NULL)
		isc_buffer_format(&d->line, " %s", word);
	else
		isc_buffer_format(&d->line, " %s%u", other, number);
}

static void add_device(struct dump *d, uint32_t process, uint32_t id)
{
	isc_text name = {0};
	isc_def_gpu gpu;

	if (isc_trace_gpu_device(d->trace, process, id, &gpu, &name))
		isc_buffer_format(&d->line, " device %u", gpu.number);
	else
		isc_buffer_text(&d->line, " device ?");
}

static void add_times(struct dump *d, const isc_event *ev, uint64_t start, uint64_t end, uint64_t correlation)
{
	add_word(d, isc_gpu_time_name(ISC_GPU_ARG_TIME(ev->arg)), "time", ISC_GPU_ARG_TIME(ev->arg));
	isc_buffer_format(&d->line, " %" PRIu64 "..%" PRIu64 " correlation %" PRIu64, start, end, correlation);
}

static void add_called(struct dump *d, const isc_event *ev)
{
	isc_gpu_called c;

	if (!isc_trace_gpu_called(ev, &c))
		return;
	add_word(d, isc_gpu_role_name(ISC_GPU_ARG_WHAT(ev->arg)), "role", ISC_GPU_ARG_WHAT(ev->arg));
	add_times(d, ev, c.start, c.end, c.correlation);
	if (ISC_GPU_ARG_HOLDS(ev->arg))
		isc_buffer_text(&d->line, " holds");
	if (c.device != 0)
		add_device(d, ev->process, c.device);
	if (c.tid != 0)
		isc_buffer_format(&d->line, " tid %u", c.tid);
	if (c.error != 0)
		isc_buffer_format(&d->line, " error %d", (int)c.error);
	if (c.stack != 0)
		isc_dump_stack(d, ev->process, c.stack);
}

static void add_work(struct dump *d, const isc_event *ev)
{
	isc_gpu_work w;

	if (!isc_trace_gpu_work(ev, &w))
		return;
	add_word(d, isc_gpu_job_name(ISC_GPU_ARG_WHAT(ev->arg)), "job", ISC_GPU_ARG_WHAT(ev->arg));
	add_times(d, ev, w.start, w.end, w.correlation);
	add_device(d, ev->process, w.device);
	isc_buffer_format(&d->line, " context %u stream %" PRIu64, w.context, w.stream);
	if (w.bytes != 0)
		isc_buffer_format(&d->line, " bytes %" PRIu64, w.bytes);
	if (ISC_GPU_ARG_PAGE(ev->arg) != ISC_PAGE_UNKNOWN)
		isc_buffer_text(&d->line, ISC_GPU_ARG_PAGE(ev->arg) == ISC_PAGE_PINNED ? " pinned" : " pageable");
	if (w.grid[0] != 0)
		isc_buffer_format(&d->line, " grid %u,%u,%u block %u,%u,%u", w.grid[0], w.grid[1], w.grid[2],
				  w.block[0], w.block[1], w.block[2]);
	if (w.graph != 0)
		isc_buffer_format(&d->line, " graph %u", w.graph);
	if (w.error != 0)
		isc_buffer_format(&d->line, " error %d", (int)w.error);
}

static void add_reading(struct dump *d, const isc_event *ev)
{
	isc_gpu_reading r;

	add_device(d, ev->process, ev->id);
	if (isc_trace_gpu_reading(ev, &r))
		isc_buffer_format(&d->line, " before %" PRIu64 " device_ns %" PRIu64 " after %" PRIu64, r.before,
				  r.device_ns, r.after);
}

static void add_source(struct dump *d, const isc_event *ev)
{
	uint32_t len = 0;
	const char *name = isc_trace_define(d->trace, ev->process, ev->id, ISC_DEF_GPU_SOURCE, &len);
	isc_gpu_source s;

	isc_buffer_text(&d->line, " ");
	isc_dump_quoted(d, name != NULL ? name : "?", name != NULL ? len : 1);
	add_word(d, isc_gpu_news_name(ev->arg), "news", ev->arg);
	if (!isc_trace_gpu_source(ev, &s))
		return;
	if (s.code != 0)
		isc_buffer_format(&d->line, " code %d", (int)s.code);
	if (s.count != 0)
		isc_buffer_format(&d->line, " count %" PRIu64, s.count);
	if (s.detail != 0)
		isc_dump_name(d, ev->process, s.detail);
}

static void add_scope(struct dump *d, const isc_event *ev)
{
	isc_gpu_scope s;

	if (!isc_trace_gpu_scope(ev, &s))
		return;
	isc_buffer_format(&d->line, " correlation %" PRIu64, s.correlation);
	if (s.instance != 0)
		isc_buffer_format(&d->line, " instance %" PRIu64, s.instance);
}

void isc_dump_gpu(struct dump *d, const isc_event *ev)
{
	switch (ev->kind) {
	case ISC_KIND_GPU_CALL:
		add_called(d, ev);
		return;
	case ISC_KIND_GPU_WORK:
		add_work(d, ev);
		return;
	case ISC_KIND_GPU_CLOCK:
		add_reading(d, ev);
		return;
	case ISC_KIND_GPU_SCOPE:
		add_scope(d, ev);
		return;
	default:
		add_source(d, ev);
	}
}

void isc_dump_gpu_device(struct dump *d, uint32_t process, uint32_t id)
{
	static const char *const interfaces[] = {"?", "CUDA", "OpenCL", "told"};
	isc_text name = {0};
	isc_def_gpu gpu;

	if (!isc_trace_gpu_device(d->trace, process, id, &gpu, &name))
		return;
	isc_buffer_format(&d->line, " %s %u%s ", interfaces[gpu.api <= ISC_GPU_TOLD ? gpu.api : 0], gpu.number,
			  gpu.traits & ISC_GPU_IS_CPU ? " cpu" : "");
	isc_dump_quoted(d, name.at, name.len);
}

#include "trace/dump/dump.h"

#include <inttypes.h>
#include <string.h>
#include <sys/wait.h>

#include "base/text.h"
#include "trace/meta.h"
#include "trace/dump/dump_text.h"
#include "trace/kinds.h"
#include "trace/opened.h"

static bool in_window(const struct dump *d, uint64_t ns)
{
	double s = ((double)ns - (double)isc_trace_header(d->trace)->start_ns) / 1e9;

	return s >= d->options->from_s && (d->options->to_s <= 0 || s < d->options->to_s);
}

static void dump_header(struct dump *d)
{
	const isc_file_header *h = isc_trace_header(d->trace);

	isc_buffer_format(&d->line, "trace version %u", h->version);
	isc_dump_finish(d);
	isc_buffer_text(&d->line, "session ");
	for (size_t i = 0; i < sizeof(h->session_id); i++)
		isc_buffer_format(&d->line, "%02x", h->session_id[i]);
	isc_dump_finish(d);
	isc_buffer_format(&d->line, "clock %s shift %u", h->clock_source == 1 ? "tsc" : "monotonic", h->tick_shift);
	isc_dump_finish(d);
	isc_buffer_format(&d->line, "start unix %" PRIu64 ".%09" PRIu64, h->start_unix_ns / 1000000000,
			  h->start_unix_ns % 1000000000);
	isc_dump_finish(d);
	isc_buffer_format(&d->line, "limit %" PRIu64 " segment %u", h->limit_bytes, h->segment_size);
	isc_dump_finish(d);
}

static void dump_meta(struct dump *d)
{
	isc_meta_member m;
	size_t len, at = 0;
	const char *meta = isc_trace_meta(d->trace, &len);

	while (meta != NULL && isc_meta_next(meta, len, &at, &m)) {
		isc_buffer_text(&d->line, "meta ");
		isc_text_terminal(&d->line, m.key, m.key_len, 0);
		isc_buffer_text(&d->line, " ");
		isc_text_terminal(&d->line, m.value, m.value_len, 0);
		isc_dump_finish(d);
	}
}

static void add_status(struct dump *d, int wait_status)
{
	if (WIFSIGNALED(wait_status))
		isc_buffer_format(&d->line, " signal %d", WTERMSIG(wait_status));
	else
		isc_buffer_format(&d->line, " exit %d", WEXITSTATUS(wait_status));
}

static void dump_process(struct dump *d, const isc_trace_process *p)
{
	static const struct {
		uint32_t flag;
		const char *word;
	} words[] = {{ISC_PROCESS_ROOT, "root"},
		     {ISC_PROCESS_TRACED, "traced"},
		     {ISC_PROCESS_EXEC, "exec"},
		     {ISC_PROCESS_PYTHON, "python"},
		     {ISC_PROCESS_FAILED, "failed"}};
	uint32_t start = 0;

	isc_buffer_format(&d->line, "process p%u parent p%u pid %u ppid %u start ", p->process, p->parent, p->pid,
			  p->ppid);
	isc_dump_time(d, p->start_ns);
	if (p->flags & ISC_PROCESS_ENDED) {
		isc_buffer_text(&d->line, " end ");
		isc_dump_time(d, p->end_ns);
	}
	if (p->flags & ISC_PROCESS_STATUS)
		add_status(d, p->wait_status);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (p->flags & words[i].flag)
			isc_buffer_format(&d->line, " %s", words[i].word);
	}
	if (p->gen != 0)
		isc_buffer_format(&d->line, " gen %" PRIu64, p->gen);
	if (p->defs_parent_gen != 0)
		isc_buffer_format(&d->line, " defs_parent_gen %" PRIu64 " defs_base_id %" PRIu64, p->defs_parent_gen,
				  p->defs_base_id);
	isc_buffer_text(&d->line, " argv");
	for (uint32_t i = 0; i < p->argv_len; i++) {
		if (p->argv[i] != 0 && i + 1 < p->argv_len)
			continue;
		isc_buffer_text(&d->line, " ");
		isc_dump_quoted(d, p->argv + start, i + (p->argv[i] != 0) - start);
		start = i + 1;
	}
	if (p->argv_cut)
		isc_buffer_text(&d->line, " cut");
	isc_dump_finish(d);
}

static void dump_thread(struct dump *d, const isc_trace_thread *t)
{
	isc_buffer_format(&d->line, "thread t%u p%u tid %u start ", t->thread, t->process, t->tid);
	isc_dump_time(d, t->start_ns);
	if (t->flags & 2) {
		isc_buffer_text(&d->line, " end ");
		isc_dump_time(d, t->end_ns);
	}
	isc_buffer_format(&d->line, "%s serial %" PRIu64 " name ", t->flags & 1 ? " main" : "", t->serial);
	isc_dump_quoted(d, t->name, strlen(t->name));
	isc_dump_finish(d);
}

static void dump_definitions(struct dump *d)
{
	const isc_definitions *defs = &d->trace->definitions;

	for (size_t i = 0; i < defs->count; i++) {
		const isc_definition *e = &defs->entry[i];

		if (e->type == ISC_DEF_STRING)
			isc_buffer_format(&d->line, "define p%u %u string ", e->process, e->id);
		else if (e->type == ISC_DEF_CODE)
			isc_buffer_format(&d->line, "define p%u %u code ", e->process, e->id);
		else if (e->type == ISC_DEF_PYTHON)
			isc_buffer_format(&d->line, "define p%u %u python ", e->process, e->id);
		else if (e->type == ISC_DEF_SUBINTERPRETER)
			isc_buffer_format(&d->line, "define p%u %u subinterpreter ", e->process, e->id);
		else if (e->type == ISC_DEF_GPU_SOURCE)
			isc_buffer_format(&d->line, "define p%u %u gpu_source ", e->process, e->id);
		else if (e->type == ISC_DEF_STACK && e->len >= sizeof(isc_def_stack)) {
			isc_buffer_format(&d->line, "define p%u %u", e->process, e->id);
			isc_dump_stack(d, e->process, e->id);
			isc_dump_finish(d);
			continue;
		} else if (e->type == ISC_DEF_NATIVE || e->type == ISC_DEF_MODULE) {
			isc_buffer_format(&d->line, "define p%u %u %s ", e->process, e->id,
					  e->type == ISC_DEF_NATIVE ? "place" : "module");
			if (e->type == ISC_DEF_NATIVE)
				isc_dump_native(d, e->process, e->id);
			else
				isc_dump_module(d, e->data, e->len);
			isc_dump_finish(d);
			continue;
		} else if (e->type == ISC_DEF_CHANNEL) {
			isc_buffer_format(&d->line, "define p%u %u channel", e->process, e->id);
			isc_dump_channel_definition(d, e->data, e->len);
			isc_dump_finish(d);
			continue;
		} else if (e->type == ISC_DEF_GPU) {
			isc_buffer_format(&d->line, "define p%u %u gpu", e->process, e->id);
			isc_dump_gpu_device(d, e->process, e->id);
			isc_dump_finish(d);
			continue;
		} else
			isc_buffer_format(&d->line, "define p%u %u type%u ", e->process, e->id, e->type);
		if (e->type == ISC_DEF_CODE)
			isc_dump_code(d, e->data, e->len);
		else
			isc_dump_quoted(d, e->data, e->len);
		isc_dump_finish(d);
	}
}

static void add_kind(struct dump *d, unsigned kind)
{
	const char *name = isc_kind_name(kind);

	if (name != NULL)
		isc_buffer_format(&d->line, " %s", name);
	else
		isc_buffer_format(&d->line, " kind%u", kind);
}

/* What the id of an event names. */
static void add_id(struct dump *d, const isc_event *ev)
{
	const void *data;
	uint32_t len = 0;

	switch (ev->kind) {
	case ISC_KIND_CPU:
	case ISC_KIND_MISSED:
	case ISC_KIND_BURST:
	case ISC_KIND_STARTUP:
	case ISC_KIND_LEAVING:
	case ISC_KIND_SAMPLE:
	case ISC_KIND_WAIT_ENTER:
	case ISC_KIND_WAIT_EXIT:
	case ISC_KIND_WAIT_BRIEF:
	case ISC_KIND_GC:
	case ISC_KIND_SENT:
	case ISC_KIND_GOT:
	case ISC_KIND_MEMORY_ALLOC:
	case ISC_KIND_MEMORY_FREE:
	case ISC_KIND_MEMORY_TOTAL:
	case ISC_KIND_MEMORY_SOURCE:
	case ISC_KIND_SYSCALLS:
	case ISC_KIND_SYSCALL:
	case ISC_KIND_SYSCALL_ERRORS:
	case ISC_KIND_SYSCALL_SAMPLE:
	case ISC_KIND_GPU_CLOCK:
	case ISC_KIND_GPU_SOURCE:
		return;
	case ISC_KIND_SAMPLE_RATE:
		isc_buffer_format(&d->line, " period_ns %u", ev->id);
		return;
	case ISC_KIND_TASK:
		if (ev->id == 0)
			isc_buffer_text(&d->line, " none");
		else
			isc_dump_task(d, ev->process, ev->id);
		return;
	case ISC_KIND_GOVERNED:
		if (ev->arg == ISC_GOVERNED_COST) {
			isc_buffer_format(&d->line, " cost_ns %u.%02u", ev->id / 16, ev->id % 16 * 100 / 16);
			return;
		}
		if (ev->arg == ISC_GOVERNED_SPENT) {
			isc_buffer_format(&d->line, " spent_ns %u", ev->id);
			return;
		}
		if (ev->id == 0) {
			isc_buffer_text(&d->line, " all");
			return;
		}
		/* fall through */
	case ISC_KIND_CALL_ENTER:
	case ISC_KIND_CALL_RESUME:
	case ISC_KIND_CALL_EXIT:
		data = isc_trace_define(d->trace, ev->process, ev->id, ISC_DEF_CODE, &len);
		isc_buffer_text(&d->line, " ");
		isc_dump_code(d, data, len);
		return;
	default:
		isc_dump_name(d, ev->process, ev->id);
	}
}

static void add_sample(struct dump *d, const isc_event *ev)
{
	isc_sample_counts counts;
	isc_sample s;

	memcpy(&s, ev->extra, sizeof(s));
	isc_buffer_format(&d->line, " period_ns %u", s.period_ns);
	isc_dump_sample_flags(d, s.flags);
	if (s.task != 0) {
		isc_buffer_text(&d->line, " task");
		isc_dump_task(d, ev->process, s.task);
	}
	isc_dump_stack(d, ev->process, ev->id);
	if (s.cost_ns != 0)
		isc_buffer_format(&d->line, " cost_ns %u", s.cost_ns);
	if (ev->extra_len >= sizeof(s) + sizeof(counts)) {
		memcpy(&counts, (const char *)ev->extra + sizeof(s), sizeof(counts));
		if (counts.instructions != ISC_COUNT_UNKNOWN)
			isc_buffer_format(&d->line, " instructions %" PRIu64 " cycles %" PRIu64, counts.instructions,
					  counts.cycles);
		if (counts.grown != 0)
			isc_buffer_format(&d->line, " grown %" PRIu64, counts.grown);
		if (counts.faults != 0)
			isc_buffer_format(&d->line, " faults %u kernel_us %u", counts.faults, counts.kernel_us);
	}
}

static void add_burst(struct dump *d, const isc_event *ev)
{
	const char *at = ev->extra;
	isc_burst b;
	isc_burst_calls c;

	memcpy(&b, at, sizeof(b));
	isc_buffer_format(&d->line, " cpu_ns %" PRIu64 "..%" PRIu64 " calls %u cost_ns %u.%02u", b.begin_ns, b.end_ns,
			  b.calls, b.cost / 16, b.cost % 16 * 100 / 16);
	for (size_t i = sizeof(b); i + sizeof(c) <= ev->extra_len; i += sizeof(c)) {
		const void *data;
		uint32_t len = 0;

		memcpy(&c, at + i, sizeof(c));
		if (c.id == 0)
			continue;
		data = isc_trace_define(d->trace, ev->process, c.id, ISC_DEF_CODE, &len);
		isc_buffer_format(&d->line, " %u of ", c.calls);
		isc_dump_code(d, data, len);
	}
}

/* " scope 7 in 3" where it is entered, " scope 7 ticks 1200" where it is left. */
static void add_span(struct dump *d, const isc_event *ev)
{
	isc_span span;

	memcpy(&span, ev->extra, sizeof(span));
	isc_buffer_format(&d->line, " scope %" PRIu64, span.instance);
	if (ev->kind == ISC_KIND_SPAN_EXIT)
		isc_buffer_format(&d->line, " ticks %" PRIu64, span.more);
	else if (span.more != 0)
		isc_buffer_format(&d->line, " in %" PRIu64, span.more);
}

static bool is_wait(unsigned kind)
{
	return kind >= ISC_KIND_WAIT_ENTER && kind <= ISC_KIND_WAIT_BRIEF;
}

static bool is_moved(unsigned kind)
{
	return kind == ISC_KIND_SENT || kind == ISC_KIND_GOT;
}

static bool is_memory(unsigned kind)
{
	return kind >= ISC_KIND_MEMORY_ALLOC && kind <= ISC_KIND_MEMORY_SOURCE;
}

static bool is_gpu(unsigned kind)
{
	return kind >= ISC_KIND_GPU_CALL && kind <= ISC_KIND_GPU_SCOPE;
}

static void add_extra(struct dump *d, const isc_event *ev)
{
	isc_startup startup;
	uint32_t len;
	double value;

	if (ev->kind == ISC_KIND_BURST && ev->extra_len >= sizeof(isc_burst)) {
		add_burst(d, ev);
		return;
	}
	if (ev->kind == ISC_KIND_STARTUP && ev->extra_len >= sizeof(startup)) {
		memcpy(&startup, ev->extra, sizeof(startup));
		isc_buffer_format(&d->line, " cost_ns %" PRIu64 " worked_ns %" PRIu64, startup.cost_ns,
				  startup.worked_ns);
		return;
	}

	if (ev->kind == ISC_KIND_COUNTER && ev->extra_len >= sizeof(value)) {
		memcpy(&value, ev->extra, sizeof(value));
		isc_buffer_format(&d->line, " %.17g", value);
		return;
	}
	if (ev->kind >= ISC_KIND_WAIT_ENTER && ev->kind <= ISC_KIND_GC) {
		isc_dump_wait(d, ev);
		return;
	}
	if (is_moved(ev->kind)) {
		isc_dump_moved(d, ev);
		return;
	}
	if (is_memory(ev->kind)) {
		isc_dump_memory(d, ev);
		return;
	}
	if (ev->kind >= ISC_KIND_SYSCALLS && ev->kind <= ISC_KIND_SYSCALL_SAMPLE) {
		isc_dump_syscall(d, ev);
		return;
	}
	if (is_gpu(ev->kind)) {
		isc_dump_gpu(d, ev);
		return;
	}
	if (ev->kind == ISC_KIND_SAMPLE && ev->extra_len >= sizeof(isc_sample)) {
		add_sample(d, ev);
		return;
	}
	if ((ev->kind == ISC_KIND_SPAN_ENTER || ev->kind == ISC_KIND_SPAN_EXIT) && ev->extra_len == sizeof(isc_span)) {
		add_span(d, ev);
		return;
	}
	if (ev->extra_len < sizeof(len))
		return;
	memcpy(&len, ev->extra, sizeof(len));
	if (ev->kind == ISC_KIND_INSTANT && len <= ev->extra_len - sizeof(len)) {
		isc_buffer_text(&d->line, " ");
		isc_dump_quoted(d, (const char *)ev->extra + sizeof(len), len);
		return;
	}
	isc_buffer_text(&d->line, " bytes ");
	for (uint32_t i = 0; i < ev->extra_len; i++)
		isc_buffer_format(&d->line, "%02x", ((const uint8_t *)ev->extra)[i]);
}

static void dump_event(struct dump *d, const isc_event *ev)
{
	isc_dump_time(d, ev->time_ns);
	isc_buffer_format(&d->line, " p%u t%u %s#%" PRIu64, ev->process, ev->thread, ev->stream ? "nested " : "",
			  ev->number);
	add_kind(d, ev->kind);
	add_id(d, ev);
	if ((ev->arg != 0 && !is_wait(ev->kind) && !is_moved(ev->kind) && !is_memory(ev->kind) && !is_gpu(ev->kind)) ||
	    ev->kind == ISC_KIND_CPU)
		isc_buffer_format(&d->line, " arg %u", ev->arg);
	add_extra(d, ev);
	isc_dump_finish(d);
}

static void dump_switch(struct dump *d, const isc_trace_switch *sw)
{
	static const char *const names[] = {[ISC_SWITCH_IN] = "in",
					    [ISC_SWITCH_OUT] = "out",
					    [ISC_SWITCH_OUT_PREEMPT] = "preempted",
					    [ISC_SWITCH_GAP_BEGIN] = "gap_begin",
					    [ISC_SWITCH_GAP_END] = "gap_end",
					    [ISC_SWITCH_FAULT] = "fault"};

	isc_dump_time(d, sw->time_ns);
	isc_buffer_format(&d->line, " switch pid %u tid %u cpu %u ", sw->pid, sw->tid, sw->cpu);
	if (sw->kind < sizeof(names) / sizeof(names[0]) && names[sw->kind] != NULL)
		isc_buffer_text(&d->line, names[sw->kind]);
	else
		isc_buffer_format(&d->line, "kind%u", sw->kind);
	isc_dump_finish(d);
}

static void dump_end(struct dump *d)
{
	const isc_trace_end *end = isc_trace_end_get(d->trace);
	const isc_trace_stats *s = isc_trace_stats_get(d->trace);

	if (end != NULL) {
		isc_buffer_text(&d->line, "end ");
		isc_dump_time(d, end->end_ns);
		if (end->known)
			add_status(d, end->wait_status);
		isc_dump_finish(d);
	}
	const struct {
		const char *name;
		uint64_t value;
	} facts[] = {{"bytes", s->file_bytes},
		     {"chunks", s->chunks},
		     {"damaged_chunks", s->damaged_chunks},
		     {"lost_bytes", s->lost_bytes},
		     {"retired_events", s->retired_events}};

	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++) {
		isc_buffer_format(&d->line, "stats %s %" PRIu64, facts[i].name, facts[i].value);
		isc_dump_finish(d);
	}
	if (s->damaged_chunks > 0) {
		isc_buffer_format(&d->line, "stats first_damage %" PRIu64, s->first_damage);
		isc_dump_finish(d);
	}
	isc_buffer_format(&d->line, "stats truncated %s", s->truncated ? "yes" : "no");
	isc_dump_finish(d);
	isc_buffer_format(&d->line, "stats complete %s", s->complete ? "yes" : "no");
	isc_dump_finish(d);
}

bool isc_dump_write(isc_trace *tr, const isc_dump_options *options, FILE *out, isc_error *err)
{
	struct dump d = {.trace = tr, .options = options, .out = out};
	const isc_trace_process *p;
	const isc_trace_thread *t;
	const isc_trace_account *a;
	isc_trace_switch sw;
	isc_event ev;
	bool good = true;

	dump_header(&d);
	dump_meta(&d);
	for (size_t i = 0; (p = isc_trace_process_at(tr, i)) != NULL; i++)
		dump_process(&d, p);
	for (size_t i = 0; (t = isc_trace_thread_at(tr, i)) != NULL; i++)
		dump_thread(&d, t);
	if (options->definitions)
		dump_definitions(&d);
	/* Before events are read: the reader learns from them. */
	isc_dump_chunks(&d);
	isc_trace_rewind(tr);
	while (!ferror(out) && isc_trace_next(tr, &ev)) {
		if (in_window(&d, ev.time_ns))
			dump_event(&d, &ev);
	}
	while (!ferror(out) && isc_trace_next_switch(tr, &sw)) {
		if (in_window(&d, sw.time_ns))
			dump_switch(&d, &sw);
	}
	for (size_t i = 0; (a = isc_trace_account_at(tr, i)) != NULL; i++) {
		isc_buffer_format(&d.line, "account p%u t%u s%u produced %" PRIu64 " stored %" PRIu64 " lost %" PRIu64,
				  a->process, a->thread, a->stream, a->produced, a->stored, a->lost);
		isc_dump_finish(&d);
	}
	isc_dump_over_time(&d);
	good = isc_dump_units(&d, err) && isc_dump_totals(&d, err);
	dump_end(&d);
	if ((d.line.failed || isc_trace_stats_get(tr)->no_memory) && good) {
		isc_fail(err, ISC_ERR_NOMEM, "no memory to print the trace");
		good = false;
	}
	isc_buffer_fini(&d.line);
	if (good && (fflush(out) != 0 || ferror(out))) {
		isc_fail_errno(err, "cannot print the trace");
		isc_hint(err, "see where the output goes");
		good = false;
	}
	return good;
}

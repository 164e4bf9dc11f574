/*
 * unit_text.h - units and gaps of a trace as text, so that a test shows what is expected of them.
 */
#ifndef ISC_HARNESS_UNIT_TEXT_H
#define ISC_HARNESS_UNIT_TEXT_H

#include <stdint.h>
#include <string.h>

#include "base/buffer.h"
#include "trace/writer.h"
#include "trace_text.h"

#define PROCESS \
	"p1 pid=100 root traced python\n" \
	"t1 p1 tid=100 main\n" \
	"t2 p1 tid=101\n" \
	"t3 p1 tid=102\n"

static const char *const source[] = {"?", "scope", "task", "loop"};
static const char *const gap[] = {"?", "thinned", "gated", "paused", "lost"};

struct listing {
	isc_trace *trace;
	isc_buffer text;
	uint64_t start_ns, count;
};

static void add_ms(struct listing *l, uint64_t ns)
{
	if (ns == UINT64_MAX)
		isc_buffer_text(&l->text, "end");
	else
		isc_buffer_format(&l->text, "%g", (double)(ns - l->start_ns) / 1e6);
}

static void add_name(struct listing *l, uint32_t process, uint32_t id)
{
	uint32_t len = 0;
	uint16_t type = 0;
	const char *data = isc_trace_define_any(l->trace, process, id, &type, &len);
	isc_def_code code = {0};

	if (type == ISC_DEF_CODE) {
		memcpy(&code, data, sizeof(code));
		data += sizeof(code);
		len = code.name_len;
	}
	isc_buffer_format(&l->text, " %.*s", data != NULL ? (int)len : 1, data != NULL ? data : "?");
}

/* "loop handle of main t1 10..15", in ms. */
static bool add_unit(void *self, const isc_trace_unit *u)
{
	struct listing *l = self;

	l->count++;
	isc_buffer_text(&l->text, source[u->source]);
	add_name(l, u->process, u->name);
	if (u->parent != 0) {
		isc_buffer_text(&l->text, " of");
		add_name(l, u->process, u->parent);
	}
	isc_buffer_format(&l->text, " t%u ", u->thread);
	add_ms(l, u->begin_ns);
	isc_buffer_text(&l->text, "..");
	add_ms(l, u->end_ns);
	isc_buffer_text(&l->text, "\n");
	return true;
}

static void list_gaps(struct listing *l)
{
	const isc_trace_gap *g;

	l->start_ns = isc_trace_header(l->trace)->start_ns;
	for (size_t i = 0; (g = isc_trace_gap_at(l->trace, i)) != NULL; i++) {
		isc_buffer_format(&l->text, "gap %s ", gap[g->kind]);
		add_ms(l, g->from_ns);
		isc_buffer_text(&l->text, "..");
		add_ms(l, g->to_ns);
		isc_buffer_text(&l->text, "\n");
	}
}

static void list_trace(struct listing *l)
{
	list_gaps(l);
	assert_int_equal(isc_trace_units_each(l->trace, add_unit, l, NULL), ISC_OK);
}

static inline void check(const char *scene, const char *want)
{
	struct listing l = {0};
	isc_error err = {0};

	if (trace_text_open(scene, &l.trace, &err) != ISC_OK)
		fail_msg("%s", err.what);
	list_trace(&l);
	assert_string_equal(l.text.data != NULL ? l.text.data : "", want);
	isc_buffer_fini(&l.text);
	isc_trace_close(l.trace);
}

/* A recording of one process, from 1 ns on. */
static inline isc_writer *begin(int fd, uint64_t limit)
{
	isc_writer_options options = {.limit_bytes = limit, .start_ticks = 1, .start_ns = 1};
	isc_trace_process process = {.process = 1, .pid = 100, .flags = ISC_PROCESS_TRACED};
	isc_writer *w;

	assert_int_equal(isc_writer_open(fd, &options, &w, NULL), ISC_OK);
	assert_int_equal(isc_writer_process(w, &process, NULL), ISC_OK);
	return w;
}

#endif

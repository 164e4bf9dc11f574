#include "trace_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace/kinds.h"
#include "trace/writer.h"
#include "trace_channel_words.h"
#include "trace_gpu_words.h"
#include "trace_memory_words.h"
#include "trace_repeat.h"
#include "trace_syscall_words.h"
#include "trace_words.h"

#define START_NS 1000000000ull
#define THINGS_MAX 256u
#define NAMES_MAX 4096u
#define UNKNOWN_TYPE 200u /* of definitions that no build knows */

struct thread {
	uint32_t process;
	uint32_t tid;
	uint64_t next; /* number of the next event */
	uint64_t stored;
	bool known;
};

struct name {
	uint32_t process;
	uint16_t type;
	char text[160];
	size_t len;
};

struct maker {
	isc_writer *writer;
	isc_error *err;
	unsigned line;
	struct word word[WORDS_MAX];
	size_t words;
	uint32_t pid[THINGS_MAX]; /* by process index */
	struct thread thread[THINGS_MAX];
	struct name name[NAMES_MAX];
	uint32_t names;
	isc_trace_end end;
	bool ended;
};

static isc_status bad(struct maker *m, const char *what)
{
	return isc_fail(m->err, ISC_ERR_INVALID, "line %u: %s", m->line, what);
}

static bool is(const struct word *w, const char *text)
{
	return strcmp(w->at, text) == 0;
}

/* The value of "key=value", or NULL. */
static const char *value_of(const struct word *w, const char *key)
{
	size_t len = strlen(key);

	return strncmp(w->at, key, len) == 0 && w->at[len] == '=' ? w->at + len + 1 : NULL;
}

static bool parse_time(const char *text, uint64_t *ns)
{
	char *end;
	double number = strtod(text, &end);
	double unit = strcmp(end, "ns") == 0   ? 1
		      : strcmp(end, "us") == 0 ? 1e3
		      : strcmp(end, "ms") == 0 ? 1e6
		      : strcmp(end, "s") == 0  ? 1e9
					       : 0;

	*ns = START_NS + (uint64_t)(number * unit + 0.5);
	return end != text && (unit > 0 || strcmp(end, "0") == 0 || number == 0);
}

static unsigned index_of(const char *text)
{
	unsigned n = (unsigned)strtoul(text + 1, NULL, 10);

	return n < THINGS_MAX ? n : 0;
}

/* ---- one line ---- */

static uint32_t define_bytes(struct maker *m, uint32_t process, uint16_t type, const void *at, size_t len,
			     isc_status *st)
{
	for (uint32_t i = 0; i < m->names; i++) {
		const struct name *n = &m->name[i];

		if (n->process == process && n->type == type && n->len == len && memcmp(n->text, at, len) == 0)
			return (i + 1) * 2;
	}
	if (m->names == NAMES_MAX || len > sizeof(m->name[0].text)) {
		*st = bad(m, "too many names, or too long");
		return 0;
	}
	m->name[m->names] = (struct name){.process = process, .type = type, .len = len};
	memcpy(m->name[m->names].text, at, len);
	m->names++;
	*st = isc_writer_define(m->writer, process, m->names * 2, type, at, (uint32_t)len, m->err);
	return m->names * 2;
}

static uint32_t define(struct maker *m, uint32_t process, const struct word *w, isc_status *st)
{
	return define_bytes(m, process, ISC_DEF_STRING, w->at, w->len, st);
}

static uint32_t define_code(struct maker *m, uint32_t process, const struct word *name, const struct word *file,
			    uint32_t line, isc_status *st)
{
	char bytes[160];
	isc_def_code head = {.name_len = (uint32_t)name->len, .file_len = (uint32_t)file->len, .line = line};

	if (sizeof(head) + name->len + file->len > sizeof(bytes)) {
		*st = bad(m, "too long a name or a file");
		return 0;
	}
	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), name->at, head.name_len);
	memcpy(bytes + sizeof(head) + head.name_len, file->at, head.file_len);
	return define_bytes(m, process, ISC_DEF_CODE, bytes, sizeof(head) + head.name_len + head.file_len, st);
}

/* Name, file and line from the fourth word on. */
static uint32_t define_called(struct maker *m, uint32_t process, isc_status *st)
{
	if (m->words < 6) {
		*st = bad(m, "a call has a name, a file and a line");
		return 0;
	}
	return define_code(m, process, &m->word[3], &m->word[4], (uint32_t)strtoul(m->word[5].at, NULL, 10), st);
}

/* A table of one entry: all that is there is on this line. */
static uint32_t define_lines(struct maker *m, uint32_t process, uint32_t code, uint32_t line, isc_status *st)
{
	struct {
		isc_def_lines head;
		uint8_t table[2];
	} lines = {{code, 0x030b, line, 2}, {0x80 | 13 << 3 | 7, 0}};

	return define_bytes(m, process, ISC_DEF_LINES, &lines, sizeof(lines.head) + sizeof(lines.table), st);
}

#include "trace_native_words.h"

/* One frame: "name file first-line line", each in one word; "?" is none that is known; "native name file". */
static uint32_t define_frame(struct maker *m, uint32_t process, uint32_t parent, const struct word *w, isc_status *st)
{
	char copy[160], *rest = copy, *part[4] = {0};
	isc_def_stack frame = {.parent = parent};

	snprintf(copy, sizeof(copy), "%s", w->at);
	for (int i = 0; i < 4 && rest != NULL; i++)
		part[i] = strsep(&rest, " ");
	if (strcmp(copy, "?") == 0)
		return define_bytes(m, process, UNKNOWN_TYPE, &frame, sizeof(frame), st);
	if (strcmp(part[0], "native") == 0 && part[2] != NULL) {
		frame.code = define_native(m, process, part[1], part[2], st);
		return *st == ISC_OK ? define_bytes(m, process, ISC_DEF_STACK, &frame, sizeof(frame), st) : 0;
	}
	if (part[3] == NULL) {
		*st = bad(m, "a frame has a name, a file, its first line and a line");
		return 0;
	}
	frame.code = define_code(m, process, &(struct word){part[0], strlen(part[0])},
				 &(struct word){part[1], strlen(part[1])}, (uint32_t)strtoul(part[2], NULL, 10), st);
	if (*st == ISC_OK && strcmp(part[3], "0") != 0)
		frame.lines = define_lines(m, process, frame.code, (uint32_t)strtoul(part[3], NULL, 10), st);
	return *st == ISC_OK ? define_bytes(m, process, ISC_DEF_STACK, &frame, sizeof(frame), st) : 0;
}

/* Steps, their length and the stack from the fourth word on. */
static isc_status fill_sample(struct maker *m, uint32_t process, isc_record *slot)
{
	isc_sample_counts counts = {.instructions = ISC_COUNT_UNKNOWN, .cycles = ISC_COUNT_UNKNOWN};
	isc_sample body = {0};
	isc_status st = ISC_OK;
	uint64_t period;

	if (m->words < 5 || !parse_time(m->word[4].at, &period))
		return bad(m, "a sample has steps and their length");
	body.period_ns = (uint32_t)(period - START_NS);
	slot[0].arg = (uint16_t)strtoul(m->word[3].at, NULL, 10);
	for (size_t i = 5; i < m->words && st == ISC_OK; i++) {
		const char *flags = value_of(&m->word[i], "flags"), *faults = value_of(&m->word[i], "faults");
		const char *kernel = value_of(&m->word[i], "kernel_us"), *cost = value_of(&m->word[i], "cost_us");

		if (faults != NULL)
			counts.faults = (uint32_t)strtoul(faults, NULL, 10);
		else if (kernel != NULL)
			counts.kernel_us = (uint32_t)strtoul(kernel, NULL, 10);
		else if (cost != NULL)
			body.cost_ns = (uint32_t)strtoul(cost, NULL, 10) * 1000;
		else if (flags != NULL)
			body.flags = (uint32_t)strtoul(flags, NULL, 10);
		else
			slot[0].id = define_frame(m, process, slot[0].id, &m->word[i], &st);
	}
	memcpy(&slot[1], &body, sizeof(body));
	slot[0].slots = counts.faults != 0 ? 4 : 2;
	if (counts.faults != 0)
		memcpy(&slot[2], &counts, sizeof(counts));
	return st;
}

static isc_status add_interpreter(struct maker *m)
{
	isc_status st = ISC_OK;
	char bytes[160];

	if (m->words != 4 || m->word[2].len + m->word[3].len + 1 > sizeof(bytes))
		return bad(m, "an interpreter has a version and a path");
	memcpy(bytes, m->word[2].at, m->word[2].len);
	bytes[m->word[2].len] = 0;
	memcpy(bytes + m->word[2].len + 1, m->word[3].at, m->word[3].len);
	define_bytes(m, index_of(m->word[0].at), ISC_DEF_PYTHON, bytes, m->word[2].len + 1 + m->word[3].len, &st);
	return st;
}

static isc_status add_process(struct maker *m)
{
	static const struct {
		const char *name;
		uint32_t flag;
	} flags[] = {{"root", ISC_PROCESS_ROOT},
		     {"traced", ISC_PROCESS_TRACED},
		     {"exec", ISC_PROCESS_EXEC},
		     {"python", ISC_PROCESS_PYTHON},
		     {"failed", ISC_PROCESS_FAILED}};
	isc_trace_process p = {.process = index_of(m->word[0].at), .start_ns = START_NS};
	char argv[1024];

	for (size_t i = 1; i < m->words; i++) {
		const struct word *w = &m->word[i];
		const char *value;

		for (size_t f = 0; f < sizeof(flags) / sizeof(flags[0]); f++)
			p.flags |= is(w, flags[f].name) ? flags[f].flag : 0;
		if ((value = value_of(w, "pid")) != NULL)
			p.pid = (uint32_t)strtoul(value, NULL, 10);
		else if ((value = value_of(w, "ppid")) != NULL)
			p.ppid = (uint32_t)strtoul(value, NULL, 10);
		else if ((value = value_of(w, "parent")) != NULL)
			p.parent = index_of(value);
		else if ((value = value_of(w, "start")) != NULL && !parse_time(value, &p.start_ns))
			return bad(m, "start is no time");
		else if ((value = value_of(w, "end")) != NULL && !parse_time(value, &p.end_ns))
			return bad(m, "end is no time");
		else if ((value = value_of(w, "status")) != NULL)
			p.wait_status = atoi(value) << 8, p.flags |= ISC_PROCESS_STATUS;
		else if ((value = value_of(w, "signal")) != NULL)
			p.wait_status = atoi(value), p.flags |= ISC_PROCESS_STATUS;
		if (!is(w, "argv"))
			continue;
		for (i++; i < m->words && p.argv_len + m->word[i].len + 1 < sizeof(argv); i++) {
			memcpy(argv + p.argv_len, m->word[i].at, m->word[i].len);
			p.argv_len += (uint32_t)m->word[i].len;
			argv[p.argv_len++] = 0;
		}
	}
	p.flags |= p.end_ns != 0 ? ISC_PROCESS_ENDED : 0;
	p.argv = argv;
	m->pid[p.process] = p.pid;
	return isc_writer_process(m->writer, &p, m->err);
}

static isc_status add_thread(struct maker *m, uint32_t index)
{
	isc_trace_thread t = {
		.thread = index, .process = index_of(m->word[1].at), .start_ns = START_NS, .serial = index};

	for (size_t i = 2; i < m->words; i++) {
		const struct word *w = &m->word[i];
		const char *value;

		if (is(w, "main"))
			t.flags |= 1;
		else if ((value = value_of(w, "tid")) != NULL)
			t.tid = (uint32_t)strtoul(value, NULL, 10);
		else if ((value = value_of(w, "name")) != NULL)
			snprintf(t.name, sizeof(t.name), "%s", value);
		else if ((value = value_of(w, "start")) != NULL && !parse_time(value, &t.start_ns))
			return bad(m, "start is no time");
		else if ((value = value_of(w, "end")) != NULL && !parse_time(value, &t.end_ns))
			return bad(m, "end is no time");
	}
	t.flags |= t.end_ns != 0 ? 2 : 0;
	m->thread[index].process = t.process;
	m->thread[index].tid = t.tid;
	m->thread[index].known = true;
	return isc_writer_thread(m->writer, &t, m->err);
}

static isc_status add_switch(struct maker *m, uint64_t time_ns, uint32_t thread, int kind)
{
	const struct thread *t = &m->thread[thread];
	isc_trace_switch sw = {.time_ns = time_ns, .pid = m->pid[t->process], .tid = t->tid, .kind = (uint8_t)kind};

	return isc_writer_switches(m->writer, &sw, 1, m->err);
}

static uint32_t define_for_words(void *self, uint32_t process, uint16_t type, const void *at, size_t len)
{
	isc_status st = ISC_OK;

	return define_bytes(self, process, type, at, len, &st);
}

static uint32_t frame_for_words(void *self, uint32_t process, uint32_t parent, const struct word *w)
{
	isc_status st = ISC_OK;

	return define_frame(self, process, parent, w, &st);
}

static struct gpu_maker words_maker(struct maker *m, uint32_t process)
{
	return (struct gpu_maker){m, process, define_for_words, frame_for_words, START_NS};
}

/* Waits and collections: call or generation, how long, a number, frames from the root on. */
static isc_status fill_wait(struct maker *m, uint32_t process, isc_record *slot)
{
	uint32_t number = m->words > 5 ? (uint32_t)strtoul(m->word[5].at, NULL, 10) : 0;
	/* All three have ticks first; then a count of 64 bits, a thread, or in the last 32 what was not seen. */
	isc_wait wait = {START_NS, slot->kind == ISC_KIND_GC ? 0 : number, slot->kind == ISC_KIND_GC ? number : 0};
	size_t first = slot->kind == ISC_KIND_WAIT_ENTER ? 4 : 6;
	struct gpu_maker words = words_maker(m, process);
	isc_waker waker = {0};
	bool at = slot->kind == ISC_KIND_WAIT_EXIT && m->words > first && is(&m->word[first], "at");
	isc_status st = ISC_OK;

	slot->arg = (uint16_t)strtoul(m->word[3].at, NULL, 10);
	for (unsigned call = 1; call < ISC_WAIT_CALLS; call++)
		slot->arg = is(&m->word[3], isc_wait_name(call)) ? (uint16_t)call : slot->arg;
	if (slot->kind != ISC_KIND_WAIT_ENTER && (m->words < 5 || !parse_time(m->word[4].at, &wait.ticks)))
		return bad(m, "how long?");
	wait.ticks -= START_NS;
	if (at && m->words > first + 1)
		wait.holder_stack = define_frame(m, process, 0, &m->word[first + 1], &st);
	memcpy(&slot[1], &wait, sizeof(wait));
	slot->slots = slot->kind == ISC_KIND_WAIT_ENTER ? 1 : 2;
	for (size_t i = at ? first + 2 : first; i < m->words && st == ISC_OK; i++) {
		if (slot->kind == ISC_KIND_WAIT_EXIT && waker_word(&words, &m->word[i], &waker))
			slot->slots = 3;
		else
			slot->id = define_frame(m, process, slot->id, &m->word[i], &st);
	}
	memcpy(&slot[2], &waker, sizeof(waker));
	return st;
}

/* FLAGS BEGIN_NS END_NS COST CALLS [CALLS_OF_IT NAME FILE LINE]; its slots. */
static uint32_t put_burst(struct maker *m, uint32_t process, isc_record *slot, isc_status *st)
{
	uint64_t number[6] = {0};
	isc_burst_calls calls = {0, 0};
	isc_burst burst;

	for (size_t i = 0; i < 6 && i + 3 < m->words; i++)
		number[i] = strtoull(m->word[i + 3].at, NULL, 10);
	burst = (isc_burst){
		.begin_ns = number[1], .end_ns = number[2], .cost = (uint32_t)number[3], .calls = (uint32_t)number[4]};
	if (m->words > 11) {
		/* define_code() takes words 3 to 5. */
		for (size_t i = 0; i < 3; i++)
			m->word[3 + i] = m->word[9 + i];
		calls = (isc_burst_calls){define_called(m, process, st), (uint32_t)number[5]};
	}
	slot[0].arg = (uint16_t)number[0];
	memcpy(&slot[1], &burst, sizeof(burst));
	memcpy(&slot[3], &calls, sizeof(calls));
	return 4;
}

static isc_status add_event(struct maker *m, uint32_t thread, uint64_t time_ns, int kind)
{
	struct thread *t = &m->thread[thread];
	isc_trace_run run = {.process = t->process, .thread = thread, .first = t->next, .events = 1, .slots = 1};
	isc_record slot[256] = {{.ticks = time_ns, .kind = (uint8_t)kind, .slots = 1}};
	struct gpu_maker words = words_maker(m, t->process);
	isc_status st = ISC_OK;

	if (m->words < 4 && kind != ISC_KIND_LEAVING)
		return bad(m, "an event has a name");
	if (kind == ISC_KIND_GOVERNED && is(&m->word[3], "cost")) {
		slot[0].id = (uint32_t)strtoul(m->word[4].at, NULL, 10);
		slot[0].arg = ISC_GOVERNED_COST;
	} else if (kind == ISC_KIND_GOVERNED && is(&m->word[3], "all")) {
		slot[0].arg = (uint16_t)strtoul(m->word[4].at, NULL, 10);
	} else if (kind == ISC_KIND_BURST) {
		run.slots = put_burst(m, t->process, slot, &st);
	} else if (kind == ISC_KIND_SAMPLE_RATE) {
		slot[0].arg = (uint16_t)strtoul(m->word[3].at, NULL, 10);
		slot[0].id = m->words > 4 ? (uint32_t)strtoul(m->word[4].at, NULL, 10) : 0;
	} else if (kind == ISC_KIND_TASK) {
		slot[0].id = is(&m->word[3], "0") ? 0 : define(m, t->process, &m->word[3], &st);
		slot[0].arg = m->words > 4 ? (uint16_t)strtoul(m->word[4].at, NULL, 10) : 0;
	} else if (kind == ISC_KIND_LEAVING) {
		/* It is alone. */
	} else if (kind == ISC_KIND_MISSED) {
		slot[0].arg = (uint16_t)strtoul(m->word[3].at, NULL, 10);
	} else if (kind == ISC_KIND_GOVERNED || (kind >= ISC_KIND_CALL_ENTER && kind <= ISC_KIND_CALL_EXIT)) {
		slot[0].id = define_called(m, t->process, &st);
		slot[0].arg = m->words > 6 ? (uint16_t)strtoul(m->word[6].at, NULL, 10) : 0;
	} else if (kind == ISC_KIND_SAMPLE) {
		st = fill_sample(m, t->process, slot);
		run.slots = slot[0].slots;
	} else if (kind >= ISC_KIND_WAIT_ENTER && kind <= ISC_KIND_GC) {
		st = fill_wait(m, t->process, slot);
		run.slots = slot[0].slots;
	} else if (kind == ISC_KIND_SENT || kind == ISC_KIND_GOT) {
		run.slots = channel_words(&words, m->word, m->words, slot);
		st = run.slots == 0 ? bad(m, "a record of a channel?") : ISC_OK;
	} else if (kind >= ISC_KIND_MEMORY_ALLOC && kind <= ISC_KIND_MEMORY_SOURCE) {
		run.slots = memory_words(&words, m->word, m->words, slot);
		st = run.slots == 0 ? bad(m, "a record of memory?") : ISC_OK;
	} else if (kind >= ISC_KIND_SYSCALLS && kind <= ISC_KIND_SYSCALL_SAMPLE) {
		run.slots = syscall_words(&words, m->word, m->words, slot);
		st = run.slots == 0 ? bad(m, "a record of system calls?") : ISC_OK;
	} else if (kind >= ISC_KIND_GPU_CALL) {
		run.slots = gpu_words(&words, m->word, m->words, slot);
		st = run.slots == 0 ? bad(m, "a record of a GPU?") : ISC_OK;
	} else {
		slot[0].id = define(m, t->process, &m->word[3], &st);
	}
	if (st != ISC_OK)
		return st;
	if (kind == ISC_KIND_SPAN_ENTER || kind == ISC_KIND_SPAN_EXIT) {
		isc_span span = {m->words > 4 ? strtoul(m->word[4].at, NULL, 10) : 0, 0};

		if (m->words > 5 && kind == ISC_KIND_SPAN_EXIT && !parse_time(m->word[5].at, &span.more))
			return bad(m, "how long?");
		if (m->words > 5 && kind == ISC_KIND_SPAN_EXIT)
			span.more -= START_NS;
		if (m->words > 5 && kind == ISC_KIND_SPAN_ENTER)
			span.more = strtoul(m->word[5].at, NULL, 10);
		slot[0].arg = m->words > 6 ? (uint16_t)strtoul(m->word[6].at, NULL, 10) : 0;
		memcpy(&slot[1], &span, sizeof(span));
		run.slots = 2;
	} else if (kind == ISC_KIND_COUNTER) {
		double value = m->words > 4 ? strtod(m->word[4].at, NULL) : 0;

		memcpy(&slot[1], &value, sizeof(value));
		run.slots = 2;
	} else if (kind == ISC_KIND_INSTANT && m->words > 4) {
		uint32_t len = (uint32_t)m->word[4].len;

		if (len > 2048)
			return bad(m, "too much metadata");
		memcpy(&slot[1], &len, sizeof(len));
		memcpy((char *)&slot[1] + sizeof(len), m->word[4].at, len);
		run.slots = 1 + (len + 4 + 15) / 16;
	}
	slot[0].slots = (uint8_t)run.slots;
	t->next++;
	t->stored++;
	return isc_writer_events(m->writer, &run, slot, m->err);
}

static isc_status add_thread_line(struct maker *m)
{
	static const struct {
		const char *word;
		int event, change;
	} kinds[] = {{"span_enter", ISC_KIND_SPAN_ENTER, 0},
		     {"span_exit", ISC_KIND_SPAN_EXIT, 0},
		     {"in", 0, ISC_SWITCH_IN},
		     {"out", 0, ISC_SWITCH_OUT},
		     {"preempt", 0, ISC_SWITCH_OUT_PREEMPT},
		     {"fault", 0, ISC_SWITCH_FAULT}};
	unsigned index = index_of(m->word[0].at);
	uint64_t ns;

	if (m->words < 3 || index == 0)
		return bad(m, "a thread, and what?");
	if (m->word[1].at[0] == 'p')
		return add_thread(m, index);
	if (!m->thread[index].known)
		return bad(m, "an unknown thread");
	if (is(&m->word[1], "lose")) {
		m->thread[index].next += strtoul(m->word[2].at, NULL, 10);
		return ISC_OK;
	}
	if (!parse_time(m->word[1].at, &ns))
		return bad(m, "no time");
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (is(&m->word[2], kinds[i].word))
			return kinds[i].event ? add_event(m, index, ns, kinds[i].event)
					      : add_switch(m, ns, index, kinds[i].change);
	}
	for (int kind = 1; kind <= ISC_KIND_GPU_SCOPE; kind++) {
		if (isc_kind_name((unsigned)kind) != NULL && is(&m->word[2], isc_kind_name((unsigned)kind)))
			return add_event(m, index, ns, kind);
	}
	return bad(m, "an unknown event");
}

static isc_status take_end(struct maker *m)
{
	m->ended = true;
	if (m->words < 2 || !parse_time(m->word[1].at, &m->end.end_ns))
		return bad(m, "end when?");
	for (size_t i = 2; i < m->words; i++) {
		const char *status = value_of(&m->word[i], "status"), *signal = value_of(&m->word[i], "signal");

		m->end.known |= status != NULL || signal != NULL;
		m->end.wait_status = status != NULL   ? atoi(status) << 8
				     : signal != NULL ? atoi(signal)
						      : m->end.wait_status;
	}
	return ISC_OK;
}

static isc_status take_line(struct maker *m, char *line)
{
	uint64_t ns;

	m->words = split(m->word, line);
	if (m->words == 0 || m->word[0].at[0] == '#')
		return ISC_OK;
	if (is(&m->word[0], "meta") && m->words == 2)
		return isc_writer_meta(m->writer, m->word[1].at, m->word[1].len, m->err);
	if (is(&m->word[0], "end"))
		return take_end(m);
	if (m->words == 2 && strncmp(m->word[0].at, "gap_", 4) == 0 && parse_time(m->word[1].at, &ns))
		return add_switch(m, ns, 0, is(&m->word[0], "gap_begin") ? ISC_SWITCH_GAP_BEGIN : ISC_SWITCH_GAP_END);
	if (m->word[0].at[0] == 'p')
		return m->words > 1 && is(&m->word[1], "interpreter") ? add_interpreter(m) : add_process(m);
	if (m->word[0].at[0] == 't')
		return add_thread_line(m);
	return bad(m, "not understood");
}

static isc_status add_accounts(struct maker *m)
{
	isc_status st = ISC_OK;

	for (uint32_t i = 1; i < THINGS_MAX && st == ISC_OK; i++) {
		const struct thread *t = &m->thread[i];
		isc_trace_account account = {.process = t->process,
					     .thread = i,
					     .produced = t->next,
					     .stored = t->stored,
					     .lost = t->next - t->stored};

		if (t->next > 0)
			st = isc_writer_account(m->writer, &account, m->err);
	}
	return st;
}

isc_status trace_text_write(const char *text, int fd, uint64_t limit_bytes, isc_error *err)
{
	isc_writer_options options = {.limit_bytes = limit_bytes, .start_ticks = START_NS, .start_ns = START_NS};
	struct maker *m = calloc(1, sizeof(*m));
	char *copy = repeat_expand(text), *next = copy;
	isc_status st = ISC_OK, closed;

	if (m == NULL || copy == NULL) {
		free(copy);
		free(m);
		close(fd);
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for the fixture");
	}
	m->err = err;
	st = isc_writer_open(fd, &options, &m->writer, err);
	if (st != ISC_OK)
		close(fd);
	while (st == ISC_OK && next != NULL) {
		char *line = strsep(&next, "\n");

		m->line++;
		st = take_line(m, line);
	}
	if (st == ISC_OK)
		st = add_accounts(m);
	if (st == ISC_OK)
		st = isc_writer_flush(m->writer, err);
	if (m->writer != NULL) {
		closed = isc_writer_close(m->writer, st == ISC_OK && m->ended ? &m->end : NULL,
					  st == ISC_OK ? err : NULL);
		st = st == ISC_OK ? closed : st;
	}
	free(copy);
	free(m);
	return st;
}

isc_status trace_text_open(const char *text, isc_trace **out, isc_error *err)
{
	char path[] = "/tmp/isc-trace-XXXXXX";
	int fd = mkstemp(path);
	isc_status st;

	*out = NULL;
	if (fd < 0)
		return isc_fail_errno(err, "cannot make a temporary file");
	st = trace_text_write(text, fd, 0, err);
	if (st == ISC_OK)
		st = isc_trace_open(path, out, err);
	unlink(path);
	return st;
}

#include <string.h>

#include "python/offline/offline.h"
#include "trace/gpu.h"
#include "trace/kinds.h"

enum { CODE, NAME };

/* Names come as the program had them, which need not be text. */
static PyObject *text_of(const char *at, uint32_t len)
{
	return PyUnicode_DecodeUTF8(at, (Py_ssize_t)len, "backslashreplace");
}

static PyObject *describe_code(const isc_event_maker *m, uint32_t process, uint32_t id)
{
	uint32_t len = 0;
	const char *data = isc_trace_define(m->trace, process, id, ISC_DEF_CODE, &len);
	isc_def_code code;

	if (data == NULL || len < sizeof(code))
		return Py_BuildValue("(sOO)", "?", Py_None, Py_None);
	memcpy(&code, data, sizeof(code));
	data += sizeof(code);
	len -= (uint32_t)sizeof(code);
	code.name_len = code.name_len < len ? code.name_len : len;
	code.file_len = code.file_len < len - code.name_len ? code.file_len : len - code.name_len;
	return Py_BuildValue("(NNI)", text_of(data, code.name_len), text_of(data + code.name_len, code.file_len),
			     code.line);
}

static PyObject *describe_name(const isc_event_maker *m, uint32_t process, uint32_t id)
{
	isc_text name = isc_trace_name(m->trace, process, id);

	return Py_BuildValue("(NOO)", text_of(name.at, name.len), Py_None, Py_None);
}

/* (name, file, line), borrowed; the same objects for the same id, so that many events share them. */
static PyObject *description(isc_event_maker *m, uint32_t process, uint32_t id, int what)
{
	PyObject *key = PyLong_FromUnsignedLongLong(((uint64_t)process << 33) ^ ((uint64_t)id << 1) ^ (uint64_t)what);
	PyObject *known = key != NULL ? PyDict_GetItemWithError(m->names, key) : NULL;

	if (known == NULL && key != NULL && !PyErr_Occurred()) {
		known = what == CODE ? describe_code(m, process, id) : describe_name(m, process, id);
		if (known != NULL) {
			if (PyDict_SetItem(m->names, key, known) < 0) {
				Py_CLEAR(known);
			} else {
				Py_DECREF(known); /* the dictionary has it */
			}
		}
	}
	Py_XDECREF(key);
	return known;
}

bool isc_event_maker_init(isc_event_maker *m, const isc_trace *trace)
{
	PyObject *json = PyImport_ImportModule("json");

	*m = (isc_event_maker){.trace = trace, .names = PyDict_New(), .stacks = PyDict_New()};
	m->loads = json != NULL ? PyObject_GetAttrString(json, "loads") : NULL;
	Py_XDECREF(json);
	if (m->names != NULL && m->loads != NULL && m->stacks != NULL)
		return true;
	isc_event_maker_fini(m);
	return false;
}

void isc_event_maker_fini(isc_event_maker *m)
{
	Py_CLEAR(m->names);
	Py_CLEAR(m->loads);
	Py_CLEAR(m->stacks);
}

static PyObject *none(void)
{
	Py_INCREF(Py_None);
	return Py_None;
}

/* What a program gave to mark_event(); text that is no JSON stays text. */
static PyObject *metadata_of_mark(const isc_event_maker *m, const char *extra, uint32_t extra_len)
{
	PyObject *text, *value;
	uint32_t len;

	if (extra_len < sizeof(len))
		return none();
	memcpy(&len, extra, sizeof(len));
	if (len == 0 || len > extra_len - sizeof(len))
		return none();
	text = text_of(extra + sizeof(len), len);
	if (text == NULL)
		return NULL;
	value = PyObject_CallFunctionObjArgs(m->loads, text, NULL);
	if (value == NULL) {
		PyErr_Clear();
		return text;
	}
	Py_DECREF(text);
	return value;
}

static PyObject *metadata_of_counter(const char *extra, uint32_t extra_len)
{
	double value;

	if (extra_len < sizeof(value))
		return none();
	memcpy(&value, extra, sizeof(value));
	return Py_BuildValue("{sd}", "value", value);
}

/* A scope of a task or request tells which one it is, and which one it is in. */
static PyObject *metadata_of_span(const isc_piece *piece, const char *extra, uint32_t extra_len)
{
	isc_span span;

	if (extra_len < sizeof(span))
		return none();
	memcpy(&span, extra, sizeof(span));
	if (piece->kind == ISC_KIND_SPAN_EXIT)
		return Py_BuildValue("{sK}", "instance", (unsigned long long)span.instance);
	if (span.more == 0)
		return Py_BuildValue("{sK sO}", "instance", (unsigned long long)span.instance, "inside", Py_None);
	return Py_BuildValue("{sK sK}", "instance", (unsigned long long)span.instance, "inside",
			     (unsigned long long)span.more);
}

static PyObject *metadata_of_call(const isc_piece *span)
{
	static const struct {
		uint8_t flag;
		const char *word;
	} words[] = {{ISC_PIECE_RESUMED, "resumed"},
		     {ISC_PIECE_THROWN, "thrown"},
		     {ISC_PIECE_YIELDED, "yielded"},
		     {ISC_PIECE_RAISED, "raised"},
		     {ISC_PIECE_OPEN, "unfinished"}};
	bool native = span->kind == ISC_KIND_C_ENTER;
	PyObject *dict;

	if (span->flags == 0 && !native)
		return none();
	dict = PyDict_New();
	for (size_t i = 0; dict != NULL && i < sizeof(words) / sizeof(words[0]); i++) {
		if (span->flags & words[i].flag && PyDict_SetItemString(dict, words[i].word, Py_True) < 0)
			Py_CLEAR(dict);
	}
	if (dict != NULL && native && PyDict_SetItemString(dict, "native", Py_True) < 0)
		Py_CLEAR(dict);
	return dict;
}

/* The CPU time that it stands for: what is to be summed, for steps differ in length. */
static PyObject *metadata_of_sample(const isc_piece *piece, const char *extra, uint32_t extra_len)
{
	isc_sample body;

	if (extra_len < sizeof(body))
		return none();
	memcpy(&body, extra, sizeof(body));
	return Py_BuildValue("{sI sK}", "steps", (unsigned)piece->arg, "cpu_ns",
			     (unsigned long long)piece->arg * body.period_ns);
}

static PyObject *metadata_of_collection(const isc_piece *piece, const char *extra, uint32_t extra_len)
{
	isc_gc gc;

	if (extra_len < sizeof(gc))
		return none();
	memcpy(&gc, extra, sizeof(gc));
	return Py_BuildValue("{sI sI}", "generation", (unsigned)piece->arg, "collected", (unsigned)gc.collected);
}

static PyObject *metadata_of_wait(const char *extra, uint32_t extra_len)
{
	isc_wait wait;

	if (extra_len < sizeof(wait))
		return none();
	memcpy(&wait, extra, sizeof(wait));
	return Py_BuildValue("{sN}", "holder", wait.holder != 0 ? PyLong_FromUnsignedLong(wait.holder) : none());
}

static enum isc_event_type type_of(const isc_piece *piece)
{
	switch (piece->kind) {
	case ISC_KIND_INSTANT:
		return ISC_EVENT_INSTANT;
	case ISC_KIND_SCOPE_ENTER:
	case ISC_KIND_SPAN_ENTER:
		return ISC_EVENT_SCOPE_ENTER;
	case ISC_KIND_SCOPE_EXIT:
	case ISC_KIND_SPAN_EXIT:
		return ISC_EVENT_SCOPE_EXIT;
	case ISC_KIND_COUNTER:
		return ISC_EVENT_COUNTER;
	case ISC_KIND_SAMPLE:
		return ISC_EVENT_CPU_SAMPLE;
	case ISC_PIECE_MOVE:
		return ISC_EVENT_NUMA_MIGRATION;
	case ISC_KIND_MEMORY_ALLOC:
		return ISC_EVENT_MEMORY_ALLOC;
	case ISC_KIND_MEMORY_FREE:
		return ISC_EVENT_MEMORY_FREE;
	case ISC_KIND_GC:
		return ISC_EVENT_GC_PAUSE;
	case ISC_KIND_WAIT_EXIT:
		return piece->arg == ISC_WAIT_GIL ? ISC_EVENT_GIL_WAIT : ISC_EVENT_LOCK_WAIT;
	case ISC_KIND_SYSCALL:
		return ISC_EVENT_CPU_SYSCALL;
	case ISC_KIND_GPU_CALL:
		return ISC_GPU_ARG_WHAT(piece->arg) == ISC_ROLE_SYNC ? ISC_EVENT_GPU_SYNC : ISC_EVENT_GPU_API;
	case ISC_KIND_GPU_WORK:
		return isc_gpu_event_type(ISC_GPU_ARG_WHAT(piece->arg));
	default:
		return ISC_EVENT_CPU_CALL;
	}
}

static PyObject *metadata_of(const isc_event_maker *m, const isc_excerpt *spans, const isc_piece *span)
{
	const char *extra = spans->extra.data + span->extra;

	switch (span->kind) {
	case ISC_KIND_COUNTER:
		return metadata_of_counter(extra, span->extra_len);
	case ISC_KIND_SPAN_ENTER:
	case ISC_KIND_SPAN_EXIT:
		return metadata_of_span(span, extra, span->extra_len);
	case ISC_KIND_INSTANT:
	case ISC_KIND_SCOPE_ENTER:
	case ISC_KIND_SCOPE_EXIT:
		return metadata_of_mark(m, extra, span->extra_len);
	case ISC_KIND_SAMPLE:
		return metadata_of_sample(span, extra, span->extra_len);
	case ISC_KIND_MEMORY_ALLOC:
	case ISC_KIND_MEMORY_FREE:
	case ISC_PIECE_MOVE:
		return none(); /* offline_memory.c has more to say */
	case ISC_KIND_GC:
		return metadata_of_collection(span, extra, span->extra_len);
	case ISC_KIND_WAIT_EXIT:
		return metadata_of_wait(extra, span->extra_len);
	case ISC_KIND_SYSCALL:
	case ISC_KIND_GPU_CALL:
		return none();
	case ISC_KIND_GPU_WORK:
		return Py_BuildValue("{sI}", "clock_error_ns", (unsigned)span->error_ns);
	default:
		return metadata_of_call(span);
	}
}

static PyObject *task_of(isc_event_maker *m, const isc_piece *span)
{
	PyObject *task;
	char made[ISC_TASK_TEXT];

	if (span->task & ISC_TASK_NUMBERED) {
		isc_text text = isc_trace_task(m->trace, span->process, span->task, made);

		return PyUnicode_FromStringAndSize(text.at, (Py_ssize_t)text.len);
	}
	task = span->task != 0 ? description(m, span->process, span->task, NAME) : NULL;
	if (task == NULL)
		return PyErr_Occurred() ? NULL : none();
	task = PyTuple_GetItem(task, 0);
	Py_XINCREF(task);
	return task;
}

static bool is_memory(const isc_piece *span)
{
	return span->kind == ISC_KIND_MEMORY_ALLOC || span->kind == ISC_KIND_MEMORY_FREE;
}

static PyObject *make(isc_event_maker *m, const isc_excerpt *spans, const isc_piece *span)
{
	bool python = span->kind == ISC_KIND_CALL_ENTER || span->kind == ISC_KIND_CALL_RESUME;
	/* A sample has the name of its newest frame, which is found with the others. */
	bool named = span->kind != ISC_KIND_SAMPLE && span->kind != ISC_KIND_WAIT_EXIT && span->kind != ISC_KIND_GC &&
		     span->kind != ISC_KIND_SYSCALL && !is_memory(span);
	PyObject *about = description(m, span->process, named ? span->id : 0, python ? CODE : NAME);
	const isc_trace_process *p = isc_trace_process_find(m->trace, span->process);
	const isc_trace_thread *t = isc_trace_thread_find(m->trace, span->thread);
	PyObject *cpu, *task, *metadata;

	if (about == NULL)
		return NULL;
	cpu = span->cpu != ISC_PIECE_NO_CPU ? PyLong_FromLong(span->cpu) : none();
	task = task_of(m, span);
	metadata = metadata_of(m, spans, span);
	/* N takes the reference, of NULL too. */
	return Py_BuildValue("{ss sO sK sK sK sK sI sI sN sO sO sN sN}", "event_type",
			     isc_event_type_name(type_of(span)), "name", PyTuple_GetItem(about, 0), "start_us",
			     (unsigned long long)(span->start_ns / 1000), "end_us",
			     (unsigned long long)(span->end_ns / 1000), "start_ns", (unsigned long long)span->start_ns,
			     "end_ns", (unsigned long long)span->end_ns, "thread_id", t != NULL ? t->tid : 0,
			     "process_id", p != NULL ? p->pid : 0, "cpu_id", cpu, "file", PyTuple_GetItem(about, 1),
			     "line", PyTuple_GetItem(about, 2), "task", task, "metadata", metadata);
}

static bool set_name(PyObject *event, const char *name)
{
	PyObject *text = PyUnicode_FromString(name != NULL ? name : "?");
	bool good = text != NULL && PyDict_SetItemString(event, "name", text) == 0;

	Py_XDECREF(text);
	return good;
}

PyObject *isc_event_make(isc_event_maker *m, const isc_excerpt *spans, const isc_piece *span)
{
	PyObject *event = make(m, spans, span);

	if (event != NULL && span->kind == ISC_KIND_SAMPLE && !isc_event_add_sample(m, spans, span, event))
		Py_CLEAR(event);
	if (event != NULL && span->kind == ISC_PIECE_MOVE &&
	    (!set_name(event, isc_event_type_name(ISC_EVENT_NUMA_MIGRATION)) ||
	     !isc_event_add_move(spans, span, event)))
		Py_CLEAR(event);
	if (event != NULL && is_memory(span) &&
	    (!set_name(event, isc_memory_name(span->arg)) || !isc_event_add_memory(m, spans, span, event)))
		Py_CLEAR(event);
	if (event != NULL && span->kind == ISC_KIND_SYSCALL && !isc_event_add_syscall(m, spans, span, event))
		Py_CLEAR(event);
	if (event != NULL && span->kind == ISC_KIND_GC && !set_name(event, "gc"))
		Py_CLEAR(event);
	if (event != NULL && (span->kind == ISC_KIND_GPU_CALL || span->kind == ISC_KIND_GPU_WORK) &&
	    !isc_event_add_gpu(spans, span, event))
		Py_CLEAR(event);
	if (event != NULL && span->kind == ISC_KIND_WAIT_EXIT && !set_name(event, isc_wait_name(span->arg)))
		Py_CLEAR(event);
	return event;
}

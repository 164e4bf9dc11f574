/*
 * trace_buffer.c - TraceBuffer: events of a bounded number of bytes, oldest out.
 *
 * Events lie in one ring of memory that is mapped when the buffer is made and
 * touched as it fills.  The keys of an event are kept once for all events that
 * have the same; its values are marshalled, which gives back what was given.
 *
 * Offsets only grow; the place of a byte is its offset modulo the size.  The GIL
 * is the lock, and nothing here runs Python code while offsets and bytes differ.
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "python/offline/offline.h"

#define SIZE_MB_MOST 65536.0
#define SIZE_LEAST (64u << 10)
#define DEPTH_MOST 64	/* of lists and dictionaries in an event */
#define SHAPES_MOST 256 /* sets of keys; events with yet others carry theirs along */
#define SHAPE_KEYS_MOST 32
#define SHAPE_CHARS_MOST 1024
#define NO_SHAPE UINT16_MAX

typedef struct event_head {
	uint32_t len; /* of what follows */
	uint16_t shape;
	uint16_t zero;
} event_head;

typedef struct buffer {
	PyObject_HEAD uint8_t *ring;
	size_t size;
	uint64_t begin, end; /* offsets of the oldest byte and behind the newest */
	uint64_t count, lost;
	bool warned;
	PyObject *dumps, *loads; /* of marshal */
	PyObject *shapes;	 /* list of tuples of keys */
	PyObject *numbers;	 /* dict: tuple of keys -> its place in that list */
} buffer;

/* ---- bytes ------------------------------------------------------------ */

static void put(buffer *b, uint64_t at, const void *bytes, size_t len)
{
	size_t place = (size_t)(at % b->size), first = b->size - place < len ? b->size - place : len;

	memcpy(b->ring + place, bytes, first);
	memcpy(b->ring, (const uint8_t *)bytes + first, len - first);
}

static void get(const buffer *b, uint64_t at, void *bytes, size_t len)
{
	size_t place = (size_t)(at % b->size), first = b->size - place < len ? b->size - place : len;

	memcpy(bytes, b->ring + place, first);
	memcpy((uint8_t *)bytes + first, b->ring, len - first);
}

static void drop_oldest(buffer *b)
{
	event_head h;

	get(b, b->begin, &h, sizeof(h));
	b->begin += sizeof(h) + h.len;
	b->count--;
	b->lost++;
}

/* ---- events ----------------------------------------------------------- */

/* Does marshal give back exactly this?  It takes any object with bytes inside for bytes. */
static bool is_plain(PyObject *value, int depth)
{
	PyObject *key, *item;
	Py_ssize_t at = 0;

	if (value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value) ||
	    PyUnicode_CheckExact(value) || PyBytes_CheckExact(value))
		return true;
	if (depth >= DEPTH_MOST)
		return false;
	if (PyDict_CheckExact(value)) {
		while (PyDict_Next(value, &at, &key, &item)) {
			if (!is_plain(key, depth + 1) || !is_plain(item, depth + 1))
				return false;
		}
		return true;
	}
	if (PyList_CheckExact(value)) {
		for (; at < PyList_Size(value); at++) {
			if (!is_plain(PyList_GetItem(value, at), depth + 1))
				return false;
		}
		return true;
	}
	if (PyTuple_CheckExact(value)) {
		for (; at < PyTuple_Size(value); at++) {
			if (!is_plain(PyTuple_GetItem(value, at), depth + 1))
				return false;
		}
		return true;
	}
	return false;
}

/* A moment: a whole number from 0 on.  True when it is there and is one. */
static bool time_at(PyObject *event, const char *key, bool *there, unsigned long long *out)
{
	PyObject *value = PyDict_GetItemString(event, key);

	*there = value != NULL;
	if (value == NULL || !PyLong_CheckExact(value))
		return false;
	*out = PyLong_AsUnsignedLongLong(value);
	if (!PyErr_Occurred())
		return true;
	PyErr_Clear();
	return false;
}

static bool times_hold(PyObject *event, const char *start_key, const char *end_key, bool *any)
{
	unsigned long long start = 0, end = 0;
	bool there, good = time_at(event, start_key, &there, &start);

	if (there && !good)
		return false;
	*any |= good;
	good = time_at(event, end_key, &there, &end);
	return !there || (good && end >= start);
}

static bool is_text(PyObject *event, const char *key)
{
	PyObject *value = PyDict_GetItemString(event, key);

	return value != NULL && PyUnicode_CheckExact(value) && PyUnicode_GetLength(value) > 0;
}

static bool is_event(PyObject *event)
{
	bool any = false;

	return PyDict_Check(event) && is_text(event, "event_type") && is_text(event, "name") &&
	       times_hold(event, "start_ns", "end_ns", &any) && times_hold(event, "start_us", "end_us", &any) && any;
}

/* The number of this set of keys, NO_SHAPE when it is not worth keeping. */
static uint16_t shape_of(buffer *b, PyObject *keys)
{
	PyObject *known = PyDict_GetItemWithError(b->numbers, keys), *number;
	Py_ssize_t n = PyTuple_Size(keys), chars = 0, count = PyList_Size(b->shapes);

	if (known != NULL)
		return (uint16_t)PyLong_AsLong(known);
	PyErr_Clear();
	if (count >= SHAPES_MOST || n > SHAPE_KEYS_MOST)
		return NO_SHAPE;
	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *key = PyTuple_GetItem(keys, i);

		if (!PyUnicode_CheckExact(key))
			return NO_SHAPE;
		chars += PyUnicode_GetLength(key);
	}
	number = chars <= SHAPE_CHARS_MOST ? PyLong_FromSsize_t(count) : NULL;
	if (number == NULL || PyList_Append(b->shapes, keys) < 0)
		count = NO_SHAPE;
	else if (PyDict_SetItem(b->numbers, keys, number) < 0)
		count = NO_SHAPE; /* and its place stays unused */
	PyErr_Clear();
	Py_XDECREF(number);
	return (uint16_t)count;
}

/* Keys and values of the event as tuples; false: no memory. */
static bool split(PyObject *event, PyObject **keys, PyObject **values)
{
	Py_ssize_t n = PyDict_Size(event), at = 0, i = 0;
	PyObject *key, *value;

	*keys = PyTuple_New(n);
	*values = PyTuple_New(n);
	while (*keys != NULL && *values != NULL && PyDict_Next(event, &at, &key, &value) && i < n) {
		Py_INCREF(key);
		Py_INCREF(value);
		PyTuple_SetItem(*keys, i, key);
		PyTuple_SetItem(*values, i, value);
		i++;
	}
	return *keys != NULL && *values != NULL && i == n;
}

/* The bytes of an event, or NULL without an exception: it is not one that can be kept. */
static PyObject *pack(buffer *b, PyObject *event, uint16_t *shape)
{
	PyObject *keys = NULL, *values = NULL, *packed = NULL, *whole = NULL;

	if (!is_event(event) || !split(event, &keys, &values) || !is_plain(keys, 0) || !is_plain(values, 0))
		goto out;
	*shape = shape_of(b, keys);
	if (*shape != NO_SHAPE)
		packed = PyObject_CallFunctionObjArgs(b->dumps, values, NULL);
	else if ((whole = PyTuple_Pack(2, keys, values)) != NULL)
		packed = PyObject_CallFunctionObjArgs(b->dumps, whole, NULL);
out:
	PyErr_Clear();
	Py_XDECREF(whole);
	Py_XDECREF(keys);
	Py_XDECREF(values);
	return packed;
}

static void warn(buffer *b)
{
	PyObject *type, *value, *traceback;

	b->warned = true;
	PyErr_Fetch(&type, &value, &traceback);
	if (PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
			     "the trace buffer of %zu MB is full: its oldest events are discarded; make a larger one",
			     (b->size + (1u << 20) - 1) >> 20) < 0)
		PyErr_Clear(); /* a warning that is an error would be one of the program's */
	PyErr_Restore(type, value, traceback);
}

static PyObject *buffer_enqueue(PyObject *self, PyObject *event)
{
	buffer *b = (buffer *)self;
	uint16_t shape = NO_SHAPE;
	PyObject *packed = pack(b, event, &shape);
	Py_ssize_t len;
	char *bytes;
	uint64_t lost = b->lost;
	event_head h;

	if (packed == NULL || PyBytes_AsStringAndSize(packed, &bytes, &len) < 0 || (size_t)len > b->size - sizeof(h) ||
	    len > INT32_MAX) {
		PyErr_Clear();
		Py_XDECREF(packed);
		Py_RETURN_FALSE;
	}
	while (b->end - b->begin + sizeof(h) + (size_t)len > b->size)
		drop_oldest(b);
	h = (event_head){.len = (uint32_t)len, .shape = shape};
	put(b, b->end, &h, sizeof(h));
	put(b, b->end + sizeof(h), bytes, (size_t)len);
	b->end += sizeof(h) + (uint64_t)len;
	b->count++;
	Py_DECREF(packed);
	if (b->lost != lost && !b->warned)
		warn(b);
	Py_RETURN_TRUE;
}

static PyObject *join(PyObject *keys, PyObject *values)
{
	PyObject *event = PyDict_New();

	for (Py_ssize_t i = 0; event != NULL && i < PyTuple_Size(keys); i++) {
		PyObject *key = PyTuple_GetItem(keys, i), *value = PyTuple_GetItem(values, i);

		if (key == NULL || value == NULL || PyDict_SetItem(event, key, value) < 0)
			Py_CLEAR(event);
	}
	return event;
}

static PyObject *unpack(buffer *b, const event_head *h, PyObject *bytes)
{
	PyObject *packed = PyObject_CallFunctionObjArgs(b->loads, bytes, NULL), *event = NULL;

	if (packed == NULL)
		return NULL;
	if (h->shape == NO_SHAPE)
		event = join(PyTuple_GetItem(packed, 0), PyTuple_GetItem(packed, 1));
	else
		event = join(PyList_GetItem(b->shapes, h->shape), packed);
	Py_DECREF(packed);
	return event;
}

static PyObject *buffer_read_all(PyObject *self, PyObject *unused)
{
	buffer *b = (buffer *)self;
	PyObject *list = PyList_New(0);
	uint64_t at = b->begin, until = b->end;

	(void)unused;
	while (list != NULL && at < until) {
		PyObject *bytes, *event = NULL;
		event_head h;

		/* A collection of garbage may run anything: others may have stored or cleared meanwhile. */
		if (at < b->begin) {
			at = b->begin;
			continue;
		}
		get(b, at, &h, sizeof(h));
		bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)h.len);
		if (bytes != NULL && at >= b->begin) {
			get(b, at + sizeof(h), PyBytes_AsString(bytes), h.len);
			event = unpack(b, &h, bytes);
		}
		if (event == NULL || PyList_Append(list, event) < 0)
			Py_CLEAR(list);
		Py_XDECREF(event);
		Py_XDECREF(bytes);
		at += sizeof(h) + h.len;
	}
	return list;
}

static PyObject *buffer_clear(PyObject *self, PyObject *unused)
{
	buffer *b = (buffer *)self;

	(void)unused;
	b->begin = b->end;
	b->count = 0;
	madvise(b->ring, b->size, MADV_DONTNEED);
	Py_RETURN_NONE;
}

static Py_ssize_t buffer_len(PyObject *self)
{
	return (Py_ssize_t)((buffer *)self)->count;
}

static PyObject *buffer_lost(PyObject *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(((buffer *)self)->lost);
}

static PyObject *buffer_size_mb(PyObject *self, void *unused)
{
	(void)unused;
	return PyFloat_FromDouble((double)((buffer *)self)->size / (1u << 20));
}

/* ---- the type --------------------------------------------------------- */

static bool read_size(PyObject *value, double *mb)
{
	if (PyBool_Check(value) || !(PyLong_Check(value) || PyFloat_Check(value))) {
		PyErr_SetString(PyExc_TypeError, "size_mb is a number of megabytes");
		return false;
	}
	*mb = PyFloat_AsDouble(value);
	if (PyErr_Occurred())
		return false;
	if (!(*mb > 0 && *mb <= SIZE_MB_MOST)) {
		PyErr_Format(PyExc_ValueError, "size_mb is above 0 and at most %d, not %R", (int)SIZE_MB_MOST, value);
		return false;
	}
	return true;
}

static PyObject *buffer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"size_mb", NULL};
	allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	PyObject *size = NULL, *marshal;
	double mb = 100;
	buffer *b;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:TraceBuffer", names, &size) ||
	    (size != NULL && !read_size(size, &mb)))
		return NULL;
	b = (buffer *)alloc(type, 0);
	if (b == NULL)
		return NULL;
	b->size = (size_t)(mb * (1u << 20));
	b->size = b->size < SIZE_LEAST ? SIZE_LEAST : b->size;
	b->ring = mmap(NULL, b->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (b->ring == MAP_FAILED) {
		b->ring = NULL;
		Py_DECREF(b);
		return PyErr_NoMemory();
	}
	marshal = PyImport_ImportModule("marshal");
	if (marshal != NULL) {
		b->dumps = PyObject_GetAttrString(marshal, "dumps");
		b->loads = PyObject_GetAttrString(marshal, "loads");
		b->shapes = PyList_New(0);
		b->numbers = PyDict_New();
	}
	Py_XDECREF(marshal);
	if (b->dumps == NULL || b->loads == NULL || b->shapes == NULL || b->numbers == NULL) {
		Py_DECREF(b);
		return NULL;
	}
	return (PyObject *)b;
}

static void buffer_dealloc(PyObject *self)
{
	buffer *b = (buffer *)self;
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	if (b->ring != NULL)
		munmap(b->ring, b->size);
	Py_XDECREF(b->dumps);
	Py_XDECREF(b->loads);
	Py_XDECREF(b->shapes);
	Py_XDECREF(b->numbers);
	release(self);
	Py_DECREF(type);
}

static PyMethodDef methods[] = {
	{"enqueue", buffer_enqueue, METH_O,
	 PyDoc_STR("enqueue(event, /)\n--\n\nStore one event dictionary; False: it is malformed or too large.")},
	{"read_all", buffer_read_all, METH_NOARGS,
	 PyDoc_STR("read_all()\n--\n\nAll events that are kept, oldest first; they stay.")},
	{"clear", buffer_clear, METH_NOARGS, PyDoc_STR("clear()\n--\n\nForget all events; lost stays.")},
	{NULL, NULL, 0, NULL},
};

static PyGetSetDef members[] = {
	{"lost", buffer_lost, NULL, PyDoc_STR("Events that were discarded for newer ones."), NULL},
	{"size_mb", buffer_size_mb, NULL, PyDoc_STR("What it holds at most."), NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static const char about[] =
	"TraceBuffer(size_mb=100)\n--\n\n"
	"Event dictionaries in a bounded number of bytes; when it is full the oldest are discarded.\n\n"
	">>> buffer = TraceBuffer(size_mb=1)\n"
	">>> buffer.enqueue({'event_type': 'instant', 'name': 'hello', 'start_ns': 1})\n"
	"True\n"
	">>> buffer.read_all()\n"
	"[{'event_type': 'instant', 'name': 'hello', 'start_ns': 1}]\n"
	">>> len(buffer), buffer.lost\n"
	"(1, 0)\n";

PyObject *isc_trace_buffer_type(void)
{
	static PyType_Slot slots[] = {
		{Py_tp_doc, (void *)about},
		{Py_tp_new, (void *)buffer_new},
		{Py_tp_dealloc, (void *)buffer_dealloc},
		{Py_tp_methods, methods},
		{Py_tp_getset, members},
		{Py_sq_length, (void *)buffer_len},
		{0, NULL},
	};
	static PyType_Spec spec = {.name = "inferscope.TraceBuffer",
				   .basicsize = sizeof(buffer),
				   .flags = Py_TPFLAGS_DEFAULT,
				   .slots = slots};

	return PyType_FromSpec(&spec);
}

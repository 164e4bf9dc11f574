/*
 * offline_align.c - events of GPUs on the clock of the host.
 *
 * Work of a GPU is moved as the clocks say: by readings of the device's clock
 * where there are some, else by what calls and their work say of each other.
 * Times that contradict nothing stay as they are.
 */
#include <string.h>

#include "base/hashmap.h"
#include "python/offline/offline.h"
#include "timeline/gpu/clock_sync.h"
#include "timeline/gpu/record.h"
#include "trace/gpu.h"

struct align {
	isc_clock_sync *sync;
	isc_hashmap begins, ends; /* correlation -> when the call began, and when a blocking copy ended */
	uint64_t early;		  /* work before its call, as it was given */
	uint64_t work;
};

static bool number_at(PyObject *event, const char *key, int64_t *out)
{
	PyObject *value = PyDict_GetItemString(event, key);

	if (value == NULL || !PyLong_Check(value))
		return false;
	*out = PyLong_AsLongLong(value);
	if (!PyErr_Occurred())
		return true;
	PyErr_Clear();
	return false;
}

static bool time_at(PyObject *event, const char *ns, const char *us, int64_t *out)
{
	if (number_at(event, ns, out))
		return *out > INT64_MIN / 4 && *out < INT64_MAX / 4;
	if (!number_at(event, us, out) || *out < INT64_MIN / 4000 || *out > INT64_MAX / 4000)
		return false;
	*out *= 1000;
	return true;
}

static bool times_of(PyObject *event, int64_t *start, int64_t *end)
{
	if (!time_at(event, "start_ns", "start_us", start))
		return false;
	if (!time_at(event, "end_ns", "end_us", end) || *end < *start)
		*end = *start;
	return true;
}

static bool type_is(PyObject *event, enum isc_event_type wanted)
{
	PyObject *type = PyDict_GetItemString(event, "event_type");

	return type != NULL && PyUnicode_Check(type) &&
	       PyUnicode_CompareWithASCIIString(type, isc_event_type_name(wanted)) == 0;
}

static bool is_work(PyObject *event)
{
	bool found = false;

	for (unsigned job = 0; PyDict_Check(event) && job < ISC_JOB_SYNC && !found; job++)
		found = type_is(event, isc_gpu_event_type(job));
	return found;
}

static bool is_call(PyObject *event)
{
	return PyDict_Check(event) && (type_is(event, ISC_EVENT_GPU_API) || type_is(event, ISC_EVENT_GPU_SYNC));
}

/* A copy whose name does not say Async returns when it is done. */
static bool blocks(PyObject *event)
{
	PyObject *name = PyDict_GetItemString(event, "name"), *bytes;
	bool copy = false;
	char *text;
	Py_ssize_t len;

	bytes = name != NULL && PyUnicode_Check(name) ? PyUnicode_AsUTF8String(name) : NULL;
	if (bytes != NULL && PyBytes_AsStringAndSize(bytes, &text, &len) == 0)
		copy = isc_gpu_call_of(text, (size_t)len) == ISC_CALL_COPY && strstr(text, "Async") == NULL;
	PyErr_Clear();
	Py_XDECREF(bytes);
	return copy;
}

static bool take_readings(struct align *a, PyObject *readings)
{
	for (Py_ssize_t i = 0; i < PyList_Size(readings); i++) {
		long long before, device, after;
		isc_clock_triple triple;

		if (!PyArg_ParseTuple(PyList_GetItem(readings, i), "LLL;a reading is (before_ns, device_ns, after_ns)",
				      &before, &device, &after))
			return false;
		triple = (isc_clock_triple){before, device, after};
		if (!isc_clock_sync_read(a->sync, &triple)) {
			PyErr_NoMemory();
			return false;
		}
	}
	return true;
}

static bool take_call(struct align *a, PyObject *event)
{
	int64_t start, end, correlation;
	uint64_t *place;

	if (!times_of(event, &start, &end) || !number_at(event, "correlation", &correlation) || correlation == 0)
		return true;
	place = isc_hashmap_put(&a->begins, (uint64_t)correlation, NULL);
	if (place == NULL)
		return false;
	*place = (uint64_t)start;
	if (!blocks(event))
		return true;
	place = isc_hashmap_put(&a->ends, (uint64_t)correlation, NULL);
	if (place == NULL)
		return false;
	*place = (uint64_t)end;
	return true;
}

static bool compare(struct align *a, PyObject *event)
{
	int64_t start, end, correlation = 0;
	uint64_t *begin, *done;

	a->work++;
	if (!times_of(event, &start, &end) || !number_at(event, "correlation", &correlation))
		return true;
	begin = isc_hashmap_find(&a->begins, (uint64_t)correlation);
	done = isc_hashmap_find(&a->ends, (uint64_t)correlation);
	if (begin != NULL) {
		a->early += start < (int64_t)*begin;
		if (!isc_clock_sync_asked(a->sync, (int64_t)*begin, start))
			return false;
	}
	if (done != NULL && type_is(event, ISC_EVENT_D2H_COPY)) {
		a->early += end > (int64_t)*done;
		return isc_clock_sync_waited(a->sync, (int64_t)*done, end);
	}
	return true;
}

static bool gather(struct align *a, PyObject *events)
{
	bool enough = true;

	for (Py_ssize_t i = 0; enough && i < PyList_Size(events); i++) {
		if (is_call(PyList_GetItem(events, i)))
			enough = take_call(a, PyList_GetItem(events, i));
	}
	for (Py_ssize_t i = 0; enough && i < PyList_Size(events); i++) {
		if (is_work(PyList_GetItem(events, i)))
			enough = compare(a, PyList_GetItem(events, i));
	}
	if (!enough)
		PyErr_NoMemory();
	return enough;
}

static bool put(PyObject *dict, const char *key, int64_t value)
{
	PyObject *number = PyLong_FromLongLong(value);
	bool good = number != NULL && PyDict_SetItemString(dict, key, number) == 0;

	Py_XDECREF(number);
	return good;
}

/* A copy on the clock of the host; a new reference. */
static PyObject *moved(struct align *a, PyObject *event, bool keep)
{
	int64_t start, end, error = isc_clock_sync_stats(a->sync)->error_ns, correlation = 0;
	isc_clock_range known = ISC_CLOCK_ANY;
	PyObject *copy = PyDict_Copy(event);
	uint64_t *begin = NULL;

	if (copy == NULL || !times_of(event, &start, &end))
		return copy;
	if (number_at(event, "correlation", &correlation))
		begin = isc_hashmap_find(&a->begins, (uint64_t)correlation);
	if (begin != NULL)
		known.not_before_ns = (int64_t)*begin;
	if (!keep)
		isc_clock_sync_place(a->sync, known, &start, &end, &error);
	if (put(copy, "start_ns", start) && put(copy, "end_ns", end) && put(copy, "start_us", start / 1000) &&
	    put(copy, "end_us", end / 1000) && put(copy, "clock_error_ns", error))
		return copy;
	Py_DECREF(copy);
	return NULL;
}

static PyObject *move_all(struct align *a, PyObject *events, bool keep)
{
	PyObject *out = PyList_New(0);

	for (Py_ssize_t i = 0; out != NULL && i < PyList_Size(events); i++) {
		PyObject *event = PyList_GetItem(events, i), *taken = event;

		if (is_work(event))
			taken = moved(a, event, keep);
		else
			Py_INCREF(taken);
		if (taken == NULL || PyList_Append(out, taken) < 0)
			Py_CLEAR(out);
		Py_XDECREF(taken);
	}
	return out;
}

PyObject *isc_offline_align(PyObject *module, PyObject *args)
{
	struct align a = {0};
	PyObject *events, *readings, *out = NULL, *result = NULL;
	const isc_clock_stats *stats;
	double margin_us;
	bool keep;

	(void)module;
	if (!PyArg_ParseTuple(args, "O!O!d:align", &PyList_Type, &events, &PyList_Type, &readings, &margin_us))
		return NULL;
	if (isc_clock_sync_new(&a.sync, NULL) != ISC_OK)
		return PyErr_NoMemory();
	if (take_readings(&a, readings) && gather(&a, events)) {
		margin_us = margin_us >= 0 && margin_us < 1e12 ? margin_us : 1000;
		if (isc_clock_sync_fit(a.sync, (int64_t)(margin_us * 1e3))) {
			stats = isc_clock_sync_stats(a.sync);
			/* Nothing was read and nothing speaks against the times. */
			keep = stats->method != ISC_CLOCK_DIRECT && a.early == 0;
			out = move_all(&a, events, keep);
			if (out != NULL)
				result = Py_BuildValue(
					"(N{ss sd sK sK sn})", out, "method", isc_clock_method_name(stats->method),
					"error_bound_us", (double)stats->error_ns / 1e3, "causality_fixes",
					(unsigned long long)stats->fixes, "work", (unsigned long long)a.work, "jumps",
					(Py_ssize_t)(stats->segments > 0 ? stats->segments - 1 : 0));
		} else {
			PyErr_NoMemory();
		}
	}
	isc_clock_sync_free(a.sync);
	isc_hashmap_fini(&a.begins);
	isc_hashmap_fini(&a.ends);
	return result;
}

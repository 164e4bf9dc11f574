/*
 * offline_gpu.c - what only events of GPUs have, for their dictionaries.
 */
#include <string.h>

#include "python/offline/offline.h"
#include "trace/gpu.h"

/* Takes the value, of NULL too. */
static bool put(PyObject *event, const char *key, PyObject *value)
{
	bool good = value != NULL && PyDict_SetItemString(event, key, value) == 0;

	Py_XDECREF(value);
	return good;
}

static PyObject *none(void)
{
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *sides(const uint32_t side[3])
{
	return side[0] != 0 ? Py_BuildValue("[III]", side[0], side[1], side[2]) : none();
}

static PyObject *pageable(unsigned page)
{
	return page == ISC_PAGE_UNKNOWN ? none() : PyBool_FromLong(page == ISC_PAGE_PAGEABLE);
}

static PyObject *correlation(uint64_t number)
{
	return PyLong_FromUnsignedLongLong(number);
}

static bool add_work(const isc_piece *span, const isc_gpu_work *w, PyObject *event)
{
	unsigned job = ISC_GPU_ARG_WHAT(span->arg);

	if (!put(event, "stream", PyLong_FromUnsignedLongLong(w->stream)) ||
	    !put(event, "correlation", correlation(w->correlation)))
		return false;
	if (job == ISC_JOB_KERNEL)
		return put(event, "grid_dim", sides(w->grid)) && put(event, "block_dim", sides(w->block));
	if (job == ISC_JOB_SYNC || job == ISC_JOB_IDLE)
		return true;
	return put(event, "bytes", PyLong_FromUnsignedLongLong(w->bytes)) &&
	       put(event, "pageable", pageable(ISC_GPU_ARG_PAGE(span->arg)));
}

bool isc_event_add_gpu(const isc_excerpt *spans, const isc_piece *span, PyObject *event)
{
	const char *extra = spans->extra.data + span->extra;
	isc_gpu_called c;
	isc_gpu_work w;

	if (!put(event, "device_id",
		 span->device != ISC_PIECE_NO_DEVICE ? PyLong_FromUnsignedLong(span->device) : none()))
		return false;
	if (span->kind == ISC_KIND_GPU_WORK && span->extra_len >= sizeof(w)) {
		memcpy(&w, extra, sizeof(w));
		return add_work(span, &w, event);
	}
	if (span->kind == ISC_KIND_GPU_CALL && span->extra_len >= sizeof(c)) {
		memcpy(&c, extra, sizeof(c));
		return put(event, "correlation", correlation(c.correlation)) &&
		       (c.tid == 0 || put(event, "thread_id", PyLong_FromUnsignedLong(c.tid)));
	}
	return true;
}

/* mark.c - mark_event() and counter() of the Python package. */
#include "inferscope/mark.h"

#include "python/scope.h"

const char isc_mark_event_doc[] = "mark_event(name, metadata=None)\n--\n\n"
				  "A moment worth remembering, with a JSON-able dict if you like.\n\n"
				  ">>> mark_event(\"first token\", {\"request\": 7})\n\n"
				  "Metadata that is no JSON, or too long (4 KB), is left out and the event says so.";
const char isc_mark_counter_doc[] = "counter(name, value)\n--\n\n"
				    "A sample of a value that changes over time.\n\n"
				    ">>> counter(\"queue length\", 3)";

/* Asked for while a session records: that makes room for events. */
static const isc_mark_api *api(void)
{
	static _Atomic(const isc_mark_api *) found;
	const isc_mark_api *known = atomic_load_explicit(&found, memory_order_relaxed);

	if (known == NULL) {
		known = isc_rt_mark_api(ISC_MARK_API_VERSION);
		atomic_store_explicit(&found, known, memory_order_relaxed);
	}
	return known;
}

/* Two arguments by place or name; the second may be missing if it has a default. */
static bool take(const char *what, const char *second, PyObject *const *args, Py_ssize_t n, PyObject *names,
		 PyObject *out[2])
{
	const char *const keys[] = {"name", second};
	Py_ssize_t more = names != NULL ? PyTuple_GET_SIZE(names) : 0;

	if (n > 2) {
		PyErr_Format(PyExc_TypeError, "%s() takes 2 arguments, %zd were given", what, n);
		return false;
	}
	for (Py_ssize_t i = 0; i < n; i++)
		out[i] = args[i];
	for (Py_ssize_t i = 0; i < more; i++) {
		PyObject *key = PyTuple_GET_ITEM(names, i);
		int k = PyUnicode_CompareWithASCIIString(key, keys[0]) == 0   ? 0
			: PyUnicode_CompareWithASCIIString(key, keys[1]) == 0 ? 1
									      : 2;

		if (k == 2 || out[k] != NULL) {
			PyErr_Format(PyExc_TypeError, "%s() %s '%U'", what,
				     k == 2 ? "has no argument" : "got two values for", key);
			return false;
		}
		out[k] = args[n + i];
	}
	if (out[0] == NULL || out[1] == NULL) {
		PyErr_Format(PyExc_TypeError, "%s() lacks the argument '%s'", what, keys[out[0] != NULL]);
		return false;
	}
	if (!PyUnicode_Check(out[0])) {
		PyErr_Format(PyExc_TypeError, "%s(): the name must be a str, not %.100s", what,
			     Py_TYPE(out[0])->tp_name);
		return false;
	}
	return true;
}

/* As bytes with a NUL at the end; NULL: an exception is set. */
static PyObject *text_of(PyObject *str)
{
	return PyUnicode_AsEncodedString(str, "utf-8", "backslashreplace");
}

/* Strict JSON; NULL: it is none, and an exception is set. */
static PyObject *json_of(PyObject *metadata)
{
	PyObject *json = PyImport_ImportModule("json"), *dumps, *text = NULL, *args, *options, *bytes;

	dumps = json != NULL ? PyObject_GetAttrString(json, "dumps") : NULL;
	args = Py_BuildValue("(O)", metadata);
	options = Py_BuildValue("{s:O,s:(ss)}", "allow_nan", Py_False, "separators", ",", ":");
	if (dumps != NULL && args != NULL && options != NULL)
		text = PyObject_Call(dumps, args, options);
	bytes = text != NULL && PyUnicode_Check(text) ? text_of(text) : NULL;
	Py_XDECREF(text);
	Py_XDECREF(options);
	Py_XDECREF(args);
	Py_XDECREF(dumps);
	Py_XDECREF(json);
	return bytes;
}

static void write_event(PyObject *str, PyObject *metadata)
{
	PyObject *name = text_of(str), *json = NULL;

	if (name != NULL && metadata != Py_None)
		json = json_of(metadata);
	if (name == NULL) {
		PyErr_Clear();
		return;
	}
	if (json != NULL || metadata == Py_None) {
		api()->instant(PyBytes_AS_STRING(name), json != NULL ? PyBytes_AS_STRING(json) : NULL);
	} else {
		/* What works without a session works with one: the event stays, and says what it lacks. */
		PyErr_Clear();
		isc_rt_write1(isc_rt_ticks(), ISC_RECORD_WORD(isc_scope_name(str), ISC_KIND_INSTANT, 1));
	}
	Py_XDECREF(json);
	Py_DECREF(name);
}

PyObject *isc_mark_event(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
	PyObject *given[2] = {NULL, NULL};
	Py_ssize_t more = names != NULL ? PyTuple_GET_SIZE(names) : 0;

	(void)module;
	if (n + more == 1)
		given[1] = Py_None;
	if (!take("mark_event", "metadata", args, n, names, given))
		return NULL;
	if (given[1] != Py_None && !PyDict_Check(given[1]))
		return PyErr_Format(PyExc_TypeError, "mark_event(): metadata must be a dict or None, not %.100s",
				    Py_TYPE(given[1])->tp_name);
	if (isc_rt_active())
		write_event(given[0], given[1]);
	Py_RETURN_NONE;
}

static bool is_number(PyObject *value)
{
	const PyNumberMethods *m = Py_TYPE(value)->tp_as_number;

	return PyFloat_Check(value) || (m != NULL && (m->nb_float != NULL || m->nb_index != NULL));
}

PyObject *isc_mark_counter(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names)
{
	PyObject *given[2] = {NULL, NULL}, *text;
	double value;

	(void)module;
	if (!take("counter", "value", args, n, names, given))
		return NULL;
	if (!is_number(given[1]))
		return PyErr_Format(PyExc_TypeError, "counter(): the value must be a number, not %.100s",
				    Py_TYPE(given[1])->tp_name);
	if (!isc_rt_active())
		Py_RETURN_NONE;
	value = PyFloat_AsDouble(given[1]);
	text = PyErr_Occurred() == NULL ? text_of(given[0]) : NULL;
	/* A number that is too large, or does not want to be told, is no sample. */
	if (text == NULL)
		PyErr_Clear();
	else
		api()->counter(PyBytes_AS_STRING(text), value);
	Py_XDECREF(text);
	Py_RETURN_NONE;
}

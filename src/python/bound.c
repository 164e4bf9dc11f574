#include "python/bound.h"

#include <stddef.h>
#include <structmember.h>

/* What stands in the type. */
struct method {
	PyObject_HEAD vectorcallfunc call; /* as scope.__enter__(s) */
	isc_bound_kit *kit;
	const PyTypeObject *of; /* not held: it holds us */
	isc_bound_run run;
	const char *name, *doc;
};

struct bound {
	PyObject_HEAD vectorcallfunc call;
	struct method *method;
	PyObject *self;
};

static PyObject *no_keywords(const struct method *m)
{
	return PyErr_Format(PyExc_TypeError, "%s() takes no keyword arguments", m->name);
}

static PyObject *wrong_type(const struct method *m, PyObject *got)
{
	return PyErr_Format(PyExc_TypeError, "%s() needs a '%.100s' object, not '%.100s'", m->name, m->of->tp_name,
			    got != NULL ? Py_TYPE(got)->tp_name : "nothing");
}

/* ---- bound ---- */

static PyObject *call_bound(PyObject *op, PyObject *const *args, size_t flags, PyObject *names)
{
	const struct bound *b = (struct bound *)op;

	if (names != NULL && PyTuple_GET_SIZE(names) > 0)
		return no_keywords(b->method);
	return b->method->run(b->self, args, PyVectorcall_NARGS(flags));
}

static void drop_bound(PyObject *op)
{
	PyTypeObject *type = Py_TYPE(op);

	PyObject_Free(op);
	Py_DECREF(type);
}

static void bound_dealloc(PyObject *op)
{
	struct bound *b = (struct bound *)op;
	struct method *m = b->method;
	PyObject *self = b->self;
	isc_bound_kit *kit = m->kit;

	if (kit->spares < ISC_BOUND_SPARES && !kit->ended)
		kit->spare[kit->spares++] = op;
	else
		drop_bound(op);
	/* Last, as they may bring others here. */
	Py_DECREF(m);
	Py_DECREF(self);
}

static PyObject *bound_repr(PyObject *op)
{
	const struct bound *b = (struct bound *)op;

	return PyUnicode_FromFormat("<method '%s' of %R>", b->method->name, b->self);
}

static PyObject *bound_name(PyObject *op, void *unused)
{
	(void)unused;
	return PyUnicode_FromString(((struct bound *)op)->method->name);
}

static PyObject *bound_doc(PyObject *op, void *unused)
{
	(void)unused;
	return PyUnicode_FromString(((struct bound *)op)->method->doc);
}

static PyGetSetDef bound_getset[] = {
	{"__name__", bound_name, NULL, NULL, NULL},
	{"__doc__", bound_doc, NULL, NULL, NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef bound_members[] = {
	{"__vectorcalloffset__", T_PYSSIZET, offsetof(struct bound, call), READONLY, NULL},
	{"__self__", T_OBJECT, offsetof(struct bound, self), READONLY, NULL},
	{NULL, 0, 0, 0, NULL},
};

static PyType_Slot bound_slots[] = {
	{Py_tp_dealloc, bound_dealloc}, {Py_tp_repr, bound_repr},	{Py_tp_call, PyVectorcall_Call},
	{Py_tp_getset, bound_getset},	{Py_tp_members, bound_members}, {0, NULL},
};

static PyType_Spec bound_spec = {
	.name = "inferscope._core._bound",
	.basicsize = sizeof(struct bound),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
	.slots = bound_slots,
};

/* ---- method ---- */

static PyObject *bind(PyObject *op, PyObject *self, PyObject *type)
{
	struct method *m = (struct method *)op;
	isc_bound_kit *kit = m->kit;
	struct bound *b;

	(void)type;
	if (self == NULL || self == Py_None) {
		Py_INCREF(op);
		return op;
	}
	if (Py_TYPE(self) != m->of)
		return wrong_type(m, self);
	if (kit->spares > 0) {
		b = (struct bound *)kit->spare[--kit->spares];
		_Py_NewReference((PyObject *)b); /* its type is counted still */
	} else {
		b = PyObject_New(struct bound, kit->bound);
		if (b == NULL)
			return NULL;
		b->call = call_bound;
	}
	Py_INCREF(m);
	Py_INCREF(self);
	b->method = m;
	b->self = self;
	return (PyObject *)b;
}

static PyObject *call_method(PyObject *op, PyObject *const *args, size_t flags, PyObject *names)
{
	const struct method *m = (struct method *)op;
	Py_ssize_t n = PyVectorcall_NARGS(flags);

	if (names != NULL && PyTuple_GET_SIZE(names) > 0)
		return no_keywords(m);
	if (n < 1 || Py_TYPE(args[0]) != m->of)
		return wrong_type(m, n < 1 ? NULL : args[0]);
	return m->run(args[0], args + 1, n - 1);
}

static void method_dealloc(PyObject *op)
{
	drop_bound(op);
}

static PyObject *method_repr(PyObject *op)
{
	const struct method *m = (struct method *)op;

	return PyUnicode_FromFormat("<method '%s' of '%s' objects>", m->name, m->of->tp_name);
}

static PyMemberDef method_members[] = {
	{"__vectorcalloffset__", T_PYSSIZET, offsetof(struct method, call), READONLY, NULL},
	{"__name__", T_STRING, offsetof(struct method, name), READONLY, NULL},
	{"__doc__", T_STRING, offsetof(struct method, doc), READONLY, NULL},
	{NULL, 0, 0, 0, NULL},
};

static PyType_Slot method_slots[] = {
	{Py_tp_dealloc, method_dealloc}, {Py_tp_repr, method_repr},	  {Py_tp_call, PyVectorcall_Call},
	{Py_tp_descr_get, bind},	 {Py_tp_members, method_members}, {0, NULL},
};

static PyType_Spec method_spec = {
	.name = "inferscope._core._method",
	.basicsize = sizeof(struct method),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
	.slots = method_slots,
};

/* ---- one kit for each interpreter ---- */

int isc_bound_init(isc_bound_kit *kit)
{
	*kit = (isc_bound_kit){0};
	kit->method = (PyTypeObject *)PyType_FromSpec(&method_spec);
	kit->bound = kit->method != NULL ? (PyTypeObject *)PyType_FromSpec(&bound_spec) : NULL;
	if (kit->bound == NULL) {
		Py_CLEAR(kit->method);
		return -1;
	}
	kit->method->tp_new = NULL; /* only made here */
	kit->bound->tp_new = NULL;
	return 0;
}

void isc_bound_fini(isc_bound_kit *kit)
{
	kit->ended = 1;
	while (kit->spares > 0)
		drop_bound(kit->spare[--kit->spares]);
	Py_CLEAR(kit->method); /* the other type stays, for whoever binds still */
}

int isc_bound_add(isc_bound_kit *kit, PyTypeObject *type, const char *name, const char *doc, isc_bound_run run)
{
	struct method *m = PyObject_New(struct method, kit->method);
	int failed;

	if (m == NULL)
		return -1;
	m->call = call_method;
	m->kit = kit;
	m->of = type;
	m->run = run;
	m->name = name;
	m->doc = doc;
	failed = PyObject_SetAttrString((PyObject *)type, name, (PyObject *)m);
	Py_DECREF(m);
	return failed;
}

#include "python/scope.h"

#include "python/bound.h"
#include "python/budget/gate.h"
#include "python/budget/startup.h"

#include <stdatomic.h>
#include <stddef.h>
#include <structmember.h>

/* What each interpreter has its own of.  Never freed: there are few. */
struct scope;

struct kit {
	_Atomic(PyTypeObject *) scope; /* NULL: its interpreter is gone */
	PyTypeObject *entry;
	PyObject *current;    /* ContextVar: the innermost entry */
	struct scope *ranges; /* stands for all that are not of a scope() */
	isc_bound_kit methods;
	struct kit *next;
};

static _Atomic(struct kit *) kits;
static struct kit *main_kit;

/* One time that a scope is entered while a session records.  A context holds its
 * innermost one, which holds those around it. */
struct scope_entry {
	PyObject_HEAD struct scope_entry *around;
	struct scope *scope;
	struct scope_entry *newer, *older; /* borrowed: of the same scope, as long as they are open */
	isc_rt_span span;
	const PyObject *owner; /* of a range: who has entered it; not held, compared only */
	uint64_t unseen;       /* of the scope, when this one was entered */
	bool open;
};

struct scope {
	PyObject_HEAD PyObject *name;
	struct kit *kit;
	struct scope_entry *latest; /* open; borrowed */
	uint64_t unseen;	    /* entered while nothing recorded, and not left */
	uint32_t id;		    /* of the name; 0: not defined yet */
};

static uint32_t name_by(PyObject *str, uint32_t (*label)(const char *, size_t))
{
	PyObject *type, *value, *traceback, *bytes;
	uint32_t id = 0;

	if (PyUnicode_IS_COMPACT_ASCII(str))
		return label((const char *)PyUnicode_1BYTE_DATA(str), (size_t)PyUnicode_GET_LENGTH(str));
	PyErr_Fetch(&type, &value, &traceback);
	bytes = PyUnicode_AsEncodedString(str, "utf-8", "backslashreplace");
	if (bytes != NULL)
		id = label(PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
	Py_XDECREF(bytes);
	PyErr_Restore(type, value, traceback);
	return id;
}

uint32_t isc_scope_name(PyObject *str)
{
	return name_by(str, isc_rt_label);
}

uint32_t isc_scope_thread_name(PyObject *str)
{
	return name_by(str, isc_rt_thread_label);
}

/* ---- entries ---- */

static void unlink_entry(struct scope_entry *e)
{
	if (!e->open)
		return;
	e->open = false;
	if (e->newer != NULL)
		e->newer->older = e->older;
	else
		e->scope->latest = e->older;
	if (e->older != NULL)
		e->older->newer = e->newer;
}

/* A loop, as there may be more of them around each other than the stack has room for. */
static void entry_dealloc(PyObject *op)
{
	struct scope_entry *e = (struct scope_entry *)op, *around;

	for (; e != NULL; e = around) {
		PyTypeObject *type = Py_TYPE(e);

		around = e->around;
		unlink_entry(e);
		Py_DECREF(e->scope);
		PyObject_Free(e);
		Py_DECREF(type);
		if (around != NULL && Py_REFCNT(around) > 1) {
			Py_DECREF(around);
			around = NULL;
		}
	}
}

static PyType_Slot entry_slots[] = {{Py_tp_dealloc, entry_dealloc}, {0, NULL}};
static PyType_Spec entry_spec = {
	.name = "inferscope._core._entry",
	.basicsize = sizeof(struct scope_entry),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = entry_slots,
};

/* The innermost entry of this context, a new reference; NULL: none. */
static struct scope_entry *current_of(const struct kit *kit)
{
	PyObject *found = NULL;

	if (PyContextVar_Get(kit->current, NULL, &found) < 0) {
		PyErr_Clear();
		return NULL;
	}
	/* The program can find the variable in its context, and put there what it likes. */
	if (found != NULL && Py_TYPE(found) != kit->entry)
		Py_CLEAR(found);
	return (struct scope_entry *)found;
}

static struct scope_entry *open_one(struct scope_entry *e)
{
	while (e != NULL && !e->open)
		e = e->around;
	return e;
}

static void make_current(const struct kit *kit, struct scope_entry *e)
{
	PyObject *token = PyContextVar_Set(kit->current, (PyObject *)e);

	if (token == NULL)
		PyErr_Clear();
	Py_XDECREF(token);
}

/* ---- scopes ---- */

/* False: no memory, or nothing records any more. */
static bool enter_as(struct scope *s, uint32_t name, const PyObject *owner)
{
	struct kit *kit = s->kit;
	struct scope_entry *current, *around, *e = PyObject_New(struct scope_entry, kit->entry);
	bool seen;

	if (e == NULL) {
		PyErr_Clear();
		return false;
	}
	current = current_of(kit);
	around = open_one(current);
	Py_XINCREF(around);
	Py_XDECREF(current);
	Py_INCREF(s);
	e->scope = s;
	e->owner = owner;
	e->around = around;
	e->unseen = s->unseen;
	e->open = true;
	e->newer = NULL;
	e->older = s->latest;
	if (e->older != NULL)
		e->older->newer = e;
	s->latest = e;
	isc_startup_over(ISC_STARTUP_SCOPE);
	/* Calls are traced in the main interpreter alone. */
	if (around == NULL && kit == main_kit)
		isc_gate_unit(ISC_GATE_SCOPE);
	seen = isc_rt_span_enter(&e->span, name, around != NULL ? around->span.instance : 0);
	if (seen)
		make_current(kit, e);
	else
		unlink_entry(e);
	/* Held by the context; where that could not be, the exit finds none. */
	Py_DECREF(e);
	return seen;
}

__attribute__((noinline)) static void enter_seen(struct scope *s)
{
	uint32_t id = s->id != 0 ? s->id : isc_scope_name(s->name);

	/* Among the rest for now; there may be room the next time. */
	if (!isc_rt_is_rest(id))
		s->id = id;
	if (!enter_as(s, id, NULL))
		s->unseen++;
}

static PyObject *scope_enter(PyObject *op, PyObject *const *args, Py_ssize_t n)
{
	struct scope *s = (struct scope *)op;

	(void)args;
	if (n > 0)
		return PyErr_Format(PyExc_TypeError, "__enter__() takes no arguments (%zd given)", n);
	if (isc_rt_active())
		enter_seen(s);
	else
		s->unseen++;
	Py_INCREF(op);
	return op;
}

/* The entry that an exit in this context is for: its innermost of this scope and
 * owner, else the latest, entered elsewhere.  A new reference; NULL: there is none. */
static struct scope_entry *entry_to_leave(struct scope *s, const PyObject *owner)
{
	struct scope_entry *current = current_of(s->kit), *e = current;

	while (e != NULL && (!e->open || e->scope != s || e->owner != owner))
		e = e->around;
	if (e == NULL)
		for (e = s->latest; e != NULL && e->owner != owner; e = e->older)
			;
	if (e != current) {
		Py_XINCREF(e);
		Py_XDECREF(current);
	}
	return e;
}

/* The context keeps the entry, closed, until its next one: to set a variable costs
 * more than all the rest here. */
__attribute__((noinline)) static void exit_seen(struct scope *s)
{
	struct scope_entry *e = entry_to_leave(s, NULL);

	if (s->unseen > e->unseen) {
		s->unseen--; /* entered later than that one, while nothing recorded */
	} else {
		isc_rt_span_exit(&e->span);
		unlink_entry(e);
	}
	Py_DECREF(e);
}

static PyObject *scope_exit(PyObject *op, PyObject *const *args, Py_ssize_t n)
{
	struct scope *s = (struct scope *)op;

	(void)args;
	(void)n;
	if (s->latest != NULL)
		exit_seen(s);
	else if (s->unseen > 0)
		s->unseen--;
	Py_RETURN_NONE;
}

void isc_scope_range_enter(PyObject *owner)
{
	static PyObject *key;
	PyObject *name;

	if (!isc_rt_active() || main_kit == NULL)
		return;
	if (key == NULL)
		key = PyUnicode_InternFromString("name");
	name = key != NULL ? PyObject_GetAttr(owner, key) : NULL;
	if (name == NULL)
		PyErr_Clear();
	else if (PyUnicode_Check(name))
		enter_as(main_kit->ranges, isc_scope_name(name), owner);
	Py_XDECREF(name);
}

void isc_scope_range_exit(PyObject *owner)
{
	struct scope_entry *e;

	if (main_kit == NULL || main_kit->ranges->latest == NULL)
		return;
	e = entry_to_leave(main_kit->ranges, owner);
	if (e == NULL)
		return;
	isc_rt_span_exit(&e->span);
	unlink_entry(e);
	Py_DECREF(e);
}

/* Functions that stand for others are Python's business: they must be functions. */
static PyObject *scope_call(PyObject *op, PyObject *args, PyObject *names)
{
	PyObject *function, *module, *decorated;

	if (names != NULL && PyDict_GET_SIZE(names) > 0) {
		PyErr_SetString(PyExc_TypeError, "a scope decorates a function and takes no keyword arguments");
		return NULL;
	}
	if (!PyArg_ParseTuple(args, "O:scope", &function))
		return NULL;
	module = PyImport_ImportModule("inferscope._scoped");
	if (module == NULL)
		return NULL;
	decorated = PyObject_CallMethod(module, "scoped", "OO", op, function);
	Py_DECREF(module);
	return decorated;
}

static struct kit *kit_of(PyTypeObject *type)
{
	struct kit *kit = atomic_load_explicit(&kits, memory_order_acquire);

	while (kit != NULL && atomic_load_explicit(&kit->scope, memory_order_relaxed) != type)
		kit = kit->next;
	return kit;
}

static struct scope *new_scope(PyTypeObject *type, struct kit *kit, PyObject *name)
{
	struct scope *s = PyObject_New(struct scope, type);

	if (s == NULL)
		return NULL;
	Py_XINCREF(name);
	s->name = name;
	s->kit = kit;
	s->latest = NULL;
	s->unseen = 0;
	s->id = 0;
	return s;
}

static PyObject *make(PyTypeObject *type, PyObject *name)
{
	struct kit *kit = kit_of(type);

	if (!PyUnicode_Check(name)) {
		PyErr_Format(PyExc_TypeError, "the name of a scope must be a str, not %.100s", Py_TYPE(name)->tp_name);
		return NULL;
	}
	if (kit == NULL) {
		PyErr_SetString(PyExc_RuntimeError, "the interpreter of this scope has ended");
		return NULL;
	}
	return (PyObject *)new_scope(type, kit, name);
}

static PyObject *scope_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
	static char *keys[] = {"name", NULL};
	PyObject *name;

	return PyArg_ParseTupleAndKeywords(args, names, "O:scope", keys, &name) ? make(type, name) : NULL;
}

/* scope("name"), the usual way, without a tuple. */
static PyObject *scope_vectorcall(PyObject *type, PyObject *const *args, size_t flags, PyObject *names)
{
	PyObject *tuple, *dict, *made;
	Py_ssize_t n = PyVectorcall_NARGS(flags);

	if (n == 1 && names == NULL)
		return make((PyTypeObject *)type, args[0]);
	tuple = PyTuple_New(n);
	dict = tuple != NULL ? PyDict_New() : NULL;
	for (Py_ssize_t i = 0; dict != NULL && i < n; i++) {
		Py_INCREF(args[i]);
		PyTuple_SET_ITEM(tuple, i, args[i]);
	}
	for (Py_ssize_t i = 0; dict != NULL && names != NULL && i < PyTuple_GET_SIZE(names); i++) {
		if (PyDict_SetItem(dict, PyTuple_GET_ITEM(names, i), args[n + i]) < 0)
			Py_CLEAR(dict);
	}
	made = dict != NULL ? scope_new((PyTypeObject *)type, tuple, dict) : NULL;
	Py_XDECREF(tuple);
	Py_XDECREF(dict);
	return made;
}

static void scope_dealloc(PyObject *op)
{
	PyTypeObject *type = Py_TYPE(op);

	Py_XDECREF(((struct scope *)op)->name);
	PyObject_Free(op);
	Py_DECREF(type);
}

static PyObject *scope_repr(PyObject *op)
{
	return PyUnicode_FromFormat("scope(%R)", ((struct scope *)op)->name);
}

PyDoc_STRVAR(scope_doc, "scope(name)\n--\n\n"
			"A part of the program whose time is wanted: a context manager and a decorator.\n\n"
			">>> with scope(\"request\"):\n"
			"...     answer = 42\n"
			">>> @scope(\"decode\")\n"
			"... def decode(token):\n"
			"...     return token\n"
			">>> decode(7)\n"
			"7\n\n"
			"It nests, may be used again and in many tasks and threads at once, never swallows an\n"
			"exception, and costs next to nothing when no session records.");

static const char enter_doc[] = "Enter the scope; returns it.";
static const char exit_doc[] = "Leave the scope; never swallows an exception.";

static PyMemberDef scope_members[] = {
	{"name", T_OBJECT, offsetof(struct scope, name), READONLY, PyDoc_STR("What it is called.")},
	{NULL, 0, 0, 0, NULL},
};

static PyType_Slot scope_slots[] = {
	{Py_tp_dealloc, scope_dealloc},
	{Py_tp_repr, scope_repr},
	{Py_tp_call, scope_call},
	{Py_tp_new, scope_new},
	{Py_tp_members, scope_members},
	{Py_tp_doc, (void *)scope_doc},
	{0, NULL},
};

static PyType_Spec scope_spec = {
	.name = "inferscope.scope",
	.basicsize = sizeof(struct scope),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = scope_slots,
};

/* ---- one kit for each interpreter ---- */

#define KIT_NAME "inferscope._core.kit"

/* The interpreter goes: its type may be another's address soon. */
static void forget_kit(PyObject *capsule)
{
	struct kit *kit = PyCapsule_GetPointer(capsule, KIT_NAME);
	PyTypeObject *scope;

	if (kit == NULL)
		return;
	if (kit == main_kit)
		main_kit = NULL;
	scope = atomic_exchange(&kit->scope, NULL);
	Py_CLEAR(kit->ranges); /* its entries hold it */
	isc_bound_fini(&kit->methods);
	Py_XDECREF(scope);
}

static struct kit *new_kit(void)
{
	struct kit *kit = PyMem_RawCalloc(1, sizeof(*kit));
	PyTypeObject *scope;

	if (kit == NULL) {
		PyErr_NoMemory();
		return NULL;
	}
	scope = (PyTypeObject *)PyType_FromSpec(&scope_spec);
	kit->entry = scope != NULL ? (PyTypeObject *)PyType_FromSpec(&entry_spec) : NULL;
	kit->current = kit->entry != NULL ? PyContextVar_New("inferscope.scope", NULL) : NULL;
	kit->ranges = kit->current != NULL ? new_scope(scope, kit, NULL) : NULL;
	if (kit->ranges == NULL || isc_bound_init(&kit->methods) < 0 ||
	    isc_bound_add(&kit->methods, scope, "__enter__", enter_doc, scope_enter) < 0 ||
	    isc_bound_add(&kit->methods, scope, "__exit__", exit_doc, scope_exit) < 0) {
		Py_XDECREF(kit->ranges);
		Py_XDECREF(kit->current);
		Py_XDECREF(kit->entry);
		Py_XDECREF(scope);
		isc_bound_fini(&kit->methods);
		PyMem_RawFree(kit);
		return NULL;
	}
	kit->entry->tp_new = NULL; /* only made here */
	scope->tp_vectorcall = scope_vectorcall;
	atomic_store(&kit->scope, scope);
	if (PyInterpreterState_Get() == PyInterpreterState_Main())
		main_kit = kit;
	kit->next = atomic_load(&kits);
	while (!atomic_compare_exchange_weak(&kits, &kit->next, kit))
		;
	return kit;
}

int isc_scope_add(PyObject *module)
{
	PyObject *dict = PyInterpreterState_GetDict(PyInterpreterState_Get()), *capsule, *scope;
	struct kit *kit;

	if (dict == NULL) {
		PyErr_SetString(PyExc_ImportError, "the interpreter has no dictionary for extension modules");
		return -1;
	}
	capsule = PyDict_GetItemString(dict, KIT_NAME);
	if (capsule != NULL) {
		kit = PyCapsule_GetPointer(capsule, KIT_NAME);
	} else {
		kit = new_kit();
		capsule = kit != NULL ? PyCapsule_New(kit, KIT_NAME, forget_kit) : NULL;
		if (capsule == NULL || PyDict_SetItemString(dict, KIT_NAME, capsule) < 0) {
			Py_XDECREF(capsule);
			return -1;
		}
		Py_DECREF(capsule);
	}
	scope = kit != NULL ? (PyObject *)atomic_load(&kit->scope) : NULL;
	if (scope == NULL)
		return -1;
	Py_INCREF(scope);
	if (PyModule_AddObject(module, "scope", scope) < 0) {
		Py_DECREF(scope);
		return -1;
	}
	return 0;
}

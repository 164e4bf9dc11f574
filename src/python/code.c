#include "python/code.h"

#include <stdlib.h>
#include <string.h>

#include "python/budget/gate.h"
#include "python/interpreter.h"
#include "python/budget/thinning.h"
#include "python/thread.h"
#include "python/budget/window.h"

#define SLAB 256u
#define TRIES_MAX 1000u /* to define a code object; then it stays among the rest */

#if PY_VERSION_HEX >= 0x030c0000
#define REQUEST_INDEX PyUnstable_Eval_RequestCodeExtraIndex
#define SET_EXTRA PyUnstable_Code_SetExtra
#else
#define REQUEST_INDEX _PyEval_RequestCodeExtraIndex
#define SET_EXTRA _PyCode_SetExtra
#endif

typedef struct slab {
	struct slab *next;
	isc_code entry[SLAB];
} slab;

static slab *slabs;
static isc_code *unused;

/* Of our own files: the package's folder with a slash at the end, and the folder it is in. */
static char package[4096], site[4096];

/* Text of a str object without touching it: UTF-8, NULs and all. */
typedef struct code_text {
	const char *at;
	Py_ssize_t len;
	PyObject *owner;
} code_text;

static code_text text_of(PyObject *str)
{
	code_text t = {"?", 1, NULL};

	if (str == NULL || !PyUnicode_Check(str))
		return t;
	if (PyUnicode_IS_COMPACT_ASCII(str)) {
		t.at = (const char *)PyUnicode_1BYTE_DATA(str);
		t.len = PyUnicode_GET_LENGTH(str);
		return t;
	}
	t.owner = PyUnicode_AsEncodedString(str, "utf-8", "backslashreplace");
	if (t.owner == NULL) {
		PyErr_Clear();
	} else {
		t.at = PyBytes_AS_STRING(t.owner);
		t.len = PyBytes_GET_SIZE(t.owner);
	}
	return t;
}

static bool begins(const code_text *t, const char *with)
{
	size_t n = strlen(with);

	return n != 0 && (size_t)t->len >= n && memcmp(t->at, with, n) == 0;
}

/* The special methods that are traced all the same. */
static bool is_kept(const code_text *name)
{
	static const char *const kept[] = {"__init__",	 "__new__",   "__call__",	   "__getitem__", "__iter__",
					   "__next__",	 "__anext__", "__await__",	   "__enter__",	  "__exit__",
					   "__aenter__", "__aexit__", "__torch_function__"};

	for (size_t i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
		if ((size_t)name->len == strlen(kept[i]) && memcmp(name->at, kept[i], (size_t)name->len) == 0)
			return true;
	}
	return false;
}

static bool is_special(const code_text *name)
{
	return name->len > 4 && begins(name, "__") && memcmp(name->at + name->len - 2, "__", 2) == 0;
}

static bool is_ours(const code_text *file)
{
	static const char boot[] = "_inferscope_boot.py";
	size_t n = strlen(site);

	if (begins(file, package))
		return true;
	return begins(file, site) && (size_t)file->len == n + sizeof(boot) - 1 &&
	       memcmp(file->at + n, boot, sizeof(boot) - 1) == 0;
}

/* Frozen modules and, on Pythons that do not freeze all of it, importlib. */
static bool is_internal(const code_text *file)
{
	static const char importlib[] = "/importlib/";
	const char *slash;

	if (begins(file, "<frozen "))
		return true;
	slash = memrchr(file->at, '/', (size_t)file->len);
	return slash != NULL && (size_t)(slash - file->at) + 1 >= sizeof(importlib) - 1 &&
	       memcmp(slash + 1 - (sizeof(importlib) - 1), importlib, sizeof(importlib) - 1) == 0 &&
	       strstr(file->at, "/lib") != NULL && strstr(file->at, "-packages/") == NULL;
}

static bool is_skipped(PyCodeObject *code)
{
	code_text file, name;
	bool skipped;

	if (isc_calls_self.all_frames)
		return false;
	name = text_of(code->co_name);
	file = text_of(code->co_filename);
	skipped = (is_special(&name) && !is_kept(&name)) || is_ours(&file) || is_internal(&file);
	Py_XDECREF(name.owner);
	Py_XDECREF(file.owner);
	return skipped;
}

static isc_code *take(void)
{
	isc_code *entry = unused;

	if (entry == NULL) {
		slab *more = calloc(1, sizeof(*more));

		if (more == NULL)
			return NULL;
		for (size_t i = 0; i + 1 < SLAB; i++)
			more->entry[i].next = &more->entry[i + 1];
		more->next = slabs;
		slabs = more;
		entry = more->entry;
	}
	unused = entry->next;
	memset(entry, 0, sizeof(*entry));
	return entry;
}

/* Called when the code object dies. */
static void give_back(void *value)
{
	isc_code *entry = value;

	if (entry == NULL)
		return;
	isc_window_forget(entry);
	isc_thinning_forget(entry);
	memset(entry, 0, sizeof(*entry));
	entry->next = unused;
	unused = entry;
}

static void mark_unit(isc_code *entry, bool unit)
{
	if (entry->code == NULL || entry->unit == unit)
		return;
	entry->unit = unit;
	entry->ticket = 0; /* it is given anew to one that may have it */
	if (unit && entry->state == ISC_CODE_GOVERNED)
		isc_thinning_return(entry);
}

/* Rare, and some thousand entries at most: no table is kept for it. */
void isc_code_mark_units(void)
{
	for (slab *s = slabs; s != NULL; s = s->next) {
		for (size_t i = 0; i < SLAB; i++)
			mark_unit(&s->entry[i], s->entry[i].id != 0 && isc_gate_is_unit(s->entry[i].id));
	}
}

void isc_code_review(isc_code *entry)
{
	PyObject *type, *value, *traceback;

	if (entry->state == ISC_CODE_GOVERNED)
		isc_thinning_forget(entry);
	PyErr_Fetch(&type, &value, &traceback);
	isc_code_set_state(entry, is_skipped(entry->code) ? ISC_CODE_SKIPPED : ISC_CODE_TRACED);
	PyErr_Restore(type, value, traceback);
	entry->round = isc_calls_self.round;
	isc_window_forget(entry);
	entry->draws = 0;
	entry->drawn_ticks = 0;
}

isc_code *isc_code_see(PyCodeObject *code)
{
	const struct isc_code_extra *before = code->co_extra;
	bool grows = before == NULL || before->count <= isc_calls_self.extra;
	PyObject *type, *value, *traceback;
	isc_code *entry = take();

	if (entry == NULL)
		return NULL;
	PyErr_Fetch(&type, &value, &traceback);
	entry->code = code;
	entry->naming = isc_thread_naming_of(code);
	entry->module =
		PyUnicode_Check(code->co_name) && PyUnicode_CompareWithASCIIString(code->co_name, "<module>") == 0;
	isc_code_set_state(entry, is_skipped(code) ? ISC_CODE_SKIPPED : ISC_CODE_TRACED);
	entry->round = isc_calls_self.round;
	if (SET_EXTRA((PyObject *)code, isc_calls_self.extra, entry) < 0) {
		PyErr_Clear();
		give_back(entry);
		entry = NULL;
	} else if (grows) {
		/* There is room for everybody's value now, and when the code dies every function that frees
		 * one would be called, even for code that its owner never saw and when the owner is gone. */
		((struct isc_code_extra *)code->co_extra)->count = isc_calls_self.extra + 1;
	}
	PyErr_Restore(type, value, traceback);
	return entry;
}

uint32_t isc_code_define(isc_code *entry)
{
	PyObject *type, *value, *traceback;
	char data[4096];
	isc_def_code *head = (isc_def_code *)(void *)data;
	size_t room = sizeof(data) - sizeof(*head);
	code_text name, file;

	/* Each try is counted as a loss by the runtime; the recorder makes room soon, or never. */
	if (entry->tries >= TRIES_MAX || (entry->tries & (entry->tries + 1)) != 0) {
		entry->tries += entry->tries < TRIES_MAX;
		return isc_rt_rest(ISC_DEF_CODE);
	}
	entry->tries++;
	PyErr_Fetch(&type, &value, &traceback);
#if PY_VERSION_HEX >= 0x030b0000
	name = text_of(entry->code->co_qualname);
#else
	name = text_of(entry->code->co_name);
#endif
	file = text_of(entry->code->co_filename);
	head->line = (uint32_t)entry->code->co_firstlineno;
	head->flags = (uint32_t)entry->code->co_flags;
	head->name_len = (uint32_t)((size_t)name.len < room / 2 ? (size_t)name.len : room / 2);
	room -= head->name_len;
	head->file_len = (uint32_t)((size_t)file.len < room ? (size_t)file.len : room);
	memcpy(data + sizeof(*head), name.at, head->name_len);
	memcpy(data + sizeof(*head) + head->name_len, file.at, head->file_len);
	isc_interpreter_tell();
	/* Code that is made again and again is one function to whoever reads the trace. */
	entry->id = isc_rt_code(data, sizeof(*head) + head->name_len + head->file_len);
	entry->unit = entry->id != 0 && isc_gate_is_unit(entry->id);
	Py_XDECREF(name.owner);
	Py_XDECREF(file.owner);
	PyErr_Restore(type, value, traceback);
	return entry->id != 0 ? entry->id : isc_rt_rest(ISC_DEF_CODE);
}

static void keep_folder(const code_text *file)
{
	const char *slash = memrchr(file->at, '/', (size_t)file->len);
	size_t n = slash != NULL ? (size_t)(slash - file->at) + 1 : 0;

	if (n < 2 || n >= sizeof(package))
		return;
	memcpy(package, file->at, n);
	slash = memrchr(package, '/', n - 1);
	if (slash != NULL)
		memcpy(site, package, (size_t)(slash - package) + 1);
}

bool isc_code_begin(PyObject *module)
{
	PyObject *name = PyModule_GetFilenameObject(module);
	code_text file = text_of(name);

	if (name == NULL)
		PyErr_Clear();
	else
		keep_folder(&file);
	Py_XDECREF(file.owner);
	Py_XDECREF(name);
	isc_calls_self.extra = REQUEST_INDEX(give_back);
	return isc_calls_self.extra >= 0;
}

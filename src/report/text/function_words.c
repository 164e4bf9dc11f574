/*
 * function_words.c - how reports speak of a function: its name, its place, and
 * whether it only waits.
 */
#include <string.h>

#include "report/text/words.h"

/* What Python puts into qualified names, and what stands there instead. */
static const struct {
	const char *theirs, *ours;
} parts[] = {
	{".<locals>", ""},	    {"<lambda>", "(lambda)"},	  {"<listcomp>", "(listcomp)"},
	{"<setcomp>", "(setcomp)"}, {"<dictcomp>", "(dictcomp)"}, {"<genexpr>", "(genexpr)"},
};

/* Last part of the name and of the file; of Python's own library. */
static const struct {
	const char *name, *file;
} waits[] = {
	{"wait", "/threading.py"},  {"join", "/threading.py"},	 {"acquire", "/threading.py"},
	{"get", "/queue.py"},	    {"select", "/selectors.py"}, {"_wait_for_tstate_lock", "/threading.py"},
	{"wait", "/subprocess.py"}, {"_wait", "/subprocess.py"}, {"_try_wait", "/subprocess.py"},
	{"wait", "/connection.py"}, {"_recv", "/connection.py"}, {"_worker", "/futures/thread.py"},
	{"poll", "/popen_fork.py"},
};

static const char *find(const isc_text *in, const char *what)
{
	return in->len > 0 ? memmem(in->at, in->len, what, strlen(what)) : NULL;
}

static bool ends_with(const isc_text *text, const char *what)
{
	size_t len = strlen(what);

	return text->len >= len && memcmp(text->at + text->len - len, what, len) == 0;
}

/* What follows the last folder of this name in the path; NULL: it is not there. */
static const char *after_last(const isc_text *path, const char *folder)
{
	const char *found = NULL, *next;
	isc_text rest = *path;

	while ((next = find(&rest, folder)) != NULL) {
		found = next + strlen(folder);
		rest = (isc_text){found, (size_t)(path->at + path->len - found)};
	}
	return found;
}

static const char *in_packages(const isc_text *file)
{
	const char *site = after_last(file, "/site-packages/"), *dist = after_last(file, "/dist-packages/");

	return site != NULL ? site : dist;
}

/* "python3.11/threading.py" */
static const char *in_library(const isc_text *file)
{
	const char *found = after_last(file, "/lib/python3."), *wide = after_last(file, "/lib64/python3.");

	found = found != NULL ? found : wide;
	return found != NULL && in_packages(file) == NULL ? found - strlen("python3.") : NULL;
}

static const char *last_two(const isc_text *file)
{
	size_t from = file->len;

	for (int n = 0; n < 2 && from > 0; n++) {
		const char *slash = memrchr(file->at, '/', from);

		if (slash == NULL)
			return file->at;
		from = (size_t)(slash - file->at);
	}
	return file->at + from + (file->at[from] == '/');
}

/* "<frozen runpy>" and "<string>" are no files, and Markdown takes them for tags: what stands inside; at NULL: a file. */
static isc_text no_file(const isc_text *file)
{
	if (file->len < 3 || file->at[0] != '<' || file->at[file->len - 1] != '>' ||
	    memchr(file->at + 1, '<', file->len - 1) != NULL || memchr(file->at, '>', file->len - 1) != NULL)
		return (isc_text){NULL, 0};
	return (isc_text){file->at + 1, file->len - 2};
}

void isc_words_place(isc_buffer *out, const isc_analysis_function *f)
{
	isc_text inside = no_file(&f->file);
	const char *from;

	if (f->file.len == 0) {
		from = f->module.len > 0 ? memrchr(f->module.at, '/', f->module.len) : NULL;
		from = from != NULL ? from + 1 : f->module.at;
		if (f->module.len > 0)
			isc_buffer_add(out, from, (size_t)(f->module.at + f->module.len - from));
		return;
	}
	from = in_packages(&f->file);
	if (from == NULL)
		from = in_library(&f->file);
	if (from == NULL)
		from = last_two(&f->file);
	if (inside.at != NULL) {
		isc_buffer_text(out, "(");
		isc_buffer_add(out, inside.at, inside.len);
		isc_buffer_text(out, ")");
	} else {
		isc_buffer_add(out, from, (size_t)(f->file.at + f->file.len - from));
	}
	if (f->line != 0)
		isc_buffer_format(out, ":%u", f->line);
}

/* What a file does when it is loaded; a package's own file says little without its folder. */
static void add_module(isc_buffer *out, const isc_text *file)
{
	const char *slash = file->len > 0 ? memrchr(file->at, '/', file->len) : NULL;
	const char *from = slash != NULL ? slash + 1 : file->at;
	isc_text inside = no_file(file);

	if (ends_with(file, "/__init__.py"))
		from = last_two(file);
	isc_buffer_text(out, file->len > 0 ? "(module " : "(module");
	if (inside.at != NULL)
		isc_buffer_add(out, inside.at, inside.len);
	else if (file->len > 0)
		isc_buffer_add(out, from, (size_t)(file->at + file->len - from));
	isc_buffer_text(out, ")");
}

void isc_words_names(isc_buffer *out, const char *at, size_t len)
{
	const char *end = len > 0 ? at + len : at;

	while (at != end) {
		size_t i = 0, n = sizeof(parts) / sizeof(parts[0]);

		while (i < n && ((size_t)(end - at) < strlen(parts[i].theirs) ||
				 memcmp(at, parts[i].theirs, strlen(parts[i].theirs)) != 0))
			i++;
		if (i < n) {
			isc_buffer_text(out, parts[i].ours);
			at += strlen(parts[i].theirs);
		} else {
			isc_buffer_add(out, at++, 1);
		}
	}
}

void isc_words_function(isc_buffer *out, const isc_analysis_function *f)
{
	static const char module[] = "<module>";

	if (f->name.len == sizeof(module) - 1 && memcmp(f->name.at, module, f->name.len) == 0)
		add_module(out, &f->file);
	else
		isc_words_names(out, f->name.at, f->name.len);
}

isc_analysis_function isc_words_of_frame(const isc_analysis_frame *at)
{
	return (isc_analysis_function){.name = at->name, .file = at->file, .module = at->module, .line = at->line};
}

void isc_words_escaped(isc_buffer *out, const isc_analysis_function *f,
		       void (*words)(isc_buffer *, const isc_analysis_function *),
		       void (*escape)(isc_buffer *, const char *text, size_t len, size_t max), size_t max)
{
	isc_buffer raw = {0};

	words(&raw, f);
	out->failed |= raw.failed;
	escape(out, raw.data, raw.len, max);
	isc_buffer_fini(&raw);
}

static bool is_named(const isc_text *name, const char *last)
{
	size_t len = strlen(last);

	return ends_with(name, last) && (name->len == len || name->at[name->len - len - 1] == '.');
}

bool isc_words_waits(const isc_analysis_function *f)
{
	if (in_library(&f->file) == NULL)
		return false;
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		if (is_named(&f->name, waits[i].name) && ends_with(&f->file, waits[i].file))
			return true;
	}
	return false;
}

size_t isc_words_top(const isc_analysis *a, const isc_analysis_function **top, size_t room)
{
	bool traced = false;
	size_t n = 0;

	for (size_t i = 0; i < a->function_count && !traced; i++)
		traced = a->functions[i].traced;
	/* They are sorted by it.  Few samples say little beside calls that were traced. */
	for (size_t i = 0; i < a->function_count && n < room; i++) {
		const isc_analysis_function *f = &a->functions[i];

		if (f->self_us > 0 && (f->traced || !traced) && !isc_words_waits(f))
			top[n++] = f;
	}
	for (size_t i = 0; i < a->function_count && n == 0 && i < room; i++) {
		if (a->functions[i].self_us >= 0)
			top[n++] = &a->functions[i];
	}
	return n;
}

size_t isc_words_hottest(const isc_analysis *a, const isc_analysis_function **top, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < a->function_count; i++) {
		const isc_analysis_function *f = &a->functions[i];
		size_t at = n;

		/* The time of native code is that of the Python code which called it too. */
		if (f->cpu_self_us <= 0 || f->native)
			continue;
		while (at > 0 && top[at - 1]->cpu_self_us < f->cpu_self_us)
			at--;
		if (at == room)
			continue;
		n += n < room;
		memmove(&top[at + 1], &top[at], (n - 1 - at) * sizeof(*top));
		top[at] = f;
	}
	return n;
}

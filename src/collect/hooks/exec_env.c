/*
 * exec_env.c - put our variables into an environment, or take them out.
 */
#include "collect/hooks/exec_env.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/hooks/inject.h"
#include "runtime/layout.h"

/* A list of paths, of which one is ours. */
typedef struct list {
	const char *name;	/* with its = */
	const char *separators; /* the first is the one we write */
	char ours[PATH_MAX];	/* empty: not in use */
	size_t ours_len;
} list;

/* Written by isc_exec_env_init() alone. */
static list lists[] = {
	/* The loader also splits at blanks, so a path of ours holds none. */
	{.name = "LD_PRELOAD=", .separators = ": "},
	{.name = "PYTHONPATH=", .separators = ":"},
};
#define PRELOAD (&lists[0])
#define PYTHON (&lists[1])
#define LISTS (sizeof(lists) / sizeof(lists[0]))

#define SESSION_NAME ISC_SESSION_VARIABLE "="
static char session[sizeof(SESSION_NAME) + PATH_MAX];

/* What the CUDA driver loads; empty: not ours, or nothing. */
#define CUDA_NAME ISC_CUDA_VARIABLE "="
static char cuda[sizeof(CUDA_NAME) + PATH_MAX];

/* What brings us into Python lies beside us, in every layout and behind the links
 * of a session folder. */
#define INJECT_NAME "_inject"

#define SAVED_NAME ISC_INJECT_VARIABLE "="

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static void note_path(list *l, const char *path, size_t len)
{
	if (len == 0 || len >= sizeof(l->ours) || path[0] != '/')
		return;
	memcpy(l->ours, path, len);
	l->ours[len] = '\0';
	if (strpbrk(l->ours, l->separators) != NULL)
		l->ours[0] = '\0';
	else
		l->ours_len = len;
}

static void note_inject(const char *library)
{
	const char *slash = strrchr(library, '/');
	char folder[PATH_MAX];
	size_t len = slash != NULL ? (size_t)(slash - library) + 1 : 0;

	if (len == 0 || len + sizeof(INJECT_NAME) > sizeof(folder))
		return;
	memcpy(folder, library, len);
	memcpy(folder + len, INJECT_NAME, sizeof(INJECT_NAME));
	note_path(PYTHON, folder, strlen(folder));
}

static void note_cuda(const char *path)
{
	static const char ours[] = "/" ISC_CUDA_LIBRARY;
	size_t len = path != NULL ? strlen(path) : 0;

	if (len < sizeof(ours) || len >= PATH_MAX || strcmp(path + len - (sizeof(ours) - 1), ours) != 0)
		return;
	memcpy(cuda, CUDA_NAME, strlen(CUDA_NAME));
	memcpy(cuda + strlen(CUDA_NAME), path, len + 1);
}

void isc_exec_env_init(void)
{
	const char *folder = getenv(ISC_SESSION_VARIABLE);
	size_t name_len = strlen(SESSION_NAME);
	Dl_info self;

	if (folder == NULL || folder[0] == '\0' || strlen(folder) >= PATH_MAX)
		return;
	/* By the name that we were loaded by: a link in the session folder stays one. */
	if (dladdr((void *)lists, &self) == 0 || self.dli_fname == NULL)
		return;
	note_path(PRELOAD, self.dli_fname, strlen(self.dli_fname));
	note_inject(self.dli_fname);
	note_cuda(getenv(ISC_CUDA_VARIABLE));
	memcpy(session, SESSION_NAME, name_len);
	memcpy(session + name_len, folder, strlen(folder) + 1);
}

bool isc_exec_env_ready(void)
{
	return session[0] != '\0' && PRELOAD->ours_len > 0;
}

const char *isc_exec_env_inject(void)
{
	return PYTHON->ours;
}

bool isc_exec_env_reachable(void)
{
	return syscall(SYS_faccessat, AT_FDCWD, PRELOAD->ours, R_OK) == 0;
}

bool isc_exec_env_has_other(char *const env[])
{
	for (size_t i = 0; env != NULL && env[i] != NULL; i++)
		if (starts_with(env[i], SESSION_NAME))
			return strcmp(env[i], session) != 0;
	return false;
}

/* Where our entry begins in a value, or NULL. */
static const char *find_ours(const list *l, const char *value)
{
	for (const char *at = value; *at != '\0';) {
		size_t len = strcspn(at, l->separators);

		if (len == l->ours_len && memcmp(at, l->ours, len) == 0)
			return at;
		at += len + (at[len] != '\0');
	}
	return NULL;
}

static void add_entry(isc_exec_env *out, const char *entry)
{
	if (out->vector != NULL)
		out->vector[out->entries] = (char *)entry;
	out->entries++;
}

static void add_text(isc_exec_env *out, const char *text, size_t len)
{
	if (out->vector != NULL)
		memcpy(out->text + out->text_bytes, text, len);
	out->text_bytes += len;
}

/* A new entry begins at the end of the text; its parts are then added. */
static void open_text(isc_exec_env *out, const char *name)
{
	add_entry(out, out->vector != NULL ? out->text + out->text_bytes : NULL);
	add_text(out, name, strlen(name));
	out->changed = true;
}

static void add_in_front(isc_exec_env *out, const list *l, const char *value)
{
	open_text(out, l->name);
	add_text(out, l->ours, l->ours_len);
	if (value[0] != '\0')
		add_text(out, l->separators, 1);
	add_text(out, value, strlen(value) + 1);
}

/* The entry without ours and one separator beside it; nothing when nothing is left. */
static void take_out(isc_exec_env *out, const list *l, const char *value, const char *at)
{
	const char *behind = at + l->ours_len;
	size_t before = (size_t)(at - value);

	out->changed = true;
	if (*behind != '\0')
		behind++;
	else if (before > 0)
		before--;
	if (before == 0 && *behind == '\0')
		return;
	open_text(out, l->name);
	add_text(out, value, before);
	add_text(out, behind, strlen(behind) + 1);
}

static void build_list(isc_exec_env *out, const list *l, const char *entry, bool with)
{
	const char *value = entry + strlen(l->name);
	const char *at = find_ours(l, value);

	/* Into PYTHONPATH it is put by the new program itself, if that is a Python. */
	with = with && l != PYTHON;
	if (with == (at != NULL))
		add_entry(out, entry);
	else if (with)
		add_in_front(out, l, value);
	else
		take_out(out, l, value, at);
}

void isc_exec_env_build(isc_exec_env *out, char *const env[], bool with)
{
	bool seen_preload = false, seen_session = false, seen_cuda = false;

	out->entries = 0;
	out->text_bytes = 0;
	out->changed = false;
	for (size_t i = 0; env != NULL && env[i] != NULL; i++) {
		const list *l = NULL;

		for (size_t k = 0; k < LISTS && l == NULL; k++)
			if (lists[k].ours_len > 0 && starts_with(env[i], lists[k].name))
				l = &lists[k];
		seen_preload = seen_preload || l == PRELOAD;
		if (l != NULL) {
			build_list(out, l, env[i], with);
		} else if (starts_with(env[i], SESSION_NAME)) {
			/* Another session inside this one keeps its name. */
			seen_session = true;
			if (with)
				add_entry(out, env[i]);
			else
				out->changed = true;
		} else if (starts_with(env[i], SAVED_NAME)) {
			out->changed = true;
		} else if (starts_with(env[i], CUDA_NAME)) {
			/* Another tool's stays. */
			seen_cuda = true;
			if (with || strcmp(env[i], cuda) != 0)
				add_entry(out, env[i]);
			else
				out->changed = true;
		} else {
			add_entry(out, env[i]);
		}
	}
	if (with && !seen_preload)
		add_in_front(out, PRELOAD, "");
	if (with && !seen_session) {
		add_entry(out, session);
		out->changed = true;
	}
	if (with && !seen_cuda && cuda[0] != '\0') {
		add_entry(out, cuda);
		out->changed = true;
	}
	add_entry(out, NULL);
}

void isc_exec_env_leave(void)
{
	isc_exec_env out = {0};
	size_t bytes;
	void *memory;

	isc_exec_env_build(&out, environ, false);
	if (!out.changed)
		return;
	bytes = out.entries * sizeof(char *) + out.text_bytes;
	memory = (void *)syscall(SYS_mmap, NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return;
	out.vector = memory;
	out.text = (char *)memory + out.entries * sizeof(char *);
	isc_exec_env_build(&out, environ, false);
	__atomic_store_n(&environ, out.vector, __ATOMIC_RELEASE);
}

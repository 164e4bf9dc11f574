#include "session/launch/environment.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/layout.h"

#define PRELOAD "LD_PRELOAD"
#define PYTHON "PYTHONPATH"

static bool is_variable(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return strncmp(entry, name, n) == 0 && entry[n] == '=';
}

/* Is this preload a runtime of ours: by its name, or as the link in a session
 * folder?  Two runtimes in one program would both hook the same calls. */
static bool is_runtime(const char *path, size_t len)
{
	static const char name[] = "libinferscope_rt.so", link[] = "/rt.so", folder[] = "/inferscope-";
	const char *end = path + len;

	if (len >= sizeof(name) - 1 && memcmp(end - (sizeof(name) - 1), name, sizeof(name) - 1) == 0)
		return true;
	return len > sizeof(link) - 1 && memcmp(end - (sizeof(link) - 1), link, sizeof(link) - 1) == 0 &&
	       memmem(path, len, folder, sizeof(folder) - 1) != NULL;
}

/* Appends the entries of a preload list that are not ours, each after a colon
 * unless it is the first.  to may be NULL: counts. */
static size_t add_preloads(char *to, const char *list, bool first)
{
	size_t n = 0;

	while (*list != 0) {
		size_t len = strcspn(list, ": ");

		if (len > 0 && !is_runtime(list, len)) {
			if (!first) {
				if (to != NULL)
					to[n] = ':';
				n++;
			}
			if (to != NULL)
				memcpy(to + n, list, len);
			n += len;
			first = false;
		}
		list += len;
		list += *list != 0;
	}
	return n;
}

static char *put(char *at, const char *text)
{
	size_t n = strlen(text);

	memcpy(at, text, n);
	return at + n;
}

char **isc_parts_environment(const char *session_folder, const char *preload, const char *inject)
{
	const char *old_preload = getenv(PRELOAD), *old_python = getenv(PYTHON);
	size_t count = 0, bytes, used = 0;
	char **env, *at;

	while (environ[count] != NULL)
		count++;
	bytes = (count + 4) * sizeof(char *) + sizeof(ISC_SESSION_VARIABLE) + strlen(session_folder) + 1 +
		sizeof(PRELOAD) + strlen(preload) + 1 + sizeof(PYTHON) + strlen(inject) + 2;
	if (old_preload != NULL)
		bytes += strlen(old_preload) + 2;
	if (old_python != NULL)
		bytes += strlen(old_python) + 2;
	env = malloc(bytes);
	if (env == NULL)
		return NULL;
	/* Pointers first, our own strings behind them; the rest stays where it is. */
	at = (char *)(env + count + 4);

	for (size_t i = 0; i < count; i++)
		if (!is_variable(environ[i], ISC_SESSION_VARIABLE) && !is_variable(environ[i], PRELOAD) &&
		    (inject[0] == 0 || !is_variable(environ[i], PYTHON)))
			env[used++] = environ[i];

	env[used++] = at;
	at = put(put(at, ISC_SESSION_VARIABLE "="), session_folder);
	*at++ = 0;
	if (preload[0] != 0 || (old_preload != NULL && add_preloads(NULL, old_preload, true) > 0)) {
		env[used++] = at;
		at = put(put(at, PRELOAD "="), preload);
		if (old_preload != NULL)
			at += add_preloads(at, old_preload, preload[0] == 0);
		*at++ = 0;
	}
	if (inject[0] != 0) {
		env[used++] = at;
		at = put(put(at, PYTHON "="), inject);
		/* An empty PYTHONPATH is none; an empty entry would be the working folder. */
		if (old_python != NULL && old_python[0] != 0)
			at = put(put(at, ":"), old_python);
		*at++ = 0;
	}
	env[used] = NULL;
	return env;
}

static bool is_cuda_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return strcmp(slash != NULL ? slash + 1 : path, ISC_CUDA_LIBRARY) == 0;
}

bool isc_parts_cuda(const char *folder)
{
	const char *theirs = getenv(ISC_CUDA_VARIABLE);
	char path[PATH_MAX];

	if (theirs != NULL && theirs[0] != 0 && !is_cuda_part(theirs))
		return folder == NULL;
	if (theirs != NULL)
		unsetenv(ISC_CUDA_VARIABLE);
	if (folder == NULL || snprintf(path, sizeof(path), "%s/" ISC_CUDA_LIBRARY, folder) >= (int)sizeof(path) ||
	    access(path, R_OK) != 0)
		return true;
	return setenv(ISC_CUDA_VARIABLE, path, 1) == 0;
}

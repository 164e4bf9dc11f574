#include "collect/hooks/inject.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/hooks/exec_env.h"
#include "runtime/kernel.h"
#include "runtime/runtime.h"

#define PATH_NAME "PYTHONPATH="
#define SAVED_NAME ISC_INJECT_VARIABLE "="
#define SCRIPT "/sitecustomize.py"

/* An interpreter exports this, or needs a library that does: 2.7 as well as 3.14. */
extern void Py_Initialize(void) __attribute__((weak, visibility("default")));

/* glibc gives constructors the arguments of main; other libraries do not. */
extern const char *gnu_get_libc_version(void) __attribute__((weak, visibility("default")));

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* One word of options, "-BE": does it turn us away?  *last: there are no more,
 * *value: the next word belongs to it. */
static bool turns_away(const char *word, bool *last, bool *value)
{
	for (const char *at = word + 1; *at != '\0'; at++) {
		if (*at == 'E' || *at == 'I' || *at == 'S')
			return true;
		if (*at == 'c' || *at == 'm') {
			*last = true;
			return false;
		}
		if (*at == 'W' || *at == 'X' || *at == 'Q') {
			*value = at[1] == '\0';
			return false;
		}
	}
	return false;
}

bool isc_inject_is_welcome(char *const argv[])
{
	const char *name;

	if (argv == NULL || argv[0] == NULL)
		return true;
	name = strrchr(argv[0], '/');
	/* A program with a Python inside has options of its own. */
	if (!starts_with(name != NULL ? name + 1 : argv[0], "python"))
		return true;
	for (size_t i = 1; argv[i] != NULL && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
		bool last = false, value = false;

		if (argv[i][1] == '-')
			value = strcmp(argv[i], "--check-hash-based-pycs") == 0;
		else if (turns_away(argv[i], &last, &value))
			return false;
		if (last || (value && argv[++i] == NULL))
			break;
	}
	return true;
}

static char *put(char *at, const char *text)
{
	size_t n = strlen(text);

	memcpy(at, text, n);
	return at + n;
}

char **isc_inject_environment(char *const env[], const char *folder, void *memory, size_t room, size_t *needs)
{
	const char *theirs = NULL;
	size_t count = 0, used = 0, path = SIZE_MAX;
	char **made = memory;
	char *at;

	for (; env[count] != NULL; count++)
		if (theirs == NULL && starts_with(env[count], PATH_NAME))
			theirs = env[count] + strlen(PATH_NAME);
	*needs = (count + 3) * sizeof(char *) + sizeof(PATH_NAME) + strlen(folder) + sizeof(SAVED_NAME) + 2;
	if (theirs != NULL)
		*needs += 2 * (strlen(theirs) + 1);
	if (*needs > room)
		return NULL;
	at = (char *)(made + count + 3);
	/* In its place, so that a list of the environment keeps its order. */
	for (size_t i = 0; i < count; i++) {
		if (starts_with(env[i], SAVED_NAME))
			continue;
		if (path == SIZE_MAX && starts_with(env[i], PATH_NAME))
			path = used;
		made[used++] = env[i];
	}
	if (path == SIZE_MAX)
		path = used++;
	made[path] = at;
	at = put(put(at, PATH_NAME), folder);
	/* An empty PYTHONPATH is none; an empty entry would be the working folder. */
	if (theirs != NULL && theirs[0] != '\0')
		at = put(put(at, ":"), theirs);
	*at++ = '\0';
	made[used++] = at;
	at = put(at, SAVED_NAME);
	if (theirs != NULL)
		at = put(put(at, "="), theirs);
	*at = '\0';
	made[used] = NULL;
	return made;
}

/* Is this process to be traced, once it turns out to be Python? */
static bool is_followed(void)
{
	const isc_control *control = isc_rt_control();

	return control != NULL && (control->flags & ISC_CONTROL_AGENT) != 0 &&
	       ((control->flags & (ISC_CONTROL_FOLLOW_PYTHON | ISC_CONTROL_FOLLOW_ALL)) != 0 ||
		(uint32_t)syscall(SYS_getpid) == control->root_pid);
}

static bool has_script(const char *folder)
{
	char path[PATH_MAX + sizeof(SCRIPT)];

	put(path, folder)[0] = '\0';
	memcpy(path + strlen(folder), SCRIPT, sizeof(SCRIPT));
	return syscall(SYS_faccessat, AT_FDCWD, path, R_OK) == 0;
}

/* Is ours in front already?  Then nothing ran that would have taken it out. */
static bool is_there(const char *folder)
{
	size_t n = strlen(folder);

	for (size_t i = 0; environ[i] != NULL; i++)
		if (starts_with(environ[i], PATH_NAME)) {
			const char *value = environ[i] + strlen(PATH_NAME);

			return strncmp(value, folder, n) == 0 && (value[n] == '\0' || value[n] == ':');
		}
	return false;
}

/* Behind the constructor that joins the session (boot.c). */
__attribute__((constructor(103))) static void inject(int argc, char **argv, char **envp)
{
	const char *folder = isc_exec_env_inject();
	size_t needs;
	char **made;
	void *at;

	(void)argc;
	(void)envp;
	if (Py_Initialize == NULL || environ == NULL || folder[0] == '\0' || !is_followed() ||
	    !isc_inject_is_welcome(gnu_get_libc_version != NULL ? argv : NULL) || is_there(folder) ||
	    !has_script(folder))
		return;
	/* Pages of its own for as long as the program lives: setenv() would allocate,
	 * and knows how to go on from an environment that is not libc's. */
	isc_inject_environment(environ, folder, NULL, 0, &needs);
	at = isc_kernel_map(NULL, needs, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (at == MAP_FAILED)
		return;
	made = isc_inject_environment(environ, folder, at, needs, &needs);
	if (made != NULL)
		environ = made;
}

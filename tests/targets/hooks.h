/*
 * hooks.h - call each function that the agent hooks, and show what comes back.
 *
 *	hooks_X			one line per function: results and errno
 *	hooks_X --reached	one line per function: how often the hook called the real one
 *	hooks_X --list		the names that the preloaded runtime hooks
 *
 * The first form must print the same with and without the runtime.
 */
#ifndef TARGETS_HOOKS_H
#define TARGETS_HOOKS_H

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

typedef struct hook_case {
	const char *name;
	void (*run)(void);
	const char *through; /* the real function that it calls, if that has another name */
} hook_case;

/* As in src/collect/hooks/agent.h. */
typedef struct hook {
	const char *name;
	int group;
	void **real;
} hook;

static char line[1024];

static __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
	size_t used = strlen(line);
	va_list rest;

	va_start(rest, format);
	vsnprintf(line + used, sizeof(line) - used, format, rest);
	va_end(rest);
}

/* Shows what a call gives and the errno it leaves. */
#define TRY(call) \
	do { \
		long result_; \
		errno = 0; \
		result_ = (long)(call); \
		int errno_ = errno; \
		say(" %ld/%d", result_, errno_); \
	} while (0)

/* Stands in for a real function: counts, and goes on to it with all its
 * arguments.  The count lies in shared memory, so that children count too. */
extern uint64_t *hook_count;
extern void *hook_saved;
uint64_t *hook_count;
void *hook_saved;
void hook_counting(void);
__asm__(".text\n"
	".globl hook_counting\n"
	"hook_counting:\n"
	"	movq hook_count(%rip), %r11\n"
	"	lock incq (%r11)\n"
	"	jmp *hook_saved(%rip)\n");

static const hook *find_hooks(size_t *n)
{
	const hook *(*get)(size_t *) = (const hook *(*)(size_t *))dlsym(RTLD_DEFAULT, "isc_agent_hooks");

	*n = 0;
	return get != NULL ? get(n) : NULL;
}

static uint64_t run_counted(const hook_case *c, void **real)
{
	*hook_count = 0;
	hook_saved = *real;
	*real = (void *)hook_counting;
	c->run();
	*real = hook_saved;
	return *hook_count;
}

static int hook_main(int argc, char **argv, const hook_case *cases, size_t n_cases)
{
	size_t n_hooks;
	const hook *hooks = find_hooks(&n_hooks);
	const char *mode = argc > 1 ? argv[1] : "";

	setvbuf(stdout, NULL, _IOFBF, 65536);
	hook_count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (strcmp(mode, "--list") == 0) {
		for (size_t i = 0; i < n_hooks; i++)
			puts(hooks[i].name);
		return 0;
	}
	for (size_t i = 0; i < n_cases; i++) {
		line[0] = '\0';
		if (strcmp(mode, "--reached") == 0) {
			const char *through = cases[i].through != NULL ? cases[i].through : cases[i].name;
			uint64_t times = 0;

			for (size_t k = 0; k < n_hooks; k++)
				if (strcmp(hooks[k].name, through) == 0)
					times = run_counted(&cases[i], hooks[k].real);
			printf("%s %llu\n", cases[i].name, (unsigned long long)times);
		} else {
			cases[i].run();
			printf("%s%s\n", cases[i].name, line);
		}
	}
	return 0;
}

#endif

/*
 * shell.c - hooks on the functions of libc that start a shell.
 *
 * Inside libc they start it past our hooks, with the environment of this process.  That
 * names our library, and once it cannot be reached any more (after chroot(), or setuid()
 * where it lies in a folder of somebody else's) the loader would say so on the program's
 * stderr, for every program that the shell starts.  So our variables go before that.
 * What the program starts otherwise is seen to by exec.c.
 */
#include "collect/hooks/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <wordexp.h>

#include "collect/hooks/exec_env.h"
#include "collect/hooks/exec_target.h"
#include "runtime/image.h"
#include "runtime/kernel.h"

/* A vfork child has its parent's memory, and its parent may still reach us. */
static void before_shell(void)
{
	int error = errno;

	if (isc_exec_env_ready() && isc_kernel_pid() == isc_image_self.pid &&
	    (!isc_exec_env_reachable() || isc_exec_target_judge(AT_FDCWD, "/bin/sh", 0) == ISC_EXEC_TARGET_FOREIGN))
		isc_exec_env_leave();
	errno = error;
}

ISC_HOOK int system(const char *command)
{
	before_shell();
	return ISC_REAL(system)(command);
}

ISC_HOOK FILE *popen(const char *command, const char *type)
{
	before_shell();
	return ISC_REAL(popen)(command, type);
}

ISC_HOOK int wordexp(const char *__restrict words, wordexp_t *__restrict expanded, int flags)
{
	before_shell();
	return ISC_REAL(wordexp)(words, expanded, flags);
}

/*
 * boot.c - what runs by itself: when the library is loaded, and after a fork.
 */
#include <stddef.h>
#include <stdlib.h>

#include "runtime/image.h"
#include "runtime/runtime.h"

/* glibc gives constructors the arguments of main; other libraries do not. */
extern const char *gnu_get_libc_version(void) __attribute__((weak, visibility("default")));

uint32_t isc_rt_abi(void)
{
	return ISC_RT_ABI;
}

void isc_boot_forked(void)
{
	isc_image_arrive(ISC_BIRTH_FORK);
}

/* Behind the agent, which looks up what is hooked, and before what needs a session. */
__attribute__((constructor(102))) static void boot(int argc, char **argv, char **envp)
{
	const char *folder = getenv(ISC_SESSION_VARIABLE);

	(void)argc;
	(void)envp;
	if (folder == NULL || folder[0] == '\0')
		return;
	isc_roster_argv(gnu_get_libc_version != NULL ? argv : NULL);
	isc_rt_attach(folder);
}

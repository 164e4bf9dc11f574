/*
 * environment.h - the environment of the program.
 */
#ifndef ISC_SESSION_LAUNCH_ENVIRONMENT_H
#define ISC_SESSION_LAUNCH_ENVIRONMENT_H

#include <stdbool.h>

/*
 * Ours of now, with the session's variables: INFERSCOPE_SESSION, LD_PRELOAD with
 * the runtime in front of what is there, PYTHONPATH with the inject folder in
 * front.  preload "" leaves the agent out; inject "" leaves PYTHONPATH alone.
 * Parts of an outer session are taken out.  One allocation: free() it; NULL when
 * there is no memory.
 */
char **isc_parts_environment(const char *session_folder, const char *preload, const char *inject);

/*
 * Has the CUDA driver load our part from this folder, in programs that are started
 * from now on; NULL: it is not wanted, and one of an outer session is taken out.
 * False: another tool is named there, which stays.
 */
bool isc_parts_cuda(const char *folder);

#endif

/*
 * environment.h - the environment of the program.
 */
#ifndef ISC_SESSION_ENVIRONMENT_H
#define ISC_SESSION_ENVIRONMENT_H

/*
 * Ours of now, with the session's variables: INFERSCOPE_SESSION, LD_PRELOAD with
 * the runtime in front of what is there, PYTHONPATH with the inject folder in
 * front.  preload "" leaves the agent out; inject "" leaves PYTHONPATH alone.
 * Parts of an outer session are taken out.  One allocation: free() it; NULL when
 * there is no memory.
 */
char **isc_parts_environment(const char *session_folder, const char *preload, const char *inject);

#endif

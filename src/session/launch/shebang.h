/*
 * shebang.h - the Python behind a command such as `vllm` or `python3.11`, and the
 * script that is none of Python's.
 */
#ifndef ISC_SESSION_LAUNCH_SHEBANG_H
#define ISC_SESSION_LAUNCH_SHEBANG_H

#include <stdbool.h>
#include <stddef.h>

/* Looks the command up in PATH when it has no slash, and reads its first line.
 * False, and out empty, when no Python runs it as far as can be seen. */
bool isc_shebang_python(const char *command, char *out, size_t room);

/* Is this file surely not for Python: a machine's program, or a script whose first
 * line names a shell or another language?  what is then "a program" or "a script for
 * sh".  Doubt is on Python's side: a file for both, as some start themselves, is its. */
bool isc_shebang_foreign(const char *path, char *what, size_t room);

#endif

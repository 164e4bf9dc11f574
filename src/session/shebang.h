/*
 * shebang.h - the Python behind a command such as `vllm` or `python3.11`.
 */
#ifndef ISC_SESSION_SHEBANG_H
#define ISC_SESSION_SHEBANG_H

#include <stdbool.h>
#include <stddef.h>

/* Looks the command up in PATH when it has no slash, and reads its first line.
 * False, and out empty, when no Python runs it as far as can be seen. */
bool isc_shebang_python(const char *command, char *out, size_t room);

#endif

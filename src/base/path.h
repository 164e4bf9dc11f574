/*
 * path.h - take paths apart and put them together.  Text only: no file is looked at,
 * except that isc_path_absolute asks for the working directory.
 */
#ifndef ISC_BASE_PATH_H
#define ISC_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

/* "folder/name", or name alone when it is absolute or folder is empty; false when there is no room. */
bool isc_path_join(char *out, size_t room, const char *folder, const char *name);

/* The path from the root; the working directory in front of a relative one.  Nothing is resolved. */
isc_status isc_path_absolute(const char *path, char *out, size_t room, isc_error *err);

/* The folder part: "." without a slash, "/" for the root; false when there is no room. */
bool isc_path_folder(const char *path, char *out, size_t room);

/* What stands behind the last slash; empty when the path ends with one.  Borrowed from path. */
const char *isc_path_name(const char *path);

/* ".md", with its dot; "" when the name has none or begins with its only dot.  Borrowed from path. */
const char *isc_path_extension(const char *path);

/* Do both mean the same name in the same folder, however they are spelt?  The
 * folder must be there, the file need not. */
bool isc_path_same(const char *one, const char *other);

/* Relative, and without a ".." that could leave the folder it starts from. */
bool isc_path_is_below(const char *path);

#endif

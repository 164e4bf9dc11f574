/*
 * python_name.h - whether a function of Python is one that is known, by its file and its name.
 */
#ifndef ISC_BASE_PYTHON_NAME_H
#define ISC_BASE_PYTHON_NAME_H

#include "base/text.h"

/* A file that ends like this, or, where that ends with a slash, has such a folder in its path. */
bool isc_python_file_is(const isc_text *file, const char *wanted);

/* A function of that name, in whatever class: qualified names have the class in front, those before 3.11 have not. */
bool isc_python_function_is(const isc_text *name, const char *wanted);

#endif

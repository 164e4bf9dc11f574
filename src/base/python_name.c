#include "base/python_name.h"

#include <string.h>

static bool ends(const isc_text *text, const char *wanted, size_t len)
{
	return text->len >= len && memcmp(text->at + text->len - len, wanted, len) == 0;
}

bool isc_python_file_is(const isc_text *file, const char *wanted)
{
	size_t len = strlen(wanted);

	if (wanted[len - 1] == '/')
		return file->len > 0 && memmem(file->at, file->len, wanted, len) != NULL;
	return ends(file, wanted, len);
}

bool isc_python_function_is(const isc_text *name, const char *wanted)
{
	size_t len = strlen(wanted);

	return ends(name, wanted, len) && (name->len == len || name->at[name->len - len - 1] == '.');
}

/*
 * kernel_folder.h - a double of the kernel's folders: files below a folder of the test's own.
 */
#ifndef ISC_TEST_KERNEL_FOLDER_H
#define ISC_TEST_KERNEL_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static char folder[48];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/isc-kernel-XXXXXX");
	return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command) != 0;
}

static void put(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

/* One line of mountinfo, with %s for the folder. */
static void put_mount(const char *format)
{
	char text[512];

	snprintf(text, sizeof(text), format, folder);
	put("mountinfo", text);
}

#endif

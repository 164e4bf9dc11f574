/* Writes the reports of scenes, whole, into a folder: for tests that read reports of every kind.
 *
 *	scene_reports FOLDER NAME.events... -> FOLDER/NAME.report.json, NAME.report.md and NAME.summary
 */
#include <stdio.h>
#include <string.h>

#include "scene.h"

static bool write_file(const char *folder, const char *events, const char *ending, const isc_buffer *text)
{
	const char *name = strrchr(events, '/');
	char in[4096], path[8192];
	FILE *f;
	bool good;

	scene_path(name != NULL ? name + 1 : events, ending, in, sizeof(in));
	snprintf(path, sizeof(path), "%s/%s", folder, in);
	f = fopen(path, "wb");
	if (f == NULL)
		return false;
	good = fwrite(text->data, 1, text->len, f) == text->len;
	return fclose(f) == 0 && good;
}

int main(int argc, char **argv)
{
	for (int i = 2; i < argc; i++) {
		isc_error err = {.what = "cannot write its reports"};
		scene s;
		bool good = scene_open(&s, argv[i], &err) == ISC_OK &&
			    write_file(argv[1], argv[i], ".report.json", &s.json) &&
			    write_file(argv[1], argv[i], ".report.md", &s.markdown) &&
			    write_file(argv[1], argv[i], ".summary", &s.summary);

		scene_close(&s);
		if (!good) {
			fprintf(stderr, "%s: %s\n", argv[i], err.what);
			return 1;
		}
	}
	return 0;
}

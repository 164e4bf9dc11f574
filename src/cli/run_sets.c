#include "cli/run_sets.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/imported.h"
#include "base/path.h"
#include "import/import.h"

static isc_status too_many(isc_error *err)
{
	isc_fail(err, ISC_ERR_INVALID, "diff: more than %u traces on one side", ISC_RUN_SET_MAX);
	isc_hint(err, "give fewer; ten say nearly as much");
	return ISC_ERR_INVALID;
}

static isc_status read_one(isc_run_files *f, const char *path, const isc_analysis_options *options, bool *unreadable,
			   isc_error *err)
{
	char *const paths[] = {(char *)(uintptr_t)path};
	isc_imported_options imported = {.scope = options->scope};
	enum isc_import_format format = ISC_IMPORT_UNKNOWN;
	isc_trace *trace = NULL;
	isc_status st;
	bool read = false;

	if (f->count == ISC_RUN_SET_MAX)
		return too_many(err);
	if (isc_import_sniff(path, &format, NULL) == ISC_OK && format != ISC_IMPORT_UNKNOWN &&
	    format != ISC_IMPORT_ISC) {
		st = isc_imported_new(paths, 1, &imported, &f->runs[f->count], &read, err);
	} else {
		st = isc_trace_open(path, &trace, err);
		read = st == ISC_OK;
		if (st == ISC_OK)
			st = isc_analysis_new(trace, options, &f->runs[f->count], err);
		isc_trace_close(trace);
	}
	*unreadable = !read && st != ISC_OK && st != ISC_ERR_NOMEM;
	if (st == ISC_OK)
		f->damaged |= f->runs[f->count++]->damaged;
	return st;
}

static int is_trace(const struct dirent *entry)
{
	return strcmp(isc_path_extension(entry->d_name), ".isc") == 0;
}

static isc_status read_folder(isc_run_files *f, const char *folder, const isc_analysis_options *options,
			      bool *unreadable, isc_error *err)
{
	struct dirent **entries = NULL;
	int n = scandir(folder, &entries, is_trace, alphasort);
	isc_status st = n < 0 ? isc_fail_errno(err, "cannot list %.150s", folder) : ISC_OK;
	char path[4096];

	if (n == 0) {
		st = isc_fail(err, ISC_ERR_INVALID, "the folder %.150s holds no trace (*.isc)", folder);
		isc_hint(err, "give a folder of traces of inferscope run");
	}
	for (int i = 0; i < n; i++) {
		if (st == ISC_OK &&
		    snprintf(path, sizeof(path), "%s/%s", folder, entries[i]->d_name) < (int)sizeof(path))
			st = read_one(f, path, options, unreadable, err);
		free(entries[i]);
	}
	free(entries);
	return st;
}

isc_status isc_run_files_read(isc_run_files *f, const isc_analysis_options *options, bool *unreadable, isc_error *err)
{
	isc_status st = ISC_OK;
	struct stat sb;

	for (size_t i = 0; st == ISC_OK && i < f->given_count; i++) {
		bool folder = stat(f->given[i], &sb) == 0 && S_ISDIR(sb.st_mode);

		st = folder ? read_folder(f, f->given[i], options, unreadable, err)
			    : read_one(f, f->given[i], options, unreadable, err);
	}
	return st;
}

void isc_run_files_fini(isc_run_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		isc_analysis_free(f->runs[i]);
	f->count = 0;
}

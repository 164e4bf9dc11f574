/*
 * program.c - the program that ran: its command, processes and labels, and the files of an imported trace.
 */
#include "import/import.h"
#include "report/json/tables.h"

#define PROCESS(as, member) ISC_AT(as, isc_analysis_process, member)
static const isc_field process_rows[] = {
	{"process_id", PROCESS(COUNT32, pid)},
	{"parent_id", PROCESS(ID, ppid)},
	{"argv", ISC_LIST(isc_analysis_process, argv, argc, NULL), .each = &isc_each_name},
	{"argv_cut", PROCESS(FLAG, argv_cut)},
	{"start_us", PROCESS(US, start_us)},
	{"wall_us", PROCESS(US, wall_us)},
	{"ended", PROCESS(FLAG, wall_known)},
	{"traced", PROCESS(FLAG, traced)},
	{"attach_failed", PROCESS(FLAG, failed)},
	{"exit_code", PROCESS(CODE, exit_code), ISC_KNOWN(isc_analysis_process, exit_known)},
	{"signal", PROCESS(SIGNAL, signal), ISC_KNOWN(isc_analysis_process, exit_known)},
	{"images", PROCESS(COUNT32, images)},
	{"events", PROCESS(COUNT, events)},
	{.kind = ISC_FIELD_END},
};

/* ---- labels ---- */

static val *labels_of(struct json *j, const void *from)
{
	const isc_analysis *a = from;
	val *labels = yyjson_mut_obj(j->doc);

	for (size_t i = 0; i < a->labels; i++) {
		/* When a key comes twice, the last one counts. */
		val *key = text_of(j, &a->label_keys[i]), *value = text_of(j, &a->label_values[i]);

		if (key == NULL || value == NULL || !yyjson_mut_obj_put(labels, key, value))
			j->failed = true;
	}
	return labels;
}

static void read_labels(isc_reading in)
{
	size_t i, n, room = yyjson_is_obj(in.value) ? yyjson_obj_size(in.value) : 0;
	isc_analysis *a = in.a;
	yyjson_val *key, *value;

	if (room == 0)
		return;
	a->label_keys = isc_arena_array(a->arena, room, sizeof(*a->label_keys));
	a->label_values = isc_arena_array(a->arena, room, sizeof(*a->label_values));
	a->labels = a->label_keys != NULL && a->label_values != NULL ? room : 0;
	yyjson_obj_foreach(a->labels > 0 ? in.value : NULL, i, n, key, value)
	{
		a->label_keys[i] = text_from(a->arena, key);
		a->label_values[i] = text_from(a->arena, value);
	}
}

/* ---- an imported trace ---- */

static val *input_of(struct json *j, const void *from)
{
	const isc_import *import = ((const isc_analysis *)from)->import;
	const char *slash;
	val *o;

	if (import == NULL || import->file_count == 0)
		return yyjson_mut_null(j->doc);
	o = yyjson_mut_obj(j->doc);
	slash = strrchr(import->files[0].path, '/');
	put_words(j, o, "name", slash != NULL ? slash + 1 : import->files[0].path);
	put_words(j, o, "format", import->files[0].format);
	put_count(j, o, "files", import->file_count);
	return o;
}

static void read_input(isc_reading in)
{
	isc_import *import = isc_arena_alloc(in.a->arena, sizeof(*import));
	isc_import_file *file = isc_arena_alloc(in.a->arena, sizeof(*file));
	const char *format = words_from(in.a->arena, yyjson_obj_get(in.value, "format"));
	char *name = words_from(in.a->arena, yyjson_obj_get(in.value, "name"));

	if (!yyjson_is_obj(in.value) || import == NULL || file == NULL)
		return;
	file->path = name != NULL ? name : isc_arena_copy(in.a->arena, "?", 1);
	file->format = format != NULL ? format : "unknown";
	import->files = file;
	import->file_count = count_in(in.value, "files");
	in.a->import = file->path != NULL ? import : NULL;
}

#define PROGRAM(as, member) ISC_AT(as, isc_analysis, member)
const isc_field isc_program_rows[] = {
	{"argv", ISC_LIST(isc_analysis, argv, argc, NULL), .each = &isc_each_name},
	{"exit_code", PROGRAM(CODE, exit_code), ISC_KNOWN(isc_analysis, exit_known)},
	{"signal", PROGRAM(SIGNAL, signal), ISC_KNOWN(isc_analysis, exit_known)},
	{"wall_us", PROGRAM(US, wall_us)},
	{"python", PROGRAM(TEXT, python)},
	{"python_path", PROGRAM(TEXT, python_path)},
	{"host", PROGRAM(TEXT, host)},
	{"labels", .value = labels_of, .read = read_labels},
	{"input", .value = input_of, .read = read_input},
	{"kernel_calls", PROGRAM(WHOLE, kernel_calls), .left_out = true},
	{"processes", ISC_LIST(isc_analysis, processes, process_count, process_rows)},
	{.kind = ISC_FIELD_END},
};

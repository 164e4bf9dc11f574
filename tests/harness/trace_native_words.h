/*
 * trace_native_words.h - frames of native code in traces that are written as text.  Part of trace_text.c.
 */
/* A place in native code, with its name and the file that it lies in. */
static uint32_t define_native(struct maker *m, uint32_t process, const char *name, const char *path, isc_status *st)
{
	char module[160], named[160];
	isc_def_module in = {.path_len = (uint32_t)strlen(path)};
	isc_def_code head = {.name_len = (uint32_t)strlen(name), .flags = ISC_CODE_NATIVE};
	isc_def_native place = {0};
	uint32_t id;

	if (sizeof(in) + in.path_len > sizeof(module) || sizeof(head) + head.name_len > sizeof(named)) {
		*st = bad(m, "too long a name or a file");
		return 0;
	}
	memcpy(module, &in, sizeof(in));
	memcpy(module + sizeof(in), path, in.path_len);
	place.module = define_bytes(m, process, ISC_DEF_MODULE, module, sizeof(in) + in.path_len, st);
	/* What tells it from others in the module. */
	for (const char *at = name; *at != 0; at++)
		place.offset = place.offset * 31 + (unsigned char)*at;
	id = *st == ISC_OK ? define_bytes(m, process, ISC_DEF_NATIVE, &place, sizeof(place), st) : 0;
	memcpy(named, &head, sizeof(head));
	memcpy(named + sizeof(head), name, head.name_len);
	if (*st == ISC_OK)
		*st = isc_writer_define(m->writer, process, id | ISC_DEF_NAMED, ISC_DEF_CODE, named,
					(uint32_t)(sizeof(head) + head.name_len), m->err);
	return id;
}

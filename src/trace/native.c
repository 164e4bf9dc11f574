#include "trace/native.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool use_named(const isc_trace *tr, uint32_t process, uint32_t id, isc_native_name *out)
{
	uint32_t len = 0;
	const char *data = isc_trace_define(tr, process, id | ISC_DEF_NAMED, ISC_DEF_CODE, &len);
	isc_def_code head;

	if (data == NULL || len < sizeof(head))
		return false;
	memcpy(&head, data, sizeof(head));
	len -= (uint32_t)sizeof(head);
	out->name = data + sizeof(head);
	out->name_len = head.name_len < len ? head.name_len : len;
	out->file = out->name + out->name_len;
	out->file_len = head.file_len < len - out->name_len ? head.file_len : len - out->name_len;
	out->line = head.line;
	return true;
}

static void use_module(const isc_trace *tr, uint32_t process, const isc_def_native *place, isc_native_name *out)
{
	uint32_t len = 0, skip;
	const char *data = isc_trace_define(tr, process, place->module, ISC_DEF_MODULE, &len), *base;
	isc_def_module head;

	out->file = "";
	if (data != NULL && len >= sizeof(head)) {
		memcpy(&head, data, sizeof(head));
		len -= (uint32_t)sizeof(head);
		skip = head.build_len < len ? head.build_len : len;
		out->file = data + sizeof(head) + skip;
		out->file_len = head.path_len < len - skip ? head.path_len : len - skip;
	}
	base = out->file;
	for (uint32_t i = 0; i < out->file_len; i++)
		base = out->file[i] == '/' ? out->file + i + 1 : base;
	len = (uint32_t)(out->file + out->file_len - base);
	snprintf(out->fallback, sizeof(out->fallback), "%.*s+0x%" PRIx64, len < 256 ? (int)len : 256,
		 len > 0 ? base : "?", place->offset);
	out->name = out->fallback;
	out->name_len = (uint32_t)strlen(out->fallback);
}

bool isc_native_find(const isc_trace *tr, uint32_t process, uint32_t id, isc_native_name *out)
{
	uint32_t len = 0;
	const void *data = (id & ISC_DEF_NAMED) == 0 ? isc_trace_define(tr, process, id, ISC_DEF_NATIVE, &len) : NULL;
	isc_def_native place;

	if (data == NULL || len < sizeof(place))
		return false;
	memcpy(&place, data, sizeof(place));
	out->name_len = out->file_len = out->line = 0;
	out->flags = place.flags;
	if (!use_named(tr, process, id, out))
		use_module(tr, process, &place, out);
	return true;
}

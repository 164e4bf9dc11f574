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

static void find_module(const isc_trace *tr, uint32_t process, uint32_t id, isc_native_name *out)
{
	uint32_t len = 0, skip;
	const char *data = isc_trace_define(tr, process, id, ISC_DEF_MODULE, &len);
	isc_def_module head;

	if (data == NULL || len < sizeof(head))
		return;
	memcpy(&head, data, sizeof(head));
	len -= (uint32_t)sizeof(head);
	skip = head.build_len < len ? head.build_len : len;
	out->module = data + sizeof(head) + skip;
	out->module_len = head.path_len < len - skip ? head.path_len : len - skip;
}

static void use_offset(uint64_t offset, isc_native_name *out)
{
	const char *base = out->module, *end = out->module + out->module_len;

	for (const char *at = base; at < end; at++)
		base = *at == '/' ? at + 1 : base;
	snprintf(out->fallback, sizeof(out->fallback), "%.*s+0x%" PRIx64, end - base < 256 ? (int)(end - base) : 256,
		 base, offset);
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
	out->file = out->module = "";
	out->name_len = out->file_len = out->module_len = out->line = 0;
	out->flags = place.flags;
	find_module(tr, process, place.module, out);
	if (!use_named(tr, process, id, out))
		use_offset(place.offset, out);
	return true;
}

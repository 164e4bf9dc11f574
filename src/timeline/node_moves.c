#include "timeline/node_moves.h"

#include <yyjson.h>

static bool take(yyjson_val *value, isc_node_move *out)
{
	uint64_t n[5];

	for (size_t i = 0; i < 5; i++) {
		yyjson_val *one = yyjson_arr_get(value, i);

		if (!yyjson_is_uint(one))
			return false;
		n[i] = yyjson_get_uint(one);
	}
	if (n[0] > n[1] || n[2] > UINT32_MAX || n[3] > UINT32_MAX || n[4] == 0)
		return false;
	*out = (isc_node_move){n[0], n[1], (uint32_t)n[2], (uint32_t)n[3], n[4]};
	return true;
}

size_t isc_node_moves_read(const isc_trace *trace, isc_node_move *out, size_t most)
{
	size_t len = 0, count = 0, at, n;
	const char *meta = isc_trace_meta(trace, &len);
	yyjson_doc *doc = meta != NULL ? yyjson_read(meta, len, 0) : NULL;
	yyjson_val *list = yyjson_obj_get(yyjson_obj_get(yyjson_doc_get_root(doc), "numa"), "moves"), *value;

	yyjson_arr_foreach(list, at, n, value)
	{
		if (count < most && take(value, &out[count]))
			count++;
	}
	yyjson_doc_free(doc);
	return count;
}

const isc_trace_process *isc_node_moves_process(const isc_trace *trace)
{
	const isc_trace_process *p;

	for (size_t i = 0; (p = isc_trace_process_at(trace, i)) != NULL; i++) {
		if (p->flags & ISC_PROCESS_ROOT)
			return p;
	}
	return NULL;
}

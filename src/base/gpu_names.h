/*
 * gpu_names.h - names of calls and ranges as people know them.
 *
 * CUDA's tools name a call with its version ("cudaLaunchKernel_v7000"), and PyTorch
 * names every range anew, with the number of the operator and the shapes of what
 * went in ("aten::addmm, seq = 47588, op_id = 999618"): neither can be counted by name.
 *
 * Used inside programs and on files: nothing here but functions of their own.
 */
#ifndef ISC_BASE_GPU_NAMES_H
#define ISC_BASE_GPU_NAMES_H

#include <stddef.h>
#include <string.h>

/* Bytes of a call's name that count: without version and variant ("_v2", "_ptsz").  Signal-safe. */
static inline size_t isc_call_name_bytes(const char *name, size_t len)
{
	size_t n;

	for (;;) {
		if (len > 5 && (memcmp(name + len - 5, "_ptsz", 5) == 0 || memcmp(name + len - 5, "_ptds", 5) == 0)) {
			len -= 5;
			continue;
		}
		for (n = len; n > 0 && name[n - 1] >= '0' && name[n - 1] <= '9'; n--)
			;
		if (n == len || n < 3 || name[n - 1] != 'v' || name[n - 2] != '_')
			return len;
		len = n - 2;
	}
}

/* Bytes of a range's name that count: without what is different each time.  Signal-safe. */
static inline size_t isc_range_name_bytes(const char *name, size_t len)
{
	static const char *const details[] = {"seq = ", "op_id = ", "sizes = ", "input_op_ids = "};

	for (size_t at = 1; at + 2 < len; at++) {
		if (name[at] != ',' || name[at + 1] != ' ')
			continue;
		for (size_t i = 0; i < sizeof(details) / sizeof(details[0]); i++) {
			size_t n = strlen(details[i]);

			if (len - at - 2 >= n && memcmp(name + at + 2, details[i], n) == 0)
				return at;
		}
	}
	return len;
}

#endif

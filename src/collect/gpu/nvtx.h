/*
 * nvtx.h - NVTX ranges of the program, which become scopes of the trace.
 *
 * Every library that uses NVTX has a copy of its loader.  At its first call it asks
 * getenv() for the path of a tool, loads that, and calls InitializeInjectionNvtx2()
 * in it.  environment.c answers with our own path, so nothing has to stand in the
 * environment; a tool that the user names himself comes first.
 *
 *	nvtx.c		the entry point and the functions that NVTX calls
 *	nvtx_name.c	messages, domains and registered strings as names
 *	nvtx_range.c	ranges that are open
 *
 * Declared here is as much of the interface as is needed; it has been the same
 * since the second version of NVTX.  Nothing here allocates from the program's heap
 * or takes a lock.
 */
#ifndef ISC_COLLECT_GPU_NVTX_H
#define ISC_COLLECT_GPU_NVTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "inferscope/status.h"

#define ISC_NVTX_VARIABLE "NVTX_INJECTION64_PATH"

/* What functions of NVTX give back when no tool is there: programs print it. */
#define ISC_NVTX_UNTRACKED (-2)

enum isc_nvtx_message { ISC_NVTX_MESSAGE_BYTES = 1, ISC_NVTX_MESSAGE_WIDE = 2, ISC_NVTX_MESSAGE_REGISTERED = 3 };

typedef struct isc_nvtx_attributes {
	uint16_t version;
	uint16_t size; /* of what the caller has of this struct */
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type; /* enum isc_nvtx_message */
	union {
		const char *bytes;
		const wchar_t *wide;
		const void *registered;
	} message;
} isc_nvtx_attributes;
_Static_assert(sizeof(isc_nvtx_attributes) == 48, "as NVTX lays it out");

enum { ISC_NVTX_TABLE_CALLBACKS = 1, ISC_NVTX_TABLE_VERSION = 3 };
enum { ISC_NVTX_MODULE_CORE = 1, ISC_NVTX_MODULE_CORE2 = 5 };

typedef void (*isc_nvtx_function)(void);

typedef struct isc_nvtx_callbacks {
	size_t size;
	/* An array of pointers to where the functions are kept; 1 when there is one. */
	int (*module)(int module, isc_nvtx_function ***table, unsigned *entries);
} isc_nvtx_callbacks;

typedef struct isc_nvtx_version {
	size_t size;
	uint32_t version;
	uint32_t reserved;
	void (*tool_version)(uint32_t version);
} isc_nvtx_version;

/* What the loader of NVTX looks for in a tool; 0: it does not want to be one. */
ISC_API int InitializeInjectionNvtx2(const void *(*table)(uint32_t id));

/* The path that the loader is to find us by; NULL when no session wants ranges.  Borrowed for good. */
const char *isc_nvtx_path(void);

/* ---- nvtx_name.c ---- */

#define ISC_NVTX_NAME_MAX 1024 /* longer ones are cut: each use of a message is hashed */

/* A name on its way to a definition. */
typedef struct isc_nvtx_name {
	size_t len;
	char text[ISC_NVTX_NAME_MAX + 4];
} isc_nvtx_name;

/* "domain:message"; without a domain the message.  All may be NULL.  A domain or a registered
 * string that we did not hand out counts as none. */
void isc_nvtx_name_bytes(isc_nvtx_name *name, const void *domain, const char *message);
void isc_nvtx_name_wide(isc_nvtx_name *name, const void *domain, const wchar_t *message);
void isc_nvtx_name_event(isc_nvtx_name *name, const void *domain, const isc_nvtx_attributes *event);

/* Keeps a name as long as the program lives; the same for the same text.  NULL: no
 * room, and then the program's ranges lack that name. */
void *isc_nvtx_domain_keep(const isc_nvtx_name *name);
void *isc_nvtx_string_keep(const isc_nvtx_name *name);

/* Its definition in this process. */
uint32_t isc_nvtx_name_id(const isc_nvtx_name *name);

/* ---- nvtx_range.c ---- */

/* Pushed ranges nest by thread and domain.  active: name is its definition; else the range is
 * not recorded, and its pop is known all the same. */
void isc_nvtx_range_push(const void *domain, bool active, uint32_t name);
void isc_nvtx_range_pop(const void *domain);

/* A range that any thread may end; 0: not recorded. */
uint64_t isc_nvtx_range_start(uint32_t name);
void isc_nvtx_range_end(uint64_t id);

#endif

#include "trace/kinds.h"

#include <stddef.h>

#include "base/record.h"
#include "base/syscall.h"

/* A row of a table with numbers, as an element of an array of names. */
#define KIND_NAME(id, number, name) [number] = name,

const char *isc_kind_name(unsigned kind)
{
	static const char *const names[] = {ISC_KINDS(KIND_NAME)};

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : NULL;
}

const char *isc_memory_name(unsigned call)
{
	static const char *const names[] = {[ISC_MEMORY_MALLOC] = "malloc",   [ISC_MEMORY_CALLOC] = "calloc",
					    [ISC_MEMORY_REALLOC] = "realloc", [ISC_MEMORY_ALIGNED] = "aligned",
					    [ISC_MEMORY_MMAP] = "mmap",	      [ISC_MEMORY_MREMAP] = "mremap"};

	return call < sizeof(names) / sizeof(names[0]) ? names[call] : NULL;
}

const char *isc_wait_name(unsigned call)
{
	static const char *const names[] = {ISC_WAITS(KIND_NAME)[ISC_WAIT_GC] = "gc"};

	return call < sizeof(names) / sizeof(names[0]) ? names[call] : NULL;
}

const char *isc_syscall_name(unsigned call)
{
#define NAME(name) [ISC_SYSCALL_##name] = #name,
	static const char *const names[] = {ISC_SYSCALLS(NAME)};

	return call < sizeof(names) / sizeof(names[0]) ? names[call] : NULL;
}

const char *isc_event_type_name(enum isc_event_type type)
{
#define TYPE_NAME(id, name) [ISC_EVENT_##id] = name,
	static const char *const names[ISC_EVENT_TYPE_COUNT] = {ISC_EVENT_TYPES(TYPE_NAME)};

	return names[type];
}

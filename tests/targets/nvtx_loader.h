/*
 * nvtx_loader.h - what a program has of NVTX: its tables, and the loader that looks
 * for a tool at the first call.  Written for tests from what the loader does; with
 * -DREAL_NVTX the real header stands in its place.
 */
#ifndef TARGETS_NVTX_LOADER_H
#define TARGETS_NVTX_LOADER_H

#include <pthread.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <wchar.h>

#ifdef REAL_NVTX
#include <nvtx3/nvToolsExt.h>
#else

typedef struct nvtxEventAttributes_t {
	uint16_t version, size;
	uint32_t category;
	int32_t colorType;
	uint32_t color;
	int32_t payloadType, reserved0;
	uint64_t payload;
	int32_t messageType;
	union {
		const char *ascii;
		const wchar_t *unicode;
		void *registered;
	} message;
} nvtxEventAttributes_t;

typedef void *nvtxDomainHandle_t;
typedef void *nvtxStringHandle_t;
typedef uint64_t nvtxRangeId_t;

#define NVTX_VERSION 3
#define NVTX_EVENT_ATTRIB_STRUCT_SIZE sizeof(nvtxEventAttributes_t)
#define NVTX_MESSAGE_TYPE_ASCII 1
#define NVTX_MESSAGE_TYPE_UNICODE 2
#define NVTX_MESSAGE_TYPE_REGISTERED 3

typedef void (*nvtx_function)(void);
static nvtx_function core[16], core2[16];
static nvtx_function *core_places[16], *core2_places[16];

static int get_module(int module, nvtx_function ***table, unsigned *entries)
{
	if (module != 1 && module != 5)
		return 0;
	*table = module == 1 ? core_places : core2_places;
	*entries = 16;
	return 1;
}

static void set_version(uint32_t version)
{
	(void)version;
}

static const void *get_table(uint32_t id)
{
	static const struct {
		size_t size;
		int (*module)(int, nvtx_function ***, unsigned *);
	} callbacks = {sizeof(callbacks), get_module};
	static const struct {
		size_t size;
		uint32_t version, reserved;
		void (*set)(uint32_t);
	} version = {sizeof(version), NVTX_VERSION, 0, set_version};

	return id == 1 ? (const void *)&callbacks : id == 3 ? (const void *)&version : NULL;
}

static void nvtx_load_now(void)
{
	int (*init)(const void *(*)(uint32_t)) = NULL;
	const char *path;
	void *tool;

	for (int i = 1; i < 16; i++) {
		core_places[i] = &core[i];
		core2_places[i] = &core2[i];
	}
	path = getenv("NVTX_INJECTION64_PATH");
	tool = path != NULL ? dlopen(path, RTLD_LAZY) : NULL;
	if (tool != NULL)
		init = (int (*)(const void *(*)(uint32_t)))dlsym(tool, "InitializeInjectionNvtx2");
	if (init != NULL && init(get_table) == 0)
		dlclose(tool);
}

/* The first thread loads the tool; others wait for it, as with the real one. */
static void nvtx_load(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, nvtx_load_now);
}

#define NVTX(table, place, type, absent, ...) \
	nvtx_load(); \
	return table[place] != NULL ? ((type)table[place])(__VA_ARGS__) : (absent)
#define NVTX_VOID(table, place, type, ...) \
	nvtx_load(); \
	if (table[place] != NULL) \
	((type)table[place])(__VA_ARGS__)

static inline void nvtxMarkA(const char *message)
{
	NVTX_VOID(core, 2, void (*)(const char *), message);
}

static inline nvtxRangeId_t nvtxRangeStartA(const char *message)
{
	NVTX(core, 5, nvtxRangeId_t (*)(const char *), 0, message);
}

static inline nvtxRangeId_t nvtxRangeStartW(const wchar_t *message)
{
	NVTX(core, 6, nvtxRangeId_t (*)(const wchar_t *), 0, message);
}

static inline void nvtxRangeEnd(nvtxRangeId_t id)
{
	NVTX_VOID(core, 7, void (*)(nvtxRangeId_t), id);
}

static inline int nvtxRangePushEx(const nvtxEventAttributes_t *event)
{
	NVTX(core, 8, int (*)(const nvtxEventAttributes_t *), -2, event);
}

static inline int nvtxRangePushA(const char *message)
{
	NVTX(core, 9, int (*)(const char *), -2, message);
}

static inline int nvtxRangePushW(const wchar_t *message)
{
	NVTX(core, 10, int (*)(const wchar_t *), -2, message);
}

static inline int nvtxRangePop(void)
{
	NVTX(core, 11, int (*)(void), -2, );
}

static inline void nvtxNameOsThreadA(uint32_t thread, const char *name)
{
	NVTX_VOID(core, 14, void (*)(uint32_t, const char *), thread, name);
}

static inline void nvtxDomainMarkEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
	NVTX_VOID(core2, 1, void (*)(void *, const nvtxEventAttributes_t *), domain, event);
}

static inline nvtxRangeId_t nvtxDomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
	NVTX(core2, 2, nvtxRangeId_t (*)(void *, const nvtxEventAttributes_t *), 0, domain, event);
}

static inline void nvtxDomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id)
{
	NVTX_VOID(core2, 3, void (*)(void *, nvtxRangeId_t), domain, id);
}

static inline int nvtxDomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *event)
{
	NVTX(core2, 4, int (*)(void *, const nvtxEventAttributes_t *), -2, domain, event);
}

static inline int nvtxDomainRangePop(nvtxDomainHandle_t domain)
{
	NVTX(core2, 5, int (*)(void *), -2, domain);
}

static inline nvtxStringHandle_t nvtxDomainRegisterStringA(nvtxDomainHandle_t domain, const char *text)
{
	NVTX(core2, 10, void *(*)(void *, const char *), NULL, domain, text);
}

static inline nvtxDomainHandle_t nvtxDomainCreateA(const char *name)
{
	NVTX(core2, 12, void *(*)(const char *), NULL, name);
}

static inline nvtxDomainHandle_t nvtxDomainCreateW(const wchar_t *name)
{
	NVTX(core2, 13, void *(*)(const wchar_t *), NULL, name);
}

#endif
#endif

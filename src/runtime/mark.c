/* mark.c - the table behind inferscope/mark.h: marks, counters and scopes from C. */
#include "inferscope/mark.h"

#include <stddef.h>
#include <string.h>

#include "runtime/kernel.h"
#include "runtime/runtime.h"
#include "runtime/write.h"

/* Making a pool takes 0.1 to 0.5 ms; a yield 0.2 us and more. */
#define OPEN_YIELDS 1000

static uint32_t name_id(const char *name)
{
	return name != NULL ? isc_rt_label(name, strlen(name)) : 0;
}

static int mark_active(void)
{
	return isc_rt_active();
}

__attribute__((noinline)) static void mark_instant(const char *name, const char *json)
{
	isc_parcel parcel = {.slots = 1};
	uint64_t ticks;
	uint32_t id;
	size_t len;

	if (!isc_rt_active())
		return;
	ticks = isc_ticks();
	id = name_id(name);
	len = json != NULL ? strnlen(json, ISC_RECORD_TEXT_MAX + 1) : 0;
	if (len == 0 || len > ISC_RECORD_TEXT_MAX) {
		/* Half a JSON text is none: what is too long is left out, and arg says so. */
		isc_write1(ticks, ISC_RECORD_WORD(id, ISC_KIND_INSTANT, len != 0));
		return;
	}
	parcel.slots = 1 + ((uint32_t)len + 4 + 15) / 16;
	parcel.head[0] = ticks;
	parcel.head[1] = (ISC_RECORD_WORD(id, ISC_KIND_INSTANT, 0) & ~(0xffull << 40)) | (uint64_t)parcel.slots << 40;
	parcel.body = json;
	parcel.body_len = (uint32_t)len;
	parcel.length_first = true;
	isc_stream_slow(&parcel, (uintptr_t)__builtin_frame_address(0));
}

static void mark_counter(const char *name, double value)
{
	isc_record record[2] = {{.kind = ISC_KIND_COUNTER, .slots = 2}};

	if (!isc_rt_active())
		return;
	record[0].ticks = isc_ticks();
	record[0].id = name_id(name);
	memcpy(&record[1], &value, sizeof(value));
	isc_write(record, 2);
}

static uint32_t mark_scope_enter(const char *name)
{
	uint64_t ticks;
	uint32_t id;

	if (!isc_rt_active())
		return 0;
	id = name_id(name);
	ticks = isc_ticks();
	/* Without a name the exit would not come: leave both out. */
	if (id != 0)
		isc_write1(ticks, ISC_RECORD_WORD(id, ISC_KIND_SCOPE_ENTER, 0));
	else
		isc_image_miss();
	if (id != 0)
		isc_scope_told(true, id, 0);
	return id;
}

static void mark_scope_exit(uint32_t name)
{
	if (name == 0 || !isc_rt_active())
		return;
	isc_scope_told(false, name, 0);
	isc_write1(isc_ticks(), ISC_RECORD_WORD(name, ISC_KIND_SCOPE_EXIT, 0));
}

static void mark_thread_name(const char *name)
{
	uint32_t id = name != NULL && isc_rt_active() ? isc_rt_thread_label(name, strlen(name)) : 0;

	if (isc_rt_active())
		isc_write1(isc_ticks(), ISC_RECORD_WORD(id, ISC_KIND_THREAD_NAME, 0));
}

static const isc_mark_api api = {
	.version = ISC_MARK_API_VERSION,
	.size = sizeof(isc_mark_api),
	.active = mark_active,
	.instant = mark_instant,
	.counter = mark_counter,
	.scope_enter = mark_scope_enter,
	.scope_exit = mark_scope_exit,
	.thread_name = mark_thread_name,
};

/*
 * Who asks for the table is about to write: the pool is made now, so that threads
 * which begin together do not lose their first events to it.  A thread that finds
 * another one at it lends it the CPU a few times; it never waits for certain.
 */
const isc_mark_api *isc_rt_mark_api(uint32_t version)
{
	if (version > ISC_MARK_API_VERSION)
		return NULL;
	for (int i = 0; i < OPEN_YIELDS && isc_rt_active() && !isc_image_open(); i++) {
		if (atomic_load_explicit(&isc_wiped_page->opening, memory_order_relaxed) != ISC_OPENING_NOW)
			break;
		isc_kernel_yield();
	}
	return &api;
}

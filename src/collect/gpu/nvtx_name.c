#include "collect/gpu/nvtx.h"
#include "runtime/kernel.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#include "base/gpu_names.h"
#include "runtime/runtime.h"

/* Reserved, and used only as far as it is written. */
#define ROOM_BYTES (4u << 20)
#define BUCKETS 512u

#define UNNAMED "(no message)"

enum kind { DOMAIN = 0x6e767444, STRING = 0x6e767453 };

/* A name that the program has a handle of. */
struct kept {
	uint32_t kind;
	uint32_t len;
	struct kept *next; /* of the same bucket */
	char text[];
};

static _Atomic(char *) room;
static _Atomic uint32_t used;
static _Atomic(struct kept *) buckets[BUCKETS];

/* ---- handles ---- */

static char *find_room(void)
{
	char *at = atomic_load_explicit(&room, memory_order_acquire), *none = NULL;

	if (at != NULL)
		return at;
	at = isc_kernel_map(NULL, ROOM_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	if (at == MAP_FAILED)
		return NULL;
	if (atomic_compare_exchange_strong(&room, &none, at))
		return at;
	isc_kernel_unmap(at, ROOM_BYTES);
	return none;
}

/* Handles come from the program, which may mix up those of several tools. */
static const struct kept *look(const void *handle, enum kind kind)
{
	uintptr_t from = (uintptr_t)atomic_load_explicit(&room, memory_order_acquire), at = (uintptr_t)handle;
	uint32_t end = atomic_load_explicit(&used, memory_order_acquire);
	const struct kept *k = handle;

	end = end < ROOM_BYTES ? end : ROOM_BYTES;
	if (from == 0 || at < from || at - from > end || end - (at - from) < sizeof(*k) || (at & 15) != 0)
		return NULL;
	if (k->kind != (uint32_t)kind || k->len > end - (at - from) - sizeof(*k))
		return NULL;
	return k;
}

static struct kept *find(struct kept *first, enum kind kind, const isc_nvtx_name *name)
{
	for (struct kept *k = first; k != NULL; k = k->next)
		if (k->kind == (uint32_t)kind && k->len == name->len && memcmp(k->text, name->text, name->len) == 0)
			return k;
	return NULL;
}

static void *keep(enum kind kind, const isc_nvtx_name *name)
{
	uint32_t need = ((uint32_t)(sizeof(struct kept) + name->len) + 15) & ~15u, hash = 2166136261u, at;
	struct kept *first, *k;
	_Atomic(struct kept *) *bucket;
	char *memory = find_room();

	if (memory == NULL)
		return NULL;
	for (size_t i = 0; i < name->len; i++)
		hash = (hash ^ (unsigned char)name->text[i]) * 16777619u;
	bucket = &buckets[hash % BUCKETS];
	first = atomic_load_explicit(bucket, memory_order_acquire);
	k = find(first, kind, name);
	if (k != NULL)
		return k;
	at = atomic_load(&used);
	do {
		if (at > ROOM_BYTES - need)
			return NULL;
	} while (!atomic_compare_exchange_weak(&used, &at, at + need));
	k = (struct kept *)(void *)(memory + at);
	k->len = (uint32_t)name->len;
	k->next = first;
	memcpy(k->text, name->text, name->len);
	k->kind = (uint32_t)kind;
	while (!atomic_compare_exchange_weak_explicit(bucket, &k->next, k, memory_order_acq_rel, memory_order_acquire))
		;
	return k;
}

void *isc_nvtx_domain_keep(const isc_nvtx_name *name)
{
	return keep(DOMAIN, name);
}

void *isc_nvtx_string_keep(const isc_nvtx_name *name)
{
	return keep(STRING, name);
}

/* ---- text ---- */

static void put(isc_nvtx_name *name, const char *text, size_t len)
{
	size_t left = ISC_NVTX_NAME_MAX - name->len;

	if (len > left) {
		len = left;
		while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80)
			len--; /* not in the middle of a character */
	}
	memcpy(name->text + name->len, text, len);
	name->len += len;
}

static void begin(isc_nvtx_name *name, const void *domain)
{
	const struct kept *k = domain != NULL ? look(domain, DOMAIN) : NULL;

	name->len = 0;
	if (k == NULL || k->len == 0)
		return;
	put(name, k->text, k->len);
	put(name, ":", 1);
}

void isc_nvtx_name_bytes(isc_nvtx_name *name, const void *domain, const char *message)
{
	begin(name, domain);
	if (message != NULL)
		put(name, message, strnlen(message, ISC_NVTX_NAME_MAX + 1));
	else
		put(name, UNNAMED, sizeof(UNNAMED) - 1);
}

static size_t encode(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 0x3f));
		to[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	to[0] = (char)(0xf0 | c >> 18);
	to[1] = (char)(0x80 | (c >> 12 & 0x3f));
	to[2] = (char)(0x80 | (c >> 6 & 0x3f));
	to[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

void isc_nvtx_name_wide(isc_nvtx_name *name, const void *domain, const wchar_t *message)
{
	begin(name, domain);
	if (message == NULL) {
		put(name, UNNAMED, sizeof(UNNAMED) - 1);
		return;
	}
	for (; *message != 0; message++) {
		size_t n = encode(name->text + name->len, (uint32_t)*message);

		if (name->len + n > ISC_NVTX_NAME_MAX)
			break; /* it was written into the four bytes behind */
		name->len += n;
	}
}

void isc_nvtx_name_event(isc_nvtx_name *name, const void *domain, const isc_nvtx_attributes *event)
{
	const struct kept *k;

	if (event == NULL || event->size < sizeof(*event)) {
		isc_nvtx_name_bytes(name, domain, NULL);
		return;
	}
	switch (event->message_type) {
	case ISC_NVTX_MESSAGE_BYTES:
		isc_nvtx_name_bytes(name, domain, event->message.bytes);
		break;
	case ISC_NVTX_MESSAGE_WIDE:
		isc_nvtx_name_wide(name, domain, event->message.wide);
		break;
	case ISC_NVTX_MESSAGE_REGISTERED:
		k = look(event->message.registered, STRING);
		if (k != NULL) {
			name->len = 0; /* it was registered in its domain */
			put(name, k->text, k->len);
			break;
		}
		/* fall through */
	default:
		isc_nvtx_name_bytes(name, domain, NULL);
	}
}

uint32_t isc_nvtx_name_id(const isc_nvtx_name *name)
{
	return isc_rt_label(name->text, isc_range_name_bytes(name->text, name->len));
}

/*
 * image.h - what the runtime knows of the process image it lives in.
 *
 * Two kinds of state.  isc_image is ordinary memory: a fork child inherits it.
 * The wiped page is zero in every fork child, whoever made it, and so tells a
 * child that it is one.  Both change only under isc_guard, by one thread.
 */
#ifndef ISC_RUNTIME_IMAGE_H
#define ISC_RUNTIME_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/layout.h"

#define ISC_FOLDER_MAX 512u

/* Exported for _core, whose hot path is the one in write.h.  Protected: nobody
 * else's symbol takes their place, and in here they are reached as before. */
#ifndef ISC_SHARED
#define ISC_SHARED __attribute__((visibility("protected")))
#endif

enum isc_following { ISC_FOLLOWING_UNKNOWN = 0, ISC_FOLLOWING_YES = 1, ISC_FOLLOWING_NO = 2 };
enum isc_opening { ISC_OPENING_NOT = 0, ISC_OPENING_NOW = 1, ISC_OPENING_FAILED = 2 };

typedef struct isc_wiped {
	_Atomic uint64_t gen;	    /* of the open pool; release, last */
	_Atomic uint32_t following; /* are events of this process wanted? */
	_Atomic uint32_t arriving;  /* somebody has begun isc_image_arrive() */
	_Atomic uint32_t opening;
	uint32_t pad;
	_Atomic uint64_t early;			       /* events that came while the pool was being made */
	_Atomic(const struct isc_scope_watch *) watch; /* who is told of scopes; not in a fork child */
} isc_wiped;

typedef struct isc_image {
	_Atomic(isc_control *) control; /* release, last of attach */
	char folder[ISC_FOLDER_MAX];
	uint32_t clock_source; /* the control's, a load nearer */
	uint32_t ticks_per_us; /* likewise */
	uint32_t flags;	       /* likewise: what is not wanted touches no shared memory */
	uint32_t pid;	       /* a vfork child has another one */
	uint64_t mask;	       /* signals that the thread blocked which arrived here */
	_Atomic uint32_t python;
	uint16_t argv_len;
	uint16_t argv_cut;
	char argv[ISC_ROSTER_ARGV];
	/* Of the open pool, or of the one that was inherited: */
	isc_pool *pool;
	uint64_t pool_size;
	isc_defs *defs;
	uint64_t defs_size;
	uint64_t defs_base; /* bytes, as in isc_defs.base */
	uint64_t gen;
	/* Of the nearest ancestor by fork that had a pool: */
	uint64_t parent_gen;
	uint64_t parent_end; /* bytes: our own definitions begin behind these */
} isc_image;

extern isc_image isc_image_self;

/* Names a process image in its session: when it began, for the recorder sorts by it.  Two that begin on two CPUs can
 * read the same ticks: the last bits are those of the process, and its neighbours' are others.  Never 0. */
#define ISC_IMAGE_GEN_BITS 8

static inline uint64_t isc_image_gen(uint64_t ticks, uint32_t pid)
{
	uint64_t last = (1u << ISC_IMAGE_GEN_BITS) - 1;

	return (ticks & ~last) | (((uint64_t)pid << 1 | 1) & last);
}

ISC_SHARED extern isc_wiped *isc_wiped_page; /* never NULL */

/* generation.c */
bool isc_wiped_make(void);		   /* false: no such page here, stay untraced */
uint32_t isc_image_arrive(uint16_t birth); /* enum isc_following; first thing in a new image or child */
bool isc_image_open(void);		   /* is there a pool, made now if need be? */
bool isc_image_open_for_event(void);	   /* and if another thread is making it, an event is missed */
void isc_image_miss(void);		   /* an event that is left out, as it has no name */

static inline uint32_t isc_image_following(void)
{
	uint32_t f = atomic_load_explicit(&isc_wiped_page->following, memory_order_relaxed);

	return __builtin_expect(f == ISC_FOLLOWING_UNKNOWN, 0) ? isc_image_arrive(ISC_BIRTH_FORK) : f;
}

/* span.c: to who watches scopes, where there is one. */
struct isc_scope_watch;
void isc_scope_tell(const struct isc_scope_watch *watch, bool entered, uint32_t name, uint64_t instance);

static inline void isc_scope_told(bool entered, uint32_t name, uint64_t instance)
{
	const struct isc_scope_watch *watch = atomic_load_explicit(&isc_wiped_page->watch, memory_order_acquire);

	if (__builtin_expect(watch != NULL, 0))
		isc_scope_tell(watch, entered, name, instance);
}

/* defs.c: is there room to spare, for what can be defined later as well?  The last quarter is for calls
 * and marks, which happen once. */
bool isc_defs_roomy(void);

/* The id of a definition that is known, or 0; and the hash of its bytes. */
uint32_t isc_defs_find(uint16_t type, const void *data, size_t len, uint64_t *hash);
uint64_t isc_defs_hash(uint16_t type, const void *data, size_t len);

#define ISC_REST_NAMES "(other names)" /* that there was no room for */

/* pool.c; both under isc_guard */
bool isc_pool_open(void);  /* opens pool and definitions, fills isc_image_self */
void isc_pool_leave(void); /* fork child: what was inherited becomes private memory */

/* roster.c */
void isc_roster_add(isc_control *control, uint16_t birth, bool traced);
void isc_roster_argv(char *const *argv); /* NULL: from /proc */

/* boot.c: the child side of fork. */
void isc_boot_forked(void);

/* Of the collectors, where there are any: an image or a fork child has arrived
 * (signals are blocked), or turns out to be traced after all.  Bound by the linker: the
 * order in which constructors run is not to be relied on. */
void isc_image_arrived(uint16_t birth) __attribute__((weak));

#endif

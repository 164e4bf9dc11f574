/*
 * pool.h - one pool as the recorder sees it, shared by the drain_*.c files.
 *
 * Whatever decides over memory (sizes, offsets, counts) is copied out of the
 * file and checked when the pool is opened, and read from the copy ever after.
 */
#ifndef ISC_SESSION_DRAIN_POOL_H
#define ISC_SESSION_DRAIN_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/hashmap.h"
#include "base/record.h"
#include "runtime/layout.h"
#include "session/drain/drain.h"
#include "session/folder/seal.h"

/* Tests map the program's own memory here, so that a race detector sees both sides. */
#ifdef ISC_DRAIN_MMAP
void *ISC_DRAIN_MMAP(void *at, size_t len, int prot, int flags, int fd, off_t offset);
int ISC_DRAIN_MUNMAP(void *at, size_t len);
#else
#define ISC_DRAIN_MMAP mmap
#define ISC_DRAIN_MUNMAP munmap
#endif

#ifdef ISC_CHAOS
#include <sched.h>
#define ISC_DRAIN_WINDOW(often) \
	do { \
		static unsigned passed_; \
		if (passed_++ % (often) == 0) \
			sched_yield(); \
	} while (0)
#else
#define ISC_DRAIN_WINDOW(often) (void)0
#endif

/* Read once: the program may change it between two looks. */
static inline uint64_t isc_drain_once64(const uint64_t *at)
{
	return *(const volatile uint64_t *)at;
}

static inline uint32_t isc_drain_once32(const uint32_t *at)
{
	return *(const volatile uint32_t *)at;
}

typedef struct isc_drain_stream {
	uint64_t expected; /* the number that comes next */
	uint64_t stored;
	uint64_t lost;
	uint64_t told;	      /* lost, as last given to the sink */
	uint64_t newest;      /* the highest take number met: an older open block was abandoned */
	uint64_t block_seq;   /* the block read last ... */
	uint64_t block_next;  /* ... the number behind what was read of it ... */
	uint32_t block_slots; /* ... and its slots */
} isc_drain_stream;

typedef struct isc_drain_thread { /* what a slot stands for now */
	uint64_t serial;	  /* 0: nobody */
	uint32_t index;		  /* the sink's */
	bool dead;
	isc_drain_stream stream[ISC_STREAMS];
} isc_drain_thread;

typedef struct isc_drain_defs {
	isc_defs *map; /* NULL: there are none to be had */
	uint64_t size;
	uint64_t base;
	uint64_t backed;   /* what we know to be there */
	uint64_t cursor;   /* everything before was given, or waits below */
	uint64_t *waiting; /* places of definitions that were not committed */
	size_t n_waiting, room_waiting;
	bool damaged;
	uint64_t told_lost;
} isc_drain_defs;

typedef struct isc_drain_pool {
	char name[48]; /* pPID.GEN */
	isc_pool *map;
	uint64_t size;
	uint32_t pid;
	uint64_t gen, parent_gen, defs_base;
	uint32_t max_blocks, max_slots;
	_Atomic uint64_t *states;
	isc_slot *slots;
	char *blocks;
	uint64_t off_block;
	uint32_t nblocks;	   /* what we know to be there */
	uint32_t process;	   /* the sink's; 0: left alone */
	isc_drain_thread *threads; /* [max_slots] */
	uint64_t slots_freed;
	uint64_t noslot_told;
	bool gone;
	bool any_dead;	/* some thread below is marked */
	bool pid_known; /* pid is this process in our own numbering */
	unsigned pid_tries;
	unsigned grow_pause;  /* cycles until the next try */
	uint32_t free_blocks; /* at the last look */
	uint64_t slots_read;  /* in this cycle */
	isc_drain_defs defs;
} isc_drain_pool;

typedef struct isc_drain_run_ { /* events copied out, waiting for their definitions */
	uint32_t thread;
	uint8_t stream;
	uint64_t first;
	uint32_t events;
	uint32_t slots;
	size_t at; /* in isc_drain.copy */
} isc_drain_run_;

typedef struct isc_drain_item { /* a block worth looking at */
	uint64_t word;
	uint32_t index;
} isc_drain_item;

#define ISC_DRAIN_BATCH 64u /* blocks copied before they are given away: half a MiB */

struct isc_drain {
	isc_drain_options options;
	isc_drain_sink sink;
	isc_drain_stats stats;
	int dir;
	isc_seal seal;
	uint64_t cycle;
	unsigned calm;		     /* cycles with few events */
	unsigned fresh;		     /* pools opened in this cycle */
	bool dirty;		     /* the folder may hold what we have not seen */
	int64_t seen_sec, seen_nsec; /* its time at the last look */
	isc_hashmap known;	     /* names met: opened, refused or finished */
	isc_hashmap by_gen;	     /* isc_drain_pool * of an open pool; 1: was open once */
	isc_drain_pool **pools;
	size_t n_pools, room_pools;
	isc_drain_item *items;
	uint32_t room_items;
	isc_record *copy; /* ISC_DRAIN_BATCH blocks */
	size_t copy_slots;
	isc_drain_run_ *runs; /* ISC_DRAIN_BATCH of them */
	size_t n_runs;
	char *def_copy; /* ISC_DEF_MAX bytes */
};

/* drain_pool.c.  NULL: *later says whether it is only unfinished. */
isc_drain_pool *isc_drain_pool_open(isc_drain *d, const char *name, uint32_t pid, uint64_t gen, bool *later);
void isc_drain_pool_close(isc_drain *d, isc_drain_pool *p, bool remove);
void isc_drain_pool_grow(isc_drain *d, isc_drain_pool *p);

/* drain_read.c: events of one pool, copied, freed and given to the sink. */
uint64_t isc_drain_pool_read(isc_drain *d, isc_drain_pool *p);

/* drain_thread.c */
isc_drain_thread *isc_drain_thread_of(isc_drain *d, isc_drain_pool *p, uint32_t slot, uint64_t serial, uint32_t tid);
void isc_drain_deaths_learn(isc_drain *d, isc_drain_pool *p);
void isc_drain_deaths_close(isc_drain *d, isc_drain_pool *p);	    /* after a whole read */
void isc_drain_account(isc_drain *d, isc_drain_pool *p, bool last); /* of the living */
uint32_t isc_drain_threads_alive(const isc_drain_pool *p);
uint32_t isc_drain_slots_end(const isc_drain_pool *p); /* no slot from here on was ever taken */

/* drain_defs.c */
void isc_drain_defs_open(isc_drain *d, isc_drain_pool *p);
void isc_drain_defs_close(isc_drain *d, isc_drain_pool *p);
void isc_drain_defs_grow(isc_drain *d, isc_drain_pool *p);
/* Gives everything committed so far, of the pool and of those it was forked from. */
void isc_drain_defs_read(isc_drain *d, isc_drain_pool *p);

/* Is there room for so many bytes more? */
static inline bool isc_drain_room(const isc_drain *d, uint64_t bytes)
{
	return d->stats.bytes <= d->options.limit_bytes && bytes <= d->options.limit_bytes - d->stats.bytes;
}

#endif

/*
 * tables.h - the tables behind follow.h, shared by the follow_*.c files.
 *
 * A *life* is one process from fork to death; each exec in it begins a new
 * image.  Images of one pid form a chain, newest first, over all its lives; an
 * image with ISC_PROCESS_EXEC continues the life of the one before it.
 *
 * A child that does nothing but go on to exec (vfork, posix_spawn, fork in a
 * program without the runtime) is one image, not two: the copy counts on its
 * own only when it announced itself, or lived longer than ISC_COPY_MAX_NS.  So
 * the same program gives the same images whichever source told of them.
 */
#ifndef ISC_SESSION_FOLLOW_TABLES_H
#define ISC_SESSION_FOLLOW_TABLES_H

#include "base/buffer.h"
#include "base/clock.h"
#include "base/hashmap.h"
#include "session/follow/follow.h"
#include "session/follow/proc.h"

/* Sources put different clocks on one event: ticks are converted, perf reads
 * CLOCK_MONOTONIC itself.  Two images of a pid are never this close: an exec
 * takes hundreds of microseconds, and a pid comes back after thousands of forks. */
#define ISC_FOLLOW_SLACK_NS 100000u

#define ISC_COPY_MAX_NS 1000000000u

/* A broken program could announce for ever; past these nothing new is listed. */
#define ISC_FOLLOW_IMAGES_MAX (1u << 20)
#define ISC_FOLLOW_THREADS_MAX (1u << 22)

#define ISC_FOLLOW_ARGV_MAX 4096u	  /* of one image; longer ones are cut */
#define ISC_FOLLOW_ARGV_TOTAL (16u << 20) /* past it only short ones are kept */
#define ISC_FOLLOW_HOLES 64u

enum isc_image_seen {
	ISC_SEEN_FORK = 1u << 0, /* perf told of the fork; or the root, which was there first */
	ISC_SEEN_EXEC = 1u << 1, /* perf told of the exec, at exec_ns */
	ISC_SEEN_ROSTER = 1u << 2,
	ISC_SEEN_POOL = 1u << 3,
	ISC_SEEN_PROC = 1u << 4,
	ISC_SEEN_PROGRAM = 1u << 5, /* a program was loaded in this image; else a copy, or unknown */
	ISC_SEEN_END_EXACT = 1u << 6,
	ISC_SEEN_DEAD = 1u << 7,   /* death was looked at, not only told */
	ISC_SEEN_NESTED = 1u << 8, /* in a pid namespace of its own */
	ISC_SEEN_NSPID = 1u << 9,  /* that was looked at */
	ISC_SEEN_DIRTY = 1u << 10
};

/* How good the arguments are; better ones replace worse. */
enum isc_argv_rank { ISC_ARGV_NONE, ISC_ARGV_INHERITED, ISC_ARGV_COMM, ISC_ARGV_CUT, ISC_ARGV_WHOLE };

typedef struct isc_program_image {
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t told_ns; /* earliest time at which roster, pool or /proc prove it; 0: they do not */
	uint64_t exec_ns;
	uint64_t gen;
	uint64_t defs_parent_gen;
	uint64_t defs_base;
	uint32_t parent;
	uint32_t older;	   /* the image of this pid before it, 0: none */
	uint32_t pid;	   /* as it sees itself */
	uint32_t host_pid; /* as we see it, 0: unknown */
	uint32_t ppid;
	uint32_t flags; /* enum isc_process_flag */
	int32_t wait_status;
	uint32_t live_place; /* in f->live, + 1; 0: ended */
	uint32_t argv;	     /* place in f->argv */
	uint32_t threads;    /* the newest of its threads, linked by isc_task.sibling */
	uint32_t live_threads;
	int32_t pidfd; /* -1: none */
	uint64_t exe;  /* inode of what it runs, 0: not looked at */
	uint16_t argv_len;
	uint16_t seen;	   /* enum isc_image_seen */
	uint8_t argv_rank; /* enum isc_argv_rank */
	uint8_t argv_cut;
	uint8_t argv_tries;
} isc_program_image;

enum isc_task_seen { ISC_TASK_PERF = 1, ISC_TASK_DIRTY = 2, ISC_TASK_FOUND = 4, ISC_TASK_NAMED = 8 };

typedef struct isc_task { /* a thread */
	uint64_t start_ns;
	uint64_t end_ns;
	uint64_t serial;
	uint32_t process;
	uint32_t tid;
	uint32_t older; /* the thread of this process and tid before it */
	uint32_t sibling;
	uint8_t flags; /* as in isc_trace_thread */
	uint8_t seen;  /* enum isc_task_seen */
	char name[16];
	uint64_t counted_ns, on_cpu_ns, run_queue_ns; /* of ISC_THREAD_COUNTED */
} isc_task;

typedef struct isc_follow_hole {
	uint64_t number;
	uint64_t since_ns;
} isc_follow_hole;

struct isc_follow_table {
	isc_follow_sink sink;
	isc_control *control;
	uint32_t clock_source;
	isc_clock_pair first, last;
	uint64_t now_ns; /* of the running call */
	bool blind;
	bool root_waiting; /* the root has not been exec'd yet: its first program is not a new image */
	bool perf;	   /* perf tells of tasks */
	bool backward;	   /* some parent has a higher index than its child */
	uint64_t doubt_until_ns;

	isc_program_image *image; /* by index - first_process; 0 unused */
	uint32_t images, images_room, first_process;
	isc_task *task;
	uint32_t tasks, tasks_room, first_thread;
	isc_hashmap by_pid; /* host pid -> newest image */
	isc_hashmap by_own; /* own pid -> newest image, for those whose host pid is unknown or differs */
	isc_hashmap by_gen;
	isc_hashmap earlier; /* process of an earlier recorder -> pid */
	isc_hashmap by_task; /* process, tid -> newest thread */
	uint32_t *live;
	uint32_t live_count, live_room;
	uint32_t *dirty; /* images, then tasks with the top bit */
	uint32_t dirty_count, dirty_room;
	uint32_t *orphan; /* images whose parent is not known yet */
	uint32_t orphan_count, orphan_room;

	isc_buffer argv;
	isc_hashmap argv_known; /* hash -> place */
	uint32_t root;		/* first image */
	uint32_t roster_size;
	uint64_t roster_next;
	isc_follow_hole hole[ISC_FOLLOW_HOLES];
	uint32_t holes;
	uint32_t pidfds, pidfds_max;
	uint64_t next_look_ns;
	uint64_t next_ask_ns;
	uint32_t looks;
	uint32_t ns_scans; /* left in this call */

	uint32_t traced, roster_lost, unlisted;
};

static inline isc_program_image *isc_program_image_of(const isc_follow *f, uint32_t process)
{
	return process > f->first_process && process - f->first_process <= f->images
		       ? &f->image[process - f->first_process]
		       : NULL;
}

static inline isc_task *isc_task_of(const isc_follow *f, uint32_t thread)
{
	return thread > f->first_thread && thread - f->first_thread <= f->tasks ? &f->task[thread - f->first_thread]
										: NULL;
}

/* follow_image.c: images and their chains. */
uint32_t isc_image_add(isc_follow *f, uint32_t host_pid, uint32_t own_pid, uint32_t ppid, uint64_t start_ns);
/* Puts a fresh image behind `newer` in its chain; the newest of a pid otherwise. */
uint32_t isc_image_add_before(isc_follow *f, uint32_t newer, uint64_t start_ns);
uint32_t isc_image_newest(const isc_follow *f, uint32_t pid);
uint32_t isc_image_at(const isc_follow *f, uint32_t pid, uint64_t time_ns);
uint32_t isc_image_life(const isc_follow *f, uint32_t process); /* the first of its life */
void isc_image_end(isc_follow *f, uint32_t process, uint64_t time_ns, bool exact);
void isc_image_touch(isc_follow *f, uint32_t process);
void isc_image_find_parent(isc_follow *f, uint32_t process);
bool isc_image_set_parent(isc_follow *f, uint32_t process, uint32_t parent); /* false: it descends from it */
void isc_image_inherit(isc_follow *f, uint32_t process);
void isc_image_argv(isc_follow *f, uint32_t process, const char *argv, size_t len, int rank);
void isc_image_place(isc_follow *f, uint32_t process, uint32_t host_pid);

/* follow_claim.c: what the sources say, merged.  Each returns the image meant. */
uint32_t isc_claim_perf_fork(isc_follow *f, uint32_t pid, uint32_t ppid, uint64_t time_ns);
uint32_t isc_claim_perf_exec(isc_follow *f, uint32_t pid, uint64_t time_ns);
uint32_t isc_claim_copy(isc_follow *f, uint32_t pid, uint32_t own_pid, uint32_t ppid, uint64_t time_ns,
			uint16_t source);
uint32_t isc_claim_program(isc_follow *f, uint32_t pid, uint32_t own_pid, uint32_t ppid, uint64_t time_ns,
			   uint16_t source);
/* /proc shows another program file behind the newest image of a pid. */
uint32_t isc_claim_changed(isc_follow *f, uint32_t process, uint64_t time_ns);
/* A pid as its process sees it, seen from here; 0 when unknown. */
uint32_t isc_claim_host(isc_follow *f, uint32_t own_pid, uint32_t own_ppid, uint64_t time_ns);

/* follow_thread.c */
uint32_t isc_task_add(isc_follow *f, uint32_t process, uint32_t tid, uint64_t start_ns);
uint32_t isc_task_find(const isc_follow *f, uint32_t process, uint32_t tid);
void isc_task_end(isc_follow *f, uint32_t thread, uint64_t time_ns);
void isc_task_touch(isc_follow *f, uint32_t thread);
void isc_task_name(isc_follow *f, uint32_t thread, const char *name);

/* follow_roster.c */
void isc_follow_roster(isc_follow *f);

/* follow_look.c: what only looking tells. */
void isc_follow_look(isc_follow *f);
bool isc_follow_is_dead(isc_follow *f, uint32_t process);
void isc_follow_watch(isc_follow *f, uint32_t process); /* a pidfd, where it helps */
void isc_follow_unwatch(isc_follow *f, uint32_t process);
void isc_follow_read_argv(isc_follow *f, uint32_t process, const char *comm);

uint64_t isc_follow_time(isc_follow *f, uint64_t ticks);
bool isc_follow_grow(void **array, uint32_t *room, uint32_t count, size_t size);

#endif

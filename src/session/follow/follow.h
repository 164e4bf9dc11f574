/*
 * follow.h - which processes and threads there are, from whatever tells: the
 * roster in the control file, perf's task records, pools, /proc and the parent's
 * own wait.
 *
 * Every process and thread of the tree becomes one entry, is given to the trace
 * writer when something new is known of it, and keeps its index for good.
 */
#ifndef ISC_SESSION_FOLLOW_FOLLOW_H
#define ISC_SESSION_FOLLOW_FOLLOW_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"
#include "runtime/layout.h"
#include "trace/writer.h"

/* The tag differs from the name: `enum isc_follow` is a setting. */
typedef struct isc_follow_table isc_follow;

/* Where entries go: the trace writer, or a test. */
typedef struct isc_follow_sink {
	void *self;
	isc_status (*process)(void *self, const isc_trace_process *process, isc_error *err);
	isc_status (*thread)(void *self, const isc_trace_thread *thread, isc_error *err);
	/* What the trace has already, 0 when unknown; NULL in a new trace. */
	uint32_t (*find_process)(void *self, uint64_t gen);
	uint32_t (*find_thread)(void *self, uint32_t process, uint64_t serial);
} isc_follow_sink;

typedef struct isc_follow_options {
	isc_follow_sink sink;
	isc_control *control; /* borrowed; NULL: no roster */
	uint32_t clock_source;
	pid_t root;		/* the program; 0: it is in the trace already */
	uint32_t first_process; /* indices up to these are taken, by a recorder that died */
	uint32_t first_thread;
	bool blind; /* never look at the system: only what is told counts */
} isc_follow_options;

isc_status isc_follow_open(const isc_follow_options *options, isc_follow **out, isc_error *err);

/* The usual case.  writer and control are borrowed.  root: the pid of the program. */
isc_status isc_follow_new(isc_writer *writer, isc_control *control, uint32_t clock_source, pid_t root, isc_follow **out,
			  isc_error *err);
void isc_follow_free(isc_follow *f);

/* For salvage: the same over a resumed writer; processes and threads that the
 * trace has already keep their index (isc_writer_find_process, _find_thread). */
isc_status isc_follow_resume(isc_writer *writer, isc_control *control, uint32_t clock_source, pid_t root,
			     isc_follow **out, isc_error *err);

/* Looks for news: roster entries, deaths of known processes, every 100 ms
 * /proc for children and threads that nothing else told of.  Returns how many
 * processes of the tree are alive. */
unsigned isc_follow_poll(isc_follow *f, uint64_t now_ns);

/* Gives what changed to the sink.  isc_follow_poll() ends with it; after a drain it
 * is due before the trace is flushed, so that no event stands there without its thread. */
void isc_follow_flush(isc_follow *f);

/* News from perf. */
void isc_follow_forked(isc_follow *f, uint32_t pid, uint32_t tid, uint32_t ppid, uint64_t time_ns);
void isc_follow_execed(isc_follow *f, uint32_t pid, const char *comm, uint64_t time_ns);
void isc_follow_named(isc_follow *f, uint32_t pid, uint32_t tid, const char *comm);
void isc_follow_exited(isc_follow *f, uint32_t pid, uint32_t tid, uint64_t time_ns);

/* perf lost records: until further notice look for ourselves. */
void isc_follow_doubt(isc_follow *f);

/* The root ended with this status. */
void isc_follow_root_status(isc_follow *f, int wait_status, uint64_t time_ns);

/* A pool was found: its process index, 0 when there is no memory.  parent_gen
 * and defs_base as in isc_pool. */
uint32_t isc_follow_pool(isc_follow *f, const isc_pool *pool);

/* A thread wrote: its index, 0 when there is no memory. */
uint32_t isc_follow_thread(isc_follow *f, uint32_t process, uint32_t tid, uint64_t serial, uint64_t birth_ns);

/* Is this image gone (the process died, or exec replaced it)? */
bool isc_follow_image_gone(isc_follow *f, uint32_t process);

/* A pid as the program's own namespace numbers it, seen from here; 0 when unknown. */
pid_t isc_follow_host_pid(const isc_follow *f, uint32_t process);

typedef struct isc_follow_stats {
	uint32_t processes; /* images */
	uint32_t traced;
	uint32_t roster_lost; /* entries written over before they were read, or never finished */
	uint32_t alive;
	uint32_t unlisted; /* no entry: no memory, or past the limit */
} isc_follow_stats;
void isc_follow_stats_get(const isc_follow *f, isc_follow_stats *out);

#endif

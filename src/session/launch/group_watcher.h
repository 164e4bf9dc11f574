/*
 * group_watcher.h - the watcher: a process in our process group that tells which
 * signals the whole group got.
 *
 * It holds every signal back, holds no descriptor but its pipe, and ends with
 * us.  In a list of processes it is "isc-group" followed by the program's own
 * command line: `pkill -f` with a pattern that finds the program and the
 * recorder then finds the watcher too, and one that finds the recorder alone
 * does not.
 */
#ifndef ISC_SESSION_LAUNCH_GROUP_WATCHER_H
#define ISC_SESSION_LAUNCH_GROUP_WATCHER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

typedef struct isc_group {
	pid_t pid; /* 0: there is none */
	int fd;	   /* becomes readable with news; -1 */
} isc_group;

typedef struct isc_group_news {
	uint32_t question; /* 0: a signal was seen; else the answer to this one */
	int32_t signo;
	int32_t from;
	uint32_t pad;
} isc_group_news;

/* Must come before the program is forked: the kernel signals the youngest
 * member of a group first, and the watcher must be told before we are. */
isc_status isc_group_start(isc_group *g, char *const *argv, isc_error *err);
/* Ends and reaps it. */
void isc_group_stop(isc_group *g);

/* True with one piece of news.  When the watcher is gone, g->pid is 0. */
bool isc_group_read(isc_group *g, isc_group_news *out);

/* Asks for an answer once everything it has got is told. */
void isc_group_ask(const isc_group *g, uint32_t question);

/* We are about to stop because the program did: wake us when it runs again or
 * is gone.  0: no longer. */
void isc_group_guard(const isc_group *g, pid_t program);

/* The state letter of a process as /proc has it, 0 when it cannot be read. */
char isc_group_state_of(pid_t pid);

#endif

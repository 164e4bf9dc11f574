/*
 * cgroup.h - the control group of a process, of version 1 or 2, and the files in its folder.
 */
#ifndef ISC_SESSION_MACHINE_CGROUP_H
#define ISC_SESSION_MACHINE_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the groups of a hierarchy are, and which is the program's. */
typedef struct isc_cgroup {
	char group[PATH_MAX]; /* from the root of the hierarchy */
	char root[PATH_MAX];  /* what of it is mounted */
	char mount[PATH_MAX]; /* and where */
	bool old;	      /* version 1: a hierarchy of its own for each controller */
} isc_cgroup;

/* proc: the folder of a process under /proc; controller: "cpu", "memory".  false: there is none. */
bool isc_cgroup_find(isc_cgroup *p, const char *proc, const char *controller);

/* Opens this file of the group and of all around it, the group's own first; how many there are. */
uint32_t isc_cgroup_open(const isc_cgroup *p, const char *name, int *fd, uint32_t most);

/* What a file of a group says now, with a NUL behind it; fd -1: nothing. */
bool isc_cgroup_read(int fd, char *text, size_t room);

/* The number behind this word, which begins a line; 0: it is not there. */
uint64_t isc_cgroup_number(const char *text, const char *key);

#endif

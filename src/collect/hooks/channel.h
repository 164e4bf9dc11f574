/*
 * channel.h - pipes, sockets and eventfds by their descriptors, and when bytes go into and come out of them.
 *
 * Who sent what a thread waited for is the question that these records answer.  A descriptor is looked at when it is
 * first used, and what it leads to becomes a definition.  That is forgotten when the descriptor is closed or replaced;
 * one that is closed behind our back is noticed by its inode, which is asked for again every ISC_CHANNEL_CHECK uses.
 *
 * Every call that moved bytes is told by one record while the budget allows.  While it does not, only the first after
 * some silence is, for that is the one which wakes whoever waits; the others are counted, and the next record on the
 * channel and in its direction says how many they were, or the last when the descriptor is closed or the process ends.
 *
 * A table by descriptor of the whole process, a line of the cache each; no lock.  A fork child looks anew.
 * Signal-safe, all of it; errno stays as it is.
 */
#ifndef ISC_COLLECT_HOOKS_CHANNEL_H
#define ISC_COLLECT_HOOKS_CHANNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/record.h"

#define ISC_CHANNEL_CHECK 64u	     /* uses between two looks at the inode, which cost as much as some 20 records */
#define ISC_CHANNEL_CHECK_FILE 1024u /* the same of what is no channel: files are to cost next to nothing */
#define ISC_CHANNEL_SILENCE_US 50u   /* what comes after less did not wake anybody: it takes longer to fall asleep */
#define ISC_CHANNELS_APART 16384u    /* of a process, with an own definition: 1.5 MB; later ones share some */
#define ISC_CHANNEL_FDS (1u << 20)   /* descriptors above are none: the kernel gives no more, if not told otherwise */

enum isc_channel_way { ISC_CHANNEL_SENT, ISC_CHANNEL_GOT, ISC_CHANNEL_WAYS };

/* The definition of what it leads to; 0: no channel, or it is not known. */
uint32_t isc_channel_of(int fd);

/* A call that began at `since` has moved bytes up to now. */
void isc_channel_moved(int fd, enum isc_channel_way way, uint64_t since, uint64_t now, uint64_t bytes);

/* A pair of sockets is born: nothing tells later who the other end of each is. */
void isc_channel_pair(const int fds[2]);

/* They are about to be closed, or lead elsewhere now. */
void isc_channel_forget(int fd);
void isc_channel_forget_range(unsigned first, unsigned last);

/* The process ends: tells what was left out and not told yet. */
void isc_channel_flush(void);

#endif

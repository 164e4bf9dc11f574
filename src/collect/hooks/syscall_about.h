/*
 * syscall_about.h - which file or address a system call was about, by name.
 *
 * Only with --syscall-args, and only for calls that were slow: it takes a system call or
 * two.  Nothing that the program gave is read directly, so a pointer that is good no more
 * harms nobody.  Signal-safe.
 */
#ifndef ISC_COLLECT_HOOKS_SYSCALL_ABOUT_H
#define ISC_COLLECT_HOOKS_SYSCALL_ABOUT_H

#include "collect/hooks/syscall.h"

/* The definition of the name; 0: not known. */
uint32_t isc_syscall_about_name(isc_syscall_about about);

#endif

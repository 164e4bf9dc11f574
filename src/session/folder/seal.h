/*
 * seal.h - which files in a session's folder are ours, and how they are removed.
 *
 * A name proves nothing: a file is ours when it is a regular file of this user,
 * has no second name, and carries the seal of the session (runtime/layout.h).
 * Everything goes through an open folder, so exchanging folders on the way leads
 * nowhere else.
 */
#ifndef ISC_SESSION_FOLDER_SEAL_H
#define ISC_SESSION_FOLDER_SEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/layout.h"

isc_seal isc_seal_of(const uint8_t session_id[16]);

/* A new file of that size, sealed at once, whose every byte is there: a full disk is an
 * error now and never a bus error later.  -1 with errno. */
int isc_seal_make(int dir, const char *name, size_t size, size_t seal_at, const isc_seal *seal);

/* Opens a file of ours for reading and writing; seal: whose it must be, or NULL: anybody's,
 * as *found then says (may be NULL).  -1: there is none, or it is not ours. */
int isc_seal_open(int dir, const char *name, size_t seal_at, const isc_seal *seal, isc_seal *found);

/* Removes it if it is ours; false: it is still there. */
bool isc_seal_remove(int dir, const char *name, size_t seal_at, const isc_seal *seal);

/* "pPID.GEN" or "dPID.GEN", by the letter, exactly as the runtime writes it. */
bool isc_seal_pool_name(const char *name, char letter, uint32_t *pid, uint64_t *gen);

#endif

/*
 * transport_session.h - a session folder for tests of the transport: a control
 * file with the sizes that a test wants, and nothing of the recorder.
 */
#ifndef ISC_TESTS_TRANSPORT_SESSION_H
#define ISC_TESTS_TRANSPORT_SESSION_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/layout.h"

typedef struct transport_session {
	char folder[256];
	isc_control *control;
	size_t size;
} transport_session;

/* first_blocks, max_blocks, max_slots and so on of *wish are taken over. */
static inline bool transport_session_make(transport_session *s, const isc_control *wish)
{
	const char *parent = getenv("ISC_TEST_FOLDER");
	char path[300];
	int fd;

	snprintf(s->folder, sizeof(s->folder), "%s/isc-test-XXXXXX", parent != NULL ? parent : "/dev/shm");
	if (mkdtemp(s->folder) == NULL)
		return false;
	snprintf(path, sizeof(path), "%s/" ISC_CONTROL_NAME, s->folder);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	s->size = sizeof(isc_control) + (size_t)ISC_ROSTER_ENTRIES * sizeof(isc_roster_entry);
	if (fd < 0 || posix_fallocate(fd, 0, (off_t)s->size) != 0)
		return false;
	s->control = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (s->control == MAP_FAILED)
		return false;
	memcpy(s->control, wish, sizeof(*wish));
	s->control->abi = ISC_RT_ABI;
	s->control->roster_entries = ISC_ROSTER_ENTRIES;
	if (s->control->max_defs_bytes == 0) {
		s->control->first_defs_bytes = 64u << 10;
		s->control->max_defs_bytes = 16u << 20;
	}
	atomic_store(&s->control->phase, ISC_PHASE_COLLECTING);
	atomic_store_explicit(&s->control->magic, ISC_CONTROL_MAGIC, memory_order_release);
	return true;
}

/* Seals a file for the session of a test, whose id is all zeros unless the test wished for another. */
static inline void transport_seal(isc_seal *seal, const isc_control *control)
{
	seal->magic = ISC_SEAL_MAGIC;
	memcpy(seal->session_id, control->session_id, sizeof(seal->session_id));
}

/* Empties a folder of plain files and removes it. */
static inline void transport_folder_remove(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *e;

	while (dir != NULL && (e = readdir(dir)) != NULL)
		unlinkat(dirfd(dir), e->d_name, 0);
	if (dir != NULL)
		closedir(dir);
	rmdir(folder);
}

static inline void transport_session_remove(transport_session *s)
{
	munmap(s->control, s->size);
	transport_folder_remove(s->folder);
}

/* How many files in the folder begin with this letter. */
static inline unsigned transport_session_files(const transport_session *s, char letter)
{
	DIR *dir = opendir(s->folder);
	struct dirent *e;
	unsigned n = 0;

	while (dir != NULL && (e = readdir(dir)) != NULL)
		n += e->d_name[0] == letter;
	if (dir != NULL)
		closedir(dir);
	return n;
}

#endif

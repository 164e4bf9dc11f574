/*
 * exec_target.c - read the head of a program file.
 *
 * Runs in vfork children, between fork and exec and on small stacks: system
 * calls only, little stack, nothing written outside it.
 */
#include "collect/hooks/exec_target.h"

#include <alloca.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As the kernel: a #! line counts up to here, and so many may follow each other. */
#define SCRIPT_LINE 256
#define SCRIPT_DEPTH 5
#define LOADER_PATH 256 /* real ones have 27 bytes; Nix's under 100 */
#define HEADERS_MAX 64	/* real programs have 9 to 14 */
#define SHELL "/bin/sh" /* what execvp takes for a file without a #! line */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#define LOADER_NAME "/ld-linux-x86-64.so.2"
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#define LOADER_NAME "/ld-linux-aarch64.so.1"
#else
#error "the loader's name on this machine is not known"
#endif

static char own_loader[LOADER_PATH]; /* of this program; empty: not known */

/* System calls: libc's functions of these names are hooked, or are another symbol
 * in each generation of libc. */
static int file_open(int dir, const char *path)
{
	/* Not blocking: the path may name a FIFO. */
	return (int)syscall(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
}

static ssize_t file_read(int fd, void *buf, size_t len, uint64_t at)
{
	return syscall(SYS_pread64, fd, buf, len, (off_t)at);
}

static bool file_stat(const char *path, struct stat *sb)
{
	return syscall(SYS_newfstatat, AT_FDCWD, path, sb, 0) == 0;
}

static void file_close(int fd)
{
	syscall(SYS_close, fd);
}

void isc_exec_target_init(void)
{
	const Elf64_Phdr *header = (const Elf64_Phdr *)getauxval(AT_PHDR);
	size_t n = getauxval(AT_PHNUM);
	uintptr_t bias = 0;
	const char *loader = NULL;

	for (size_t i = 0; header != NULL && i < n; i++)
		if (header[i].p_type == PT_PHDR)
			bias = (uintptr_t)header - header[i].p_vaddr;
	for (size_t i = 0; header != NULL && i < n; i++)
		if (header[i].p_type == PT_INTERP)
			loader = (const char *)(bias + header[i].p_vaddr);
	if (loader != NULL && strlen(loader) < sizeof(own_loader))
		memcpy(own_loader, loader, strlen(loader) + 1);
}

/* Another libc, or another build of ours, may lack what we need and would then
 * not start its program: the loader must be the very one that loaded us. */
static bool is_our_loader(const char *path)
{
	const char *name = strrchr(path, '/');
	struct stat theirs, ours;

	if (own_loader[0] == '\0')
		return name != NULL && strcmp(name, LOADER_NAME) == 0;
	if (strcmp(path, own_loader) == 0)
		return true;
	return file_stat(path, &theirs) && file_stat(own_loader, &ours) && theirs.st_dev == ours.st_dev &&
	       theirs.st_ino == ours.st_ino;
}

static enum isc_exec_target judge_elf(int fd, const unsigned char *head)
{
	Elf64_Ehdr elf;
	Elf64_Phdr header;
	char loader[LOADER_PATH];

	memcpy(&elf, head, sizeof(elf));
	if (elf.e_ident[EI_CLASS] != ELFCLASS64 || elf.e_ident[EI_DATA] != ELFDATA2LSB || elf.e_machine != MACHINE ||
	    elf.e_phentsize != sizeof(header))
		return ISC_EXEC_TARGET_FOREIGN;
	for (unsigned i = 0; i < elf.e_phnum && i < HEADERS_MAX; i++) {
		if (file_read(fd, &header, sizeof(header), elf.e_phoff + i * sizeof(header)) != sizeof(header))
			return ISC_EXEC_TARGET_FOREIGN;
		if (header.p_type != PT_INTERP)
			continue;
		if (header.p_filesz == 0 || header.p_filesz > sizeof(loader) ||
		    file_read(fd, loader, header.p_filesz, header.p_offset) != (ssize_t)header.p_filesz ||
		    loader[header.p_filesz - 1] != '\0')
			return ISC_EXEC_TARGET_FOREIGN;
		return is_our_loader(loader) ? ISC_EXEC_TARGET_LOADS_US : ISC_EXEC_TARGET_FOREIGN;
	}
	return ISC_EXEC_TARGET_FOREIGN;
}

/* Cuts the interpreter out of a #! line in place; NULL when there is none. */
static char *script_interpreter(char *line)
{
	char *start = line + 2 + strspn(line + 2, " \t");

	start[strcspn(start, " \t\n")] = '\0';
	return *start != '\0' ? start : NULL;
}

/* Takes over fd. */
static enum isc_exec_target judge_file(int fd)
{
	union {
		char text[SCRIPT_LINE];
		unsigned char bytes[SCRIPT_LINE];
	} head;
	enum isc_exec_target found;
	char *next;

	for (int depth = 0; fd >= 0; depth++) {
		ssize_t n = file_read(fd, head.bytes, sizeof(head) - 1, 0);

		if (n > (ssize_t)sizeof(Elf64_Ehdr) && memcmp(head.bytes, ELFMAG, SELFMAG) == 0) {
			found = judge_elf(fd, head.bytes);
			file_close(fd);
			return found;
		}
		file_close(fd);
		if (n <= 0 || depth == SCRIPT_DEPTH)
			return ISC_EXEC_TARGET_UNKNOWN;
		head.text[n] = '\0';
		next = head.text[0] == '#' && head.text[1] == '!' ? script_interpreter(head.text) : (char *)SHELL;
		if (next == NULL)
			return ISC_EXEC_TARGET_UNKNOWN;
		fd = file_open(AT_FDCWD, next);
	}
	return ISC_EXEC_TARGET_UNKNOWN;
}

enum isc_exec_target isc_exec_target_judge(int dir, const char *path, int flags)
{
	/* The path is not looked at here: the kernel says EFAULT where we would crash. */
	int fd = file_open(dir, path);

	if (fd >= 0)
		return judge_file(fd);
	if (errno == ENOENT && (flags & AT_EMPTY_PATH) != 0 && path[0] == '\0')
		return isc_exec_target_judge_open(dir);
	return ISC_EXEC_TARGET_UNKNOWN;
}

enum isc_exec_target isc_exec_target_judge_open(int fd)
{
	char link[40] = "/proc/self/fd/";
	char digits[12];
	size_t n = 0, at = strlen(link);

	if (fd < 0)
		return ISC_EXEC_TARGET_UNKNOWN;
	/* Through its name: the descriptor itself may not be good for reading. */
	for (unsigned left = (unsigned)fd; n == 0 || left > 0; left /= 10)
		digits[n++] = (char)('0' + left % 10);
	while (n > 0)
		link[at++] = digits[--n];
	link[at] = '\0';
	fd = file_open(AT_FDCWD, link);
	return fd >= 0 ? judge_file(fd) : ISC_EXEC_TARGET_UNKNOWN;
}

enum isc_exec_target isc_exec_target_search(const char *file)
{
	const char *path = getenv("PATH");
	size_t file_len = strnlen(file, NAME_MAX + 1), path_len;
	struct stat st;
	char *full;

	if (strchr(file, '/') != NULL)
		return isc_exec_target_judge(AT_FDCWD, file, 0);
	if (path == NULL)
		path = "/bin:/usr/bin";
	path_len = strnlen(path, PATH_MAX);
	if (file_len == 0 || file_len > NAME_MAX || path_len >= PATH_MAX)
		return ISC_EXEC_TARGET_UNKNOWN;
	full = alloca(path_len + file_len + 2);
	for (;; path++) {
		size_t len = strcspn(path, ":");

		memcpy(full, path, len);
		full[len] = '/';
		memcpy(full + len + (len > 0), file, file_len + 1);
		if (file_stat(full, &st) && S_ISREG(st.st_mode) && syscall(SYS_faccessat, AT_FDCWD, full, X_OK) == 0)
			return isc_exec_target_judge(AT_FDCWD, full, 0);
		path += len;
		if (*path == '\0')
			return ISC_EXEC_TARGET_UNKNOWN;
	}
}

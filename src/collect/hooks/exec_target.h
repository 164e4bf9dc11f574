/*
 * exec_target.h - can the program in this file load us?
 *
 * A program of another word size or libc cannot: its loader would complain on
 * the program's stderr (32-bit glibc) or refuse to start it (musl); a static one
 * has no loader.
 */
#ifndef ISC_COLLECT_HOOKS_EXEC_TARGET_H
#define ISC_COLLECT_HOOKS_EXEC_TARGET_H

enum isc_exec_target {
	ISC_EXEC_TARGET_UNKNOWN, /* not there, not readable: whoever starts it will see */
	ISC_EXEC_TARGET_LOADS_US,
	ISC_EXEC_TARGET_FOREIGN
};

/* Notes the loader of this program.  Not signal-safe. */
void isc_exec_target_init(void);

/* The file that execveat(dir, path, .., flags) would start, through any row of
 * #! lines.  Signal-safe; errno is not kept. */
enum isc_exec_target isc_exec_target_judge(int dir, const char *path, int flags);

/* The same for fexecve(). */
enum isc_exec_target isc_exec_target_judge_open(int fd);

/* The same for the first file of this name on PATH, or the path itself when
 * there is a slash in it. */
enum isc_exec_target isc_exec_target_search(const char *file);

#endif

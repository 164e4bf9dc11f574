/*
 * exec.c - keep our variables with whatever the program starts.
 *
 * Programs clean the environment of their children, and with it us.  So each
 * way to start a program puts our variables back when the new one can load us,
 * and takes them out when it cannot or is not to be followed.
 *
 * exec in a vfork child runs in its parent's memory: nothing here allocates,
 * locks or writes to a static object, and the new environment lies on the stack.
 * The real function does the rest: search, #! lines, the shell for files without
 * one, and its errors.
 */
#include "collect/hooks/hook.h"

#include <alloca.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/hooks/exec_env.h"
#include "collect/hooks/exec_target.h"
#include "collect/memory/memory.h"
#include "collect/sample/signal.h"
#include "collect/hooks/syscall.h"
#include "runtime/runtime.h"

/* An environment that needs more is passed on as it is: 4,000 variables.  A
 * vfork child has nowhere else to put it than on the stack. */
#define STACK_BYTES_MAX 32768u

/* What the real function needs below: execvpe joins a path and a name there. */
#define STACK_BYTES_BELOW 5120u
#define STACK_STEP 4096u /* the smallest page, so no guard is stepped over */

enum wish { WISH_LEAVE, WISH_WITH, WISH_WITHOUT };

/* Does the new program replace this process, or come beside it? */
enum exec_place { PLACE_HERE, PLACE_CHILD };

static bool is_root(const isc_control *control)
{
	return (uint32_t)syscall(SYS_getpid) == control->root_pid;
}

static enum wish wish_for(enum isc_exec_target target, enum exec_place place, char *const env[])
{
	const isc_control *control = isc_rt_control();
	unsigned follow = ISC_CONTROL_FOLLOW_PYTHON | ISC_CONTROL_FOLLOW_ALL;

	if (control != NULL && (control->flags & ISC_CONTROL_AGENT) == 0)
		return WISH_LEAVE;
	if (target == ISC_EXEC_TARGET_FOREIGN || !isc_exec_env_reachable())
		return WISH_WITHOUT;
	/* Without a session there is nothing to be followed for. */
	if (control == NULL || target == ISC_EXEC_TARGET_UNKNOWN)
		return WISH_LEAVE;
	if ((control->flags & follow) != 0 || (place == PLACE_HERE && is_root(control)))
		return WISH_WITH;
	/* A session that the program itself starts inside ours is its own. */
	return isc_exec_env_has_other(env) ? WISH_LEAVE : WISH_WITHOUT;
}

/* May so much of the stack be used?  A thread's may be as small as 16 KiB.  The
 * kernel is asked to write the signal mask there, page by page, and refuses where
 * the program would crash; where it can, it makes the stack longer. */
static __attribute__((noinline)) bool stack_has(size_t bytes)
{
	char *here = __builtin_frame_address(0);

	for (size_t down = STACK_STEP; down < bytes + STACK_STEP; down += STACK_STEP)
		if (syscall(SYS_rt_sigprocmask, 0, NULL, here - down, sizeof(uint64_t)) != 0)
			return false;
	return true;
}

/* Sets out to what is to be built, or leaves it alone when env can stay. */
static bool plan(isc_exec_env *out, char *const env[], enum wish wish)
{
	size_t bytes;

	if (wish == WISH_LEAVE)
		return false;
	out->vector = NULL;
	isc_exec_env_build(out, env, wish == WISH_WITH);
	bytes = out->entries * sizeof(char *) + out->text_bytes;
	return out->changed && bytes <= STACK_BYTES_MAX && stack_has(bytes + STACK_BYTES_BELOW);
}

/*
 * Declares env_ours: env, or what is to stand for it, on the stack of the
 * function that uses this.  errno is as before.
 */
#define ENVIRONMENT(env, judge, place) \
	char *const *env_ours = (env); \
	do { \
		int saved_errno_ = errno; \
		isc_exec_env built_; \
		enum wish wish_ = isc_exec_env_ready() ? wish_for(judge, place, (env)) : WISH_LEAVE; \
		if (plan(&built_, (env), wish_)) { \
			built_.vector = alloca(built_.entries * sizeof(char *)); \
			built_.text = alloca(built_.text_bytes + 1); \
			isc_exec_env_build(&built_, (env), wish_ == WISH_WITH); \
			env_ours = built_.vector; \
		} \
		errno = saved_errno_; \
	} while (0)

/* Once more as the program meant it, if it was our variables that were too much. */
#define OR_WITHOUT_OURS(name, env, call_ours, call_theirs) \
	do { \
		isc_sample_handed handed_; \
		int result_; \
		isc_memory_before_exec(); \
		isc_syscall_departs(ISC_SYSCALL_##name); \
		handed_ = isc_sample_signal_hand_over(true); \
		result_ = (call_ours); \
		if (result_ == -1 && errno == E2BIG && env_ours != (env)) \
			result_ = (call_theirs); \
		isc_sample_signal_handed_back(handed_); \
		isc_syscall_returned(ISC_SYSCALL_##name, errno); \
		return result_; \
	} while (0)

static int start(const char *path, char *const argv[], char *const env[])
{
	ENVIRONMENT(env, isc_exec_target_judge(AT_FDCWD, path, 0), PLACE_HERE);
	OR_WITHOUT_OURS(execve, env, ISC_REAL(execve)(path, argv, env_ours), ISC_REAL(execve)(path, argv, env));
}

static int start_search(const char *file, char *const argv[], char *const env[])
{
	ENVIRONMENT(env, isc_exec_target_search(file), PLACE_HERE);
	OR_WITHOUT_OURS(execve, env, ISC_REAL(execvpe)(file, argv, env_ours), ISC_REAL(execvpe)(file, argv, env));
}

ISC_HOOK int execve(const char *path, char *const argv[], char *const env[])
{
	return start(path, argv, env);
}

ISC_HOOK int execv(const char *path, char *const argv[])
{
	return start(path, argv, environ);
}

ISC_HOOK int execvpe(const char *file, char *const argv[], char *const env[])
{
	return start_search(file, argv, env);
}

ISC_HOOK int execvp(const char *file, char *const argv[])
{
	return start_search(file, argv, environ);
}

/* Declares argv, the arguments up to and with their NULL, and leaves rest behind it. */
#define ARGUMENTS(first) \
	va_list rest; \
	size_t argc_ = 1; \
	char **argv; \
	va_start(rest, first); \
	while (va_arg(rest, char *) != NULL) \
		argc_++; \
	va_end(rest); \
	argv = alloca((argc_ + 1) * sizeof(char *)); \
	argv[0] = (char *)(first); \
	va_start(rest, first); \
	for (size_t i_ = 1; i_ <= argc_; i_++) \
	argv[i_] = va_arg(rest, char *)

ISC_HOOK int execl(const char *path, const char *arg, ...)
{
	ARGUMENTS(arg);
	va_end(rest);
	return start(path, argv, environ);
}

ISC_HOOK int execlp(const char *file, const char *arg, ...)
{
	ARGUMENTS(arg);
	va_end(rest);
	return start_search(file, argv, environ);
}

ISC_HOOK int execle(const char *path, const char *arg, ...)
{
	char *const *env;

	ARGUMENTS(arg);
	env = va_arg(rest, char *const *);
	va_end(rest);
	return start(path, argv, env);
}

ISC_HOOK int execveat(int dir, const char *path, char *const argv[], char *const env[], int flags)
{
	ENVIRONMENT(env, isc_exec_target_judge(dir, path, flags), PLACE_HERE);
	OR_WITHOUT_OURS(execveat, env, ISC_REAL(execveat)(dir, path, argv, env_ours, flags),
			ISC_REAL(execveat)(dir, path, argv, env, flags));
}

ISC_HOOK int fexecve(int fd, char *const argv[], char *const env[])
{
	ENVIRONMENT(env, isc_exec_target_judge_open(fd), PLACE_HERE);
	OR_WITHOUT_OURS(execve, env, ISC_REAL(fexecve)(fd, argv, env_ours), ISC_REAL(fexecve)(fd, argv, env));
}

ISC_HOOK int posix_spawn(pid_t *__restrict pid, const char *__restrict path,
			 const posix_spawn_file_actions_t *__restrict actions, const posix_spawnattr_t *__restrict attr,
			 char *const argv[__restrict], char *const env[__restrict])
{
	isc_sample_handed handed;
	uint64_t begin;
	int code;

	ENVIRONMENT(env, isc_exec_target_judge(AT_FDCWD, path, 0), PLACE_CHILD);
	begin = isc_syscall_enter(ISC_SYSCALL_NO_WAIT);
	handed = isc_sample_signal_hand_over(false);
	code = ISC_REAL(posix_spawn)(pid, path, actions, attr, argv, env_ours);
	if (code == E2BIG && env_ours != env)
		code = ISC_REAL(posix_spawn)(pid, path, actions, attr, argv, env);
	isc_sample_signal_handed_back(handed);
	if (begin != 0)
		isc_syscall_ended(ISC_SYSCALL_clone, ISC_SYSCALL_NO_WAIT, begin, code, 0, ISC_OF_NONE);
	return code;
}

ISC_HOOK int posix_spawnp(pid_t *__restrict pid, const char *__restrict file,
			  const posix_spawn_file_actions_t *__restrict actions,
			  const posix_spawnattr_t *__restrict attr, char *const argv[__restrict],
			  char *const env[__restrict])
{
	isc_sample_handed handed;
	uint64_t begin;
	int code;

	ENVIRONMENT(env, isc_exec_target_search(file), PLACE_CHILD);
	begin = isc_syscall_enter(ISC_SYSCALL_NO_WAIT);
	handed = isc_sample_signal_hand_over(false);
	code = ISC_REAL(posix_spawnp)(pid, file, actions, attr, argv, env_ours);
	if (code == E2BIG && env_ours != env)
		code = ISC_REAL(posix_spawnp)(pid, file, actions, attr, argv, env);
	isc_sample_signal_handed_back(handed);
	if (begin != 0)
		isc_syscall_ended(ISC_SYSCALL_clone, ISC_SYSCALL_NO_WAIT, begin, code, 0, ISC_OF_NONE);
	return code;
}

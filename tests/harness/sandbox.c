/*
 * sandbox.c - run a command with system calls refused, as containers do.
 *
 *	sandbox [--deny CALL]... [--allow CALL]... [--answer ENOSYS] -- COMMAND...
 *
 * Without options: what the default profile of Docker refuses an ordinary
 * process, with EPERM, as far as a profiler can meet it.  --deny adds to that
 * (older kernels: ptrace, process_vm_readv), --allow takes away.  Needs no root.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct call {
	const char *name;
	unsigned number;
	bool denied;
} call;

static call calls[] = {
	{"bpf", SYS_bpf, true},
	{"get_mempolicy", SYS_get_mempolicy, true},
	{"kcmp", SYS_kcmp, true},
	{"mbind", SYS_mbind, true},
	{"mount", SYS_mount, true},
	{"move_pages", SYS_move_pages, true},
	{"perf_event_open", SYS_perf_event_open, true},
	{"set_mempolicy", SYS_set_mempolicy, true},
	{"setns", SYS_setns, true},
	{"unshare", SYS_unshare, true},
	{"userfaultfd", SYS_userfaultfd, true},
	{"memfd_create", SYS_memfd_create, false},
	{"pidfd_open", SYS_pidfd_open, false},
	{"process_vm_readv", SYS_process_vm_readv, false},
	{"ptrace", SYS_ptrace, false},
	{"rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo, false},
	{"signalfd4", SYS_signalfd4, false},
	{"timer_create", SYS_timer_create, false},
};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static bool set(const char *name, bool denied)
{
	for (size_t i = 0; i < CALLS; i++)
		if (strcmp(calls[i].name, name) == 0) {
			calls[i].denied = denied;
			return true;
		}
	fprintf(stderr, "sandbox: no such call in the list: %s\n", name);
	return false;
}

static bool refuse(unsigned answer)
{
	struct sock_filter code[2 * CALLS + 8];
	unsigned short n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < CALLS; i++) {
		if (!calls[i].denied)
			continue;
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i].number, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | answer);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog program = {n, code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

int main(int argc, char **argv)
{
	unsigned answer = EPERM;
	int i = 1;

	for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
		const char *value = argv[i + 1];

		if (strcmp(argv[i], "--answer") == 0)
			answer = strcmp(value, "ENOSYS") == 0 ? ENOSYS : EPERM;
		else if (strcmp(argv[i], "--deny") == 0 || strcmp(argv[i], "--allow") == 0) {
			if (!set(value, argv[i][2] == 'd'))
				return 2;
		} else {
			break;
		}
	}
	if (i + 1 >= argc || strcmp(argv[i], "--") != 0) {
		fprintf(stderr, "usage: sandbox [--deny CALL] [--allow CALL] [--answer ENOSYS] -- COMMAND...\n");
		return 2;
	}
	if (!refuse(answer)) {
		perror("sandbox: seccomp");
		return 77;
	}
	execvp(argv[i + 1], argv + i + 1);
	int failed = errno;
	perror(argv[i + 1]);
	return failed == ENOENT ? 127 : 126;
}

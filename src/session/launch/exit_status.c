#include "session/launch/exit_status.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/output.h"
#include "session/launch/launch.h"

static volatile int program_status;

static int code_of(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

_Noreturn void isc_ending_now(int wait_status)
{
	const struct rlimit none = {0, 0};
	struct sigaction usual = {.sa_handler = SIG_DFL};
	sigset_t one;

	if (WIFSIGNALED(wait_status)) {
		int signo = WTERMSIG(wait_status);

		/* The program may have left a core; ours would say nothing.  A core
		 * handler behind a pipe ignores the limit, so the second as well. */
		setrlimit(RLIMIT_CORE, &none);
		prctl(PR_SET_DUMPABLE, 0);
		sigaction(signo, &usual, NULL);
		sigemptyset(&one);
		sigaddset(&one, signo);
		sigprocmask(SIG_UNBLOCK, &one, NULL);
		kill(getpid(), signo);
	}
	/* PID 1 comes here with a signal too: it cannot die of its own. */
	_exit(code_of(wait_status));
}

static void on_signal(int signo)
{
	(void)signo;
	isc_output_drop_all();
	isc_ending_now(program_status);
}

void isc_ending_on_signals(int wait_status)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction ours = {.sa_handler = on_signal}, before;

	program_status = wait_status;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(ends[i], &ours, NULL);
}

_Noreturn void isc_launch_exit_like(int wait_status)
{
	if (!WIFSIGNALED(wait_status))
		exit(code_of(wait_status));
	fflush(NULL);
	isc_ending_now(wait_status);
}

/*
 * signal_log.c - says which signals it gets, one line each: number, code, value.
 *
 *	signal_log [polite|deaf] [SIGNAL...]
 *
 * Catches all signals, or the ones listed; ends on signal 63, which is handed
 * out after every lower one.  polite: on SIGTSTP it tidies up and then stops, as
 * editors do.  deaf: it ignores SIGTSTP.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LAST = 63 };
static volatile sig_atomic_t done;

static void say(const char *text, size_t len)
{
	if (write(1, text, len) < 0)
		_exit(3);
}

static void log_one(int signo, siginfo_t *si, void *context)
{
	char line[96];

	(void)context;
	if (signo == LAST) {
		done = 1;
		return;
	}
	say(line, (size_t)snprintf(line, sizeof(line), "got %d %s %d\n", signo,
				   si->si_code == SI_QUEUE    ? "queue"
				   : si->si_code == SI_KERNEL ? "kernel"
							      : "user",
				   si->si_code == SI_QUEUE ? si->si_value.sival_int : 0));
}

static void tidy_up_and_stop(int signo)
{
	(void)signo;
	say("tidied\n", 7);
	raise(SIGSTOP);
	say("back\n", 5);
}

int main(int argc, char **argv)
{
	struct sigaction action = {.sa_sigaction = log_one, .sa_flags = SA_SIGINFO | SA_RESTART};
	struct sigaction polite = {.sa_handler = tidy_up_and_stop, .sa_flags = SA_RESTART};
	const char *manner =
		argc > 1 && (strcmp(argv[1], "polite") == 0 || strcmp(argv[1], "deaf") == 0) ? argv[1] : "";
	sigset_t all, before;
	char line[32];

	/* Whole handlers, lowest signal first. */
	sigfillset(&action.sa_mask);
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	if (manner[0] == 'p')
		sigaction(SIGTSTP, &polite, NULL);
	else if (manner[0] == 'd')
		signal(SIGTSTP, SIG_IGN);
	else if (argc > 1)
		for (int i = 1; i < argc; i++)
			sigaction(atoi(argv[i]), &action, NULL);
	else
		for (int signo = 1; signo < LAST; signo++)
			if (signo != SIGCHLD)
				sigaction(signo, &action, NULL);
	sigaction(LAST, &action, NULL);
	say(line, (size_t)snprintf(line, sizeof(line), "ready %d\n", (int)getpid()));
	while (!done)
		sigsuspend(&before);
	say("end\n", 4);
	return 0;
}

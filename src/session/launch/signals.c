#include "session/launch/signals.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Raised by the processor in the thread that made a mistake: blocked they would
 * end us without a word. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

/* Sent to who writes where nobody reads, or past the limit of file sizes: an
 * error of the call is enough, and must never be our end. */
static const int on_write[] = {SIGPIPE, SIGXFSZ};
#define ON_WRITE (sizeof(on_write) / sizeof(on_write[0]))

static struct sigaction on_write_before[ON_WRITE];
static struct sigaction on_bus_before;
static uintptr_t page_bytes;
static bool shielded;

/* The program can cut a file short that we share with it.  What was there then
 * reads as zeros, which the reader takes for damage, and what is written goes nowhere. */
static void on_bus(int signo, siginfo_t *info, void *context)
{
	void *page = (void *)((uintptr_t)info->si_addr & ~(page_bytes - 1));
	int error = errno;

	(void)context;
	if (info->si_code != BUS_ADRERR || mmap(page, page_bytes, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED) {
		signal(signo, SIG_DFL);
		raise(signo);
	}
	errno = error;
}

void isc_signals_shield(void)
{
	struct sigaction ignored = {.sa_handler = SIG_IGN}, bus = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};

	for (size_t i = 0; i < ON_WRITE; i++)
		sigaction(on_write[i], &ignored, &on_write_before[i]);
	page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	sigaction(SIGBUS, &bus, &on_bus_before);
	shielded = true;
}

isc_status isc_signals_hold(isc_signals *s, isc_error *err)
{
	struct sigaction usual = {.sa_handler = SIG_DFL};

	s->held = false;
	sigfillset(&s->taken);
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++)
		sigdelset(&s->taken, faults[i]);
	s->fd = signalfd(-1, &s->taken, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd < 0)
		return isc_fail_errno(err, "cannot read signals through a descriptor");
	sigprocmask(SIG_BLOCK, &s->taken, &s->before);
	sigaction(SIGCHLD, &usual, &s->child_before);
	s->held = true;
	return ISC_OK;
}

void isc_signals_give_back(const isc_signals *s)
{
	for (size_t i = 0; shielded && i < ON_WRITE; i++)
		sigaction(on_write[i], &on_write_before[i], NULL);
	if (shielded)
		sigaction(SIGBUS, &on_bus_before, NULL);
	sigaction(SIGCHLD, &s->child_before, NULL);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}

void isc_signals_release(isc_signals *s)
{
	isc_signal dropped;

	if (!s->held)
		return;
	while (isc_signals_read(s, &dropped))
		;
	close(s->fd);
	s->fd = -1;
	s->held = false;
	sigaction(SIGCHLD, &s->child_before, NULL);
	sigprocmask(SIG_SETMASK, &s->before, NULL);
}

bool isc_signals_read(const isc_signals *s, isc_signal *out)
{
	struct signalfd_siginfo si;
	ssize_t n;

	do
		n = read(s->fd, &si, sizeof(si));
	while (n < 0 && errno == EINTR);
	if (n != (ssize_t)sizeof(si))
		return false;
	out->signo = (int)si.ssi_signo;
	out->code = si.ssi_code;
	out->from = (pid_t)si.ssi_pid;
	out->uid = si.ssi_uid;
	out->value = si.ssi_ptr;
	return true;
}

void isc_signals_send(pid_t to, const isc_signal *signal)
{
	siginfo_t si;

	if (signal->code != SI_QUEUE) {
		kill(to, signal->signo);
		return;
	}
	/* Past sigqueue(), which would put our own process in the sender's place. */
	memset(&si, 0, sizeof(si));
	si.si_signo = signal->signo;
	si.si_code = SI_QUEUE;
	si.si_pid = signal->from;
	si.si_uid = signal->uid;
	si.si_value.sival_ptr = (void *)(uintptr_t)signal->value;
	syscall(SYS_rt_sigqueueinfo, to, signal->signo, &si);
}

void isc_signals_stop(const isc_signals *s, int signo)
{
	struct sigaction usual = {.sa_handler = SIG_DFL}, before;
	sigset_t one;

	if (signo == SIGSTOP) {
		kill(getpid(), SIGSTOP);
		return;
	}
	sigaction(signo, &usual, &before);
	/* Sent while it is blocked it joins the one that ^Z may have left here. */
	kill(getpid(), signo);
	sigemptyset(&one);
	sigaddset(&one, signo);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	sigprocmask(SIG_BLOCK, &s->taken, NULL);
	sigaction(signo, &before, NULL);
}

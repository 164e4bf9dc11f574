/*
 * signal_relay.h - which of the signals that reach the recorder are passed on.
 *
 * A signal that was sent to the recorder alone is meant for the program.  One
 * that was sent to the whole process group has reached the program already, and
 * must not reach it twice: two SIGTERMs mean "at once" to many servers.  What
 * tells them apart is a watcher in the same group (group.h) that nobody signals
 * on its own: if it got the same signal from the same sender, everybody did.
 *
 * The kernel serves the youngest member of a group first, so the watcher always
 * has a group's signal before the recorder, which is older.  A service manager
 * that signals each process in turn has no such order; that is what the window
 * is for; while such a sender still runs, it may not be through yet.  Pure
 * logic: times are arguments, nothing is sent from here.
 */
#ifndef ISC_SESSION_LAUNCH_SIGNAL_RELAY_H
#define ISC_SESSION_LAUNCH_SIGNAL_RELAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* How long a signal waits for the watcher's word.  Kills that one sender sends
 * to several processes in a row lie microseconds apart. */
#define ISC_RELAY_WINDOW_NS 20000000ull
/* And how long at most while the sender is on a CPU or waits for one. */
#define ISC_RELAY_LONGEST_NS 250000000ull
/* A watcher that does not answer for so long is stopped or starved. */
#define ISC_RELAY_ANSWER_NS 1000000000ull
#define ISC_RELAY_ROOM 64

typedef struct isc_signal {
	int signo;
	int code; /* si_code */
	pid_t from;
	uid_t uid;
	uint64_t value; /* of sigqueue */
} isc_signal;

typedef struct isc_relay {
	pid_t own;		 /* signals from ourselves (SIGPIPE, SIGXFSZ) are ours */
	pid_t watcher;		 /* 0: there is none */
	pid_t program;		 /* what it sends to its parent is not for itself; 0: not known */
	bool leader;		 /* of the session: the terminal's SIGHUP comes to us alone */
	bool (*busy)(pid_t pid); /* is this process running?  NULL: never */
	uint32_t asked;		 /* number of the last question */
	size_t waiting_count, seen_count;
	struct {
		isc_signal signal;
		uint64_t since_ns;
		uint64_t due_ns;   /* to be asked about, or given up on */
		uint32_t question; /* 0: not asked yet */
		bool ready;
	} waiting[ISC_RELAY_ROOM];
	struct {
		int signo;
		pid_t from;
		uint64_t at_ns;
	} seen[ISC_RELAY_ROOM];
} isc_relay;

void isc_relay_init(isc_relay *r, pid_t own, pid_t watcher, bool leader);

/* The recorder got this one.  False: there is no room for it before everything
 * that isc_relay_take() now gives has been taken. */
bool isc_relay_got(isc_relay *r, const isc_signal *signal, uint64_t now_ns);
/* The watcher got this one. */
void isc_relay_seen(isc_relay *r, int signo, pid_t from, uint64_t now_ns);
/* The watcher has told of everything it had when it read this question. */
void isc_relay_answered(isc_relay *r, uint32_t question);
/* The watcher is gone. */
void isc_relay_alone(isc_relay *r);

/* Must the watcher be asked now?  Then under which number. */
bool isc_relay_ask(isc_relay *r, uint64_t now_ns, uint32_t *question);
/* The next signal to pass on, if any is ready. */
bool isc_relay_take(isc_relay *r, uint64_t now_ns, isc_signal *out);
/* When to call ask and take again; UINT64_MAX when nothing waits. */
uint64_t isc_relay_due_ns(const isc_relay *r);

#endif

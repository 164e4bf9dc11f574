#include "session/launch/signal_relay.h"

#include <signal.h>
#include <string.h>

void isc_relay_init(isc_relay *r, pid_t own, pid_t watcher, bool leader)
{
	memset(r, 0, sizeof(*r));
	r->own = own;
	r->watcher = watcher;
	r->leader = leader;
}

static bool wanted(const isc_relay *r, const isc_signal *s)
{
	switch (s->code) {
	case SI_USER:
	case SI_QUEUE:
	case SI_TKILL:
		return s->from != r->own && (r->watcher == 0 || s->from != r->watcher) &&
		       (r->program == 0 || s->from != r->program);
	case SI_KERNEL:
		/* From the kernel the group gets what it needs, but two come to one
		 * process only: an alarm set before the command was started, which
		 * exec keeps, and the hangup of the terminal of a session leader. */
		return s->signo == SIGALRM || (s->signo == SIGHUP && r->leader);
	default:
		return false;
	}
}

/* One sender may mean one end and say it twice, to the process and to its group
 * (timeout does).  Sent together the two would mostly have become one. */
static bool asks_to_end(int signo)
{
	return signo == SIGTERM || signo == SIGINT || signo == SIGHUP || signo == SIGQUIT;
}

static void drop_waiting(isc_relay *r, size_t at)
{
	r->waiting_count--;
	memmove(&r->waiting[at], &r->waiting[at + 1], (r->waiting_count - at) * sizeof(r->waiting[0]));
}

static void drop_seen(isc_relay *r, size_t at)
{
	r->seen_count--;
	memmove(&r->seen[at], &r->seen[at + 1], (r->seen_count - at) * sizeof(r->seen[0]));
}

/* May more of what this sender began at that time still come? */
static bool in_window(const isc_relay *r, pid_t from, uint64_t began_ns, uint64_t now_ns)
{
	uint64_t age_ns = now_ns - began_ns;

	if (age_ns < ISC_RELAY_WINDOW_NS)
		return true;
	return age_ns < ISC_RELAY_LONGEST_NS && r->busy != NULL && from > 0 && r->busy(from);
}

/* What the watcher got long ago and the recorder never did was merged with
 * another one that was pending here; it must not swallow a later signal. */
static void forget_old(isc_relay *r, uint64_t now_ns)
{
	for (size_t i = 0; i < r->seen_count;)
		if (in_window(r, r->seen[i].from, r->seen[i].at_ns, now_ns))
			i++;
		else
			drop_seen(r, i);
}

bool isc_relay_got(isc_relay *r, const isc_signal *signal, uint64_t now_ns)
{
	if (!wanted(r, signal))
		return true;
	forget_old(r, now_ns);
	for (size_t i = 0; i < r->seen_count; i++) {
		if (r->seen[i].signo != signal->signo || r->seen[i].from != signal->from)
			continue;
		if (!asks_to_end(signal->signo))
			drop_seen(r, i);
		return true;
	}
	/* Only a storm fills the room; then all that wait go out unjudged. */
	if (r->waiting_count == ISC_RELAY_ROOM) {
		for (size_t i = 0; i < r->waiting_count; i++)
			r->waiting[i].ready = true;
		return false;
	}
	r->waiting[r->waiting_count].signal = *signal;
	r->waiting[r->waiting_count].since_ns = now_ns;
	r->waiting[r->waiting_count].due_ns = now_ns + ISC_RELAY_WINDOW_NS;
	r->waiting[r->waiting_count].question = 0;
	r->waiting[r->waiting_count].ready = r->watcher == 0;
	r->waiting_count++;
	return true;
}

void isc_relay_seen(isc_relay *r, int signo, pid_t from, uint64_t now_ns)
{
	bool ends = asks_to_end(signo), matched = false;

	forget_old(r, now_ns);
	for (size_t i = 0; i < r->waiting_count && (ends || !matched);) {
		if (r->waiting[i].signal.signo == signo && r->waiting[i].signal.from == from) {
			drop_waiting(r, i);
			matched = true;
		} else {
			i++;
		}
	}
	if (matched && !ends)
		return;
	if (r->seen_count == ISC_RELAY_ROOM)
		drop_seen(r, 0);
	r->seen[r->seen_count].signo = signo;
	r->seen[r->seen_count].from = from;
	r->seen[r->seen_count].at_ns = now_ns;
	r->seen_count++;
}

void isc_relay_answered(isc_relay *r, uint32_t question)
{
	for (size_t i = 0; i < r->waiting_count; i++)
		if (r->waiting[i].question != 0 && r->waiting[i].question <= question)
			r->waiting[i].ready = true;
}

void isc_relay_alone(isc_relay *r)
{
	r->watcher = 0;
	for (size_t i = 0; i < r->waiting_count; i++)
		r->waiting[i].ready = true;
}

bool isc_relay_ask(isc_relay *r, uint64_t now_ns, uint32_t *question)
{
	bool ask = false;

	for (size_t i = 0; i < r->waiting_count; i++) {
		if (r->waiting[i].ready || r->waiting[i].question != 0 || now_ns < r->waiting[i].due_ns)
			continue;
		if (in_window(r, r->waiting[i].signal.from, r->waiting[i].since_ns, now_ns)) {
			r->waiting[i].due_ns = now_ns + ISC_RELAY_WINDOW_NS;
			continue;
		}
		r->waiting[i].question = r->asked + 1;
		r->waiting[i].due_ns = now_ns + ISC_RELAY_ANSWER_NS;
		ask = true;
	}
	if (ask)
		*question = ++r->asked;
	return ask;
}

bool isc_relay_take(isc_relay *r, uint64_t now_ns, isc_signal *out)
{
	for (size_t i = 0; i < r->waiting_count; i++) {
		bool unanswered = r->waiting[i].question != 0 && now_ns >= r->waiting[i].due_ns;

		if (!r->waiting[i].ready && !unanswered)
			continue;
		*out = r->waiting[i].signal;
		drop_waiting(r, i);
		return true;
	}
	return false;
}

uint64_t isc_relay_due_ns(const isc_relay *r)
{
	uint64_t due = UINT64_MAX;

	for (size_t i = 0; i < r->waiting_count; i++) {
		uint64_t at = r->waiting[i].ready ? r->waiting[i].since_ns : r->waiting[i].due_ns;

		if (at < due)
			due = at;
	}
	return due;
}

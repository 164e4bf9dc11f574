/*
 * claims.c - several sources tell of the same fork or exec, in any order;
 * here what they say becomes one image.
 *
 * Within one image perf's record of its birth comes first in time, then its
 * line in the roster, then its pool; /proc shows it somewhere after its birth.
 * Kind and time together say which image is meant.
 */
#include <string.h>

#include "session/follow/tables.h"

static bool over_before(const isc_program_image *x, uint64_t time_ns)
{
	return x->flags & ISC_PROCESS_ENDED && x->end_ns + ISC_FOLLOW_SLACK_NS < time_ns;
}

/* The image runs a program: arguments read while it was a copy are its parent's. */
static void loaded(isc_follow *f, uint32_t process)
{
	isc_program_image *x = isc_program_image_of(f, process);

	if (!(x->seen & ISC_SEEN_PROGRAM) && x->argv_rank > ISC_ARGV_INHERITED)
		x->argv_rank = ISC_ARGV_INHERITED;
	x->seen |= ISC_SEEN_PROGRAM;
	isc_image_touch(f, process);
}

/* Did the copy say something of itself before this time? */
static bool announced_before(const isc_program_image *x, uint64_t time_ns)
{
	return x->seen & (ISC_SEEN_ROSTER | ISC_SEEN_POOL) && x->told_ns < time_ns;
}

static void told(isc_program_image *x, uint16_t source, uint64_t time_ns)
{
	x->seen |= source;
	if (x->told_ns == 0 || time_ns < x->told_ns)
		x->told_ns = time_ns;
}

static void begin_at(isc_follow *f, uint32_t process, uint64_t time_ns)
{
	isc_program_image *x = isc_program_image_of(f, process);
	uint32_t thread = isc_task_find(f, process, x->host_pid ? x->host_pid : x->pid);

	x->start_ns = time_ns;
	if (thread != 0) {
		isc_task_of(f, thread)->start_ns = time_ns;
		isc_task_touch(f, thread);
	}
	isc_image_touch(f, process);
}

static uint32_t newest_of(const isc_follow *f, uint32_t pid, uint32_t own_pid)
{
	if (pid != 0)
		return isc_image_newest(f, pid);
	uint64_t *own = isc_hashmap_find(&f->by_own, own_pid);
	return own != NULL && isc_program_image_of(f, (uint32_t)*own)->host_pid == 0 ? (uint32_t)*own : 0;
}

/* The newest image of the pid that had begun by then.  *newer is the one after
 * it: the news is older than what is known already. */
static uint32_t newest_by(const isc_follow *f, uint32_t pid, uint32_t own_pid, uint64_t time_ns, uint32_t *newer)
{
	uint32_t process = newest_of(f, pid, own_pid);
	const isc_program_image *x;

	*newer = 0;
	while ((x = isc_program_image_of(f, process)) != NULL && x->seen & (ISC_SEEN_FORK | ISC_SEEN_EXEC) &&
	       process != f->root && x->start_ns > time_ns + ISC_FOLLOW_SLACK_NS) {
		*newer = process;
		process = x->older;
	}
	return process;
}

/* A pid has come back, so whoever had it is gone. */
static uint32_t new_life(isc_follow *f, uint32_t pid, uint32_t own_pid, uint32_t ppid, uint64_t time_ns, uint32_t newer)
{
	uint32_t before = newest_of(f, pid, own_pid), process;

	if (newer != 0) {
		uint64_t end_ns = isc_program_image_of(f, newer)->start_ns;

		process = isc_image_add_before(f, newer, time_ns);
		if (process != 0) {
			isc_program_image_of(f, process)->ppid = ppid;
			isc_image_find_parent(f, process);
			isc_image_end(f, process, end_ns, false);
			isc_program_image_of(f, process)->seen |= ISC_SEEN_DEAD;
		}
		return process;
	}
	if (before != 0 && !(isc_program_image_of(f, before)->flags & ISC_PROCESS_ENDED)) {
		isc_image_end(f, before, time_ns, false);
		isc_program_image_of(f, before)->seen |= ISC_SEEN_DEAD;
	}
	process = isc_image_add(f, pid, own_pid, ppid, time_ns);
	if (process != 0) {
		isc_image_find_parent(f, process);
		isc_follow_watch(f, process);
	}
	return process;
}

/* The image `before` has loaded another program. */
static uint32_t next_program(isc_follow *f, uint32_t before, uint64_t time_ns, bool exact)
{
	isc_program_image *b = isc_program_image_of(f, before);
	uint32_t newest = newest_of(f, b->host_pid, b->pid), newer = newest, process;
	bool was_over = b->flags & ISC_PROCESS_ENDED;
	uint64_t end_ns = b->end_ns;
	uint32_t status = b->flags & ISC_PROCESS_STATUS;

	if (newest == before) {
		process = isc_image_add(f, b->host_pid, b->pid, b->ppid, time_ns);
	} else {
		while (isc_program_image_of(f, newer)->older != before)
			newer = isc_program_image_of(f, newer)->older;
		process = isc_image_add_before(f, newer, time_ns);
		if (process != 0 && isc_program_image_of(f, newer)->parent == before) {
			isc_program_image_of(f, newer)->parent = process;
			f->backward = true;
		}
		was_over = false;
		end_ns = isc_program_image_of(f, newer)->start_ns;
	}
	if (process == 0)
		return 0;
	isc_program_image *x = isc_program_image_of(f, process);
	b = isc_program_image_of(f, before);
	x->flags |= ISC_PROCESS_EXEC | status;
	x->wait_status = b->wait_status;
	b->flags &= ~status;
	x->parent = before;
	x->seen |= ISC_SEEN_PROGRAM | (b->seen & (ISC_SEEN_NESTED | ISC_SEEN_NSPID));
	x->pidfd = b->pidfd; /* the process is the same */
	b->pidfd = -1;
	isc_image_end(f, before, time_ns, exact);
	/* The end that was noticed is that of the last program. */
	if (was_over || newest != before)
		isc_image_end(f, process, end_ns, false);
	return process;
}

/* x turns out to be two images: what it was up to `at_ns` becomes an image of
 * its own, and x the program that followed it. */
static uint32_t split(isc_follow *f, uint32_t process, uint64_t at_ns, bool exact)
{
	uint32_t first = isc_image_add_before(f, process, isc_program_image_of(f, process)->start_ns);

	if (first == 0)
		return 0;
	isc_program_image *a = isc_program_image_of(f, first), *x = isc_program_image_of(f, process);
	a->parent = x->parent;
	a->ppid = x->ppid;
	a->flags |= x->flags & (ISC_PROCESS_EXEC | ISC_PROCESS_ROOT);
	a->seen |= x->seen & ISC_SEEN_FORK;
	x->flags = (x->flags & ~(uint32_t)ISC_PROCESS_ROOT) | ISC_PROCESS_EXEC;
	x->seen &= (uint16_t)~ISC_SEEN_FORK;
	x->parent = first;
	f->backward = true;
	if (f->root == process)
		f->root = first;
	isc_image_end(f, first, at_ns, exact);
	begin_at(f, process, at_ns);
	return first;
}

uint32_t isc_claim_perf_fork(isc_follow *f, uint32_t pid, uint32_t ppid, uint64_t time_ns)
{
	uint32_t newest = isc_image_newest(f, pid), life = isc_image_life(f, newest);
	isc_program_image *l = isc_program_image_of(f, life);

	if (l != NULL && !over_before(isc_program_image_of(f, newest), time_ns)) {
		if (l->seen & ISC_SEEN_FORK) {
			if (time_ns <= l->start_ns)
				return life; /* heard before */
		} else if ((l->told_ns ? l->told_ns : l->start_ns) + ISC_FOLLOW_SLACK_NS >= time_ns) {
			l->seen |= ISC_SEEN_FORK;
			l->ppid = ppid;
			l->parent = 0;
			begin_at(f, life, time_ns);
			isc_image_find_parent(f, life);
			return life;
		}
	}
	life = new_life(f, pid, pid, ppid, time_ns, 0);
	if (life != 0)
		isc_program_image_of(f, life)->seen |= ISC_SEEN_FORK;
	return life;
}

/* A program that others told of and that perf has not confirmed: the oldest one
 * that could have begun at this time. */
static uint32_t unconfirmed(const isc_follow *f, uint32_t newest, uint64_t time_ns)
{
	uint32_t found = 0;

	for (uint32_t i = newest; i != 0; i = isc_program_image_of(f, i)->older) {
		const isc_program_image *x = isc_program_image_of(f, i);

		if (over_before(x, time_ns))
			break;
		if (x->seen & ISC_SEEN_PROGRAM && !(x->seen & ISC_SEEN_EXEC) &&
		    x->told_ns + ISC_FOLLOW_SLACK_NS >= time_ns)
			found = i;
	}
	return found;
}

/* Confirmed by an exec that was not the last before its announcement: a program
 * without the runtime came between. */
static uint32_t overtaken(const isc_follow *f, uint32_t newest, uint64_t time_ns)
{
	for (uint32_t i = newest; i != 0; i = isc_program_image_of(f, i)->older) {
		const isc_program_image *x = isc_program_image_of(f, i);

		if (x->seen & ISC_SEEN_EXEC && x->seen & (ISC_SEEN_ROSTER | ISC_SEEN_POOL) && x->exec_ns < time_ns &&
		    x->told_ns >= time_ns)
			return i;
	}
	return 0;
}

/* The name that came with the earlier exec is the earlier program's. */
static void keep_name(isc_follow *f, uint32_t from, uint32_t to)
{
	const isc_program_image *x = isc_program_image_of(f, from);
	uint32_t tid = x->host_pid ? x->host_pid : x->pid;
	const isc_task *t = isc_task_of(f, isc_task_find(f, from, tid));
	char name[16];

	if (t == NULL || t->name[0] == '\0')
		return;
	memcpy(name, t->name, sizeof(name));
	isc_task_name(f, isc_task_find(f, to, tid), name);
	isc_image_argv(f, to, name, strnlen(name, 15) + 1, ISC_ARGV_COMM);
}

uint32_t isc_claim_perf_exec(isc_follow *f, uint32_t pid, uint64_t time_ns)
{
	uint32_t newest = isc_image_newest(f, pid), process;
	isc_program_image *x;

	if (f->root_waiting && pid == isc_program_image_of(f, f->root)->host_pid) {
		f->root_waiting = false;
		process = f->root;
		begin_at(f, process, time_ns);
	} else if ((process = unconfirmed(f, newest, time_ns)) != 0) {
		x = isc_program_image_of(f, process);
		if (x->flags & ISC_PROCESS_EXEC && x->older != 0)
			isc_image_end(f, x->older, time_ns, true);
		if (x->flags & (ISC_PROCESS_EXEC | ISC_PROCESS_ROOT) || !(x->seen & ISC_SEEN_FORK))
			begin_at(f, process, time_ns);
	} else if ((process = overtaken(f, newest, time_ns)) != 0) {
		uint64_t earlier = isc_program_image_of(f, process)->exec_ns;
		uint32_t first = split(f, process, time_ns, true);

		if (first != 0) {
			isc_program_image_of(f, first)->seen |= ISC_SEEN_EXEC | ISC_SEEN_PROGRAM;
			isc_program_image_of(f, first)->exec_ns = earlier;
			keep_name(f, process, first);
		}
	} else if ((x = isc_program_image_of(f, process = isc_image_at(f, pid, time_ns))) == NULL) {
		process = new_life(f, pid, pid, 0, time_ns, 0);
	} else if (x->seen & ISC_SEEN_EXEC && x->exec_ns == time_ns) {
		return process;
	} else if (over_before(x, time_ns) && (x->seen & ISC_SEEN_DEAD || time_ns > x->end_ns + ISC_COPY_MAX_NS)) {
		process = new_life(f, pid, pid, 0, time_ns, 0);
	} else if (x->seen & ISC_SEEN_PROGRAM || announced_before(x, time_ns) ||
		   time_ns > x->start_ns + ISC_COPY_MAX_NS) {
		process = next_program(f, process, time_ns, true);
	}
	x = isc_program_image_of(f, process);
	if (x == NULL)
		return 0;
	loaded(f, process);
	x->seen |= ISC_SEEN_EXEC;
	x->exec_ns = time_ns;
	return process;
}

uint32_t isc_claim_copy(isc_follow *f, uint32_t pid, uint32_t own_pid, uint32_t ppid, uint64_t time_ns, uint16_t source)
{
	uint32_t newer, newest = newest_by(f, pid, own_pid, time_ns, &newer), life = isc_image_life(f, newest);
	isc_program_image *l = isc_program_image_of(f, life);

	if (l != NULL && !over_before(isc_program_image_of(f, newest), time_ns)) {
		uint64_t until = l->exec_ns ? l->exec_ns : l->told_ns;

		if (!(l->seen & ISC_SEEN_PROGRAM)) {
			/* Told again by the same source: a second line is no second process. */
			if (!(l->seen & source) || source == ISC_SEEN_ROSTER) {
				told(l, source, time_ns);
				isc_image_touch(f, life);
				return life;
			}
		} else if (l->seen & ISC_SEEN_FORK && life != f->root && until + ISC_FOLLOW_SLACK_NS >= time_ns &&
			   l->start_ns <= time_ns + ISC_FOLLOW_SLACK_NS) {
			/* It was taken for a child that only went on to exec. */
			life = split(f, life, until, l->exec_ns != 0);
			if (life != 0) {
				told(isc_program_image_of(f, life), source, time_ns);
				l = isc_program_image_of(f, life);
				l->argv_rank = ISC_ARGV_NONE;
				uint32_t parent = l->parent;
				l->parent = 0;
				isc_image_find_parent(f, life);
				if (isc_program_image_of(f, life)->parent == 0)
					isc_program_image_of(f, life)->parent = parent;
			}
			return life;
		}
	}
	life = new_life(f, pid, own_pid, ppid, time_ns, newer);
	if (life != 0)
		told(isc_program_image_of(f, life), source, time_ns);
	return life;
}

/* A program of this life that this source has not told of. */
static uint32_t untold(const isc_follow *f, uint32_t newest, uint64_t time_ns, uint16_t source)
{
	for (uint32_t i = newest; i != 0; i = isc_program_image_of(f, i)->older) {
		const isc_program_image *x = isc_program_image_of(f, i);

		if (over_before(x, time_ns))
			break;
		if (x->seen & ISC_SEEN_PROGRAM && !(x->seen & source) &&
		    (!(x->seen & ISC_SEEN_EXEC) || x->exec_ns <= time_ns + ISC_FOLLOW_SLACK_NS) &&
		    /* An image is in the roster before it has a pool. */
		    (source != ISC_SEEN_ROSTER || !(x->seen & ISC_SEEN_POOL) ||
		     x->told_ns + ISC_FOLLOW_SLACK_NS >= time_ns))
			return i;
		if (!(x->flags & ISC_PROCESS_EXEC))
			break;
	}
	return 0;
}

uint32_t isc_claim_program(isc_follow *f, uint32_t pid, uint32_t own_pid, uint32_t ppid, uint64_t time_ns,
			   uint16_t source)
{
	uint32_t newer, newest = newest_by(f, pid, own_pid, time_ns, &newer), process;
	isc_program_image *x = isc_program_image_of(f, newest);

	if (f->root_waiting && pid != 0 && pid == isc_program_image_of(f, f->root)->host_pid) {
		f->root_waiting = false;
		process = f->root;
		begin_at(f, process, time_ns);
	} else if (x == NULL || over_before(x, time_ns)) {
		process = new_life(f, pid, own_pid, ppid, time_ns, newer);
	} else if ((process = untold(f, newest, time_ns, source)) == 0) {
		process = newest;
		if (x->seen & ISC_SEEN_PROGRAM || announced_before(x, time_ns) ||
		    (time_ns > x->start_ns + ISC_COPY_MAX_NS && x->told_ns + ISC_FOLLOW_SLACK_NS < time_ns))
			process = next_program(f, newest, time_ns, false);
	}
	x = isc_program_image_of(f, process);
	if (x == NULL)
		return 0;
	told(x, source, time_ns);
	loaded(f, process);
	return process;
}

uint32_t isc_claim_changed(isc_follow *f, uint32_t process, uint64_t time_ns)
{
	isc_program_image *x = isc_program_image_of(f, process);

	if (x->seen & ISC_SEEN_PROGRAM || announced_before(x, time_ns) || time_ns > x->start_ns + ISC_COPY_MAX_NS)
		process = next_program(f, process, time_ns, false);
	x = isc_program_image_of(f, process);
	if (x == NULL)
		return 0;
	told(x, ISC_SEEN_PROC, time_ns);
	loaded(f, process);
	return process;
}

/* ---- pid namespaces --------------------------------------------------- */

#define BEFORE_NS 20000000u /* /proc counts start times in 10 ms */

struct nested {
	isc_follow *f;
	uint32_t own;
	uint64_t time_ns;
	uint32_t found;
	uint32_t matches;
};

/* Is it ours?  Its ancestors say. */
static bool of_the_tree(isc_follow *f, uint32_t pid)
{
	isc_proc_stat st;

	for (unsigned depth = 0; depth < 64 && pid > 1; depth++) {
		uint32_t known = isc_image_newest(f, pid);

		if (known != 0 && !(isc_program_image_of(f, known)->flags & ISC_PROCESS_ENDED))
			return true;
		if (!isc_proc_stat_read(pid, &st))
			return false;
		pid = st.ppid;
	}
	return false;
}

static bool nested_visit(void *self, uint32_t pid)
{
	struct nested *n = self;
	uint32_t own, levels;
	isc_proc_stat st;

	if (isc_proc_own_pid(pid, 0, &own, &levels) && levels > 1 && own == n->own && isc_proc_stat_read(pid, &st) &&
	    st.start_ns <= n->time_ns + ISC_FOLLOW_SLACK_NS && of_the_tree(n->f, pid)) {
		n->found = pid;
		n->matches++;
	}
	return true;
}

uint32_t isc_claim_host(isc_follow *f, uint32_t own_pid, uint32_t own_ppid, uint64_t time_ns)
{
	uint32_t direct = isc_image_newest(f, own_pid);
	const isc_program_image *x = isc_program_image_of(f, direct);
	uint64_t *own;
	isc_proc_stat st;

	if (f->blind)
		return own_pid;
	if (x != NULL && x->pid == own_pid && !over_before(x, time_ns))
		return own_pid;
	own = isc_hashmap_find(&f->by_own, own_pid);
	if (own != NULL) {
		x = isc_program_image_of(f, (uint32_t)*own);
		if (x->host_pid != 0 && !over_before(x, time_ns))
			return x->host_pid;
	}
	/* The usual new child: its parent is known by the number it gives. */
	direct = isc_image_newest(f, own_ppid);
	x = isc_program_image_of(f, direct);
	if (x != NULL && x->pid == own_ppid && !over_before(x, time_ns))
		return own_pid;
	bool there = isc_proc_stat_read(own_pid, &st);
	if (there && st.ppid == own_ppid && st.start_ns <= time_ns + ISC_FOLLOW_SLACK_NS && of_the_tree(f, own_pid))
		return own_pid;
	if (f->ns_scans > 0) {
		struct nested n = {f, own_pid, time_ns, 0, 0};

		f->ns_scans--;
		isc_proc_each(nested_visit, &n);
		if (n.matches == 1)
			return n.found;
		if (n.matches > 1)
			return 0; /* two namespaces with the same number: unknown stays unknown */
	}
	/* Gone already, or its parent is.  Only the first process of a namespace has
	 * no parent; and what was there before the session is somebody else. */
	if (own_ppid == 0 || (there && (st.start_ns + BEFORE_NS < f->first.mono_ns || st.start_ns > time_ns)))
		return 0;
	return own_pid;
}

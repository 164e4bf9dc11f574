/*
 * roster.c - read the roster of the control file and the heads of pools.
 *
 * Both lie in memory that the program can write: every value is read once,
 * checked, and used from the copy.
 */
#include <string.h>

#include "session/follow/tables.h"

#define PID_MAX (1u << 22)	 /* the kernel's own limit */
#define HOLE_WAIT_NS 1000000000u /* whoever took an entry and has not filled it by then is dead */

/* It said that it would be traced, and cannot be. */
static void take_barren(isc_follow *f, const isc_roster_entry *e)
{
	uint32_t host = isc_claim_host(f, e->pid, e->ppid, isc_follow_time(f, e->ticks));
	uint32_t process = isc_image_newest(f, host != 0 ? host : e->pid);
	isc_program_image *x = isc_program_image_of(f, process);

	if (x == NULL || x->gen != 0)
		return;
	if (x->flags & ISC_PROCESS_TRACED)
		f->traced--;
	x->flags &= ~(uint32_t)ISC_PROCESS_TRACED;
	x->flags |= ISC_PROCESS_FAILED;
	isc_image_touch(f, process);
}

static void take(isc_follow *f, const isc_roster_entry *e)
{
	uint64_t time_ns = isc_follow_time(f, e->ticks);
	uint32_t host, ppid = e->ppid, process;
	isc_proc_stat st;

	if (e->pid == 0 || e->pid > PID_MAX || e->birth < ISC_BIRTH_IMAGE || e->birth > ISC_BIRTH_BARREN ||
	    e->argv_len > ISC_ROSTER_ARGV) {
		f->roster_lost++;
		return;
	}
	if (e->birth == ISC_BIRTH_BARREN) {
		take_barren(f, e);
		return;
	}
	host = isc_claim_host(f, e->pid, e->ppid, time_ns);
	if (host != e->pid)
		ppid = host != 0 && isc_proc_stat_read(host, &st) ? st.ppid : 0;
	process = e->birth == ISC_BIRTH_IMAGE ? isc_claim_program(f, host, e->pid, ppid, time_ns, ISC_SEEN_ROSTER)
					      : isc_claim_copy(f, host, e->pid, ppid, time_ns, ISC_SEEN_ROSTER);
	isc_program_image *x = isc_program_image_of(f, process);
	if (x == NULL)
		return;
	if (host != 0 && host != e->pid)
		x->seen |= ISC_SEEN_NESTED | ISC_SEEN_NSPID;
	if (e->traced && !(x->flags & ISC_PROCESS_TRACED)) {
		x->flags |= ISC_PROCESS_TRACED;
		f->traced++;
	}
	if (e->birth == ISC_BIRTH_IMAGE) {
		if (e->argv_cut)
			isc_follow_read_argv(f, process, NULL);
		isc_image_argv(f, process, e->argv, e->argv_len, e->argv_cut ? ISC_ARGV_CUT : ISC_ARGV_WHOLE);
	} else if (isc_program_image_of(f, process)->argv_rank == ISC_ARGV_NONE) {
		isc_image_argv(f, process, e->argv, e->argv_len, ISC_ARGV_INHERITED);
	}
}

enum entry_state { ENTRY_READ, ENTRY_OPEN, ENTRY_OVERWRITTEN };

static enum entry_state copy_entry(isc_follow *f, uint64_t number, isc_roster_entry *out)
{
	isc_roster_entry *e = &f->control->roster[number % f->roster_size];
	uint64_t seq = atomic_load_explicit(&e->seq, memory_order_acquire);

	if (seq > number + 1)
		return ENTRY_OVERWRITTEN;
	if (seq < number + 1)
		return ENTRY_OPEN;
	memcpy((char *)out, (const char *)e, sizeof(*out));
	/* A taker that came round meanwhile has moved the tail before it wrote. */
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit(&f->control->roster_tail, memory_order_relaxed) > number + f->roster_size ||
	    atomic_load_explicit(&e->seq, memory_order_relaxed) != number + 1)
		return ENTRY_OVERWRITTEN;
	return ENTRY_READ;
}

static void retry_holes(isc_follow *f, uint64_t tail)
{
	isc_roster_entry e;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < f->holes; i++) {
		isc_follow_hole hole = f->hole[i];
		enum entry_state state = copy_entry(f, hole.number, &e);

		if (state == ENTRY_READ)
			take(f, &e);
		else if (state == ENTRY_OPEN && hole.number + f->roster_size >= tail &&
			 f->now_ns - hole.since_ns < HOLE_WAIT_NS)
			f->hole[kept++] = hole;
		else
			f->roster_lost++;
	}
	f->holes = kept;
}

void isc_follow_roster(isc_follow *f)
{
	isc_roster_entry e;
	uint64_t tail;

	if (f->control == NULL)
		return;
	tail = atomic_load_explicit(&f->control->roster_tail, memory_order_acquire);
	if (f->holes > 0)
		retry_holes(f, tail);
	if (tail < f->roster_next)
		return; /* somebody wrote over it: nothing here can be believed now */
	if (tail - f->roster_next > f->roster_size) {
		uint64_t lost = tail - f->roster_next - f->roster_size;

		f->roster_lost = lost > UINT32_MAX - f->roster_lost ? UINT32_MAX : f->roster_lost + (uint32_t)lost;
		f->roster_next = tail - f->roster_size;
	}
	for (; f->roster_next < tail; f->roster_next++) {
		switch (copy_entry(f, f->roster_next, &e)) {
		case ENTRY_READ:
			take(f, &e);
			break;
		case ENTRY_OPEN: /* taken, not yet filled: look again next time */
			if (f->holes < ISC_FOLLOW_HOLES)
				f->hole[f->holes++] = (isc_follow_hole){f->roster_next, f->now_ns};
			else
				f->roster_lost++;
			break;
		default:
			f->roster_lost++;
		}
	}
}

/* The image of this pid that a pool made at this time belongs to. */
static uint32_t owner_of(const isc_follow *f, uint32_t newest, uint64_t time_ns)
{
	for (uint32_t i = newest; i != 0; i = isc_program_image_of(f, i)->older) {
		const isc_program_image *x = isc_program_image_of(f, i);

		if ((x->flags & ISC_PROCESS_EXEC && x->exec_ns ? x->exec_ns : x->start_ns) <=
		    time_ns + ISC_FOLLOW_SLACK_NS)
			return x->gen == 0 && !(x->flags & ISC_PROCESS_ENDED &&
						x->end_ns + ISC_FOLLOW_SLACK_NS < time_ns)
				       ? i
				       : 0;
	}
	return 0;
}

uint32_t isc_follow_pool(isc_follow *f, const isc_pool *pool)
{
	uint32_t pid = pool->pid, own_ppid = pool->ppid, process;
	uint64_t gen = pool->gen, parent_gen = pool->parent_gen, *known, time_ns;

	f->now_ns = isc_clock_mono_ns();
	f->ns_scans = 4;
	if (pid == 0 || pid > PID_MAX || gen == 0)
		return 0;
	known = isc_hashmap_find(&f->by_gen, gen);
	if (known != NULL)
		return (uint32_t)*known;
	if (f->sink.find_process != NULL && (process = f->sink.find_process(f->sink.self, gen)) != 0) {
		uint64_t *place = isc_hashmap_put(&f->earlier, process, NULL);

		if (place != NULL)
			*place = pid;
		return place != NULL ? process : 0;
	}
	/* Its line in the roster is older than its pool. */
	isc_follow_roster(f);
	time_ns = isc_follow_time(f, gen);
	uint32_t host = isc_claim_host(f, pid, own_ppid, time_ns), ppid = own_ppid;
	isc_proc_stat st;
	if (host != pid)
		ppid = host != 0 && isc_proc_stat_read(host, &st) ? st.ppid : 0;
	if (host != 0) {
		process = isc_image_newest(f, host);
	} else {
		known = isc_hashmap_find(&f->by_own, pid);
		process = known ? (uint32_t)*known : 0;
	}
	process = owner_of(f, process, time_ns);
	if (process == 0)
		process = parent_gen != 0 ? isc_claim_copy(f, host, pid, ppid, time_ns, ISC_SEEN_POOL)
					  : isc_claim_program(f, host, pid, ppid, time_ns, ISC_SEEN_POOL);
	isc_program_image *x = isc_program_image_of(f, process);
	if (x == NULL)
		return 0;
	uint64_t *place = isc_hashmap_put(&f->by_gen, gen, NULL);
	if (place == NULL)
		return 0;
	*place = process;
	x->gen = gen;
	x->defs_parent_gen = parent_gen;
	x->defs_base = pool->defs_base;
	x->seen |= ISC_SEEN_POOL;
	if (x->told_ns == 0)
		x->told_ns = time_ns;
	if (!(x->flags & ISC_PROCESS_TRACED)) {
		x->flags |= ISC_PROCESS_TRACED;
		f->traced++;
	}
	if (x->parent == 0 && parent_gen != 0 && (known = isc_hashmap_find(&f->by_gen, parent_gen)) != NULL &&
	    (uint32_t)*known != process)
		isc_image_set_parent(f, process, (uint32_t)*known);
	isc_image_touch(f, process);
	return process;
}

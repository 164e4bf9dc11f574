/* follow_thread.c - the threads of every image. */
#include <string.h>

#include "session/follow/tables.h"

#define TASK_BIT 0x80000000u  /* in f->dirty: a thread, not an image */
enum { MAIN = 1, ENDED = 2 }; /* isc_trace_thread.flags */

void isc_task_touch(isc_follow *f, uint32_t thread)
{
	isc_task *t = isc_task_of(f, thread);

	if (t->seen & ISC_TASK_DIRTY || !isc_follow_grow((void **)&f->dirty, &f->dirty_room, f->dirty_count, 4))
		return;
	t->seen |= ISC_TASK_DIRTY;
	f->dirty[f->dirty_count++] = thread | TASK_BIT;
}

uint32_t isc_task_find(const isc_follow *f, uint32_t process, uint32_t tid)
{
	uint64_t *newest = isc_hashmap_find(&f->by_task, isc_hashmap_key(process, tid));

	return newest ? (uint32_t)*newest : 0;
}

uint32_t isc_task_add(isc_follow *f, uint32_t process, uint32_t tid, uint64_t start_ns)
{
	isc_program_image *x = isc_program_image_of(f, process); /* NULL: of an earlier recorder */

	if (f->tasks >= ISC_FOLLOW_THREADS_MAX ||
	    !isc_follow_grow((void **)&f->task, &f->tasks_room, f->tasks + 1, sizeof(isc_task))) {
		f->unlisted++;
		return 0;
	}
	uint64_t *newest = isc_hashmap_put(&f->by_task, isc_hashmap_key(process, tid), NULL);
	if (newest == NULL) {
		f->unlisted++;
		return 0;
	}
	uint32_t thread = f->first_thread + ++f->tasks;
	isc_task *t = &f->task[f->tasks];
	*t = (isc_task){.process = process, .tid = tid, .start_ns = start_ns, .older = (uint32_t)*newest};
	*newest = thread;
	if (x != NULL) {
		if (tid == (x->host_pid ? x->host_pid : x->pid))
			t->flags = MAIN;
		t->sibling = x->threads;
		x->threads = thread;
		x->live_threads++;
	}
	isc_task_touch(f, thread);
	return thread;
}

void isc_task_end(isc_follow *f, uint32_t thread, uint64_t time_ns)
{
	isc_task *t = isc_task_of(f, thread);

	/* What was noticed later than it happened gives way to what was told. */
	if (t->flags & ENDED && t->end_ns <= time_ns)
		return;
	isc_program_image *x = isc_program_image_of(f, t->process);
	if (!(t->flags & ENDED) && x != NULL)
		x->live_threads--;
	t->flags |= ENDED;
	t->end_ns = time_ns < t->start_ns ? t->start_ns : time_ns;
	isc_task_touch(f, thread);
}

void isc_task_name(isc_follow *f, uint32_t thread, const char *name)
{
	isc_task *t = isc_task_of(f, thread);

	if (t == NULL || strncmp(t->name, name, sizeof(t->name) - 1) == 0)
		return;
	memset(t->name, 0, sizeof(t->name));
	memcpy(t->name, name, strnlen(name, sizeof(t->name) - 1));
	isc_task_touch(f, thread);
}

/* ---- what perf says of threads ---------------------------------------- */

static const char *main_name(const isc_follow *f, uint32_t process)
{
	const isc_program_image *x = isc_program_image_of(f, process);
	const isc_task *t = x ? isc_task_of(f, isc_task_find(f, process, x->host_pid ? x->host_pid : x->pid)) : NULL;

	return t ? t->name : "";
}

void isc_follow_forked(isc_follow *f, uint32_t pid, uint32_t tid, uint32_t ppid, uint64_t time_ns)
{
	uint32_t process, thread;

	f->perf = true;
	if (pid != ppid) {
		process = isc_claim_perf_fork(f, pid, ppid, time_ns);
		if (process == 0)
			return;
		thread = isc_task_find(f, process, tid);
		if (thread != 0) {
			isc_task_of(f, thread)->seen |= ISC_TASK_PERF;
			/* A copy has the name of whoever made it until it takes another. */
			if (isc_task_of(f, thread)->name[0] == '\0')
				isc_task_name(f, thread, main_name(f, isc_program_image_of(f, process)->parent));
		}
		return;
	}
	process = isc_image_at(f, pid, time_ns);
	if (process == 0)
		return;
	thread = isc_task_find(f, process, tid);
	isc_task *t = isc_task_of(f, thread);
	if (t != NULL && !(t->seen & ISC_TASK_PERF) && t->start_ns + ISC_FOLLOW_SLACK_NS >= time_ns) {
		t->start_ns = time_ns;
		isc_task_touch(f, thread);
	} else {
		if (t != NULL)
			isc_task_end(f, thread, time_ns); /* the number came back */
		thread = isc_task_add(f, process, tid, time_ns);
		t = isc_task_of(f, thread);
	}
	if (t == NULL)
		return;
	t->seen |= ISC_TASK_PERF;
	if (t->name[0] == '\0')
		isc_task_name(f, thread, main_name(f, process));
}

void isc_follow_execed(isc_follow *f, uint32_t pid, const char *comm, uint64_t time_ns)
{
	uint32_t process;

	f->perf = true;
	process = isc_claim_perf_exec(f, pid, time_ns);
	if (process == 0)
		return;
	isc_task_name(f, isc_task_find(f, process, pid), comm);
	isc_follow_read_argv(f, process, comm);
}

void isc_follow_named(isc_follow *f, uint32_t pid, uint32_t tid, const char *comm)
{
	f->perf = true;
	isc_task_name(f, isc_task_find(f, isc_image_newest(f, pid), tid), comm);
}

void isc_follow_exited(isc_follow *f, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	uint32_t process = isc_image_at(f, pid, time_ns), thread;
	isc_program_image *x = isc_program_image_of(f, process);

	f->perf = true;
	if (x == NULL)
		return;
	thread = isc_task_find(f, process, tid);
	while (thread != 0 && isc_task_of(f, thread)->start_ns > time_ns)
		thread = isc_task_of(f, thread)->older;
	if (thread != 0)
		isc_task_end(f, thread, time_ns);
	else if (tid != pid)
		return;
	if (x->live_threads > 0)
		return;
	/* All threads of an image whose birth perf saw are known; others might
	 * have threads that nobody told of. */
	if (x->seen & (ISC_SEEN_EXEC | ISC_SEEN_FORK) || isc_follow_is_dead(f, process))
		isc_image_end(f, process, time_ns, true);
}

/* ---- threads that wrote ----------------------------------------------- */

struct own_tid {
	uint32_t pid, own, found;
};

static bool own_tid_visit(void *self, uint32_t tid)
{
	struct own_tid *o = self;
	uint32_t own, levels;

	if (isc_proc_own_pid(o->pid, tid, &own, &levels) && own == o->own)
		o->found = tid;
	return o->found == 0;
}

static uint32_t host_tid(const isc_follow *f, const isc_program_image *x, uint32_t tid)
{
	struct own_tid o = {x ? x->host_pid : 0, tid, 0};

	if (x == NULL || f->blind || x->host_pid == 0 || x->host_pid == x->pid)
		return tid;
	if (tid == x->pid)
		return x->host_pid;
	isc_proc_each_thread(x->host_pid, own_tid_visit, &o);
	return o.found ? o.found : tid;
}

uint32_t isc_follow_thread(isc_follow *f, uint32_t process, uint32_t tid, uint64_t serial, uint64_t birth_ns)
{
	const isc_program_image *x = isc_program_image_of(f, process);
	isc_task *t;
	uint32_t thread;

	if (x == NULL) {
		if (isc_hashmap_find(&f->earlier, process) == NULL)
			return 0;
		thread = f->sink.find_thread(f->sink.self, process, serial);
		if (thread != 0)
			return thread;
	}
	tid = host_tid(f, x, tid);
	thread = isc_task_find(f, process, tid);
	for (uint32_t i = thread; (t = isc_task_of(f, i)) != NULL; i = t->older)
		if (t->serial == serial)
			return i;
	/* It registers when it first writes, which is after it began. */
	for (uint32_t i = thread; (t = isc_task_of(f, i)) != NULL; i = t->older)
		if (t->serial == 0 && (!(t->flags & ENDED) || (t->start_ns <= birth_ns + ISC_FOLLOW_SLACK_NS &&
							       t->end_ns + ISC_FOLLOW_SLACK_NS >= birth_ns))) {
			t->serial = serial;
			isc_task_touch(f, i);
			return i;
		}
	if (thread != 0)
		isc_task_end(f, thread, birth_ns);
	thread = isc_task_add(f, process, tid, birth_ns);
	t = isc_task_of(f, thread);
	if (t == NULL)
		return 0;
	t->serial = serial;
	if (x == NULL)
		return thread;
	if (f->blind || x->host_pid == 0 || !isc_proc_thread_name(x->host_pid, tid, t->name))
		isc_task_name(f, thread, main_name(f, process));
	/* An image that is over had this thread while it lasted. */
	if (isc_program_image_of(f, process)->flags & ISC_PROCESS_ENDED)
		isc_task_end(f, thread, isc_program_image_of(f, process)->end_ns);
	return thread;
}

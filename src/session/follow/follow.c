/* follow.c - the life of the tables, and what goes to the trace. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "session/follow/tables.h"

#define TASK_BIT 0x80000000u
#define ORPHAN_NS 2000000000u /* a parent that was not told of by then stays unknown */

uint64_t isc_follow_time(isc_follow *f, uint64_t ticks)
{
	isc_clock_pair pairs[2];
	uint64_t ns;

	if (ticks > f->last.ticks)
		f->last = isc_clock_read_pair(f->clock_source);
	pairs[0] = f->first;
	pairs[1] = f->last;
	ns = isc_clock_to_ns(pairs, f->last.ticks > f->first.ticks ? 2 : 1, f->clock_source, ticks);
	/* Written by the program: a time that cannot be is taken as now. */
	return ns > f->last.mono_ns || ns + 1000000000u < f->first.mono_ns ? f->last.mono_ns : ns;
}

/* ---- birth and end of the table --------------------------------------- */

static isc_status writer_process(void *self, const isc_trace_process *process, isc_error *err)
{
	return isc_writer_process(self, process, err);
}

static isc_status writer_thread(void *self, const isc_trace_thread *thread, isc_error *err)
{
	return isc_writer_thread(self, thread, err);
}

static uint32_t find_process(void *self, uint64_t gen)
{
	return isc_writer_find_process(self, gen);
}

static uint32_t find_thread(void *self, uint32_t process, uint64_t serial)
{
	return isc_writer_find_thread(self, process, serial);
}

isc_status isc_follow_new(isc_writer *writer, isc_control *control, uint32_t clock_source, pid_t root, isc_follow **out,
			  isc_error *err)
{
	isc_follow_options options = {
		.sink = {writer, writer_process, writer_thread, NULL, NULL},
		.control = control,
		.clock_source = clock_source,
		.root = root,
	};

	return isc_follow_open(&options, out, err);
}

isc_status isc_follow_resume(isc_writer *writer, isc_control *control, uint32_t clock_source, pid_t root,
			     isc_follow **out, isc_error *err)
{
	/* How far the roster had been read is not known, and a line read twice
	 * would be a second process: those with a pool tell of themselves. */
	isc_follow_options options = {
		.sink = {writer, writer_process, writer_thread, find_process, find_thread},
		.clock_source = clock_source,
	};

	(void)control;
	(void)root;
	isc_writer_indices(writer, &options.first_process, &options.first_thread);
	return isc_follow_open(&options, out, err);
}

static bool root_waits(pid_t root)
{
	isc_proc_stat st;
	uint64_t exe = isc_proc_exe((uint32_t)root);

	/* The child that launch holds back is still our own program. */
	return isc_proc_stat_read((uint32_t)root, &st) && st.ppid == (uint32_t)getpid() && exe != 0 &&
	       exe == isc_proc_exe((uint32_t)getpid());
}

isc_status isc_follow_open(const isc_follow_options *options, isc_follow **out, isc_error *err)
{
	isc_follow *f = calloc(1, sizeof(*f));
	struct rlimit limit;
	isc_proc_stat st;

	*out = NULL;
	if (f == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to follow processes");
	f->sink = options->sink;
	f->control = options->control;
	f->clock_source = options->clock_source;
	f->first_process = options->first_process;
	f->first_thread = options->first_thread;
	f->blind = options->blind;
	f->first = f->last = isc_clock_read_pair(f->clock_source);
	f->now_ns = f->first.mono_ns;
	f->roster_size = f->control != NULL ? f->control->roster_entries : 0;
	if (f->roster_size == 0 || f->roster_size > ISC_ROSTER_ENTRIES)
		f->control = NULL;
	/* Descriptors are few: ours are a quarter of them at most. */
	f->pidfds_max = getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur / 4 < 256
				? (uint32_t)(limit.rlim_cur / 4)
				: 256;
	*out = f;
	if (options->root == 0)
		return ISC_OK;
	f->root_waiting = f->blind || root_waits(options->root);
	f->root = isc_image_add(f, (uint32_t)options->root, (uint32_t)options->root, (uint32_t)getpid(), f->now_ns);
	if (f->root == 0) {
		isc_follow_free(f);
		*out = NULL;
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to follow processes");
	}
	isc_program_image *x = isc_program_image_of(f, f->root);
	x->flags |= ISC_PROCESS_ROOT;
	x->seen |= ISC_SEEN_FORK;
	if (!f->root_waiting) {
		x->seen |= ISC_SEEN_PROGRAM;
		if (isc_proc_stat_read(x->host_pid, &st)) {
			x->ppid = st.ppid;
			isc_task_name(f, isc_task_find(f, f->root, x->host_pid), st.comm);
		}
		isc_follow_read_argv(f, f->root, NULL);
	}
	isc_follow_watch(f, f->root);
	return ISC_OK;
}

void isc_follow_free(isc_follow *f)
{
	if (f == NULL)
		return;
	for (uint32_t i = 1; i <= f->images; i++)
		isc_follow_unwatch(f, f->first_process + i);
	free(f->image);
	free(f->task);
	free(f->live);
	free(f->dirty);
	free(f->orphan);
	isc_hashmap_fini(&f->by_pid);
	isc_hashmap_fini(&f->by_own);
	isc_hashmap_fini(&f->by_gen);
	isc_hashmap_fini(&f->earlier);
	isc_hashmap_fini(&f->by_task);
	isc_hashmap_fini(&f->argv_known);
	isc_buffer_fini(&f->argv);
	free(f);
}

/* ---- to the trace ----------------------------------------------------- */

static void put_image(isc_follow *f, uint32_t process)
{
	isc_program_image *x = isc_program_image_of(f, process);
	if (!(x->seen & ISC_SEEN_PROGRAM))
		isc_image_inherit(f, process);
	isc_trace_process p = {
		.process = process,
		.parent = x->parent,
		.pid = x->host_pid ? x->host_pid : x->pid,
		.ppid = x->ppid,
		.flags = x->flags,
		.wait_status = x->wait_status,
		.start_ns = x->start_ns,
		.end_ns = x->end_ns,
		.gen = x->gen,
		.defs_parent_gen = x->defs_parent_gen,
		.defs_base_id = x->defs_base,
		.argv = x->argv_len ? f->argv.data + x->argv : "",
		.argv_len = x->argv_len,
		.argv_cut = x->argv_cut,
	};

	x->seen &= (uint16_t)~ISC_SEEN_DIRTY;
	f->sink.process(f->sink.self, &p, NULL);
}

static void put_task(isc_follow *f, uint32_t thread)
{
	isc_task *t = isc_task_of(f, thread);
	isc_trace_thread out = {
		.thread = thread,
		.process = t->process,
		.tid = t->tid,
		.flags = t->flags,
		.serial = t->serial,
		.start_ns = t->start_ns,
		.end_ns = t->end_ns,
		.counted_ns = t->counted_ns,
		.on_cpu_ns = t->on_cpu_ns,
		.run_queue_ns = t->run_queue_ns,
	};

	memcpy(out.name, t->name, sizeof(t->name));
	t->seen &= (uint8_t)~ISC_TASK_DIRTY;
	f->sink.thread(f->sink.self, &out, NULL);
}

/* A disk that is full is the writer's to report; here nothing depends on it. */
void isc_follow_flush(isc_follow *f)
{
	for (uint32_t i = 0; i < f->dirty_count; i++)
		if (!(f->dirty[i] & TASK_BIT))
			put_image(f, f->dirty[i]);
	for (uint32_t i = 0; i < f->dirty_count; i++)
		if (f->dirty[i] & TASK_BIT)
			put_task(f, f->dirty[i] & ~TASK_BIT);
	f->dirty_count = 0;
}

unsigned isc_follow_poll(isc_follow *f, uint64_t now_ns)
{
	uint32_t orphans;
	unsigned alive = 0;

	f->now_ns = now_ns;
	f->ns_scans = 4;
	isc_follow_roster(f);
	isc_follow_look(f);
	orphans = f->orphan_count;
	f->orphan_count = 0;
	for (uint32_t i = 0; i < orphans; i++) {
		uint32_t process = f->orphan[i];

		if (isc_program_image_of(f, process)->start_ns + ORPHAN_NS > now_ns)
			isc_image_find_parent(f, process); /* puts it back when there is none */
	}
	isc_follow_flush(f);
	for (uint32_t i = 0; i < f->live_count; i++)
		alive += isc_program_image_of(f, f->live[i])->host_pid != 0; /* of others nobody can say */
	return alive;
}

void isc_follow_doubt(isc_follow *f)
{
	f->doubt_until_ns = isc_clock_mono_ns() + 1000000000u;
	f->next_look_ns = 0;
}

void isc_follow_root_status(isc_follow *f, int wait_status, uint64_t time_ns)
{
	uint32_t process = f->root != 0 ? isc_image_newest(f, isc_program_image_of(f, f->root)->host_pid) : 0;
	isc_program_image *x = isc_program_image_of(f, process);

	if (x == NULL || isc_image_life(f, process) != isc_image_life(f, f->root))
		return;
	x->wait_status = wait_status;
	x->flags |= ISC_PROCESS_STATUS;
	x->seen |= ISC_SEEN_DEAD;
	isc_image_end(f, process, time_ns, false);
	isc_image_touch(f, process);
	f->next_look_ns = f->next_ask_ns = 0; /* whoever ended with it is noticed now */
}

bool isc_follow_image_gone(isc_follow *f, uint32_t process)
{
	isc_program_image *x = isc_program_image_of(f, process);

	if (x == NULL) {
		uint64_t *pid = isc_hashmap_find(&f->earlier, process);

		return pid != NULL && !f->blind && kill((pid_t)*pid, 0) < 0 && errno == ESRCH;
	}
	if (f->blind || x->seen & ISC_SEEN_DEAD)
		return x->flags & ISC_PROCESS_ENDED;
	if (x->flags & ISC_PROCESS_ENDED)
		for (uint32_t i = isc_image_newest(f, x->host_pid); i != 0 && i != process;
		     i = isc_program_image_of(f, i)->older)
			if (isc_program_image_of(f, i)->older == process &&
			    isc_program_image_of(f, i)->flags & ISC_PROCESS_EXEC) {
				x->seen |= ISC_SEEN_DEAD;
				return true;
			}
	/* Asked at every cycle: while nobody has told of an end, one cheap call. */
	if (!(x->flags & ISC_PROCESS_ENDED) && x->pidfd < 0 && x->host_pid != 0 &&
	    (kill((pid_t)x->host_pid, 0) == 0 || errno != ESRCH))
		return false;
	/* Told or not: memory that is taken away from a living process is lost. */
	if (!isc_follow_is_dead(f, process))
		return false;
	if (!(x->flags & ISC_PROCESS_ENDED))
		isc_image_end(f, process, isc_clock_mono_ns(), false);
	x->seen |= ISC_SEEN_DEAD;
	return true;
}

pid_t isc_follow_host_pid(const isc_follow *f, uint32_t process)
{
	const isc_program_image *x = isc_program_image_of(f, process);

	return x ? (pid_t)x->host_pid : 0;
}

void isc_follow_stats_get(const isc_follow *f, isc_follow_stats *out)
{
	*out = (isc_follow_stats){.processes = f->images,
				  .traced = f->traced,
				  .roster_lost = f->roster_lost,
				  .alive = f->live_count,
				  .unlisted = f->unlisted};
}

#include "collect/profile/profile.h"

#include <link.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include "base/line_table.h"
#include "collect/sample/counter.h"
#include "collect/profile/table.h"
#include "collect/sample/pywalk.h"
#include "runtime/kernel.h"
#include "runtime/profile.h"
#include "runtime/runtime.h"

#define HIGH_DESCRIPTOR 200	  /* out of the way of those that programs count on */
#define MEMORY_EVERY_NS 10000000u /* of CPU time: so late is it told that memory was given back */

static _Atomic(isc_profile *) profile;
static int statm = -1;
static struct stat statm_is; /* by which it is known again */
static uint64_t page_bytes = 4096;

bool isc_profile_on(void)
{
	isc_profile *p = atomic_load_explicit(&profile, memory_order_acquire);

	return p != NULL && atomic_load_explicit(&p->running, memory_order_acquire) != 0;
}

const isc_profile *isc_rt_profile(void)
{
	return atomic_load_explicit(&profile, memory_order_acquire);
}

/* ---- frames ------------------------------------------------------------ */

/* Of a code object; 0: it cannot be read, or there is no room. */
static uint32_t code_text(isc_profile *p, isc_sampled *t, const isc_python_layout *l, const isc_merged *m, bool careful)
{
	uint64_t key = isc_profile_key(m->key, 3);
	uint32_t text = (uint32_t)isc_profile_find(p->text_at, ISC_PROFILE_TEXTS, key);
	size_t len;

	if (text != 0)
		return text;
	len = isc_sample_read(t, l, m->code, careful, isc_pywalk_code);
	text = len != 0 ? isc_profile_keep(p, t->scratch, len) : 0;
	if (text != 0)
		isc_profile_enter(p->text_at, ISC_PROFILE_TEXTS, &p->texts, key, text);
	return text;
}

static uint32_t module_text(isc_profile *p, isc_sampled *t, const isc_module *m, bool careful)
{
	uint64_t key = isc_profile_key(m->tag, 4);
	uint32_t text = (uint32_t)isc_profile_find(p->text_at, ISC_PROFILE_TEXTS, key);
	size_t len;

	if (text != 0)
		return text;
	len = isc_sample_describe(t, m, careful);
	text = len != 0 ? isc_profile_keep(p, t->scratch, len) : 0;
	if (text != 0)
		isc_profile_enter(p->text_at, ISC_PROFILE_TEXTS, &p->texts, key, text);
	return text;
}

static uint32_t python_frame(isc_profile *p, isc_sampled *t, const isc_python_layout *l, const isc_merged *m,
			     bool careful)
{
	uint64_t place = isc_profile_key(m->key, (uint64_t)m->offset + 16);
	uint32_t id = (uint32_t)isc_profile_find(p->place, ISC_PROFILE_PLACES, place), line, text;
	size_t len;
	bool fill;

	if (id != 0)
		return id;
	/* Instructions on one line are one frame: each on its own would make ten stacks of one. */
	len = isc_sample_read(t, l, m->code, careful, isc_pywalk_lines);
	line = isc_line_of(t->scratch, len, m->offset);
	id = isc_profile_frame_of(p, isc_profile_key(m->key, (uint64_t)line << 32 | 5), &fill);
	if (id == 0)
		return 0;
	if (fill) {
		text = code_text(p, t, l, m, careful);
		p->frame[id - 1].kind = ISC_PROFILE_PYTHON;
		p->frame[id - 1].line = line;
		p->frame[id - 1].text = text;
		isc_profile_frame_filled(p, id, text != 0);
		if (text == 0)
			return 0;
	}
	isc_profile_enter(p->place, ISC_PROFILE_PLACES, &p->places, place, id);
	return id;
}

static uint32_t native_frame(isc_profile *p, isc_sampled *t, const isc_merged *m, bool careful)
{
	isc_profile_frame *f;
	uint32_t id, text = 0;
	bool fill;

	id = isc_profile_frame_of(p, isc_profile_key(m->key, 6), &fill);
	if (id == 0 || !fill)
		return id;
	f = &p->frame[id - 1];
	f->kind = ISC_PROFILE_NATIVE;
	f->flags = m->offset;
	f->address = m->code;
	if (m->module >= 0) {
		isc_module module = isc_unwind_known(m->module);

		text = module_text(p, t, &module, careful);
		f->address -= module.map != NULL ? module.map->l_addr : 0;
	}
	f->text = text;
	/* Where memory is read with care the module is not: until somebody fills it in, it has no name. */
	isc_profile_frame_filled(p, id, m->module < 0 || text != 0);
	return id;
}

/* ---- samples ----------------------------------------------------------- */

/* Bytes of memory that the process has in use. */
static bool read_rss(uint64_t *bytes)
{
	char text[128];
	uint64_t pages = 0;
	long n, i = 0;

	n = syscall(SYS_pread64, statm, text, sizeof(text), 0L);
	if (n <= 0)
		return false;
	while (i < n && text[i] != ' ')
		i++;
	for (i++; i < n && text[i] >= '0' && text[i] <= '9'; i++)
		pages = pages * 10 + (uint64_t)(text[i] - '0');
	/* Numbers to the end of the line, or it is another file by now. */
	if (pages == 0 || i >= n || text[i] != ' ' || text[n - 1] != '\n')
		return false;
	*bytes = pages * page_bytes;
	return true;
}

/* There is more of it only where a thread has met new pages, which the kernel tells in a fraction of the time. */
static bool may_have_changed(isc_sampled *t, uint64_t ns)
{
	struct rusage use;
	uint64_t faults;

	if (syscall(SYS_getrusage, RUSAGE_THREAD, &use) != 0)
		return true;
	faults = (uint64_t)use.ru_minflt + (uint64_t)use.ru_majflt;
	t->unlooked_ns += ns;
	if (faults == t->faults && t->unlooked_ns < MEMORY_EVERY_NS)
		return false;
	t->faults = faults;
	t->unlooked_ns = 0;
	return true;
}

static int64_t memory_change(isc_profile *p, isc_sampled *t, uint64_t ns)
{
	uint64_t now;

	if (p->memory_error != 0 || !may_have_changed(t, ns) || !read_rss(&now))
		return 0;
	return (int64_t)(now - atomic_exchange_explicit(&p->rss, now, memory_order_relaxed));
}

static uint64_t counted_since(isc_profile *p, isc_sampled *t)
{
	uint64_t now, since;

	if (t->counter < 0)
		return 0;
	/* The program may have closed it, and opened something else there. */
	if (isc_sample_perf_id(t->counter) != t->counter_id || !isc_counter_read(t->counter, &now)) {
		t->counter = -1;
		atomic_store_explicit(&p->count_error, EBADF, memory_order_relaxed);
		return 0;
	}
	since = now - t->counted;
	t->counted = now;
	return since;
}

/* Parts as frames: a run is several. */
static int count_frames(isc_sampled *t, int parts)
{
	int n = 0;

	for (int i = 0; i < parts; i++)
		n += t->merged[i].module == ISC_MERGED_RUN ? isc_sample_run(t, &t->merged[i]) : 1;
	return n;
}

static uint32_t grow_run(isc_profile *p, isc_sampled *t, const isc_merged *run, uint32_t node, int *skip, bool careful)
{
	int n = isc_sample_run(t, run);

	for (int i = 0; i < n && node != UINT32_MAX; i++) {
		isc_merged m = isc_sample_run_frame(run, t->places[i]);
		uint32_t frame;

		if ((*skip)-- > 0)
			continue;
		frame = native_frame(p, t, &m, careful);
		node = frame != 0 ? isc_profile_node(p, node, frame) : 0;
		if (node == 0)
			return UINT32_MAX;
	}
	return node;
}

/* Frame by frame, from the root on; UINT32_MAX: there is no room. */
static uint32_t grow_node(isc_profile *p, isc_sampled *t, const isc_python_layout *l, int parts, bool careful)
{
	int most = (int)p->max_frames, frames = count_frames(t, parts), skip = 0;
	uint32_t node = 0, frame;

	if (frames > most) {
		skip = frames - most + 1;
		node = isc_profile_node(p, 0, ISC_PROFILE_CUT);
		if (node == 0)
			return 0;
	}
	for (int i = parts - 1; i >= 0 && node != UINT32_MAX; i--) {
		const isc_merged *m = &t->merged[i];

		if (m->module == ISC_MERGED_RUN) {
			node = grow_run(p, t, m, node, &skip, careful);
		} else if (skip-- <= 0) {
			frame = m->module == ISC_MERGED_PYTHON ? python_frame(p, t, l, m, careful)
							       : native_frame(p, t, m, careful);
			node = frame != 0 ? isc_profile_node(p, node, frame) : 0;
			node = node != 0 ? node : UINT32_MAX;
		}
	}
	return node != UINT32_MAX ? node : 0;
}

/* Of a stack that was met before one look is enough: memory is cold here. */
static uint32_t node_of(isc_profile *p, isc_sampled *t, const isc_python_layout *l, int frames, bool careful)
{
	uint64_t path;
	uint32_t node;

	if (frames == 0)
		return ISC_PROFILE_UNKNOWN;
	path = isc_sample_path(t, frames);
	node = (uint32_t)isc_profile_find(p->path, ISC_PROFILE_PATHS, path);
	if (node != 0)
		return node;
	node = grow_node(p, t, l, frames, careful);
	/* Not while frames may be without their names. */
	if (node != 0 && !careful)
		isc_profile_enter(p->path, ISC_PROFILE_PATHS, &p->paths, path, node);
	return node;
}

void isc_profile_add(isc_sampled *t, const isc_python_layout *l, int frames, uint64_t ns, uint64_t instructions,
		     bool careful)
{
	isc_profile *p = atomic_load_explicit(&profile, memory_order_acquire);
	isc_profile_sample sample = {.ns = ns};

	if (!isc_profile_on())
		return;
	sample.tid = atomic_load_explicit(ISC_SAMPLED_TID(t), memory_order_relaxed);
	sample.memory = memory_change(p, t, ns);
	sample.counted = instructions != ISC_COUNT_UNKNOWN ? instructions : counted_since(p, t);
	sample.node = node_of(p, t, l, frames, careful);
	isc_profile_count(p, &sample);
}

void isc_profile_add_unknown(isc_sampled *t, uint64_t ns)
{
	isc_profile_add(t, NULL, 0, ns, ISC_COUNT_UNKNOWN, false);
}

void isc_profile_spent(uint64_t ns)
{
	isc_profile *p = atomic_load_explicit(&profile, memory_order_acquire);

	if (isc_profile_on())
		atomic_fetch_add_explicit(&p->spent_ns, ns, memory_order_relaxed);
}

void isc_profile_thread(isc_sampled *t, uint32_t tid, bool refused)
{
	isc_profile *p = atomic_load_explicit(&profile, memory_order_acquire);
	int fd;

	if (!isc_profile_on())
		return;
	if (refused)
		atomic_fetch_add_explicit(&p->refused, 1, memory_order_relaxed);
	if (refused || t->counter >= 0 || isc_sample_for_session() ||
	    atomic_load_explicit(&p->count_error, memory_order_relaxed) != 0)
		return;
	fd = isc_counter_open(p->counter, tid);
	if (fd < 0) {
		/* A thread that has gone meanwhile says nothing about others. */
		if (fd != -ESRCH)
			atomic_store_explicit(&p->count_error, -fd, memory_order_relaxed);
		return;
	}
	t->counted = 0;
	t->counter_id = isc_sample_perf_id(fd);
	t->counter = fd;
}

/* ---- from when to when -------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static isc_profile *empty_profile(void)
{
	isc_profile *p = atomic_load_explicit(&profile, memory_order_acquire);

	if (p == NULL) {
		p = (isc_profile *)syscall(SYS_mmap, NULL, sizeof(*p), PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0L);
		if ((void *)p == MAP_FAILED)
			return NULL;
	} else if (syscall(SYS_madvise, p, sizeof(*p), MADV_DONTNEED) != 0) {
		memset(p, 0, sizeof(*p));
	}
	return p;
}

static void open_memory(isc_profile *p)
{
	uint64_t bytes;
	int fd = isc_kernel_open("/proc/self/statm", O_RDONLY, 0), high;

	if (fd < 0) {
		p->memory_error = errno;
		return;
	}
	high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, HIGH_DESCRIPTOR);
	if (high >= 0) {
		isc_kernel_close(fd);
		fd = high;
	}
	statm = fd;
	isc_kernel_stat(fd, &statm_is);
	page_bytes = (uint64_t)getauxval(AT_PAGESZ);
	if (read_rss(&bytes))
		atomic_store(&p->rss, bytes);
	else
		p->memory_error = EIO;
}

/* The program may have closed it, and opened something else there. */
static void close_memory(void)
{
	struct stat now;

	if (statm >= 0 && isc_kernel_stat(statm, &now) && now.st_dev == statm_is.st_dev &&
	    now.st_ino == statm_is.st_ino)
		isc_kernel_close(statm);
	statm = -1;
}

/* Threads of a session have their timers already, and the session's counters or none. */
static int why_no_counter(void)
{
	const isc_control *control = isc_rt_control();

	if (!isc_sample_for_session())
		return 0;
	return control != NULL && (control->flags & ISC_CONTROL_COUNTS) != 0 ? 0 : EALREADY;
}

/* A child of a raw clone is told nothing. */
static void leave_parent(void)
{
	isc_profile *p = atomic_load_explicit(&profile, memory_order_acquire);

	if (isc_profile_on() && p->pid != isc_kernel_pid())
		isc_sample_profile_forked();
}

int isc_rt_profile_start(const isc_profile_options *options)
{
	isc_profile *p;
	uint32_t shared_ns = 0;
	int error;

	leave_parent();
	if (isc_profile_on())
		return 0;
	if (!isc_sample_quiet())
		return EBUSY; /* a handler of the time before is still at it: stopped by a debugger, maybe */
	p = empty_profile();
	if (p == NULL)
		return ENOMEM;
	p->pid = isc_kernel_pid();
	p->interval_ns = options->interval_ns;
	p->max_frames = options->max_frames;
	p->native = options->native;
	p->counter = options->counter;
	p->count_error = options->counter == ISC_PROFILE_NO_COUNTER ? ECANCELED : why_no_counter();
	open_memory(p);
	p->start_ns = now_ns();
	atomic_store_explicit(&profile, p, memory_order_release);
	/* Before there are signals: those that come at once count. */
	atomic_store_explicit(&p->running, 1, memory_order_release);
	error = isc_sample_profile_begin(options, &shared_ns);
	if (error != 0) {
		atomic_store(&p->running, 0);
		close_memory();
		p->stop_ns = p->start_ns;
		return error;
	}
	if (shared_ns != 0) {
		p->shared = 1;
		p->interval_ns = shared_ns;
	}
	return 0;
}

int isc_rt_profile_stop(void)
{
	isc_profile *p;

	leave_parent();
	p = atomic_load_explicit(&profile, memory_order_acquire);
	if (!isc_profile_on())
		return 0;
	atomic_store(&p->running, 0);
	p->stop_ns = now_ns();
	if (isc_sample_profile_end())
		atomic_store(&p->taken, 1);
	close_memory();
	return 0;
}

void isc_profile_forked(void)
{
	isc_profile *p = atomic_load_explicit(&profile, memory_order_acquire);

	if (!isc_profile_on())
		return;
	atomic_store(&p->running, 0);
	p->stop_ns = now_ns();
	close_memory();
}

void isc_rt_profile_forked(void)
{
	isc_sample_profile_forked();
}

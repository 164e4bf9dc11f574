#include "timeline/waits.h"

#include <string.h>

#include "base/python_name.h"
#include "trace/stack.h"

/* Functions that say what a wait is for are near the call. */
#define FRAMES 12

#define BIT(call) (1u << (call))
#define LOCKS (BIT(ISC_WAIT_SEM) | BIT(ISC_WAIT_COND) | BIT(ISC_WAIT_MUTEX))
#define POLLS (BIT(ISC_WAIT_POLL) | BIT(ISC_WAIT_SELECT) | BIT(ISC_WAIT_EPOLL))
#define READS (BIT(ISC_WAIT_READ) | BIT(ISC_WAIT_RECV))
#define ANY (LOCKS | POLLS | READS)
#define TRANSFERS (READS | BIT(ISC_WAIT_WRITE) | BIT(ISC_WAIT_SEND) | BIT(ISC_WAIT_CONNECT) | BIT(ISC_WAIT_SYNC))
/* A transfer below this, on average, is a system call that did not wait. */
#define BRIEF_NS 10e3

/* Who had what was waited for, as far as it matters to the rules. */
enum waits_holder { NOBODY, ITSELF, ANOTHER };

/*
 * Modules that wait for their callers.  A rule looks at the functions of these alone, from the call up to the first
 * of anybody else: what a job waits for is the job's affair, whatever pool, loop or process runs it.  A path ends
 * like this, or has such a folder in it.
 */
static const char *const helpers[] = {
	"/threading.py",
	"/queue.py",
	"/selectors.py",
	"/socket.py",
	"/ssl.py",
	"/subprocess.py",
	"/concurrent/futures/",
	"/multiprocessing/",
	"/asyncio/",
	"/uvloop/",
	"/torch/utils/data/",
	"/socketserver.py",
	"/gunicorn/",
	"/http/server.py",
	"/tornado/",
};

/* Their functions that run what they were given: a job written in C has no function of its own in between. */
static const char *const runners[] = {"run", "_run", "mapstar", "starmapstar"};

/*
 * The first rule that matches any of those functions counts.  file is as above; name is the function without its
 * class, NULL: any.
 */
static const struct wait_rule {
	uint32_t calls;
	const char *file;
	const char *name;
	enum isc_state state;
} rules[] = {
	/* A semaphore is held by those inside, although it waits as if for work. */
	{LOCKS, "/threading.py", "acquire", ISC_STATE_LOCK_WAIT},
	{LOCKS, "/threading.py", "__enter__", ISC_STATE_LOCK_WAIT},
	/* Conditions, events, barriers; the end of a thread. */
	{LOCKS, "/threading.py", "wait", ISC_STATE_IDLE},
	{LOCKS, "/threading.py", "wait_for", ISC_STATE_IDLE},
	{LOCKS, "/threading.py", "join", ISC_STATE_IDLE},
	{LOCKS, "/threading.py", "_wait_for_tstate_lock", ISC_STATE_IDLE},
	{LOCKS, "/threading.py", "_shutdown", ISC_STATE_IDLE},
	{LOCKS, "/queue.py", "get", ISC_STATE_IDLE},
	{LOCKS, "/queue.py", "put", ISC_STATE_IDLE},
	{LOCKS, "/queue.py", "join", ISC_STATE_IDLE},
	/* Consumers of a queue of processes wait for their turn with a lock. */
	{LOCKS, "/multiprocessing/queues.py", NULL, ISC_STATE_IDLE},
	{LOCKS, "/multiprocessing/synchronize.py", "__enter__", ISC_STATE_LOCK_WAIT},
	/* Pools and what hands work to them. */
	{ANY, "/concurrent/futures/", NULL, ISC_STATE_IDLE},
	{ANY, "/multiprocessing/", NULL, ISC_STATE_IDLE},
	{ANY, "/torch/utils/data/", NULL, ISC_STATE_IDLE},
	/* Event loops and servers between requests. */
	{LOCKS | POLLS, "/asyncio/", NULL, ISC_STATE_IDLE},
	{LOCKS | POLLS, "/uvloop/", NULL, ISC_STATE_IDLE},
	{POLLS | READS, "/socketserver.py", "serve_forever", ISC_STATE_IDLE},
	{READS, "/http/server.py", "handle_one_request", ISC_STATE_IDLE},
	{POLLS, "/gunicorn/", NULL, ISC_STATE_IDLE},
	{POLLS, "/tornado/", NULL, ISC_STATE_IDLE},
	/* What a child prints, as if it were read. */
	{POLLS, "/subprocess.py", NULL, ISC_STATE_IO_WAIT},
};

/* What it is when no rule says otherwise. */
static const enum isc_state plain[] = {[ISC_WAIT_GIL] = ISC_STATE_GIL_WAIT,	[ISC_WAIT_MUTEX] = ISC_STATE_LOCK_WAIT,
				       [ISC_WAIT_RWLOCK] = ISC_STATE_LOCK_WAIT, [ISC_WAIT_SEM] = ISC_STATE_LOCK_WAIT,
				       [ISC_WAIT_COND] = ISC_STATE_IDLE,	[ISC_WAIT_BARRIER] = ISC_STATE_IDLE,
				       [ISC_WAIT_JOIN] = ISC_STATE_IDLE,	[ISC_WAIT_READ] = ISC_STATE_IO_WAIT,
				       [ISC_WAIT_WRITE] = ISC_STATE_IO_WAIT,	[ISC_WAIT_RECV] = ISC_STATE_IO_WAIT,
				       [ISC_WAIT_SEND] = ISC_STATE_IO_WAIT,	[ISC_WAIT_CONNECT] = ISC_STATE_IO_WAIT,
				       [ISC_WAIT_ACCEPT] = ISC_STATE_IDLE,	[ISC_WAIT_SYNC] = ISC_STATE_IO_WAIT,
				       [ISC_WAIT_POLL] = ISC_STATE_IO_WAIT,	[ISC_WAIT_SELECT] = ISC_STATE_IDLE,
				       [ISC_WAIT_EPOLL] = ISC_STATE_IDLE,	[ISC_WAIT_SLEEP] = ISC_STATE_SLEEP,
				       [ISC_WAIT_SIGNAL] = ISC_STATE_IDLE,	[ISC_WAIT_CHILD] = ISC_STATE_IDLE,
				       [ISC_WAIT_YIELD] = ISC_STATE_SPIN,	[ISC_WAIT_GC] = ISC_STATE_GC};

/* How many of the nearest functions wait for their callers. */
static size_t helping(const isc_waits_frame *frames, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t h = 0;

		while (h < sizeof(helpers) / sizeof(helpers[0]) && !isc_python_file_is(&frames[i].file, helpers[h]))
			h++;
		if (h == sizeof(helpers) / sizeof(helpers[0]))
			return i;
		for (size_t r = 0; r < sizeof(runners) / sizeof(runners[0]); r++) {
			if (isc_python_function_is(&frames[i].name, runners[r]))
				return i;
		}
	}
	return n;
}

enum isc_state isc_waits_state(uint32_t call, const isc_waits_frame *frames, size_t n, uint32_t holder, uint32_t self)
{
	size_t near = helping(frames, n);

	if (call >= sizeof(plain) / sizeof(plain[0]) || call == 0)
		return ISC_STATE_OTHER;
	for (size_t r = 0; r < sizeof(rules) / sizeof(rules[0]); r++) {
		if ((rules[r].calls >> call & 1) == 0)
			continue;
		for (size_t i = 0; i < near; i++) {
			if (isc_python_file_is(&frames[i].file, rules[r].file) &&
			    (rules[r].name == NULL || isc_python_function_is(&frames[i].name, rules[r].name)))
				return rules[r].state;
		}
	}
	/* Nobody waits for a lock that it took itself: it waits to be woken. */
	if (call == ISC_WAIT_SEM && holder != 0 && holder == self)
		return ISC_STATE_IDLE;
	/* Without Python it is a program's own loop, or a worker of its own pool. */
	if (n == 0 && (POLLS >> call & 1) != 0)
		return ISC_STATE_IDLE;
	/* Nor does a semaphore that nobody holds say that there is anything to fight for. */
	if (n == 0 && call == ISC_WAIT_SEM && holder == 0)
		return ISC_STATE_IDLE;
	return plain[call];
}

static void take_code(const isc_trace *trace, uint32_t process, uint32_t id, isc_waits_frame *frame)
{
	uint32_t len = 0;
	const char *data = isc_trace_define(trace, process, id, ISC_DEF_CODE, &len);
	isc_def_code code;

	*frame = (isc_waits_frame){0};
	if (data == NULL || len < sizeof(code))
		return;
	memcpy(&code, data, sizeof(code));
	len -= (uint32_t)sizeof(code);
	data += sizeof(code);
	if (code.name_len > len || code.file_len > len - code.name_len)
		return;
	frame->name = (isc_text){data, code.name_len};
	frame->file = (isc_text){data + code.name_len, code.file_len};
}

static enum isc_state find_state(const isc_waits *w, const isc_total_wait *row, uint32_t self)
{
	isc_stack_frame stack[ISC_STACK_FRAMES_MAX];
	isc_waits_frame frames[FRAMES];
	int n = row->stack != 0 ? isc_trace_stack(w->trace, row->process, row->stack, stack, (int)ISC_STACK_FRAMES_MAX)
				: 0;
	size_t near = 0;

	for (; near < FRAMES && (int)near < n; near++)
		take_code(w->trace, row->process, stack[n - 1 - (int)near].code, &frames[near]);
	return isc_waits_state(row->call, frames, near, row->holder, self);
}

void isc_waits_init(isc_waits *w, const isc_trace *trace)
{
	*w = (isc_waits){.trace = trace};
}

void isc_waits_fini(isc_waits *w)
{
	for (size_t call = 0; call < ISC_WAIT_CALLS; call++)
		isc_hashmap_fini(&w->known[call]);
}

static enum waits_holder holder_of(const isc_total_wait *row, uint32_t self)
{
	if (row->call != ISC_WAIT_SEM || row->holder == 0)
		return NOBODY;
	return row->holder == self ? ITSELF : ANOTHER;
}

enum isc_state isc_waits_of(isc_waits *w, const isc_total_wait *row)
{
	const isc_trace_thread *thread = isc_trace_thread_find(w->trace, row->thread);
	uint32_t self = thread != NULL ? thread->tid : 0;
	unsigned byte = 8u * holder_of(row, self);
	enum isc_state state;
	uint64_t *known;

	if (row->call >= ISC_WAIT_CALLS)
		return isc_waits_state(row->call, NULL, 0, 0, 0);
	known = isc_hashmap_put(&w->known[row->call], isc_hashmap_key(row->process, row->stack), NULL);
	if (known != NULL && (*known >> byte & 0xff) != 0)
		return (enum isc_state)((*known >> byte & 0xff) - 1);
	state = find_state(w, row, self);
	if (known != NULL)
		*known |= ((uint64_t)state + 1) << byte;
	return state;
}

enum isc_state isc_waits_brief(uint32_t call, double ns, uint64_t count)
{
	if (call < ISC_WAIT_CALLS && (TRANSFERS >> call & 1) != 0 && ns < (double)count * BRIEF_NS)
		return ISC_STATE_SYSCALL;
	return isc_waits_state(call, NULL, 0, 0, 0);
}

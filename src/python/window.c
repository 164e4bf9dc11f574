#include "python/window.h"

#include <string.h>
#include <time.h>

#include "python/governor.h"
#include "python/pointer.h"
#include "python/waker.h"

/* Calls until caches are warm again and call sites have got used to it; then enough
 * of them that reading clocks hardly matters, and few enough to cost little. */
#define CALLS_WARM 500
#define CALLS_ENOUGH 2000
#define FUNCTIONS_ENOUGH 500u /* what one event has room for */
#define WINDOW_NS 1000000u
/* Waking the helper thread, caches gone cold and call sites that lose their specialisation. */
#define SWITCH_NS 60e3
/* A program that waits is traced again after so many times the CPU time of a pause. */
#define PATIENCE 4u
#define END_NAME "inferscope.window.end"

#if PY_VERSION_HEX >= 0x030c0000
#define AFTER ISC_WINDOW_OFF
#define COUNTED_STATE ISC_CODE_GOVERNED
#else
#define AFTER ISC_WINDOW_TRACED
#define COUNTED_STATE ISC_CODE_TRACED
#endif

#if PY_VERSION_HEX >= 0x030d0000
#define ISC_FINALIZING Py_IsFinalizing
#else
#define ISC_FINALIZING _Py_IsFinalizing
#endif

typedef struct span {
	uint64_t begin_ns, end_ns; /* CPU time of the process */
	uint32_t flags;		   /* enum isc_burst_flag */
	uint32_t calls, resumes;
} span;

struct event {
	isc_record head;
	isc_burst burst;
	isc_burst_calls calls[FUNCTIONS_ENOUGH + 2];
};
_Static_assert(sizeof(struct event) <= 255 * sizeof(isc_record), "one event");

_Atomic uint32_t isc_window_mode;

static span now_open; /* begin and flags; the rest when it ends */
static uint32_t after;
static uint64_t pause_ns, next_ns, next_wall_ns;
static double call_ns, least_ns;
static bool used; /* there was a window */

/* With the GIL. */
static _Atomic uint32_t counted, resumed, enough; /* calls of this window, and how many end it; the helper looks */
static bool warm;
static isc_code *touched;
static uint32_t touched_count;

/*
 * Ended by the helper thread and not yet written, for that takes the GIL.  Only
 * the first has calls: the next call writes them all.  Of windows without a call
 * in a row the first and the last say it all.
 */
static _Atomic uint32_t due;
static span ended[3];
static uint32_t ended_count;

static uint64_t helper(uint64_t *wall_ns);

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Of the program, without the helper thread. */
static uint64_t cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID) - isc_waker_cpu_ns();
}

/* Evenly spread over half to one and a half: windows must not keep time with the program. */
static uint64_t about(uint64_t ns)
{
	static uint64_t state;

	if (state == 0)
		state = isc_calls_ticks() | 1;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return ns / 2 + (uint64_t)((double)ns * (double)(state >> 11) / (double)(1ull << 53));
}

uint64_t isc_window_cost(void)
{
	return (uint64_t)((SWITCH_NS + (CALLS_WARM + CALLS_ENOUGH) * call_ns) * isc_governor_self.ticks_per_ns);
}

void isc_window_calibrate(double counted_ns, double plain_ns)
{
	call_ns = counted_ns;
	least_ns = plain_ns;
}

/* ---- what goes into the trace ----------------------------------------- */

static void write_span(const span *s, isc_code *list)
{
	struct event e;
	uint32_t n = 0, slots;

	if (!isc_calls_live())
		return;
	for (; list != NULL; list = list->next_touched) {
		uint32_t id = isc_code_id(list);

		if (id != 0)
			e.calls[n++] = (isc_burst_calls){id, list->calls};
	}
	e.calls[n] = (isc_burst_calls){0, 0}; /* behind an odd number */
	slots = 1 + (uint32_t)((sizeof(e.burst) + n * sizeof(e.calls[0]) + sizeof(e.head) - 1) / sizeof(e.head));
	e.burst = (isc_burst){.begin_ns = s->begin_ns,
			      .end_ns = s->end_ns,
			      .cost = (uint32_t)(call_ns * 16),
			      .least = (uint32_t)(least_ns * 16),
			      .calls = s->calls,
			      .resumes = s->resumes};
	e.head = (isc_record){
		.ticks = isc_calls_ticks(), .kind = ISC_KIND_BURST, .slots = (uint8_t)slots, .arg = (uint16_t)s->flags};
	isc_rt_write(&e.head, slots);
}

static void clear_touched(void)
{
	for (isc_code *entry = touched, *next; entry != NULL; entry = next) {
		next = entry->next_touched;
		entry->calls = 0;
		entry->next_touched = NULL;
	}
	touched = NULL;
	touched_count = 0;
	counted = resumed = 0;
	enough = CALLS_WARM;
	warm = false;
}

static void write_due(void)
{
	for (uint32_t i = 0; i < ended_count; i++)
		write_span(&ended[i], i == 0 ? touched : NULL);
	clear_touched();
	ended_count = 0;
	atomic_store(&due, 0);
}

/* ---- from one mode to the next ---------------------------------------- */

static void open_at(uint64_t ns, uint32_t flags, uint32_t then)
{
	now_open = (span){.begin_ns = ns, .flags = flags};
	after = then;
	if (atomic_load(&due) != 0)
		enough = 0; /* the first call has something to write */
	atomic_store(&isc_window_mode, ISC_WINDOW_COUNTING);
	isc_pointer_put();
}

/* By whoever is first; true: it was us. */
static bool end_at(uint64_t ns)
{
	uint32_t was = ISC_WINDOW_COUNTING;

	if (!atomic_compare_exchange_strong(&isc_window_mode, &was, after))
		return false;
	now_open.end_ns = ns;
	next_ns = ns + about(pause_ns);
	next_wall_ns = clock_ns(CLOCK_MONOTONIC) + PATIENCE * pause_ns;
	if (after == ISC_WINDOW_OFF)
		isc_pointer_take();
	return true;
}

/* The time is over. */
static bool end_unasked(uint64_t now)
{
	bool nothing = atomic_load(&due) != 0 && enough == 0;

	if (!end_at(now))
		return false;
	now_open.calls = nothing ? 0 : counted;
	now_open.resumes = nothing ? 0 : resumed;
	/* One that had no time says nothing. */
	if (now_open.end_ns > now_open.begin_ns) {
		ended_count += ended_count < 3;
		ended[ended_count - 1] = now_open;
	}
	atomic_store(&due, 1);
	return true;
}

/* On the helper thread, without the GIL: what is next, and after how much CPU time
 * of the process to come again; 0: when asked. */
static uint64_t helper(uint64_t *wall_ns)
{
	uint64_t now = cpu_ns();

	if (isc_calls_over() || ISC_FINALIZING())
		return 0;
	switch (atomic_load(&isc_window_mode)) {
	case ISC_WINDOW_OFF:
		/* A program that waits has its calls traced again, where that is the next step. */
		if (now < next_ns && (AFTER == ISC_WINDOW_OFF || clock_ns(CLOCK_MONOTONIC) < next_wall_ns)) {
			*wall_ns = AFTER == ISC_WINDOW_OFF ? 0 : PATIENCE * (next_ns - now);
			return next_ns - now;
		}
		open_at(now, 0, AFTER);
		return WINDOW_NS;
	case ISC_WINDOW_COUNTING:
		if (now < now_open.begin_ns + WINDOW_NS)
			return now_open.begin_ns + WINDOW_NS - now;
		if (end_unasked(now) && after == ISC_WINDOW_TRACED)
			return 0;
		return WINDOW_NS;
	default:
		return 0;
	}
}

/* Where calls come fast, the window begins when everything is warm. */
static void begin_anew(uint64_t now)
{
	if (now < now_open.begin_ns + WINDOW_NS / 2) {
		/* Up to the window all calls are to be known. */
		if (now_open.flags & ISC_BURST_SEEN)
			write_span(&(span){now_open.begin_ns, now, ISC_BURST_SEEN | ISC_BURST_ROUGH, counted, resumed},
				   touched);
		clear_touched();
		now_open.begin_ns = now;
	}
	warm = true;
	enough = CALLS_ENOUGH;
}

/* With the GIL, in a call: there were enough, or there is something to write. */
static __attribute__((noinline, cold)) void settle(bool deep)
{
	uint64_t now = cpu_ns();

	if (atomic_load(&due) != 0) {
		write_due();
		return;
	}
	if (!warm && !deep && touched_count < FUNCTIONS_ENOUGH) {
		begin_anew(now);
		return;
	}
	if (!end_at(now))
		return;
	now_open.calls = counted;
	now_open.resumes = resumed;
	write_span(&now_open, touched);
	clear_touched();
	if (after == ISC_WINDOW_TRACED)
		isc_hook_resume(isc_calls_ticks());
	else
		isc_waker_ask(helper);
}

bool isc_window_close(uint64_t pause)
{
	if (!isc_pointer_self.found || !isc_waker_can())
		return false;
	if (atomic_load(&due) != 0)
		write_due();
	clear_touched();
	used = true;
	pause_ns = pause;
	open_at(cpu_ns(), ISC_BURST_SEEN, ISC_WINDOW_OFF);
	isc_waker_ask(helper);
	return true;
}

void isc_window_try(bool on)
{
	clear_touched();
	enough = on ? UINT32_MAX : CALLS_WARM;
	atomic_store(&isc_window_mode, on ? ISC_WINDOW_COUNTING : ISC_WINDOW_TRACED);
	if (on)
		isc_pointer_put();
	else if (AFTER == ISC_WINDOW_OFF)
		isc_pointer_take();
}

void isc_window_forget(isc_code *entry)
{
	isc_code **at = &touched;

	if (entry->calls == 0)
		return;
	while (*at != NULL && *at != entry)
		at = &(*at)->next_touched;
	if (*at != NULL)
		*at = entry->next_touched;
	entry->next_touched = NULL;
	entry->calls = 0;
}

void isc_window_stop(void)
{
	atomic_store(&isc_window_mode, ISC_WINDOW_TRACED);
	if (atomic_load(&due) != 0)
		write_due();
	clear_touched();
	if (AFTER == ISC_WINDOW_OFF)
		isc_pointer_take();
}

/* ---- forks and the end ------------------------------------------------ */

/* The helper thread is gone: a window of any length, whose end starts it again. */
static void go_on_alone(bool child)
{
	if (!used || atomic_load(&isc_window_mode) == ISC_WINDOW_TRACED)
		return;
	if (child) {
		clear_touched();
		ended_count = 0;
		atomic_store(&due, 0);
	}
	if (AFTER == ISC_WINDOW_TRACED) {
		atomic_store(&isc_window_mode, ISC_WINDOW_TRACED);
		isc_pointer_put();
	} else if (child || atomic_load(&isc_window_mode) == ISC_WINDOW_OFF) {
		open_at(cpu_ns(), 0, ISC_WINDOW_OFF);
	}
}

static void at_end(PyObject *capsule)
{
	span end = {.flags = ISC_BURST_END};

	(void)capsule;
	if (!used)
		return;
	end.begin_ns = end.end_ns = cpu_ns();
	end.flags |= atomic_load(&isc_window_mode) == ISC_WINDOW_TRACED ? ISC_BURST_SEEN : 0;
	write_span(&end, NULL);
}

/*
 * The last moment with an interpreter is when its dictionary goes.  What Py_AtExit()
 * calls comes later: on 3.10 daemon threads that wake up by then read what has been
 * freed, and one system call of ours is enough for them to wake up in.
 */
static void watch_end(void)
{
	PyObject *dict = PyInterpreterState_GetDict(PyInterpreterState_Get()), *capsule;

	if (dict == NULL || PyDict_GetItemString(dict, END_NAME) != NULL)
		return;
	capsule = PyCapsule_New(&used, END_NAME, NULL);
	if (capsule == NULL || PyDict_SetItemString(dict, END_NAME, capsule) < 0 ||
	    PyCapsule_SetDestructor(capsule, at_end) < 0)
		PyErr_Clear();
	Py_XDECREF(capsule);
}

void isc_window_begin(void)
{
	enough = CALLS_WARM;
	isc_waker_begin(go_on_alone);
	watch_end();
}

/* ---- a call ----------------------------------------------------------- */

static bool wanted(void)
{
	uint32_t mode = atomic_load(&isc_window_mode);

	return mode == ISC_WINDOW_COUNTING || (mode == ISC_WINDOW_TRACED && AFTER == ISC_WINDOW_TRACED);
}

/* From 3.12 on the interpreter also counts evaluations inside each other, and the
 * program may need most of them. */
static inline bool is_deep(const PyThreadState *ts)
{
#if PY_VERSION_HEX >= 0x030d0000
	return ts->c_recursion_remaining < Py_C_RECURSION_LIMIT / 8 * 7;
#elif PY_VERSION_HEX >= 0x030c0000
	return ts->c_recursion_remaining < C_RECURSION_LIMIT / 8 * 7;
#else
	(void)ts;
	return false;
#endif
}

/* Only who has the GIL does: no need to lock the bus. */
static inline void add_one(_Atomic uint32_t *n)
{
	atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_relaxed);
}

static inline void count(PyCodeObject *code, const isc_frame *f)
{
	isc_code *entry = AFTER == ISC_WINDOW_OFF ? isc_code_get(code) : isc_code_of(code);

	add_one(&counted);
	if (ISC_UNLIKELY(code->co_flags & ISC_CODE_GENERATORS)) {
		if (isc_frame_makes_generator(f))
			return;
		add_one(&resumed);
	}
	if (entry == NULL || entry->state != COUNTED_STATE || entry->round != isc_calls_self.round)
		return;
	if (entry->calls++ == 0) {
		entry->next_touched = touched;
		touched = entry;
		if (++touched_count == FUNCTIONS_ENOUGH)
			enough = 0;
	}
}

PyObject *isc_window_frame(PyThreadState *ts, isc_frame *f, int thrown)
{
	bool deep;

	if (isc_pointer_near_floor())
		return isc_pointer_step_aside(ts, f, thrown, wanted);
	if (ISC_UNLIKELY(atomic_load_explicit(&isc_window_mode, memory_order_relaxed) != ISC_WINDOW_COUNTING) ||
	    ISC_UNLIKELY(!isc_calls_live())) {
		if (isc_calls_over())
			isc_pointer_take();
		return isc_pointer_go_on(ts, f, thrown);
	}
	deep = is_deep(ts);
	if (ISC_UNLIKELY(atomic_load_explicit(&counted, memory_order_relaxed) >=
			 atomic_load_explicit(&enough, memory_order_relaxed)) ||
	    ISC_UNLIKELY(deep))
		settle(deep);
	if (ISC_LIKELY(atomic_load_explicit(&isc_window_mode, memory_order_relaxed) == ISC_WINDOW_COUNTING))
		count(isc_frame_code(f), f);
	return isc_pointer_go_on(ts, f, thrown);
}

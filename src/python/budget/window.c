#include "python/budget/window.h"

#include <string.h>
#include <time.h>

#include "python/budget/cpu_clock.h"
#include "python/budget/gate.h"
#include "python/budget/governor.h"
#include "python/pointer.h"
#include "python/budget/startup.h"
#include "python/budget/thinning.h"
#include "python/budget/waker.h"

/*
 * How long, in CPU time, until caches are warm again after the helper thread ran, and then how
 * long it counts.  The same for every window: one that ended sooner where calls are many would
 * be met mostly by those.  Long enough that reading clocks hardly matters, and short enough to
 * cost little.
 */
#define WARM_NS 40000u
#define WINDOW_NS 160000u
#define FORK_NS 5000000u /* for which none ends behind a fork, so that no thread begins */
/* After so much the helper thread ends it: where a call can it is better not disturbed. */
#define HELPER_NS (2 * (WARM_NS + WINDOW_NS))
/* Calls between two looks at the clock, before and after. */
#define COLD_STRIDE 8u
#define STRIDE 32u
#define FUNCTIONS_ENOUGH 500u /* what one event has room for */
/* Waking the helper thread, caches gone cold and call sites that lose their specialisation. */
#define SWITCH_NS 60e3
#define FIRST_SHARE 8u /* of a pause, before the first window */
/* A program that waits is traced again after so many times the CPU time of a pause. */
#define PATIENCE 4u
#define END_NAME "inferscope.window.end"

#if PY_VERSION_HEX >= 0x030c0000
#define AFTER ISC_WINDOW_OFF
#else
#define AFTER ISC_WINDOW_TRACED
#endif

#if PY_VERSION_HEX >= 0x030d0000
#define ISC_FINALIZING Py_IsFinalizing
#else
#define ISC_FINALIZING _Py_IsFinalizing
#endif

typedef struct span {
	uint64_t begin_ns, end_ns; /* of the CPU clock */
	uint32_t flags;		   /* enum isc_burst_flag */
	uint32_t calls, resumes;
} span;

struct window_event {
	isc_record head;
	isc_burst burst;
	isc_burst_calls calls[FUNCTIONS_ENOUGH + 2];
};
_Static_assert(sizeof(struct window_event) <= 255 * sizeof(isc_record), "one event");

_Atomic uint32_t isc_window_mode;

static span now_open; /* begin; the rest when it ends */
static bool warm;
static uint64_t look_ticks; /* when the next of these is due, if the program is not kept from running */
static uint64_t pause_ns, next_ns, next_wall_ns;
static double call_ns, least_ns;
static bool used; /* there was a window */

/* With the GIL. */
static _Atomic uint32_t counted, resumed,
	enough; /* calls of this window, and with how many to settle(); the helper looks */
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

static uint64_t wall_ns_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
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
	/* With the quickest calls there are. */
	double share = call_ns + least_ns > 0 ? call_ns / (call_ns + least_ns) : 1;

	return (uint64_t)((SWITCH_NS + (WARM_NS + WINDOW_NS) * share) * isc_governor_self.ticks_per_ns);
}

void isc_window_calibrate(double counted_ns, double plain_ns)
{
	call_ns = counted_ns;
	least_ns = plain_ns;
}

/* ---- what goes into the trace ----------------------------------------- */

static void write_span(const span *s, isc_code *list)
{
	struct window_event e;
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
	enough = COLD_STRIDE;
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

static uint64_t in_ticks(uint64_t ns)
{
	return (uint64_t)((double)ns * isc_governor_self.ticks_per_ns);
}

static void open_now(void)
{
	now_open = (span){.begin_ns = isc_cpu_clock_mark()};
	warm = false;
	look_ticks = isc_calls_ticks() + in_ticks(WARM_NS);
	if (atomic_load(&due) != 0)
		enough = 0; /* the first call has something to write */
	atomic_store(&isc_window_mode, ISC_WINDOW_COUNTING);
	isc_pointer_put();
}

/* By whoever is first; true: it was us, and leave() is next. */
static bool end_now(void)
{
	uint32_t was = ISC_WINDOW_COUNTING;

	if (!atomic_compare_exchange_strong(&isc_window_mode, &was, ISC_WINDOW_ENDING))
		return false;
	now_open.end_ns = isc_cpu_clock_mark();
	next_ns = now_open.end_ns + about(pause_ns);
	next_wall_ns = wall_ns_now() + PATIENCE * pause_ns;
	if (AFTER == ISC_WINDOW_OFF)
		isc_pointer_take();
	return true;
}

static void leave(void)
{
	uint32_t was = ISC_WINDOW_ENDING;

	/* Not if tracing was switched off meanwhile. */
	atomic_compare_exchange_strong(&isc_window_mode, &was, AFTER);
}

/* The time is over. */
static bool end_unasked(void)
{
	bool nothing = atomic_load(&due) != 0 && enough == 0;

	if (!end_now())
		return false;
	now_open.calls = nothing ? 0 : counted;
	now_open.resumes = nothing ? 0 : resumed;
	/* One that had no time says nothing. */
	if (now_open.end_ns > now_open.begin_ns) {
		ended_count += ended_count < 3;
		ended[ended_count - 1] = now_open;
	}
	atomic_store(&due, 1);
	leave();
	return true;
}

/* On the helper thread, without the GIL: what is next, and after how much CPU time
 * of the process to come again; 0: when asked. */
static uint64_t helper(uint64_t *wall_ns)
{
	uint32_t was = ISC_WINDOW_OFF;
	uint64_t now;

	if (isc_calls_over() || ISC_FINALIZING())
		return 0;
	now = isc_cpu_clock_ns();
	switch (atomic_load(&isc_window_mode)) {
	case ISC_WINDOW_OFF:
		/* A program that waits has its calls traced again, where that is the next step. */
		if (now < next_ns && (AFTER == ISC_WINDOW_OFF || wall_ns_now() < next_wall_ns)) {
			*wall_ns = AFTER == ISC_WINDOW_OFF ? 0 : PATIENCE * (next_ns - now);
			return next_ns - now;
		}
		/* Whoever has the GIL may have ended the pause meanwhile. */
		if (!atomic_compare_exchange_strong(&isc_window_mode, &was, ISC_WINDOW_ENDING))
			return 0;
		open_now();
		return HELPER_NS;
	case ISC_WINDOW_COUNTING:
		if (now < now_open.begin_ns + HELPER_NS)
			return now_open.begin_ns + HELPER_NS - now;
		if (end_unasked())
			return AFTER == ISC_WINDOW_TRACED ? 0 : next_ns - now;
		return WINDOW_NS;
	case ISC_WINDOW_ENDING:
		return WINDOW_NS;
	default:
		return 0;
	}
}

/* Is it for longer than this?  Else it is looked at again when it may be. */
static bool is_over(uint64_t ran_ns, uint64_t ns)
{
	if (ran_ns < ns)
		look_ticks = isc_calls_ticks() + in_ticks(ns - ran_ns);
	return ran_ns >= ns;
}

/* Is there still something to wait for?  Where calls are few the first look comes late: then it
 * is known from the begin on how few they are. */
static bool goes_on(void)
{
	uint64_t ran;

	enough = counted + (warm ? STRIDE : COLD_STRIDE);
	if (isc_calls_ticks() < look_ticks)
		return true;
	ran = isc_cpu_clock_ns() - now_open.begin_ns;
	if (!warm && !is_over(ran, WARM_NS))
		return true;
	if (!warm && ran < 2 * WARM_NS) {
		clear_touched();
		now_open.begin_ns += ran;
		ran = 0;
	}
	warm = true;
	return !is_over(ran, WINDOW_NS);
}

/* With the GIL. */
static void end_asked(void)
{
	if (!end_now())
		return;
	now_open.calls = counted;
	now_open.resumes = resumed;
	write_span(&now_open, touched);
	clear_touched();
	leave();
	if (AFTER == ISC_WINDOW_TRACED)
		isc_hook_resume(isc_calls_ticks());
	else
		isc_waker_ask(helper);
}

/* With the GIL, in a call: time to look at the clock, or there is something to write. */
static __attribute__((noinline, cold)) void settle(bool deep)
{
	if (atomic_load(&due) != 0)
		write_due();
	else if (deep || touched_count >= FUNCTIONS_ENOUGH || !goes_on())
		end_asked();
}

void isc_window_open(uint64_t ticks)
{
	uint32_t was = ISC_WINDOW_OFF;

	if (AFTER != ISC_WINDOW_TRACED)
		return;
	if (!atomic_compare_exchange_strong(&isc_window_mode, &was, ISC_WINDOW_TRACED)) {
		/* What the helper thread counts ends as ever; while it begins or ends, the next call finds it done. */
		if (was == ISC_WINDOW_COUNTING)
			end_asked();
		return;
	}
	if (atomic_load(&due) != 0)
		write_due();
	isc_pointer_put();
	isc_hook_resume(ticks);
}

bool isc_window_close(uint64_t pause)
{
	span seen = {.flags = ISC_BURST_SEEN | ISC_BURST_ROUGH};

	if (!isc_pointer_self.found || !isc_waker_can())
		return false;
	if (atomic_load(&due) != 0)
		write_due();
	clear_touched();
	used = true;
	pause_ns = pause;
	isc_cpu_clock_meet();
	/* This is no moment to count at: that there is a call is why we are here. */
	seen.begin_ns = seen.end_ns = isc_cpu_clock_mark();
	write_span(&seen, NULL);
	next_ns = seen.end_ns + about(AFTER == ISC_WINDOW_OFF ? pause / FIRST_SHARE : pause);
	next_wall_ns = wall_ns_now() + PATIENCE * pause;
	atomic_store(&isc_window_mode, ISC_WINDOW_OFF);
	isc_pointer_take();
	isc_waker_ask(helper);
	return true;
}

void isc_window_try(enum isc_window_mode mode)
{
	clear_touched();
	enough = mode == ISC_WINDOW_COUNTING ? UINT32_MAX : COLD_STRIDE;
	atomic_store(&isc_window_mode, mode);
	if (mode == ISC_WINDOW_COUNTING || (mode == ISC_WINDOW_TRACED && AFTER == ISC_WINDOW_TRACED))
		isc_pointer_put();
	else
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
	if (child) {
		isc_cpu_clock_forked();
		isc_startup_forked();
		isc_gate_forked();
		isc_thinning_forked();
		isc_governor_self.untold = 0;
	}
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
		open_now();
	}
	/* From 3.12 on a fork looks for other threads when it is over, and complains. */
	if (!child)
		look_ticks = isc_calls_ticks() + in_ticks(FORK_NS);
}

static void at_end(PyObject *capsule)
{
	span end = {.flags = ISC_BURST_END};

	(void)capsule;
	isc_startup_over(ISC_STARTUP_EXIT);
	isc_gate_release(isc_calls_ticks());
	isc_thinning_tell(isc_calls_ticks());
	isc_governor_tell(isc_calls_ticks());
	if (!used)
		return;
	end.begin_ns = end.end_ns = isc_cpu_clock_ns();
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
	enough = COLD_STRIDE;
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

/* Before 3.12 nothing is traced meanwhile. */
static inline bool is_counted(const isc_code *entry)
{
	return isc_code_is_governed(entry) || (AFTER == ISC_WINDOW_TRACED && isc_code_is_traced(entry));
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
	if (entry == NULL || !is_counted(entry))
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
	isc_cpu_clock_meet();
	if (ISC_UNLIKELY(atomic_load_explicit(&counted, memory_order_relaxed) >=
			 atomic_load_explicit(&enough, memory_order_relaxed)) ||
	    ISC_UNLIKELY(deep))
		settle(deep);
	if (ISC_LIKELY(atomic_load_explicit(&isc_window_mode, memory_order_relaxed) == ISC_WINDOW_COUNTING))
		count(isc_frame_code(f), f);
	return isc_pointer_go_on(ts, f, thrown);
}

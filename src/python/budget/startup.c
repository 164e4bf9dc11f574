#include "python/budget/startup.h"

#include "python/budget/gate.h"
#include "python/budget/governor.h"
#include "python/pointer.h"
#include "python/budget/thinning.h"
#include "python/budget/window.h"

#define BUCKET_NS 500e6 /* the budget of so much time may be spent at once */
#define QUIET_NS 1e9	/* without an import */
#define AGAIN_NS 50e6	/* the same, when the process had started before */
#define CALLERS 4	/* of a module's code, among which the import system is */

bool isc_startup_on;

static bool had;	      /* this process, or the one that it was forked from, has begun to start */
static uint32_t open_imports; /* modules whose code runs */
static uint64_t quiet_ticks;  /* since when there is none */
static uint64_t import_ticks; /* when one last began or ended */
static uint64_t begun_spent, begun_worked;
static uint64_t all_spent, all_worked; /* in all start-ups that have ended */
static double serving_pct, serving_bucket_ns;
static int64_t serving_left; /* in the bucket of serving, when start-up began again */
static int64_t left;	     /* in that of start-up, when it last ended */
static bool again;

static void begin(uint64_t now)
{
	isc_startup_on = true;
	quiet_ticks = now;
	if (serving_pct >= 0) {
		isc_governor_refill((double)isc_calls_self.control->startup_pct, BUCKET_NS);
		/* Its own time has to pay for more than serving has at once; and when it begins again, for what it owes. */
		isc_budget_fill(
			(again ? left : (int64_t)((double)isc_governor_self.most * serving_bucket_ns / BUCKET_NS)) -
			isc_governor_self.most);
	}
	begun_spent = atomic_load(&isc_budget_self.spent);
	begun_worked = isc_budget_worked(now);
	atomic_store(&isc_budget_self.starting, 1);
}

void isc_startup_begin(bool session, double budget_pct, double bucket_ns)
{
	uint64_t now = isc_calls_ticks();

	if (!session || had)
		return;
	had = true;
	serving_pct = budget_pct;
	serving_bucket_ns = bucket_ns;
	begin(now);
}

/* A module is imported by a process that had started. */
static void begin_again(uint64_t now)
{
	if (!had || isc_startup_on || PyInterpreterState_Get() != PyInterpreterState_Main())
		return;
	isc_governor_charge();
	isc_gate_release(now);
	serving_left = isc_budget_left();
	again = true;
	begin(now);
}

static void tell(uint64_t now, enum isc_startup_end why)
{
	double per_ns = isc_governor_self.ticks_per_ns;
	struct {
		isc_record head;
		isc_startup body;
	} r = {.head = {.ticks = now, .kind = ISC_KIND_STARTUP, .slots = 2, .arg = (uint16_t)why}};

	all_spent += atomic_load(&isc_budget_self.spent) - begun_spent;
	all_worked += isc_budget_worked(now) - begun_worked;
	if (!isc_calls_live() || per_ns <= 0)
		return;
	r.body.cost_ns = (uint64_t)((double)all_spent / per_ns);
	r.body.worked_ns = (uint64_t)((double)all_worked / per_ns);
	isc_rt_write(&r.head, 2);
}

void isc_startup_finish(enum isc_startup_end why)
{
	uint64_t now = isc_calls_ticks();

	/* A scope of another interpreter, which has a lock of its own, says nothing of the one whose calls are traced. */
	if (!isc_startup_on || PyInterpreterState_Get() != PyInterpreterState_Main())
		return;
	/* A unit that imports has not begun to serve. */
	if ((why == ISC_STARTUP_SCOPE || why == ISC_STARTUP_TASK) && isc_startup_imports(now))
		return;
	isc_governor_charge();
	left = isc_budget_left();
	isc_startup_on = false;
	atomic_store(&isc_budget_self.starting, 0);
	tell(now, why);
	isc_thinning_release_startup(now);
	if (why != ISC_STARTUP_EXIT)
		isc_window_open(now);
	isc_governor_refill(serving_pct, serving_bucket_ns);
	if (again && serving_pct >= 0)
		isc_budget_fill(serving_left - isc_governor_self.most);
	again = false;
}

/* What it had cost was the parent's, and what the parent imported goes on there. */
void isc_startup_forked(void)
{
	open_imports = 0;
	all_spent = all_worked = 0;
	begun_spent = atomic_load(&isc_budget_self.spent);
	begun_worked = isc_budget_worked(isc_calls_ticks());
}

void isc_startup_look(uint64_t ticks)
{
	if (!isc_startup_on)
		return;
	if (isc_startup_imports(ticks))
		quiet_ticks = ticks;
	else if (ticks > quiet_ticks &&
		 (double)(ticks - quiet_ticks) > (again ? AGAIN_NS : QUIET_NS) * isc_governor_self.ticks_per_ns)
		isc_startup_finish(ISC_STARTUP_QUIET);
}

/* ---- imports ----------------------------------------------------------- */

/* A program that is itself a module which somebody imports is none that imports. */
bool isc_startup_imports(uint64_t ticks)
{
	/* The event that a look falls on may be older than the import that it made. */
	return open_imports > 0 &&
	       (ticks < import_ticks || (double)(ticks - import_ticks) < QUIET_NS * isc_governor_self.ticks_per_ns);
}

static bool is_of_importlib(PyCodeObject *code)
{
	static const char frozen[] = "<frozen importlib";
	PyObject *file = code->co_filename;

	return PyUnicode_Check(file) && PyUnicode_IS_COMPACT_ASCII(file) &&
	       PyUnicode_GET_LENGTH(file) >= (Py_ssize_t)sizeof(frozen) - 1 &&
	       memcmp(PyUnicode_1BYTE_DATA(file), frozen, sizeof(frozen) - 1) == 0;
}

#if PY_VERSION_HEX >= 0x030b0000
static const isc_frame *caller_of(const isc_frame *f)
{
	return f->previous;
}
#else
static const isc_frame *caller_of(const isc_frame *f)
{
	return f->f_back;
}
#endif

static bool is_imported(PyThreadState *ts)
{
	const isc_frame *f = isc_frame_current(ts);

#if PY_VERSION_HEX >= 0x030c0000
	f = f != NULL ? caller_of(f) : NULL;
#endif
	for (int i = 0; f != NULL && i < CALLERS; f = caller_of(f)) {
		PyObject *code = (PyObject *)isc_frame_code(f);

		/* From 3.12 on there is a frame for each C function that evaluates. */
		if (code == NULL || !PyCode_Check(code))
			continue;
		if (is_of_importlib((PyCodeObject *)code))
			return true;
		i++;
	}
	return false;
}

void isc_startup_module(isc_code *entry, PyThreadState *ts)
{
	/* What exec() runs bears the same name, and is code like any other. */
	if (!is_imported(ts)) {
		entry->module = false;
		return;
	}
	entry->kept = true;
	if (!entry->importing)
		open_imports++;
	entry->importing = true;
	quiet_ticks = import_ticks = isc_calls_ticks();
	begin_again(import_ticks);
}

void isc_startup_module_done(isc_code *entry)
{
	if (!entry->importing)
		return;
	entry->importing = false;
	open_imports -= open_imports > 0;
	quiet_ticks = import_ticks = isc_calls_ticks();
}

#include "python/budget/governor.h"

#include "python/budget/gate.h"
#include "python/budget/startup.h"
#include "python/budget/thinning.h"
#include "python/thread.h"
#include "python/budget/window.h"

#define BUCKET_NS 70e6	  /* the budget of so much time may be spent at once */
#define STRIDE 32u	  /* events between two looks at the bucket: this to three times this */
#define SKIPS 1024	  /* calls that are not traced, likewise */
#define STRIDE_WITHOUT 16 /* times the stride where there is no budget to look after */
#define LATELY 32	  /* events that were timed, for what they cost lately */
/* Longer ones were interrupted: no cache takes so long to fill. */
#define HOOK_NS_MOST 4000.0
#define LOOK_NS_MOST 50e3
#define WEIGH_NS 20e6 /* of work, between two looks at how many calls there are */
#define TELL_NS 250e6 /* between two times that the trace is told what it cost */
/* Before 3.12 the interpreter gives up its quick calls where it meets a hook, and takes a while to come back to them
 * when the hook is gone.  Where it comes and goes, an event costs so much more than while it is there (bench/, call-dense
 * Python in turns). */
#if PY_VERSION_HEX < 0x030c0000
#define AFTER 2.5
#else
#define AFTER 1.0
#endif

isc_governor isc_governor_self = {.countdown = STRIDE, .skips = SKIPS, .stride = STRIDE};

static int32_t next_stride(void)
{
	static uint32_t random = 0x9e3779b9u;
	int32_t stride;

	random ^= random << 13;
	random ^= random >> 17;
	random ^= random << 5;
	stride = (int32_t)(STRIDE + random % (2 * STRIDE + 1));
	return isc_governor_self.on ? stride : stride * STRIDE_WITHOUT;
}

static void set_cost(void)
{
	isc_governor *g = &isc_governor_self;

	g->cost = (int64_t)((g->hook + g->around) * (g->bursting ? AFTER : 1)) + 1;
}

/* What events cost, and how long a tick is. */
static void measure(void)
{
	isc_governor *g = &isc_governor_self;
	isc_calibration c = isc_calibration_measure();

	g->ticks_per_ns = c.ticks_per_ns;
	g->hook = c.inside_ns * c.ticks_per_ns;
	g->around = (c.event_ns - c.inside_ns) * c.ticks_per_ns;
	g->skip = c.skip_ns * c.ticks_per_ns;
	isc_window_calibrate(c.count_ns, c.plain_ns);
	if (isc_calls_live())
		isc_calls_write(isc_calls_ticks(), (uint32_t)(c.event_ns * 2 * 16), ISC_KIND_GOVERNED,
				ISC_GOVERNED_COST);
}

void isc_governor_refill(double budget_pct, double bucket_ns)
{
	isc_governor *g = &isc_governor_self;

	g->on = budget_pct >= 0;
	g->budget_pct = budget_pct;
	g->bursting = false;
	set_cost();
	g->most = (int64_t)(bucket_ns * g->ticks_per_ns * budget_pct / 100);
	/* Without a budget nobody looks into it. */
	if (g->on)
		isc_budget_set(g->most);
	g->worked = g->calls_from = isc_budget_worked(isc_calls_ticks());
	g->hooks_share = g->calls = 0;
	g->empty = false;
}

void isc_governor_begin(bool first, double budget_pct, bool session)
{
	isc_governor *g = &isc_governor_self;

	if (first)
		measure();
	g->untold = 0;
	g->windows = 0;
	g->told = isc_calls_ticks();
	isc_governor_refill(budget_pct, BUCKET_NS);
	g->skips = SKIPS;
	g->stride = g->countdown = next_stride();
	isc_gate_begin();
	isc_startup_begin(session, budget_pct, BUCKET_NS);
}

void isc_governor_timed(uint64_t ticks)
{
	isc_governor *g = &isc_governor_self;
	double took = (double)ticks, most = HOOK_NS_MOST * g->ticks_per_ns;

	g->quickest = (int64_t)ticks < g->quickest ? (int64_t)ticks : g->quickest;
	if (g->ticks_per_ns <= 0)
		return;
	g->hook += ((took < most ? took : most) - g->hook) / LATELY;
	set_cost();
}

void isc_governor_tell(uint64_t ticks)
{
	isc_governor *g = &isc_governor_self;
	double ns = g->ticks_per_ns > 0 ? g->untold / g->ticks_per_ns : 0;

	if (ns < 1 || !isc_calls_live())
		return;
	isc_calls_write(ticks, ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX, ISC_KIND_GOVERNED, ISC_GOVERNED_SPENT);
	g->untold = 0;
	g->told = ticks;
}

/* What was since the last look. */
void isc_governor_charge(void)
{
	isc_governor *g = &isc_governor_self;
	double events = g->stride - g->countdown, skips = SKIPS - g->skips;

	g->skips = SKIPS;
	g->stride = g->countdown = next_stride();
	g->calls += events / 2 + skips;
	isc_governor_spend((uint64_t)(events * (double)g->cost + skips * g->skip * (g->bursting ? AFTER : 1)));
}

/* What calls would cost if none was traced. */
static void weigh(void)
{
	isc_governor *g = &isc_governor_self;
	double time = (double)(g->worked - g->calls_from);

	if (time < WEIGH_NS * g->ticks_per_ns)
		return;
	g->hooks_share = g->calls * g->skip / time;
	g->calls = 0;
	g->calls_from = g->worked;
}

static void fill(uint64_t ticks)
{
	isc_governor *g = &isc_governor_self;
	uint64_t worked = isc_budget_worked(ticks), time = worked > g->worked ? worked - g->worked : 0;
	double share = isc_budget_share(g->budget_pct) * (1 - g->windows);

	g->worked = worked;
	weigh();
	g->empty = isc_budget_pay(ticks, time, share) < 0;
}

void isc_governor_look(uint64_t ticks)
{
	isc_governor *g = &isc_governor_self;
	uint64_t took;

	if (g->ticks_per_ns <= 0) { /* while it is measured */
		g->countdown = g->stride;
		return;
	}
	isc_governor_charge();
	if (isc_calls_live())
		isc_thread_look(ticks);
	if ((double)(ticks - g->told) > TELL_NS * g->ticks_per_ns) {
		isc_governor_tell(ticks);
		isc_thinning_tell(ticks);
	}
	isc_startup_look(ticks);
	if (g->on)
		fill(ticks);
	isc_gate_look(ticks);
	if (!g->on)
		return;
	isc_hook_settle(ticks);
	isc_thinning_look(ticks);
	took = isc_calls_ticks() - ticks;
	isc_governor_spend((double)took < LOOK_NS_MOST * g->ticks_per_ns ? took : 0);
}

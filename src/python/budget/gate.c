#include "python/budget/gate.h"

#include <string.h>

#include "python/budget/governor.h"
#include "python/budget/startup.h"
#include "python/budget/thinning.h"

/* Where no recorder has said how long units are. */
#define SLOT_US 100000u
/* So much of the time is recorded at least: an answer that is never seen whole explains nothing. */
#define SHARE_LEAST (1.0 / 16)
/* Units of a better kind that were met so lately keep others from moving the gate. */
#define LATELY_NS 2e9
/* Half of what is known of the costs is of so many slots. */
#define SLOTS_KNOWN 8
/* Without a unit for so many slots, the gate moves with time. */
#define SLOTS_ALONE 4
#define REPAID 0.9 /* of the budget is spent while there is a debt */
/* A debt of so many buckets that leaving out small functions did not stop. */
#define DEBT 1

isc_gate isc_gate_self = {.slot_end = UINT64_MAX};

static double share = 1; /* of the slots that are recorded */
static uint64_t met_ticks[ISC_GATE_SOURCES];
static uint64_t ticket; /* while it is closed: what code has whose calls go the short way */

/* What recording took, of the time that the program worked: with the gate open, and closed. */
static struct {
	double spent, worked;
} known[2];
static uint64_t looked_spent, looked_worked;

/* ---- slots --------------------------------------------------------------- */

static uint64_t slot_ticks(void)
{
	const isc_control *control = isc_calls_self.control;
	uint32_t us = atomic_load_explicit(&control->slot_us, memory_order_relaxed);

	/* By what the recorder says of the clock: slots are the same in every process. */
	return (uint64_t)(us != 0 ? us : SLOT_US) * (control->ticks_per_us != 0 ? control->ticks_per_us : 1000);
}

/* 0 to 1, the same in every process of the session. */
static double number_of(uint64_t slot)
{
	uint64_t x;

	memcpy(&x, isc_calls_self.control->session_id, sizeof(x));
	x ^= slot * 0x9e3779b97f4a7c15u;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return (double)((x ^ x >> 31) >> 11) / (double)(1ull << 53);
}

/* ---- open and closed ----------------------------------------------------- */

static void close_gate(uint64_t ticks)
{
	isc_gate_self.closed = true;
	ticket = isc_calls_self.ticket;
	if (ticket != ISC_TICKET_NOBODYS)
		isc_calls_self.ticket = ISC_TICKET_GATED;
	isc_calls_write(ticks, 0, ISC_KIND_GOVERNED, ISC_GOVERNED_GATED);
}

static void open_gate(uint64_t ticks)
{
	isc_gate_self.closed = false;
	isc_calls_self.ticket = (uint32_t)ticket;
	if (!isc_calls_live())
		return;
	isc_calls_write(ticks, 0, ISC_KIND_GOVERNED, ISC_GOVERNED_TRACED);
	isc_thinning_tell(ticks);
}

static void forget_costs(double by)
{
	for (int i = 0; i < 2; i++) {
		known[i].spent *= by;
		known[i].worked *= by;
	}
}

/* What was spent since the last look belongs to how the gate stood. */
static void take_costs(uint64_t ticks)
{
	uint64_t spent = atomic_load_explicit(&isc_budget_self.spent, memory_order_relaxed);
	uint64_t worked = isc_budget_worked(ticks);

	if (looked_worked != 0 && worked >= looked_worked && spent >= looked_spent) {
		known[isc_gate_self.closed].spent += (double)(spent - looked_spent);
		known[isc_gate_self.closed].worked += (double)(worked - looked_worked);
	}
	looked_spent = spent;
	looked_worked = worked;
}

/* The share of the time that can be recorded. */
static double affordable(void)
{
	double budget = isc_budget_share(isc_governor_self.budget_pct);
	double open = known[0].worked > 0 ? known[0].spent / known[0].worked : 0;
	double closed = known[1].worked > 0 ? known[1].spent / known[1].worked : open / 2;
	double found;

	if (open <= budget)
		return 1;
	/* A debt is paid back. */
	if (isc_budget_left() < 0)
		budget *= REPAID;
	found = open > closed ? (budget - closed) / (open - closed) : SHARE_LEAST;
	return found < SHARE_LEAST ? SHARE_LEAST : found < 1 ? found : 1;
}

static void move_to(uint64_t ticks)
{
	uint64_t slot_length = slot_ticks(), slot = ticks / slot_length;
	bool open;

	isc_governor_charge();
	take_costs(ticks);
	forget_costs(1 - 0.5 / SLOTS_KNOWN);
	share = affordable();
	if (share >= 1) {
		isc_gate_release(ticks);
		return;
	}
	open = number_of(slot) < share;
	isc_gate_self.slot_end = (slot + 1) * slot_length;
	if (open == !isc_gate_self.closed)
		return;
	if (open)
		open_gate(ticks);
	else if (isc_calls_live())
		close_gate(ticks);
}

void isc_gate_move(enum isc_gate_source source, uint64_t ticks)
{
	if (ticks < isc_gate_self.slot_end || PyInterpreterState_Get() != PyInterpreterState_Main())
		return;
	for (int better = 0; better < (int)source; better++) {
		if ((double)(ticks - met_ticks[better]) < LATELY_NS * isc_governor_self.ticks_per_ns)
			return;
	}
	move_to(ticks);
}

void isc_gate_release(uint64_t ticks)
{
	isc_gate_self.slot_end = UINT64_MAX;
	share = 1;
	looked_worked = 0;
	if (isc_gate_self.closed)
		open_gate(ticks);
}

void isc_gate_begin(void)
{
	looked_worked = 0;
	memset(known, 0, sizeof(known));
}

void isc_gate_forked(void)
{
	if (isc_gate_self.closed)
		isc_calls_self.ticket = (uint32_t)ticket;
	isc_gate_self.closed = false;
	isc_gate_self.slot_end = UINT64_MAX;
	share = 1;
	isc_gate_begin();
}

/* ---- what the recorder says ---------------------------------------------- */

static uint32_t told[ISC_UNIT_CODES]; /* ids of code, as events have them */

bool isc_gate_is_unit(uint32_t code_id)
{
	for (uint32_t i = 0; i < ISC_UNIT_CODES && told[i] != 0; i++) {
		if (told[i] == code_id)
			return true;
	}
	return false;
}

static void keep_told(void)
{
	const isc_producer *me = isc_producer_self;
	bool changed = false;

	if (me == NULL || me->pool == NULL)
		return;
	for (uint32_t i = 0; i < ISC_UNIT_CODES; i++) {
		uint32_t id = atomic_load_explicit(&me->pool->unit_code[i], memory_order_acquire);

		changed |= id != told[i];
		told[i] = id;
	}
	if (changed)
		isc_code_mark_units();
}

bool isc_gate_helps(void)
{
	return isc_gate_self.slot_end != UINT64_MAX && share > SHARE_LEAST;
}

static bool has_units(uint64_t ticks)
{
	for (int i = 0; i < ISC_GATE_SOURCES; i++) {
		if (met_ticks[i] != 0 && (double)(ticks - met_ticks[i]) < LATELY_NS * isc_governor_self.ticks_per_ns)
			return true;
	}
	return false;
}

void isc_gate_look(uint64_t ticks)
{
	const isc_governor *g = &isc_governor_self;

	keep_told();
	for (int i = 0; i < ISC_GATE_SOURCES; i++) {
		if (isc_gate_self.met[i])
			met_ticks[i] = ticks;
		isc_gate_self.met[i] = false;
	}
	if (!g->on || isc_startup_on) {
		looked_worked = 0;
		return;
	}
	take_costs(ticks);
	if (g->bursting) {
		isc_gate_release(ticks);
	} else if (isc_gate_self.slot_end == UINT64_MAX) {
		/* What was long ago says nothing of now. */
		if (known[0].worked > (double)(2 * SLOTS_KNOWN * slot_ticks()))
			forget_costs(0.5);
		/* The next unit is the first that the gate may move for. */
		if (isc_budget_left() < -DEBT * g->most && affordable() < 1 && has_units(ticks))
			isc_gate_self.slot_end = ticks;
	} else if (ticks > isc_gate_self.slot_end && ticks - isc_gate_self.slot_end > SLOTS_ALONE * slot_ticks()) {
		move_to(ticks);
	}
}

#include "python/budget/thinning.h"

#include "python/budget/gate.h"
#include "python/budget/governor.h"
#include "python/budget/startup.h"

#define DRAWS_LEAST 3u
#define DRAWS_ENOUGH 4096u /* what was long ago is forgotten by then */
/* A call that takes less than so many events cost is worth less than its trace; in debt of a bucket, and of four. */
#define SMALL_EVENTS 40
#define SMALL_EVENTS_IN_DEBT 320
#define DEBT 1
#define DEBT_DEEP 4
#define PATIENCE_NS 250e6 /* with a bucket that is more than half full, until some are traced again */
#define PATIENCE_MOST 256
#define BATCH_MOST 128u
#define TOLD 500u /* functions that one event has room for */

struct thinning_event {
	isc_record head;
	isc_burst burst;
	isc_burst_calls calls[TOLD + 2];
};
_Static_assert(sizeof(struct thinning_event) <= 255 * sizeof(isc_record), "one event");

static isc_code *governed;    /* ring, or NULL */
static uint64_t good_ticks;   /* since when the bucket is half full; 0: it is not */
static uint32_t patience = 1; /* times PATIENCE_NS */
static uint32_t batch = 1;    /* functions that are traced again at once */
static bool returned;	      /* some were, and none of them was governed again since */
static isc_code *passed;      /* list: the gate left calls of them out */
static bool inherited;	      /* from the process that this one was forked from, and not told of here yet */

/* ---- one less ------------------------------------------------------------ */

static bool is_small(const isc_code *entry)
{
	const isc_governor *g = &isc_governor_self;
	/* Units are left out before functions that are not small. */
	int64_t debt = isc_gate_helps() ? 0 : -isc_budget_left();
	uint64_t bound = debt > DEBT * g->most ? SMALL_EVENTS_IN_DEBT : SMALL_EVENTS;

	/* Where the hook cannot be taken away as a whole there is nothing else left. */
	if (debt > DEBT_DEEP * g->most && PY_VERSION_HEX >= 0x030c0000)
		return true;
	return entry->draws >= DRAWS_LEAST && entry->drawn_ticks < bound * (uint64_t)g->cost * entry->draws;
}

static void govern(isc_code *entry, uint64_t ticks)
{
	bool first = governed == NULL;

	if (entry->returned) {
		patience = patience < PATIENCE_MOST ? patience * 2 : patience;
		batch = 1;
		returned = false;
	}
	entry->returned = false;
	entry->startup = isc_startup_on;
	if (!entry->passed)
		entry->skipped = 0;
	isc_hook_mute(entry);
	isc_code_set_state(entry, ISC_CODE_GOVERNED);
	if (first) {
		entry->next = governed = entry;
	} else {
		entry->next = governed->next;
		governed->next = entry;
	}
	isc_calls_write(ticks, isc_code_id(entry), ISC_KIND_GOVERNED, isc_hook_governed_as(entry));
	if (first)
		isc_hook_thinned(true);
}

void isc_thinning_drawn(isc_code *entry, uint32_t id, uint64_t took, uint64_t ticks)
{
	if (!isc_governor_self.on || !isc_governor_self.empty || isc_governor_self.bursting || entry->code == NULL ||
	    entry->id != id || id == 0 || !isc_code_is_traced(entry) || entry->kept || entry->unit ||
	    entry->naming != ISC_CODE_NAMES_NONE || !isc_calls_live())
		return;
	if (entry->draws >= DRAWS_ENOUGH) {
		entry->draws /= 2;
		entry->drawn_ticks /= 2;
	}
	entry->draws++;
	entry->drawn_ticks += took;
	if (is_small(entry))
		govern(entry, ticks);
}

/* ---- how often they were called ------------------------------------------ */

static void write_calls(struct thinning_event *e, uint32_t n, uint64_t ticks)
{
	uint32_t slots;

	if (n == 0 || !isc_calls_live())
		return;
	e->calls[n] = (isc_burst_calls){0, 0}; /* behind an odd number */
	slots = 1 + (uint32_t)((sizeof(e->burst) + n * sizeof(e->calls[0]) + sizeof(e->head) - 1) / sizeof(e->head));
	e->burst = (isc_burst){0};
	e->head = (isc_record){.ticks = ticks, .kind = ISC_KIND_BURST, .slots = (uint8_t)slots, .arg = ISC_BURST_EXACT};
	isc_rt_write(&e->head, slots);
}

static bool take_calls(isc_code *entry, isc_burst_calls *to)
{
	*to = (isc_burst_calls){entry->id, entry->skipped};
	entry->skipped = 0;
	return to->id != 0 && to->calls > 0;
}

void isc_thinning_pass(isc_code *entry)
{
	entry->skipped++;
	if (ISC_LIKELY(entry->passed))
		return;
	entry->passed = true;
	entry->next_passed = passed;
	passed = entry;
}

static void forget_passed(isc_code *entry)
{
	isc_code **at = &passed;

	while (*at != NULL && *at != entry)
		at = &(*at)->next_passed;
	if (*at != NULL)
		*at = entry->next_passed;
	entry->passed = false;
	entry->next_passed = NULL;
}

static void tell_passed(uint64_t ticks)
{
	struct thinning_event e;
	uint32_t n = 0;

	while (passed != NULL) {
		n += take_calls(passed, &e.calls[n]);
		forget_passed(passed);
		if (n == TOLD || passed == NULL) {
			write_calls(&e, n, ticks);
			n = 0;
		}
	}
}

void isc_thinning_tell(uint64_t ticks)
{
	isc_code *entry = governed;
	struct thinning_event e;
	uint32_t n = 0;

	tell_passed(ticks);
	if (governed == NULL)
		return;
	do {
		if (inherited && isc_calls_live())
			isc_calls_write(ticks, entry->id, ISC_KIND_GOVERNED, isc_hook_governed_as(entry));
		n += take_calls(entry, &e.calls[n]);
		if (n == TOLD) {
			write_calls(&e, n, ticks);
			n = 0;
		}
		entry = entry->next;
	} while (entry != governed);
	write_calls(&e, n, ticks);
	inherited = false;
}

/* ---- and more again ------------------------------------------------------ */

void isc_thinning_forget(isc_code *entry)
{
	isc_code *before = governed;
	struct thinning_event e;

	if (entry->passed) {
		if (take_calls(entry, &e.calls[0]))
			write_calls(&e, 1, isc_calls_ticks());
		forget_passed(entry);
	}
	/* The one that costs were measured with was never put there. */
	if (entry->state != ISC_CODE_GOVERNED || entry->next == NULL)
		return;
	if (take_calls(entry, &e.calls[0]))
		write_calls(&e, 1, isc_calls_ticks());
	while (before->next != entry)
		before = before->next;
	before->next = entry->next;
	governed = before == entry ? NULL : before;
	entry->next = NULL;
}

static void ungovern(isc_code *entry, uint64_t ticks)
{
	isc_thinning_forget(entry);
	entry->draws = 0;
	entry->drawn_ticks = 0;
	if (isc_calls_live())
		isc_calls_write(ticks, isc_code_id(entry), ISC_KIND_GOVERNED, ISC_GOVERNED_TRACED);
	isc_hook_unmute(entry);
}

void isc_thinning_return(isc_code *entry)
{
	isc_hook_unmute_begin();
	ungovern(entry, isc_calls_ticks());
	isc_hook_unmute_end();
	if (governed == NULL)
		isc_hook_thinned(false);
}

void isc_thinning_release(uint64_t ticks)
{
	good_ticks = 0;
	patience = batch = 1;
	returned = false;
	if (governed == NULL)
		return;
	isc_hook_unmute_begin();
	while (governed != NULL)
		ungovern(governed->next, ticks);
	isc_hook_unmute_end();
	isc_hook_thinned(false);
}

void isc_thinning_release_startup(uint64_t ticks)
{
	isc_code *entry = governed != NULL ? governed->next : NULL, *last = governed, *next;

	good_ticks = 0;
	/* Giving events back costs much even where nobody gets them. */
	while (entry != NULL && !entry->startup)
		entry = entry != last ? entry->next : NULL;
	if (entry == NULL)
		return;
	isc_hook_unmute_begin();
	for (;; entry = next) {
		bool more = entry != last;

		next = entry->next;
		if (entry->startup)
			ungovern(entry, ticks);
		if (!more)
			break;
	}
	isc_hook_unmute_end();
	if (governed != NULL)
		return;
	patience = batch = 1;
	returned = false;
	isc_hook_thinned(false);
}

static uint64_t mean_of(const isc_code *entry)
{
	return entry->draws > 0 ? entry->drawn_ticks / entry->draws : 0;
}

/* The one whose calls take longest: it is called the least in the same time, and says most. */
static isc_code *dearest(void)
{
	isc_code *found = governed, *entry = governed;

	do {
		found = mean_of(entry) > mean_of(found) ? entry : found;
		entry = entry->next;
	} while (entry != governed);
	return found;
}

static void give_back(uint64_t ticks)
{
	/* Those of the last time have stayed. */
	if (returned) {
		batch *= batch < BATCH_MOST ? 4 : 1;
		patience -= patience > 1;
	}
	isc_hook_unmute_begin();
	for (uint32_t i = 0; i < batch && governed != NULL; i++) {
		isc_code *entry = dearest();

		ungovern(entry, ticks);
		entry->returned = true;
	}
	isc_hook_unmute_end();
	returned = true;
	if (governed == NULL)
		isc_hook_thinned(false);
}

void isc_thinning_look(uint64_t ticks)
{
	const isc_governor *g = &isc_governor_self;

	if (governed == NULL || g->bursting || isc_gate_helps() || isc_budget_left() <= g->most / 2) {
		good_ticks = 0;
	} else if (good_ticks == 0) {
		good_ticks = ticks;
	} else if ((double)(ticks - good_ticks) > PATIENCE_NS * patience * g->ticks_per_ns) {
		good_ticks = 0;
		give_back(ticks);
	}
}

void isc_thinning_forked(void)
{
	isc_code *entry = governed;

	while (passed != NULL) {
		passed->skipped = 0;
		forget_passed(passed);
	}
	inherited = governed != NULL;
	while (entry != NULL) {
		entry->skipped = 0;
		entry = entry->next != governed ? entry->next : NULL;
	}
}

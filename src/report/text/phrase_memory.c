/*
 * phrase_memory.c - the words of causes that are memory: how much, where it lies, who takes it.
 */
#include "report/text/phrase_parts.h"

/* Samples say where pages are filled; without them the kernel's time says how much it is. */
static void write_churn(isc_phrase *p, const isc_claim *c)
{
	isc_text under = isc_claim_text_of(c, ISC_DETAIL_UNDER);
	isc_units u;

	isc_phrase_share(p, c);
	if (isc_claim_number_of(c, ISC_DETAIL_PAGES_PER_CPU_S) >= 0) {
		isc_buffer_format(&p->text, " goes to the kernel, which fills %s pages a second of CPU time",
				  isc_phrase_number(&u, c, ISC_DETAIL_PAGES_PER_CPU_S));
		isc_phrase_at(p, ", it seems for ", &c->place);
		return;
	}
	isc_buffer_format(&p->text, " is page faults (%s fresh pages a second)",
			  isc_phrase_number(&u, c, ISC_DETAIL_PAGES_PER_S));
	isc_phrase_at(p, " under ", &(isc_claim_place){.function = under});
	isc_phrase_at(p, " in ", &c->place);
	isc_phrase_at(p, ", of memory that is taken in ", &c->holder);
}

static void write_pressure(isc_phrase *p, const isc_claim *c)
{
	isc_units u, v;

	isc_phrase_share(p, c);
	isc_buffer_text(&p->text, " something in the program's control group waits for memory");
	if (isc_claim_number_of(c, ISC_DETAIL_LIMIT_BYTES) > 0)
		isc_buffer_format(&p->text, ", of which it uses %s of %s MiB",
				  isc_phrase_mib(&u, c, ISC_DETAIL_USED_BYTES),
				  isc_phrase_mib(&v, c, ISC_DETAIL_LIMIT_BYTES));
}

static void write_limit(isc_phrase *p, const isc_claim *c)
{
	double used = isc_claim_number_of(c, ISC_DETAIL_USED_BYTES),
	       limit = isc_claim_number_of(c, ISC_DETAIL_LIMIT_BYTES);
	isc_units u, v;

	isc_buffer_text(&p->text, "the program has ");
	isc_phrase_figure(p, isc_units_percent(&u, used >= 0 && limit > 0 ? used / limit * 100 : -1));
	isc_buffer_format(&p->text, " of its memory limit in use at once: %s of %s MiB",
			  isc_phrase_mib(&u, c, ISC_DETAIL_USED_BYTES), isc_phrase_mib(&v, c, ISC_DETAIL_LIMIT_BYTES));
	if (isc_claim_number_of(c, ISC_DETAIL_LIMIT_MET) > 0)
		isc_buffer_format(&p->text, ", which it met %s times", isc_phrase_number(&u, c, ISC_DETAIL_LIMIT_MET));
}

static void write_remote(isc_phrase *p, const isc_claim *c)
{
	isc_units u, v, w;

	isc_phrase_figure(p, isc_units_percent(&u, isc_claim_number_of(c, ISC_DETAIL_REMOTE_PCT)));
	isc_buffer_format(&p->text,
			  " of the memory is far from the CPUs that use it: node %s runs the program, node %s has %s "
			  "MiB of it",
			  isc_phrase_number(&u, c, ISC_DETAIL_CPU_NODE),
			  isc_phrase_number(&v, c, ISC_DETAIL_MEMORY_NODE),
			  isc_phrase_mib(&w, c, ISC_DETAIL_NODE_BYTES));
	isc_phrase_most(p, "held by ", &c->holder);
}

static void write_growth(isc_phrase *p, const isc_claim *c)
{
	isc_units held, span, pace;

	isc_buffer_format(&p->text, "%s MB were taken there in %s and are held at the end, %s MB a second",
			  isc_units_number(&held, isc_claim_number_of(c, ISC_DETAIL_HELD_BYTES) / 1e6),
			  isc_units_time(&span, isc_claim_number_of(c, ISC_DETAIL_GREW_US)),
			  isc_units_number(&pace, isc_claim_number_of(c, ISC_DETAIL_BYTES_PER_S) / 1e6));
}

const isc_phrase_kind isc_phrase_memory[] = {
	{"page_churn_pct", write_churn, false},	  {"memory_stalled_pct", write_pressure, false},
	{"memory_limit_pct", write_limit, false}, {"remote_memory_pct", write_remote, true},
	{"memory_growth", write_growth, false},	  {0},
};

/*
 * phrase_code.c - the words of causes that a thread runs.
 */
#include "report/text/phrase_parts.h"

static void write_hot(isc_phrase *p, const isc_claim *c)
{
	isc_phrase_share(p, c);
	isc_buffer_text(&p->text, " is Python code of ");
	isc_phrase_place(p, &c->place);
}

/* Either it makes something again and again, or it runs Python code of the user's own. */
static void write_path(isc_phrase *p, const isc_claim *c)
{
	isc_text makes = isc_claim_text_of(c, ISC_DETAIL_MAKES);

	isc_phrase_share(p, c);
	isc_buffer_text(&p->text, " goes to ");
	isc_phrase_place(p, &c->place);
	if (makes.len == 0) {
		isc_buffer_text(&p->text, " and what it calls, most of it Python code");
		return;
	}
	isc_buffer_text(&p->text, ", which makes again what could be made once: ");
	isc_phrase_place(p, &(isc_claim_place){.function = makes});
}

static void write_stage(isc_phrase *p, const isc_claim *c)
{
	isc_phrase_share(p, c);
	isc_buffer_text(&p->text, " is Python code in the scope ");
	isc_phrase_place(p, &(isc_claim_place){.function = isc_claim_text_of(c, ISC_DETAIL_STAGE)});
	isc_phrase_most(p, "in ", &c->place);
}

static void write_native(isc_phrase *p, const isc_claim *c)
{
	isc_phrase_share(p, c);
	isc_buffer_text(&p->text, " is the work itself, in native code");
	isc_phrase_most(p, "in ", &c->place);
}

static void write_logging(isc_phrase *p, const isc_claim *c)
{
	isc_phrase_share(p, c);
	isc_buffer_text(&p->text, " goes to logging");
	isc_phrase_at(p, " in ", &c->place);
}

/* " (read: 40,010 calls, 16 bytes each)" */
static void add_call(isc_phrase *p, const isc_claim *c)
{
	isc_text call = isc_claim_text_of(c, ISC_DETAIL_CALL);
	isc_units u;

	if (call.len == 0)
		return;
	isc_buffer_text(&p->text, " (");
	isc_phrase_text(p, call);
	isc_buffer_format(&p->text, ": %s calls", isc_phrase_number(&u, c, ISC_DETAIL_CALLS));
	if (isc_claim_number_of(c, ISC_DETAIL_BYTES_EACH) >= 0)
		isc_buffer_format(&p->text, ", %s bytes each", isc_phrase_number(&u, c, ISC_DETAIL_BYTES_EACH));
	isc_buffer_text(&p->text, ")");
}

static void write_syscalls(isc_phrase *p, const isc_claim *c)
{
	bool seen = isc_claim_number_of(c, ISC_DETAIL_PLACE_SAMPLES) >= 0;

	isc_phrase_share(p, c);
	isc_buffer_text(&p->text, " goes to many short system calls");
	add_call(p, c);
	isc_phrase_at(p, seen ? ", most of them in " : ", it seems in ", &c->place);
}

const isc_phrase_kind isc_phrase_code[] = {
	{"hot_function_pct", write_hot, false},
	{"hot_path_pct", write_path, false},
	{"stage_python_pct", write_stage, false},
	{"native_pct", write_native, false},
	{"logging_pct", write_logging, false},
	{"syscall_pct", write_syscalls, false},
	{0},
};

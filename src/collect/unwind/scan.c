/*
 * scan.c - code without CFI, passed by a scan of the stack.
 *
 * A word that could be a return address is a guess, kept only if CFI, or a chain,
 * leads from there exactly to the next frame of the interpreter, whose place on the
 * stack is known, or without one to the bottom.
 */
#include "collect/unwind/walk.h"

#if defined(__x86_64__)

#define GUESSES 64	   /* per stretch of code without CFI */
#define CALL_LENGTH_MAX 7u /* bytes of an instruction that calls */

static bool follows_call(const isc_module *m, uintptr_t ip)
{
	const uint8_t *b = (const uint8_t *)ip;

	if (ip < m->start + CALL_LENGTH_MAX)
		return false;
	if (b[-5] == 0xe8)
		return true;
	/* call through a register or memory: ff /2, with the length of its operand */
	for (int n = 2; n <= (int)CALL_LENGTH_MAX; n++) {
		if (n != 5 && b[-n] == 0xff && (b[1 - n] & 0x38) == 0x10)
			return true;
	}
	return false;
}

/* rbp as it was saved near a return address. */
static uintptr_t saved_bp(const isc_unwind *u, uintptr_t from, uintptr_t at)
{
	for (int i = 1; i < 10 && at - 8 * (uintptr_t)i >= from; i++) {
		uintptr_t w = isc_unwind_word(at - 8 * (uintptr_t)i);

		if (w > at && isc_unwind_on_stack(u, w))
			return w;
	}
	return 0;
}

/* Could this word be a return address, by what lies there? */
static bool is_return(uintptr_t v, isc_cfi_rule *r)
{
	int module = isc_unwind_module(v - 1);
	isc_module m;

	if (module < 0)
		return false;
	m = isc_unwind_known(module);
	*r = isc_unwind_rule(&m, v - 1, NULL);
	return (r->kind == ISC_CFI_RULE || r->kind == ISC_CFI_RULE_BP) && follows_call(&m, v);
}

/* The next word that could be a return address; *at is moved behind it.  Candidates stay in order, whether a chain
 * begins there or not: the nearest one that leads on is the caller. */
static bool scan(isc_unwind *u, uintptr_t from, uintptr_t *at, uintptr_t limit, uintptr_t target, isc_unwind_place *p)
{
	for (; *at + 8 <= limit && u->words > 0; u->words--) {
		uintptr_t here = *at, v = isc_unwind_word(here);
		bool known;
		isc_cfi_rule r;

		*at += 8;
		if (!isc_unwind_is_address(v))
			continue;
		known = isc_chain_is_known(u, v, here + 8, target);
		if (!known && !is_return(v, &r))
			continue;
		*p = (isc_unwind_place){v, v - 1, here + 8, p->bp, 0, ISC_NATIVE_GUESSED};
		if (!known && r.base != ISC_CFI_SP) {
			p->bp = saved_bp(u, from, here);
			if (p->bp == 0)
				continue;
		}
		return true;
	}
	return false;
}

/* Do CFI or a chain lead from a guess to the next anchor, or to the bottom?  p then is behind it. */
static bool lands(isc_unwind *u, isc_unwind_place *p, int anchor)
{
	uintptr_t target = isc_unwind_target(u, anchor);
	bool chains = anchor == u->anchor_count || isc_unwind_distance() != 0, landed;
	int first = u->n;

	for (;;) {
		enum isc_step s;

		if (chains && isc_unwind_follow(u, p, target)) {
			isc_chain_keep(u, first, target);
			return true;
		}
		s = isc_unwind_step(u, p);
		if (s == ISC_STEP_BOTTOM)
			landed = u->end == ISC_UNWIND_BOTTOM && anchor == u->anchor_count;
		else
			landed = anchor < u->anchor_count && p->sp > target;
		if (landed && chains && (s == ISC_STEP_OUT || s == ISC_STEP_BOTTOM))
			isc_chain_keep(u, first, target);
		if (s != ISC_STEP_OUT || landed) {
			p->flags = 0;
			return landed && s != ISC_STEP_STUCK && s != ISC_STEP_SIGNAL;
		}
	}
}

bool isc_unwind_guess(isc_unwind *u, isc_unwind_place *p, uintptr_t from)
{
	int anchor = isc_unwind_anchor(u, p->sp), kept;
	uint32_t d = isc_unwind_distance();
	uintptr_t limit = anchor < u->anchor_count && d != 0 ? u->anchors[anchor] + d : u->high, at = from;
	int module = isc_unwind_module(p->look);

	if (limit > u->high)
		limit = u->high;
	if (!isc_unwind_push(u, p, p->sp, module))
		return false;
	kept = u->n;
	for (int i = 0; i < GUESSES; i++) {
		isc_unwind_place trial = {.bp = p->bp};

		if (!scan(u, from, &at, limit, isc_unwind_target(u, anchor), &trial))
			break;
		u->frame[kept - 1].cfa = trial.sp;
		if (lands(u, &trial, anchor)) {
			*p = trial;
			return true;
		}
		u->n = kept;
		u->end = ISC_UNWIND_CUT;
	}
	u->frame[kept - 1].cfa = u->frame[kept - 1].sp;
	if (anchor == u->anchor_count || d == 0 || u->anchors[anchor] + d > u->high)
		return false;
	/* The interpreter's frame ends there: begin again behind it. */
	*p = (isc_unwind_place){0, 0, u->anchors[anchor], p->bp, 0, ISC_NATIVE_LATE};
	if (!isc_unwind_push(u, p, u->anchors[anchor] + d, -1))
		return false;
	p->sp = u->anchors[anchor] + d;
	p->ip = isc_unwind_word(p->sp - 8);
	p->look = p->ip - 1;
	p->flags = 0;
	return p->ip != 0;
}

#endif

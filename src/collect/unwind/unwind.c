/*
 * unwind.c - the walk, x86_64.
 *
 * Frames come from chains where they were met before, else from CFI.  Code
 * without CFI (kernels of BLAS, code made at run time) is passed by a scan for
 * something that could be a return address: unwind_scan.c.
 */
#include "collect/unwind/unwind.h"

#include <stdatomic.h>
#include <string.h>

#include "collect/unwind/walk.h"

static void begin(isc_unwind *u)
{
	u->n = 0;
	u->end = ISC_UNWIND_CUT;
	u->words = ISC_UNWIND_WORDS;
	u->newest = 0;
	if (u->key != NULL)
		isc_chain_begin(u);
}

void isc_unwind_newest(isc_unwind *u, const isc_unwind_start *start)
{
	begin(u);
	u->frame[0] = (isc_native_frame){
		.ip = start->ip, .sp = start->sp, .cfa = start->sp, .module = isc_unwind_module(start->ip)};
	u->n = 1;
}

#if defined(__x86_64__)

#include <ucontext.h>

#define SURE 4u		      /* samples that agree on the distance */
#define FRAME_MAX (64u << 20) /* no frame is larger */

/* From an anchor to the end of its frame: a constant of the interpreter's build,
 * with how often it was seen. distance:32 | count:32 */
static _Atomic uint64_t learned;

isc_unwind_start isc_unwind_registers(const void *context)
{
	const greg_t *r = ((const ucontext_t *)context)->uc_mcontext.gregs;
	isc_unwind_start s = {.ip = (uintptr_t)r[REG_RIP],
			      .sp = (uintptr_t)r[REG_RSP],
			      .bp = (uintptr_t)r[REG_RBP],
			      .r10 = (uintptr_t)r[REG_R10],
			      .kept = {(uintptr_t)r[REG_RBX], (uintptr_t)r[REG_RBP], (uintptr_t)r[REG_R12],
				       (uintptr_t)r[REG_R13], (uintptr_t)r[REG_R14], (uintptr_t)r[REG_R15]}};

	return s;
}

uint32_t isc_unwind_distance(void)
{
	uint64_t l = atomic_load_explicit(&learned, memory_order_relaxed);

	return (uint32_t)l >= SURE ? (uint32_t)(l >> 32) : 0;
}

static void learn(uintptr_t d)
{
	uint64_t l = atomic_load_explicit(&learned, memory_order_relaxed);
	uint32_t count = (uint32_t)l;

	if (d > UINT32_MAX)
		return;
	if (l >> 32 == d)
		count += count < 1000;
	else if (count <= SURE)
		l = (uint64_t)d << 32, count = 1;
	else
		return;
	atomic_store_explicit(&learned, l >> 32 << 32 | count, memory_order_relaxed);
}

bool isc_unwind_push(isc_unwind *u, const isc_unwind_place *p, uintptr_t cfa, int module)
{
	isc_native_frame *f = &u->frame[u->n];

	if (u->n == ISC_UNWIND_FRAMES) {
		u->end = ISC_UNWIND_FULL;
		return false;
	}
	*f = (isc_native_frame){.ip = p->ip,
				.sp = p->sp,
				.cfa = cfa,
				.flags = p->flags | (p->look != p->ip ? ISC_NATIVE_CALLER : 0u),
				.module = module};
	u->n = u->n + 1;
	return true;
}

/* The newest one's function is asked for next. */
static isc_cfi_rule rule_at(isc_unwind *u, int module, uintptr_t ip)
{
	isc_module m = isc_unwind_known(module);

	if (u->n > 0)
		return isc_unwind_rule(&m, ip, NULL);
	u->newest = ip;
	return isc_unwind_rule(&m, ip, &u->entry);
}

/* CPython's trampolines under -X perf have no CFI; what follows the call in them is one of two. */
static isc_cfi_rule trampoline(const isc_unwind_place *p)
{
	static const uint8_t add_ret[] = {0x48, 0x83, 0xc4, 0x08, 0xc3}, pop_ret[] = {0x5d, 0xc3};

	if (memcmp((const void *)p->ip, add_ret, sizeof(add_ret)) == 0)
		return (isc_cfi_rule){16, 0, ISC_CFI_SP, ISC_CFI_RULE};
	if (memcmp((const void *)p->ip, pop_ret, sizeof(pop_ret)) == 0)
		return (isc_cfi_rule){16, -16, ISC_CFI_SP, ISC_CFI_RULE};
	return (isc_cfi_rule){.kind = ISC_CFI_NONE};
}

/* Where the frame ends by this rule; 0: nowhere that can be. */
static uintptr_t cfa_of(const isc_unwind *u, const isc_unwind_place *p, isc_cfi_rule r)
{
	uintptr_t at = p->bp + (uintptr_t)(intptr_t)r.cfa, cfa = 0;

	switch (r.base) {
	case ISC_CFI_SP:
		cfa = p->sp + (uintptr_t)(intptr_t)r.cfa;
		break;
	case ISC_CFI_BP:
		cfa = at;
		break;
	case ISC_CFI_R10:
		cfa = p->r10 != 0 ? p->r10 + (uintptr_t)(intptr_t)r.cfa : 0;
		break;
	case ISC_CFI_AT_BP:
		cfa = at >= p->sp && isc_unwind_on_stack(u, at) ? isc_unwind_word(at) : 0;
		break;
	default:
		cfa = p->sp + 8 + ((p->ip & 15) >= (uintptr_t)r.cfa ? 8 : 0);
	}
	return cfa > p->sp && cfa <= u->high && cfa - p->sp < FRAME_MAX && (cfa & 7) == 0 ? cfa : 0;
}

/* The kernel's frame: at sp lies the ucontext of the signal. */
static enum isc_step leave_signal(const isc_unwind *u, isc_unwind_place *p)
{
	const ucontext_t *c = (const ucontext_t *)p->sp;
	isc_unwind_start s;

	if (!isc_unwind_on_stack(u, p->sp) || !isc_unwind_on_stack(u, p->sp + sizeof(*c)))
		return ISC_STEP_STUCK;
	s = isc_unwind_registers(c);
	/* From a stack of its own back to the thread's: that one was not checked. */
	if (!isc_unwind_on_stack(u, s.sp & ~(uintptr_t)7) || s.sp <= p->sp)
		return ISC_STEP_STUCK;
	*p = (isc_unwind_place){s.ip, s.ip, s.sp, s.bp, s.r10, 0};
	return ISC_STEP_SIGNAL;
}

/* rbp as it was before the frame; *from: where that was read. */
static bool restore_bp(const isc_unwind *u, isc_unwind_place *p, isc_cfi_rule r, uintptr_t cfa, uintptr_t *from)
{
	uintptr_t saved = (r.kind == ISC_CFI_RULE_BP ? p->bp : cfa) + (uintptr_t)(intptr_t)r.bp;

	*from = 0;
	if (r.kind != ISC_CFI_RULE_BP && r.bp == 0)
		return true;
	/* At the end of a function compilers tell how rsp moves and not that rbp has been taken off the stack. */
	if (saved < p->sp && p->look == p->ip)
		return true;
	if (saved < p->sp || !isc_unwind_on_stack(u, saved))
		return false;
	p->bp = isc_unwind_word(saved);
	*from = saved;
	return true;
}

enum isc_step isc_unwind_step(isc_unwind *u, isc_unwind_place *p)
{
	int module = isc_unwind_module(p->look), at;
	isc_cfi_rule r = module >= 0 ? rule_at(u, module, p->look) : (isc_cfi_rule){.kind = ISC_CFI_NONE};
	uintptr_t cfa, back, saved, bp = p->bp;
	uint32_t d = isc_unwind_distance();

	if (r.kind == ISC_CFI_NONE && p->flags == 0 && p->look != p->ip && isc_unwind_is_address(p->ip))
		r = trampoline(p);
	at = isc_unwind_anchor(u, p->sp);
	if (r.kind == ISC_CFI_SIGNAL && p->flags == 0) {
		isc_unwind_place before = *p;

		if (leave_signal(u, p) == ISC_STEP_STUCK)
			return ISC_STEP_STUCK;
		return isc_unwind_push(u, &before, before.sp, module) ? ISC_STEP_SIGNAL : ISC_STEP_BOTTOM;
	}
	if (r.kind == ISC_CFI_BOTTOM) {
		/* Not while there is Python above. */
		if (at < u->anchor_count && d != 0)
			return ISC_STEP_STUCK;
		if (isc_unwind_push(u, p, u->high, module))
			u->end = ISC_UNWIND_BOTTOM;
		return ISC_STEP_BOTTOM;
	}
	if (r.kind != ISC_CFI_RULE && r.kind != ISC_CFI_RULE_BP)
		return ISC_STEP_STUCK;
	cfa = cfa_of(u, p, r);
	if (cfa == 0)
		return ISC_STEP_STUCK;
	if (at < u->anchor_count && u->anchors[at] < cfa) {
		if (d != 0 && cfa - u->anchors[at] != d)
			return ISC_STEP_STUCK;
		if (p->flags == 0)
			learn(cfa - u->anchors[at]);
	}
	back = isc_unwind_word(cfa - 8);
	if (!restore_bp(u, p, r, cfa, &saved))
		return ISC_STEP_STUCK;
	/* A zero may be anything where the way there was a guess; what starts threads says that it is the bottom. */
	if (back == 0 &&
	    ((p->flags & ISC_NATIVE_GUESSED) != 0 || (at < u->anchor_count && u->anchors[u->anchor_count - 1] >= cfa)))
		return ISC_STEP_STUCK;
	if (!isc_unwind_push(u, p, cfa, module))
		return ISC_STEP_BOTTOM;
	u->frame[u->n - 1].saved = r.base == ISC_CFI_AT_BP || r.base == ISC_CFI_R10 ? 1 : saved;
	u->frame[u->n - 1].bp = r.base == ISC_CFI_BP || r.kind == ISC_CFI_RULE_BP ? bp : 0;
	if (back == 0) {
		u->end = ISC_UNWIND_BOTTOM;
		return ISC_STEP_BOTTOM;
	}
	*p = (isc_unwind_place){back, back - 1, cfa, p->bp, 0, p->flags};
	return ISC_STEP_OUT;
}

/* ---- the walk ---------------------------------------------------------------- */

bool isc_unwind_follow(isc_unwind *u, isc_unwind_place *p, uintptr_t target)
{
	isc_chain c;

	if (u->n == ISC_UNWIND_FRAMES || !isc_chain_follow(u, p->ip, p->sp, p->bp, target, &c))
		return false;
	u->frame[u->n] = (isc_native_frame){.ip = p->ip,
					    .sp = p->sp,
					    .cfa = c.cfa,
					    .key = c.key,
					    .flags = p->flags | ISC_NATIVE_CALLER | ISC_NATIVE_CHAIN,
					    .module = -1,
					    .chain = c.at,
					    .count = c.count};
	u->n = u->n + 1;
	if (target == u->high) {
		u->end = ISC_UNWIND_BOTTOM;
		return true;
	}
	*p = (isc_unwind_place){
		.ip = isc_unwind_word(c.cfa - 8), .sp = c.cfa, .bp = c.bp != 0 ? isc_unwind_word(c.bp) : p->bp};
	p->look = p->ip - 1;
	return true;
}

static uintptr_t hint_of(const isc_unwind_start *start, const isc_unwind *u)
{
	uintptr_t low = u->high;

	/* Kernels that are written by hand keep the old rsp in a register that calls keep. */
	for (int i = 0; i < 6; i++) {
		if (start->kept[i] > start->sp && start->kept[i] < low)
			low = start->kept[i];
	}
	return low < u->high ? low & ~(uintptr_t)7 : start->sp & ~(uintptr_t)7;
}

/* Up to the next anchor or the bottom; false: the walk is over. */
static bool walk_part(isc_unwind *u, isc_unwind_place *p, uintptr_t *from, int limit)
{
	int anchor = isc_unwind_anchor(u, p->sp), first = -1;
	uintptr_t target = isc_unwind_target(u, anchor);
	/* Where frames of the interpreter end is learned from the first ones. */
	bool chains = limit > 1 && (anchor == u->anchor_count || isc_unwind_distance() != 0);

	while (u->n < limit) {
		bool caller = p->look != p->ip;
		enum isc_step s;

		if (chains && caller) {
			first = first < 0 ? u->n : first;
			if (isc_unwind_follow(u, p, target)) {
				isc_chain_keep(u, first, target);
				*from = p->sp;
				return u->end != ISC_UNWIND_BOTTOM;
			}
		}
		s = isc_unwind_step(u, p);
		if (s == ISC_STEP_BOTTOM) {
			if (chains && first >= 0 && u->end == ISC_UNWIND_BOTTOM)
				isc_chain_keep(u, first, target);
			return false;
		}
		if (s == ISC_STEP_STUCK) {
			if (limit == 1) {
				isc_unwind_push(u, p, p->sp, isc_unwind_module(p->look));
				return false;
			}
			if (!isc_unwind_guess(u, p, *from > p->sp ? *from : p->sp) || u->end == ISC_UNWIND_BOTTOM)
				return false;
			*from = p->sp;
			return true;
		}
		*from = p->sp;
		if (anchor < u->anchor_count && p->sp > target) {
			if (chains && first >= 0 && s == ISC_STEP_OUT)
				isc_chain_keep(u, first, target);
			return true;
		}
	}
	return false;
}

/* Chains behind the first anchor begin where its frame ends, which is known: the walk finds each by the one before, load
 * after load, unless all of them are asked for beforehand. */
static void fetch_chains(const isc_unwind *u)
{
	uint32_t d = isc_unwind_distance();

	if (u->key == NULL || d == 0)
		return;
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < u->anchor_count; i++) {
			uintptr_t sp = u->anchors[i] + d, target = isc_unwind_target(u, i + 1);

			if (!isc_unwind_on_stack(u, sp - 8) || target <= sp)
				continue;
			if (pass == 0)
				isc_chain_fetch_link(isc_unwind_word(sp - 8), sp, target);
			else
				isc_chain_fetch_frames(isc_unwind_word(sp - 8), sp, target);
		}
	}
}

void isc_unwind_walk(isc_unwind *u, const isc_unwind_start *start, int limit)
{
	isc_unwind_place p = {start->ip, start->ip, start->sp, start->bp, start->r10, 0};
	uintptr_t from = hint_of(start, u);

	begin(u);
	if (limit > 1)
		fetch_chains(u);
	while (u->n < limit && walk_part(u, &p, &from, limit))
		;
}

#else

uint32_t isc_unwind_distance(void)
{
	return 0;
}

isc_unwind_start isc_unwind_registers(const void *context)
{
	(void)context;
	return (isc_unwind_start){0};
}

void isc_unwind_walk(isc_unwind *u, const isc_unwind_start *start, int limit)
{
	(void)start;
	(void)limit;
	begin(u);
}

#endif

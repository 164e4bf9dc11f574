/*
 * unwind.c - the walk, x86_64.
 *
 * Most frames come from CFI.  Code without it (kernels of BLAS, code made at run
 * time) is passed by a scan for something that could be a return address.  That
 * is a guess, kept only if CFI leads from there exactly to the next frame of
 * the interpreter, whose place on the stack is known, or without one to the bottom.
 */
#include "collect/unwind.h"

#include <stdatomic.h>
#include <string.h>

#define WORDS 8192u /* scanned per walk, all guesses together */

static void begin(isc_unwind *u)
{
	u->n = 0;
	u->end = ISC_UNWIND_CUT;
	u->words = WORDS;
	u->before = u->whole_high == u->high ? u->whole : 0;
	u->whole = u->met = 0;
	u->newest = 0;
	u->frame = u->found;
	u->checked = 0;
	/* Modules come and go: those that are needed are found again. */
	if (u->modules > ISC_UNWIND_MODULES / 2)
		u->modules = u->before = 0;
}

void isc_unwind_newest(isc_unwind *u, const isc_unwind_start *start)
{
	begin(u);
	u->frame[0] =
		(isc_native_frame){start->ip, start->sp, start->sp, start->bp, 0, 0, isc_unwind_module(u, start->ip)};
	u->n = 1;
}

#if defined(__x86_64__)

#include <ucontext.h>

#define RULES (1u << 14)      /* 256 KiB, touched as it fills */
#define ENTRIES (1u << 11)    /* 64 KiB */
#define ENTRY_BLOCK 7	      /* bits of an address: of so much code one entry is kept */
#define GUESSES 64	      /* per stretch of code without CFI */
#define CALL_LENGTH_MAX 7u    /* bytes of an instruction that calls */
#define SURE 4u		      /* samples that agree on the distance */
#define FRAME_MAX (64u << 20) /* no frame is larger */

_Static_assert(sizeof(isc_cfi_rule) == 8, "with its key a rule is 16 bytes");
/* key ^ data: what two threads wrote half each is a miss. */
static struct {
	_Atomic uint64_t key, data;
} rules[RULES];

/* Entries of .eh_frame by what they cover: to search for one means a look at a dozen places of a large table, all cold.
 * all: key ^ first ^ past ^ at, for the same reason. */
static struct {
	_Atomic uint64_t all, first, past, at;
} entries[ENTRIES];

/* From an anchor to the end of its frame: a constant of the interpreter's build,
 * with how often it was seen. distance:32 | count:32 */
static _Atomic uint64_t learned;

struct place {
	uintptr_t ip, look; /* look: inside the instruction that called */
	uintptr_t sp, bp, r10;
	uint32_t flags;
};

enum step { STUCK, STEPPED, AT_BOTTOM, AT_SIGNAL };

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

static isc_cfi_image image_of(const isc_module *m)
{
	return (isc_cfi_image){m->start, m->end, m->cfi};
}

/* The rule at ip, with the entry that says it. */
static isc_cfi_rule entry_at(const isc_module *m, uintptr_t ip, isc_cfi_entry *entry)
{
	uint64_t key = ((ip >> ENTRY_BLOCK) * 0x9e3779b97f4a7c15ull ^ m->tag), all;
	uint32_t at = (uint32_t)(key >> 53);
	isc_cfi_image image = image_of(m);
	isc_cfi_entry kept;
	isc_cfi_rule r;

	all = atomic_load_explicit(&entries[at].all, memory_order_relaxed);
	kept = (isc_cfi_entry){atomic_load_explicit(&entries[at].first, memory_order_relaxed),
			       atomic_load_explicit(&entries[at].past, memory_order_relaxed),
			       atomic_load_explicit(&entries[at].at, memory_order_relaxed)};
	if ((all ^ kept.first ^ kept.past ^ kept.at) != key)
		kept = (isc_cfi_entry){0, 0, 0};
	*entry = kept;
	r = isc_cfi_at(&image, ip, entry);
	if (entry->at != 0 && entry->at != kept.at) {
		atomic_store_explicit(&entries[at].first, entry->first, memory_order_relaxed);
		atomic_store_explicit(&entries[at].past, entry->past, memory_order_relaxed);
		atomic_store_explicit(&entries[at].at, entry->at, memory_order_relaxed);
		atomic_store_explicit(&entries[at].all, key ^ entry->first ^ entry->past ^ entry->at,
				      memory_order_relaxed);
	}
	return r;
}

static isc_cfi_rule rule_at(isc_unwind *u, int module, uintptr_t ip)
{
	const isc_module *m = &u->module[module];
	uint64_t key = (ip * 0x9e3779b97f4a7c15ull ^ m->tag), data, was;
	uint32_t at = (uint32_t)(key >> 50);
	isc_cfi_entry entry;
	isc_cfi_rule r;

	/* Seldom where another was, and its function is asked for next. */
	if (u->n == 0) {
		u->newest = ip;
		return entry_at(m, ip, &u->entry);
	}
	data = atomic_load_explicit(&rules[at].data, memory_order_relaxed);
	was = atomic_load_explicit(&rules[at].key, memory_order_relaxed);
	if (data != 0 && (was ^ data) == key) {
		memcpy(&r, &data, sizeof(r));
		return r;
	}
	r = entry_at(m, ip, &entry);
	memcpy(&data, &r, sizeof(r));
	atomic_store_explicit(&rules[at].data, data, memory_order_relaxed);
	atomic_store_explicit(&rules[at].key, key ^ data, memory_order_relaxed);
	return r;
}

bool isc_unwind_function(isc_unwind *u, uintptr_t ip, uintptr_t *first, uintptr_t *past)
{
	int module = isc_unwind_module(u, ip);
	isc_cfi_entry entry = u->entry;

	*first = *past = 0;
	if (module < 0)
		return false;
	if (u->newest != ip)
		entry_at(&u->module[module], ip, &entry);
	*first = entry.first;
	*past = entry.past;
	return *past != 0;
}

static bool on_stack(const isc_unwind *u, uintptr_t at)
{
	return at >= u->low && at <= u->high - sizeof(uintptr_t) && (at & 7) == 0;
}

static uintptr_t word(uintptr_t at)
{
	return *(const uintptr_t *)at;
}

/* Of a program, by its size alone. */
static bool is_address(uintptr_t v)
{
	return v >= 0x10000 && v >> 47 == 0;
}

/* The anchor that a frame of [sp, cfa) holds, or the next one above it; the count: none. */
static int anchor_from(const isc_unwind *u, uintptr_t sp)
{
	int i = 0;

	while (i < u->anchor_count && u->anchors[i] < sp)
		i++;
	return i;
}

static uint32_t distance(void)
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

static bool push(isc_unwind *u, const struct place *p, uintptr_t cfa, int module)
{
	isc_native_frame *f = &u->frame[u->n];

	if (u->n == ISC_UNWIND_FRAMES) {
		u->end = ISC_UNWIND_FULL;
		return false;
	}
	*f = (isc_native_frame){p->ip, p->sp, cfa, p->bp, 0, p->flags | (p->look != p->ip ? ISC_NATIVE_CALLER : 0u),
				module};
	u->n = u->n + 1;
	return true;
}

/* CPython's trampolines under -X perf have no CFI; what follows the call in them is one of two. */
static isc_cfi_rule trampoline(const struct place *p)
{
	static const uint8_t add_ret[] = {0x48, 0x83, 0xc4, 0x08, 0xc3}, pop_ret[] = {0x5d, 0xc3};

	if (memcmp((const void *)p->ip, add_ret, sizeof(add_ret)) == 0)
		return (isc_cfi_rule){16, 0, ISC_CFI_SP, ISC_CFI_RULE};
	if (memcmp((const void *)p->ip, pop_ret, sizeof(pop_ret)) == 0)
		return (isc_cfi_rule){16, -16, ISC_CFI_SP, ISC_CFI_RULE};
	return (isc_cfi_rule){.kind = ISC_CFI_NONE};
}

/* Where the frame ends by this rule; 0: nowhere that can be. */
static uintptr_t cfa_of(const isc_unwind *u, const struct place *p, isc_cfi_rule r)
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
		cfa = at >= p->sp && on_stack(u, at) ? word(at) : 0;
		break;
	default:
		cfa = p->sp + 8 + ((p->ip & 15) >= (uintptr_t)r.cfa ? 8 : 0);
	}
	return cfa > p->sp && cfa <= u->high && cfa - p->sp < FRAME_MAX && (cfa & 7) == 0 ? cfa : 0;
}

/* The kernel's frame: at sp lies the ucontext of the signal. */
static enum step leave_signal(const isc_unwind *u, struct place *p)
{
	const ucontext_t *c = (const ucontext_t *)p->sp;
	isc_unwind_start s;

	if (!on_stack(u, p->sp) || !on_stack(u, p->sp + sizeof(*c)))
		return STUCK;
	s = isc_unwind_registers(c);
	/* From a stack of its own back to the thread's: that one was not checked. */
	if (!on_stack(u, s.sp & ~(uintptr_t)7) || s.sp <= p->sp)
		return STUCK;
	*p = (struct place){s.ip, s.ip, s.sp, s.bp, s.r10, 0};
	return AT_SIGNAL;
}

/* rbp as it was before the frame; *from: where that was read. */
static bool restore_bp(const isc_unwind *u, struct place *p, isc_cfi_rule r, uintptr_t cfa, uintptr_t *from)
{
	uintptr_t saved = (r.kind == ISC_CFI_RULE_BP ? p->bp : cfa) + (uintptr_t)(intptr_t)r.bp;

	*from = 0;
	if (r.kind != ISC_CFI_RULE_BP && r.bp == 0)
		return true;
	/* At the end of a function compilers tell how rsp moves and not that rbp has been taken off the stack. */
	if (saved < p->sp && p->look == p->ip)
		return true;
	if (saved < p->sp || !on_stack(u, saved))
		return false;
	p->bp = word(saved);
	*from = saved;
	return true;
}

/* One frame out, by CFI.  Pushes the frame that is left. */
static enum step step(isc_unwind *u, struct place *p)
{
	int module = isc_unwind_module(u, p->look), at;
	isc_cfi_rule r = module >= 0 ? rule_at(u, module, p->look) : (isc_cfi_rule){.kind = ISC_CFI_NONE};
	uintptr_t cfa, back, bp = p->bp, saved;
	uint32_t d = distance();

	if (r.kind == ISC_CFI_NONE && p->flags == 0 && p->look != p->ip && is_address(p->ip))
		r = trampoline(p);
	at = anchor_from(u, p->sp);
	if (r.kind == ISC_CFI_SIGNAL && p->flags == 0) {
		struct place before = *p;

		if (leave_signal(u, p) == STUCK)
			return STUCK;
		return push(u, &before, before.sp, module) ? AT_SIGNAL : AT_BOTTOM;
	}
	if (r.kind == ISC_CFI_BOTTOM) {
		/* Not while there is Python above. */
		if (at < u->anchor_count && d != 0)
			return STUCK;
		if (push(u, p, u->high, module))
			u->end = ISC_UNWIND_BOTTOM;
		return AT_BOTTOM;
	}
	if (r.kind != ISC_CFI_RULE && r.kind != ISC_CFI_RULE_BP)
		return STUCK;
	cfa = cfa_of(u, p, r);
	if (cfa == 0)
		return STUCK;
	if (at < u->anchor_count && u->anchors[at] < cfa) {
		if (d != 0 && cfa - u->anchors[at] != d)
			return STUCK;
		if (p->flags == 0)
			learn(cfa - u->anchors[at]);
	}
	back = word(cfa - 8);
	if (!restore_bp(u, p, r, cfa, &saved))
		return STUCK;
	/* A zero may be anything where the way there was a guess; what starts threads says that it is the bottom. */
	if (back == 0 &&
	    ((p->flags & ISC_NATIVE_GUESSED) != 0 || (at < u->anchor_count && u->anchors[u->anchor_count - 1] >= cfa)))
		return STUCK;
	if (!push(u, p, cfa, module))
		return AT_BOTTOM;
	u->frame[u->n - 1].bp = bp;
	u->frame[u->n - 1].saved = r.base == ISC_CFI_AT_BP ? 1 : saved;
	if (back == 0) {
		u->end = ISC_UNWIND_BOTTOM;
		return AT_BOTTOM;
	}
	*p = (struct place){back, back - 1, cfa, p->bp, 0, p->flags};
	return STEPPED;
}

/* ---- what has not changed since ------------------------------------------- */

/* Would this frame lead to the next one again?  By its rule, as long as what that reads from the stack is the same. */
static bool leads_on(const isc_unwind *u, const isc_native_frame *f, const isc_native_frame *next)
{
	if (f->flags != ISC_NATIVE_CALLER || f->saved == 1 || next->sp != f->cfa || !on_stack(u, f->cfa - 8) ||
	    word(f->cfa - 8) != next->ip)
		return false;
	return f->saved != 0 ? on_stack(u, f->saved) && word(f->saved) == next->bp : f->bp == next->bp;
}

/* The bottom is told by its function, or has nowhere to return to. */
static bool ends(const isc_unwind *u, const isc_native_frame *f)
{
	return f->flags == ISC_NATIVE_CALLER &&
	       (f->cfa == u->high || (on_stack(u, f->cfa - 8) && word(f->cfa - 8) == 0));
}

/* Deep stacks change at their newer end.  What is older needs no rules then, only a look at the stack. */
static bool as_before(isc_unwind *u, const struct place *p)
{
	isc_native_frame *before = u->kept + ISC_UNWIND_FRAMES - u->before;
	int i = u->met, end;

	while (i < u->before && before[i].sp < p->sp)
		i++;
	u->met = i;
	if (i >= u->before || before[i].sp != p->sp || before[i].ip != p->ip || before[i].bp != p->bp || p->flags != 0)
		return false;
	for (end = i; end + 1 < u->before && leads_on(u, &before[end], &before[end + 1]);)
		end++;
	if (end + 1 < u->before || !ends(u, &before[end]) || u->n + u->before - i > ISC_UNWIND_FRAMES) {
		u->met = end + 1;
		return false;
	}
	for (end = i; end < u->before; end++) {
		int m = before[end].module;

		if ((m < 0 || (u->checked >> m & 1) == 0) && isc_unwind_module(u, before[end].ip - 1) != m)
			return false;
	}
	if (u->before == 0)
		return false;
	end = u->n;
	memcpy(before + i - end, u->found, (size_t)end * sizeof(*before));
	u->frame = before + i - end;
	u->n = end + u->before - i;
	u->end = ISC_UNWIND_BOTTOM;
	return true;
}

/* ---- guesses ------------------------------------------------------------- */

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
		uintptr_t w = word(at - 8 * (uintptr_t)i);

		if (w > at && on_stack(u, w))
			return w;
	}
	return 0;
}

/* The next word that could be a return address; *at is moved behind it. */
static bool scan(isc_unwind *u, uintptr_t from, uintptr_t *at, uintptr_t limit, struct place *p)
{
	for (; *at + 8 <= limit && u->words > 0; u->words--) {
		uintptr_t here = *at, v = word(here);
		isc_cfi_rule r;
		int module;

		*at += 8;
		if (!is_address(v))
			continue;
		module = isc_unwind_module(u, v - 1);
		if (module < 0)
			continue;
		r = rule_at(u, module, v - 1);
		if ((r.kind != ISC_CFI_RULE && r.kind != ISC_CFI_RULE_BP) || !follows_call(&u->module[module], v))
			continue;
		*p = (struct place){v, v - 1, here + 8, p->bp, 0, ISC_NATIVE_GUESSED};
		if (r.base != ISC_CFI_SP) {
			p->bp = saved_bp(u, from, here);
			if (p->bp == 0)
				continue;
		}
		return true;
	}
	return false;
}

/* Does CFI lead from a guess to the next anchor, or to the bottom?  p then is behind it. */
static bool lands(isc_unwind *u, struct place *p, int anchor)
{
	enum step s;

	for (;;) {
		s = step(u, p);
		if (s == AT_BOTTOM)
			return u->end == ISC_UNWIND_BOTTOM && anchor == u->anchor_count;
		if (s != STEPPED)
			return false;
		if (anchor < u->anchor_count && p->sp > u->anchors[anchor]) {
			p->flags = 0;
			return true;
		}
	}
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

/* In code without CFI, at p; false: nothing leads on. */
static bool guess(isc_unwind *u, struct place *p, uintptr_t from)
{
	int anchor = anchor_from(u, p->sp), kept;
	uint32_t d = distance();
	uintptr_t limit = anchor < u->anchor_count && d != 0 ? u->anchors[anchor] + d : u->high, at = from;
	int module = isc_unwind_module(u, p->look);

	if (limit > u->high)
		limit = u->high;
	if (!push(u, p, p->sp, module))
		return false;
	kept = u->n;
	for (int i = 0; i < GUESSES; i++) {
		struct place trial = {.bp = p->bp};

		if (!scan(u, from, &at, limit, &trial))
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
	*p = (struct place){0, 0, u->anchors[anchor], p->bp, 0, ISC_NATIVE_LATE};
	if (!push(u, p, u->anchors[anchor] + d, -1))
		return false;
	p->sp = u->anchors[anchor] + d;
	p->ip = word(p->sp - 8);
	p->look = p->ip - 1;
	p->flags = 0;
	return p->ip != 0;
}

static void walk(isc_unwind *u, const isc_unwind_start *start, int limit)
{
	struct place p = {start->ip, start->ip, start->sp, start->bp, start->r10, 0};
	uintptr_t from = hint_of(start, u);

	while (u->n < limit) {
		enum step s = step(u, &p);

		if (s == AT_BOTTOM || (s == STEPPED && as_before(u, &p)))
			return;
		if (s == STUCK) {
			if (limit == 1) {
				push(u, &p, p.sp, isc_unwind_module(u, p.look));
				return;
			}
			if (!guess(u, &p, from > p.sp ? from : p.sp) || u->end == ISC_UNWIND_BOTTOM)
				return;
		}
		from = p.sp;
	}
}

void isc_unwind_walk(isc_unwind *u, const isc_unwind_start *start, int limit)
{
	begin(u);
	walk(u, start, limit);
	u->whole = u->end == ISC_UNWIND_BOTTOM ? u->n : 0;
	u->whole_high = u->high;
	if (u->frame == u->found)
		memcpy(u->kept + ISC_UNWIND_FRAMES - u->whole, u->found, (size_t)u->whole * sizeof(*u->found));
}

#else

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

bool isc_unwind_function(isc_unwind *u, uintptr_t ip, uintptr_t *first, uintptr_t *past)
{
	(void)u;
	(void)ip;
	*first = *past = 0;
	return false;
}

#endif

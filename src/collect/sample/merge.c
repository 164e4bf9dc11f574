/*
 * merge.c - the one stack that native frames make with Python's.
 *
 * They meet by address: the native frame that holds the anchor of an activation
 * is the interpreter at work, and its Python frames stand in its place.  Native
 * frames between two frames of Python are one part of the stack, a run, however they were
 * found: a program has some hundred runs and a hundred thousand stacks.
 */
#include "collect/sample/sample.h"
#include "collect/unwind/chain.h"
#include "runtime/write.h"

/* Between two looks whether modules are still loaded. */
#define CHECK_US 100000u

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0xff51afd7ed558ccdull;
	h ^= h >> 32;
	return h != 0 ? h : 1;
}

/* ---- the walk ------------------------------------------------------------- */

/* What tells a frame from others.  Chains end at frames of the interpreter, and have none inside: whether one stands
 * for Python is for the merge to say. */
static uint64_t key_of(const isc_unwind *u, const isc_native_frame *f)
{
	if (isc_sample_is_eval(f->ip - 1))
		return ISC_UNWIND_APART;
	if (f->module < 0 || isc_sample_in_own_module(f->ip) || isc_sample_is_glue(u, f))
		return 0;
	return mix(isc_unwind_known(f->module).tag, f->ip);
}

static int list_anchors(isc_sampled *t)
{
	int n = 0;

	for (int i = 0; i < t->activations.n; i++) {
		uintptr_t a = t->activations.at[i].anchor;

		if (n == 0 || a > t->anchors[n - 1])
			t->anchors[n++] = a;
	}
	return n;
}

/* Modules come and go without a word. */
static void check_modules(void)
{
	static _Atomic uint64_t checked;
	uint64_t now = isc_ticks(), before = atomic_load_explicit(&checked, memory_order_relaxed);
	uint64_t per_us = isc_image_self.ticks_per_us != 0 ? isc_image_self.ticks_per_us : 1000;

	if (now - before > CHECK_US * per_us && atomic_compare_exchange_strong(&checked, &before, now))
		isc_unwind_check();
}

static void walk(isc_sampled *t, const void *context, int python, bool whole, uint32_t *flags)
{
	isc_unwind_start start = isc_unwind_registers(context);
	isc_unwind *u = &t->unwind;

	u->n = 0;
	u->end = ISC_UNWIND_CUT;
	/* Without anchors frames of the interpreter are counted, so each of them has to be seen. */
	u->key = t->activations.n > 0 || python == 0 ? key_of : NULL;
	if (!isc_sample_know_stack(t, start.sp)) {
		isc_unwind_newest(u, &start);
	} else {
		u->low = start.sp & ~(uintptr_t)7;
		u->high = t->stack_high;
		u->anchors = t->anchors;
		u->anchor_count = list_anchors(t);
		if (sigsetjmp(t->fault.escape, 0) == 0) {
			isc_fault_arm(&t->fault);
			check_modules();
			isc_unwind_walk(u, &start, whole ? ISC_UNWIND_FRAMES : 1);
			isc_fault_disarm(&t->fault);
		}
	}
	if (whole && u->end != ISC_UNWIND_BOTTOM)
		*flags |= ISC_SAMPLE_NATIVE_CUT;
}

/* ---- one stack ------------------------------------------------------------- */

struct merge {
	isc_sampled *t;
	int n;
	int next; /* Python frame */
	int run;  /* first frame of the run that is being gathered; -1: none */
};

/* A run ends: from the oldest frame on, as chains are keyed. */
static void end_run(struct merge *m, int past)
{
	const isc_unwind *u = &m->t->unwind;
	int first = m->run;
	uint64_t key = 0;
	uint32_t guessed;

	m->run = -1;
	if (first < 0 || m->n == (int)ISC_STACK_FRAMES_MAX)
		return;
	guessed = u->frame[first].flags & ISC_NATIVE_GUESSED ? ISC_PLACE_GUESSED : 0u;
	for (int i = past - 1; i >= first; i--) {
		const isc_native_frame *f = &u->frame[i];
		uint64_t own = f->flags & ISC_NATIVE_CHAIN ? f->key : key_of(u, f);

		if (f->flags & ISC_NATIVE_CHAIN)
			key = own;
		else if (own != 0 && own != ISC_UNWIND_APART)
			key = mix(key, own);
	}
	if (key == 0)
		return;
	m->t->merged[m->n++] = (isc_merged){mix(key, ISC_PLACE_CALLER | guessed), (uintptr_t)first,
					    ISC_PLACE_CALLER | guessed, ISC_MERGED_RUN, (uint16_t)(past - first)};
}

/* at: how far the walk has been gone through. */
static void add_python(struct merge *m, int end, int at)
{
	if (m->next < end)
		end_run(m, at);
	for (; m->next < end; m->next++) {
		if (m->n < (int)ISC_STACK_FRAMES_MAX)
			m->t->merged[m->n++] = (isc_merged){m->t->key[m->next], m->t->frames[m->next].code,
							    m->t->frames[m->next].offset, ISC_MERGED_PYTHON, 0};
	}
}

/* A frame by itself.  The newest one is known by its function: every instruction of a loop would make a stack. */
static void add_place(struct merge *m, const isc_native_frame *f, bool careful)
{
	uint32_t flags = (f->flags & ISC_NATIVE_GUESSED ? ISC_PLACE_GUESSED : 0u);
	uintptr_t at = f->ip, first, past;

	if (m->n == (int)ISC_STACK_FRAMES_MAX || isc_sample_in_own_module(f->ip))
		return;
	if (f->flags & ISC_NATIVE_CALLER) {
		flags |= ISC_PLACE_CALLER;
	} else if (f->module < 0) {
		flags |= ISC_PLACE_INSIDE;
	} else if (!careful && isc_unwind_function(&m->t->unwind, at, &first, &past)) {
		at = first;
	} else {
		flags |= ISC_PLACE_INSIDE;
	}
	if (f->module < 0)
		at &= ~(uintptr_t)4095;
	m->t->merged[m->n++] =
		(isc_merged){mix(mix(f->module >= 0 ? isc_unwind_known(f->module).tag : 1, at), flags) | 1, at, flags,
			     f->module >= 0 ? (int16_t)f->module : ISC_MERGED_NOWHERE, 0};
}

/* Frame i of the walk, which is not the interpreter's: into a run with its neighbours, or by itself. */
static void add_native(struct merge *m, int i, bool careful)
{
	const isc_native_frame *f = &m->t->unwind.frame[i];
	bool alone = (f->flags & (ISC_NATIVE_CALLER | ISC_NATIVE_LATE)) != ISC_NATIVE_CALLER ||
		     ((f->flags & ISC_NATIVE_CHAIN) == 0 && f->module < 0);

	if (m->run >= 0 && (alone || ((f->flags ^ f[-1].flags) & ISC_NATIVE_GUESSED) != 0))
		end_run(m, i);
	if (alone)
		add_place(m, f, careful);
	else if (m->run < 0)
		m->run = i;
}

/* Frames that the interpreter has, without anchors: counted from the root if it is there. */
static int uncounted(const isc_unwind *u, int python)
{
	int n = 0;

	for (int i = 0; i < u->n; i++)
		n += isc_sample_is_eval(u->frame[i].ip);
	return u->end == ISC_UNWIND_BOTTOM && n > python ? n - python : 0;
}

/* The interpreter is met where no Python frame is left: the stack is another greenlet's, or
 * there were too many frames. */
static uint32_t end_of(uint32_t flags)
{
	return flags & ISC_SAMPLE_CUT ? ISC_SAMPLE_NATIVE_CUT : ISC_SAMPLE_SWITCHED;
}

static bool merge_counted(struct merge *m, int python, bool careful, uint32_t *flags)
{
	const isc_unwind *u = &m->t->unwind;
	int extra = uncounted(u, python);

	for (int i = 0; i < u->n; i++) {
		const isc_native_frame *f = &u->frame[i];

		if (!isc_sample_is_eval(f->ip)) {
			add_native(m, i, careful);
		} else if (extra > 0) {
			extra--;
			*flags |= ISC_SAMPLE_EDGE;
		} else if (m->next < python) {
			end_run(m, i);
			add_python(m, m->next + 1, i);
		} else {
			end_run(m, i);
			*flags |= end_of(*flags);
			return false;
		}
	}
	end_run(m, u->n);
	return true;
}

static bool merge_anchored(struct merge *m, int python, bool careful, uint32_t *flags)
{
	const isc_unwind *u = &m->t->unwind;
	const isc_activations *list = &m->t->activations;
	int a = 0;

	for (int i = 0; i < u->n; i++) {
		const isc_native_frame *f = &u->frame[i];
		bool chain = (f->flags & ISC_NATIVE_CHAIN) != 0, found = false;

		/* Those that lie between two frames, of which one was passed by a scan. */
		for (; a < list->n && list->at[a].anchor < f->sp; a++)
			add_python(m, (int)list->at[a].end, i);
		if (chain)
			add_native(m, i, careful);
		for (; a < list->n && list->at[a].anchor < f->cfa; a++) {
			add_python(m, (int)list->at[a].end, chain ? i + 1 : i);
			found = true;
		}
		if (chain || found || (f->flags & ISC_NATIVE_LATE))
			continue;
		if (!isc_sample_is_eval(f->ip)) {
			add_native(m, i, careful);
			continue;
		}
		end_run(m, i);
		if (a == list->n && m->next == python && python > 0) {
			*flags |= end_of(*flags);
			return false;
		}
		*flags |= ISC_SAMPLE_EDGE;
	}
	end_run(m, u->n);
	return true;
}

static int merge_newest(struct merge *m, int python, bool careful)
{
	const isc_sampled *t = m->t;
	const isc_native_frame *newest = &t->unwind.frame[0];
	bool inside = t->activations.n > 0 && t->activations.at[0].anchor >= newest->sp &&
		      t->activations.at[0].anchor < newest->cfa;

	if (t->unwind.n > 0 && !inside && !isc_sample_is_eval(newest->ip))
		add_place(m, newest, careful);
	add_python(m, python, 0);
	return m->n;
}

int isc_sample_merge(isc_sampled *t, const void *context, int python, bool careful, uint32_t *flags)
{
	struct merge m = {.t = t, .run = -1};
	uint32_t mode = isc_sample_native_mode();
	bool all, whole = mode == ISC_CONTROL_NATIVE || (t->whole && python == 0);

	t->unwind.n = 0;
	if (mode == 0 || context == NULL) {
		add_python(&m, python, 0);
		return m.n;
	}
	if (careful) {
		isc_unwind_start start = isc_unwind_registers(context);

		isc_unwind_newest(&t->unwind, &start);
	} else {
		walk(t, context, python, whole, flags);
	}
	isc_sample_part(&t->timing, ISC_SAMPLE_PART_NATIVE);
	if (!whole || careful)
		return merge_newest(&m, python, careful);
	all = t->activations.n > 0 || python == 0 ? merge_anchored(&m, python, careful, flags)
						  : merge_counted(&m, python, careful, flags);
	if (all && m.next < python) {
		*flags |= ISC_SAMPLE_UNPLACED;
		add_python(&m, python, t->unwind.n);
	}
	for (int i = 0; i < m.n; i++) {
		if (t->merged[i].module != ISC_MERGED_PYTHON && (t->merged[i].offset & ISC_PLACE_GUESSED))
			*flags |= ISC_SAMPLE_GUESSED;
	}
	if (m.n == (int)ISC_STACK_FRAMES_MAX)
		*flags |= ISC_SAMPLE_CUT;
	return m.n;
}

/* ---- the frames of a run ---------------------------------------------------- */

int isc_sample_run(isc_sampled *t, const isc_merged *run)
{
	const isc_unwind *u = &t->unwind;
	int n = 0;

	for (int i = (int)run->code; i < (int)run->code + (int)run->count; i++) {
		const isc_native_frame *f = &u->frame[i];
		uint64_t key;

		if (f->flags & ISC_NATIVE_CHAIN) {
			int more = isc_chain_frames(u, f, t->places + n, (int)ISC_STACK_FRAMES_MAX - n);

			if (more < 0)
				return 0;
			n += more;
			continue;
		}
		key = key_of(u, f);
		if (key != 0 && key != ISC_UNWIND_APART && n < (int)ISC_STACK_FRAMES_MAX)
			t->places[n++] = f->ip;
	}
	for (int i = 0; i < n / 2; i++) {
		uintptr_t other = t->places[n - 1 - i];

		t->places[n - 1 - i] = t->places[i];
		t->places[i] = other;
	}
	return n;
}

isc_merged isc_sample_run_frame(const isc_merged *run, uintptr_t ip)
{
	int module = isc_unwind_module(ip - 1);
	uint64_t tag = module >= 0 ? isc_unwind_known(module).tag : 1;

	if (module < 0)
		ip &= ~(uintptr_t)4095;
	return (isc_merged){mix(mix(tag, ip), run->offset) | 1, ip, run->offset,
			    module >= 0 ? (int16_t)module : ISC_MERGED_NOWHERE, 0};
}

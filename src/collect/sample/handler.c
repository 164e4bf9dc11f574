/*
 * handler.c - what happens at a step.
 *
 * On an alternate stack, all signals blocked except for faults.  How many steps
 * a sample stands for is read off the thread's CPU clock, so a signal that comes
 * late takes nothing away.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "collect/node.h"
#include "collect/profile/profile.h"
#include "collect/sample/pywalk.h"
#include "collect/sample/sample.h"
#include "collect/unwind/walk.h"
#include "runtime/image.h"
#include "runtime/kernel.h"
#include "runtime/runtime.h"
#include "runtime/write.h"

#define WAITING_NS 50000000u /* between two looks whether samples are wanted yet */
#define STACK_LEAST 4096u    /* that a walk needs, on top of two frames of the kernel */

static _Atomic(const isc_python_layout *) python;
static isc_python_layout python_copy;

const isc_python_layout *isc_sample_layout(void)
{
	return atomic_load_explicit(&python, memory_order_acquire);
}

void isc_rt_python(const isc_python_layout *layout)
{
	if (layout == NULL || layout->size != sizeof(*layout)) {
		atomic_store(&python, NULL);
		return;
	}
	if (isc_sample_layout() != NULL)
		return; /* the same interpreter, again */
	python_copy = *layout;
	isc_sample_native_python(layout);
	atomic_store_explicit(&python, &python_copy, memory_order_release);
}

static uint64_t random_next(isc_sampled *t)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return t->random;
}

/* A program's own alternate stack may be too small for more than a few calls: then the time adds to the
 * sample that is written when the thread ends. */
static bool has_room(const isc_sampled *t, const ucontext_t *context)
{
	const stack_t *s = &context->uc_stack;

	return (s->ss_flags & SS_DISABLE) != 0 || s->ss_sp == t->stack ||
	       s->ss_size >= 2 * getauxval(AT_MINSIGSTKSZ) + STACK_LEAST;
}

static int walk(isc_sampled *t, const isc_python_layout *l, bool careful, uint32_t *flags)
{
	isc_reach r = {.careful = careful, .pid = careful ? isc_kernel_pid() : 0};
	volatile uint32_t found = 0;
	volatile int n = 0;

	if (sigsetjmp(t->fault.escape, 0) == 0) {
		uint32_t f = 0;
		int count;

		isc_fault_arm(&t->fault);
		count = isc_pywalk(l, &r, t->frames, (int)ISC_STACK_FRAMES_MAX, &t->activations, &f);
		for (int i = 0; i < count; i++)
			t->key[i] = isc_pywalk_key(l, &r, t->frames[i].code);
		isc_fault_disarm(&t->fault);
		n = count;
		found = f;
	} else {
		found = ISC_SAMPLE_FAULT;
	}
	if (r.failed)
		found = ISC_SAMPLE_FAULT;
	*flags |= found;
	return (found & ISC_SAMPLE_FAULT) ? 0 : n;
}

/* The frames now, in t->merged; how many. */
static int frames_now(isc_sampled *t, const isc_python_layout *l, const ucontext_t *context, bool careful,
		      uint32_t *flags)
{
	int n = 0;

	t->activations.n = 0;
	if (l == NULL) {
		*flags |= ISC_SAMPLE_BLIND;
	} else {
		n = walk(t, l, careful, flags);
		isc_sample_part(&t->timing, ISC_SAMPLE_PART_PYTHON);
		if (n <= 0) {
			*flags |= n < 0 || *flags == 0 ? ISC_SAMPLE_NO_PYTHON : 0;
			t->activations.n = 0;
			n = 0;
		}
	}
	return isc_sample_merge(t, context, n, careful, flags);
}

/* Is the thread behind the instruction that goes into the kernel, or about to go there again?  Code can be read in
 * general, and where it cannot be the fault is ours to catch. */
static bool behind_syscall(isc_sampled *t, const ucontext_t *context, bool careful)
{
	isc_reach r = {.careful = careful, .pid = careful ? isc_kernel_pid() : 0};
	volatile bool found = false;
#if defined(__x86_64__)
	uintptr_t at = (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
	static const uint8_t call[] = {0x0f, 0x05};
#elif defined(__aarch64__)
	uintptr_t at = (uintptr_t)context->uc_mcontext.pc;
	static const uint8_t call[] = {0x01, 0x00, 0x00, 0xd4};
#else
	uintptr_t at = 0;
	static const uint8_t call[] = {0};

	(void)context;
	return false;
#endif
	if (sigsetjmp(t->fault.escape, 0) == 0) {
		uint8_t code[2 * sizeof(call)];

		isc_fault_arm(&t->fault);
		found = isc_reach_bytes(&r, at - sizeof(call), code, sizeof(code)) &&
			(memcmp(code, call, sizeof(call)) == 0 || memcmp(code + sizeof(call), call, sizeof(call)) == 0);
		isc_fault_disarm(&t->fault);
	}
	return found;
}

static void sample(isc_sampled *t, const ucontext_t *context, uint64_t ticks, uint32_t steps)
{
	struct {
		isc_record head;
		isc_sample body;
		isc_sample_counts counts;
	} record = {.head = {.ticks = ticks, .kind = ISC_KIND_SAMPLE, .slots = 2, .arg = (uint16_t)steps}};
	const isc_python_layout *l = isc_sample_layout();
	bool careful = !isc_fault_caught();
	bool session = isc_sample_for_session() && isc_rt_active();
	int n;

	isc_sample_part(&t->timing, ISC_SAMPLE_PART_GUARD);
	n = frames_now(t, l, context, careful, &record.body.flags);
	isc_sample_part(&t->timing, ISC_SAMPLE_PART_MERGE);
	if (session && isc_sample_count(t, steps > 1, &record.counts))
		record.head.slots = 4;
	if (record.counts.kernel_us != 0 && behind_syscall(t, context, careful))
		record.body.flags |= ISC_SAMPLE_SYSCALL;
	isc_sample_part(&t->timing, ISC_SAMPLE_PART_COUNT);
	isc_profile_add(t, l, n, (uint64_t)steps * t->period_ns,
			session ? record.counts.instructions : ISC_COUNT_UNKNOWN, careful);
	if (!session)
		return;
	record.body.period_ns = t->period_ns;
	record.body.cost_ns = isc_sample_cost_take();
	record.head.id = n > 0 ? isc_sample_stack(t, l, n, ISC_STACK_SAMPLED, careful, &record.body.flags) : 0;
	isc_sample_part(&t->timing, ISC_SAMPLE_PART_STACK);
	if (n > 0 && record.head.id == 0)
		record.body.flags |= ISC_SAMPLE_OTHER;
	if (record.head.id != 0)
		atomic_store_explicit(&t->last_stack, record.head.id, memory_order_relaxed);
	record.body.task = isc_producer_self != NULL ? isc_producer_self->task : 0;
	record.body.flags |= isc_node_ran_on();
	isc_write((const isc_record *)&record, record.head.slots);
}

static uint64_t steps_at(const isc_sampled *t, uint64_t cpu_ns)
{
	uint64_t ran = (int64_t)cpu_ns > t->base_ns ? (uint64_t)((int64_t)cpu_ns - t->base_ns) : 0;

	return (ran + t->period_ns / 2) / t->period_ns;
}

void isc_sample_end(isc_sampled *t)
{
	struct {
		isc_record head;
		isc_sample body;
	} record = {.head = {.ticks = isc_ticks(), .kind = ISC_KIND_SAMPLE, .slots = 2}};
	uint64_t now, steps;

	if (!isc_sample_on() || (!isc_rt_active() && !isc_profile_on()) || (t->timer < 0 && t->perf < 0))
		return;
	now = isc_sample_cpu_ns();
	if (now < t->end_ns)
		return;
	steps = t->end_ns != 0 ? 1 + (now - t->end_ns) / t->period_ns : steps_at(t, now);
	record.head.arg = (uint16_t)(steps < 1 ? 1 : steps < UINT16_MAX ? steps : UINT16_MAX);
	isc_profile_add_unknown(t, (uint64_t)record.head.arg * t->period_ns);
	if (!isc_sample_for_session() || !isc_rt_active())
		return;
	record.body = (isc_sample){.period_ns = t->period_ns, .flags = ISC_SAMPLE_GONE};
	isc_write((const isc_record *)&record, 2);
}

/* The thread was met by a search, or its alternate stack was taken away, by the program or for a fault of
 * its own: sigreturn installs what stands in the context, and would undo a call to sigaltstack().  False:
 * this signal came without one. */
static bool settle(isc_sampled *t, ucontext_t *context)
{
	if (isc_sampled_self == NULL)
		isc_sampled_self = t;
	if (isc_sampled_self != t || (context->uc_stack.ss_flags & SS_DISABLE) == 0)
		return true;
	isc_fault_caught(); /* first: a handler of the program's must not find our stack */
	context->uc_stack.ss_sp = t->stack;
	context->uc_stack.ss_size = sizeof(t->stack);
	context->uc_stack.ss_flags = 0;
	t->lent = true;
	return false;
}

/* How many steps have passed.  The thread's clock costs a system call; it is read only where the signal itself, which
 * does not come early, and the time on the wall, which CPU time does not outrun, leave a choice. */
static uint64_t steps_passed(isc_sampled *t, uint64_t ticks, bool exactly, uint64_t *now)
{
	uint64_t low = isc_sample_least_ns(t), steps = steps_at(t, low);

	*now = isc_sample_most_ns(t, ticks);
	if (steps == 0 || *now < low || steps_at(t, *now) != steps || exactly) {
		*now = isc_sample_clock(t, ticks);
		return steps_at(t, *now);
	}
	t->least_ns = low;
	return steps;
}

/* What this sample will read is mostly what the last one did, and far away by now: it comes nearer while the kernel is
 * asked for other things.  Addresses need not be good any more. */
static void fetch_ahead(const isc_sampled *t)
{
	const isc_python_layout *l = isc_sample_layout();
	uint32_t d = isc_unwind_distance();
	int n = t->activations.n;

	for (int i = 0; i < n; i++) {
		__builtin_prefetch((const void *)t->activations.at[i].anchor);
		__builtin_prefetch((const void *)(t->activations.at[i].anchor + d - sizeof(uintptr_t)));
		__builtin_prefetch((const void *)t->activations.at[i].frame);
	}
	n = l != NULL && n > 0 ? (int)t->activations.at[n - 1].end : 0;
	for (int i = 0; i < n; i++) {
		uintptr_t code = t->frames[i].code;

		__builtin_prefetch((const void *)(code + l->object_type));
		__builtin_prefetch((const void *)(code + l->code_line));
		__builtin_prefetch((const void *)(code + l->code_name));
		__builtin_prefetch((const void *)(code + l->code_lines));
	}
}

/* Apart from its caller: this is what needs a stack. */
__attribute__((noinline)) static void step(isc_sampled *t, const ucontext_t *context, uint64_t ticks)
{
	const isc_control *control = isc_rt_control();
	uint64_t now, steps, armed, was, after, end;
	bool profiled = isc_profile_on();

	isc_sample_part_begin(&t->timing, ticks);
	isc_sample_part(&t->timing, ISC_SAMPLE_PART_ENTRY);
	fetch_ahead(t);
	steps = steps_passed(t, ticks, profiled, &now);
	isc_sample_came(t, now);
	isc_sample_part(&t->timing, ISC_SAMPLE_PART_CLOCK);
	if (!isc_profile_on() && !(isc_sample_for_session() && isc_rt_active())) {
		now = isc_sample_clock(t, ticks);
		t->base_ns = (int64_t)now;
		if (control != NULL && atomic_load_explicit(&control->phase, memory_order_relaxed) == ISC_PHASE_WAITING)
			isc_sample_arm(t, WAITING_NS, now);
		return;
	}
	steps = steps < UINT16_MAX ? steps : UINT16_MAX;
	if (steps > 0)
		sample(t, context, ticks, (uint32_t)steps);
	t->base_ns += (int64_t)(steps * t->period_ns);
	isc_sample_search(false);
	if (isc_sample_for_session())
		isc_sample_spent(t, isc_ticks(), ticks, steps * t->period_ns);
	was = t->period_ns;
	t->period_ns = isc_sample_for_session() ? isc_sample_step_ns(t) : isc_sample_period_ns();
	/* A step has half of its length before its end: another length begins where the last one ended. */
	t->base_ns -= ((int64_t)t->period_ns - (int64_t)was) / 2;
	/* Somewhere in the next step: its end on average. */
	isc_sample_part(&t->timing, ISC_SAMPLE_PART_REST);
	armed = isc_ticks();
	after = isc_sample_next_ns(t, random_next(t), &end);
	isc_sample_arm(t, after, now);
	if (t->perf < 0)
		t->end_ns = end;
	t->arm_ticks = isc_ticks() - armed;
	isc_sample_part(&t->timing, ISC_SAMPLE_PART_ARM);
	if (steps > 0)
		isc_sample_part_end(&t->timing);
	if (profiled)
		isc_profile_spent(isc_sample_cpu_ns() - now);
}

uint32_t isc_rt_sample_parts(uint32_t *ticks, uint32_t samples)
{
	isc_sampled *t = isc_sampled_self;
	uint32_t n;

	if (t == NULL)
		return 0;
	/* A signal may come at any of these lines. */
	t->timing.to = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	n = t->timing.n;
	t->timing.n = 0;
	t->timing.room = samples;
	atomic_signal_fence(memory_order_seq_cst);
	t->timing.to = ticks;
	return n;
}

static void put_off(isc_sampled *t)
{
	uint64_t now = isc_sample_clock(t, isc_ticks());

	isc_sample_came(t, now);
	isc_sample_arm(t, (uint64_t)((int64_t)now - t->base_ns) + t->period_ns, now);
	t->due_ns = t->end_ns = 0;
}

void isc_sample_handle(int number, siginfo_t *info, void *context)
{
	uint64_t ticks = isc_ticks();
	int error = errno;
	isc_sampled *t;

	isc_sample_inside(true);
	t = isc_sample_of(info);
	if (t == NULL && !isc_sample_late(info)) {
		/* Its handler may stay away as long as it likes, or for ever. */
		isc_sample_inside(false);
		isc_sample_signal_pass(number, info, context);
		errno = error;
		return;
	}
	/* Who has been here before has its place in memory of its own; no signal of ours goes to a child that shares it. */
	if (t != NULL && isc_sample_on() &&
	    (t == isc_sampled_self ||
	     atomic_load_explicit(ISC_SAMPLED_TID(t), memory_order_relaxed) == isc_kernel_tid())) {
		bool settled = settle(t, context);

		if (isc_sampled_self != t) {
			isc_sample_drop(t);
		} else if (!t->busy) {
			t->busy = true;
			/* Not on the thread's own, of which little may be left. */
			if (settled && has_room(t, context))
				step(t, context, ticks);
			else
				put_off(t);
			t->busy = false;
		}
	}
	isc_sample_inside(false);
	errno = error;
}

/* Who has the lock: its thread state may be gone, and is read like a stack. */
static uint32_t gil_holder(isc_sampled *t, const isc_python_layout *l, uintptr_t cond, bool careful)
{
	isc_reach r = {.careful = careful, .pid = careful ? isc_kernel_pid() : 0};
	volatile uintptr_t tid = 0;

	if (l->ts_native == ISC_PYTHON_NONE || cond - l->runtime_from >= l->runtime_size)
		return 0;
	if (sigsetjmp(t->fault.escape, 0) == 0) {
		uintptr_t state = 0, id = 0;

		isc_fault_arm(&t->fault);
		if (isc_reach_bytes(&r, cond - l->gil_cond + l->gil_holder, &state, sizeof(state)) && state >= 4096)
			isc_reach_bytes(&r, state + l->ts_native, &id, sizeof(id));
		isc_fault_disarm(&t->fault);
		tid = id;
	}
	return r.failed || tid > INT32_MAX ? 0 : (uint32_t)tid;
}

uint32_t isc_sample_here(uintptr_t gil_cond, isc_wait *wait)
{
	const isc_python_layout *l = isc_sample_layout();
	isc_sampled *t = isc_sampled_self;
	/* Nothing may come in between but the faults that the walk itself may meet. */
	uint64_t rest = ~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1)), mask;
	uint32_t flags = 0, id = 0;
	bool careful;
	int n;

	if (wait != NULL && wait->holder != 0)
		wait->holder_stack = isc_sample_last_stack(wait->holder);
	if (l == NULL || t == NULL || t->busy || !isc_sample_on())
		return 0;
	if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, &rest, &mask, sizeof(mask)) != 0)
		return 0;
	/* A program that blocks SIGSEGV would die of ours. */
	careful = (mask & ~rest) != 0 || !isc_fault_caught();
	t->activations.n = 0;
	n = walk(t, l, careful, &flags);
	n = n > 0 ? isc_sample_merge(t, NULL, n, careful, &flags) : 0;
	if (n > 0)
		id = isc_sample_stack(t, l, n, ISC_STACK_ASIDE, careful, &flags);
	if (wait != NULL && gil_cond != 0) {
		wait->holder = gil_holder(t, l, gil_cond, careful);
		if (wait->holder != 0)
			wait->holder_stack = isc_sample_last_stack(wait->holder);
	}
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	return id;
}

/* The registers here, as a signal would have left them.  In the frame that asks: it must be there while the stack
 * is walked. */
#ifdef __x86_64__
#define REGISTERS_HERE(context) \
	do { \
		greg_t r_[8]; \
		greg_t *g_ = (context)->uc_mcontext.gregs; \
		__asm__ volatile("leaq 1f(%%rip), %%rax\n1:\tmovq %%rax, 0(%0)\n\tmovq %%rsp, 8(%0)\n\t" \
				 "movq %%rbp, 16(%0)\n\tmovq %%rbx, 24(%0)\n\tmovq %%r12, 32(%0)\n\t" \
				 "movq %%r13, 40(%0)\n\tmovq %%r14, 48(%0)\n\tmovq %%r15, 56(%0)" \
				 : \
				 : "r"(r_) \
				 : "rax", "memory"); \
		g_[REG_RIP] = r_[0]; \
		g_[REG_RSP] = r_[1]; \
		g_[REG_RBP] = r_[2]; \
		g_[REG_RBX] = r_[3]; \
		g_[REG_R12] = r_[4]; \
		g_[REG_R13] = r_[5]; \
		g_[REG_R14] = r_[6]; \
		g_[REG_R15] = r_[7]; \
		g_[REG_R10] = 0; \
	} while (0)
/* Inside the instruction that calls. */
#define REGISTERS_AT(context, caller) ((context)->uc_mcontext.gregs[REG_RIP] = (greg_t)((caller) - 1))
#define REGISTERS_KNOWN true
#else
#define REGISTERS_HERE(context) (void)(context)
#define REGISTERS_AT(context, caller) (void)(caller)
#define REGISTERS_KNOWN false
#endif

/* Of the main program or of a library it is linked with; absent elsewhere. */
extern int Py_BytesMain(int argc, char **argv) __attribute__((weak, visibility("default")));

/* At a call, and not anywhere: a thread without Python is walked whole, as its newest frame alone would be that of
 * operator new.  Not while an interpreter starts: that is many stacks which nobody asks for. */
__attribute__((noinline)) uint32_t isc_sample_now(uintptr_t caller)
{
	const isc_python_layout *l = isc_sample_layout();
	isc_sampled *t = isc_sampled_self;
	uint64_t rest = ~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1)), mask;
	uint32_t flags = 0, id = 0;
	ucontext_t context;
	bool careful, whole;
	int n;

	if (t == NULL || t->busy || !isc_sample_on())
		return 0;
	if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, &rest, &mask, sizeof(mask)) != 0)
		return 0;
	careful = (mask & ~rest) != 0 || !isc_fault_caught();
	whole = l != NULL || Py_BytesMain == NULL;
	t->activations.n = 0;
	n = l != NULL ? walk(t, l, careful, &flags) : 0;
	if (n <= 0)
		t->activations.n = n = 0;
	REGISTERS_HERE(&context);
	if (!isc_sample_native_all() && (n > 0 || careful || !whole))
		REGISTERS_AT(&context, caller);
	t->whole = whole;
	n = isc_sample_merge(t, REGISTERS_KNOWN ? &context : NULL, n, careful, &flags);
	t->whole = false;
	if (n > 0)
		id = isc_sample_stack(t, l, n, ISC_STACK_ASIDE, careful, &flags);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	return id;
}

/* The few frames of Python that are asked for lie near each other: a walk without chains. */
#define GLUE_FRAMES 64

__attribute__((noinline)) void isc_rt_python_glue(const void *below)
{
	static isc_unwind look; /* under the interpreter's lock */
	uint64_t rest = ~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1)), mask;
	isc_sampled *t = isc_sampled_self;
	isc_unwind_start start;
	ucontext_t context;

	if (t == NULL || t->busy || !isc_sample_on() || !isc_sample_native_all() || !REGISTERS_KNOWN)
		return;
	if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, &rest, &mask, sizeof(mask)) != 0)
		return;
	REGISTERS_HERE(&context);
	start = isc_unwind_registers(&context);
	if ((mask & ~rest) == 0 && isc_fault_caught() && isc_sample_know_stack(t, start.sp) &&
	    sigsetjmp(t->fault.escape, 0) == 0) {
		look.low = start.sp & ~(uintptr_t)7;
		look.high = t->stack_high;
		look.key = NULL;
		look.anchor_count = 0;
		isc_fault_arm(&t->fault);
		isc_unwind_walk(&look, &start, GLUE_FRAMES);
		isc_sample_glue_learn(&look, (uintptr_t)below);
		isc_fault_disarm(&t->fault);
	}
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
}

/* ---- for _core --------------------------------------------------------- */

/* Reading outside of the handler, which must not come in between and use the same escape.  Under
 * the guard if there is one: asking the kernel may be forbidden. */
typedef struct aside {
	isc_reach reach;
	isc_fault none, *fault;
	uint64_t mask;
	int error;
} aside;

static void aside_begin(aside *a)
{
	/* Nor any other handler: a fault of its own would end up here. */
	uint64_t ours = ~(1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1));
	isc_sampled *t;

	a->error = errno;
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &ours, &a->mask, sizeof(ours));
	t = isc_sampled_self;
	a->reach = (isc_reach){.careful = t == NULL || !isc_fault_caught(), .pid = isc_kernel_pid()};
	a->fault = t != NULL ? &t->fault : &a->none;
}

static void aside_end(aside *a)
{
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &a->mask, NULL, sizeof(a->mask));
	errno = a->error;
}

int isc_rt_python_walk(const isc_python_layout *layout, isc_python_frame *frames, int max)
{
	volatile int n = -1;
	uint32_t flags = 0;
	aside a;

	if (layout == NULL || layout->size != sizeof(*layout))
		return -1;
	aside_begin(&a);
	if (sigsetjmp(a.fault->escape, 0) == 0) {
		isc_fault_arm(a.fault);
		n = isc_pywalk(layout, &a.reach, frames, max, NULL, &flags);
		isc_fault_disarm(a.fault);
		if (a.reach.failed || flags != 0)
			n = -1;
	}
	aside_end(&a);
	return n;
}

int isc_rt_python_name(const isc_python_layout *layout, const void *code, char *to, int room)
{
	char def[ISC_PYWALK_CODE_ROOM];
	isc_def_code head;
	volatile int len = -1;
	aside a;

	aside_begin(&a);
	if (sigsetjmp(a.fault->escape, 0) == 0) {
		isc_fault_arm(a.fault);
		isc_pywalk_code(layout, &a.reach, (uintptr_t)code, def, sizeof(def));
		isc_fault_disarm(a.fault);
		memcpy(&head, def, sizeof(head));
		if (!a.reach.failed && (int)head.name_len <= room) {
			len = (int)head.name_len;
			memcpy(to, def + sizeof(head), head.name_len);
		}
	}
	aside_end(&a);
	return len;
}

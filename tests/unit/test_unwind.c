/* unwind: .eh_frame is decoded, whatever it says, and walks find the frames that gcc's unwinder finds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "collect/unwind/cfi.h"
#include "collect/unwind/unwind.h"
#include "own_stack.h"

/* ---- made-up tables ---------------------------------------------------------- */

#define CODE 0x1000u /* where the function begins, from the header on */
#define SIZE 0x40u

typedef struct table {
	uint8_t bytes[512];
	size_t len;
} table;

static void put(table *t, const void *data, size_t n)
{
	memcpy(t->bytes + t->len, data, n);
	t->len += n;
}

static void put32(table *t, uint32_t v)
{
	put(t, &v, sizeof(v));
}

static void put_text(table *t, const char *bytes, size_t n)
{
	put(t, bytes, n);
	while (t->len % 4 != 0)
		put(t, "", 1);
}

/* A header with one entry, its common part with this augmentation, and these instructions. */
static table make(const char *augmentation, const char *first, size_t first_len, const char *code, size_t code_len)
{
	static const uint8_t head[] = {1, 0x1b, 0x03, 0x3b};
	table t = {.len = 0};
	size_t common, entry, n = strlen(augmentation);
	uint32_t length;

	put(&t, head, sizeof(head));
	put32(&t, 0);
	put32(&t, 1);
	put32(&t, CODE);
	put32(&t, 0);
	common = t.len;
	put32(&t, 0);
	put32(&t, 0);
	put(&t, "\1", 1);
	put(&t, augmentation, n + 1);
	put(&t, "\1\x78\x10", 3); /* units 1 and -8, return address in 16 */
	if (n > 0)
		put(&t, "\1\x1b", 2);
	put_text(&t, first, first_len);
	length = (uint32_t)(t.len - common - 4);
	memcpy(t.bytes + common, &length, 4);
	entry = t.len;
	put32(&t, 0);
	put32(&t, (uint32_t)(entry + 4 - common));
	put32(&t, 0);
	put32(&t, SIZE);
	if (n > 0)
		put(&t, "", 1);
	put_text(&t, code, code_len);
	length = (uint32_t)(t.len - entry - 4);
	memcpy(t.bytes + entry, &length, 4);
	length = (uint32_t)entry;
	memcpy(t.bytes + 16, &length, 4);
	return t;
}

#define MAKE(augmentation, first, code) make(augmentation, first, sizeof(first) - 1, code, sizeof(code) - 1)

static isc_cfi_rule at(const table *t, uint32_t offset)
{
	uintptr_t start = (uintptr_t)t->bytes;
	isc_cfi_image image = {start, start + t->len, start};
	isc_cfi_entry entry = {0};

	return isc_cfi_at(&image, start + CODE + offset, &entry);
}

#define COMMON "\x0c\x07\x08\x90\x01" /* cfa = rsp + 8, return address at cfa - 8 */

static void a_frame_grows_with_its_pushes(void **state)
{
	/* push rbp; mov rbp, rsp; ...; leave */
	table t = MAKE("zR", COMMON, "\x41\x0e\x10\x86\x02\x43\x0d\x06\x02\x20\x0c\x07\x08");

	(void)state;
	assert_int_equal(at(&t, 0).kind, ISC_CFI_RULE);
	assert_int_equal(at(&t, 0).base, ISC_CFI_SP);
	assert_int_equal(at(&t, 0).cfa, 8);
	assert_int_equal(at(&t, 0).bp, 0);
	assert_int_equal(at(&t, 1).cfa, 16);
	assert_int_equal(at(&t, 3).bp, -16);
	assert_int_equal(at(&t, 3).base, ISC_CFI_SP);
	assert_int_equal(at(&t, 4).base, ISC_CFI_BP);
	assert_int_equal(at(&t, 0x24).base, ISC_CFI_SP);
	assert_int_equal(at(&t, 0x24).cfa, 8);
	assert_int_equal(at(&t, SIZE - 1).kind, ISC_CFI_RULE);
	/* The byte behind a function is not its own. */
	assert_int_equal(at(&t, SIZE).kind, ISC_CFI_NONE);
	assert_int_equal(at(&t, (uint32_t)-1).kind, ISC_CFI_NONE);
}

static void states_are_remembered_and_restored(void **state)
{
	table t = MAKE("zR", COMMON, "\x41\x0e\x20\x0a\x41\x0e\x08\x41\x0b");
	table none = MAKE("zR", COMMON, "\x41\x0b");

	(void)state;
	assert_int_equal(at(&t, 1).cfa, 32);
	assert_int_equal(at(&t, 2).cfa, 8);
	assert_int_equal(at(&t, 3).cfa, 32);
	assert_int_equal(at(&none, 2).kind, ISC_CFI_UNKNOWN);
}

static void expressions_of_stubs_and_realigned_frames_are_known(void **state)
{
	table stub = MAKE("zR", COMMON, "\x0f\x0b\x77\x08\x80\x00\x3f\x1a\x3b\x2a\x33\x24\x22");
	table realigned = MAKE("zR", COMMON, "\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00");
	table other = MAKE("zR", COMMON, "\x0f\x03\x73\x78\x06");

	(void)state;
	assert_int_equal(at(&stub, 0).base, ISC_CFI_PLT);
	assert_int_equal(at(&stub, 0).cfa, 11);
	assert_int_equal(at(&realigned, 0).base, ISC_CFI_AT_BP);
	assert_int_equal(at(&realigned, 0).cfa, -8);
	assert_int_equal(at(&realigned, 0).kind, ISC_CFI_RULE_BP);
	assert_int_equal(at(&other, 0).kind, ISC_CFI_UNKNOWN);
}

static void bottoms_and_signal_frames_are_told(void **state)
{
	table bottom = MAKE("zR", COMMON, "\x07\x10");
	table signals = MAKE("zRS", COMMON, "\x0f\x03\x77\xa0\x01");
	table strange = MAKE("zR", COMMON, "\x3f");

	(void)state;
	assert_int_equal(at(&bottom, 0).kind, ISC_CFI_BOTTOM);
	assert_int_equal(at(&signals, 0).kind, ISC_CFI_SIGNAL);
	assert_int_equal(at(&strange, 0).kind, ISC_CFI_UNKNOWN);
}

static void an_entry_that_is_known_is_not_searched_for(void **state)
{
	table t = MAKE("zR", COMMON, "\x41\x0e\x10\x86\x02\x43\x0d\x06"), blind;
	uintptr_t start = (uintptr_t)t.bytes;
	isc_cfi_image image = {start, start + t.len, start};
	isc_cfi_entry entry = {0}, none = {0};

	(void)state;
	assert_int_equal(isc_cfi_at(&image, start + CODE, &entry).cfa, 8);
	assert_int_equal(entry.first - start, CODE);
	assert_int_equal(entry.past - start, CODE + SIZE);
	/* The table that is searched says nothing any more: what was found in it is still there. */
	blind = t;
	memset(t.bytes + 8, 0, 4);
	assert_int_equal(isc_cfi_at(&image, start + CODE + 1, &none).kind, ISC_CFI_NONE);
	for (uint32_t ip = 0; ip < SIZE; ip++) {
		isc_cfi_rule r = isc_cfi_at(&image, start + CODE + ip, &entry), same = at(&blind, ip);

		assert_memory_equal(&r, &same, sizeof(r));
		assert_int_equal(entry.first - start, CODE);
	}
	assert_int_equal(isc_cfi_at(&image, start + CODE + SIZE, &entry).kind, ISC_CFI_NONE);
	assert_int_equal(entry.past, 0);
}

static void instructions_with_the_same_rule_are_told_together(void **state)
{
	table t = MAKE("zR", COMMON, "\x41\x0e\x10\x86\x02\x43\x0d\x06");
	uintptr_t start = (uintptr_t)t.bytes + CODE;
	isc_cfi_image image = {start - CODE, start - CODE + t.len, start - CODE};
	const uintptr_t rows[] = {0, 1, 4, SIZE}; /* where the rule changes, by the text above */

	(void)state;
	for (uint32_t ip = 0; ip < SIZE; ip++) {
		int row = ip < rows[1] ? 0 : ip < rows[2] ? 1 : 2;
		isc_cfi_entry entry = {0};

		isc_cfi_at(&image, start + ip, &entry);
		assert_int_equal(entry.row_first - start, rows[row]);
		assert_int_equal(entry.row_past - start, rows[row + 1]);
	}
}

/* Under the address sanitizer: not a byte outside is touched. */
static void damaged_tables_are_read_no_further(void **state)
{
	table t =
		MAKE("zR", COMMON, "\x41\x0e\x10\x86\x02\x0a\x43\x0d\x06\x0f\x03\x76\x78\x06\x10\x06\x02\x76\x00\x0b");
	uint64_t random = 88172645463325252ull;

	(void)state;
	for (size_t len = 0; len <= t.len; len++) {
		uint8_t *cut = malloc(len + 1);
		isc_cfi_entry entry = {0};
		isc_cfi_image image = {(uintptr_t)cut, (uintptr_t)cut + len, (uintptr_t)cut};

		memcpy(cut, t.bytes, len);
		for (uint32_t ip = 0; ip < SIZE; ip += 3)
			isc_cfi_at(&image, image.start + CODE + ip, &entry);
		free(cut);
	}
	for (int round = 0; round < 200000; round++) {
		table damaged = t;
		uint8_t *copy;
		isc_cfi_entry entry = {0};
		isc_cfi_image image;

		for (int k = 0; k < 3; k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			damaged.bytes[random % t.len] = (uint8_t)(random >> 32);
		}
		copy = malloc(t.len);
		memcpy(copy, damaged.bytes, t.len);
		image = (isc_cfi_image){(uintptr_t)copy, (uintptr_t)copy + t.len, (uintptr_t)copy};
		isc_cfi_at(&image, image.start + CODE + random % SIZE, &entry);
		free(copy);
	}
}

/* The address sanitizer forbids to read other frames, and has its own backtrace(). */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REAL_STACKS 0
#else
#define REAL_STACKS 1
#endif

#if REAL_STACKS

/* ---- real stacks ----------------------------------------------------------------- */

static isc_unwind walked;
static int frames_compared;

/* Our frames from the second on are gcc's. */
static void __attribute__((noinline)) compare(void)
{
	void *theirs[128];
	ucontext_t here;
	isc_unwind_start start;
	int n;

	getcontext(&here);
	n = backtrace(theirs, 128);
	start = isc_unwind_registers(&here);
	own_stack(&walked, start.sp);
	isc_unwind_walk(&walked, &start, ISC_UNWIND_FRAMES);
	assert_int_equal(walked.end, ISC_UNWIND_BOTTOM);
	/* A thread's first frame has no caller: gcc's may end one before it. */
	assert_in_range(walked.n, n, n + 1);
	for (int i = 1; i < n; i++)
		assert_ptr_equal((void *)walked.frame[i].ip, theirs[i]);
	frames_compared += n;
}

static int by_value(const void *a, const void *b)
{
	static int times;

	if (times++ < 3)
		compare();
	return *(const int *)a - *(const int *)b;
}

/* With its own alignment, and room that is not known when it is compiled. */
static void __attribute__((noinline)) realigned(size_t n)
{
	_Alignas(64) volatile char line[64];
	volatile char *room = __builtin_alloca(n);

	line[0] = room[0] = 1;
	compare();
	room[n - 1] = line[0];
}

static void __attribute__((noinline)) deep(int n)
{
	volatile int keep = n;

	if (n > 0)
		deep(n - 1);
	else
		compare();
	keep++;
}

static void frames_are_those_that_gcc_finds(void **state)
{
	int values[] = {5, 2, 9, 1};

	(void)state;
	assert_true(isc_unwind_begin());
	compare();
	deep(40);
	realigned(100);
	qsort(values, 4, sizeof(values[0]), by_value);
	assert_true(frames_compared > 40);
}

static void *on_thread(void *arg)
{
	(void)arg;
	deep(10);
	return NULL;
}

static void a_thread_ends_at_its_bottom(void **state)
{
	pthread_t thread;

	(void)state;
	assert_true(isc_unwind_begin());
	assert_int_equal(pthread_create(&thread, NULL, on_thread, NULL), 0);
	pthread_join(thread, NULL);
}

static void on_signal(int number)
{
	(void)number;
	compare();
}

static void a_handler_s_frames_lead_to_what_it_interrupted(void **state)
{
	(void)state;
	assert_true(isc_unwind_begin());
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	signal(SIGUSR1, SIG_DFL);
}

/* What compilers say of the end of a function: rsp is followed, rbp stays where it was saved. */
__asm__(".text\n"
	".type popped, @function\n"
	"popped:\n"
	".cfi_startproc\n"
	"push %rbp\n"
	".cfi_def_cfa_offset 16\n"
	".cfi_offset 6, -16\n"
	"xor %ebp, %ebp\n"
	"pop %rbp\n"
	".cfi_def_cfa_offset 8\n"
	"int3\n"
	"ret\n"
	".cfi_endproc\n"
	".size popped, . - popped\n");
void popped(void);

static void on_trap(int number, siginfo_t *info, void *context)
{
	isc_unwind_start start = isc_unwind_registers(context);

	(void)number;
	(void)info;
	own_stack(&walked, start.sp);
	isc_unwind_walk(&walked, &start, ISC_UNWIND_FRAMES);
}

static void __attribute__((noinline)) calls_popped(size_t n)
{
	volatile char *room = __builtin_alloca(n); /* needs rbp to find its frame */

	room[0] = 1;
	popped();
	room[n - 1] = 1;
}

static void a_register_that_was_popped_is_not_looked_for_on_the_stack(void **state)
{
	struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO}, old;
	uintptr_t first, past;

	(void)state;
	assert_true(isc_unwind_begin());
	sigaction(SIGTRAP, &action, &old);
	calls_popped(100);
	sigaction(SIGTRAP, &old, NULL);
	assert_int_equal(walked.end, ISC_UNWIND_BOTTOM);
	for (int i = 0; i < walked.n; i++)
		assert_false(walked.frame[i].flags & ISC_NATIVE_GUESSED);
	assert_true(isc_unwind_function(&walked, (uintptr_t)calls_popped, &first, &past));
	assert_in_range(walked.frame[1].ip, first, past);
	assert_true(isc_unwind_function(&walked, (uintptr_t)a_register_that_was_popped_is_not_looked_for_on_the_stack,
					&first, &past));
	assert_in_range(walked.frame[2].ip, first, past);
}

static void the_leaf_alone_asks_for_one_frame(void **state)
{
	ucontext_t here;
	isc_unwind_start start;

	(void)state;
	assert_true(isc_unwind_begin());
	getcontext(&here);
	start = isc_unwind_registers(&here);
	own_stack(&walked, start.sp);
	isc_unwind_walk(&walked, &start, 1);
	assert_int_equal(walked.n, 1);
	assert_ptr_equal((void *)walked.frame[0].ip, (void *)start.ip);
	assert_true(walked.frame[0].cfa > walked.frame[0].sp);
}

/* ---- code without tables ------------------------------------------------------------ */

typedef void enter(void (*call)(void));

/* Made at run time: keeps the old rsp in rbx, takes 4 KiB of the stack, calls. */
static enter *make_code(void)
{
	static const uint8_t code[] = {0x53,				/* push rbx */
				       0x48, 0x89, 0xe3,		/* mov rbx, rsp */
				       0x48, 0x81, 0xec, 0, 0x10, 0, 0, /* sub rsp, 4096 */
				       0xff, 0xd7,			/* call rdi */
				       0x48, 0x89, 0xdc,		/* mov rsp, rbx */
				       0x5b, 0xc3};			/* pop rbx; ret */
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(page, MAP_FAILED);
	memcpy(page, code, sizeof(code));
	return (enter *)page;
}

static void __attribute__((noinline)) look_through(void)
{
	ucontext_t here;
	isc_unwind_start start;

	getcontext(&here);
	start = isc_unwind_registers(&here);
	own_stack(&walked, start.sp);
	isc_unwind_walk(&walked, &start, ISC_UNWIND_FRAMES);
}

static void __attribute__((noinline)) call_through(enter *code)
{
	code(look_through);
	__asm__ volatile("" ::: "memory");
}

static void *on_fresh_stack(void *code)
{
	call_through((enter *)code);
	return NULL;
}

/* On a stack on which nothing was left before: old return addresses would do as well. */
static void code_without_tables_is_passed_by_a_guess_that_says_so(void **state)
{
	uintptr_t first, past;
	size_t size = 256u << 10;
	void *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool passed = false;
	pthread_attr_t attr;
	pthread_t thread;

	(void)state;
	assert_true(isc_unwind_begin());
	assert_ptr_not_equal(stack, MAP_FAILED);
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, size);
	assert_int_equal(pthread_create(&thread, &attr, on_fresh_stack, (void *)make_code()), 0);
	pthread_attr_destroy(&attr);
	pthread_join(thread, NULL);
	assert_int_equal(walked.end, ISC_UNWIND_BOTTOM);
	assert_true(isc_unwind_function(&walked, (uintptr_t)call_through, &first, &past));
	for (int i = 0; i < walked.n; i++) {
		uintptr_t ip = walked.frame[i].ip;

		if (ip >= first && ip < past)
			passed = (walked.frame[i].flags & ISC_NATIVE_GUESSED) != 0;
	}
	assert_true(passed);
}

/* A stack that does not hold together: every word of it is looked at, at most so many times. */
static void garbage_ends(void **state)
{
	static uintptr_t garbage[8192];
	isc_unwind_start start = {.ip = (uintptr_t)garbage_ends + 20, .sp = (uintptr_t)garbage, .bp = 0x1234};
	uint64_t random = 88172645463325252ull;

	(void)state;
	assert_true(isc_unwind_begin());
	for (int round = 0; round < 200; round++) {
		for (size_t i = 0; i < 8192; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			garbage[i] = i % 3 == 0	  ? (uintptr_t)compare + random % 400
				     : i % 3 == 1 ? (uintptr_t)garbage + random % sizeof(garbage)
						  : random;
		}
		memset(&walked, 0, offsetof(isc_unwind, frame));
		walked.low = start.sp;
		walked.high = start.sp + sizeof(garbage);
		isc_unwind_walk(&walked, &start, ISC_UNWIND_FRAMES);
		assert_true(walked.n <= ISC_UNWIND_FRAMES);
		for (int i = 0; i < walked.n; i++)
			assert_true(walked.frame[i].cfa <= walked.high);
	}
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_grows_with_its_pushes),
		cmocka_unit_test(states_are_remembered_and_restored),
		cmocka_unit_test(expressions_of_stubs_and_realigned_frames_are_known),
		cmocka_unit_test(bottoms_and_signal_frames_are_told),
		cmocka_unit_test(an_entry_that_is_known_is_not_searched_for),
		cmocka_unit_test(instructions_with_the_same_rule_are_told_together),
		cmocka_unit_test(damaged_tables_are_read_no_further),
#if REAL_STACKS
		cmocka_unit_test(frames_are_those_that_gcc_finds),
		cmocka_unit_test(a_thread_ends_at_its_bottom),
		cmocka_unit_test(a_handler_s_frames_lead_to_what_it_interrupted),
		cmocka_unit_test(a_register_that_was_popped_is_not_looked_for_on_the_stack),
		cmocka_unit_test(the_leaf_alone_asks_for_one_frame),
		cmocka_unit_test(code_without_tables_is_passed_by_a_guess_that_says_so),
		cmocka_unit_test(garbage_ends),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

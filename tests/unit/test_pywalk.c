/* pywalk: frames of made-up interpreters, whole, half made and broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/sample/pywalk.h"

typedef struct object {
	uint64_t references;
	const void *type;
	int64_t size;
} object;

typedef struct text { /* a compact string */
	object head;
	int64_t length;
	uint32_t state;
	uint32_t pad;
	char ascii[8];
	char wide[64];
} text;

enum { COMPACT = 1, ASCII = 2, KIND = 28, KIND_SHIFT = 2 };

typedef struct code {
	object head;
	int32_t flags, line;
	text *name, *file, *lines;
	uint16_t instructions[8];
} code;

typedef struct frame {
	code *code;
	struct frame *previous;
	void *instruction;
	uint8_t mark;
} frame;

typedef struct activation {
	frame *current;
	struct activation *previous;
} activation;

typedef struct state {
	void *newest;
	activation root;
} state;

static const int code_type = 1;
static state thread;
static text name = {.state = COMPACT | ASCII, .length = 4, .ascii = "work"};
static code codes[4];

static void *thread_state(void)
{
	return &thread;
}

static isc_python_layout layout_of(enum isc_python_chain chain)
{
	return (isc_python_layout){
		.size = sizeof(isc_python_layout),
		.version = 0x030b,
		.chain = chain,
		.thread_state = thread_state,
		.code_type = &code_type,
		.object_type = offsetof(object, type),
		.object_size = offsetof(object, size),
		.ts_frame = offsetof(state, newest),
		.ts_root = offsetof(state, root),
		.activation_frame = offsetof(activation, current),
		.activation_previous = offsetof(activation, previous),
		.frame_code = offsetof(frame, code),
		.frame_previous = offsetof(frame, previous),
		.frame_instruction = offsetof(frame, instruction),
		.frame_mark = offsetof(frame, mark),
		.frame_mark_value = 3,
		.code_name = offsetof(code, name),
		.code_qualified = offsetof(code, name),
		.code_file = offsetof(code, file),
		.code_line = offsetof(code, line),
		.code_flags = offsetof(code, flags),
		.code_lines = offsetof(code, lines),
		.code_start = offsetof(code, instructions),
		.bytes_data = offsetof(text, ascii),
		.str_length = offsetof(text, length),
		.str_state = offsetof(text, state),
		.str_ascii = offsetof(text, ascii),
		.str_compact = offsetof(text, wide),
		.str_is_compact = COMPACT,
		.str_is_ascii = ASCII,
		.str_kind = KIND,
		.str_kind_shift = KIND_SHIFT,
	};
}

static int make_codes(void **unused)
{
	(void)unused;
	memset(&thread, 0, sizeof(thread));
	memset(codes, 0, sizeof(codes));
	for (int i = 0; i < 4; i++)
		codes[i] = (code){
			.head = {1, &code_type, 8}, .line = 10 * i, .name = &name, .file = &name, .lines = &name};
	return 0;
}

static frame frame_of(code *c, frame *previous, uint8_t mark)
{
	return (frame){c, previous, c != NULL ? (void *)&c->instructions[2] : NULL, mark};
}

static int walk(enum isc_python_chain chain, isc_python_frame *found, int max, uint32_t *flags)
{
	isc_python_layout l = layout_of(chain);
	isc_reach r = {0};

	*flags = 0;
	return isc_pywalk(&l, &r, found, max, NULL, flags);
}

static void frames_come_newest_first_with_their_offsets(void **unused)
{
	frame shim = frame_of(NULL, NULL, 3), a = frame_of(&codes[0], &shim, 0), b = frame_of(&codes[1], &a, 0);
	isc_python_frame found[8];
	uint32_t flags;

	(void)unused;
	thread.newest = &b;
	assert_int_equal(walk(ISC_PYTHON_CURRENT, found, 8, &flags), 2);
	assert_true(found[0].code == (uintptr_t)&codes[1] && found[1].code == (uintptr_t)&codes[0]);
	assert_true(found[0].offset == 4 && flags == 0);
	a.instruction = (char *)codes[0].instructions - 2;
	assert_int_equal(walk(ISC_PYTHON_CURRENT, found, 8, &flags), 2);
	assert_true(found[1].offset == ISC_STACK_NOT_BEGUN);
	assert_int_equal(walk(ISC_PYTHON_CURRENT, found, 1, &flags), 1);
	assert_int_equal(flags, ISC_SAMPLE_CUT);
}

static void what_is_no_code_is_passed_over(void **unused)
{
	code odd = codes[2];
	frame a = frame_of(&codes[0], NULL, 0), b = frame_of(&odd, &a, 0), c = frame_of(&codes[1], &b, 0);
	isc_python_frame found[8];
	uint32_t flags;

	(void)unused;
	odd.head.type = &thread;
	thread.newest = &c;
	assert_int_equal(walk(ISC_PYTHON_CURRENT, found, 8, &flags), 2);
	assert_int_equal(flags, ISC_SAMPLE_PASSED);
	/* A code object without a name calls __init__() and is nobody's function. */
	odd.head.type = &code_type;
	odd.name = NULL;
	assert_int_equal(walk(ISC_PYTHON_CURRENT, found, 8, &flags), 2);
	assert_int_equal(flags, 0);
}

static void a_chain_that_goes_round_ends(void **unused)
{
	frame a = frame_of(&codes[0], NULL, 0), b = frame_of(&codes[1], &a, 0);
	frame s = frame_of(NULL, NULL, 3);
	isc_python_frame found[ISC_STACK_FRAMES_MAX];
	uint32_t flags;

	(void)unused;
	a.previous = &b;
	thread.newest = &b;
	assert_int_equal(walk(ISC_PYTHON_CURRENT, found, ISC_STACK_FRAMES_MAX, &flags), 0);
	assert_int_equal(flags, ISC_SAMPLE_FAULT);
	/* Of frames that are not even kept. */
	s.previous = &s;
	thread.newest = &s;
	assert_int_equal(walk(ISC_PYTHON_CURRENT, found, ISC_STACK_FRAMES_MAX, &flags), 0);
	a.previous = (frame *)8;
	thread.newest = &b;
	assert_int_equal(walk(ISC_PYTHON_CURRENT, found, ISC_STACK_FRAMES_MAX, &flags), 0);
}

/* Two activations: root <- outer (a) <- inner (b, c), each ended by a frame of its own. */
struct stack {
	activation outer, inner;
	frame outer_end, inner_end, a, b, c;
};

static void make_stack(struct stack *s, enum isc_python_chain chain)
{
	bool shims = chain == ISC_PYTHON_SHIMS;

	s->outer = (activation){&s->a, &thread.root};
	s->inner = (activation){&s->c, &s->outer};
	s->outer_end = frame_of(NULL, NULL, 3);
	s->inner_end = frame_of(NULL, &s->a, 3);
	s->a = frame_of(&codes[0], shims ? &s->outer_end : NULL, shims ? 0 : 3);
	s->b = frame_of(&codes[1], shims ? &s->inner_end : &s->a, shims ? 0 : 3);
	s->c = frame_of(&codes[2], &s->b, 0);
	thread.newest = &s->inner;
}

static void activations_are_walked_and_the_newest_is_believed_only_when_whole(void **unused)
{
	const enum isc_python_chain chains[] = {ISC_PYTHON_ENTRIES, ISC_PYTHON_SHIMS};
	isc_python_frame found[8];
	uint32_t flags;

	(void)unused;
	for (int i = 0; i < 2; i++) {
		frame stale = frame_of(&codes[3], NULL, 0);
		struct stack s;

		make_stack(&s, chains[i]);
		assert_int_equal(walk(chains[i], found, 8, &flags), 3);
		assert_true(found[2].code == (uintptr_t)&codes[0] && flags == 0);
		/* What an earlier call left there: a frame that leads nowhere, */
		s.inner.current = &stale;
		assert_int_equal(walk(chains[i], found, 8, &flags), 1);
		assert_true(found[0].code == (uintptr_t)&codes[0] && flags == ISC_SAMPLE_EDGE);
		/* one that leads into itself, */
		stale.previous = &stale;
		assert_int_equal(walk(chains[i], found, 8, &flags), 1);
		assert_int_equal(flags, ISC_SAMPLE_EDGE);
		/* one whose end is that of another call, */
		make_stack(&s, chains[i]);
		(chains[i] == ISC_PYTHON_SHIMS ? &s.inner_end : &s.b)->previous = &stale;
		assert_int_equal(walk(chains[i], found, 8, &flags), 1);
		assert_int_equal(flags, ISC_SAMPLE_EDGE);
		/* and something that is no pointer. */
		s.inner.current = (frame *)0x1234567;
		assert_int_equal(walk(chains[i], found, 8, &flags), 1);
		/* Activations that go round. */
		make_stack(&s, chains[i]);
		s.outer.previous = &s.inner;
		assert_true(walk(chains[i], found, 8, &flags) <= 8);
		assert_true((flags & ISC_SAMPLE_CUT) != 0);
	}
}

static void names_are_utf_8_whatever_they_are_kept_as(void **unused)
{
	static const struct {
		uint32_t width;
		uint32_t characters[4];
		const char *says;
	} cases[] = {
		{1, {'c', 0xe9}, "c\xc3\xa9"},
		{2, {0x20ac, 'x'}, "\xe2\x82\xacx"},
		{2, {0xdc80, 'x'}, "\\udc80x"},
		{4, {0x1f600, 0x7ff}, "\xf0\x9f\x98\x80\xdf\xbf"},
	};
	isc_python_layout l = layout_of(ISC_PYTHON_CURRENT);
	char def[ISC_PYWALK_CODE_ROOM];
	isc_def_code head;
	isc_reach r = {0};

	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		text t = {.state = COMPACT | cases[i].width << KIND_SHIFT, .length = 2};
		size_t len;

		for (size_t k = 0; k < 2; k++)
			memcpy(t.wide + k * cases[i].width, &cases[i].characters[k], cases[i].width);
		codes[0].name = &t;
		len = isc_pywalk_code(&l, &r, (uintptr_t)&codes[0], def, sizeof(def));
		memcpy(&head, def, sizeof(head));
		assert_int_equal(head.name_len, strlen(cases[i].says));
		assert_memory_equal(def + sizeof(head), cases[i].says, head.name_len);
		assert_memory_equal(def + sizeof(head) + head.name_len, "work", 4);
		assert_int_equal(len, sizeof(head) + head.name_len + 4);
		/* Neither a length nor a kind is believed. */
		t.length = INT64_MAX;
		t.state = COMPACT | 3u << KIND_SHIFT;
		isc_pywalk_code(&l, &r, (uintptr_t)&codes[0], def, sizeof(def));
		memcpy(&head, def, sizeof(head));
		assert_true(head.name_len == 1 && def[sizeof(head)] == '?');
	}
}

static void a_careful_reader_survives_what_is_not_there(void **unused)
{
	isc_python_layout l = layout_of(ISC_PYTHON_CURRENT);
	isc_reach r = {.careful = true, .pid = (uint32_t)getpid()};
	char *gone = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	frame a = frame_of((code *)(void *)gone, NULL, 0);
	isc_python_frame found[8];
	uint32_t flags = 0;

	(void)unused;
	thread.newest = &a;
	assert_int_equal(isc_pywalk(&l, &r, found, 8, NULL, &flags), 0);
	assert_true(r.failed);
	a = frame_of(&codes[0], NULL, 0);
	r.failed = false;
	assert_int_equal(isc_pywalk(&l, &r, found, 8, NULL, &flags), 1);
	assert_false(r.failed);
	munmap(gone, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frames_come_newest_first_with_their_offsets, make_codes),
		cmocka_unit_test_setup(what_is_no_code_is_passed_over, make_codes),
		cmocka_unit_test_setup(a_chain_that_goes_round_ends, make_codes),
		cmocka_unit_test_setup(activations_are_walked_and_the_newest_is_believed_only_when_whole, make_codes),
		cmocka_unit_test_setup(names_are_utf_8_whatever_they_are_kept_as, make_codes),
		cmocka_unit_test_setup(a_careful_reader_survives_what_is_not_there, make_codes),
	};

	return cmocka_run_group_tests_name("pywalk", tests, NULL, NULL);
}

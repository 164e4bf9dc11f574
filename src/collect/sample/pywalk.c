#include "collect/sample/pywalk.h"

#include <sys/uio.h>

#include "runtime/kernel.h"

/* The interpreter stores the newest activation into the thread state before it
 * has filled it, on 3.11 and 3.12: what is in it then was left there by an
 * earlier call.  Its frames are believed only if they end where the activation
 * before it says. */
#define SHIM_REACH 4096u /* from an activation to its last frame, both in one C frame */
#define OFFSET_MAX (1u << 28)
#define UNKEPT_MAX 16384u /* frames past those that are kept, on the way to the last one */

bool isc_reach_carefully(isc_reach *r, uintptr_t at, void *to, size_t len)
{
	struct iovec here = {to, len}, there = {(void *)at, len};

	if (syscall(SYS_process_vm_readv, r->pid, &here, 1ul, &there, 1ul, 0ul) == (long)len)
		return true;
	memset(to, 0, len);
	r->failed = true;
	return false;
}

static inline uintptr_t word(isc_reach *r, uintptr_t at)
{
	uintptr_t value = 0;

	isc_reach_bytes(r, at, &value, sizeof(value));
	return value;
}

static inline uint32_t half(isc_reach *r, uintptr_t at)
{
	uint32_t value = 0;

	isc_reach_bytes(r, at, &value, sizeof(value));
	return value;
}

/* Pointers to objects are aligned and not small: what is not one is not followed. */
static inline bool plausible(uintptr_t at)
{
	return at >= 4096 && (at & 7) == 0 && at < (uintptr_t)1 << 56;
}

static inline bool is_code(const isc_python_layout *l, isc_reach *r, uintptr_t at)
{
	return plausible(at) && word(r, at + l->object_type) == (uintptr_t)l->code_type;
}

static uint32_t offset_of(const isc_python_layout *l, isc_reach *r, uintptr_t frame, uintptr_t code)
{
	uint64_t offset;

	if (l->unit != 0) {
		int32_t last = (int32_t)half(r, frame + l->frame_instruction);

		return last < 0 || (uint32_t)last > OFFSET_MAX ? ISC_STACK_NOT_BEGUN : (uint32_t)last * l->unit;
	}
	offset = word(r, frame + l->frame_instruction) - (code + l->code_start);
	return offset > OFFSET_MAX ? ISC_STACK_NOT_BEGUN : (uint32_t)offset;
}

static inline bool is_marked(const isc_python_layout *l, isc_reach *r, uintptr_t frame)
{
	uint8_t mark = 0;

	isc_reach_bytes(r, frame + l->frame_mark, &mark, 1);
	return mark == l->frame_mark_value;
}

/* Where a walk stands. */
struct python_walk {
	const isc_python_layout *l;
	isc_reach *r;
	isc_python_frame *frames;
	int max, n;
	uint32_t flags;
	isc_activations *activations;
};

/* All frames since the last one belong to the activation around this address. */
static inline void end_activation(struct python_walk *w, uintptr_t anchor, uintptr_t newest)
{
	isc_activations *a = w->activations;

	if (a != NULL && a->n < (int)ISC_STACK_FRAMES_MAX)
		a->at[a->n++] = (isc_python_activation){.anchor = anchor, .frame = newest, .end = (uint32_t)w->n};
}

static inline void keep(struct python_walk *w, uintptr_t frame)
{
	uintptr_t code = word(w->r, frame + w->l->frame_code);

	if (!is_code(w->l, w->r, code)) {
		w->flags |= ISC_SAMPLE_PASSED;
		return;
	}
	/* From 3.12 on __init__() is called through a code object without a name. */
	if (word(w->r, code + w->l->code_name) == 0)
		return;
	w->frames[w->n].code = code;
	w->frames[w->n].offset = offset_of(w->l, w->r, frame, code);
	w->n++;
}

/* Frames are not kept any more, but where on the C stack they are is still asked for. */
static void end_unkept(struct python_walk *w, uintptr_t frame, uintptr_t activation)
{
	const isc_python_layout *l = w->l;

	if (w->activations == NULL)
		return;
	for (uint32_t steps = 0; steps < UNKEPT_MAX && plausible(frame); steps++) {
		if (is_marked(l, w->r, frame)) {
			end_activation(w, l->chain != ISC_PYTHON_ENTRIES ? frame : activation, 0);
			return;
		}
		frame = word(w->r, frame + l->frame_previous);
	}
}

/*
 * One activation, or all of them when end is 0 and frames on the C stack are
 * nothing special.  Keeps frames up to its last one; false: that is not where it
 * should be, or the chain goes round.
 */
static bool keep_activation(struct python_walk *w, uintptr_t *frame, uintptr_t activation, uintptr_t end)
{
	const isc_python_layout *l = w->l;
	bool shims = l->chain != ISC_PYTHON_ENTRIES;
	uintptr_t f = *frame, newest = f, mark = 0;

	for (uint32_t steps = 0, lap = 1; f != 0; steps++) {
		bool last;

		if (w->n == w->max) {
			w->flags |= ISC_SAMPLE_CUT;
			end_unkept(w, f, activation);
			*frame = 0;
			return true;
		}
		if (!plausible(f) || f == mark || steps > 2 * ISC_STACK_FRAMES_MAX)
			return false;
		if (steps == lap) {
			mark = f;
			lap *= 2;
		}
		last = is_marked(l, w->r, f);
		if (!last || !shims)
			keep(w, f);
		if (last && activation != 0) {
			*frame = word(w->r, f + l->frame_previous);
			if (*frame != end || (shims && f - activation + SHIM_REACH >= 2 * SHIM_REACH))
				return false;
			end_activation(w, shims ? f : activation, newest);
			return true;
		}
		if (last && shims) {
			end_activation(w, f, newest);
			newest = word(w->r, f + l->frame_previous);
		}
		f = word(w->r, f + l->frame_previous);
	}
	*frame = 0;
	return activation == 0; /* else it has no last frame */
}

/* 3.11 and 3.12. */
static void walk_activations(struct python_walk *w, uintptr_t ts)
{
	const isc_python_layout *l = w->l;
	uintptr_t a = word(w->r, ts + l->ts_frame), root = ts + l->ts_root;

	for (uint32_t steps = 0; a != root && a != 0; steps++) {
		uintptr_t previous, frame, end;
		int n = w->n;

		if (!plausible(a) || steps > ISC_STACK_FRAMES_MAX) {
			w->flags |= ISC_SAMPLE_CUT;
			return;
		}
		previous = word(w->r, a + l->activation_previous);
		frame = word(w->r, a + l->activation_frame);
		end = plausible(previous) ? word(w->r, previous + l->activation_frame) : 0;
		if (!keep_activation(w, &frame, a, end)) {
			w->n = n;
			/* Below the newest every activation is whole. */
			w->flags |= steps == 0 ? ISC_SAMPLE_EDGE : ISC_SAMPLE_CUT;
			if (steps != 0)
				return;
		}
		if (w->flags & ISC_SAMPLE_CUT)
			return;
		a = previous;
	}
}

/* 3.10: an activation for each frame, which does not say whose it is: they are counted from the
 * root, as on entry there is one more and on exit one less. */
static void walk_counted(struct python_walk *w, uintptr_t ts)
{
	const isc_python_layout *l = w->l;
	isc_activations *list = w->activations;
	uintptr_t a, root = ts + l->ts_root;
	int more;

	if (list == NULL || l->ts_activation == ISC_PYTHON_NONE)
		return;
	a = word(w->r, ts + l->ts_activation);
	while (a != root && plausible(a) && list->n < (int)ISC_STACK_FRAMES_MAX) {
		list->at[list->n++].anchor = a;
		a = word(w->r, a + l->activation_previous);
	}
	more = list->n - w->n;
	if (a != root || more < -1 || more > 1) {
		list->n = 0;
		return;
	}
	for (int i = 0; i < list->n; i++) {
		int end = i + 1 - more;

		list->at[i].end = (uint32_t)(end > 0 ? end : 0);
	}
}

/* 3.9 and 3.10. */
static void walk_objects(struct python_walk *w, uintptr_t ts)
{
	uintptr_t f = word(w->r, ts + w->l->ts_frame);

	for (uint32_t steps = 0; f != 0; steps++) {
		if (w->n == w->max || !plausible(f) || steps > 2 * ISC_STACK_FRAMES_MAX) {
			w->flags |= ISC_SAMPLE_CUT;
			return;
		}
		keep(w, f);
		f = word(w->r, f + w->l->frame_previous);
	}
	walk_counted(w, ts);
}

int isc_pywalk(const isc_python_layout *l, isc_reach *r, isc_python_frame *frames, int max,
	       isc_activations *activations, uint32_t *flags)
{
	struct python_walk w = {.l = l, .r = r, .frames = frames, .max = max, .activations = activations};
	uintptr_t ts = (uintptr_t)l->thread_state(), frame;

	if (activations != NULL)
		activations->n = 0;
	if (ts == 0)
		return -1;
	switch (l->chain) {
	case ISC_PYTHON_OBJECTS:
		walk_objects(&w, ts);
		break;
	case ISC_PYTHON_ENTRIES:
	case ISC_PYTHON_SHIMS:
		walk_activations(&w, ts);
		break;
	default:
		frame = word(r, ts + l->ts_frame);
		if (!keep_activation(&w, &frame, 0, 0)) {
			w.n = 0;
			if (activations != NULL)
				activations->n = 0;
			w.flags |= ISC_SAMPLE_FAULT;
		}
	}
	*flags |= w.flags;
	return w.n;
}

static inline uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0xff51afd7ed558ccdull;
	return h ^ h >> 32;
}

uint64_t isc_pywalk_key(const isc_python_layout *l, isc_reach *r, uintptr_t code)
{
	uint64_t h = mix(0x9e3779b97f4a7c15ull, code);

	h = mix(h, word(r, code + l->code_name));
	h = mix(h, word(r, code + l->code_lines));
	h = mix(h, half(r, code + l->code_line));
	return h != 0 ? h : 1;
}

/* ---- text -------------------------------------------------------------- */

struct pywalk_text {
	char *to;
	size_t len, room;
};

static void add(struct pywalk_text *t, unsigned char c)
{
	if (t->len < t->room)
		t->to[t->len++] = (char)c;
}

/* UTF-8; half of a surrogate pair as Python's "backslashreplace" would have it. */
static void add_character(struct pywalk_text *t, uint32_t c)
{
	static const char hex[] = "0123456789abcdef";

	if (c < 0x80) {
		add(t, (unsigned char)c);
	} else if (c < 0x800) {
		add(t, (unsigned char)(0xc0 | c >> 6));
		add(t, (unsigned char)(0x80 | (c & 0x3f)));
	} else if (c >= 0xd800 && c < 0xe000) {
		add(t, '\\');
		add(t, 'u');
		for (int shift = 12; shift >= 0; shift -= 4)
			add(t, (unsigned char)hex[c >> shift & 15]);
	} else if (c < 0x10000) {
		add(t, (unsigned char)(0xe0 | c >> 12));
		add(t, (unsigned char)(0x80 | (c >> 6 & 0x3f)));
		add(t, (unsigned char)(0x80 | (c & 0x3f)));
	} else {
		add(t, (unsigned char)(0xf0 | (c >> 18 & 7)));
		add(t, (unsigned char)(0x80 | (c >> 12 & 0x3f)));
		add(t, (unsigned char)(0x80 | (c >> 6 & 0x3f)));
		add(t, (unsigned char)(0x80 | (c & 0x3f)));
	}
}

static size_t copy_str(const isc_python_layout *l, isc_reach *r, uintptr_t str, char *to, size_t room)
{
	struct pywalk_text t = {.to = to, .room = room};
	uint32_t state, width;
	uint64_t length;
	uintptr_t data;
	char part[256];

	if (!plausible(str))
		goto unknown;
	state = half(r, str + l->str_state);
	length = word(r, str + l->str_length);
	if ((state & l->str_is_compact) == 0)
		goto unknown;
	data = str + ((state & l->str_is_ascii) ? l->str_ascii : l->str_compact);
	width = (state & l->str_is_ascii) ? 1 : (state & l->str_kind) >> l->str_kind_shift;
	if ((width != 1 && width != 2 && width != 4) || length > SIZE_MAX / 8)
		goto unknown;
	while (length > 0 && t.len < room) {
		size_t n = length < sizeof(part) / width ? (size_t)length : sizeof(part) / width;

		if (!isc_reach_bytes(r, data, part, n * width))
			goto unknown;
		for (size_t i = 0; i < n; i++) {
			uint16_t two;
			uint32_t four;

			memcpy(&two, part + (width == 2 ? i * 2 : 0), sizeof(two));
			memcpy(&four, part + (width == 4 ? i * 4 : 0), sizeof(four));
			add_character(&t, width == 1 ? (unsigned char)part[i] : width == 2 ? two : four);
		}
		data += n * width;
		length -= n;
	}
	return t.len;
unknown:
	t.len = 0;
	add(&t, '?');
	return t.len;
}

size_t isc_pywalk_code(const isc_python_layout *l, isc_reach *r, uintptr_t code, char *to, size_t room)
{
	isc_def_code head;
	char *text = to + sizeof(head);

	room = (room < ISC_PYWALK_CODE_ROOM ? room : ISC_PYWALK_CODE_ROOM) - sizeof(head);
	head.line = half(r, code + l->code_line);
	head.flags = half(r, code + l->code_flags);
	head.name_len = (uint32_t)copy_str(l, r, word(r, code + l->code_qualified), text, room / 2);
	room -= head.name_len;
	head.file_len = (uint32_t)copy_str(l, r, word(r, code + l->code_file), text + head.name_len, room);
	memcpy(to, &head, sizeof(head));
	return sizeof(head) + head.name_len + head.file_len;
}

size_t isc_pywalk_lines(const isc_python_layout *l, isc_reach *r, uintptr_t code, char *to, size_t room)
{
	isc_def_lines head = {.version = l->version, .first_line = half(r, code + l->code_line)};
	uintptr_t table = word(r, code + l->code_lines);
	uint64_t size;

	if (!plausible(table))
		return 0;
	size = word(r, table + l->object_size);
	if (size > UINT32_MAX)
		return 0;
	head.length = (uint32_t)(size < room - sizeof(head) ? size : room - sizeof(head));
	if (!isc_reach_bytes(r, table + l->bytes_data, to + sizeof(head), head.length))
		return 0;
	memcpy(to, &head, sizeof(head));
	return sizeof(head) + head.length;
}

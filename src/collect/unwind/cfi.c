#include "collect/unwind/cfi.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define REG_BP 6u
#define REG_SP 7u
#define REG_R10 10u
#define REG_RA 16u
#define STATES 8 /* remembered ones, inside each other */

/* Bytes up to a limit; past it they are zero, and bad is set. */
struct bytes {
	uintptr_t at, end;
	bool bad;
};

static void take(struct bytes *b, void *to, size_t n)
{
	memset(to, 0, n);
	if (b->bad || b->end - b->at < n) {
		b->bad = true;
		return;
	}
	memcpy(to, (const void *)b->at, n);
	b->at += n;
}

static uint8_t take8(struct bytes *b)
{
	uint8_t v;

	take(b, &v, sizeof(v));
	return v;
}

static uint32_t take32(struct bytes *b)
{
	uint32_t v;

	take(b, &v, sizeof(v));
	return v;
}

static void skip(struct bytes *b, uint64_t n)
{
	if (b->bad || b->end - b->at < n)
		b->bad = true;
	else
		b->at += n;
}

static uint64_t take_leb(struct bytes *b, bool is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = take8(b);
		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && !b->bad);
	if (is_signed && shift < 64 && (byte & 0x40))
		v |= ~(uint64_t)0 << shift;
	return v;
}

static uint64_t uleb(struct bytes *b)
{
	return take_leb(b, false);
}

static int64_t sleb(struct bytes *b)
{
	return (int64_t)take_leb(b, true);
}

/* Bytes of an encoded pointer; 0: not one that is fixed. */
static unsigned width_of(uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		return 8;
	case 0x02:
	case 0x0a:
		return 2;
	case 0x03:
	case 0x0b:
		return 4;
	default:
		return 0;
	}
}

static uint64_t take_width(struct bytes *b, unsigned width)
{
	uint64_t v = 0;

	if (width == 0)
		b->bad = true;
	else
		take(b, &v, width);
	return v;
}

/* ---- instructions ------------------------------------------------------- */

struct state {
	int64_t cfa, bp;
	uint8_t base;
	bool from_bp; /* bp is relative to rbp */
	bool bottom;
	bool unknown; /* an expression that no rule holds */
};

struct program {
	uint64_t code_unit;
	int64_t data_unit;
	uintptr_t at, ip;    /* of the code */
	uintptr_t row, next; /* where what holds at ip begins, and what follows it; next 0: nothing does */
	const struct state *first;
};

/* DW_OP_breg6 n, DW_OP_deref; or the stub's: breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus. */
static void cfa_expression(struct state *s, struct bytes x)
{
	static const uint8_t stub[] = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0, 0x2a, 0x33, 0x24, 0x22};
	uint8_t op = take8(&x);

	s->unknown = true;
	if (op == 0x70 + REG_BP) {
		s->cfa = sleb(&x);
		s->base = ISC_CFI_AT_BP;
		s->unknown = take8(&x) != 0x06 || x.bad || x.at != x.end;
		return;
	}
	if (op != stub[0] || x.end - x.at != sizeof(stub) - 1)
		return;
	for (size_t i = 1; i < sizeof(stub); i++) {
		op = take8(&x);
		if (i == 6) {
			if (op < 0x30 || op > 0x3f)
				return;
			s->cfa = op - 0x30;
		} else if (op != stub[i]) {
			return;
		}
	}
	s->base = ISC_CFI_PLT;
	s->unknown = false;
}

static void register_expression(struct state *s, uint64_t reg, struct bytes x)
{
	if (reg != REG_BP)
		return;
	if (take8(&x) != 0x70 + REG_BP) {
		s->unknown = true;
		return;
	}
	s->bp = sleb(&x);
	s->from_bp = true;
	if (x.bad || x.at != x.end)
		s->unknown = true;
}

static void saved(struct state *s, uint64_t reg, int64_t offset)
{
	if (reg != REG_BP)
		return;
	s->bp = offset;
	s->from_bp = false;
}

static void restored(struct state *s, uint64_t reg, const struct state *first)
{
	if (reg != REG_BP || first == NULL)
		return;
	s->bp = first->bp;
	s->from_bp = first->from_bp;
}

static struct bytes take_block(struct bytes *b)
{
	uint64_t n = uleb(b);
	struct bytes block = {b->at, b->at, false};

	skip(b, n);
	block.end = b->at;
	return block;
}

static void set_cfa(struct state *s, uint64_t reg, int64_t offset)
{
	s->base = reg < 0x80 ? (uint8_t)reg : 0x7f;
	s->cfa = offset;
	s->unknown = false;
}

/* One instruction of those with no operand in their first byte; false: not known. */
static bool run_extended(uint8_t op, struct bytes *b, struct program *p, struct state *s)
{
	int64_t unit = p->data_unit;
	uint64_t reg;

	switch (op) {
	case 0x00: /* nop */
		return true;
	case 0x05: /* offset_extended */
		reg = uleb(b);
		saved(s, reg, (int64_t)uleb(b) * unit);
		return true;
	case 0x11: /* offset_extended_sf */
		reg = uleb(b);
		saved(s, reg, sleb(b) * unit);
		return true;
	case 0x06: /* restore_extended */
		restored(s, uleb(b), p->first);
		return true;
	case 0x07: /* undefined */
		if (uleb(b) == REG_RA)
			s->bottom = true;
		return true;
	case 0x08: /* same_value */
		saved(s, uleb(b), 0);
		return true;
	case 0x09: /* register */
	case 0x14: /* val_offset */
		reg = uleb(b);
		uleb(b);
		s->unknown |= reg == REG_BP || reg == REG_RA;
		return true;
	case 0x15: /* val_offset_sf */
		reg = uleb(b);
		sleb(b);
		s->unknown |= reg == REG_BP || reg == REG_RA;
		return true;
	case 0x0c: /* def_cfa */
		reg = uleb(b);
		set_cfa(s, reg, (int64_t)uleb(b));
		return true;
	case 0x12: /* def_cfa_sf */
		reg = uleb(b);
		set_cfa(s, reg, sleb(b) * unit);
		return true;
	case 0x0d: /* def_cfa_register */
		set_cfa(s, uleb(b), s->cfa);
		return true;
	case 0x0e: /* def_cfa_offset */
		s->cfa = (int64_t)uleb(b);
		return true;
	case 0x13: /* def_cfa_offset_sf */
		s->cfa = sleb(b) * unit;
		return true;
	case 0x0f: /* def_cfa_expression */
		cfa_expression(s, take_block(b));
		return true;
	case 0x10: /* expression */
		reg = uleb(b);
		register_expression(s, reg, take_block(b));
		return true;
	case 0x16: /* val_expression */
		reg = uleb(b);
		take_block(b);
		s->unknown |= reg == REG_BP || reg == REG_RA;
		return true;
	case 0x2e: /* GNU_args_size */
		uleb(b);
		return true;
	default:
		return false;
	}
}

/* Moves on in the code; false: what follows is for later instructions. */
static bool advance(struct program *p, uint64_t units)
{
	p->at += units * p->code_unit;
	if (p->at > p->ip) {
		p->next = p->at;
		return false;
	}
	p->row = p->at;
	return true;
}

static bool run(struct bytes b, struct program *p, struct state *s)
{
	struct state stack[STATES];
	int depth = 0;
	uint64_t v;

	while (b.at < b.end && !b.bad) {
		uint8_t op = take8(&b), low = op & 0x3f;

		switch (op >> 6) {
		case 1: /* advance_loc */
			if (!advance(p, low))
				return true;
			continue;
		case 2: /* offset */
			saved(s, low, (int64_t)uleb(&b) * p->data_unit);
			continue;
		case 3: /* restore */
			restored(s, low, p->first);
			continue;
		default:
			break;
		}
		if (op >= 0x02 && op <= 0x04) { /* advance_loc1, 2, 4 */
			v = take_width(&b, 1u << (op - 2));
			if (!b.bad && !advance(p, v))
				return true;
		} else if (op == 0x01) { /* set_loc: always 8 bytes wide here, as code is not relocated otherwise */
			return false;
		} else if (op == 0x0a) { /* remember_state */
			if (depth == STATES)
				return false;
			stack[depth++] = *s;
		} else if (op == 0x0b) { /* restore_state */
			if (depth == 0)
				return false;
			*s = stack[--depth];
		} else if (!run_extended(op, &b, p, s)) {
			return false;
		}
	}
	return !b.bad;
}

/* ---- entries ------------------------------------------------------------- */

struct common {
	struct bytes code;
	uint64_t code_unit;
	int64_t data_unit;
	uint8_t encoding; /* of addresses */
	bool sized;	  /* entries have the length of what follows the addresses */
	bool signals;
};

static struct bytes bytes_at(const isc_cfi_image *image, uintptr_t at)
{
	struct bytes b = {at, image->end, at < image->start || at > image->end};

	return b;
}

/* The rest of an entry whose length comes first. */
static struct bytes take_entry(struct bytes *b)
{
	uint32_t length = take32(b);
	struct bytes entry = {b->at, b->at, b->bad || length >= 0xfffffff0u};

	skip(b, length);
	entry.bad |= b->bad;
	entry.end = b->at;
	return entry;
}

static bool read_common(const isc_cfi_image *image, uintptr_t at, struct common *c)
{
	struct bytes b = bytes_at(image, at), entry = take_entry(&b), more;
	char text[8] = "";
	uint8_t version;
	size_t n = 0;

	if (take32(&entry) != 0)
		return false;
	version = take8(&entry);
	if (entry.bad || (version != 1 && version != 3))
		return false;
	while ((text[n] = (char)take8(&entry)) != '\0') {
		if (++n == sizeof(text))
			return false;
	}
	c->code_unit = uleb(&entry);
	c->data_unit = sleb(&entry);
	if ((version == 1 ? take8(&entry) : uleb(&entry)) != REG_RA || entry.bad)
		return false;
	c->sized = text[0] == 'z';
	c->encoding = 0;
	c->signals = false;
	if (n > 0 && !c->sized)
		return false;
	if (c->sized)
		more = take_block(&entry);
	for (size_t i = 1; i < n; i++) {
		if (text[i] == 'R')
			c->encoding = take8(&more);
		else if (text[i] == 'L')
			take8(&more);
		else if (text[i] == 'P')
			take_width(&more, width_of(take8(&more)));
		else if (text[i] == 'S')
			c->signals = true;
		else
			return false;
	}
	c->code = entry;
	return !entry.bad && (n < 2 || !more.bad);
}

static isc_cfi_rule rule_of(const struct state *s, bool signals)
{
	isc_cfi_rule r = {.kind = ISC_CFI_UNKNOWN};

	if (s->bottom || signals) {
		r.kind = signals ? ISC_CFI_SIGNAL : ISC_CFI_BOTTOM;
		return r;
	}
	if (s->unknown || s->cfa > INT32_MAX || s->cfa < INT32_MIN || s->bp > INT16_MAX || s->bp < INT16_MIN)
		return r;
	if (s->base != REG_SP && s->base != REG_BP && s->base != REG_R10 && s->base < 0x80)
		return r;
	r = (isc_cfi_rule){(int32_t)s->cfa, (int16_t)s->bp, s->base, s->from_bp ? ISC_CFI_RULE_BP : ISC_CFI_RULE};
	return r;
}

/* The sorted table of .eh_frame_hdr: where code begins and where its entry is, both from the header on. */
struct cfi_table {
	uintptr_t at;
	uint64_t count;
};

static bool find_table(const isc_cfi_image *image, struct cfi_table *t)
{
	struct bytes b = bytes_at(image, image->header);
	uint8_t head[4];

	take(&b, head, sizeof(head));
	if (b.bad || head[0] != 1 || head[3] != 0x3b || width_of(head[1]) == 0)
		return false;
	skip(&b, width_of(head[1]));
	t->count = take_width(&b, width_of(head[2]));
	t->at = b.at;
	return !b.bad && (b.end - b.at) / (2 * sizeof(int32_t)) >= t->count;
}

static void read_row(const isc_cfi_image *image, const struct cfi_table *t, uint64_t row, uintptr_t *begins,
		     uintptr_t *entry)
{
	int32_t pair[2];

	memcpy(pair, (const void *)(t->at + row * sizeof(pair)), sizeof(pair));
	*begins = image->header + (uintptr_t)(intptr_t)pair[0];
	*entry = image->header + (uintptr_t)(intptr_t)pair[1];
}

/* How many rows begin at ip or before it. */
static uint64_t rows_before(const isc_cfi_image *image, const struct cfi_table *t, uintptr_t ip)
{
	int64_t wanted = (int64_t)(ip - image->header);
	uint64_t low = 0, high = t->count;
	int32_t begins;

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		memcpy(&begins, (const void *)(t->at + middle * 2 * sizeof(begins)), sizeof(begins));
		if (begins <= wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The entry whose code begins last before ip; its place and where it begins. */
static bool search(const isc_cfi_image *image, uintptr_t ip, uintptr_t *entry, uintptr_t *begins)
{
	struct cfi_table t;
	uint64_t rows;

	if (!find_table(image, &t) || (rows = rows_before(image, &t, ip)) == 0)
		return false;
	read_row(image, &t, rows - 1, begins, entry);
	return true;
}

/* How much code the entry at this place covers, and what it has in common with others; false: it is damaged.  rest is
 * left at its instructions. */
static bool read_entry(const isc_cfi_image *image, uintptr_t at, struct common *c, struct bytes *rest, uint64_t *range)
{
	struct bytes b = bytes_at(image, at);
	uintptr_t common;

	*rest = take_entry(&b);
	common = rest->at; /* what follows says how far before it */
	common -= take32(rest);
	if (rest->bad || !read_common(image, common, c))
		return false;
	take_width(rest, width_of(c->encoding));
	*range = take_width(rest, width_of(c->encoding));
	if (c->sized)
		take_block(rest);
	return !rest->bad;
}

bool isc_cfi_gap(const isc_cfi_image *image, uintptr_t ip, uintptr_t *first, uintptr_t *past)
{
	uintptr_t entry, begins;
	struct common c;
	struct bytes rest;
	struct cfi_table t;
	uint64_t rows, range;

	if (image->header == 0 || !find_table(image, &t))
		return false;
	rows = rows_before(image, &t, ip);
	if (rows == 0 || rows == t.count)
		return false;
	read_row(image, &t, rows, past, &entry);
	read_row(image, &t, rows - 1, &begins, &entry);
	if (!read_entry(image, entry, &c, &rest, &range))
		return false;
	*first = begins + range;
	return *first >= begins && *first <= ip && ip < *past;
}

isc_cfi_rule isc_cfi_at(const isc_cfi_image *image, uintptr_t ip, isc_cfi_entry *entry)
{
	isc_cfi_rule none = {.kind = ISC_CFI_NONE}, unknown = {.kind = ISC_CFI_UNKNOWN};
	bool known = ip >= entry->first && ip < entry->past;
	struct state s = {.cfa = 8, .base = REG_SP}, begun;
	uintptr_t at = entry->at, begins = entry->first;
	struct bytes rest;
	struct common c;
	struct program p;
	uint64_t range;

	*entry = (isc_cfi_entry){0};
	if (image->header == 0 || (!known && !search(image, ip, &at, &begins)))
		return none;
	if (!read_entry(image, at, &c, &rest, &range))
		return unknown;
	if (ip < begins || ip - begins >= range)
		return none;
	*entry = (isc_cfi_entry){.first = begins, .past = begins + range, .at = at};
	p = (struct program){.code_unit = c.code_unit, .data_unit = c.data_unit, .ip = UINTPTR_MAX};
	if (!run(c.code, &p, &s))
		return unknown;
	begun = s;
	p.at = p.row = begins;
	p.ip = ip;
	p.first = &begun;
	if (!run(rest, &p, &s))
		return unknown;
	entry->row_first = p.row;
	entry->row_past = p.next != 0 && p.next < entry->past ? p.next : entry->past;
	return rule_of(&s, c.signals);
}

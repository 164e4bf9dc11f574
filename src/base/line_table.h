/*
 * line_table.h - the tables of the interpreter that say which line an instruction is on.
 *
 * All of it inline, for the library inside the program, which links nothing of
 * ours: everybody else calls isc_lines_at().  Signal-safe.
 */
#ifndef ISC_BASE_LINE_TABLE_H
#define ISC_BASE_LINE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/record.h"

struct isc_line_table {
	const uint8_t *at, *end;
};

/* 3.9: an instruction is on the line of the last pair that is not behind it. */
static inline uint32_t isc_line_in_pairs(struct isc_line_table t, uint32_t first, uint32_t offset)
{
	uint64_t start = 0;
	int64_t line = first;

	for (; t.end - t.at >= 2; t.at += 2) {
		start += t.at[0];
		if (start > offset)
			break;
		line += (int8_t)t.at[1];
	}
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* 3.10: each pair is a range; -128 says that it is on no line. */
static inline uint32_t isc_line_in_ranges(struct isc_line_table t, uint32_t first, uint32_t offset)
{
	uint64_t end = 0;
	int64_t line = first;

	for (; t.end - t.at >= 2; t.at += 2) {
		int8_t delta = (int8_t)t.at[1];

		end += t.at[0];
		if (delta != -128)
			line += delta;
		if (offset < end)
			return delta != -128 && line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
	}
	return 0;
}

/* Six bits a byte, low ones first. */
static inline bool isc_line_varint(struct isc_line_table *t, uint32_t *value)
{
	uint32_t v = 0;

	for (unsigned shift = 0; t->at < t->end && shift < 30; shift += 6) {
		uint8_t byte = *t->at++;

		v |= (uint32_t)(byte & 63) << shift;
		if ((byte & 64) == 0) {
			*value = v;
			return true;
		}
	}
	return false;
}

static inline bool isc_line_signed(struct isc_line_table *t, int64_t *value)
{
	uint32_t v;

	if (!isc_line_varint(t, &v))
		return false;
	*value = (v & 1) ? -(int64_t)(v >> 1) : (int64_t)(v >> 1);
	return true;
}

enum isc_line_form { ISC_LINE_ONE_0 = 10, ISC_LINE_NO_COLUMNS = 13, ISC_LINE_LONG = 14, ISC_LINE_NONE = 15 };

/* 3.11 and later: entries begin with a byte whose high bit is set. */
static inline uint32_t isc_line_in_locations(struct isc_line_table t, uint32_t first, uint32_t offset)
{
	uint64_t end = 0;
	int64_t line = first;

	while (t.at < t.end && (*t.at & 128) != 0) {
		unsigned form = *t.at >> 3 & 15;
		int64_t delta = 0;
		uint32_t skipped;

		end += ((*t.at++ & 7u) + 1) * 2;
		if (form == ISC_LINE_NO_COLUMNS || form == ISC_LINE_LONG) {
			if (!isc_line_signed(&t, &delta))
				return 0;
			for (int i = 0; form == ISC_LINE_LONG && i < 3; i++) {
				if (!isc_line_varint(&t, &skipped))
					return 0;
			}
		} else if (form < ISC_LINE_ONE_0) {
			t.at++;
		} else if (form < ISC_LINE_NO_COLUMNS) {
			delta = (int64_t)form - ISC_LINE_ONE_0;
			t.at += 2;
		}
		if (t.at > t.end)
			return 0;
		line += delta;
		if (offset < end)
			return form != ISC_LINE_NONE && line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
	}
	return 0;
}

/* As isc_lines_at(). */
static inline uint32_t isc_line_of(const void *def, size_t len, uint32_t offset)
{
	isc_def_lines head;
	struct isc_line_table t;

	if (def == NULL || len < sizeof(head))
		return 0;
	memcpy(&head, def, sizeof(head));
	if (offset == ISC_STACK_NOT_BEGUN)
		return head.first_line <= INT32_MAX ? head.first_line : 0;
	t.at = (const uint8_t *)def + sizeof(head);
	t.end = t.at + (head.length < len - sizeof(head) ? head.length : len - sizeof(head));
	if (head.first_line > INT32_MAX)
		return 0;
	if (head.version >= 0x030b)
		return isc_line_in_locations(t, head.first_line, offset);
	return head.version >= 0x030a ? isc_line_in_ranges(t, head.first_line, offset)
				      : isc_line_in_pairs(t, head.first_line, offset);
}

#endif

/*
 * lines.h - which line an instruction of a Python code object is on.
 *
 * From the interpreter's own tables: pairs of bytes in 3.9, ranges in 3.10, the
 * location table since 3.11.  They come from a trace and may be anything.
 */
#ifndef ISC_BASE_LINES_H
#define ISC_BASE_LINES_H

#include <stddef.h>
#include <stdint.h>

/* The line of the instruction at this offset in bytes, or 0 when it has none.  def: as
 * a definition ISC_DEF_LINES has it. */
uint32_t isc_lines_at(const void *def, size_t len, uint32_t offset);

#endif

#include "base/lines.h"

#include "base/line_table.h"

uint32_t isc_lines_at(const void *def, size_t len, uint32_t offset)
{
	return isc_line_of(def, len, offset);
}

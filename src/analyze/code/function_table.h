/*
 * function_table.h - every function of every process once, by name, file and
 * line: code made anew by every call of exec() is still one function to people.
 * Traced calls and samples meet here.
 */
#ifndef ISC_ANALYZE_CODE_FUNCTION_TABLE_H
#define ISC_ANALYZE_CODE_FUNCTION_TABLE_H

#include "analyze/analysis.h"
#include "analyze/names.h"
#include "base/buffer.h"
#include "trace/frame.h"

/* What is known of a function besides what is shown; by the same number. */
typedef struct isc_function_side {
	size_t rank;			    /* of its process, or SIZE_MAX */
	double seen_self_us, seen_total_us; /* of calls that were traced */
	double unseen_us;		    /* in its own time, but of functions that were not watched */
	bool unwatched;			    /* for a while its calls were not traced */
	bool paused;			    /* nor those of all its process */
} isc_function_side;

typedef struct isc_function_table {
	isc_names keys;
	isc_buffer key;
	isc_hashmap by_code; /* process image and code -> number + 1 */
	size_t room;
	isc_function_side *side;
	size_t side_count, side_room;
} isc_function_table;

struct isc_build;

/* A zeroed struct is empty. */
void isc_function_table_fini(isc_function_table *t);

/* The number of a code object's or a C function's entry in a->functions, made when
 * it is new; SIZE_MAX: no memory.  Numbers hold until the functions are sorted. */
size_t isc_function_table_code(struct isc_build *b, uint32_t process, uint32_t code);

/* The same of a frame of a process image. */
size_t isc_function_table_frame(struct isc_build *b, uint32_t process, const isc_frame *frame);

/* Of one that only has a name, of the process of this rank. */
size_t isc_function_table_named(struct isc_build *b, size_t rank, const char *name);

#endif

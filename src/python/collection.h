/*
 * collection.h - when Python collects garbage, and for how long.
 *
 * The interpreter calls what is in a list before and after each collection, the one
 * that programs know as gc.callbacks.  We put a list of our own in its place, which
 * calls theirs: the program's list is as it left it, whatever it does with it.
 */
#ifndef ISC_PYTHON_COLLECTION_H
#define ISC_PYTHON_COLLECTION_H

/* In the interpreter that calls, with its lock held; again: nothing happens. */
void isc_collection_begin(void);

/* As it was before. */
void isc_collection_end(void);

#endif

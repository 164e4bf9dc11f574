/*
 * stack_facts.h - what a stack tells of why its thread is there: whose code it is,
 * and whether it goes through an event loop, a pool or the log.
 */
#ifndef ISC_ANALYZE_CODE_STACK_FACTS_H
#define ISC_ANALYZE_CODE_STACK_FACTS_H

#include "analyze/time/attribution.h"
#include "analyze/build.h"
#include "trace/frame.h"

enum {
	ISC_STACK_LOGGING = 1, /* in Python's logging */
	ISC_STACK_LOOP = 2,    /* called by an event loop of asyncio */
	ISC_STACK_WORKER = 4,  /* on a worker of a pool of threads */
	ISC_STACK_POOL = 8,    /* waits for what a pool does */
	ISC_STACK_MAPPING = 64 /* in a call that takes memory from the kernel, or gives it back */
};

/* A function, by its definition, and the line that it was on. */
typedef struct isc_stack_place {
	uint32_t code; /* 0: there is none */
	uint32_t line;
} isc_stack_place;

typedef struct isc_stack_fact {
	uint32_t stack;
	uint32_t flags;
	isc_attribution what; /* of samples with this stack */
	/* Time of samples, as observed.c sums it up: of the focus thread, of that in the interpreter, of other threads. */
	double ran_ns, hot_ns, others_ns;
	double waited_ns;     /* by the focus thread, not for work */
	uint64_t when;	      /* in which 64ths of the judged time it was seen, a bit for each */
	isc_stack_place own;  /* the newest Python function */
	isc_stack_place user; /* the newest outside of Python's own library, else that */
	isc_stack_place mine; /* the newest outside of what was installed too, else that */
} isc_stack_fact;

typedef struct isc_stack_facts {
	isc_hashmap by_stack; /* process and id -> rank + 1 */
	/* The same of the process that was asked for first, by id: that is one look instead of three. */
	uint32_t *near;
	size_t nears;
	uint32_t near_process;
	isc_stack_fact *fact;
	size_t count, room;
	uint64_t searched;
	isc_stack_fact nothing; /* of stack 0 */
} isc_stack_facts;

/* A file of Python itself, or of what was installed beside the program. */
bool isc_stack_is_installed(const isc_text *file);

/* A zeroed struct is empty. */
void isc_stack_facts_fini(isc_stack_facts *s);

/* Valid until the next; NULL: no memory.  Stack 0 is one without anything. */
isc_stack_fact *isc_stack_facts_of(isc_stack_facts *s, const isc_build *b, uint32_t process, uint32_t stack);

#endif

/*
 * phases.h - what each process did when: it starts, imports, loads, warms up, serves and shuts down.
 *
 * Phases follow from rows of the file that outlive the events: imports and other milestones, and units.  They are read
 * before the survey.  The survey adds what rows do not say: when the process used its CPUs, when its main thread
 * waited for work, and where calls were not recorded, when samples saw imports.
 */
#ifndef ISC_ANALYZE_PHASES_PHASES_H
#define ISC_ANALYZE_PHASES_PHASES_H

#include "analyze/build.h"
#include "timeline/walk.h"

/* Imports that are no further apart are one. */
#define ISC_PHASE_JOIN_NS 50000000u
/* Times in which a process serves one kind of unit. */
#define ISC_PHASE_JOBS 4u

typedef struct isc_phase_span {
	uint64_t from_ns, to_ns;
	uint32_t code; /* of an import: the module's; 0: not known */
} isc_phase_span;

/* Units of one kind in a process. */
typedef struct isc_phase_job {
	uint32_t process, source, name, parent; /* as in isc_trace_unit */
	uint64_t count;
	uint64_t first_ns, last_ns; /* the first begins, the last has ended */
	uint64_t longest_ns;
	double total_ns;
} isc_phase_job;

/* CPU time of a process in one slice of the session. */
typedef struct isc_phase_slice {
	float cpu_ns, import_ns;
	uint32_t place; /* that most of it is in: the functions of the program that are outermost */
	float votes;
} isc_phase_slice;

/* What it serves from the first to the last unit. */
typedef struct isc_phase_serving {
	isc_phase_span at;
	uint64_t warm_ns;	  /* up to here it warms up; 0: it does not */
	uint64_t warm_units;	  /* that take so long */
	uint64_t import_units;	  /* of these: so many import */
	const isc_phase_job *job; /* NULL: no unit was found */
} isc_phase_serving;

typedef struct isc_phase_process {
	uint32_t process, pid;
	bool forked; /* it began as a copy of a process that had imported already */
	uint64_t start_ns, end_ns;
	uint64_t shutdown_ns, leaving_ns; /* threads were waited for; modules are taken apart; 0: not known */
	isc_phase_span *modules;	  /* that no Python code imports */
	size_t module_count, module_room;
	isc_phase_span *imports; /* by time, when rows were read */
	size_t import_count, import_room;
	isc_phase_span *idle; /* the main thread waits for work */
	size_t idle_count, idle_room;
	isc_phase_slice *slice; /* NULL: it has no samples */
	bool called;		/* its rows say what it imported */

	/* What follows from it (phases.c). */
	uint64_t first_ns;   /* its first call */
	uint64_t until_ns;   /* its start-up imports end */
	uint64_t stopped_ns; /* its shutdown begins; 0: not known */
	isc_phase_serving serving[ISC_PHASE_JOBS];
	size_t servings;
	const isc_phase_serving *judged; /* NULL: it does not serve */
} isc_phase_process;

typedef struct isc_phases {
	isc_build *b;
	isc_phase_process *process;
	size_t count, room;
	isc_hashmap by_process; /* rank + 1 */
	isc_phase_job *job;
	size_t job_count, job_room;
	isc_hashmap named, job_of;	/* process and name -> rank + 1; that, source and parent -> job + 1 */
	struct isc_unit_weight *weight; /* of each job, for one process after the other */
	uint64_t last_key;		/* of the job that was found last */
	size_t last_job;
	isc_hashmap stack_of; /* process and stack -> what phase_load.c knows of it */
	uint64_t slice_ns;
	size_t slices, sliced; /* of the session; processes that have them */
	bool no_memory;
} isc_phases;

/* Reads the rows and joins the survey; false: no memory. */
bool isc_phases_join(isc_build *b, isc_walk *walk);
/* After the survey. */
isc_status isc_build_phases(isc_build *b, isc_error *err);
/* After the verdict: how the process that is judged started. */
isc_status isc_build_startup(isc_build *b, isc_error *err);
void isc_phases_drop(isc_build *b); /* nothing is fine */

/* What of a process is to be judged: its serving, or all that follows its imports.  False: its phases are not known. */
bool isc_phases_judged(const isc_build *b, uint32_t process, isc_phase_span *out, bool *serving);

/* ---- inside ---- */

/* phase_rows.c; false: no memory. */
bool isc_phase_rows_read(isc_phases *s);
/* Units at the begin of every serving that warm up. */
bool isc_phase_rows_warm_up(isc_phases *s);
/* A process, made when there is none; NULL: the trace has no such process, or no memory, which is noted. */
isc_phase_process *isc_phase_process_of(isc_phases *s, uint32_t process);

/* phase_load.c */
void isc_phase_load_join(isc_phases *s, isc_walk *walk);
/* CPU time of a process between two moments. */
double isc_phase_load_cpu_ns(const isc_phases *s, const isc_phase_process *p, uint64_t from_ns, uint64_t to_ns);
/* Imports as samples saw them, and when Python was first seen to run; false: no memory. */
bool isc_phase_load_imports(isc_phases *s, isc_phase_process *p);
/* The longest time in which one place has most of the CPU time that follows a moment; false: there is none. */
bool isc_phase_load_serving(const isc_phases *s, const isc_phase_process *p, uint64_t from_ns, uint64_t to_ns,
			    isc_phase_span *out);
/* Since when the main thread does nothing but wait for work up to a moment; that moment: it does not. */
uint64_t isc_phase_load_idle_since(const isc_phase_process *p, uint64_t from_ns, uint64_t to_ns);

/* phase_list.c: all phases in the report; false: no memory. */
bool isc_phase_list(isc_phases *s);

#endif

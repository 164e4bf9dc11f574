/*
 * evidence.h - what rules look at: one thread, in the part of the run that is judged.
 *
 * The thread is the focus: the one with the most time in scopes, else the main
 * thread.  The part is inside its scopes, else what follows the start-up.  Every
 * figure of a judge is about both, so shares of its states add up to 100.
 */
#ifndef ISC_ANALYZE_VERDICT_EVIDENCE_H
#define ISC_ANALYZE_VERDICT_EVIDENCE_H

#include "analyze/verdict/claim.h"
#include "base/arena.h"

/* A function and a line in it; texts are borrowed from the trace or the arena. */
typedef struct isc_place {
	isc_text name;
	isc_text file;	/* empty: not known */
	uint32_t line;	/* 0: not known */
	isc_text stage; /* the scope that it ran in, inside the one that is judged; empty: none */
	double us;
} isc_place;

typedef struct isc_evidence {
	const isc_analysis *a;
	isc_arena *arena;
	bool known;	  /* there is a thread, and time of it */
	double window_us; /* time of the thread that is judged */
	isc_text scope;	  /* that it is inside of; empty: none */
	uint64_t scopes;  /* how many of it */
	double state_us[ISC_STATES];
	uint8_t source[ISC_STATES]; /* enum isc_source */
	uint8_t unattributed;	    /* enum isc_unattributed: most of that state */
	bool merged;		    /* native frames were off: what ran is on_cpu, neither python nor native */
	uint64_t samples;	    /* of the thread in the window */

	/* Where most of the time in a state was, as far as stacks tell. */
	isc_place at[ISC_STATES];
	/* Who had what was waited for, of ISC_STATE_GIL_WAIT and ISC_STATE_LOCK_WAIT. */
	isc_place holder[ISC_STATES];
	isc_text holder_thread[ISC_STATES];
	isc_place hot;	      /* the Python function with the most time of its own in the interpreter */
	double hot_cpu_us;    /* of it, on a CPU */
	isc_place path;	      /* a function that with all it calls is a cause by hot_path.h; us: its time */
	isc_place made;	      /* what it makes again and again; no name: it runs the user's own Python code */
	double path_us;	      /* of it, the time that makes it a cause, on a CPU or in waits of its own */
	isc_place stage;      /* the scope inside the judged one with the most of it; its name is the place's */
	double stage_cpu_us;  /* of it, on a CPU */
	isc_place in_stage;   /* the Python function with the most time of its own in that scope */
	isc_place net;	      /* who waits for the other end of a connection, and for how long */
	isc_place logged;     /* who calls for logging, and all time that goes to it */
	isc_place loop;	      /* what keeps an event loop from its other tasks, and for how long */
	isc_place pool;	      /* what the workers of a pool do while the thread waits for them, and for how long */
	uint32_t workers;     /* of that pool */
	bool awaits_pool;     /* most of what looks like waiting for work is for that pool, which has plenty */
	double long_calls_us; /* of the time in system calls: in few that are long */
	bool fills;	      /* what the kernel took to fill pages is known: the next ones */
	double filled_us;     /* of the time in page faults: those that had nothing to read */
	double mapping_us;    /* in calls that take memory from the kernel or give it back */
	double faults;	      /* that had nothing to read */
	isc_place filled_for; /* what the program called where most of it was; no name: nothing */
	double stretch;	      /* of CPU time, to what it took with the waits for a CPU */
	double demand;	      /* threads of the program that wanted a CPU, on average; 0: not known */
	uint32_t cpus;	      /* that they ran on */
	double start_up_us, warm_up_us;
	uint64_t warm_ups;
} isc_evidence;

/* What a metric says: its claim, and how it is weighed. */
typedef struct isc_finding {
	double value; /* in the metric's unit */
	double us;    /* the most that its absence can save; negative: not known */
	double alone; /* of us, the part that this cause has for itself: by it causes are ranked; 0: all of it.  A function
		       * that is gone takes with it what it waited for a CPU, its garbage and its page faults, which may be
		       * causes of their own */
	double solid; /* 0 to 1: how well it was seen */
	isc_claim claim;
} isc_finding;

/* Share of a state in percent; negative: not known. */
double isc_evidence_pct(const isc_evidence *j, enum isc_state state);

/* What it ran, in Python or native code. */
double isc_evidence_ran(const isc_evidence *j);

/* Do its own threads want more CPUs than there are?  Else others on the machine took them. */
bool isc_evidence_own_queue(const isc_evidence *j);

/* How well a state was seen: its source and, where it is sampled, the number of samples. */
double isc_evidence_solid(const isc_evidence *j, enum isc_state state);

/* Nothing yet, of what was judged. */
isc_finding isc_evidence_finding(const isc_evidence *j, double solid);

/* So much of what was judged: value, share and bound. */
void isc_evidence_takes(const isc_evidence *j, double us, isc_finding *out);

/* Value, share, time, place and how well it was seen, of a state as a metric; false: not known. */
bool isc_evidence_state(const isc_evidence *j, enum isc_state state, isc_finding *out);

/* The same of a place that has a time; false: nothing was judged. */
bool isc_evidence_place(const isc_evidence *j, const isc_place *place, isc_finding *out);

/* What samples told may be more by chance: the bound grows by twice the error that so many of them have. */
void isc_evidence_sampled(const isc_evidence *j, isc_finding *out);

/* The bound becomes at least what removing this much of each scope saves, and at most everything; negative: not known. */
void isc_evidence_at_least(const isc_evidence *j, double us, isc_finding *out);
/* The bound grows by what the kernel worked for the program in such a time: a wait that is gone needs no way there. */
void isc_evidence_and_kernel(const isc_evidence *j, isc_finding *out);

/* The same of a device, whose span is the whole; false: it has no work in the window. */
bool isc_evidence_gpu(const isc_evidence *j, size_t gpu, int64_t ns, isc_finding *out);

/* How long one scope takes, or all that is judged where there are not several. */
double isc_evidence_whole(const isc_evidence *j);

/* What a share of how long a scope takes is of: each request, or the time. */
isc_claim_subject isc_evidence_each(const isc_evidence *j);

/* The same of a share of the window.  Where scopes lie beside each other on the thread that is less than what they
 * take: the thread's time in them. */
isc_claim_subject isc_evidence_subject(const isc_evidence *j);

/* Who had what was waited for, as far as that is known. */
void isc_evidence_holder(const isc_evidence *j, enum isc_state state, isc_finding *out);

/* A place as claims have it. */
isc_claim_place isc_evidence_at(const isc_place *place);
isc_claim_place isc_evidence_at_frame(const isc_analysis_frame *frame);
isc_claim_place isc_evidence_at_text(isc_text name);

/* The same of a kernel, by its name as people know it. */
isc_claim_place isc_evidence_at_kernel(const isc_evidence *j, isc_text name);

#endif

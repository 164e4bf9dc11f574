/*
 * analysis_recording.h - the part of analysis.h that is about what recording saw, missed and cost over time and in
 * each unit of the program's work; included by that alone.
 */
#ifndef ISC_ANALYZE_ANALYSIS_RECORDING_H
#define ISC_ANALYZE_ANALYSIS_RECORDING_H

/* What recording saw, missed and cost in one process, from a moment to another. */
typedef struct isc_analysis_period {
	uint32_t pid; /* 0: several */
	double from_us, to_us;
	uint64_t samples;
	double sampled_us;	/* CPU time that they stand for */
	double unattributed_us; /* of it, of samples without a known stack */
	uint64_t events, lost;	/* stored, and lost before they were */
	uint64_t thinned;	/* calls that were not recorded to stay inside the budget, as estimated */
	double cost_us;		/* that calls and samples took in the process; of several: all else */
} isc_analysis_period;

#define ISC_PERIOD_SAMPLES 20u		/* fewer say nothing about a share */
#define ISC_PERIOD_UNATTRIBUTED_PCT 5.0 /* of the sampled time, that lowers confidence */

/* Events were lost in it, or too much of its time has no stack. */
bool isc_period_is_bad(const isc_analysis_period *p);

/* CPU time that recording took in the program, by what it was for. */
#define ISC_COST_PARTS 8u
extern const char *const isc_cost_part[ISC_COST_PARTS];

/* Units of one process, source and name that lie in the judged window. */
typedef struct isc_analysis_unit_family {
	const char *kind;	   /* "scope", "task", "loop" or "item" (of a pool) */
	isc_analysis_frame at;	   /* a scope's name, a task's coroutine, or what an iteration calls first */
	isc_analysis_frame looper; /* of a loop or an item: the function that loops; name empty: none */
	uint32_t pid;		   /* 0: not known */
	uint64_t count;
	uint64_t whole;	  /* every call inside was recorded */
	uint64_t partial; /* some were not, or an edge of the window cuts the unit */
	uint64_t thinned; /* of these: only calls of some functions were left out */
	uint64_t none;	  /* no call was recorded but the one that the unit begins with */
	double total_us, p50_us, p90_us, p99_us, max_us;
} isc_analysis_unit_family;

typedef struct isc_analysis_units {
	bool known;			    /* the first family is what the program works in */
	bool any;			    /* the trace has units, in the judged window or not */
	const char *unknown;		    /* why there is no such family; NULL: there is one, or nobody looked */
	isc_analysis_unit_family *families; /* the one that counts first, then by time */
	size_t family_count;
	uint64_t unlisted; /* units of other families */
} isc_analysis_units;

#endif

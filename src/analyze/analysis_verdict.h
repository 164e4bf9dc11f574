/*
 * analysis_verdict.h - the part of analysis.h that is about the verdict; included by that alone.
 *
 * A claim is what was found, as data: what, of what, how much, where, who holds it up, what that is worth and what to
 * do.  Rules make claims, reports put them into words (report/text/phrase.h), and the JSON report has every part, so
 * nobody has to take a sentence apart.  Texts are raw and whole: whoever writes them shortens and escapes.
 */
#ifndef ISC_ANALYZE_ANALYSIS_VERDICT_H
#define ISC_ANALYZE_ANALYSIS_VERDICT_H

enum isc_claim_kind {
	ISC_CLAIM_NONE,	 /* no single cause */
	ISC_CLAIM_FAULT, /* time that a change of the program removes */
	ISC_CLAIM_LIMIT, /* the work itself, at what the machine gives */
	ISC_CLAIM_KINDS
};

/* What a share is of. */
enum isc_claim_subject_kind {
	ISC_CLAIM_OF_TIME,   /* all that was judged */
	ISC_CLAIM_OF_SCOPE,  /* the one scope of a name */
	ISC_CLAIM_OF_SCOPES, /* each scope of a name */
	ISC_CLAIM_OF_THREAD, /* the thread's time in scopes of a name, which lie beside each other on it */
	ISC_CLAIM_OF_GPU,    /* from its first to its last work */
	ISC_CLAIM_SUBJECTS
};

typedef struct isc_claim_subject {
	enum isc_claim_subject_kind kind;
	isc_text name;	 /* of the scope */
	uint32_t device; /* number of the GPU */
	int64_t rank;	 /* that it is of, where there are several; negative: none, or not known */
	uint32_t file;	 /* the same, from 1 on; 0: one file, or the rank says it */
} isc_claim_subject;

typedef struct isc_claim_place {
	isc_text function; /* or a kernel, or a call of a library; empty: not known */
	isc_text file;	   /* empty: not known */
	uint32_t line;	   /* 0: not known */
	isc_text thread;   /* its name; empty: not known */
} isc_claim_place;

/* Remedies: report/text/fix_words.c has the id and the words of each. */
enum isc_fix {
	ISC_FIX_NONE, /* or one that a file of rules has words for */
	ISC_FIX_MOVE_PYTHON_WORK,
	ISC_FIX_SHORTEN_LOCK,
	ISC_FIX_FEWER_THREADS,
	ISC_FIX_RAISE_CPU_LIMIT,
	ISC_FIX_SLEEPING_WAITS,
	ISC_FIX_CHEAPER_FUNCTION,
	ISC_FIX_MAKE_ONCE,
	ISC_FIX_MOVE_STAGE,
	ISC_FIX_LEAVE_EVENT_LOOP,
	ISC_FIX_MORE_WORKERS,
	ISC_FIX_LOG_LESS,
	ISC_FIX_READ_AHEAD,
	ISC_FIX_AWAIT_EVENT,
	ISC_FIX_COLLECT_LESS,
	ISC_FIX_LARGER_TRANSFERS,
	ISC_FIX_KEEP_BUFFERS,
	ISC_FIX_STAY_RESIDENT,
	ISC_FIX_LEAVE_SWAP,
	ISC_FIX_STAY_ON_NODE,
	ISC_FIX_MORE_MEMORY,
	ISC_FIX_RAISE_MEMORY_LIMIT,
	ISC_FIX_RELEASE_MEMORY,
	ISC_FIX_FEED_GPU,
	ISC_FIX_FEWER_GPU_WAITS,
	ISC_FIX_FEWER_LAUNCHES,
	ISC_FIX_LESS_GPU_WORK,
	ISC_FIX_COPY_LESS,
	ISC_FIX_SEND_LESS,
	ISC_FIXES
};

/* What else a claim of some metric says; claim.c has their names. */
enum isc_detail {
	ISC_DETAIL_STAGE,	    /* text: the scope inside the judged one */
	ISC_DETAIL_MAKES,	    /* text: the function that makes again what a program makes once */
	ISC_DETAIL_LOOP_WAIT_PCT,   /* of a scope, in which it waits for its event loop */
	ISC_DETAIL_WORKERS,	    /* of the pool */
	ISC_DETAIL_WANTING_THREADS, /* that want a CPU at once */
	ISC_DETAIL_CPUS,
	ISC_DETAIL_CALL, /* text: the system call that is made most */
	ISC_DETAIL_CALLS,
	ISC_DETAIL_BYTES_EACH,	  /* of calls or copies */
	ISC_DETAIL_PLACE_SAMPLES, /* that say so; without them the place is a guess */
	ISC_DETAIL_PAGES_PER_S,
	ISC_DETAIL_PAGES_PER_CPU_S,
	ISC_DETAIL_UNDER, /* text: the library's function that fills the pages */
	ISC_DETAIL_SWAPPED_BYTES,
	ISC_DETAIL_MAJOR_FAULTS,
	ISC_DETAIL_REMOTE_PCT,
	ISC_DETAIL_CPU_NODE,	/* that the program runs on most */
	ISC_DETAIL_MEMORY_NODE, /* that has most of its memory */
	ISC_DETAIL_NODE_BYTES,	/* and so much of it */
	ISC_DETAIL_USED_BYTES,
	ISC_DETAIL_LIMIT_BYTES,
	ISC_DETAIL_LIMIT_MET, /* times */
	ISC_DETAIL_HELD_BYTES,
	ISC_DETAIL_GREW_US,
	ISC_DETAIL_BYTES_PER_S,
	ISC_DETAIL_IDLE_CAUSE, /* text: isc_idle_cause_name() of it */
	ISC_DETAIL_IDLE_CAUSE_PCT,
	ISC_DETAIL_DURING, /* 1: the GPU is idle while the host is at the place; else before it gets there */
	ISC_DETAIL_SYNCS,
	ISC_DETAIL_KERNELS,
	ISC_DETAIL_KERNEL_US,
	ISC_DETAIL_HOST_US,
	ISC_DETAIL_COPIES,
	ISC_DETAIL_PAGEABLE_COPIES,
	ISC_DETAIL_COPY_WAIT_US,
	ISC_DETAIL_GB_PER_S,
	ISC_DETAIL_STATE, /* text: that takes most of the time */
	ISC_DETAIL_STATE_PCT,
	ISC_DETAIL_SECOND_STATE, /* text */
	ISC_DETAIL_SECOND_STATE_PCT,
	ISC_DETAILS
};

typedef struct isc_claim_detail {
	enum isc_detail what;
	double number; /* negative: it is a text */
	isc_text text;
} isc_claim_detail;

#define ISC_CLAIM_DETAILS 8u

typedef struct isc_claim {
	const char *finding; /* a metric's name, "memory_growth" or "balanced": it decides the words; NULL: no claim */
	const char *cause;   /* id of the rule; NULL: none */
	enum isc_claim_kind kind;
	isc_claim_subject subject;
	double share;		/* percent of the subject; negative: not known */
	isc_claim_place place;	/* where it happens */
	isc_claim_place holder; /* who has what is waited for, or took the memory */
	double saving_us;	/* of one subject, at most; negative: not known */
	double of_us;		/* how long that takes; negative: not known */
	enum isc_fix fix;
	isc_text own_title, own_fix, own_check; /* words of a file of rules; at NULL: those of the fix */
	isc_claim_detail detail[ISC_CLAIM_DETAILS];
	size_t details;
} isc_claim;

/* A rule that fired: its metric lies above its threshold. */
typedef struct isc_analysis_evidence {
	const char *rule;   /* its id */
	const char *metric; /* "gil_wait_pct" */
	double value, threshold;
	int64_t device_id; /* -1: of no device */
} isc_analysis_evidence;

/* What would make it another verdict. */
enum isc_change_kind {
	ISC_CHANGE_FALLS, /* the metric, to a limit */
	ISC_CHANGE_RISES, /* the metric, above a limit */
	ISC_CHANGE_LOST,  /* the lost events */
	ISC_CHANGE_UNATTRIBUTED,
	ISC_CHANGE_OTHER,
	ISC_CHANGES
};

typedef struct isc_analysis_change {
	enum isc_change_kind kind;
	const char *metric; /* of the first two, as the next three; NULL: none */
	bool every_gpu;
	double limit;
	const char *then; /* the rule that would win; NULL: balanced */
	double value;	  /* of the metric now; events; percent of the time */
	isc_text told;	  /* the sentence of a report that has none of these parts; empty: there are */
} isc_analysis_change;

/* Why it is slow. */
typedef struct isc_analysis_verdict {
	const char *bottleneck; /* cpu_bound, gpu_bound, memory_bound, balanced or unknown */
	isc_claim claim;	/* of the rule that won; the cause NULL: balanced, or withheld */
	isc_text told;		/* the headline of a report without such a claim; empty: made of the claim */
	double confidence;	/* 0 to 1 */
	uint32_t pid, tid;	/* whose time was judged; 0: nobody's */
	isc_analysis_evidence *evidence;
	size_t evidence_count; /* the one that won first */
	isc_analysis_change *would_change;
	size_t would_change_count;
	const char *withheld; /* why no verdict is given; NULL: one is */
} isc_analysis_verdict;

/* What to change, the most that it can save first. */
typedef struct isc_analysis_suggestion {
	isc_claim claim;
	double saves_at_most_us;       /* of all that was judged; negative: not known */
	isc_text told_why, told_where; /* of a report without such a claim; empty: made of the claim */
} isc_analysis_suggestion;

#endif

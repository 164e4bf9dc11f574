/*
 * analysis_memory.h - the part of analysis.h that is about memory and its nodes; included by that alone.
 */
#ifndef ISC_ANALYZE_ANALYSIS_MEMORY_H
#define ISC_ANALYZE_ANALYSIS_MEMORY_H

/* A memory node: CPUs and the memory that is near to them. */
typedef struct isc_analysis_node_memory {
	uint32_t number;
	isc_text cpus; /* "0-3,8" */
	double memory_bytes;
	double first_bytes, last_bytes; /* of the program, at the first and the last look; negative: not known */
	double cpu_us;			/* that the program ran on its CPUs; negative: not known */
	double taken_bytes;		/* by threads on its CPUs, estimated; negative: not known */
	uint64_t samples;		/* of stacks, on its CPUs */
} isc_analysis_node_memory;

typedef struct isc_analysis_moved {
	uint32_t from, to; /* nodes */
	double bytes;
} isc_analysis_moved;

typedef struct isc_analysis_numa {
	bool told;	/* the trace says which nodes there are */
	bool pretended; /* and that they are none of the machine's, as tests asked for */
	size_t count;
	isc_analysis_node_memory *nodes; /* NULL with less than two */
	bool sampled;			 /* stacks say which CPU they ran on */
	uint64_t looks;
	isc_analysis_moved *moved;
	size_t moved_count;
	double remote_pct; /* accesses to another node's memory, if all pages were used alike; negative: not known */
} isc_analysis_numa;

#define ISC_ANALYSIS_CPUS 1024u /* more are not told apart */

/* Where memory was taken.  Bytes and counts are estimates from samples. */
typedef struct isc_analysis_site {
	isc_analysis_frame at; /* name empty: not known */
	uint32_t pid;	       /* 0: not known */
	uint64_t samples;
	double bytes, count;	       /* taken */
	double squares;		       /* of what its samples stand for, in sum: how sure bytes is */
	double live_bytes, live_count; /* of these held at the end */
	uint64_t live_samples;
	double peak_bytes;  /* held when most was held */
	double *node_bytes; /* of bytes, by threads on the CPUs of each node; NULL: not known */
	bool grows;	    /* it is among the leaks */
} isc_analysis_site;

/* A site whose memory grew steadily up to the end. */
typedef struct isc_analysis_leak {
	isc_analysis_frame at;
	uint32_t pid;
	uint64_t samples;
	double bytes;	       /* held at the end */
	double from_us, to_us; /* in which it grew */
	double bytes_per_s;
} isc_analysis_leak;

/* Memory of all scopes of a name, on the threads that were in them. */
typedef struct isc_analysis_memory_scope {
	isc_text name;
	uint64_t count;	  /* scopes */
	double bytes;	  /* taken in them */
	double growth;	  /* taken in them, less given back in them, whoever had taken that */
	double error;	  /* of the growth, in 19 of 20 runs */
	uint64_t samples; /* that the growth is made of */
	bool grows;	  /* from the first to the last */
} isc_analysis_memory_scope;

typedef struct isc_analysis_memory {
	bool recorded;	   /* allocations were watched */
	bool bypassed;	   /* an allocator of the program's own in front of us: in some process nothing was seen */
	bool new_bypassed; /* an allocator that answers C++'s new and delete itself */
	bool python_told;  /* in some process Python's own allocators told, and nobody saw malloc() */
	bool hooks_told;   /* in some process the hooks did */
	isc_text allocator;
	/* Exact, of all processes that were watched. */
	uint64_t calls, bytes, frees, maps, mapped_bytes;
	uint64_t samples;
	uint64_t unfollowed; /* whose end could not be noticed */
	uint64_t mean_bytes; /* between samples, at the end */
	double live_bytes;   /* at the end */
	double peak_bytes, peak_us;
	isc_analysis_site *sites; /* most bytes first */
	size_t site_count;
	isc_analysis_leak *leaks; /* most bytes first */
	size_t leak_count;
	isc_analysis_memory_scope *scopes; /* most growth first */
	size_t scope_count;
} isc_analysis_memory;

#endif

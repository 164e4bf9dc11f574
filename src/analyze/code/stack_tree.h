/*
 * stack_tree.h - all sampled stacks as one tree: stacks that begin alike share
 * their beginning, so it is no larger than the stacks' own definitions.
 *
 * Node 0 is above all; below it is one node for each process, and below those
 * the frames, root first.  A node comes before its children.
 */
#ifndef ISC_ANALYZE_CODE_STACK_TREE_H
#define ISC_ANALYZE_CODE_STACK_TREE_H

#include "analyze/build.h"

typedef struct isc_tree_node {
	uint32_t parent;
	uint32_t frame; /* index in frames; of a process: its rank + 1, 0: not known */
	uint32_t child, next;
	uint32_t python; /* nearest node of Python, itself included; 0: none */
	uint16_t depth;	 /* 0: above all; 1: a process */
	uint8_t kind;	 /* enum isc_frame_kind */
	uint8_t state;	 /* what samples that end here are, by isc_attribution_of(); of a stand-in, the last of them */
	bool known;	 /* false: what is here is "?" and the like */
	bool stand_in;	 /* no function: a word for what is not known */
	uint64_t samples;
	double self_us;
	double median_us, slow_us; /* of self_us, in scopes of these kinds */
	uint64_t counted;	   /* samples with the next two */
	double instructions, cycles;
	double grown;
	double total_us;	/* with all below; after isc_stack_tree_sum() */
	uint64_t total_samples; /* likewise */
} isc_tree_node;

/* Functions at lines, each once. */
typedef struct isc_tree_frame {
	uint32_t function; /* its number in the table of functions */
	uint32_t line;
} isc_tree_frame;

typedef struct isc_stack_tree {
	isc_tree_node *node;
	size_t count, room;
	isc_tree_frame *frame;
	size_t frame_count, frame_room;
	isc_hashmap by_frame;	   /* function and line -> index + 1 */
	isc_hashmap by_child;	   /* node and frame -> node */
	isc_hashmap by_definition; /* process image and id -> node */
	isc_hashmap by_process;	   /* rank + 1 -> node */
	uint64_t searched;	   /* bytes of line tables */
} isc_stack_tree;

/* A zeroed struct is empty. */
void isc_stack_tree_fini(isc_stack_tree *t);

/* Adds samples of one stack; false: no memory. */
bool isc_stack_tree_add(isc_stack_tree *t, isc_build *b, const isc_total_stack *s);

/* The node of a stack that was added; 0: there is none. */
uint32_t isc_stack_tree_find(const isc_stack_tree *t, uint32_t process, uint32_t stack);

/* Nothing more is added: sums up. */
void isc_stack_tree_sum(isc_stack_tree *t);

/* The process of a node: its rank, or SIZE_MAX. */
size_t isc_stack_tree_rank(const isc_stack_tree *t, size_t node);

static inline bool isc_tree_is_frame(const isc_tree_node *n)
{
	return n->depth > 1;
}

/* What a report shows of a frame. */
isc_analysis_frame isc_stack_tree_frame(const isc_stack_tree *t, const isc_build *b, size_t node);

/* Sorted lists of the analysis, from the tree; false: no memory. */
bool isc_build_lines(isc_build *b, const isc_stack_tree *t);
bool isc_build_stacks(isc_build *b, const isc_stack_tree *t);
bool isc_build_paths(isc_build *b, const isc_stack_tree *t);
bool isc_build_tree(isc_build *b, const isc_stack_tree *t);

/* Of so many samples of all, whose time is told: half the width of the interval that holds the truth in 19 of 20
 * runs. */
double isc_samples_error_us(uint64_t samples, uint64_t all, double all_us);

#endif

/*
 * profile_tree.h - profiles made by hand: a stack is a text, "main;work;leaf".
 */
#ifndef ISC_HARNESS_PROFILE_TREE_H
#define ISC_HARNESS_PROFILE_TREE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collect/profile/table.h"

static inline isc_profile *profile_new(void)
{
	isc_profile *p = calloc(1, sizeof(*p));

	if (p == NULL)
		abort();
	p->interval_ns = 1000000;
	p->max_frames = ISC_PROFILE_FRAMES_MAX;
	return p;
}

/* A Python frame of this name, file and line. */
static inline uint32_t profile_frame(isc_profile *p, const char *name, size_t len, const char *file, uint32_t line)
{
	isc_def_code head = {.line = 1, .name_len = (uint32_t)len, .file_len = (uint32_t)strlen(file)};
	char def[8192];
	uint64_t key = line;
	uint32_t id;
	bool fill;

	for (size_t i = 0; i < len; i++)
		key = isc_profile_key(key, (unsigned char)name[i]);
	id = isc_profile_frame_of(p, isc_profile_key(key, 1), &fill);
	if (id == 0 || !fill)
		return id;
	memcpy(def, &head, sizeof(head));
	memcpy(def + sizeof(head), name, len);
	memcpy(def + sizeof(head) + len, file, strlen(file));
	p->frame[id - 1].kind = ISC_PROFILE_PYTHON;
	p->frame[id - 1].line = line;
	p->frame[id - 1].text = isc_profile_keep(p, def, sizeof(head) + len + strlen(file));
	isc_profile_frame_filled(p, id, p->frame[id - 1].text != 0);
	return id;
}

static inline uint32_t profile_node(isc_profile *p, const char *stack)
{
	uint32_t node = 0;

	while (*stack != '\0') {
		size_t len = strcspn(stack, ";");

		node = isc_profile_node(p, node, profile_frame(p, stack, len, "x.py", 7));
		stack += len + (stack[len] == ';');
	}
	return node;
}

static inline void profile_count(isc_profile *p, const char *stack, uint32_t tid, uint64_t steps)
{
	isc_profile_sample sample = {.node = profile_node(p, stack),
				     .tid = tid,
				     .ns = steps * p->interval_ns,
				     .counted = steps * 10,
				     .memory = -4096};

	isc_profile_count(p, &sample);
}

#endif

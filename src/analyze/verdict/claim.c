#include "analyze/verdict/claim.h"

#include <math.h>

const char *isc_claim_kind_name(enum isc_claim_kind kind)
{
	static const char *const names[ISC_CLAIM_KINDS] = {NULL, "fault", "limit"};

	return names[kind];
}

const char *isc_claim_subject_name(enum isc_claim_subject_kind kind)
{
	static const char *const names[ISC_CLAIM_SUBJECTS] = {"time", "scope", "each_scope", "thread", "gpu"};

	return names[kind];
}

const char *isc_change_kind_name(enum isc_change_kind kind)
{
	static const char *const names[ISC_CHANGES] = {"falls", "rises", "lost_events", "unattributed", "other"};

	return names[kind];
}

const char *isc_detail_name(enum isc_detail what)
{
	static const char *const names[ISC_DETAILS] = {
		[ISC_DETAIL_STAGE] = "stage",
		[ISC_DETAIL_MAKES] = "makes",
		[ISC_DETAIL_LOOP_WAIT_PCT] = "loop_wait_pct",
		[ISC_DETAIL_WORKERS] = "workers",
		[ISC_DETAIL_WANTING_THREADS] = "wanting_threads",
		[ISC_DETAIL_CPUS] = "cpus",
		[ISC_DETAIL_CALL] = "call",
		[ISC_DETAIL_CALLS] = "calls",
		[ISC_DETAIL_BYTES_EACH] = "bytes_each",
		[ISC_DETAIL_PLACE_SAMPLES] = "place_samples",
		[ISC_DETAIL_PAGES_PER_S] = "pages_per_s",
		[ISC_DETAIL_PAGES_PER_CPU_S] = "pages_per_cpu_s",
		[ISC_DETAIL_UNDER] = "under",
		[ISC_DETAIL_SWAPPED_BYTES] = "swapped_bytes",
		[ISC_DETAIL_MAJOR_FAULTS] = "major_faults",
		[ISC_DETAIL_REMOTE_PCT] = "remote_pct",
		[ISC_DETAIL_CPU_NODE] = "cpu_node",
		[ISC_DETAIL_MEMORY_NODE] = "memory_node",
		[ISC_DETAIL_NODE_BYTES] = "node_bytes",
		[ISC_DETAIL_USED_BYTES] = "used_bytes",
		[ISC_DETAIL_LIMIT_BYTES] = "limit_bytes",
		[ISC_DETAIL_LIMIT_MET] = "limit_met",
		[ISC_DETAIL_HELD_BYTES] = "held_bytes",
		[ISC_DETAIL_GREW_US] = "grew_us",
		[ISC_DETAIL_BYTES_PER_S] = "bytes_per_s",
		[ISC_DETAIL_IDLE_CAUSE] = "idle_cause",
		[ISC_DETAIL_IDLE_CAUSE_PCT] = "idle_cause_pct",
		[ISC_DETAIL_DURING] = "during",
		[ISC_DETAIL_SYNCS] = "syncs",
		[ISC_DETAIL_KERNELS] = "kernels",
		[ISC_DETAIL_KERNEL_US] = "kernel_us",
		[ISC_DETAIL_HOST_US] = "host_us",
		[ISC_DETAIL_COPIES] = "copies",
		[ISC_DETAIL_PAGEABLE_COPIES] = "pageable_copies",
		[ISC_DETAIL_COPY_WAIT_US] = "copy_wait_us",
		[ISC_DETAIL_GB_PER_S] = "gb_per_s",
		[ISC_DETAIL_STATE] = "state",
		[ISC_DETAIL_STATE_PCT] = "state_pct",
		[ISC_DETAIL_SECOND_STATE] = "second_state",
		[ISC_DETAIL_SECOND_STATE_PCT] = "second_state_pct",
	};

	return names[what];
}

void isc_claim_number(isc_claim *c, enum isc_detail what, double number)
{
	if (isfinite(number) && number >= 0 && c->details < ISC_CLAIM_DETAILS)
		c->detail[c->details++] = (isc_claim_detail){.what = what, .number = number};
}

void isc_claim_text(isc_claim *c, enum isc_detail what, isc_text text)
{
	if (text.len > 0 && c->details < ISC_CLAIM_DETAILS)
		c->detail[c->details++] = (isc_claim_detail){.what = what, .number = -1, .text = text};
}

static const isc_claim_detail *find_detail(const isc_claim *c, enum isc_detail what)
{
	for (size_t i = 0; i < c->details; i++) {
		if (c->detail[i].what == what)
			return &c->detail[i];
	}
	return NULL;
}

double isc_claim_number_of(const isc_claim *c, enum isc_detail what)
{
	const isc_claim_detail *d = find_detail(c, what);

	return d != NULL ? d->number : -1;
}

isc_text isc_claim_text_of(const isc_claim *c, enum isc_detail what)
{
	const isc_claim_detail *d = find_detail(c, what);

	return d != NULL ? d->text : (isc_text){0};
}

int64_t isc_claim_device(const isc_claim *c)
{
	return c->subject.kind == ISC_CLAIM_OF_GPU ? (int64_t)c->subject.device : -1;
}

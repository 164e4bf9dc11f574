/*
 * phrase_gpu.c - the words of causes that are about a GPU.
 */
#include <math.h>
#include <string.h>

#include "report/text/phrase_parts.h"

#define SMALL_BYTES 65536 /* below, a copy is mostly its own overhead */

/* "GPU 0 is idle for 41.2% of its time" */
static void device_is(isc_phrase *p, const isc_claim *c, const char *is)
{
	isc_units u;

	isc_phrase_device(p, c);
	isc_buffer_text(&p->text, is);
	isc_phrase_figure(p, isc_units_percent(&u, c->share));
	isc_buffer_text(&p->text, " of its time");
}

static const char *idle_because(isc_text cause)
{
	static const char *const because[ISC_IDLE_CAUSES] = {"waiting for the host", "although it was asked",
							     "while the host waits for it", "while the host copies",
							     "for reasons that are not known"};

	for (int i = 0; i < ISC_IDLE_CAUSES; i++) {
		const char *name = isc_idle_cause_name((enum isc_idle_cause)i);

		if (strlen(name) == cause.len && memcmp(name, cause.at, cause.len) == 0)
			return because[i];
	}
	return because[ISC_IDLE_UNKNOWN];
}

static void write_idle(isc_phrase *p, const isc_claim *c)
{
	isc_text cause = isc_claim_text_of(c, ISC_DETAIL_IDLE_CAUSE);
	isc_units u;

	device_is(p, c, " is idle for ");
	if (cause.len == 0)
		return;
	isc_buffer_format(&p->text, ", %s of that %s",
			  isc_units_percent(&u, isc_claim_number_of(c, ISC_DETAIL_IDLE_CAUSE_PCT)),
			  idle_because(cause));
	isc_phrase_most(p, isc_claim_number_of(c, ISC_DETAIL_DURING) > 0 ? "in " : "before ", &c->place);
}

static void write_sync(isc_phrase *p, const isc_claim *c)
{
	isc_units u;

	device_is(p, c, " is idle for ");
	isc_buffer_text(&p->text, " because the host waits for it");
	if (isc_claim_number_of(c, ISC_DETAIL_SYNCS) >= 0)
		isc_buffer_format(&p->text, " (%s waits)", isc_phrase_number(&u, c, ISC_DETAIL_SYNCS));
	isc_phrase_most(p, "in ", &c->place);
}

static void write_launch(isc_phrase *p, const isc_claim *c)
{
	isc_units u, v;

	device_is(p, c, " is idle for ");
	isc_buffer_format(&p->text, " between %s kernels of %s each, which the host cannot launch fast enough",
			  isc_phrase_number(&u, c, ISC_DETAIL_KERNELS),
			  isc_units_time(&v, isc_claim_number_of(c, ISC_DETAIL_KERNEL_US)));
}

static void write_busy(isc_phrase *p, const isc_claim *c)
{
	isc_units u;

	device_is(p, c, " works for ");
	isc_buffer_format(&p->text, ", while the thread that feeds it works %s",
			  isc_units_time(&u, isc_claim_number_of(c, ISC_DETAIL_HOST_US)));
}

static void write_copies(isc_phrase *p, const isc_claim *c)
{
	double copies = isc_claim_number_of(c, ISC_DETAIL_COPIES), each = isc_claim_number_of(c, ISC_DETAIL_BYTES_EACH);
	isc_units u;

	device_is(p, c, " is copy-bound: ");
	isc_buffer_format(&p->text, " goes to %s host-device copies", isc_phrase_number(&u, c, ISC_DETAIL_COPIES));
	if (isc_claim_number_of(c, ISC_DETAIL_COPY_WAIT_US) > 0)
		isc_buffer_text(&p->text, " or to waiting for them");
	if (each >= 0 && each < SMALL_BYTES)
		isc_buffer_format(&p->text, ", of %s bytes each", isc_units_number(&u, each));
	if (isc_claim_number_of(c, ISC_DETAIL_PAGEABLE_COPIES) > floor(copies / 2))
		isc_buffer_text(&p->text, ", most from pageable memory");
}

static void write_bus(isc_phrase *p, const isc_claim *c)
{
	isc_buffer rate = {0};
	isc_units u;

	isc_buffer_format(&rate, "%s GB/s", isc_phrase_number(&u, c, ISC_DETAIL_GB_PER_S));
	isc_phrase_figure(p, rate.data != NULL ? rate.data : "");
	p->text.failed |= rate.failed;
	isc_buffer_fini(&rate);
	isc_buffer_text(&p->text, " go between the host and ");
	isc_phrase_device(p, c);
	isc_buffer_text(&p->text, " all the time");
}

const isc_phrase_kind isc_phrase_gpu[] = {
	{"gpu_idle_pct", write_idle, false},
	{"gpu_sync_idle_pct", write_sync, false},
	{"gpu_launch_idle_pct", write_launch, false},
	{"gpu_cpu_ratio", write_busy, false},
	{"copy_pct", write_copies, false},
	{"pcie_gb_per_s", write_bus, false},
	{0},
};

#include "report/minor.h"

#define SHORT_LIST 8u	  /* rows that are shown whatever they say */
#define PROCESS_SHARE 0.1 /* of the time looked at: shorter processes are minor */
#define THREAD_SHARE 0.01 /* of it on a CPU: threads with less are minor */

static double looked_at(const isc_analysis *a)
{
	return a->to_us - a->from_us;
}

bool isc_minor_process(const isc_analysis *a, const isc_analysis_process *p)
{
	return a->process_count > SHORT_LIST && p != a->processes && !p->traced && !p->failed && p->events == 0 &&
	       p->signal == 0 && p->wall_known && p->wall_us < looked_at(a) * PROCESS_SHARE;
}

bool isc_minor_thread(const isc_analysis *a, const isc_analysis_thread *t)
{
	return a->thread_count > SHORT_LIST && a->process_count > 0 && t->pid != a->processes[0].pid &&
	       t->events == 0 && t->on_cpu_us >= 0 && t->on_cpu_us < looked_at(a) * THREAD_SHARE;
}

/* Prints the work of GPUs in a trace, in times of the host: for a comparison with what is true.
 *
 *	gpu_times TRACE -> device correlation start_ns end_ns error_ns, a line each
 */
#include <inttypes.h>
#include <stdio.h>

#include "timeline/gpu/recorded.h"

int main(int argc, char **argv)
{
	isc_trace *trace = NULL;
	isc_recorded *recorded = NULL;
	isc_recorded_item item;
	isc_error err;
	isc_event ev;

	if (argc != 2 || isc_trace_open(argv[1], &trace, &err) != ISC_OK ||
	    isc_recorded_new(trace, 1000000, &recorded, &err) != ISC_OK || recorded == NULL) {
		isc_trace_close(trace);
		return 1;
	}
	isc_trace_rewind(trace);
	while (isc_trace_next(trace, &ev))
		if (isc_recorded_work(recorded, &ev, &item) && item.job < ISC_JOB_SYNC)
			printf("%" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRId64 "\n", item.device->number,
			       item.correlation, item.start_ns, item.end_ns, item.error_ns);
	isc_recorded_free(recorded);
	isc_trace_close(trace);
	return 0;
}

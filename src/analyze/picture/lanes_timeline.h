/* lanes_timeline.h - see lanes_timeline.c. */
#ifndef ISC_ANALYZE_PICTURE_LANES_TIMELINE_H
#define ISC_ANALYZE_PICTURE_LANES_TIMELINE_H

#include "analyze/picture/lanes.h"
#include "timeline/timeline.h"

/* Fills lanes while a timeline is finished: watch goes into its options, and timeline is set when it is there. */
typedef struct isc_lanes_watch {
	isc_lanes *lanes;
	isc_timeline *timeline;
	bool own;	   /* the timeline is of a trace of ours */
	isc_hashmap names; /* of the timeline -> of the lanes + 1 */
	isc_timeline_watch watch;
} isc_lanes_watch;

void isc_lanes_watch_init(isc_lanes_watch *w, isc_lanes *lanes, bool own);
void isc_lanes_watch_fini(isc_lanes_watch *w);

#endif

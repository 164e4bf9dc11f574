#include "session/machine/throttle.h"

#include <stdlib.h>
#include <unistd.h>

#include "session/machine/cgroup.h"

#define STAT_BYTES 4096

/* A group that has no limit does not say anything, or says 0. */
static void count(const isc_throttle *t, uint64_t *us, uint64_t *times)
{
	*us = *times = 0;
	for (uint32_t i = 0; i < t->count; i++) {
		char text[STAT_BYTES];

		if (!isc_cgroup_read(t->fd[i], text, sizeof(text)))
			continue;
		*us += isc_cgroup_number(text, "throttled_usec") + isc_cgroup_number(text, "throttled_time") / 1000;
		*times += isc_cgroup_number(text, "nr_throttled");
	}
}

isc_status isc_throttle_open(isc_throttle *t, const char *proc, uint64_t now_ns, isc_error *err)
{
	isc_cgroup *p = calloc(1, sizeof(*p));

	*t = (isc_throttle){.looked_ns = now_ns};
	if (p == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for the control groups");
	if (isc_cgroup_find(p, proc, "cpu"))
		t->count = isc_cgroup_open(p, "cpu.stat", t->fd, ISC_THROTTLE_GROUPS);
	free(p);
	if (t->count == 0)
		return isc_fail(err, ISC_ERR_UNSUPPORTED,
				"the program is in no control group whose counters can be read");
	count(t, &t->counted_us, &t->counted_times);
	return ISC_OK;
}

void isc_throttle_look(isc_throttle *t, uint64_t now_ns)
{
	uint64_t us, times, since = now_ns > t->looked_ns ? (now_ns - t->looked_ns) / 1000 : 0, more;

	if (t->count == 0)
		return;
	count(t, &us, &times);
	more = us > t->counted_us ? us - t->counted_us : 0;
	t->us += more < since ? more : since;
	t->times += times > t->counted_times ? times - t->counted_times : 0;
	t->counted_us = us;
	t->counted_times = times;
	t->looked_ns = now_ns;
}

void isc_throttle_close(isc_throttle *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		close(t->fd[i]);
	t->count = 0;
}

/* throttle: what a limit of CPU time took, from a double of the kernel's folders. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "kernel_folder.h"
#include "session/machine/throttle.h"

#define MS 1000000ull

AROUND_EACH(make_folder, remove_folder);

TEST(a_group_and_those_around_it_count)
{
	isc_throttle t;

	put("cgroup", "0::/pod/app\n");
	put_mount("31 23 0:28 / %s/groups rw,relatime - cgroup2 cgroup2 rw\n");
	put("groups/cpu.stat", "usage_usec 7\n");
	put("groups/pod/cpu.stat", "usage_usec 7\nnr_periods 9\nnr_throttled 3\nthrottled_usec 400000\n");
	put("groups/pod/app/cpu.stat", "usage_usec 7\nnr_periods 9\nnr_throttled 1\nthrottled_usec 100000\n");
	CHECK_OK(isc_throttle_open(&t, folder, 1000 * MS, NULL));
	CHECK_EQ(t.count, 3);
	isc_throttle_look(&t, 1100 * MS);
	CHECK_EQ(t.us, 0);
	put("groups/pod/cpu.stat", "nr_throttled 5\nthrottled_usec 430000\n");
	put("groups/pod/app/cpu.stat", "nr_throttled 2\nthrottled_usec 120000\n");
	isc_throttle_look(&t, 1200 * MS);
	CHECK_EQ(t.us, 50000);
	CHECK_EQ(t.times, 3);
	isc_throttle_close(&t);
}

/* Eight CPUs that all had to stop add up to more than the time that passed. */
TEST(no_more_than_the_time_that_passed)
{
	isc_throttle t;

	put("cgroup", "3:cpuset:/\n2:cpu,cpuacct:/docker/one\n0::/elsewhere\n");
	put_mount("32 31 0:29 /docker/one %s/v1\\040cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct\n");
	put("v1 cpu/cpu.stat", "nr_periods 1\nnr_throttled 1\nthrottled_time 1000000\n");
	CHECK_OK(isc_throttle_open(&t, folder, 1000 * MS, NULL));
	CHECK_EQ(t.count, 1);
	put("v1 cpu/cpu.stat", "nr_periods 9\nnr_throttled 9\nthrottled_time 801000000\n");
	isc_throttle_look(&t, 1100 * MS);
	CHECK_EQ(t.us, 100000);
	/* A counter that goes back is another group's. */
	put("v1 cpu/cpu.stat", "nr_periods 1\nnr_throttled 0\nthrottled_time 0\n");
	isc_throttle_look(&t, 1200 * MS);
	CHECK_EQ(t.us, 100000);
	put("v1 cpu/cpu.stat", "");
	isc_throttle_look(&t, 1300 * MS);
	put("v1 cpu/cpu.stat", "throttled_time many\nthrottled_time_ 5\n");
	isc_throttle_look(&t, 1400 * MS);
	CHECK_EQ(t.us, 100000);
	isc_throttle_close(&t);
}

TEST(without_a_group_it_is_not_known)
{
	isc_error err = {0};
	isc_throttle t;

	CHECK_EQ(isc_throttle_open(&t, folder, 0, &err), ISC_ERR_UNSUPPORTED);
	CHECK(strstr(err.what, "control group") != NULL);
	put("cgroup", "nonsense\n9:cpu\n0::/a\n");
	put_mount("1 2\n31 23 0:28 / %s/none rw - cgroup2 cgroup2 rw\n");
	CHECK_EQ(isc_throttle_open(&t, folder, 0, &err), ISC_ERR_UNSUPPORTED);
	isc_throttle_look(&t, 1);
	CHECK_EQ(t.us, 0);
	isc_throttle_close(&t);
}

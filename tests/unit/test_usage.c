/* usage, numa: memory of a program from doubles of the kernel's folders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel_folder.h"
#include "session/machine/numa.h"
#include "session/machine/usage.h"

#define S 1000000000ull

static void put_process(unsigned rss_kb, unsigned minor, unsigned major, unsigned swap_kb)
{
	char text[512];

	snprintf(text, sizeof(text), "7 (a) b (c) S 1 7 7 0 -1 4194304 %u 0 %u 0 1 1 0 0 20 0 1 0 1 1000 10\n", minor,
		 major);
	put("stat", text);
	snprintf(text, sizeof(text), "Name:\tx\nVmHWM:\t%u kB\nVmRSS:\t%u kB\nVmSwap:\t%u kB\n", rss_kb + 100, rss_kb,
		 swap_kb);
	put("status", text);
}

/* Version 2: the lowest limit counts, and what was counted before is not the program's. */
static void test_memory_and_pressure_of_version_2(void **state)
{
	isc_buffer facts = {0};
	isc_usage u;

	(void)state;
	put("cgroup", "0::/outer/inner\n");
	put_mount("30 29 0:26 / %s/fs rw - cgroup2 cgroup2 rw\n");
	put("fs/outer/inner/memory.max", "max\n");
	put("fs/outer/memory.max", "536870912\n");
	put("fs/outer/inner/memory.current", "1000\n");
	put("fs/outer/inner/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=100\n"
					      "full avg10=0.00 avg60=0.00 avg300=0.00 total=50\n");
	put("fs/outer/inner/memory.events", "low 0\nhigh 0\nmax 3\noom 0\noom_kill 1\n");
	put_process(2000, 10, 1, 0);
	isc_usage_open(&u, folder, S);
	isc_usage_look(&u, 2 * S);
	put_process(4000, 500, 2, 64);
	put("fs/outer/inner/memory.current", "9000\n");
	put("fs/outer/inner/memory.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=900\n"
					      "full avg10=0.00 avg60=0.00 avg300=0.00 total=250\n");
	put("fs/outer/inner/memory.events", "low 0\nhigh 0\nmax 8\noom 0\noom_kill 1\n");
	isc_usage_look(&u, 2 * S + 1); /* too soon */
	assert_int_equal(u.count, 1);
	isc_usage_look(&u, 3 * S);
	assert_int_equal(u.count, 2);
	assert_int_equal(u.point[1].rss_bytes, 4000 * 1024);
	assert_int_equal(u.point[1].minor_faults, 500);
	assert_int_equal(u.point[1].major_faults, 2);
	assert_int_equal(u.point[1].swap_bytes, 64 * 1024);
	assert_int_equal(u.peak_bytes, 4100 * 1024);
	assert_int_equal(u.group.limit_bytes, 536870912);
	assert_int_equal(u.group.most_bytes, 9000);
	assert_int_equal(u.group.some_us, 800);
	assert_int_equal(u.group.full_us, 200);
	assert_int_equal(u.group.refused, 5);
	assert_int_equal(u.group.killed, 0);
	isc_usage_facts(&u, &facts);
	isc_buffer_add(&facts, "", 1);
	assert_string_equal(facts.data,
			    "{\"usage\": {\"peak_rss_bytes\": 4198400, \"at_us\": [1000000, 2000000], "
			    "\"rss_bytes\": [2048000, 4096000], \"minor_faults\": [10, 500], \"major_faults\": [1, 2], "
			    "\"swap_bytes\": [0, 65536], \"group_bytes\": 9000, \"refused\": 5, \"killed\": 0, "
			    "\"limit_bytes\": 536870912, \"some_us\": 800, \"full_us\": 200}}");
	isc_buffer_fini(&facts);
	isc_usage_close(&u);
}

/* Version 1 says that there is no limit with a very large number, and knows no pressure. */
static void test_version_1(void **state)
{
	isc_usage u;

	(void)state;
	put("cgroup", "5:memory:/job\n4:cpu,cpuacct:/\n");
	put_mount("30 29 0:26 / %s/mem rw - cgroup cgroup rw,memory\n");
	put("mem/job/memory.limit_in_bytes", "9223372036854771712\n");
	put("mem/memory.limit_in_bytes", "1048576\n");
	put("mem/job/memory.usage_in_bytes", "4096\n");
	put("mem/job/memory.failcnt", "7\n");
	put_process(10, 1, 0, 0);
	isc_usage_open(&u, folder, S);
	put("mem/job/memory.failcnt", "9\n");
	isc_usage_look(&u, 2 * S);
	assert_true(u.group.known);
	assert_false(u.group.stalls_known);
	assert_int_equal(u.group.limit_bytes, 1048576);
	assert_int_equal(u.group.refused, 2);
	isc_usage_close(&u);
}

/* However long it runs: the points stay so many, in order and evenly apart. */
static void test_points_stay_bounded(void **state)
{
	isc_usage u;

	(void)state;
	put_process(10, 1, 0, 0);
	isc_usage_open(&u, folder, 0);
	for (uint64_t now = 1; now < 2000; now++)
		isc_usage_look(&u, now * ISC_USAGE_EVERY_NS);
	assert_in_range(u.count, ISC_USAGE_POINTS / 2, ISC_USAGE_POINTS);
	for (uint32_t i = 1; i < u.count; i++)
		assert_true(u.point[i].ns > u.point[i - 1].ns);
	isc_usage_close(&u);
	/* Nothing there: nothing known, and no harm. */
	isc_usage_open(&u, "/nowhere", 0);
	isc_usage_look(&u, S);
	assert_int_equal(u.count, 0);
	assert_false(u.group.known);
	isc_usage_close(&u);
}

static void put_nodes(void)
{
	put("node0/cpulist", "0-1\n");
	put("node0/meminfo", "Node 0 MemTotal:       2048 kB\nNode 0 MemFree: 1 kB\n");
	put("node2/cpulist", "2-3\n");
	put("node2/meminfo", "Node 2 MemTotal:       1024 kB\n");
}

static void test_pages_of_two_nodes_and_those_that_moved(void **state)
{
	isc_buffer facts = {0};
	isc_numa n;

	(void)state;
	put_nodes();
	put("numa_maps", "1000 default anon=5 dirty=5 N0=5 kernelpagesize_kB=4\n"
			 "2000 bind:2 file=/x/N9=3 mapped=2 N2=2 kernelpagesize_kB=4\n"
			 "200000 default huge anon=1 N0=1 kernelpagesize_kB=2048\n"
			 "rubbish\n");
	isc_numa_open(&n, folder, folder);
	isc_numa_look(&n, S, false);
	assert_int_equal(n.nodes, 2);
	assert_int_equal(n.first[0], (5 + 512) * 4096);
	assert_int_equal(n.first[1], 2 * 4096);
	/* Two pages went over, one more was touched; a new mapping is no move. */
	put("numa_maps", "1000 default anon=6 dirty=6 N0=3 N2=3 kernelpagesize_kB=4\n"
			 "1800 default anon=9 N2=9 kernelpagesize_kB=4\n"
			 "2000 bind:2 file=/x/N9=3 mapped=2 N2=2 kernelpagesize_kB=4\n");
	isc_numa_look(&n, S + 1, false); /* too soon */
	assert_int_equal(n.looks, 1);
	isc_numa_look(&n, S + 1, true);
	assert_int_equal(n.looks, 2);
	assert_int_equal(n.moved[0][1], 2 * 4096);
	assert_int_equal(n.moved[1][0], 0);
	/* It has ended: the last look counts. */
	put("numa_maps", "");
	isc_numa_look(&n, 9 * S, true);
	isc_numa_facts(&n, &facts);
	isc_buffer_add(&facts, "", 1);
	assert_string_equal(facts.data,
			    "{\"numa\": {\"nodes\": [{\"node\": 0, \"memory_bytes\": 2097152, \"cpus\": \"0-1\"}, "
			    "{\"node\": 2, \"memory_bytes\": 1048576, \"cpus\": \"2-3\"}], \"looks\": 2, "
			    "\"first_bytes\": [2117632, 8192], \"last_bytes\": [12288, 57344], "
			    "\"moved\": [[0, 2, 8192]], \"moves\": [[1000000000, 1000000001, 0, 2, 2]]}}");
	isc_buffer_fini(&facts);
	isc_numa_close(&n);
}

static void test_every_cpu_has_its_node(void **state)
{
	uint8_t nodes[8];

	(void)state;
	put("node0/cpulist", "0-1,4\n");
	isc_numa_cpus(folder, nodes, sizeof(nodes));
	assert_memory_equal(nodes, "\0\0\0\0\0\0\0\0", 8); /* one node: nothing to tell */
	put("node2/cpulist", "2-3,6-900\n");
	isc_numa_cpus(folder, nodes, sizeof(nodes));
	assert_memory_equal(nodes, "\1\1\3\3\1\0\3\3", 8);
	put("node2/cpulist", "x7\n");
	isc_numa_cpus(folder, nodes, sizeof(nodes));
	assert_memory_equal(nodes, "\1\1\0\0\1\0\0\0", 8);
}

static void test_one_node_is_not_looked_at(void **state)
{
	isc_buffer facts = {0};
	isc_numa n;

	(void)state;
	put("node0/cpulist", "0-1\n");
	put("numa_maps", "1000 default anon=5 N0=5 kernelpagesize_kB=4\n");
	isc_numa_open(&n, folder, folder);
	isc_numa_look(&n, S, true);
	assert_int_equal(n.looks, 0);
	isc_numa_facts(&n, &facts);
	isc_buffer_add(&facts, "", 1);
	assert_string_equal(facts.data,
			    "{\"numa\": {\"nodes\": [{\"node\": 0, \"memory_bytes\": 0, \"cpus\": \"0-1\"}], "
			    "\"looks\": 0}}");
	isc_buffer_fini(&facts);
	isc_numa_close(&n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_memory_and_pressure_of_version_2, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_version_1, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_points_stay_bounded, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_pages_of_two_nodes_and_those_that_moved, make_folder,
						remove_folder),
		cmocka_unit_test_setup_teardown(test_every_cpu_has_its_node, make_folder, remove_folder),
		cmocka_unit_test_setup_teardown(test_one_node_is_not_looked_at, make_folder, remove_folder),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

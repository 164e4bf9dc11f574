/* Channels in a trace: their definitions, what went over them, and what ended waits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "trace/channel.h"
#include "trace/dump/dump.h"
#include "trace_text.h"

#define TWO_PROCESSES \
	"p1 pid=100 root traced end=1s status=0 argv serve\n" \
	"t1 p1 tid=100 main end=1s\n" \
	"p2 pid=200 parent=p1 traced end=1s status=0 argv ask\n" \
	"t2 p2 tid=200 main end=1s\n"

static char *dump_of(const char *text)
{
	const isc_dump_options options = {.definitions = true};
	isc_trace *trace = NULL;
	isc_error err = {0};
	char *out = NULL;
	size_t size;
	FILE *file = open_memstream(&out, &size);

	CHECK_OK(trace_text_open(text, &trace, &err), &err);
	CHECK(isc_dump_write(trace, &options, file, &err));
	fclose(file);
	isc_trace_close(trace);
	return out;
}

static void check_has(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		print_error("%s\nis not in\n%s\n", part, text);
	CHECK(strstr(text, part) != NULL);
}

TEST(a_dump_says_what_went_over_which_channel)
{
	char *text = dump_of(TWO_PROCESSES "t1 5ms sent \"tcp 10.0.0.1:80 10.0.0.2:4000\" 100 16us\n"
					   "t1 6ms sent \"pipe 55\" 1 1us 7\n"
					   "t2 7ms got \"unix 55 56\" 1\n"
					   "t2 8ms got \"unix @server 4000\" 4096\n"
					   "end 1s status=0\n");

	check_has(text, "channel tcp \"10.0.0.1:80\" peer \"10.0.0.2:4000\"\n");
	check_has(text, "channel unix device 0 inode 55 peer_inode 56\n");
	check_has(text, "channel unix \"@server\" peer_pid 4000\n");
	check_has(text, " sent tcp \"10.0.0.1:80\" peer \"10.0.0.2:4000\" channel 2 bytes 64..127 ticks 16384\n");
	check_has(text, " sent pipe channel 4 bytes 1..1 ticks 1024 left_out 7\n");
	check_has(text, " got unix channel 6 bytes 1..1 ticks 0\n");
	check_has(text, " got unix \"@server\" channel 8 bytes 4096..8191 ticks 0\n");
	free(text);
}

TEST(a_dump_says_what_ended_a_wait)
{
	char *text = dump_of(TWO_PROCESSES
			     "t2 5ms wait_exit recv 4ms 0 \"on=tcp 10.0.0.2:4000 10.0.0.1:80\" \"ask m.py 1 2\"\n"
			     "t1 6ms wait_exit sem 1ms 101 \"poster=102 3us\" \"serve m.py 1 2\"\n"
			     "t1 7ms wait_exit sem 1ms 101 \"serve m.py 1 2\"\n"
			     "end 1s status=0\n");

	check_has(
		text,
		" wait_exit recv ticks 4000000 on tcp \"10.0.0.2:4000\" peer \"10.0.0.1:80\" channel 2 stack \"ask\"");
	check_has(text, " wait_exit sem ticks 1000000 holder 101 poster 102 before 3000 stack \"serve\"");
	check_has(text, " wait_exit sem ticks 1000000 holder 101 stack \"serve\"");
	free(text);
}

/* A trace is anybody's: what is cut short says less, and nothing is read behind it. */
TEST(a_definition_that_is_cut_has_the_texts_that_are_there)
{
	struct {
		isc_def_channel head;
		char text[8];
	} def = {{.kind = ISC_CHANNEL_TCP, .local_len = 4, .peer_len = 60000},
		 {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}};
	isc_trace_channel c;

	for (uint32_t len = 0; len < sizeof(def.head); len++) {
		void *copy = malloc(len);

		memcpy(copy, &def, len);
		CHECK(!isc_trace_channel_read(copy, len, &c));
		free(copy);
	}
	CHECK(isc_trace_channel_read(&def, sizeof(def.head) + 2, &c));
	CHECK_EQ(c.local.len, 2);
	CHECK_EQ(c.peer.len, 0);
	CHECK(isc_trace_channel_read(&def, sizeof(def.head) + 6, &c));
	CHECK_EQ(c.local.len, 4);
	CHECK_EQ(c.peer.len, 2);
	CHECK_BYTES(c.peer.at, "ef", 2);
	CHECK(!isc_trace_channel_read(NULL, 100, &c));
	CHECK(isc_channel_kind_name(0) == NULL && isc_channel_kind_name(7) == NULL);
}

TEST(an_unknown_channel_is_told_as_such)
{
	const uint64_t body[4] = {UINT64_MAX, UINT64_MAX, 1, UINT64_MAX};
	isc_event ev = {.kind = ISC_KIND_WAIT_EXIT, .extra = body, .extra_len = 16};
	isc_waker waker;

	/* As traces of before have it. */
	CHECK(!isc_trace_waker(&ev, &waker));
	ev.extra_len = 32;
	CHECK(isc_trace_waker(&ev, &waker));
	CHECK_EQ(waker.channel, 1);
	ev.kind = ISC_KIND_GC;
	CHECK(!isc_trace_waker(&ev, &waker));
	CHECK_EQ(isc_trace_left_out(&ev), 0);
	ev.kind = ISC_KIND_GOT;
	CHECK_EQ(isc_trace_left_out(&ev), UINT64_MAX);
	ev.extra_len = 0;
	CHECK_EQ(isc_trace_left_out(&ev), 0);
}

/* The program's side of channels: what a descriptor leads to, and which calls are told.  The budget is the test's. */
#include <arpa/inet.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "check.h"
#include "collect/hooks/address.h"
#include "collect/hooks/blocked.h"
#include "collect/hooks/channel.h"
#include "collect/hooks/endpoint.h"
#include "collect/hooks/post.h"
#include "transport_process.h"

#define US isc_image_self.ticks_per_us

/* What blocked.c has for them. */
static bool affordable = true;
static uint32_t looked;
static uint32_t self = 77;

bool isc_blocked_worth(uint64_t ticks)
{
	(void)ticks;
	return affordable;
}

void isc_blocked_cost(uint64_t since)
{
	(void)since;
	looked++;
}

uint32_t isc_blocked_self(void)
{
	return self;
}

static int make_watched_session(void **state)
{
	isc_control wish = usual();

	(void)state;
	wish.flags |= ISC_CONTROL_WAITS;
	wish.ticks_per_us = 1000;
	memset(sink, 0, sizeof(*sink));
	return !transport_session_make(&session, &wish);
}

AROUND_EACH(make_watched_session, remove_session);

static void join_open(void)
{
	session.control->first_defs_bytes = session.control->max_defs_bytes;
	join();
	HOLDS(isc_image_open());
}

/* Everything that a child did, in the sink. */
static void run_and_drain(void (*run)(void))
{
	CHECK_EQ(in_child(run), 0);
	transport_sink_drain(sink, session.folder, NULL);
}

static unsigned channels_defined(void)
{
	unsigned n = 0;

	for (unsigned i = 0; i < sink->n_defs; i++)
		n += sink->def_type[i] == ISC_DEF_CHANNEL;
	return n;
}

static isc_def_channel definition_of(uint32_t id)
{
	isc_def_channel c = {0};

	/* The sink keeps its beginning. */
	for (unsigned i = 0; i < sink->n_defs; i++) {
		if (sink->def_id[i] == id && sink->def_type[i] == ISC_DEF_CHANNEL)
			memcpy(&c, sink->def_text[i], sizeof(sink->def_text[i]) - 1);
	}
	return c;
}

/* ---- numbers ------------------------------------------------------------- */

TEST(a_record_says_how_much_and_never_too_late_since_when)
{
	for (uint32_t bit = 0; bit < 62; bit++) {
		for (uint64_t more = 0; more < 200; more++) {
			uint64_t ticks = (1ull << bit) + more * more * more;
			uint64_t told = isc_moved_ticks(isc_moved(5, ticks));

			CHECK_IN(told, ticks, ticks + ticks / 16 + 1);
		}
		CHECK_EQ(ISC_MOVED_LENGTH(isc_moved(1ull << bit, 9)), bit + 1);
	}
	CHECK_EQ(isc_moved(0, 0), 0);
	CHECK_EQ(isc_moved_ticks(isc_moved(1, 0)), 0);
	CHECK_EQ(ISC_MOVED_LENGTH(isc_moved(UINT64_MAX, UINT64_MAX)), 63);
	CHECK_EQ(isc_moved_ticks(UINT16_MAX), UINT64_MAX);
}

static const char *text_of(const char *where, int port)
{
	static char text[ISC_ADDRESS_TEXT + 1];
	isc_address at = {.in6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)}};
	size_t len = sizeof(at.in6);

	if (inet_pton(AF_INET6, where, &at.in6.sin6_addr) != 1) {
		at.in = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
		inet_pton(AF_INET, where, &at.in.sin_addr);
		len = sizeof(at.in);
	}
	text[isc_address_text(text, &at, len)] = 0;
	return text;
}

TEST(both_ends_give_an_address_the_same_text)
{
	CHECK_TEXT(text_of("127.0.0.1", 80), "127.0.0.1:80");
	CHECK_TEXT(text_of("::ffff:127.0.0.1", 65535), "127.0.0.1:65535");
	CHECK_TEXT(text_of("::1", 8000), "[0000:0000:0000:0000:0000:0000:0000:0001]:8000");
}

TEST(an_address_that_is_cut_says_nothing)
{
	isc_address at = {.un = {.sun_family = AF_UNIX, .sun_path = "/run/x"}};
	char text[ISC_ADDRESS_TEXT];
	size_t path = offsetof(struct sockaddr_un, sun_path);

	CHECK_EQ(isc_address_text(text, &at, 0), 0);
	CHECK_EQ(isc_address_text(text, &at, path), 0);
	CHECK_EQ(isc_address_text(text, &at, path + 4), 4);
	CHECK_EQ(isc_address_text(text, &at, 4096), 6);
	memset(at.un.sun_path, 'x', sizeof(at.un.sun_path));
	CHECK_EQ(isc_address_text(text, &at, 4096), sizeof(at.un.sun_path));
	memcpy(at.un.sun_path, "\0name", 5);
	CHECK_EQ(isc_address_text(text, &at, path + 5), 5);
	CHECK_BYTES(text, "@name", 5);
	at.in = (struct sockaddr_in){.sin_family = AF_INET};
	CHECK_EQ(isc_address_text(text, &at, sizeof(at.in) - 1), 0);
}

static const char *folded(const char *local, const char *peer)
{
	static char both[2 * ISC_ADDRESS_TEXT + 1];
	isc_endpoint e = {.head = {.kind = ISC_CHANNEL_TCP,
				   .inode = 7,
				   .local_len = (uint16_t)strlen(local),
				   .peer_len = (uint16_t)strlen(peer)}};

	memcpy(e.text, local, strlen(local));
	memcpy(e.text + strlen(local), peer, strlen(peer));
	isc_endpoint_fold(&e);
	CHECK_EQ(e.head.inode, 0);
	CHECK_EQ(e.head.folded, 1);
	snprintf(both, sizeof(both), "%.*s %.*s", e.head.local_len, e.text, e.head.peer_len, e.text + e.head.local_len);
	return both;
}

TEST(one_of_many_keeps_the_address_of_the_service_at_both_ends)
{
	CHECK_TEXT(folded("10.0.0.1:80", "10.0.0.2:40001"), "10.0.0.1:80 10.0.0.2:*");
	CHECK_TEXT(folded("10.0.0.2:40001", "10.0.0.1:80"), "10.0.0.2:* 10.0.0.1:80");
	CHECK_TEXT(folded("10.0.0.1:80", ""), "10.0.0.1:80 ");
	CHECK_TEXT(folded("/run/server", ""), "/run/server ");
}

/* ---- descriptors ---------------------------------------------------------- */

static void use_a_pipe(void)
{
	int ends[2];

	join_open();
	HOLDS(pipe(ends) == 0);
	for (unsigned i = 0; i < 10 * ISC_CHANNEL_CHECK; i++) {
		isc_channel_moved(ends[1], ISC_CHANNEL_SENT, 100 * i, 100 * i + 9, 5);
		isc_channel_moved(ends[0], ISC_CHANNEL_GOT, 100 * i + 10, 100 * i + 19, 5);
	}
	/* One look at first, and one in so many uses. */
	HOLDS(looked == 2 * 10);
	HOLDS(isc_channel_of(ends[0]) == isc_channel_of(ends[1]) && isc_channel_of(ends[0]) != 0);
	HOLDS(isc_channel_of(-1) == 0 && isc_channel_of(1 << 30) == 0 && isc_channel_of(999) == 0);
}

TEST(a_descriptor_is_looked_at_once_and_seldom_again)
{
	isc_def_channel pipe;

	run_and_drain(use_a_pipe);
	CHECK_EQ(channels_defined(), 1);
	CHECK_EQ(sink->n_events, 20 * ISC_CHANNEL_CHECK);
	CHECK_EQ(sink->event[0].kind, ISC_KIND_SENT);
	CHECK_EQ(sink->event[0].ticks, 9);
	CHECK_EQ(sink->event[1].kind, ISC_KIND_GOT);
	CHECK_EQ(isc_moved_ticks(sink->event[1].arg), 9);
	CHECK_EQ(ISC_MOVED_LENGTH(sink->event[1].arg), 3);
	pipe = definition_of(sink->event[0].id);
	CHECK_EQ(pipe.kind, ISC_CHANNEL_PIPE);
	CHECK(pipe.inode != 0 && pipe.device != 0);
	CHECK_EQ(sink->event[1].id, sink->event[0].id);
}

static void use_a_number_again(void)
{
	int ends[2], other[2], kept;
	uint32_t first, second;

	join_open();
	HOLDS(pipe(ends) == 0 && pipe(other) == 0);
	first = isc_channel_of(ends[1]);
	second = isc_channel_of(other[1]);
	HOLDS(first != 0 && second != 0 && first != second);
	HOLDS(dup2(other[1], ends[1]) == ends[1]);
	isc_channel_forget(ends[1]);
	HOLDS(isc_channel_of(ends[1]) == second);
	/* Behind our back: at the latest after so many uses. */
	kept = ends[0];
	HOLDS(isc_channel_of(kept) == first && dup2(other[0], kept) == kept);
	for (unsigned i = 0; i < ISC_CHANNEL_CHECK; i++)
		isc_channel_of(kept);
	HOLDS(isc_channel_of(kept) == second);
	/* All of them at once, and no file is a channel. */
	isc_channel_forget_range(0, UINT32_MAX);
	HOLDS(dup2(open("/dev/null", O_RDWR), kept) == kept);
	HOLDS(isc_channel_of(kept) == 0 && isc_channel_of(ends[1]) == second);
}

TEST(a_number_leads_to_what_is_there_now)
{
	run_and_drain(use_a_number_again);
	CHECK_EQ(channels_defined(), 2);
}

static void ask_in_children(void)
{
	int ends[2], status;
	uint32_t id;

	join_open();
	HOLDS(pipe(ends) == 0);
	id = isc_channel_of(ends[0]);
	if (fork() == 0) {
		looked = 0;
		HOLDS(isc_channel_of(ends[0]) != 0 && looked == 1);
		isc_channel_moved(ends[0], ISC_CHANNEL_GOT, 1, 2, 3);
		_exit(0);
	}
	HOLDS(wait(&status) > 0 && status == 0);
	/* A vfork child has the table of its parent and descriptors of its own. */
	if (vfork() == 0) {
		syscall(SYS_dup3, open("/dev/null", O_RDWR), ends[0], 0);
		isc_channel_forget(ends[0]);
		isc_channel_forget_range(0, UINT32_MAX);
		_exit(0);
	}
	HOLDS(wait(&status) > 0);
	looked = 0;
	HOLDS(isc_channel_of(ends[0]) == id && looked == 0);
}

TEST(a_fork_child_looks_anew_and_a_vfork_child_changes_nothing)
{
	run_and_drain(ask_in_children);
	CHECK_EQ(channels_defined(), 2);
	CHECK_EQ(sink->n_events, 1);
}

static void open_very_many(void)
{
	join_open();
	for (unsigned i = 0; i < ISC_CHANNELS_APART + 100; i++) {
		int fd = eventfd(0, 0), ends[2];

		HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
		isc_channel_of(ends[0]);
		isc_channel_forget(ends[0]);
		close(ends[0]);
		close(ends[1]);
		close(fd);
	}
}

TEST(of_very_many_channels_the_last_share_a_definition)
{
	unsigned shared = 0;

	run_and_drain(open_very_many);
	for (unsigned i = 0; i < sink->n_defs; i++)
		shared += definition_of(sink->def_id[i]).folded;
	CHECK_EQ(channels_defined(), ISC_CHANNELS_APART + 1);
	CHECK_EQ(shared, 1);
}

static void ask_for_kinds(void)
{
	isc_endpoint e;
	int pair[2];

	join_open();
	HOLDS(isc_endpoint_look(eventfd(0, 0), &e) && e.head.kind == ISC_CHANNEL_EVENTFD);
	HOLDS(!isc_endpoint_look(open("/dev/null", O_RDWR), &e) && !isc_endpoint_look(-1, &e));
	HOLDS(isc_endpoint_look(socket(AF_INET, SOCK_DGRAM, 0), &e) && e.head.kind == ISC_CHANNEL_UDP);
	HOLDS(isc_endpoint_look(socket(AF_INET6, SOCK_STREAM, 0), &e) && e.head.kind == ISC_CHANNEL_TCP);
	HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	errno = 1234;
	isc_channel_pair(pair);
	HOLDS(errno == 1234);
	isc_channel_moved(pair[0], ISC_CHANNEL_SENT, 1, 2, 3);
	isc_channel_moved(pair[1], ISC_CHANNEL_GOT, 1, 2, 3);
}

TEST(ends_of_a_pair_name_each_other)
{
	isc_def_channel one, other;

	run_and_drain(ask_for_kinds);
	CHECK_EQ(sink->n_events, 2);
	one = definition_of(sink->event[0].id);
	other = definition_of(sink->event[1].id);
	CHECK_EQ(one.kind, ISC_CHANNEL_UNIX);
	CHECK(one.inode != other.inode && one.inode != 0);
}

/* ---- what is left out ------------------------------------------------------ */

static void send_in_need(void)
{
	int ends[2];
	uint64_t now;

	join_open();
	now = 1000 * US;
	HOLDS(pipe(ends) == 0);
	affordable = false;
	for (unsigned i = 0; i < 10; i++)
		isc_channel_moved(ends[1], ISC_CHANNEL_SENT, now + i * US, now + i * US, 1);
	/* The other direction is another. */
	isc_channel_moved(ends[0], ISC_CHANNEL_GOT, now, now, 1);
	now += (9 + ISC_CHANNEL_SILENCE_US) * US;
	isc_channel_moved(ends[1], ISC_CHANNEL_SENT, now, now, 1);
	isc_channel_moved(ends[1], ISC_CHANNEL_SENT, now + US, now + US, 1);
	isc_channel_forget(ends[1]);
	isc_channel_moved(ends[0], ISC_CHANNEL_GOT, now, now, 1);
	isc_channel_moved(ends[0], ISC_CHANNEL_GOT, now, now, 1);
	isc_channel_flush();
	isc_channel_flush();
}

TEST(without_budget_the_first_after_silence_is_told_and_the_rest_counted)
{
	/* Kind, slots and what was left out before it. */
	static const unsigned told[][3] = {{ISC_KIND_SENT, 1, 0}, {ISC_KIND_GOT, 1, 0}, {ISC_KIND_SENT, 2, 9},
					   {ISC_KIND_SENT, 2, 1}, {ISC_KIND_GOT, 1, 0}, {ISC_KIND_GOT, 2, 1}};
	unsigned at = 0;

	run_and_drain(send_in_need);
	for (unsigned i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		const isc_record *r = &sink->event[at];

		CHECK_EQ(r->kind, told[i][0]);
		CHECK_EQ(r->slots, told[i][1]);
		if (r->slots == 2)
			CHECK_EQ(r[1].ticks, told[i][2]);
		at += r->slots;
	}
	CHECK_EQ(at, sink->n_events);
	CHECK_EQ(ISC_MOVED_LENGTH(sink->event[4].arg), 0); /* it tells of others alone */
}

static _Atomic unsigned made;

static void *send_from_a_thread(void *fd)
{
	for (unsigned i = 0; i < 1000; i++) {
		isc_channel_moved((int)(intptr_t)fd, ISC_CHANNEL_SENT, isc_ticks(), isc_ticks(), 1);
		atomic_fetch_add(&made, 1);
	}
	return NULL;
}

static void send_from_threads(void)
{
	pthread_t thread[4];
	int ends[2];

	join_open();
	HOLDS(pipe(ends) == 0);
	affordable = false;
	for (int i = 0; i < 4; i++)
		HOLDS(pthread_create(&thread[i], NULL, send_from_a_thread, (void *)(intptr_t)ends[1]) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	isc_channel_flush();
}

TEST(threads_that_share_a_channel_lose_no_count)
{
	uint64_t calls = 0;

	run_and_drain(send_from_threads);
	for (unsigned at = 0; at < sink->n_events; at += sink->event[at].slots) {
		calls += ISC_MOVED_LENGTH(sink->event[at].arg) != 0;
		calls += sink->event[at].slots == 2 ? sink->event[at + 1].ticks : 0;
	}
	CHECK_EQ(calls, 4000);
}

/* ---- who posted ------------------------------------------------------------ */

static void post_and_ask(void)
{
	static char object[64];
	isc_waker waker = {0};
	uint64_t begin, now;

	join_open();
	begin = isc_ticks();
	isc_post_find(object, begin, isc_ticks(), &waker);
	HOLDS(waker.poster == 0);
	isc_post_note(object);
	now = isc_ticks();
	isc_post_find(object, begin, now, &waker);
	HOLDS(waker.poster == 77 && waker.posted_ticks <= now - begin);
	/* The last one counts, by another thread and for another object. */
	self = 78;
	isc_post_note(object);
	self = 79;
	isc_post_note(object + 8);
	isc_post_find(object, begin, isc_ticks(), &waker);
	HOLDS(waker.poster == 78);
	/* What was posted before a wait did not end it. */
	usleep(1000);
	waker.poster = 0;
	begin = isc_ticks();
	isc_post_find(object, begin, begin + 10 * US, &waker);
	HOLDS(waker.poster == 0);
}

TEST(the_last_post_during_a_wait_is_found)
{
	CHECK_EQ(in_child(post_and_ask), 0);
}

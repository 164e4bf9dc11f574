/*
 * Which state a wait is: the call, and the functions that made it.
 */
#include "check.h"
#include "timeline/waits.h"

#define TEXT(s) ((isc_text){s, sizeof(s) - 1})

/* What runs a job lies below all that the job waits for. */
TEST(a_job_waits_for_itself_whoever_runs_it)
{
	static const isc_waits_frame below[] = {
		{TEXT("_WorkItem.run"), TEXT("/usr/lib/python3.11/concurrent/futures/thread.py")},
		{TEXT("worker"), TEXT("/usr/lib/python3.11/multiprocessing/pool.py")},
		{TEXT("BaseProcess.run"), TEXT("/usr/lib/python3.11/multiprocessing/process.py")},
		{TEXT("Handle._run"), TEXT("/usr/lib/python3.11/asyncio/events.py")},
		{TEXT("_MapDatasetFetcher.fetch"), TEXT("/site-packages/torch/utils/data/_utils/fetch.py")},
		{TEXT("BaseServer.serve_forever"), TEXT("/usr/lib/python3.11/socketserver.py")},
		{TEXT("BaseHTTPRequestHandler.handle_one_request"), TEXT("/usr/lib/python3.11/http/server.py")},
	};
	static const isc_waits_frame job = {TEXT("job"), TEXT("/app/x.py")};
	static const isc_waits_frame reply = {TEXT("SocketIO.readinto"), TEXT("/usr/lib/python3.11/socket.py")};
	static const isc_waits_frame empty = {TEXT("Queue.get"), TEXT("/usr/lib/python3.11/queue.py")};
	static const isc_waits_frame taken = {TEXT("SemLock.__enter__"),
					      TEXT("/usr/lib/python3.11/multiprocessing/synchronize.py")};
	static const isc_waits_frame turn = {TEXT("SimpleQueue.get"),
					     TEXT("/usr/lib/python3.11/multiprocessing/queues.py")};

	for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
		const isc_waits_frame its[] = {job, below[i]};
		const isc_waits_frame answer[] = {reply, job, below[i]};
		const isc_waits_frame work[] = {empty, job, below[i]};

		CHECK_EQ(isc_waits_state(ISC_WAIT_SEM, its, 2, 8, 7), ISC_STATE_LOCK_WAIT);
		CHECK_EQ(isc_waits_state(ISC_WAIT_READ, its, 2, 0, 7), ISC_STATE_IO_WAIT);
		CHECK_EQ(isc_waits_state(ISC_WAIT_POLL, its, 2, 0, 7), ISC_STATE_IO_WAIT);
		CHECK_EQ(isc_waits_state(ISC_WAIT_RECV, answer, 3, 0, 7), ISC_STATE_IO_WAIT);
		CHECK_EQ(isc_waits_state(ISC_WAIT_SEM, work, 3, 0, 7), ISC_STATE_IDLE);
	}
	/* A job of C alone. */
	CHECK_EQ(isc_waits_state(ISC_WAIT_READ, &below[0], 1, 0, 7), ISC_STATE_IO_WAIT);
	/* A lock of processes, and the one with which the consumers of a queue of theirs take turns. */
	CHECK_EQ(isc_waits_state(ISC_WAIT_SEM, (isc_waits_frame[]){taken, job}, 2, 0, 7), ISC_STATE_LOCK_WAIT);
	CHECK_EQ(isc_waits_state(ISC_WAIT_SEM, (isc_waits_frame[]){taken, turn, below[1]}, 3, 0, 7), ISC_STATE_IDLE);
	/* A request is waited for by the server itself. */
	CHECK_EQ(isc_waits_state(ISC_WAIT_RECV, (isc_waits_frame[]){reply, below[6]}, 2, 0, 7), ISC_STATE_IDLE);
}

TEST(waiting_for_work_is_idle_and_for_a_lock_is_not)
{
	static const struct {
		uint32_t call;
		isc_waits_frame frames[3];
		size_t n;
		uint32_t holder;
		enum isc_state is;
	} cases[] = {
		{ISC_WAIT_GIL, {{TEXT("run"), TEXT("/app/x.py")}}, 1, 8, ISC_STATE_GIL_WAIT},
		{ISC_WAIT_SEM, {{TEXT("run"), TEXT("/app/x.py")}}, 1, 8, ISC_STATE_LOCK_WAIT},
		{ISC_WAIT_SEM, {{TEXT("run"), TEXT("/app/x.py")}}, 1, 7, ISC_STATE_IDLE},
		{ISC_WAIT_SEM,
		 {{TEXT("Condition.wait"), TEXT("/usr/lib/python3.11/threading.py")},
		  {TEXT("Queue.get"), TEXT("/usr/lib/python3.11/queue.py")}},
		 2,
		 0,
		 ISC_STATE_IDLE},
		{ISC_WAIT_SEM, {{TEXT("wait"), TEXT("/usr/lib/python3.9/threading.py")}}, 1, 0, ISC_STATE_IDLE},
		{ISC_WAIT_SEM,
		 {{TEXT("Condition.wait"), TEXT("/usr/lib/python3.11/threading.py")},
		  {TEXT("Semaphore.acquire"), TEXT("/usr/lib/python3.11/threading.py")}},
		 2,
		 7, /* the lock that it waits with is its own */
		 ISC_STATE_LOCK_WAIT},
		{ISC_WAIT_SEM,
		 {{TEXT("_worker"), TEXT("/usr/lib/python3.11/concurrent/futures/thread.py")}},
		 1,
		 9,
		 ISC_STATE_IDLE},
		{ISC_WAIT_SEM, {{TEXT("await"), TEXT("/app/threading.pyx")}}, 1, 9, ISC_STATE_LOCK_WAIT},
		{ISC_WAIT_SEM, {{TEXT("await"), TEXT("/usr/lib/python3.11/threading.py")}}, 1, 9, ISC_STATE_LOCK_WAIT},
		{ISC_WAIT_EPOLL, {{TEXT("select"), TEXT("/usr/lib/python3.11/selectors.py")}}, 1, 0, ISC_STATE_IDLE},
		{ISC_WAIT_POLL, {{TEXT("fetch"), TEXT("/app/client.py")}}, 1, 0, ISC_STATE_IO_WAIT},
		{ISC_WAIT_POLL, {{{0}, {0}}}, 0, 0, ISC_STATE_IDLE},
		{ISC_WAIT_SELECT, {{TEXT("serve"), TEXT("/app/x.py")}}, 1, 0, ISC_STATE_IDLE},
		{ISC_WAIT_SELECT,
		 {{TEXT("_PollLikeSelector.select"), TEXT("/usr/lib/python3.11/selectors.py")},
		  {TEXT("Popen._communicate"), TEXT("/usr/lib/python3.11/subprocess.py")}},
		 2,
		 0,
		 ISC_STATE_IO_WAIT},
		{ISC_WAIT_SEM, {{{0}, {0}}}, 0, 0, ISC_STATE_IDLE},
		{ISC_WAIT_SEM, {{{0}, {0}}}, 0, 8, ISC_STATE_LOCK_WAIT},
		{ISC_WAIT_SELECT,
		 {{TEXT("serve_forever"), TEXT("/usr/lib/python3.11/socketserver.py")}},
		 1,
		 0,
		 ISC_STATE_IDLE},
		{ISC_WAIT_READ,
		 {{TEXT("Connection._recv"), TEXT("/usr/lib/python3.11/multiprocessing/connection.py")}},
		 1,
		 0,
		 ISC_STATE_IDLE},
		{ISC_WAIT_READ, {{TEXT("load"), TEXT("/app/x.py")}}, 1, 0, ISC_STATE_IO_WAIT},
		{ISC_WAIT_ACCEPT, {{{0}, {0}}}, 0, 0, ISC_STATE_IDLE},
		{ISC_WAIT_MUTEX, {{{0}, {0}}}, 0, 0, ISC_STATE_LOCK_WAIT},
		{ISC_WAIT_COND, {{{0}, {0}}}, 0, 0, ISC_STATE_IDLE},
		{ISC_WAIT_SLEEP, {{{0}, {0}}}, 0, 0, ISC_STATE_SLEEP},
		{31, {{{0}, {0}}}, 0, 0, ISC_STATE_OTHER},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum isc_state is = isc_waits_state(cases[i].call, cases[i].frames, cases[i].n, cases[i].holder, 7);

		if (is != cases[i].is)
			fail_msg("case %zu is %s", i, isc_state_name(is));
	}
}

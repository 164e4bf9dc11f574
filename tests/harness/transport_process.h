/*
 * transport_process.h - a test joins a session in a child of its own, since a
 * process joins one session in its life.  For the tests of the program's side.
 */
#ifndef ISC_TESTS_TRANSPORT_PROCESS_H
#define ISC_TESTS_TRANSPORT_PROCESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "runtime/image.h"
#include "runtime/runtime.h"
#include "runtime/write.h"
#include "transport_session.h"
#include "transport_sink.h"

static transport_session session;
static transport_sink the_sink;
static transport_sink *const sink = &the_sink;

/* In a child: says what did not hold and ends it. */
#define HOLDS(claim) \
	do { \
		if (!(claim)) { \
			fprintf(stderr, "%s:%d: %s does not hold (errno %d)\n", __FILE__, __LINE__, #claim, errno); \
			_exit(1); \
		} \
	} while (0)

static isc_control usual(void)
{
	isc_control wish = {.flags = ISC_CONTROL_FOLLOW_ALL, .first_blocks = 16, .max_blocks = 256, .max_slots = 32};

	return wish;
}

static inline int make_session(void **state)
{
	isc_control wish = usual();

	(void)state;
	memset(sink, 0, sizeof(*sink));
	return !transport_session_make(&session, &wish);
}

static int remove_session(void **state)
{
	(void)state;
	transport_session_remove(&session);
	return 0;
}

static int in_child(void (*run)(void))
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		run();
		_exit(0);
	}
	waitpid(child, &status, 0);
	return status;
}

static void join(void)
{
	HOLDS(isc_rt_attach(session.folder) == 0);
}

static inline void event(void)
{
	isc_write1(isc_ticks(), ISC_RECORD_WORD(7, ISC_KIND_INSTANT, 0));
}

#define JOINED(test) cmocka_unit_test_setup_teardown(test, make_session, remove_session)

#endif

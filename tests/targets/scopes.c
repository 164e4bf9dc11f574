/*
 * scopes.c - scopes, marks and a counter of known number and length.
 *
 *	scopes [kill]
 *
 * 20 requests of 5 ms each, the last of 60 ms; then it ends, or kills itself.
 */
#include <inferscope/mark.h>
#include <signal.h>
#include <string.h>
#include <time.h>

static void rest(long ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

int main(int argc, char **argv)
{
	isc_thread_name("serving");
	for (int i = 0; i < 20; i++) {
		ISC_SCOPE("request");
		isc_counter("queue", 20 - i);
		rest(i == 19 ? 60 : 5);
		isc_mark("answered", "{\"tokens\": 3}");
	}
	{
		ISC_SCOPE("a | <b>name</b>");
		rest(1);
	}
	if (argc > 1 && strcmp(argv[1], "kill") == 0)
		raise(SIGKILL);
	return 3;
}

/*
 * launcher.c - launch a program and do nothing else: what the tests of signals
 * and job control need when the rest of a session must not be in the picture.
 *
 *	launcher PROGRAM [ARGS...]
 */
#include <stdio.h>
#include <unistd.h>

#include "session/launch/launch.h"

int main(int argc, char **argv)
{
	isc_launch_options options = {.argv = argv + 1, .env = environ};
	isc_launch *launch;
	isc_error err;
	int status, code;

	if (argc < 2)
		return 125;
	isc_launch_hold_standard();
	if (isc_launch_start(&options, &launch, &err) != ISC_OK) {
		fprintf(stderr, "inferscope: %s\n", err.what);
		return 125;
	}
	if (isc_launch_go(launch, &code, &err) != ISC_OK) {
		fprintf(stderr, "inferscope: %s; %s\n", err.what, err.hint);
		isc_launch_free(launch);
		return code;
	}
	isc_launch_release_standard();
	status = isc_launch_wait(launch);
	isc_launch_restore_signals(launch);
	isc_launch_free(launch);
	isc_launch_exit_like(status);
}

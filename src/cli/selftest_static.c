/*
 * selftest_static.c - the self-test of a command that cannot load the CUDA driver:
 * it says so.
 */
#include "cli/commands.h"
#include "cli/selftest.h"

int isc_selftest_run(void)
{
	isc_error err;

	isc_fail(&err, ISC_ERR_UNSUPPORTED, "the static command cannot load the CUDA driver for the GPU self-test");
	isc_hint(&err, "use the command of the Python package; recording GPUs works with this one too");
	return isc_cli_fail(&err, ISC_EXIT_FAILED);
}

int isc_selftest_work(void)
{
	return isc_selftest_run();
}

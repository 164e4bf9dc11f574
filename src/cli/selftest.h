/*
 * selftest.h - doctor --gpu-selftest: is every kernel and copy of a known program
 * recorded, on every CUDA device here, and how far may the clock be off?
 *
 * The program is this command once more, started as `run` starts programs; then its
 * trace is analysed as any other.
 */
#ifndef ISC_CLI_SELFTEST_H
#define ISC_CLI_SELFTEST_H

/* What the command is called with to be the program. */
#define ISC_SELFTEST_WORK "--gpu-selftest-work"

#define ISC_SELFTEST_KERNELS 100u /* on each device, with a copy there and one back */
#define ISC_SELFTEST_NAME "inferscope_selftest"

/* Both: the exit code of the command. */
int isc_selftest_run(void);
int isc_selftest_work(void);

#endif

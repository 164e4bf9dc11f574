/*
 * ending.h - what a command does when a signal ends it: files that are not whole go.
 */
#ifndef ISC_CLI_ENDING_H
#define ISC_CLI_ENDING_H

void isc_ending_tidies_up(void);

#endif

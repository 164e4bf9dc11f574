#include "cli/ending.h"

#include <signal.h>
#include <stddef.h>

#include "base/output.h"

/* The signal is held back here, and ends us by its usual action after that. */
static void on_end(int signo)
{
	isc_output_drop_all();
	raise(signo);
}

void isc_ending_tidies_up(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	const struct sigaction ours = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND};
	struct sigaction before;

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(ends[i], &ours, NULL);
}

/*
 * Stands in for `inferscope watch`: says what FAKE_SAYS holds, does what FAKE_DOES
 * asks (hang, fail, silent), and leaves its arguments and variables in FAKE_LOG.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

int main(int argc, char **argv)
{
	const char *does = getenv("FAKE_DOES"), *says = getenv("FAKE_SAYS"), *log = getenv("FAKE_LOG");
	FILE *file = log != NULL ? fopen(log, "w") : NULL;

	if (file != NULL) {
		for (int i = 1; i < argc; i++)
			fprintf(file, "argument %s\n", argv[i]);
		for (char **variable = environ; *variable != NULL; variable++)
			if (strncmp(*variable, "INFERSCOPE_", 11) == 0 || strncmp(*variable, "LD_", 3) == 0)
				fprintf(file, "variable %s\n", *variable);
		fclose(file);
	}
	if (does != NULL && strcmp(does, "hang") == 0)
		pause();
	if (does != NULL && strcmp(does, "fail") == 0)
		return 4;
	if (says != NULL)
		fputs(says, stdout);
	return 0;
}

/* show_env.c - say which of our variables reached this program, and whether the runtime did. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	static const char *const names[] = {"LD_PRELOAD", "PYTHONPATH", "INFERSCOPE_SESSION", "KEPT"};
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4400];
	int loaded = 0;

	while (maps != NULL && fgets(line, sizeof(line), maps) != NULL)
		if (strstr(line, "inferscope_rt") != NULL)
			loaded = 1;
	printf("loaded=%d argc=%d argv0=%s\n", loaded, argc, argv[0]);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		printf("%s=%s\n", names[i], value != NULL ? value : "(none)");
	}
	return 0;
}

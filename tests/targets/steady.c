/* steady.c - writes N numbered lines at one a millisecond to a file, and "end".  steady FILE N */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0;
	FILE *file = argc > 2 ? fopen(argv[1], "w") : NULL;

	if (file == NULL)
		return 1;
	setvbuf(file, NULL, _IOLBF, 0);
	for (int i = 0; i < n; i++) {
		fprintf(file, "%d\n", i);
		usleep(1000);
	}
	fputs("end\n", file);
	return fclose(file) == 0 ? 0 : 1;
}

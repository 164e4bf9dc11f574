/* shells.c - gives up rights or its root, then has libc start shells; says what they print.
 * shells chroot DIR | setuid | stay */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

#define NOBODY 65534

static int give_up(int argc, char **argv)
{
	if (strcmp(argv[1], "chroot") == 0)
		return argc > 2 && chroot(argv[2]) == 0 && chdir("/") == 0;
	if (strcmp(argv[1], "setuid") == 0)
		return setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 && setuid(NOBODY) == 0;
	return 1;
}

static void by_system(void)
{
	fflush(stdout);
	printf("system %d\n", WEXITSTATUS(system("echo of system; exit 7")));
}

static void by_popen(void)
{
	char line[64] = "";
	FILE *pipe = popen("echo of popen; /bin/sh -c 'echo of its child'", "r");

	while (pipe != NULL && fgets(line, sizeof(line), pipe) != NULL)
		fputs(line, stdout);
	printf("popen %d\n", pipe != NULL ? WEXITSTATUS(pclose(pipe)) : -1);
}

static void by_wordexp(void)
{
	wordexp_t words;

	printf("wordexp %d", wordexp("$(echo of wordexp)", &words, 0));
	printf(" %s\n", words.we_wordv[0]);
	wordfree(&words);
}

int main(int argc, char **argv)
{
	setenv("SHELLS_OWN", "kept", 1);
	if (argc < 2 || !give_up(argc, argv)) {
		perror("shells");
		return 1;
	}
	by_system();
	by_popen();
	by_wordexp();
	fflush(stdout);
	system("echo $SHELLS_OWN ${LD_PRELOAD:+preload} ${INFERSCOPE_SESSION:+session}");
	/* A program that adds to its environment finds it as it left it. */
	setenv("SHELLS_MORE", "more", 1);
	fflush(stdout);
	system("echo $SHELLS_OWN $SHELLS_MORE");
	return 0;
}

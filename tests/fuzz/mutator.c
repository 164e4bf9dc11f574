/*
 * mutator.c - drives a fuzz target without a fuzzing compiler.
 *
 *	fuzz_NAME RUNS CORPUS... [-seed=N] [-run=N]
 *
 * Each run takes one file of the corpus, damages it a little and hands it to
 * the target.  What a run does follows from the seed and its number alone, so
 * `-run=N` repeats one.  A crash or a run of over 10 s leaves its input in
 * finding-NAME.bin and ends with a line that says so.
 */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define INPUT_MAX (256u * 1024u) /* larger files are cut: every run copies its input */
#define PATIENCE_S 10
#define DIRT_EVERY \
	4 /* runs: fresh memory is filled with a byte, which for a reader of large buffers is most of its time */

typedef struct input {
	uint8_t *data;
	size_t size;
} input;

static input *corpus;
static size_t corpus_size;
static uint8_t work[INPUT_MAX];
static size_t work_size;
static const char *target;
static uint64_t seed = 1, run, state;

static uint64_t draw(uint64_t below)
{
	/* splitmix64 */
	uint64_t z = state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return below ? (z ^ z >> 31) % below : 0;
}

static void add_file(const char *path)
{
	struct stat sb;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint8_t *data = NULL;
	ssize_t got = -1;

	if (fd >= 0 && fstat(fd, &sb) == 0 && S_ISREG(sb.st_mode)) {
		size_t size = (size_t)sb.st_size < INPUT_MAX ? (size_t)sb.st_size : INPUT_MAX;

		data = malloc(size + 1);
		got = data != NULL ? read(fd, data, size) : -1;
	}
	if (fd >= 0)
		close(fd);
	input *more = got >= 0 ? realloc(corpus, (corpus_size + 1) * sizeof(*corpus)) : NULL;
	if (more == NULL) {
		free(data);
		return;
	}
	corpus = more;
	corpus[corpus_size++] = (input){data, (size_t)got};
}

static void add_path(const char *path)
{
	char name[PATH_MAX];
	struct dirent **entries;
	int n = scandir(path, &entries, NULL, alphasort); /* sorted: a run number means the same everywhere */

	if (n < 0) {
		add_file(path);
		return;
	}
	for (int i = 0; i < n; i++) {
		if (entries[i]->d_name[0] != '.' &&
		    snprintf(name, sizeof(name), "%s/%s", path, entries[i]->d_name) < (int)sizeof(name))
			add_path(name);
		free(entries[i]);
	}
	free(entries);
}

/* Values at which sizes, counts and offsets go wrong. */
static const uint64_t edges[] = {0,
				 1,
				 0x7f,
				 0x80,
				 0xff,
				 0x7fff,
				 0x8000,
				 0xffff,
				 0x7fffffff,
				 0x80000000u,
				 0xffffffff,
				 0x7fffffffffffffffull,
				 0x8000000000000000ull,
				 UINT64_MAX};

static void damage(void)
{
	size_t at = draw(work_size), n;

	if (work_size == 0) {
		work_size = 1 + draw(64);
		for (size_t i = 0; i < work_size; i++)
			work[i] = (uint8_t)draw(256);
		return;
	}
	switch (draw(8)) {
	case 0:
		work[at] ^= (uint8_t)(1u << draw(8));
		break;
	case 1:
		work[at] = (uint8_t)draw(256);
		break;
	case 2: { /* an edge value, 1 to 8 bytes wide */
		uint64_t value = edges[draw(sizeof(edges) / sizeof(edges[0]))];

		n = (size_t)1 << draw(4);
		memcpy(work + at, &value, n < work_size - at ? n : work_size - at);
		break;
	}
	case 3:
		work_size = at;
		break;
	case 4: /* a piece of itself elsewhere */
		n = draw(work_size - at) + 1;
		memmove(work + draw(work_size - n + 1), work + at, n);
		break;
	case 5: { /* a piece of another input */
		const input *other = &corpus[draw(corpus_size)];
		size_t from = draw(other->size);

		n = other->size - from < work_size - at ? other->size - from : work_size - at;
		memcpy(work + at, other->data + from, draw(n + 1));
		break;
	}
	case 6: /* longer */
		n = draw(64) + 1;
		if (work_size + n <= INPUT_MAX) {
			memmove(work + at + n, work + at, work_size - at);
			work_size += n;
		}
		break;
	default: /* add or subtract a little, as a number */
		work[at] = (uint8_t)(work[at] + draw(32) - 16);
	}
}

static void prepare(void)
{
	const input *from;

	state = seed << 32 ^ run;
	from = &corpus[draw(corpus_size)];
	memcpy(work, from->data, from->size);
	work_size = from->size;
	for (uint64_t n = draw(8); n > 0; n--) /* none at all: the corpus itself must pass too */
		damage();
}

static void found(int sig)
{
	char text[512];
	int fd;

	snprintf(text, sizeof(text), "finding-%s.bin", target);
	fd = open(text, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd >= 0 && write(fd, work, work_size) == (ssize_t)work_size)
		close(fd);
	int len = snprintf(text, sizeof(text),
			   "%s: %s in run %llu of seed %llu; input in finding-%s.bin, or again with -run=%llu\n",
			   target, sig == SIGALRM ? "over 10 s" : "crash", (unsigned long long)run,
			   (unsigned long long)seed, target, (unsigned long long)run);
	if (write(STDERR_FILENO, text, (size_t)len) < 0)
		_exit(2);
	_exit(1);
}

/* Sanitizers abort, so that found() sees their reports too. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "abort_on_error=1:handle_abort=0:handle_segv=1:detect_leaks=1";
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
	return "halt_on_error=1:abort_on_error=1:print_stacktrace=1";
}

int main(int argc, char **argv)
{
	static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM};
	uint64_t runs = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;

	target = strrchr(argv[0], '/') != NULL ? strrchr(argv[0], '/') + 1 : argv[0];
	for (int i = 2; i < argc; i++) {
		if (strncmp(argv[i], "-seed=", 6) == 0)
			seed = strtoull(argv[i] + 6, NULL, 10);
		else if (strncmp(argv[i], "-run=", 5) == 0)
			runs = (run = strtoull(argv[i] + 5, NULL, 10)) + 1;
		else
			add_path(argv[i]);
	}
	if (corpus_size == 0 || runs == 0) {
		fprintf(stderr, "usage: %s RUNS CORPUS... [-seed=N] [-run=N]\n", target);
		return 2;
	}
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		signal(signals[i], found);
#ifdef __GLIBC__
	/* What a run has freed stays for the next: asking the kernel for it anew took longer than the run. */
	mallopt(M_MMAP_THRESHOLD, 64 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
	for (; run < runs; run++) {
		alarm(PATIENCE_S);
		prepare();
#ifdef __GLIBC__
		mallopt(M_PERTURB, run % DIRT_EVERY == 0 ? 1 + (int)draw(255) : 0);
#endif
		LLVMFuzzerTestOneInput(work, work_size);
	}
	alarm(0);
	printf("%s: %llu runs over %zu inputs, seed %llu\n", target, (unsigned long long)runs, corpus_size,
	       (unsigned long long)seed);
	for (size_t i = 0; i < corpus_size; i++)
		free(corpus[i].data);
	free(corpus);
	return 0;
}

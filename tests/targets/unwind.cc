// unwind.cc - a cancelled thread unwinds through the call that it was in, and destroys what it held.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int destroyed;

struct Held {
	~Held()
	{
		destroyed++;
	}
};

static void *block(void *end)
{
	Held held;
	char byte;

	while (read(*static_cast<int *>(end), &byte, 1) != 0) {
	}
	return nullptr;
}

int main()
{
	pthread_t thread;
	void *result = nullptr;
	int ends[2];

	if (pipe(ends) != 0 || pthread_create(&thread, nullptr, block, ends) != 0)
		return 1;
	usleep(20000);
	pthread_cancel(thread);
	pthread_join(thread, &result);
	printf("destroyed %d, joined cancelled %d\n", destroyed, result == PTHREAD_CANCELED);
	return 0;
}

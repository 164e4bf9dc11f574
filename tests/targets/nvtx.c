/*
 * nvtx.c - NVTX ranges of many shapes.
 *
 *	nvtx shapes|threads|fork|deep|crowd|hostile
 *
 * What it prints is the same with and without a tool.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvtx_loader.h"

extern char **environ;

static nvtxRangeId_t moving;

static nvtxEventAttributes_t event_of(const char *text)
{
	nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};

	event.messageType = NVTX_MESSAGE_TYPE_ASCII;
	event.message.ascii = text;
	return event;
}

static nvtxEventAttributes_t registered_event(void *handle)
{
	nvtxEventAttributes_t event = event_of(NULL);

	event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
	event.message.registered = handle;
	return event;
}

static void shapes(void)
{
	nvtxDomainHandle_t lib = nvtxDomainCreateA("lib"), wide = nvtxDomainCreateW(L"w\u00e4it");
	nvtxEventAttributes_t event = registered_event(nvtxDomainRegisterStringA(lib, "registered"));
	static char text[3000];

	printf("%d", nvtxRangePop()); /* nothing is pushed */
	printf(" %d", nvtxRangePushA("outer"));
	printf(" %d", nvtxDomainRangePushEx(lib, &event));
	printf(" %d", nvtxRangePushW(L"wide \u20ac \U0001f600"));
	printf(" %d", nvtxDomainRangePop(lib)); /* before the one inside it */
	printf(" %d", nvtxDomainRangePop(wide));
	printf(" %d", nvtxRangePop());
	printf(" %d\n", nvtxRangePop());
	event = event_of("attributes");
	nvtxRangePushEx(&event);
	nvtxDomainMarkEx(wide, &event);
	nvtxMarkA("moment");
	nvtxRangePop();
	nvtxRangePushA(NULL);
	nvtxRangePop();
	event = event_of(NULL);
	nvtxRangePushEx(&event);
	nvtxRangePop();
	/* 1,023 bytes, then one character of three */
	memset(text, 'x', sizeof(text) - 1);
	memcpy(text + 1023, "\xe2\x82\xac", 3);
	nvtxRangePushA(text);
	nvtxRangePop();
	for (char **at = environ; *at != NULL; at++)
		if (strncmp(*at, "NVTX", 4) == 0)
			puts(*at);
}

static void *other(void *unused)
{
	nvtxNameOsThreadA((uint32_t)syscall(SYS_gettid), "the other");
	nvtxNameOsThreadA(1, "not this one");
	nvtxRangePop(); /* of another thread's range: none of ours */
	nvtxRangeEnd(moving);
	nvtxRangeEnd(moving); /* once more */
	nvtxRangePushA("left open");
	return unused;
}

static void threads(void)
{
	pthread_t thread;

	nvtxRangePushA("main");
	moving = nvtxRangeStartA("moves");
	pthread_create(&thread, NULL, other, NULL);
	pthread_join(thread, NULL);
	nvtxRangePop();
	nvtxRangeEnd(12345);
	nvtxRangeEnd(0);
}

static void in_fork(void)
{
	nvtxDomainHandle_t lib = nvtxDomainCreateA("lib");
	nvtxEventAttributes_t event = registered_event(nvtxDomainRegisterStringA(lib, "again"));
	nvtxRangeId_t started = nvtxRangeStartW(L"of the parent");

	nvtxRangePushA("around");
	nvtxDomainRangePushEx(lib, &event);
	nvtxDomainRangePop(lib);
	fflush(stdout);
	if (fork() == 0) {
		nvtxDomainRangePushEx(lib, &event);
		nvtxDomainRangePop(lib);
		nvtxRangePop();
		nvtxRangeEnd(started);
		nvtxRangePushA("child");
		nvtxRangePop();
		_exit(0);
	}
	wait(NULL);
	nvtxRangePop();
	nvtxRangeEnd(started);
}

static void deep(void)
{
	for (int i = 0; i < 30000; i++)
		nvtxRangePushA("deep");
	for (int i = 0; i < 30000; i++)
		nvtxRangePop();
	nvtxRangePushA("after");
	nvtxRangePop();
}

static void *one_of_many(void *unused)
{
	nvtxEventAttributes_t event = event_of("started");

	for (int i = 0; i < 2000; i++) {
		nvtxRangeId_t first = nvtxDomainRangeStartEx(NULL, &event), second = nvtxRangeStartA("second");

		nvtxRangePushA("pushed");
		nvtxDomainRegisterStringA(NULL, i % 2 ? "odd" : "even");
		nvtxRangePop();
		nvtxDomainRangeEnd(NULL, first);
		nvtxRangeEnd(second);
	}
	return unused;
}

static void crowd(void)
{
	pthread_t all[8];

	for (int i = 0; i < 8; i++)
		pthread_create(&all[i], NULL, one_of_many, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(all[i], NULL);
}

static void hostile(void)
{
	nvtxDomainHandle_t lib = nvtxDomainCreateA("lib");
	nvtxStringHandle_t text = nvtxDomainRegisterStringA(lib, "text");
	nvtxEventAttributes_t event = registered_event(lib); /* no string */
	char name[40];

	nvtxRangePushEx(&event);
	nvtxRangePop();
	event = registered_event((void *)(uintptr_t)0x1234);
	nvtxRangePushEx(&event);
	nvtxRangePop();
	event = registered_event(text);
	event.size = 8; /* has no message */
	nvtxRangePushEx(&event);
	nvtxRangePop();
	event = event_of("no such domain");
	nvtxDomainRangePushEx((nvtxDomainHandle_t)text, &event);
	nvtxDomainRangePop((nvtxDomainHandle_t)text);
	nvtxRangePushEx(NULL);
	nvtxRangePop();
	/* More strings than are kept: their ranges go without a name. */
	for (int i = 0; i < 200000; i++) {
		snprintf(name, sizeof(name), "string %d", i);
		event = registered_event(nvtxDomainRegisterStringA(lib, name));
	}
	nvtxRangePushEx(&event);
	nvtxRangePop();
	event = registered_event(nvtxDomainRegisterStringA(lib, "string 1"));
	nvtxRangePushEx(&event);
	nvtxRangePop();
	/* More open at once than there is room for. */
	for (int i = 0; i < 70000; i++)
		nvtxRangeStartA("never ends");
}

/* As PyTorch names them: each time differently. */
static void operators(void)
{
	static const char *const forms[] = {"aten::addmm, seq = %d, op_id = %d", "aten::addmm, op_id = %d",
					    "aten::addmm, seq = %d, sizes = [[4, 8], [8, %d]], input_op_ids = []",
					    "aten::addmm"};

	for (int i = 0; i < 40; i++) {
		char text[100];

		snprintf(text, sizeof(text), forms[i % 4], i, i + 7);
		nvtxRangePushA(text);
		nvtxRangePop();
	}
	nvtxRangePushA("step, part = 2");
	nvtxRangePop();
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "shapes") == 0)
		shapes();
	else if (strcmp(what, "threads") == 0)
		threads();
	else if (strcmp(what, "fork") == 0)
		in_fork();
	else if (strcmp(what, "deep") == 0)
		deep();
	else if (strcmp(what, "crowd") == 0)
		crowd();
	else if (strcmp(what, "hostile") == 0)
		hostile();
	else if (strcmp(what, "operators") == 0)
		operators();
	else
		return 2;
	puts("done");
	return 0;
}

/*
 * fuzz_drain.c - a pool and its definitions with any bytes in them.
 *
 * Input: u32 length of the pool file, the pool file, the definitions file.
 * The files lie in one folder for the whole run; only their content changes.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/drain/drain.h"
#include "transport_session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define POOL "p4242.1234567"
#define DEFS "d4242.1234567"

static volatile uint64_t touched;

static uint32_t on_pool(void *self, const void *header)
{
	(void)self;
	(void)header;
	return 1;
}

static uint32_t on_thread(void *self, uint32_t process, uint32_t tid, uint64_t serial, uint64_t birth)
{
	(void)self;
	(void)process;
	(void)tid;
	(void)birth;
	return serial % 7 == 6 ? 0 : 1;
}

static void on_define(void *self, uint32_t process, uint32_t id, uint16_t type, const void *data, uint32_t len)
{
	(void)self;
	(void)process;
	(void)id;
	(void)type;
	for (uint32_t i = 0; i < len; i++)
		touched += ((const uint8_t *)data)[i];
}

/* What the drain gives is whole: the writer walks it without looking. */
static void on_events(void *self, uint32_t process, uint32_t thread, uint8_t stream, uint64_t first, uint32_t events,
		      const void *slots, uint32_t n)
{
	const isc_record *r = slots;
	uint32_t at = 0;

	(void)self;
	(void)process;
	(void)first;
	if (thread == 0 || stream >= ISC_STREAMS)
		abort();
	for (uint32_t i = 0; i < events; i++) {
		if (at >= n || r[at].slots == 0 || r[at].slots > n - at)
			abort();
		at += r[at].slots;
	}
	if (at != n)
		abort();
}

static void on_account(void *self, uint32_t process, uint32_t thread, uint8_t stream, uint64_t produced,
		       uint64_t stored, uint64_t lost, bool final)
{
	(void)self;
	(void)process;
	(void)thread;
	(void)stream;
	(void) final;
	if (produced != stored + lost)
		abort();
}

static bool on_gone(void *self, uint32_t process)
{
	(void)process;
	return *(bool *)self;
}

static uint64_t on_resume(void *self, uint32_t process, uint32_t thread, uint8_t stream)
{
	(void)self;
	(void)process;
	(void)thread;
	(void)stream;
	return 3;
}

static char folder[] = "/dev/shm/isc-fuzz-XXXXXX";
static int dir = -1;

static void leave(void)
{
	transport_folder_remove(folder);
}

static void put_file(const char *name, const uint8_t *data, size_t size)
{
	int fd = openat(dir, name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

/* Version and seal as in this session, else nothing behind them would be reached. */
static void put_seal(const char *name, size_t seal_at, size_t abi_at)
{
	const isc_seal seal = {.magic = ISC_SEAL_MAGIC};
	const uint32_t abi = ISC_RT_ABI;
	int fd = openat(dir, name, O_RDWR | O_CLOEXEC);

	if (fd < 0 || pwrite(fd, &seal, sizeof(seal), (off_t)seal_at) != (ssize_t)sizeof(seal) ||
	    (abi_at != 0 && pwrite(fd, &abi, sizeof(abi), (off_t)abi_at) != (ssize_t)sizeof(abi)))
		abort();
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	isc_drain_options options = {.folder = folder, .keep_files = true, .limit_bytes = 1u << 20};
	bool gone = false;
	isc_drain_sink sink = {.self = &gone,
			       .pool = on_pool,
			       .thread = on_thread,
			       .define = on_define,
			       .events = on_events,
			       .account = on_account,
			       .gone = on_gone,
			       .resume = on_resume};
	isc_drain_cycle cycle;
	uint32_t pool_size;
	isc_drain *d;

	if (size < 4)
		return 0;
	if (dir < 0) {
		if (mkdtemp(folder) == NULL)
			abort();
		dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		atexit(leave);
	}
	memcpy(&pool_size, data, 4);
	data += 4;
	size -= 4;
	if (pool_size > size)
		pool_size = (uint32_t)size;
	put_file(POOL, data, pool_size);
	put_file(DEFS, data + pool_size, size - pool_size);
	if (size % 16 != 15) {
		put_seal(POOL, offsetof(isc_pool, seal), offsetof(isc_pool, abi));
		put_seal(DEFS, offsetof(isc_defs, seal), 0);
	}
	options.takeover = size % 2;
	if (isc_drain_new(&options, &sink, &d, NULL) != ISC_OK)
		abort();
	/* Once as of a live process, then as of a dead one. */
	isc_drain_run(d, &cycle, NULL);
	gone = size % 3 != 0;
	isc_drain_finish(d, NULL);
	isc_drain_free(d);
	return 0;
}

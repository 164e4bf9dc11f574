/*
 * pool.c - the files of this process: event blocks and definitions.
 *
 * Made at the first event.  Every byte that will be touched is backed before it
 * is mapped, so a full disk is an error here and never a SIGBUS in the program.
 * No descriptor is kept: a daemon that closes them all, and opens its own,
 * would otherwise find our calls in its files.
 */
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "runtime/image.h"
#include "runtime/kernel.h"
#include "runtime/write.h"

/* Fewer blocks than this are not worth opening a pool for. */
#define BLOCKS_MIN 4u
#define DEFS_MIN 4096u

/* folder "/" letter pid "." gen, by hand: no stdio in here. */
static void file_path(char *to, char letter, uint32_t pid, uint64_t gen)
{
	const char *from = isc_image_self.folder;
	char digits[24];
	int n = 0;

	while (*from != '\0')
		*to++ = *from++;
	*to++ = '/';
	*to++ = letter;
	do
		digits[n++] = (char)('0' + pid % 10);
	while ((pid /= 10) != 0);
	while (n > 0)
		*to++ = digits[--n];
	*to++ = '.';
	do
		digits[n++] = "0123456789abcdef"[gen & 15];
	while ((gen >>= 4) != 0);
	while (n > 0)
		*to++ = digits[--n];
	*to = '\0';
}

/* A file beyond the program's own limit would bring it SIGXFSZ. */
static uint64_t file_limit(void)
{
	uint64_t limit[2];

	if (syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, limit) != 0)
		return UINT64_MAX;
	return limit[0];
}

/* From behind the seal on, which is there already. */
static bool back_by_writing(int fd, uint64_t bytes)
{
	static const char zeros[4096];
	uint64_t n;

	for (uint64_t at = offsetof(isc_pool, seal) + sizeof(isc_seal); at < bytes; at += n) {
		n = bytes - at < sizeof(zeros) ? bytes - at : sizeof(zeros);
		if (syscall(SYS_pwrite64, fd, zeros, n, at) != (long)n)
			return false;
	}
	return true;
}

static bool back(int fd, uint64_t bytes)
{
	for (int tries = 0; tries < 8; tries++) {
		if (syscall(SYS_fallocate, fd, 0, 0ul, bytes) == 0)
			return true;
		if (errno == EOPNOTSUPP || errno == ENOSYS)
			return back_by_writing(fd, bytes);
		if (errno != EINTR)
			return false;
	}
	return false;
}

static isc_seal seal_of(const isc_control *control)
{
	isc_seal seal = {.magic = ISC_SEAL_MAGIC};

	memcpy(seal.session_id, control->session_id, sizeof(seal.session_id));
	return seal;
}

/* The recorder's file, sealed for this session: nothing else is moved or written to. */
static bool is_spare(int fd, const isc_seal *seal, uint64_t *bytes)
{
	isc_seal found;
	struct stat sb;

	if (!isc_kernel_stat(fd, &sb) || !S_ISREG(sb.st_mode) || sb.st_nlink != 1 ||
	    syscall(SYS_pread64, fd, &found, sizeof(found), offsetof(isc_pool, seal)) != (long)sizeof(found) ||
	    memcmp(&found, seal, sizeof(found)) != 0)
		return false;
	*bytes = (uint64_t)sb.st_size;
	return true;
}

/* Of two that opened it one renames it, and the other goes without. */
static int claim_spare(const char *path, const isc_seal *seal, uint64_t *bytes)
{
	static const char name[] = "/" ISC_SPARE_NAME;
	char spare[ISC_FOLDER_MAX + sizeof(name)];
	size_t n = strlen(isc_image_self.folder);
	int fd;

	memcpy(spare, isc_image_self.folder, n);
	memcpy(spare + n, name, sizeof(name));
	fd = isc_kernel_open(spare, O_RDWR | O_NOFOLLOW | O_NONBLOCK, 0);
	if (fd < 0)
		return -1;
	if (is_spare(fd, seal, bytes) && syscall(SYS_renameat, AT_FDCWD, spare, AT_FDCWD, path) == 0)
		return fd;
	isc_kernel_close(fd);
	return -1;
}

/* Of a file that was made just now. */
static int give_up(int fd, const char *path)
{
	isc_kernel_close(fd);
	isc_kernel_unlink(path);
	return -1;
}

/* A new file with our seal whose first *bytes are backed: as asked, or what fits down to least. */
static int make_file(const char *path, const isc_seal *seal, uint64_t *bytes, uint64_t least, uint64_t step)
{
	uint64_t limit = file_limit();
	int fd = limit >= least ? isc_kernel_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600) : -1;

	if (fd < 0)
		return -1;
	if (syscall(SYS_pwrite64, fd, seal, sizeof(*seal), offsetof(isc_pool, seal)) != (long)sizeof(*seal))
		return give_up(fd, path);
	while (*bytes > limit || !back(fd, *bytes)) {
		uint64_t over = (*bytes - least) / 2 / step * step;

		if (*bytes <= least)
			return give_up(fd, path);
		*bytes = least + over;
	}
	return fd;
}

static void *map_file(int fd, uint64_t size)
{
	void *at = isc_kernel_map(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd);

	isc_kernel_close(fd);
	return at == MAP_FAILED ? NULL : at;
}

static isc_pool *open_pool(const isc_control *control, const char *path, uint64_t gen)
{
	uint32_t max_blocks = control->max_blocks;
	uint32_t max_slots = control->max_slots;
	uint64_t off_block = isc_pool_off_block(max_blocks, max_slots);
	uint64_t size = off_block + (uint64_t)max_blocks * ISC_BLOCK_SIZE;
	uint64_t bytes = 0;
	uint64_t blocks;
	isc_seal seal = seal_of(control);
	isc_pool *p;
	int fd = claim_spare(path, &seal, &bytes);

	if (fd >= 0 && bytes < off_block + BLOCKS_MIN * ISC_BLOCK_SIZE) {
		isc_kernel_close(fd);
		isc_kernel_unlink(path);
		fd = -1;
	}
	if (fd < 0) {
		bytes = off_block + (uint64_t)control->first_blocks * ISC_BLOCK_SIZE;
		fd = make_file(path, &seal, &bytes, off_block + BLOCKS_MIN * ISC_BLOCK_SIZE, ISC_BLOCK_SIZE);
		if (fd < 0)
			return NULL;
	}
	/* The whole limit is mapped; from nblocks on nothing is touched. */
	p = map_file(fd, size);
	if (p == NULL) {
		isc_kernel_unlink(path);
		return NULL;
	}
	blocks = (bytes - off_block) / ISC_BLOCK_SIZE;
	p->abi = ISC_RT_ABI;
	p->block_size = ISC_BLOCK_SIZE;
	p->max_blocks = max_blocks;
	p->max_slots = max_slots;
	p->pid = isc_image_self.pid;
	p->ppid = (uint32_t)syscall(SYS_getppid);
	p->gen = gen;
	p->parent_gen = isc_image_self.parent_gen;
	p->defs_base = isc_image_self.parent_end / 16;
	p->off_state = sizeof(isc_pool);
	p->off_slot = isc_pool_off_slot(max_blocks);
	p->off_block = off_block;
	p->size = size;
	atomic_store_explicit(&p->seq, 1, memory_order_relaxed);
	atomic_store_explicit(&p->nblocks, (uint32_t)(blocks < max_blocks ? blocks : max_blocks), memory_order_relaxed);
	return p;
}

static isc_defs *open_defs(const isc_control *control, const char *path, uint64_t gen)
{
	/* A fork child goes on with its parent's definitions and has few of its own. */
	uint64_t bytes =
		(isc_image_self.parent_gen != 0 ? control->first_defs_bytes / 4 : control->first_defs_bytes) & ~4095u;
	isc_seal seal = seal_of(control);
	isc_defs *d;
	int fd;

	if (bytes < DEFS_MIN)
		bytes = DEFS_MIN;
	fd = make_file(path, &seal, &bytes, DEFS_MIN, 4096);
	if (fd < 0)
		return NULL;
	d = map_file(fd, control->max_defs_bytes);
	if (d == NULL) {
		isc_kernel_unlink(path);
		return NULL;
	}
	d->gen = gen;
	d->base = isc_image_self.parent_end;
	d->size = control->max_defs_bytes;
	atomic_store_explicit(&d->tail, sizeof(isc_defs), memory_order_relaxed);
	atomic_store_explicit(&d->backed, bytes < d->size ? bytes : d->size, memory_order_relaxed);
	return d;
}

static bool sane(const isc_control *control)
{
	return control->max_slots >= 1 && control->max_slots <= ISC_MAX_SLOTS && control->max_blocks >= BLOCKS_MIN &&
	       control->max_blocks <= 1u << 20 && control->first_blocks >= 1 &&
	       control->first_blocks <= control->max_blocks && control->max_defs_bytes >= DEFS_MIN &&
	       control->first_defs_bytes <= control->max_defs_bytes;
}

bool isc_pool_open(void)
{
	const isc_control *control = atomic_load_explicit(&isc_image_self.control, memory_order_relaxed);
	char pool_path[ISC_FOLDER_MAX + 64];
	char defs_path[ISC_FOLDER_MAX + 64];
	isc_image *me = &isc_image_self;
	uint64_t gen = isc_image_gen(isc_ticks(), me->pid);
	isc_defs *d;
	isc_pool *p;

	if (!sane(control))
		return false;
	file_path(pool_path, 'p', me->pid, gen);
	file_path(defs_path, 'd', me->pid, gen);
	d = open_defs(control, defs_path, gen);
	if (d == NULL)
		return false;
	p = open_pool(control, pool_path, gen);
	if (p == NULL) {
		isc_kernel_unlink(defs_path);
		isc_kernel_unmap(d, d->size);
		return false;
	}
	me->defs = d;
	me->defs_size = d->size;
	me->defs_base = d->base;
	me->pool = p;
	me->pool_size = p->size;
	me->gen = gen;
	/* Definitions first: a recorder that sees the pool finds them. */
	atomic_store_explicit(&d->magic, ISC_DEFS_MAGIC, memory_order_release);
	atomic_store_explicit(&p->magic, ISC_POOL_MAGIC, memory_order_release);
	return true;
}

static void make_private(void *at, uint64_t size)
{
	isc_kernel_map(at, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1);
}

/*
 * A write or a definition that was interrupted by the handler that forked goes
 * on in the child when the handler returns.  It must reach memory, and must not
 * reach the parent's.
 */
void isc_pool_leave(void)
{
	isc_image *me = &isc_image_self;

	if (me->pool == NULL)
		return; /* the parent had none; what it inherited stays ours too */
	me->parent_gen = me->gen;
	me->parent_end = me->defs_base + atomic_load_explicit(&me->defs->tail, memory_order_acquire);
	make_private(me->defs, me->defs_size);
	make_private(me->pool, me->pool_size);
	me->pool = NULL;
	me->defs = NULL;
	me->gen = 0;
}

#include "symbol/elf.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECTIONS_MAX 65535u
#define SYMBOLS_MAX (8u << 20)
#define TEXT_MAX (192u << 20)
#define NOTES_MAX 65536u
#define STUBS_MAX 4
#define AROUND 16 /* symbols that begin before an address and may still cover it */

struct elf_function {
	uint64_t start;
	uint32_t size;
	uint32_t name;
};

struct isc_elf {
	struct elf_function *function;
	size_t count;
	char *text; /* names */
	size_t text_len;
	uint8_t build[ISC_ELF_BUILD_MAX];
	size_t build_len;
	struct {
		uint64_t start, size;
	} stub[STUBS_MAX];
	int stubs;
	bool complete;
};

struct elf_file {
	int fd;
	uint64_t size;
	isc_error *err;
};

static isc_status damaged(const struct elf_file *f, const char *what)
{
	return isc_fail(f->err, ISC_ERR_CORRUPT, "not an ELF file that can be read: %s", what);
}

static bool read_at(const struct elf_file *f, uint64_t at, void *to, size_t n)
{
	size_t done = 0;

	if (at > f->size || f->size - at < n)
		return false;
	while (done < n) {
		ssize_t got = pread(f->fd, (char *)to + done, n - done, (off_t)(at + done));

		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

static bool lies_inside(const struct elf_file *f, const Elf64_Shdr *s)
{
	return s->sh_offset <= f->size && s->sh_size <= f->size - s->sh_offset;
}

/* ---- symbols ---------------------------------------------------------------- */

/* Up to a version. */
static size_t plain_length(const char *name)
{
	return strcspn(name, "@");
}

static int by_start(const void *a, const void *b, void *text)
{
	const struct elf_function *one = a, *other = b;
	size_t length, others;

	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	/* Of two at one place the last is found first: the larger, then the one with the shorter name. */
	if (one->size != other->size)
		return one->size < other->size ? -1 : 1;
	length = plain_length((const char *)text + one->name);
	others = plain_length((const char *)text + other->name);
	if (length != others)
		return length < others ? 1 : -1;
	return one->name < other->name ? 1 : one->name > other->name ? -1 : 0;
}

static isc_status read_symbols(isc_elf *e, const struct elf_file *f, const Elf64_Shdr *symbols, const Elf64_Shdr *text)
{
	uint64_t n = symbols->sh_size / sizeof(Elf64_Sym);
	Elf64_Sym part[256];

	if (symbols->sh_entsize != sizeof(Elf64_Sym) || n > SYMBOLS_MAX || text->sh_size > TEXT_MAX ||
	    text->sh_type != SHT_STRTAB || !lies_inside(f, symbols) || !lies_inside(f, text))
		return damaged(f, "its symbols");
	e->text = malloc((size_t)text->sh_size + 1);
	e->function = malloc(n != 0 ? (size_t)n * sizeof(*e->function) : 1);
	if (e->text == NULL || e->function == NULL)
		return isc_fail(f->err, ISC_ERR_NOMEM, "no memory for symbols");
	if (!read_at(f, text->sh_offset, e->text, (size_t)text->sh_size))
		return damaged(f, "its names");
	e->text_len = (size_t)text->sh_size;
	e->text[e->text_len] = '\0';
	for (uint64_t at = 0; at < n;) {
		size_t some = n - at < 256 ? (size_t)(n - at) : 256;

		if (!read_at(f, symbols->sh_offset + at * sizeof(part[0]), part, some * sizeof(part[0])))
			return damaged(f, "its symbols");
		for (size_t i = 0; i < some; i++) {
			unsigned type = ELF64_ST_TYPE(part[i].st_info);

			if ((type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) ||
			    part[i].st_shndx == SHN_UNDEF || part[i].st_size == 0 || part[i].st_size > UINT32_MAX ||
			    part[i].st_name >= e->text_len || e->text[part[i].st_name] == '\0')
				continue;
			e->function[e->count++] =
				(struct elf_function){part[i].st_value, (uint32_t)part[i].st_size, part[i].st_name};
		}
		at += some;
	}
	qsort_r(e->function, e->count, sizeof(*e->function), by_start, e->text);
	return ISC_OK;
}

bool isc_elf_find(const isc_elf *e, uint64_t address, isc_elf_symbol *out)
{
	size_t low = 0, high = e->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (e->function[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (int i = 0; i < AROUND && low > 0; i++) {
		const struct elf_function *f = &e->function[--low];

		if (address - f->start < f->size) {
			*out = (isc_elf_symbol){e->text + f->name, f->start, f->size};
			return true;
		}
	}
	return false;
}

/* ---- sections ---------------------------------------------------------------- */

static void read_notes(isc_elf *e, const struct elf_file *f, const Elf64_Shdr *s)
{
	uint64_t at = s->sh_offset, end = at + s->sh_size;

	if (e->build_len != 0 || !lies_inside(f, s) || s->sh_size > NOTES_MAX)
		return;
	while (end - at > sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;
		uint64_t name, size;
		char owner[4];

		if (!read_at(f, at, &note, sizeof(note)))
			return;
		at += sizeof(note);
		name = ((uint64_t)note.n_namesz + 3) & ~3ull;
		size = ((uint64_t)note.n_descsz + 3) & ~3ull;
		if (name + size > end - at)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(owner) &&
		    note.n_descsz <= sizeof(e->build) && read_at(f, at, owner, sizeof(owner)) &&
		    memcmp(owner, "GNU", sizeof(owner)) == 0 && read_at(f, at + name, e->build, note.n_descsz)) {
			e->build_len = note.n_descsz;
			return;
		}
		at += name + size;
	}
}

static void keep_stubs(isc_elf *e, const struct elf_file *f, const Elf64_Shdr *s, const Elf64_Shdr *names)
{
	char name[5];

	if (e->stubs == STUBS_MAX || s->sh_name >= names->sh_size || names->sh_size - s->sh_name < sizeof(name) ||
	    !lies_inside(f, names) || !read_at(f, names->sh_offset + s->sh_name, name, sizeof(name)) ||
	    memcmp(name, ".plt", 4) != 0 || (name[4] != '\0' && name[4] != '.'))
		return;
	e->stub[e->stubs].start = s->sh_addr;
	e->stub[e->stubs++].size = s->sh_size;
}

static isc_status read_sections(isc_elf *e, const struct elf_file *f, const Elf64_Ehdr *h)
{
	const Elf64_Shdr *symbols = NULL;
	Elf64_Shdr *section;
	uint64_t n = h->e_shnum;
	isc_status st = ISC_OK;

	if (n == 0 || n > SECTIONS_MAX || h->e_shentsize != sizeof(*section) || h->e_shoff > f->size ||
	    (f->size - h->e_shoff) / sizeof(*section) < n)
		return damaged(f, "its sections");
	section = malloc((size_t)n * sizeof(*section));
	if (section == NULL)
		return isc_fail(f->err, ISC_ERR_NOMEM, "no memory for sections");
	if (!read_at(f, h->e_shoff, section, (size_t)n * sizeof(*section))) {
		free(section);
		return damaged(f, "its sections");
	}
	for (uint64_t i = 0; i < n; i++) {
		if (section[i].sh_type == SHT_NOTE)
			read_notes(e, f, &section[i]);
		else if (section[i].sh_type == SHT_PROGBITS && (section[i].sh_flags & SHF_EXECINSTR) &&
			 h->e_shstrndx < n)
			keep_stubs(e, f, &section[i], &section[h->e_shstrndx]);
		else if (section[i].sh_type == SHT_SYMTAB && section[i].sh_link < n)
			symbols = &section[i];
	}
	e->complete = symbols != NULL;
	for (uint64_t i = 0; i < n && symbols == NULL; i++) {
		if (section[i].sh_type == SHT_DYNSYM && section[i].sh_link < n)
			symbols = &section[i];
	}
	if (symbols != NULL)
		st = read_symbols(e, f, symbols, &section[symbols->sh_link]);
	free(section);
	return st;
}

isc_status isc_elf_open_fd(int fd, isc_elf **out, isc_error *err)
{
	struct elf_file f = {.fd = fd, .err = err};
	isc_elf *e = calloc(1, sizeof(*e));
	isc_status st = ISC_OK;
	struct stat sb;
	Elf64_Ehdr h;

	*out = NULL;
	if (e == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for symbols");
	if (fstat(fd, &sb) != 0 || !S_ISREG(sb.st_mode))
		st = damaged(&f, "not a file");
	f.size = st == ISC_OK && sb.st_size > 0 ? (uint64_t)sb.st_size : 0;
	if (st == ISC_OK && (!read_at(&f, 0, &h, sizeof(h)) || memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 ||
			     h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB))
		st = damaged(&f, "its head");
	if (st == ISC_OK)
		st = read_sections(e, &f, &h);
	if (st != ISC_OK) {
		isc_elf_close(e);
		return st;
	}
	*out = e;
	return ISC_OK;
}

isc_status isc_elf_open(const char *path, isc_elf **out, isc_error *err)
{
	/* A FIFO or a device in its place must not hold us up. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	isc_status st;

	*out = NULL;
	if (fd < 0)
		return isc_fail_errno(err, "cannot open %s", path);
	st = isc_elf_open_fd(fd, out, err);
	close(fd);
	return st;
}

void isc_elf_close(isc_elf *e)
{
	if (e == NULL)
		return;
	free(e->function);
	free(e->text);
	free(e);
}

size_t isc_elf_build(const isc_elf *e, const uint8_t **build)
{
	*build = e->build;
	return e->build_len;
}

bool isc_elf_complete(const isc_elf *e)
{
	return e->complete;
}

bool isc_elf_is_stub(const isc_elf *e, uint64_t address)
{
	for (int i = 0; i < e->stubs; i++) {
		if (address - e->stub[i].start < e->stub[i].size)
			return true;
	}
	return false;
}

size_t isc_elf_bytes(const isc_elf *e)
{
	return sizeof(*e) + e->text_len + e->count * sizeof(*e->function);
}

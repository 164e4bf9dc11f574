/* elf: functions by address, and files that lie about themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "named_function.h"
#include "base/clock.h"
#include "symbol/demangle.h"
#include "symbol/elf.h"
#include "symbol/source_lines.h"

static isc_elf *open_self(void)
{
	isc_elf *e = NULL;
	isc_error err = {0};

	assert_int_equal(isc_elf_open("/proc/self/exe", &e, &err), ISC_OK);
	return e;
}

static void a_function_is_found_by_every_address_in_it(void **state)
{
	uint64_t at = named_function_offset();
	isc_elf *e;
	isc_elf_symbol s;

	(void)state;
	e = open_self();
	at = named_function_offset();
	assert_true(isc_elf_find(e, at, &s));
	assert_string_equal(s.name, "isc_test_named_function");
	assert_true(s.size > 1 && s.size < 200);
	assert_true(isc_elf_find(e, at + s.size - 1, &s));
	assert_string_equal(s.name, "isc_test_named_function");
	/* Behind its end it is not the nearest name that counts. */
	if (isc_elf_find(e, at + s.size, &s))
		assert_string_not_equal(s.name, "isc_test_named_function");
	assert_false(isc_elf_find(e, 0, &s));
	assert_false(isc_elf_find(e, UINT64_MAX, &s));
	assert_true(isc_elf_complete(e));
	isc_elf_close(e);
}

static void ten_thousand_addresses_are_quick(void **state)
{
	isc_elf *e = open_self();
	uint64_t begin = isc_clock_mono_ns();
	isc_elf_symbol s;
	int found = 0;

	(void)state;
	for (uint64_t i = 0; i < 10000; i++)
		found += isc_elf_find(e, i * 16, &s);
	assert_true(found > 0);
	/* Less than a tenth of a second, on the slowest of machines. */
	assert_in_range(isc_clock_mono_ns() - begin, 0, 100000000u);
	isc_elf_close(e);
}

static int file_with(const void *data, size_t len)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, len), (ssize_t)len);
	return fd;
}

static isc_status read_as(const void *data, size_t len)
{
	int fd = file_with(data, len);
	isc_elf *e = NULL;
	isc_status st = isc_elf_open_fd(fd, &e, NULL);

	isc_elf_close(e);
	close(fd);
	return st;
}

static void files_that_claim_too_much_are_refused(void **state)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Shdr section[3];
	} f;

	(void)state;
	memset(&f, 0, sizeof(f));
	memcpy(f.head.e_ident, ELFMAG, SELFMAG);
	f.head.e_ident[EI_CLASS] = ELFCLASS64;
	f.head.e_ident[EI_DATA] = ELFDATA2LSB;
	f.head.e_shoff = offsetof(__typeof__(f), section);
	f.head.e_shentsize = sizeof(Elf64_Shdr);
	f.head.e_shnum = 3;
	assert_int_equal(read_as(&f, sizeof(f)), ISC_OK);
	f.section[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB, .sh_link = 2, .sh_entsize = sizeof(Elf64_Sym)};
	f.section[2] = (Elf64_Shdr){.sh_type = SHT_STRTAB};
	assert_int_equal(read_as(&f, sizeof(f)), ISC_OK);
	f.section[1].sh_size = UINT64_MAX - 7;
	assert_int_equal(read_as(&f, sizeof(f)), ISC_ERR_CORRUPT);
	f.section[1].sh_size = 24ull << 32;
	assert_int_equal(read_as(&f, sizeof(f)), ISC_ERR_CORRUPT);
	f.section[1].sh_size = 0;
	f.section[2].sh_size = UINT64_MAX;
	assert_int_equal(read_as(&f, sizeof(f)), ISC_ERR_CORRUPT);
	f.section[2].sh_size = 0;
	f.section[1].sh_offset = UINT64_MAX;
	assert_int_equal(read_as(&f, sizeof(f)), ISC_ERR_CORRUPT);
	f.section[1].sh_offset = 0;
	f.head.e_shoff = UINT64_MAX - 10;
	assert_int_equal(read_as(&f, sizeof(f)), ISC_ERR_CORRUPT);
	f.head.e_shoff = offsetof(__typeof__(f), section);
	f.head.e_shnum = 65535;
	assert_int_equal(read_as(&f, sizeof(f)), ISC_ERR_CORRUPT);
	assert_int_equal(read_as("\177ELF", 4), ISC_ERR_CORRUPT);
	assert_int_equal(read_as("", 0), ISC_ERR_CORRUPT);
}

static void a_name_outside_of_the_names_is_no_symbol(void **state)
{
	struct {
		Elf64_Ehdr head;
		Elf64_Shdr section[3];
		Elf64_Sym symbol[2];
		char names[8];
	} f = {.names = "\0one"};
	isc_elf_symbol s;
	isc_elf *e = NULL;
	int fd;

	(void)state;
	memcpy(f.head.e_ident, ELFMAG, SELFMAG);
	f.head.e_ident[EI_CLASS] = ELFCLASS64;
	f.head.e_ident[EI_DATA] = ELFDATA2LSB;
	f.head.e_shoff = offsetof(__typeof__(f), section);
	f.head.e_shentsize = sizeof(Elf64_Shdr);
	f.head.e_shnum = 3;
	f.section[1] = (Elf64_Shdr){.sh_type = SHT_SYMTAB,
				    .sh_link = 2,
				    .sh_entsize = sizeof(Elf64_Sym),
				    .sh_offset = offsetof(__typeof__(f), symbol),
				    .sh_size = sizeof(f.symbol)};
	f.section[2] = (Elf64_Shdr){
		.sh_type = SHT_STRTAB, .sh_offset = offsetof(__typeof__(f), names), .sh_size = sizeof(f.names)};
	f.symbol[0] = (Elf64_Sym){1, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x100, 16};
	f.symbol[1] = (Elf64_Sym){UINT32_MAX, ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), 0, 1, 0x200, 16};
	fd = file_with(&f, sizeof(f));
	assert_int_equal(isc_elf_open_fd(fd, &e, NULL), ISC_OK);
	assert_true(isc_elf_find(e, 0x10f, &s));
	assert_string_equal(s.name, "one");
	assert_false(isc_elf_find(e, 0x200, &s));
	isc_elf_close(e);
	close(fd);
}

static void what_is_no_file_is_refused(void **state)
{
	isc_error err = {0};
	isc_elf *e = NULL;
	char path[] = "/tmp/isc-elf-XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	close(fd);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(isc_elf_open(path, &e, &err), ISC_ERR_CORRUPT);
	unlink(path);
	assert_int_not_equal(isc_elf_open(path, &e, &err), ISC_OK);
	assert_int_equal(isc_elf_open("/dev/zero", &e, &err), ISC_ERR_CORRUPT);
	assert_int_equal(isc_elf_open("/", &e, &err), ISC_ERR_CORRUPT);
}

static void names_of_c_and_rust_are_plain(void **state)
{
#if ISC_HAS_IBERTY
	static const char *const names[][2] = {
		{"_ZN4deep3BoxIiE4spinEi", "deep::Box<int>::spin"},
		{"_ZN3std2io5Write9write_all17h0123456789abcdefE", "std::io::Write::write_all"},
		{"_RNvC6_123foo3bar", "123foo::bar"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *plain = isc_demangle(names[i][0]);

		assert_non_null(plain);
		assert_string_equal(plain, names[i][1]);
		free(plain);
	}
#endif
	(void)state;
	assert_null(isc_demangle("deflate"));
	assert_null(isc_demangle("_Z"));
}

static void lines_come_from_debug_information(void **state)
{
	isc_source_lines *s = isc_source_lines_open("/proc/self/exe", NULL);
	const char *file;
	uint32_t line;

	(void)state;
	if (s == NULL)
		skip(); /* no libdw, or built without debug information */
	assert_true(isc_source_lines_find(s, named_function_offset(), &file, &line));
	assert_non_null(strstr(file, "named_function.h"));
	assert_in_range(line, 12, 15);
	assert_false(isc_source_lines_find(s, 1, &file, &line));
	isc_source_lines_close(s);
	assert_null(isc_source_lines_open("/dev/null", NULL));
}

#define SMALL_STACK (64u << 10)
#define NESTED 1500

/* A pointer to a pointer to a pointer ... */
static void *name_on_a_small_stack(void *failed)
{
	isc_source_lines *s = isc_source_lines_open("/proc/self/exe", NULL);
	char name[NESTED + 16] = "_Z1f", *plain;
	const char *file = "";
	uint32_t line;

	memset(name + 4, 'P', NESTED);
	memcpy(name + 4 + NESTED, "i", 2);
	plain = isc_demangle_kernel(name);
	if (s != NULL && (!isc_source_lines_find(s, named_function_offset(), &file, &line) ||
			  strstr(file, "named_function.h") == NULL))
		*(const char **)failed = "no line";
#if ISC_HAS_IBERTY
	if (plain == NULL || strlen(plain) != strlen("f(int)") + NESTED)
		*(const char **)failed = "no plain name";
#endif
	free(plain);
	isc_source_lines_close(s);
	return NULL;
}

static void names_and_lines_are_found_on_a_small_stack(void **state)
{
	const char *failed = "";
	pthread_attr_t attr;
	pthread_t thread;

	(void)state;
	pthread_attr_init(&attr);
	assert_int_equal(pthread_attr_setstacksize(&attr, SMALL_STACK), 0);
	assert_int_equal(pthread_create(&thread, &attr, name_on_a_small_stack, &failed), 0);
	pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
	assert_string_equal(failed, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_found_by_every_address_in_it),
		cmocka_unit_test(ten_thousand_addresses_are_quick),
		cmocka_unit_test(files_that_claim_too_much_are_refused),
		cmocka_unit_test(a_name_outside_of_the_names_is_no_symbol),
		cmocka_unit_test(what_is_no_file_is_refused),
		cmocka_unit_test(names_of_c_and_rust_are_plain),
		cmocka_unit_test(lines_come_from_debug_information),
		cmocka_unit_test(names_and_lines_are_found_on_a_small_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

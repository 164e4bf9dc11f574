/* Which program files can load us. */
#include <elf.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/hooks/exec_target.h"

#define LOADER "/lib64/ld-linux-x86-64.so.2"

static char folder[] = "/tmp/target-XXXXXX";
static char path[128];

/* Writes a file of the test's folder and judges it. */
static enum isc_exec_target judged(const void *bytes, size_t len)
{
	int fd;

	snprintf(path, sizeof(path), "%s/file", folder);
	fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0755);
	assert_int_equal(write(fd, bytes, len), len);
	close(fd);
	return isc_exec_target_judge(AT_FDCWD, path, 0);
}

typedef struct elf_file {
	Elf64_Ehdr head;
	Elf64_Phdr part[2];
	char loader[64];
} elf_file;

static elf_file an_elf(const char *loader)
{
	elf_file f;

	memset(&f, 0, sizeof(f));
	memcpy(f.head.e_ident, ELFMAG, SELFMAG);
	f.head.e_ident[EI_CLASS] = ELFCLASS64;
	f.head.e_ident[EI_DATA] = ELFDATA2LSB;
	f.head.e_machine = EM_X86_64;
	f.head.e_phoff = offsetof(elf_file, part);
	f.head.e_phnum = 2;
	f.head.e_phentsize = sizeof(Elf64_Phdr);
	f.part[0].p_type = PT_LOAD;
	f.part[1].p_type = PT_INTERP;
	f.part[1].p_offset = offsetof(elf_file, loader);
	f.part[1].p_filesz = strlen(loader) + 1;
	strcpy(f.loader, loader);
	return f;
}

static void a_program_of_our_loader_loads_us(void **state)
{
	elf_file f = an_elf(LOADER);

	(void)state;
	assert_int_equal(judged(&f, sizeof(f)), ISC_EXEC_TARGET_LOADS_US);
	assert_int_equal(isc_exec_target_judge(AT_FDCWD, "/proc/self/exe", 0), ISC_EXEC_TARGET_LOADS_US);
}

static void other_loaders_word_sizes_and_machines_do_not(void **state)
{
	elf_file f = an_elf("/lib/ld-musl-x86_64.so.1");

	(void)state;
	assert_int_equal(judged(&f, sizeof(f)), ISC_EXEC_TARGET_FOREIGN);
	f = an_elf("/opt/other/lib/ld-linux-x86-64.so.2");
	assert_int_equal(judged(&f, sizeof(f)), ISC_EXEC_TARGET_FOREIGN);
	f = an_elf(LOADER);
	f.head.e_ident[EI_CLASS] = ELFCLASS32;
	assert_int_equal(judged(&f, sizeof(f)), ISC_EXEC_TARGET_FOREIGN);
	f = an_elf(LOADER);
	f.head.e_machine = EM_RISCV;
	assert_int_equal(judged(&f, sizeof(f)), ISC_EXEC_TARGET_FOREIGN);
	f = an_elf(LOADER);
	f.part[1].p_type = PT_NOTE; /* static */
	assert_int_equal(judged(&f, sizeof(f)), ISC_EXEC_TARGET_FOREIGN);
}

static void our_loader_by_another_name_loads_us(void **state)
{
	char link[100];
	elf_file f;

	(void)state;
	snprintf(link, sizeof(link), "%s/ld", folder);
	assert_int_equal(symlink(LOADER, link), 0);
	f = an_elf(link);
	assert_int_equal(judged(&f, sizeof(f)), ISC_EXEC_TARGET_LOADS_US);
	unlink(link);
}

/* Whatever the numbers in it say, it is only read. */
static void a_file_that_lies_is_foreign(void **state)
{
	elf_file f = an_elf(LOADER);

	(void)state;
	f.head.e_phoff = UINT64_MAX - 8;
	assert_int_equal(judged(&f, sizeof(f)), ISC_EXEC_TARGET_FOREIGN);
	f = an_elf(LOADER);
	f.part[1].p_filesz = UINT64_MAX;
	assert_int_equal(judged(&f, sizeof(f)), ISC_EXEC_TARGET_FOREIGN);
	f = an_elf(LOADER);
	f.part[1].p_offset = UINT64_MAX;
	assert_int_equal(judged(&f, sizeof(f)), ISC_EXEC_TARGET_FOREIGN);
	f = an_elf(LOADER);
	f.part[1].p_filesz--; /* no NUL at its end */
	assert_int_equal(judged(&f, sizeof(f)), ISC_EXEC_TARGET_FOREIGN);
	f = an_elf(LOADER);
	f.head.e_phnum = 0xffff;
	f.part[0].p_type = f.part[1].p_type = PT_LOAD;
	assert_int_equal(judged(&f, sizeof(f)), ISC_EXEC_TARGET_FOREIGN);
	for (size_t cut = 1; cut < sizeof(f.head); cut++)
		assert_int_not_equal(judged(&f, cut), ISC_EXEC_TARGET_FOREIGN);
}

static void a_script_is_what_its_interpreter_is(void **state)
{
	static const struct {
		const char *text;
		enum isc_exec_target expected;
	} cases[] = {
		{"#!/bin/sh\n", ISC_EXEC_TARGET_LOADS_US},
		{"#! \t/bin/sh -e\nx", ISC_EXEC_TARGET_LOADS_US},
		{"#!/bin/sh", ISC_EXEC_TARGET_LOADS_US},
		{"#!/nowhere/sh\n", ISC_EXEC_TARGET_UNKNOWN},
		{"#!\n", ISC_EXEC_TARGET_UNKNOWN},
		{"#!", ISC_EXEC_TARGET_UNKNOWN},
		{"echo a shell runs this\n", ISC_EXEC_TARGET_LOADS_US},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(judged(cases[i].text, strlen(cases[i].text)), cases[i].expected);
}

static void a_script_that_names_itself_comes_to_an_end(void **state)
{
	char line[200];

	(void)state;
	snprintf(line, sizeof(line), "#!%s/file\n", folder);
	assert_int_equal(judged(line, strlen(line)), ISC_EXEC_TARGET_UNKNOWN);
}

static void what_cannot_be_read_is_unknown(void **state)
{
	char fifo[100];

	(void)state;
	assert_int_equal(isc_exec_target_judge(AT_FDCWD, "/nowhere", 0), ISC_EXEC_TARGET_UNKNOWN);
	assert_int_equal(isc_exec_target_judge(AT_FDCWD, "/", 0), ISC_EXEC_TARGET_UNKNOWN);
	assert_int_equal(isc_exec_target_judge(AT_FDCWD, (const char *)1, 0), ISC_EXEC_TARGET_UNKNOWN);
	assert_int_equal(isc_exec_target_judge(AT_FDCWD, "", 0), ISC_EXEC_TARGET_UNKNOWN);
	assert_int_equal(judged("", 0), ISC_EXEC_TARGET_UNKNOWN);
	assert_int_equal(isc_exec_target_judge_open(-1), ISC_EXEC_TARGET_UNKNOWN);
	/* Waits for no writer. */
	snprintf(fifo, sizeof(fifo), "%s/fifo", folder);
	assert_int_equal(mkfifo(fifo, 0700), 0);
	assert_int_equal(isc_exec_target_judge(AT_FDCWD, fifo, 0), ISC_EXEC_TARGET_UNKNOWN);
	unlink(fifo);
}

static void a_descriptor_is_judged_like_its_file(void **state)
{
	int fd = open("/bin/sh", O_PATH | O_CLOEXEC), bin = open("/bin", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	assert_int_equal(isc_exec_target_judge_open(fd), ISC_EXEC_TARGET_LOADS_US);
	assert_int_equal(isc_exec_target_judge(fd, "", AT_EMPTY_PATH), ISC_EXEC_TARGET_LOADS_US);
	assert_int_equal(isc_exec_target_judge(bin, "sh", 0), ISC_EXEC_TARGET_LOADS_US);
	close(fd);
	close(bin);
}

static void the_search_takes_the_first_that_can_be_run(void **state)
{
	char value[300], name[256 + 2];

	(void)state;
	judged("#!/nowhere/sh\n", 14); /* folder/file, to be run */
	snprintf(value, sizeof(value), "/nowhere:%s:/bin", folder);
	setenv("PATH", value, 1);
	assert_int_equal(isc_exec_target_search("file"), ISC_EXEC_TARGET_UNKNOWN);
	assert_int_equal(isc_exec_target_search("sh"), ISC_EXEC_TARGET_LOADS_US);
	assert_int_equal(isc_exec_target_search("/bin/sh"), ISC_EXEC_TARGET_LOADS_US);
	assert_int_equal(isc_exec_target_search(""), ISC_EXEC_TARGET_UNKNOWN);
	assert_int_equal(isc_exec_target_search("no-such-program"), ISC_EXEC_TARGET_UNKNOWN);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(isc_exec_target_search(name), ISC_EXEC_TARGET_UNKNOWN);
	unsetenv("PATH");
	assert_int_equal(isc_exec_target_search("sh"), ISC_EXEC_TARGET_LOADS_US);
	setenv("PATH", "", 1);
	assert_int_equal(chdir("/bin"), 0);
	assert_int_equal(isc_exec_target_search("sh"), ISC_EXEC_TARGET_LOADS_US);
	assert_int_equal(chdir("/"), 0);
}

static int make_folder(void **state)
{
	(void)state;
	isc_exec_target_init();
	return mkdtemp(folder) == NULL;
}

static int remove_folder(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_of_our_loader_loads_us),
		cmocka_unit_test(other_loaders_word_sizes_and_machines_do_not),
		cmocka_unit_test(our_loader_by_another_name_loads_us),
		cmocka_unit_test(a_file_that_lies_is_foreign),
		cmocka_unit_test(a_script_is_what_its_interpreter_is),
		cmocka_unit_test(a_script_that_names_itself_comes_to_an_end),
		cmocka_unit_test(what_cannot_be_read_is_unknown),
		cmocka_unit_test(a_descriptor_is_judged_like_its_file),
		cmocka_unit_test(the_search_takes_the_first_that_can_be_run),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

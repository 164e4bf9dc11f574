/* cfi_rules LIBRARY: for each address on stdin, hexadecimal and as in the file, "kind base cfa bp". */
#include <dlfcn.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>

#include "collect/unwind/cfi.h"

static int find(struct dl_phdr_info *info, size_t size, void *arg)
{
	const struct link_map *map = ((void **)arg)[0];
	isc_cfi_image *image = ((void **)arg)[1];

	(void)size;
	if (info->dlpi_addr != map->l_addr)
		return 0;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type == PT_GNU_EH_FRAME)
			image->header = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD)
			continue;
		if (image->start == 0 || info->dlpi_addr + p->p_vaddr < image->start)
			image->start = info->dlpi_addr + p->p_vaddr;
		if (info->dlpi_addr + p->p_vaddr + p->p_memsz > image->end)
			image->end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	return 1;
}

int main(int argc, char **argv)
{
	void *library = argc == 2 ? dlopen(argv[1], RTLD_LAZY) : NULL;
	struct link_map *map = NULL;
	isc_cfi_image image = {0};
	uint64_t address;

	if (library == NULL || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0) {
		fprintf(stderr, "cannot load it\n");
		return 1;
	}
	dl_iterate_phdr(find, (void *[]){map, &image});
	while (scanf("%" SCNx64, &address) == 1) {
		isc_cfi_entry entry = {0};
		isc_cfi_rule r = isc_cfi_at(&image, map->l_addr + address, &entry);

		printf("%u %u %d %d\n", r.kind, r.base, r.cfa, r.bp);
	}
	return 0;
}

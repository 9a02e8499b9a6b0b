// SPDX-License-Identifier: GPL-2.0-only
/* Exported symbols by name, against the dynamic linker's answer. */
#include <dlfcn.h>
#include <link.h>

#include "elf/elf64.h"
#include "elf/elfexports.h"
#include "unit.h"

/* A library that is mapped here. */
static int open_library(const char *symbol, struct elf64 *elf, uint64_t *bias)
{
	void *addr = dlsym(RTLD_DEFAULT, symbol);
	struct link_map *map = NULL;
	Dl_info info;
	int fd;

	if (!addr || !dladdr1(addr, &info, (void **)&map, RTLD_DL_LINKMAP))
		return -1;
	*bias = map->l_addr;
	fd = open(info.dli_fname, O_RDONLY);
	CHECK_EQ(elf64_open(elf, fd), 0);
	return fd;
}

TEST(symbols_are_found_where_the_linker_finds_them)
{
	static const char *const names[] = { "environ", "getppid", "getpid", "stdout" };
	uint64_t vaddrs[4], bias = 0;
	Elf64_Sym symbol;
	struct elf64 elf;
	int fd = open_library("getpid", &elf, &bias);

	if (fd < 0)
		SKIP("there is no dynamic linker in a static program");
	CHECK_EQ(elfexports_find(&elf, names, 4, vaddrs), 0);
	for (size_t i = 1; i < 3; i++)
		CHECK_EQ(vaddrs[i] + bias, (uintptr_t)dlsym(RTLD_DEFAULT, names[i]));
	CHECK_EQ(elfexports_find_symbol(&elf, "stdout", &symbol), 0);
	CHECK_EQ(symbol.st_value, vaddrs[3]);
	CHECK_EQ(symbol.st_size, sizeof(stdout));
	close(fd);
}

TEST(what_is_not_exported_is_not_found)
{
	static const char *const names[] = { "getpid", "tracelets_has_no_such_symbol" };
	uint64_t vaddrs[2], bias = 0;
	struct elf64 elf;
	int fd = open_library("getpid", &elf, &bias);

	if (fd < 0)
		SKIP("there is no dynamic linker in a static program");
	CHECK_EQ(elfexports_find(&elf, names, 2, vaddrs), -ENOENT);
	CHECK_EQ(elfexports_find(&elf, names + 1, 1, vaddrs), -ENOENT);
	close(fd);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kernel symbols that were copied ahead: taken from the copy where they cannot have changed, and read
 * again where they can.
 */
#include <stdlib.h>
#include <unistd.h>

#include "../../common/background.h"
#include "../../common/kernelnames.h"
#include "../../common/ksyms.h"
#include "unit.h"

#define CORE 0xffffffff81000000ULL

static char folder[32], kallsyms[64], modules[64];
static struct background *bg;
static struct kernelnames *names;

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	fputs(text, f);
	fclose(f);
}

/* What there is when the copy is made. */
static void begin(const char *symbols, const char *module_list)
{
	strcpy(folder, "/tmp/kernelnames-XXXXXX");
	CHECK(mkdtemp(folder));
	snprintf(kallsyms, sizeof(kallsyms), "%s/kallsyms", folder);
	snprintf(modules, sizeof(modules), "%s/modules", folder);
	write_file(kallsyms, symbols);
	write_file(modules, module_list);
	bg = background_new();
	names = kernelnames_from(bg, kallsyms, modules);
}

/* Names nothing that is not there yet. */
static void copy_now(void)
{
	uint64_t core = CORE;

	kernelnames_expect(names);
	ksyms_free(kernelnames_for(names, &core, 1));
}

static void end(void)
{
	background_free(bg);
	kernelnames_free(names);
	unlink(kallsyms);
	unlink(modules);
	rmdir(folder);
}

static void check_name(uint64_t addr, const char *name)
{
	uint64_t addrs[] = { addr, CORE, addr };
	struct ksyms *ksyms = kernelnames_for(names, addrs, 3);
	struct ksym sym = { .name = "" };

	CHECK(ksyms);
	ksyms_find(ksyms, addr, &sym);
	CHECK_STR(sym.name, name);
	ksyms_free(ksyms);
}

#define BEFORE                                                                        \
	"ffffffff81000000 T start\nffffffff81000100 T next\nffffffff81000200 T end\n" \
	"ffffffffc0000000 t one_first\t[one]\nffffffffc0000100 t one_second\t[one]\n" \
	"ffffffffc0008000 t bpf_prog_0123456789abcdef\t[bpf]\n"
#define ONE "one 16384 0 - Live 0xffffffffc0000000\n"

/* The file says other names later: what comes from the copy has the old ones. */
#define AFTER                                                                            \
	"ffffffff81000000 T start\nffffffff81000100 T renamed\nffffffff81000200 T end\n" \
	"ffffffffc0000000 t two_first\t[two]\nffffffffc0000100 t two_second\t[two]\n"    \
	"ffffffffc0008000 t bpf_prog_fedcba9876543210\t[bpf]\n"                          \
	"ffffffffc0010000 t late\t[late]\n"

TEST(what_stays_comes_from_the_copy)
{
	begin(BEFORE, ONE);
	copy_now();
	write_file(kallsyms, AFTER);
	check_name(CORE + 0x110, "next");
	check_name(0xffffffffc0000110, "one_second");
	end();
}

TEST(a_module_in_the_place_of_another_has_its_own_names)
{
	begin(BEFORE, ONE);
	copy_now();
	write_file(kallsyms, AFTER);
	write_file(modules, "two 16384 0 - Live 0xffffffffc0000000\n");
	check_name(0xffffffffc0000110, "two_second");
	end();
}

TEST(a_module_loaded_again_is_another)
{
	static const char *const others[] = { "one 20480 0 - Live 0xffffffffc0000000\n",
					      "one 16384 0 - Live 0xffffffffc0001000\n",
					      "once 16384 0 - Live 0xffffffffc0000000\n", "" };

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		begin(BEFORE, ONE);
		copy_now();
		write_file(kallsyms, AFTER);
		write_file(modules, others[i]);
		check_name(0xffffffffc0000110, "two_second");
		end();
	}
}

TEST(a_module_that_came_later_has_names)
{
	begin(BEFORE, ONE);
	copy_now();
	write_file(kallsyms, AFTER);
	write_file(modules, ONE "late 4096 0 - Live 0xffffffffc0010000\n");
	check_name(0xffffffffc0010004, "late");
	end();
}

TEST(a_program_is_looked_up_when_it_is_asked_for)
{
	begin(BEFORE, ONE);
	copy_now();
	write_file(kallsyms, AFTER);
	check_name(0xffffffffc0008004, "bpf_prog_fedcba9876543210");
	end();
}

TEST(without_a_copy_the_file_is_read)
{
	begin(BEFORE, ONE);
	check_name(CORE + 0x110, "next");
	write_file(kallsyms, AFTER);
	check_name(CORE + 0x110, "renamed");
	end();
}

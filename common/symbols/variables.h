/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of variables in the data of programs and libraries, from the files' own symbol tables. A
 * file's table is read when its first variable is requested.
 */
#ifndef VARIABLES_H
#define VARIABLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/maps.h"

struct variable {
	const struct file *file;
	uint64_t vaddr;	    /* ELF virtual address that was looked up */
	const char *symbol; /* name of the variable that covers vaddr; NULL: none */
	uint64_t start;	    /* first address of the variable (ELF virtual address) */
	uint64_t bytes;
};

/*
 * Finds the variable at an address of process pid, which has these mappings. False: the address is
 * not in a file's data. The strings in *found are valid as long as the maps.
 */
bool variables_find(struct maps *maps, pid_t pid, uint64_t addr, struct variable *found);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of variables: of what lies in the data of a program or a library, by the file's own tables
 * of symbols. They are read when the first variable of a file is requested.
 */
#ifndef VARIABLES_H
#define VARIABLES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/maps.h"

struct variable {
	const struct file *file;
	uint64_t vaddr;	    /* of the address that was requested, as ELF counts */
	const char *symbol; /* of the variable that covers it; NULL: none does */
	uint64_t start;	    /* the variable's first address, likewise */
	uint64_t bytes;
};

/*
 * Finds the variable at an address of process pid, which has these mappings. False: it is in no
 * file's data. Texts are valid as long as the maps are.
 */
bool variables_find(struct maps *maps, pid_t pid, uint64_t addr, struct variable *found);

#endif

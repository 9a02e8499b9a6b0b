// SPDX-License-Identifier: GPL-2.0-only
/*
 * Variables of files that processes execute; see variables.h. The address of a file's data follows
 * from that of its code: all segments have the same load bias (System V gABI, chapter 5). This also
 * works for memory that is not mapped from the file: .bss, and pages of .data that have been
 * written to.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "elf/elfnames.h"
#include "symbols/variables.h"

#define MAX_VARIABLES  (4u << 20) /* maximum per file */
#define NAME_MAX_BYTES 4096

/* Limit for the bytes of all names of a file; in the file, they may share bytes. */
#define NAMES_MAX_BYTES (64u << 20)

struct named {
	uint64_t vaddr, bytes;
	char *name;
};

/* Variables of a file. */
struct variables {
	Elf64_Phdr *segments; /* NULL: can't be read */
	size_t n_segments;
	bool are_read;
	struct named *named;
	size_t n_named, cap;
	uint64_t names_bytes;
};

static void free_variables(void *data)
{
	struct variables *variables = data;

	for (size_t i = 0; i < variables->n_named; i++)
		free(variables->named[i].name);
	free(variables->named);
	free(variables->segments);
	free(variables);
}

static struct variables *variables_of(struct file *file)
{
	struct file_part *part = &file->parts[FILE_VARIABLES];
	struct variables *variables = part->data;

	if (variables)
		return variables;
	variables = mem_zalloc(1, sizeof(*variables));
	variables->segments = elf64_read_segments(&file->elf);
	variables->n_segments = variables->segments ? file->elf.header.e_phnum : 0;
	*part = (struct file_part){ variables, free_variables };
	return variables;
}

static bool holds(const struct variables *variables, uint64_t vaddr)
{
	for (size_t i = 0; i < variables->n_segments; i++) {
		const Elf64_Phdr *segment = &variables->segments[i];

		if (segment->p_type == PT_LOAD && (segment->p_flags & PF_W) &&
		    vaddr - segment->p_vaddr < segment->p_memsz)
			return true;
	}
	return false;
}

static void add_name(const struct elfname *name, void *arg)
{
	struct variables *v = arg;
	size_t n;

	if (!name->bytes || v->n_named >= MAX_VARIABLES || v->names_bytes >= NAMES_MAX_BYTES ||
	    !holds(v, name->vaddr))
		return;
	n = elfname_length(name->name, NAME_MAX_BYTES + 1);
	v->names_bytes += n;
	if (!n || n > NAME_MAX_BYTES)
		return;
	*MEM_APPEND(v->named, v->n_named, v->cap) =
		(struct named){ name->vaddr, name->bytes, mem_strndup(name->name, n) };
}

/* Returns the smallest variable that covers vaddr: a symbol may span many variables. */
static const struct named *find_named(const struct variables *v, uint64_t vaddr)
{
	const struct named *best = NULL;

	for (size_t i = 0; i < v->n_named; i++) {
		const struct named *named = &v->named[i];

		if (vaddr - named->vaddr < named->bytes && (!best || named->bytes < best->bytes))
			best = named;
	}
	return best;
}

static void look_up(struct file *file, struct variables *v, struct variable *found)
{
	const struct named *named;

	if (!v->are_read)
		elfnames_visit_objects(&file->elf, add_name, v);
	v->are_read = true;
	named = find_named(v, found->vaddr);
	if (!named)
		return;
	found->symbol = named->name;
	found->start = named->vaddr;
	found->bytes = named->bytes;
}

static bool find_in(struct file *file, const struct mapped *m, uint64_t addr,
		    struct variable *found)
{
	uint64_t code = elfsegs_mapping_vaddr(&file->segs, m->offset, m->end - m->start);
	struct variables *v = variables_of(file);

	if (code == UINT64_MAX || !holds(v, addr - (m->start - code)))
		return false;
	*found = (struct variable){ .file = file, .vaddr = addr - (m->start - code) };
	look_up(file, v, found);
	return true;
}

bool variables_find(struct maps *maps, pid_t pid, uint64_t addr, struct variable *found)
{
	for (size_t i = 0; i < maps->count; i++) {
		struct mapped *m = &maps->items[i];
		struct file *file = m->name->ino ? mapped_file(maps, m, pid) : NULL;

		if (file && file->is_elf && find_in(file, m, addr, found))
			return true;
	}
	return false;
}

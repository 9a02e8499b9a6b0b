// SPDX-License-Identifier: GPL-2.0-only
/* Relative relocations; see elfrelative.h. */
#include <stdlib.h>
#include <string.h>

#include "elf/elfrelative.h"

#define RELAS_MAX_BYTES	  (256u << 20)
#define DYNAMIC_MAX_BYTES (1u << 20)

static uint64_t dynamic_value(const Elf64_Dyn *dynamic, size_t n, int64_t tag)
{
	for (size_t i = 0; i < n && dynamic[i].d_tag != DT_NULL; i++)
		if (dynamic[i].d_tag == tag)
			return dynamic[i].d_un.d_val;
	return 0;
}

static void read_table(struct elfrelative *r, const struct elf64 *elf, uint64_t vaddr,
		       uint64_t bytes)
{
	if (!vaddr || !bytes)
		return;
	r->relas = elf64_read_vaddr(elf, vaddr, bytes, RELAS_MAX_BYTES);
	r->n = r->relas ? bytes / sizeof(*r->relas) : 0;
}

void elfrelative_read(struct elfrelative *r, const struct elf64 *elf)
{
	Elf64_Phdr segment;
	Elf64_Dyn *dynamic;
	size_t n;

	*r = (struct elfrelative){ .type = elf->header.e_machine == EM_AARCH64
						   ? R_AARCH64_RELATIVE
						   : R_X86_64_RELATIVE };
	if (elf->header.e_type != ET_DYN || elf64_find_segment(elf, PT_DYNAMIC, &segment))
		return;
	dynamic = elf64_read(elf, segment.p_offset, segment.p_filesz, DYNAMIC_MAX_BYTES);
	if (!dynamic)
		return;
	n = segment.p_filesz / sizeof(*dynamic);
	read_table(r, elf, dynamic_value(dynamic, n, DT_RELA),
		   dynamic_value(dynamic, n, DT_RELASZ));
	free(dynamic);
}

void elfrelative_free(struct elfrelative *r)
{
	free(r->relas);
	*r = (struct elfrelative){ .relas = NULL };
}

void elfrelative_apply(const struct elfrelative *r, void *bytes, uint64_t vaddr, size_t size)
{
	for (size_t i = 0; i < r->n; i++) {
		uint64_t at = r->relas[i].r_offset - vaddr;

		if (ELF64_R_TYPE(r->relas[i].r_info) == r->type && at < size &&
		    size - at >= sizeof(r->relas[i].r_addend))
			memcpy((char *)bytes + at, &r->relas[i].r_addend,
			       sizeof(r->relas[i].r_addend));
	}
}

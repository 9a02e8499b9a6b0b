// SPDX-License-Identifier: GPL-2.0-only
/* Symbol tables; see elfsymtab.h. */
#include <stdlib.h>

#include "elf/elfsymtab.h"

#define PIECE_SYMBOLS 341 /* 8 KB */

bool elfsymtab_open(struct elfsymtab *t, const struct elffile *f, Elf_Scn *scn)
{
	GElf_Shdr sh;

	*t = (struct elfsymtab){ .file = NULL };
	if (!elffile_has_bytes(f, scn, &sh))
		return false;
	t->file = f;
	t->offset = sh.sh_offset;
	t->entry_bytes = gelf_fsize(f->elf, ELF_T_SYM, 1, EV_CURRENT);
	t->count = sh.sh_size / t->entry_bytes;
	return true;
}

void elfsymtab_close(struct elfsymtab *t)
{
	free(t->piece);
	*t = (struct elfsymtab){ .file = NULL };
}

static bool read_piece(struct elfsymtab *t, size_t first)
{
	size_t left = t->count - first, n = left < PIECE_SYMBOLS ? left : PIECE_SYMBOLS;
	const struct elffile *f = t->file;
	Elf_Data data = { .d_type = ELF_T_SYM, .d_version = EV_CURRENT };

	t->read = 0;
	free(t->piece);
	data.d_size = n * t->entry_bytes;
	data.d_buf = t->piece = elffile_copy(f, t->offset + first * t->entry_bytes, data.d_size);
	if (!t->piece || !gelf_xlatetom(f->elf, &data, &data, f->header.e_ident[EI_DATA]))
		return false;
	t->first = first;
	t->read = n;
	return true;
}

bool elfsymtab_get(struct elfsymtab *t, size_t i, GElf_Sym *sym)
{
	const Elf32_Sym *narrow;

	if (i >= t->count || ((i < t->first || i - t->first >= t->read) && !read_piece(t, i)))
		return false;
	if (t->entry_bytes == sizeof(*sym)) {
		*sym = ((const GElf_Sym *)t->piece)[i - t->first];
		return true;
	}
	narrow = (const Elf32_Sym *)t->piece + (i - t->first);
	*sym = (GElf_Sym){ .st_name = narrow->st_name,
			   .st_info = narrow->st_info,
			   .st_other = narrow->st_other,
			   .st_shndx = narrow->st_shndx,
			   .st_value = narrow->st_value,
			   .st_size = narrow->st_size };
	return true;
}

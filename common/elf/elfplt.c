// SPDX-License-Identifier: GPL-2.0-only
/*
 * PLT stubs; see elfplt.h. The stubs are decoded first, for the words that they jump through, then
 * the relocations of those words are read: .rela.plt has nearly all, so the large .rela.dyn is read
 * for the remaining stubs only.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/addrsort.h"
#include "base/array.h"
#include "base/load.h"
#include "base/mem.h"
#include "elf/elfplt.h"
#include "elf/elfsymtab.h"

#define PLT_SECTIONS_MAX     8
#define PLT_MAX_BYTES	     (16u << 20)
#define RELOCATIONS_MAX	     4 /* maximum number of sections read */
#define NO_INDEX	     UINT32_MAX
#define X86_STUB_MAX_BYTES   16
#define ARM64_STUB_MAX_BYTES 24
#define ARM64_BTI_C	     0xd503245f

#ifndef R_AARCH64_IRELATIVE /* missing in musl's elf.h */
#define R_AARCH64_IRELATIVE 1032
#endif

/* A stub: the word it jumps through or, if it leads to the lazy binder, its relocation's index. */
struct stub {
	uint64_t vaddr, end;
	uint64_t word;
	uint32_t index; /* index in .rela.plt; or NO_INDEX */
};

struct reader {
	const struct elffile *f;
	size_t names_bytes; /* size of .dynstr */
	struct stub *stubs;
	size_t n_stubs, stubs_cap;
	struct plt_stub *found;
	size_t n_found, found_cap;
};

static void add_stub(struct reader *r, struct stub stub)
{
	*MEM_APPEND(r->stubs, r->n_stubs, r->stubs_cap) = stub;
}

static bool take(const uint8_t **p, const uint8_t *end, const void *bytes, size_t n)
{
	if ((size_t)(end - *p) < n || memcmp(*p, bytes, n))
		return false;
	*p += n;
	return true;
}

/*
 * Decodes [endbr64] [mov $N,%r11d] [bnd] jmp *WORD(%rip), or, in front of the lazy binder, endbr64;
 * push $N; [bnd] jmp.
 */
static bool decode_x86(const uint8_t *code, const uint8_t *end, uint64_t vaddr, struct stub *stub)
{
	const uint8_t *p = code;
	bool has_endbr = take(&p, end, "\xf3\x0f\x1e\xfa", 4);

	*stub = (struct stub){ .vaddr = vaddr, .index = NO_INDEX };
	if (has_endbr && end - p >= 6 && take(&p, end, "\x68", 1)) {
		stub->index = load_u32(p);
		p += 4;
		take(&p, end, "\xf2", 1);
		return take(&p, end, "\xe9", 1);
	}
	if (has_endbr && end - p >= 6 && take(&p, end, "\x41\xbb", 2))
		p += 4;
	take(&p, end, "\xf2", 1);
	if (!take(&p, end, "\xff\x25", 2) || end - p < 4)
		return false;
	stub->word = vaddr + (uint64_t)(p + 4 - code) + (uint64_t)(int64_t)(int32_t)load_u32(p);
	return true;
}

static void decode_x86_section(struct reader *r, const uint8_t *code, size_t size, uint64_t vaddr)
{
	struct stub stub;

	for (size_t at = 0; at + 8 <= size; at += 8)
		if (decode_x86(code + at, code + size, vaddr + at, &stub))
			add_stub(r, stub);
}

/* Decodes adrp x16, PAGE; ldr x17, [x16, #N]; ..., which may follow a bti c. */
static bool decode_arm64(const uint8_t *code, uint64_t vaddr, struct stub *stub)
{
	uint32_t adrp = load_u32(code), ldr = load_u32(code + 4);
	uint64_t page;

	if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	page = (uint64_t)((adrp >> 5 & 0x7ffff) << 2 | (adrp >> 29 & 3));
	page = (page ^ 0x100000) - 0x100000; /* sign extension of 21 bits */
	*stub = (struct stub){
		.vaddr = vaddr,
		.word = (vaddr & ~0xfffull) + (page << 12) + (ldr >> 10 & 0xfff) * 8ull,
		.index = NO_INDEX,
	};
	return true;
}

static void decode_arm64_section(struct reader *r, const uint8_t *code, size_t size, uint64_t vaddr)
{
	struct stub stub;

	for (size_t at = 0; at + 8 <= size; at += 4) {
		if (!decode_arm64(code + at, vaddr + at, &stub))
			continue;
		if (at >= 4 && load_u32(code + at - 4) == ARM64_BTI_C)
			stub.vaddr -= 4;
		add_stub(r, stub);
	}
}

static bool is_plt(const struct elffile *f, const GElf_Shdr *sh)
{
	static const char *const names[] = { ".plt", ".plt.sec", ".plt.got", ".iplt" };
	const char *name;

	if (sh->sh_type != SHT_PROGBITS || !(sh->sh_flags & SHF_EXECINSTR) ||
	    sh->sh_size > PLT_MAX_BYTES)
		return false;
	name = elffile_section_name(f, sh);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Ends each stub at the next one, at its section's end, or after max_bytes. */
static void end_stubs(struct reader *r, size_t first, uint64_t section_end, uint64_t max_bytes)
{
	for (size_t i = first; i < r->n_stubs; i++) {
		uint64_t end = i + 1 < r->n_stubs ? r->stubs[i + 1].vaddr : section_end;
		uint64_t max = r->stubs[i].vaddr + max_bytes;

		r->stubs[i].end = end < max ? end : max;
	}
}

static void read_section(struct reader *r, Elf_Scn *scn, const GElf_Shdr *sh)
{
	bool is_x86 = r->f->header.e_machine == EM_X86_64;
	Elf_Data *data = elffile_data(r->f, scn);
	size_t first = r->n_stubs;

	if (!data || !data->d_buf)
		return;
	if (is_x86)
		decode_x86_section(r, data->d_buf, data->d_size, sh->sh_addr);
	else
		decode_arm64_section(r, data->d_buf, data->d_size, sh->sh_addr);
	end_stubs(r, first, sh->sh_addr + data->d_size,
		  is_x86 ? X86_STUB_MAX_BYTES : ARM64_STUB_MAX_BYTES);
}

static void read_sections(struct reader *r)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int n = 0;

	while (n < PLT_SECTIONS_MAX && (scn = elf_nextscn(r->f->elf, scn)))
		if (gelf_getshdr(scn, &sh) && is_plt(r->f, &sh)) {
			read_section(r, scn, &sh);
			n++;
		}
}

/* ---- the targets of stubs ---- */

/* A section of relocations. */
struct relocations {
	Elf_Data *data;
	struct elfsymtab symbols;
	size_t count;
	struct addr_item *by_word; /* sorted by r_offset; value: index of the relocation */
	size_t n_by_word, cap;
};

static bool is_jump(const struct elffile *f, uint64_t type)
{
	if (f->header.e_machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT ||
		       type == R_X86_64_IRELATIVE;
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT ||
	       type == R_AARCH64_IRELATIVE;
}

static bool open_relocations(struct relocations *rel, const struct elffile *f, Elf_Scn *scn,
			     const GElf_Shdr *sh)
{
	Elf_Scn *symbols = sh->sh_link ? elf_getscn(f->elf, sh->sh_link) : NULL;
	GElf_Shdr symbols_sh;

	*rel = (struct relocations){ .data = elffile_data(f, scn) };
	if (!rel->data)
		return false;
	rel->count = rel->data->d_size / sizeof(Elf64_Rela);
	if (symbols && gelf_getshdr(symbols, &symbols_sh) && symbols_sh.sh_type == SHT_DYNSYM)
		elfsymtab_open(&rel->symbols, f, symbols);
	return true;
}

static void index_relocations(struct relocations *rel, const struct elffile *f)
{
	for (size_t i = 0; i < rel->count; i++) {
		GElf_Rela rela;

		if (!gelf_getrela(rel->data, i, &rela) || !is_jump(f, GELF_R_TYPE(rela.r_info)))
			continue;
		*MEM_APPEND(rel->by_word, rel->n_by_word, rel->cap) =
			(struct addr_item){ rela.r_offset, i };
	}
	addrsort(rel->by_word, rel->n_by_word);
}

static uint32_t target_name(const struct reader *r, struct relocations *rel, const GElf_Rela *rela)
{
	GElf_Sym sym;

	if (!GELF_R_SYM(rela->r_info) ||
	    !elfsymtab_get(&rel->symbols, GELF_R_SYM(rela->r_info), &sym) ||
	    sym.st_name >= r->names_bytes)
		return 0;
	return sym.st_name;
}

static bool find_relocation(const struct relocations *rel, const struct stub *stub, bool is_plt_rel,
			    GElf_Rela *rela)
{
	size_t rank, i = stub->index;

	if (stub->index == NO_INDEX) {
		rank = rel->by_word ? addrsort_rank(rel->by_word, rel->n_by_word, stub->word) : 0;
		if (!rank || rel->by_word[rank - 1].addr != stub->word)
			return false;
		i = rel->by_word[rank - 1].value;
	} else if (!is_plt_rel) {
		return false;
	}
	return i < rel->count && gelf_getrela(rel->data, (int)i, rela);
}

static bool resolve_stub(struct reader *r, struct relocations *rel, const struct stub *stub,
			 bool is_plt_rel)
{
	struct plt_stub found = { .vaddr = stub->vaddr,
				  .bytes = (uint32_t)(stub->end - stub->vaddr) };
	GElf_Rela rela;

	if (!find_relocation(rel, stub, is_plt_rel, &rela))
		return false;
	found.name = target_name(r, rel, &rela);
	found.resolver = found.name ? 0 : (uint64_t)rela.r_addend;
	if (found.name || found.resolver)
		*MEM_APPEND(r->found, r->n_found, r->found_cap) = found;
	return true;
}

/* Resolves stubs, and retains those without a relocation in this section. */
static void resolve_stubs(struct reader *r, Elf_Scn *scn, const GElf_Shdr *sh, bool is_plt_rel)
{
	struct relocations rel;
	size_t left = 0;

	if (!open_relocations(&rel, r->f, scn, sh))
		return;
	index_relocations(&rel, r->f);
	for (size_t i = 0; i < r->n_stubs; i++)
		if (!resolve_stub(r, &rel, &r->stubs[i], is_plt_rel))
			r->stubs[left++] = r->stubs[i];
	r->n_stubs = left;
	elfsymtab_close(&rel.symbols);
	free(rel.by_word);
}

/*
 * Reads .rela.plt (of_plt), or all other relocation sections: in static files, .rela.plt can have
 * another name.
 */
static void read_relocations(struct reader *r, bool of_plt)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int n = 0;

	while (r->n_stubs && n < RELOCATIONS_MAX && (scn = elf_nextscn(r->f->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_RELA ||
		    !(sh.sh_flags & SHF_ALLOC) ||
		    of_plt != !strcmp(elffile_section_name(r->f, &sh), ".rela.plt"))
			continue;
		resolve_stubs(r, scn, &sh, of_plt);
		n++;
	}
}

struct plt_stub *elfplt_read(const struct elffile *f, size_t names_bytes, size_t *n)
{
	struct reader r = { .f = f, .names_bytes = names_bytes };

	*n = 0;
	if (gelf_getclass(f->elf) != ELFCLASS64 || f->header.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (f->header.e_machine != EM_X86_64 && f->header.e_machine != EM_AARCH64))
		return NULL;
	read_sections(&r);
	read_relocations(&r, true);
	read_relocations(&r, false);
	free(r.stubs);
	*n = r.n_found;
	return r.found;
}

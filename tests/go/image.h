/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The smallest ELF file with a Go function table, in each of its layouts, for unit tests and
 * fuzzers:
 *
 *	main.(*T).run		64 bytes, /src/a.go; lines 10, 12 from byte 32 on; a frame of
 *				32 bytes in 4..59; main.small, called in line 10, is inlined
 *				in 16..31
 *	main.F[int;struct {}]	64 bytes, /src/a.go line 20
 */
#ifndef GO_IMAGE_H
#define GO_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "../elf_header.h"
#include "base/mem.h"

#define GO_TEXT		0x1000
#define GO_TEXT_BYTES	128
#define GO_TABLE	0x4000
#define GO_DATA		0x80000 /* struct moduledata, then the inlined call */
#define GO_MODULE_WORDS 48

enum go_image_layout {
	GO_IMAGE_1_2,
	GO_IMAGE_1_16,
	GO_IMAGE_1_18,
	GO_IMAGE_1_20,
	GO_IMAGE_1_26,
	GO_IMAGE_LAYOUTS
};

struct go_table {
	uint8_t bytes[1024];
	size_t size;
	size_t names; /* where they begin */
};

struct go_image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[5]; /* the last two are for tests */
	Elf64_Shdr sections[4];
	char names[64];
	uint8_t code[GO_TEXT_BYTES];
	uint64_t module[GO_MODULE_WORDS];
	uint8_t call[24];
	uint8_t table[];
};

static const char go_section_names[] = "\0.gopclntab\0.go.buildinfo\0.shstrtab";

static inline size_t go_put(struct go_table *t, const void *bytes, size_t n)
{
	size_t at = t->size;

	memcpy(t->bytes + at, bytes, n);
	t->size += n;
	return at;
}

static inline size_t go_put32(struct go_table *t, uint32_t v)
{
	return go_put(t, &v, sizeof(v));
}

/* A place of code, or a pointer, as wide as the layout has them. */
static inline size_t go_put_wide(struct go_table *t, enum go_image_layout layout, uint64_t v)
{
	return go_put(t, &v, layout >= GO_IMAGE_1_18 ? 4 : 8);
}

static inline void go_set64(struct go_table *t, size_t at, uint64_t v)
{
	memcpy(t->bytes + at, &v, sizeof(v));
}

static inline void go_align(struct go_table *t)
{
	t->size = (t->size + 7) & ~(size_t)7;
}

/* Values in three ranges: all are small. Their sign is in the lowest bit. */
static inline size_t go_put_values(struct go_table *t, const int *values, const int *bytes,
				   size_t n)
{
	int last = -1;
	size_t at = t->size;

	for (size_t i = 0; i < n; i++) {
		int change = values[i] - last;

		t->bytes[t->size++] = (uint8_t)(change < 0 ? ~(change * 2) : change * 2);
		t->bytes[t->size++] = (uint8_t)bytes[i];
		last = values[i];
	}
	t->bytes[t->size++] = 0;
	return at;
}

struct go_image_func {
	uint32_t name, frame_sizes, file, lines, calls;
};

/* struct _func, returns where it begins */
static inline size_t go_put_func(struct go_table *t, enum go_image_layout layout, uint64_t entry,
				 struct go_image_func f)
{
	size_t at;

	go_align(t);
	at = go_put_wide(t, layout, entry);
	go_put32(t, f.name);
	go_put32(t, 0); /* args */
	go_put32(t, 0); /* deferreturn */
	go_put32(t, f.frame_sizes);
	go_put32(t, f.file);
	go_put32(t, f.lines);
	go_put32(t, 3); /* tables of values */
	if (layout >= GO_IMAGE_1_16)
		go_put32(t, 0); /* the compilation unit's first file */
	if (layout >= GO_IMAGE_1_20)
		go_put32(t, 9);			 /* startLine */
	go_put(t, (uint8_t[]){ 0, 0, 0, 5 }, 4); /* funcID, flags, -, pointers */
	go_put32(t, 0);
	go_put32(t, 0);
	go_put32(t, f.calls);
	if (layout < GO_IMAGE_1_18 && t->size & 7)
		go_put32(t, 0);
	for (int i = 0; i < 5; i++)
		if (f.calls && i == (layout == GO_IMAGE_1_2 ? 4 : 3))
			go_put_wide(t, layout,
				    layout >= GO_IMAGE_1_18 ? 0 : GO_DATA + GO_MODULE_WORDS * 8);
		else
			go_put_wide(t, layout, layout >= GO_IMAGE_1_18 ? UINT32_MAX : 0);
	return at;
}

static inline void go_put_header(struct go_table *t, enum go_image_layout layout)
{
	static const uint32_t magics[] = { 0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1,
					   0xfffffff1 };

	go_put32(t, magics[layout]);
	go_put(t, (uint8_t[]){ 0, 0, 1, 8 }, 4);
	go_set64(t, 8, 2); /* functions */
	go_set64(t, 16, 1);
	if (layout == GO_IMAGE_1_18 || layout == GO_IMAGE_1_20)
		go_set64(t, 24, GO_TEXT);
	t->size = layout == GO_IMAGE_1_2 ? 16 : layout == GO_IMAGE_1_16 ? 64 : 72;
}

#define GO_NAME_RUN   0
#define GO_NAME_F     14
#define GO_NAME_SMALL 36

static inline size_t go_put_names(struct go_table *t)
{
	static const char names[] = "main.(*T).run\0main.F[int;struct {}]\0main.small";

	t->names = go_put(t, names, sizeof(names));
	return t->names;
}

/* functab, and behind it the functions, and where they are */
static inline void go_put_functab(struct go_table *t, enum go_image_layout layout, size_t base,
				  const struct go_image_func funcs[2])
{
	uint64_t text = layout >= GO_IMAGE_1_18 ? 0 : GO_TEXT;
	size_t wide = layout >= GO_IMAGE_1_18 ? 4 : 8, at = t->size, places[2];

	t->size += 5 * wide + 4; /* the file table's place in 1.2 */
	for (size_t i = 0; i < 2; i++)
		places[i] = go_put_func(t, layout, text + 64 * i, funcs[i]) - base;
	for (size_t i = 0; i < 3; i++) {
		uint64_t entry = text + 64 * i;

		memcpy(t->bytes + at + 2 * i * wide, &entry, wide);
		if (i < 2)
			memcpy(t->bytes + at + (2 * i + 1) * wide, &places[i], wide);
	}
}

/* Puts the values that the functions refer to; their offsets are counted from base. */
static inline void go_put_all_values(struct go_table *t, size_t base, int file,
				     struct go_image_func funcs[2])
{
	t->bytes[t->size++] = 0; /* offset 0 is none */
	funcs[0].frame_sizes = go_put_values(t, (int[]){ 0, 32, 0 }, (int[]){ 4, 56, 4 }, 3) - base;
	funcs[0].file = go_put_values(t, (int[]){ file }, (int[]){ 64 }, 1) - base;
	funcs[0].lines = go_put_values(t, (int[]){ 10, 12 }, (int[]){ 32, 32 }, 2) - base;
	funcs[0].calls = go_put_values(t, (int[]){ -1, 0, -1 }, (int[]){ 16, 16, 32 }, 3) - base;
	funcs[1].frame_sizes = go_put_values(t, (int[]){ 0 }, (int[]){ 64 }, 1) - base;
	funcs[1].file = funcs[0].file;
	funcs[1].lines = go_put_values(t, (int[]){ 20 }, (int[]){ 64 }, 1) - base;
	/* "-1" cannot be said first: a change of nothing */
	t->bytes[base + funcs[0].calls] = 0;
}

/* Before Go 1.16: offsets count from the table's start. */
static inline void go_make_single_part(struct go_table *t)
{
	struct go_image_func funcs[2] = { { .name = 0 } };
	size_t functab = t->size, names, files;

	t->size = 640; /* behind the functions */
	names = go_put_names(t);
	funcs[0].name = names + GO_NAME_RUN;
	funcs[1].name = names + GO_NAME_F;
	go_put_all_values(t, 0, 1, funcs);
	names = go_put(t, "/src/a.go", 10);
	go_align(t);
	files = go_put32(t, 2);
	go_put32(t, names);
	names = t->size;
	t->size = functab;
	go_put_functab(t, GO_IMAGE_1_2, 0, funcs);
	memcpy(t->bytes + 16 + 5 * 8, &files, 4);
	t->size = names;
}

static inline void go_make_parts(struct go_table *t, enum go_image_layout layout)
{
	struct go_image_func funcs[2] = { { .name = GO_NAME_RUN }, { .name = GO_NAME_F } };
	size_t at = layout == GO_IMAGE_1_16 ? 24 : 32;

	go_set64(t, at, go_put_names(t));
	go_align(t);
	go_set64(t, at + 8, go_put32(t, 0));
	go_set64(t, at + 16, go_put(t, "/src/a.go", 10));
	go_set64(t, at + 24, t->size);
	go_put_all_values(t, t->size, 0, funcs);
	go_align(t);
	go_set64(t, at + 32, t->size);
	go_put_functab(t, layout, t->size, funcs);
}

static inline struct go_table go_table_new(enum go_image_layout layout)
{
	struct go_table t = { .size = 0 };

	go_put_header(&t, layout);
	if (layout == GO_IMAGE_1_2)
		go_make_single_part(&t);
	else
		go_make_parts(&t, layout);
	return t;
}

/* ---- the file ---- */

static inline void go_image_add_segments(struct go_image *m, size_t table_bytes)
{
	m->header.e_phoff = offsetof(struct go_image, segments);
	m->header.e_phnum = 3;
	m->segments[0] = (Elf64_Phdr){ .p_type = PT_LOAD,
				       .p_flags = PF_R | PF_X,
				       .p_offset = offsetof(struct go_image, code),
				       .p_vaddr = GO_TEXT,
				       .p_filesz = sizeof(m->code) };
	m->segments[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
				       .p_flags = PF_R,
				       .p_offset = offsetof(struct go_image, table),
				       .p_vaddr = GO_TABLE,
				       .p_filesz = table_bytes };
	m->segments[2] = (Elf64_Phdr){ .p_type = PT_LOAD,
				       .p_flags = PF_R | PF_W,
				       .p_offset = offsetof(struct go_image, module),
				       .p_vaddr = GO_DATA,
				       .p_filesz = sizeof(m->module) + sizeof(m->call) };
}

static inline void go_image_add_sections(struct go_image *m, size_t table_bytes)
{
	m->header.e_shoff = offsetof(struct go_image, sections);
	m->header.e_shnum = 4;
	m->header.e_shstrndx = 3;
	m->sections[1] = (Elf64_Shdr){ .sh_name = 1,
				       .sh_type = SHT_PROGBITS,
				       .sh_flags = SHF_ALLOC,
				       .sh_addr = GO_TABLE,
				       .sh_offset = offsetof(struct go_image, table),
				       .sh_size = table_bytes };
	m->sections[2] = (Elf64_Shdr){ .sh_name = 12,
				       .sh_type = SHT_PROGBITS,
				       .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
				       .sh_addr = GO_TEXT,
				       .sh_offset = offsetof(struct go_image, code),
				       .sh_size = sizeof(m->code) };
	m->sections[3] = (Elf64_Shdr){ .sh_name = 26,
				       .sh_type = SHT_STRTAB,
				       .sh_offset = offsetof(struct go_image, names),
				       .sh_size = sizeof(go_section_names) };
	memcpy(m->names, go_section_names, sizeof(go_section_names));
}

/* Any bytes as the table, without what depends on it. To be freed; *size is the whole image's. */
static inline struct go_image *go_image_of(const uint8_t *table, size_t bytes, size_t *size)
{
	struct go_image *m;

	*size = offsetof(struct go_image, table) + bytes;
	m = mem_zalloc(1, *size);
	m->header = elf_header(ET_EXEC, EM_X86_64);
	go_image_add_segments(m, bytes);
	go_image_add_sections(m, bytes);
	if (bytes)
		memcpy(m->table, table, bytes);
	return m;
}

/* struct moduledata for names of that many bytes, with gofunc at one of its places. */
static inline void go_image_add_module(struct go_image *m, size_t names, size_t names_bytes,
				       size_t gofunc)
{
	m->module[0] = GO_TABLE;
	m->module[1] = GO_TABLE + names;
	m->module[2] = m->module[3] = names_bytes;
	m->module[20] = GO_TEXT;
	m->module[22] = GO_TEXT;
	m->module[gofunc] = GO_DATA + sizeof(m->module);
}

static inline struct go_image *go_image_new(enum go_image_layout layout, size_t *size)
{
	struct go_table t = go_table_new(layout);
	struct go_image *m = go_image_of(t.bytes, t.size, size);
	uint32_t name = (layout == GO_IMAGE_1_2 ? t.names : 0) + GO_NAME_SMALL, pc = 8;

	memcpy(m->call + (layout >= GO_IMAGE_1_20 ? 4 : 12), &name, sizeof(name));
	memcpy(m->call + (layout >= GO_IMAGE_1_20 ? 8 : 16), &pc, sizeof(pc));
	if (layout >= GO_IMAGE_1_18)
		go_image_add_module(m, t.names, 47, layout == GO_IMAGE_1_18 ? 38 : 40);
	return m;
}

#endif

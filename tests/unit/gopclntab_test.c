// SPDX-License-Identifier: GPL-2.0-only
/*
 * Go's function tables: hand-made ones in every layout, lying and truncated ones, and that of a
 * real program where there is a Go toolchain. "make check-go" compares with all toolchains.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../go/image.h"
#include "base/array.h"
#include "elf/gopclntab.h"
#include "symbols/elfsyms.h"
#include "symbols/srclines.h"
#include "unit.h"

static int open_image(struct gopclntab *g, const struct go_image *m, size_t size)
{
	struct elf64 elf;
	int err;

	*g = (struct gopclntab){};
	err = elf64_open_image(&elf, m, size);

	return err ? err : gopclntab_open(g, &elf);
}

static int open_layout(struct gopclntab *g, enum go_image_layout layout, struct go_image **m)
{
	size_t size = 0;

	*m = go_image_new(layout, &size);
	return open_image(g, *m, size);
}

static void check_functions(const struct gopclntab *g)
{
	struct go_func f;

	CHECK_EQ(g->n_funcs, 2);
	CHECK(gopclntab_func(g, 0, &f));
	CHECK_EQ(f.start, GO_TEXT);
	CHECK_EQ(f.end, GO_TEXT + 64);
	CHECK_STR(gopclntab_name(g, f.name), "main.(*T).run");
	CHECK(gopclntab_find(g, GO_TEXT + 127, &f));
	CHECK_STR(gopclntab_name(g, f.name), "main.F[int;struct {}]");
	CHECK(!gopclntab_find(g, GO_TEXT - 1, &f));
	CHECK(!gopclntab_find(g, GO_TEXT + 128, &f));
	CHECK(!gopclntab_func(g, 2, &f));
}

static void check_frame_sizes(const struct gopclntab *g)
{
	struct go_values v;
	struct go_func f;

	CHECK(gopclntab_func(g, 0, &f));
	v = go_values_begin(g, &f, f.frame_sizes);
	CHECK(go_values_next(&v) && v.value == 0 && v.start == GO_TEXT && v.end == GO_TEXT + 4);
	CHECK(go_values_next(&v) && v.value == 32 && v.end == GO_TEXT + 60);
	CHECK(go_values_next(&v) && v.value == 0 && v.end == GO_TEXT + 64);
	CHECK(!go_values_next(&v));
}

static void check_frames(struct gopclntab *g)
{
	struct go_frame frames[4];

	CHECK_EQ(gopclntab_frames(g, GO_TEXT + 20, frames, 4), 2);
	CHECK_STR(frames[0].function, "main.small");
	CHECK_EQ(frames[0].line, 10);
	CHECK_STR(frames[1].function, "main.(*T).run");
	CHECK_STR(frames[1].file, "/src/a.go");
	CHECK_EQ(frames[1].pc, GO_TEXT + 8);
	CHECK_EQ(gopclntab_frames(g, GO_TEXT + 40, frames, 4), 1);
	CHECK_EQ(frames[0].line, 12);
	CHECK_EQ(gopclntab_frames(g, GO_TEXT + 64, frames, 4), 1);
	CHECK_EQ(frames[0].line, 20);
	CHECK_EQ(gopclntab_frames(g, GO_TEXT + 20, frames, 1), 1);
}

TEST(reads_every_layout)
{
	for (enum go_image_layout layout = 0; layout < GO_IMAGE_LAYOUTS; layout++) {
		struct go_image *m;
		struct gopclntab g;

		CHECK_EQ(open_layout(&g, layout, &m), 0);
		check_functions(&g);
		check_frame_sizes(&g);
		check_frames(&g);
		gopclntab_close(&g);
		free(m);
	}
}

/* Section headers can be stripped; without them what is mapped is searched. */
TEST(finds_the_table_without_section_headers)
{
	for (enum go_image_layout layout = 0; layout < GO_IMAGE_LAYOUTS; layout++) {
		struct gopclntab g;
		size_t size;
		struct go_image *m = go_image_new(layout, &size);

		m->header.e_shnum = 0;
		m->header.e_shoff = 0;
		CHECK_EQ(open_image(&g, m, size), 0);
		check_functions(&g);
		check_frames(&g);
		gopclntab_close(&g);
		free(m);
	}
}

/* A table that is not at its segment's beginning, and further on than is searched at a time. */
TEST(finds_a_table_far_into_a_segment)
{
	size_t size, far = (2 << 20) - 24;
	struct go_image *small = go_image_new(GO_IMAGE_1_20, &size), *m = mem_zalloc(1, size + far);
	size_t table_bytes = size - offsetof(struct go_image, table);
	struct gopclntab g;

	*m = *small;
	memcpy(m->table + far, small->table, table_bytes);
	m->header.e_shnum = 0;
	m->segments[1].p_vaddr = GO_TABLE - far;
	m->segments[1].p_filesz += far;
	CHECK_EQ(open_image(&g, m, size + far), 0);
	check_functions(&g);
	gopclntab_close(&g);
	free(m);
	free(small);
}

#define RELAS_VADDR 0x90000

/* What the dynamic linker would read, behind everything else. */
struct relocations {
	Elf64_Dyn dynamic[3];
	Elf64_Rela relas[5];
};

/* Moves a word of struct moduledata from where it stands into a relocation. */
static void make_relative(struct go_image *m, Elf64_Rela *rela, size_t word)
{
	*rela = (Elf64_Rela){ .r_offset = GO_DATA + 8 * word,
			      .r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
			      .r_addend = (int64_t)m->module[word] };
	m->module[word] = 0;
}

static void add_relocations(struct go_image *m, struct relocations *r, uint64_t offset)
{
	static const size_t words[] = { 0, 1, 20, 22, 40 };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		make_relative(m, &r->relas[i], words[i]);
	r->dynamic[0] = (Elf64_Dyn){ DT_RELA, { .d_val = RELAS_VADDR } };
	r->dynamic[1] = (Elf64_Dyn){ DT_RELASZ, { .d_val = sizeof(r->relas) } };
	m->header.e_type = ET_DYN;
	m->header.e_phnum = 5;
	m->segments[3] = (Elf64_Phdr){ .p_type = PT_DYNAMIC,
				       .p_offset = offset,
				       .p_filesz = sizeof(r->dynamic) };
	m->segments[4] = (Elf64_Phdr){ .p_type = PT_LOAD,
				       .p_flags = PF_R | PF_X,
				       .p_offset = offset + offsetof(struct relocations, relas),
				       .p_vaddr = RELAS_VADDR,
				       .p_filesz = sizeof(r->relas) };
}

/* In the file the pointers are zero: the dynamic linker writes them. */
TEST(applies_relocations)
{
	struct relocations r = { .dynamic = { { .d_tag = 0 } } };
	struct gopclntab g;
	size_t size;
	struct go_image *m = go_image_new(GO_IMAGE_1_26, &size);

	m = mem_realloc(m, size + sizeof(r), 1);
	add_relocations(m, &r, size);
	CHECK_EQ(open_image(&g, m, size), -ENOTSUP); /* without them: where is the text? */
	memcpy((char *)m + size, &r, sizeof(r));
	CHECK_EQ(open_image(&g, m, size + sizeof(r)), 0);
	check_functions(&g);
	check_frames(&g);
	gopclntab_close(&g);
	free(m);
}

/* The image's own segments and, behind it, as many more. */
static int open_with_segments(size_t n_more)
{
	size_t size, n;
	struct go_image *m = go_image_new(GO_IMAGE_1_26, &size);
	struct gopclntab g;
	int err;

	n = m->header.e_phnum;
	m = mem_realloc(m, size + (n + n_more) * sizeof(Elf64_Phdr), 1);
	memcpy((char *)m + size, m->segments, n * sizeof(Elf64_Phdr));
	memset((char *)m + size + n * sizeof(Elf64_Phdr), 0, n_more * sizeof(Elf64_Phdr));
	m->header.e_phoff = size;
	m->header.e_phnum = (Elf64_Half)(n + n_more);
	err = open_image(&g, m, size + (n + n_more) * sizeof(Elf64_Phdr));
	gopclntab_close(&g);
	free(m);
	return err;
}

/* All relocations are applied to each that is searched. */
TEST(a_file_with_very_many_segments_is_refused)
{
	CHECK_EQ(open_with_segments(32), 0);
	CHECK_EQ(open_with_segments(1000), -ENOTSUP);
}

/* Ranges are counted in instructions there. */
TEST(arm64_counts_in_words)
{
	struct go_values v;
	struct gopclntab g;
	struct go_func f;
	size_t size;
	struct go_image *m = go_image_new(GO_IMAGE_1_20, &size);

	m->header.e_machine = EM_AARCH64;
	m->table[6] = 4;
	CHECK_EQ(open_image(&g, m, size), 0);
	CHECK(gopclntab_func(&g, 0, &f));
	v = go_values_begin(&g, &f, f.frame_sizes);
	CHECK(go_values_next(&v) && v.start == GO_TEXT && v.end == GO_TEXT + 16);
	gopclntab_close(&g);
	free(m);
}

/* A step of 64 bytes, 16 below the last address. */
TEST(values_end_with_the_address_space)
{
	static const uint8_t steps[] = { 2, 8, 2, 64, 0 };
	struct go_values v = { .left = { steps, sizeof(steps) },
			       .end = UINT64_MAX - 16,
			       .quantum = 1,
			       .value = -1,
			       .is_first = true };

	CHECK(go_values_next(&v) && v.end == UINT64_MAX - 8);
	CHECK(!go_values_next(&v));
}

TEST(what_is_not_go_is_left_alone)
{
	struct gopclntab g;
	struct elf64 elf;
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);

	CHECK_EQ(elf64_open(&elf, fd), 0);
	CHECK_EQ(gopclntab_open(&g, &elf), -ENODATA);
	close(fd);
}

/* A newer Go, another machine's, or a program that hides its functions by another number. */
TEST(unknown_layouts_are_left_alone)
{
	static const struct {
		size_t at;
		uint8_t byte;
	} changes[] = { { 0, 0xf2 }, { 3, 0 }, { 4, 1 }, { 6, 4 }, { 7, 4 } };

	for (size_t i = 0; i < 5; i++) {
		struct gopclntab g;
		size_t size;
		struct go_image *m = go_image_new(GO_IMAGE_1_20, &size);

		m->table[changes[i].at] = changes[i].byte;
		CHECK_EQ(open_image(&g, m, size), -ENOTSUP);
		free(m);
	}
}

/* Everything that can be asked of a table, whatever is in it. */
static void use(const struct go_image *m, size_t size)
{
	struct go_frame frames[4];
	struct gopclntab g;
	struct go_func f;

	if (open_image(&g, m, size))
		return;
	for (size_t i = 0; i < g.n_funcs; i++)
		if (gopclntab_func(&g, i, &f)) {
			CHECK(f.start < f.end);
			gopclntab_name(&g, f.name);
			gopclntab_frames(&g, f.start + 20, frames, 4);
		}
	gopclntab_close(&g);
}

TEST(survives_any_truncation)
{
	for (enum go_image_layout layout = 0; layout < GO_IMAGE_LAYOUTS; layout++) {
		struct go_table t = go_table_new(layout);

		for (size_t n = 0; n < t.size; n++) {
			size_t size;
			struct go_image *m = go_image_of(t.bytes, n, &size), *cut;

			go_image_add_module(m, t.names, 47, 40);
			cut = mem_realloc(NULL, size, 1); /* to the byte, for sanitizers */
			memcpy(cut, m, size);
			use(cut, size);
			free(cut);
			free(m);
		}
	}
}

TEST(survives_any_byte)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };

	for (enum go_image_layout layout = 0; layout < GO_IMAGE_LAYOUTS; layout++) {
		size_t size;
		struct go_image *m = go_image_new(layout, &size);

		for (size_t at = offsetof(struct go_image, code); at < size; at++) {
			uint8_t *p = (uint8_t *)m + at, was = *p;

			for (size_t i = 0; i < sizeof(values); i++) {
				*p = values[i];
				use(m, size);
			}
			*p = was;
		}
		free(m);
	}
}

/* The numbers that say how large something is, all of them 2 GB and more. */
TEST(claims_of_size_are_checked)
{
	static const uint64_t sizes[] = { 1ull << 31, 0xffffffff, 1ull << 40, UINT64_MAX / 8,
					  UINT64_MAX };

	for (enum go_image_layout layout = 0; layout < GO_IMAGE_LAYOUTS; layout++)
		for (size_t at = 8; at < 72; at += 8)
			for (size_t i = 0; i < 5; i++) {
				size_t size;
				struct go_image *m = go_image_new(layout, &size);

				memcpy(m->table + at, &sizes[i], 8);
				use(m, size);
				free(m);
			}
}

TEST(a_section_that_claims_2_gb_is_refused)
{
	struct gopclntab g;
	size_t size;
	struct go_image *m = go_image_new(GO_IMAGE_1_20, &size);

	m->sections[1].sh_size = 1ull << 31;
	CHECK_EQ(open_image(&g, m, size), -EFBIG);
	m->sections[1].sh_size = 1 << 20;
	CHECK_EQ(open_image(&g, m, size), -EINVAL);
	free(m);
}

static void check_written(struct gopclntab *g, const char *name, const char *expected)
{
	char text[128] = "";
	size_t n = gopclntab_write_name(g, text, name, strlen(name));

	CHECK_EQ(n, strlen(expected));
	CHECK_STR(text, expected);
}

TEST(type_arguments_are_left_out)
{
	struct go_image *m;
	struct gopclntab g;

	CHECK_EQ(open_layout(&g, GO_IMAGE_1_20, &m), 0);
	check_written(&g, "main.(*T).run", "main.(*T).run");
	check_written(&g, "main.F[int;struct {}]", "main.F[...]");
	check_written(&g, "main.(*T[go.shape.[2]int]).run", "main.(*T[...]).run");
	check_written(&g, "main.F[...].func1", "main.F[...].func1");
	check_written(&g, "main.F[]", "main.F[...]");
	check_written(&g, "main.F]odd[", "main.F]odd[");
	check_written(&g, "", "");
	gopclntab_close(&g);
	free(m);
	CHECK_EQ(open_layout(&g, GO_IMAGE_1_16, &m), 0);
	check_written(&g, "type..eq.[2]string", "type..eq.[2]string");
	gopclntab_close(&g);
	free(m);
}

/* ---- as symbols and lines ---- */

TEST(names_are_symbols)
{
	size_t size;
	struct go_image *m = go_image_new(GO_IMAGE_1_20, &size);
	struct elfsyms *es = elfsyms_load_image(m, size);
	uint64_t start = 0;

	CHECK(es);
	CHECK_STR(elfsyms_find(es, GO_TEXT + 63, &start), "main.(*T).run");
	CHECK_EQ(start, GO_TEXT);
	CHECK_STR(elfsyms_find_readable(es, GO_TEXT + 64), "main.F[...]");
	CHECK(!elfsyms_find(es, GO_TEXT + 128, NULL));
	elfsyms_free(es);
	free(m);
}

static int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("go", MFD_CLOEXEC);

	CHECK_EQ(write(fd, bytes, size), (ssize_t)size);
	return fd;
}

TEST(lines_need_no_dwarf)
{
	size_t size;
	struct go_image *m = go_image_new(GO_IMAGE_1_20, &size);
	int fd = file_of(m, size);
	struct srclines *lines = srclines_open(fd, NULL, false, NULL);
	const struct srcframe *frames;

	CHECK(lines);
	CHECK_EQ(srclines_find(lines, GO_TEXT + 20, &frames), 2);
	CHECK_STR(frames[0].function, "main.small");
	CHECK_STR(frames[0].file, "/src/a.go");
	CHECK(!frames[1].function);
	CHECK_EQ(frames[1].line, 10);
	CHECK_EQ(srclines_find(lines, GO_TEXT - 1, &frames), 0);
	srclines_free(lines);
	close(fd);
	free(m);
}

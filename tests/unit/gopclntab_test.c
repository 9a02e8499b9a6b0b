// SPDX-License-Identifier: GPL-2.0-only
/*
 * Go's function tables: hand-made ones in every layout, lying and truncated ones, and that of a
 * real program where there is a Go toolchain. "make check-go" compares with all toolchains.
 */
#include "../go/image.h"
#include "elf/gopclntab.h"
#include "symbols/elfsyms.h"
#include "symbols/srclines.h"
#include "unit.h"

static struct gopclntab g;
static struct go_image *m;
static size_t size;

static void make(enum go_image_layout layout)
{
	m = until_end(go_image_new(layout, &size));
}

/* Zeros behind it. */
static void grow(size_t n_bytes)
{
	struct go_image *larger = until_end(mem_zalloc(1, size + n_bytes));

	memcpy(larger, m, size);
	m = larger;
}

BEFORE_EACH()
{
	make(GO_IMAGE_1_20);
}

AFTER_EACH()
{
	gopclntab_close(&g);
}

static int open_bytes(const struct go_image *image, size_t n)
{
	struct elf64 elf;
	int err = elf64_open_image(&elf, image, n);

	gopclntab_close(&g);
	g = (struct gopclntab){};
	return err ? err : gopclntab_open(&g, &elf);
}

static int open_image(void)
{
	return open_bytes(m, size);
}

static void check_functions(void)
{
	struct go_func f;

	CHECK_EQ(g.n_funcs, 2);
	CHECK(gopclntab_func(&g, 0, &f));
	CHECK_EQ(f.start, GO_TEXT);
	CHECK_EQ(f.end, GO_TEXT + 64);
	CHECK_STR(gopclntab_name(&g, f.name), "main.(*T).run");
	CHECK(gopclntab_find(&g, GO_TEXT + 127, &f));
	CHECK_STR(gopclntab_name(&g, f.name), "main.F[int;struct {}]");
	CHECK(!gopclntab_find(&g, GO_TEXT - 1, &f));
	CHECK(!gopclntab_find(&g, GO_TEXT + 128, &f));
	CHECK(!gopclntab_func(&g, 2, &f));
}

static void check_frame_sizes(void)
{
	struct go_values v;
	struct go_func f;

	CHECK(gopclntab_func(&g, 0, &f));
	v = go_values_begin(&g, &f, f.frame_sizes);
	CHECK(go_values_next(&v) && v.value == 0 && v.start == GO_TEXT && v.end == GO_TEXT + 4);
	CHECK(go_values_next(&v) && v.value == 32 && v.end == GO_TEXT + 60);
	CHECK(go_values_next(&v) && v.value == 0 && v.end == GO_TEXT + 64);
	CHECK(!go_values_next(&v));
}

static void check_frames(void)
{
	struct go_frame frames[4];

	CHECK_EQ(gopclntab_frames(&g, GO_TEXT + 20, frames, 4), 2);
	CHECK_STR(frames[0].function, "main.small");
	CHECK_EQ(frames[0].line, 10);
	CHECK_STR(frames[1].function, "main.(*T).run");
	CHECK_STR(frames[1].file, "/src/a.go");
	CHECK_EQ(frames[1].pc, GO_TEXT + 8);
	CHECK_EQ(gopclntab_frames(&g, GO_TEXT + 40, frames, 4), 1);
	CHECK_EQ(frames[0].line, 12);
	CHECK_EQ(gopclntab_frames(&g, GO_TEXT + 64, frames, 4), 1);
	CHECK_EQ(frames[0].line, 20);
	CHECK_EQ(gopclntab_frames(&g, GO_TEXT + 20, frames, 1), 1);
}

TEST(reads_every_layout)
{
	for (enum go_image_layout layout = 0; layout < GO_IMAGE_LAYOUTS; layout++) {
		make(layout);
		CHECK_EQ(open_image(), 0);
		check_functions();
		check_frame_sizes();
		check_frames();
	}
}

/* Section headers can be stripped; without them what is mapped is searched. */
TEST(finds_the_table_without_section_headers)
{
	for (enum go_image_layout layout = 0; layout < GO_IMAGE_LAYOUTS; layout++) {
		make(layout);
		m->header.e_shnum = 0;
		m->header.e_shoff = 0;
		CHECK_EQ(open_image(), 0);
		check_functions();
		check_frames();
	}
}

/* A table that is not at its segment's beginning, and further on than is searched at a time. */
TEST(finds_a_table_far_into_a_segment)
{
	size_t far = (2 << 20) - 24;

	grow(far);
	memmove(m->table + far, m->table, size - offsetof(struct go_image, table));
	memset(m->table, 0, far); /* it is nowhere else */
	m->header.e_shnum = 0;
	m->segments[1].p_vaddr = GO_TABLE - far;
	m->segments[1].p_filesz += far;
	CHECK_EQ(open_bytes(m, size + far), 0);
	check_functions();
}

#define RELAS_VADDR 0x90000

/* Data for the dynamic linker, after the rest of the image. */
struct relocations {
	Elf64_Dyn dynamic[3];
	Elf64_Rela relas[5];
};

/* Moves a word of struct moduledata from where it stands into a relocation. */
static void make_relative(Elf64_Rela *rela, size_t word)
{
	*rela = (Elf64_Rela){ .r_offset = GO_DATA + 8 * word,
			      .r_info = ELF64_R_INFO(0, R_X86_64_RELATIVE),
			      .r_addend = (int64_t)m->module[word] };
	m->module[word] = 0;
}

static void add_relocations(struct relocations *r, uint64_t offset)
{
	static const size_t words[] = { 0, 1, 20, 22, 40 };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		make_relative(&r->relas[i], words[i]);
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

	make(GO_IMAGE_1_26);
	grow(sizeof(r));
	add_relocations(&r, size);
	CHECK_EQ(open_image(), -ENOTSUP); /* without them: where is the text? */
	memcpy((char *)m + size, &r, sizeof(r));
	CHECK_EQ(open_bytes(m, size + sizeof(r)), 0);
	check_functions();
	check_frames();
}

/* The image's own segments and, behind it, as many more. */
static int open_with_segments(size_t n_more)
{
	size_t n;

	make(GO_IMAGE_1_26);
	n = m->header.e_phnum;
	grow((n + n_more) * sizeof(Elf64_Phdr));
	memcpy((char *)m + size, m->segments, n * sizeof(Elf64_Phdr));
	m->header.e_phoff = size;
	m->header.e_phnum = (Elf64_Half)(n + n_more);
	return open_bytes(m, size + (n + n_more) * sizeof(Elf64_Phdr));
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
	struct go_func f;

	m->header.e_machine = EM_AARCH64;
	m->table[6] = 4;
	CHECK_EQ(open_image(), 0);
	CHECK(gopclntab_func(&g, 0, &f));
	v = go_values_begin(&g, &f, f.frame_sizes);
	CHECK(go_values_next(&v) && v.start == GO_TEXT && v.end == GO_TEXT + 16);
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
		make(GO_IMAGE_1_20);
		m->table[changes[i].at] = changes[i].byte;
		CHECK_EQ(open_image(), -ENOTSUP);
	}
}

/* Everything that can be asked of a table, whatever is in it. */
static void use(const struct go_image *image, size_t n)
{
	struct go_frame frames[4];
	struct go_func f;

	if (open_bytes(image, n))
		return;
	for (size_t i = 0; i < g.n_funcs; i++)
		if (gopclntab_func(&g, i, &f)) {
			CHECK(f.start < f.end);
			gopclntab_name(&g, f.name);
			gopclntab_frames(&g, f.start + 20, frames, 4);
		}
}

TEST(survives_any_truncation)
{
	for (enum go_image_layout layout = 0; layout < GO_IMAGE_LAYOUTS; layout++) {
		struct go_table t = go_table_new(layout);

		for (size_t n = 0; n < t.size; n++) {
			struct go_image *cut;

			m = go_image_of(t.bytes, n, &size);
			go_image_add_module(m, t.names, 47, 40);
			cut = mem_realloc(NULL, size, 1); /* to the byte, for sanitizers */
			memcpy(cut, m, size);
			use(cut, size);
			gopclntab_close(&g);
			free(cut);
			free(m);
		}
	}
}

TEST(survives_any_byte)
{
	static const uint8_t values[] = { 0, 1, 0x7f, 0x80, 0xff };

	for (enum go_image_layout layout = 0; layout < GO_IMAGE_LAYOUTS; layout++) {
		make(layout);
		for (size_t at = offsetof(struct go_image, code); at < size; at++) {
			uint8_t *p = (uint8_t *)m + at, was = *p;

			for (size_t i = 0; i < sizeof(values); i++) {
				*p = values[i];
				use(m, size);
			}
			*p = was;
		}
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
				make(layout);
				memcpy(m->table + at, &sizes[i], 8);
				use(m, size);
			}
}

TEST(a_section_that_claims_2_gb_is_refused)
{
	m->sections[1].sh_size = 1ull << 31;
	CHECK_EQ(open_image(), -EFBIG);
	m->sections[1].sh_size = 1 << 20;
	CHECK_EQ(open_image(), -EINVAL);
}

static const struct {
	enum go_image_layout layout;
	const char *name, *written;
} names[] = {
	{ GO_IMAGE_1_20, "main.(*T).run", "main.(*T).run" },
	{ GO_IMAGE_1_20, "main.F[int;struct {}]", "main.F[...]" },
	{ GO_IMAGE_1_20, "main.(*T[go.shape.[2]int]).run", "main.(*T[...]).run" },
	{ GO_IMAGE_1_20, "main.F[...].func1", "main.F[...].func1" },
	{ GO_IMAGE_1_20, "main.F[]", "main.F[...]" },
	{ GO_IMAGE_1_20, "main.F]odd[", "main.F]odd[" },
	{ GO_IMAGE_1_20, "", "" },
	{ GO_IMAGE_1_16, "type..eq.[2]string", "type..eq.[2]string" },
};

TEST(type_arguments_are_left_out)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char text[128] = "";

		make(names[i].layout);
		CHECK_EQ(open_image(), 0);
		CHECK_EQ(gopclntab_write_name(&g, text, names[i].name, strlen(names[i].name)),
			 strlen(names[i].written));
		CHECK_STR(text, names[i].written);
	}
}

/* ---- as symbols and lines ---- */

TEST(names_are_symbols)
{
	struct elfsyms *es = elfsyms_load_image(m, size);
	uint64_t start = 0;

	CHECK(es);
	CHECK_STR(elfsyms_find(es, GO_TEXT + 63, &start), "main.(*T).run");
	CHECK_EQ(start, GO_TEXT);
	CHECK_STR(elfsyms_find_readable(es, GO_TEXT + 64), "main.F[...]");
	CHECK(!elfsyms_find(es, GO_TEXT + 128, NULL));
	elfsyms_free(es);
}

TEST(lines_need_no_dwarf)
{
	int fd = memory_file(m, size);
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
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Goroutines of a process that lies: its list and its goroutines are in this process's own memory.
 * Whatever they hold, nothing is shown, in bounded time. (dump_test has true ones.)
 */
#include "runtimes/go/goroutines.h"
#include "../go/image.h"
#include "base/peek.h"
#include "unit.h"

#define N_G 300

static uint64_t list[N_G], slice[3];
static uint8_t gs[N_G][512];
static struct go_program program;
static void *image;

static uint64_t address_of(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void set_word(size_t i, size_t at, uint64_t word)
{
	memcpy(gs[i] + at, &word, sizeof(word));
}

/* Goroutines that wait, each with a stack of its own: its struct g. */
BEFORE_EACH()
{
	size_t size;

	image = go_image_new(GO_IMAGE_1_20, &size);
	program = (struct go_program){ .pid = getpid(), .release = 24 };
	CHECK_EQ(elf64_open_image(&program.elf, image, size), 0);
	CHECK_EQ(gopclntab_open(&program.table, &program.elf), 0);
	program.variables[GO_ALLGS] = address_of(slice);
	program.functions[GO_GOEXIT] = (struct go_func){ .start = GO_TEXT, .end = GO_TEXT + 64 };
	program.functions[GO_FORCE_GC] = program.functions[GO_GOEXIT];
	memset(gs, 0, sizeof(gs));
	for (size_t i = 0; i < N_G; i++) {
		list[i] = address_of(gs[i]);
		set_word(i, 0, address_of(gs[i]));
		set_word(i, 8, address_of(gs[i] + sizeof(gs[i])));
		set_word(i, 56, address_of(gs[i] + 400));
		set_word(i, 64, GO_TEXT + 80);
		set_word(i, 72, address_of(gs[i]));
		set_word(i, 152, 4);
		set_word(i, 160, i + 1);
	}
	slice[0] = address_of(list);
	slice[1] = slice[2] = N_G;
}

AFTER_EACH()
{
	gopclntab_close(&program.table);
	free(image);
}

static void check_refused(const char *name)
{
	const char *why = NULL;
	struct go_goroutines *g = go_goroutines_open(&program, &why);

	if (g || !why)
		UNIT_FAIL("\"%s\" is believed", name);
	go_goroutines_free(g);
}

#ifdef __x86_64__
TEST(lists_that_lie_are_refused)
{
	static const struct {
		const char *name;
		uint64_t words[3];
	} cases[] = {
		{ "an endless list", { 0x1000, 1ULL << 60, 1ULL << 60 } },
		{ "longer than its memory", { 0x1000, 5, 4 } },
		{ "into nothing", { 0x1000, 5, 5 } },
		{ "into the kernel", { ~0xfffULL, 5, 5 } },
		{ "an empty list", { 0, 0, 0 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		memcpy(slice, cases[i].words, sizeof(slice));
		check_refused(cases[i].name);
	}
}

TEST(goroutines_that_lie_are_refused)
{
	static const struct {
		const char *name;
		size_t at;
		uint64_t word;
	} cases[] = {
		{ "no stack of theirs", 64, GO_TEXT + 80 },
		{ "a stack into nothing", 56, 0x1000 },
		{ "an endless stack", 8, ~7ULL },
		{ "a crooked stack", 56, 1 },
		{ "another goroutine's address", 72, 8 },
		{ "a function into nothing", 64, ~0ULL },
		{ "an unknown state", 152, 77 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t k = 0; k < N_G; k++)
			set_word(k, cases[i].at, cases[i].word);
		check_refused(cases[i].name);
	}
}

TEST(goroutines_in_nothing_are_refused)
{
	for (size_t i = 0; i < N_G; i++)
		list[i] = i % 2 ? 0x1000 : ~0ULL;
	check_refused("pointers into nothing");
}
#endif

TEST(unknown_release_is_refused)
{
	program.release = 28;
	check_refused("Go 1.28");
	program.release = 20;
	check_refused("Go 1.20");
}

TEST(pieces_are_read_but_those_that_are_not_there)
{
	static struct peek_piece pieces[1500];
	static uint64_t from[1500], to[1500];

	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		from[i] = i;
		pieces[i] = (struct peek_piece){ .addr = i % 7 ? address_of(&from[i]) : 0x1000,
						 .to = &to[i],
						 .size = sizeof(to[i]) };
	}
	peek_pieces(getpid(), pieces, ARRAY_SIZE(pieces));
	for (size_t i = 0; i < ARRAY_SIZE(pieces); i++) {
		CHECK_EQ(pieces[i].is_read, i % 7 != 0);
		CHECK_EQ(to[i], i % 7 ? i : 0);
	}
}

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

static void ignore(const struct go_goroutine *goroutine, void *arg)
{
	(void)goroutine;
	(void)arg;
}

static void check_refused(const char *name)
{
	const char *why = NULL;
	struct go_goroutines *g = go_goroutines_open(&program, &why);
	struct go_sweep sweep;

	if (g ? go_goroutines_sweep(g, UINT64_MAX / 2, SIZE_MAX, &sweep, ignore, NULL) != -EAGAIN
	      : !why)
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

#define N_FRAMES 5000

/* Gives a goroutine a stack of main.F's frames, which have no size; the last one is goexit's. */
static void give_stack(size_t i, uint64_t *words, size_t n)
{
	for (size_t k = 0; k < n; k++)
		words[k] = GO_TEXT + (k + 1 < n ? 80 : 8);
	set_word(i, 0, address_of(words));
	set_word(i, 8, address_of(words + n));
	set_word(i, 56, address_of(words));
	set_word(i, 304, GO_TEXT + 64);
	set_word(i, 184, 3);
}

TEST(deep_stacks_take_no_more_than_the_time)
{
	static const char *const texts[] = { "", "GC assist marking", "IO wait",
					     "force gc (idle)" };
	static uint64_t reasons[10], shallow[2], deep[N_FRAMES];
	struct go_image *m = image;
	const char *why = NULL;
	struct go_goroutines *g;
	struct go_sweep sweep;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		reasons[2 * i] = address_of(texts[i]);
		reasons[2 * i + 1] = strlen(texts[i]);
	}
	m->segments[3] = (Elf64_Phdr){ .p_type = PT_LOAD,
				       .p_flags = PF_R | PF_W,
				       .p_vaddr = address_of(reasons),
				       .p_filesz = sizeof(reasons) };
	program.elf.header.e_phnum = 4;
	program.functions[GO_FORCE_GC] =
		(struct go_func){ .start = GO_TEXT + 64, .end = GO_TEXT + 128 };
	give_stack(0, shallow, ARRAY_SIZE(shallow));
	for (size_t i = 1; i < N_G; i++)
		give_stack(i, deep, ARRAY_SIZE(deep));
	g = go_goroutines_open(&program, &why);
	CHECK(g);
	if (!g)
		return;
	CHECK_EQ(go_goroutines_sweep(g, 1000000, SIZE_MAX, &sweep, ignore, NULL), 0);
	CHECK(sweep.n + sweep.unseen == N_G && sweep.unseen > N_G - 256);
	CHECK_EQ(go_goroutines_sweep(g, UINT64_MAX / 2, SIZE_MAX, &sweep, ignore, NULL), 0);
	CHECK_EQ(sweep.with_stack, N_G);
	go_goroutines_free(g);
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

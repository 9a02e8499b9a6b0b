// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames before 3.11 among the calls of the function that runs them, walked in this process's own
 * memory: they are placed if calls and frames agree, and not at all if they don't. What BPF does
 * for them is the same (bpf/runtimes/python_marks.bpf.h).
 */
#include "runtimes/python_layout.h"
#include "runtimes/python_remote.h"
#include "unit.h"

#define N_FRAMES   4
#define PART_WORDS 40 /* of the stack, of each native frame */
#define MARK	   10 /* words below the part's end */
#define EVAL	   0x1000
#define OTHER	   0x9000

/* Addresses are what counts here, so all of it stays where it is. */
static struct world {
	uint64_t state[40];
	uint64_t own[2]; /* where its thread pointer is, and its state's pointer behind it */
	uint64_t frames[N_FRAMES][64];
	uint64_t codes[N_FRAMES][PYTHON_CODE_BYTES / 8];
	uint64_t name[10], empty[5];
	uint64_t stack[16][PART_WORDS];
	uint64_t words[64], sps[16];
	struct python_thread thread;
} world;

static uint64_t address(const void *at)
{
	return (uintptr_t)at;
}

static void make_str(uint64_t *str)
{
	str[PYTHON_STR_LENGTH / 8] = 1;
	str[PYTHON_STR_HASH / 8 + 1] = PYTHON_STR_ASCII | 1 << 2;
	memcpy(str + 6, "f", 2);
}

static void make_code(struct world *w, size_t i)
{
	uint64_t *code = w->codes[i];

	code[PYTHON_TYPE / 8] = 0x7777;
	code[PYTHON_CODE_LINE / 8] = 10 + i;
	code[w->thread.layout.code_file / 8] = address(w->name);
	code[w->thread.layout.code_name / 8] = address(w->name);
	code[w->thread.layout.code_lines / 8] = address(w->empty);
}

static void count_definition(const struct python_def *def, size_t size, void *arg)
{
	(void)size;
	CHECK(!memcmp(def->name, "f", 1));
	++*(unsigned int *)arg;
}

/* Frame 0 is the innermost one. */
static void make_frames(struct world *w)
{
	const struct python_layout *l = &w->thread.layout;

	for (size_t i = 0; i < N_FRAMES; i++) {
		make_code(w, i);
		w->frames[i][l->frame_code / 8] = address(w->codes[i]);
		w->frames[i][l->frame_previous / 8] =
			i + 1 < N_FRAMES ? address(w->frames[i + 1]) : 0;
		w->frames[i][l->frame_instr / 8] = 6 + 2 * i;
	}
	w->state[l->thread_id / 8] = address(w->own);
	w->state[l->top / 8] = address(w->frames[0]);
	w->own[1] = address(w->state);
}

/* A native frame for each character: "e" is the evaluating function. */
static void make_natives(struct world *w, const char *natives)
{
	size_t n = strlen(natives);

	for (size_t i = 0; i < n; i++) {
		w->words[i] = natives[i] == 'e' ? EVAL + 16 : OTHER;
		w->sps[i] = address(w->stack[i]);
	}
	w->thread.n_native = n;
}

static void mark(struct world *w, size_t native, size_t frame)
{
	w->stack[native][PART_WORDS - MARK] =
		address(w->frames[frame]) + w->thread.layout.frame_locals;
}

static struct world *make_world(const char *natives, unsigned int *n_definitions)
{
	struct world *w = &world;
	struct python_file python = { .version = 0x03090000 };

	memset(w, 0, sizeof(*w));
	CHECK(!python_layout_find(&python, NULL, 0));
	w->thread = (struct python_thread){ .tid = getpid(),
					    .base = address(w->own),
					    .layout = python.layout,
					    .is_complete = true,
					    .sps = w->sps,
					    .definer = { count_definition, n_definitions } };
	w->thread.layout.state_offset = sizeof(*w->own);
	w->thread.layout.code_type = 0x7777;
	w->thread.layout.eval_begin = EVAL;
	w->thread.layout.eval_bytes = 0x100;
	make_str(w->name);
	make_frames(w);
	make_natives(w, natives);
	return w;
}

static size_t walk(struct world *w)
{
	bool is_cut;

	return python_walk_remote(&w->thread, w->words, sizeof(w->words) / sizeof(*w->words),
				  &is_cut);
}

/* The frames' native ones, by index, as text. */
static const char *places(struct world *w)
{
	static char text[64];
	size_t n = walk(w), at = w->thread.n_native;

	*text = '\0';
	for (; at + 1 < n; at += 2) {
		CHECK(python_is_segment(w->words[at]));
		CHECK(!python_is_segment(w->words[at + 1]));
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u ",
			 python_segment_frame(w->words[at]));
	}
	return text;
}

TEST(each_frame_is_at_the_call_that_runs_it)
{
	unsigned int n_definitions = 0;
	struct world *w = make_world("oeoeeooeo", &n_definitions);

	mark(w, 1, 0);
	mark(w, 3, 1);
	mark(w, 4, 2);
	mark(w, 7, 3);
	CHECK(!strcmp(places(w), "1 3 4 7 "));
	CHECK(n_definitions >= N_FRAMES);
	w->thread.layout.mark_distance = MARK * 8;
	CHECK(!strcmp(places(w), "1 3 4 7 "));
	w->thread.layout.mark_distance = (MARK + 1) * 8;
	CHECK(!strcmp(places(w), ""));
}

TEST(each_frames_instruction_is_taken)
{
	unsigned int n_definitions = 0;
	struct world *w = make_world("eeeeo", &n_definitions);

	for (size_t i = 0; i < N_FRAMES; i++)
		mark(w, i, i);
	w->thread.lines = true;
	CHECK_EQ(walk(w), 5 + 3 * N_FRAMES);
	CHECK_EQ(w->words[5 + 2], 3); /* 3.9 counts bytes */
	CHECK_EQ(w->words[5 + 3 * 3 + 2], 6);
}

/* It has not entered its frame yet, or taken it out already. */
TEST(the_innermost_call_may_run_no_frame)
{
	unsigned int n_definitions = 0;
	struct world *w = make_world("eeoeeeo", &n_definitions);

	for (size_t i = 0; i < N_FRAMES; i++)
		mark(w, (size_t[]){ 1, 3, 4, 5 }[i], i);
	CHECK(!strcmp(places(w), "1 3 4 5 "));
	mark(w, 0, 0); /* left from an earlier call, whose frame is its caller's now */
	CHECK(!strcmp(places(w), "1 3 4 5 "));
}

TEST(one_frame_is_at_its_call_and_not_at_a_later_one)
{
	unsigned int n_definitions = 0;
	struct world *w = make_world("eeo", &n_definitions);

	w->frames[0][w->thread.layout.frame_previous / 8] = 0;
	mark(w, 0, 0);
	mark(w, 1, 0);
	CHECK(!strcmp(places(w), "1 "));
	mark(w, 1, 1);
	CHECK(!strcmp(places(w), ""));
	make_natives(w, "eoo");
	CHECK(!strcmp(places(w), "0 "));
	w->thread.is_complete = false;
	CHECK(!strcmp(places(w), ""));
}

TEST(calls_and_frames_that_do_not_agree_are_left_alone)
{
	unsigned int n_definitions = 0;
	struct world *w = make_world("eoeeo", &n_definitions);

	mark(w, 0, 0);
	mark(w, 2, 1);
	mark(w, 3, 2);
	CHECK(!strcmp(places(w), "")); /* a frame more than calls */
	w->frames[2][w->thread.layout.frame_previous / 8] = 0;
	CHECK(!strcmp(places(w), "0 2 3 "));
	mark(w, 2, 3);
	CHECK(!strcmp(places(w), "")); /* a call runs another frame */
	mark(w, 2, 1);
	w->codes[1][PYTHON_TYPE / 8]++;
	CHECK(!strcmp(places(w), "")); /* no code object */
}

/* Then what was found is right, but not all of it: as where a library changes stacks. */
TEST(frames_or_native_ones_may_end_before)
{
	unsigned int n_definitions = 0;
	struct world *w = make_world("eoeeo", &n_definitions);

	mark(w, 0, 0);
	mark(w, 2, 1);
	mark(w, 3, 2);
	w->thread.is_complete = false;
	CHECK(!strcmp(places(w), "0 2 3 "));
	w->thread.is_complete = true;
	w->frames[1][w->thread.layout.frame_previous / 8] = 0;
	CHECK(!strcmp(places(w), "0 2 "));
}

TEST(a_circle_of_frames_ends)
{
	unsigned int n_definitions = 0;
	struct world *w = make_world("eeeeeo", &n_definitions);

	w->frames[1][w->thread.layout.frame_previous / 8] = address(w->frames[0]);
	for (size_t i = 0; i < 5; i++)
		mark(w, i, i % 2);
	CHECK(!strcmp(places(w), ""));
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames before 3.11 among the calls of the function that runs them, walked in this process's own
 * memory: they are placed if calls and frames agree, and not at all if they don't. What BPF does
 * for them is the same (bpf/runtimes/python_marks.bpf.h).
 */
#include "runtimes/python/layout.h"
#include "runtimes/python/walk.h"
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
	struct runtime_thread thread;
} world, *const w = &world;

static unsigned int n_definitions;

static void make_str(uint64_t *str)
{
	str[PYTHON_STR_LENGTH / 8] = 1;
	str[PYTHON_STR_HASH / 8 + 1] = PYTHON_STR_ASCII | 1 << 2;
	memcpy(str + 6, "f", 2);
}

static void make_code(size_t i)
{
	uint64_t *code = w->codes[i];

	code[PYTHON_TYPE / 8] = 0x7777;
	code[PYTHON_CODE_LINE / 8] = 10 + i;
	code[w->thread.process.python.code_file / 8] = address_of(w->name);
	code[w->thread.process.python.code_name / 8] = address_of(w->name);
	code[w->thread.process.python.code_lines / 8] = address_of(w->empty);
}

static void count_definition(const struct runtime_def *def, size_t size, void *arg)
{
	(void)size;
	CHECK(!memcmp(((const struct python_def *)def)->name, "f", 1));
	(void)arg;
	n_definitions++;
}

/* Frame 0 is the innermost one. */
static void make_frames(void)
{
	const struct python_layout *l = &w->thread.process.python;

	for (size_t i = 0; i < N_FRAMES; i++) {
		make_code(i);
		w->frames[i][l->frame_code / 8] = address_of(w->codes[i]);
		w->frames[i][l->frame_previous / 8] =
			i + 1 < N_FRAMES ? address_of(w->frames[i + 1]) : 0;
		w->frames[i][l->frame_instr / 8] = 6 + 2 * i;
	}
	w->state[l->thread_id / 8] = address_of(w->own);
	w->state[l->top / 8] = address_of(w->frames[0]);
	w->own[1] = address_of(w->state);
}

/* A native frame for each character: "e" is the evaluating function. */
static void make_natives(const char *natives)
{
	size_t n = strlen(natives);

	for (size_t i = 0; i < n; i++) {
		w->words[i] = natives[i] == 'e' ? EVAL + 16 : OTHER;
		w->sps[i] = address_of(w->stack[i]);
	}
	w->thread.n_native = n;
}

static void mark(size_t native, size_t frame)
{
	w->stack[native][PART_WORDS - MARK] =
		address_of(w->frames[frame]) + w->thread.process.python.frame_locals;
}

static void make_world(const char *natives)
{
	struct python_file python = { .version = 0x03090000 };

	memset(w, 0, sizeof(*w));
	CHECK(!python_layout_find(&python, NULL, 0));
	w->thread = (struct runtime_thread){ .tid = getpid(),
					     .base = address_of(w->own),
					     .process.python = python.layout,
					     .is_complete = true,
					     .sps = w->sps,
					     .definer = { count_definition } };
	w->thread.process.python.state_offset = sizeof(*w->own);
	w->thread.process.python.code_type = 0x7777;
	w->thread.process.python.eval_begin = EVAL;
	w->thread.process.python.eval_bytes = 0x100;
	make_str(w->name);
	make_frames();
	make_natives(natives);
	n_definitions = 0;
}

static size_t walk(void)
{
	bool is_cut;

	return python_walk_remote(&w->thread, w->words, sizeof(w->words) / sizeof(*w->words),
				  &is_cut);
}

/* The frames' native ones, by index, as text. */
static const char *places(void)
{
	static char text[64];
	size_t n = walk(), at = w->thread.n_native;

	*text = '\0';
	for (; at + 1 < n; at += 2) {
		CHECK(runtime_is_segment(w->words[at]));
		CHECK(!runtime_is_segment(w->words[at + 1]));
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u ",
			 runtime_segment_frame(w->words[at]));
	}
	return text;
}

TEST(each_frame_is_at_the_call_that_runs_it)
{
	make_world("oeoeeooeo");
	mark(1, 0);
	mark(3, 1);
	mark(4, 2);
	mark(7, 3);
	CHECK_STR(places(), "1 3 4 7 ");
	CHECK(n_definitions >= N_FRAMES);
	w->thread.process.python.mark_distance = MARK * 8;
	CHECK_STR(places(), "1 3 4 7 ");
	w->thread.process.python.mark_distance = (MARK + 1) * 8;
	CHECK_STR(places(), "");
}

TEST(each_frames_instruction_is_taken)
{
	make_world("eeeeo");
	for (size_t i = 0; i < N_FRAMES; i++)
		mark(i, i);
	w->thread.lines = true;
	CHECK_EQ(walk(), 5 + 3 * N_FRAMES);
	CHECK_EQ(w->words[5 + 2], 3); /* 3.9 counts bytes */
	CHECK_EQ(w->words[5 + 3 * 3 + 2], 6);
}

/* It has not entered its frame yet, or taken it out already. */
TEST(the_innermost_call_may_run_no_frame)
{
	make_world("eeoeeeo");
	for (size_t i = 0; i < N_FRAMES; i++)
		mark((size_t[]){ 1, 3, 4, 5 }[i], i);
	CHECK_STR(places(), "1 3 4 5 ");
	mark(0, 0); /* left from an earlier call, whose frame is its caller's now */
	CHECK_STR(places(), "1 3 4 5 ");
}

TEST(one_frame_is_at_its_call_and_not_at_a_later_one)
{
	make_world("eeo");
	w->frames[0][w->thread.process.python.frame_previous / 8] = 0;
	mark(0, 0);
	mark(1, 0);
	CHECK_STR(places(), "1 ");
	mark(1, 1);
	CHECK_STR(places(), "");
	make_natives("eoo");
	CHECK_STR(places(), "0 ");
	w->thread.is_complete = false;
	CHECK_STR(places(), "");
}

TEST(calls_and_frames_that_do_not_agree_are_left_alone)
{
	make_world("eoeeo");
	mark(0, 0);
	mark(2, 1);
	mark(3, 2);
	CHECK_STR(places(), ""); /* a frame more than calls */
	w->frames[2][w->thread.process.python.frame_previous / 8] = 0;
	CHECK_STR(places(), "0 2 3 ");
	mark(2, 3);
	CHECK_STR(places(), ""); /* a call runs another frame */
	mark(2, 1);
	w->codes[1][PYTHON_TYPE / 8]++;
	CHECK_STR(places(), ""); /* no code object */
}

/* Then what was found is right, but not all of it: as where a library changes stacks. */
TEST(frames_or_native_ones_may_end_before)
{
	make_world("eoeeo");
	mark(0, 0);
	mark(2, 1);
	mark(3, 2);
	w->thread.is_complete = false;
	CHECK_STR(places(), "0 2 3 ");
	w->thread.is_complete = true;
	w->frames[1][w->thread.process.python.frame_previous / 8] = 0;
	CHECK_STR(places(), "0 2 ");
}

TEST(a_circle_of_frames_ends)
{
	make_world("eeeeeo");
	w->frames[1][w->thread.process.python.frame_previous / 8] = address_of(w->frames[0]);
	for (size_t i = 0; i < 5; i++)
		mark(i, i % 2);
	CHECK_STR(places(), "");
}

static void check_cut(const struct runtime_def *defined, size_t size, void *arg)
{
	const struct python_def *def = (const struct python_def *)defined;

	(void)size;
	(void)arg;
	CHECK(def->name_text.length > PYTHON_NAME_BYTES);
	CHECK_EQ(def->name[PYTHON_NAME_BYTES - 2], 'f');
	CHECK_EQ(def->name[PYTHON_NAME_BYTES - 1], 0);
	CHECK_EQ(def->file[0], 0);
	n_definitions++;
}

TEST(a_long_name_is_cut)
{
	uint64_t name[6 + PYTHON_NAME_BYTES / 4] = { 0 };

	make_world("eeo");
	make_str(name);
	name[PYTHON_STR_LENGTH / 8] = 2 * PYTHON_NAME_BYTES;
	memset(name + 6, 'f', 2 * PYTHON_NAME_BYTES);
	w->codes[0][w->thread.process.python.code_name / 8] = address_of(name);
	w->codes[0][w->thread.process.python.code_file / 8] = 0;
	w->frames[0][w->thread.process.python.frame_previous / 8] = 0;
	w->thread.definer.define = check_cut;
	mark(1, 0);
	CHECK_STR(places(), "1 ");
	CHECK(n_definitions > 0);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames of 3.12 in segments, walked in this process's own memory: where a segment's mark lies
 * among the native frames, what of it there is room for, and what a function's file is called.
 */
#include "runtimes/python/layout.h"
#include "runtimes/python/walk.h"
#include "unit.h"

#define N_NATIVE    5
#define N_FRAMES    6000
#define PART_WORDS  16 /* of the stack, of each native frame */
#define FRAME_WORDS (PYTHON_FRAME_BYTES / 8)
#define NATIVE	    0x9000
#define MAX_WORDS   1024
#define FILE_BYTES  512

/* Addresses are what counts here, so all of it stays where it is. */
static struct world {
	uint64_t state[40], cframe[2], second[40], second_cframe[2];
	uint64_t runtime[8], main[16], newer[16]; /* interpreters */
	uint64_t own[2]; /* where its thread pointer is, and its state's pointer behind it */
	uint64_t frames[N_FRAMES][FRAME_WORDS];
	uint64_t code[PYTHON_CODE_BYTES / 8], name[10];
	uint64_t file[5 + FILE_BYTES / 8], empty[5];
	uint64_t stack[N_NATIVE][PART_WORDS];
	uint64_t words[MAX_WORDS], sps[N_NATIVE];
	struct runtime_thread thread;
	struct python_def def; /* the last one */
	uint64_t *last;	       /* of the frames that there are */
	size_t n_frames;
	bool is_cut;
} world, *const w = &world;

static void make_str(uint64_t *str, const char *text)
{
	str[PYTHON_STR_LENGTH / 8] = strlen(text);
	str[PYTHON_STR_HASH / 8 + 1] = PYTHON_STR_ASCII | 1 << 2;
	memcpy(str + 5, text, strlen(text));
}

static void keep_definition(const struct runtime_def *def, size_t size, void *arg)
{
	(void)arg;
	memcpy(&w->def, def, size);
}

static void make_code(void)
{
	const struct python_layout *l = &w->thread.process.python;

	make_str(w->name, "f");
	make_str(w->file, "f.py");
	w->code[PYTHON_TYPE / 8] = 0x7777;
	w->code[l->code_first_line / 8] = 10ULL << 32;
	w->code[l->code_file / 8] = address_of(w->file);
	w->code[l->code_name / 8] = address_of(w->name);
	w->code[l->code_lines / 8] = address_of(w->empty);
}

static void make_world(void)
{
	struct python_file python = { .version = 0x030c0000 };

	memset(w, 0, sizeof(*w));
	CHECK(!python_layout_find(&python, NULL, 0));
	w->thread = (struct runtime_thread){ .tid = getpid(),
					     .base = address_of(w->own),
					     .process.python = python.layout,
					     .is_complete = true,
					     .sps = w->sps,
					     .n_native = N_NATIVE,
					     .definer = { keep_definition } };
	w->thread.process.python.state_offset = sizeof(*w->own);
	w->thread.process.python.code_type = 0x7777;
	make_code();
	for (size_t i = 0; i < N_NATIVE; i++) {
		w->words[i] = NATIVE;
		w->sps[i] = address_of(w->stack[i]);
	}
	w->state[w->thread.process.python.thread_id / 8] = address_of(w->own);
	w->state[w->thread.process.python.top / 8] = address_of(w->cframe);
	w->own[1] = address_of(w->state);
	w->thread.process.python.runtime = address_of(w->runtime);
	w->runtime[w->thread.process.python.lists.interpreters / 8] = address_of(w->main);
	w->runtime[w->thread.process.python.lists.interpreters / 8 + 1] = address_of(w->main);
	w->main[w->thread.process.python.lists.threads / 8] = address_of(w->state);
	w->last = &w->cframe[w->thread.process.python.cframe_frame / 8] -
		  w->thread.process.python.frame_previous / 8;
}

static void add_frame(uint64_t *frame)
{
	w->last[w->thread.process.python.frame_previous / 8] = address_of(frame);
	w->last = frame;
}

/* A segment of so many frames, whose mark is in that native frame's part of the stack. */
static void add_segment(size_t n, size_t native)
{
	uint64_t *entry = &w->stack[native][2];

	for (size_t i = 0; i < n; i++) {
		uint64_t *frame = w->frames[w->n_frames++];

		frame[w->thread.process.python.frame_code / 8] = address_of(w->code);
		frame[w->thread.process.python.frame_instr / 8] =
			address_of(w->code) + w->thread.process.python.code_adaptive +
			2 * (w->n_frames - 1);
		add_frame(frame);
	}
	((uint8_t *)entry)[w->thread.process.python.frame_owner] =
		w->thread.process.python.entry_owner;
	add_frame(entry);
}

/* "1:3 4:2 ": a segment of three words at native frame 1, and one of two. */
static const char *walk(size_t max)
{
	static char text[128];
	size_t n = python_walk_remote(&w->thread, w->words, max, &w->is_cut), at, first;

	*text = '\0';
	CHECK(n <= max);
	at = w->thread.n_native;
	while (at < n) {
		uint32_t native = runtime_segment_frame(w->words[at]);

		CHECK(runtime_is_segment(w->words[at]));
		for (first = ++at; at < n && !runtime_is_segment(w->words[at]);)
			at++;
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u:%zu ", native,
			 at - first);
	}
	return text;
}

TEST(a_segment_is_at_the_native_frame_of_its_mark)
{
	make_world();
	add_segment(3, 1);
	add_segment(2, 3);
	CHECK_STR(walk(MAX_WORDS), "1:3 3:2 ");
	CHECK(!w->is_cut);
	w->thread.lines = true;
	CHECK_STR(walk(MAX_WORDS), "1:6 3:4 ");
}

/* The thread has a second state, whose segments are added from here on. */
static void enter_second(void)
{
	const struct python_layout *l = &w->thread.process.python;

	w->runtime[l->lists.interpreters / 8] = address_of(w->newer);
	w->newer[l->lists.older / 8] = address_of(w->main);
	w->newer[l->lists.threads / 8] = address_of(w->second);
	w->second[l->thread_id / 8] = address_of(w->own);
	w->second[l->top / 8] = address_of(w->second_cframe);
	w->last = &w->second_cframe[l->cframe_frame / 8] - l->frame_previous / 8;
}

TEST(segments_of_all_interpreters_are_there)
{
	make_world();
	add_segment(3, 2);
	add_segment(1, 3);
	enter_second();
	add_segment(2, 1);
	CHECK(!strcmp(walk(MAX_WORDS), "2:3 3:1 1:2 "));
	w->second[w->thread.process.python.thread_id / 8]++; /* another thread's */
	CHECK(!strcmp(walk(MAX_WORDS), "2:3 3:1 "));
	w->own[1] = address_of(w->second); /* and that one runs, as 3.12 may have it */
	CHECK(!strcmp(walk(MAX_WORDS), "2:3 3:1 "));
}

/* Beyond the last native frame, nothing says which of two states has the inner ones. */
TEST(segments_without_native_frames_are_of_one_interpreter)
{
	make_world();
	add_segment(3, 0);
	add_segment(1, 3);
	enter_second();
	add_segment(2, 1);
	add_segment(2, 4);
	w->thread.n_native = 3;
	CHECK(!strcmp(walk(MAX_WORDS), "0:3 3:1 1:2 "));
}

/* Interpreters and states may be a circle. */
TEST(lists_of_interpreters_end)
{
	make_world();
	add_segment(3, 1);
	enter_second();
	add_segment(2, 3);
	w->newer[w->thread.process.python.lists.older / 8] = address_of(w->newer);
	CHECK(walk(MAX_WORDS));
	w->second[w->thread.process.python.lists.next / 8] = address_of(w->second);
	CHECK(walk(MAX_WORDS));
}

TEST(a_segment_without_room_keeps_its_innermost_frames)
{
	make_world();
	add_segment(600, 1);
	add_segment(2, 3);
	CHECK_STR(walk(N_NATIVE + 1 + 600), "1:600 ");
	CHECK(w->is_cut);
	CHECK_STR(walk(N_NATIVE + 1 + 599), "1:599 ");
	CHECK(w->is_cut);
	w->thread.lines = true;
	CHECK_STR(walk(N_NATIVE + 1 + 600), "1:600 ");
	CHECK_EQ(w->words[N_NATIVE + 600], 299); /* each frame has its instruction */
	CHECK_STR(walk(N_NATIVE + 1 + 599), "1:598 ");
	CHECK(w->is_cut);
}

TEST(a_segment_without_any_room_is_left_out)
{
	make_world();
	add_segment(3, 1);
	add_segment(2, 3);
	for (size_t n = 0; n < 2; n++) {
		CHECK_STR(walk(N_NATIVE + 1 + 3 + n), "1:3 ");
		CHECK(w->is_cut);
	}
	CHECK_STR(walk(N_NATIVE + 1 + 3 + 2), "1:3 3:1 ");
	CHECK(w->is_cut);
	CHECK_STR(walk(N_NATIVE + 1 + 3 + 1 + 2), "1:3 3:2 ");
	CHECK(!w->is_cut);
}

TEST(a_segment_whose_end_is_far_away_is_left_out)
{
	make_world();
	add_segment(4000, 1);
	CHECK_STR(walk(MAX_WORDS), "1:1018 ");
	make_world();
	add_segment(N_FRAMES, 1);
	CHECK_STR(walk(MAX_WORDS), "");
	CHECK(w->is_cut);
}

TEST(of_a_long_path_the_end_is_kept)
{
	static const size_t lengths[] = { 20, 251, 252, 253, 254, 255, 256, 257, 258, 259, 400 };
	static const char end[] = "/handlers.py";
	char path[FILE_BYTES];

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		size_t n = lengths[i] < PYTHON_FILE_END_BYTES ? lengths[i] : PYTHON_FILE_END_BYTES;

		make_world();
		memset(path, 'x', lengths[i]);
		memcpy(path + lengths[i] - strlen(end), end, sizeof(end));
		make_str(w->file, path);
		add_segment(1, 1);
		CHECK_STR(walk(MAX_WORDS), "1:1 ");
		CHECK(w->def.has_file);
		CHECK_EQ(w->def.file_text.length, lengths[i]);
		if (memcmp(w->def.file, path + lengths[i] - n, n))
			UNIT_FAIL("of %zu characters: %.252s", lengths[i], w->def.file);
	}
}

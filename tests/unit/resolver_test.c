// SPDX-License-Identifier: GPL-2.0-only
/*
 * Definitions of stacks: shared by processes that run the same code, let go when these have ended.
 */
#include <malloc.h>

#include "abi/runtimes.h"
#include "abi/unwind_layout.h"
#include "base/epoch.h"
#include "child.h"
#include "runtimes/runtimes.h"
#include "stacks/resolver.h"
#include "unit.h"

__attribute__((noinline)) static void leaf(void)
{
	__asm__ volatile("");
}

static struct processes *processes;
static struct resolver *resolver;
static pid_t child;
static uint64_t forgotten; /* the ids, as digits */

BEFORE_EACH()
{
	processes = processes_new(&(struct processes_options){ .max_mappings = 1 << 16 });
	resolver = resolver_new(processes, NULL);
	child = start_child();
	forgotten = 0;
}

AFTER_EACH()
{
	end_child(child);
	resolver_free(resolver);
	processes_free(processes);
}

static void begin_by_window(void)
{
	resolver_free(resolver);
	resolver = resolver_new(processes, &(struct resolver_options){ .by_window = true });
}

static void define_words(uint64_t id, pid_t pid, const uint64_t *words, size_t n_words)
{
	struct stack_def def = { .id = id,
				 .kind = STACK_USER,
				 .tgid = (uint32_t)pid,
				 .generation = 1,
				 .n_words = (uint16_t)n_words,
				 .reason = UNWIND_COMPLETE };

	memcpy(def.words, words, n_words * sizeof(*words));
	resolver_add(resolver, &def, sizeof(def));
}

static void define(uint64_t id, pid_t pid, uint64_t addr)
{
	define_words(id, pid, &addr, 1);
}

/* Each has another address. */
static void define_kernel(uint64_t id)
{
	struct stack_def def = { .id = id, .kind = STACK_KERNEL, .n_words = 1 };

	def.words[0] = UINT64_MAX - 8 * id;
	resolver_add(resolver, &def, sizeof(def));
}

/* A waker, with the id of the stack that it has itself. */
static void define_waker(uint64_t id, pid_t pid, uint64_t stack_id)
{
	struct stack_def waker = {
		.id = id, .kind = STACK_WAKER, .tgid = (uint32_t)pid, .n_words = 4
	};

	waker.words[0] = stack_id;
	resolver_add(resolver, &waker, sizeof(waker));
}

static const char *name_of(uint64_t id)
{
	size_t n;
	const struct frame *const *frames = resolver_frames(resolver, id, &n);

	return n ? frames[0]->name : "";
}

static void count_forgotten(uint64_t id, void *arg)
{
	(void)arg;
	forgotten = forgotten * 10 + id;
}

static uint64_t after_epoch(void)
{
	static uint64_t now_ns;

	return now_ns = (now_ns ? now_ns : clock_now_ns()) + EPOCH_NS;
}

/* Each report is an epoch after the one before. */
static void end_report(void)
{
	resolver_end_report(resolver, after_epoch());
}

static void end_turns(int n)
{
	while (n-- > 0)
		resolver_drained(resolver, false, count_forgotten, NULL);
}

TEST(processes_that_run_the_same_code_have_one_trace)
{
	define(3, getpid(), (uintptr_t)leaf);
	define(5, child, (uintptr_t)leaf);
	define(7, child, (uintptr_t)getpid);
	CHECK_EQ(resolver_fold(resolver, 3), resolver_fold(resolver, 5));
	CHECK(resolver_fold(resolver, 3) != resolver_fold(resolver, 7));
	CHECK_EQ(resolver_fold(resolver, 9), 9); /* not known */
	CHECK_STR(name_of(5), "leaf");
	CHECK_STR(name_of(resolver_fold(resolver, 5)), "leaf");
	CHECK_EQ(resolver_about(resolver, resolver_fold(resolver, 5)).reason, UNWIND_COMPLETE);
}

TEST(what_an_ended_process_had_is_let_go_but_not_what_was_folded)
{
	pid_t gone = start_child();
	uint64_t folded;

	define(3, gone, (uintptr_t)leaf);
	define(5, getpid(), (uintptr_t)getpid);
	end_child(gone);
	resolver_process_ended(resolver, gone);
	end_turns(1);
	folded = resolver_fold(resolver, 3); /* what was counted late */
	CHECK_EQ(forgotten, 0);
	end_turns(1);
	CHECK_EQ(forgotten, 3);
	CHECK_STR(name_of(3), "");
	CHECK_STR(name_of(folded), "leaf");
	end_report();
	CHECK_STR(name_of(folded), "");
	CHECK(*name_of(5)); /* its process lives */
}

/* However much time passes before the report. */
TEST(what_was_folded_is_there_until_the_report_ends)
{
	uint64_t folded;

	define(3, child, (uintptr_t)leaf);
	folded = resolver_fold(resolver, 3);
	resolver_process_ended(resolver, child);
	end_turns(2);
	for (int i = 0; i < 4; i++)
		resolver_tick(resolver, after_epoch());
	CHECK_STR(name_of(folded), "leaf");
	end_report();
	CHECK_STR(name_of(folded), "");
}

TEST(a_waker_is_folded_with_its_stack)
{
	define(3, getpid(), (uintptr_t)leaf);
	define(5, child, (uintptr_t)leaf);
	define_waker(11, getpid(), 3);
	define_waker(13, child, 5);
	CHECK_EQ(resolver_fold(resolver, 11), resolver_fold(resolver, 13));
	CHECK_EQ(resolver_about(resolver, 11).waker[0], 3);
	CHECK_STR(name_of(resolver_about(resolver, resolver_fold(resolver, 13)).waker[0]), "leaf");
}

static size_t heap_bytes(void)
{
	return mallinfo2().uordblks;
}

/* As only a broken record says; see tests/fuzz. */
TEST(a_waker_of_itself_has_no_stack)
{
	const uint64_t *words;

	define_waker(11, 0, 11);
	words = resolver_about(resolver, resolver_fold(resolver, 11)).waker;
	CHECK(words);
	CHECK_STR(name_of(words[0]), "");
}

/* One is counted all the time, one is sent again when it is about to go, one is not seen again. */
TEST(what_is_unused_is_let_go_of_a_living_process)
{
	for (uint64_t id = 1; id <= 3; id++)
		define(id, child, (uintptr_t)leaf);
	for (int i = 0; i < 6; i++) {
		CHECK_STR(name_of(1), "leaf");
		end_turns(1);
	}
	CHECK(forgotten == 23 || forgotten == 32);
	define(2, child, (uintptr_t)leaf);
	end_turns(3);
	CHECK_STR(name_of(1), "leaf");
	CHECK_STR(name_of(2), "leaf");
	CHECK_STR(name_of(3), "");
}

/* Turns before a report count nothing: what BPF keeps has not been counted by then. */
TEST(what_windows_leave_unused_is_let_go)
{
	begin_by_window();
	for (uint64_t id = 1; id <= 3; id++)
		define(id, child, (uintptr_t)leaf);
	end_turns(100);
	CHECK_EQ(forgotten, 0);
	for (int i = 0; i < 4; i++) {
		resolver_use(resolver, 1);
		if (i < 2)
			resolver_use(resolver, 2);
		resolver_drained(resolver, true, count_forgotten, NULL);
		CHECK_EQ(forgotten, i < 1 ? 0 : i < 2 ? 3 : 32);
	}
	CHECK_STR(name_of(1), "leaf");
	CHECK_STR(name_of(2), "leaf");
	CHECK_STR(name_of(3), "");
}

/* Whose name is kept with that of the stack that it has itself. */
TEST(a_waker_that_is_used_keeps_its_stack)
{
	begin_by_window();
	define(3, getpid(), (uintptr_t)leaf);
	define_waker(11, getpid(), 3);
	for (int i = 0; i < 10; i++) {
		resolver_use(resolver, 11);
		resolver_drained(resolver, true, count_forgotten, NULL);
	}
	CHECK_EQ(forgotten, 0);
	CHECK_STR(name_of(3), "leaf");
}

/* As those of a just-in-time compiler, whose addresses are ever new. */
TEST(a_million_stacks_of_one_process_take_no_more_than_some)
{
	size_t before = heap_bytes();

	for (uint64_t id = 1; id <= 1000000; id++) {
		define(id, child, (uintptr_t)leaf);
		if (id % 1000 == 0)
			end_turns(1);
	}
	CHECK(heap_bytes() < before + (4 << 20));
}

/* A sample's kernel stack ends where the kernel was just then. */
TEST(a_million_kernel_stacks_take_no_more_than_some)
{
	uint64_t folded = 0;
	size_t before = heap_bytes();

	for (uint64_t id = 1; id <= 1000000; id++) {
		define_kernel(id);
		if (id == 999000)
			folded = resolver_fold(resolver, id);
		if (id % 1000 == 0)
			end_turns(1);
		if (id % 5000 == 0)
			end_report();
	}
	CHECK(heap_bytes() < before + (8 << 20));
	end_turns(100);
	CHECK_STR(name_of(999000), "");
	CHECK(*name_of(folded)); /* its report comes yet */
}

TEST(retained_stacks_outlive_one_release)
{
	uint64_t kept, other, waker;

	define_kernel(3);
	define_kernel(5);
	define_waker(7, getpid(), 3);
	other = resolver_fold(resolver, 5);
	waker = resolver_fold(resolver, 7);
	kept = resolver_about(resolver, waker).waker[0];
	end_turns(100);
	resolver_retain(resolver, waker);
	resolver_release_stacks(resolver);
	CHECK(*name_of(kept));
	CHECK_STR(name_of(other), "");
	CHECK_EQ(resolver_about(resolver, waker).waker[0], kept);
	resolver_release_stacks(resolver);
	CHECK_STR(name_of(kept), "");
	CHECK(!resolver_about(resolver, waker).waker);
}

/* As with a file that is written at the end: it has the latest stacks. */
TEST(a_million_stacks_without_a_report_take_no_more_than_some)
{
	size_t before = heap_bytes();
	uint64_t folded = 0;

	for (uint64_t id = 1; id <= 1000000; id++) {
		define_kernel(id);
		folded = resolver_fold(resolver, id);
		if (id % 1000)
			continue;
		CHECK(*name_of(folded));
		end_turns(1);
		resolver_retain(resolver, folded);
		resolver_release_stacks(resolver);
	}
	CHECK(heap_bytes() < before + (8 << 20));
	end_turns(100);
	CHECK(*name_of(folded));
}

/* As with an interval of milliseconds: no stack is old yet. */
TEST(stacks_of_a_thousand_reports_in_a_second_take_no_more_than_some)
{
	uint64_t now_ns = clock_now_ns();
	size_t before = heap_bytes();

	for (uint64_t id = 1; id <= 100000; id++) {
		define_kernel(id);
		resolver_fold(resolver, id);
		if (id % 100)
			continue;
		resolver_drained(resolver, true, count_forgotten, NULL);
		resolver_end_report(resolver, now_ns);
	}
	CHECK(heap_bytes() < before + (8 << 20));
}

/* Each is a process's own for BPF; the memory for all of them must not be. */
TEST(a_hundred_thousand_processes_take_no_more_than_a_few)
{
	size_t before = heap_bytes();

	for (uint64_t i = 0; i < 100000; i++) {
		define(i * 2 + 1, child, (uintptr_t)leaf);
		resolver_process_ended(resolver, child);
		end_turns(1);
	}
	CHECK(heap_bytes() < before + (1 << 20));
}

/* A stack that is cut in a file of a long name that was not there before. */
static void define_cut(uint64_t id)
{
	char path[] = "/tmp/resolver-test-which-has-a-name-that-takes-some-room-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);
	struct stack_def def = { .id = id,
				 .kind = STACK_USER,
				 .tgid = (uint32_t)getpid(),
				 .generation = (uint32_t)id,
				 .n_words = 1,
				 .reason = UNWIND_NO_RULE };
	void *code;

	CHECK_EQ(ftruncate(fd, 4096), 0);
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	def.words[0] = (uintptr_t)code;
	resolver_add(resolver, &def, sizeof(def));
	CHECK_STR(resolver_about(resolver, id).flaw->file, strrchr(path, '/') + 1);
	munmap(code, 4096);
	close(fd);
	unlink(path);
}

TEST(names_of_files_that_stacks_are_cut_in_go_with_them)
{
	size_t before = 0;

	for (uint64_t id = 1; id <= 2000; id++) {
		define_cut(id);
		end_turns(8);
		end_report();
		if (id == 1000)
			before = heap_bytes();
	}
	CHECK(heap_bytes() < before + (32 << 10));
}

/* ---- Python ---- */

static uint64_t define_code(pid_t pid, uint64_t code)
{
	/* "fun", or "fu2" for code 2 */
	char last = code < 10 && code > 1 ? (char)('0' + code) : 'n';
	struct python_def def = { .def = { .word = runtime_word(code << 4, 0),
					   .kind = STACK_FUNCTION,
					   .tgid = (uint32_t)pid,
					   .runtime = RUNTIME_PYTHON },
				  .first_line = (uint32_t)code,
				  .name_text = { PYTHON_STR_ASCII | 1 << 2, 3 },
				  .name = { 'f', 'u', (uint8_t)last } };

	resolver_add_function(resolver, &def.def, offsetof(struct python_def, lines));
	return def.def.word;
}

/* The name of a function that the interpreter runs. */
static const char *name_in_stack(uint64_t id, pid_t pid, uint64_t word)
{
	const uint64_t words[] = { (uintptr_t)leaf, runtime_segment_word(0), word };

	define_words(id, pid, words, ARRAY_SIZE(words));
	return name_of(id);
}

TEST(an_ended_python_is_forgotten_whose_stacks_went_before)
{
	uint64_t word;

	word = define_code(child, 1);
	CHECK_STR(name_in_stack(1, child, word), "fun");
	end_turns(8);
	CHECK_STR(name_of(1), "");
	CHECK_STR(name_in_stack(2, child, word), "fun"); /* BPF doesn't send it again */
	end_turns(8);
	resolver_process_ended(resolver, child);
	end_turns(2);
	CHECK_STR(name_in_stack(3, child, word), "[unknown]");
}

/* A record's bytes are checked, also if the number of a known runtime is among their lower bits. */
TEST(functions_of_runtimes_that_are_not_known_have_no_name)
{
	for (uint32_t kind = RUNTIME_KINDS; kind < 3 * 32; kind++) {
		struct python_def def = { .def = { .word = runtime_word(kind << 4, 0),
						   .kind = STACK_FUNCTION,
						   .tgid = (uint32_t)child,
						   .runtime = kind },
					  .name_text = { PYTHON_STR_ASCII | 1 << 2, 3 },
					  .name = "fun" };

		resolver_add_function(resolver, &def.def, offsetof(struct python_def, lines));
		CHECK_STR(name_in_stack(kind, child, def.def.word), "[unknown]");
	}
}

/* As one that compiles templates, or makes functions by exec(). */
TEST(a_million_functions_of_one_python_take_no_more_than_some)
{
	uint64_t word = define_code(child, 1);
	size_t before = heap_bytes();

	for (uint64_t code = 2; code <= 1000000; code++) {
		define_code(child, code);
		if (code % 50000)
			continue;
		CHECK_STR(name_in_stack(code, child, word), "fun");
		end_turns(1);
	}
	CHECK(heap_bytes() < before + (40 << 20));
	CHECK_STR(name_in_stack(1, child, runtime_word(2 << 4, 0)), "[unknown]");
	CHECK_STR(name_in_stack(2, child, runtime_word(1000000 << 4, 0)), "fun");
}

/* ---- another runtime ---- */

static struct runtime_instance *find_instance(pid_t pid, void *arg)
{
	(void)pid;
	return arg;
}

/* Begins with a runtime's instance, and a function "fun" of JavaScript. Returns its word. */
static uint64_t begin_with_function(struct runtime_instance *instance)
{
	const struct resolver_options options = { .find_runtime = find_instance, .arg = instance };
	struct v8_def def = { .def = { .word = runtime_word(1 << 4, 0),
				       .kind = STACK_FUNCTION,
				       .tgid = (uint32_t)child,
				       .runtime = RUNTIME_V8 },
			      .name_text = { .length = 3, .n_copied = 3 },
			      .name = "fun" };

	resolver_free(resolver);
	resolver = resolver_new(processes, &options);
	resolver_add_function(resolver, &def.def, sizeof(def));
	return def.def.word;
}

TEST(functions_of_an_earlier_program_are_not_looked_up_in_a_later_one)
{
	struct runtime_file file = { .code = runtime_code_of(RUNTIME_HOTSPOT) };
	struct runtime_instance instance = { .pid = child, .file = &file };
	uint64_t word = begin_with_function(&instance);

	CHECK_STR(name_in_stack(1, child, word), "fun");
	CHECK(!instance.state);
}

/* Memory may be forged so that each function takes long. */
TEST(functions_are_resolved_for_a_limited_time)
{
	static struct {
		struct runtime_file file;
		uint64_t own[512]; /* of the runtime; never read */
	} build;
	struct runtime_instance instance = { .pid = child, .file = &build.file };
	uint64_t word, left;

	build.file.code = runtime_code_of(RUNTIME_V8);
	word = begin_with_function(&instance);
	CHECK_STR(name_in_stack(1, child, word), "fun");
	left = instance.effort.left;
	CHECK(instance.state && left && left < instance.effort.amount);
	build.file.code->release(&instance);
	instance.state = NULL;
	instance.effort.left = 0;
	CHECK_STR(name_in_stack(2, child, word), "fun");
	CHECK(!instance.state);
}

/* ---- functions in place of native frames ---- */

#define SEGMENT(frame)	runtime_segment_word(frame)
#define REPLACES(frame) (runtime_segment_word(frame) | RUNTIME_REPLACES)

/* Returns the names in a stack with these words, leaf first. */
static const char *names_of(const uint64_t *words, size_t n_words)
{
	static uint64_t last_id = 1000;
	const struct frame *const *frames;
	size_t n;

	define_words(++last_id, child, words, n_words);
	frames = resolver_frames(resolver, last_id, &n);
	return PRINTED(f, {
		while (n-- > 0)
			fprintf(f, "%s ", frames[n]->name);
	});
}

#define RETURNED ((uintptr_t)leaf + 1)

/* After four native ones, of which all but the first are return addresses. */
#define NAMES_OF(...)                                                                              \
	names_of((const uint64_t[]){ (uintptr_t)leaf, RETURNED, RETURNED, RETURNED, __VA_ARGS__ }, \
		 4 + ARRAY_SIZE(((const uint64_t[]){ __VA_ARGS__ })))

TEST(functions_replace_native_frames)
{
	uint64_t f2 = define_code(child, 2), f3 = define_code(child, 3);

	CHECK_STR(NAMES_OF(REPLACES(1), f2, f3), "leaf fu2 fu3 leaf ");
	CHECK_STR(NAMES_OF(REPLACES(0), f2, REPLACES(2), f3), "fu2 leaf fu3 leaf ");
	CHECK_STR(NAMES_OF(REPLACES(3), f2), "leaf leaf leaf fu2 ");
	CHECK_STR(NAMES_OF(REPLACES(1), f2, 77, f3, 78), "leaf fu2 fu3 leaf ");
	CHECK_STR(NAMES_OF(SEGMENT(1), f2, f3), "leaf fu2 fu3 leaf leaf ");
	CHECK_STR(NAMES_OF(SEGMENT(1), f2, f2, REPLACES(2), f3), "leaf fu2 fu2 fu3 leaf ");
	CHECK_STR(NAMES_OF(REPLACES(2), f3, SEGMENT(1), f2), "leaf fu2 fu3 leaf ");
}

TEST(functions_in_place_of_no_frame_are_bounded)
{
	uint64_t f2 = define_code(child, 2), f3 = define_code(child, 3);

	CHECK_STR(NAMES_OF(REPLACES(3), f2, f3), "leaf leaf leaf fu2 ");
	CHECK_STR(NAMES_OF(REPLACES(1), f2, f2, REPLACES(2), f3), "leaf fu2 fu2 leaf ");
	CHECK_STR(NAMES_OF(REPLACES(1), REPLACES(1), f3), "leaf fu3 leaf leaf ");
	CHECK_STR(NAMES_OF(REPLACES(1)), "leaf leaf leaf leaf ");
	CHECK_STR(NAMES_OF(REPLACES(400), f3), "leaf leaf leaf leaf fu3 ");
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The walk from outside: a child stops deep in functions without frame pointers, after it has told
 * what libgcc's unwinder says of its stack.
 */
#include <execinfo.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "unit.h"
#include "unwind_own.h"
#include "abi/stack.h"
#include "runtimes/hotspot/walk.h"
#include "unwind/unwind_remote.h"

#define MAX_FRAMES 100
#define COPY_BYTES 16384
#define PLAIN	   __attribute__((noinline)) static

#if defined(__x86_64__)

struct trace {
	void *frames[MAX_FRAMES];
	int n;
};

static int pipe_fds[2];
static int depth;
static bool use_signal;
static long (*stub)(long (*)(long), long); /* calls its first argument; NULL: it isn't needed */

/* Each frame keeps something on the stack, and none ends with a jump. */
PLAIN long stop_here(long x)
{
	struct trace t;

	t.n = backtrace(t.frames, MAX_FRAMES);
	if (write(pipe_fds[1], &t, sizeof(t)) != sizeof(t))
		_exit(1);
	raise(SIGSTOP);
	return x + 1;
}

PLAIN long go_down(long x)
{
	volatile long here[6] = { x };

	return (here[0] ? go_down(x - 1) : stop_here(x)) + here[1];
}

static void on_signal(int number)
{
	depth += (int)go_down(number);
}

static long (*called_back)(long);

static int compare(const void *a, const void *b)
{
	(void)b;
	depth += (int)called_back(*(const long *)a);
	return 0;
}

PLAIN long call_through_libc(long (*call)(long), long x)
{
	long numbers[] = { x, x };

	called_back = call;
	qsort(numbers, 2, sizeof(*numbers), compare);
	return numbers[0];
}

/* An array of 64-byte alignment whose size is not known makes GCC realign the frame. */
PLAIN long call_realigned(long (*call)(long), long x)
{
	volatile char aligned[64] __attribute__((aligned(64)));
	volatile char *unknown = __builtin_alloca((size_t)x + 1);

	unknown[0] = aligned[0] = 0;
	x = call(x);
	aligned[1] = unknown[0];
	return x;
}

PLAIN long come_from(long x)
{
	if (use_signal)
		raise(SIGUSR1);
	if (stub)
		return stub(go_down, x) + 1;
	return (use_signal ? 0 : go_down(x)) + 1;
}

struct stopped {
	pid_t pid;
	struct trace truth;
	struct unwind_regs regs;
};

static struct stopped stop_child(bool in_handler)
{
	struct stopped child = {};
	struct user_regs_struct regs;
	int status;

	use_signal = in_handler;
	if (pipe(pipe_fds))
		return child;
	child.pid = fork();
	if (!child.pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		signal(SIGUSR1, on_signal);
		_exit((int)come_from(7));
	}
	while (waitpid(child.pid, &status, 0) == child.pid && WIFSTOPPED(status) &&
	       WSTOPSIG(status) != SIGSTOP)
		ptrace(PTRACE_CONT, child.pid, NULL, WSTOPSIG(status));
	if (read(pipe_fds[0], &child.truth, sizeof(child.truth)) != sizeof(child.truth))
		child.truth.n = 0;
	ptrace(PTRACE_GETREGS, child.pid, NULL, &regs);
	_Static_assert(sizeof(child.regs) <= sizeof(regs), "the kernel's order, and more");
	memcpy(&child.regs, &regs, sizeof(child.regs));
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return child;
}

static void end_child(struct stopped *child)
{
	if (!child->pid)
		return;
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	child->pid = 0;
}

static struct own_tables *own;

static struct unwind_view view_of(pid_t pid)
{
	struct unwind_process slice = {};

	unwind_procs_update(own->procs, pid, 0, &slice);
	return (struct unwind_view){ pid, own->tables, own->mappings + slice.first, slice.count };
}

/* Each test has a stopped child, and what a walk of it needs and finds. */
static struct stopped child;
static struct unwind_view view;
static struct unwind_copy *copy;
static uint64_t addrs[MAX_FRAMES], ours[MAX_FRAMES];
static int reason;

static void begin(bool in_handler)
{
	child = stop_child(in_handler);
	view = view_of(child.pid);
}

BEFORE_EACH()
{
	own = own_tables_new();
	begin(false);
}

AFTER_EACH()
{
	end_child(&child);
	own_tables_free(own);
}

static size_t walk(const struct unwind_regs *regs, uint64_t *words, size_t max)
{
	return unwind_walk_remote(&view, regs, words, max, &reason);
}

/* The child's, as a whole. */
static size_t walk_child(uint64_t *words)
{
	return walk(&child.regs, words, MAX_FRAMES);
}

/*
 * The two have the same frames from the caller of stop_here()'s caller on; above are the ways into
 * the kernel and into the unwinder.
 */
static void check_frames(const struct trace *truth, const uint64_t *words, size_t n)
{
	CHECK(truth->n > 10 && n > (size_t)truth->n);
	for (int i = 1; i < truth->n - 1 && (size_t)i < n; i++)
		CHECK_EQ(stack_address(words[n - (size_t)i]),
			 (uintptr_t)truth->frames[truth->n - i]);
}

/* The trampoline and what was interrupted, next to each other, and nothing else. */
static void check_marks(const uint64_t *words, size_t n, bool in_handler)
{
	size_t n_marked = 0, last = 0;

	for (size_t i = 0; i < n; i++)
		if (stack_is_exact(words[i])) {
			n_marked++;
			last = i;
		}
	CHECK_EQ(n_marked, in_handler ? 2 : 0);
	CHECK(!in_handler || (last > 1 && stack_is_exact(words[last - 1])));
}

static void check_child(bool in_handler)
{
	size_t n = walk_child(addrs);

	CHECK_EQ(reason, UNWIND_COMPLETE);
	CHECK_EQ(addrs[0], child.regs.ip);
	check_frames(&child.truth, addrs, n);
	check_marks(addrs, n, in_handler);
}

TEST(marks_of_words_come_off_again)
{
	static const uint64_t plain[] = { 0, 1, 0x401000, 0x7fffffffffff, 0xffffffffff600000 };

	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		uint64_t word = stack_mark_exact(plain[i]);

		CHECK(!stack_is_exact(plain[i]) && stack_is_exact(word));
		CHECK_EQ(stack_mark_exact(word), word);
		CHECK_EQ(stack_address(word), plain[i]);
		CHECK_EQ(stack_address(plain[i]), plain[i]);
	}
}

TEST(a_stack_without_frame_pointers_is_complete)
{
	check_child(false);
}

TEST(a_stack_through_libc_and_realigned_frames_is_complete)
{
	for (int i = 0; i < 2; i++) {
		end_child(&child);
		stub = i ? call_realigned : call_through_libc;
		begin(false);
		check_child(false);
	}
	stub = NULL;
}

TEST(a_stack_through_a_signal_handler_is_complete)
{
	end_child(&child);
	begin(true);
	check_child(true);
}

/* Code without unwind information that keeps no frame pointer, in memory without a file. */
static void make_stub(unsigned char n_bytes)
{
	const unsigned char code[] = { 0x48, 0x83, 0xec, n_bytes,	  /* sub $n,%rsp */
				       0x48, 0x89, 0xf8,		  /* mov %rdi,%rax */
				       0x48, 0x89, 0xf7,		  /* mov %rsi,%rdi */
				       0xff, 0xd0,			  /* call *%rax */
				       0x48, 0x83, 0xc4, n_bytes, 0xc3 }; /* add $n,%rsp; ret */
	void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(made != MAP_FAILED);
	memcpy(made, code, sizeof(code));
	memcpy(&stub, &made, sizeof(stub));
}

/* libgcc's unwinder ends at the stub: what lies below it is known without it. */
static void check_stub(unsigned char n_bytes)
{
	size_t n_without;

	end_child(&child);
	begin(false);
	n_without = walk_child(addrs);
	make_stub(n_bytes);
	end_child(&child);
	begin(false);
	CHECK_EQ(walk_child(ours), n_without + 1);
	CHECK_EQ(reason, UNWIND_COMPLETE);
	CHECK(ours[n_without + 1 - 3] == addrs[n_without - 3]);
	stub = NULL;
}

TEST(code_that_gives_its_stack_back_behind_the_call_has_a_caller)
{
	check_stub(8);
	check_stub(0x78);
}

TEST(a_thread_that_ran_on_has_only_its_leaf)
{
	struct unwind_thread thread = { .tgid = (uint32_t)child.pid, .tid = (uint32_t)child.pid };

	thread.regs = child.regs;
	thread.arrivals = unwind_count_arrivals(thread.tgid, thread.tid);
	CHECK(thread.arrivals > 0 && thread.arrivals < UINT64_MAX);
	check_frames(&child.truth, addrs,
		     unwind_walk_thread(&view, &thread, addrs, MAX_FRAMES, &reason));
	CHECK_EQ(reason, UNWIND_COMPLETE);
	ptrace(PTRACE_SINGLESTEP, child.pid, NULL, 0); /* the stack looks the same */
	waitpid(child.pid, NULL, 0);
	CHECK_EQ(unwind_walk_thread(&view, &thread, addrs, MAX_FRAMES, &reason), 1);
	CHECK_EQ(reason, UNWIND_RAN_ON);
	CHECK_EQ(addrs[0], child.regs.ip);
	end_child(&child);
	CHECK_EQ(unwind_count_arrivals(thread.tgid, thread.tid), UINT64_MAX);
}

/* Copies the child's stack as BPF does. */
static void copy_stack(uint32_t n_bytes)
{
	struct iovec remote = { (void *)(uintptr_t)child.regs.sp, n_bytes };
	struct iovec local = { NULL, n_bytes };

	view.copy = copy = until_end(mem_zalloc(1, sizeof(*copy) + COPY_BYTES));
	local.iov_base = copy->bytes;
	copy->regs = child.regs;
	copy->n_bytes = (uint32_t)process_vm_readv(child.pid, &local, 1, &remote, 1, 0);
	CHECK(copy->n_bytes <= n_bytes);
}

TEST(a_copied_stack_is_as_complete_as_the_stack)
{
	size_t n = walk_child(addrs);

	copy_stack(1024);
	CHECK(walk_child(ours) < n);
	CHECK_EQ(reason, UNWIND_FAULT); /* too little of it */
	copy_stack(COPY_BYTES);
	end_child(&child); /* not needed any more */
	CHECK_EQ(walk_child(ours), n);
	CHECK_EQ(reason, UNWIND_COMPLETE);
	CHECK(!memcmp(ours, addrs, n * sizeof(*ours)));
}

/* A copy has no code of Java, whose frame pointers lead past frames. */
TEST(a_copied_stack_ends_in_code_of_java)
{
	static struct unwind_mapping mappings[64];
	static struct runtime_process runtime = { .kind = RUNTIME_HOTSPOT };
	const uint64_t code = 0x1000;

	runtime.hotspot.heaps[0] = (struct hotspot_heap){ code, code + 4096, 0 };
	copy_stack(COPY_BYTES);
	mappings[0] = (struct unwind_mapping){ .start = code, .end = code + 4096 };
	CHECK(view.n_mappings < ARRAY_SIZE(mappings));
	memcpy(&mappings[1], view.mappings, view.n_mappings * sizeof(*mappings));
	view.mappings = mappings;
	view.n_mappings++;
	view.runtime = &runtime;
	view.leave = hotspot_leave_remote;
	child.regs.ip = code;
	CHECK_EQ(walk_child(ours), 1);
	CHECK_EQ(reason, UNWIND_BAD_RULE);
}

/* From now on, walks are of this process as one of Java. */
static void view_java(const struct runtime_process *runtime)
{
	static const struct unwind_mapping mappings[] = { { .end = UINT64_MAX } };

	view = (struct unwind_view){ getpid(), own->tables,	   mappings,
				     1,	       .runtime = runtime, .leave = hotspot_leave_remote };
}

/* Walks from an instruction, with a stack pointer and no frame pointer. */
static size_t walk_from(uint64_t ip, const uint64_t *stack)
{
	return walk(&(struct unwind_regs){ .ip = ip, .sp = (uint64_t)stack }, ours, MAX_FRAMES);
}

/* Layout of blocks of code as tests make them; heaps and segments follow. */
static const struct hotspot_layout block_layout = {
	.header_bytes = 16,
	.block_used = 8,
	.blob_bytes = 64,
	.method = 16,
	.code_begin = 24,
	.code_end = 32,
	.name = 40,
	.frame_words = 48,
	.frame_complete = 52,
	.compile_id = 52,
	.has_code_addresses = true,
};

/*
 * Blocks of code that were freed and merged keep their parts' entries in the map of segments. Stubs
 * that follow a method are entered by a call from it, or after its frame has gone.
 */
TEST(a_compiled_method_is_found_through_many_segments)
{
	enum { SEGMENT = 32, N = 40 };
	static struct {
		uint64_t size, used, method, begin, end;
		const char *name;
		uint32_t frame_words, zero;
		uint8_t code[N * SEGMENT];
	} block = { .used = 1, .method = 8, .name = "nmethod", .frame_words = 2 };
	static uint8_t segments[N];
	const uint64_t base = (uint64_t)&block, ip = (uint64_t)&block.code[(N - 4) * SEGMENT];
	const uint64_t other = (uint64_t)&block.code[8], stack[] = { 0, ip + 8, 0, 0 },
		       linking[] = { ip + 8, 0, ip + 16, 0 }, polling[] = { other, 0, ip + 16, 0 };
	struct runtime_process runtime = { .kind = RUNTIME_HOTSPOT };
	struct hotspot_layout *l = &runtime.hotspot;

	memset(segments, 1, sizeof(segments));
	segments[0] = 0;
	block.begin = (uint64_t)&block.code[SEGMENT];
	block.end = (uint64_t)&block.code[sizeof(block.code)];
	for (size_t i = 8 - 5; i < sizeof(block.code); i += 8)
		block.code[i] = 0xe8; /* call */
	*l = block_layout;
	l->heaps[0] = (struct hotspot_heap){ base, base + sizeof(segments) * SEGMENT,
					     (uint64_t)segments };
	l->log2_segment = 5;
	view_java(&runtime);
	CHECK_EQ(walk_from(ip, stack), 2);
	CHECK_EQ(ours[1], ip + 8);
	walk_from(ip, linking);
	CHECK_EQ(ours[0], ip + 8);
	CHECK_EQ(ours[1], ip + 16);
	walk_from(ip, polling);
	CHECK_EQ(ours[1], other);
}

/* A compiled method with a frame of four words, calls before two addresses, and any code. */
static struct {
	uint64_t size, used, method, begin, end;
	const char *name;
	uint32_t frame_words, zero;
	uint8_t code[512];
} compiled = { .used = 1, .method = 8, .name = "nmethod", .frame_words = 4 };
static const uint64_t code = (uint64_t)compiled.code, former = code + 208, caller = code + 308;

static void compile(const uint8_t *bytes, size_t n)
{
	static struct runtime_process runtime = { .kind = RUNTIME_HOTSPOT };
	static uint8_t segments[1];

	compiled.begin = code;
	compiled.end = (uint64_t)(&compiled + 1);
	if (n)
		memcpy(compiled.code, bytes, n);
	compiled.code[200 + 3] = compiled.code[300 + 3] = 0xe8; /* call */
	runtime.hotspot = block_layout;
	runtime.hotspot.heaps[0] =
		(struct hotspot_heap){ (uint64_t)&compiled, compiled.end, (uint64_t)segments };
	runtime.hotspot.log2_segment = 10;
	runtime.hotspot.has_x87 = true;
	view_java(&runtime);
}

/* Code of a method that has pushed n words on its frame. */
static const struct {
	const char *name;
	uint8_t code[24];
	size_t n;
} pushing[] = {
	{ "add", { 0xd9, 0xf1, 0x48, 0x83, 0xc4, 0x10 }, 2 },
	{ "add twice", { 0x48, 0x83, 0xc4, 0x08, 0x48, 0x83, 0xc4, 0x10 }, 3 },
	{ "sub, add twice", { 0x48, 0x83, 0xec, 8, 0x48, 0x83, 0xc4, 8, 0x48, 0x83, 0xc4, 8 }, 1 },
	{ "sub, add", { 0x48, 0x83, 0xec, 0x08, 0x48, 0x83, 0xc4, 0x08 }, 0 },
	{ "pop %rax, add", { 0x58, 0x48, 0x83, 0xc4, 0x08 }, 2 },
	{ "fldcw, pop %rax, add", { 0xd9, 0x2c, 0x24, 0x58, 0x48, 0x83, 0xc4, 0x08 }, 2 },
	{ "and", { 0x48, 0x83, 0xe4, 0xf0 }, 0 },
	{ "add, pop %rbp", { 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3 }, 0 },
	/* mov $n,%r10; mov %r10,n(%r15), as in stubs of polls, but without a jump after it */
	{ "mov to the thread", { 0x49, 0xba, [10] = 0x4d, 0x89, 0x97, 0x48, 2, 0, 0, 0x4d }, 0 },
};

/* x87 code of Java 8 pushes up to three words. The frame has return addresses of former calls. */
TEST(what_a_compiled_method_has_pushed_is_not_its_frame)
{
	for (size_t i = 0; i < ARRAY_SIZE(pushing); i++) {
		uint64_t stack[16];

		compile(pushing[i].code, sizeof(pushing[i].code));
		for (size_t j = 0; j < ARRAY_SIZE(stack); j++)
			stack[j] = former;
		stack[pushing[i].n + 3] = caller;
		walk_from(code, stack);
		CHECK_CASE(pushing[i].name, ours[1], caller);
	}
}

/* mov %rax,0x78(%rsp), after "sub $0x80,%rsp" and a store of rsp. */
TEST(a_method_that_saves_its_registers_has_a_frame_above_them)
{
	uint64_t stack[32] = {}, *saved = &stack[11];

	compile((const uint8_t[]){ 0x48, 0x89, 0x44, 0x24, 0x78 }, 5);
	stack[3] = former;
	saved[0] = (uint64_t)(saved + 5);
	saved[5 + 3] = caller;
	walk_from(code, stack);
	CHECK_EQ(ours[1], caller);
}

/* Java 8, too: pushes general registers, vectors, maybe their upper halves, and arguments. */
TEST(a_routine_of_x87_code_returns_to_a_method_that_saved_its_registers)
{
	static const struct {
		const char *name;
		uint8_t code[8]; /* after the call */
		size_t n;	 /* words up to the saved rsp */
	} cases[] = {
		{ "an argument", { 0xf2, 0x0f, 0x11, 0x04, 0x24, 0xdd, 0x04, 0x24 }, 44 },
		{ "upper halves", { 0xc5, 0xfb, 0x11, 0x04, 0x24, 0xdd, 0x04, 0x24 }, 76 },
		{ "two arguments, aligned", { 0x48, 0x83, 0xc4, 0x08, 0xe9 }, 46 },
	};
	static const uint8_t native[64];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t stack[128] = { 0, code }, *saved = &stack[2 + cases[i].n];

		compile(cases[i].code, sizeof(cases[i].code));
		stack[2 + 3] = former;
		saved[0] = (uint64_t)(saved + 5);
		saved[5 + 3] = caller;
		walk(&(struct unwind_regs){ .ip = (uint64_t)native,
					    .sp = (uint64_t)stack,
					    .bp = (uint64_t)stack },
		     ours, MAX_FRAMES);
		CHECK_CASE(cases[i].name, ours[1], code);
		CHECK_CASE(cases[i].name, ours[2], caller);
	}
}

/* They are made while the program runs, in blocks of their own. */
TEST(stubs_of_virtual_calls_have_no_frame)
{
	const uint64_t stack[] = { caller, 0 };

	compile(NULL, 0);
	compiled.name = "vtable chunks";
	walk_from(code, stack);
	compiled.name = "nmethod";
	CHECK_EQ(ours[1], caller);
}

/* rbp is the caller's, or points to a frame that is being made (the last case). */
TEST(interpreted_methods_are_left_where_they_begin_and_end)
{
	static struct {
		uint64_t size, used;
		const char *name;
		uint8_t code[64];
	} block = { .used = 1, .name = "Interpreter" };
	static uint8_t segments[1];
	const uint64_t base = (uint64_t)&block, ip = (uint64_t)block.code, other = ip + 8;
	uint64_t stack[20] = {}, *sp = &stack[12];
	const uint64_t sender = (uint64_t)(sp + 4);
	const struct {
		uint64_t words[3], ax, bx, r13, bp;
		size_t n;
	} cases[] = {
		{ { other }, 0, 0, sender, 1, 2 },    /* called */
		{ { 0 }, other, 0, sender, 1, 2 },    /* pop %rax */
		{ { 1, other }, 0, 0, sender, 1, 2 }, /* push %rax; push %rbp */
		{ { other }, 0, sender, 0, 1, 2 },    /* leave */
		{ { 0 }, 0, sender, other, 1, 2 },    /* pop %r13 */
		{ { 0 }, 0, sender, sender, 1, 1 },   /* no return address */
		{ { other }, 0, 1, 1, 1, 1 },	      /* no stack pointer */
		{ { sender, 1, other }, 0, 0, 0, (uint64_t)(sp + 1), 2 },
	};
	struct runtime_process runtime = { .kind = RUNTIME_HOTSPOT };

	runtime.hotspot = (struct hotspot_layout){
		.heaps[0] = { base, base + sizeof(block), (uint64_t)segments },
		.interpreter_low = ip,
		.interpreter_high = base + sizeof(block),
		.log2_segment = 7,
		.header_bytes = 16,
		.block_used = 8,
		.blob_bytes = 24,
		.name = 16,
		.bcp_words = 8,
	};
	view_java(&runtime);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct unwind_regs regs = { .ip = ip,
						  .sp = (uint64_t)sp,
						  .bp = cases[i].bp,
						  .ax = cases[i].ax,
						  .bx = cases[i].bx,
						  .r13 = cases[i].r13 };

		memcpy(sp, cases[i].words, sizeof(cases[i].words));
		CHECK_EQ(walk(&regs, ours, MAX_FRAMES), cases[i].n);
		CHECK_EQ(ours[cases[i].n - 1], cases[i].n == 2 ? other : ip);
	}
}

/* As it is where a coroutine begins. */
TEST(a_null_return_address_ends_the_walk_and_is_no_frame)
{
	copy_stack(COPY_BYTES);
	CHECK(walk_child(addrs) > 4);
	for (size_t i = 0; i < copy->n_bytes; i += sizeof(*addrs))
		if (!memcmp(copy->bytes + i, &addrs[4], sizeof(*addrs)))
			memset(copy->bytes + i, 0, sizeof(*addrs));
	CHECK_EQ(walk_child(ours), 4);
	CHECK_EQ(reason, UNWIND_NULL);
	CHECK(!memcmp(ours, addrs, 4 * sizeof(*ours)));
}

/* The call that returns to a word of the walk gets under a return probe. */
static void put_probe_on(uint64_t sp, uint64_t word)
{
	static const uint64_t trampoline = 0x7fffffffe000;
	struct unwind_returns *returns = &copy->returns;

	memcpy(copy->bytes + (sp - sizeof(trampoline) - copy->regs.sp), &trampoline,
	       sizeof(trampoline));
	returns->trampoline = trampoline;
	returns->calls[returns->n++] = (struct unwind_return){ sp, word };
}

TEST(calls_under_return_probes_have_their_callers)
{
	uint64_t sps[MAX_FRAMES];
	size_t n;

	copy_stack(COPY_BYTES);
	view.sps = sps;
	n = walk_child(addrs);
	copy->returns.calls[copy->returns.n++].sp = sps[1]; /* longjmp() has left it */
	put_probe_on(sps[3], addrs[3]);
	put_probe_on(sps[5], addrs[5]);
	view.returns = &copy->returns;
	view.sps = NULL;
	CHECK_EQ(walk_child(ours), n);
	CHECK_EQ(reason, UNWIND_COMPLETE);
	CHECK(!memcmp(ours, addrs, n * sizeof(*ours)));
	copy->returns.n--;
	CHECK(walk_child(ours) < n);
	CHECK_EQ(reason, UNWIND_PROBED);
}

/* Bytes that BPF could not read are not taken for zeros. */
TEST(a_hole_in_a_copied_stack_ends_the_walk)
{
	size_t first_bytes = UNWIND_COPY_PIECE - child.regs.sp % UNWIND_COPY_PIECE;

	copy_stack(COPY_BYTES);
	copy->piece = UNWIND_COPY_PIECE;
	copy->holes = 1U << 15; /* above all that there is */
	walk_child(addrs);
	CHECK_EQ(reason, UNWIND_COMPLETE);
	copy->holes = ~1U; /* all pieces but the first: a frame may be larger than one */
	memset(copy->bytes + first_bytes, 0, copy->n_bytes - first_bytes);
	walk_child(addrs);
	CHECK_EQ(reason, UNWIND_FAULT);
}

TEST(the_depth_is_limited)
{
	addrs[3] = 12345;
	CHECK_EQ(walk(&child.regs, addrs, 3), 3);
	CHECK_EQ(reason, UNWIND_DEPTH);
	CHECK_EQ(addrs[3], 12345);
	CHECK_EQ(walk(&child.regs, addrs, 1), 1);
	CHECK_EQ(addrs[0], child.regs.ip);
}

/* Registers as they are when a program has gone wrong. */
TEST(what_can_not_be_followed_ends_the_walk)
{
	struct unwind_regs regs = child.regs;

	regs.sp = 16;
	CHECK_EQ(walk(&regs, addrs, MAX_FRAMES), 1);
	CHECK_EQ(reason, UNWIND_FAULT);
	regs = child.regs;
	regs.ip = 16;
	CHECK_EQ(walk(&regs, addrs, MAX_FRAMES), 1);
	CHECK_EQ(reason, UNWIND_NO_MAPPING);
	CHECK_EQ(addrs[0], 16);
	regs.sp = regs.bp = regs.ip = UINT64_MAX;
	CHECK_EQ(walk(&regs, addrs, MAX_FRAMES), 1);
	CHECK_EQ(reason, UNWIND_NO_MAPPING);
}

/* A function whose rule for rbp is of that kind, and one that has no rule, in a file of our own. */
static struct unwind_mapping map_two(enum unwind_bp_kind bp_kind)
{
	const struct unwind_rule first = { .kind = UNWIND_SP, .cfa_off = 16, .bp_kind = bp_kind },
				 second = { .kind = UNWIND_GAP };
	struct cfi_table cfi = {};
	struct unwind_run run;

	cfi_append(&cfi, 0x10000, &first);
	cfi_append(&cfi, 0x10100, &second);
	CHECK_EQ(unwind_tables_add(own->tables, &cfi, &run), 0);
	cfi_free(&cfi);
	return (struct unwind_mapping){ 0x10000, 0x20000, 0x10000, run.first_page, run.n_pages };
}

/* From ip with rbp 0; the first function was called by the code at return_address. How it ends. */
static int walk_two(enum unwind_bp_kind bp_kind, uint64_t ip, uint64_t return_address)
{
	uint64_t stack[] = { 0, return_address, 0, 0 };
	struct unwind_mapping mappings[] = { map_two(bp_kind), { 0x20000, 0x30000, 0, 0, 0 } };
	struct unwind_regs regs = { .ip = ip, .sp = (uintptr_t)stack };

	view = (struct unwind_view){ getpid(), own->tables, mappings, ARRAY_SIZE(mappings) };
	CHECK_EQ(walk(&regs, addrs, MAX_FRAMES), ip < 0x10100 ? 2 : 1);
	return reason;
}

/* Threads begin where there are rules; elsewhere 0 is a number like others. */
TEST(a_frame_pointer_of_0_is_no_end)
{
	CHECK_EQ(walk_two(UNWIND_BP_SAME, 0x10010, 0x10110), UNWIND_NO_RULE);
	CHECK_EQ(walk_two(UNWIND_BP_LOST, 0x10010, 0x10110), UNWIND_NO_RULE);
	CHECK_EQ(walk_two(UNWIND_BP_SAME, 0x10010, 0x20010), UNWIND_NO_RULE); /* made code */
	CHECK_EQ(walk_two(UNWIND_BP_SAME, 0x20010, 0), UNWIND_NO_RULE);
	CHECK_EQ(walk_two(UNWIND_BP_SAME, 0x10110, 0), UNWIND_NO_RULE); /* at work */
}

TEST(without_tables_it_follows_frame_pointers)
{
	struct unwind_regs regs = child.regs;

	view = (struct unwind_view){ .pid = child.pid };
	regs.bp = 0;
	CHECK_EQ(walk(&regs, addrs, MAX_FRAMES), 1);
	CHECK_EQ(reason, UNWIND_BY_FP);
	CHECK_EQ(addrs[0], regs.ip);
}

/*
 * A frame record of our own making: the next frame's pointer leads back, which must end the walk.
 */
TEST(a_circle_of_frame_pointers_is_left)
{
	static uint64_t records[4];
	struct unwind_regs regs = { .ip = 1, .sp = (uintptr_t)records, .bp = (uintptr_t)records };

	view = (struct unwind_view){ .pid = getpid() };
	records[0] = (uintptr_t)&records[2];
	records[1] = 0x1111;
	records[2] = (uintptr_t)&records[0];
	records[3] = 0x2222;
	CHECK_EQ(walk(&regs, addrs, MAX_FRAMES), 3);
	CHECK_EQ(addrs[1], 0x1111);
	CHECK_EQ(addrs[2], 0x2222);
	CHECK_EQ(reason, UNWIND_BY_FP);
}

#endif

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The walk from outside: a child stops deep in functions without frame pointers, after it has told
 * what libgcc's unwinder says of its stack.
 */
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/mem.h"
#include "unit.h"
#include "unwind_own.h"
#include "abi/stack.h"
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

static void end_child(const struct stopped *child)
{
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
}

static struct unwind_view view_of(struct own_tables *own, pid_t pid)
{
	struct unwind_process slice = {};

	unwind_procs_update(own->procs, pid, 0, &slice);
	return (struct unwind_view){ pid, own->tables, own->mappings + slice.first, slice.count };
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
	struct own_tables *own = own_tables_new();
	struct stopped child = stop_child(in_handler);
	struct unwind_view view = view_of(own, child.pid);
	uint64_t addrs[MAX_FRAMES];
	int reason;
	size_t n = unwind_walk_remote(&view, &child.regs, addrs, MAX_FRAMES, &reason);

	CHECK_EQ(reason, UNWIND_COMPLETE);
	CHECK_EQ(addrs[0], child.regs.ip);
	check_frames(&child.truth, addrs, n);
	check_marks(addrs, n, in_handler);
	end_child(&child);
	own_tables_free(own);
}

TEST(marks_of_words_come_off_again)
{
	static const uint64_t addrs[] = { 0, 1, 0x401000, 0x7fffffffffff, 0xffffffffff600000 };

	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		uint64_t word = stack_mark_exact(addrs[i]);

		CHECK(!stack_is_exact(addrs[i]) && stack_is_exact(word));
		CHECK_EQ(stack_mark_exact(word), word);
		CHECK_EQ(stack_address(word), addrs[i]);
		CHECK_EQ(stack_address(addrs[i]), addrs[i]);
	}
}

TEST(a_stack_without_frame_pointers_is_complete)
{
	check_child(false);
}

TEST(a_stack_through_a_signal_handler_is_complete)
{
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
	struct own_tables *own = own_tables_new();
	struct stopped child, plain = stop_child(false);
	struct unwind_view view = view_of(own, plain.pid);
	uint64_t words[MAX_FRAMES], without[MAX_FRAMES];
	size_t n, n_without =
			  unwind_walk_remote(&view, &plain.regs, without, MAX_FRAMES, &(int){ 0 });
	int reason;

	make_stub(n_bytes);
	child = stop_child(false);
	view = view_of(own, child.pid);
	n = unwind_walk_remote(&view, &child.regs, words, MAX_FRAMES, &reason);
	CHECK_EQ(reason, UNWIND_COMPLETE);
	CHECK_EQ(n, n_without + 1);
	CHECK(n < 4 || words[n - 3] == without[n_without - 3]);
	end_child(&child);
	end_child(&plain);
	own_tables_free(own);
	stub = NULL;
}

TEST(code_that_gives_its_stack_back_behind_the_call_has_a_caller)
{
	check_stub(8);
	check_stub(0x78);
}

/* One instruction: the stack looks the same, but it need not. */
static void let_run(const struct stopped *child)
{
	int status;

	ptrace(PTRACE_SINGLESTEP, child->pid, NULL, 0);
	waitpid(child->pid, &status, 0);
}

TEST(a_thread_that_ran_on_has_only_its_leaf)
{
	struct own_tables *own = own_tables_new();
	struct stopped child = stop_child(false);
	struct unwind_view view = view_of(own, child.pid);
	struct unwind_thread thread = { .tgid = (uint32_t)child.pid, .tid = (uint32_t)child.pid };
	uint64_t addrs[MAX_FRAMES];
	int reason;

	thread.regs = child.regs;
	thread.arrivals = unwind_count_arrivals(thread.tgid, thread.tid);
	CHECK(thread.arrivals > 0 && thread.arrivals < UINT64_MAX);
	check_frames(&child.truth, addrs,
		     unwind_walk_thread(&view, &thread, addrs, MAX_FRAMES, &reason));
	CHECK_EQ(reason, UNWIND_COMPLETE);
	let_run(&child);
	CHECK_EQ(unwind_walk_thread(&view, &thread, addrs, MAX_FRAMES, &reason), 1);
	CHECK_EQ(reason, UNWIND_RAN_ON);
	CHECK_EQ(addrs[0], child.regs.ip);
	end_child(&child);
	CHECK_EQ(unwind_count_arrivals(thread.tgid, thread.tid), UINT64_MAX);
	own_tables_free(own);
}

/* What BPF sends of a stack. */
static struct unwind_copy *copy_stack(const struct stopped *child, uint32_t n_bytes)
{
	struct unwind_copy *copy = mem_zalloc(1, sizeof(*copy) + COPY_BYTES);
	struct iovec local = { copy->bytes, n_bytes };
	struct iovec remote = { (void *)(uintptr_t)child->regs.sp, n_bytes };

	copy->regs = child->regs;
	copy->n_bytes = (uint32_t)process_vm_readv(child->pid, &local, 1, &remote, 1, 0);
	CHECK(copy->n_bytes <= n_bytes);
	return copy;
}

TEST(a_copied_stack_is_as_complete_as_the_stack)
{
	struct own_tables *own = own_tables_new();
	struct stopped child = stop_child(false);
	struct unwind_view view = view_of(own, child.pid);
	struct unwind_copy *copy = copy_stack(&child, 1024);
	uint64_t theirs[MAX_FRAMES], ours[MAX_FRAMES];
	size_t n = unwind_walk_remote(&view, &child.regs, theirs, MAX_FRAMES, &(int){ 0 });
	int reason;

	view.copy = copy;
	CHECK(unwind_walk_remote(&view, &child.regs, ours, MAX_FRAMES, &reason) < n);
	CHECK_EQ(reason, UNWIND_FAULT); /* too little of it */
	free(copy);
	copy = copy_stack(&child, COPY_BYTES);
	view.copy = copy;
	end_child(&child); /* not needed any more */
	CHECK_EQ(unwind_walk_remote(&view, &child.regs, ours, MAX_FRAMES, &reason), n);
	CHECK_EQ(reason, UNWIND_COMPLETE);
	CHECK(!memcmp(ours, theirs, n * sizeof(*ours)));
	free(copy);
	own_tables_free(own);
}

/* As it is where a coroutine begins. */
TEST(a_null_return_address_ends_the_walk_and_is_no_frame)
{
	struct own_tables *own = own_tables_new();
	struct stopped child = stop_child(false);
	struct unwind_view view = view_of(own, child.pid);
	struct unwind_copy *copy = copy_stack(&child, COPY_BYTES);
	uint64_t whole[MAX_FRAMES], ours[MAX_FRAMES];
	int reason;

	view.copy = copy;
	CHECK(unwind_walk_remote(&view, &child.regs, whole, MAX_FRAMES, &reason) > 4);
	for (size_t i = 0; i < copy->n_bytes; i += sizeof(*whole))
		if (!memcmp(copy->bytes + i, &whole[4], sizeof(*whole)))
			memset(copy->bytes + i, 0, sizeof(*whole));
	CHECK_EQ(unwind_walk_remote(&view, &child.regs, ours, MAX_FRAMES, &reason), 4);
	CHECK_EQ(reason, UNWIND_NULL);
	CHECK(!memcmp(ours, whole, 4 * sizeof(*ours)));
	end_child(&child);
	free(copy);
	own_tables_free(own);
}

/* The call that returns to a word of the walk gets under a return probe. */
static void put_probe_on(struct unwind_copy *copy, uint64_t sp, uint64_t word)
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
	struct own_tables *own = own_tables_new();
	struct stopped child = stop_child(false);
	struct unwind_view view = view_of(own, child.pid);
	struct unwind_copy *copy = copy_stack(&child, COPY_BYTES);
	uint64_t theirs[MAX_FRAMES], ours[MAX_FRAMES], sps[MAX_FRAMES];
	int reason;
	size_t n;

	view.copy = copy;
	view.sps = sps;
	n = unwind_walk_remote(&view, &child.regs, theirs, MAX_FRAMES, &reason);
	copy->returns.calls[copy->returns.n++].sp = sps[1]; /* longjmp() has left it */
	put_probe_on(copy, sps[3], theirs[3]);
	put_probe_on(copy, sps[5], theirs[5]);
	view.returns = &copy->returns;
	view.sps = NULL;
	CHECK_EQ(unwind_walk_remote(&view, &child.regs, ours, MAX_FRAMES, &reason), n);
	CHECK_EQ(reason, UNWIND_COMPLETE);
	CHECK(!memcmp(ours, theirs, n * sizeof(*ours)));
	copy->returns.n--;
	CHECK(unwind_walk_remote(&view, &child.regs, ours, MAX_FRAMES, &reason) < n);
	CHECK_EQ(reason, UNWIND_PROBED);
	end_child(&child);
	free(copy);
	own_tables_free(own);
}

/* What BPF could not read is not taken for zeros. */
TEST(a_hole_in_a_copied_stack_ends_the_walk)
{
	struct own_tables *own = own_tables_new();
	struct stopped child = stop_child(false);
	struct unwind_view view = view_of(own, child.pid);
	struct unwind_copy *copy = copy_stack(&child, COPY_BYTES);
	uint64_t words[MAX_FRAMES];
	int reason;

	view.copy = copy;
	copy->piece = UNWIND_COPY_PIECE;
	copy->holes = 1U << 15; /* above all that there is */
	unwind_walk_remote(&view, &child.regs, words, MAX_FRAMES, &reason);
	CHECK_EQ(reason, UNWIND_COMPLETE);
	copy->holes = 1U << 1;
	memset(copy->bytes + UNWIND_COPY_PIECE - child.regs.sp % UNWIND_COPY_PIECE, 0,
	       UNWIND_COPY_PIECE);
	unwind_walk_remote(&view, &child.regs, words, MAX_FRAMES, &reason);
	CHECK_EQ(reason, UNWIND_FAULT);
	end_child(&child);
	free(copy);
	own_tables_free(own);
}

TEST(the_depth_is_limited)
{
	struct own_tables *own = own_tables_new();
	struct stopped child = stop_child(false);
	struct unwind_view view = view_of(own, child.pid);
	uint64_t addrs[4] = { 0, 0, 0, 12345 };
	int reason;

	CHECK_EQ(unwind_walk_remote(&view, &child.regs, addrs, 3, &reason), 3);
	CHECK_EQ(reason, UNWIND_DEPTH);
	CHECK_EQ(addrs[3], 12345);
	CHECK_EQ(unwind_walk_remote(&view, &child.regs, addrs, 1, &reason), 1);
	CHECK_EQ(addrs[0], child.regs.ip);
	end_child(&child);
	own_tables_free(own);
}

/* Registers as they are when a program has gone wrong. */
TEST(what_can_not_be_followed_ends_the_walk)
{
	struct own_tables *own = own_tables_new();
	struct stopped child = stop_child(false);
	struct unwind_view view = view_of(own, child.pid);
	struct unwind_regs regs = child.regs;
	uint64_t addrs[MAX_FRAMES];
	int reason;

	regs.sp = 16;
	CHECK_EQ(unwind_walk_remote(&view, &regs, addrs, MAX_FRAMES, &reason), 1);
	CHECK_EQ(reason, UNWIND_FAULT);
	regs = child.regs;
	regs.ip = 16;
	CHECK_EQ(unwind_walk_remote(&view, &regs, addrs, MAX_FRAMES, &reason), 1);
	CHECK_EQ(reason, UNWIND_NO_MAPPING);
	CHECK_EQ(addrs[0], 16);
	regs.sp = regs.bp = regs.ip = UINT64_MAX;
	CHECK_EQ(unwind_walk_remote(&view, &regs, addrs, MAX_FRAMES, &reason), 1);
	CHECK_EQ(reason, UNWIND_NO_MAPPING);
	end_child(&child);
	own_tables_free(own);
}

/* A function whose rule for rbp is of that kind, and one that has no rule, in a file of our own. */
static struct unwind_mapping map_two(struct own_tables *own, enum unwind_bp_kind bp_kind)
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
	uint64_t stack[] = { 0, return_address, 0, 0 }, words[MAX_FRAMES];
	struct own_tables *own = own_tables_new();
	struct unwind_mapping mappings[] = { map_two(own, bp_kind), { 0x20000, 0x30000, 0, 0, 0 } };
	struct unwind_view view = { getpid(), own->tables, mappings, ARRAY_SIZE(mappings) };
	struct unwind_regs regs = { .ip = ip, .sp = (uintptr_t)stack };
	int reason;

	CHECK_EQ(unwind_walk_remote(&view, &regs, words, MAX_FRAMES, &reason),
		 ip < 0x10100 ? 2 : 1);
	own_tables_free(own);
	return reason;
}

/* Where threads begin, there are rules; elsewhere 0 is a number like others. */
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
	struct stopped child = stop_child(false);
	struct unwind_view view = { .pid = child.pid };
	struct unwind_regs regs = child.regs;
	uint64_t addrs[MAX_FRAMES];
	int reason;

	regs.bp = 0;
	CHECK_EQ(unwind_walk_remote(&view, &regs, addrs, MAX_FRAMES, &reason), 1);
	CHECK_EQ(reason, UNWIND_BY_FP);
	CHECK_EQ(addrs[0], regs.ip);
	end_child(&child);
}

/*
 * A frame record of our own making: the next frame's pointer leads back, which must end the walk.
 */
TEST(a_circle_of_frame_pointers_is_left)
{
	static uint64_t records[4];
	struct unwind_view view = { .pid = getpid() };
	struct unwind_regs regs = { .ip = 1, .sp = (uintptr_t)records, .bp = (uintptr_t)records };
	uint64_t addrs[MAX_FRAMES];
	int reason;

	records[0] = (uintptr_t)&records[2];
	records[1] = 0x1111;
	records[2] = (uintptr_t)&records[0];
	records[3] = 0x2222;
	CHECK_EQ(unwind_walk_remote(&view, &regs, addrs, MAX_FRAMES, &reason), 3);
	CHECK_EQ(addrs[1], 0x1111);
	CHECK_EQ(addrs[2], 0x2222);
	CHECK_EQ(reason, UNWIND_BY_FP);
}

#endif

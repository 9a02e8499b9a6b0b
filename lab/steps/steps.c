// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stacks at every instruction of a program:
 *
 *	steps NUMBER PROGRAM ARGUMENT...
 *	steps NUMBER -t THREAD PID
 *
 * single-steps all of the program's threads, or the thread of that name in a process that runs, and
 * keeps, of each, the calls that it is in: a call puts a return address below the caller's frame,
 * its return takes it away. After each instruction the tools' walker has to find the same callers,
 * and the same canonical frame addresses. When a thread changes stacks, by moving something into
 * rsp, what was known of it is forgotten.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

#include "abi/stack.h"
#include "elf/x86_decode.h"
#include "process/procmaps.h"
#include "process/procstate.h"
#include "runtimes/runtimes.h"
#include "unwind/cfi.h"
#include "../go/traced.h"

#define THREADS_MAX 64
#define CALLS_MAX   4096
#define COMPARED    6 /* callers, of each stack */
#define SHOWN_MAX   20
#define FRESH_STEPS 10000 /* after so many, what the runtime has made meanwhile is looked up */

struct call {
	uint64_t cfa, return_address;
};

struct thread {
	pid_t tid;
	uint64_t ip, sp; /* before the instruction that it is at */
	bool is_known;	 /* these are */
	size_t n_calls;
	struct call calls[CALLS_MAX];
};

struct subject {
	struct traced program;
	size_t n_threads;
	struct thread threads[THREADS_MAX];
	unsigned long n_steps, wanted, n_checked, n_short, n_wrong, n_cut;
	uint64_t sps[STACK_DEPTH];
	/* the process's runtime */
	struct runtime_instance instance; /* file NULL: none that is walked */
	struct runtime_process runtime;
	struct unwind_run rows;
};

/* ---- the runtime ---- */

static struct runtime_file *recognize(pid_t pid, const struct mapping *m, uint64_t *bias)
{
	char *path = mem_printf("/proc/%d/root%s", pid, m->path);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct runtime_file *file = NULL;
	struct elfsegs segs = {};
	struct elf64 elf;

	if (fd >= 0 && !elf64_open(&elf, fd) && !elfsegs_read_elf(&segs, &elf)) {
		file = runtime_recognize(&elf);
		*bias = m->start - elfsegs_vaddr(&segs, m->offset);
	}
	if (fd >= 0)
		close(fd);
	free(path);
	return file;
}

/* Recognizes the runtime among the process's files. */
static bool find_runtime(struct subject *s, pid_t pid)
{
	struct mappings maps;

	if (mappings_read(&maps, pid))
		return false;
	for (size_t i = 0; i < maps.count && !s->instance.file; i++)
		s->instance.file = recognize(pid, &maps.items[i], &s->instance.bias);
	mappings_free(&maps);
	s->instance.pid = pid;
	return s->instance.file && !s->instance.file->refused;
}

static void append_row(uint64_t address, const struct unwind_rule *rule, void *arg)
{
	cfi_append(arg, address, rule);
}

static void make_rows(struct subject *s)
{
	struct cfi_table table = {};

	if (!s->instance.file->code->add_rows)
		return;
	unwind_tables_remove(s->program.own->tables, &s->rows, 0);
	s->rows = (struct unwind_run){};
	s->instance.file->code->add_rows(&s->instance, &s->runtime,
					 &(struct runtime_rows){ append_row, &table });
	if (table.count)
		unwind_tables_add(s->program.own->tables, &table, &s->rows);
	s->runtime.rules = (struct runtime_table){ .start = s->rows.page_base << UNWIND_PAGE_SHIFT,
						   .first_page = s->rows.first_page,
						   .n_pages = s->rows.n_pages };
	cfi_free(&table);
}

static bool look_at_runtime(struct subject *s)
{
	if (s->instance.file->code->describe(&s->instance, &s->runtime))
		return false;
	make_rows(s);
	s->runtime.kind = s->instance.file->kind;
	s->program.view.runtime = &s->runtime;
	s->program.view.leave = s->instance.file->code->leave;
	return true;
}

/* ---- what an instruction does to the stack ---- */

enum effect { CALLS, RETURNS, MOVES, SWITCHES };

static bool is_add_or_sub(const struct x86_insn *insn)
{
	unsigned int operation = insn->modrm >> 3 & 7;

	return (insn->opcode == 0x81 || insn->opcode == 0x83) && (operation == 0 || operation == 5);
}

/*
 * push, pop, leave, lea and arithmetic stay on the stack; other changes of rsp leave it. A call of
 * the next instruction, or over a jump that follows, only pushes an address.
 */
static enum effect effect_of(const struct x86_insn *insn)
{
	uint8_t opcode = insn->opcode;
	unsigned int operation = insn->modrm >> 3 & 7;

	if (insn->map != X86_MAP_ONE)
		return SWITCHES;
	if (opcode == 0xe8 || (opcode == 0xff && operation == 2))
		return opcode == 0xe8 && (uint32_t)insn->relative <= 5 ? MOVES : CALLS;
	if (opcode == 0xc3 || opcode == 0xc2)
		return RETURNS;
	if ((opcode >= 0x50 && opcode <= 0x5f) || opcode == 0x68 || opcode == 0x6a ||
	    opcode == 0x8f || opcode == 0x9c || opcode == 0x9d || opcode == 0xc9 ||
	    opcode == 0x8d || (opcode == 0xff && operation == 6) || is_add_or_sub(insn))
		return MOVES;
	return SWITCHES;
}

static void enter(struct subject *s, struct thread *t, uint64_t sp)
{
	struct call *call = &t->calls[t->n_calls];

	if (t->n_calls == CALLS_MAX || !peek_all(s->program.pid, sp, &call->return_address, 8)) {
		t->n_calls = 0;
		return;
	}
	call->cfa = sp + 8;
	t->n_calls++;
}

/* A function that cuts its callers off, as longjmp() would, is not on the list of any. */
static void leave(struct thread *t, uint64_t ip, uint64_t sp)
{
	const struct call *call = t->n_calls ? &t->calls[t->n_calls - 1] : NULL;

	if (call && call->cfa == sp && call->return_address == ip)
		t->n_calls--;
	else
		t->n_calls = 0;
}

static void follow(struct subject *s, struct thread *t, const struct user_regs_struct *now)
{
	uint8_t code[16] = {};
	struct x86_insn insn;

	if (!t->is_known || !peek_all(s->program.pid, t->ip, code, sizeof(code)) ||
	    !x86_decode(&insn, code, sizeof(code))) {
		t->n_calls = 0;
		return;
	}
	switch (effect_of(&insn)) {
	case CALLS:
		enter(s, t, now->rsp);
		break;
	case RETURNS:
		leave(t, now->rip, now->rsp);
		break;
	case MOVES:
		break;
	case SWITCHES:
		if (now->rsp != t->sp)
			t->n_calls = 0;
	}
}

/* ---- comparing ---- */

static void show(const struct subject *s, const struct thread *t, const uint64_t *words, size_t n,
		 int reason)
{
	if (s->n_wrong > SHOWN_MAX)
		return;
	printf("at %llx, reason %d\n  calls:", (unsigned long long)t->ip, reason);
	for (size_t i = 0; i < t->n_calls && i < COMPARED; i++) {
		const struct call *call = &t->calls[t->n_calls - 1 - i];

		printf(" %llx@%llx", (unsigned long long)call->return_address,
		       (unsigned long long)call->cfa);
	}
	printf("\n  ours: ");
	for (size_t i = 1; i < n && i <= COMPARED; i++)
		printf(" %llx@%llx", (unsigned long long)stack_address(words[i]),
		       (unsigned long long)s->sps[i]);
	printf("\n");
}

static void check(struct subject *s, struct thread *t, const struct user_regs_struct *now)
{
	uint64_t words[STACK_DEPTH];
	struct unwind_regs regs;
	int reason;
	size_t n, i = 1;

	memcpy(&regs, now, sizeof(regs)); /* in the kernel's order, and the base of fs behind it */
	n = unwind_walk_remote(&s->program.view, &regs, words, STACK_DEPTH, &reason);
	s->n_cut += reason != UNWIND_COMPLETE;
	for (; i < n && i <= t->n_calls && i <= COMPARED; i++) {
		const struct call *call = &t->calls[t->n_calls - i];

		if (stack_address(words[i]) == call->return_address &&
		    (s->sps[i] == call->cfa || i + 1 == n)) /* then the stack ends */
			continue;
		s->n_wrong++;
		show(s, t, words, n, reason);
		t->n_calls = 0;
		return;
	}
	s->n_checked += t->n_calls > 0;
	s->n_short += t->n_calls > 0 && n == 1;
}

/* ---- the program ---- */

static struct thread *find_thread(struct subject *s, pid_t tid)
{
	for (size_t i = 0; i < s->n_threads; i++)
		if (s->threads[i].tid == tid)
			return &s->threads[i];
	if (s->n_threads == THREADS_MAX)
		return NULL;
	s->threads[s->n_threads].tid = tid;
	return &s->threads[s->n_threads++];
}

/* Returns the signal to hand on: with it the handler is entered, not the next instruction. */
static int on_stop(struct subject *s, struct thread *t, int status)
{
	struct user_regs_struct now;
	int number = WSTOPSIG(status);

	if (number != SIGTRAP || status >> 16 || ptrace(PTRACE_GETREGS, t->tid, NULL, &now)) {
		t->is_known = false;
		return number == SIGTRAP || number == SIGSTOP ? 0 : number;
	}
	if (s->instance.file && s->n_steps % FRESH_STEPS == 0) {
		s->program.view.tables = NULL;
		unwind_procs_exec(s->program.own->procs, s->program.pid);
		look_at_runtime(s);
	}
	traced_look(&s->program);
	follow(s, t, &now);
	t->ip = now.rip;
	t->sp = now.rsp;
	t->is_known = true;
	if (t->n_calls)
		check(s, t, &now);
	s->n_steps++;
	return 0;
}

static void run(struct subject *s)
{
	struct thread *t;
	int status;
	pid_t tid;

	while (s->n_checked < s->wanted && (tid = waitpid(-1, &status, __WALL)) > 0) {
		t = WIFSTOPPED(status) ? find_thread(s, tid) : NULL;
		if (t)
			ptrace(PTRACE_SINGLESTEP, tid, NULL, on_stop(s, t, status));
		else if (tid == s->program.pid)
			break;
	}
}

/* Stops the process's thread of that name; the others go on. */
static bool begin_thread(struct subject *s, const char *name, pid_t pid)
{
	size_t n;
	pid_t *tids = thread_list(pid, &n);
	bool is_stopped = false;
	int status;

	s->program.own = own_tables_new();
	s->program.pid = pid;
	for (size_t i = 0; tids && i < n && !is_stopped; i++) {
		char *comm = thread_file(pid, tids[i], "comm");

		if (comm && !strncmp(comm, name, strlen(name)) && comm[strlen(name)] == '\n')
			is_stopped = !ptrace(PTRACE_SEIZE, tids[i], NULL, 0) &&
				     !ptrace(PTRACE_INTERRUPT, tids[i], NULL, 0) &&
				     waitpid(tids[i], &status, __WALL) == tids[i] &&
				     !ptrace(PTRACE_SINGLESTEP, tids[i], NULL, 0);
		free(comm);
	}
	free(tids);
	return is_stopped && find_runtime(s, pid) && look_at_runtime(s);
}

static bool begin(struct subject *s, int argc, char **argv)
{
	s->program.view.sps = s->sps;
	s->wanted = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
	if (!s->wanted)
		return false;
	if (argc == 5 && !strcmp(argv[2], "-t"))
		return begin_thread(s, argv[3], atoi(argv[4]));
	return traced_begin(&s->program, argv + 2) &&
	       !ptrace(PTRACE_SINGLESTEP, s->program.pid, NULL, 0);
}

int main(int argc, char **argv)
{
	struct subject *s = mem_zalloc(1, sizeof(*s));
	unsigned long wrong;

	if (!begin(s, argc, argv)) {
		fprintf(stderr, "usage: steps NUMBER PROGRAM ARGUMENT...\n"
				"       steps NUMBER -t THREAD PID\n");
		return 2;
	}
	run(s);
	kill(s->program.pid, SIGKILL);
	printf("%lu instructions, %lu with callers that are known: %lu wrong, %lu without a rule, "
	       "%lu incomplete\n",
	       s->n_steps, s->n_checked, s->n_wrong, s->n_short, s->n_cut);
	wrong = s->n_wrong + (s->n_checked < s->wanted);
	own_tables_free(s->program.own);
	free(s);
	return wrong > 0;
}

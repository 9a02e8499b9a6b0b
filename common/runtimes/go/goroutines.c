// SPDX-License-Identifier: GPL-2.0-only
/*
 * Goroutines of a running program; see goroutines.h. A batch of goroutines is read like this:
 *
 *	1. each struct g: state, and where its stack is
 *	2. each stack, and the walk along it, which may read more of a deep one
 *	3. each stack again, if struct g doesn't show that the goroutine has run (up to Go 1.16)
 *	4. each struct g again: all bytes must be the same
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "abi/stack.h"
#include "abi/unwind_layout.h"
#include "base/clock.h"
#include "base/container.h"
#include "base/load.h"
#include "base/mem.h"
#include "base/peek.h"
#include "runtimes/go/goroutines.h"
#include "runtimes/go/layout.h"
#include "unwind/go_rows.h"

#define BATCH	      256
#define G_BYTES_MAX   368 /* bytes read of struct g, in any layout */
#define STACK_BYTES   4096
#define LIST_MAX      (4u << 20)
#define WALK_MAX      65536 /* frames of a walk */
#define ATTEMPTS      3
#define REASONS_MAX   64
#define REASON_BYTES  40
#define DATA_MAX      (64u << 20)
#define REASON_HEADER 48 /* bytes by which the table of reasons is recognized: three strings */

enum status {
	STATUS_IDLE,
	STATUS_RUNNABLE,
	STATUS_RUNNING,
	STATUS_SYSCALL,
	STATUS_WAITING,
	STATUS_DEAD = 6,
	STATUS_COPYSTACK = 8,
	STATUS_PREEMPTED = 9,
	STATUS_LEAKED = 10,
	STATUS_DEADEXTRA = 11,
	STATUS_SCAN = 0x1000,
};

/* A goroutine of a batch. */
struct slot {
	uint64_t addr; /* address of struct g */
	uint8_t before[G_BYTES_MAX], after[G_BYTES_MAX];
	bool has_g, has_stack, is_walked;
	bool is_unseen; /* the time was up before its walk */
	uint64_t pc, sp, bp, link;
	uint64_t stack_at; /* address of stack[] */
	size_t stack_bytes;
	uint8_t stack[STACK_BYTES], again[STACK_BYTES];
	struct go_goroutine found;
};

struct go_goroutines {
	const struct go_program *p;
	const struct go_g_layout *layout;
	struct cfi_table rows;
	char reasons[REASONS_MAX][REASON_BYTES];
	size_t n_reasons;
	bool is_proven;		/* a goroutine matched the layout */
	uint64_t next_proof_ns; /* time of the next attempt */
	size_t n_sweeps;
	uint64_t *list;
	struct slot *slots; /* BATCH elements */
};

static uint64_t g_word(const uint8_t *g, size_t at)
{
	return load_u64(g + at);
}

static uint32_t g_status(const struct go_goroutines *g, const uint8_t *bytes)
{
	return (uint32_t)g_word(bytes, g->layout->status);
}

/* ---- reasons of waiting: runtime.waitReasonStrings ---- */

static bool read_reason(const struct go_goroutines *g, const uint64_t string[2],
			char to[REASON_BYTES])
{
	if (!string[1] || string[1] >= REASON_BYTES ||
	    !peek_all(g->p->pid, string[0], to, string[1]))
		return false;
	to[string[1]] = 0;
	for (size_t i = 0; i < string[1]; i++)
		if (to[i] < ' ' || to[i] > '~')
			return false;
	return true;
}

/* Returns true if words begin the table: "", "GC assist marking", "IO wait". */
static bool begins_reasons(const struct go_goroutines *g, const uint64_t *words)
{
	char text[REASON_BYTES];

	return !words[1] && words[3] == strlen("GC assist marking") &&
	       words[5] == strlen("IO wait") && read_reason(g, words + 2, text) &&
	       !strcmp(text, "GC assist marking") && read_reason(g, words + 4, text) &&
	       !strcmp(text, "IO wait");
}

/* Reads texts from the table on, to the first that is none. Number 0 is empty. */
static void read_reasons(struct go_goroutines *g, uint64_t addr)
{
	uint64_t string[2];

	for (g->n_reasons = 1; g->n_reasons < REASONS_MAX; g->n_reasons++)
		if (!peek_all(g->p->pid, addr + g->n_reasons * sizeof(string), string,
			      sizeof(string)) ||
		    !read_reason(g, string, g->reasons[g->n_reasons]))
			break;
}

static void search_piece(struct go_goroutines *g, uint64_t addr, const uint64_t *words, size_t n)
{
	for (size_t i = 0; !g->n_reasons && i + REASON_HEADER / 8 <= n; i++)
		if (begins_reasons(g, words + i))
			read_reasons(g, addr + i * 8);
}

/* Searches initialized data, which strings are in, piece by piece, until end_ns. */
static void search_segment(struct go_goroutines *g, const Elf64_Phdr *segment, uint64_t end_ns)
{
	uint64_t *words = mem_zalloc(1, PEEK_MAX_BYTES);
	uint64_t at = (segment->p_vaddr + 7) & ~7ULL, end = segment->p_vaddr + segment->p_filesz;
	size_t size;

	for (; !g->n_reasons && at + REASON_HEADER < end && clock_now_ns() < end_ns;
	     at += PEEK_MAX_BYTES - REASON_HEADER) {
		size = end - at < PEEK_MAX_BYTES ? end - at : PEEK_MAX_BYTES;
		size = peek(g->p->pid, at + g->p->bias, words, size);
		search_piece(g, at + g->p->bias, words, size / 8);
	}
	free(words);
}

static void find_reasons(struct go_goroutines *g, uint64_t end_ns)
{
	Elf64_Phdr *segments = elf64_read_segments(&g->p->elf);
	uint64_t max_bytes = DATA_MAX;

	for (size_t i = 0; segments && i < g->p->elf.header.e_phnum; i++) {
		if (segments[i].p_type != PT_LOAD || !(segments[i].p_flags & PF_W) ||
		    segments[i].p_filesz > max_bytes)
			continue;
		max_bytes -= segments[i].p_filesz; /* a forged file may repeat a segment */
		search_segment(g, &segments[i], end_ns);
	}
	free(segments);
}

/* ---- walking ---- */

/* A walk along a goroutine's stack, of which `slot` has the innermost bytes. */
struct walk {
	struct unwind_state state;
	const struct go_goroutines *g;
	struct slot *slot;
	uint64_t high;
	uint64_t before; /* address at which the frame before goexit was looked up */
	uint64_t window; /* address of bytes[] */
	size_t n_bytes;
	uint8_t bytes[STACK_BYTES];
};

static bool copy_bytes(const uint8_t *bytes, uint64_t from, size_t n, void *to, size_t size,
		       uint64_t addr)
{
	if (addr < from || addr - from >= n || n - (addr - from) < size)
		return false;
	memcpy(to, bytes + (addr - from), size);
	return true;
}

static bool unwind_read(struct unwind_state *s, void *dst, __u32 size, __u64 addr)
{
	struct walk *w = container_of(s, struct walk, state);
	const struct slot *slot = w->slot;

	if (addr < slot->stack_at || addr > w->high || size > w->high - addr)
		return false;
	if (copy_bytes(slot->stack, slot->stack_at, slot->stack_bytes, dst, size, addr) ||
	    copy_bytes(w->bytes, w->window, w->n_bytes, dst, size, addr))
		return true;
	w->window = addr;
	w->n_bytes = w->high - addr < STACK_BYTES ? w->high - addr : STACK_BYTES;
	w->n_bytes = peek(w->g->p->pid, addr, w->bytes, w->n_bytes);
	return copy_bytes(w->bytes, w->window, w->n_bytes, dst, size, addr);
}

#include "unwind/walk_outside.h"

/* Moves to the caller. False: no such rule, or not in the stack. */
static bool step(struct unwind_state *s, const struct unwind_rule *rule)
{
	uint64_t sp = s->sp;
	int reason = UNWIND_BAD_RULE;

	if (rule->kind == UNWIND_SP_EXACT)
		reason = unwind_go_interrupted(s, rule);
	else if (!unwind_is_go(rule))
		reason = unwind_by_rule(s, rule);
	return reason == UNWIND_GOES_ON && s->sp >= sp;
}

static bool is_in(const struct go_program *p, enum go_function function, uint64_t pc)
{
	const struct go_func *f = &p->functions[function];

	return pc - p->bias >= f->start && pc - p->bias < f->end;
}

static void note_frame(struct walk *w)
{
	const struct unwind_state *s = &w->state;
	struct go_goroutine *to = &w->slot->found;

	if (to->n < GO_STACK_MAX)
		to->words[to->n++] = s->ip_is_exact ? stack_mark_exact(s->ip) : s->ip;
	else
		to->is_cut = true;
}

/* Walks to the outermost function. False: the stack's contents are not as expected. */
static bool walk_out(struct walk *w)
{
	const struct go_program *p = w->g->p;

	for (size_t i = 0; i < WALK_MAX; i++) {
		uint64_t lookup = w->state.ip - !w->state.ip_is_exact;
		struct unwind_rule rule;

		note_frame(w);
		if (is_in(p, GO_GOEXIT, lookup))
			return true;
		w->before = lookup;
		rule = cfi_find(&w->g->rows, lookup - p->bias);
		if (!step(&w->state, &rule))
			return false;
	}
	return false;
}

/*
 * Returns true for a function's first instruction: the goroutine has not run yet, or the scheduler
 * runs on its behalf. There is no call before it.
 */
static bool is_entry(const struct go_program *p, uint64_t pc)
{
	struct go_func f;

	return gopclntab_find(&p->table, pc - p->bias, &f) && f.start == pc - p->bias;
}

/* Returns true for functions of the runtime's own goroutines. */
static bool is_runtimes(const char *name)
{
	return name && !strncmp(name, "runtime.", 8) && strcmp(name, "runtime.main") != 0;
}

/* The function before goexit must be the one that the goroutine began with. */
static bool begins_at(struct walk *w, uint64_t startpc)
{
	const struct go_program *p = w->g->p;
	struct go_func f;

	if (!gopclntab_find(&p->table, w->before - p->bias, &f) || f.start != startpc - p->bias)
		return false;
	w->slot->found.is_runtimes = is_runtimes(gopclntab_name(&p->table, f.name));
	return true;
}

static bool walk(const struct go_goroutines *g, struct slot *slot)
{
	struct walk w = {
		.state.regs = { .ip = slot->pc, .sp = slot->sp, .bp = slot->bp },
		.g = g,
		.slot = slot,
		.high = g_word(slot->before, UNWIND_GO_STACK_HIGH),
	};

	unwind_begin(&w.state);
	w.state.ip_is_exact = is_entry(g->p, slot->pc);
	w.state.has_registers = false;
	w.state.has_extra = UNWIND_IS_ARM64 && w.state.ip_is_exact;
	w.state.extra = slot->link;
	return walk_out(&w) && begins_at(&w, g_word(slot->before, g->layout->startpc));
}

/* ---- a batch ---- */

static bool status_has_stack(uint32_t status)
{
	return status == STATUS_RUNNABLE || status == STATUS_SYSCALL || status == STATUS_WAITING ||
	       status == STATUS_PREEMPTED || status == STATUS_LEAKED;
}

static void read_all_g(const struct go_goroutines *g, size_t n, bool is_after)
{
	struct peek_piece pieces[BATCH];

	for (size_t i = 0; i < n; i++)
		pieces[i] = (struct peek_piece){ .addr = g->slots[i].addr,
						 .to = is_after ? g->slots[i].after
								: g->slots[i].before,
						 .size = g->layout->bytes };
	peek_pieces(g->p->pid, pieces, n);
	for (size_t i = 0; i < n; i++)
		g->slots[i].has_g = pieces[i].is_read && (!is_after || g->slots[i].has_g);
}

/* Finds where the stack begins. False: the goroutine has none now. */
static bool locate_stack(const struct go_goroutines *g, struct slot *slot)
{
	const uint8_t *before = slot->before;
	uint64_t low = g_word(before, 0), high = g_word(before, UNWIND_GO_STACK_HIGH);
	uint32_t status = g_status(g, before);

	if (!slot->has_g || !status_has_stack(status) ||
	    g_word(before, g->layout->sched_g) != slot->addr)
		return false;
	slot->pc = g_word(before, g->layout->sched_pc);
	slot->sp = g_word(before, g->layout->sched_sp);
	slot->bp = g_word(before, g->layout->sched_bp);
	slot->link = g_word(before, g->layout->sched_bp - sizeof(uint64_t));
	if (status == STATUS_SYSCALL && g_word(before, g->layout->syscall_sp)) {
		slot->pc = g_word(before, g->layout->syscall_pc);
		slot->sp = g_word(before, g->layout->syscall_sp);
		slot->bp = 0;
	}
	if (slot->sp < low + UNWIND_RECORD_BELOW || slot->sp >= high || slot->sp & 7)
		return false;
	slot->stack_at = slot->sp - UNWIND_RECORD_BELOW;
	slot->stack_bytes =
		high - slot->stack_at < STACK_BYTES ? high - slot->stack_at : STACK_BYTES;
	return true;
}

/* Reads the stacks of all slots that have one. */
static void read_stacks(const struct go_goroutines *g, size_t n, bool is_again)
{
	struct peek_piece pieces[BATCH];
	size_t n_pieces = 0, at = 0;

	for (size_t i = 0; i < n; i++)
		if (g->slots[i].has_stack)
			pieces[n_pieces++] =
				(struct peek_piece){ .addr = g->slots[i].stack_at,
						     .to = is_again ? g->slots[i].again
								    : g->slots[i].stack,
						     .size = g->slots[i].stack_bytes };
	peek_pieces(g->p->pid, pieces, n_pieces);
	for (size_t i = 0; i < n; i++)
		if (g->slots[i].has_stack)
			g->slots[i].has_stack = pieces[at++].is_read;
}

/* Walks all stacks, until end_ns: a walk may be long. */
static void walk_all(const struct go_goroutines *g, size_t n, uint64_t end_ns)
{
	for (size_t i = 0; i < n; i++) {
		struct slot *slot = &g->slots[i];

		slot->found.n = 0;
		slot->found.is_cut = false;
		slot->is_unseen = slot->has_stack && clock_now_ns() > end_ns;
		slot->is_walked = slot->has_stack && !slot->is_unseen && walk(g, slot);
	}
}

static void read_batch(const struct go_goroutines *g, size_t n, uint64_t end_ns)
{
	read_all_g(g, n, false);
	for (size_t i = 0; i < n; i++)
		g->slots[i].has_stack = locate_stack(g, &g->slots[i]);
	read_stacks(g, n, false);
	walk_all(g, n, end_ns);
	if (!g->layout->counts_runs)
		read_stacks(g, n, true);
	read_all_g(g, n, true);
}

static bool is_same_stack(const struct slot *slot)
{
	return !slot->has_stack || !memcmp(slot->stack, slot->again, slot->stack_bytes);
}

/* Returns true if the goroutine has not changed since it was read. */
static bool is_unchanged(const struct go_goroutines *g, const struct slot *slot)
{
	uint32_t status = g_status(g, slot->before);

	return slot->has_g && !(status & STATUS_SCAN) && status != STATUS_COPYSTACK &&
	       !memcmp(slot->before, slot->after, g->layout->bytes) &&
	       (g->layout->counts_runs || is_same_stack(slot));
}

static const char *state_of(const struct go_goroutines *g, const uint8_t *bytes)
{
	uint8_t reason = bytes[g->layout->waitreason];

	switch (g_status(g, bytes) & ~(uint32_t)STATUS_SCAN) {
	case STATUS_RUNNABLE:
	case STATUS_PREEMPTED:
		return "runnable";
	case STATUS_RUNNING:
	case STATUS_COPYSTACK:
		return "running";
	case STATUS_SYSCALL:
		return "syscall";
	case STATUS_WAITING:
	case STATUS_LEAKED:
		return reason && reason < g->n_reasons ? g->reasons[reason] : "waiting";
	default:
		return NULL; /* ended, or not begun */
	}
}

/* ---- a sweep ---- */

struct sweeping {
	struct go_goroutines *g;
	struct go_sweep *sweep;
	void (*visit)(const struct go_goroutine *goroutine, void *arg);
	void *arg;
	uint64_t end_ns;
	bool is_last; /* the last attempt: changed goroutines are reported without a stack */
};

static void describe(const struct go_goroutines *g, struct slot *slot)
{
	struct go_goroutine *found = &slot->found;

	found->id = g_word(slot->before, g->layout->goid);
	found->state = state_of(g, slot->before);
	found->waits_since_ns = g_status(g, slot->before) == STATUS_WAITING
					? g_word(slot->before, g->layout->waitsince)
					: 0;
}

/* Counts the goroutine by how it was read. */
static void count(struct go_sweep *sweep, const struct slot *slot, bool is_running, bool is_steady)
{
	sweep->n++;
	if (is_running)
		sweep->running++;
	else if (!is_steady)
		sweep->changed++;
	else if (!slot->is_walked)
		sweep->incomplete++;
	else
		sweep->with_stack++;
}

/* Reports a goroutine. Returns false if it has to be read again. */
static bool take(const struct sweeping *s, struct slot *slot)
{
	bool is_running, is_steady = is_unchanged(s->g, slot);

	if (!slot->has_g)
		return true;
	if (slot->is_unseen) {
		s->sweep->unseen++;
		return true;
	}
	describe(s->g, slot);
	if (!slot->found.state)
		return true;
	is_running = g_status(s->g, slot->before) == STATUS_RUNNING;
	if (!is_steady && !is_running && !s->is_last)
		return false;
	count(s->sweep, slot, is_running, is_steady);
	if (!is_steady || !slot->is_walked)
		slot->found.n = 0;
	s->visit(&slot->found, s->arg);
	return true;
}

/* Reads a batch of addresses; moves those to be read again to `again`. Returns their number. */
static size_t sweep_batch(struct sweeping *s, const uint64_t *addrs, size_t n, uint64_t *again)
{
	struct go_goroutines *g = s->g;
	size_t n_again = 0;

	for (size_t i = 0; i < n; i++)
		g->slots[i].addr = addrs[i];
	read_batch(g, n, s->end_ns);
	for (size_t i = 0; i < n; i++)
		if (!take(s, &g->slots[i]))
			again[n_again++] = addrs[i];
	return n_again;
}

/* Tries to read n addresses of the list. Returns the number of those to be read again. */
static size_t attempt(struct sweeping *s, size_t n)
{
	size_t n_again = 0, size;

	for (size_t at = 0; at < n; at += size) {
		size = n - at < BATCH ? n - at : BATCH;
		if (clock_now_ns() > s->end_ns) {
			s->sweep->unseen += n - at;
			break;
		}
		n_again += sweep_batch(s, s->g->list + at, size, s->g->list + n_again);
	}
	return n_again;
}

/* Reads runtime.allgs. *n: its length. */
static int read_list(struct go_goroutines *g, size_t *n)
{
	uint64_t slice[3];

	if (!peek_all(g->p->pid, g->p->variables[GO_ALLGS], slice, sizeof(slice)) ||
	    slice[1] > slice[2])
		return -EFAULT;
	*n = slice[1] < LIST_MAX ? slice[1] : LIST_MAX;
	g->list = mem_realloc(g->list, *n + 1, sizeof(*g->list));
	return peek_all(g->p->pid, slice[0], g->list, *n * sizeof(*g->list)) ? 0 : -EFAULT;
}

/* ---- proof of the layout ---- */

#define RESIDENT     64 /* goroutines among which the runtime's own are */
#define PROOF_MAX_NS (2 * NS_PER_S)
#define PROOF_REST   20 /* time until the next attempt, as a multiple of the last one's time */

/*
 * Checks the layout by a goroutine that every program has: the one that began with forcegchelper
 * must wait for the reason "force gc (idle)".
 */
static void check_resident(const struct go_goroutine *goroutine, void *arg)
{
	struct go_goroutines *g = arg;

	if (goroutine->n >= 2 &&
	    is_in(g->p, GO_FORCE_GC, stack_address(goroutine->words[goroutine->n - 2]) - 1) &&
	    !strcmp(goroutine->state, "force gc (idle)"))
		g->is_proven = true;
}

/* Returns false also while the program is starting, whose strings may not be relocated yet. */
static bool prove_layout(struct go_goroutines *g)
{
	struct go_sweep counts = {};
	uint64_t begin_ns = clock_now_ns(), end_ns = begin_ns + PROOF_MAX_NS;
	struct sweeping s = { g, &counts, check_resident, g, end_ns, true };
	size_t n;

	if (begin_ns < g->next_proof_ns)
		return false;
	g->n_reasons = 0;
	find_reasons(g, end_ns);
	for (int i = 0; !g->is_proven && i < ATTEMPTS && !read_list(g, &n); i++)
		attempt(&s, n < RESIDENT ? n : RESIDENT);
	end_ns = clock_now_ns();
	g->next_proof_ns = end_ns + (end_ns - begin_ns) * PROOF_REST;
	return g->is_proven;
}

/* ---- all goroutines ---- */

/*
 * Reduces the list to at most max_n addresses, at equal distances; to different ones at each sweep.
 */
static size_t thin_out(struct go_goroutines *g, size_t n, size_t max_n, struct go_sweep *sweep)
{
	size_t n_left = 0;

	sweep->one_in = (n + max_n - 1) / max_n;
	if (sweep->one_in <= 1) {
		sweep->one_in = 1;
		return n;
	}
	for (size_t i = g->n_sweeps++ % sweep->one_in; i < n; i += sweep->one_in)
		g->list[n_left++] = g->list[i];
	return n_left;
}

int go_goroutines_sweep(struct go_goroutines *g, uint64_t max_ns, size_t max_n,
			struct go_sweep *sweep,
			void (*visit)(const struct go_goroutine *goroutine, void *arg), void *arg)
{
	struct sweeping s = { .g = g, .sweep = sweep, .visit = visit, .arg = arg };
	size_t n;

	*sweep = (struct go_sweep){};
	if (!g->is_proven && !prove_layout(g))
		return -EAGAIN;
	if (read_list(g, &n))
		return -EFAULT;
	s.end_ns = clock_now_ns() + max_ns;
	n = thin_out(g, n, max_n, sweep);
	for (int i = 0; n && i < ATTEMPTS; i++) {
		s.is_last = i == ATTEMPTS - 1;
		n = attempt(&s, n);
	}
	return 0;
}

/* ---- opening ---- */

static const char *why_impossible(const struct go_program *p)
{
	if (!go_g_layout(p->release))
		return "its release of Go is unknown";
	if (!p->variables[GO_ALLGS] || !p->functions[GO_GOEXIT].end)
		return "the Go runtime's list of goroutines was not found";
	return NULL;
}

struct go_goroutines *go_goroutines_open(const struct go_program *p, const char **why)
{
	struct go_goroutines *g;

	*why = why_impossible(p);
	if (*why)
		return NULL;
	g = mem_zalloc(1, sizeof(*g));
	g->p = p;
	g->layout = go_g_layout(p->release);
	g->slots = mem_zalloc(BATCH, sizeof(*g->slots));
	go_rows_fill(&g->rows, &p->elf);
	return g;
}

void go_goroutines_free(struct go_goroutines *g)
{
	if (!g)
		return;
	cfi_free(&g->rows);
	free(g->list);
	free(g->slots);
	free(g);
}

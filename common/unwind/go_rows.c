// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unwind rows of Go code; see go_rows.h. All compiled frames are alike (go_code.h). Special cases
 * are assembly, and the few runtime functions that switch stacks or have no caller.
 */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "elf/gopclntab.h"
#include "unwind/go_code.h"
#include "unwind/go_rows.h"

/* limit of code bytes searched per function: the largest one has some hundred */
#define CODE_MAX_BYTES 4096
#define FRAME_MAX      (1 << 30)
#define LONG_NAME      256 /* longer than any searched name: names may have any length */
#define LONG_PATH      4096

struct builder {
	const struct go_machine *machine;
	const struct gopclntab *table;
	struct cfi_table rows;
	bool has_flags;
	struct unwind_rule go_stack; /* leads from the scheduler's stack to the goroutine's */
};

/* Special roles of functions. */
enum role {
	ROLE_NONE,
	ROLE_ROOT,	  /* has no caller */
	ROLE_SIGNAL,	  /* the trampoline that signal handlers return to */
	ROLE_INJECTED,	  /* made to look as if the interrupted code had called it */
	ROLE_LEAVES,	  /* switches stacks for good: the new stack begins here */
	ROLE_JUMPS,	  /* switches to any stack for good */
	ROLE_SYSTEMSTACK, /* calls on the scheduler's stack */
	ROLE_MORESTACK,	  /* calls on the scheduler's stack, then restarts its caller */
};

static const struct {
	const char *name;
	enum role role;
} roles[] = {
	{ "goexit", ROLE_ROOT },
	{ "mstart", ROLE_ROOT },
	{ "rt0_go", ROLE_ROOT },
	{ "sigreturn", ROLE_SIGNAL },
	{ "sigreturn__sigaction", ROLE_SIGNAL },
	{ "asyncPreempt", ROLE_INJECTED },
	{ "sigpanic", ROLE_INJECTED },
	{ "mcall", ROLE_LEAVES },
	{ "clone", ROLE_LEAVES },
	{ "switchToCrashStack0", ROLE_LEAVES },
	{ "gogo", ROLE_JUMPS },
	{ "systemstack", ROLE_SYSTEMSTACK },
	{ "morestack", ROLE_MORESTACK },
};

static const struct unwind_rule rule_gap = { .kind = UNWIND_GAP },
				rule_end = { .kind = UNWIND_END },
				rule_bad = { .kind = UNWIND_BAD },
				rule_signal = { .kind = UNWIND_SIGNAL };

static const char *name_of(const struct builder *b, const struct go_func *f)
{
	const char *name = gopclntab_name(b->table, f->name);

	return name ? name : "";
}

static enum role role_of(const char *name)
{
	if (strnlen(name, LONG_NAME) == LONG_NAME)
		return ROLE_NONE;
	if (!strncmp(name, "_rt0_", 5) && !strstr(name, "_lib"))
		return ROLE_ROOT; /* the program's entry */
	if (strncmp(name, "runtime.", 8))
		return ROLE_NONE;
	for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
		if (!strcmp(name + 8, roles[i].name))
			return roles[i].role;
	return ROLE_NONE;
}

/* Appends a row; drops it if the table is full. */
static void append(struct builder *b, uint64_t vaddr, struct unwind_rule rule)
{
	cfi_append(&b->rows, vaddr, &rule);
}

static struct unwind_rule frame_rule(const struct builder *b, enum role role, int32_t frame_bytes,
				     int32_t bp_off)
{
	if (frame_bytes < 0 || frame_bytes > FRAME_MAX)
		return rule_bad;
	return b->machine->frame_rule(frame_bytes, role == ROLE_INJECTED, bp_off);
}

/* ---- what the compiler has made ---- */

static void add_compiled(struct builder *b, const struct go_func *f, enum role role)
{
	struct go_values v = go_values_begin(b->table, f, f->frame_sizes);

	append(b, f->start, f->frame_sizes ? frame_rule(b, role, 0, 0) : rule_gap);
	while (go_values_next(&v) && v.start < f->end)
		append(b, v.start, frame_rule(b, role, v.value, b->machine->usual_bp_off(v.value)));
}

/* ---- assembly ---- */

/* A function's code and its effects. Addresses: UINT64_MAX: never. */
struct assembly {
	const struct go_func *f;
	enum role role;
	struct go_code code;
	struct go_saved saved;
	uint64_t saved_from; /* address after the instruction that saves rbp or x29 */
	uint64_t away, back; /* from away to back, the function runs on another stack */
	struct unwind_rule elsewhere;
};

static struct go_code read_code(const struct builder *b, const struct go_func *f)
{
	uint64_t bytes = f->end - f->start;
	struct go_code code = { .size = bytes < CODE_MAX_BYTES ? bytes : CODE_MAX_BYTES };

	code.bytes = elf64_read_vaddr(&b->table->elf, f->start, code.size, CODE_MAX_BYTES);
	if (!code.bytes)
		code.size = 0;
	return code;
}

static void free_code(struct go_code *code)
{
	free((void *)code->bytes);
}

static void find_saved(const struct builder *b, struct assembly *a)
{
	struct go_values v = go_values_begin(b->table, a->f, a->f->frame_sizes);

	a->saved_from = UINT64_MAX;
	while (go_values_next(&v) && v.start < a->f->end) {
		if (!b->machine->find_saved(&a->code, v.start - a->f->start, v.end - a->f->start,
					    v.value, &a->saved))
			continue;
		a->saved_from = a->f->start + a->saved.from;
		return;
	}
}

static bool has_usual_frame(const struct builder *b, const struct assembly *a)
{
	return a->saved.bp_off && a->saved.bp_off == b->machine->usual_bp_off(a->saved.frame_bytes);
}

static struct unwind_rule rule_by_switch(const struct builder *b, const struct assembly *a)
{
	return b->machine->find_switch(&a->code, &a->saved, a->away - a->f->start);
}

/*
 * Returns the rule while on another stack. A goroutine's stack may have been moved meanwhile, which
 * invalidates its old addresses.
 */
static struct unwind_rule rule_elsewhere(const struct builder *b, const struct assembly *a)
{
	struct unwind_rule rule = b->go_stack;

	switch (a->role) {
	case ROLE_LEAVES:
		return rule_end;
	case ROLE_JUMPS:
		return rule_bad;
	case ROLE_MORESTACK:
		if (rule.kind == UNWIND_BAD)
			return rule_end;
		rule.bp_kind = UNWIND_GO_SAVED;
		return rule;
	case ROLE_SYSTEMSTACK:
		if (rule.kind == UNWIND_BAD)
			return rule_by_switch(b, a);
		rule.bp_kind = has_usual_frame(b, a) ? UNWIND_GO_FRAMED : UNWIND_GO_CALLED;
		return rule;
	default:
		return rule_by_switch(b, a);
	}
}

static bool returns(const struct assembly *a)
{
	return a->role != ROLE_LEAVES && a->role != ROLE_JUMPS && a->role != ROLE_MORESTACK &&
	       a->elsewhere.kind != UNWIND_BAD;
}

static bool may_move_stack(const struct builder *b, const struct assembly *a)
{
	return b->has_flags ? a->f->flags & GO_SPWRITE
			    : !strncmp(name_of(b, a->f), "runtime.", 8) ||
				      !strncmp(name_of(b, a->f), "time.", 5);
}

static void find_moves(const struct builder *b, struct assembly *a)
{
	size_t first, last;

	a->away = a->back = UINT64_MAX;
	if (!may_move_stack(b, a) || !b->machine->moves_stack(&a->code, &first, &last))
		return;
	a->away = a->f->start + first;
	a->elsewhere = rule_elsewhere(b, a);
	a->back = returns(a) ? a->f->start + last : a->f->end;
}

static struct unwind_rule assembly_rule(const struct builder *b, const struct assembly *a,
					uint64_t vaddr, int32_t frame_bytes)
{
	if (vaddr >= a->away && vaddr < a->back)
		return a->elsewhere;
	return frame_rule(b, a->role, frame_bytes,
			  frame_bytes && vaddr >= a->saved_from ? a->saved.bp_off : 0);
}

/* Adds rows for a range with one frame size, split where other properties change. */
static void add_range(struct builder *b, const struct assembly *a, const struct go_values *v)
{
	const uint64_t edges[] = { a->saved_from, a->away, a->back };
	uint64_t end = v->end < a->f->end ? v->end : a->f->end, next;

	for (uint64_t at = v->start; at < end; at = next) {
		next = end;
		for (size_t i = 0; i < ARRAY_SIZE(edges); i++)
			if (edges[i] > at && edges[i] < next)
				next = edges[i];
		append(b, at, assembly_rule(b, a, at, v->value));
	}
}

static void add_assembly(struct builder *b, const struct go_func *f, enum role role)
{
	struct go_values v = go_values_begin(b->table, f, f->frame_sizes);
	struct assembly a = { .f = f, .role = role, .code = read_code(b, f) };

	find_saved(b, &a);
	find_moves(b, &a);
	append(b, f->start, f->frame_sizes ? frame_rule(b, role, 0, 0) : rule_gap);
	while (go_values_next(&v) && v.start < f->end)
		add_range(b, &a, &v);
	free_code(&a.code);
}

static bool is_assembly(const struct builder *b, const struct go_func *f)
{
	const char *file, *suffix;

	if (b->has_flags)
		return f->flags & (GO_ASM | GO_SPWRITE);
	file = gopclntab_file(b->table, f, f->start);
	suffix = file ? memrchr(file, '.', strnlen(file, LONG_PATH)) : NULL;
	return suffix && !strcmp(suffix, ".s");
}

/* ---- all functions ---- */

static void add_function(struct builder *b, const struct go_func *f)
{
	enum role role = role_of(name_of(b, f));

	if (role == ROLE_ROOT)
		append(b, f->start, rule_end);
	else if (role == ROLE_SIGNAL) /* start - 1: where return addresses are looked up */
		append(b, f->start - 1, rule_signal);
	else if (is_assembly(b, f))
		add_assembly(b, f, role);
	else
		add_compiled(b, f, role);
}

/* Returns true if functions have flags, as since Go 1.17. */
static bool has_flags(const struct gopclntab *table)
{
	struct go_func f;

	for (size_t i = 0; i < table->n_funcs; i++)
		if (gopclntab_func(table, i, &f) && f.flags & (GO_ASM | GO_TOPFRAME))
			return true;
	return false;
}

/* Finds the code of the first function with each of these roles. */
static void find_codes(const struct builder *b, struct go_code *systemstack,
		       struct go_code *morestack)
{
	struct go_func f;

	for (size_t i = 0; i < b->table->n_funcs; i++) {
		enum role role = ROLE_NONE;

		if (gopclntab_func(b->table, i, &f))
			role = role_of(name_of(b, &f));
		if (role == ROLE_SYSTEMSTACK && !systemstack->bytes)
			*systemstack = read_code(b, &f);
		if (role == ROLE_MORESTACK && !morestack->bytes)
			*morestack = read_code(b, &f);
	}
}

static void learn_stacks(struct builder *b)
{
	struct go_code systemstack = { .bytes = NULL }, morestack = { .bytes = NULL };

	find_codes(b, &systemstack, &morestack);
	b->go_stack = b->machine->find_stack(&systemstack, &morestack);
	free_code(&systemstack);
	free_code(&morestack);
}

/*
 * Adds all functions in ascending order. Drops functions that overlap, or are not in the segment:
 * so all tables of values together have at most as many steps as there are bytes of code.
 */
static void add_functions(struct builder *b, const Elf64_Phdr *text)
{
	uint64_t end = text->p_vaddr;
	struct go_func f;

	for (size_t i = 0; i < b->table->n_funcs; i++) {
		if (!gopclntab_func(b->table, i, &f) || f.start < end ||
		    f.end - text->p_vaddr > text->p_filesz)
			continue;
		if (f.start > end)
			append(b, end, rule_gap);
		add_function(b, &f);
		end = f.end;
	}
	append(b, end, rule_gap);
}

static void build(struct builder *b)
{
	struct go_func first;
	Elf64_Phdr text;

	if (!gopclntab_func(b->table, 0, &first) ||
	    elf64_find_load(&b->table->elf, first.start, &text) || !(text.p_flags & PF_X))
		return;
	b->has_flags = has_flags(b->table);
	learn_stacks(b);
	add_functions(b, &text);
}

/* Adds the rows, of which the last one is a gap. */
static void add_to(struct cfi_table *t, struct cfi_table *rows)
{
	size_t n = rows->count - 1;

	if (t->count) {
		cfi_fill_gap_from(t, rows, n, cfi_vaddr(rows, n));
		cfi_free(rows);
		return;
	}
	cfi_free(t);
	*t = *rows;
}

void go_rows_fill(struct cfi_table *t, const struct elf64 *elf)
{
	struct gopclntab table;
	struct builder b = { .machine = elf->header.e_machine == EM_X86_64 ? &go_machine_x86
									   : &go_machine_arm64,
			     .table = &table };

	if (gopclntab_open(&table, elf))
		return;
	build(&b);
	gopclntab_close(&table);
	if (b.rows.count > 1)
		add_to(t, &b.rows);
	else
		cfi_free(&b.rows);
}

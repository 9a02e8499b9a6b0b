// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares the unwind tables of unwind/cfi with what readelf makes of the same files: every address
 * from the first FDE to the last, CFA, rbp, rsp and return address (arm64: x29, sp). readelf shows
 * expressions only as "exp", so their text is taken from its raw listing and has to be one of those
 * of the same FDE or CIE. Where a CIE says that rbp was saved and DW_CFA_restore undoes it, readelf
 * follows DWARF and unwind/cfi follows libgcc (see cfi.c): such rows are counted apart.
 *
 *	compare <LIST		of paths, one per line: differences, totals; 1 if any
 *	compare FILE		prints the rows of a file
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/addrsort.h"
#include "base/array.h"
#include "base/mem.h"
#include "image.h"
#include "unwind/cfi.h"

#define SHOWN_PER_FILE 5

static bool is_arm64; /* the file that is compared */

/* Kinds of cells that readelf prints for a register. */
enum cell_kind {
	CELL_UNSAID, /* no such column, "u" or "n": not mentioned or undefined; "s" */
	CELL_AT_CFA,
	CELL_IS_CFA,
	CELL_EXPR,
	CELL_REG,
	CELL_OTHER,
};

struct cell {
	enum cell_kind kind;
	bool is_undefined; /* "u" */
	unsigned int reg;
	long off;
};

struct line {
	uint64_t vaddr;
	bool is_expr; /* the CFA */
	char cfa_reg[8];
	long cfa_off;
	struct cell bx, bp, sp, ra;
};

/* The meaning of one expression in the raw listing. */
struct expr {
	uint64_t record; /* its offset in the section */
	bool is_cfa;	 /* else of rbp */
	struct unwind_rule rule;
};

struct record {
	uint64_t offset, cie_offset, start, end;
	bool is_cie, is_signal, restores_bp;
	size_t first, n; /* lines */
};

struct listing {
	struct record *records;
	size_t n_records, records_cap;
	struct line *lines;
	size_t n_lines, lines_cap;
	struct expr *exprs;
	size_t n_exprs, exprs_cap;
	bool needs_raw;
	int bx, bp, sp, ra; /* columns; -1: none */
};

static struct {
	size_t files, not_linked, other_machine, no_eh_frame, broken;
	size_t fdes, bad_fdes, lines, rows, differences, expressions, bad_lines, signal_lines;
	size_t undefined_bp, overlaps, restored;
} total;

/* ---- readelf's listings ---- */

static FILE *open_readelf(const char *dump, const char *path, pid_t *pid)
{
	int fds[2];

	if (pipe(fds))
		return NULL;
	*pid = fork();
	if (*pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(fds[1], STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		close(fds[0]);
		close(fds[1]);
		setenv("LC_ALL", "C", 1);
		execlp("readelf", "readelf", "-W", dump, path, (char *)NULL);
		_exit(127);
	}
	close(fds[1]);
	return fdopen(fds[0], "r");
}

static void check_readelf(FILE *f, pid_t pid)
{
	int status;

	fclose(f);
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
		fprintf(stderr, "compare: no readelf\n");
		exit(2);
	}
}

static void read_columns(struct listing *l, char *text)
{
	int column = 0;

	l->bx = l->bp = l->sp = l->ra = -1;
	for (char *w = strtok(text, " \n"); w; w = strtok(NULL, " \n"), column++) {
		if (!strcmp(w, "rbx"))
			l->bx = column;
		else if (!strcmp(w, is_arm64 ? "x29" : "rbp"))
			l->bp = column;
		else if (!strcmp(w, is_arm64 ? "sp" : "rsp"))
			l->sp = column;
		else if (!strcmp(w, "ra"))
			l->ra = column;
	}
}

static struct cell read_cell(const char *w)
{
	struct cell c = { .kind = CELL_OTHER };

	if (!strcmp(w, "u") || !strcmp(w, "s") || !strcmp(w, "n")) {
		c.kind = CELL_UNSAID;
		c.is_undefined = w[0] == 'u';
	} else if (w[0] == 'c' && strchr("+-", w[1])) {
		c.kind = CELL_AT_CFA;
		c.off = strtol(w + 1, NULL, 10);
	} else if (w[0] == 'v' && strchr("+-", w[1])) {
		c.kind = CELL_IS_CFA;
		c.off = strtol(w + 1, NULL, 10);
	} else if (!strcmp(w, "exp")) {
		c.kind = CELL_EXPR;
	} else if (sscanf(w, "r%u", &c.reg) == 1) { /* DWARF's number; the name follows */
		c.kind = CELL_REG;
	}
	return c;
}

static void read_cfa(struct listing *l, struct line *line, const char *w)
{
	size_t n = strcspn(w, "+-");

	line->is_expr = !strcmp(w, "exp");
	l->needs_raw |= line->is_expr;
	snprintf(line->cfa_reg, sizeof(line->cfa_reg), "%.*s", (int)n, w);
	line->cfa_off = strtol(w + n, NULL, 10);
}

static void read_line(struct listing *l, char *text)
{
	struct line line = { .vaddr = 0 };
	int column = 0;

	for (char *w = strtok(text, " \n"); w; w = strtok(NULL, " \n")) {
		if (w[0] == '(') /* of "r9 (r9)" */
			continue;
		if (column == 0)
			line.vaddr = strtoull(w, NULL, 16);
		else if (column == 1)
			read_cfa(l, &line, w);
		else if (column == l->bx)
			line.bx = read_cell(w);
		else if (column == l->bp)
			line.bp = read_cell(w);
		else if (column == l->sp)
			line.sp = read_cell(w);
		else if (column == l->ra)
			line.ra = read_cell(w);
		column++;
	}
	l->needs_raw |= line.bp.kind == CELL_EXPR ||
			(line.bp.kind == CELL_AT_CFA && l->records[l->n_records - 1].is_cie);
	l->lines = mem_grow(l->lines, l->n_lines, &l->lines_cap, sizeof(line));
	l->lines[l->n_lines++] = line;
	l->records[l->n_records - 1].n++;
}

/* "00000018 0000000000000024 0000001c FDE cie=00000000 pc=0000000000026000..0000000000026360" */
static bool read_record(struct record *r, const char *text)
{
	const char *cie = strstr(text, " CIE"), *fde = strstr(text, " FDE cie="), *quote;

	if (!cie && !fde)
		return false;
	*r = (struct record){ .offset = strtoull(text, NULL, 16), .is_cie = cie };
	if (fde)
		return sscanf(fde, " FDE cie=%lx pc=%lx..%lx", &r->cie_offset, &r->start,
			      &r->end) == 3;
	quote = strchr(cie, '"');
	r->is_signal = quote && memchr(quote + 1, 'S', strcspn(quote + 1, "\""));
	return true;
}

static void read_frames_line(struct listing *l, char *text)
{
	struct record r;

	if (read_record(&r, text)) {
		r.first = l->n_lines;
		l->records =
			mem_grow(l->records, l->n_records, &l->records_cap, sizeof(*l->records));
		l->records[l->n_records++] = r;
	} else if (!strncmp(text, "   LOC", 6)) {
		read_columns(l, text);
	} else if (l->n_records && strspn(text, "0123456789abcdef") == 16) {
		read_line(l, text);
	}
}

/* The rule that an expression's text stands for. */
static struct unwind_rule parse_cfa(const char *text)
{
	struct unwind_rule rule = { .kind = UNWIND_BAD };
	int reg, at, plus = 0, n = 0;

	if (sscanf(text,
		   "(DW_OP_breg7 (rsp): 8; DW_OP_breg16 (rip): 0; DW_OP_lit15; DW_OP_and; "
		   "DW_OP_lit%d; DW_OP_ge; DW_OP_lit3; DW_OP_shl; DW_OP_plus)%n",
		   &at, &n) == 1 &&
	    n)
		return (struct unwind_rule){ .kind = UNWIND_PLT, .cfa_off = at };
	if ((sscanf(text, "(DW_OP_breg%d (%*[a-z]): %d; DW_OP_deref)%n", &reg, &at, &n) == 2 &&
	     n) ||
	    (sscanf(text, "(DW_OP_breg%d (%*[a-z]): %d; DW_OP_deref; DW_OP_plus_uconst: %d)%n",
		    &reg, &at, &plus, &n) == 3 &&
	     n)) {
		if (reg == 6 || reg == 7)
			rule.kind = reg == 6 ? UNWIND_BP_DEREF : UNWIND_SP_DEREF;
		rule.cfa_off = unwind_pack_deref(at, plus);
	}
	return rule;
}

static struct unwind_rule parse_bp(const char *text)
{
	struct unwind_rule rule = { .bp_kind = UNWIND_BP_LOST };
	int off, n = 0;

	if (sscanf(text, "(DW_OP_breg6 (rbp): %d)%n", &off, &n) == 1 && n) {
		rule.bp_kind = UNWIND_BP_AT_BP;
		rule.bp_off = (__s16)off;
	}
	return rule;
}

static struct record *find_record(const struct listing *l, uint64_t offset)
{
	size_t low = 0, high = l->n_records;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (l->records[mid].offset < offset)
			low = mid + 1;
		else
			high = mid;
	}
	return low < l->n_records && l->records[low].offset == offset ? &l->records[low] : NULL;
}

static void note_restore(struct listing *l, uint64_t offset)
{
	struct record *r = find_record(l, offset);

	if (r)
		r->restores_bp = true;
}

static void read_raw_line(struct listing *l, const char *text, uint64_t *record)
{
	static const char cfa[] = "DW_CFA_def_cfa_expression ";
	const char *bp =
		is_arm64 ? "DW_CFA_expression: r29 (x29) " : "DW_CFA_expression: r6 (rbp) ";
	const char *at;
	struct record r;
	struct expr e;

	if (read_record(&r, text)) {
		*record = r.offset;
		return;
	}
	e = (struct expr){ .record = *record };
	if ((at = strstr(text, cfa))) {
		e.is_cfa = true;
		e.rule = parse_cfa(at + strlen(cfa));
	} else if ((at = strstr(text, bp))) {
		e.rule = parse_bp(at + strlen(bp));
	} else {
		if (strstr(text, "DW_CFA_restore: r6 "))
			note_restore(l, *record);
		return;
	}
	l->exprs = mem_grow(l->exprs, l->n_exprs, &l->exprs_cap, sizeof(e));
	l->exprs[l->n_exprs++] = e;
}

static void read_listing(struct listing *l, const char *path, bool raw)
{
	bool is_eh_frame = false;
	uint64_t record = 0;
	char *text = NULL;
	size_t cap = 0;
	pid_t pid = 0;
	FILE *f = open_readelf(raw ? "--debug-dump=frames,no-follow-links"
				   : "--debug-dump=frames-interp,no-follow-links",
			       path, &pid);

	while (f && getline(&text, &cap, f) > 0) {
		if (!strncmp(text, "Contents of the ", 16))
			is_eh_frame = !strncmp(text + 16, ".eh_frame ", 10);
		else if (is_eh_frame && raw)
			read_raw_line(l, text, &record);
		else if (is_eh_frame)
			read_frames_line(l, text);
	}
	free(text);
	check_readelf(f, pid);
}

/* ---- comparing ---- */

static bool has_expr(const struct listing *l, const struct record *fde, bool is_cfa,
		     struct unwind_rule rule)
{
	total.expressions++;
	for (size_t i = 0; i < l->n_exprs; i++) {
		const struct expr *e = &l->exprs[i];

		if (e->is_cfa != is_cfa ||
		    (e->record != fde->offset && e->record != fde->cie_offset))
			continue;
		if (is_cfa ? e->rule.kind == rule.kind &&
				     (rule.kind == UNWIND_BAD || e->rule.cfa_off == rule.cfa_off)
			   : e->rule.bp_kind == rule.bp_kind && e->rule.bp_off == rule.bp_off)
			return true;
	}
	return false;
}

/* The CIE's place of rbp, given up by the FDE or by the CIE itself. */
static bool is_restored(const struct listing *l, const struct record *fde, const struct cell *bp,
			struct unwind_rule rule)
{
	const struct record *cie = find_record(l, fde->cie_offset);
	const struct cell *place = cie && cie->n ? &l->lines[cie->first + cie->n - 1].bp : NULL;

	if (!place || place->kind != CELL_AT_CFA || place->off != bp->off ||
	    rule.bp_kind != UNWIND_BP_SAME || !(fde->restores_bp || cie->restores_bp))
		return false;
	total.restored++;
	return true;
}

static int bp_unit(void)
{
	return is_arm64 ? 8 : 1;
}

/* In the sixteen bits of unwind_rule.bp_off. */
static bool fits(long off)
{
	return off % bp_unit() == 0 && off / bp_unit() >= INT16_MIN && off / bp_unit() <= INT16_MAX;
}

static bool is_bp_right(const struct listing *l, const struct record *fde, const struct cell *bp,
			struct unwind_rule rule)
{
	switch (bp->kind) {
	case CELL_UNSAID: /* readelf does not tell "undefined" from "unsaid" */
		total.undefined_bp += rule.bp_kind == UNWIND_BP_LOST;
		return rule.bp_kind == UNWIND_BP_SAME ||
		       (rule.bp_kind == UNWIND_BP_LOST && bp->is_undefined);
	case CELL_AT_CFA:
		if (!fits(bp->off))
			return rule.bp_kind == UNWIND_BP_LOST;
		return (rule.bp_kind == UNWIND_BP_AT_CFA && rule.bp_off * bp_unit() == bp->off) ||
		       is_restored(l, fde, bp, rule);
	case CELL_EXPR:
		return has_expr(l, fde, false, rule);
	default:
		return rule.bp_kind == UNWIND_BP_LOST;
	}
}

static bool is_sum_right(const struct line *x, struct unwind_rule rule)
{
	static const char *const names[] = {
		"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
		"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"
	};

	if (!strcmp(x->cfa_reg, is_arm64 ? "sp" : "rsp"))
		return rule.kind == UNWIND_SP && rule.cfa_off == x->cfa_off;
	if (!strcmp(x->cfa_reg, is_arm64 ? "x29" : "rbp"))
		return rule.kind == UNWIND_BP && rule.cfa_off == x->cfa_off;
	if (is_arm64)
		return rule.kind == UNWIND_REG && x->cfa_reg[0] == 'x' &&
		       unwind_reg(rule.cfa_off) == strtoul(x->cfa_reg + 1, NULL, 10) &&
		       unwind_reg_plus(rule.cfa_off) == x->cfa_off;
	return rule.kind == UNWIND_REG && unwind_reg(rule.cfa_off) < ARRAY_SIZE(names) &&
	       !strcmp(x->cfa_reg, names[unwind_reg(rule.cfa_off)]) &&
	       unwind_reg_plus(rule.cfa_off) == x->cfa_off;
}

/* A table need not know where rbx is, but what it says must be true. */
static bool is_bx_right(const struct cell *bx, struct unwind_rule rule)
{
	if (rule.extra_place == UNWIND_BX_LOST)
		return true;
	if (rule.extra_place == UNWIND_BX_SAME)
		return bx->kind == CELL_UNSAID;
	return bx->kind == CELL_AT_CFA && bx->off == -8 * rule.extra_place;
}

/* As vfork has it, and nobody else. */
static bool is_ra_register_right(const struct line *x, struct unwind_rule rule)
{
	if (rule.kind != UNWIND_RA_REG)
		return rule.kind == UNWIND_BAD && ++total.bad_lines;
	return !x->is_expr && !strcmp(x->cfa_reg, "rsp") && x->bp.kind == CELL_UNSAID &&
	       unwind_reg(rule.cfa_off) == x->ra.reg && unwind_reg_plus(rule.cfa_off) == x->cfa_off;
}

static bool can_be_said(const struct line *x)
{
	long off = x->ra.off;

	if (x->bp.kind == CELL_AT_CFA && off == x->bp.off + 8 && fits(x->bp.off))
		return true;
	if (off < 0 && off % 8 == 0 && off > -8 * UNWIND_RA_IN_LINK)
		return true;
	return x->bp.kind != CELL_AT_CFA && fits(off - 8);
}

static bool is_ra_place_right(const struct line *x, struct unwind_rule rule)
{
	if (x->ra.kind == CELL_UNSAID)
		return rule.extra_place == UNWIND_RA_IN_LINK;
	if (rule.extra_place == UNWIND_RA_BEHIND_BP)
		return rule.bp_off * bp_unit() + 8 == x->ra.off;
	return x->ra.off == -8 * rule.extra_place;
}

/* readelf does not tell an undefined return address from one that is still in x30. */
static bool is_right_on_arm64(const struct listing *l, const struct record *fde,
			      const struct line *x, struct unwind_rule rule)
{
	if (x->ra.kind == CELL_UNSAID && rule.kind == UNWIND_END)
		return true;
	if (x->is_expr || (x->ra.kind != CELL_UNSAID && x->ra.kind != CELL_AT_CFA) ||
	    (x->sp.kind != CELL_UNSAID && (x->sp.kind != CELL_IS_CFA || x->sp.off)) ||
	    (x->ra.kind == CELL_AT_CFA && !can_be_said(x))) {
		total.bad_lines++;
		return rule.kind == UNWIND_BAD;
	}
	return is_sum_right(x, rule) && is_bp_right(l, fde, &x->bp, rule) &&
	       is_ra_place_right(x, rule);
}

static bool is_right(const struct listing *l, const struct record *fde, const struct line *x,
		     struct unwind_rule rule)
{
	const struct record *cie;

	if (!fde || !x)
		return rule.kind == UNWIND_GAP;
	if (is_arm64)
		return is_right_on_arm64(l, fde, x, rule);
	cie = find_record(l, fde->cie_offset);
	if (x->ra.kind == CELL_UNSAID)
		return rule.kind == UNWIND_END;
	if (cie && cie->is_signal) {
		total.signal_lines++;
		return rule.kind == UNWIND_SIGNAL;
	}
	if (x->ra.kind == CELL_REG)
		return is_ra_register_right(x, rule);
	if (x->ra.kind != CELL_AT_CFA || x->ra.off != -8 ||
	    (x->sp.kind != CELL_UNSAID && (x->sp.kind != CELL_IS_CFA || x->sp.off))) {
		total.bad_lines++;
		return rule.kind == UNWIND_BAD;
	}
	if (x->is_expr && rule.kind == UNWIND_BAD) {
		total.bad_lines++;
		return has_expr(l, fde, true, rule);
	}
	if (x->is_expr ? !has_expr(l, fde, true, rule) : !is_sum_right(x, rule))
		return false;
	return is_bp_right(l, fde, &x->bp, rule) && is_bx_right(&x->bx, rule);
}

struct comparison {
	const char *path;
	const struct cfi_table *t;
	const struct listing *l;
	size_t row; /* the first one above what was compared */
	size_t differences;
};

static void print_rule(struct unwind_rule r)
{
	static const char *const kinds[] = { "gap",	  "rsp",       "rbp", "plt",
					     "rsp-deref", "rbp-deref", "reg", "ra-reg",
					     "clone",	  "signal",    "end", "bad" };
	static const char *const bps[] = { "same", "cfa", "rbp", "lost" };

	printf("%s", kinds[r.kind]);
	if (r.kind == UNWIND_SP_DEREF || r.kind == UNWIND_BP_DEREF)
		printf("%+d%+d", unwind_deref_at(r.cfa_off), unwind_deref_plus(r.cfa_off));
	else if (r.kind == UNWIND_REG || r.kind == UNWIND_RA_REG)
		printf(" %u%+d", unwind_reg(r.cfa_off), unwind_reg_plus(r.cfa_off));
	else
		printf("%+d", r.cfa_off);
	printf(" rbp %s%+d", bps[r.bp_kind], r.bp_off);
	if (r.extra_place)
		printf(" extra %d", r.extra_place);
}

static void report_difference(struct comparison *c, uint64_t vaddr, const struct line *x,
			      struct unwind_rule rule)
{
	if (c->differences++ >= SHOWN_PER_FILE)
		return;
	printf("%s: %lx: ", c->path, vaddr);
	print_rule(rule);
	if (x)
		printf(", readelf: %s%+ld rbp %d%+ld rsp %d ra %d%+ld\n",
		       x->is_expr ? "exp" : x->cfa_reg, x->cfa_off, x->bp.kind, x->bp.off,
		       x->sp.kind, x->ra.kind, x->ra.off);
	else
		printf(", readelf: nothing\n");
}

/* All rules of the table from start to end against one line; without one it must be a gap. */
static void compare_range(struct comparison *c, uint64_t start, uint64_t end,
			  const struct record *fde, const struct line *x)
{
	const struct cfi_table *t = c->t;

	if (start >= end)
		return;
	for (uint64_t vaddr = start; vaddr < end;) {
		struct unwind_rule rule = cfi_find(t, vaddr);

		while (c->row < t->count && cfi_vaddr(t, c->row) <= vaddr)
			c->row++;
		if (!is_right(c->l, fde, x, rule))
			report_difference(c, vaddr, x, rule);
		vaddr = c->row < t->count ? cfi_vaddr(t, c->row) : end;
	}
}

static void compare_fde(struct comparison *c, const struct record *fde, uint64_t end)
{
	const struct listing *l = c->l;
	const struct record *lines = fde->n ? fde : find_record(l, fde->cie_offset);

	if (!lines)
		return;
	for (size_t i = 0; i < lines->n; i++) {
		const struct line *x = &l->lines[lines->first + i];
		uint64_t from = lines == fde ? x->vaddr : fde->start;
		uint64_t to = i + 1 < lines->n ? x[1].vaddr : end;

		compare_range(c, from, to < end ? to : end, fde, x);
	}
}

static struct addr_item *sort_records(const struct listing *l, size_t *n)
{
	struct addr_item *order = mem_zalloc(l->n_records, sizeof(*order));

	*n = 0;
	for (size_t i = 0; i < l->n_records; i++)
		if (!l->records[i].is_cie && l->records[i].start < l->records[i].end)
			order[(*n)++] = (struct addr_item){ l->records[i].start, i };
	addrsort(order, *n);
	return order;
}

static void compare_listing(struct comparison *c)
{
	uint64_t covered = 0;
	size_t n;
	struct addr_item *order = sort_records(c->l, &n);

	for (size_t i = 0; i < n; i++) {
		const struct record *fde = &c->l->records[order[i].value];
		uint64_t end = fde->end;

		if (i && order[i - 1].addr == fde->start) {
			total.overlaps++;
			continue;
		}
		for (size_t j = i + 1; j < n && order[j].addr < end; j++)
			if (order[j].addr > fde->start)
				end = order[j].addr;
		total.overlaps += end < fde->end;
		compare_range(c, covered, fde->start, NULL, NULL);
		compare_fde(c, fde, end);
		covered = end;
	}
	compare_range(c, covered, UINT64_MAX, NULL, NULL);
	free(order);
}

/* Corrects rows after a PLT in glibc's resolver: they omit 16 bytes that the PLT has pushed. */
static void count_pushed(const struct listing *l)
{
	for (size_t i = 1; i < l->n_lines; i++) {
		struct line *x = &l->lines[i];

		if (x->is_expr || x->ra.kind != CELL_AT_CFA || x->ra.off != 8)
			continue;
		x->cfa_off += 16;
		x->ra.off -= 16;
		if (x[-1].ra.kind == CELL_UNSAID && !strcmp(x[-1].cfa_reg, "sp") && !x[-1].cfa_off)
			x[-1].cfa_off = 16;
	}
}

static void compare_file(const char *path, const struct cfi_table *t)
{
	struct listing l = { .bp = -1, .sp = -1, .ra = -1 };
	struct comparison c = { .path = path, .t = t, .l = &l };

	read_listing(&l, path, false);
	if (l.needs_raw)
		read_listing(&l, path, true);
	if (is_arm64)
		count_pushed(&l);
	compare_listing(&c);
	total.lines += l.n_lines;
	total.differences += c.differences;
	free(l.records);
	free(l.lines);
	free(l.exprs);
}

/* ---- files ---- */

static void count_error(const char *path, int err)
{
	switch (err) {
	case -ENOEXEC:
		total.not_linked++;
		break;
	case -ENOTSUP:
		total.other_machine++;
		break;
	case -ENODATA:
		total.no_eh_frame++;
		break;
	default:
		total.broken++;
		printf("%s: %s\n", path, strerror(-err));
	}
}

static int load_file(const char *path, struct cfi_table *t)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	uint16_t machine = 0;

	*t = (struct cfi_table){ .cells = NULL };
	if (fd < 0)
		return -errno;
	is_arm64 = pread(fd, &machine, sizeof(machine), offsetof(Elf64_Ehdr, e_machine)) > 0 &&
		   machine == EM_AARCH64;
	err = image_load_file(t, fd);
	close(fd);
	return err;
}

static void check_file(const char *path)
{
	struct cfi_table t;
	int err = load_file(path, &t);

	if (err)
		count_error(path, err);
	if (!err || err == -ENODATA) {
		total.files++;
		total.fdes += t.n_fdes;
		total.bad_fdes += t.n_bad_fdes;
		total.rows += t.count;
		if (t.n_bad_fdes)
			printf("%s: %zu broken records\n", path, t.n_bad_fdes);
		compare_file(path, &t);
	}
	cfi_free(&t);
}

static int dump_file(const char *path)
{
	struct cfi_table t;
	int err = load_file(path, &t);

	if (err) {
		fprintf(stderr, "compare: %s: %s\n", path, strerror(-err));
		return 1;
	}
	for (size_t i = 0; i < t.count; i++) {
		printf("%016lx ", cfi_vaddr(&t, i));
		print_rule(cfi_row(&t, i).rule);
		putchar('\n');
	}
	cfi_free(&t);
	return 0;
}

static void print_totals(void)
{
	printf("%zu files (%zu without .eh_frame); not compared: %zu not linked ELF files, %zu of "
	       "other machines, %zu unreadable\n",
	       total.files, total.no_eh_frame, total.not_linked, total.other_machine, total.broken);
	printf("%zu FDEs (%zu broken), %zu rows\n", total.fdes, total.bad_fdes, total.rows);
	printf("readelf: %zu rows compared, %zu differences; %zu expressions compared by their "
	       "text, %zu signal frames, %zu rows that no rule can say (bad), %zu rows where rbp "
	       "is undefined, %zu FDEs that others overlap, %zu rows after "
	       "DW_CFA_restore of what a CIE saved\n",
	       total.lines, total.differences, total.expressions, total.signal_lines,
	       total.bad_lines, total.undefined_bp, total.overlaps, total.restored);
}

int main(int argc, char **argv)
{
	char *path = NULL;
	size_t cap = 0;

	if (argc > 1)
		return dump_file(argv[1]);
	while (getline(&path, &cap, stdin) > 0) {
		path[strcspn(path, "\n")] = '\0';
		check_file(path);
	}
	free(path);
	print_totals();
	return total.differences > 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stacks as one page of Markdown for a ticket: totals of the remarks ("on cpu", "blocked"), the
 * largest stacks of each, and the next command. At most PAGE_BYTES, in 80 columns.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/strpool.h"
#include "base/text_stream.h"
#include "base/version.h"
#include "output/quantity.h"
#include "output/remarks.h"
#include "output/writer.h"

#define PAGE_BYTES  4096
#define STACKS_MAX  10 /* maximum stacks per remark */
#define CALLS_MAX   5
#define GROUPS_MAX  16
#define STACK_WIDTH 62
#define NAME_WIDTH  28
#define STATE_WIDTH 20
#define NOTE_WIDTH  78
#define NOTE_BYTES  160
#define IDLE	    "idle"
#define GOROUTINES  "goroutines waiting" /* not threads */
#define NO_REMARK   "all"

/* Stacks of a group that look the same when shortened. */
struct row {
	const char *text;
	uint64_t value;
};

struct rows {
	struct idmap by_text;
	struct row **list;
	size_t n;
};

/* Samples with one remark. */
struct group {
	const char *remark;
	uint64_t total;
	struct rows rows; /* stacks, without idle threads */
};

struct page {
	struct profile *profile;
	const struct writer_facts *facts;
	struct strpool *texts; /* texts of all rows */
	struct group groups[GROUPS_MAX];
	size_t n_groups;
	struct rows calls;	    /* time in system calls */
	uint64_t total;		    /* time of threads */
	const struct sample *first; /* largest sample, not idle if possible; NULL: none */
	bool has_one_process;	    /* all samples are of the first one's process */
};

/* Returns true for a stack below the marker of goroutines (stacks/goroutine_waits.h). */
static bool is_goroutines(const struct sample *s)
{
	return s->n_frames && !strncmp(sample_frame(s, 0)->name, "[goroutine", 10);
}

static const char *remark_of(const struct sample *s)
{
	if (writer_is_idle(s))
		return IDLE;
	if (is_goroutines(s))
		return GOROUTINES;
	return s->remark ? s->remark : NO_REMARK;
}

static struct group *find_group(struct page *page, const char *remark)
{
	size_t i = 0;

	while (i < page->n_groups && strcmp(page->groups[i].remark, remark))
		i++;
	if (i == GROUPS_MAX)
		return &page->groups[GROUPS_MAX - 1]; /* there are fewer remarks */
	if (i == page->n_groups)
		page->groups[page->n_groups++].remark = remark;
	return &page->groups[i];
}

/* ---- stacks ---- */

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100 * (double)part / (double)whole : 0;
}

/* Adds the frame before the text, which it frees. NULL, and the text stays: there is no space. */
static char *prepend(char *text, const struct sample *s, size_t frame, size_t width)
{
	char *name = mem_escape_short(sample_frame(s, frame)->name, NAME_WIDTH), *longer;

	longer = mem_printf(*text ? "%s > %s" : "%s%s", name, text);
	free(name);
	if (strlen(longer) > width) {
		free(longer);
		return NULL;
	}
	free(text);
	return longer;
}

/* Returns the number of frames outside of the kernel; of all frames if none is outside. */
static size_t count_user(const struct sample *s)
{
	size_t n = s->n_frames;

	while (n && sample_frame(s, n - 1)->kind == FRAME_KERNEL)
		n--;
	return n ? n : s->n_frames;
}

/* Returns true for functions of Go's runtime and of the packages just above it. */
static bool is_go_runtime(const char *name)
{
	static const char *const packages[] = { "runtime.", "runtime/", "internal/", "sync.",
						"syscall." };

	for (size_t i = 0; i < ARRAY_SIZE(packages); i++)
		if (!strncmp(name, packages[i], strlen(packages[i])))
			return true;
	return false;
}

/*
 * Returns the number of frames up to the program's innermost function, if frames of a managed
 * runtime or of Go's runtime are below it; 0: none are.
 */
static size_t count_managed(const struct sample *s)
{
	size_t n = s->n_frames, n_user = count_user(s);

	while (n && sample_frame(s, n - 1)->kind != FRAME_RUNTIME)
		n--;
	if (n)
		return n;
	for (n = n_user; n && is_go_runtime(sample_frame(s, n - 1)->name);)
		n--;
	return n < n_user && !(n == 1 && is_goroutines(s)) ? n : 0;
}

/* Returns the state in the marker of goroutines: "[select]"; freed by the caller. */
static char *goroutines_state(const struct sample *s)
{
	const char *mark = sample_frame(s, 0)->name, *state = strchr(mark, ':');
	char *name = mem_escape_short(state ? state + 2 : mark + 1, STATE_WIDTH);
	char *text = mem_printf("[%s", name);

	free(name);
	return text;
}

/*
 * Returns the thread's name or the goroutines' state, the program's innermost function, as many of
 * the innermost functions as there is space for, and the kernel's innermost function; freed by the
 * caller.
 */
static char *shorten(const struct sample *s)
{
	size_t i = count_user(s), managed = count_managed(s), first = is_goroutines(s);
	char *comm =
		first ? goroutines_state(s) : mem_escape_short(escape_no_name(s->comm), NAME_WIDTH);
	char *text = mem_strdup(""), *longer, *result;
	char *anchor = managed ? mem_escape_short(sample_frame(s, managed - 1)->name, NAME_WIDTH)
			       : mem_strdup("");
	size_t width = STACK_WIDTH - strlen(comm) - strlen(": .. > ");
	size_t taken = managed ? strlen(anchor) + strlen(" > .. > ") : 0;
	size_t beside = width > taken ? width - taken : 0;

	if (i < s->n_frames && (longer = prepend(text, s, s->n_frames - 1, beside)))
		text = longer;
	for (; i > first && (longer = prepend(text, s, i - 1, i > managed ? beside : width)); i--)
		text = longer;
	if (i > managed && managed)
		result = mem_printf("%s: .. > %s > ..%s%s", comm, anchor, *text ? " > " : "", text);
	else
		result = mem_printf("%s: %s%s", comm, i > first ? ".. > " : "", text);
	free(anchor);
	free(text);
	free(comm);
	return result;
}

/* Adds a value to the row of a text, which it frees. */
static void add_row(struct strpool *texts, struct rows *rows, char *text, uint64_t value)
{
	const char *interned = strpool_intern(texts, text);
	struct row *row = idmap_find(&rows->by_text, (uintptr_t)interned);

	free(text);
	if (!row) {
		row = mem_zalloc(1, sizeof(*row));
		row->text = interned;
		idmap_add(&rows->by_text, (uintptr_t)interned, row);
	}
	row->value += value;
}

/*
 * Returns the name of the system call that a kernel function carries out, freed by the caller;
 * NULL: unknown. The function named after the call may be missing, since it ends in a jump.
 */
static char *call_name(const char *function)
{
	static const char *const prefixes[] = { "__x64_sys_",  "__arm64_sys_",
						"__ia32_sys_", "__ia32_compat_sys_",
						"__do_sys_",   "__se_sys_",
						"ksys_",       "__sys_" };
	const char *name;
	size_t length;

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		length = strlen(prefixes[i]);
		name = function + length;
		if (!strncmp(function, prefixes[i], length) && *name)
			return mem_printf("%.*s", (int)strcspn(name, "."), name);
	}
	return NULL;
}

/* Adds the sample's time to that of the system call that it is in, if it is known. */
static void add_call(struct page *page, const struct sample *s)
{
	bool lacks_cpu = s->remark && (!strcmp(s->remark, REMARK_RUNNABLE) ||
				       !strcmp(s->remark, REMARK_THROTTLED));
	char *name = NULL;

	if (lacks_cpu) /* not the call's own time */
		return;
	for (size_t i = 0; i < s->n_frames && !name; i++)
		if (sample_frame(s, i)->kind == FRAME_KERNEL)
			name = call_name(sample_frame(s, i)->name);
	if (name)
		add_row(page->texts, &page->calls, name, s->value);
}

static int compare_rows(const void *a, const void *b)
{
	const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;

	return order_u64(y->value, x->value) ?: strcmp(x->text, y->text);
}

static void sort_rows(struct rows *rows)
{
	struct row *row;

	rows->list = mem_zalloc(rows->by_text.count + 1, sizeof(struct row *));
	for (size_t at = 0; (row = idmap_next(&rows->by_text, &at));)
		rows->list[rows->n++] = row;
	SORT(rows->list, rows->n, compare_rows);
}

/* Returns the rank of a group: kinds of time that explain little follow the rest. */
static uint64_t rank(const struct group *group)
{
	static const char *const last[] = { GOROUTINES, REMARK_BLOCKED_THROUGHOUT, IDLE };

	for (size_t i = 0; i < ARRAY_SIZE(last); i++)
		if (!strcmp(group->remark, last[i]))
			return i + 1;
	return 0;
}

static int compare_groups(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return order_u64(rank(x), rank(y)) ?: order_u64(y->total, x->total);
}

/* Totals the samples and shortens their stacks, once for pages of any length. */
static void sum_up(struct page *page)
{
	for (size_t i = 0; i < profile_count(page->profile); i++) {
		const struct sample *s = profile_sample(page->profile, i);
		struct group *group;

		if (!s->value)
			continue;
		group = find_group(page, remark_of(s));
		group->total += s->value;
		page->total += is_goroutines(s) ? 0 : s->value;
		if (!writer_is_idle(s))
			add_row(page->texts, &group->rows, shorten(s), s->value);
		if (!rank(group))
			add_call(page, s);
		page->has_one_process =
			!page->first || (page->has_one_process && s->pid == page->first->pid);
		if (!page->first || (writer_is_idle(page->first) && !writer_is_idle(s)))
			page->first = s;
	}
	SORT(page->groups, page->n_groups, compare_groups);
	for (size_t i = 0; i < page->n_groups; i++)
		sort_rows(&page->groups[i].rows);
	sort_rows(&page->calls);
}

static void free_rows(struct rows *rows)
{
	free(rows->list);
	idmap_free(&rows->by_text, free);
}

static void free_groups(struct page *page)
{
	for (size_t i = 0; i < page->n_groups; i++)
		free_rows(&page->groups[i].rows);
	free_rows(&page->calls);
	strpool_free(page->texts);
}

/* Prints n rows at most, with their shares of a total. */
static void print_rows(FILE *f, const struct page *page, const char *title, const struct rows *rows,
		       size_t n, uint64_t total)
{
	char value[QUANTITY_MAX];

	fprintf(f, "\n## %s\n\n```\n", title);
	for (size_t i = 0; i < n && i < rows->n; i++)
		fprintf(f, "%9s %5.1f %% %s\n",
			quantity_format_short(value, rows->list[i]->value, 0,
					      profile_unit(page->profile)),
			percent(rows->list[i]->value, total), rows->list[i]->text);
	fputs("```\n", f);
}

/* ---- the rest of the page ---- */

static void print_head(FILE *f, const struct page *page)
{
	const struct writer_facts *facts = page->facts;
	char moment[CLOCK_UTC_SIZE], lost[QUANTITY_MAX], comm[NAME_WIDTH];
	const char *name;

	if (!facts)
		return;
	fprintf(f, "# %s, %.1f s", facts->tool, (double)facts->duration_ns / NS_PER_S);
	if (page->first && page->has_one_process) {
		name = facts->process && facts->process_pid == page->first->pid
			       ? facts->process
			       : escape_no_name(page->first->comm);
		escape_string(comm, sizeof(comm), name, "`");
		fprintf(f, ", process %" PRIu32 " (`%s`)", page->first->pid, comm);
	}
	fprintf(f, "\n\n%s, Linux %s  \nuntil %s, tracelets %s%s%s  \nlost: %s", facts->host,
		facts->kernel, clock_utc(moment, facts->end_unix_ns), TRACELETS_VERSION,
		facts->event ? ", " : "", facts->event ? facts->event : "",
		quantity_format(lost, facts->lost, profile_unit(page->profile)));
	if (facts->has_stacks)
		fprintf(f, ", user stacks: %.2f %% complete", facts->complete);
	if (facts->usage)
		fprintf(f, "  \n%s", facts->usage);
	fputs("\n\n", f);
}

static void print_totals(FILE *f, const struct page *page)
{
	char value[QUANTITY_MAX];

	fputs("| kind               |        value | share   |\n"
	      "|:-------------------|-------------:|--------:|\n",
	      f);
	for (size_t i = 0; i < page->n_groups; i++) {
		const struct group *group = &page->groups[i];

		fprintf(f, "| %-18s | %12s |", group->remark,
			quantity_format_short(value, group->total, 0, profile_unit(page->profile)));
		if (!strcmp(group->remark, GOROUTINES))
			fputs("         |\n", f);
		else
			fprintf(f, " %5.1f %% |\n", percent(group->total, page->total));
	}
}

/* Returns true if the group's largest stack waits for a futex. */
static bool waits_for_lock(const struct group *group)
{
	return group->rows.n && !strcmp(group->remark, REMARK_BLOCKED) &&
	       strstr(group->rows.list[0]->text, "futex");
}

/* Prints the command that examines the largest kind of time. */
static void print_next(FILE *f, const struct page *page)
{
	static const struct {
		const char *remark, *command;
	} commands[] = { { REMARK_ON_CPU, "profile --lines%s --output cpu.svg 10" },
			 { REMARK_BLOCKED, "offcputime --waker --no-idle%s 10" },
			 { REMARK_BLOCKED_THROUGHOUT, "dump%s" },
			 { REMARK_RUNNABLE, "runqlat%s 10 1" },
			 { REMARK_THROTTLED, "runqlat --throttled%s 10 1" } };
	const struct group *largest = NULL;
	char target[32] = "";

	for (size_t i = 0; !largest && i < page->n_groups; i++)
		if (strcmp(page->groups[i].remark, IDLE) != 0)
			largest = &page->groups[i];
	if (page->first && page->has_one_process)
		snprintf(target, sizeof(target), " -p %" PRIu32, page->first->pid);
	for (size_t i = 0; largest && i < ARRAY_SIZE(commands); i++) {
		const char *command =
			waits_for_lock(largest) ? "locks --waker%s 10" : commands[i].command;
		const char *gap = strstr(command, "%s");

		if (!strcmp(commands[i].remark, largest->remark))
			fprintf(f, "\nNext: `%.*s%s%s`\n", (int)(gap - command), command, target,
				gap + 2);
	}
}

/* Returns the page with at most n stacks of each kind; freed by the caller. */
static char *make_page(const struct page *page, size_t n)
{
	struct text_stream s;

	text_stream_open(&s);
	print_head(s.f, page);
	print_totals(s.f, page);
	if (page->calls.n)
		print_rows(s.f, page, "system calls: on cpu and blocked", &page->calls, CALLS_MAX,
			   page->total);
	for (size_t i = 0; n && i < page->n_groups; i++)
		if (strcmp(page->groups[i].remark, IDLE))
			print_rows(s.f, page, page->groups[i].remark, &page->groups[i].rows, n,
				   page->groups[i].total);
	print_next(s.f, page);
	return text_stream_close(&s);
}

static void write_md(FILE *f, struct profile *p, const struct writer_style *style)
{
	struct page page = { .profile = p, .facts = style->facts, .texts = strpool_new() };
	size_t max = PAGE_BYTES - (page.facts && page.facts->gets_note ? NOTE_BYTES : 0);
	char *text = NULL;

	profile_sort(p);
	sum_up(&page);
	for (size_t n = STACKS_MAX + 1; n-- > 0;) {
		free(text);
		text = make_page(&page, n);
		if (text && strlen(text) <= max)
			break;
	}
	fputs(text ? text : "", f);
	free(text);
	free_groups(&page);
}

static void note_page(FILE *f, const char *reason, const char *moment)
{
	char text[NOTE_WIDTH + 1];

	escape_string(text, sizeof(text), reason, "`");
	fprintf(f, "\nCaptured at %s:  \n`%s`\n", moment, text);
}

const struct writer md_writer = {
	.name = "md", .extension = "md", .is_page = true, .write = write_md, .note = note_page
};

// SPDX-License-Identifier: GPL-2.0-only
/* The module of all stack tools; see stacks.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "run/bpfmap.h"
#include "run/ringbuf.h"
#include "run/run_facts.h"
#include "modules/kernelnames.h"
#include "run/loss.h"
#include "base/mem.h"
#include "base/msg.h"
#include "stacks/own_programs.h"
#include "base/parse.h"
#include "output/profile.h"
#include "stacks/stackdefs.h"
#include "stacks/stacks.h"
#include "stacks/stacksums.h"
#include "stacks/top_writer.h"
#include "modules/topview.h"
#include "stacks/user_stacks.h"
#include "output/writer.h"

#define SUMS_AT_ONCE 64
#define MAX_FRAMES   (4 * STACK_DEPTH + 4) /* two stacks, a waker's two, and marks */

static bool user_only, kernel_only, folded, is_left_out, is_format_given, top;
static uint32_t storage_size = 65536;
static const char *raw_unit; /* NULL: the tool's */
static uint64_t divisor = 1;
static struct writer_style style;
static struct dso_options symbol_options = { .max_bytes = 256ULL << 20 };
static const struct stacks_source *source; /* NULL: the tables */
static bool no_user, prefer_text;

static struct stackdefs *defs;
static struct kernelnames *kernelnames; /* NULL: they are not wanted, or nobody can be asked */
static struct events *events, *copies;
static struct map_pair tables = { .slot = "stack_tables", .first = "stack_table" };

static const struct opt stacks_opts[] = {
	{ 'U', "user-stacks-only", NULL, OPT_FLAG(&user_only), "no kernel frames",
	  "kernel-stacks-only" },
	{ 'K', "kernel-stacks-only", NULL, OPT_FLAG(&kernel_only), "no user frames" },
	{ 'd', "delimited", NULL, OPT_FLAG(&style.delimiter),
	  "a delimiter between kernel and user frames" },
	{ 'f', "folded", NULL, OPT_FLAG(&folded), "one line per stack, as flame graphs need it",
	  "format" },
	{ 0, "lines", NULL, OPT_FLAG(&symbol_options.lines),
	  "source lines and inlined functions, where there is debug information" },
	{ 0, "no-demangle", NULL, OPT_FLAG(&symbol_options.as_mangled),
	  "C++ and Rust names as the compiler wrote them" },
	{ 0, "symbols-mem", "SIZE", OPT_SIZE(&symbol_options.max_bytes),
	  "most memory for tables of symbols (default 256M; 0: no limit)" },
	{ 0, "stack-storage-size", "N", OPT_UINT(&storage_size, 1, 1 << 24),
	  "distinct stacks that can be counted at a time (default 65536)" },
	{},
};

bool stacks_want_user(void)
{
	return !kernel_only && !is_left_out && !no_user;
}

void stacks_leave_out_user(void)
{
	no_user = true;
}

void stacks_prefer_text(void)
{
	prefer_text = true;
}

void stacks_set_source(const struct stacks_source *from)
{
	source = from;
}

void stacks_leave_out(void)
{
	is_left_out = true;
}

bool stacks_are_asked_for(void)
{
	return folded || top || is_format_given || user_only || kernel_only || style.delimiter;
}

void stacks_set_raw_unit(const char *unit, uint64_t value)
{
	raw_unit = unit;
	divisor = value;
	loss_set_divisor(value);
}

void stacks_set_annotate(bool annotate)
{
	style.annotate = annotate;
}

void stacks_define(const struct stack_def *def)
{
	stackdefs_add(defs, def, sizeof(*def));
}

void stacks_set_log(struct mapslog *log)
{
	if (defs)
		stackdefs_set_log(defs, log);
}

void stacks_meet(pid_t pid, uint32_t generation)
{
	stackdefs_meet(defs, pid, generation);
}

static const struct writer *writer;

/* The format: as asked for, else by the file's extension, else by who reads. */
static int check_stacks(struct run *run)
{
	is_format_given = run->format && !run->is_json;
	if (top) {
		writer = &text_writer; /* values are as in a text; who writes it is the view */
		return topview_check(run);
	}
	if (folded)
		writer = &folded_writer;
	else if (run->format)
		writer = writer_by_name(run->format);
	else if (run->output_path)
		writer = writer_by_extension(run->output_path);
	else
		writer = prefer_text || isatty(STDOUT_FILENO) ? &text_writer : &folded_writer;
	symbol_options.places = writer && writer->is_exact;
	if (writer == &pprof_writer && !run->output_path && isatty(STDOUT_FILENO))
		return msg_error("--format pprof is nothing for a terminal: give --output FILE");
	if (writer)
		return 0;
	if (run->format)
		return msg_error("--format: '%s' is not one of %s", run->format, writer_names());
	return msg_error("--output %s: the name does not tell the format, as .txt, .folded, .svg, "
			 ".pb.gz and .json do; or give --format %s",
			 run->output_path, writer_names());
}

bool stacks_are_text(void)
{
	return writer == &text_writer;
}

static int leave_out_maps(const struct run *run)
{
	map_pair_leave_out(run, &tables);
	map_leave_out(run, "stack_defs");
	map_leave_out(run, "stacks_sent");
	map_leave_out(run, "stack_scratch");
	kernelnames_leave_out(run);
	return 0;
}

static int configure_stacks(struct run *run)
{
	struct stack_settings settings = { .user = stacks_want_user(), .kernel = !user_only };

	if (is_left_out)
		return leave_out_maps(run);
	if (user_only)
		kernelnames_leave_out(run);
	else
		kernelnames_configure(run);
	bpf_map__set_max_entries(map_find(run, "stack_scratch"),
				 libbpf_num_possible_cpus() * STACK_CPU_SLOTS);
	if (source) {
		map_pair_leave_out(run, &tables);
	} else {
		map_pair_configure(run, &tables, storage_size, true);
		loss_set_hint("stack-storage-size");
	}
	return map_set_settings(run, ".rodata.stack", &settings, sizeof(settings));
}

static int on_definition(void *ctx, void *data, size_t size)
{
	const struct stack_def *def = data;

	(void)ctx;
	stackdefs_add(defs, def, size);
	if (def->kind == STACK_USER &&
	    (def->reason == UNWIND_NO_PROCESS || def->reason == UNWIND_NO_MAPPING))
		unwind_learn((pid_t)def->tgid);
	return 0;
}

/* A stack that BPF had no tables for at the moment. */
static int on_copy(void *ctx, void *data, size_t size)
{
	const struct unwind_copy *copy = data;
	struct stack_def def = { .kind = STACK_USER };
	uint64_t words[STACK_DEPTH];
	int reason;

	(void)ctx;
	if (size < sizeof(*copy) || copy->n_bytes > size - sizeof(*copy))
		return 0;
	def.id = copy->id;
	def.tgid = copy->tgid;
	def.generation = copy->generation;
	def.time_ns = copy->time_ns;
	def.n_words = (uint16_t)unwind_copied(copy, words, STACK_DEPTH, &reason);
	def.reason = (uint16_t)reason;
	for (uint32_t i = 0; i < def.n_words; i++)
		def.words[i] = words[i];
	stackdefs_add(defs, &def, sizeof(def));
	return 0;
}

static void read_events(void)
{
	events_read(events);
	if (copies)
		events_read(copies);
}

/* The ring buffers are emptied first: what they hold of the process is from before its end. */
static void on_exit_of(pid_t pid, void *arg)
{
	(void)arg;
	read_events();
	stackdefs_forget(defs, pid);
}

static void gather_early(struct run *run);

static int start_stacks(struct run *run)
{
	uint64_t *programs;
	size_t n;

	if (is_left_out)
		return 0;
	defs = stackdefs_new(&symbol_options);
	programs = ownprogs_list(run, &n);
	stackdefs_set_own(defs, programs, n);
	if (!user_only) {
		kernelnames = kernelnames_new(run);
		if (!kernelnames)
			msg_warn("no kernel symbols: asking the kernel: %s", strerror(errno));
		stackdefs_set_kernelnames(defs, kernelnames);
	}
	events = events_watch(run, "stack_defs", on_definition, NULL);
	if (!events)
		return -EIO;
	if (unwind_makes_copies() && map_find(run, "unwind_copies")) {
		copies = events_watch(run, "unwind_copies", on_copy, NULL);
		if (!copies)
			return -EIO;
	}
	if (!source)
		events_then(events, gather_early, run);
	unwind_on_exit(on_exit_of, NULL);
	return 0;
}

/* ---- the report ---- */

struct collection {
	struct profile *profile;
	uint64_t by_reason[UNWIND_REASONS]; /* value of user stacks, by how their walk ended */
	uint64_t undefined;		    /* value of stacks whose definition never arrived */
};

static struct stack_sums gathered;	       /* taken away since the last report */
static uint64_t n_gathered;		       /* stacks added to the tables by then */
static uint64_t run_by_reason[UNWIND_REASONS]; /* of all reports */

/* A stack as it is put together: root first. */
struct assembly {
	struct frame frames[MAX_FRAMES];
	size_t n;
	bool incomplete; /* a definition is missing */
};

static void append_mark(struct assembly *a, const char *name)
{
	if (a->n < MAX_FRAMES)
		a->frames[a->n++] = (struct frame){ .name = name, .kind = FRAME_MARK };
}

static void append_stack(struct assembly *a, uint64_t id, bool leaf_first)
{
	size_t n;
	const struct frame *frames = stackdefs_frames(defs, id, &n);

	if (id && !frames)
		a->incomplete = true;
	for (size_t i = 0; frames && i < n && a->n < MAX_FRAMES; i++)
		a->frames[a->n++] = frames[leaf_first ? n - 1 - i : i];
}

/* The waker's stack stands upside down on the wakee's, so that the wake-up joins them. */
static void append_waker(struct assembly *a, uint64_t id, char comm[TASK_COMM_LEN + 1])
{
	const struct stack_def *waker = stackdefs_waker(defs, id);

	if (!id)
		return;
	if (!waker) {
		a->incomplete = true;
		return;
	}
	append_mark(a, "--");
	append_stack(a, waker->words[1], true);
	append_stack(a, waker->words[0], true);
	memcpy(comm, &waker->words[2], TASK_COMM_LEN);
	append_mark(a, comm);
}

static const char *remark_text(uint8_t remark)
{
	static const char *const texts[] = {
		[REMARK_NONE] = NULL,
		[REMARK_AT_START] = "blocked at start",
		[REMARK_AT_END] = "blocked at end",
		[REMARK_THROUGHOUT] = "blocked throughout",
		[REMARK_KERNEL] = "kernel mode",
		[REMARK_MAJOR] = "major",
		[REMARK_KERNEL_MAJOR] = "kernel mode, major",
	};

	return remark < ARRAY_SIZE(texts) ? texts[remark] : NULL;
}

static void add_sample(struct collection *c, const struct stack_key *key,
		       const struct stacks_value *value, const struct assembly *a)
{
	char comm[TASK_COMM_LEN + 1] = {};
	struct sample sample = {
		.comm = comm,
		.pid = key->tgid,
		.cpu = (int)key->cpu - 1,
		.state = (char)key->state,
		.remark = remark_text(key->remark),
		.frames = a->frames,
		.n_frames = a->n,
		.value = value->sum.value,
		.part = value->sum.part,
		.blocks = value->blocks,
	};

	memcpy(comm, key->comm, TASK_COMM_LEN);
	profile_add(c->profile, &sample);
	if (a->incomplete)
		c->undefined += value->sum.value;
}

static void count_reason(struct collection *c, const struct stack_key *key, uint64_t value)
{
	int reason = stackdefs_reason(defs, key->user_id);

	if (reason > UNWIND_GOES_ON && reason < UNWIND_REASONS)
		c->by_reason[reason] += value;
}

static void assemble(struct assembly *a, const struct stack_key *key,
		     char waker_comm[TASK_COMM_LEN + 1])
{
	a->n = 0;
	a->incomplete = false;
	append_stack(a, key->user_id, false);
	append_stack(a, key->kernel_id, false);
	append_waker(a, key->waker_id, waker_comm);
}

/* A definition is sent before its stack is counted, but maybe after the ring was last looked at. */
static void collect_value(const void *key_data, const void *value_data, void *arg)
{
	const struct stack_key *key = key_data;
	const struct stacks_value *value = value_data;
	char waker_comm[TASK_COMM_LEN + 1] = {};
	struct assembly a;

	assemble(&a, key, waker_comm);
	if (a.incomplete) {
		read_events();
		assemble(&a, key, waker_comm);
	}
	add_sample(arg, key, value, &a);
	count_reason(arg, key, value->sum.value);
}

/* What is traced goes on meanwhile: new processes' tables and stacks don't wait for long. */
static void collect_sum(const void *key, const void *sum, void *arg)
{
	struct stacks_value value = { .sum = *(const struct stack_sum *)sum };
	static unsigned int n;

	if (++n % SUMS_AT_ONCE == 0) {
		unwind_catch_up();
		read_events();
	}
	collect_value(key, &value, arg);
}

/* "stacks: 99.2 % complete, 0.5 % no unwind information" */
static void print_reasons(const uint64_t by_reason[UNWIND_REASONS])
{
	static const char *const texts[UNWIND_REASONS] = {
		[UNWIND_COMPLETE] = "complete",
		[UNWIND_DEPTH] = "too deep",
		[UNWIND_NO_PROCESS] = "of processes just begun",
		[UNWIND_NO_MAPPING] = "through unknown memory",
		[UNWIND_NO_RULE] = "through code without unwind information",
		[UNWIND_BAD_RULE] = "through code that can't be unwound",
		[UNWIND_FAULT] = "through memory not resident",
		[UNWIND_NO_PROGRESS] = "broken",
		[UNWIND_32BIT] = "32-bit",
		[UNWIND_BY_FP] = "by frame pointers",
		[UNWIND_RAN_ON] = "of threads that ran on before they were looked at",
	};
	char line[512] = "";
	uint64_t total = 0;
	int used = 0;

	for (size_t i = 0; i < UNWIND_REASONS; i++)
		total += by_reason[i];
	for (size_t i = 0; i < UNWIND_REASONS && used < (int)sizeof(line); i++)
		if (by_reason[i])
			used += snprintf(line + used, sizeof(line) - (size_t)used, "%s %.2f %% %s",
					 used ? "," : "",
					 100.0 * (double)by_reason[i] / (double)total, texts[i]);
	if (total)
		msg_info("user stacks:%s", line);
}

/* What values are still to be divided by, because the format is for programs. */
static uint64_t written_divisor(void)
{
	return writer->is_exact ? divisor : 1;
}

/* Writes the profile with the facts of the run. */
static void write_profile(struct run *run, struct profile *profile)
{
	struct writer_facts facts = facts_of(run);

	facts.lost *= written_divisor();
	style.facts = &facts;
	writer->write(run->out, profile, &style);
	style.facts = NULL;
}

/* The line stands for the whole run; at intervals there is one for those who want to know more. */
static void tell_reasons(const struct run *run, const struct collection *c)
{
	for (size_t i = 0; i < UNWIND_REASONS; i++)
		run_by_reason[i] += c->by_reason[i];
	if (run->is_last)
		print_reasons(run_by_reason);
	else if (msg_verbose)
		print_reasons(c->by_reason);
}

const struct frame *stacks_frames(uint64_t id, size_t *n)
{
	return stackdefs_frames(defs, id, n);
}

static int read_values(struct run *run, struct collection *c)
{
	read_events();
	stackdefs_look_up(defs);
	stack_sums_visit(&gathered, collect_sum, c);
	return source ? source->read(run, collect_value, c)
		      : map_pair_read(run, &tables, collect_sum, c);
}

static uint64_t count_added(const struct run *run)
{
	struct bpf_map *map = map_find(run, ".data.stacks");
	uint32_t zero = 0;
	uint64_t n = 0;

	bpf_map_lookup_elem(bpf_map__fd(map), &zero, &n);
	return n;
}

static void gather_sum(const void *key, const void *sum, void *arg)
{
	(void)arg;
	stack_sums_add(&gathered, key, sum);
}

/* Takes the counts away when the table is half full: what comes meanwhile has the other one. */
static void gather_early(struct run *run)
{
	uint64_t n = count_added(run);

	if (n - n_gathered < (storage_size + 1) / 2)
		return;
	n_gathered = n;
	if (map_pair_read(run, &tables, gather_sum, NULL))
		events_then(events, NULL, run); /* was told */
}

/* The next report begins with nothing; a peek leaves everything as it is. */
static void begin_anew(const struct run *run, uint64_t n_added)
{
	if (run->is_peek)
		return;
	stack_sums_clear(&gathered);
	n_gathered = n_added;
}

static void write_report(struct run *run, struct profile *profile)
{
	if (top && !run->is_peek)
		top_write(run, profile);
	else if (top)
		return;
	else if (source && stacks_are_text())
		source->write_text(run);
	else
		write_profile(run, profile);
}

static void tell_memory(void)
{
	struct dso_stats stats = stackdefs_stats(defs);

	msg_debug("tables of symbols: %.1f MB, dropped %llu times", (double)stats.bytes / 1e6,
		  (unsigned long long)stats.n_dropped);
}

int stacks_report(struct run *run)
{
	uint64_t n_added = source ? 0 : count_added(run);
	struct collection c = {};
	int err;

	c.profile = profile_new(writer->is_exact && raw_unit ? raw_unit : run->tool->unit);
	err = read_values(run, &c);
	begin_anew(run, n_added);
	profile_scale(c.profile, divisor / written_divisor());
	if (!run->is_peek) {
		tell_reasons(run, &c);
		run->recorded += profile_total(c.profile) / written_divisor();
		loss_add("without their stack: ring buffer full", c.undefined / divisor);
	}
	if (!err)
		write_report(run, c.profile);
	tell_memory();
	profile_free(c.profile);
	return err;
}

static void finish_stacks(struct run *run)
{
	(void)run;
	top_finish();
	stack_sums_clear(&gathered);
	events_close(events);
	events_close(copies);
	stackdefs_free(defs);
	kernelnames_free(kernelnames);
}

static const struct opt top_opts[] = {
	{ 0, "top", NULL, OPT_FLAG(&top),
	  "a table of functions on the terminal, again and again (default every second)",
	  "folded" },
	{},
};

const struct module stacks_top_module = {
	.title = "live view",
	.opts = top_opts,
	.start = topview_start,
	.stop = topview_stop,
};

const struct module stacks_module = {
	.title = "stacks",
	.opts = stacks_opts,
	.has_formats = true,
	.check = check_stacks,
	.configure = configure_stacks,
	.start = start_stacks,
	.finish = finish_stacks,
};

// SPDX-License-Identifier: GPL-2.0-only
/* Reports of live blocks; see leak_report.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "abi/memleak.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/idmap.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/order.h"
#include "memleak/allocators.h"
#include "memleak/blocks.h"
#include "memleak/go_heaps.h"
#include "memleak/leak_options.h"
#include "memleak/leak_report.h"
#include "memleak/ranges.h"
#include "output/writer.h"
#include "process/cgroups.h"
#include "process/procstate.h"
#include "run/bpfmap.h"
#include "run/loss.h"
#include "run/ringbuf.h"
#include "stacks/stacks.h"

/* Facts about a process, looked up once per report. */
struct owner {
	char comm[TASK_COMM_LEN + 1];
	uint64_t cgroup_id; /* 0: unknown */
	int generation;	    /* exec count of its program; -1: no exec while traced */
	bool has_ended;
};

struct shown_block {
	uint64_t addr, bytes;
	const struct block_sum *sum;
};

struct leak_report {
	struct run *run;
	const struct leak_probes *probes; /* NULL: the kernel is traced */
	struct go_heaps *heaps;		  /* NULL: no Go programs */
	int buckets_fd;
	size_t n_buckets;
	int generations_fd; /* map of exec counts; -1: the kernel is traced */
	int ended_fd;	    /* map of ended processes; -1: the kernel is traced */
	int traced_fd;	    /* map of traced processes; -1: none */
	struct growths growths;
	struct ranges *ranges;	       /* mapped memory */
	struct ringbuf *range_changes; /* NULL: the kernel is traced */
	struct ringbuf *calls;	       /* --trace: calls; NULL: not watched */
	unsigned int n_headed;	       /* number of files with a heading for calls */

	/* state of the current report */
	struct block_sums sums;
	struct idmap owners;	   /* struct owner by pid + 1 */
	struct shown_block *shown; /* -a: blocks to print */
	size_t n_shown, shown_cap;
};

static const struct leak_options *options_of(const struct leak_report *report)
{
	return report->run->options;
}

/* ---- owners ---- */

/* Reads the last name and cgroup of a process that has ended. */
static void read_ended(const struct leak_report *report, pid_t tgid, struct owner *owner)
{
	struct memleak_ended ended = { .comm = "?" };

	bpf_map_lookup_elem(report->ended_fd, &tgid, &ended);
	memcpy(owner->comm, ended.comm, TASK_COMM_LEN);
	owner->cgroup_id = ended.cgroup_id;
}

static void read_owner(const struct leak_report *report, pid_t tgid, struct owner *owner)
{
	if (!tgid)
		snprintf(owner->comm, sizeof(owner->comm), "kernel");
	else if (owner->has_ended || process_comm(tgid, owner->comm, sizeof(owner->comm)))
		read_ended(report, tgid, owner);
	else
		owner->cgroup_id = cgroup_of_process(tgid);
}

/* Returns true if the pid now belongs to an untraced process. */
static bool is_another(const struct leak_report *report, pid_t tgid)
{
	uint8_t one;

	return report->traced_fd >= 0 && bpf_map_lookup_elem(report->traced_fd, &tgid, &one);
}

static struct owner *find_owner(struct leak_report *report, pid_t tgid)
{
	struct owner *owner = idmap_find(&report->owners, (uint64_t)tgid + 1);
	uint32_t generation;

	if (owner)
		return owner;
	owner = mem_zalloc(1, sizeof(*owner));
	owner->generation = -1;
	if (tgid && !bpf_map_lookup_elem(report->generations_fd, &tgid, &generation))
		owner->generation = (uint16_t)generation;
	owner->has_ended = tgid && (process_has_ended(tgid) || is_another(report, tgid));
	read_owner(report, tgid, owner);
	idmap_add(&report->owners, (uint64_t)tgid + 1, owner);
	return owner;
}

/* ---- reading ---- */

static void show_block(struct leak_report *report, uint64_t addr, uint64_t bytes,
		       const struct block_sum *sum)
{
	*MEM_APPEND(report->shown, report->n_shown, report->shown_cap) =
		(struct shown_block){ addr, bytes, sum };
}

/* Returns true if a block is too young to be shown; blocks of exited processes never are. */
static bool is_too_young(const struct leak_report *report, const struct owner *owner,
			 const struct block *block)
{
	if (options_of(report)->combined_only || owner->has_ended)
		return false;
	return block_age_ms(block, report->run->end_ns) * NS_PER_MS <
	       options_of(report)->min_age_ns;
}

/* Returns false if the block belongs to another program of the process, mostly an earlier one. */
static bool is_of_this_program(const struct owner *owner, const struct block *block)
{
	return owner->generation < 0 || owner->generation == block_generation(block);
}

static bool is_shown_again(const struct leak_report *report, const struct owner *owner)
{
	return !owner->has_ended || report->run->is_peek || report->run->is_last;
}

/* Adds a block to the totals. Returns false if the block is no longer needed. */
static bool visit_block(uint64_t addr, const struct block *block, void *arg)
{
	struct leak_report *report = arg;
	const struct owner *owner = find_owner(report, (pid_t)block->tgid);
	const struct block_sum *sum;

	if (!is_of_this_program(owner, block))
		return block_is_younger(block, (uint16_t)owner->generation);
	if (is_too_young(report, owner, block)) {
		block_sums_mention(&report->sums, block);
		return true;
	}
	sum = block_sums_add(&report->sums, block, report->run->end_ns);
	if (options_of(report)->show_blocks)
		show_block(report, addr, block_size(block), sum);
	return is_shown_again(report, owner);
}

/* Returns false if a reserved range, which is never shown, is no longer needed. */
static bool visit_reserved(const struct block *block, void *arg)
{
	struct leak_report *report = arg;
	const struct owner *owner = find_owner(report, (pid_t)block->tgid);

	return (is_of_this_program(owner, block) ||
		block_is_younger(block, (uint16_t)owner->generation)) &&
	       is_shown_again(report, owner);
}

static void visit_ranges(struct leak_report *report)
{
	if (!report->range_changes)
		return;
	ringbuf_read(report->range_changes);
	ranges_visit(report->ranges, visit_block, visit_reserved, report);
	if (!report->run->is_peek)
		loss_add(report->run, "lost: more mappings than --entries",
			 ranges_lost(report->ranges));
}

/*
 * Returns true for pages that the slab allocator takes for its blocks: only the blocks are counted,
 * as nested allocations are in user space.
 */
static bool is_slabs_own(const struct frame *const *frames, size_t n)
{
	static const char *const takers[] = { "allocate_slab", "___kmalloc_large_node",
					      "__kmalloc_large_node", "kmalloc_order" };

	if (!n || !strstr(frames[n - 1]->name, "alloc_"))
		return false;
	for (size_t i = 0; i + 1 < n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(takers); k++)
			if (!strncmp(frames[i]->name, takers[k], strlen(takers[k])))
				return true;
	return false;
}

/*
 * Returns true for memory that an allocator takes while it frees: glibc maps an arena in a thread's
 * first call, which may be free(). Returns of free() aren't probed, so BPF doesn't see the nesting.
 */
static bool is_taken_by_free(const struct leak_report *report, const struct frame *const *frames,
			     size_t n)
{
	int kind;

	for (size_t i = 0; i + 1 < n; i++) {
		kind = alloc_kind_of(frames[i]->name, options_of(report)->prefix, false);
		if (frames[i]->kind == FRAME_USER && (kind == ALLOC_FREE || kind == ALLOC_DELETE))
			return true;
	}
	return false;
}

/* Returns true for memory of an allocator whose blocks are counted instead. */
static bool is_allocators_own(const struct leak_report *report, const struct block_sum *sum)
{
	const struct frame *const *frames;
	size_t n;

	frames = sum->is_sampled ? NULL : stacks_frames(report->run, sum->stack_id, &n);
	if (!frames)
		return false;
	if (!sum->tgid)
		return is_slabs_own(frames, n);
	return is_taken_by_free(report, frames, n) ||
	       go_heaps_own(report->heaps, sum->tgid, frames, n);
}

/* Notes an interval's totals. A peek shows the growth up to the last interval. */
static void note_growth(struct leak_report *report)
{
	if (!options_of(report)->growth || report->run->is_peek)
		return;
	growths_next(&report->growths);
	if (report->run->is_last && report->growths.interval <= GROWTH_INTERVALS)
		msg_warn("--growth: %u of %d necessary reports (trace longer)",
			 report->growths.interval, GROWTH_INTERVALS + 1);
	for (size_t i = 0; i < report->sums.count; i++) {
		const struct block_sum *sum = report->sums.items[i];

		growths_set(&report->growths, sum->id, sum->bytes, sum->count);
	}
}

/* Returns the shown bytes of a total, and its number of blocks; 0 bytes: not shown. */
static uint64_t shown_bytes(const struct leak_report *report, const struct block_sum *sum,
			    uint64_t *count)
{
	const struct growth *growth;

	*count = sum->count;
	if (!sum->count)
		return 0;
	if (is_allocators_own(report, sum))
		return 0;
	if (!options_of(report)->growth)
		return sum->bytes;
	growth = growths_find(&report->growths, sum->id);
	*count = growth && growth->count_more > 0 ? (uint64_t)growth->count_more : 0;
	return growth && growth->bytes_more > 0 ? (uint64_t)growth->bytes_more : 0;
}

static void hand_on(struct leak_report *report, const struct block_sum *sum, map_visit_fn *visit,
		    void *arg)
{
	bool has_ages = !options_of(report)->combined_only && !sum->is_sampled;
	bool has_growth = options_of(report)->growth;
	struct stacks_value value = {
		.columns = { [LEAK_ALLOC_COUNT] = has_growth ? 0 : sum->alloc_count,
			     [LEAK_ALLOC_BYTES] = has_growth ? 0 : sum->alloc_bytes,
			     [LEAK_SAMPLES] = sum->n_samples,
			     [LEAK_YOUNGEST] = has_ages ? sum->youngest_ms : COLUMN_ABSENT,
			     [LEAK_OLDEST] = has_ages ? sum->oldest_ms : COLUMN_ABSENT },
		.group = sum->is_sampled ? GO_HEAP_GROUP : NULL,
	};
	const struct owner *owner = find_owner(report, sum->tgid);
	struct stack_key key = { .tgid = (uint32_t)sum->tgid };

	if (sum->tgid)
		key.user_id = sum->stack_id;
	else
		key.kernel_id = sum->stack_id;
	value.value = shown_bytes(report, sum, &value.columns[LEAK_COUNT]);
	key.cgroup_id = owner->cgroup_id;
	memcpy(key.comm, owner->comm, TASK_COMM_LEN);
	visit(&key, &value, arg);
}

static void begin_anew(struct leak_report *report)
{
	block_sums_clear(&report->sums);
	idmap_free(&report->owners, free);
	report->owners = (struct idmap){};
	report->n_shown = 0;
}

/* Number of buckets mapped together: some megabytes. The table may have hundreds. */
#define WINDOW_BUCKETS 16384

static struct block_bucket *map_buckets(const struct leak_report *report, size_t first, size_t n)
{
	void *memory =
		mmap(NULL, n * sizeof(struct block_bucket), PROT_READ | PROT_WRITE, MAP_SHARED,
		     report->buckets_fd, (off_t)(first * sizeof(struct block_bucket)));

	if (memory != MAP_FAILED)
		return memory;
	msg_errno(-errno, "table of blocks: mmap failed");
	return NULL;
}

/* Visits the table window by window, because mapped parts count as this process's memory. */
static int visit_blocks(struct leak_report *report)
{
	for (size_t first = 0; first < report->n_buckets; first += WINDOW_BUCKETS) {
		size_t left = report->n_buckets - first;
		size_t n = left < WINDOW_BUCKETS ? left : WINDOW_BUCKETS;
		struct block_bucket *buckets = map_buckets(report, first, n);

		if (!buckets)
			return -EIO;
		blocks_visit(buckets, n, visit_block, report);
		munmap(buckets, n * sizeof(*buckets));
	}
	return 0;
}

int leak_report_read(struct leak_report *report, map_visit_fn *visit, void *arg)
{
	int err;

	begin_anew(report);
	visit_ranges(report);
	err = visit_blocks(report);
	if (err)
		return err;
	if (report->heaps)
		go_heaps_read(report->heaps, options_of(report), &report->sums);
	block_sums_sort(&report->sums, options_of(report)->by_count);
	note_growth(report);
	for (size_t i = 0; i < report->sums.count; i++)
		hand_on(report, report->sums.items[i], visit, arg);
	return 0;
}

/* ---- text ---- */

static void print_time(FILE *f)
{
	char text[CLOCK_TIME_OF_DAY_SIZE];

	fprintf(f, "[%s] ", clock_time_of_day(text));
}

static void print_frames(const struct leak_report *report, const struct block_sum *sum)
{
	static const struct writer_style plain;
	size_t n;
	const struct frame *const *frames = stacks_frames(report->run, sum->stack_id, &n);
	FILE *f = report->run->out;

	for (size_t i = n; i-- > 0;) {
		fputs("\t\t", f);
		writer_print_frame(f, frames[i], &plain, NULL);
		fputc('\n', f);
	}
	if (!frames)
		fputs("\t\t[no stack]\n", f);
}

static void print_age(FILE *f, const struct block_sum *sum)
{
	fprintf(f, ", %.1f to %.1f s old", (double)sum->youngest_ms / 1000,
		(double)sum->oldest_ms / 1000);
}

static void print_owner(FILE *f, const struct leak_report *report, const struct block_sum *sum)
{
	const struct owner *owner = idmap_find(&report->owners, (uint64_t)sum->tgid + 1);

	if (!sum->tgid || report->owners.count < 2)
		return;
	fputs(", ", f);
	escape_print(f, escape_no_name(owner->comm), NULL);
	fprintf(f, " (%d)", sum->tgid);
}

static void print_growth(FILE *f, const struct growth *growth)
{
	fprintf(f,
		"\t%+" PRId64 " bytes in %+" PRId64
		" allocations in the last of %u consecutive intervals with growth, to\n",
		growth->bytes_more, growth->count_more, growth->n_rises);
}

static void print_amount(FILE *f, const struct block_sum *sum)
{
	if (sum->is_sampled)
		fprintf(f,
			"\t~%" PRIu64 " bytes in ~%" PRIu64 " objects (%" PRIu64
			" sampled) of Go's heap from stack",
			sum->bytes, sum->count, sum->n_samples);
	else
		fprintf(f, "\t%" PRIu64 " bytes in %" PRIu64 " allocations from stack", sum->bytes,
			sum->count);
}

static void print_sum(const struct leak_report *report, const struct block_sum *sum)
{
	const struct growth *growth = growths_find(&report->growths, sum->id);
	FILE *f = report->run->out;

	if (options_of(report)->growth && growth)
		print_growth(f, growth);
	print_amount(f, sum);
	if (!sum->is_sampled && !options_of(report)->combined_only)
		print_age(f, sum);
	print_owner(f, report, sum);
	fputc('\n', f);
	print_frames(report, sum);
}

static int compare_shown(const void *a, const void *b)
{
	const struct shown_block *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool is_shown(const struct leak_report *report, const struct block_sum *sum)
{
	const struct owner *owner = idmap_find(&report->owners, (uint64_t)sum->tgid + 1);
	uint64_t count;

	return shown_bytes(report, sum, &count) &&
	       stacks_show(report->run, owner->comm, sum->stack_id);
}

static void print_blocks(const struct leak_report *report)
{
	struct shown_block *shown = report->shown;

	SORT(shown, report->n_shown, compare_shown);
	for (size_t i = 0; i < report->n_shown; i++)
		if (is_shown(report, shown[i].sum))
			fprintf(report->run->out, "\taddr = %" PRIx64 " size = %" PRIu64 "\n",
				shown[i].addr, shown[i].bytes);
}

/* Collects the totals to print, largest first. Returns their number. */
static size_t choose_top(const struct leak_report *report, const struct block_sums *sums,
			 const struct block_sum **top)
{
	size_t n = 0;

	for (size_t i = 0; n < options_of(report)->top && i < sums->count; i++)
		if (is_shown(report, sums->items[i]))
			top[n++] = sums->items[i];
	return n;
}

/* Merges totals of equal stacks. */
static struct block_sums merge_sums(const struct leak_report *report)
{
	struct block_sums merged = {};

	for (size_t i = 0; i < report->sums.count; i++) {
		const struct block_sum *sum = report->sums.items[i];

		block_sums_merge(&merged, sum, stacks_fold(report->run, sum->stack_id));
	}
	block_sums_sort(&merged, options_of(report)->by_count);
	return merged;
}

static void print_top(const struct leak_report *report, const struct block_sums *sums)
{
	const struct block_sum **top = mem_zalloc(sums->count + 1, sizeof(struct block_sum *));
	size_t n = choose_top(report, sums, top);

	print_time(report->run->out);
	fprintf(report->run->out, "Top %zu stacks with %s allocations:\n", n,
		options_of(report)->growth ? "growing" : "outstanding");
	if (report->heaps)
		go_heaps_print(report->heaps, report->run->out);
	print_blocks(report);
	while (n-- > 0)
		print_sum(report, top[n]);
	free(top);
}

/* Prints the largest totals last, where terminals show them. Growth is stored per stack id. */
void leak_report_write_text(struct leak_report *report)
{
	struct block_sums merged = {};

	if (!options_of(report)->growth)
		merged = merge_sums(report);
	print_top(report, options_of(report)->growth ? &report->sums : &merged);
	block_sums_clear(&merged);
}

/* ---- calls ---- */

static const char *call_name(const struct memleak_event *event)
{
	if (!event->in_kernel)
		return alloc_kind_traits(event->kind)->name;
	return event->kind < ALLOC_FREE ? "alloc" : "free";
}

static void head_calls(struct leak_report *report)
{
	if (run_begins_file(report->run, &report->n_headed))
		fprintf(report->run->out, "%-12s %-16s %7s %-14s %-16s %s\n", "TIME(s)", "COMM",
			"TID", "CALL", "ADDRESS", "BYTES");
}

static int print_call(void *arg, void *data, size_t size)
{
	const struct memleak_event *event = data;
	struct leak_report *report = arg;
	const struct run *run = report->run;
	char comm[4 * TASK_COMM_LEN];

	if (size < sizeof(*event) || event->kind >= ALLOC_KINDS)
		return 0;
	head_calls(report);
	fprintf(run->out, "%-12.6f %-16s %7u %-14s %016llx %llu\n",
		(double)(event->time_ns - run->start_ns) / (double)NS_PER_S,
		escape_string(comm, sizeof(comm), escape_no_name(event->comm), ""), event->tid,
		call_name(event), (unsigned long long)event->addr, (unsigned long long)event->size);
	return 0;
}

static int watch_calls(struct leak_report *report)
{
	if (!options_of(report)->trace)
		return 0;
	report->run->prints_lines = true;
	head_calls(report);
	report->calls = ringbuf_watch(report->run, "memleak_events", print_call, report);
	return report->calls ? 0 : -EIO;
}

void leak_report_read_calls(struct leak_report *report)
{
	if (!report->calls)
		return;
	head_calls(report);
	ringbuf_read(report->calls);
}

/* ---- beginning and end ---- */

static int change_range(void *arg, void *data, size_t size)
{
	struct leak_report *report = arg;

	if (size >= sizeof(struct memleak_range))
		ranges_change(report->ranges, data);
	return 0;
}

static int watch_ranges(struct leak_report *report)
{
	if (!report->probes)
		return 0;
	report->range_changes = ringbuf_watch(report->run, "memleak_ranges", change_range, report);
	return report->range_changes ? 0 : -EIO;
}

struct leak_report *leak_report_new(struct run *run, const struct leak_probes *probes,
				    struct go_heaps *heaps)
{
	const struct bpf_map *map = map_find(run, "blocks");
	struct leak_report *report = mem_zalloc(1, sizeof(*report));

	*report = (struct leak_report){ .run = run, .probes = probes, .heaps = heaps };
	report->generations_fd = probes ? bpf_map__fd(map_find(run, "memleak_generations")) : -1;
	report->ended_fd = probes ? bpf_map__fd(map_find(run, "memleak_ended")) : -1;
	report->traced_fd = probes ? bpf_map__fd(map_find(run, "filter_tgids")) : -1;
	report->buckets_fd = bpf_map__fd(map);
	report->n_buckets = bpf_map__max_entries(map);
	report->ranges = ranges_new(blocks_in_buckets(report->n_buckets));
	if (!watch_ranges(report) && !watch_calls(report))
		return report;
	leak_report_free(report);
	return NULL;
}

void leak_report_free(struct leak_report *report)
{
	if (!report)
		return;
	block_sums_clear(&report->sums);
	idmap_free(&report->owners, free);
	growths_clear(&report->growths);
	ringbuf_close(report->range_changes);
	ringbuf_close(report->calls);
	ranges_free(report->ranges);
	free(report->shown);
	free(report);
}

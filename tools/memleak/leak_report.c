// SPDX-License-Identifier: GPL-2.0-only
/* Reports of live blocks; see leakreport.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include <bpf/bpf.h>

#include "abi/memleak.h"
#include "memleak/allocators.h"
#include "memleak/blocks.h"
#include "run/bpfmap.h"
#include "output/escape.h"
#include "run/ringbuf.h"
#include "memleak/growth.h"
#include "base/idmap.h"
#include "memleak/leak_probes.h"
#include "memleak/leak_report.h"
#include "memleak/leak_options.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/parse.h"
#include "process/procstate.h"
#include "stacks/stacks.h"
#include "output/writer.h"

/* What a report has to know of a process, found out once for each report. */
struct owner {
	char comm[TASK_COMM_LEN + 1];
	int generation; /* of its program; -1: has executed none since */
	bool has_ended;
};

struct shown_block {
	uint64_t addr, bytes;
};

static struct block_bucket *buckets;
static size_t n_buckets;
static struct block_sums *sums; /* of the current report */
static struct idmap owners;	/* by pid + 1 */
static struct growths *growths;
static struct events *calls; /* -t */

static struct shown_block *shown; /* -a */
static size_t n_shown, shown_cap;

/* What visit needs. */
struct reading {
	struct run *run;
	uint64_t now_ns;
	int generations_fd;
};

/* ---- owners ---- */

/* Its name now, or what it was called before it ended. */
static void read_comm(pid_t tgid, struct owner *owner)
{
	const char *known = tgid ? leakprobes_comm(tgid) : "kernel";

	if (!tgid || process_comm(tgid, owner->comm, sizeof(owner->comm)))
		snprintf(owner->comm, sizeof(owner->comm), "%s", known ? known : "?");
}

static struct owner *find_owner(const struct reading *reading, pid_t tgid)
{
	struct owner *owner = idmap_find(&owners, (uint64_t)tgid + 1);
	uint32_t generation;

	if (owner)
		return owner;
	owner = mem_zalloc(1, sizeof(*owner));
	read_comm(tgid, owner);
	owner->generation = -1;
	if (tgid && !bpf_map_lookup_elem(reading->generations_fd, &tgid, &generation))
		owner->generation = (uint16_t)generation;
	owner->has_ended = tgid && process_has_ended(tgid);
	idmap_add(&owners, (uint64_t)tgid + 1, owner);
	return owner;
}

/* ---- reading ---- */

static void show_block(uint64_t addr, const struct block *block)
{
	shown = mem_grow(shown, n_shown, &shown_cap, sizeof(*shown));
	shown[n_shown++] = (struct shown_block){ addr, block_size(block) };
}

/* What an ended process never gave back is a leak, however young. */
static bool is_too_young(const struct reading *reading, const struct owner *owner,
			 const struct block *block)
{
	if (leak_options.combined_only || owner->has_ended)
		return false;
	return block_age_ms(block, reading->now_ns) * NS_PER_MS < leak_options.min_age_ns;
}

/* False if the block is not needed any more. */
static bool visit_block(uint64_t addr, const struct block *block, void *arg)
{
	const struct reading *reading = arg;
	const struct owner *owner = find_owner(reading, (pid_t)block->tgid);

	if (owner->generation >= 0 && owner->generation != block_generation(block))
		return false;
	if (is_too_young(reading, owner, block))
		return true;
	block_sums_add(sums, block, reading->now_ns);
	if (leak_options.show_blocks)
		show_block(addr, block);
	return !owner->has_ended || reading->run->is_peek || reading->run->is_last;
}

/*
 * Pages that the slab allocator takes for its own blocks, which are counted one by one: the outer
 * allocation's, as in user space.
 */
static bool is_slabs_own(const struct block_sum *sum)
{
	static const char *const takers[] = { "allocate_slab", "___kmalloc_large_node",
					      "__kmalloc_large_node", "kmalloc_order" };
	const struct frame *frames;
	size_t n;

	frames = sum->tgid ? NULL : stacks_frames(sum->stack_id, &n);
	if (!frames || !n || !strstr(frames[n - 1].name, "alloc_"))
		return false;
	for (size_t i = 0; i + 1 < n; i++)
		for (size_t k = 0; k < ARRAY_SIZE(takers); k++)
			if (!strncmp(frames[i].name, takers[k], strlen(takers[k])))
				return true;
	return false;
}

static void note_growth(const struct run *run)
{
	for (size_t i = 0; !run->is_peek && i < block_sums_count(sums); i++) {
		const struct block_sum *sum = block_sum(sums, i);

		growths_set(growths, sum->id, sum->bytes, sum->count);
	}
}

/* The bytes of a sum that are to be shown, and the number of blocks; 0 bytes: it is not. */
static uint64_t shown_bytes(const struct block_sum *sum, uint64_t *count)
{
	const struct growth *growth;

	*count = sum->count;
	if (is_slabs_own(sum))
		return 0;
	if (!leak_options.growth)
		return sum->bytes;
	growth = growths_find(growths, sum->id);
	*count = growth && growth->count_more > 0 ? (uint64_t)growth->count_more : 0;
	return growth && growth->bytes_more > 0 ? (uint64_t)growth->bytes_more : 0;
}

static void hand_on(const struct reading *reading, const struct block_sum *sum, map_visit_fn *visit,
		    void *arg)
{
	struct stacks_value value = { .blocks = { .has_ages = !leak_options.combined_only,
						  .youngest_ms = sum->youngest_ms,
						  .oldest_ms = sum->oldest_ms } };
	struct stack_key key = { .tgid = (uint32_t)sum->tgid };

	if (sum->tgid)
		key.user_id = sum->stack_id;
	else
		key.kernel_id = sum->stack_id;
	value.sum.value = shown_bytes(sum, &value.blocks.count);
	memcpy(key.comm, find_owner(reading, sum->tgid)->comm, TASK_COMM_LEN);
	visit(&key, &value, arg);
}

int leakreport_read(struct run *run, map_visit_fn *visit, void *arg)
{
	struct reading reading = { run, run->end_ns, -1 };
	struct bpf_map *generations = map_find(run, "memleak_generations");

	reading.generations_fd = generations ? bpf_map__fd(generations) : -1;
	block_sums_free(sums);
	sums = block_sums_new();
	idmap_free(&owners, free);
	owners = (struct idmap){};
	n_shown = 0;
	blocks_visit(buckets, n_buckets, visit_block, &reading);
	block_sums_sort(sums, leak_options.by_count);
	note_growth(run);
	for (size_t i = 0; i < block_sums_count(sums); i++)
		hand_on(&reading, block_sum(sums, i), visit, arg);
	return 0;
}

/* ---- text ---- */

static void print_time(FILE *f)
{
	time_t now = time(NULL);
	char text[16];

	strftime(text, sizeof(text), "%H:%M:%S", localtime(&now));
	fprintf(f, "[%s] ", text);
}

static void print_frames(FILE *f, const struct block_sum *sum)
{
	static const struct writer_style plain;
	size_t n;
	const struct frame *frames = stacks_frames(sum->stack_id, &n);

	for (size_t i = n; i-- > 0;) {
		fputs("\t\t", f);
		writer_print_frame(f, &frames[i], &plain, NULL);
		fputc('\n', f);
	}
	if (!frames)
		fputs("\t\t[no stack]\n", f);
}

static void print_age(FILE *f, const struct block_sum *sum)
{
	if (leak_options.combined_only)
		return;
	fprintf(f, ", %.1f to %.1f s old", (double)sum->youngest_ms / 1000,
		(double)sum->oldest_ms / 1000);
}

static void print_owner(FILE *f, const struct block_sum *sum)
{
	const struct owner *owner = idmap_find(&owners, (uint64_t)sum->tgid + 1);

	if (!sum->tgid || owners.count < 2)
		return;
	fputs(", ", f);
	escape_print(f, owner->comm, NULL);
	fprintf(f, " (%d)", sum->tgid);
}

static void print_growth(FILE *f, const struct block_sum *sum)
{
	const struct growth *growth = growths_find(growths, sum->id);

	if (leak_options.growth && growth)
		fprintf(f,
			"\t%+" PRId64 " bytes in %+" PRId64
			" allocations, in %u intervals in a row, to\n",
			growth->bytes_more, growth->count_more, growth->n_rises);
}

static void print_sum(FILE *f, const struct block_sum *sum)
{
	print_growth(f, sum);
	fprintf(f, "\t%" PRIu64 " bytes in %" PRIu64 " allocations from stack", sum->bytes,
		sum->count);
	print_age(f, sum);
	print_owner(f, sum);
	fputc('\n', f);
	print_frames(f, sum);
}

static int compare_shown(const void *a, const void *b)
{
	const struct shown_block *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? -1 : 1;
	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void print_blocks(FILE *f)
{
	if (n_shown)
		qsort(shown, n_shown, sizeof(*shown), compare_shown);
	for (size_t i = 0; i < n_shown; i++)
		fprintf(f, "\taddr = %" PRIx64 " size = %" PRIu64 "\n", shown[i].addr,
			shown[i].bytes);
}

/* Those of a report, best first. Returns their number. */
static size_t choose_top(const struct block_sum **top)
{
	uint64_t count;
	size_t n = 0;

	for (size_t i = 0; n < leak_options.top && i < block_sums_count(sums); i++)
		if (shown_bytes(block_sum(sums, i), &count))
			top[n++] = block_sum(sums, i);
	return n;
}

/* The largest come last, where a terminal shows them. */
void leakreport_write_text(struct run *run)
{
	const struct block_sum **top =
		mem_zalloc(block_sums_count(sums) + 1, sizeof(struct block_sum *));
	size_t n = choose_top(top);

	print_time(run->out);
	fprintf(run->out, "Top %zu stacks with %s allocations:\n", n,
		leak_options.growth ? "ever more" : "outstanding");
	print_blocks(run->out);
	while (n-- > 0)
		print_sum(run->out, top[n]);
	if (!run->is_peek)
		growths_next(growths);
	free(top);
}

/* ---- -t ---- */

static int print_call(void *ctx, void *data, size_t size)
{
	static const char *const kernel_names[] = { "alloc", "free" };
	const struct memleak_event *event = data;
	struct run *run = ctx;
	char comm[4 * TASK_COMM_LEN];
	const char *name;

	if (size < sizeof(*event) || event->kind >= ALLOC_KINDS)
		return 0;
	name = event->in_kernel ? kernel_names[event->kind >= ALLOC_FREE]
				: alloc_kind_traits(event->kind)->name;
	fprintf(run->out, "%-12.6f %-16s %7u %-14s %016llx %llu\n",
		(double)(event->time_ns - run->start_ns) / (double)NS_PER_S,
		escape_string(comm, sizeof(comm), event->comm, ""), event->tid, name,
		(unsigned long long)event->addr, (unsigned long long)event->size);
	return 0;
}

static int watch_calls(struct run *run)
{
	if (!leak_options.trace)
		return 0;
	fprintf(run->out, "%-12s %-16s %7s %-14s %-16s %s\n", "TIME(s)", "COMM", "TID", "CALL",
		"ADDRESS", "BYTES");
	calls = events_watch(run, "memleak_events", print_call, run);
	return calls ? 0 : -EIO;
}

/* ---- the life of it ---- */

int leakreport_start(struct run *run)
{
	struct bpf_map *map = map_find(run, "blocks");
	void *memory;

	n_buckets = bpf_map__max_entries(map);
	memory = mmap(NULL, n_buckets * sizeof(*buckets), PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(map), 0);
	if (memory == MAP_FAILED)
		return msg_errno(errno, "mapping the table of blocks");
	buckets = memory;
	growths = growths_new();
	return watch_calls(run);
}

void leakreport_finish(void)
{
	if (buckets)
		munmap(buckets, n_buckets * sizeof(*buckets));
	block_sums_free(sums);
	idmap_free(&owners, free);
	growths_free(growths);
	events_close(calls);
	free(shown);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The Go runtime's heap profile; see heap.h. A bucket (src/runtime/mprof.go of the Go release) has
 * one stack and one size of object:
 *
 *	next, allnext, type, hash, size, number of addresses; the addresses;
 *	four counts { allocs, frees, their bytes up to Go 1.26 }: active, future[3]
 *
 * The profile is active + future[cycle % 3], whether or not the runtime has moved the latter into
 * active. The other two count what no collection has judged yet; before the first one, the profile
 * is the total of all. Buckets are never freed or moved, and only counts in them change, at
 * collections.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/peek.h"
#include "runtimes/go/heap.h"
#include "runtimes/go/layout.h"

#define ATTEMPTS	 5
#define BUCKETS_MAX	 (512u << 10)
#define WORDS_MAX	 (16u << 20)
#define STACK_MAX	 1100 /* GODEBUG=profstackdepth is at most 1024 */
#define WINDOW_BYTES	 PEEK_MAX_BYTES
#define CHECK_TIME	 128 /* buckets between looks at the clock */
#define TYPE_MEMORY	 1
#define CYCLES		 3
#define COUNT_WORDS_MAX	 4
#define OBJECT_BYTES_MAX (1ULL << 48)
#define OBJECTS_MAX	 (1ULL << 48)
#define INLINED_MAX	 32

enum { HEADER_ALLNEXT = 1, HEADER_TYPE, HEADER_HASH, HEADER_SIZE, HEADER_N, HEADER_WORDS };

/* Memory of the process: buckets lie next to each other, so a read serves many. */
struct window {
	pid_t pid;
	uint64_t addr;
	size_t size;
	uint8_t bytes[WINDOW_BYTES];
};

static bool window_has(const struct window *w, uint64_t addr, size_t size)
{
	return addr >= w->addr && addr - w->addr <= w->size && w->size - (addr - w->addr) >= size;
}

static bool window_read(struct window *w, uint64_t addr, void *to, size_t size)
{
	if (!window_has(w, addr, size)) {
		w->addr = addr & ~(uint64_t)(WINDOW_BYTES - 1);
		w->size = peek(w->pid, w->addr, w->bytes, WINDOW_BYTES);
	}
	if (!window_has(w, addr, size)) /* across the end, or the window begins in a hole */
		return peek_all(w->pid, addr, to, size);
	memcpy(to, w->bytes + (addr - w->addr), size);
	return true;
}

/* ---- stacks ---- */

/*
 * Returns the number of words after the first that are its inlined calls: the runtime records a
 * word per call, and each call inlined into another one has a location in the same function.
 */
static size_t count_inlined(struct go_program *p, const uint64_t *words, size_t n)
{
	struct go_frame frames[INLINED_MAX];
	size_t n_frames = gopclntab_frames(&p->table, words[0] - 1 - p->bias, frames, INLINED_MAX);
	size_t n_same = 0;

	for (size_t i = 1; i < n_frames && n_same + 1 < n; i++)
		if (frames[i].pc + 1 + p->bias == words[n_same + 1])
			n_same++;
	return n_same;
}

size_t go_heap_drop_inlined(struct go_program *p, uint64_t *words, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i += 1 + count_inlined(p, words + i, n - i))
		words[kept++] = words[i];
	return kept;
}

/* ---- a pass over all buckets ---- */

struct pass {
	struct go_heap *heap;
	struct go_heap_layout layout;
	uint32_t judged; /* index of the future counts that belong to the profile */
	bool takes_all;	 /* no collection so far: all counts belong to it */
	bool has_counts; /* a bucket has counts that belong to the profile */
	uint64_t end_ns; /* clock_thread_ns() when reading ends: a list may be forged */
	struct window window;
};

static bool header_is_sane(const uint64_t *header)
{
	return header[HEADER_TYPE] == TYPE_MEMORY && header[HEADER_SIZE] &&
	       header[HEADER_SIZE] < OBJECT_BYTES_MAX && header[HEADER_N] <= STACK_MAX;
}

/* Checks that bytes, if present, are the count times the size: a wrong layout fails here. */
static bool count_is_sane(const struct pass *pass, const uint64_t *count, uint64_t size)
{
	if (count[0] > OBJECTS_MAX || count[1] > OBJECTS_MAX)
		return false;
	return pass->layout.count_words < 4 ||
	       (count[2] == count[0] * size && count[3] == count[1] * size);
}

/* Totals the counts of a bucket. -EAGAIN: torn by a change. */
static int add_counts(struct pass *pass, const uint64_t *counts, struct go_heap_record *record)
{
	for (uint32_t i = 0; i <= CYCLES; i++) {
		const uint64_t *count = counts + (size_t)i * pass->layout.count_words;

		if (!pass->takes_all && i && i - 1 != pass->judged)
			continue;
		if (!count_is_sane(pass, count, record->object_bytes))
			return -EAGAIN;
		record->allocs += count[0];
		record->frees += count[1];
	}
	pass->has_counts |= record->allocs;
	return record->allocs < record->frees ? -EAGAIN : 0;
}

/* Makes space for n more words, which may be 0. */
static uint64_t *add_words(struct go_heap *heap, size_t n)
{
	while (heap->words_cap <= heap->n_words + n) {
		heap->words_cap = heap->words_cap ? 2 * heap->words_cap : 4096;
		heap->words = mem_realloc(heap->words, heap->words_cap, sizeof(*heap->words));
	}
	heap->n_words += n;
	return heap->words + heap->n_words - n;
}

/* Reads the bucket at *addr, and moves *addr to the next one. */
static int read_bucket(struct pass *pass, uint64_t *addr)
{
	uint64_t header[HEADER_WORDS], counts[(1 + CYCLES) * COUNT_WORDS_MAX];
	struct go_heap *heap = pass->heap;
	struct go_heap_record record;
	uint64_t at = *addr + sizeof(header);

	if (heap->n % CHECK_TIME == 0 && clock_thread_ns() > pass->end_ns)
		return -ETIMEDOUT;
	if (*addr & 7 || !window_read(&pass->window, *addr, header, sizeof(header)))
		return -EFAULT;
	if (!header_is_sane(header) || heap->n >= BUCKETS_MAX ||
	    heap->n_words + header[HEADER_N] > WORDS_MAX)
		return -EINVAL;
	record = (struct go_heap_record){ .at = heap->n_words,
					  .n = header[HEADER_N],
					  .object_bytes = header[HEADER_SIZE] };
	if (!window_read(&pass->window, at, add_words(heap, record.n), 8 * record.n) ||
	    !window_read(&pass->window, at + 8 * record.n, counts,
			 (1 + CYCLES) * pass->layout.count_words * sizeof(*counts)))
		return -EFAULT;
	heap->records = mem_grow(heap->records, heap->n, &heap->cap, sizeof(*heap->records));
	heap->records[heap->n] = record;
	*addr = header[HEADER_ALLNEXT];
	return add_counts(pass, counts, &heap->records[heap->n++]);
}

static int read_buckets(struct pass *pass, uint64_t head)
{
	int err = 0;

	pass->heap->n = pass->heap->n_words = 0;
	pass->has_counts = false;
	while (head && !err)
		err = read_bucket(pass, &head);
	return err;
}

static int read_cycle(const struct go_program *p, const struct pass *pass, uint32_t *cycle)
{
	if (!peek_all(p->pid, p->variables[GO_CYCLE], cycle, sizeof(*cycle)))
		return -EFAULT;
	*cycle >>= pass->layout.cycle_shift;
	return 0;
}

/* Reads all buckets within one cycle. -EAGAIN: it ended meanwhile, or a count was changing. */
static int read_pass(const struct go_program *p, struct pass *pass)
{
	uint32_t after = 0;
	uint64_t head;
	int err = read_cycle(p, pass, &pass->heap->cycle);

	if (err || !peek_all(p->pid, p->variables[GO_MBUCKETS], &head, sizeof(head)))
		return -EFAULT;
	pass->judged = pass->heap->cycle % CYCLES;
	pass->takes_all = false;
	err = read_buckets(pass, head);
	if (!err && !pass->has_counts) {
		pass->takes_all = true;
		err = read_buckets(pass, head);
	}
	if (!err)
		err = read_cycle(p, pass, &after);
	return !err && after != pass->heap->cycle ? -EAGAIN : err;
}

static bool is_same(const struct go_heap *a, const struct go_heap *b)
{
	return a->cycle == b->cycle && a->n == b->n && a->n_words == b->n_words &&
	       (!a->n || !memcmp(a->records, b->records, a->n * sizeof(*a->records))) &&
	       (!a->n_words || !memcmp(a->words, b->words, a->n_words * sizeof(*a->words)));
}

/* Reads until two consecutive passes find the same. */
static int read_twice(const struct go_program *p, struct pass *pass, struct go_heap *heap)
{
	struct go_heap last = {};
	bool has_last = false, is_good;
	int err = -EAGAIN;

	for (unsigned int i = 0; i <= ATTEMPTS && err == -EAGAIN; i++) {
		struct go_heap earlier = last;

		last = *heap;
		*heap = earlier; /* reuses its memory */
		pass->heap = heap;
		pass->window = (struct window){ .pid = p->pid };
		err = read_pass(p, pass);
		is_good = !err;
		if (is_good && !(has_last && is_same(heap, &last)))
			err = -EAGAIN;
		has_last = is_good;
	}
	go_heap_free(&last);
	return err;
}

/* ---- the profile ---- */

/* Reads the rate; 0 also if memory is unreadable, with *err set. */
static uint64_t read_rate(const struct go_program *p, int *err)
{
	uint64_t rate = 0;

	*err = peek_all(p->pid, p->variables[GO_RATE], &rate, sizeof(rate)) ? 0 : -EFAULT;
	return rate;
}

const char *go_heap_why_none(const struct go_program *p)
{
	struct go_heap_layout layout;
	int err;

	if (!go_heap_layout(&layout, p->release))
		return "its release of Go is unknown";
	if (!p->variables[GO_MBUCKETS] || !p->variables[GO_CYCLE] || !p->variables[GO_RATE])
		return "the Go runtime's variables were not found";
	if (read_rate(p, &err) || err)
		return NULL;
	/* Buckets from before the rate became 0 are not read. */
	return p->functions[GO_READ_PROFILE].end
		       ? "the program has set runtime.MemProfileRate to 0"
		       : "it is linked without a heap profile (let it import net/http/pprof)";
}

int go_heap_read(struct go_program *p, uint64_t end_ns, struct go_heap *heap)
{
	struct pass *pass;
	uint64_t rate;
	int err;

	*heap = (struct go_heap){};
	if (go_heap_why_none(p))
		return -ENODATA;
	pass = mem_zalloc(1, sizeof(*pass));
	pass->end_ns = end_ns;
	go_heap_layout(&pass->layout, p->release);
	rate = read_rate(p, &err);
	if (!err)
		err = read_twice(p, pass, heap);
	heap->rate = rate;
	free(pass);
	return err;
}

void go_heap_free(struct go_heap *heap)
{
	free(heap->records);
	free(heap->words);
	*heap = (struct go_heap){};
}

/* Inverts the runtime's sampling, which takes an object with probability 1 - e^(-size / rate). */
double go_heap_scale(const struct go_heap *heap, uint64_t object_bytes)
{
	if (heap->rate <= 1)
		return 1;
	return 1 / -expm1(-(double)object_bytes / (double)heap->rate);
}

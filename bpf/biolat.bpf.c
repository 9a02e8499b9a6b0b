// SPDX-License-Identifier: GPL-2.0-only
/*
 * Block I/O latency: from the moment a request is issued to a disk's driver to its completion.
 * Drivers of stacked devices pass bios on and have no requests, so each request is counted once, at
 * the disk.
 *
 * The filter tests the submitting task, which is current when the request is created; for a kernel
 * thread, it tests the cgroup that is charged for the request.
 */
#define STACK_RECURS
#define TASK_READ(task, field) (HAS_TYPED_CURRENT ? (task)->field : BPF_CORE_READ(task, field))

#include "abi/biolat.h"
#include "lib/hist.bpf.h"
#include "lib/filter.bpf.h"
#include "lib/maps.bpf.h"
#include "stack/stack.bpf.h"

#define PF_WQ_WORKER 0x20
/*
 * Bios of a request that are looked at, in chunks, since the verifier walks each iteration: 4 MB of
 * single sectors. If a request completes in parts, only one chunk each time.
 */
#define REQUEST_BIOS 8192
#define BIOS_CHUNK   128

const volatile struct biolat_settings settings SEC(".rodata.biolat");

struct biolat_counts counts SEC(".data.counts") = {};

MAP_SHARED_ARRAY(requests, struct biolat_request, BIOLAT_REQUESTS);

MAP_RINGBUF(slow_requests, 1 << 20);

/*
 * ---- the table of requests ----
 *
 * A hash table of requests or bios (io), in an array whose size is a power of two: a lookup is a
 * few instructions of the program. A request is in the element of its hash or, if that is in use,
 * in one of the next few: the element of its hash counts these.
 */

/* Returns a hash whose low bits are good for any size of the table. */
static __always_inline __u32 request_hash(void *io)
{
	__u32 hash;
	register void *pointer __asm__("r1") = io;
	register __u64 low __asm__("r0");

	/* the verifier lets programs copy half of a pointer, but not multiply a pointer */
	__asm__("w0 = w1" : "=r"(low) : "r"(pointer));
	hash = (__u32)low * 0x9e3779b1U;
	return hash ^ hash >> 16;
}

static __always_inline struct biolat_request *request_at(__u32 i)
{
	i &= settings.last_request;
	return bpf_map_lookup_elem(&requests, &i);
}

static __noinline struct biolat_request *request_find_moved(void *io)
{
	__u32 first = request_hash(io);
	struct biolat_request *request;

	for (__u32 i = 1; i < BIOLAT_TRIES; i++) {
		barrier_var(i); /* not unrolled */
		request = request_at(first + i);
		if (request && request->io == (__u64)io)
			return request;
	}
	return NULL;
}

static __always_inline struct biolat_request *request_find(void *io)
{
	struct biolat_request *request = request_at(request_hash(io));

	if (!request || request->io == (__u64)io)
		return request;
	return request->claims < CLAIM_OF_MOVED ? NULL : request_find_moved(io);
}

/*
 * Claims a free element, without compare-and-exchange, which BPF has since 5.12: of several
 * programs that add a claim at the same time, at most one reads 1; the rest withdraw theirs.
 *
 * On arm64, additions order nothing, and what a release stores may become visible after what the
 * next claim stores. So a release only adds to io, as does a claim: the result is the same in any
 * order. The claim initializes the rest.
 */
static __always_inline bool request_try_claim(struct biolat_request *request, void *io)
{
	if (request->claims % CLAIM_OF_MOVED)
		return false;
	__sync_fetch_and_add(&request->claims, 1);
	if (*(volatile __u32 *)&request->claims % CLAIM_OF_MOVED != 1) {
		__sync_fetch_and_add(&request->claims, -1);
		return false;
	}
	request->issued_ns = 0;
	request->bytes = 0;
	request->is_owned = false;
	if (STORES_ARE_ORDERED)
		request->io = (__u64)io;
	else
		__sync_fetch_and_add(&request->io, (__u64)io);
	return true;
}

static __noinline struct biolat_request *request_claim_next(void *io)
{
	__u32 first = request_hash(io);
	struct biolat_request *request, *home = request_at(first);

	for (__u32 i = 1; home && i < BIOLAT_TRIES; i++) {
		barrier_var(i); /* not unrolled */
		request = request_at(first + i);
		if (!request || !request_try_claim(request, io))
			continue;
		__sync_fetch_and_add(&home->claims, CLAIM_OF_MOVED);
		return request;
	}
	return NULL;
}

static __always_inline struct biolat_request *request_claim(void *io)
{
	struct biolat_request *home = request_at(request_hash(io));

	return home && request_try_claim(home, io) ? home : request_claim_next(io);
}

static __always_inline struct biolat_request *request_find_or_claim(void *io)
{
	struct biolat_request *found = request_find(io);

	return found ? found : request_claim(io);
}

static __always_inline void request_release(void *io, struct biolat_request *request)
{
	struct biolat_request *home = request_at(request_hash(io));

	if (STORES_ARE_ORDERED)
		request->io = 0;
	else
		__sync_fetch_and_add(&request->io, -request->io);
	barrier(); /* the claim ends last */
	__sync_fetch_and_add(&request->claims, -1);
	if (home && home != request)
		__sync_fetch_and_add(&home->claims, -CLAIM_OF_MOVED);
}

/* ---- the owner: the task that submits ---- */

static __always_inline bool is_flush(__u32 flags)
{
	return (flags & REQ_OP_MASK) == REQ_OP_FLUSH;
}

static __always_inline bool is_writeback(struct task_struct *task, __u32 flags)
{
	return TASK_READ(task, flags) & PF_WQ_WORKER && (flags & REQ_OP_MASK) == REQ_OP_WRITE;
}

/*
 * Returns the cgroup that is charged for a kernel thread's bio; NULL: the task's own cgroup. Block
 * I/O may be charged to cgroups of version 1, whose ids may be those of other cgroups.
 */
static __always_inline struct cgroup *charged_cgroup(struct task_struct *task, struct bio *bio)
{
	struct cgroup *cgrp = task_is_kthread(task) ? bio_cgroup(bio) : NULL;

	if (!cgrp || BPF_CORE_READ(cgrp, root) != BPF_CORE_READ(task, cgroups, dfl_cgrp, root))
		return NULL;
	return cgrp;
}

static __noinline bool is_submitter_wanted(struct bio *bio)
{
	struct task_struct *task = current_task();

	return filter_task_in(task, charged_cgroup(task, bio));
}

static __always_inline void own_by_kernel(struct biolat_request *request, __u32 tgid)
{
	__u32 n = PROCESS_WRITEBACK - tgid;

	request->tgid = tgid;
#pragma unroll
	for (int i = 0; i < TASK_COMM_LEN; i++)
		request->comm[i] = settings.kernel_names[n][i];
}

static __noinline void request_own(struct biolat_request *request, struct bio *bio, __u32 flags)
{
	struct task_struct *task = current_task();
	struct cgroup *cgrp = charged_cgroup(task, bio);

	request->cgroup = cgrp ? BPF_CORE_READ(cgrp, kn, id) : task_cgroup(task);
	if (is_writeback(task, flags)) {
		own_by_kernel(request, PROCESS_WRITEBACK);
	} else {
		request->tgid = task_tgid(task);
		if (settings.by == BY_PROCESS)
			task = TASK_READ(task, group_leader);
		task_comm(task, request->comm);
	}
}

/*
 * Marks the block layer's own flush of the disk's cache, which serves all tasks that wait for one.
 */
static __always_inline void own_flush(struct biolat_request *request)
{
	request->is_wanted = !filter.tests;
	request->cgroup = 0;
	request->user_id = request->kernel_id = 0;
	own_by_kernel(request, PROCESS_FLUSH);
}

/* Inlined, since the verifier allows at most eight nested calls. */
static __always_inline void take_stack(void *ctx, struct biolat_request *request)
{
	request->user_id = stack_intern_user(ctx);
	request->kernel_id = stack_intern_kernel_current(ctx);
}

/*
 * Records the owner, the current task. Programs that take its stack have names of their own,
 * "stack_...": without stacks, they and what they call are not loaded.
 */
static __always_inline void own_wanted(void *ctx, struct biolat_request *request,
				       struct request *rq, bool with_stack)
{
	request->is_owned = request->is_wanted = true;
	request->made_ns = rq->start_time_ns;
	request_own(request, rq->bio, rq->cmd_flags);
	if (with_stack)
		take_stack(ctx, request);
}

/* Counts a request in flight as lost: the kernel uses it again, so its completion was missed. */
static __always_inline void count_uncompleted(struct biolat_request *request)
{
	if (!request->issued_ns)
		return;
	loss_count(LOSS_NO_COMPLETION, 1);
	request->issued_ns = 0;
}

static __always_inline void own_request(void *ctx, struct biolat_request *request,
					struct request *rq, bool with_stack)
{
	count_uncompleted(request);
	request->is_owned = true;
	request->is_wanted = false;
	request->made_ns = rq->start_time_ns;
	if (is_flush(rq->cmd_flags))
		own_flush(request);
	else if (is_submitter_wanted(rq->bio))
		own_wanted(ctx, request, rq, with_stack);
}

/*
 * Returns true if the request's owner is known. The owner is valid until completion. A request that
 * was merged into another one is never completed; the next request at its address has its own start
 * event or, before 6.5, a later creation time: a merge only makes a request older.
 */
static __always_inline bool is_owned(struct request *rq, struct biolat_request *request)
{
	return request->is_owned && (HAS_IO_START || request->made_ns >= rq->start_time_ns);
}

/*
 * Before 6.5, a request whose insertion finds the table full may be issued by another task, which
 * is not its owner: the element of its hash counts such requests.
 */
static __always_inline void count_unplaced(struct request *rq, __u32 more)
{
	struct biolat_request *home = request_at(request_hash(rq));

	if (home)
		__sync_fetch_and_add(&home->unplaced, more);
}

static __always_inline bool has_unplaced(struct request *rq)
{
	struct biolat_request *home = request_at(request_hash(rq));

	return home && home->unplaced;
}

/* ---- completion ---- */

/* Properties of a request or bio that reports show. */
struct facts {
	__u32 flags;
	__u32 disk;	  /* the disk's number */
	const void *name; /* the disk's name, in kernel memory */
	__u64 sector;
	__u32 bytes;
};

static __always_inline struct facts facts_of_request(struct request *rq, __u32 bytes)
{
	return (struct facts){ rq->cmd_flags, disk_number(request_disk(rq)),
			       request_disk(rq)->disk_name, rq->__sector, bytes };
}

static __always_inline struct facts facts_of_bio(const struct biolat_request *request)
{
	return (struct facts){ request->flags, request->disk_number,
			       ((struct gendisk *)request->disk)->disk_name, request->sector,
			       request->bytes };
}

static __always_inline __u64 key_of_operation(__u32 flags)
{
	__u32 op = flags & REQ_OP_MASK;
	__u64 class = 0;

	if (flags & REQUEST_FLAG(SYNC) && op == REQ_OP_WRITE)
		class |= CLASS_SYNC;
	if (flags & REQUEST_FLAG(META))
		class |= CLASS_METADATA;
	if (flags & REQUEST_FLAG(RAHEAD))
		class |= CLASS_READAHEAD;
	return (__u64)op << KEY_OP_SHIFT | class << KEY_CLASS_SHIFT;
}

static __always_inline void count_by_parts(const struct facts *facts, __u64 value, __u64 time)
{
	__u64 key = settings.parts | time << KEY_TIME_SHIFT;

	if (settings.parts & KEY_HAS_DISK)
		key |= facts->disk;
	if (settings.parts & KEY_HAS_OP)
		key |= key_of_operation(facts->flags);
	hist_record_by_key(value, key, facts->name);
}

/* Counts the device time and, if requested and known, the queue and total time. */
static __noinline void count_times(struct request *rq, __u64 issued_ns, __u64 now_ns)
{
	struct facts facts = facts_of_request(rq, 0);
	__u64 made_ns = request_made_ns(rq);

	count_by_parts(&facts, now_ns - issued_ns, TIME_DEVICE);
	if (!(settings.parts & KEY_HAS_TIME) || !made_ns)
		return;
	if (made_ns > issued_ns)
		made_ns = issued_ns;
	count_by_parts(&facts, issued_ns - made_ns, TIME_QUEUE);
	count_by_parts(&facts, now_ns - made_ns, TIME_TOTAL);
}

/* Counts ns, of n requests, for the owner's stack; n 0: only records that the stack recurs. */
static __noinline void count_by_stack(const struct biolat_request *request, __u64 ns, __u64 n)
{
	struct stack_key key = {
		.user_id = request->user_id,
		.kernel_id = request->kernel_id,
		.cgroup_id = stack_settings.cgroup ? request->cgroup : 0,
		.tgid = process_is_kernels(request->tgid) ? 0 : request->tgid,
	};

	__builtin_memcpy(key.comm, request->comm, sizeof(key.comm));
	stack_count(&key, ns, n);
}

static __noinline void send_slow(const struct biolat_request *request, const struct facts *facts,
				 __u64 made_ns, __u64 now_ns)
{
	struct biolat_slow *slow;

	slow = bpf_ringbuf_reserve(&slow_requests, sizeof(*slow), 0);
	if (!slow) {
		loss_count(LOSS_RING_FULL, 1);
		return;
	}
	slow->queue_ns = made_ns && made_ns < request->issued_ns ? request->issued_ns - made_ns : 0;
	slow->device_ns = now_ns - request->issued_ns;
	slow->sector = facts->sector;
	slow->bytes = facts->bytes;
	slow->key = key_of_operation(facts->flags);
	slow->cgroup = request->cgroup;
	slow->tgid = request->tgid;
	slow->user_id = request->user_id;
	slow->kernel_id = request->kernel_id;
	__builtin_memcpy(slow->comm, request->comm, sizeof(slow->comm));
	bpf_probe_read_kernel_str(slow->disk, sizeof(slow->disk), facts->name);
	bpf_ringbuf_submit(slow, 0);
}

/*
 * Returns true if at least slower_ns have passed since the request's creation or, if that time is
 * unknown, since its issue.
 */
static __always_inline bool is_slow(const struct biolat_request *request, __u64 made_ns,
				    __u64 now_ns)
{
	return now_ns - (made_ns ? made_ns : request->issued_ns) >= settings.slower_ns;
}

static __always_inline void report_if_slow(const struct biolat_request *request,
					   const struct facts *facts, __u64 made_ns, __u64 now_ns)
{
	if (settings.by == BY_STACK)
		count_by_stack(request, 0, 0);
	if (is_slow(request, made_ns, now_ns))
		send_slow(request, facts, made_ns, now_ns);
}

/* Adds a value to the histogram or stack of the request's owner, or to that of all requests. */
static __always_inline void count_by_owner(const struct biolat_request *request, __u64 value)
{
	if (settings.by == BY_STACK)
		count_by_stack(request, value, 1);
	else if (settings.by == BY_PROCESS)
		hist_record_by_key(value, request->tgid, request->comm);
	else if (settings.by == BY_CGROUP)
		hist_record_by_key(value, request->cgroup, NULL);
	else
		hist_record(value);
}

static __always_inline __u64 value_of(const struct biolat_request *request, __u32 bytes,
				      __u64 now_ns)
{
	if (!settings.of_bytes)
		return now_ns - request->issued_ns;
	__sync_fetch_and_add(&counts.bytes, bytes);
	return bytes;
}

static __noinline void request_count(struct request *rq, struct biolat_request *request,
				     __u32 bytes, __u64 now_ns)
{
	__u64 value = value_of(request, bytes, now_ns), made_ns;
	struct facts facts;

	if (settings.slower_ns) {
		made_ns = request_made_ns(rq);
		facts = facts_of_request(rq, bytes);
		report_if_slow(request, &facts, made_ns, now_ns);
	} else if (settings.by == BY_PARTS && settings.of_bytes) {
		facts = facts_of_request(rq, bytes);
		count_by_parts(&facts, value, 0);
	} else if (settings.by == BY_PARTS) {
		count_times(rq, request->issued_ns, now_ns);
	} else {
		count_by_owner(request, value);
	}
}

/* Returns the number of a status; before 5.16 (commit 8a7d267b4a2c), the status was an errno. */
static __always_inline __u8 number_of_status(__s32 status)
{
	return status < 0 ? BIOLAT_ERRNOS - status : status;
}

static __always_inline void count_failure(__u8 number)
{
	if (number)
		__sync_fetch_and_add(&counts.statuses[number], 1);
}

static __always_inline void request_end(struct request *rq, struct biolat_request *request,
					__u32 bytes, __s32 status)
{
	count_failure(number_of_status(status));
	request_count(rq, request, bytes, bpf_ktime_get_ns());
}

/*
 * Runs for each completed part of a request. A write that flushes the disk's cache has a second
 * event, of 0 bytes, long after its completion. Before 6.5, unwanted requests have map elements,
 * too, which record their owners. The last part stores nothing: see request_try_claim().
 */
SEC("tp_btf/block_rq_complete")
int biolat_complete(const __u64 *ctx)
{
	struct request *rq = (void *)raw_tp_arg(ctx, 0);
	__u32 bytes = raw_tp_arg(ctx, 2);
	struct biolat_request *request = request_find(rq);

	if (!request)
		return 0;
	if (bytes < rq->__data_len) {
		request->bytes += bytes;
		return 0;
	}
	if (request->issued_ns)
		request_end(rq, request, request->bytes + bytes, (__s32)raw_tp_arg(ctx, 1));
	request_release(rq, request);
	return 0;
}

/* Runs when a request is merged into another one, and thus never completed; only with owners. */
SEC("tp_btf/block_rq_merge")
int biolat_merge(const __u64 *ctx)
{
	struct request *rq = request_of_queue(ctx);
	struct biolat_request *request = request_find(rq);

	if (request)
		request_release(rq, request);
	else if (!HAS_IO_START && has_unplaced(rq))
		count_unplaced(rq, -1);
	return 0;
}

/* Runs when a busy driver returns a request to the queue, which issues it again. */
SEC("tp_btf/block_rq_requeue")
int biolat_requeue(const __u64 *ctx)
{
	struct biolat_request *request = request_find(request_of_queue(ctx));

	if (!request || !request->issued_ns)
		return 0;
	request->issued_ns = 0;
	__sync_fetch_and_add(&counts.requeues, 1);
	return 0;
}

/* ---- submission and issue: attached last, so that no completion is missed ---- */

/* Defines two programs, without and with stacks of submitters; at most one is loaded. */
#define SUBMISSION_PROGRAMS(event, name, handler) \
	SEC("tp_btf/" event)                      \
	int biolat_##name(__u64 *ctx)             \
	{                                         \
		return handler(ctx, false);       \
	}                                         \
	SEC("tp_btf/" event)                      \
	int stack_##name(__u64 *ctx)              \
	{                                         \
		return handler(ctx, true);        \
	}

/*
 * Returns true for requests to the chosen device. The kernel sets the request's partition after
 * this event.
 */
static __always_inline bool starts_on_device(struct request *rq)
{
	struct bio *bio = rq->bio;

	return !settings.device || disk_number(request_disk(rq)) == settings.device ||
	       (bio && bio_device(bio)->bd_dev == settings.device);
}

/*
 * Records the owner; since 6.5 (commit 5a80bd075f3b), in the context of the submitting task. Since
 * 6.13 the kernel sets the request's creation time after this event.
 */
static __always_inline int request_start(__u64 *ctx, bool with_stack)
{
	struct request *rq = (void *)raw_tp_arg(ctx, 0);
	struct biolat_request *request = request_find(rq);
	bool is_wanted = starts_on_device(rq) && is_submitter_wanted(rq->bio);

	if (request)
		count_uncompleted(request);
	if (request && !is_wanted)
		request_release(rq, request);
	if (!is_wanted)
		return 0;
	request = request ? request : request_claim(rq);
	if (request)
		own_wanted(ctx, request, rq, with_stack);
	else
		loss_count(LOSS_NO_ELEMENT, 1);
	return 0;
}

SUBMISSION_PROGRAMS("block_io_start", start, request_start)

/*
 * Records the owner before 6.5. Nearly always the submitting task inserts or issues the request; a
 * kernel worker inserts requests that wait for a flush of the disk's cache.
 */
static __always_inline int request_insert(__u64 *ctx, bool with_stack)
{
	struct request *rq = request_of_queue(ctx);
	struct biolat_request *request = request_find_or_claim(rq);

	if (!request)
		count_unplaced(rq, 1);
	else if (!is_owned(rq, request))
		own_request(ctx, request, rq, with_stack);
	return 0;
}

SUBMISSION_PROGRAMS("block_rq_insert", insert, request_insert)

static __always_inline bool is_on_device(struct request *rq)
{
	return !settings.device || disk_number(request_disk(rq)) == settings.device ||
	       request_part_number(rq) == settings.device;
}

/*
 * Returns the request's element, with its owner if requested; NULL: not wanted, or lost. Since 6.5
 * only flushes have no start event, and other requests without an owner are not counted: any task
 * may issue a request.
 */
static __always_inline struct biolat_request *find_issued(__u64 *ctx, struct request *rq,
							  bool with_stack)
{
	struct biolat_request *request = request_find(rq);

	if (settings.has_owners && request && is_owned(rq, request))
		return request->is_wanted ? request : NULL;
	if (settings.has_owners && HAS_IO_START && !is_flush(rq->cmd_flags))
		return NULL;
	if (settings.has_owners && !HAS_IO_START && !request && has_unplaced(rq))
		count_unplaced(rq, -1);
	else if (!request)
		request = request_claim(rq);
	if (!request)
		loss_count(LOSS_NO_ELEMENT, 1);
	else if (settings.has_owners)
		own_request(ctx, request, rq, with_stack);
	return request && (!settings.has_owners || request->is_wanted) ? request : NULL;
}

static __always_inline int request_issue(__u64 *ctx, bool with_stack)
{
	struct request *rq = request_of_queue(ctx);
	struct biolat_request *request = is_on_device(rq) ? find_issued(ctx, rq, with_stack) : NULL;

	if (!request)
		return 0;
	count_uncompleted(request);
	request->issued_ns = bpf_ktime_get_ns();
	return 0;
}

SUBMISSION_PROGRAMS("block_rq_issue", issue, request_issue)

/* ---- bios at the top, instead of requests ---- */

/*
 * Returns true for bios to the chosen device or, without one, to devices on which no other device
 * is stacked.
 */
static __always_inline bool is_wanted_top(struct bio *bio)
{
	struct block_device *device;

	if (!BIOS_HAVE_DEVICE)
		return false;
	device = bio_device(bio);
	if (!settings.device)
		return !device_is_held(device);
	return device->bd_dev == settings.device || disk_number(device->bd_disk) == settings.device;
}

/* A flush without data is an empty write; the disk gets a request to flush. */
static __always_inline __u32 operation_of_bio(struct bio *bio)
{
	__u32 flags = bio->bi_opf;

	return flags & REQUEST_FLAG(PREFLUSH) && !bio->bi_iter.bi_size ? REQ_OP_FLUSH : flags;
}

/*
 * Runs when a bio enters the block layer, in the context of the submitting task. The drivers of
 * stacked devices may send the same bio on to another device, where it has no second event.
 */
static __always_inline int bio_start(__u64 *ctx, bool with_stack)
{
	struct bio *bio = (void *)raw_tp_arg(ctx, 0);
	struct biolat_request *request;
	struct gendisk *disk;

	if (!is_wanted_top(bio) || !is_submitter_wanted(bio))
		return 0;
	request = request_find_or_claim(bio);
	if (!request) {
		loss_count(LOSS_NO_ELEMENT, 1);
		return 0;
	}
	request_own(request, bio, bio->bi_opf);
	disk = bio_device(bio)->bd_disk;
	request->disk = (__u64)disk;
	request->disk_number = disk_number(disk);
	request->flags = operation_of_bio(bio);
	request->sector = bio->bi_iter.bi_sector;
	request->bytes = bio->bi_iter.bi_size;
	request->is_part = false;
	request->failure = 0;
	request->parts = 1;
	if (with_stack)
		take_stack(ctx, request);
	request->issued_ns = bpf_ktime_get_ns();
	return 0;
}

SUBMISSION_PROGRAMS("block_bio_queue", bio_start, bio_start)

static __noinline void bio_count(struct biolat_request *request, __u64 now_ns)
{
	struct facts facts = facts_of_bio(request);
	__u64 value = value_of(request, request->bytes, now_ns);

	if (!settings.slower_ns && settings.by == BY_PARTS)
		count_by_parts(&facts, value, 0);
	else if (!settings.slower_ns)
		count_by_owner(request, value);
	else
		report_if_slow(request, &facts, 0, now_ns);
}

/*
 * Runs when a part is split from a bio that is too large, before both are submitted: the bio's end
 * is that of all its parts. A bio whose part has no element is lost.
 */
SEC("tp_btf/block_split")
int BPF_PROG(biolat_bio_split, struct bio *bio)
{
	void *whole = BPF_CORE_READ(bio, bi_private);
	struct biolat_request *request = request_find(whole), *part;

	if (!request || request->is_part)
		return 0;
	part = request_find_or_claim(bio);
	if (!part) {
		loss_count(LOSS_NO_ELEMENT, 1);
		request_release(whole, request);
		return 0;
	}
	part->is_part = true;
	part->whole = (__u64)whole;
	__sync_fetch_and_add(&request->parts, 1);
	return 0;
}

/* Ends a part. Returns the bio that it was split from; NULL: none, or it was lost. */
static __always_inline struct biolat_request *part_end(void **bio, struct biolat_request *part)
{
	void *whole = (void *)part->whole;

	request_release(*bio, part);
	*bio = whole;
	return request_find(whole);
}

/* Programs for bios need 5.12, which has additions that return the former value. */
static __always_inline void bio_end(void *bio, __s32 status)
{
	struct biolat_request *request = request_find(bio);

	if (request && request->is_part)
		request = part_end(&bio, request);
	if (!request)
		return;
	if (status)
		request->failure = number_of_status(status);
	if (__sync_fetch_and_add(&request->parts, -1) != 1)
		return;
	count_failure(request->failure);
	bio_count(request, bpf_ktime_get_ns());
	request_release(bio, request);
}

/* Runs when the driver of a device without requests completes a bio. */
SEC("tp_btf/block_bio_complete")
int BPF_PROG(biolat_bio_complete, struct request_queue *queue, struct bio *bio)
{
	bio_end(bio, bio->bi_status);
	return 0;
}

/*
 * Takes a number, as a global function has to: the verifier checks it once, not once per bio of a
 * request.
 */
__noinline int bio_end_at(__u64 bio, __s32 status)
{
	bio_end((void *)bio, status);
	return 0;
}

/* Ends bios in the next bytes of a request. Returns the next bio after a whole chunk; else 0. */
__noinline __u64 bios_end(__u64 first, __u32 bytes, __s32 status)
{
	struct bio *bio = (void *)first;
	__u32 size;

	for (int i = 0; i < BIOS_CHUNK && bio; i++) {
		size = BPF_CORE_READ(bio, bi_iter.bi_size);
		if (size > bytes)
			return 0;
		bytes -= size;
		bio_end_at((__u64)bio, status);
		bio = BPF_CORE_READ(bio, bi_next);
	}
	return bytes ? (__u64)bio : 0;
}

/* Ends the bios that lie in the next bytes of a request, which the kernel is about to complete. */
SEC("tp_btf/block_rq_complete")
int biolat_bios_complete(const __u64 *ctx)
{
	struct request *rq = (void *)raw_tp_arg(ctx, 0);
	__u32 bytes = raw_tp_arg(ctx, 2);
	bool is_last = bytes >= rq->__data_len;
	__u64 bio = (__u64)BPF_CORE_READ(rq, bio); /* a number, not a pointer */

	if (request_is_flushing(rq))
		return 0;
	for (int i = 0; i < REQUEST_BIOS / BIOS_CHUNK && bio; i++) {
		bio = bios_end(bio, is_last ? ~0U : bytes, (__s32)raw_tp_arg(ctx, 1));
		if (!is_last)
			break;
	}
	if (bio)
		loss_count(LOSS_MANY_BIOS, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page faults: counted where the kernel counts them, at its perf software events for minor and
 * major faults. Latency is measured around the kernel's fault handler (fentry, fexit), if the
 * kernel allows it.
 */
#define TASK_READ BPF_CORE_READ /* the current task is an untyped address before 5.11 */
#include "abi/pagefaults.h"
#include "lib/area.bpf.h"
#include "lib/hist.bpf.h"
#include "lib/maps.bpf.h"
#include "stack/stack.bpf.h"

struct task_state {
	__u64 start_ns; /* start of the fault that is being handled; 0: none, or not traced */
	__u64 addr;	/* address of a fault that will be retried; 0: none */
	bool had_own_lock;
};

#include "sched/task_state.bpf.h"

const volatile struct pagefaults_settings settings = {
	.kinds = AREA_ALL_KINDS,
};

TABLE_WITH_TURNS(fault_table, struct fault_key, struct fault_sum, 32768);

MAP_PERCPU_ARRAY(faults_seen, struct fault_seen, 1);

static void task_visit(struct bpf_iter__task *ctx, struct task_struct *task,
		       struct task_state *state)
{
}

static __always_inline void count_seen(void)
{
	__u32 zero = 0;
	struct fault_seen *seen = bpf_map_lookup_elem(&faults_seen, &zero);

	if (seen)
		seen->total++;
}

static __always_inline void count_unknown(void)
{
	__u32 zero = 0;
	struct fault_seen *seen = bpf_map_lookup_elem(&faults_seen, &zero);

	if (seen)
		seen->unknown++;
}

static __always_inline struct area find_area(__u64 addr, struct area_id *id)
{
	struct area area = {};

	if (!area_find(&area, addr))
		count_unknown();
	area_identify(&area, id);
	return area;
}

static __always_inline bool is_wanted(const struct area_id *area)
{
	return settings.kinds & (1 << (area->kind & 31));
}

/*
 * With cookies of events (since 5.15) one program counts both kinds of faults, so it is verified
 * once. Before, each kind has its own.
 */

#define FAULT_PROGRAM(name, on_fault, is_major)   \
	SEC("perf_event")                         \
	int name(struct bpf_perf_event_data *ctx) \
	{                                         \
		return on_fault(ctx, is_major);   \
	}

/* ---- by stack ---- */

static __always_inline void count_stack(struct bpf_perf_event_data *ctx, struct task_struct *task,
					bool major)
{
	bool in_kernel = registers_are_kernels(ctx);
	struct stack_key key = {};

	stack_key_owner(&key, task);
	key.remark = (in_kernel ? FAULT_IN_KERNEL : 0) | (major ? FAULT_MAJOR : 0);
	key.user_id = stack_intern_user(ctx);
	key.kernel_id = in_kernel ? stack_intern_kernel_current(ctx) : 0;
	stack_count(&key, 1, 0);
}

static __always_inline int on_fault_for_stack(struct bpf_perf_event_data *ctx, bool major)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct area_id area = {};

	count_seen();
	if (!filter_task(task))
		return 0;
	if (settings.kinds != AREA_ALL_KINDS)
		find_area(ctx->addr, &area);
	if (is_wanted(&area))
		count_stack(ctx, task, major);
	return 0;
}

FAULT_PROGRAM(stack_both, on_fault_for_stack, bpf_get_attach_cookie(ctx))
FAULT_PROGRAM(stack_minor, on_fault_for_stack, false)
FAULT_PROGRAM(stack_major, on_fault_for_stack, true)

/* ---- by process and area ---- */

static __always_inline struct fault_sum *find_sum(const struct fault_key *key)
{
	void *table = TABLE_IN_USE(fault_table, settings.has_turns);
	struct fault_sum *sum, empty = {};

	sum = bpf_map_lookup_elem(table, key);
	if (sum)
		return sum;
	bpf_map_update_elem(table, key, &empty, BPF_NOEXIST);
	return bpf_map_lookup_elem(table, key); /* another CPU may have inserted the key */
}

static __always_inline void count_row(struct vm_area_struct *vma, const struct fault_key *key,
				      bool major, bool in_kernel)
{
	struct fault_sum *sum = find_sum(key);

	if (!sum) {
		loss_count(LOSS_MAP_FULL, 1);
		return;
	}
	__sync_fetch_and_add(major ? &sum->major : &sum->minor, 1);
	if (in_kernel)
		__sync_fetch_and_add(&sum->kernel, 1);
	if (settings.by_area && !sum->is_named)
		sum->is_named = area_send_name(vma, &key->area);
}

static __always_inline int on_fault_for_row(struct bpf_perf_event_data *ctx, bool major)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct fault_key key = {};
	struct area area = {};

	count_seen();
	if (!filter_task(task))
		return 0;
	if (settings.by_area || settings.kinds != AREA_ALL_KINDS) {
		area = find_area(ctx->addr, &key.area);
		if (!is_wanted(&key.area))
			return 0;
	}
	if (!settings.by_area)
		key.area = (struct area_id){};
	if (settings.by_process) {
		key.tgid = task_tgid(task);
		if (key.tgid)
			BPF_CORE_READ_INTO(&key.comm, task, group_leader, comm);
	}
	count_row(area.vma, &key, major, registers_are_kernels(ctx));
	return 0;
}

FAULT_PROGRAM(row_both, on_fault_for_row, bpf_get_attach_cookie(ctx))
FAULT_PROGRAM(row_minor, on_fault_for_row, false)
FAULT_PROGRAM(row_major, on_fault_for_row, true)

/* ---- latency ---- */

#define FAULT_ERRORS                                                             \
	(VM_FAULT_OOM | VM_FAULT_SIGBUS | VM_FAULT_SIGSEGV | VM_FAULT_HWPOISON | \
	 VM_FAULT_HWPOISON_LARGE | VM_FAULT_FALLBACK)

/*
 * Returns true if this fault retries the task's previous one. The kernel sets FAULT_FLAG_TRIED only
 * if the first attempt waited for something, not if it only switched locks.
 */
static __always_inline bool is_next_try(const struct task_state *state, __u64 addr, __u32 flags)
{
	if (!state->addr || state->addr != addr)
		return false;
	return (flags & FAULT_FLAG_TRIED) || (state->had_own_lock && !fault_has_own_lock(flags));
}

/* Starts a measurement. regs is NULL if the kernel reads memory on the task's behalf: no fault. */
SEC("fentry/handle_mm_fault")
int BPF_PROG(latency_begin, struct vm_area_struct *vma, unsigned long addr, unsigned int flags,
	     struct pt_regs *regs)
{
	struct task_struct *task = current_task();
	struct task_state *state = regs ? task_state_find(task) : NULL;
	struct area_id id = {};
	struct area area;

	if (!state || is_next_try(state, addr, flags))
		return 0;
	state->addr = 0;
	state->start_ns = 0;
	if (!filter_task(task))
		return 0;
	if (settings.kinds != AREA_ALL_KINDS && area_take(&area, vma))
		area_identify(&area, &id);
	if (!is_wanted(&id))
		return 0;
	state->had_own_lock = fault_has_own_lock(flags);
	state->start_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void record_latency(struct task_struct *task, __u64 ns, bool major)
{
	if (major ? !settings.major : !settings.minor)
		return;
	hist_record_by_key(ns, settings.by_process ? task_tgid(task) : major,
			   settings.by_process ? BPF_CORE_READ(task, group_leader)->comm : NULL);
}

/* Counts a fault by the rules of mm_account_fault(), also for major ones. */
SEC("fexit/handle_mm_fault")
int BPF_PROG(latency_end, struct vm_area_struct *vma, unsigned long addr, unsigned int flags,
	     struct pt_regs *regs, unsigned int result)
{
	struct task_struct *task = current_task();
	struct task_state *state = regs ? task_state_find(task) : NULL;
	__u64 start_ns;

	if (!state || !state->start_ns)
		return 0;
	if (result & VM_FAULT_RETRY) {
		state->addr = addr;
		return 0;
	}
	start_ns = state->start_ns;
	state->start_ns = 0;
	state->addr = 0;
	if (!(result & FAULT_ERRORS))
		record_latency(task, bpf_ktime_get_ns() - start_ns,
			       (result & VM_FAULT_MAJOR) || (flags & FAULT_FLAG_TRIED));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";

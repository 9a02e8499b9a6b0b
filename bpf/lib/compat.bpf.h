/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between the supported kernels (5.10 on). Each is detected from the running kernel's
 * BTF, never from a version number; versions are in the comments.
 */
#ifndef COMPAT_BPF_H
#define COMPAT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "abi/unwind_layout.h"
#include "lib/kernel_entry.bpf.h"

/*
 * The current task is a typed pointer since 5.11 (commit 3ca1032ab7ab); before, an untyped address.
 * A program that handles both defines its own TASK_READ.
 */
#define HAS_TYPED_CURRENT \
	bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)

/* The kernel has ORC, a table of its frames, which bpf/stack/kernel_walk.bpf.h uses. */
#if defined(__TARGET_ARCH_x86)
#define KERNEL_HAS_ORC 1
#else
#define KERNEL_HAS_ORC 0
#endif

/*
 * Reads a field of a task. Programs with a typed task argument (tp_btf, iter) read it directly; a
 * program whose task pointer is untyped defines TASK_READ as BPF_CORE_READ first.
 */
#ifndef TASK_READ
#define TASK_READ(task, field) ((task)->field)
#endif

#define TASK_DEAD	     0x80
#define TASK_UNINTERRUPTIBLE 2
#define __TASK_TRACED	     8
#define TASK_NOLOAD	     0x400
#define TASK_RTLOCK_WAIT     0x1000 /* since 5.15, with PREEMPT_RT */
#define TASK_FROZEN	     0x8000 /* since 6.1 */
#define PF_KTHREAD	     0x00200000
#define PF_IO_WORKER	     0x00000010
#define PF_USER_WORKER	     0x00004000 /* since 6.4; PF_USED_ASYNC before 5.17 */

/*
 * Returns true if the flags are those of a task that never runs in user space: a kernel thread, or
 * a kernel-created thread of a process, for io_uring (5.12) or vhost (6.4).
 */
static __always_inline bool flags_are_kthreads(__u32 flags)
{
	struct kernel_clone_args___since6_4 *args = NULL;
	__u32 user_worker = bpf_core_field_exists(args->user_worker) * PF_USER_WORKER;

	return flags & (PF_KTHREAD | PF_IO_WORKER | user_worker);
}

static __always_inline struct task_struct *current_task(void)
{
	if (HAS_TYPED_CURRENT)
		return bpf_get_current_task_btf();
	return (void *)bpf_get_current_task();
}

/* Returns the task's state. task_struct.state became __state in 5.14 (commit 2f064a59a11f). */
static __always_inline __u32 task_raw_state(struct task_struct *task)
{
	struct task_struct___old *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return TASK_READ(task, __state);
	return TASK_READ(old, state);
}

/* Arguments of sched_switch since 5.18 (commit 9c2136be0878); before, the last is missing. */
typedef void (*btf_trace_sched_switch)(void *data, bool preempt, struct task_struct *prev,
				       struct task_struct *next, unsigned int prev_state);

/*
 * Returns the state in which sched_switch's prev leaves the CPU. The state in the task itself may
 * be TASK_WAKING already, since it can be woken up at any moment, but is 0 only if the task stays
 * on the run queue. If it isn't 0, the argument is right; otherwise, before about 6.14 (commit
 * 8feb053d5319), the argument ignores that a pending signal has prevented the task from sleeping.
 */
static __always_inline __u32 switch_state(const volatile __u64 *ctx, struct task_struct *prev)
{
	__u64 now = task_raw_state(prev), negative = -now;

	if (!bpf_core_type_exists(btf_trace_sched_switch))
		return now;
	barrier_var(negative); /* no branch: the verifier would follow both ways */
	return (__u32)ctx[3] * (negative >> 63);
}

/*
 * Returns true if the task is on a CPU. on_cpu is a byte in 7.2, an int in 6.18, with values 0 and
 * 1: the first byte suffices.
 */
static __always_inline bool task_is_on_cpu(struct task_struct *task)
{
	struct task_struct___byte *bytes = (void *)task;
	__u8 on_cpu = 0;

	if (!bpf_core_field_exists(bytes->on_cpu)) /* without CONFIG_SMP, before 6.17 */
		return (__u64)task == bpf_get_current_task();
	bpf_core_read(&on_cpu, sizeof(on_cpu), &bytes->on_cpu);
	return on_cpu;
}

/* Returns the task's last switch-in time, by the scheduler's clock; 0 without CONFIG_SCHED_INFO. */
static __always_inline __u64 task_last_arrival(struct task_struct *task)
{
	if (bpf_core_field_exists(task->sched_info))
		return BPF_CORE_READ(task, sched_info.last_arrival);
	return 0;
}

/*
 * Converts a time by the clock of the task's run queue to the clock of bpf_ktime_get_ns(), whose
 * current time is now_ns; 0: there is none.
 */
static __always_inline __u64 task_time_ns(struct task_struct *task, __u64 time_ns, __u64 now_ns)
{
	__u64 clock_ns;

	if (!time_ns || !bpf_core_field_exists(task->se.cfs_rq))
		return 0;
	clock_ns = BPF_CORE_READ(task, se.cfs_rq, rq, clock);
	return clock_ns < time_ns ? 0 : now_ns - (clock_ns - time_ns);
}

/* Returns the time at which a task last got a CPU; 0: the scheduler doesn't record it. */
static __always_inline __u64 task_arrival_ns(struct task_struct *task, __u64 now_ns)
{
	return task_time_ns(task, task_last_arrival(task), now_ns);
}

/* Returns the time at which a waiting task was queued for its CPU; 0: it is not recorded. */
static __always_inline __u64 task_queued_ns(struct task_struct *task, __u64 now_ns)
{
	if (!bpf_core_field_exists(task->sched_info))
		return 0;
	return task_time_ns(task, BPF_CORE_READ(task, sched_info.last_queued), now_ns);
}

/* Returns how often the task got a CPU, as in /proc/PID/schedstat; 0 without CONFIG_SCHED_INFO. */
static __always_inline __u64 task_arrivals(struct task_struct *task)
{
	if (bpf_core_field_exists(task->sched_info))
		return TASK_READ(task, sched_info.pcount);
	return 0;
}

/* Returns an ancestor's id. Since 6.1 (commit 7f203bc89eb6) the array has pointers, not ids. */
static __always_inline __u64 cgroup_ancestor_id(struct cgroup *cgrp, int level)
{
	struct cgroup___ids *old = (void *)cgrp;
	struct cgroup *ancestor = NULL;
	__u64 id = 0;

	if (bpf_core_field_exists(old->ancestor_ids)) {
		bpf_core_read(&id, sizeof(id), &old->ancestor_ids[level]);
		return id;
	}
	bpf_core_read(&ancestor, sizeof(ancestor), &cgrp->ancestors[level]);
	return BPF_CORE_READ(ancestor, kn, id);
}

#define HAS_TASK_PT_REGS bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)

#define USER_CS_64 0x33
/* cs of user space in a Xen guest: FLAT_USER_CS64 */
#define XEN_USER_CS_64 0xe033
#define PSTATE_AARCH32 0x10
#define THREAD_BYTES   (16 << 10) /* THREAD_SIZE, x86-64 and arm64 */

/*
 * Returns the registers with which a task entered the kernel. bpf_task_pt_regs() exists since 5.15
 * (commit dd6e10fbd9fb); before, they are read from the top of the stack.
 */
static __always_inline const void *task_user_registers(struct task_struct *task)
{
	if (HAS_TASK_PT_REGS)
		return (void *)bpf_task_pt_regs(task);
	return BPF_CORE_READ(task, stack) + THREAD_BYTES - bpf_core_type_size(struct pt_regs);
}

static __always_inline const void *current_user_registers(void)
{
	struct task_struct *task;

	if (HAS_TASK_PT_REGS)
		return (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	task = (void *)bpf_get_current_task();
	return BPF_CORE_READ(task, stack) + THREAD_BYTES - bpf_core_type_size(struct pt_regs);
}

/*
 * Returns true if an NMI has interrupted the kernel's entry, which is saving those registers. Reads
 * cs as a whole word, as contexts require: libbpf would relocate a field access to its size.
 */
static __always_inline bool sample_is_of_entry(const struct bpf_perf_event_data *ctx)
{
#if defined(__TARGET_ARCH_x86)
	__u64 cs = ((const volatile __u64 *)ctx)[17];

	return kernel_is_being_entered(cs, ctx->regs.sp, (__u64)current_user_registers(),
				       bpf_core_type_size(struct pt_regs));
#else
	return false;
#endif
}

/* Reads all registers. Returns false if they can't be read. */
static __always_inline bool read_user_registers(struct unwind_regs *to, const void *from)
{
	to->thread_base = 0;
	return !bpf_probe_read_kernel(to, UNWIND_REGS_BYTES, from); /* same layout */
}

/*
 * Copies the initial registers of a walk, one by one, from memory that the verifier knows: faster
 * than a helper call that copies all.
 */
static __always_inline void copy_first_registers(struct unwind_regs *to, const struct pt_regs *from)
{
#if defined(__TARGET_ARCH_x86)
	to->ip = from->ip;
	to->sp = from->sp;
	to->bp = from->bp;
	to->bx = from->bx;
	to->cs = from->cs;
#else
	to->ip = from->user_regs.pc;
	to->sp = from->user_regs.sp;
	to->bp = from->user_regs.regs[29];
	to->link = from->user_regs.regs[30];
	to->flags = from->user_regs.pstate;
#endif
}

/* Reads at least the initial registers of the current task. */
static __always_inline bool read_first_registers(struct unwind_regs *to)
{
	const void *from = current_user_registers();

	if (!HAS_TASK_PT_REGS)
		return read_user_registers(to, from);
	copy_first_registers(to, from);
	return true;
}

/* Reads the remaining registers. */
static __always_inline bool read_other_registers(struct unwind_regs *to)
{
	return !HAS_TASK_PT_REGS || read_user_registers(to, current_user_registers());
}

/*
 * Returns the base of a thread's storage (the thread pointer), as of its last switch-out or, on
 * x86-64, its last change. On arm64 programs change it without the kernel.
 */
static __always_inline __u64 task_thread_base(const struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return BPF_CORE_READ(task, thread.fsbase);
#else
	return BPF_CORE_READ(task, thread.uw.tp_value);
#endif
}

static __always_inline bool registers_are_32bit(const struct unwind_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	__u16 cs = regs->cs; /* FRED uses the upper half for other data */

	return cs != USER_CS_64 && cs != XEN_USER_CS_64;
#else
	return regs->flags & PSTATE_AARCH32;
#endif
}

/* Returns true if the registers of a perf event are the kernel's. */
static __always_inline bool registers_are_kernels(const struct bpf_perf_event_data *ctx)
{
#if defined(__TARGET_ARCH_arm64)
	return (__s64)ctx->regs.pc < 0;
#else
	return (__s64)ctx->regs.ip < 0;
#endif
}

/* Returns the current task's memory descriptor; no helper call if the task is typed. */
static __always_inline struct mm_struct *current_mm(void)
{
	struct task_struct *task;

	if (HAS_TYPED_CURRENT)
		return bpf_get_current_task_btf()->mm;
	task = (void *)bpf_get_current_task();
	return BPF_CORE_READ(task, mm);
}

/* Returns the current thread's task_thread_base(). */
static __always_inline __u64 current_thread_base(void)
{
#if defined(__TARGET_ARCH_x86)
	if (HAS_TYPED_CURRENT)
		return bpf_get_current_task_btf()->thread.fsbase;
#else
	if (HAS_TYPED_CURRENT)
		return bpf_get_current_task_btf()->thread.uw.tp_value;
#endif
	return task_thread_base((void *)bpf_get_current_task());
}

#define MM_READ(mm, field) (HAS_TYPED_CURRENT ? (mm)->field : BPF_CORE_READ(mm, field))

/* current_uprobes() returns NULL if the current task has never hit a uprobe. */
#define HAS_UPROBES bpf_core_field_exists(((struct task_struct *)0)->utask)

static __always_inline struct uprobe_task *current_uprobes(void)
{
	struct task_struct *task;

	if (!HAS_UPROBES)
		return NULL;
	if (HAS_TYPED_CURRENT)
		return bpf_get_current_task_btf()->utask;
	task = (void *)bpf_get_current_task();
	return BPF_CORE_READ(task, utask);
}

/* Returns true if the fault is handled under its area's lock alone, as is tried first since 6.4. */
static __always_inline bool fault_has_own_lock(__u32 flags)
{
	return bpf_core_enum_value_exists(enum fault_flag, FAULT_FLAG_VMA_LOCK) &&
	       (flags & FAULT_FLAG_VMA_LOCK);
}

/* ---- system calls ---- */

#if defined(__TARGET_ARCH_x86)
#define NR_FUTEX	     202
#define NR_RT_SIGRETURN	     15
#define NR_CLONE	     56
#define NR_FORK		     57
#define NR_VFORK	     58
#define NR_EXIT		     60
#define NR_EXIT_GROUP	     231
#define NR_COMPAT_EXIT_GROUP 252
#define NR_X32_BIT	     0x40000000
#define NR_URETPROBE	     335 /* since 6.11 */
#define NR_UPROBE	     336 /* since 6.18 */
#else
#define NR_FUTEX	     98
#define NR_RT_SIGRETURN	     139
#define NR_CLONE	     220
#define NR_FORK		     NR_CLONE /* arm64 has only clone */
#define NR_VFORK	     NR_CLONE
#define NR_EXIT		     93
#define NR_EXIT_GROUP	     94
#define NR_COMPAT_EXIT_GROUP 248
#define NR_X32_BIT	     0
#endif
#define ENOSYS 38

#define NR_COMPAT_EXIT	1
#define NR_COMPAT_FORK	2
#define NR_COMPAT_CLONE 120
#define NR_COMPAT_VFORK 190
#define NR_CLONE3	435

#define NR_COMPAT_SIGRETURN    119
#define NR_COMPAT_RT_SIGRETURN 173

#define THREAD_STATUS_COMPAT 0x0002	 /* TS_COMPAT, x86 */
#define THREAD_FLAG_32BIT    (1UL << 22) /* TIF_32BIT, arm64 */

/* Returns true if a task is in a 32-bit system call; 64-bit programs can make them, too. */
static __always_inline bool task_is_compat(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return TASK_READ(task, thread_info.status) & THREAD_STATUS_COMPAT;
#else
	return TASK_READ(task, thread_info.flags) & THREAD_FLAG_32BIT;
#endif
}

/* Returns the number of the returning call, from a typed tracepoint's argument. */
static __always_inline __s32 call_number(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return (__s32)regs->orig_ax;
#else
	return regs->syscallno;
#endif
}

#if defined(__TARGET_ARCH_x86)
#define CALL_CODE	 0x0f00000000c0c748ULL /* mov $number, %rax; syscall (its first byte) */
#define CALL_CODE_NUMBER 0x00ffffffff000000ULL
#define CALL_CODE_BYTES	 9

static __always_inline bool call_is_of_uprobe(__s32 number)
{
	return number == NR_URETPROBE || number == NR_UPROBE;
}

/*
 * Returns the number of a call that has restored earlier registers and left -1 as its number. The
 * call of a uprobe trampoline is just before its return address; a sigreturn returns anywhere else.
 */
static __always_inline __s32 restoring_call_number(struct pt_regs *regs)
{
	__u64 code = 0;
	__s32 number;

	bpf_probe_read_user(&code, sizeof(code), (void *)(regs->ip - CALL_CODE_BYTES));
	number = (code & CALL_CODE_NUMBER) >> 24;
	if ((code & ~CALL_CODE_NUMBER) == CALL_CODE && call_is_of_uprobe(number))
		return number;
	return NR_RT_SIGRETURN;
}
#else
static __always_inline bool call_is_of_uprobe(__s32 number)
{
	return false;
}

static __always_inline __s32 restoring_call_number(struct pt_regs *regs)
{
	return NR_RT_SIGRETURN;
}
#endif

/* Returns true for calls that restore earlier registers, which overwrite the call's result. */
static __always_inline bool call_restores_registers(__s32 number, bool is_compat, long result)
{
	if (!is_compat)
		return number == NR_RT_SIGRETURN || call_is_of_uprobe(number);
	return number == NR_COMPAT_SIGRETURN || number == NR_COMPAT_RT_SIGRETURN ||
	       (number == -1 && result != -ENOSYS);
}

/*
 * Finds the number of the system call that a task is in. Returns false if it is in user space, or
 * in the kernel for a fault or an interrupt. On x86 an exception saves its error code in place of
 * the number; but only a call has -ENOSYS as its preliminary result.
 */
static __always_inline bool user_call_number(struct task_struct *task, __s32 *number)
{
	const struct pt_regs *regs = task_user_registers(task);
#if defined(__TARGET_ARCH_x86)
	unsigned long orig_ax = 0, ax = 0;

	bpf_core_read(&orig_ax, sizeof(orig_ax), &regs->orig_ax);
	bpf_core_read(&ax, sizeof(ax), &regs->ax);
	*number = (__s32)orig_ax;
	return *number >= 0 && (__s32)ax == -ENOSYS;
#else
	*number = -1;
	bpf_core_read(number, sizeof(*number), &regs->syscallno);
	return *number >= 0;
#endif
}

/* A system call with the arguments that the tools use: the first two. */
struct user_call {
	__s32 number;
	__u64 args[2];
};

#if defined(__TARGET_ARCH_x86)
/* Argument registers in the order of struct pt_regs. */
struct call_registers {
	unsigned long ax, cx, dx, si, di, orig_ax;
};
#endif

/* Finds the system call that a task is in. Returns false like user_call_number(). */
static __always_inline bool user_call_read(struct task_struct *task, struct user_call *call)
{
	const struct pt_regs *regs = task_user_registers(task);
#if defined(__TARGET_ARCH_x86)
	struct call_registers r;

	if (bpf_probe_read_kernel(&r, sizeof(r), __builtin_preserve_access_index(&regs->ax)))
		return false;
	call->number = (__s32)r.orig_ax;
	call->args[0] = r.di;
	call->args[1] = r.si;
	return call->number >= 0 && (__s32)r.ax == -ENOSYS;
#else
	call->number = -1;
	bpf_core_read(&call->number, sizeof(call->number), &regs->syscallno);
	bpf_core_read(&call->args[0], sizeof(call->args[0]), &regs->orig_x0);
	bpf_core_read(&call->args[1], sizeof(call->args[1]), &regs->user_regs.regs[1]);
	return call->number >= 0;
#endif
}

/* Returns true at the return of a function that was entered with the stack pointer sp. */
static __always_inline bool returns_from(struct pt_regs *ctx, __u64 sp)
{
#if defined(__TARGET_ARCH_x86)
	return PT_REGS_SP(ctx) == sp + sizeof(__u64); /* the return address is popped */
#else
	return PT_REGS_SP(ctx) == sp;
#endif
}

/*
 * A thread may be in the middle of a probe, outside of its own code:
 *
 * 1. x86: int3, in place of an instruction, has been executed, and ip is after it 2. a copy of the
 * instruction is being executed, in the process's probe page 3. a call under a return probe has
 * returned to the trampoline, at the start of that page
 *
 * The functions below set its registers to those with which it continues. In case 1 ip becomes that
 * of the instruction, which will be executed, unless it is a push that has been emulated already:
 * then a register's value is on the stack.
 */
static __always_inline void unwind_leave_trap(struct unwind_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	__u64 pushed = 0;
	__u8 code = 0;

	if (regs->orig_ax + 1 || !(regs->ip & 15)) /* a system call; padding between functions */
		return;
	bpf_probe_read_user(&code, sizeof(code), (void *)regs->ip - 1);
	if (code != 0xcc)
		return;
	bpf_probe_read_user(&pushed, sizeof(pushed), (void *)regs->sp);
	regs->ip -= pushed != regs->bp && pushed != regs->bx && pushed != regs->ax;
#endif
}

/*
 * Moves the registers past the end of a return trampoline; returns false elsewhere. x86, since
 * 6.11: it ends with "pop %r11; pop %rcx; ret", for which the kernel replaces the saved rax by the
 * true address.
 */
static __always_inline bool unwind_leave_by_pops(struct unwind_regs *regs, __u32 code)
{
#if defined(__TARGET_ARCH_x86)
	__u64 sp = regs->sp, address;

	if (code == 0xc3595b41)
		sp += 16;
	else if ((code & 0xffff) == 0xc359)
		sp += 8;
	else if ((code & 0xff) != 0xc3)
		return false;
	if (bpf_probe_read_user(&address, sizeof(address), (void *)sp) || address == regs->ax)
		return false;
	regs->ip = address;
	regs->sp = sp + sizeof(address);
	return true;
#else
	return false;
#endif
}

/*
 * Reads an argument of a raw tracepoint. Uses assembly because compilers may add the offset to the
 * pointer first, which the verifier rejects.
 */
static __always_inline __u64 raw_tp_arg(const __u64 *ctx, const int i)
{
	__u64 value;

	__asm__ volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(value) : "r"(ctx), "i"(8 * i));
	return value;
}

/*
 * Return arguments of the kernel's memory tracepoints. The slab allocator passes the caller's
 * address, the pointer, bytes requested and bytes allocated (in 6.0: the cache, bytes requested).
 * Since 6.1 (commit 2c1d697fb8ba) kmem_cache_alloc has the cache in place of the bytes; the loader
 * detects this by the event's own record (trace_event_raw_kmem_cache_alloc).
 */
static __always_inline __u64 kmem_bytes(const __u64 *ctx)
{
	return raw_tp_arg(ctx, 3);
}

static __always_inline __u64 kmem_cache_bytes(const __u64 *ctx, bool has_cache)
{
	if (has_cache)
		return BPF_CORE_READ((struct kmem_cache *)raw_tp_arg(ctx, 2), size);
	return kmem_bytes(ctx);
}

#define PERCPU_HAS_CALLER \
	bpf_core_field_exists(((struct trace_event_raw_percpu_alloc_percpu *)0)->call_site)

/* Returns the pointer. Since 5.19 the event begins with the caller and ends with the bytes. */
static __always_inline __u64 percpu_pointer(const __u64 *ctx)
{
	return PERCPU_HAS_CALLER ? raw_tp_arg(ctx, 7) : raw_tp_arg(ctx, 6);
}

/* Returns the bytes of one CPU's copy. */
static __always_inline __u64 percpu_bytes(const __u64 *ctx)
{
	return PERCPU_HAS_CALLER ? raw_tp_arg(ctx, 3) : raw_tp_arg(ctx, 2);
}

/* The stores of a CPU, atomic additions included, become visible in their order. */
#if defined(__TARGET_ARCH_x86)
#define STORES_ARE_ORDERED true
#else
#define STORES_ARE_ORDERED false
#endif

/* ---- block requests ---- */

/*
 * Arguments of block_rq_insert, block_rq_issue and block_rq_requeue: since 5.11 (commit
 * a54895fa057c), and in late 5.10 releases, only the request; before, the queue and the request.
 */
typedef void (*btf_trace_block_rq_issue)(void *data, struct request *rq);

static __always_inline struct request *request_of_queue(const __u64 *ctx)
{
	if (bpf_core_type_exists(btf_trace_block_rq_issue))
		return (void *)raw_tp_arg(ctx, 0);
	return (void *)raw_tp_arg(ctx, 1);
}

/* block_io_start: since 6.5 (commit 5a80bd075f3b), in the context of the submitting task. */
typedef void (*btf_trace_block_io_start)(void *data, struct request *rq);
#define HAS_IO_START bpf_core_type_exists(btf_trace_block_io_start)

/* Returns the request's disk, which is a field of the queue since 5.17 (commit f3fa33acca9f). */
static __always_inline struct gendisk *request_disk(struct request *rq)
{
	struct request___before5_17 *old = (void *)rq;

	if (bpf_core_field_exists(old->rq_disk))
		return old->rq_disk;
	return ((struct request_queue___since5_15 *)rq->q)->disk;
}

#define DEVICE_MINOR_BITS 20

/* Returns the device number of a disk, in the kernel's format; 0: no disk. */
static __always_inline __u32 disk_number(struct gendisk *disk)
{
	return disk ? disk->major << DEVICE_MINOR_BITS | disk->first_minor : 0;
}

/*
 * Returns the number of the request's device, a disk or a partition; 0: unknown, since the disk's
 * statistics are off. Partitions became block devices in 5.11 (commit 0d02129e76ed).
 */
static __always_inline __u32 request_part_number(struct request *rq)
{
	struct request___before5_11 *old = (void *)rq;

	if (bpf_core_type_exists(struct hd_struct___before5_11))
		return old->part ? old->part->__dev.devt : 0;
	return rq->part ? rq->part->bd_dev : 0;
}

#define REQ_OP_MASK  0xff
#define REQ_OP_WRITE 1
#define REQ_OP_FLUSH 2

/*
 * Returns the request's creation time; 0: unknown. A request without statistics, such as a
 * passthrough request of a program, has no device, and since 6.13 an outdated time. A flush has no
 * device, but a valid time.
 */
static __always_inline __u64 request_made_ns(struct request *rq)
{
	if (!rq->part && (rq->cmd_flags & REQ_OP_MASK) != REQ_OP_FLUSH)
		return 0;
	return rq->start_time_ns;
}

#define OLD_RQF_FLUSH_SEQ 4 /* before 6.12, when the bits had no enum */

/* Returns true while a request waits for flushes of the disk's cache, before or after its data. */
static __always_inline bool request_is_flushing(struct request *rq)
{
	__u32 bit = OLD_RQF_FLUSH_SEQ;

	if (bpf_core_enum_value_exists(enum rqf_flags, __RQF_FLUSH_SEQ))
		bit = bpf_core_enum_value(enum rqf_flags, __RQF_FLUSH_SEQ);
	return rq->rq_flags >> bit & 1;
}

/* Returns the cgroup that is charged for the bio; NULL without CONFIG_BLK_CGROUP. */
static __always_inline struct cgroup *bio_cgroup(struct bio *bio)
{
	if (!bio || !bpf_core_field_exists(bio->bi_blkg))
		return NULL;
	return BPF_CORE_READ(bio, bi_blkg, blkcg, css.cgroup);
}

#define BIOS_HAVE_DEVICE bpf_core_field_exists(((struct bio___since5_12 *)0)->bi_bdev)

/* Returns the device to which a bio is submitted; since 5.12 (commit 309dca309fc3). */
static __always_inline struct block_device *bio_device(struct bio *bio)
{
	return ((struct bio___since5_12 *)bio)->bi_bdev;
}

/*
 * Returns true if another device, such as of the device mapper, uses this one: if this one's folder
 * "holders" in sysfs isn't empty.
 */
static __always_inline bool device_is_held(struct block_device *device)
{
	struct kobject *holders =
		BPF_CORE_READ((struct block_device___since5_11 *)device, bd_holder_dir);

	return BPF_CORE_READ(holders, sd, dir.children.rb_node);
}

#define REQUEST_FLAG(name) (1U << bpf_core_enum_value(enum req_flag_bits, __REQ_##name))

/* Task storage for tracing programs came with 5.12 (commit a10787e6d58c), see task_state.bpf.h. */

#endif

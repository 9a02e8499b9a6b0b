/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything in which the supported kernels (5.10 on) differ. Each difference is found by what the
 * running kernel's BTF holds, never by a version number; the version is in the comment.
 */
#ifndef COMPAT_BPF_H
#define COMPAT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/*
 * A field of a task. Programs that get a task as a typed argument (tp_btf, iter) read it directly;
 * a program whose task pointer is just a number defines this as BPF_CORE_READ first.
 */
#ifndef TASK_READ
#define TASK_READ(task, field) ((task)->field)
#endif

#define TASK_DEAD	     0x80
#define TASK_UNINTERRUPTIBLE 2
#define TASK_NOLOAD	     0x400
#define PF_KTHREAD	     0x00200000

/* task_struct.state became __state in 5.14 (commit 2f064a59a11f). */
static __always_inline __u32 task_raw_state(struct task_struct *task)
{
	struct task_struct___old *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return TASK_READ(task, __state);
	return TASK_READ(old, state);
}

/* task_struct.on_cpu is a byte in 7.2, an int in 6.18. */
static __always_inline bool task_is_on_cpu(struct task_struct *task)
{
	struct task_struct___byte *newer = (void *)task;

	if (bpf_core_field_size(task->on_cpu) == sizeof(newer->on_cpu))
		return TASK_READ(newer, on_cpu);
	return TASK_READ(task, on_cpu);
}

/* An array of ancestor ids became one of pointers in 6.1 (commit 7f203bc89eb6). */
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

/* bpf_task_pt_regs() came with 5.15 (commit dd6e10fbd9fb). */
#define HAS_TASK_PT_REGS bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs)

/* Task storage for tracing programs came with 5.12 (commit a10787e6d58c), see task_state.bpf.h. */

#endif

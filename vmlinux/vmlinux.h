/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every kernel type and field that the toolkit relies on, written by hand: what is not here is not
 * used. All structs are relocated at load time (CO-RE), so only the names and the types of the
 * fields count, not their order; the program that is loaded finds them in the running kernel's
 * BTF. A name with three underscores is a flavour: the same struct as another kernel version has
 * it. "make check" compares every field with the running kernel.
 *
 * Constants are those of the system call interface (include/uapi/linux/bpf.h), which never change.
 */
#ifndef __VMLINUX_H__ /* the name that libbpf's headers look for */
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef __u8 u8;
typedef __u32 u32;
typedef __u64 u64;
typedef int pid_t;
typedef _Bool bool;

enum {
	false = 0,
	true = 1,
};

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};

enum {
	BPF_F_NO_PREALLOC = 1U << 0,
	BPF_F_MMAPABLE = 1U << 10,
};

enum {
	BPF_F_USER_STACK = 1ULL << 8,
};

enum {
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1ULL << 0,
};

/* Helpers are looked for by name in the kernel's BTF, see bpf/compat.bpf.h. */
enum bpf_func_id {
	BPF_FUNC_task_storage_get = 156,
	BPF_FUNC_get_current_task_btf = 158,
	BPF_FUNC_task_pt_regs = 175,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup *ancestors[]; /* since 6.1 */
};

struct cgroup___ids { /* before 6.1 */
	int level;
	u64 ancestor_ids[];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct ns_common {
	unsigned int inum;
};

struct pid_namespace {
	struct ns_common ns;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[];
};

struct task_struct {
	unsigned int __state; /* since 5.14 */
	unsigned int flags;
	int on_cpu; /* a byte in 7.2, see below */
	int exit_state;
	pid_t pid;
	pid_t tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	unsigned long nvcsw;
	unsigned long nivcsw;
	void *stack;
	char comm[16];
	struct nsproxy *nsproxy;
	u64 self_exec_id; /* 64 bits since 5.7 */
	struct css_set *cgroups;
};

struct task_struct___old { /* before 5.14 */
	long state;
};

struct task_struct___byte { /* in 7.2 */
	u8 on_cpu;
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15;
	unsigned long r14;
	unsigned long r13;
	unsigned long r12;
	unsigned long bp;
	unsigned long bx;
	unsigned long r11;
	unsigned long r10;
	unsigned long r9;
	unsigned long r8;
	unsigned long ax;
	unsigned long cx;
	unsigned long dx;
	unsigned long si;
	unsigned long di;
	unsigned long ip;
	unsigned long sp;
};
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
};
struct pt_regs {
	struct user_pt_regs user_regs;
};
#endif

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_perf_event_data;

#pragma clang attribute pop

#endif

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
typedef __s32 s32;
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

/* How a page fault is handled, and how that went: enum fault_flag, enum vm_fault_reason. */
enum fault_flag {
	FAULT_FLAG_TRIED = 0x20,
	FAULT_FLAG_VMA_LOCK = 0x1000, /* since 6.4 */
};

enum vm_fault_reason {
	VM_FAULT_OOM = 0x1,
	VM_FAULT_SIGBUS = 0x2,
	VM_FAULT_MAJOR = 0x4,
	VM_FAULT_HWPOISON = 0x10,
	VM_FAULT_HWPOISON_LARGE = 0x20,
	VM_FAULT_SIGSEGV = 0x40,
	VM_FAULT_RETRY = 0x400,
	VM_FAULT_FALLBACK = 0x800,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
	BPF_EXIST = 2,
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

/* Helpers are looked for by name in the kernel's BTF, see bpf/lib/compat.bpf.h. */
enum bpf_func_id {
	BPF_FUNC_task_storage_get = 156,
	BPF_FUNC_get_current_task_btf = 158,
	BPF_FUNC_task_pt_regs = 175,
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rb_node;

struct rb_root {
	struct rb_node *rb_node;
};

struct kernfs_elem_dir {
	struct rb_root children;
};

struct kernfs_node {
	u64 id;
	struct kernfs_elem_dir dir;
};

struct cgroup_root;

struct cgroup {
	int level;
	struct kernfs_node *kn;
	struct cgroup_root *root;
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

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[];
};

/* Structs stand before those that point at them, or the check could not see what is in them. */
struct super_block {
	u32 s_dev;
	unsigned long s_magic;
};

struct inode {
	struct super_block *i_sb;
	unsigned long i_ino;
	long long i_size;
	u32 i_generation;
};

struct qstr {
	const unsigned char *name;
};

struct hlist_bl_node {
	struct hlist_bl_node **pprev;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct path f_path;
	struct inode *f_inode;
};

struct fdtable {
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct linux_binprm {
	struct file *file;
};

struct vm_operations_struct;

struct vm_special_mapping {
	const char *name;
};

struct vm_area_struct {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	const struct vm_operations_struct *vm_ops;
	struct file *vm_file;
	void *vm_private_data;
};

struct maple_metadata___since6_1 {
	unsigned char end;
};

struct maple_range_64___since6_1 {
	unsigned long pivot[15];
	void *slot[16];
	struct maple_metadata___since6_1 meta; /* in the last slot's place */
};

struct maple_arange_64___since6_1 {
	unsigned long pivot[9];
	void *slot[10];
	struct maple_metadata___since6_1 meta;
};

struct maple_tree___since6_1 {
	void *ma_root;
};

struct ma_state___since6_1 {
	struct maple_tree___since6_1 *tree;
	unsigned long index;
	unsigned long last;
};

typedef struct {
	int counter;
} atomic_t;

/* What uprobes need of a process: a page for the code that they have it execute. */
struct xol_area {
	unsigned long vaddr;
};

struct uprobes_state {
	struct xol_area *xol_area;
};

/* A call under a return probe. */
struct return_instance {
	unsigned long stack; /* sp when it was made */
	unsigned long orig_ret_vaddr;
	struct return_instance *next; /* the one before, which is further out */
};

struct uprobe_task {
	struct return_instance *return_instances;
	unsigned long vaddr;	 /* of the instruction that it executes a copy of */
	unsigned long xol_vaddr; /* of the copy; 0: it does not */
};

struct mm_struct {
	atomic_t mm_users;
	unsigned long task_size; /* end of user space */
	unsigned long end_code;
	unsigned long start_brk;
	unsigned long brk;
	unsigned long start_stack;
	struct uprobes_state uprobes_state;
};

struct mm_struct___since6_1 {
	struct maple_tree___since6_1 mm_mt;
};

struct vmacache___before6_1 {
	struct vm_area_struct *vmas[4];
};

struct sched_info {
	unsigned long pcount;
	unsigned long long last_arrival;
	unsigned long long last_queued;
};

#if defined(__TARGET_ARCH_x86)
struct thread_info {
	u32 status;
};
#else
struct thread_info {
	unsigned long flags;
};
#endif

/* A CPU's run queue. Its clocks are in nanoseconds. */
struct rq {
	void *idle; /* task_struct */
	u64 clock;
	u64 clock_task; /* excludes time in interrupts */
	u64 clock_pelt; /* scaled by the CPU's capacity and frequency */
	unsigned long lost_idle_time;
};

/* What a group of tasks has on one CPU. */
struct cfs_rq {
	struct rq *rq;
	int throttle_count;	       /* the group and those above it that are throttled */
	u64 throttled_clock_self;      /* since when; 0: it isn't. Since 6.6 */
	u64 throttled_clock_self_time; /* how long in sum, until now */
};

struct cfs_rq___since5_19 {
	u64 throttled_clock_pelt;
	u64 throttled_clock_pelt_time;
};

struct cfs_rq___before5_19 {
	u64 throttled_clock_task;
	u64 throttled_clock_task_time;
};

struct task_group {
	struct task_group *parent;
};

struct task_group___before6_18 {
	struct cfs_rq **cfs_rq; /* by CPU */
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct vm_unmapped_area_info {
	unsigned long length;
};

#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long fsbase;
	unsigned long sp;
};

/* What a task that isn't running has left on its stack, at thread.sp. */
struct inactive_task_frame {
	unsigned long bp;
	unsigned long ret_addr;
};

struct orc_entry___before6_4 {
	unsigned int end : 1;
};

struct orc_entry___since6_4 {
	unsigned int signal : 1; /* since 6.3 */
};
#elif defined(__TARGET_ARCH_arm64)
struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
};
#endif

typedef struct {
	unsigned long sig[1]; /* signal n is bit n - 1 */
} sigset_t;

struct sigpending {
	sigset_t signal;
};

struct signal_struct {
	atomic_t live; /* threads that have not begun to exit */
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state; /* since 5.14 */
	unsigned int flags;
	int on_cpu; /* a byte in 7.2, see below */
	int prio;
	struct sched_entity se;
	struct task_group *sched_task_group;
	int exit_state;
	pid_t pid;
	pid_t tgid;
	int *clear_child_tid; /* user address: a futex that exit releases */
	struct task_struct *real_parent;
	struct task_struct *parent; /* who traces it, if anybody does */
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct files_struct *files;
	struct sched_info sched_info;
	unsigned long nvcsw;
	unsigned long nivcsw;
	u64 start_time;
	void *stack;
	char comm[16];
	u64 self_exec_id; /* 64 bits since 5.7 */
	struct signal_struct *signal;
	struct sigpending pending;
	struct css_set *cgroups;
	struct mm_struct *mm;
	struct thread_struct thread;
	struct uprobe_task *utask;
};

struct task_struct___old { /* before 5.14 */
	long state;
};

struct task_struct___since6_18 {
	bool throttled; /* off the run queue, because a quota is used up */
};

struct task_struct___byte { /* 7.2 */
	u8 on_cpu;
};

struct kernel_clone_args___since6_4 {
	u32 user_worker : 1;
};

struct kernel_clone_args___before6_4 {
	int exit_signal;
};

struct kmem_cache {
	unsigned int size; /* of an object, with what keeps it apart from the next */
};

/* Tracepoints' records: only to tell how they are called, see compat.bpf.h. */
struct trace_event_raw_percpu_alloc_percpu {
	unsigned long call_site; /* since 5.19 */
	bool reserved;
};

struct trace_event_raw_percpu_alloc_percpu___old { /* before 5.19 */
	bool reserved;
};

struct task_struct___before6_1 {
	struct vmacache___before6_1 vmacache;
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
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long cs;
	unsigned long sp;
};

/* FRED keeps more in the upper half: 6.9. */
struct pt_regs___since6_9 {
	__u16 cs;
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
	u64 orig_x0;
	s32 syscallno;
};
#endif

/* ---- block devices ---- */

struct gendisk {
	int major;
	int first_minor;
	char disk_name[32];
};

struct request_queue {
	unsigned int queue_depth;
};

struct request_queue___since5_15 {
	struct gendisk *disk;
};

struct kobject {
	struct kernfs_node *sd;
};

struct block_device {
	u32 bd_dev;
	struct gendisk *bd_disk;
};

struct block_device___since5_11 {
	struct kobject *bd_holder_dir; /* links to the devices on top of this one */
};

struct device {
	u32 devt;
};

struct hd_struct___before5_11 {
	struct device __dev;
};

struct cgroup_subsys_state {
	struct cgroup *cgroup;
};

struct blkcg {
	struct cgroup_subsys_state css;
};

struct blkcg_gq {
	struct blkcg *blkcg;
};

struct bvec_iter {
	u64 bi_sector;
	unsigned int bi_size;
};

struct bio {
	struct bio *bi_next;
	struct blkcg_gq *bi_blkg; /* the cgroup that is charged */
	u32 bi_opf;
	u8 bi_status;
	struct bvec_iter bi_iter;
	void *bi_private; /* of a part that was split off: the bio */
};

struct bio___since5_12 {
	struct block_device *bi_bdev;
};

struct request {
	struct request_queue *q;
	u32 cmd_flags;
	unsigned int __data_len;
	u64 __sector;
	struct bio *bio;
	struct block_device *part; /* NULL: without statistics */
	u64 start_time_ns;	   /* see request_made_ns() */
	u32 rq_flags;
};

struct request___before5_11 {
	struct hd_struct___before5_11 *part;
};

struct request___before5_17 {
	struct gendisk *rq_disk;
};

enum rqf_flags { /* since 6.12 */
		 __RQF_FLUSH_SEQ = 1,
};

enum req_flag_bits {
	__REQ_SYNC = 11,
	__REQ_META = 12,
	__REQ_PREFLUSH = 18,
	__REQ_RAHEAD = 19,
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 seq_num;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

struct bpf_perf_event_data {
#if defined(__TARGET_ARCH_x86)
	struct pt_regs regs;
#elif defined(__TARGET_ARCH_arm64)
	struct user_pt_regs regs;
#endif
	__u64 sample_period;
	__u64 addr; /* of a page fault */
};

#pragma clang attribute pop

#endif

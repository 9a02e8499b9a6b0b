/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the memory area of an address of the current task while a page fault at it is being
 * accounted for (mm_account_fault(), mm/memory.c).
 *
 * The kernel then still holds the lock under which it found the area: the process's mmap_lock or,
 * since 6.4, the area's own. The area can't be freed, but under its own lock alone the tree of
 * areas may change meanwhile. So the search works like lock_vma_under_rcu(): it takes no lock and
 * relies on RCU, under which BPF programs run. bpf_find_vma() (5.17) would try to take the
 * mmap_lock: faults of a threaded process would wait for each other, and the helper fails while
 * another task waits for the lock. A result is valid only if it contains the address.
 *
 * If the kernel completed the fault without the lock (VM_FAULT_COMPLETED, since 6.0), the search
 * finds the area that contains the address now.
 */
#ifndef AREA_BPF_H
#define AREA_BPF_H

#include "abi/area.h"
#include "lib/compat.bpf.h"
#include "lib/maps.bpf.h"

#define TMPFS_MAGIC	0x01021994
#define HUGETLBFS_MAGIC 0x958458f6

#define AREA_TREE_HEIGHT 8 /* ten slots per level: enough for the maximum number of areas */
#define AREA_PATH_STEPS	 128

MAP_RINGBUF(area_defs, 256 << 10);

MAP_PERCPU_ARRAY(area_scratch, struct area_def, 1);

/* ---- the area of an address ---- */

/* An area; vma is NULL if none was found. */
struct area {
	struct vm_area_struct *vma;
	__u64 start, end;
};

static __always_inline bool area_take(struct area *area, struct vm_area_struct *vma)
{
	area->vma = vma;
	if (!vma)
		return false;
	area->start = BPF_CORE_READ(vma, vm_start);
	area->end = BPF_CORE_READ(vma, vm_end);
	return true;
}

static __always_inline bool area_take_if(struct area *area, struct vm_area_struct *vma, __u64 addr)
{
	if (area_take(area, vma) && area->start <= addr && addr < area->end)
		return true;
	area->vma = NULL;
	return false;
}

/* Searches the kernel's cache of the task's last areas, which has the one that faulted. */
static __always_inline void area_find_cached(struct area *area, __u64 addr)
{
	struct task_struct___before6_1 *task = (void *)bpf_get_current_task();
	struct vm_area_struct *vmas[4] = {};

	bpf_core_read(vmas, sizeof(vmas), &task->vmacache.vmas);
	for (int i = 0; i < 4; i++)
		if (area_take_if(area, vmas[i], addr))
			return;
}

/*
 * The maple tree (since 6.1). An entry of a leaf is an area, any other a node, with its type and
 * flags in the low bits of the address. Slot i of a node covers addresses above pivot i - 1 up to
 * and including pivot i.
 */
#define MAPLE_NODE_MASK	 255
#define MAPLE_TYPE_SHIFT 3
#define MAPLE_TYPE_MASK	 15
#define MAPLE_RANGE_64	 2 /* lower types: leaves */
#define MAPLE_ARANGE_64	 3

/* Returns 1 if a < b, else 0, for numbers below 2^63. Without a branch, also after compilation. */
static __always_inline __u64 maple_is_less(__u64 a, __u64 b)
{
	__u64 difference = a - b;

	barrier_var(difference);
	return difference >> 63;
}

/*
 * Returns the number of pivots below the address, among the first `end`. Pivots are the last bytes
 * of pages, or of the address space, so pages are compared. The verifier follows one path; a search
 * would be one path per pivot and level.
 */
static __always_inline __u32 maple_index(const __u64 *pivots, __u32 n, __u64 end, __u64 addr)
{
	__u64 page = addr >> 12, index = 0;

	for (__u32 i = 0; i < n; i++)
		index += maple_is_less(pivots[i] >> 12, page) & maple_is_less(i, end);
	return index;
}

static __always_inline __u64 maple_read_slot(const void *slots, __u32 index)
{
	__u64 entry = 0;

	bpf_probe_read_kernel(&entry, sizeof(entry), slots + index * sizeof(entry));
	return entry;
}

static __always_inline __u64 maple_next_in_arange(struct maple_arange_64___since6_1 *node,
						  __u64 addr)
{
	__u64 pivots[9] = {};
	__u8 end = 0;

	bpf_core_read(pivots, sizeof(pivots), &node->pivot);
	bpf_core_read(&end, sizeof(end), &node->meta.end);
	return maple_read_slot(__builtin_preserve_access_index(&node->slot[0]),
			       maple_index(pivots, 9, end, addr));
}

/* Returns the entry for an address. Only nodes that aren't full have their last entry's index. */
static __always_inline __u64 maple_next_in_range(struct maple_range_64___since6_1 *node, __u64 addr)
{
	__u64 pivots[15] = {};
	__u8 end = 15;

	bpf_core_read(pivots, sizeof(pivots), &node->pivot);
	if (!pivots[14])
		bpf_core_read(&end, sizeof(end), &node->meta.end);
	return maple_read_slot(__builtin_preserve_access_index(&node->slot[0]),
			       maple_index(pivots, 15, end, addr));
}

static __always_inline struct vm_area_struct *area_find_in_tree(__u64 addr)
{
	struct mm_struct___since6_1 *mm = (void *)current_mm();
	__u64 entry = (__u64)MM_READ(mm, mm_mt.ma_root), type;

	for (int i = 0; i < AREA_TREE_HEIGHT && entry; i++) {
		void *node = (void *)(entry & ~(__u64)MAPLE_NODE_MASK);

		type = (entry >> MAPLE_TYPE_SHIFT) & MAPLE_TYPE_MASK;
		entry = type == MAPLE_ARANGE_64 ? maple_next_in_arange(node, addr)
						: maple_next_in_range(node, addr);
		if (type < MAPLE_RANGE_64)
			return (void *)entry;
	}
	return NULL;
}

/* Finds the area of an address. Returns false if there is none. */
static __always_inline bool area_find(struct area *area, __u64 addr)
{
	area->vma = NULL;
	if (bpf_core_type_exists(struct maple_tree___since6_1))
		area_take_if(area, area_find_in_tree(addr), addr);
	else
		area_find_cached(area, addr);
	return area->vma;
}

/* ---- kind of an area ---- */

/* Detects heap and stack by the rules of /proc/PID/maps (fs/proc/task_mmu.c). */
static __always_inline __u32 area_anon_kind(const struct area *area)
{
	struct mm_struct *mm = current_mm();
	__u64 stack;

	if (area->start < MM_READ(mm, brk) && area->end > MM_READ(mm, start_brk))
		return AREA_HEAP;
	stack = MM_READ(mm, start_stack);
	return area->start <= stack && stack <= area->end ? AREA_STACK : AREA_ANON;
}

static __always_inline void area_identify_file(struct file *file, struct area_id *id)
{
	struct inode *inode = BPF_CORE_READ(file, f_inode);
	struct super_block *sb = BPF_CORE_READ(inode, i_sb);
	__u64 magic = BPF_CORE_READ(sb, s_magic);

	id->kind = magic == TMPFS_MAGIC	      ? AREA_SHMEM
		   : magic == HUGETLBFS_MAGIC ? AREA_HUGE
					      : AREA_FILE;
	id->dev = BPF_CORE_READ(sb, s_dev);
	id->ino = BPF_CORE_READ(inode, i_ino);
	id->generation = BPF_CORE_READ(inode, i_generation);
}

/* Fills in *id, which the caller has zeroed. */
static __always_inline void area_identify(const struct area *area, struct area_id *id)
{
	struct vm_area_struct *vma = area->vma;
	struct file *file;

	if (!vma)
		return;
	file = BPF_CORE_READ(vma, vm_file);
	if (file) {
		area_identify_file(file, id);
	} else if (BPF_CORE_READ(vma, vm_ops)) {
		id->kind = AREA_SPECIAL;
		id->ino = (__u64)BPF_CORE_READ(vma, vm_private_data);
	} else {
		id->kind = area_anon_kind(area);
	}
}

/* ---- its name ---- */

/* A walk from a file to the root, over the mounts that lie in between. */
struct area_walk {
	struct dentry *dentry;
	struct mount *mount;
	struct dentry *mount_root;
};

static __always_inline void area_enter_mount(struct area_walk *walk, struct mount *mount)
{
	walk->mount = mount;
	walk->mount_root = BPF_CORE_READ(mount, mnt.mnt_root);
}

/* Moves from the root of a mount to its mount point. Returns false if there is none. */
static __always_inline bool area_leave_mount(struct area_walk *walk)
{
	struct mount *mount = walk->mount, *parent = BPF_CORE_READ(mount, mnt_parent);

	if (parent == mount)
		return false;
	walk->dentry = BPF_CORE_READ(mount, mnt_mountpoint);
	area_enter_mount(walk, parent);
	return true;
}

/* Appends a path component. Returns false if the text is full. */
static __always_inline bool area_append_name(struct area_def *def, const void *name)
{
	__u32 at = def->n_bytes;
	long bytes;

	if (at >= AREA_TEXT_BYTES)
		return false;
	bytes = bpf_probe_read_kernel_str(def->text + at, AREA_NAME_BYTES, name);
	if (bytes > 0)
		def->n_bytes = at + bytes;
	return bytes > 0;
}

/* Takes one step. Returns false if it was the last. */
static __always_inline bool area_step(struct area_walk *walk, struct area_def *def)
{
	struct dentry *dentry = walk->dentry, *parent;

	if (dentry == walk->mount_root)
		return area_leave_mount(walk);
	parent = BPF_CORE_READ(dentry, d_parent);
	if (!area_append_name(def, BPF_CORE_READ(dentry, d_name.name))) {
		def->is_cut = true;
		return false;
	}
	if (parent == dentry) /* a file without a directory entry, such as a memfd */
		return false;
	walk->dentry = parent;
	return true;
}

static __always_inline void area_name_file(struct area_def *def, struct file *file)
{
	struct dentry *dentry = BPF_CORE_READ(file, f_path.dentry);
	struct vfsmount *mnt = BPF_CORE_READ(file, f_path.mnt);
	struct area_walk walk = { .dentry = dentry };

	area_enter_mount(&walk, (void *)mnt - bpf_core_field_offset(struct mount, mnt));
	def->is_deleted = !BPF_CORE_READ(dentry, d_hash.pprev);
	for (int i = 0; i < AREA_PATH_STEPS; i++)
		if (!area_step(&walk, def))
			return;
	def->is_cut = true;
}

static __always_inline void area_name_special(struct area_def *def, struct vm_area_struct *vma)
{
	struct vm_special_mapping *special = BPF_CORE_READ(vma, vm_private_data);

	area_append_name(def, BPF_CORE_READ(special, name));
}

/* Sends the name of an area. Returns true if it was sent or isn't needed, false to try later. */
static __always_inline bool area_send_name(struct vm_area_struct *vma, const struct area_id *id)
{
	__u32 zero = 0, bytes;
	struct area_def *def;

	if (!area_has_name(id))
		return true;
	def = bpf_map_lookup_elem(&area_scratch, &zero);
	if (!def)
		return false;
	def->id = *id;
	def->n_bytes = 0;
	def->is_deleted = false;
	def->is_cut = false;
	if (id->kind == AREA_SPECIAL)
		area_name_special(def, vma);
	else
		area_name_file(def, BPF_CORE_READ(vma, vm_file));
	bytes = offsetof(struct area_def, text) + def->n_bytes;
	return bytes <= sizeof(*def) && !bpf_ringbuf_output(&area_defs, def, bytes, 0);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Processes and their slices of mappings, which BPF updates between two updates by the loader: on
 * fork, exec and replacement of known code.
 */
#ifndef UNWIND_PROCESSES_BPF_H
#define UNWIND_PROCESSES_BPF_H

#include "lib/compat.bpf.h"
#include "lib/filter.bpf.h"
#include "lib/maps.bpf.h"
#include "runtimes/runtime_state.bpf.h"
#include "stack/unwind_tables.bpf.h"

MAP_HASH(unwind_processes, __u32, struct unwind_process, SET_BY_LOADER);

MAP_HASH(unwind_changes, __u32, struct unwind_change, SET_BY_LOADER);

/*
 * Perf maps of processes, which the loader has open. A JIT compiler reuses addresses for other code
 * and appends a line to the file each time: the size of the file identifies the current meaning of
 * addresses.
 */
MAP_HASH(unwind_perf_maps, __u32, struct inode *, UNWIND_PERF_MAPS);

/* Registers a perf map; run by the loader: file descriptor ctx[1] is the map of process ctx[0]. */
SEC("raw_tp")
int unwind_take_perf_map(const __u64 *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct file **files = BPF_CORE_READ(task, files, fdt, fd), *file = NULL;
	__u32 tgid = raw_tp_arg(ctx, 0);
	struct inode *inode;

	bpf_probe_read_kernel(&file, sizeof(file), files + (__u32)raw_tp_arg(ctx, 1));
	inode = BPF_CORE_READ(file, f_inode);
	return bpf_map_update_elem(&unwind_perf_maps, &tgid, &inode, BPF_ANY);
}

/* Returns the size of the process's perf map in bytes; 0: none. */
static __always_inline __u32 unwind_perf_map_size(__u32 tgid)
{
	struct inode **inode = bpf_map_lookup_elem(&unwind_perf_maps, &tgid);

	return inode ? BPF_CORE_READ(*inode, i_size) : 0;
}

static __always_inline __u32 unwind_count_of(__u32 tgid)
{
	struct unwind_change *change = bpf_map_lookup_elem(&unwind_changes, &tgid);

	return change ? change->count : 0;
}

/*
 * Returns the process's slice; NULL: none, or its code has been replaced. Reads n_changes before
 * the count, while changes are written in the opposite order: a change in between is still noticed.
 */
static __always_inline struct unwind_process *unwind_find_process(__u32 tgid)
{
	struct unwind_process *process = bpf_map_lookup_elem(&unwind_processes, &tgid);
	__u32 n_changes;

	if (!process)
		return NULL;
	n_changes = *(volatile __u32 *)&process->n_changes;
	if (process->compared == n_changes + 1)
		return process;
	if (unwind_count_of(tgid) != process->change)
		return NULL;
	process->compared = n_changes + 1;
	return process;
}

static const struct unwind_change unwind_no_change;

/* Returns a process's element, created if missing; NULL: the table is full. */
static __always_inline struct unwind_change *unwind_get_change(__u32 tgid)
{
	struct unwind_change *change = bpf_map_lookup_elem(&unwind_changes, &tgid);

	if (change)
		return change;
	bpf_map_update_elem(&unwind_changes, &tgid, &unwind_no_change, BPF_NOEXIST);
	return bpf_map_lookup_elem(&unwind_changes, &tgid);
}

/*
 * Records an area, repeated requests once. The kernel holds the process's mmap lock. The atomic
 * addition is also a barrier: either the loader sees the area, or BPF sees what the loader
 * published before it looked.
 */
static __always_inline void unwind_note_area(struct unwind_change *change, __u64 start, __u64 end)
{
	struct unwind_area *area = &change->areas[(change->n_areas - 1) & (UNWIND_AREAS - 1)];
	bool is_new = area->start != start || area->end != end;

	if (is_new)
		area = &change->areas[change->n_areas & (UNWIND_AREAS - 1)];
	area->start = start;
	area->end = end;
	area->time_ns = bpf_ktime_get_ns();
	__sync_fetch_and_add(&change->n_areas, is_new);
}

/* Invalidates the process's slice, and slices that the loader has read but not published. */
static __always_inline void unwind_count_change(__u32 tgid)
{
	struct unwind_change *change = unwind_get_change(tgid);
	struct unwind_process *process;

	if (!change) {
		bpf_map_delete_elem(&unwind_processes, &tgid);
		return;
	}
	__sync_fetch_and_add(&change->count, 1);
	process = bpf_map_lookup_elem(&unwind_processes, &tgid); /* after the count */
	if (process)
		__sync_fetch_and_add(&process->n_changes, 1);
}

/*
 * Copies the parent's slice to a child. Until the loader has read its mappings, an executed program
 * has no slice: unwind_exec() deletes that of the previous program.
 */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(unwind_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 tgid = task_tgid(parent), child_tgid = task_tgid(child);
	struct unwind_process *process, childs;

	if (tgid == child_tgid)
		return 0;
	runtimes_fork(tgid, child_tgid);
	process = unwind_find_process(tgid);
	if (!process)
		return 0;
	childs = *process;
	childs.change = unwind_count_of(child_tgid);
	childs.n_changes = childs.compared = childs.n_copies = 0;
	bpf_map_update_elem(&unwind_processes, &child_tgid, &childs, BPF_ANY);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(unwind_exec, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	__u32 tgid = task_tgid(task);
	struct unwind_change *change = bpf_map_lookup_elem(&unwind_changes, &tgid);

	if (change) { /* the loader may be reading the previous program's mappings */
		__sync_fetch_and_add(&change->count, 1);
		change->n_copies = 0;
	}
	bpf_map_delete_elem(&unwind_processes, &tgid);
	runtimes_exec(tgid);
	if (filter_task(task))
		runtimes_tell(tgid, bprm);
	return 0;
}

/* Returns true if a mapping of the slice overlaps the range. */
static __always_inline bool unwind_has_code(const struct unwind_process *process, __u64 start,
					    __u64 end)
{
	struct unwind_mapping *m = unwind_last_mapping(process, end - 1);

	return m && start < m->end;
}

/*
 * Runs when the kernel has found space for a new mapping of the current process: code that the
 * loader has seen there has been unmapped.
 */
SEC("tp_btf/vm_unmapped_area")
int BPF_PROG(unwind_unmapped, unsigned long addr, struct vm_unmapped_area_info *info)
{
	__u32 tgid = current_tgid();
	struct unwind_change *change = bpf_map_lookup_elem(&unwind_changes, &tgid);
	struct unwind_process *process;

	if (change)
		unwind_note_area(change, addr, addr + info->length);
	process = bpf_map_lookup_elem(&unwind_processes, &tgid);
	if (process && unwind_has_code(process, addr, addr + info->length))
		unwind_count_change(tgid);
	return 0;
}

#define VM_EXEC 0x4

/* Returns true if `tree` has the current process's mappings. */
static __always_inline bool unwind_is_own_tree(const void *tree)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct mm_struct___since6_1 *mm = (void *)BPF_CORE_READ(task, mm);

	return mm && tree == (void *)mm + bpf_core_field_offset(mm->mm_mt);
}

/*
 * Returns true if the mapping replaces code of the slice by other code. Anonymous memory in place
 * of anonymous memory is not other code.
 */
static __always_inline bool unwind_is_other_code(const struct unwind_process *process, __u64 start,
						 __u64 end, const struct vm_area_struct *vma)
{
	struct unwind_mapping *m = unwind_last_mapping(process, end - 1);

	return m && start < m->end && (m->n_pages || BPF_CORE_READ(vma, vm_file));
}

/*
 * Runs when the kernel inserts a mapping into the tree (since 6.1); handles those of code.
 * MAP_FIXED and mremap(2) to a given address search no space, so unwind_unmapped() misses them.
 */
SEC("raw_tp/ma_write")
int unwind_placed(const __u64 *ctx)
{
	struct ma_state___since6_1 *state = (void *)raw_tp_arg(ctx, 1);
	struct vm_area_struct *vma = (void *)raw_tp_arg(ctx, 3);
	struct unwind_process *process;
	struct unwind_change *change;
	__u64 start, end;
	__u32 tgid;

	if (!bpf_core_type_exists(struct ma_state___since6_1))
		return 0;
	if (!vma || !unwind_is_own_tree(BPF_CORE_READ(state, tree)) ||
	    !(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
		return 0;
	tgid = current_tgid();
	start = BPF_CORE_READ(state, index);
	end = BPF_CORE_READ(state, last) + 1;
	change = bpf_map_lookup_elem(&unwind_changes, &tgid);
	if (change && BPF_CORE_READ(vma, vm_file))
		unwind_note_area(change, start, end);
	process = bpf_map_lookup_elem(&unwind_processes, &tgid);
	if (process && unwind_is_other_code(process, start, end, vma))
		unwind_count_change(tgid);
	return 0;
}

#endif

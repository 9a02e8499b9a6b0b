// SPDX-License-Identifier: GPL-2.0-only
/* Probes on allocators, process by process; see leakprobes.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "memleak/leak_probes.h"
#include "base/mem.h"
#include "base/msg.h"
#include "process/procstate.h"

struct target {
	pid_t pid;
	char comm[64];
	struct allocators found;
};

static struct uprobes_programs progs;
static struct allocators_wish wish;
static bool for_all; /* processes that use a file */

static struct target *targets;
static size_t n_targets, targets_cap;

static struct uprobes **links;
static size_t n_links, links_cap;

/* Files that are probed for all processes. */
struct file_id {
	dev_t dev;
	ino_t ino;
};

static struct file_id *files;
static size_t n_files, files_cap;
static size_t n_functions;
static enum probe_kind worst_place[2];

int leakprobes_prepare(const struct uprobes_programs *programs, const struct allocators_wish *what,
		       bool follow)
{
	progs = *programs;
	wish = *what;
	for_all = follow;
	return uprobes_prepare(&progs);
}

static struct target *find_target(pid_t pid)
{
	for (size_t i = 0; i < n_targets; i++)
		if (targets[i].pid == pid)
			return &targets[i];
	return NULL;
}

static struct target *find_or_add(pid_t pid)
{
	struct target *target = find_target(pid);

	if (target)
		return target;
	targets = mem_grow(targets, n_targets, &targets_cap, sizeof(*targets));
	targets[n_targets] = (struct target){ .pid = pid };
	return &targets[n_targets++];
}

static bool file_is_probed(const struct alloc_file *file)
{
	for (size_t i = 0; i < n_files; i++)
		if (files[i].dev == file->dev && files[i].ino == file->ino)
			return true;
	return false;
}

static void note_file(const struct alloc_file *file)
{
	if (!for_all || file_is_probed(file))
		return;
	files = mem_grow(files, n_files, &files_cap, sizeof(*files));
	files[n_files++] = (struct file_id){ file->dev, file->ino };
}

static struct uprobe_point make_point(const struct target *target, const struct alloc_function *f)
{
	return (struct uprobe_point){
		.fd = target->found.files[f->file].fd,
		.offset = f->offset + f->place.offset,
		.cookie = f->kind,
		.wants_return = alloc_kind_traits(f->kind)->wants_return,
	};
}

static void note_function(const struct target *target, const struct alloc_function *f, int err)
{
	const struct alloc_file *file = &target->found.files[f->file];
	bool frees = f->kind == ALLOC_FREE;

	if (err) {
		msg_warn("%s of %s can't be probed: %s", f->name, file->path, strerror(-err));
		return;
	}
	n_functions++;
	if ((frees || f->kind == ALLOC_MALLOC) && f->place.kind > worst_place[frees])
		worst_place[frees] = f->place.kind;
	msg_debug("probing %s of %s, at +%u (%s)", f->name, file->path, f->place.offset,
		  probe_kind_name(f->place.kind));
}

/*
 * The C++ library's operators call malloc() and free(), and that is enough. Those of allocators are
 * probed, but an exception thrown through a function whose return is probed ends the program: so
 * only where the return can be left alone if that is to be expected, see is_no_memory().
 */
static bool is_left_out(const struct target *target, const struct alloc_function *f)
{
	if (f->kind != ALLOC_NEW && f->kind != ALLOC_DELETE)
		return false;
	if (f->kind == ALLOC_NEW && progs.mode != UPROBES_SESSION)
		return true;
	for (size_t i = 0; i < target->found.n_functions; i++)
		if (target->found.functions[i].file == f->file &&
		    target->found.functions[i].kind == ALLOC_MALLOC)
			return false;
	return true;
}

/* Probes the functions from `first` on, but for those of files that are probed for all. */
static int probe_functions(struct target *target, size_t first)
{
	size_t n = 0, all = target->found.n_functions;
	struct uprobe_point *points = mem_zalloc(all - first, sizeof(*points));
	const struct alloc_function **meant = mem_zalloc(all - first, sizeof(*meant));
	struct uprobes *link;
	int err = 0;

	for (size_t i = first; i < all; i++) {
		const struct alloc_function *f = &target->found.functions[i];

		if ((for_all && file_is_probed(&target->found.files[f->file])) ||
		    is_left_out(target, f))
			continue;
		meant[n] = f;
		points[n++] = make_point(target, f);
	}
	link = n ? uprobes_attach(&progs, for_all ? 0 : target->pid, points, n) : NULL;
	err = n && !link ? -errno : 0;
	for (size_t i = 0; i < n; i++) {
		note_function(target, meant[i], points[i].err);
		note_file(&target->found.files[meant[i]->file]);
	}
	if (link) {
		links = mem_grow(links, n_links, &links_cap, sizeof(struct uprobes *));
		links[n_links++] = link;
	}
	free(points);
	free(meant);
	return err;
}

int leakprobes_add(pid_t pid)
{
	struct target *target = find_or_add(pid);
	int n = allocators_scan(&target->found, pid, &wish);

	process_comm(pid, target->comm, sizeof(target->comm));
	if (n <= 0)
		return n;
	return probe_functions(target, target->found.n_functions - (size_t)n);
}

bool leakprobes_knows(pid_t pid)
{
	return find_target(pid);
}

const char *leakprobes_comm(pid_t pid)
{
	const struct target *target = find_target(pid);

	return target && *target->comm ? target->comm : NULL;
}

size_t leakprobes_count(void)
{
	return n_functions;
}

enum probe_kind leakprobes_place(bool of_frees)
{
	return worst_place[of_frees];
}

struct uprobes *leakprobes_attach_own(struct uprobe_point *point)
{
	return uprobes_attach(&progs, getpid(), point, 1);
}

void leakprobes_detach(void)
{
	for (size_t i = 0; i < n_links; i++)
		uprobes_detach(links[i]);
	n_links = 0;
}

void leakprobes_free(void)
{
	leakprobes_detach();
	for (size_t i = 0; i < n_targets; i++)
		allocators_free(&targets[i].found);
	free(targets);
	free(links);
	free(files);
}

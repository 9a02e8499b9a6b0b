// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which tasks are traced. Every option is checked against the running system before anything is
 * opened, so that a mistyped filter never means "everything".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/magic.h>

#include <bpf/bpf.h>

#include "abi/filter.h"
#include "run/bpfmap.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/parse.h"
#include "modules/target.h"

#define PID_MAX		    4194304	/* PID_MAX_LIMIT, include/linux/threads.h */
#define INITIAL_PIDNS_INODE 0xeffffffcU /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

struct id_list {
	uint32_t *ids;
	size_t count, cap;
};

static struct id_list pids, tids;
static const char *comm, *cgroup_path, *cgroup_map_path, *mntns_map_path;
static bool follow;
static struct filter_settings settings;

static int add_id(uint64_t id, void *arg)
{
	struct id_list *list = arg;

	list->ids = mem_grow(list->ids, list->count, &list->cap, sizeof(*list->ids));
	list->ids[list->count++] = (uint32_t)id;
	return 0;
}

static int parse_ids(const char *what, const char *text, void *dest)
{
	return parse_list(what, text, 1, PID_MAX, add_id, dest);
}

static const struct opt target_opts[] = {
	{ 'p', "pid", "PID,...", OPT_PARSED(parse_ids, &pids), "only these processes" },
	{ 0, "tid", "TID,...", OPT_PARSED(parse_ids, &tids), "only these threads" },
	{ 0, "comm", "NAME", OPT_STRING(&comm), "only threads of that name" },
	{ 0, "cgroup", "PATH", OPT_STRING(&cgroup_path),
	  "only that cgroup (v2) and those below it" },
	{ 0, "follow", NULL, OPT_FLAG(&follow), "also the children that they start from now on" },
	{ 0, "cgroupmap", "PATH", OPT_STRING(&cgroup_map_path),
	  "only cgroups whose ids are in that pinned map" },
	{ 0, "mntnsmap", "PATH", OPT_STRING(&mntns_map_path),
	  "only mount namespaces whose inodes are in that pinned map" },
	{},
};

/* The number behind "Tgid:" in /proc/TID/status; 0 if there is no such task. */
static uint32_t read_tgid(uint32_t tid)
{
	char path[64], line[256];
	unsigned int tgid = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%u/status", tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	while (!tgid && fgets(line, sizeof(line), f))
		if (sscanf(line, "Tgid: %u", &tgid) != 1)
			tgid = 0;
	fclose(f);
	return tgid;
}

static int check_pid(uint32_t pid)
{
	uint32_t tgid = read_tgid(pid);

	if (!tgid)
		return msg_error("there is no process %u", pid);
	if (tgid != pid)
		return msg_error("%u is a thread of process %u, not a process (see --tid)", pid,
				 tgid);
	return 0;
}

int target_parse_pid(const char *what, const char *text, void *dest)
{
	uint64_t pid;

	if (parse_uint(what, text, 1, PID_MAX, &pid))
		return -EINVAL;
	*(uint32_t *)dest = (uint32_t)pid;
	return check_pid((uint32_t)pid);
}

static int check_pids(void)
{
	for (size_t i = 0; i < pids.count; i++)
		if (check_pid(pids.ids[i]))
			return -EINVAL;
	for (size_t i = 0; i < tids.count; i++)
		if (!read_tgid(tids.ids[i]))
			return msg_error("there is no thread %u", tids.ids[i]);
	return 0;
}

/* A cgroup's id is its inode number (kernfs_node.id, 64-bit inodes). */
static int check_cgroup(void)
{
	struct statfs fs;
	struct stat st;

	if (statfs(cgroup_path, &fs) || stat(cgroup_path, &st)) {
		msg_errno(errno, "--cgroup %s", cgroup_path);
		return -EINVAL;
	}
	if (fs.f_type != CGROUP2_SUPER_MAGIC || !S_ISDIR(st.st_mode))
		return msg_error("--cgroup %s: not a folder of the cgroup2 file system",
				 cgroup_path);
	settings.by_cgroup = true;
	settings.cgroup_id = st.st_ino;
	return 0;
}

static int check_comm(void)
{
	size_t length = strlen(comm);

	if (!length)
		return msg_error("--comm: the name is empty");
	if (length >= TASK_COMM_LEN)
		return msg_error("--comm %s: the kernel keeps %d characters of a name", comm,
				 TASK_COMM_LEN - 1);
	settings.by_comm = true;
	memcpy(settings.comm, comm, length);
	return 0;
}

static int check_target(struct run *run)
{
	if (run->command && (pids.count || tids.count))
		return msg_error("-p or --tid and a command exclude each other");
	if (follow && !pids.count && !run->command)
		return msg_error("--follow needs -p or a command");
	if (check_pids() || (comm && check_comm()) || (cgroup_path && check_cgroup()))
		return -EINVAL;
	return 0;
}

void target_set_threads(unsigned int threads)
{
	settings.threads = threads;
}

bool target_lists_pids(void)
{
	return pids.count > 0;
}

const pid_t *target_pids(void)
{
	return (const pid_t *)pids.ids;
}

size_t target_n_pids(void)
{
	return pids.count;
}

/* A map that somebody else has pinned takes the place of an empty one of ours. */
static int use_pinned_map(const struct run *run, const char *path, const char *name)
{
	int fd, err;

	if (!path)
		return 0;
	fd = bpf_obj_get(path);
	if (fd < 0)
		return msg_errno(errno, "opening the map %s", path);
	err = bpf_map__reuse_fd(map_find(run, name), fd);
	close(fd);
	return err ? msg_errno(err, "using the map %s", path) : 0;
}

static void choose_ids(const struct run *run)
{
	if (run->command_pid)
		add_id((uint64_t)run->command_pid, &pids);
	settings.follow = follow;
	settings.by_tgids = pids.count > 1 || follow || run->command;
	settings.by_tids = tids.count > 1;
	if (pids.count == 1 && !settings.by_tgids)
		settings.tgid = pids.ids[0];
	if (tids.count == 1)
		settings.tid = tids.ids[0];
}

static void choose_self(void)
{
	struct stat st;

	settings.self_tgid = (uint32_t)getpid();
	if (!stat("/proc/self/ns/pid", &st) && st.st_ino != INITIAL_PIDNS_INODE)
		settings.pidns_inum = (uint32_t)st.st_ino;
}

static bool nothing_is_asked(void)
{
	return !settings.tgid && !settings.tid && !settings.by_tgids && !settings.by_tids &&
	       !settings.threads && !settings.by_comm && !settings.by_cgroup &&
	       !settings.by_cgroups && !settings.by_mntnss;
}

static void leave_out_unused(const struct run *run)
{
	if (!settings.by_tgids)
		map_leave_out(run, "filter_tgids");
	if (!settings.by_tids)
		map_leave_out(run, "filter_tids");
	if (!cgroup_map_path)
		map_leave_out(run, "filter_cgroups");
	if (!mntns_map_path)
		map_leave_out(run, "filter_mntnss");
	if (!follow) {
		program_leave_out(run, "filter_fork");
		program_leave_out(run, "filter_free");
	}
}

static int configure_target(struct run *run)
{
	int err;

	choose_self();
	choose_ids(run);
	settings.by_cgroups = cgroup_map_path;
	settings.by_mntnss = mntns_map_path;
	settings.is_off = nothing_is_asked();
	leave_out_unused(run);
	err = use_pinned_map(run, cgroup_map_path, "filter_cgroups");
	if (!err)
		err = use_pinned_map(run, mntns_map_path, "filter_mntnss");
	return err ? err : map_set_settings(run, ".rodata.filter", &settings, sizeof(settings));
}

static int fill_set(const struct run *run, const char *name, const struct id_list *list)
{
	int fd = bpf_map__fd(map_find(run, name));
	uint8_t one = 1;

	for (size_t i = 0; i < list->count; i++)
		if (bpf_map_update_elem(fd, &list->ids[i], &one, BPF_ANY))
			return msg_errno(errno, "filling %s", name);
	return 0;
}

static int fill_pids(const struct run *run)
{
	return settings.by_tgids ? fill_set(run, "filter_tgids", &pids) : 0;
}

static int start_target(struct run *run)
{
	int err = run->command ? 0 : fill_pids(run);

	if (!err && settings.by_tids)
		err = fill_set(run, "filter_tids", &tids);
	return err;
}

/* Until then the command's process was still ours. */
static void begin_target(struct run *run)
{
	fill_pids(run);
}

static void finish_target(struct run *run)
{
	(void)run;
	free(pids.ids);
	free(tids.ids);
}

const struct module target_module = {
	.title = "target",
	.opts = target_opts,
	.check = check_target,
	.configure = configure_target,
	.start = start_target,
	.begin = begin_target,
	.finish = finish_target,
};

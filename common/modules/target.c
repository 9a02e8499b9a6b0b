// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which tasks are traced. Every option is checked against the running system before anything is
 * opened, so that a mistyped filter never means "everything".
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "abi/filter.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/parse.h"
#include "modules/cgroup_filter.h"
#include "modules/target.h"
#include "process/procstate.h"
#include "run/bpfmap.h"
#include "run/run.h"

/* ---- target end ---- */

/* Some processes, or some threads: the run ends when all of them have exited. */
struct target_end {
	struct run *run;
	bool threads;
	bool follows; /* targets are processes: those left in the map filter_tgids count, too */
	size_t n_left;
	struct watched {
		struct target_end *end;
		uint32_t id;
	} * watched, followed;
};

#define OF_THREAD O_EXCL /* PIDFD_THREAD, since 6.9 (include/uapi/linux/pidfd.h) */

static enum loop_verdict on_ended(int fd, void *arg);

static int watch_one(uint32_t id, struct watched *watched)
{
	struct target_end *end = watched->end;
	int fd = (int)syscall(SYS_pidfd_open, id, end->threads ? OF_THREAD : 0), err;

	if (fd < 0)
		return -errno;
	err = loop_watch(end->run->loop, fd, on_ended, watched);
	if (err)
		close(fd);
	else
		end->n_left++;
	return err;
}

/* An exited process stays in the map until its parent has reaped it. */
static void watch_followed(const void *tgid, const void *value, void *arg)
{
	uint32_t pid = *(const uint32_t *)tgid;
	struct target_end *end = arg;

	(void)value;
	if (!process_has_ended((pid_t)pid))
		watch_one(pid, &end->followed);
}

/* Drops one of several targets, whose id may be reused from now on. */
static void drop(const struct watched *watched)
{
	bool is_thread = watched->end->threads;
	const char *name = is_thread ? "filter_tids" : "filter_tgids";

	if (!watched->id)
		return; /* a child that was followed */
	bpf_map_delete_elem(bpf_map__fd(map_find(watched->end->run, name)), &watched->id);
	msg_info("%s %u has exited, no longer traced", is_thread ? "thread" : "process",
		 watched->id);
}

static enum loop_verdict on_ended(int fd, void *arg)
{
	const struct watched *watched = arg;
	struct target_end *end = watched->end;

	close(fd);
	if (--end->n_left) {
		drop(watched);
		return LOOP_GO;
	}
	if (end->follows)
		map_read(bpf_map__fd(map_find(end->run, "filter_tgids")), false, watch_followed,
			 end);
	if (end->n_left)
		return LOOP_GO;
	msg_info("all targets have exited");
	return LOOP_STOP;
}

/*
 * Removes exited targets from the filter, and ends the loop, with a message, when the last one has
 * exited. Threads are watched since Linux 6.9 only. 0 or -errno, printed: -ESRCH if all have ended
 * by now.
 */
static int target_end_watch(struct target_end *end, const uint32_t *ids, size_t n)
{
	int err = 0;

	end->watched = mem_zalloc(n, sizeof(*end->watched));
	end->followed.end = end;
	for (size_t i = 0; i < n && (!err || err == -ESRCH); i++) {
		end->watched[i] = (struct watched){ end, ids[i] };
		err = watch_one(ids[i], &end->watched[i]);
		if (err == -ESRCH)
			drop(&end->watched[i]);
	}
	if (end->threads && err == -EINVAL) {
		msg_debug("thread exits: not watched on this kernel");
		return 0;
	}
	if (err == -ESRCH)
		return end->n_left ? 0 : msg_error("target: all processes have exited");
	return err ? msg_errno(err, "target: exit watch failed") : 0;
}

static void target_end_free(struct target_end *end)
{
	free(end->watched);
}

/* ---- target ---- */

#define PID_MAX		    4194304	/* PID_MAX_LIMIT, include/linux/threads.h */
#define INITIAL_PIDNS_INODE 0xeffffffcU /* PROC_PID_INIT_INO, include/linux/proc_ns.h */

struct id_list {
	uint32_t *ids;
	size_t count, cap;
};

struct target {
	struct id_list pids, tids;
	const char *comm, *cgroup_map_path;
	struct cgroup_filter cgroup;
	bool follow, no_follow;
	bool is_followed; /* set by these two options, and by the tool's default for a command */
	struct filter_settings settings;
	struct target_end pids_end, tids_end;
};

static const struct target defaults;

static struct target *target_of(const struct run *run)
{
	return run_state(run, &target_module);
}

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
	{ 'p', "pid", "PID,...", OPT_PARSED(struct target, pids, parse_ids),
	  "trace only these processes" },
	{ 0, "tid", "TID,...", OPT_PARSED(struct target, tids, parse_ids),
	  "trace only these threads" },
	{ 0, "comm", "NAME", OPT_STRING(struct target, comm), "trace only threads with this name" },
	{ 0, "cgroup", "PATH", OPT_STRING(struct target, cgroup.path),
	  "trace only this cgroup (v2) and its descendants" },
	{ 0, "container", "ID", OPT_STRING(struct target, cgroup.container),
	  "trace only this container (name, id, or a prefix)", "cgroup" },
	{ 0, "unit", "NAME", OPT_STRING(struct target, cgroup.unit),
	  "trace only this systemd unit (\".service\" is optional)", "container" },
	{ 0, "follow", NULL, OPT_FLAG(struct target, follow),
	  "trace children started from now on, too" },
	{ 0, "no-follow", NULL, OPT_FLAG(struct target, no_follow),
	  "trace only the command itself, not its children", "follow" },
	{ 0, "cgroupmap", "PATH", OPT_STRING(struct target, cgroup_map_path),
	  "trace only cgroups whose ids are in this pinned map" },
	{},
};

/* Returns the number after "Tgid:" in /proc/TID/status; 0 if there is no such task. */
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
		return msg_error("process %u: not found", pid);
	if (tgid != pid)
		return msg_error("%u: a thread of process %u, not a process (use --tid)", pid,
				 tgid);
	if (process_has_ended((pid_t)pid))
		return msg_error("process %u: has exited (a zombie, not reaped by its parent)",
				 pid);
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

static int check_ids(const struct target *target)
{
	for (size_t i = 0; i < target->pids.count; i++)
		if (check_pid(target->pids.ids[i]))
			return -EINVAL;
	for (size_t i = 0; i < target->tids.count; i++)
		if (!read_tgid(target->tids.ids[i]))
			return msg_error("thread %u: not found", target->tids.ids[i]);
	return 0;
}

static int check_comm(struct target *target)
{
	size_t length = target->comm ? strlen(target->comm) : 0;

	if (!target->comm)
		return 0;
	if (!length)
		return msg_error("--comm: the name is empty");
	if (length >= TASK_COMM_LEN)
		return msg_error("--comm %s: longer than the kernel's %d characters", target->comm,
				 TASK_COMM_LEN - 1);
	target->settings.by_comm = true;
	memcpy(target->settings.comm, target->comm, length);
	return 0;
}

/* Children of a command belong to it. */
static bool is_followed(const struct run *run, const struct target *target)
{
	const struct target_spec *spec = run_spec(run, &target_module);

	return target->follow ||
	       (run->command && !target->no_follow && !(spec && spec->follows_if_asked));
}

static int check_target(struct run *run)
{
	struct target *target = target_of(run);

	if (run->command && (target->pids.count || target->tids.count))
		return msg_error("-p or --tid and a command exclude each other");
	if (target->follow && !target->pids.count && !run->command)
		return msg_error("--follow needs -p or a command");
	if (target->no_follow && !run->command)
		return msg_error("--no-follow needs a command");
	target->is_followed = is_followed(run, target);
	if (check_ids(target) || check_comm(target) || cgroup_filter_find(&target->cgroup))
		return -EINVAL;
	target->settings.by_cgroup = target->cgroup.id;
	return 0;
}

bool target_lists_pids(const struct run *run)
{
	return target_of(run)->pids.count > 0;
}

const pid_t *target_pids(const struct run *run)
{
	return (const pid_t *)target_of(run)->pids.ids;
}

size_t target_n_pids(const struct run *run)
{
	return target_of(run)->pids.count;
}

/* Uses a map that another program has pinned, instead of our empty one. */
static int use_pinned_map(const struct run *run, const char *path, const char *name)
{
	int fd, err;

	if (!path)
		return 0;
	fd = bpf_obj_get(path);
	if (fd < 0)
		return msg_errno(-errno, "map %s: open failed", path);
	err = bpf_map__reuse_fd(map_find(run, name), fd);
	close(fd);
	return err ? msg_errno(err, "map %s: reuse failed", path) : 0;
}

static void choose_ids(const struct run *run, struct target *target)
{
	struct filter_settings *settings = &target->settings;

	if (run->command_pid)
		add_id((uint64_t)run->command_pid, &target->pids);
	settings->follow = target->is_followed;
	settings->by_tgids = target->pids.count > 1 || target->is_followed || run->command;
	settings->by_tids = target->tids.count > 1;
	if (target->pids.count == 1 && !settings->by_tgids)
		settings->tgid = target->pids.ids[0];
	if (target->tids.count == 1)
		settings->tid = target->tids.ids[0];
}

static void choose_self(struct filter_settings *settings)
{
	struct stat st;

	settings->self_tgid = (uint32_t)getpid();
	if (!stat("/proc/self/ns/pid", &st) && st.st_ino != INITIAL_PIDNS_INODE)
		settings->pidns_inum = (uint32_t)st.st_ino;
}

static void choose_threads(const struct run *run, struct filter_settings *settings)
{
	const struct target_spec *spec = run_spec(run, &target_module);

	settings->threads = spec && spec->threads ? spec->threads(run) : THREADS_ALL;
}

static bool nothing_is_asked(const struct filter_settings *settings)
{
	return !settings->tgid && !settings->tid && !settings->by_tgids && !settings->by_tids &&
	       !settings->threads && !settings->by_comm && !settings->by_cgroup &&
	       !settings->by_cgroups;
}

static void leave_out_unused(const struct run *run, const struct filter_settings *settings)
{
	if (!settings->by_tgids)
		map_leave_out(run, "filter_tgids");
	if (!settings->by_tids)
		map_leave_out(run, "filter_tids");
	if (!settings->by_cgroups)
		map_leave_out(run, "filter_cgroups");
	if (!settings->follow) {
		program_leave_out(run, "filter_fork");
		program_leave_out(run, "filter_free");
	}
	if (!settings->follow || !settings->pidns_inum)
		map_leave_out(run, "filter_pids");
}

static int configure_target(struct run *run)
{
	struct target *target = target_of(run);
	struct filter_settings *settings = &target->settings;
	int err;

	choose_self(settings);
	choose_ids(run, target);
	choose_threads(run, settings);
	settings->by_cgroups = target->cgroup_map_path;
	settings->is_off = nothing_is_asked(settings);
	leave_out_unused(run, settings);
	err = use_pinned_map(run, target->cgroup_map_path, "filter_cgroups");
	return err ? err : map_set_settings(run, ".rodata.filter", settings, sizeof(*settings));
}

bool target_reaches_outside(const struct run *run)
{
	const struct target *target = target_of(run);

	return target->settings.pidns_inum && !target->pids.count && !target->tids.count;
}

static int fill_set(const struct run *run, const char *name, const struct id_list *list)
{
	int fd = bpf_map__fd(map_find(run, name));
	uint8_t one = 1;

	for (size_t i = 0; i < list->count; i++)
		if (bpf_map_update_elem(fd, &list->ids[i], &one, BPF_ANY))
			return msg_errno(-errno, "map %s: update failed", name);
	return 0;
}

static int fill_pids(const struct run *run)
{
	const struct target *target = target_of(run);

	return target->settings.by_tgids ? fill_set(run, "filter_tgids", &target->pids) : 0;
}

static int start_target(struct run *run)
{
	struct target *target = target_of(run);
	int err = run->command ? 0 : fill_pids(run);

	if (!err && target->settings.by_tids)
		err = fill_set(run, "filter_tids", &target->tids);
	return err ? err : cgroup_filter_start(&target->cgroup, run);
}

/* Until then the command's process was still ours. */
static void begin_target(struct run *run)
{
	fill_pids(run);
}

/* tool_main() watches the command's exit itself. */
static int attach_target(struct run *run)
{
	struct target *target = target_of(run);
	int err;

	if (run->command)
		return 0;
	target->pids_end = (struct target_end){ .run = run, .follows = target->is_followed };
	target->tids_end = (struct target_end){ .run = run, .threads = true };
	err = target_end_watch(&target->pids_end, target->pids.ids, target->pids.count);
	return err ? err
		   : target_end_watch(&target->tids_end, target->tids.ids, target->tids.count);
}

static void finish_target(struct run *run)
{
	target_end_free(&target_of(run)->pids_end);
	target_end_free(&target_of(run)->tids_end);
	cgroup_filter_free(&target_of(run)->cgroup);
	free(target_of(run)->pids.ids);
	free(target_of(run)->tids.ids);
}

const struct module target_module = {
	.title = "target",
	.opts = target_opts,
	.state = DEFAULTS(defaults),
	.check = check_target,
	.configure = configure_target,
	.start = start_target,
	.attach = attach_target,
	.begin = begin_target,
	.finish = finish_target,
};

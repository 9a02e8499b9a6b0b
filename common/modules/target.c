// SPDX-License-Identifier: GPL-2.0-only
/*
 * Selection of the traced tasks. Every option is checked against the running system before anything
 * is opened, so that a mistyped filter never means "everything".
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

#define PID_MAX		    4194304	/* PID_MAX_LIMIT, include/linux/threads.h */
#define INITIAL_PIDNS_INODE 0xeffffffcU /* PROC_PID_INIT_INO, include/linux/proc_ns.h */
#define OF_THREAD	    O_EXCL	/* PIDFD_THREAD, since 6.9 (include/uapi/linux/pidfd.h) */

/* Selected processes or threads: the run ends when all of them have exited. */
struct ids {
	bool are_threads;
	const char *map; /* name of BPF's set of the ids */
	uint32_t *items;
	size_t count, cap;

	struct run *run;
	size_t n_left;
	struct watched {
		struct ids *ids;
		uint32_t id;
	} * watched, followed;
};

struct target {
	struct ids pids, tids;
	const char *comm;
	struct cgroup_filter cgroup;
	bool follow, no_follow;
	struct filter_settings settings;
};

static const struct target defaults = {
	.pids.map = "filter_tgids",
	.tids = { .are_threads = true, .map = "filter_tids" },
};

DEFINE_STATE(struct target, target_of, target_module)

/* ---- options ---- */

static int add_id(uint64_t id, void *arg)
{
	struct ids *ids = arg;

	*MEM_APPEND(ids->items, ids->count, ids->cap) = (uint32_t)id;
	return 0;
}

static int parse_ids(const char *what, const char *text, void *dest)
{
	return parse_list(what, text, 1, PID_MAX, add_id, dest);
}

static const struct opt target_opts[] = {
	{ 'p', "pid", "PID,...", OPT_LIST(struct target, pids, parse_ids),
	  "trace only these processes" },
	{ 0, "tid", "TID,...", OPT_LIST(struct target, tids, parse_ids),
	  "trace only these threads" },
	{ 0, "comm", "NAME", OPT_STRING(struct target, comm), "trace only threads with this name" },
	{ 0, "cgroup", "PATH", OPT_STRING(struct target, cgroup.path),
	  "trace only this cgroup (v2) and its descendants", "unit" },
	{ 0, "container", "ID", OPT_STRING(struct target, cgroup.container),
	  "trace only this container (name, id, or a prefix)", "cgroup" },
	{ 0, "unit", "NAME", OPT_STRING(struct target, cgroup.unit),
	  "trace only this systemd unit (\".service\" is optional)", "container" },
	{ 0, "follow", NULL, OPT_FLAG(struct target, follow),
	  "trace children started from now on, too" },
	{ 0, "no-follow", NULL, OPT_FLAG(struct target, no_follow),
	  "trace only the command itself, not its children", "follow" },
	{},
};

/* Returns the number after "Tgid:" in /proc/TID/status; 0: errno says why not. */
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

int target_check_pid(uint32_t pid, bool has_tids)
{
	uint32_t tgid = read_tgid(pid);

	if (!tgid)
		return errno == ENOENT ? msg_error("process %u: not found", pid)
				       : msg_errno(-errno, "process %u", pid);
	if (tgid != pid)
		return msg_error("%u: a thread of process %u, not a process%s", pid, tgid,
				 has_tids ? " (use --tid)" : "");
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
	return target_check_pid((uint32_t)pid, true);
}

static int check_tid(const struct target *target, uint32_t tid)
{
	uint32_t tgid = read_tgid(tid);
	bool is_of_any = !target->pids.count;

	if (!tgid)
		return msg_error("thread %u: not found", tid);
	for (size_t i = 0; i < target->pids.count; i++)
		is_of_any |= target->pids.items[i] == tgid;
	return is_of_any ? 0
			 : msg_error("thread %u: of process %u, which --pid excludes", tid, tgid);
}

static int check_ids(const struct target *target)
{
	for (size_t i = 0; i < target->pids.count; i++)
		if (target_check_pid(target->pids.items[i], true))
			return -EINVAL;
	for (size_t i = 0; i < target->tids.count; i++)
		if (check_tid(target, target->tids.items[i]))
			return -EINVAL;
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
	target->settings.tests |= FILTER_COMM;
	memcpy(target->settings.comm, target->comm, length);
	return 0;
}

bool target_follows(const struct run *run)
{
	const struct target *target = target_of(run);
	const struct target_spec *spec = run_spec(run, &target_module);

	return target->follow ||
	       (run->command && !target->no_follow && !(spec && spec->follows_if_asked));
}

/* Returns true if the target is selected by more than processes and cgroups. */
static bool is_partial(const struct target *target)
{
	return target->tids.count || target->comm;
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
	target->settings.follow = target_follows(run);
	if (check_ids(target) || check_comm(target) || cgroup_filter_find(&target->cgroup))
		return -EINVAL;
	if (target->cgroup.id)
		target->settings.tests |= FILTER_CGROUP;
	return conditions_check(&run->capture.conditions,
				run->command || target->pids.count || target->cgroup.folder,
				is_partial(target));
}

bool target_lists_pids(const struct run *run)
{
	return target_of(run)->pids.count > 0;
}

const pid_t *target_pids(const struct run *run)
{
	return (const pid_t *)target_of(run)->pids.items;
}

size_t target_n_pids(const struct run *run)
{
	return target_of(run)->pids.count;
}

static void choose_ids(const struct run *run, struct target *target)
{
	struct filter_settings *settings = &target->settings;

	if (run->command_pid)
		add_id((uint64_t)run->command_pid, &target->pids);
	if (target->pids.count > 1 || settings->follow || run->command)
		settings->tests |= FILTER_TGIDS;
	else if (target->pids.count)
		settings->tests |= FILTER_TGID;
	if (target->tids.count)
		settings->tests |= target->tids.count > 1 ? FILTER_TIDS : FILTER_TID;
	if (settings->tests & FILTER_TGID)
		settings->tgid = target->pids.items[0];
	if (settings->tests & FILTER_TID)
		settings->tid = target->tids.items[0];
}

static void choose_self(struct filter_settings *settings)
{
	struct stat st;

	settings->self_tgid = (uint32_t)getpid();
	if (!stat("/proc/self/ns/pid", &st) && st.st_ino != INITIAL_PIDNS_INODE)
		settings->pidns_inum = (uint32_t)st.st_ino;
}

static void leave_out_unused(const struct run *run, const struct filter_settings *settings)
{
	if (!(settings->tests & FILTER_TGIDS))
		map_leave_out(run, "filter_tgids");
	if (!(settings->tests & FILTER_TIDS))
		map_leave_out(run, "filter_tids");
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

	choose_self(settings);
	choose_ids(run, target);
	if (run_given(run, "user-threads-only"))
		settings->tests |= FILTER_USER;
	if (run_given(run, "kernel-threads-only"))
		settings->tests |= FILTER_KERNEL;
	leave_out_unused(run, settings);
	return map_set_settings(run, ".rodata.filter", settings, sizeof(*settings));
}

bool target_is_everything(const struct run *run)
{
	return !target_of(run)->settings.tests;
}

bool target_reaches_outside(const struct run *run)
{
	const struct target *target = target_of(run);

	return target->settings.pidns_inum && !target->pids.count && !target->tids.count;
}

struct visitor {
	void (*visit)(pid_t pid, void *arg);
	void *arg;
};

static void visit_traced(const void *tgid, const void *value, void *arg)
{
	const struct visitor *visitor = arg;

	(void)value;
	visitor->visit((pid_t) * (const uint32_t *)tgid, visitor->arg);
}

void target_visit(const struct run *run, void (*visit)(pid_t pid, void *arg), void *arg)
{
	struct visitor visitor = { visit, arg };

	if (target_follows(run)) {
		map_read(bpf_map__fd(map_find(run, "filter_tgids")), false, visit_traced, &visitor);
		return;
	}
	for (size_t i = 0; i < target_n_pids(run); i++)
		visit(target_pids(run)[i], arg);
}

/* ---- exits of targets ---- */

static enum loop_verdict on_ended(int fd, void *arg);

static int watch_one(uint32_t id, struct watched *watched)
{
	struct ids *ids = watched->ids;
	int fd = (int)syscall(SYS_pidfd_open, id, ids->are_threads ? OF_THREAD : 0), err;

	if (fd < 0)
		return -errno;
	err = loop_watch(ids->run->loop, fd, on_ended, watched);
	if (err)
		close(fd);
	else
		ids->n_left++;
	return err;
}

/* Watches a process in the map, unless it has exited: a process stays there until it is reaped. */
static void watch_followed(const void *tgid, const void *value, void *arg)
{
	uint32_t pid = *(const uint32_t *)tgid;
	struct ids *ids = arg;

	(void)value;
	if (!process_has_ended((pid_t)pid))
		watch_one(pid, &ids->followed);
}

static int map_of(const struct ids *ids)
{
	return bpf_map__fd(map_find(ids->run, ids->map));
}

/* Removes an exited target, if other targets remain, from the filter: its id may be reused. */
static void drop(const struct watched *watched)
{
	const struct ids *ids = watched->ids;

	if (!watched->id)
		return; /* a followed child */
	bpf_map_delete_elem(map_of(ids), &watched->id);
	msg_info("%s %u has exited, no longer traced", ids->are_threads ? "thread" : "process",
		 watched->id);
}

static enum loop_verdict on_ended(int fd, void *arg)
{
	const struct watched *watched = arg;
	struct ids *ids = watched->ids;

	close(fd);
	if (--ids->n_left) {
		drop(watched);
		return LOOP_GO;
	}
	if (!ids->are_threads && target_of(ids->run)->settings.follow)
		map_read(map_of(ids), false, watch_followed, ids);
	if (ids->n_left)
		return LOOP_GO;
	msg_info("all targets have exited");
	return LOOP_STOP;
}

/*
 * Watches the targets: removes exited ones from the filter; the last exit ends the loop, with a
 * message. Threads can be watched since Linux 6.9. 0 or -errno, printed: -ESRCH: all have exited.
 */
static int watch_ends(struct ids *ids)
{
	int err = 0;

	ids->watched = mem_zalloc(ids->count, sizeof(*ids->watched));
	ids->followed.ids = ids;
	for (size_t i = 0; i < ids->count && (!err || err == -ESRCH); i++) {
		ids->watched[i] = (struct watched){ ids, ids->items[i] };
		err = watch_one(ids->items[i], &ids->watched[i]);
		if (err == -ESRCH)
			drop(&ids->watched[i]);
	}
	if (ids->are_threads && err == -EINVAL) {
		msg_debug("thread exits: not watched on this kernel");
		return 0;
	}
	if (err == -ESRCH)
		return ids->n_left ? 0 : msg_error("target: all processes have exited");
	return err ? msg_errno(err, "target: exit watch failed") : 0;
}

/* ---- module hooks ---- */

static int fill_set(const struct ids *ids)
{
	uint8_t one = 1;

	for (size_t i = 0; i < ids->count; i++)
		if (bpf_map_update_elem(map_of(ids), &ids->items[i], &one, BPF_ANY))
			return msg_errno(-errno, "map %s: update failed", ids->map);
	return 0;
}

static int start_target(struct run *run)
{
	struct target *target = target_of(run);
	uint32_t tests = target->settings.tests;
	int err = 0;

	target->pids.run = target->tids.run = run;
	run->capture.target = (struct condition_target){
		.pids = target->pids.items,
		.n_pids = target->pids.count,
		.cgroup = target->cgroup.folder,
		.is_partial = is_partial(target),
	};
	if (tests & FILTER_TGIDS && !run->command)
		err = fill_set(&target->pids);
	if (!err && tests & FILTER_TIDS)
		err = fill_set(&target->tids);
	return err ? err : cgroup_filter_start(&target->cgroup, run);
}

/* Fills the filter when the command has been executed: before, its process ran our code. */
static void begin_target(struct run *run)
{
	fill_set(&target_of(run)->pids);
}

/* Watches the targets. tool_main() watches the command's exit. */
static int attach_target(struct run *run)
{
	struct target *target = target_of(run);
	int err = run->command ? 0 : watch_ends(&target->pids);

	return err || run->command ? err : watch_ends(&target->tids);
}

static void free_ids(const struct ids *ids)
{
	free(ids->items);
	free(ids->watched);
}

static void finish_target(struct run *run)
{
	struct target *target = target_of(run);

	free_ids(&target->pids);
	free_ids(&target->tids);
	cgroup_filter_free(&target->cgroup);
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

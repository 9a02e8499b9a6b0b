// SPDX-License-Identifier: GPL-2.0-only
/*
 * Runs one tool beside one workload, and prints what that took in one line:
 *
 *	beside [-w] [-p] WORKLOAD... -- TOOL...
 *
 * The numbers, separated by blanks: ms from exec until it is attached, ms of CPU until then, MB of
 * BPF maps, MB of the loader besides (Pss) then and at the end, ns of BPF per switch of the system,
 * switches, ms from the signal that ends it to its end.
 *
 * -w: the workload is told to go once the tool is attached, and the tool ends when it is done.
 * -p: the tool is a peer, which doesn't say when it is attached.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/readfile.h"
#include "programs.h"

#define POLL_US		500
#define ATTACH_LIMIT_NS (20 * NS_PER_S)
#define WINDOW_NS	NS_PER_S
#define WORK_LIMIT_NS	(300 * NS_PER_S)
#define MAX_MAPS	2048
#define SMAPS_MAX_BYTES (64u << 20)

struct child {
	pid_t pid;
	int to_fd, from_fd; /* its standard input; its standard output, or error for a tool */
	char said[65536];
	size_t n_said;
};

struct figures {
	double start_ms, cpu_ms, maps_mb, own_mb, own_end_mb, ns_by_switch, n_switches, end_ms;
};

/* ---- children ---- */

static int start(struct child *child, char **argv, int said_fd)
{
	int to[2], from[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0 || pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC))
		return msg_errno(-errno, "starting %s", argv[0]);
	child->pid = fork();
	if (!child->pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		setpgid(0, 0);
		dup2(to[0], STDIN_FILENO);
		dup2(said_fd == STDOUT_FILENO ? from[1] : null, STDOUT_FILENO);
		if (said_fd == STDERR_FILENO)
			dup2(from[1], STDERR_FILENO);
		execv(argv[0], argv);
		_exit(127);
	}
	close(null);
	close(to[0]);
	close(from[1]);
	child->to_fd = to[1];
	child->from_fd = from[0];
	fcntl(child->from_fd, F_SETFL, O_NONBLOCK);
	return 0;
}

/* Reads the child's output so far. Returns true if it has the word. */
static bool has_said(struct child *child, const char *word)
{
	size_t room = sizeof(child->said) - 1 - child->n_said;
	ssize_t n = room ? read(child->from_fd, child->said + child->n_said, room) : 0;

	if (n > 0)
		child->n_said += (size_t)n;
	return strstr(child->said, word);
}

static int wait_for_word(struct child *child, const char *word, uint64_t limit_ns)
{
	uint64_t end_ns = clock_now_ns() + limit_ns;

	while (!has_said(child, word)) {
		if (child_has_ended(child->pid) || clock_now_ns() > end_ns)
			return msg_error("the workload did not say %s", word);
		usleep(POLL_US);
	}
	return 0;
}

static void let_go(struct child *work)
{
	if (write(work->to_fd, "x", 1) != 1)
		msg_errno(-errno, "starting the work");
}

static void stop_work(struct child *work)
{
	close(work->to_fd);
	waitpid(work->pid, NULL, 0);
}

/* ---- what /proc says of the tool ---- */

static double read_number(const char *text, const char *word)
{
	const char *at = strstr(text, word);

	return at ? (double)strtoull(at + strlen(word), NULL, 10) : 0;
}

/* A map that has several descriptors counts once. */
static bool is_new(unsigned int id, unsigned int *ids, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		if (ids[i] == id)
			return false;
	if (*n < MAX_MAPS)
		ids[(*n)++] = id;
	return true;
}

static double read_maps_mb(pid_t pid)
{
	char path[300], *text;
	unsigned int ids[MAX_MAPS];
	struct dirent *entry;
	double bytes = 0;
	size_t n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", pid, entry->d_name);
		text = isdigit((unsigned char)*entry->d_name) ? readfile(path, 4096, NULL) : NULL;
		if (text && strstr(text, "map_id:") &&
		    is_new((unsigned int)read_number(text, "map_id:"), ids, &n))
			bytes += read_number(text, "memlock:");
		free(text);
	}
	if (dir)
		closedir(dir);
	return bytes / (1 << 20);
}

/* Returns the resident MB of a process, without BPF maps that it has mapped; see proc(5), Pss. */
static double read_own_mb(pid_t pid)
{
	char path[64], *text, *rest;
	bool is_own = false;
	double kb = 0;

	snprintf(path, sizeof(path), "/proc/%d/smaps", pid);
	rest = text = readfile(path, SMAPS_MAX_BYTES, NULL);
	for (char *line; rest && (line = strsep(&rest, "\n"));)
		if (!isupper((unsigned char)*line))
			is_own = !strstr(line, "anon_inode:bpf");
		else if (is_own && !strncmp(line, "Pss:", 4))
			kb += read_number(line, "Pss:");
	free(text);
	return kb / 1024;
}

/* ---- the tool ---- */

/* When it said so; or, of a peer, which says nothing, when its busiest program ran. 0: not yet. */
static uint64_t find_attached(struct child *tool, struct programs *programs, bool is_peer)
{
	const struct program *program;

	if (!is_peer)
		return has_said(tool, ": tracing") ? clock_now_ns() : 0;
	programs_poll(programs);
	programs_find_owner(programs, tool->pid);
	program = programs_busiest(programs);
	return program ? program->first_run_ns : 0;
}

static int wait_until_attached(struct child *tool, struct programs *programs, bool is_peer,
			       struct figures *f)
{
	uint64_t start_ns = clock_now_ns(), attached_ns = 0;

	while (!attached_ns) {
		usleep(POLL_US);
		if (child_has_ended(tool->pid) || clock_now_ns() - start_ns > ATTACH_LIMIT_NS)
			return msg_error("the tool has not attached: %s", tool->said);
		attached_ns = find_attached(tool, programs, is_peer);
	}
	f->start_ms = (double)(attached_ns - start_ns) / 1e6;
	f->cpu_ms = (double)process_cpu_ns(tool->pid) / 1e6;
	return 0;
}

static void begin_window(struct programs *programs, pid_t pid, struct figures *f)
{
	usleep(200000); /* until it has come to rest */
	f->maps_mb = read_maps_mb(pid);
	f->own_mb = read_own_mb(pid);
	programs_poll(programs);
	programs_find_owner(programs, pid);
	programs_mark(programs);
	f->n_switches = -(double)machine_switches();
}

static void end_window(struct programs *programs, struct figures *f)
{
	double ns = 0;

	programs_mark(programs);
	f->n_switches += (double)machine_switches();
	for (int i = 0; i < programs->count; i++)
		if (programs->items[i].is_own)
			ns += (double)programs->items[i].window_ns;
	f->ns_by_switch = ns / f->n_switches;
}

static void end_tool(struct child *tool, struct figures *f)
{
	uint64_t begin_ns = clock_now_ns();

	f->own_end_mb = read_own_mb(tool->pid);
	kill(tool->pid, SIGINT);
	while (!child_has_ended(tool->pid)) {
		has_said(tool, "");
		usleep(POLL_US);
	}
	f->end_ms = (double)(clock_now_ns() - begin_ns) / 1e6;
	waitpid(tool->pid, NULL, 0);
}

static int measure(struct child *work, struct child *tool, char **tool_argv, bool goes_late,
		   bool is_peer, struct figures *f)
{
	struct programs programs;
	int err;

	programs_init(&programs);
	err = start(tool, tool_argv, STDERR_FILENO);
	if (err)
		return err;
	err = wait_until_attached(tool, &programs, is_peer, f);
	if (err)
		return err;
	begin_window(&programs, tool->pid, f);
	if (goes_late) {
		let_go(work);
		err = wait_for_word(work, "@done", WORK_LIMIT_NS);
	} else {
		usleep(WINDOW_NS / 1000);
	}
	end_window(&programs, f);
	end_tool(tool, f);
	programs_close(&programs);
	return err;
}

static int run(char **work_argv, char **tool_argv, bool goes_late, bool is_peer)
{
	static struct child work, tool;
	struct figures f = {};
	int err = start(&work, work_argv, STDOUT_FILENO);

	if (!err)
		err = wait_for_word(&work, "@ready", WORK_LIMIT_NS);
	if (err)
		return err;
	if (!goes_late)
		let_go(&work);
	err = measure(&work, &tool, tool_argv, goes_late, is_peer, &f);
	stop_work(&work);
	if (err)
		return err;
	printf("%.1f %.1f %.2f %.2f %.2f %.0f %.0f %.1f\n", f.start_ms, f.cpu_ms, f.maps_mb,
	       f.own_mb, f.own_end_mb, f.ns_by_switch, f.n_switches, f.end_ms);
	if (getenv("BESIDE_SAID"))
		fputs(tool.said, stderr);
	return 0;
}

int main(int argc, char **argv)
{
	bool goes_late = false, is_peer = false;
	char **tool_argv;
	int option, i, stats_fd;

	msg_set_name("beside");
	while ((option = getopt(argc, argv, "+wp")) != -1) {
		goes_late |= option == 'w';
		is_peer |= option == 'p';
	}
	for (i = optind; i < argc && strcmp(argv[i], "--"); i++)
		;
	if (i >= argc - 1 || i == optind)
		return msg_error("usage: beside [-w] [-p] WORKLOAD... -- TOOL..."), 2;
	argv[i] = NULL;
	tool_argv = argv + i + 1;
	signal(SIGPIPE, SIG_IGN);
	stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (stats_fd < 0)
		return msg_errno(-errno, "counting of the kernel"), 1;
	return run(argv + optind, tool_argv, goes_late, is_peer) ? 1 : 0;
}

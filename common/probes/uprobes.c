// SPDX-License-Identifier: GPL-2.0-only
/*
 * Attaches to user-space functions; see uprobes.h. Links are created with bpf(2) directly, since
 * libbpf 1.1 doesn't know the multi kind. Files are named by their descriptors (/proc/self/fd/N),
 * so that the kernel finds the exact file, even if it is deleted or in another mount namespace.
 *
 * Return probes are attached first and detached last, so that no entry is seen without its return.
 * So are brief programs, which see the ends of blocks: no beginning is seen without its end.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/array.h"
#include "base/limits.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/readfile.h"
#include "probes/uprobes.h"

/* Constants that may be newer than the headers (include/uapi/linux/bpf.h). */
#define TRACE_UPROBE_MULTI   48
#define TRACE_UPROBE_SESSION 57
#define UPROBE_MULTI_RETURN  (1u << 0)

#define UPROBE_TYPE_PATH "/sys/bus/event_source/devices/uprobe/type"
#define PERF_RETURN	 1 /* bit of attr.config for return probes: see format/retprobe */

/* The part of union bpf_attr for BPF_LINK_CREATE of a multi or session link. */
struct uprobe_multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t count, multi_flags, pid, padding;
};

/* The part of struct bpf_link_info for a multi or session link. */
struct uprobe_multi_info {
	uint32_t type, id, prog_id, padding;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t path_size, count, flags, pid;
};

/* One or several links to create, with the same program at all points. */
struct attachment {
	int prog_fd;
	pid_t pid;
	enum uprobes_mode mode;
	bool is_return;
};

struct uprobes {
	int *fds;
	size_t n, cap;

	/* the task to which the links are bound */
	pid_t pid; /* 0: none, all processes are probed */
	bool is_perf;
	int task_fd;	 /* perf: event that hangs up when its task exits; -1: none */
	void *task_page; /* perf: page of the event; MAP_FAILED: none */
};

struct path {
	char text[32];
};

static struct path path_of(int fd)
{
	struct path path;

	snprintf(path.text, sizeof(path.text), "/proc/self/fd/%d", fd);
	return path;
}

static uint32_t attach_type_of(enum uprobes_mode mode)
{
	return mode == UPROBES_SESSION ? TRACE_UPROBE_SESSION
	       : mode == UPROBES_MULTI ? TRACE_UPROBE_MULTI
				       : 0;
}

/* ---- links ---- */

/* Creates one link for n points of a file. Returns its descriptor or -errno. */
static int link_multi(const struct attachment *at, const struct uprobe_point *points, size_t n)
{
	struct path path = path_of(points->fd);
	uint64_t *numbers = mem_zalloc(2 * n, sizeof(*numbers));
	struct uprobe_multi_attr attr = {
		.prog_fd = (uint32_t)at->prog_fd,
		.attach_type = attach_type_of(at->mode),
		.path = (uintptr_t)path.text,
		.offsets = (uintptr_t)numbers,
		.cookies = (uintptr_t)(numbers + n),
		.count = (uint32_t)n,
		.multi_flags = at->is_return ? UPROBE_MULTI_RETURN : 0,
		.pid = (uint32_t)at->pid,
	};
	int fd;

	for (size_t i = 0; i < n; i++) {
		numbers[i] = points[i].offset;
		numbers[n + i] = points[i].cookie;
	}
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));
	fd = fd < 0 ? -errno : fd;
	free(numbers);
	return fd;
}

static int read_type(void)
{
	char *text = readfile(UPROBE_TYPE_PATH, 64, NULL);
	int type = text ? atoi(text) : -errno;

	free(text);
	return type;
}

static int open_event(const struct attachment *at, const struct uprobe_point *point)
{
	struct path path = path_of(point->fd);
	int type = read_type(), fd;
	struct perf_event_attr attr = {
		.type = (uint32_t)type,
		.size = sizeof(attr),
		.config = at->is_return ? PERF_RETURN : 0,
		.uprobe_path = (uintptr_t)path.text,
		.probe_offset = point->offset,
	};

	if (type < 0)
		return type;
	fd = (int)syscall(SYS_perf_event_open, &attr, at->pid ? at->pid : -1, at->pid ? -1 : 0, -1,
			  PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* Creates a link, which holds a reference to the event. */
static int link_perf(const struct attachment *at, const struct uprobe_point *point)
{
	LIBBPF_OPTS(bpf_link_create_opts, how, .perf_event.bpf_cookie = point->cookie);
	int event_fd = open_event(at, point), fd;

	if (event_fd < 0)
		return event_fd;
	fd = bpf_link_create(at->prog_fd, event_fd, BPF_PERF_EVENT, &how);
	fd = fd < 0 ? -errno : fd;
	close(event_fd);
	return fd;
}

static int link_points(const struct attachment *at, const struct uprobe_point *points, size_t n)
{
	return at->mode == UPROBES_PERF ? link_perf(at, points) : link_multi(at, points, n);
}

/* ---- kernel support ---- */

static int load_nothing(enum uprobes_mode mode)
{
	static const struct bpf_insn nothing[] = {
		{ .code = 0xb7 }, /* r0 = 0 */
		{ .code = 0x95 }, /* exit */
	};
	LIBBPF_OPTS(bpf_prog_load_opts, how, .expected_attach_type = attach_type_of(mode));
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "tracelets_check", "GPL", nothing,
			       ARRAY_SIZE(nothing), &how);

	return fd < 0 ? -errno : fd;
}

/* Attaches a program to a file that no process executes. */
static int link_nothing(enum uprobes_mode mode, int prog_fd)
{
	struct attachment at = { .prog_fd = prog_fd, .mode = mode };
	struct uprobe_point point = { .fd = memfd_create("tracelets_check", MFD_CLOEXEC) };
	static const char text[16];
	int fd;

	if (point.fd < 0)
		return -errno;
	point.cookie = 1; /* tests that the kernel accepts cookies */
	fd = write(point.fd, text, sizeof(text)) < 0 ? -errno : link_points(&at, &point, 1);
	close(point.fd);
	return fd;
}

int uprobes_try(enum uprobes_mode mode)
{
	int prog_fd = load_nothing(mode), fd;

	if (prog_fd < 0)
		return prog_fd;
	fd = link_nothing(mode, prog_fd);
	close(prog_fd);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* ---- programs ---- */

static void prepare_program(struct bpf_program *prog, enum uprobes_mode mode, bool is_needed)
{
	if (!prog)
		return;
	bpf_program__set_autoattach(prog, false);
	bpf_program__set_autoload(prog, is_needed);
	bpf_program__set_expected_attach_type(prog, (enum bpf_attach_type)attach_type_of(mode));
}

static void set_mode(struct uprobes_programs *programs, enum uprobes_mode mode)
{
	bool is_session = mode == UPROBES_SESSION;

	programs->mode = mode;
	prepare_program(programs->session, mode, is_session);
	prepare_program(programs->entry, mode, !is_session);
	prepare_program(programs->ret, mode, !is_session);
	prepare_program(programs->brief, is_session ? UPROBES_MULTI : mode, true);
	msg_debug("uprobes: attached with %s", uprobes_mode_name(mode));
}

int uprobes_prepare_mode(struct uprobes_programs *programs, enum uprobes_mode mode)
{
	int err = mode == UPROBES_SESSION && !programs->session ? -EINVAL : uprobes_try(mode);

	if (!err)
		set_mode(programs, mode);
	return err;
}

/* Returns false for kernels before 6.10: they run multi probes in a process's main thread only. */
static bool multi_sees_threads(void)
{
	unsigned int major = 0, minor = 0;
	struct utsname kernel;

	if (uname(&kernel) || sscanf(kernel.release, "%u.%u", &major, &minor) != 2)
		return false;
	return major > 6 || (major == 6 && minor >= 10);
}

int uprobes_prepare(struct uprobes_programs *programs)
{
	int err = 0;

	for (enum uprobes_mode mode = UPROBES_SESSION; mode <= UPROBES_PERF; mode++) {
		if (mode == UPROBES_MULTI && !multi_sees_threads())
			continue;
		err = uprobes_prepare_mode(programs, mode);
		if (!err)
			return 0;
		msg_debug("%s: %s", uprobes_mode_name(mode), strerror(-err));
		if (limit_is_reached(err))
			break;
	}
	if (err == -EPERM || err == -EACCES || limit_is_reached(err))
		return msg_errno(err, "uprobes: attach failed");
	msg_error("uprobes: the kernel has no uprobe cookies (needs Linux 5.15)");
	return -ENOTSUP;
}

/* ---- the task to which links are bound ---- */

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Opens an event that counts nothing. poll(2) always reports a hang-up without its page. */
static void open_task(struct uprobes *uprobes)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, uprobes->pid, -1, -1,
			      PERF_FLAG_FD_CLOEXEC);

	uprobes->task_fd = fd;
	if (fd >= 0)
		uprobes->task_page = mmap(NULL, page_bytes(), PROT_READ, MAP_SHARED, fd, 0);
}

static void close_task(const struct uprobes *uprobes)
{
	if (uprobes->task_fd < 0)
		return;
	if (uprobes->task_page != MAP_FAILED)
		munmap(uprobes->task_page, page_bytes());
	close(uprobes->task_fd);
}

/*
 * After the exec the old main thread has pid 0 or, for a moment, the former id of the thread that
 * has called exec. Without an answer of the kernel, nothing is lost.
 */
bool uprobes_are_bound(const struct uprobes *uprobes)
{
	struct pollfd task = { .fd = uprobes->task_fd };
	struct uprobe_multi_info info = {};
	uint32_t bytes = sizeof(info);

	if (!uprobes->pid)
		return true;
	if (uprobes->is_perf)
		return uprobes->task_page == MAP_FAILED || !poll(&task, 1, 0);
	return bpf_obj_get_info_by_fd(uprobes->fds[0], &info, &bytes) || bytes < sizeof(info) ||
	       info.pid == (uint32_t)uprobes->pid;
}

/* ---- attaching ---- */

static void keep_link(struct uprobes *uprobes, int fd)
{
	*MEM_APPEND(uprobes->fds, uprobes->n, uprobes->cap) = fd;
}

static void drop_links(struct uprobes *uprobes, size_t kept)
{
	while (uprobes->n > kept)
		close(uprobes->fds[--uprobes->n]);
}

static int add_link(struct uprobes *uprobes, const struct attachment *at,
		    const struct uprobe_point *points, size_t n)
{
	int fd = n ? link_points(at, points, n) : 0;

	if (fd < 0)
		return fd;
	if (n)
		keep_link(uprobes, fd);
	return 0;
}

/* Links the points for which is_one is true; is_one NULL: all points. */
static int add_some(struct uprobes *uprobes, const struct attachment *at,
		    const struct uprobe_point *points, size_t n,
		    bool (*is_one)(const struct uprobe_point *point))
{
	struct uprobe_point *some = mem_zalloc(n, sizeof(*some));
	size_t n_some = 0;
	int err;

	for (size_t i = 0; i < n; i++)
		if (!is_one || is_one(&points[i]))
			some[n_some++] = points[i];
	err = add_link(uprobes, at, some, n_some);
	free(some);
	return err;
}

static bool wants_return(const struct uprobe_point *point)
{
	return point->wants_return;
}

static bool is_brief(const struct uprobe_point *point)
{
	return point->is_brief;
}

static bool is_not_brief(const struct uprobe_point *point)
{
	return !point->is_brief;
}

/* Returns the program's descriptor; -1: not loaded, since no point needs it. */
static int fd_of(const struct bpf_program *prog)
{
	return prog ? bpf_program__fd(prog) : -1;
}

static int add_brief(struct uprobes *uprobes, const struct uprobes_programs *programs, pid_t pid,
		     const struct uprobe_point *points, size_t n)
{
	struct attachment at = { .prog_fd = fd_of(programs->brief), .pid = pid };

	at.mode = programs->mode == UPROBES_SESSION ? UPROBES_MULTI : programs->mode;
	return programs->brief ? add_some(uprobes, &at, points, n, is_brief) : 0;
}

static int add_returns(struct uprobes *uprobes, const struct uprobes_programs *programs, pid_t pid,
		       const struct uprobe_point *points, size_t n)
{
	struct attachment at = { .prog_fd = fd_of(programs->ret),
				 .pid = pid,
				 .mode = programs->mode,
				 .is_return = true };

	return programs->mode == UPROBES_SESSION ? 0
						 : add_some(uprobes, &at, points, n, wants_return);
}

static int add_entries(struct uprobes *uprobes, const struct uprobes_programs *programs, pid_t pid,
		       const struct uprobe_point *points, size_t n)
{
	bool is_session = programs->mode == UPROBES_SESSION;
	struct attachment at = { .prog_fd = fd_of(is_session ? programs->session : programs->entry),
				 .pid = pid,
				 .mode = programs->mode };

	return add_some(uprobes, &at, points, n, programs->brief ? is_not_brief : NULL);
}

/* Attaches all n points or none. */
static int add_points(struct uprobes *uprobes, const struct uprobes_programs *programs, pid_t pid,
		      const struct uprobe_point *points, size_t n)
{
	size_t kept = uprobes->n;
	int err = add_brief(uprobes, programs, pid, points, n);

	if (!err)
		err = add_returns(uprobes, programs, pid, points, n);
	if (!err)
		err = add_entries(uprobes, programs, pid, points, n);
	if (err)
		drop_links(uprobes, kept);
	return err;
}

/* Attaches points with shared links; if that fails, each alone, to find the points that fail. */
static void add_file(struct uprobes *uprobes, const struct uprobes_programs *programs, pid_t pid,
		     struct uprobe_point *points, size_t n)
{
	if (programs->mode != UPROBES_PERF && !add_points(uprobes, programs, pid, points, n)) {
		for (size_t i = 0; i < n; i++)
			points[i].err = 0;
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (points[i].is_brief)
			points[i].err = add_points(uprobes, programs, pid, &points[i], 1);
	for (size_t i = 0; i < n; i++)
		if (!points[i].is_brief)
			points[i].err = add_points(uprobes, programs, pid, &points[i], 1);
}

static size_t count_in_file(const struct uprobe_point *points, size_t n)
{
	size_t count = 1;

	while (count < n && points[count].fd == points->fd)
		count++;
	return count;
}

struct uprobes *uprobes_attach(const struct uprobes_programs *programs, pid_t pid,
			       struct uprobe_point *points, size_t n)
{
	struct uprobes *uprobes = mem_zalloc(1, sizeof(*uprobes));

	uprobes->pid = pid;
	uprobes->task_fd = -1;
	uprobes->task_page = MAP_FAILED;
	uprobes->is_perf = programs->mode == UPROBES_PERF;
	if (uprobes->is_perf && pid)
		open_task(uprobes);
	for (size_t i = 0, count; i < n; i += count) {
		count = count_in_file(points + i, n - i);
		add_file(uprobes, programs, pid, points + i, count);
	}
	if (uprobes->n)
		return uprobes;
	uprobes_detach(uprobes);
	errno = n ? -points[0].err : ENOENT;
	return NULL;
}

void uprobes_detach(struct uprobes *uprobes)
{
	if (!uprobes)
		return;
	drop_links(uprobes, 0);
	close_task(uprobes);
	free(uprobes->fds);
	free(uprobes);
}

bool uprobes_detach_one(struct uprobes *uprobes)
{
	if (uprobes->n > 1) {
		drop_links(uprobes, uprobes->n - 1);
		return true;
	}
	uprobes_detach(uprobes);
	return false;
}

const char *uprobes_mode_name(enum uprobes_mode mode)
{
	static const char *const names[] = {
		[UPROBES_SESSION] = "uprobe.session",
		[UPROBES_MULTI] = "uprobe.multi",
		[UPROBES_PERF] = "uprobe",
	};

	return names[mode];
}

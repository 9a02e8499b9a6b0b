// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of functions, live: the same program mapped in every way that there is, and stripped with
 * its symbols elsewhere. A name has to be right, and where the right one can't be had, absent.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#include "elf/elffile.h"
#include "live.h"
#include "symbols/elfsyms.h"

#define CHAIN                                                                               \
	"main;names_outer;work::Tracer::enter(long);work::tracer::spin;work::legacy::leaf;" \
	"names_far"
#define MANGLED                                                              \
	"main;names_outer;_ZN4work6Tracer5enterEl;_RNvNtC4work6tracer4spin;" \
	"_ZN4work6legacy4leaf17h0123456789abcdefE;names_far"
#define FREQUENCY "199"
#define MS	  "500"

static struct proc *trace(struct proc *work, const char *option)
{
	return trace_pid(work, "profile", "-U", "-F", FREQUENCY, option);
}

/* Nearly all of the time is spent in a stack with these frames. */
static void check_frames(const struct proc *tool, const char *comm, const char *frames)
{
	check_through(tool, comm, frames, 100);
}

/* Returns the total of the folded lines that begin so. */
static uint64_t sum_of_lines(const char *text, const char *start)
{
	const char *line;
	uint64_t sum = 0;

	while ((line = line_with(&text, start, "")))
		if (!strncmp(line, start, strlen(start)))
			sum += strtoull(strrchr(line, ' '), NULL, 10);
	return sum;
}

/* No name of the program's own functions, but the file's name. */
static void check_absent(const struct proc *tool, const char *file)
{
	CHECK(folded_sum(tool->out, "names", NULL) > 0);
	CHECK_EQ(folded_count(tool->out, "names", "names_far"), 0);
	CHECK_EQ(lines_with(tool->out, ";other_"), 0);
	CHECK_EQ(folded_count(tool->out, "names", "main"), 0);
	CHECK(sum_of_lines(tool->out, text_of("names;[%s+0x", file)) * 10 >=
	      folded_sum(tool->out, "names", NULL) * 9);
}

static struct proc *trace_program(const char *name)
{
	return trace(work_start(name, MS), "--unwind=auto");
}

/* Traces a copy of "names". */
static struct proc *trace_file(const char *path, const char *option)
{
	return trace(work_start_in(NULL, NULL, path, ARGV("names", MS)), option);
}

TEST(names_stay_mangled_if_asked)
{
	check_frames(trace(work_start("names", MS), "--no-demangle"), "names", MANGLED);
}

#define NAMES_TEST(id, program)                                       \
	TEST(id)                                                      \
	{                                                             \
		check_frames(trace_program(program), "names", CHAIN); \
	}

NAMES_TEST(names_are_demangled, "names")
NAMES_TEST(a_static_position_independent_program_has_names, "names_static")

/* Its code is in two segments, each at another distance from its place in the file. */
NAMES_TEST(a_program_at_fixed_addresses_in_several_segments_has_names, "names_exec")
NAMES_TEST(a_stripped_program_has_the_names_of_its_debug_file, "names_stripped")
NAMES_TEST(a_program_with_packed_symbols_has_names, "names_mini")

/* A debug file of the right name, with functions at nearly the same addresses, is not enough. */
TEST(a_debug_file_of_another_build_is_not_used)
{
	const char *folder = folder_make(), *path = text_of("%s/names", folder);

	CHECK(file_copy(work_path("names_stripped"), path));
	CHECK(file_copy(work_path("other.debug"), text_of("%s/names.debug", folder)));
	check_absent(trace_file(path, "--unwind=auto"), "names");
}

/* ---- addresses instead of names ---- */

/* The frames of the hottest line, each "[names+0xADDRESS]" with the name that another file has. */
static const char *name_addresses(const char *folded, const char *unstripped)
{
	static const char mark[] = "[names+0x";
	int fd = open(unstripped, O_RDONLY | O_CLOEXEC);
	struct elfsyms *syms = elfsyms_load(fd, NULL);
	const char *names = "", *line = folded_find(folded, "names", NULL);

	CHECK(syms != NULL);
	for (const char *at = strstr(line, mark); syms && at; at = strstr(at, mark)) {
		at += strlen(mark);
		names = text_of("%s;%s", names, elfsyms_find(syms, strtoull(at, NULL, 16), NULL));
	}
	elfsyms_free(syms);
	close(fd);
	return names;
}

/* In JSON each such name has the same address beside it. */
static void check_offsets(const char *json)
{
	static const char mark[] = "[names+0x", key[] = "\"offset\":";
	int n = 0;

	for (const char *at = strstr(json, mark); at; at = strstr(at, mark), n++) {
		uint64_t address = strtoull(at += strlen(mark), NULL, 16);
		const char *offset = strstr(at, key);

		CHECK_EQ(offset ? strtoull(offset + strlen(key), NULL, 10) : 0, address);
	}
	CHECK(n > 0);
}

/* Stripped, and its debug file isn't near. */
static void check_addresses(const char *name)
{
	const char *path = text_of("%s/names", folder_make());

	CHECK(file_copy(work_path(text_of("%s_stripped", name)), path));
	CHECK_HAS(name_addresses(trace_file(path, "--format=folded")->out, work_path(name)),
		  MANGLED);
	check_offsets(trace_file(path, "--format=json")->out);
}

TEST(places_without_a_name_are_addresses_of_the_elf_file)
{
	check_addresses("names_static");
	check_addresses("names_fixed"); /* at fixed addresses */
	check_addresses("names_exec");	/* in several segments */
}

/* A pipe in its place would block whoever opened it. */
TEST(a_debug_file_that_is_a_pipe_is_not_opened)
{
	const char *folder = folder_make(), *path = text_of("%s/names", folder);

	CHECK(file_copy(work_path("names_stripped"), path));
	CHECK_EQ(mkfifo(text_of("%s/names.debug", folder), 0600), 0);
	check_absent(trace_file(path, "--unwind=auto"), "names");
}

/* ---- other roots ---- */

/* Returns the path of a file's debug file below a folder of build ids: "xx/yyyy.debug". */
static const char *build_id_path(const char *file)
{
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	uint8_t id[ELFFILE_BUILD_ID_MAX];
	const char *hex = "";
	struct elffile f;

	CHECK_EQ(elffile_open(&f, fd), 0);
	for (size_t i = 0, n = elffile_build_id(&f, id); i < n; i++)
		hex = text_of("%s%02x%s", hex, id[i], i ? "" : "/");
	elffile_close(&f);
	close(fd);
	return text_of("%s.debug", hex);
}

/* A root of its own: a program, and its debug file at some place. */
struct container {
	const char *root;
	const char *debug_to; /* "": nowhere */
	const char *link_to;  /* what /usr/lib/debug is a link to; NULL: it is a folder */
};

static bool make_folders(const char *path)
{
	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/'))
		mkdir(text_of("%.*s", (int)(slash - path), path), 0755);
	return true;
}

static bool enter_container(void *arg)
{
	const struct container *c = arg;
	const char *program = text_of("%s/names", c->root);
	const char *debug = text_of("%s%s", c->root, c->debug_to);
	const char *place = text_of("%s/usr/lib/debug", c->root);

	return enter_mount_namespace() && !mount("none", c->root, "tmpfs", 0, NULL) &&
	       file_copy(work_path("names_static_stripped"), program) && make_folders(place) &&
	       (!c->link_to || !symlink(c->link_to, place)) && make_folders(debug) &&
	       (!*c->debug_to || file_copy(work_path("names_static.debug"), debug)) &&
	       !chroot(c->root) && !chdir("/");
}

static struct proc *trace_in_container(struct container *c)
{
	return trace(work_start_in(enter_container, c, "/names", ARGV("names", MS)),
		     "--unwind=auto");
}

TEST(a_container_has_its_own_debug_files_by_build_id_and_name)
{
	const char *id_path = build_id_path(work_path("names_static"));
	const char *const names[] = { text_of(".build-id/%s", id_path), "names_static.debug" };

	for (size_t i = 0; i < 2; i++) {
		struct container c = { .root = folder_make(),
				       .debug_to = text_of("/usr/lib/debug/%s", names[i]) };

		check_frames(trace_in_container(&c), "names", CHAIN);
	}
}

/* The right file is there, but outside: what a link in the container must not lead to. */
TEST(a_link_does_not_lead_out_of_the_container)
{
	const char *outside = folder_make();
	struct container c = { .root = folder_make(), .debug_to = "", .link_to = outside };

	CHECK(file_copy(work_path("names_static.debug"),
			text_of("%s/names_static.debug", outside)));
	check_absent(trace_in_container(&c), "names");
}

/* ---- servers ---- */

#define SERVER_LIMIT_MS 60000

/* A debuginfod server that accepts connections and never answers. */
struct deaf_server {
	int fd;
	const char *url, *cache;
};

static bool open_deaf_server(struct deaf_server *server)
{
	struct sockaddr_in addr = { AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(addr);

	server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	server->cache = folder_make();
	if (bind(server->fd, (struct sockaddr *)&addr, size) || listen(server->fd, 16) ||
	    getsockname(server->fd, (struct sockaddr *)&addr, &size))
		return false;
	server->url = text_of("http://127.0.0.1:%d", ntohs(addr.sin_port));
	return true;
}

static bool ask_server(void *arg)
{
	const struct deaf_server *server = arg;

	return !setenv("DEBUGINFOD_URLS", server->url, 1) && !setenv("no_proxy", "127.0.0.1", 1) &&
	       !setenv("DEBUGINFOD_CACHE_PATH", server->cache, 1);
}

static int count_questions(const struct deaf_server *server)
{
	struct pollfd pollfd = { server->fd, POLLIN };
	int n = 0;

	for (; poll(&pollfd, 1, 0) == 1; n++)
		close(accept(server->fd, NULL, NULL));
	return n;
}

static bool was_asked(const struct deaf_server *server)
{
	struct pollfd pollfd = { server->fd, POLLIN };

	return poll(&pollfd, 1, SERVER_LIMIT_MS) == 1;
}

static const char *debuginfod_lacks(void)
{
	return library_path("libdebuginfod.so.1") ? NULL : "there is no libdebuginfod";
}

/* Two programs whose symbols are nowhere, under a tool that asks a server for them, opened here. */
static struct proc *trace_unknown(struct deaf_server *server)
{
	const char *folder = folder_make(), *path = text_of("%s/one", folder);
	const char *other = text_of("%s/other", folder);
	struct proc *works[2], *tool;

	CHECK(open_deaf_server(server));
	CHECK(file_copy(work_path("names_static_stripped"), path));
	CHECK(file_copy(work_path("names_fixed_stripped"), other));
	works[0] = work_start_in(NULL, NULL, path, ARGV("names", MS));
	works[1] = work_start_in(NULL, NULL, other, ARGV("names", MS));
	tool = tool_launch_in(ask_server, server,
			      ARGV("profile", "-U", "-F", FREQUENCY, "-p",
				   text_of("%d,%d", works[0]->pid, works[1]->pid)));
	CHECK(proc_wait_for(tool, "tracing..."));
	work_go(works[0]);
	work_do(works[1]);
	work_wait_done(works[0]);
	return tool;
}

/* Its library would wait for 90 s for each file. */
TEST_UNLESS(debuginfod_lacks, a_debuginfod_server_that_never_answers_is_asked_once)
{
	struct deaf_server server;
	struct proc *tool = trace_unknown(&server);

	tool_stop(tool);
	CHECK_EQ(lines_with(tool->err, "debuginfod: Connection timed out"), 1);
	CHECK(folded_sum(tool->out, "names", NULL) > 0);
	CHECK_EQ(count_questions(&server), 1);
	close(server.fd);
}

/* The first signal ends the tracing, and the second one the waiting for names. */
TEST_UNLESS(debuginfod_lacks, a_signal_ends_the_waiting_for_a_debuginfod_server)
{
	struct deaf_server server;
	struct proc *tool = trace_unknown(&server);

	proc_signal(tool, SIGTERM);
	CHECK(was_asked(&server)); /* so the first has been taken */
	proc_signal(tool, SIGINT);
	tool_finish(tool);
	CHECK_LACKS(tool->err, "debuginfod");
	CHECK(folded_sum(tool->out, "names", NULL) > 0);
	close(server.fd);
}

/* ---- other files ---- */

/* The file of a new version has taken the path of the one that is mapped. */
TEST(an_upgraded_library_keeps_its_names)
{
	const char *folder = folder_make(), *path = text_of("%s/libcopy", folder);
	const char *upgrade = text_of("%s/upgrade", folder);
	struct proc *work, *tool;

	CHECK(file_copy(work_path("framed"), path));
	CHECK(file_copy(work_path("other"), upgrade));
	work = work_start("framed", "mapped", MS, path);
	CHECK_EQ(rename(upgrade, path), 0);
	tool = trace(work, "--unwind=auto");
	check_frames(tool, "framed", "stay_in_copy;framed_mapped;framed_outer");
	CHECK_EQ(lines_with(tool->out, ";other_"), 0);
}

/* ---- memory ---- */

/* Three programs and libc, of which only one's symbols are there at a time. */
TEST(names_are_right_with_little_memory)
{
	struct proc *a = work_start("names_static", MS), *b = work_start("names_exec", MS);
	struct proc *c = work_start("nofp", "spin", MS);
	const char *pids = text_of("%d,%d,%d", a->pid, b->pid, c->pid);
	struct proc *tool =
		tool_start("profile", "-U", "-F", FREQUENCY, "--symbols-mem", "1", "-p", pids);

	work_go(a);
	work_go(b);
	work_do(c);
	work_wait_done(a);
	work_wait_done(b);
	tool_stop(tool);
	check_frames(tool, "names", CHAIN);
	check_frames(tool, "nofp", "nofp_outer;nofp_middle;nofp_leaf");
	CHECK_HAS(tool->err, "symbol tables: ");
	CHECK_LACKS(tool->err, "dropped 0 times");
}

/* ---- signals ---- */

/*
 * The interrupted instruction is its function's first: the byte before it is another function's.
 */
#define TRAPPED "main;trap_outer;trap_here;"
#if defined(__x86_64__)
#define TRAMPOLINE "__restore_rt;"
#else
#define TRAMPOLINE "__kernel_rt_sigreturn;"
#endif

TEST(functions_on_either_side_of_a_signal_have_their_own_names)
{
	struct proc *tool = trace(work_start("trap-static", MS), "--unwind=auto");

	check_frames(tool, "trap", TRAPPED TRAMPOLINE "on_trap;trap_stay");
}

TEST(a_thread_that_waits_in_a_handler_has_those_names_too)
{
	struct proc *work = work_start("trap-static", "0");
	struct proc *tool = tool_run_on(work, "offcputime", "-U", "300ms");

	check_frames(tool, "trap", TRAPPED TRAMPOLINE "on_trap;trap_stay;work_wait_go");
}

/* ---- files with exported symbols only ---- */

/* musl's functions in assembly have no sizes, and are not the only functions there. */
TEST(hidden_functions_have_no_names_of_exported_ones)
{
	struct proc *work, *tool;

	NEED_FILE(work_path("trap-musl"), "musl-tools");
	work = work_start("trap-musl", "0");
	tool = tool_run_on(work, "offcputime", "-U", "300ms");
	CHECK(folded_sum(tool->out, "trap", NULL) > 0);
	CHECK_EQ(folded_count(tool->out, "trap", "memset"), 0);
	CHECK_EQ(folded_count(tool->out, "trap", "setjmp"), 0);
}

/* ---- source lines ---- */

/* The leaf's lines share the samples as the compiler and the CPU like. */
static void check_inlined(const char *program)
{
	struct proc *tool = trace(work_start(program, MS), "--lines");

	check_frames(
		tool, program,
		"main (inlined.c:32);inlined_outer (inlined.c:25);inlined_middle (inlined.c:19)");
	CHECK_HAS(tool->out, ";inlined_leaf (inlined.c:13)");
}

TEST(inlined_functions_are_frames_with_their_lines)
{
	check_inlined("inlined");
	CHECK_LACKS(trace(work_start("inlined", MS), "-f")->out, "inlined_leaf");
}

/* Link-time optimisation: what the functions are copies of is in another unit. */
TEST(functions_inlined_from_other_units_are_frames)
{
	check_inlined("inlined_lto");
}

/* By the name that .gnu_debugaltlink has, in the program's folder. */
TEST(dwarf_that_is_shared_between_files_is_read)
{
	NEED_FILE(work_path("inlined_shared"), "dwz");
	CHECK_HAS(trace(work_start("inlined_shared", MS), "--lines")->out,
		  ";inlined_leaf (inlined.c:13)");
}

TEST(inlined_functions_in_split_dwarf_are_reported_as_missing)
{
	struct proc *tool = trace(work_start("inlined_split", MS), "--lines");

	CHECK_HAS(tool->err, "inlined_split: no inlined functions: split DWARF (.dwo, .dwp) is "
			     "not read");
	CHECK_HAS(tool->out, ";inlined_outer (inlined.c:13)");
}

/* ---- code made at run time ---- */

#define REFUSED	 "perf map ignored: not a regular file"
#define JIT_NAME "Ljava/util/HashMap\\x3b::resize(I)[B interpreted"

static struct proc *trace_jit(const char *style)
{
	struct proc *work = work_start("jit", style);
	struct proc *tool = tool_run_on(work, "offcputime", "-U", "300ms");

	CHECK_EQ(unlink(text_of("/tmp/perf-%d.map", work->pid)), 0);
	return tool;
}

TEST(code_made_at_run_time_has_the_names_of_its_perf_map)
{
	static const char *const styles[] = { "java", "0x", "late", "twice" };

	for (size_t i = 0; i < sizeof(styles) / sizeof(*styles); i++) {
		struct proc *tool = trace_jit(styles[i]);

		CHECK_EQ(folded_count(tool->out, "jit", "main;" JIT_NAME ";jit_wait"), 1);
	}
}

#ifdef __x86_64__

/* Walked by the loader, which finds the thread blocked, and by BPF, when it sleeps once more. */
TEST(code_that_gives_its_stack_back_behind_the_call_hides_no_caller)
{
	struct proc *work = work_start("jit", "stub");
	struct proc *tool = tool_start_on(work, "offcputime", "-U");

	work_go(work);
	CHECK_EQ(proc_finish(work), 0);
	tool_stop(tool);
	CHECK_EQ(unlink(text_of("/tmp/perf-%d.map", work->pid)), 0);
	CHECK(folded_count(tool->out, "jit", "main;" JIT_NAME ";jit_wait") >= 2);
}

#endif

/* ---- a perf map in a container ---- */

/* A root and pids of its own: the program is pid 1, and ends with its parent. */
static bool enter_jit_container(void *root)
{
	pid_t pid;
	int status;

	if (!enter_mount_namespace() || mount("none", root, "tmpfs", 0, NULL) ||
	    !file_copy(work_path("jit-static"), text_of("%s/jit", (char *)root)) ||
	    mkdir(text_of("%s/tmp", (char *)root), 0777) || unshare(CLONE_NEWPID))
		return false;
	pid = fork();
	if (pid > 0) {
		dprintf(STDOUT_FILENO, "@container child %d\n", pid);
		waitpid(pid, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 98);
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid == 0 && !chroot(root) && !chdir("/");
}

struct jit_container {
	struct proc *work;
	pid_t pid;	 /* the program's, as seen from here */
	const char *map; /* its perf map, as seen from here */
};

static struct jit_container start_jit_container(const char *style)
{
	struct jit_container c = { work_start_in(enter_jit_container, (void *)folder_make(), "/jit",
						 ARGV("jit", style)),
				   0, NULL };

	CHECK(proc_wait_for(c.work, "@container child "));
	c.pid = (pid_t)work_value(c.work->out, "container", "child");
	CHECK(c.pid > 0);
	c.map = text_of("/proc/%d/root/tmp/perf-1.map", c.pid);
	return c;
}

static struct proc *trace_jit_container(const struct jit_container *c)
{
	return tool_run("offcputime", "-U", "-p", pid_text(c->pid), "300ms");
}

TEST(a_container_has_its_own_perf_map)
{
	struct jit_container c = start_jit_container("java");
	struct proc *tool = trace_jit_container(&c);

	CHECK_EQ(folded_count(tool->out, "jit", "main;" JIT_NAME ";jit_wait"), 1);
	CHECK_EQ(lines_with(tool->err, REFUSED), 0);
}

/* It would name all code. */
static bool write_map(const char *path, uid_t owner)
{
	FILE *f = fopen(path, "we");

	if (!f)
		return false;
	fputs("1000 7ffffffff000 leaked\n", f);
	return !fclose(f) && !chown(path, owner, owner);
}

/* A link, or a file of that kind. */
struct bad_map {
	const char *name, *link;
	mode_t mode;
	uid_t owner;
	off_t bytes;
};

static bool make_bad_map(const struct bad_map *map, const char *path)
{
	if (map->link)
		return !symlink(map->link, path);
	if (map->mode == S_IFDIR)
		return !mkdir(path, 0755);
	if (map->owner)
		return write_map(path, map->owner);
	return !mknod(path, map->mode | 0644, makedev(1, 5)) && /* /dev/zero */
	       (!map->bytes || !truncate(path, map->bytes));
}

TEST(a_perf_map_that_is_none_or_leads_out_of_its_container_is_refused)
{
	const char *good = text_of("%s/good.map", folder_make()); /* not in the container */
	const struct bad_map maps[] = {
		{ "a link out", good },
		{ "a relative link out", text_of("../../../../../../../..%s", good) },
		{ "a link by /proc", text_of("/proc/%d/root%s", getpid(), good) },
		{ "a link to a device", "/dev/zero" },
		{ "a pipe", .mode = S_IFIFO },
		{ "a device", .mode = S_IFCHR },
		{ "a folder", .mode = S_IFDIR },
		{ "another user's", .owner = 12345 },
		{ "a large file of zeros", .mode = S_IFREG, .bytes = 5LL << 30 },
	};

	CHECK(write_map(good, 0));
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++) {
		struct jit_container c = start_jit_container("silent");
		struct proc *tool;

		CHECK(make_bad_map(&maps[i], c.map));
		tool = trace_jit_container(&c);
		CHECK_LACKS(tool->out, "leaked");
		CHECK_CASE(maps[i].name, folded_count(tool->out, "jit", "main;[anon];jit_wait"), 1);
		CHECK_CASE(maps[i].name, lines_with(tool->err, REFUSED), !maps[i].bytes);
	}
}

TEST(a_program_with_a_hole_of_gigabytes_has_names)
{
	const char *path = text_of("%s/names", folder_make());

	CHECK(file_copy(work_path("names_static"), path));
	CHECK_EQ(truncate(path, 5LL << 30), 0);
	check_frames(trace_file(path, "--unwind=auto"), "names", CHAIN);
}

TEST(a_name_of_megabytes_is_left_out)
{
	struct proc *tool = trace_program("names_long");

	CHECK_EQ(lines_with(tool->out, ";xxx"), 0);
	CHECK_HAS(tool->out, "work::legacy::leaf;[names_long+0x");
}

/* ---- the kernel's ---- */

#define BUSY_ROUNDS 100000

/* A loop of BPF, run again and again: r0 counts to BUSY_ROUNDS. */
static int load_busy_program(void)
{
	static const struct bpf_insn insns[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 },
		{ .code = BPF_JMP | BPF_JLT | BPF_K,
		  .dst_reg = BPF_REG_0,
		  .off = -2,
		  .imm = BUSY_ROUNDS },
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};

	return bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "busy_other", "GPL", insns,
			     sizeof(insns) / sizeof(*insns), NULL);
}

static void run_busy_program(int fd)
{
	char packet[64] = {};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = packet, .data_size_in = sizeof(packet),
		    .repeat = 100);

	while (getppid() != 1)
		bpf_prog_test_run_opts(fd, &opts);
	_exit(0);
}

TEST(bpf_programs_of_others_have_names)
{
	int fd = load_busy_program(), status;
	pid_t parent = getpid(), pid;
	struct proc *tool;
	uint64_t ran_ns;

	CHECK(fd >= 0);
	pid = fork();
	if (!pid)
		run_busy_program(fd);
	tool = tool_start("profile", "-K", "-F", FREQUENCY, "-p", pid_text(pid));
	ran_ns = thread_cpu_ns(pid);
	while (thread_cpu_ns(pid) < ran_ns + 500000000)
		proc_linger(tool, 100);
	tool_stop(tool);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	close(fd);
	CHECK_EQ(getpid(), parent);
	CHECK(lines_with(tool->out, ";bpf_prog_") > 0);
	CHECK_HAS(tool->out, "_busy_other");
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The life of every tool: parse, open, configure, load, attach, announce, one loop over signals,
 * the clock, ring buffers and the command, then report and close. See tool.h.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "run/child.h"
#include "base/clock.h"
#include "run/footprint.h"
#include "run/kernelbtf.h"
#include "base/loop.h"
#include "run/loss.h"
#include "base/mem.h"
#include "base/msg.h"
#include "run/output.h"
#include "base/parse.h"
#include "run/tool.h"
#include "base/version.h"

enum exit_status {
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
};

/* What every skeleton begins with. */
struct skeleton_head {
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *obj;
};

static uint64_t duration_ns;
static uint32_t count;
static bool want_help, want_version;
static bool reader_is_gone;  /* of the output, a pipe */
static const char *btf_path; /* of another file than the kernel's own; NULL: that */
static struct run run;
static struct output output;
static struct child child = { .release_fd = -1 };

static const struct opt common_opts[] = {
	{ 0, "interval", "TIME", OPT_DURATION(&run.interval_ns, NS_PER_S), "report every TIME" },
	{ 0, "count", "N", OPT_UINT(&count, 1, UINT32_MAX), "end after N reports" },
	{ 0, "duration", "TIME", OPT_DURATION(&duration_ns, NS_PER_S), "end after TIME" },
	{ 0, "format", "FORMAT", OPT_STRING(&run.format),
	  "text or json; stacks also folded (default into a pipe or file), svg, pprof" },
	{ 0, "output", "FILE", OPT_STRING(&run.output_path), "write to FILE, not to stdout" },
	{ 0, "btf", "FILE", OPT_STRING(&btf_path),
	  "this kernel's types from FILE (also TRACELETS_BTF)" },
	{ 0, "quiet", NULL, OPT_FLAG(&msg_quiet), "print nothing but results, losses and errors" },
	{ 'v', "verbose", NULL, OPT_FLAG(&msg_verbose), "say more about what is being done" },
	{ 'h', "help", NULL, OPT_FLAG(&want_help), "print this help" },
	{ 'V', "version", NULL, OPT_FLAG(&want_version), "print the version" },
	{},
};

#define for_each_module(module) \
	for (const struct module *const *m_ = run.tool->modules, *module; (module = *m_); m_++)

/* ---- the command line ---- */

static size_t list_sections(const struct tool *tool, struct opt_section *sections)
{
	size_t n = 0;

	sections[n++] = (struct opt_section){ "options", tool->opts };
	for_each_module(module)
		sections[n++] = (struct opt_section){ module->title, module->opts };
	sections[n++] = (struct opt_section){ "all tools", common_opts };
	return n;
}

static const char *operands_text(const struct tool *tool)
{
	return tool->operands == OPERANDS_INTERVAL ? "[interval [count]]" : "[duration]";
}

static void print_help(const struct tool *tool, const struct opt_set *set)
{
	printf("usage: %s [options] %s [-- COMMAND ARG...]\n\n%s\n\nexamples:\n%s", tool->name,
	       operands_text(tool), tool->summary, tool->examples);
	opts_print_help(set);
}

static int parse_operands(const struct tool *tool, int n, char **words)
{
	bool by_interval = tool->operands == OPERANDS_INTERVAL;
	uint64_t value;

	if (n > (by_interval ? 2 : 1))
		return msg_error("too many operands: '%s' (see --help)", words[n - 1]);
	if (n >= 1 && parse_duration(by_interval ? "interval" : "duration", words[0], NS_PER_S,
				     by_interval ? &run.interval_ns : &duration_ns))
		return -EINVAL;
	if (n == 2) {
		if (parse_uint("count", words[1], 1, UINT32_MAX, &value))
			return -EINVAL;
		count = (uint32_t)value;
	}
	return 0;
}

static int check_times(int n_operands)
{
	bool interval_given =
		opts_given("interval") || (n_operands && run.tool->operands == OPERANDS_INTERVAL);
	bool duration_given =
		opts_given("duration") || (n_operands && run.tool->operands == OPERANDS_DURATION);

	if (interval_given && run.interval_ns < NS_PER_MS)
		return msg_error("the interval must be 1 ms or more");
	if (duration_given && !duration_ns)
		return msg_error("the duration must be more than 0");
	if (count && !run.interval_ns)
		return msg_error("--count needs an interval");
	return 0;
}

/* Splits argv at "--". Returns the command or NULL; *argc is what stands before it. */
static char **split_command(int *argc, char **argv)
{
	for (int i = 1; i < *argc; i++) {
		if (strcmp(argv[i], "--"))
			continue;
		*argc = i;
		return argv + i + 1;
	}
	return NULL;
}

static bool has_json_name(const char *path)
{
	const char *dot = strrchr(path, '.');

	return dot && !strcmp(dot, ".json");
}

static int check_format(void)
{
	bool has_others = false;

	for_each_module(module)
		has_others |= module->has_formats;
	run.is_json = run.format ? !strcmp(run.format, "json")
				 : run.output_path && has_json_name(run.output_path);
	if (!run.format || run.is_json || has_others || !strcmp(run.format, "text"))
		return 0;
	return msg_error("--format: '%s' is neither text nor json", run.format);
}

static int check_options(void)
{
	int err = check_format();

	if (err)
		return err;

	for_each_module(module) {
		err = module->check ? module->check(&run) : 0;
		if (err)
			return err;
	}
	return run.tool->check ? run.tool->check(&run) : 0;
}

static int parse_command_line(const struct opt_set *set, int argc, char **argv)
{
	const struct tool *tool = run.tool;
	int first;

	run.command = split_command(&argc, argv);
	first = opts_parse(set, argc, argv);
	if (first < 0)
		return first;
	if (want_help || want_version)
		return 0;
	if (run.command && !*run.command)
		return msg_error("there is no command behind '--'");
	if (parse_operands(tool, argc - first, argv + first) || check_times(argc - first))
		return -EINVAL;
	return check_options();
}

/* ---- open, load, attach ---- */

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (!msg_verbose || level == LIBBPF_DEBUG)
		return 0;
	return vfprintf(stderr, fmt, ap);
}

static bool kernel_has_btf(void)
{
	return !access("/sys/kernel/btf/vmlinux", R_OK);
}

static int report_no_btf(const char *what)
{
	msg_errno(ENOENT, "%s (/sys/kernel/btf/vmlinux)", what);
	msg_hint("the kernel must be built with CONFIG_DEBUG_INFO_BTF=y");
	return -ENOENT;
}

/* Type information from a file stands in for what the kernel lacks. */
static int check_btf_file(void)
{
	struct btf *btf = btf__parse(btf_path, NULL);
	char reason[128];

	if (!btf) {
		libbpf_strerror(errno, reason, sizeof(reason)); /* also knows libbpf's own */
		return msg_error("reading type information from %s: %s", btf_path, reason);
	}
	btf__free(btf);
	return 0;
}

static int check_kernel(void)
{
	if (geteuid() != 0) {
		msg_error("loading BPF programs: %s", strerror(EPERM));
		msg_hint("run it as root");
		return -EPERM;
	}
	if (btf_path)
		return check_btf_file();
	return kernel_has_btf() ? 0 : report_no_btf("reading the kernel's type information");
}

/* Programs on typed tracepoints are checked against the kernel's own types: no file helps. */
static int check_typed_programs(void)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, run.object)
		if (bpf_program__autoload(prog) &&
		    bpf_program__type(prog) == BPF_PROG_TYPE_TRACING && !kernel_has_btf())
			return report_no_btf("this tool needs the kernel's own type information");
	return 0;
}

/* Below 5.11 BPF memory counts as locked memory. */
static void raise_memlock(void)
{
	struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_MEMLOCK, &unlimited);
}

static int open_output(void)
{
	int err;

	output.path = run.output_path;
	output.is_series = run.interval_ns;
	err = output_begin(&output);
	run.out = output.file;
	return err;
}

static int open_object(void)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .btf_custom_path = btf_path);

	raise_memlock();
	if (!btf_path)
		kernelbtf_prepare(&opts);
	run.skeleton = run.tool->skeleton->open(&opts);
	if (!run.skeleton)
		return msg_errno(errno, "opening the BPF object");
	run.object = ((struct skeleton_head *)run.skeleton)->obj;
	return 0;
}

static int configure(void)
{
	int err;

	for_each_module(module) {
		err = module->configure ? module->configure(&run) : 0;
		if (err)
			return err;
	}
	return run.tool->configure ? run.tool->configure(&run) : 0;
}

static int load(void)
{
	int err = check_typed_programs();

	if (err)
		return err;
	kernelbtf_provide(run.object);
	err = bpf_object__load_skeleton(((struct skeleton_head *)run.skeleton)->skeleton);
	if (err) {
		msg_errno(err, "loading the BPF programs");
		msg_hint("--verbose shows what the kernel says");
	}
	return err;
}

/* What takes long comes before anything is attached, so that the window has a sharp beginning. */
static int start_modules(void)
{
	int err;

	for_each_module(module) {
		err = module->start ? module->start(&run) : 0;
		if (err)
			return err;
	}
	return 0;
}

static int attach(void)
{
	struct bpf_object_skeleton *skeleton = ((struct skeleton_head *)run.skeleton)->skeleton;
	int err;

	run.start_ns = run.report_start_ns = clock_now_ns();
	err = bpf_object__attach_skeleton(skeleton);
	if (!err)
		err = kernelbtf_attach(skeleton);
	if (err)
		return msg_errno(err, "attaching the BPF programs");
	return run.tool->start ? run.tool->start(&run) : 0;
}

static void announce(void)
{
	if (duration_ns || run.interval_ns || child.pid)
		msg_debug("attached");
	else
		msg_info("tracing... end with Ctrl-C");
	footprint_print("when tracing begins");
}

/* ---- the loop ---- */

/* The report is written; what comes next goes into another file, if it goes into files. */
static int next_output(void)
{
	int err = output_commit(&output);

	if (!err && !output.file && !run.is_last)
		err = output_begin(&output);
	run.out = output.file;
	return err;
}

static int report(bool is_peek)
{
	int err, write_err;

	if (!run.out)
		return -EIO; /* said when it happened */
	run.is_peek = is_peek;
	run.end_ns = clock_now_ns();
	err = run.tool->report(&run);
	run.is_peek = false;
	if (!is_peek) {
		run.n_reports++;
		run.report_start_ns = run.end_ns;
	}
	write_err = next_output();
	return write_err ? write_err : err;
}

static enum loop_verdict on_signal(int fd, void *arg)
{
	struct signalfd_siginfo info;

	(void)arg;
	if (read(fd, &info, sizeof(info)) != sizeof(info))
		return LOOP_GO;
	if (info.ssi_signo == SIGUSR1)
		return report(true) ? LOOP_STOP : LOOP_GO;
	return LOOP_STOP;
}

static enum loop_verdict stop(int fd, void *arg)
{
	(void)fd;
	(void)arg;
	return LOOP_STOP;
}

/* Sets the timer to the next interval or to the end, whichever comes first. */
static void arm_timer(int fd, uint64_t now_ns)
{
	uint64_t next_ns = duration_ns ? run.start_ns + duration_ns : 0, tick_ns;
	struct itimerspec spec = {};

	if (run.interval_ns) {
		tick_ns = now_ns + run.interval_ns - (now_ns - run.start_ns) % run.interval_ns;
		next_ns = !next_ns || tick_ns < next_ns ? tick_ns : next_ns;
	}
	spec.it_value.tv_sec = (time_t)(next_ns / NS_PER_S);
	spec.it_value.tv_nsec = (long)(next_ns % NS_PER_S);
	timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

static bool is_over(uint64_t now_ns)
{
	return (duration_ns && now_ns >= run.start_ns + duration_ns) ||
	       (count && run.n_reports + 1 >= count);
}

static enum loop_verdict on_timer(int fd, void *arg)
{
	uint64_t expirations;

	(void)arg;
	if (read(fd, &expirations, sizeof(expirations)) < 0)
		return LOOP_GO;
	if (is_over(clock_now_ns()) || report(false))
		return LOOP_STOP;
	arm_timer(fd, clock_now_ns());
	return LOOP_GO;
}

static int open_signals(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* Whoever read the output has gone: what there was to say is of no interest any more. */
static enum loop_verdict on_hangup(int fd, void *arg)
{
	(void)fd;
	(void)arg;
	reader_is_gone = true;
	return LOOP_STOP;
}

static int watch_all(int signal_fd, int timer_fd)
{
	int err = loop_watch(run.loop, signal_fd, on_signal, NULL);

	if (!err)
		err = loop_watch(run.loop, timer_fd, on_timer, NULL);
	if (!err && child.pid)
		err = loop_watch(run.loop, child.pid_fd, stop, NULL);
	loop_watch_hangup(run.loop, fileno(run.out), on_hangup, NULL); /* not regular files */
	return err;
}

static void begin_command(void *arg)
{
	(void)arg;
	for_each_module(module)
		if (module->begin)
			module->begin(&run);
}

static void command_loaded(void *arg)
{
	(void)arg;
	for_each_module(module)
		if (module->loaded)
			module->loaded(&run);
}

/* Lets the command go and waits for the end of the tracing. */
static int wait_for_end(int signal_fd)
{
	struct child_hooks hooks = { begin_command, command_loaded, NULL };
	int timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), err;

	if (timer_fd < 0)
		return msg_errno(errno, "making a timer");
	err = watch_all(signal_fd, timer_fd);
	if (err)
		return msg_errno(err, "watching for events");
	arm_timer(timer_fd, run.start_ns);
	err = child.pid ? child_release(&child, &hooks) : 0;
	if (!err)
		err = loop_run(run.loop);
	close(timer_fd);
	return err;
}

static void stop_tracing(void)
{
	for_each_module(module)
		if (module->stop)
			module->stop(&run);
	if (run.skeleton)
		bpf_object__detach_skeleton(((struct skeleton_head *)run.skeleton)->skeleton);
}

/* ---- the end ---- */

static void print_truth(void)
{
	struct utsname kernel;

	footprint_print("at the end");
	uname(&kernel);
	msg_info("%llu %s in %.2f s, Linux %s", (unsigned long long)run.recorded, run.tool->unit,
		 (double)(run.end_ns - run.start_ns) / NS_PER_S, kernel.release);
}

static int report_last(void)
{
	int err;

	run.is_last = true;
	err = report(false);
	if (!err && !reader_is_gone) {
		print_truth();
		loss_print(&run);
	}
	return err;
}

static void close_run(void)
{
	for_each_module(module)
		if (module->finish)
			module->finish(&run);
	if (run.skeleton)
		run.tool->skeleton->destroy(run.skeleton);
	loop_free(run.loop);
	child_finish(&child);
	output_discard(&output);
}

static int trace(int signal_fd)
{
	int err;

	err = open_object();
	if (!err)
		err = configure();
	if (!err)
		err = load();
	if (!err)
		err = start_modules();
	if (!err)
		err = attach();
	if (!err) {
		announce();
		err = wait_for_end(signal_fd);
	}
	stop_tracing();
	return err ? err : report_last();
}

static int run_tool(void)
{
	int signal_fd, err;

	libbpf_set_print(print_libbpf);
	err = check_kernel();
	if (!err)
		err = open_output();
	if (err)
		return EXIT_FAILED;
	signal_fd = open_signals();
	run.loop = loop_new();
	if (run.command)
		err = child_start(&child, run.command);
	run.command_pid = child.pid;
	if (!err)
		err = trace(signal_fd);
	close_run();
	close(signal_fd);
	return err && err != -EPIPE ? EXIT_FAILED : EXIT_DONE;
}

int tool_main(const struct tool *tool, int argc, char **argv)
{
	struct opt_section sections[TOOL_MAX_MODULES + 2];
	struct opt_set set = { .sections = sections,
			       .tid_letter = tool->tid_letter,
			       .letters = tool->letters };

	if (argc == 0) {
		printf("  %-12s %s\n", tool->name, tool->summary);
		return EXIT_DONE;
	}
	run.tool = tool;
	btf_path = getenv("TRACELETS_BTF");
	msg_set_name(tool->name);
	set.n_sections = list_sections(tool, sections);
	if (parse_command_line(&set, argc, argv))
		return EXIT_USAGE;
	if (want_help) {
		print_help(tool, &set);
		return EXIT_DONE;
	}
	if (want_version) {
		printf("%s (tracelets) %s\n", tool->name, TRACELETS_VERSION);
		return EXIT_DONE;
	}
	return run_tool();
}

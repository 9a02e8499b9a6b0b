// SPDX-License-Identifier: GPL-2.0-only
/*
 * All tools in one binary: "tracelets runqlat 5", or called by a link with the tool's name and,
 * optionally, a prefix: "tl-runqlat 5". Each tool's own main() is compiled in under another name;
 * toolset.h, made by the Makefile, lists them.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/version.h"
#include "run/features.h"
#include "run/output.h"

#define TOOL(name) int name##_main(int argc, char **argv);
#include "toolset.h"
#undef TOOL

struct applet {
	const char *name;
	int (*main)(int argc, char **argv);
};

#define TOOL(name) { #name, name##_main },
static const struct applet applets[] = {
#include "toolset.h"
};
#undef TOOL

static const struct applet *find_applet(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(applets); i++)
		if (!strcmp(applets[i].name, name))
			return &applets[i];
	return NULL;
}

/* Returns the tool of a link: its name after the last "-". */
static const struct applet *find_linked(const char *link)
{
	const char *name = basename(link), *dash = strrchr(name, '-');

	return find_applet(dash ? dash + 1 : name);
}

static int print_tools(void)
{
	printf("usage: tracelets TOOL [options]   run a tool (-h, --help: its options)\n"
	       "       tracelets report [options] [duration]\n"
	       "                                  print where time goes, on one page\n"
	       "       tracelets help             list questions, and the commands that answer "
	       "them\n"
	       "       tracelets check            show what this kernel offers to the tools\n"
	       "       tracelets --install DIR    make a link for each tool\n\ntools:\n");
	for (size_t i = 0; i < ARRAY_SIZE(applets); i++)
		applets[i].main(0, NULL); /* prints its name and summary, see tool_main() */
	return 0;
}

/* ---- report ---- */

static bool asks_for_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h"))
			return true;
	return false;
}

static int print_report_usage(void)
{
	printf("usage: tracelets report [options] [duration] [-- COMMAND]\n"
	       "Prints where threads' time goes, on one page, in Markdown.\n\n"
	       "  tracelets report -p 185 10              # a process, for 10 s\n"
	       "  tracelets report --output page.html 10  # the machine, as HTML\n\n"
	       "The options are those of profile (tracelets profile --help); --wall,\n"
	       "--throttled and --no-idle are set.\n");
	return 0;
}

/* Runs "profile --wall" with the options of a report, and the given ones. */
static int report(int argc, char **argv)
{
	static char name[] = "profile", wall[] = "--wall", throttled[] = "--throttled";
	static char no_idle[] = "--no-idle", page[] = "--page";
	char *const first[] = { name, wall, throttled, no_idle, page };
	char **all = mem_zalloc(ARRAY_SIZE(first) + (size_t)argc, sizeof(*all));
	int status;

	memcpy(all, first, sizeof(first));
	memcpy(all + ARRAY_SIZE(first), argv + 1, (size_t)(argc - 1) * sizeof(*argv));
	status = find_applet(name)->main((int)ARRAY_SIZE(first) + argc - 1, all);
	free(all);
	return status;
}

/* ---- help ---- */

#define TOPIC_COMMANDS 3

static const struct topic {
	const char *name, *question;
	struct {
		const char *command, *reading;
	} answers[TOPIC_COMMANDS];
} topics[] = {
	{ "slow",
	  "is it slow?",
	  { { "profile --wall -p PID 10",
	      "last stacks: [on cpu] computes, [blocked] waits, [runnable] lacks a CPU" },
	    { "syscount -L -p PID 10 1",
	      "first rows: calls that took most time; P99 far above P50: some are slow" },
	    { "runqlat -p PID 10 1",
	      "p99 above a few ms: too few CPUs, or a CPU quota (--throttled)" } } },
	{ "hangs",
	  "does it hang?",
	  { { "offcputime -p PID 5",
	      "last stacks, [blocked throughout]: their innermost frame is the wait" },
	    { "dump -p PID", "all threads and goroutines now; held now: who has the lock" },
	    { "locks --waker -p PID 5",
	      "held now: the thread that has the lock; [deadlock]: it waits for itself" } } },
	{ "grows",
	  "does it grow?",
	  { { "memleak --growth -p PID 10",
	      "only stacks that grow report after report: likely leaks" },
	    { "memleak -p PID 60 1", "last stacks: most memory allocated and not yet freed" },
	    { "pagefaults -P 10 1", "most MINOR faults: processes that take new memory" } } },
	{ "cpu",
	  "is the CPU busy?",
	  { { "profile -f 10 | tracelets flame --top 20",
	      "SELF: time in the function itself; TOTAL: with all that it calls" },
	    { "runqlat -P 10 1", "high p99: processes that wait for a CPU" },
	    { "runqlat --throttled 10 1",
	      "throttled waits: a CPU quota is too low, not the machine" } } },
	{ "disk",
	  "is the disk slow?",
	  { { "biolat -QD 10 1",
	      "high p99 of device: the disk is slow; of queue: it gets too many requests" },
	    { "biolat -P 10 1", "last: the process whose requests take most time" },
	    { "offcputime --state D 5 | tracelets flame --unit microseconds --top 9",
	      "submit_bio_wait, folio_wait_bit: time blocked on the disk" } } },
	{ "locks",
	  "do threads wait for locks?",
	  { { "locks -p PID 10",
	      "largest TOTAL_US: the lock to look at; RELEASED_BY: threads that held it" },
	    { "locks --waker -p PID 10", "the code that held the lock too long" },
	    { "syscount -L --syscall futex -P 10 1",
	      "processes with the most futex calls, and their waits" } } },
};

static int list_topics(void)
{
	printf("usage: tracelets help TOPIC   print three commands that answer a question\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(topics); i++)
		printf("  %-6s  %s\n", topics[i].name, topics[i].question);
	return 0;
}

static int print_topic(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(topics); i++) {
		if (strcmp(topics[i].name, name))
			continue;
		printf("%s\n", topics[i].question);
		for (size_t k = 0; k < TOPIC_COMMANDS; k++)
			printf("\n  tracelets %s\n      %s\n", topics[i].answers[k].command,
			       topics[i].answers[k].reading);
		return 0;
	}
	msg_error("help: unknown topic '%s' ('tracelets help' lists them)", name);
	return 2;
}

/* ---- --install ---- */

/* Returns true if path is a link to the binary already. */
static bool is_link_to(const char *path, const char *binary)
{
	char target[PATH_MAX], resolved[PATH_MAX];

	return readlink(path, target, sizeof(target)) > 0 && realpath(path, resolved) &&
	       !strcmp(resolved, binary);
}

/*
 * Returns the relative path from a directory to a file, so that both can be moved together. Both
 * paths are absolute and without links. The result is freed with free().
 */
static char *relative_path(const char *folder, const char *file)
{
	size_t i = 0, common = 0;
	char *path, *longer;

	for (; folder[i] && folder[i] == file[i]; i++)
		if (folder[i] == '/')
			common = i + 1;
	if (!folder[i] && file[i] == '/')
		return mem_strdup(file + i + 1);
	path = mem_strdup(file + common);
	for (const char *rest = folder + common; rest && *rest; rest = strchr(rest + 1, '/')) {
		longer = mem_printf("../%s", path);
		free(path);
		path = longer;
	}
	return path;
}

static int install_link(const char *binary, const char *folder, const char *name)
{
	char *path = mem_printf("%s/%s", folder, name);
	char *target = relative_path(folder, binary);
	int err = 0;

	if (is_link_to(path, binary))
		msg_debug("%s: link exists already", path);
	else if (symlink(target, path))
		err = msg_errno(-errno, "%s: link failed", path);
	free(target);
	free(path);
	return err;
}

static int install_links(const char *dir)
{
	char binary[PATH_MAX], folder[PATH_MAX];
	int err = 0, e;

	if (!realpath("/proc/self/exe", binary))
		return msg_errno(-errno, "/proc/self/exe: read failed");
	if (!realpath(dir, folder))
		return msg_errno(-errno, "%s: directory lookup failed", dir);
	for (size_t i = 0; i < ARRAY_SIZE(applets); i++) {
		e = install_link(binary, folder, applets[i].name);
		err = err ? err : e;
	}
	return err;
}

/* ---- tracelets itself ---- */

static int print_usage_error(const char *word)
{
	static const char *const commands[] = { "help", "check", "--install", "--version", "-V" };
	const char *problem = "unknown tool or command";

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(word, commands[i]))
			problem = "wrong number of operands";
	msg_error("'%s': %s ('tracelets' alone lists them)", word, problem);
	return 2;
}

/* Returns the exit status of a command that has printed, with this status so far. */
static int printed(int status)
{
	return output_flush_standard() ? 1 : status;
}

/* Runs a tool with "tracelets TOOL" as argv[0], which its help shows. */
static int run_applet(const struct applet *applet, int argc, char **argv)
{
	char *command = mem_printf("%s %s", basename(argv[0]), argv[1]);
	int status;

	argv[1] = command;
	status = applet->main(argc - 1, argv + 1);
	free(command);
	return status;
}

static int run_command(int argc, char **argv)
{
	const char *word = argv[1];

	if (argc == 1 || !strcmp(word, "--help") || !strcmp(word, "-h"))
		return printed(print_tools());
	if (argc == 2 && (!strcmp(word, "--version") || !strcmp(word, "-V")))
		return printed(printf("tracelets %s\n", TRACELETS_VERSION) < 0);
	if (argc <= 3 && !strcmp(word, "help"))
		return printed(argc == 2 ? list_topics() : print_topic(argv[2]));
	if (argc == 2 && !strcmp(word, "check"))
		return printed(features_print(stdout) ? 1 : 0);
	if (!strcmp(word, "report") && asks_for_help(argc - 1, argv + 1))
		return printed(print_report_usage());
	if (!strcmp(word, "report"))
		return report(argc - 1, argv + 1);
	if (argc == 3 && !strcmp(word, "--install"))
		return install_links(argv[2]) ? 1 : 0;
	if (!find_applet(word))
		return print_usage_error(word);
	return run_applet(find_applet(word), argc, argv);
}

int main(int argc, char **argv)
{
	const struct applet *applet = argc > 0 ? find_linked(argv[0]) : NULL;

	if (argc == 0)
		return print_tools();
	return applet ? applet->main(argc, argv) : run_command(argc, argv);
}

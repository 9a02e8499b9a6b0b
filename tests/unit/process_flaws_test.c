// SPDX-License-Identifier: GPL-2.0-only
/* Which processes' stacks lack something, and what is said about that. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stacks/process_flaws.h"
#include "unit.h"

static const struct runtime java = { .name = "java",
				     .to_complete = "start it anew, then jcmd PID perfmap",
				     .to_name = "jcmd PID perfmap" };
static const struct runtime node = { .name = "node",
				     .to_complete = "start it with --prof",
				     .to_name = "start it with --prof" };
static const struct runtime lua = { .name = "lua", .to_complete = "start it with -joff" };

static const struct stack_flaw none;
static const struct stack_flaw cut_java = { FLAW_CUT, &java, false, NULL, 0 };
static const struct stack_flaw cut_named_java = { FLAW_CUT, &java, true, NULL, 0 };
static const struct stack_flaw unnamed_java = { FLAW_UNNAMED, &java, false, NULL, 0 };
static const struct stack_flaw unnamed_node = { FLAW_UNNAMED, &node, false, NULL, 0 };
static const struct stack_flaw cut_named_node = { FLAW_CUT, &node, true, NULL, 0 };
static const struct stack_flaw unnamed_lua = { FLAW_UNNAMED, &lua, false, NULL, 0 };
static const struct stack_flaw cut_by_whom = { FLAW_CUT, NULL, false, NULL, 0 };
static const struct stack_flaw cut_in_file = { FLAW_CUT, NULL, false, "libodd.so", 0 };

static void add(struct process_flaws *flaws, pid_t pid, const char *name,
		const struct stack_flaw *flaw, uint64_t value)
{
	char comm[TASK_COMM_LEN] = {};

	memcpy(comm, name, strnlen(name, sizeof(comm)));
	process_flaws_add(flaws, pid, comm, flaw, value);
}

/* What is said; valid until the next call. Frees the table. */
static const char *print_with(struct process_flaws *flaws, bool lacks_tables)
{
	static char text[4096];
	int fd = memfd_create("stderr", MFD_CLOEXEC), saved = dup(STDERR_FILENO);
	ssize_t n;

	dup2(fd, STDERR_FILENO);
	process_flaws_print(flaws, lacks_tables);
	dup2(saved, STDERR_FILENO);
	n = pread(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	close(fd);
	close(saved);
	process_flaws_free(flaws);
	return text;
}

static const char *print(struct process_flaws *flaws)
{
	return print_with(flaws, false);
}

static size_t count_lines(const char *text)
{
	size_t n = 0;

	while ((text = strchr(text, '\n'))) {
		text++;
		n++;
	}
	return n;
}

TEST(sound_stacks_need_no_word)
{
	struct process_flaws *flaws = process_flaws_new();

	add(flaws, 1, "java", &none, 100);
	CHECK_STR(print(flaws), "");
	CHECK_STR(print(process_flaws_new()), "");
}

TEST(more_than_a_tenth_is_told)
{
	struct process_flaws *flaws = process_flaws_new();

	add(flaws, 812, "worker", &cut_java, 97);
	add(flaws, 812, "worker", &none, 3);
	CHECK(strstr(print(flaws), "java (PID 812): 97 % of stacks truncated in JIT code (start "
				   "it anew, then jcmd 812 perfmap)\n"));

	flaws = process_flaws_new();
	add(flaws, 812, "worker", &cut_java, 10);
	add(flaws, 812, "worker", &none, 90);
	CHECK_STR(print(flaws), "");
}

TEST(whole_stacks_without_names_need_names_only)
{
	struct process_flaws *flaws = process_flaws_new();

	add(flaws, 7, "worker", &unnamed_java, 50);
	add(flaws, 7, "worker", &none, 50);
	CHECK(strstr(print(flaws), "java (PID 7): 50 % of stacks with unnamed JIT code (jcmd 7 "
				   "perfmap)\n"));
}

/* No advice is better than one that does nothing. */
TEST(what_has_no_names_for_anybody_is_not_told)
{
	struct process_flaws *flaws = process_flaws_new();

	add(flaws, 7, "luajit", &unnamed_lua, 100);
	CHECK_STR(print(flaws), "");
}

TEST(what_has_been_done_is_not_advised_again)
{
	struct process_flaws *flaws = process_flaws_new();

	add(flaws, 7, "node", &cut_named_node, 100);
	CHECK_STR(print(flaws), "");
	flaws = process_flaws_new();
	add(flaws, 8, "java", &cut_named_java, 100);
	CHECK(strstr(print(flaws),
		     "java (PID 8): 100 % of stacks truncated in JIT code (start it anew"));
}

TEST(code_of_files_and_of_unknown_runtimes_is_told)
{
	struct process_flaws *flaws = process_flaws_new();

	add(flaws, 7, "odd\nname", &cut_in_file, 30);
	CHECK(strstr(print(flaws),
		     "odd\\x0aname (PID 7): 100 % of stacks truncated in libodd.so: no "
		     "unwind information (build it with"));
	flaws = process_flaws_new();
	add(flaws, 8, "odd", &cut_by_whom, 30);
	CHECK(strstr(print(flaws),
		     "odd (PID 8): 100 % of stacks truncated in JIT code (unknown JIT: "
		     "enable"));
}

/* Whatever comes last, and whatever else cuts its stacks. */
TEST(the_file_that_cuts_most_is_told_with_its_own_share)
{
	static const struct stack_flaw in_big = { FLAW_CUT, NULL, false, "libbig.so", 0 };
	struct process_flaws *flaws = process_flaws_new();
	const char *said;

	add(flaws, 7, "odd", &in_big, 60);
	add(flaws, 7, "odd", &cut_in_file, 5);
	add(flaws, 7, "odd", &cut_java, 15);
	add(flaws, 7, "odd", &none, 20);
	said = print(flaws);
	CHECK_HAS(said, "odd (PID 7): 60 % of stacks truncated in libbig.so: no unwind");
	CHECK_EQ(count_lines(said), 1);
}

TEST(code_made_at_run_time_is_told_where_it_cuts_most)
{
	struct process_flaws *flaws = process_flaws_new();

	add(flaws, 7, "odd", &cut_java, 60);
	add(flaws, 7, "odd", &cut_in_file, 40);
	CHECK_HAS(print(flaws),
		  "java (PID 7): 60 % of stacks truncated in JIT code (start it anew");
}

TEST(files_in_great_numbers_leave_the_worst)
{
	struct process_flaws *flaws = process_flaws_new();
	char name[16];
	struct stack_flaw flaw = { FLAW_CUT, NULL, false, name, 0 };

	add(flaws, 7, "odd", &cut_in_file, 100);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "lib%d.so", i);
		add(flaws, 7, "odd", &flaw, 1);
	}
	CHECK_HAS(print(flaws), "50 % of stacks truncated in libodd.so");
}

/* That it has no unwind information is not known. */
TEST(a_file_that_could_not_be_read_is_told_with_the_reason)
{
	static const struct stack_flaw denied = { FLAW_CUT, NULL, false, "app", -EACCES };
	static const struct stack_flaw changed = { FLAW_CUT, NULL, false, "app", -ESTALE };
	struct process_flaws *flaws = process_flaws_new();

	add(flaws, 7, "odd", &denied, 60);
	CHECK_HAS(print_with(flaws, true), "odd (PID 7): 100 % of stacks truncated in app: can't "
					   "read it: Permission denied\n");
	flaws = process_flaws_new();
	add(flaws, 7, "odd", &changed, 60);
	CHECK_HAS(print(flaws), "app: can't read it: changed since it was mapped\n");
}

/* Its unwind information may be there, but had no room. */
TEST(files_are_not_blamed_for_tables_that_had_no_room)
{
	struct process_flaws *flaws = process_flaws_new();
	const char *said;

	add(flaws, 7, "odd", &cut_in_file, 30);
	add(flaws, 8, "java", &cut_java, 30);
	said = print_with(flaws, true);
	CHECK(strstr(said, "java (PID 8)"));
	CHECK(!strstr(said, "odd"));
}

TEST(processes_of_one_runtime_share_a_line)
{
	struct process_flaws *flaws = process_flaws_new();

	for (pid_t pid = 1; pid <= 50; pid++)
		add(flaws, pid, "java", &cut_java, (uint64_t)pid);
	CHECK(strstr(print(flaws),
		     "java (PID 50 and 49 others): 100 % of stacks truncated in JIT code "
		     "(start it anew, then jcmd PID perfmap)\n"));
}

TEST(there_are_three_lines_at_most)
{
	struct process_flaws *flaws = process_flaws_new();

	add(flaws, 1, "a", &cut_java, 10);
	add(flaws, 2, "b", &unnamed_node, 20);
	add(flaws, 3, "c", &cut_in_file, 30);
	add(flaws, 4, "d", &cut_by_whom, 40);
	CHECK_EQ(count_lines(print(flaws)), 3);
}

TEST(what_hardly_counts_is_not_told)
{
	struct process_flaws *flaws = process_flaws_new();

	add(flaws, 1, "java", &cut_java, 1);
	add(flaws, 2, "postgres", &none, 1000);
	CHECK_STR(print(flaws), "");
}

/* Very many short processes: those that lack something are kept. */
TEST(the_table_is_bounded)
{
	struct process_flaws *flaws = process_flaws_new();

	add(flaws, 5, "java", &cut_java, 1000000);
	for (pid_t pid = 10; pid < 100000; pid++)
		add(flaws, pid, "true", &none, 1);
	CHECK(strstr(print(flaws), "java (PID 5): 100 % of stacks truncated in JIT code"));
}

/* As of a stack that was let go of before the last report. */
TEST(a_file_is_told_whose_stack_is_gone)
{
	struct process_flaws *flaws = process_flaws_new();
	char name[] = "libodd.so";
	const struct stack_flaw flaw = { FLAW_CUT, NULL, false, name, 0 };
	const char *text;

	add(flaws, 1, "odd", &flaw, 100);
	memset(name, 'x', strlen(name));
	add(flaws, 2, "odd", &cut_in_file, 50);
	text = print(flaws);
	CHECK_HAS(text, "odd (PID 1 and 1 other): 100 % of stacks truncated in libodd.so:");
}

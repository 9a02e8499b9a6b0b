// SPDX-License-Identifier: GPL-2.0-only
/* Tests of the messages about flaws of stacks. */
#include "stacks/stack_flaws.h"
#include "silent.h"
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

static struct stack_flaws *flaws;

BEFORE_EACH()
{
	flaws = stack_flaws_new();
}

AFTER_EACH()
{
	stack_flaws_free(flaws);
}

static void add(pid_t pid, const char *name, const struct stack_flaw *flaw, uint64_t value)
{
	char comm[TASK_COMM_LEN] = {};

	memcpy(comm, name, strnlen(name, sizeof(comm)));
	stack_flaws_add(flaws, pid, comm, flaw, value);
}

/* Returns the messages, and empties the table. */
static const char *print_with(bool lacks_tables)
{
	const char *text = SAID(stack_flaws_print(flaws, lacks_tables));

	stack_flaws_free(flaws);
	flaws = stack_flaws_new();
	return text;
}

static const char *print(void)
{
	return print_with(false);
}

static const struct stack_flaw in_big = { FLAW_CUT, NULL, false, "libbig.so", 0 };
static const struct stack_flaw denied = { FLAW_CUT, NULL, false, "app", -EACCES };
static const struct stack_flaw changed = { FLAW_CUT, NULL, false, "app", -ESTALE };

static const struct {
	struct {
		pid_t pid;
		const char *comm;
		const struct stack_flaw *flaw;
		uint64_t value;
	} stacks[4];
	const char *said; /* in the only line; "" for none */
} cases[] = {
	{ { { 1, "java", &none, 100 } }, "" },
	/* more than a fiftieth */
	{ { { 812, "worker", &cut_java, 97 }, { 812, "worker", &none, 3 } },
	  "java (PID 812): 97 % of stacks truncated in JIT code (start it anew, then jcmd 812 "
	  "perfmap; see tracelets-stacks(7))\n" },
	{ { { 812, "worker", &cut_java, 2 }, { 812, "worker", &none, 98 } }, "" },
	/* whole stacks without names need names only */
	{ { { 7, "worker", &unnamed_java, 50 }, { 7, "worker", &none, 50 } },
	  "java (PID 7): 50 % of stacks with unnamed JIT code (jcmd 7 perfmap; see" },
	/* no advice is better than one that does nothing, or has been followed */
	{ { { 7, "luajit", &unnamed_lua, 100 } }, "" },
	{ { { 7, "node", &cut_named_node, 100 } }, "" },
	{ { { 8, "java", &cut_named_java, 100 } },
	  "java (PID 8): 100 % of stacks truncated in JIT code (start it anew" },
	{ { { 7, "odd\nname", &cut_in_file, 30 } },
	  "odd\\x0aname (PID 7): 100 % of stacks truncated in libodd.so: no unwind "
	  "information (build it with" },
	{ { { 8, "odd", &cut_by_whom, 30 } },
	  "odd (PID 8): 100 % of stacks truncated in JIT code (unknown JIT: enable" },
	/* what cuts most, with its own share */
	{ { { 7, "odd", &in_big, 60 },
	    { 7, "odd", &cut_in_file, 5 },
	    { 7, "odd", &cut_java, 15 },
	    { 7, "odd", &none, 20 } },
	  "odd (PID 7): 60 % of stacks truncated in libbig.so: no unwind" },
	{ { { 7, "odd", &cut_java, 60 }, { 7, "odd", &cut_in_file, 40 } },
	  "java (PID 7): 60 % of stacks truncated in JIT code (start it anew" },
	/* a file that could not be read */
	{ { { 7, "odd", &denied, 60 } },
	  "odd (PID 7): 100 % of stacks truncated in app: can't read it: Permission denied\n" },
	{ { { 7, "odd", &changed, 60 } }, "app: can't read it: changed since it was mapped\n" },
	/* a remedy for less is better than none for more */
	{ { { 7, "luajit", &unnamed_lua, 60 }, { 8, "java", &unnamed_java, 40 } },
	  "java (PID 8): 40 % of stacks with unnamed JIT code" },
	{ { { 1, "a", &cut_java, 10 },
	    { 2, "b", &unnamed_node, 20 },
	    { 3, "c", &cut_in_file, 30 },
	    { 4, "d", &cut_by_whom, 40 } },
	  "d (PID 4): 40 % of stacks" },
	/* what hardly counts */
	{ { { 1, "java", &cut_java, 1 }, { 2, "postgres", &none, 1000 } }, "" },
};

TEST(what_lacks_in_stacks_is_told_with_a_remedy)
{
	CHECK_STR(print(), "");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *said;

		for (size_t j = 0; j < 4 && cases[i].stacks[j].comm; j++)
			add(cases[i].stacks[j].pid, cases[i].stacks[j].comm,
			    cases[i].stacks[j].flaw, cases[i].stacks[j].value);
		said = print();
		CHECK_HAS(said, cases[i].said);
		CHECK_CASE(said, count_in(said, "\n"), *cases[i].said ? 1 : 0);
	}
}

/* Unwind information may be there, but had no room; that a file was not read is known. */
TEST(files_are_not_blamed_for_tables_that_had_no_room)
{
	const char *said;

	add(7, "odd", &cut_in_file, 30);
	add(8, "java", &cut_java, 30);
	said = print_with(true);
	CHECK_HAS(said, "java (PID 8)");
	CHECK(!strstr(said, "odd"));
	add(7, "odd", &denied, 60);
	CHECK_HAS(print_with(true), "can't read it: Permission denied\n");
}

TEST(files_in_great_numbers_leave_the_worst)
{
	char name[16];
	struct stack_flaw flaw = { FLAW_CUT, NULL, false, name, 0 };

	add(7, "odd", &cut_in_file, 100);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "lib%d.so", i);
		add(7, "odd", &flaw, 1);
	}
	CHECK_HAS(print(), "50 % of stacks truncated in libodd.so");
}

TEST(processes_of_one_runtime_share_the_line)
{
	for (pid_t pid = 1; pid <= 50; pid++)
		add(pid, "java", &cut_java, (uint64_t)pid);
	CHECK_HAS(print(), "java (PID 1 and others): 100 % of stacks truncated in JIT code (start "
			   "it anew, then jcmd PID perfmap;");
}

/* As of a stack that was let go of before the last report. */
TEST(a_file_is_told_whose_stack_is_gone)
{
	char name[] = "libodd.so";
	const struct stack_flaw flaw = { FLAW_CUT, NULL, false, name, 0 };

	add(1, "odd", &flaw, 100);
	memset(name, 'x', strlen(name));
	add(2, "odd", &cut_in_file, 50);
	CHECK_HAS(print(), "odd (PID 1 and others): 100 % of stacks truncated in libodd.so:");
}

// SPDX-License-Identifier: GPL-2.0-only
/* Names of system calls, against this machine's own headers. */
#include <sys/syscall.h>

#include "process/syscalls.h"
#include "unit.h"

static const char *label(enum call_abi abi, int32_t number)
{
	static char text[64];

	return syscall_label(text, sizeof(text), abi, number);
}

TEST(names_and_numbers_are_those_of_the_headers)
{
	CHECK_STR(syscall_name(CALL_NATIVE, SYS_read), "read");
	CHECK_STR(syscall_name(CALL_NATIVE, SYS_openat), "openat");
	CHECK_STR(syscall_name(CALL_NATIVE, SYS_fcntl), "fcntl"); /* an alias on some machines */
	CHECK_STR(syscall_name(CALL_NATIVE, SYS_exit_group), "exit_group");
	CHECK_STR(syscall_name(CALL_NATIVE, SYS_clone3), "clone3");
	CHECK_EQ(syscall_number(CALL_NATIVE, "exit_group"), SYS_exit_group);
	/* what is newer than the headers has a name */
	CHECK_STR(syscall_name(CALL_NATIVE, 452), "fchmodat2");
	CHECK_STR(syscall_name(CALL_NATIVE, 469), "file_setattr");
	CHECK_STR(syscall_name(CALL_COMPAT, 469), "file_setattr");
	CHECK_EQ(syscall_number(CALL_NATIVE, "mseal"), 462);
	CHECK_EQ(syscall_number(CALL_COMPAT, "mseal"), 462);
	/* unknown numbers are shown as they are */
	CHECK_STR(label(CALL_NATIVE, 600), "[600]");
	CHECK_STR(label(CALL_NATIVE, -1), "[-1]");
	CHECK(!syscall_name(CALL_NATIVE, 600));
	CHECK(!syscall_name(CALL_NATIVE, -1));
	CHECK(!syscall_name(CALL_COMPAT, SYSCALL_NONE));
	/* unknown names have no number */
	CHECK_EQ(syscall_number(CALL_NATIVE, "raed"), SYSCALL_NONE);
	CHECK_EQ(syscall_number(CALL_NATIVE, ""), SYSCALL_NONE);
	CHECK_EQ(syscall_number(CALL_COMPAT, ""), SYSCALL_NONE);
	CHECK_EQ(syscall_number(CALL_NATIVE, "syscalls"), SYSCALL_NONE); /* __NR_syscalls */
}

#if defined(__x86_64__)
/* As every i386 program has them (arch/x86/entry/syscalls/syscall_32.tbl). */
TEST(i386_has_its_own_names)
{
	CHECK_STR(label(CALL_COMPAT, 3), "read (i386)");
	CHECK_STR(label(CALL_NATIVE, 3), "close");
	CHECK_STR(label(CALL_COMPAT, 102), "socketcall (i386)");
	CHECK_STR(label(CALL_COMPAT, 252), "exit_group (i386)");
	CHECK_EQ(syscall_number(CALL_COMPAT, "close"), 6);
	CHECK_EQ(syscall_number(CALL_COMPAT, "arch_prctl"), 384);
	CHECK_EQ(syscall_number(CALL_NATIVE, "socketcall"), SYSCALL_NONE);
	CHECK_STR(syscall_name(CALL_NATIVE, 336), "uprobe");
	CHECK_STR(label(CALL_COMPAT, 336), "perf_event_open (i386)");
	CHECK_EQ(syscall_number(CALL_COMPAT, "uprobe"), SYSCALL_NONE);
	CHECK_STR(label(CALL_COMPAT, -1), "[rt_]sigreturn (i386)");
	CHECK_STR(label(CALL_COMPAT, 500), "[500] (i386)");
}
#endif

/* Every name leads to its number, and that back to it. */
TEST(names_and_numbers_belong_together)
{
	int n = 0;

	for (int abi = 0; abi < CALL_ABIS; abi++)
		for (int32_t number = 0; number < 1024; number++) {
			const char *name = syscall_name(abi, number);

			if (!name)
				continue;
			n += abi == CALL_NATIVE;
			if (syscall_number(abi, name) != number)
				UNIT_FAIL("%s is %d and %d", name, number,
					  syscall_number(abi, name));
		}
	CHECK(n > 300);
}

TEST(the_list_is_sorted_in_four_columns)
{
	static char text[65536];
	FILE *f = fmemopen(text, sizeof(text), "w");
	char *rest = text, *word, last[64] = "", *line;
	int n = 0, width = 0;

	syscall_print_list(f);
	fclose(f);
	line = strchr(text, '\n');
	for (char *p = text; p < line; p++)
		width += *p == ' ' && p[1] != ' ';
	CHECK_EQ(width, 4);
	while ((word = strsep(&rest, " \n"))) {
		if (!*word)
			continue;
		CHECK(strcmp(last, word) < 0);
		snprintf(last, sizeof(last), "%s", word);
		n++;
	}
	CHECK(n > 300);
}

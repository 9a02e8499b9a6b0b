// SPDX-License-Identifier: GPL-2.0-only
/* The table of page faults as it is printed. */
#include "pagefaults/faulttable.h"
#include "unit.h"

static const struct fault_columns process = { .process = true }, area = { .area = true },
				  both = { true, true };

static char *print(struct fault_row *rows, size_t n, const struct fault_columns *columns)
{
	struct areas areas = {};
	struct area_def def = { .id = { .ino = 5, .kind = AREA_FILE },
				.n_bytes = 4,
				.text = "a\nb" };
	char *text;

	areas_define(&areas, &def, sizeof(def));
	text = PRINTED(f, {
		struct table_output to = { .f = f, .format = &text_table };

		faulttable_write(&to, rows, n, columns, &areas);
	});
	areas_clear(&areas);
	return text;
}

TEST(no_rows_are_just_titles)
{
	CHECK_STR(print(NULL, 0, &process), "   MINOR    MAJOR   KERNEL     PID COMM\n");
}

TEST(processes_with_most_faults_come_first)
{
	struct fault_row rows[] = {
		{ { .tgid = 1, .comm = "few" }, { .minor = 11 } },
		{ { .tgid = 22, .comm = "many" }, { .minor = 7, .major = 13, .kernel = 3 } },
	};

	CHECK_STR(print(rows, 2, &process), "   MINOR    MAJOR   KERNEL     PID COMM\n"
					    "       7       13        3      22 many\n"
					    "      11        0        0       1 few\n");
}

TEST(areas_have_a_kind_and_maybe_a_file)
{
	struct fault_row rows[] = {
		{ { .area = { .kind = AREA_HEAP } }, { .minor = 3 } },
		{ { .area = { .ino = 5, .kind = AREA_FILE } }, { .major = 2 } },
		{ { .area = { .ino = 6, .kind = AREA_SHMEM } }, { .minor = 1 } },
	};

	CHECK_STR(print(rows, 3, &area), "   MINOR    MAJOR   KERNEL KIND    FILE\n"
					 "       3        0        0 heap\n"
					 "       0        2        0 file    /a\\x0ab\n"
					 "       1        0        0 shmem   ?\n");
}

TEST(both_stand_side_by_side)
{
	struct fault_row rows[] = {
		{ { .tgid = 4194304, .comm = "\033name", .area = { .kind = AREA_STACK } },
		  { .minor = 1 } },
	};

	CHECK_STR(print(rows, 1, &both),
		  "   MINOR    MAJOR   KERNEL     PID COMM             KIND    FILE\n"
		  "       1        0        0 4194304 \\x1bname         stack\n");
}

TEST(a_comm_may_fill_its_field)
{
	struct fault_row rows[] = { { { .tgid = 1 }, { .minor = 1 } } };

	memcpy(rows[0].key.comm, "0123456789abcdef", 16);
	CHECK_HAS(print(rows, 1, &process), " 0123456789abcdef\n");
}

TEST(processes_of_other_namespaces_have_no_name_of_their_own)
{
	struct fault_row rows[] = { { {}, { .minor = 1 } } };

	CHECK_STR(print(rows, 1, &process), "   MINOR    MAJOR   KERNEL     PID COMM\n"
					    "       1        0        0       0 [others]\n");
}

// SPDX-License-Identifier: GPL-2.0-only
/* Kernel symbols: which name wins, and where each one ends. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../common/kallsyms.h"
#include "../../common/ksyms.h"
#include "../../common/mem.h"
#include "unit.h"

static struct ksyms *load_text(const char *text)
{
	char path[] = "/tmp/ksyms-test-XXXXXX";
	int fd = mkstemp(path);
	struct ksyms *ks;

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		UNIT_FAIL("cannot write %s", path);
	close(fd);
	ks = ksyms_load(path);
	unlink(path);
	return ks;
}

/* "name" or "name[module]"; "" for nothing. */
static const char *name_at(const struct ksyms *ks, uint64_t addr)
{
	static char buf[256];
	struct ksym sym;

	if (!ksyms_find(ks, addr, &sym))
		return "";
	snprintf(buf, sizeof(buf), sym.module ? "%s[%s]" : "%s", sym.name, sym.module);
	return buf;
}

static const char kernel[] = "ffffffff81000000 T _stext\n"
			     "ffffffff81000000 t first\n"
			     "ffffffff81000100 T second\n"
			     "ffffffff81000200 D data\n"
			     "ffffffff81000300 d more_data\n"
			     "ffffffff81000400 W weak\n"
			     "ffffffff81000500 T _etext\n"
			     "ffffffff82000000 T _sinittext\n"
			     "ffffffff82000000 t init\n"
			     "ffffffff82000100 T _einittext\n"
			     "ffffffffc0001f00 t mod_last\t[mod]\n"
			     "ffffffffc0001000 t mod_first\t[mod]\n"
			     "ffffffffc0010000 r mod_data\t[mod]\n"
			     "ffffffffc0020040 t other_only\t[other]\n"
			     "ffffffffc0030000 t bpf_prog_0123456789abcdef_a\t[bpf]\n"
			     "ffffffffc0030100 t bpf_prog_0123456789abcdef_b\t[bpf]\n"
			     "ffffffffc0930000 t bpf_prog_0123456789abcdef_c\t[bpf]\n";

TEST(finds_the_symbol_that_covers)
{
	struct ksyms *ks = load_text(kernel);
	struct ksym sym;

	CHECK_STR(name_at(ks, 0xffffffff81000000), "first");
	CHECK_STR(name_at(ks, 0xffffffff810000ff), "first");
	CHECK_STR(name_at(ks, 0xffffffff81000100), "second");
	CHECK_STR(name_at(ks, 0xffffffff810004ff), "weak");
	CHECK(ksyms_find(ks, 0xffffffff81000123, &sym));
	CHECK_EQ(sym.start, 0xffffffff81000100);
	CHECK(!sym.module);
	CHECK(!ksyms_hidden(ks));
	ksyms_free(ks);
}

TEST(never_answers_outside_of_text)
{
	struct ksyms *ks = load_text(kernel);

	CHECK_STR(name_at(ks, 0), "");
	CHECK_STR(name_at(ks, 0xffffffff80ffffff), "");
	CHECK_STR(name_at(ks, 0xffffffff81000200), "");
	CHECK_STR(name_at(ks, 0xffffffff810003ff), "");
	CHECK_STR(name_at(ks, 0xffffffff81000500), "");
	CHECK_STR(name_at(ks, 0xffffffff81ffffff), "");
	CHECK_STR(name_at(ks, 0xffffffff82000080), "init");
	CHECK_STR(name_at(ks, 0xffffffff82000100), "");
	CHECK_STR(name_at(ks, UINT64_MAX), "");
	ksyms_free(ks);
}

TEST(ends_symbols_with_their_module)
{
	struct ksyms *ks = load_text(kernel);

	CHECK_STR(name_at(ks, 0xffffffffc0001800), "mod_first[mod]");
	CHECK_STR(name_at(ks, 0xffffffffc0002f00), "mod_last[mod]");
	CHECK_STR(name_at(ks, 0xffffffffc0010000), "");
	CHECK_STR(name_at(ks, 0xffffffffc0020040), "other_only[other]");
	CHECK_STR(name_at(ks, 0xffffffffc0020fff), "other_only[other]");
	CHECK_STR(name_at(ks, 0xffffffffc0021000), "");
	CHECK_STR(name_at(ks, 0xffffffffc0030080), "bpf_prog_0123456789abcdef_a[bpf]");
	CHECK_STR(name_at(ks, 0xffffffffc003ffff), "bpf_prog_0123456789abcdef_b[bpf]");
	CHECK_STR(name_at(ks, 0xffffffffc0500000), "");
	CHECK_STR(name_at(ks, 0xffffffffc0930fff), "bpf_prog_0123456789abcdef_c[bpf]");
	CHECK_STR(name_at(ks, 0xffffffffc0931000), "");
	ksyms_free(ks);
}

TEST(prefers_the_name_that_a_person_would)
{
	struct ksyms *ks =
		load_text("1000 t local\n1000 W weak\n1000 T __global\n1000 T global_long\n"
			  "1000 T global\n1000 T __pfx_x\n"
			  "2000 T __pfx_foo\n2000 t foo\n"
			  "3000 T __pfx_alone\n"
			  "4000 W weak\n4000 t local\n"
			  "5000 D data\n5000 t code\n"
			  "6000 t __a\n6000 t b_c_d_e_f\n"
			  "7000 T __split_text_end\n7000 t behind_a_mark\n"
			  "8000 T _etext\n");

	CHECK_STR(name_at(ks, 0x1000), "global");
	CHECK_STR(name_at(ks, 0x2000), "foo");
	CHECK_STR(name_at(ks, 0x3000), "__pfx_alone");
	CHECK_STR(name_at(ks, 0x4000), "local");
	CHECK_STR(name_at(ks, 0x5000), "code");
	CHECK_STR(name_at(ks, 0x6000), "b_c_d_e_f");
	CHECK_STR(name_at(ks, 0x7000), "behind_a_mark");
	ksyms_free(ks);
}

TEST(knows_hidden_addresses)
{
	struct ksyms *ks = load_text("0000000000000000 T _stext\n0000000000000000 t foo\n"
				     "0000000000000000 t bar\t[mod]\n");

	CHECK(ksyms_hidden(ks));
	CHECK_STR(name_at(ks, 0), "");
	CHECK_STR(name_at(ks, 0xffffffff81000000), "");
	ksyms_free(ks);
}

TEST(ignores_per_cpu_symbols_at_zero)
{
	struct ksyms *ks = load_text("0000000000000000 A fixed_percpu_data\n"
				     "ffffffff81000000 T f\nffffffff81000010 T _etext\n");

	CHECK(!ksyms_hidden(ks));
	CHECK_STR(name_at(ks, 0xffffffff81000008), "f");
	ksyms_free(ks);
}

TEST(survives_broken_files)
{
	static const char *const broken[] = {
		"",
		"\n\n\n",
		"1000",
		"1000 ",
		"1000 T",
		"1000 T ",
		"zz T x\n",
		"1000 T x\t[",
		"1000 T x\t[]\n",
		"1000 T x\tmod\n",
		"11111111111111111 T x\n",
		"1000  x\n",
		"1000 T\tx\n",
		" 1000 T x\n",
	};

	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		struct ksyms *ks = load_text(broken[i]);

		CHECK(ks);
		CHECK_STR(name_at(ks, 0x5000), "");
		CHECK(!ksyms_hidden(ks));
		ksyms_free(ks);
	}
}

TEST(reads_a_last_line_without_newline)
{
	struct ksyms *ks = load_text("1000 T a\n1010 t b\t[m]");

	CHECK_STR(name_at(ks, 0x100f), "a");
	CHECK_STR(name_at(ks, 0x1010), "b[m]");
	ksyms_free(ks);
}

TEST(says_why_a_file_cannot_be_read)
{
	errno = 0;
	CHECK(!ksyms_load("/nonexistent/kallsyms"));
	CHECK_EQ(errno, ENOENT);
}

TEST(loads_the_running_kernel)
{
	struct ksyms *ks = ksyms_load(NULL);

	CHECK(ks);
	ksyms_free(ks);
}

TEST(knows_the_tracers_frames)
{
	static const char *const tracer[] = {
		"bpf_trace_run4",
		"__bpf_trace_sched_switch",
		"__traceiter_sched_switch",
		"bpf_iter_run_prog",
		"__bpf_prog_enter_recur",
		"__bpf_prog_exit",
		"bpf_trampoline_6442532816",
		"bpf_get_stack",
		"___bpf_get_stack",
		"__bpf_get_stackid.isra.0",
		"bpf_get_task_stack",
		"bpf_overflow_handler",
	};
	static const char *const others[] = {
		"schedule", "bpf_prog_load",	   "__bpf_prog_put",	    "__schedule",
		"",	    "perf_event_overflow", "__perf_event_overflow",
	};

	CHECK(ksym_is_program("bpf_prog_6deef7357e7b4530_sched_switch"));
	CHECK(ksym_is_program("bpf_prog_6deef7357e7b4530"));
	CHECK(!ksym_is_program("bpf_prog_"));
	CHECK(!ksym_is_program("bpf_prog_load"));
	CHECK(!ksym_is_program("bpf_prog_6deef7357e7b453"));
	CHECK(!ksym_is_program("bpf_prog_6deef7357e7b4530x"));
	for (size_t i = 0; i < sizeof(tracer) / sizeof(tracer[0]); i++)
		if (!ksym_is_tracer(tracer[i]))
			UNIT_FAIL("not taken for the tracer's: %s", tracer[i]);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (ksym_is_tracer(others[i]))
			UNIT_FAIL("taken for the tracer's: %s", others[i]);
}

/* The whole table and those made for some addresses must answer alike. */
static uint64_t count_differences(const struct ksyms *whole, const struct ksyms *some,
				  const uint64_t *addrs, size_t n)
{
	uint64_t differences = 0;
	struct ksym a, b;

	for (size_t i = 0; i < n; i++) {
		bool in_whole = ksyms_find(whole, addrs[i], &a);

		if (in_whole != ksyms_find(some, addrs[i], &b) ||
		    (in_whole && (a.start != b.start || strcmp(a.name, b.name) ||
				  strcmp(a.module ? a.module : "", b.module ? b.module : ""))))
			differences++;
	}
	return differences;
}

static void check_alike(const char *path, const uint64_t *addrs, size_t n)
{
	uint64_t *wanted = calloc(n, sizeof(*wanted));
	struct ksyms *whole = ksyms_load(path), *some, *copied;
	struct kallsyms_copy *copy = kallsyms_copy(path);

	memcpy(wanted, addrs, n * sizeof(*wanted));
	some = ksyms_load_for(path, wanted, n);
	memcpy(wanted, addrs, n * sizeof(*wanted));
	copied = ksyms_copied_for(copy, wanted, n);
	CHECK(whole && some && copied);
	CHECK_EQ(ksyms_hidden(some), ksyms_hidden(whole));
	CHECK_EQ(ksyms_hidden(copied), ksyms_hidden(whole));
	CHECK_EQ(count_differences(whole, some, addrs, n), 0);
	CHECK_EQ(count_differences(whole, copied, addrs, n), 0);
	ksyms_free(whole);
	ksyms_free(some);
	ksyms_free(copied);
	kallsyms_free(copy);
	free(wanted);
}

TEST(finds_the_same_with_the_lines_around_an_address)
{
	static uint64_t addrs[20000];
	uint64_t seed = 1;

	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++) {
		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		addrs[i] = 0xffffffff81000000ULL + (seed >> 33) % 0x3000000;
	}
	check_alike("/proc/kallsyms", addrs, ARRAY_SIZE(addrs));
}

/* Modules, addresses that go down, aliases, padding, lines that are none, names of some length. */
TEST(finds_the_same_in_a_copy_of_odd_lines)
{
	static const uint64_t addrs[] = { 0x1000, 0x1010, 0x1fff, 0x2000, 0x2010, 0x2048,
					  0x2050, 0x5000, 0x5010, 0x5020, 0x5fff, 0x6000,
					  0x4000, 0x4004, 0x4010, 0x9000, 0x9001, UINT64_MAX };
	char path[] = "/tmp/ksyms-odd-XXXXXX";
	FILE *f = fdopen(mkstemp(path), "w");

	fputs("0000000000001000 T __pfx_first\n0000000000001010 T first\n"
	      "0000000000002000 t __pfx_\n0000000000002000 T alias\n0000000000002010 W second\n"
	      "0000000000002048 D data\n"
	      "0000000000005000 t in_module\t[one]\n0000000000005010 t __pfx_in_module\t[one]\n"
	      "nothing\n\n0000000000005020 \n"
	      "0000000000004000 t lower\t[two]\n0000000000004004 t \t[two]\n"
	      "0000000000009000 t ",
	      f);
	for (int i = 0; i < 500; i++)
		fputs(i % 2 ? "x" : "yz", f);
	fputs("\nffffffffffffffff T last\t[bpf]\n", f);
	fclose(f);
	check_alike(path, addrs, ARRAY_SIZE(addrs));
	unlink(path);
}

TEST(a_copy_of_hidden_symbols_is_hidden_and_small)
{
	char path[] = "/tmp/ksyms-zero-XXXXXX";
	FILE *f = fdopen(mkstemp(path), "w");
	struct kallsyms_copy *copy;

	for (int i = 0; i < 100000; i++)
		fprintf(f, "0000000000000000 T name_%d\n", i);
	fclose(f);
	check_alike(path, (const uint64_t[]){ 1, 0x1000 }, 2);
	copy = kallsyms_copy(path);
	CHECK(kallsyms_bytes(copy) < 1500000); /* of 2.8 MB */
	kallsyms_free(copy);
	unlink(path);
	CHECK(!kallsyms_copy("/nonexistent/kallsyms"));
}

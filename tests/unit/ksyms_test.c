// SPDX-License-Identifier: GPL-2.0-only
/* Kernel symbols, out of the kernel's words; and which ones are a tracer's. */
#include "symbols/ksyms.h"
#include "unit.h"

#define CORE 0xffffffff81000000ULL

static const uint64_t addrs[] = { CORE,		 CORE + 0x1f,	CORE + 0x20,	  CORE + 0x5000,
				  CORE + 0x5001, CORE + 0x6000, CORE + 0x3f000000 };

static struct ksyms *parse(const char *answers)
{
	return ksyms_parse(addrs, ARRAY_SIZE(addrs), mem_strdup(answers));
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

/* As for one byte behind each address. */
static const char answers[] = "_stext+0x1/0x20\n"
			      "_stext+0x20/0x20\n"
			      "second.part.0+0x1/0x40\n"
			      "mod_function+0x31/0x40 [mod]\n"
			      "0xffffffff81005002\n"
			      "bpf_prog_0123456789abcdef_a+0xa/0x100 [bpf]\n"
			      "_RNv+C1a0+0x8/0x10 [other]\n";

TEST(tells_name_module_and_start)
{
	struct ksyms *ks = parse(answers);
	struct ksym sym;

	CHECK_STR(name_at(ks, CORE), "_stext");
	CHECK_STR(name_at(ks, CORE + 0x1f), "_stext");
	CHECK(ksyms_find(ks, CORE + 0x1f, &sym) && sym.start == CORE);
	CHECK_STR(name_at(ks, CORE + 0x20), "second.part.0");
	CHECK_STR(name_at(ks, CORE + 0x5000), "mod_function[mod]");
	CHECK(ksyms_find(ks, CORE + 0x5000, &sym) && sym.start == CORE + 0x4fd0);
	CHECK_STR(name_at(ks, CORE + 0x5001), "");
	CHECK_STR(name_at(ks, CORE + 0x6000), "bpf_prog_0123456789abcdef_a");
	CHECK_STR(name_at(ks, CORE + 0x3f000000), "_RNv+C1a0[other]");
	ksyms_free(ks);
}

TEST(knows_nothing_of_what_was_not_asked)
{
	struct ksyms *ks = parse(answers);

	CHECK_STR(name_at(ks, CORE + 1), "");
	CHECK_STR(name_at(ks, 0), "");
	CHECK_STR(name_at(ks, UINT64_MAX), "");
	ksyms_free(ks);
	ks = ksyms_parse(NULL, 0, mem_strdup(""));
	CHECK_STR(name_at(ks, CORE), "");
	ksyms_free(ks);
	ksyms_free(NULL);
}

TEST(has_no_name_where_the_answer_is_none)
{
	static const char *const broken[] = {
		"",
		"name",
		"name+",
		"name+0x",
		"name+0x1",
		"name+0x1/",
		"name+0x1/20",
		"name+0x1/0x",
		"+0x1/0x20",
		"name+0x0/0x20",
		"name+0x21/0x20",
		"name+1/0x20",
		"name+0x1/0x20x",
		"name+0x1/0x20 mod]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(broken); i++) {
		struct ksyms *ks = parse(broken[i]);

		CHECK_STR(name_at(ks, CORE), "");
		CHECK_STR(name_at(ks, CORE + 0x1f), "");
		ksyms_free(ks);
	}
}

TEST(a_last_line_may_lack_its_end)
{
	struct ksyms *ks = parse("first+0x1/0x20 [mod");

	CHECK_STR(name_at(ks, CORE), "first[mod]");
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
	for (size_t i = 0; i < ARRAY_SIZE(tracer); i++)
		if (!ksym_is_tracer(tracer[i]))
			UNIT_FAIL("not taken for the tracer's: %s", tracer[i]);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (ksym_is_tracer(others[i]))
			UNIT_FAIL("taken for the tracer's: %s", others[i]);
}

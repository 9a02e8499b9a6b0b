// SPDX-License-Identifier: GPL-2.0-only
/* Kernel symbols, out of the kernel's words; and which ones are a tracer's. */
#include "symbols/ksyms.h"
#include "unit.h"

#define CORE 0xffffffff81000000ULL

static const uint64_t addrs[] = { CORE,		 CORE + 0x1f,	CORE + 0x20,	  CORE + 0x5000,
				  CORE + 0x5001, CORE + 0x6000, CORE + 0x3f000000 };

static struct ksyms *ks;

static void parse(const char *answers)
{
	ksyms_free(ks);
	ks = ksyms_parse(addrs, ARRAY_SIZE(addrs), mem_strdup(answers));
}

AFTER_EACH()
{
	ksyms_free(ks);
	ks = NULL;
}

/* "name" or "name[module]" */
static const char *name_at(uint64_t addr)
{
	struct ksym sym;

	if (!ksyms_find(ks, addr, &sym))
		return NULL;
	return until_end(mem_printf(sym.module ? "%s[%s]" : "%s", sym.name, sym.module));
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
	struct ksym sym;

	parse(answers);
	CHECK_STR(NAMES(name_at, CORE, CORE + 0x1f, CORE + 0x20, CORE + 0x5000, CORE + 0x5001,
			CORE + 0x6000, CORE + 0x3f000000),
		  "_stext, _stext, second.part.0, mod_function[mod], -, "
		  "bpf_prog_0123456789abcdef_a, _RNv+C1a0[other]");
	CHECK(ksyms_find(ks, CORE + 0x1f, &sym) && sym.start == CORE);
	CHECK(ksyms_find(ks, CORE + 0x5000, &sym) && sym.start == CORE + 0x4fd0);
	CHECK_STR(NAMES(name_at, CORE + 1, 0, UINT64_MAX), "-, -, -"); /* was not asked for */
	parse("first+0x1/0x20 [mod"); /* a last line may lack its end */
	CHECK_STR(name_at(CORE), "first[mod]");
	ksyms_free(ks);
	ks = ksyms_parse(NULL, 0, mem_strdup(""));
	CHECK(!name_at(CORE));
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
		parse(broken[i]);
		CHECK_CASE_STR(broken[i], NAMES(name_at, CORE, CORE + 0x1f), "-, -");
	}
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
	CHECK(ksym_may_change("bpf_prog_6deef7357e7b4530_sched_switch"));
	CHECK(ksym_may_change("bpf_trampoline_6442532816"));
	CHECK(!ksym_may_change("bpf_prog_load"));
	CHECK(!ksym_may_change("vfs_read"));
	for (size_t i = 0; i < ARRAY_SIZE(tracer); i++)
		if (!ksym_is_tracer(tracer[i]))
			UNIT_FAIL("not taken for the tracer's: %s", tracer[i]);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (ksym_is_tracer(others[i]))
			UNIT_FAIL("taken for the tracer's: %s", others[i]);
}

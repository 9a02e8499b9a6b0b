// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sizes of the programs as the verifier reports them, and as it would on kernels that are not here.
 */
#include <ctype.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "abi/runtimes.h"
#include "abi/stack.h"
#include "abi/stack_memory.h"
#include "abi/unwind_layout.h"
#include "run/features.h"
#include "live.h"

#define MAX_INSNS	 22000
#define MAX_OLD_INSNS	 30000 /* paid by those who trace such a Python */
#define MAX_JAVA_INSNS	 37000 /* older kernels go through more than this one */
#define MAX_UPROBE_STACK 64    /* on Linux 7.2 what is beyond gets overwritten */
#define LOG_BYTES	 (1 << 16)
#define MAX_PROGRAMS	 32
#define LOG_STATS	 4 /* BPF_LOG_STATS */

#define MAX_STACK  512 /* MAX_BPF_STACK, of functions that call each other */
#define STACK_UNIT 32  /* of which a function takes a multiple: check_max_stack_depth() */

struct verdict {
	unsigned int n_insns;
	int max_stack; /* of any of its functions */
	int deepest;   /* of all that call each other, by the count of older kernels */
};

static void set_section(struct bpf_object *object, const char *section, const void *value,
			size_t size)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
		if (strstr(bpf_map__name(map), section))
			bpf_map__set_initial_value(map, value, size);
}

static void leave_out(struct bpf_object *object, const char *name)
{
	struct bpf_program *prog = bpf_object__find_program_by_name(object, name);

	if (prog)
		bpf_program__set_autoload(prog, false);
}

/* As the tools do where they keep something about each task. */
static void choose_task_states(struct bpf_object *object)
{
	bool has_storage = libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT,
						   BPF_FUNC_task_storage_get, NULL) == 1;
	struct bpf_map *map;

	bpf_object__for_each_map(map, object)
		if (!strncmp(bpf_map__name(map), "task_s", 6))
			bpf_map__set_autocreate(map, has_storage == !strstr(bpf_map__name(map),
									    "_by_tid"));
	leave_out(object, has_storage ? "task_state_exit" : "task_state_free");
	if (has_storage)
		leave_out(object, "task_state_exec");
	set_section(object, "rodata.task_state", &has_storage, sizeof(has_storage));
}

/* "stack depth 56+0+24": one number per function. */
static int read_stack_list(const char *at)
{
	int max = -1;
	char *end;

	for (at += strlen("stack depth "); isdigit((unsigned char)*at);
	     at = *end == '+' ? end + 1 : "") {
		int depth = (int)strtol(at, &end, 10);

		max = depth > max ? depth : max;
	}
	return max;
}

/*
 * From Linux 7.3 on a line for each: "subprog 1 (name) global insns_self 72 insns_total 72 stack
 * 48".
 */
static int read_max_stack(const char *log)
{
	static const char total[] = " insns_total ";
	const char *at = strstr(log, "stack depth ");
	int max = at ? read_stack_list(at) : -1, depth;

	for (at = log; (at = strstr(at, total)); at += strlen(total))
		if (sscanf(at, " insns_total %*d stack %d", &depth) == 1 && depth > max)
			max = depth;
	return max;
}

static struct verdict read_verdict(const char *log)
{
	const char *at = strstr(log, "processed ");
	struct verdict v = { .max_stack = read_max_stack(log) };

	v.n_insns = at ? (unsigned int)atoi(at + strlen("processed ")) : 0;
	return v;
}

/* A session's halves are programs of their own; probes of the kernel are not there everywhere. */
static void leave_probes_out(struct bpf_object *object)
{
	leave_out(object, "memleak_session");
	leave_out(object, "latency_begin");
	leave_out(object, "latency_end");
}

/* It looks symbols up, which not every kernel lets a program do: as the tool does then. */
static void leave_finder_out(struct bpf_object *object)
{
	if (features_kallsyms_lookup())
		leave_out(object, "kernel_tables_find");
}

/* Before 5.15 there are no cookies: pagefaults has a program for each kind of fault then. */
static bool lacks_cookies(const struct bpf_program *prog)
{
	const char *name = bpf_program__name(prog);
	size_t length = strlen(name);

	return length > 5 && !strcmp(name + length - 5, "_both") &&
	       libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_get_attach_cookie,
				       NULL) != 1;
}

/* Before 5.12 additions return nothing, which biolat's programs for bios need. */
static bool lacks_bios(const struct bpf_program *prog)
{
	struct btf *types =
		strstr(bpf_program__name(prog), "_bio") ? btf__load_vmlinux_btf() : NULL;
	bool lacks = types && !features_member(types, "bio", "bi_bdev");

	btf__free(types);
	return lacks;
}

/* On tracepoints that the kernel doesn't have: of locks, before 5.19. */
static void leave_absent_out(struct bpf_object *object)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, object) {
		const char *name = bpf_program__section_name(prog);

		if (lacks_cookies(prog) || lacks_bios(prog) ||
		    (!strncmp(name, "tp_btf/", 7) &&
		     libbpf_find_vmlinux_btf_id(name + 7, BPF_TRACE_RAW_TP) < 0))
			bpf_program__set_autoload(prog, false);
	}
}

/* ---- stacks of functions that call each other ---- */

/*
 * Linux 5.10 and 6.1 count the stack of functions that are never called, too: they check sizes
 * before they remove dead code. 6.12 and later accept programs that 5.10 and 6.1 refuse.
 */
struct code {
	const struct bpf_insn *insns;
	size_t n;
	bool *begins; /* of each instruction: a function does there */
};

static bool is_call(const struct bpf_insn *insn)
{
	return insn->code == (BPF_JMP | BPF_CALL) && insn->src_reg == BPF_PSEUDO_CALL;
}

static bool is_function_address(const struct bpf_insn *insn)
{
	return insn->code == (BPF_LD | BPF_IMM | BPF_DW) && insn->src_reg == BPF_PSEUDO_FUNC;
}

static struct code read_code(const struct bpf_program *prog)
{
	struct code c = { bpf_program__insns(prog), bpf_program__insn_cnt(prog), NULL };

	c.begins = calloc(c.n + 1, sizeof(*c.begins));
	c.begins[0] = c.begins[c.n] = true;
	for (size_t i = 0; i < c.n; i++)
		if (is_call(&c.insns[i]) || is_function_address(&c.insns[i]))
			c.begins[i + 1 + (size_t)c.insns[i].imm] = true;
	return c;
}

/* How far below the frame's upper end an instruction goes. copies: registers that hold that. */
static int reach(const struct bpf_insn *insn, unsigned int *copies)
{
	unsigned int dst = 1U << insn->dst_reg, class = BPF_CLASS(insn->code);
	bool is_add = insn->code == (BPF_ALU64 | BPF_ADD | BPF_K) && *copies & dst;

	if (class == BPF_LDX && insn->src_reg == BPF_REG_10)
		return -insn->off;
	if (class == BPF_ST || class == BPF_STX)
		return insn->dst_reg == BPF_REG_10 ? -insn->off : 0;
	if (class == BPF_ALU64 || class == BPF_LDX)
		*copies &= ~dst;
	if (insn->code == (BPF_ALU64 | BPF_MOV | BPF_X) && insn->src_reg == BPF_REG_10)
		*copies |= dst;
	return is_add ? -insn->imm : 0;
}

/* Returns the stack bytes of the function that begins at first, with those of its callees. */
static int stack_of(const struct code *c, size_t first)
{
	int own = 1, below = 0;
	unsigned int copies = 0;

	for (size_t i = first; i == first || !c->begins[i]; i++) {
		int bytes = reach(&c->insns[i], &copies), called;

		own = bytes > own ? bytes : own;
		if (!is_call(&c->insns[i]))
			continue;
		called = stack_of(c, i + 1 + (size_t)c->insns[i].imm);
		below = called > below ? called : below;
	}
	return (own + STACK_UNIT - 1) / STACK_UNIT * STACK_UNIT + below;
}

static int deepest_of(const struct bpf_program *prog)
{
	struct code c = read_code(prog);
	int bytes = c.n ? stack_of(&c, 0) : 0;

	free(c.begins);
	return bytes;
}

/* ---- what the verifier says ---- */

enum walking {
	BY_FRAME_POINTERS,
	BY_TABLES,
	AS_EVENTS,   /* and each count is sent */
	WITH_PYTHON, /* by tables, as the following */
	WITH_OLD_PYTHON,
	WITH_NODE,
	WITH_JAVA,
	WITH_ALL,
	WALKINGS,
};

static const struct {
	const char *name;
	uint32_t kinds;
	unsigned int max_insns;
} walkings[WALKINGS] = {
	[BY_FRAME_POINTERS] = { " by frame pointers", 0, MAX_INSNS },
	[BY_TABLES] = { "", 0, MAX_INSNS },
	[AS_EVENTS] = { " as events", 0, MAX_INSNS },
	[WITH_PYTHON] = { " with Python", RUNTIME_BIT(RUNTIME_PYTHON), MAX_INSNS },
	[WITH_OLD_PYTHON] = { " with old Python",
			      RUNTIME_BIT(RUNTIME_PYTHON) | RUNTIME_BIT(RUNTIME_PYTHON_OLD),
			      MAX_OLD_INSNS },
	[WITH_NODE] = { " with node", RUNTIME_BIT(RUNTIME_V8), MAX_OLD_INSNS },
	[WITH_JAVA] = { " with Java", RUNTIME_BIT(RUNTIME_HOTSPOT), MAX_JAVA_INSNS },
	[WITH_ALL] = { " with all runtimes", RUNTIME_ALL, 2 * MAX_OLD_INSNS },
};

static void set_settings(struct bpf_object *object, enum walking walking)
{
	struct stack_settings stack = { true, true, .events = walking == AS_EVENTS };
	bool by_cfi = walking != BY_FRAME_POINTERS;
	struct unwind_settings unwind = { unwind_address_bits(), by_cfi };
	struct stack_memory_settings memory = { .n = 1024 };
	struct runtime_settings runtimes = { walkings[walking].kinds, .lines = true,
					     .watched = by_cfi };

	set_section(object, "rodata.stack", &stack, sizeof(stack));
	set_section(object, "rodata.unwind", &unwind, sizeof(unwind));
	set_section(object, "rodata.memory", &memory, sizeof(memory));
	set_section(object, "rodata.runtimes", &runtimes, sizeof(runtimes));
}

/* The largest of an object's programs. False: there is no such file. */
static bool verify(const char *path, enum walking walking, bool only_uprobes, struct verdict *worst)
{
	struct bpf_object *object = access(path, R_OK) ? NULL : bpf_object__open(path);
	static char logs[MAX_PROGRAMS][LOG_BYTES];
	struct bpf_program *prog;
	size_t n = 0;
	int err;

	*worst = (struct verdict){ .max_stack = -1 };
	if (!object)
		return false;
	leave_probes_out(object);
	leave_finder_out(object);
	leave_absent_out(object);
	set_settings(object, walking);
	choose_task_states(object);
	bpf_object__for_each_program(prog, object) {
		CHECK(n < MAX_PROGRAMS);
		logs[n][0] = '\0'; /* of one that isn't loaded */
		bpf_program__set_log_buf(prog, logs[n++], LOG_BYTES);
		bpf_program__set_log_level(prog, LOG_STATS);
	}
	err = bpf_object__load(object);
	CHECK_EQ(err, 0);
	bpf_object__for_each_program(prog, object) {
		size_t size;
		const char *text = bpf_program__log_buf(prog, &size);
		struct verdict v = read_verdict(text);
		/* libbpf hasn't linked the functions of a program that isn't loaded. */
		int deepest = bpf_program__autoload(prog) ? deepest_of(prog) : 0;

		if (only_uprobes && bpf_program__type(prog) != BPF_PROG_TYPE_KPROBE)
			v.max_stack = -1;

		printf("%s%s: %s: %u instructions verified, %d bytes of stack, %d of all calls\n",
		       path, walkings[walking].name, bpf_program__name(prog), v.n_insns,
		       v.max_stack, deepest);
		if (v.max_stack < 0 || err)
			printf("the verifier said: %s\n", text);
		worst->n_insns = v.n_insns > worst->n_insns ? v.n_insns : worst->n_insns;
		worst->max_stack = v.max_stack > worst->max_stack ? v.max_stack : worst->max_stack;
		worst->deepest = deepest > worst->deepest ? deepest : worst->deepest;
	}
	bpf_object__close(object);
	return true;
}

static const char *object_path(const char *name)
{
	return text_of("%s/%s.bpf.o", tool_path("bpf"), name);
}

/* By each way of walking: a few percent of what the verifier would go through. */
static void check_size(const char *name)
{
	const char *path = object_path(name);
	struct verdict verdict;

	if (access(path, R_OK))
		SKIP("no %s", path);
	for (enum walking walking = BY_FRAME_POINTERS; walking < WALKINGS; walking++) {
		CHECK(verify(path, walking, false, &verdict));
		CHECK(verdict.n_insns > 0 && verdict.n_insns < walkings[walking].max_insns);
	}
}

TEST(the_verifier_has_little_to_do)
{
	static const char *const names[] = { "profile", "waits", "locks", "biolat" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		check_size(names[i]);
}

TEST(functions_that_call_each_other_have_stack_enough_on_old_kernels)
{
	static const char *const names[] = { "profile", "waits",    "locks",	 "runqlat",
					     "biolat",	"syscount", "pagefaults" };
	struct verdict v;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!verify(object_path(names[i]), WITH_ALL, false, &v))
			SKIP("no %s", object_path(names[i]));
		CHECK(v.deepest > 0);
		if (v.deepest > MAX_STACK)
			UNIT_FAIL("%s: %d bytes", names[i], v.deepest);
	}
}

static bool is_loadable(const char *path)
{
	struct bpf_object *object = bpf_object__open(path);
	bool ok;

	if (object)
		leave_probes_out(object);
	ok = object && !bpf_object__load(object);

	bpf_object__close(object);
	return ok;
}

static void check_stacks(const char *name)
{
	const char *path = object_path(name);
	struct verdict v;

	for (enum walking walking = BY_TABLES; walking < WALKINGS; walking++) {
		if (!verify(path, walking, true, &v))
			SKIP("no %s", path);
		CHECK(v.max_stack >= 0);
		CHECK(v.max_stack < MAX_UPROBE_STACK);
	}
}

TEST(a_uprobe_programs_functions_have_small_stacks)
{
	bool is_early = !access(object_path("oracle"), R_OK) && !is_loadable(object_path("oracle"));

	check_stacks(is_early ? "oracle_early"
			      : "oracle"); /* before 5.12; make oracle builds them */
}

TEST(memleaks_functions_have_small_stacks)
{
	if (!access(object_path("memleak"), R_OK) && !is_loadable(object_path("memleak")))
		SKIP("it takes Linux 5.12, and says so: see memleak_test");
	check_stacks("memleak");
}

// SPDX-License-Identifier: GPL-2.0-only
/* HotSpot: numbers, names, and descriptions of processes that lie. */
#include "runtimes/hotspot/blob.h"
#include "runtimes/hotspot/method.h"
#include "runtimes/hotspot/scopes.h"
#include "runtimes/hotspot/hotspot.h"
#include "runtimes/hotspot/vm.h"
#include "rule_text.h"

/* ---- numbers and names ---- */

static const struct {
	uint8_t bytes[5];
	size_t n;
	bool is_sparse;
	uint32_t number;
} numbers[] = {
	{ { 0 }, 1, false, 0 },
	{ { 191 }, 1, false, 191 },
	{ { 192, 0 }, 2, false, 192 },
	{ { 193, 2 }, 2, false, 193 + 2 * 64 },
	{ { 1 }, 1, true, 0 },
	{ { 191 }, 1, true, 190 },
	{ { 192, 1 }, 2, true, 191 },
	{ { 255, 255, 255, 255, 255 },
	  5,
	  false,
	  255U + (255U << 6) + (255U << 12) + (255U << 18) + (255U << 24) },
};

TEST(numbers_have_digits_to_base_64)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		size_t at = 0;

		CHECK_EQ(hotspot_number(numbers[i].bytes, numbers[i].n, &at, numbers[i].is_sparse),
			 numbers[i].number);
		CHECK_EQ(at, numbers[i].n);
	}
}

TEST(a_number_ends_with_its_bytes)
{
	const uint8_t bytes[] = { 200, 200 };
	size_t at = 0;

	hotspot_number(bytes, sizeof(bytes), &at, false);
	CHECK_EQ(at, sizeof(bytes));
}

static const struct {
	const char *class_name, *method_name, *name;
} names[] = {
	{ "java/lang/String", "indexOf", "java.lang.String.indexOf" },
	{ "Load", "<init>", "Load.<init>" },
	{ "Load$$Lambda$14+0x0000000800c03000", "run", "Load$$Lambda$14.run" },
	{ "a/Load$$Lambda+0x00007f2a77ec7000", "run", "a.Load$$Lambda.run" },
	{ "Load$$Lambda$1/471910020", "run", "Load$$Lambda$1.run" },
	{ "java/lang/invoke/LambdaForm$MH/0x00ab", "invoke",
	  "java.lang.invoke.LambdaForm$MH.invoke" },
};

TEST(names_are_those_of_the_source)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		char *name = hotspot_join_name(names[i].class_name, strlen(names[i].class_name),
					       names[i].method_name, strlen(names[i].method_name));

		CHECK_STR(name, names[i].name);
		free(name);
	}
}

/* ---- processes that lie ---- */

/* This process plays the one that is read. */
struct field {
	const char *type, *name, *text;
	uint32_t is_static, unused;
	uint64_t offset;
	const void *address;
};

struct type {
	const char *name, *super;
	uint32_t kinds[4];
	uint64_t size;
};

static int read_tables(const struct field *fields, const struct type *types, struct hotspot_vm *vm)
{
	const struct hotspot_tables tables = { (uint64_t)&fields, (uint64_t)&types };

	return hotspot_vm_read(vm, &tables, getpid(), 0);
}

TEST(tables_without_an_end_are_refused)
{
	static const struct type types[1];
	static struct field endless[64];
	struct hotspot_vm vm;

	for (size_t i = 0; i < ARRAY_SIZE(endless); i++)
		endless[i] = (struct field){ "CodeBlob", "_size", "int", 0, 0, ~0ULL, NULL };
	CHECK_EQ(read_tables(endless, types, &vm), -EAGAIN);
	CHECK_EQ(read_tables(NULL, NULL, &vm), -EAGAIN);
}

TEST(a_table_without_needed_fields_is_refused)
{
	static const char release[] = "17.0.1", *at = release;
	static const struct field fields[] = {
		{ "Abstract_VM_Version", "_s_vm_release", "char*", 1, 0, 0, &at },
		{ "CodeBlob", "_size", "int", 0, 0, 1ULL << 60, NULL },
		{ 0 },
	};
	static const struct type types[] = {
		{ .name = "ConstMethod", .size = 48 },
		{ .name = "HeapBlock", .size = 1ULL << 60 },
		{ 0 },
	};
	struct hotspot_vm vm;

	CHECK_EQ(read_tables(fields, types, &vm), -ENOTSUP);
}

/* A heap of four segments of 128 bytes, whose map and blocks are what a test makes them. */
static uint8_t heap[512] __attribute__((aligned(16)));
static uint8_t segments[4];

static struct hotspot_layout lying_layout(void)
{
	struct hotspot_layout layout = { .log2_segment = 7, .header_bytes = 16, .block_used = 8 };

	layout.heaps[0] = (struct hotspot_heap){ (uint64_t)heap, (uint64_t)heap + sizeof(heap),
						 (uint64_t)segments };
	return layout;
}

TEST(a_map_of_segments_that_leads_nowhere_finds_no_block)
{
	struct hotspot_layout layout = lying_layout();
	struct hotspot_blob blob;

	memset(segments, 1, sizeof(segments)); /* back, out of the map */
	CHECK(!hotspot_blob_find(&layout, getpid(), (uint64_t)heap + 200, &blob));
	memset(segments, 255, sizeof(segments));
	CHECK(!hotspot_blob_find(&layout, getpid(), (uint64_t)heap + 200, &blob));
	CHECK(!hotspot_blob_find(&layout, getpid(), (uint64_t)heap + sizeof(heap), &blob));
}

TEST(a_block_of_any_contents_is_bounded)
{
	struct hotspot_layout layout = lying_layout();
	struct hotspot_blob blob;

	layout.code_begin = layout.code_end = layout.frame_words = 24;
	memset(segments, 0, sizeof(segments));
	memset(heap, 255, sizeof(heap));
	CHECK_EQ(hotspot_blob_read(&layout, getpid(), (uint64_t)heap, &blob), 0);
	memset(heap, 0, 16);
	heap[0] = heap[8] = 1; /* one segment, in use */
	CHECK_EQ(hotspot_blob_read(&layout, getpid(), (uint64_t)heap, &blob), 1);
	CHECK(blob.end >= blob.begin);
	CHECK_EQ(blob.frame_bytes, 0);
}

#define CLAIMED_BYTES (512U << 10)

struct ends {
	uint64_t low; /* address of the first possible end */
	size_t n;
};

static void count_ends(uint64_t address, const struct unwind_rule *rule, void *arg)
{
	struct ends *ends = arg;

	(void)rule;
	ends->n += address >= ends->low;
}

/* Stubs that all claim the same code, more than a JVM has. */
TEST(code_of_stubs_is_bounded)
{
	static struct {
		uint64_t segments;
		uint8_t is_used;
		uint32_t begin, end;
		const char *name;
		uint8_t unused[96];
	} stubs[2 * CLAIMED_BYTES / 128];
	struct hotspot_layout layout = { .log2_segment = 7,
					 .header_bytes = 16,
					 .block_used = 8,
					 .code_begin = 12,
					 .code_end = 16,
					 .name = 24,
					 .frame_words = 64 };
	struct ends ends = { (uint64_t)stubs + CLAIMED_BYTES, 0 };

	for (size_t i = 0; i < 64; i++) {
		stubs[i].segments = stubs[i].is_used = 1;
		stubs[i].begin = 64 * 128;
		stubs[i].end = stubs[i].begin + CLAIMED_BYTES;
		stubs[i].name = "StubRoutines (1)";
	}
	layout.interpreter_low = layout.heaps[0].low = (uint64_t)stubs;
	layout.heaps[0].high = (uint64_t)stubs + sizeof(stubs);
	hotspot_stubs_visit(&layout, getpid(), &(struct runtime_rows){ count_ends, &ends });
	CHECK_EQ(ends.n, 16);
}

static void note_rule(uint64_t address, const struct unwind_rule *rule, void *arg)
{
	(void)address;
	if (rule->kind != UNWIND_GAP)
		*(struct unwind_rule *)arg = *rule;
}

/* Calls whose targets change go through stubs that are made while the program runs. */
TEST(stubs_of_inline_caches_have_a_rule_before_they_are_made)
{
	struct {
		uint64_t segments, used;
		uint32_t begin, end;
		const char *name;
		uint32_t frame_words;
		uint8_t code[92];
	} stub = { 1, 1, 32, 112, "InlineCacheBuffer", 0, {} };
	const struct hotspot_layout layout = {
		.heaps = { { (uint64_t)&stub, (uint64_t)(&stub + 1), (uint64_t)segments } },
		.interpreter_low = (uint64_t)&stub,
		.log2_segment = 7,
		.header_bytes = 16,
		.block_used = 8,
		.code_begin = 16,
		.code_end = 20,
		.name = 24,
		.frame_words = 32,
	};
	struct unwind_rule rule = {};

	hotspot_stubs_visit(&layout, getpid(), &(struct runtime_rows){ note_rule, &rule });
	CHECK_STR(PRINTED(f, print_rule(f, rule)), "sp+8");
}

#define OUTER 0x1000
#define INNER 0x2000

/* A compiled method with a method inlined at code + 16, as the first block of the heap. */
struct compiled_block {
	uint64_t segments, used;	       /* header */
	uint64_t method, code_begin, code_end; /* fields of the blob */
	uint32_t id, complete, pcs, scopes, methods, end;
	uint8_t code[32];
	int32_t description[8];
	uint64_t outer, inner;
	uint8_t numbers[8]; /* at 1: the method itself; at 4: the inlined one, called by it */
};

#define BLOB_OFFSET(member) ((int)offsetof(struct compiled_block, member) - 16)

static struct hotspot_vm vm_of_block(void)
{
	struct hotspot_vm vm = { .layout = lying_layout() };
	struct hotspot_layout *l = &vm.layout;
	struct hotspot_fields *f = &vm.fields;

	memset(f, 0xff, offsetof(struct hotspot_fields, heap));
	l->has_code_addresses = true;
	l->method = offsetof(struct compiled_block, method);
	l->code_begin = offsetof(struct compiled_block, code_begin);
	l->code_end = offsetof(struct compiled_block, code_end);
	l->compile_id = offsetof(struct compiled_block, id);
	l->frame_complete = offsetof(struct compiled_block, complete);
	l->frame_words = offsetof(struct compiled_block, segments);
	f->scopes_pcs = BLOB_OFFSET(pcs);
	f->scopes_offset = BLOB_OFFSET(scopes);
	f->metadata = BLOB_OFFSET(methods);
	f->dependencies = BLOB_OFFSET(end);
	return vm;
}

static void compile_block(void)
{
	struct compiled_block block = {
		.segments = 2,
		.used = 1,
		.method = OUTER,
		.code_begin = (uint64_t)heap + offsetof(struct compiled_block, code),
		.code_end = (uint64_t)heap + offsetof(struct compiled_block, description),
		.id = 7,
		.complete = 8,
		.pcs = BLOB_OFFSET(description),
		.scopes = BLOB_OFFSET(numbers),
		.methods = BLOB_OFFSET(outer),
		.end = BLOB_OFFSET(outer),
		.code = { [10] = 0xc3, [20] = 0xc3, [22] = 0xeb, 0xf4, 0xe9, 0, 1, 0, 0 },
		.description = { 16, 4, 0, 0, 33, 0 },
		.outer = OUTER,
		.inner = INNER,
		.numbers = { 0, 0, 1, 6, 1, 2, 9 },
	};

	_Static_assert(sizeof(block) <= 256, "two segments");
	memcpy(heap, &block, sizeof(block));
}

TEST(inlined_methods_are_those_of_the_next_described_instruction)
{
	static const struct {
		uint64_t at;
		bool is_return;
		uint32_t id;
		size_t n;
	} cases[] = {
		{ 16, true, 7, 2 },  /* after the call of a method */
		{ 12, true, 7, 2 },  /* after the call of a routine that never stops */
		{ 12, false, 7, 2 }, /* interrupted */
		{ 4, false, 7, 1 },  /* the frame is being made */
		{ 20, false, 7, 1 }, /* it returns */
		{ 10, false, 7, 1 }, /* likewise, before the instruction that is described next */
		{ 22, true, 7, 2 },  /* a slow path jumps back to 12 */
		{ 24, true, 7, 1 },  /* another one leaves the method */
		{ 16, true, 8, 0 },  /* freed, and another method is there */
	};
	struct hotspot_vm vm = vm_of_block();

	compile_block();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct hotspot_compiled compiled = { (uint64_t)heap + 16, OUTER,
							   cases[i].id };
		uint64_t code = (uint64_t)heap + offsetof(struct compiled_block, code);
		struct hotspot_scope scopes[4] = {};

		CHECK_EQ(hotspot_scopes_find(&vm, getpid(), &compiled, code + cases[i].at,
					     cases[i].is_return, scopes, ARRAY_SIZE(scopes)),
			 cases[i].n);
		CHECK_EQ(scopes[0].method, cases[i].n == 2 ? INNER : cases[i].n ? OUTER : 0);
		CHECK_EQ(scopes[1].method, cases[i].n == 2 ? OUTER : 0);
	}
	heap[offsetof(struct compiled_block, used)] = 0;
	CHECK_EQ(hotspot_scopes_find(&vm, getpid(),
				     &(struct hotspot_compiled){ (uint64_t)heap + 16, OUTER, 7 },
				     (uint64_t)heap + offsetof(struct compiled_block, code) + 16,
				     true, (struct hotspot_scope[4]){}, 4),
		 0);
}

/* ---- processes that are starting ---- */

/* A buffer of code, as it is while the interpreter is made: end is where the code ends. */
static struct queue {
	uint64_t buffer;
	uint32_t limit, end;
} queue = { 0x1000, 0x500, 0 }, *interpreter = &queue;

static int describe_starting(struct hotspot_layout *layout)
{
	static struct code_heap {
		uint64_t low, high, segments;
		uint32_t log2;
	} code = { 0x1000, 0x2000, 0x3000, 7 }, *heaps = &code;
	static uint64_t call_stub = 0x1800;
	const struct hotspot_vm vm = {
		.fields = { .heap = (uint64_t)&heaps,
			    .interpreter = (uint64_t)&interpreter,
			    .call_stub = (uint64_t)&call_stub,
			    .heap_segments = offsetof(struct code_heap, segments),
			    .heap_log2 = offsetof(struct code_heap, log2),
			    .space_high = offsetof(struct code_heap, high),
			    .queue_end = offsetof(struct queue, end) },
	};

	return hotspot_vm_describe(&vm, getpid(), 0, layout);
}

TEST(the_interpreter_ends_with_its_code)
{
	struct hotspot_layout layout;

	queue.end = 0;
	CHECK_EQ(describe_starting(&layout), -EAGAIN);
	queue.end = 0x300;
	CHECK_EQ(describe_starting(&layout), 0);
	CHECK_EQ(layout.interpreter_low, 0x1000);
	CHECK_EQ(layout.interpreter_high, 0x1300);
}

// SPDX-License-Identifier: GPL-2.0-only
/* HotSpot as a runtime; see hotspot.h. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "abi/unwind_regs.h"
#include "base/container.h"
#include "base/hash.h"
#include "base/load.h"
#include "base/mem.h"
#include "base/peek.h"
#include "elf/x86_rows.h"
#include "runtimes/hotspot/blob.h"
#include "runtimes/hotspot/hotspot.h"
#include "runtimes/hotspot/method.h"
#include "runtimes/hotspot/scopes.h"
#include "runtimes/hotspot/vm.h"
#include "runtimes/hotspot/walk.h"
#include "unwind/code_rows.h"

/* ---- stubs: code made at start, in assembly, without a description ---- */

/* Copying arrays, comparing strings and cryptography run there. */

#define WORD		8
#define CODE_MAX_BYTES	(1U << 20) /* limit per stub */
#define CODE_ALL_BYTES	(8U << 20) /* limit of all stubs; a JVM has 1 MB */
#define STUB_BLOCKS_MAX 65536

struct visit {
	uint64_t begin;
	const struct runtime_rows *rows;
};

static void add_at(size_t offset, const struct unwind_rule *rule, void *arg)
{
	const struct visit *visit = arg;

	visit->rows->add(visit->begin + offset, rule, visit->rows->arg);
}

/* Returns true for stubs that HotSpot makes one by one in the blob, and that never move rsp. */
static bool is_frameless(const struct hotspot_blob *blob)
{
	return !strcmp(blob->name, "vtable chunks") || !strcmp(blob->name, "InlineCacheBuffer") ||
	       !strcmp(blob->name, "native signature handlers");
}

/* Returns true if the name contains one of the parts, a list that NULL ends. */
static bool is_named(const struct hotspot_blob *blob, const char *const parts[])
{
	while (*parts && !strstr(blob->name, *parts))
		parts++;
	return *parts;
}

/*
 * Returns true for stubs that are entered with a return address on the stack. Others, such as most
 * code of exceptions, are jumped to from anywhere; adapters move the return address; a
 * continuation's stubs are on another stack.
 */
static bool is_wanted(const struct hotspot_blob *blob)
{
	static const char *const others[] = { "nmethod", "Interpreter",	 "I2C/C2I",	"afepoint",
					      "Deopt",	 "UncommonTrap", "ontinuation", NULL };
	static const char *const entered[] = { "throw_", "handle_exception", "forward_exception",
					       "unwind_exception", NULL };
	static const char *const frameless[] = { "barrier_slow",     "flush_icache",
						 "jni_fast_",	     "slow_subtype_check",
						 "unwind_exception", NULL };

	if (is_named(blob, others) || (strstr(blob->name, "xception") && !is_named(blob, entered)))
		return false;
	return blob->frame_bytes || is_named(blob, frameless) ||
	       !strncmp(blob->name, "StubRoutines", 12) || is_frameless(blob);
}

/* Reads all code of a stub; NULL: unreadable. */
static uint8_t *read_code(pid_t pid, uint64_t begin, size_t bytes)
{
	uint8_t *code = mem_zalloc(bytes, 1);

	if (peek_all(pid, begin, code, bytes))
		return code;
	free(code);
	return NULL;
}

/* Adds the rules that are derived from a stub's instructions. */
static void add_derived(const struct hotspot_blob *blob, const uint8_t *code, struct visit *visit)
{
	struct x86_code stub = { .code = code,
				 .bytes = blob->end - blob->begin,
				 .has_several = !strncmp(blob->name, "StubRoutines", 12),
				 .begins_framed = strstr(blob->name, "forward_exception"),
				 .has_frame = blob->frame_bytes };
	struct cfi_table rows = {};

	if (!UNWIND_IS_ARM64) {
		x86_rows_derive(&stub, add_at, visit);
		return;
	}
	code_rows_fill_code(&rows, code, stub.bytes);
	for (size_t i = 0; i < rows.count; i++) {
		struct cfi_row row = cfi_row(&rows, i);

		add_at(row.vaddr, &row.rule, visit);
	}
	cfi_free(&rows);
}

/* Adds a stub's rules. */
static void add_stub(const struct hotspot_blob *blob, pid_t pid, const struct runtime_rows *rows)
{
	static const struct unwind_rule gap = { .kind = UNWIND_GAP };
	static const struct unwind_rule at_call = {
		.kind = UNWIND_SP,
		.cfa_off = UNWIND_IS_ARM64 ? 0 : WORD,
		.extra_place = UNWIND_IS_ARM64 ? UNWIND_RA_IN_LINK : 0,
	};
	size_t bytes = blob->end - blob->begin;
	struct visit visit = { blob->begin, rows };
	uint8_t *code = bytes <= CODE_MAX_BYTES ? read_code(pid, blob->begin, bytes) : NULL;

	if (is_frameless(blob))
		add_at(0, &at_call, &visit);
	else if (code)
		add_derived(blob, code, &visit);
	add_at(bytes, &gap, &visit);
	free(code);
}

/* Returns true for a stub that gets rules, and subtracts its bytes from those that are left. */
static bool take_stub(const struct hotspot_blob *blob, const struct hotspot_heap *heap,
		      uint64_t *left)
{
	uint64_t bytes = blob->end - blob->begin;

	if (!blob->is_used || !is_wanted(blob) || blob->end > heap->high || bytes > *left)
		return false;
	*left -= bytes;
	return true;
}

void hotspot_stubs_visit(const struct hotspot_layout *layout, pid_t pid,
			 const struct runtime_rows *rows)
{
	const struct hotspot_heap *heap = hotspot_blob_heap(layout, layout->interpreter_low);
	uint64_t at = heap ? heap->low : 0, left = CODE_ALL_BYTES;
	struct hotspot_blob blob = {};

	for (size_t i = 0; heap && i < STUB_BLOCKS_MAX; i++) {
		if (!hotspot_blob_next(layout, pid, &at, heap->high, &blob))
			break;
		if (take_stub(&blob, heap, &left))
			add_stub(&blob, pid, rows);
	}
}

/* ---- stubs of virtual threads ---- */

/*
 * Completes the layout for virtual threads, whose frames are partly in the heap (JDK 21 and later):
 * the stubs that fetch these frames, and the way to the carrier's frame.
 */

#define HOTSPOT_CONTINUATION "(continuation" /* part of the stubs' name */

#define SINCE	      21
#define BLOCKS_MAX    16384
#define CODE_BYTES    512
#define THREADS_TRIED 16
#define DTV_WORDS     64
#define BLOCK_WORDS   16 /* words of libjvm's thread-local variables; it has two or three */

struct stub_search {
	const struct hotspot_vm *vm;
	pid_t pid;
	struct hotspot_layout *layout;
	uint32_t to_pointer; /* bytes from the address of struct pthread to the thread pointer */
};

/* Returns n of the first "mov n(%r15),%rsp", or "ldr x8, [x28, #n]; mov sp, x8"; 0: none. */
static uint32_t find_entry_offset(const uint8_t *code, size_t n)
{
	for (size_t i = 0; i + 2 * sizeof(uint32_t) <= n; i++) {
		uint32_t word = load_u32(code + i);

		if (UNWIND_IS_ARM64 && (word & 0xffc003ff) == 0xf9400388 &&
		    load_u32(code + i + sizeof(word)) == 0x9100011f)
			return (word >> 10 & 0xfff) * WORD;
		if (!UNWIND_IS_ARM64 && (word & 0xffffff) == 0xa78b49)
			return load_u32(code + i + 3);
	}
	return 0;
}

/* Reads thread_entry from the code of the stubs: JDK 21 to 24 don't export it. */
static bool read_entry_offset(const struct stub_search *s)
{
	uint8_t code[CODE_BYTES];
	size_t n = peek(s->pid, s->layout->continuation_low, code, sizeof(code));
	uint32_t offset = find_entry_offset(code, n);

	s->layout->thread_entry = (uint16_t)offset;
	return offset && offset <= UINT16_MAX;
}

static bool find_stubs(const struct stub_search *s)
{
	const struct hotspot_heap *heap = hotspot_blob_heap(s->layout, s->layout->interpreter_low);
	uint64_t at = heap ? heap->low : 0;
	struct hotspot_blob blob = {};

	for (size_t i = 0; heap && i < BLOCKS_MAX; i++) {
		if (!hotspot_blob_next(s->layout, s->pid, &at, heap->high, &blob))
			return false;
		if (!blob.is_used || !strstr(blob.name, HOTSPOT_CONTINUATION))
			continue;
		s->layout->continuation_low = blob.begin;
		s->layout->continuation_high = blob.end;
		s->layout->thread_entry = (uint16_t)s->vm->fields.thread_entry;
		return s->vm->fields.thread_entry != HOTSPOT_NONE || read_entry_offset(s);
	}
	return false;
}

/* Returns true for the wrapper of Continuation.enterSpecial. */
static bool is_entry(const struct stub_search *s, const struct hotspot_blob *blob)
{
	char *name = NULL;
	bool is;

	if (blob->is_used && !strcmp(blob->name, "native nmethod"))
		name = hotspot_method_name(s->layout, s->pid, blob->method);
	is = name && !strcmp(name, "jdk.internal.vm.Continuation.enterSpecial");
	free(name);
	return is;
}

/* Searches the wrapper, which is made before most methods are compiled. */
static uint64_t find_wrapper(const struct stub_search *s, const struct hotspot_heap *heap)
{
	uint64_t at = heap->low;
	struct hotspot_blob blob = {};

	for (size_t i = 0; i < BLOCKS_MAX; i++) {
		if (!hotspot_blob_next(s->layout, s->pid, &at, heap->high, &blob))
			return 0;
		if (is_entry(s, &blob))
			return blob.begin + (uint64_t)(int64_t)blob.frame_complete;
	}
	return 0;
}

static bool find_return(const struct stub_search *s, uint64_t bias)
{
	uint64_t variable = s->vm->fields.continuation_return, found = 0;

	if (variable)
		found = peek_u64(s->pid, variable + bias);
	for (size_t i = 0; !variable && !found && i < HOTSPOT_HEAPS; i++)
		found = find_wrapper(s, &s->layout->heaps[i]);
	s->layout->continuation_return = found;
	return found;
}

/* ---- the current JavaThread ---- */

static size_t find_word(const uint64_t *words, size_t n, uint64_t word)
{
	size_t i = 0;

	while (i < n && words[i] != word)
		i++;
	return i;
}

/* Finds the first word of a thread's local variables that points to the thread. */
static bool find_in_blocks(const struct stub_search *s, uint64_t dtv, uint64_t thread)
{
	uint64_t entries[DTV_WORDS], block[BLOCK_WORDS];
	size_t n = peek(s->pid, dtv, entries, sizeof(entries)) / sizeof(*entries);

	for (size_t i = 1; i < n; i++) {
		size_t n_block = peek(s->pid, entries[i], block, sizeof(block)) / sizeof(*block),
		       at = find_word(block, n_block, thread);

		if (at == n_block)
			continue;
		s->layout->dtv_entry = (uint16_t)(i * sizeof(*entries));
		s->layout->thread_in_block = (uint16_t)(at * sizeof(*block));
		return true;
	}
	return false;
}

/* Finds the variable by the thread pointer: struct pthread begins there, on arm64 it ends there. */
static bool find_location(const struct stub_search *s, uint64_t thread)
{
	const struct hotspot_fields *f = &s->vm->fields;
	uint64_t os = peek_u64(s->pid, thread + (uint64_t)f->thread_os),
		 pointer = peek_u64(s->pid, os + (uint64_t)f->os_pthread) + s->to_pointer;

	return find_in_blocks(s, peek_u64(s->pid, pointer + HOTSPOT_DTV_AT), thread);
}

/* Finds the variable by two threads, which have to agree. */
static bool find_thread(const struct stub_search *s, uint64_t bias)
{
	const struct hotspot_fields *f = &s->vm->fields;
	uint64_t list = peek_u64(s->pid, f->threads + bias), threads[THREADS_TRIED],
		 data = peek_u64(s->pid, list + (uint64_t)f->threads_data);
	uint32_t n = peek_u32(s->pid, list + (uint64_t)f->threads_length);
	unsigned int n_same = 0;

	n = n < THREADS_TRIED ? n : THREADS_TRIED;
	if (!peek_all(s->pid, data, threads, n * sizeof(*threads)))
		return false;
	for (uint32_t i = 0; i < n && n_same < 2; i++) {
		const struct hotspot_layout before = *s->layout;

		if (!find_location(s, threads[i]))
			continue;
		n_same = before.dtv_entry == s->layout->dtv_entry &&
					 before.thread_in_block == s->layout->thread_in_block
				 ? n_same + 1
				 : 1;
	}
	return n_same >= 2;
}

/* Adds all of this to a process's layout, or nothing if the JVM has not created all of it yet. */
static void hotspot_continuation_find(const struct hotspot_vm *vm,
				      const struct runtime_instance *instance,
				      struct hotspot_layout *layout)
{
	const struct hotspot_fields *f = &vm->fields;
	struct stub_search s = { vm, instance->pid, layout,
				 UNWIND_IS_ARM64 ? instance->thread_bytes : 0 };

	if (vm->version < SINCE || !f->threads || f->threads_length < 0 || f->threads_data < 0 ||
	    f->thread_os < 0 || f->os_pthread < 0)
		return;
	if (!find_stubs(&s) || !find_return(&s, instance->bias) || !find_thread(&s, instance->bias))
		layout->continuation_low = layout->continuation_high = 0;
}

/* ---- files and processes ---- */

struct build {
	struct runtime_file file;
	struct hotspot_tables tables;
};

static struct build *build_of(const struct runtime_instance *instance)
{
	return container_of(instance->file, struct build, file);
}

static struct runtime_file *recognize(const struct elf64 *elf)
{
	struct hotspot_tables tables;
	struct build *build;

	if (!hotspot_find_tables(elf, &tables))
		return NULL;
	build = mem_zalloc(1, sizeof(*build));
	build->tables = tables;
	build->file.code = &hotspot_code;
	build->file.kind = RUNTIME_HOTSPOT;
	snprintf(build->file.title, sizeof(build->file.title), "Java");
	return &build->file;
}

/* Reads the tables of the process itself: another process of the file may have changed its own. */
static int read_vm(const struct runtime_instance *instance, struct hotspot_vm *vm)
{
	return hotspot_vm_read(vm, &build_of(instance)->tables, instance->pid, instance->bias);
}

static int describe_by(const struct runtime_instance *instance, const struct hotspot_vm *vm,
		       struct runtime_process *process)
{
	int err = hotspot_vm_describe(vm, instance->pid, instance->bias, &process->hotspot);

	if (!err)
		hotspot_continuation_find(vm, instance, &process->hotspot);
	return err;
}

static int describe(const struct runtime_instance *instance, struct runtime_process *process)
{
	struct runtime_file *file = instance->file;
	struct hotspot_vm vm;
	int err = read_vm(instance, &vm);

	if (err)
		return err;
	snprintf(file->title, sizeof(file->title), "Java %u", vm.version);
	return describe_by(instance, &vm, process);
}

/* ---- functions ---- */

/* Data of a function for resolve(). */
struct origin {
	struct hotspot_compiled compiled; /* blob 0: interpreted */
};

static struct runtime_function *make_function(char *name, char *file)
{
	struct runtime_function *f = mem_zalloc(1, sizeof(*f));

	f->name = name;
	f->file = file;
	return f;
}

/* Names a stub; continuation stubs stand for a virtual thread's frames that are in the heap. */
static struct runtime_function *make_stub(const struct hotspot_def *def)
{
	char *name = mem_strndup(def->method_name, def->method_bytes);

	if (!strstr(name, HOTSPOT_CONTINUATION))
		return make_function(name, NULL);
	free(name);
	return make_function(mem_strdup("[frames in the heap]"), NULL);
}

static struct runtime_function *read_function(const struct runtime_def *header, size_t size)
{
	const struct hotspot_def *def = (const struct hotspot_def *)header;
	const struct origin origin = { { def->blob, def->method, def->compile_id } };
	struct runtime_function *f;

	if (size < sizeof(*def) || (!def->method && def->method_bytes >= HOTSPOT_METHOD_BYTES))
		return NULL;
	if (!def->method)
		return make_stub(def);
	f = mem_zalloc(1, sizeof(*f) + sizeof(origin));
	f->name = hotspot_join_name(def->class_name, def->class_bytes, def->method_name,
				    def->method_bytes);
	f->n_lines = sizeof(origin);
	memcpy(f->lines, &origin, sizeof(origin));
	return f;
}

/* ---- frames ---- */

#define FRAMES_CACHED  4096
#define METHODS_CACHED (16 * FRAMES_CACHED) /* limit over all frames: then all are evicted */

/* A method that a frame runs. */
struct method {
	char *name, *file; /* file NULL: unknown */
	uint32_t line;
};

/* Methods at an address, innermost first, which never change: their names are read only once. */
struct frame {
	struct hotspot_compiled compiled;
	uint64_t pc;
	bool is_return;
	size_t n;
	struct method methods[];
};

struct state {
	bool has_vm;
	struct hotspot_vm vm;
	struct frame *frames[FRAMES_CACHED]; /* frames by hash; NULL: none */
	size_t n_methods;
};

/* Creates the state of a process with its first function. False: its tables are unreadable. */
static bool has_vm(struct runtime_instance *instance)
{
	struct state *state = instance->state;

	if (!state) {
		instance->state = state = mem_zalloc(1, sizeof(*state));
		state->has_vm = !read_vm(instance, &state->vm);
	}
	return state->has_vm;
}

static const struct hotspot_vm *vm_of(const struct runtime_instance *instance)
{
	return &((const struct state *)instance->state)->vm;
}

/*
 * The interpreter may have been incomplete, and stubs are made as they are needed: their rules are
 * made anew.
 */
static bool look_again(struct runtime_instance *instance, struct runtime_process *process,
		       bool *is_settled)
{
	struct runtime_process described = *process;

	if (has_vm(instance) && !describe_by(instance, vm_of(instance), &described))
		*process = described;
	*is_settled = true;
	return true;
}

static void free_frame(struct frame *frame)
{
	for (size_t i = 0; frame && i < frame->n; i++) {
		free(frame->methods[i].name);
		free(frame->methods[i].file);
	}
	free(frame);
}

static void evict_frame(struct state *state, struct frame **frame)
{
	state->n_methods -= *frame ? (*frame)->n : 0;
	free_frame(*frame);
	*frame = NULL;
}

static void evict_frames(struct state *state)
{
	for (size_t i = 0; i < FRAMES_CACHED; i++)
		evict_frame(state, &state->frames[i]);
}

static void release(struct runtime_instance *instance)
{
	evict_frames(instance->state);
	free(instance->state);
}

static struct frame **find_frame(struct state *state, const struct hotspot_compiled *compiled,
				 uint64_t pc)
{
	uint64_t hash = hash_add(hash_add(compiled->blob, compiled->compile_id), pc);

	return &state->frames[hash % FRAMES_CACHED];
}

static bool is_frame(const struct frame *frame, const struct hotspot_compiled *compiled,
		     const struct runtime_position *position)
{
	return frame && frame->compiled.blob == compiled->blob &&
	       frame->compiled.compile_id == compiled->compile_id && frame->pc == position->pc &&
	       frame->is_return == position->is_return;
}

/* Reads a method, but for a name that is known. False: not a method. */
static bool read_method(const struct runtime_instance *instance, const struct hotspot_scope *scope,
			const char *name, struct method *method)
{
	const struct hotspot_vm *vm = vm_of(instance);

	method->name = name ? mem_strdup(name)
			    : hotspot_method_name(&vm->layout, instance->pid, scope->method);
	if (!method->name || !instance->lines)
		return method->name;
	method->file = hotspot_method_file(vm, instance->pid, scope->method);
	method->line = hotspot_method_line(vm, instance->pid, scope->method, scope->bci);
	return true;
}

/*
 * Reads a frame's methods; NULL: unknown, or the compiled method was freed meanwhile. name: of the
 * compiled method, which is the outermost of them.
 */
static struct frame *read_frame(const struct runtime_instance *instance,
				const struct hotspot_compiled *compiled, const char *name,
				const struct runtime_position *position)
{
	const struct hotspot_vm *vm = vm_of(instance);
	struct hotspot_scope scopes[RUNTIME_MAX_CALLS];
	size_t n = hotspot_scopes_find(vm, instance->pid, compiled, position->pc,
				       position->is_return, scopes, RUNTIME_MAX_CALLS);
	struct frame *frame =
		n ? mem_zalloc(1, sizeof(*frame) + n * sizeof(*frame->methods)) : NULL;

	if (!frame)
		return NULL;
	frame->compiled = *compiled;
	frame->pc = position->pc;
	frame->is_return = position->is_return;
	while (frame->n < n &&
	       read_method(instance, &scopes[frame->n], frame->n == n - 1 ? name : NULL,
			   &frame->methods[frame->n]))
		frame->n++;
	if (frame->n == n && hotspot_is_alive(vm, instance->pid, compiled))
		return frame;
	free_frame(frame);
	return NULL;
}

static const struct frame *get_frame(struct runtime_instance *instance,
				     const struct hotspot_compiled *compiled, const char *name,
				     const struct runtime_position *position)
{
	struct state *state = instance->state;
	struct frame **known = find_frame(state, compiled, position->pc);

	if (is_frame(*known, compiled, position))
		return *known;
	evict_frame(state, known);
	if (state->n_methods >= METHODS_CACHED)
		evict_frames(state);
	*known = read_frame(instance, compiled, name, position);
	state->n_methods += *known ? (*known)->n : 0;
	return *known;
}

static size_t fill_calls(const struct frame *frame, struct runtime_call *calls)
{
	for (size_t i = 0; i < frame->n; i++) {
		const struct method *method = &frame->methods[i];
		char *file = method->file ? mem_strdup(method->file) : NULL;

		calls[i] = (struct runtime_call){
			.function = make_function(mem_strdup(method->name), file),
			.line = method->line,
		};
	}
	return frame->n;
}

/* Returns the method alone, without its origin: equal names are one function. */
static size_t resolve_alone(const struct runtime_function *f, struct runtime_call *calls)
{
	calls[0] = (struct runtime_call){ .function = make_function(mem_strdup(f->name), NULL) };
	return 1;
}

/* Adds the line of an interpreted frame, unless another method is at the address now. */
static size_t resolve_interpreted(const struct runtime_instance *instance,
				  const struct runtime_function *f, const struct origin *origin,
				  const struct runtime_position *position,
				  struct runtime_call *calls)
{
	const struct hotspot_scope scope = { origin->compiled.method, (int32_t)position->index };
	struct method method = {};

	resolve_alone(f, calls);
	if (!position->has_index || !instance->lines ||
	    !read_method(instance, &scope, NULL, &method))
		return 1;
	if (!strcmp(method.name, f->name)) {
		calls[0].line = method.line;
		calls[0].function->file = method.file;
		method.file = NULL;
	}
	free(method.name);
	free(method.file);
	return 1;
}

/*
 * Returns a compiled method whose code was freed, below an unknown one: it may have run inlined
 * methods.
 */
static size_t resolve_freed(const struct runtime_function *f, struct runtime_call *calls)
{
	calls[0] = (struct runtime_call){
		.function = make_function(mem_strdup(RUNTIME_UNKNOWN), NULL),
	};
	return 1 + resolve_alone(f, &calls[1]);
}

static size_t resolve(struct runtime_instance *instance, const struct runtime_function *f,
		      const struct runtime_position *position, struct runtime_call *calls)
{
	const struct frame *frame;
	struct origin origin;

	if (f->n_lines != sizeof(origin))
		return 0;
	memcpy(&origin, f->lines, sizeof(origin));
	if (instance && !has_vm(instance))
		instance = NULL;
	if (!origin.compiled.blob)
		return instance ? resolve_interpreted(instance, f, &origin, position, calls)
				: resolve_alone(f, calls);
	frame = instance ? get_frame(instance, &origin.compiled, f->name, position) : NULL;
	return frame ? fill_calls(frame, calls) : resolve_freed(f, calls);
}

static void add_rows(const struct runtime_instance *instance, const struct runtime_process *process,
		     const struct runtime_rows *rows)
{
	hotspot_stubs_visit(&process->hotspot, instance->pid, rows);
}

const struct runtime_code hotspot_code = {
	.kinds = RUNTIME_BIT(RUNTIME_HOTSPOT),
	.recognize = recognize,
	.describe = describe,
	.look_again = look_again,
	.read = read_function,
	.add_rows = add_rows,
	.resolve = resolve,
	.release = release,
	.leave = hotspot_leave_remote,
	.walk = hotspot_walk_remote,
};

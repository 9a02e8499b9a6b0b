// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of a traced process that exports HotSpot's tables: words of arbitrary values, of which
 * every other one is a pointer to one of them, read as tables, blobs, methods, descriptions of
 * inlined methods, and code of stubs; and records that BPF has made of it.
 */
#include <unistd.h>

#include "elf/x86_rows.h"
#include "runtimes/hotspot/blob.h"
#include "runtimes/hotspot/hotspot.h"
#include "runtimes/hotspot/method.h"
#include "runtimes/hotspot/scopes.h"
#include "runtimes/hotspot/vm.h"
#include "runtimes/runtimes.h"
#include "fuzz.h"

#define N_WORDS 512
#define N_TRIED 16

static uint64_t words[N_WORDS];

/* Fields are next to each other, so that few words are an object. */
static struct hotspot_vm make_vm(bool has_addresses)
{
	struct hotspot_vm vm = { .has_sparse_numbers = has_addresses,
				 .version = has_addresses ? 25 : 17 };
	struct hotspot_layout *l = &vm.layout;
	struct hotspot_fields *f = &vm.fields;

	memset(f, 0, offsetof(struct hotspot_fields, heap));
	l->heaps[0].low = (uintptr_t)words;
	l->heaps[0].high = (uintptr_t)(words + N_WORDS);
	l->heaps[0].segments = (uintptr_t)words;
	l->interpreter_low = l->heaps[0].low;
	l->interpreter_high = (uintptr_t)&words[4];
	l->log2_segment = 7;
	l->header_bytes = 16;
	l->block_used = 8;
	l->blob_bytes = 96;
	l->size = 4;
	l->has_code_addresses = has_addresses;
	l->code_begin = 16;
	l->code_end = 24;
	l->frame_words = 32;
	l->frame_complete = 36;
	l->name = 40;
	l->method = 48;
	l->compile_id = 56;
	l->method_const = 8;
	l->const_pool = 8;
	l->const_code_bytes = 24;
	l->const_name = 26;
	l->const_bytes = 32;
	l->pool_bytes = 64;
	l->pool_holder = 24;
	l->class_name = 24;
	l->symbol_length = 4;
	l->symbol_body = 6;
	f->scopes_pcs = 60;
	f->scopes_offset = 64;
	f->metadata = 68;
	f->dependencies = 72;
	f->scopes_address = f->immutable_data = HOTSPOT_NONE;
	f->const_flags = 28;
	f->const_words = 20;
	f->pool_source = 58;
	f->class_source = HOTSPOT_NONE;
	return vm;
}

static void read_method(const struct hotspot_vm *vm, uint64_t method)
{
	struct hotspot_def def;

	free(hotspot_method_name(&vm->layout, getpid(), method));
	free(hotspot_method_file(vm, getpid(), method));
	hotspot_method_define(&vm->layout, getpid(), method, &def);
	for (int32_t bci = -1; bci < 64; bci += 13)
		hotspot_method_line(vm, getpid(), method, bci);
}

static void find_scopes(const struct hotspot_vm *vm, const struct hotspot_blob *blob)
{
	const struct hotspot_compiled compiled = { blob->address, blob->method, blob->compile_id };
	struct hotspot_scope scopes[8];

	for (uint64_t pc = blob->begin; pc < blob->begin + 64; pc += 5) {
		size_t n = hotspot_scopes_find(vm, getpid(), &compiled, pc, pc & 1, scopes, 8);

		if (n > 8)
			abort();
		for (size_t i = 0; i < n; i++)
			read_method(vm, scopes[i].method);
	}
}

/* Rules ascend, and are of bytes of the code. */
static void check_rule(size_t offset, const struct unwind_rule *rule, void *arg)
{
	size_t *next = arg;

	if (offset < *next || offset >= sizeof(words) || rule->kind > UNWIND_BP)
		abort();
	*next = offset + 1;
}

static void derive_rules(const uint8_t *bytes, size_t size)
{
	const uint32_t entries[] = { 0, 40, 41, (uint32_t)size };

	for (int i = 0; i < 3; i++) {
		struct x86_code code = { .code = bytes,
					 .bytes = size < sizeof(words) ? size : sizeof(words),
					 .has_several = i > 0 };
		size_t next = 0;

		if (i > 1) {
			code.entries = entries;
			code.n_entries = 4;
			code.first_is_guess = true;
		}
		x86_rows_derive(&code, check_rule, &next);
	}
}

static void take_row(uint64_t address, const struct unwind_rule *rule, void *arg)
{
	(void)address;
	(void)rule;
	(void)arg;
}

static void read_process(const struct hotspot_vm *vm)
{
	uint64_t at = (uintptr_t)words;
	struct hotspot_blob blob = {};

	for (int i = 0; i < N_TRIED && hotspot_blob_next(&vm->layout, getpid(), &at,
							 vm->layout.heaps[0].high, &blob);
	     i++)
		find_scopes(vm, &blob);
	for (size_t i = 0; i < N_TRIED; i++)
		read_method(vm, (uintptr_t)&words[i]);
	hotspot_stubs_visit(&vm->layout, getpid(), &(struct runtime_rows){ take_row, NULL });
}

static void read_tables(void)
{
	const struct hotspot_tables tables = { (uintptr_t)words, (uintptr_t)&words[1] };
	struct hotspot_layout layout = {};
	struct hotspot_vm vm;

	if (!hotspot_vm_read(&vm, &tables, getpid(), 0))
		hotspot_vm_describe(&vm, getpid(), 0, &layout);
}

static void read_record(const uint8_t *bytes, size_t size)
{
	struct hotspot_def def = {};

	memcpy(&def, bytes, size < sizeof(def) ? size : sizeof(def));
	runtime_function_free(hotspot_code.read(&def.def, sizeof(def)));
	runtime_function_free(size < sizeof(def) ? hotspot_code.read(&def.def, size) : NULL);
}

FUZZ(bytes, size)
{
	struct hotspot_vm vm;

	read_record(bytes, size);
	derive_rules(bytes, size);
	fuzz_place(words, N_WORDS, bytes, size, NULL);
	read_tables();
	for (int has_addresses = 0; has_addresses < 2; has_addresses++) {
		vm = make_vm(has_addresses);
		read_process(&vm);
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Type information, cut down: what must be left of it. */
#include "run/kernelbtf.h"
#include "unit.h"

/* typedef void (*btf_trace_call)(struct inner *, int); */
static void add_tracepoint(struct btf *btf, int inner, int number)
{
	int pointer = btf__add_ptr(btf, inner), proto = btf__add_func_proto(btf, 0);

	btf__add_func_param(btf, "in", pointer);
	btf__add_func_param(btf, "n", number);
	btf__add_typedef(btf, "btf_trace_call", btf__add_ptr(btf, proto));
}

/* The kernel's side; the members of struct task refer to types before it. */
static struct btf *make_whole(void)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED), inner, either, next, constant;

	btf__add_typedef(btf, "btf_trace_hit", number);
	inner = btf__add_struct(btf, "inner", 8);
	btf__add_field(btf, "a", number, 0, 0);
	btf__add_field(btf, "b", number, 32, 0);
	either = btf__add_union(btf, NULL, 4);
	btf__add_field(btf, "x", number, 0, 0);
	btf__add_field(btf, "y", number, 0, 0);
	next = btf__add_ptr(btf, inner);
	constant = btf__add_const(btf, inner);
	btf__add_struct(btf, "task", 32);
	btf__add_field(btf, "unused", number, 0, 0);
	btf__add_field(btf, "in", constant, 32, 0);
	btf__add_field(btf, NULL, either, 96, 0);
	btf__add_field(btf, "next", next, 128, 0);
	btf__add_struct(btf, "other", 4);
	btf__add_field(btf, "a", number, 0, 0);
	btf__add_enum(btf, "helper", 4);
	btf__add_enum_value(btf, "HELPER_ONE", 1);
	btf__add_struct(btf, "v", 4);
	add_tracepoint(btf, inner, number);
	return btf;
}

/* The program's side: struct task___new { struct inner in; int y; void *next; }. */
static struct btf *make_local(void)
{
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED), inner, next;

	inner = btf__add_struct(btf, "inner", 4);
	btf__add_field(btf, "b", number, 0, 0);
	next = btf__add_ptr(btf, 0);
	btf__add_struct(btf, "task___new", 16);
	btf__add_field(btf, "in", inner, 0, 0);
	btf__add_field(btf, "y", number, 32, 0);
	btf__add_field(btf, "next", next, 64, 0);
	btf__add_enum(btf, "helper", 4);
	btf__add_struct(btf, "v___old", 4);
	add_tracepoint(btf, inner, number);
	return btf;
}

static struct btf *whole, *local;
static struct btf *cut;	 /* NULL: refused */
static const void *data; /* of the whole */
static uint32_t size;

/* Returns what libbpf would read; NULL: nothing. */
static struct btf *cut_types(const void *bytes, size_t n)
{
	struct bpf_object_open_opts opts = { .sz = sizeof(opts) };
	struct kernelbtf *kernelbtf = kernelbtf_new(&opts);
	struct btf *result = NULL;

	kernelbtf_want_types(kernelbtf, local);
	if (!kernelbtf_cut(kernelbtf, bytes, n))
		result = btf__parse(opts.btf_custom_path, NULL);
	kernelbtf_free(kernelbtf);
	return result;
}

BEFORE_EACH()
{
	whole = make_whole();
	local = make_local();
	data = btf__raw_data(whole, &size);
	cut = cut_types(data, size);
}

AFTER_EACH()
{
	btf__free(cut);
	btf__free(whole);
	btf__free(local);
}

static const struct btf_type *find_struct(const char *name)
{
	int id = btf__find_by_name_kind(cut, name, BTF_KIND_STRUCT);

	return id > 0 ? btf__type_by_id(cut, (uint32_t)id) : NULL;
}

/* The bit offset of a member; -1: it isn't there. */
static int offset_of(const char *type, const char *name)
{
	const struct btf_type *t = find_struct(type);

	for (uint32_t i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(cut, btf_members(t)[i].name_off), name))
			return (int)btf_member_bit_offset(t, i);
	return -1;
}

TEST(keeps_members_where_they_are)
{
	int id = btf__find_by_name_kind(cut, "helper", BTF_KIND_ENUM);

	CHECK_EQ(offset_of("task", "in"), 32);
	CHECK_EQ(offset_of("task", ""), 96); /* an anonymous one */
	CHECK_EQ(offset_of("task", "next"), 128);
	CHECK_EQ(offset_of("task", "unused"), 0);
	CHECK_EQ(find_struct("task")->size, 32);
	CHECK_EQ(offset_of("inner", "b"), 32); /* held by value */
	CHECK_EQ(offset_of("inner", "a"), 0);
	CHECK(find_struct("v"));
	CHECK(!find_struct("other")); /* is not named */
	CHECK_EQ(id > 0 ? btf_vlen(btf__type_by_id(cut, (uint32_t)id)) : 0, 1);
}

TEST(may_find_nothing)
{
	btf__free(local);
	btf__free(cut);
	local = btf__new_empty();
	cut = cut_types(data, size);
	CHECK_EQ(cut ? btf__type_cnt(cut) : 0, 1);
}

/* bpf_core_type_exists() compares them with those of the program, as deep as pointers lead. */
TEST(keeps_arguments_of_tracepoints)
{
	int id = btf__find_by_name_kind(cut, "btf_trace_call", BTF_KIND_TYPEDEF);
	const struct btf_type *t = btf__type_by_id(cut, id > 0 ? (uint32_t)id : 0);

	CHECK(id > 0);
	for (int i = 0; id > 0 && i < 2; i++) /* the pointer, the function */
		t = btf__type_by_id(cut, t->type);
	CHECK(btf_is_func_proto(t));
	CHECK_EQ(btf_vlen(t), 2);
	t = btf_is_func_proto(t) ? btf__type_by_id(cut, btf_params(t)->type) : t;
	CHECK(btf_is_ptr(t) && btf_is_struct(btf__type_by_id(cut, t->type)));
}

/* Data that isn't understood must never lead to a wrong part. */
TEST(refuses_what_is_cut_off_or_unknown)
{
	struct btf_type *first;
	char *copy;

	for (uint32_t n = 0; n < size; n++) {
		copy = malloc(n + 1); /* to the byte, for sanitizers */
		memcpy(copy, data, n);
		CHECK(!cut_types(copy, n));
		free(copy);
	}
	copy = until_end(mem_zalloc(1, size));
	memcpy(copy, data, size);
	first = (void *)(copy + sizeof(struct btf_header));
	first->info = 31u << 24;
	CHECK(!cut_types(copy, size));
}

/* libbpf looks through const and volatile until another type comes. */
TEST(refuses_types_that_hold_themselves)
{
	struct btf *ring = btf__new_empty();

	btf__add_const(ring, 2);
	btf__add_volatile(ring, 1);
	btf__add_struct(ring, "task", 8);
	btf__add_field(ring, "in", 1, 0, 0);
	data = btf__raw_data(ring, &size);
	CHECK(!cut_types(data, size));
	btf__free(ring);
}

TEST(a_number_of_elements_that_there_are_not_changes_nothing)
{
	struct btf *forged;
	int id;

	for (uint32_t i = 1; i < btf__type_cnt(whole); i++) {
		struct btf_type *t = (struct btf_type *)btf__type_by_id(whole, i);

		if (btf_is_int(t) || btf_is_const(t))
			t->info |= 3;
	}
	btf__add_ptr(whole, 0); /* libbpf makes the bytes anew */
	data = btf__raw_data(whole, &size);
	forged = cut_types(data, size);
	id = forged ? btf__find_by_name_kind(forged, "int", BTF_KIND_INT) : 0;
	CHECK_EQ(id > 0 ? btf_int_bits(btf__type_by_id(forged, (uint32_t)id)) : 0, 32);
	btf__free(forged);
}

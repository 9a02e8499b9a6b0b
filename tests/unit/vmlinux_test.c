// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds vmlinux/vmlinux.h, which is written by hand, against the running kernel: a field that the
 * kernel doesn't have fails when a program is loaded, but one of another size or sign just reads
 * wrong numbers. Both sides are compared by their BTF; VMLINUX_H_BTF is the header, compiled.
 *
 * A struct may have several forms, the plain one and flavours (name___suffix). A field may be
 * missing if another form exists in full, and differ if another form has it right. A struct of
 * which there are flavours only may be missing, as may a constant: it came or went with another
 * kernel. All this is told.
 */
#include <stdarg.h>

#include <bpf/btf.h>

#include "unit.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"

static struct btf *ours, *kernels;
static bool is_quiet; /* differences are what the test wants */

static void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void tell(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (!is_quiet)
		vprintf(fmt, ap);
	va_end(ap);
}

/* ---- comparing types ---- */

static const char *name_at(const struct btf *btf, __u32 offset)
{
	const char *name = btf__name_by_offset(btf, offset);

	return name ? name : "";
}

/* Behind typedefs and qualifiers. */
static const struct btf_type *plain_type(const struct btf *btf, __u32 id)
{
	const struct btf_type *t = btf__type_by_id(btf, id);

	while (btf_is_mod(t) || btf_is_typedef(t))
		t = btf__type_by_id(btf, t->type);
	return t;
}

/* The length of a name without its flavour. */
static size_t essential_length(const char *name)
{
	const char *flavour = strstr(name, "___");

	return flavour && flavour != name ? (size_t)(flavour - name) : strlen(name);
}

static bool is_same_name(const char *a, const char *b)
{
	size_t length = essential_length(a);

	return length == essential_length(b) && !strncmp(a, b, length);
}

static bool is_record(const struct btf_type *t)
{
	return btf_is_composite(t) || btf_is_fwd(t);
}

static bool is_number(const struct btf_type *t)
{
	return btf_is_int(t) || btf_is_any_enum(t);
}

static bool is_signed(const struct btf_type *t)
{
	return btf_is_int(t) ? btf_int_encoding(t) & BTF_INT_SIGNED : btf_kflag(t);
}

/* A pointer's target is compared by its kind and name only. */
static const char *compare_targets(const struct btf_type *a, const struct btf_type *b)
{
	const struct btf_type *x = plain_type(ours, a->type), *y = plain_type(kernels, b->type);

	if (is_record(x) && is_record(y) &&
	    !is_same_name(name_at(ours, x->name_off), name_at(kernels, y->name_off)))
		return "points at another struct";
	return NULL;
}

static const char *compare_types(__u32 our_id, __u32 kernel_id);

/* An array that we leave open ([]) stands for one of any length. */
static const char *compare_arrays(const struct btf_type *a, const struct btf_type *b)
{
	const struct btf_array *x = btf_array(a), *y = btf_array(b);

	if (x->nelems && x->nelems != y->nelems)
		return "is an array of another length";
	return compare_types(x->type, y->type);
}

/*
 * NULL if a program that was compiled for the one type reads the other right, else why not. The
 * sign of a char is a compiler's option, which the kernel changed in 6.2.
 */
static const char *compare_types(__u32 our_id, __u32 kernel_id)
{
	const struct btf_type *a = plain_type(ours, our_id), *b = plain_type(kernels, kernel_id);

	if (is_number(a) && is_number(b)) {
		if (a->size != b->size)
			return "has another size";
		if (is_signed(a) != is_signed(b) && btf_is_int(b) && a->size > 1)
			return "has another sign";
		return NULL;
	}
	if (btf_kind(a) != btf_kind(b))
		return "is of another kind";
	if (btf_is_array(a))
		return compare_arrays(a, b);
	if (btf_is_ptr(a))
		return compare_targets(a, b);
	if (!is_same_name(name_at(ours, a->name_off), name_at(kernels, b->name_off)))
		return "is another struct";
	return NULL;
}

/* ---- finding fields ---- */

/* A field of a struct or of a nameless struct or union in it. */
static const struct btf_member *find_field(const struct btf *btf, const struct btf_type *t,
					   const char *name)
{
	const struct btf_member *m = btf_members(t), *found;

	for (int i = 0; i < btf_vlen(t); i++, m++) {
		const char *member = name_at(btf, m->name_off);

		if (*member && !strcmp(member, name))
			return m;
		if (*member || !btf_is_composite(plain_type(btf, m->type)))
			continue;
		found = find_field(btf, plain_type(btf, m->type), name);
		if (found)
			return found;
	}
	return NULL;
}

static const struct btf_type *find_kernel_struct(const char *name)
{
	char essential[128];
	int id;

	snprintf(essential, sizeof(essential), "%.*s", (int)essential_length(name), name);
	id = btf__find_by_name_kind(kernels, essential, BTF_KIND_STRUCT);
	return id > 0 ? btf__type_by_id(kernels, (__u32)id) : NULL;
}

static bool is_complete(const struct btf_type *t)
{
	const struct btf_type *theirs = find_kernel_struct(name_at(ours, t->name_off));
	const struct btf_member *m = btf_members(t), *their_m;

	for (int i = 0; theirs && i < btf_vlen(t); i++, m++) {
		their_m = find_field(kernels, theirs, name_at(ours, m->name_off));
		if (!their_m || compare_types(m->type, their_m->type))
			return false;
	}
	return theirs;
}

/* Another form of that struct that the kernel has in full, and just so. */
static const char *find_complete_form(const struct btf_type *of)
{
	const char *name = name_at(ours, of->name_off);

	for (__u32 id = 1; id < btf__type_cnt(ours); id++) {
		const struct btf_type *t = btf__type_by_id(ours, id);
		const char *other = name_at(ours, t->name_off);

		if (t != of && btf_is_struct(t) && is_same_name(other, name) && is_complete(t))
			return other;
	}
	return NULL;
}

/* Another form of that struct that has this field as the kernel has it. */
static const char *find_right_form(const struct btf_type *of, const char *field, __u32 kernel_type)
{
	const char *name = name_at(ours, of->name_off);

	for (__u32 id = 1; id < btf__type_cnt(ours); id++) {
		const struct btf_type *t = btf__type_by_id(ours, id);
		const char *other = name_at(ours, t->name_off);
		const struct btf_member *m;

		if (t == of || !btf_is_struct(t) || !is_same_name(other, name))
			continue;
		m = find_field(ours, t, field);
		if (m && !compare_types(m->type, kernel_type))
			return other;
	}
	return NULL;
}

/* ---- comparing all that there is; each returns the number of differences ---- */

/* kernel_type: 0 if the kernel has no such field. */
static int report_difference(const struct btf_type *t, const char *field, __u32 kernel_type,
			     const char *difference)
{
	const char *name = name_at(ours, t->name_off), *instead;

	instead = kernel_type ? find_right_form(t, field, kernel_type) : find_complete_form(t);
	if (!instead) {
		tell("%s.%s: %s in this kernel\n", name, field, difference);
		return 1;
	}
	tell("%s.%s: %s in this kernel, but %s is right\n", name, field, difference, instead);
	return 0;
}

static int compare_struct(const struct btf_type *t)
{
	const char *name = name_at(ours, t->name_off), *difference;
	const struct btf_type *theirs = find_kernel_struct(name);
	const struct btf_member *m = btf_members(t), *their_m;
	int failures = 0;

	if (!theirs) {
		tell("struct %s: not in this kernel\n", name);
		return essential_length(name) == strlen(name);
	}
	for (int i = 0; i < btf_vlen(t); i++, m++) {
		const char *field = name_at(ours, m->name_off);

		their_m = find_field(kernels, theirs, field);
		difference = their_m ? compare_types(m->type, their_m->type) : "not";
		if (difference)
			failures += report_difference(t, field, their_m ? their_m->type : 0,
						      difference);
	}
	return failures;
}

/* Our constants and those of the kernel are both looked at as 64 bits: some are in an enum64. */
static bool find_constant(const struct btf *btf, const struct btf_type *t, const char *name,
			  __s64 *value)
{
	for (int i = 0; i < btf_vlen(t); i++) {
		bool wide = btf_is_enum64(t);
		__u32 name_off = wide ? btf_enum64(t)[i].name_off : btf_enum(t)[i].name_off;

		*value = wide ? (__s64)btf_enum64_value(&btf_enum64(t)[i]) : btf_enum(t)[i].val;
		if (!strcmp(name_at(btf, name_off), name))
			return true;
	}
	return false;
}

static bool find_kernel_constant(const char *name, __s64 *value)
{
	for (__u32 id = 1; id < btf__type_cnt(kernels); id++) {
		const struct btf_type *t = btf__type_by_id(kernels, id);

		if (btf_is_any_enum(t) && find_constant(kernels, t, name, value))
			return true;
	}
	return false;
}

static int compare_enum(const struct btf_type *t)
{
	const struct btf_enum *e = btf_enum(t);
	int failures = 0;
	__s64 value;

	for (int i = 0; i < btf_vlen(t); i++) {
		const char *name = name_at(ours, e[i].name_off);

		if (!find_kernel_constant(name, &value)) {
			tell("%s: not in this kernel\n", name);
		} else if (value != e[i].val) {
			tell("%s: %d, but %lld in this kernel\n", name, e[i].val, (long long)value);
			failures++;
		}
	}
	return failures;
}

static int compare_all(bool (*is_kind)(const struct btf_type *t),
		       int (*compare)(const struct btf_type *t), int *n_compared)
{
	int failures = 0;

	*n_compared = 0;
	for (__u32 id = 1; id < btf__type_cnt(ours); id++) {
		const struct btf_type *t = btf__type_by_id(ours, id);

		if (!is_kind(t) || !t->name_off)
			continue;
		failures += compare(t);
		++*n_compared;
	}
	return failures;
}

static bool is_struct(const struct btf_type *t)
{
	return btf_is_struct(t);
}

static bool is_enum(const struct btf_type *t)
{
	return btf_is_enum(t);
}

/* ---- the header and the running kernel ---- */

static const char *kernel_lacks(void)
{
	return access(KERNEL_BTF, R_OK) ? "no " KERNEL_BTF : NULL;
}

static void load_both(void)
{
	ours = btf__parse(VMLINUX_H_BTF, NULL);
	kernels = btf__parse(KERNEL_BTF, NULL);
	if (!ours || !kernels)
		abort();
}

static void free_both(void)
{
	btf__free(ours);
	btf__free(kernels);
	ours = kernels = NULL;
}

AFTER_EACH()
{
	free_both();
}

TEST_UNLESS(kernel_lacks, every_field_is_as_in_the_kernel)
{
	int n;

	load_both();
	CHECK_EQ(compare_all(is_struct, compare_struct, &n), 0);
	CHECK(n > 10);
}

TEST_UNLESS(kernel_lacks, every_constant_is_as_in_the_kernel)
{
	int n;

	load_both();
	CHECK_EQ(compare_all(is_enum, compare_enum, &n), 0);
	CHECK(n > 5);
}

/* Read whole, with the size that the header gives it; all others are read field by field. */
TEST_UNLESS(kernel_lacks, upid_has_the_kernels_size)
{
	const struct btf_type *theirs;
	int id;

	load_both();
	theirs = find_kernel_struct("upid");
	id = btf__find_by_name_kind(ours, "upid", BTF_KIND_STRUCT);
	CHECK(id > 0 && theirs && btf__type_by_id(ours, (__u32)id)->size == theirs->size);
}

/* ---- the comparison itself, with made-up structs ---- */

struct made_up {
	int int4, int8, uint4, array;
};

static struct made_up make_numbers(struct btf *btf)
{
	struct made_up ids = {
		.int4 = btf__add_int(btf, "int", 4, BTF_INT_SIGNED),
		.int8 = btf__add_int(btf, "long", 8, BTF_INT_SIGNED),
		.uint4 = btf__add_int(btf, "unsigned int", 4, 0),
	};

	ids.array = btf__add_array(btf, ids.int4, ids.int4, 16);
	return ids;
}

static void add_struct(struct btf *btf, const char *name, const char *field, int type)
{
	btf__add_struct(btf, name, 64);
	btf__add_field(btf, field, type, 0, 0);
}

/* Both begin with the numbers' types, so that these have the same ids. */
static struct made_up begin_both(void)
{
	free_both();
	kernels = btf__new_empty();
	make_numbers(kernels);
	ours = btf__new_empty();
	return make_numbers(ours);
}

static int differences(void)
{
	int n, failures;

	is_quiet = true;
	failures = compare_all(is_struct, compare_struct, &n);
	is_quiet = false;
	return failures;
}

/* The kernel has s { int n; int a[16]; }. */
TEST(tells_fields_apart_by_name_size_sign_and_kind)
{
	static const struct {
		const char *name, *field;
		size_t type;
		int n_differences;
	} cases[] = {
		{ "s", "n", offsetof(struct made_up, int4), 0 },
		{ "s", "a", offsetof(struct made_up, array), 0 },
		{ "s", "m", offsetof(struct made_up, int4), 1 },
		{ "s", "n", offsetof(struct made_up, int8), 1 },
		{ "s", "n", offsetof(struct made_up, uint4), 1 },
		{ "s", "n", offsetof(struct made_up, array), 1 },
		{ "t", "n", offsetof(struct made_up, int4), 1 },
		{ "s___old", "n", offsetof(struct made_up, int4), 0 },
		{ "s___old", "n", offsetof(struct made_up, int8), 1 },
		{ "t___old", "n", offsetof(struct made_up, int4), 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct made_up ids = begin_both();

		add_struct(kernels, "s", "n", ids.int4);
		btf__add_field(kernels, "a", ids.array, 32, 0);
		add_struct(ours, cases[i].name, cases[i].field,
			   *(int *)((char *)&ids + cases[i].type));
		CHECK_CASE(cases[i].name, differences(), cases[i].n_differences);
	}
}

/* The kernel has s { long n; int a[16]; }, the header { int n; } and s___right { ?; }. */
TEST(one_form_of_a_field_must_be_right)
{
	for (const char *field = "na"; *field; field++) {
		const char right[] = { *field, '\0' };
		struct made_up ids = begin_both();

		add_struct(kernels, "s", "n", ids.int8);
		btf__add_field(kernels, "a", ids.array, 64, 0);
		add_struct(ours, "s", "n", ids.int4);
		add_struct(ours, "s___right", right, *field == 'n' ? ids.int8 : ids.array);
		CHECK_CASE(right, differences(), *field == 'n' ? 0 : 1);
	}
}

/* The kernel has s { int renamed; }, the header s { int n; } and maybe its older form. */
TEST(one_form_of_a_struct_must_exist)
{
	static const char *const old_fields[] = { "renamed", NULL, "neither" };

	for (int i = 0; i < 3; i++) {
		struct made_up ids = begin_both();

		add_struct(kernels, "s", "renamed", ids.int4);
		add_struct(ours, "s", "n", ids.int4);
		if (old_fields[i])
			add_struct(ours, "s___old", old_fields[i], ids.int4);
		CHECK_EQ(differences(), i);
	}
}

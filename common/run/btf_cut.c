// SPDX-License-Identifier: GPL-2.0-only
/* Type information, cut down to size; see btf_cut.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/container.h"
#include "base/hash.h"
#include "base/hashtable.h"
#include "base/mem.h"
#include "run/btf_cut.h"

#define MAX_DEPTH 32 /* of structures within structures */

/* ---- the names that the object uses ---- */

/* A set of names, flavors aside. Of most others their first two letters tell that they are none. */
struct names {
	struct hashtable table;
	uint64_t starts[(1 << 16) / 64]; /* a bit for each two letters */
};

struct name {
	struct hashlink link;
	const char *text;
};

/* The length of a name without its "___flavor". */
static size_t essential_length(const char *name)
{
	const char *flavor = strstr(name + (*name != 0), "___");

	return flavor ? (size_t)(flavor - name) : strlen(name);
}

/* By the first eight letters and the length: few names have both in common. */
static uint64_t hash_name(const char *name, size_t length)
{
	uint64_t start = 0;

	memcpy(&start, name, length < sizeof(start) ? length : sizeof(start));
	return hash_add(length, start);
}

static uint32_t start_of(const char *text, size_t length)
{
	return length ? (uint32_t)(uint8_t)text[0] << 8 | (length > 1 ? (uint8_t)text[1] : 0) : 0;
}

static bool names_have(const struct names *names, const char *text)
{
	uint32_t start = start_of(text, text[0] ? 2 : 0);
	struct hashlink *link;
	size_t length;

	if (!(names->starts[start / 64] >> start % 64 & 1))
		return false;
	length = strlen(text);
	link = hashtable_first(&names->table, hash_name(text, length));
	for (; link; link = hashtable_next(link)) {
		const struct name *name = container_of(link, struct name, link);

		if (!strncmp(name->text, text, length) && essential_length(name->text) == length)
			return true;
	}
	return false;
}

static void names_add(struct names *names, const char *text)
{
	size_t length = essential_length(text);
	uint32_t start = start_of(text, length);
	struct name *name;

	if (!*text)
		return;
	name = mem_zalloc(1, sizeof(*name));
	name->text = text;
	names->starts[start / 64] |= 1ULL << start % 64;
	hashtable_add(&names->table, &name->link, hash_name(text, length));
}

static void names_free(struct names *names)
{
	hashtable_free(&names->table, hashlink_free, NULL);
}

/* ---- the cut ---- */

struct cut {
	const char *types, *strings;
	uint32_t types_size, strings_size;
	uint32_t *offsets; /* of types, by id */
	size_t n_types;
	struct names roots, members; /* what is wanted of it */
	struct btf *out;
	int *out_ids; /* by id; 0: not there yet */
	uint32_t *found;
	size_t n_found, found_cap;
	bool failed;
};

static const struct btf_type *type_at(const struct cut *cut, uint32_t id)
{
	return (const void *)(cut->types + cut->offsets[id]);
}

static const char *name_at(const struct cut *cut, uint32_t offset)
{
	return offset < cut->strings_size ? cut->strings + offset : "";
}

/* By kind: what follows a type, and by which names it is asked for. A table costs no branches. */
static const struct kind {
	uint8_t is_known, fixed_bytes, bytes_each;
	enum {
		NOT_WANTED,
		AS_ROOT,
		AS_TARGET,
	} wanted;
} kinds[BTF_INFO_KIND(~0U) + 1] = {
	[BTF_KIND_INT] = { true, sizeof(uint32_t) },
	[BTF_KIND_PTR] = { true },
	[BTF_KIND_ARRAY] = { true, sizeof(struct btf_array) },
	[BTF_KIND_STRUCT] = { true, 0, sizeof(struct btf_member), AS_ROOT },
	[BTF_KIND_UNION] = { true, 0, sizeof(struct btf_member), AS_ROOT },
	[BTF_KIND_ENUM] = { true, 0, sizeof(struct btf_enum), AS_ROOT },
	[BTF_KIND_FWD] = { true },
	[BTF_KIND_TYPEDEF] = { true, .wanted = AS_TARGET },
	[BTF_KIND_VOLATILE] = { true },
	[BTF_KIND_CONST] = { true },
	[BTF_KIND_RESTRICT] = { true },
	[BTF_KIND_FUNC] = { true, .wanted = AS_TARGET },
	[BTF_KIND_FUNC_PROTO] = { true, 0, sizeof(struct btf_param) },
	[BTF_KIND_VAR] = { true, sizeof(uint32_t) },
	[BTF_KIND_DATASEC] = { true, 0, sizeof(struct btf_var_secinfo) },
	[BTF_KIND_FLOAT] = { true },
	[BTF_KIND_DECL_TAG] = { true, sizeof(uint32_t) },
	[BTF_KIND_TYPE_TAG] = { true },
	[BTF_KIND_ENUM64] = { true, 0, 3 * sizeof(uint32_t), AS_ROOT },
};

/* The type of a pointer to functions. */
static bool is_function_type(const struct btf *local, const struct btf_type *t)
{
	if (!btf_is_typedef(t))
		return false;
	t = btf__type_by_id(local, t->type);
	return btf_is_ptr(t) && btf_is_func_proto(btf__type_by_id(local, t->type));
}

static void collect_local_names(struct cut *cut, const struct btf *local)
{
	for (uint32_t id = 1; id < btf__type_cnt(local); id++) {
		const struct btf_type *t = btf__type_by_id(local, id);

		if (!btf_is_composite(t) && !btf_is_any_enum(t) && !is_function_type(local, t))
			continue;
		names_add(&cut->roots, btf__name_by_offset(local, t->name_off));
		for (int i = 0; btf_is_composite(t) && i < btf_vlen(t); i++)
			names_add(&cut->members,
				  btf__name_by_offset(local, btf_members(t)[i].name_off));
	}
}

static void match_targets(const char *name, uint32_t kind, uint32_t id, struct btf_target *targets,
			  size_t n_targets)
{
	for (size_t i = 0; i < n_targets; i++)
		if (targets[i].kind == kind && !strcmp(targets[i].name, name))
			targets[i].id = id;
}

static void match_root(struct cut *cut, const char *name, uint32_t id)
{
	if (!names_have(&cut->roots, name))
		return;
	cut->found = mem_grow(cut->found, cut->n_found, &cut->found_cap, sizeof(*cut->found));
	cut->found[cut->n_found++] = id;
}

/*
 * The one pass, over 150,000 types. -EINVAL if there is a kind from the future. No type is smaller
 * than its head, and of memory that isn't written nothing is there.
 */
static int index_types(struct cut *cut, struct btf_target *targets, size_t n_targets)
{
	const char *end = cut->types + cut->types_size;
	const struct btf_type *t;

	cut->offsets = mem_realloc(NULL, cut->types_size / sizeof(*t) + 1, sizeof(*cut->offsets));
	cut->offsets[0] = 0; /* void */
	cut->n_types = 1;
	for (const char *at = cut->types; end - at >= (ssize_t)sizeof(*t); cut->n_types++) {
		const struct kind *kind = &kinds[btf_kind(t = (const void *)at)];

		cut->offsets[cut->n_types] = (uint32_t)(at - cut->types);
		at += sizeof(*t) + kind->fixed_bytes + (size_t)btf_vlen(t) * kind->bytes_each;
		if (!kind->is_known || at > end)
			return -EINVAL;
		if (kind->wanted == AS_ROOT)
			match_root(cut, name_at(cut, t->name_off), (uint32_t)cut->n_types);
		if (kind->wanted == AS_TARGET && *name_at(cut, t->name_off) == 'b') {
			match_targets(name_at(cut, t->name_off), btf_kind(t),
				      (uint32_t)cut->n_types, targets, n_targets);
			if (btf_is_typedef(t))
				match_root(cut, name_at(cut, t->name_off), (uint32_t)cut->n_types);
		}
	}
	return 0;
}

static int emit(struct cut *cut, uint32_t id, int depth);

static int emit_int(struct cut *cut, const struct btf_type *t)
{
	return btf__add_int(cut->out, name_at(cut, t->name_off), t->size, btf_int_encoding(t));
}

static int emit_array(struct cut *cut, const struct btf_type *t, int depth)
{
	const struct btf_array *a = btf_array(t);
	int index = emit(cut, a->index_type, depth), element = emit(cut, a->type, depth);

	return btf__add_array(cut->out, index, element, a->nelems);
}

static int emit_enum(struct cut *cut, const struct btf_type *t)
{
	int id = btf__add_enum(cut->out, name_at(cut, t->name_off), t->size);

	for (int i = 0; i < btf_vlen(t); i++)
		btf__add_enum_value(cut->out, name_at(cut, btf_enum(t)[i].name_off),
				    btf_enum(t)[i].val);
	return id;
}

static int emit_enum64(struct cut *cut, const struct btf_type *t)
{
	const struct {
		uint32_t name_off, low, high;
	} *values = (const void *)(t + 1);
	int id = btf__add_enum64(cut->out, name_at(cut, t->name_off), t->size, btf_kflag(t));

	for (int i = 0; i < btf_vlen(t); i++)
		btf__add_enum64_value(cut->out, name_at(cut, values[i].name_off),
				      values[i].low | (uint64_t)values[i].high << 32);
	return id;
}

static bool member_is_wanted(const struct cut *cut, const struct btf_member *m)
{
	const char *name = name_at(cut, m->name_off);

	return !*name || names_have(&cut->members, name);
}

static int emit_composite(struct cut *cut, const struct btf_type *t, int depth)
{
	const struct btf_member *members = btf_members(t);
	const char *name = name_at(cut, t->name_off);
	int *types = mem_zalloc((size_t)btf_vlen(t) + 1, sizeof(*types)), id;

	/* A type's members must follow it at once, so what they are of comes first. */
	for (int i = 0; i < btf_vlen(t); i++)
		if (member_is_wanted(cut, &members[i]))
			types[i] = emit(cut, members[i].type, depth);
	id = btf_is_struct(t) ? btf__add_struct(cut->out, name, t->size)
			      : btf__add_union(cut->out, name, t->size);
	for (int i = 0; i < btf_vlen(t); i++)
		if (types[i] > 0)
			btf__add_field(cut->out, name_at(cut, members[i].name_off), types[i],
				       btf_member_bit_offset(t, (uint32_t)i),
				       btf_member_bitfield_size(t, (uint32_t)i));
	free(types);
	return id;
}

static int emit_kind(struct cut *cut, const struct btf_type *t, int depth)
{
	switch (btf_kind(t)) {
	case BTF_KIND_INT:
		return emit_int(cut, t);
	case BTF_KIND_PTR:
		return btf__add_ptr(cut->out, 0);
	case BTF_KIND_ARRAY:
		return emit_array(cut, t, depth);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return emit_composite(cut, t, depth);
	case BTF_KIND_ENUM:
		return emit_enum(cut, t);
	case BTF_KIND_ENUM64:
		return emit_enum64(cut, t);
	case BTF_KIND_FLOAT:
		return btf__add_float(cut->out, name_at(cut, t->name_off), t->size);
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG:
		return emit(cut, t->type, depth); /* relocations look through these */
	default:
		return -EINVAL;
	}
}

/* Copies a type, with all that it holds by value, if that hasn't been done. Returns its new id. */
static int emit(struct cut *cut, uint32_t id, int depth)
{
	if (!id)
		return 0;
	if (id >= cut->n_types || depth > MAX_DEPTH) {
		cut->failed = true;
		return -EINVAL;
	}
	if (!cut->out_ids[id])
		cut->out_ids[id] = emit_kind(cut, type_at(cut, id), depth + 1);
	if (cut->out_ids[id] < 0)
		cut->failed = true;
	return cut->out_ids[id];
}

/* What a parameter points to counts where the types of functions are compared. */
static int emit_parameter(struct cut *cut, uint32_t id)
{
	const struct btf_type *t = type_at(cut, id < cut->n_types ? id : 0);

	return id && btf_is_ptr(t) ? btf__add_ptr(cut->out, emit(cut, t->type, 0))
				   : emit(cut, id, 0);
}

/* A typedef of a tracepoint: a pointer to functions with its arguments. */
static void emit_function_type(struct cut *cut, const struct btf_type *t)
{
	const struct btf_type *ptr = t->type < cut->n_types ? type_at(cut, t->type) : t, *proto;
	int *types, id;

	if (!btf_is_ptr(ptr) || !ptr->type || ptr->type >= cut->n_types)
		return;
	proto = type_at(cut, ptr->type);
	if (!btf_is_func_proto(proto))
		return;
	types = mem_zalloc((size_t)btf_vlen(proto) + 1, sizeof(*types));
	for (int i = 0; i < btf_vlen(proto); i++)
		types[i] = emit_parameter(cut, btf_params(proto)[i].type);
	id = btf__add_func_proto(cut->out, emit_parameter(cut, proto->type));
	for (int i = 0; i < btf_vlen(proto); i++)
		btf__add_func_param(cut->out, "", types[i]);
	btf__add_typedef(cut->out, name_at(cut, t->name_off), btf__add_ptr(cut->out, id));
	free(types);
}

static void emit_root(struct cut *cut, uint32_t id)
{
	const struct btf_type *t = type_at(cut, id);

	if (btf_is_typedef(t))
		emit_function_type(cut, t);
	else
		emit(cut, id, 0);
}

static int open_cut(struct cut *cut, const void *whole, size_t size)
{
	const struct btf_header *header = whole;

	if (size < sizeof(*header) || header->magic != BTF_MAGIC || header->version != 1 ||
	    header->hdr_len > size || header->type_off > size - header->hdr_len ||
	    header->type_len > size - header->hdr_len - header->type_off ||
	    header->str_off > size - header->hdr_len ||
	    header->str_len > size - header->hdr_len - header->str_off || !header->str_len)
		return -EINVAL;
	cut->types = (const char *)whole + header->hdr_len + header->type_off;
	cut->types_size = header->type_len;
	cut->strings = (const char *)whole + header->hdr_len + header->str_off;
	cut->strings_size = header->str_len;
	return cut->strings[cut->strings_size - 1] ? -EINVAL : 0;
}

static void close_cut(struct cut *cut)
{
	free(cut->offsets);
	free(cut->out_ids);
	free(cut->found);
	names_free(&cut->roots);
	names_free(&cut->members);
}

static void make_cut(struct cut *cut)
{
	cut->out = btf__new_empty();
	cut->out_ids = mem_zalloc(cut->n_types, sizeof(*cut->out_ids));
	for (size_t i = 0; cut->out && i < cut->n_found; i++)
		emit_root(cut, cut->found[i]);
	if (cut->failed) {
		btf__free(cut->out);
		cut->out = NULL;
	}
}

struct btf *btf_cut(const void *whole, size_t size, const struct btf *local,
		    struct btf_target *targets, size_t n_targets)
{
	struct cut cut = {};

	if (open_cut(&cut, whole, size))
		return NULL;
	collect_local_names(&cut, local);
	if (!index_types(&cut, targets, n_targets))
		make_cut(&cut);
	close_cut(&cut);
	return cut.out;
}

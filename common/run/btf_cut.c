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

struct name {
	struct hashlink link;
	char *text; /* without "___flavor" */
};

static bool names_have(const struct hashtable *names, const char *text)
{
	struct hashlink *link = hashtable_first(names, hash_text(text));

	for (; link; link = hashtable_next(link))
		if (!strcmp(container_of(link, struct name, link)->text, text))
			return true;
	return false;
}

static void names_add(struct hashtable *names, const char *text)
{
	const char *flavor = strstr(text + (*text != 0), "___");
	struct name *name;

	if (!*text)
		return;
	name = mem_zalloc(1, sizeof(*name));
	name->text = mem_strndup(text, flavor ? (size_t)(flavor - text) : strlen(text));
	hashtable_add(names, &name->link, hash_text(name->text));
}

static void free_name(struct hashlink *link, void *arg)
{
	struct name *name = container_of(link, struct name, link);

	(void)arg;
	free(name->text);
	free(name);
}

/* ---- the cut ---- */

/* A part of the result. */
struct part {
	char *bytes;
	size_t size, capacity;
};

struct cut {
	const char *types, *strings;
	uint32_t types_size, strings_size;
	uint32_t *offsets; /* of types, by id */
	size_t n_types;
	struct hashtable names; /* names of wanted types */
	struct part out_types, out_strings;
	uint32_t *out_ids, n_out; /* new id by old id; 0: not copied yet */
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

/*
 * Properties of each kind: bytes that follow a type, size and layout of its elements (a name, and
 * maybe a type), whether members and parameters can be of that kind, and by which names it is
 * searched. A table needs no branches.
 */
static const struct kind {
	bool is_known, is_value, elements_have_types;
	uint8_t fixed_bytes, bytes_each;
	enum {
		NOT_WANTED,
		AS_ROOT,
		AS_TARGET,
	} wanted;
} kinds[BTF_INFO_KIND(~0U) + 1] = {
	[BTF_KIND_INT] = { true, true, false, sizeof(uint32_t) },
	[BTF_KIND_PTR] = { true, true },
	[BTF_KIND_ARRAY] = { true, true, false, sizeof(struct btf_array) },
	[BTF_KIND_STRUCT] = { true, true, true, 0, sizeof(struct btf_member), AS_ROOT },
	[BTF_KIND_UNION] = { true, true, true, 0, sizeof(struct btf_member), AS_ROOT },
	[BTF_KIND_ENUM] = { true, true, false, 0, sizeof(struct btf_enum), AS_ROOT },
	[BTF_KIND_FWD] = { true, true },
	[BTF_KIND_TYPEDEF] = { true, true, .wanted = AS_TARGET },
	[BTF_KIND_VOLATILE] = { true, true },
	[BTF_KIND_CONST] = { true, true },
	[BTF_KIND_RESTRICT] = { true, true },
	[BTF_KIND_FUNC] = { true, .wanted = AS_TARGET },
	[BTF_KIND_FUNC_PROTO] = { true, true, true, 0, sizeof(struct btf_param) },
	[BTF_KIND_VAR] = { true, false, false, sizeof(uint32_t) },
	[BTF_KIND_DATASEC] = { true, false, false, 0, sizeof(struct btf_var_secinfo) },
	[BTF_KIND_FLOAT] = { true, true },
	[BTF_KIND_DECL_TAG] = { true, false, false, sizeof(uint32_t) },
	[BTF_KIND_TYPE_TAG] = { true, true },
	[BTF_KIND_ENUM64] = { true, true, false, 0, 3 * sizeof(uint32_t), AS_ROOT },
};

static size_t size_of(const struct btf_type *t)
{
	const struct kind *kind = &kinds[btf_kind(t)];

	return sizeof(*t) + kind->fixed_bytes + (size_t)btf_vlen(t) * kind->bytes_each;
}

/* Returns true for a typedef of a pointer to functions. */
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

		if (btf_is_composite(t) || btf_is_any_enum(t) || is_function_type(local, t))
			names_add(&cut->names, btf__name_by_offset(local, t->name_off));
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
	if (!names_have(&cut->names, name))
		return;
	cut->found = mem_grow(cut->found, cut->n_found, &cut->found_cap, sizeof(*cut->found));
	cut->found[cut->n_found++] = id;
}

/*
 * Indexes all types, some 150,000, in one pass. -EINVAL for an unknown kind. The index is sized by
 * the smallest possible type; memory that isn't written is never allocated.
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
		at += size_of(t);
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

/* Appends; returns where. */
static uint32_t put(struct part *part, const void *data, size_t size)
{
	size_t at = part->size;

	part->size += size;
	if (part->size > part->capacity) {
		part->capacity = 2 * part->size;
		part->bytes = mem_realloc(part->bytes, part->capacity, 1);
	}
	memcpy(part->bytes + at, data, size);
	return (uint32_t)at;
}

static uint32_t put_string(struct cut *cut, const char *text)
{
	return *text ? put(&cut->out_strings, text, strlen(text) + 1) : 0;
}

static uint32_t put_type(struct cut *cut, const struct btf_type *t)
{
	put(&cut->out_types, t, size_of(t));
	return ++cut->n_out;
}

static uint32_t emit(struct cut *cut, uint32_t id, int depth, int pointers);

/* Replaces names and ids of types by those in the result. */
static void translate(struct cut *cut, struct btf_type *t, int depth, int pointers)
{
	const struct kind *kind = &kinds[btf_kind(t)];
	uint32_t *word = (uint32_t *)(t + 1);

	t->name_off = put_string(cut, name_at(cut, t->name_off));
	for (int i = 0; i < btf_vlen(t); i++, word += kind->bytes_each / sizeof(*word)) {
		word[0] = put_string(cut, name_at(cut, word[0]));
		if (kind->elements_have_types)
			word[1] = emit(cut, word[1], depth, pointers);
	}
	if (btf_is_array(t)) {
		btf_array(t)->type = emit(cut, btf_array(t)->type, depth, pointers);
		btf_array(t)->index_type = emit(cut, btf_array(t)->index_type, depth, pointers);
	}
	if (btf_is_func_proto(t))
		t->type = emit(cut, t->type, depth, pointers);
	if (btf_is_ptr(t))
		t->type = pointers ? emit(cut, t->type, depth, pointers - 1) : 0;
}

static uint32_t emit_new(struct cut *cut, const struct btf_type *t, int depth, int pointers)
{
	struct btf_type *copy = mem_zalloc(1, size_of(t));
	uint32_t id;

	memcpy(copy, t, size_of(t));
	translate(cut, copy, depth + 1, pointers);
	id = put_type(cut, copy);
	free(copy);
	return id;
}

/*
 * Returns the new id of a type; copies it, with what it holds by value, if not done yet. pointers:
 * how many of these are followed. Relocations look through typedefs and the like.
 */
static uint32_t emit(struct cut *cut, uint32_t id, int depth, int pointers)
{
	const struct btf_type *t;

	if (!id)
		return 0;
	t = id < cut->n_types ? type_at(cut, id) : NULL;
	if (!t || depth > MAX_DEPTH || !kinds[btf_kind(t)].is_value) {
		cut->failed = true;
		return 0;
	}
	if (btf_is_mod(t) || btf_is_typedef(t))
		return emit(cut, t->type, depth + 1, pointers);
	if (pointers && btf_is_ptr(t))
		return emit_new(cut, t, depth, pointers);
	if (!cut->out_ids[id])
		cut->out_ids[id] = emit_new(cut, t, depth, 0);
	return cut->out_ids[id];
}

/*
 * Copies a tracepoint's typedef, a pointer to a function with its arguments, and the types that
 * these point to, which are compared with a program's.
 */
static void emit_function_type(struct cut *cut, struct btf_type t)
{
	struct btf_type ptr = t.type < cut->n_types ? *type_at(cut, t.type) : t;

	if (!btf_is_ptr(&ptr) || !ptr.type || ptr.type >= cut->n_types ||
	    !btf_is_func_proto(type_at(cut, ptr.type)))
		return;
	ptr.type = emit_new(cut, type_at(cut, ptr.type), 0, 1);
	t.type = put_type(cut, &ptr);
	t.name_off = put_string(cut, name_at(cut, t.name_off));
	put_type(cut, &t);
}

static void emit_root(struct cut *cut, uint32_t id)
{
	const struct btf_type *t = type_at(cut, id);

	if (btf_is_typedef(t))
		emit_function_type(cut, *t);
	else
		emit(cut, id, 0, 0);
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
	hashtable_free(&cut->names, free_name, NULL);
}

static struct btf *join(const struct part *types, const struct part *strings)
{
	struct btf_header header = {
		.magic = BTF_MAGIC,
		.version = 1,
		.hdr_len = sizeof(header),
		.type_len = (uint32_t)types->size,
		.str_off = (uint32_t)types->size,
		.str_len = (uint32_t)strings->size,
	};
	size_t size = sizeof(header) + types->size + strings->size;
	char *bytes = mem_zalloc(size, 1);
	struct btf *btf;

	memcpy(bytes, &header, sizeof(header));
	if (types->bytes) /* otherwise none of the types exists */
		memcpy(bytes + sizeof(header), types->bytes, types->size);
	memcpy(bytes + sizeof(header) + types->size, strings->bytes, strings->size);
	btf = btf__new(bytes, (uint32_t)size);
	free(bytes);
	return btf;
}

static struct btf *make_cut(struct cut *cut)
{
	struct part *types = &cut->out_types, *strings = &cut->out_strings;
	struct btf *btf;

	put(strings, "", 1);
	cut->out_ids = mem_zalloc(cut->n_types, sizeof(*cut->out_ids));
	for (size_t i = 0; i < cut->n_found; i++)
		emit_root(cut, cut->found[i]);
	btf = cut->failed ? NULL : join(types, strings);
	free(types->bytes);
	free(strings->bytes);
	return btf;
}

struct btf *btf_cut(const void *whole, size_t size, const struct btf *local,
		    struct btf_target *targets, size_t n_targets)
{
	struct cut cut = {};
	struct btf *btf = NULL;

	if (open_cut(&cut, whole, size))
		return NULL;
	collect_local_names(&cut, local);
	if (!index_types(&cut, targets, n_targets))
		btf = make_cut(&cut);
	close_cut(&cut);
	return btf;
}

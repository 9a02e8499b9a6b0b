// SPDX-License-Identifier: GPL-2.0-only
/* Cutting the kernel's type information down to size; see kernelbtf.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "run/kernelbtf.h"
#include "base/mem.h"
#include "base/msg.h"

#define KERNEL_BTF_PATH "/sys/kernel/btf/vmlinux"
#define MAX_TARGETS	32
#define MAX_DEPTH	32 /* of structures within structures */
#define NAME_BUCKETS	4096

/* ---- the names that the object uses ---- */

/* A set of names, flavors aside. Most questions are about names not in it: an empty bucket. */
struct names {
	const char **items;
	uint32_t *next;
	size_t count, cap, next_cap;
	uint32_t heads[NAME_BUCKETS]; /* index + 1 */
};

/* The length of a name without its "___flavor". */
static size_t essential_length(const char *name)
{
	const char *flavor = strstr(name + (*name != 0), "___");

	return flavor ? (size_t)(flavor - name) : strlen(name);
}

static uint32_t hash_name(const char *name, size_t length)
{
	uint32_t h = 2166136261U;

	for (size_t i = 0; i < length; i++)
		h = (h ^ (unsigned char)name[i]) * 16777619U;
	return (h ^ h >> 15) % NAME_BUCKETS;
}

static bool names_have(const struct names *names, const char *name)
{
	size_t length = strlen(name);

	for (uint32_t i = names->heads[hash_name(name, length)]; i; i = names->next[i - 1])
		if (!strncmp(names->items[i - 1], name, length) &&
		    essential_length(names->items[i - 1]) == length)
			return true;
	return false;
}

static void names_add(struct names *names, const char *name)
{
	uint32_t *head = &names->heads[hash_name(name, essential_length(name))];

	if (!*name)
		return;
	names->items = mem_grow(names->items, names->count, &names->cap, sizeof(*names->items));
	names->next = mem_grow(names->next, names->count, &names->next_cap, sizeof(*names->next));
	names->items[names->count] = name;
	names->next[names->count] = *head;
	*head = (uint32_t)++names->count;
}

static void names_free(struct names *names)
{
	free(names->items);
	free(names->next);
}

/* ---- the cut ---- */

struct cut {
	const char *types, *strings;
	uint32_t types_size, strings_size;
	uint32_t *offsets; /* of types, by id */
	size_t n_types, types_cap;
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

/* The bytes that follow a type; -1 for a kind from the future. */
static ssize_t tail_size(const struct btf_type *t)
{
	size_t n = btf_vlen(t);

	switch (btf_kind(t)) {
	case BTF_KIND_FWD:
	case BTF_KIND_CONST:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_PTR:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return (ssize_t)(n * sizeof(struct btf_member));
	case BTF_KIND_ENUM:
		return (ssize_t)(n * sizeof(struct btf_enum));
	case BTF_KIND_ENUM64:
		return (ssize_t)(n * 3 * sizeof(uint32_t));
	case BTF_KIND_FUNC_PROTO:
		return (ssize_t)(n * sizeof(struct btf_param));
	case BTF_KIND_DATASEC:
		return (ssize_t)(n * sizeof(struct btf_var_secinfo));
	default:
		return -1;
	}
}

static void collect_local_names(struct cut *cut, const struct btf *local)
{
	for (uint32_t id = 1; id < btf__type_cnt(local); id++) {
		const struct btf_type *t = btf__type_by_id(local, id);

		if (!btf_is_composite(t) && !btf_is_any_enum(t))
			continue;
		names_add(&cut->roots, btf__name_by_offset(local, t->name_off));
		for (int i = 0; btf_is_composite(t) && i < btf_vlen(t); i++)
			names_add(&cut->members,
				  btf__name_by_offset(local, btf_members(t)[i].name_off));
	}
}

static void match_targets(const char *name, uint32_t kind, uint32_t id,
			  struct kernelbtf_target *targets, size_t n_targets)
{
	for (size_t i = 0; i < n_targets; i++)
		if (targets[i].kind == kind && !strcmp(targets[i].name, name))
			targets[i].id = id;
}

/* Is this type one that was asked for? Most are not even looked at. */
static void match_type(struct cut *cut, const struct btf_type *t, uint32_t id,
		       struct kernelbtf_target *targets, size_t n_targets)
{
	const char *name = name_at(cut, t->name_off);

	if (btf_is_func(t) || btf_is_typedef(t)) {
		if (name[0] == 'b') /* "btf_trace_", "bpf_iter_" */
			match_targets(name, btf_kind(t), id, targets, n_targets);
		return;
	}
	if ((!btf_is_composite(t) && !btf_is_any_enum(t)) || !names_have(&cut->roots, name))
		return;
	cut->found = mem_grow(cut->found, cut->n_found, &cut->found_cap, sizeof(*cut->found));
	cut->found[cut->n_found++] = id;
}

/* The one pass. -EINVAL if there is a kind that isn't known. */
static int index_types(struct cut *cut, struct kernelbtf_target *targets, size_t n_targets)
{
	uint32_t at = 0;

	cut->offsets = mem_grow(cut->offsets, 0, &cut->types_cap, sizeof(*cut->offsets));
	cut->offsets[cut->n_types++] = 0; /* void */
	while (at + sizeof(struct btf_type) <= cut->types_size) {
		const struct btf_type *t = (const void *)(cut->types + at);
		ssize_t tail = tail_size(t);

		if (tail < 0 || at + sizeof(*t) + (size_t)tail > cut->types_size)
			return -EINVAL;
		cut->offsets = mem_grow(cut->offsets, cut->n_types, &cut->types_cap,
					sizeof(*cut->offsets));
		cut->offsets[cut->n_types] = at;
		match_type(cut, t, (uint32_t)cut->n_types++, targets, n_targets);
		at += (uint32_t)(sizeof(*t) + (size_t)tail);
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
		emit(cut, cut->found[i], 0);
	if (cut->failed) {
		btf__free(cut->out);
		cut->out = NULL;
	}
}

struct btf *kernelbtf_cut(const void *whole, size_t size, const struct btf *local,
			  struct kernelbtf_target *targets, size_t n_targets)
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

/* ---- the kernel's own ---- */

struct image {
	void *data;
	size_t size;
	bool is_mapped;
};

/*
 * Mapped where the kernel allows it (6.16, commit a539e2a6d51d): no copy, and it doesn't count as
 * ours.
 */
static int open_image(struct image *image)
{
	int fd = open(KERNEL_BTF_PATH, O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t filled = 0;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st)) {
		close(fd);
		return -ENOENT;
	}
	image->size = (size_t)st.st_size;
	image->data = mmap(NULL, image->size, PROT_READ, MAP_PRIVATE, fd, 0);
	image->is_mapped = image->data != MAP_FAILED;
	if (!image->is_mapped) {
		image->data = mem_realloc(NULL, image->size, 1);
		while ((n = read(fd, (char *)image->data + filled, image->size - filled)) > 0)
			filled += (size_t)n;
	}
	close(fd);
	return !image->is_mapped && filled < image->size ? -EIO : 0;
}

static void close_image(struct image *image)
{
	if (image->is_mapped)
		munmap(image->data, image->size);
	else
		free(image->data);
}

/* ---- what libbpf gets ---- */

/* Sections of programs that attach to one of the kernel's types, and that type's name and kind. */
static const struct section {
	const char *name, *prefix;
	uint32_t kind;
	enum bpf_attach_type attach_type;
} sections[] = {
	{ "tp_btf", "btf_trace_", BTF_KIND_TYPEDEF, BPF_TRACE_RAW_TP },
	{ "iter", "bpf_iter_", BTF_KIND_FUNC, BPF_TRACE_ITER },
};

static int file_fd = -1;
static struct kernelbtf_target targets[MAX_TARGETS];
static size_t n_targets;

static const struct section *section_of(const struct bpf_program *prog)
{
	const char *name = bpf_program__section_name(prog);
	size_t length = strcspn(name, "/");

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++)
		if (name[length] && strlen(sections[i].name) == length &&
		    !strncmp(sections[i].name, name, length))
			return &sections[i];
	return NULL;
}

static void fill_target(struct kernelbtf_target *target, const struct bpf_program *prog)
{
	const struct section *section = section_of(prog);

	target->id = 0;
	target->kind = section->kind;
	snprintf(target->name, sizeof(target->name), "%s%s", section->prefix,
		 strchr(bpf_program__section_name(prog), '/') + 1);
}

static uint32_t find_target_id(const struct kernelbtf_target *wanted)
{
	for (size_t i = 0; i < n_targets; i++)
		if (targets[i].kind == wanted->kind && !strcmp(targets[i].name, wanted->name))
			return targets[i].id;
	return 0;
}

/* libbpf calls this when it loads a program of these sections; it could not have known the id. */
static int prepare_load(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	const struct section *section = section_of(prog);
	struct kernelbtf_target target;
	int id;

	(void)cookie;
	if (!section)
		return -EINVAL;
	fill_target(&target, prog);
	id = (int)find_target_id(&target);
	if (!id)
		id = libbpf_find_vmlinux_btf_id(strchr(bpf_program__section_name(prog), '/') + 1,
						section->attach_type);
	if (id <= 0)
		return id ? id : -ESRCH;
	opts->attach_btf_id = (uint32_t)id;
	return bpf_program__set_type(prog, BPF_PROG_TYPE_TRACING);
}

/*
 * The type is not the true one until the program is loaded: for one of type TRACING, libbpf would
 * read the kernel's types just in case.
 */
static int register_sections(void)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .prog_prepare_load_fn = prepare_load);
	char name[32];
	int err;

	for (size_t i = 0; i < ARRAY_SIZE(sections); i++) {
		snprintf(name, sizeof(name), "%s+", sections[i].name);
		err = libbpf_register_prog_handler(name, BPF_PROG_TYPE_RAW_TRACEPOINT,
						   sections[i].attach_type, &opts);
		if (err < 0)
			return err;
	}
	return 0;
}

void kernelbtf_prepare(struct bpf_object_open_opts *opts)
{
	static char path[32];

	file_fd = memfd_create("kernel-types", MFD_CLOEXEC);
	if (file_fd < 0 || register_sections())
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	opts->btf_custom_path = path;
}

static void list_targets(const struct bpf_object *object)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, object)
		if (bpf_program__autoload(prog) && section_of(prog) && n_targets < MAX_TARGETS)
			fill_target(&targets[n_targets++], prog);
}

static bool write_file(const void *data, size_t size)
{
	return data && write(file_fd, data, size) == (ssize_t)size;
}

void kernelbtf_provide(const struct bpf_object *object)
{
	struct image image;
	struct btf *cut;
	const void *data = NULL;
	uint32_t size = 0;

	if (file_fd < 0 || open_image(&image))
		return;
	list_targets(object);
	cut = kernelbtf_cut(image.data, image.size, bpf_object__btf(object), targets, n_targets);
	if (cut)
		data = btf__raw_data(cut, &size);
	msg_debug("%u bytes of the kernel's type information are needed", size);
	if (!write_file(data, size))
		write_file(image.data, image.size);
	btf__free(cut);
	close_image(&image);
}

int kernelbtf_attach(struct bpf_object_skeleton *skeleton)
{
	for (int i = 0; i < skeleton->prog_cnt; i++) {
		struct bpf_program *prog = *skeleton->progs[i].prog;

		if (bpf_program__type(prog) != BPF_PROG_TYPE_TRACING ||
		    !bpf_program__autoload(prog) || !bpf_program__autoattach(prog) ||
		    *skeleton->progs[i].link)
			continue;
		*skeleton->progs[i].link = bpf_program__attach_trace(prog);
		if (!*skeleton->progs[i].link)
			return -errno;
	}
	if (file_fd >= 0)
		close(file_fd);
	file_fd = -1;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's type information for libbpf; see kernelbtf.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "base/mem.h"
#include "base/order.h"
#include "base/readfile.h"
#include "base/text_stream.h"
#include "run/kernelbtf.h"

#define WHOLE_MAX_BYTES (256 << 20)
#define MAX_DEPTH	32 /* nesting of types by value */

/* A type's name used by the object, without "___flavor". */
struct name {
	char *text;
	uint32_t target_id; /* the kernel's id of a type to attach to; 0: none or not found */
};

struct kernelbtf {
	int fd; /* memfd with the result, for libbpf */
	char path[32];
	struct name *names; /* sorted by kernelbtf_cut() */
	size_t n_names, names_cap;
};

/* ---- names ---- */

static void add_name(struct kernelbtf *kernelbtf, const char *text)
{
	const char *flavor = strstr(text + (*text != 0), "___");

	if (!*text)
		return;
	*MEM_APPEND(kernelbtf->names, kernelbtf->n_names, kernelbtf->names_cap) = (struct name){
		.text = mem_strndup(text, flavor ? (size_t)(flavor - text) : strlen(text)),
	};
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static struct name *find_name(const struct kernelbtf *kernelbtf, const char *text)
{
	struct name key = { .text = (char *)text };

	return kernelbtf->n_names ? bsearch(&key, kernelbtf->names, kernelbtf->n_names, sizeof(key),
					    compare_names)
				  : NULL;
}

/* Returns true for a typedef of a pointer to functions. */
static bool is_function_type(const struct btf *local, const struct btf_type *t)
{
	if (!btf_is_typedef(t))
		return false;
	t = btf__type_by_id(local, t->type);
	return btf_is_ptr(t) && btf_is_func_proto(btf__type_by_id(local, t->type));
}

void kernelbtf_want_types(struct kernelbtf *kernelbtf, const struct btf *local)
{
	for (uint32_t id = 1; id < btf__type_cnt(local); id++) {
		const struct btf_type *t = btf__type_by_id(local, id);

		if (btf_is_composite(t) || btf_is_any_enum(t) || is_function_type(local, t))
			add_name(kernelbtf, btf__name_by_offset(local, t->name_off));
	}
}

/* ---- the cut ---- */

struct cut {
	const char *types, *strings;
	size_t types_size, strings_size;
	uint32_t *offsets; /* offset of each type in `types`, by id */
	size_t n_types;
	uint32_t *new_ids; /* id in the result, by id; 0: not requested */
	uint32_t *roots;   /* types requested by their names */
	size_t n_roots;
	struct text_stream out_types, out_strings;
	size_t n_out_strings; /* bytes written to out_strings */
	bool has_failed;
};

/* Layout of each kind: the data after struct btf_type, and type ids in it. */
static const struct kind {
	bool is_known, has_type, elements_have_types;
	uint8_t fixed_bytes, bytes_each; /* sizes of the fixed data, and of each element */
} kinds[BTF_INFO_KIND(~0U) + 1] = {
	[BTF_KIND_INT] = { true, false, false, sizeof(uint32_t) },
	[BTF_KIND_PTR] = { true, true },
	[BTF_KIND_ARRAY] = { true, false, false, sizeof(struct btf_array) },
	[BTF_KIND_STRUCT] = { true, false, true, 0, sizeof(struct btf_member) },
	[BTF_KIND_UNION] = { true, false, true, 0, sizeof(struct btf_member) },
	[BTF_KIND_ENUM] = { true, false, false, 0, sizeof(struct btf_enum) },
	[BTF_KIND_FWD] = { true },
	[BTF_KIND_TYPEDEF] = { true, true },
	[BTF_KIND_VOLATILE] = { true, true },
	[BTF_KIND_CONST] = { true, true },
	[BTF_KIND_RESTRICT] = { true, true },
	[BTF_KIND_FUNC] = { true, true },
	[BTF_KIND_FUNC_PROTO] = { true, true, true, 0, sizeof(struct btf_param) },
	[BTF_KIND_VAR] = { true, true, false, sizeof(uint32_t) },
	[BTF_KIND_DATASEC] = { true, false, false, 0, sizeof(struct btf_var_secinfo) },
	[BTF_KIND_FLOAT] = { true },
	[BTF_KIND_DECL_TAG] = { true, true, false, sizeof(uint32_t) },
	[BTF_KIND_TYPE_TAG] = { true, true },
	[BTF_KIND_ENUM64] = { true, false, false, 0, 3 * sizeof(uint32_t) },
};

static size_t size_of(const struct btf_type *t)
{
	const struct kind *kind = &kinds[btf_kind(t)];

	return sizeof(*t) + kind->fixed_bytes + (size_t)btf_vlen(t) * kind->bytes_each;
}

static uint32_t *element(const struct btf_type *t, uint32_t i)
{
	return (uint32_t *)(t + 1) + i * kinds[btf_kind(t)].bytes_each / sizeof(uint32_t);
}

/* Returns the location of the type's i-th reference to another type; NULL: fewer. */
static uint32_t *reference(const struct btf_type *t, uint32_t i)
{
	const struct kind *kind = &kinds[btf_kind(t)];

	if (kind->has_type && !i--)
		return (uint32_t *)&t->type;
	if (btf_is_array(t))
		return i == 0 ? &btf_array(t)->type : i == 1 ? &btf_array(t)->index_type : NULL;
	return kind->elements_have_types && i < btf_vlen(t) ? element(t, i) + 1 : NULL;
}

static const struct btf_type *type_at(const struct cut *cut, uint32_t id)
{
	return (const void *)(cut->types + cut->offsets[id < cut->n_types ? id : 0]);
}

static const char *name_at(const struct cut *cut, uint32_t offset)
{
	return offset < cut->strings_size ? cut->strings + offset : "";
}

/*
 * Requests the type if the object uses its name. Attach targets begin with "btf_trace_" or "bpf_".
 */
static void match(struct cut *cut, const struct kernelbtf *kernelbtf, uint32_t id)
{
	const struct btf_type *t = type_at(cut, id);
	bool is_type = btf_is_composite(t) || btf_is_any_enum(t);
	const char *text = name_at(cut, t->name_off);
	struct name *name;

	if (!is_type && ((!btf_is_typedef(t) && !btf_is_func(t)) || *text != 'b'))
		return;
	name = find_name(kernelbtf, text);
	if (!name)
		return;
	if (!is_type)
		name->target_id = id;
	if (!btf_is_func(t))
		cut->roots[cut->n_roots++] = id;
}

/* Matches all types, some 150,000, in one pass. -EINVAL for an unknown kind. */
static int match_types(struct cut *cut, const struct kernelbtf *kernelbtf)
{
	size_t at = 0;

	for (cut->n_types = 1; at < cut->types_size;) {
		const struct btf_type *t = (const void *)(cut->types + at);

		if (cut->types_size - at < sizeof(*t) || !kinds[btf_kind(t)].is_known ||
		    cut->types_size - at < size_of(t))
			return -EINVAL;
		cut->offsets[cut->n_types++] = (uint32_t)at;
		at += size_of(t);
		match(cut, kernelbtf, (uint32_t)cut->n_types - 1);
	}
	return 0;
}

/* Values of new_ids until put_types() numbers the result. */
enum {
	IS_OPEN = 1, /* the types contained in it are being requested */
	IS_COMPLETE,
};

/*
 * Requests a type and all types that it contains by value. Fails if a type contains itself: libbpf
 * would never terminate.
 */
static void want(struct cut *cut, uint32_t id, int depth)
{
	const struct btf_type *t = type_at(cut, id);
	const uint32_t *part;

	if (!id || id >= cut->n_types || cut->new_ids[id] == IS_COMPLETE)
		return;
	if (cut->new_ids[id] == IS_OPEN || depth > MAX_DEPTH) {
		cut->has_failed = true;
		return;
	}
	cut->new_ids[id] = IS_OPEN;
	for (uint32_t i = 0; !btf_is_ptr(t) && (part = reference(t, i)); i++)
		want(cut, *part, depth + 1);
	cut->new_ids[id] = IS_COMPLETE;
}

/* Requests the types that a tracepoint's arguments point to: the verifier compares them. */
static void want_arguments(struct cut *cut, const struct btf_type *t)
{
	const struct btf_type *ptr = type_at(cut, t->type), *proto = type_at(cut, ptr->type);

	if (strncmp(name_at(cut, t->name_off), "btf_trace_", 10) != 0 || !btf_is_ptr(ptr) ||
	    !btf_is_func_proto(proto))
		return;
	want(cut, ptr->type, 0);
	for (uint32_t i = 0; i < btf_vlen(proto); i++) {
		const struct btf_type *argument = type_at(cut, btf_params(proto)[i].type);

		if (btf_is_ptr(argument))
			want(cut, argument->type, 0);
	}
}

static void want_roots(struct cut *cut)
{
	for (size_t i = 0; i < cut->n_roots; i++) {
		const struct btf_type *t = type_at(cut, cut->roots[i]);

		want(cut, cut->roots[i], 0);
		if (btf_is_typedef(t))
			want_arguments(cut, t);
	}
}

/* Writes a name, once per use; fails above a limit (forged BTF). Returns its offset. */
static uint32_t put_string(struct cut *cut, const char *text)
{
	size_t at = cut->n_out_strings, size;

	if (cut->has_failed || (!*text && at))
		return 0;
	size = strlen(text) + 1;
	fwrite(text, size, 1, cut->out_strings.f);
	cut->n_out_strings += size;
	cut->has_failed = cut->n_out_strings > WHOLE_MAX_BYTES;
	return (uint32_t)at;
}

/* Writes a copy of a type, with its names and type ids converted to the result's. */
static void put_type(struct cut *cut, const struct btf_type *t)
{
	struct btf_type *copy = mem_zalloc(1, size_of(t));
	uint32_t *at;

	memcpy(copy, t, size_of(t));
	copy->name_off = put_string(cut, name_at(cut, t->name_off));
	for (uint32_t i = 0; kinds[btf_kind(t)].bytes_each && i < btf_vlen(t); i++) {
		at = element(copy, i);
		*at = put_string(cut, name_at(cut, *at));
	}
	for (uint32_t i = 0; (at = reference(copy, i)); i++)
		*at = *at < cut->n_types ? cut->new_ids[*at] : 0;
	fwrite(copy, size_of(t), 1, cut->out_types.f);
	free(copy);
}

static void put_types(struct cut *cut)
{
	uint32_t n = 0;

	for (uint32_t id = 1; id < cut->n_types; id++)
		if (cut->new_ids[id])
			cut->new_ids[id] = ++n;
	put_string(cut, "");
	for (uint32_t id = 1; id < cut->n_types; id++)
		if (cut->new_ids[id])
			put_type(cut, type_at(cut, id));
}

static int write_cut(struct cut *cut, int fd)
{
	struct btf_header header = { .magic = BTF_MAGIC, .version = 1, .hdr_len = sizeof(header) };
	struct iovec parts[] = { { &header, sizeof(header) }, {}, {} };
	ssize_t written = -1, size;

	text_stream_open(&cut->out_types);
	text_stream_open(&cut->out_strings);
	put_types(cut);
	parts[1].iov_base = text_stream_close(&cut->out_types);
	parts[2].iov_base = text_stream_close(&cut->out_strings);
	header.type_len = header.str_off = (uint32_t)(parts[1].iov_len = cut->out_types.size);
	header.str_len = (uint32_t)(parts[2].iov_len = cut->out_strings.size);
	written = writev(fd, parts, 3);
	size = (ssize_t)(sizeof(header) + parts[1].iov_len + parts[2].iov_len);
	free(parts[1].iov_base);
	free(parts[2].iov_base);
	return cut->has_failed ? -EINVAL : written == size ? 0 : -EIO;
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

int kernelbtf_cut(struct kernelbtf *kernelbtf, const void *whole, size_t size)
{
	struct cut cut = {};
	int err = open_cut(&cut, whole, size);
	size_t n_max;

	SORT(kernelbtf->names, kernelbtf->n_names, compare_names);
	if (err)
		return err;
	n_max = cut.types_size / sizeof(struct btf_type) + 1; /* untouched memory costs nothing */
	cut.offsets = mem_zalloc(n_max, sizeof(*cut.offsets));
	cut.new_ids = mem_zalloc(n_max, sizeof(*cut.new_ids));
	cut.roots = mem_zalloc(n_max, sizeof(*cut.roots));
	err = match_types(&cut, kernelbtf);
	if (!err) {
		want_roots(&cut);
		err = write_cut(&cut, kernelbtf->fd);
	}
	free(cut.offsets);
	free(cut.new_ids);
	free(cut.roots);
	return err;
}

/* ---- the result, for libbpf ---- */

/* Writes the name of the type that the program attaches to; false: none. */
static bool target_name(const struct bpf_program *prog, char *name, size_t size)
{
	const char *section = bpf_program__section_name(prog), *end = strchr(section, '/');
	bool is_iter = !strncmp(section, "iter/", 5);

	if (!is_iter && strncmp(section, "tp_btf/", 7) != 0)
		return false;
	snprintf(name, size, "%s%s", is_iter ? "bpf_iter_" : "btf_trace_", end + 1);
	return true;
}

/* Sets a program's attach type before its load: libbpf can't find it among the cut types. */
static int prepare_load(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	const struct kernelbtf *kernelbtf = (const struct kernelbtf *)cookie;
	const struct name *name;
	char text[128];

	name = target_name(prog, text, sizeof(text)) ? find_name(kernelbtf, text) : NULL;
	if (!name || !name->target_id)
		return -ESRCH;
	opts->attach_btf_id = name->target_id;
	return bpf_program__set_type(prog, BPF_PROG_TYPE_TRACING);
}

/*
 * The program type is set only at load: for TRACING programs, libbpf would read all of the kernel's
 * types.
 */
static int register_section(struct kernelbtf *kernelbtf, const char *name,
			    enum bpf_attach_type attach_type)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)kernelbtf,
		    .prog_prepare_load_fn = prepare_load);

	return libbpf_register_prog_handler(name, BPF_PROG_TYPE_RAW_TRACEPOINT, attach_type, &opts);
}

struct kernelbtf *kernelbtf_new(struct bpf_object_open_opts *opts)
{
	struct kernelbtf *kernelbtf = mem_zalloc(1, sizeof(*kernelbtf));

	kernelbtf->fd = memfd_create("kernel-types", MFD_CLOEXEC);
	if (kernelbtf->fd < 0 || register_section(kernelbtf, "tp_btf+", BPF_TRACE_RAW_TP) < 0 ||
	    register_section(kernelbtf, "iter+", BPF_TRACE_ITER) < 0) {
		kernelbtf_free(kernelbtf);
		return NULL;
	}
	snprintf(kernelbtf->path, sizeof(kernelbtf->path), "/proc/self/fd/%d", kernelbtf->fd);
	kernelbtf_open_again(kernelbtf, opts);
	return kernelbtf;
}

void kernelbtf_open_again(const struct kernelbtf *kernelbtf, struct bpf_object_open_opts *opts)
{
	opts->btf_custom_path = kernelbtf->path;
}

static void want_targets(struct kernelbtf *kernelbtf, const struct bpf_object *object)
{
	struct bpf_program *prog;
	char name[128];

	bpf_object__for_each_program(prog, object)
		if (bpf_program__autoload(prog) && target_name(prog, name, sizeof(name)))
			add_name(kernelbtf, name);
}

/* Cuts the kernel's types, mapped if possible (since 6.16, commit a539e2a6d51d), else read. */
static int cut_own(struct kernelbtf *kernelbtf)
{
	int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC), err;
	void *data = MAP_FAILED;
	struct stat st;
	char *copy;
	size_t size;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st))
		data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (data != MAP_FAILED) {
		err = kernelbtf_cut(kernelbtf, data, (size_t)st.st_size);
		munmap(data, (size_t)st.st_size);
	} else {
		copy = readfile_fd(fd, WHOLE_MAX_BYTES, &size);
		err = copy ? kernelbtf_cut(kernelbtf, copy, size) : -errno;
		free(copy);
	}
	close(fd);
	return err;
}

int kernelbtf_provide(struct kernelbtf *kernelbtf, const struct bpf_object *object,
		      const struct btf *whole)
{
	const void *data;
	uint32_t size;

	kernelbtf_want_types(kernelbtf, bpf_object__btf(object));
	want_targets(kernelbtf, object);
	if (!whole)
		return cut_own(kernelbtf);
	data = btf__raw_data(whole, &size);
	return data ? kernelbtf_cut(kernelbtf, data, size) : -EINVAL;
}

static bool needs_attaching(const struct bpf_program *prog)
{
	return bpf_program__type(prog) == BPF_PROG_TYPE_TRACING && bpf_program__autoload(prog) &&
	       bpf_program__autoattach(prog);
}

int kernelbtf_attach(struct bpf_object_skeleton *skeleton)
{
	for (int i = 0; i < skeleton->prog_cnt; i++) {
		struct bpf_program *prog = *skeleton->progs[i].prog;

		if (!needs_attaching(prog) || *skeleton->progs[i].link)
			continue;
		*skeleton->progs[i].link = bpf_program__attach_trace(prog);
		if (!*skeleton->progs[i].link)
			return -errno;
	}
	return 0;
}

void kernelbtf_free(struct kernelbtf *kernelbtf)
{
	if (!kernelbtf)
		return;
	if (kernelbtf->fd >= 0)
		close(kernelbtf->fd);
	for (size_t i = 0; i < kernelbtf->n_names; i++)
		free(kernelbtf->names[i].text);
	free(kernelbtf->names);
	free(kernelbtf);
}

// SPDX-License-Identifier: GPL-2.0-only
/* The kernel's type information for libbpf; see kernelbtf.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/msg.h"
#include "run/btf_cut.h"
#include "run/kernelbtf.h"

#define KERNEL_BTF_PATH "/sys/kernel/btf/vmlinux"
#define MAX_TARGETS	32

/* ---- all types of the kernel ---- */

struct image {
	void *data;
	size_t size;
	bool is_mapped;
	struct btf *btf; /* owner of the data; NULL: the data is ours */
};

/*
 * Maps the kernel's types if possible (6.16, commit a539e2a6d51d): no copy, no memory of this
 * process.
 */
static int open_own_image(struct image *image)
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

/* A raw copy of the kernel's types, or an ELF file with a section .BTF. */
static int open_file_image(struct image *image, const char *path)
{
	uint32_t size;

	image->btf = btf__parse(path, NULL);
	if (!image->btf)
		return -errno;
	image->data = (void *)btf__raw_data(image->btf, &size);
	image->size = size;
	return image->data ? 0 : -EINVAL;
}

static void close_image(struct image *image)
{
	if (image->btf)
		btf__free(image->btf);
	else if (image->is_mapped)
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

struct kernelbtf {
	const char *source; /* NULL: the kernel's own file */
	int file_fd;	    /* file that libbpf reads; -1: the kernel's own */
	char path[32];
	struct btf_target targets[MAX_TARGETS];
	size_t n_targets;
};

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

static void fill_target(struct btf_target *target, const struct bpf_program *prog)
{
	const struct section *section = section_of(prog);

	target->id = 0;
	target->kind = section->kind;
	snprintf(target->name, sizeof(target->name), "%s%s", section->prefix,
		 strchr(bpf_program__section_name(prog), '/') + 1);
}

static uint32_t find_target_id(const struct kernelbtf *kernelbtf, const struct btf_target *wanted)
{
	const struct btf_target *target = kernelbtf->targets;

	for (size_t i = 0; i < kernelbtf->n_targets; i++, target++)
		if (target->kind == wanted->kind && !strcmp(target->name, wanted->name))
			return target->id;
	return 0;
}

/*
 * Called by libbpf when it loads a program of these sections: sets the type id, which libbpf can't
 * find.
 */
static int prepare_load(struct bpf_program *prog, struct bpf_prog_load_opts *opts, long cookie)
{
	const struct section *section = section_of(prog);
	struct btf_target target;
	int id;

	if (!section)
		return -EINVAL;
	fill_target(&target, prog);
	id = (int)find_target_id((const struct kernelbtf *)cookie, &target);
	if (!id)
		id = libbpf_find_vmlinux_btf_id(strchr(bpf_program__section_name(prog), '/') + 1,
						section->attach_type);
	if (id <= 0)
		return id ? id : -ESRCH;
	opts->attach_btf_id = (uint32_t)id;
	return bpf_program__set_type(prog, BPF_PROG_TYPE_TRACING);
}

/*
 * The program type is set only at load: for TRACING programs, libbpf would read all of the kernel's
 * types.
 */
static int register_sections(struct kernelbtf *kernelbtf)
{
	LIBBPF_OPTS(libbpf_prog_handler_opts, opts, .cookie = (long)kernelbtf,
		    .prog_prepare_load_fn = prepare_load);
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

struct kernelbtf *kernelbtf_prepare(struct bpf_object_open_opts *opts, const char *source)
{
	struct kernelbtf *kernelbtf = mem_zalloc(1, sizeof(*kernelbtf));

	kernelbtf->source = source;
	kernelbtf->file_fd =
		register_sections(kernelbtf) ? -1 : memfd_create("kernel-types", MFD_CLOEXEC);
	if (kernelbtf->file_fd < 0)
		return kernelbtf;
	snprintf(kernelbtf->path, sizeof(kernelbtf->path), "/proc/self/fd/%d", kernelbtf->file_fd);
	opts->btf_custom_path = kernelbtf->path;
	return kernelbtf;
}

static int open_image(const struct kernelbtf *kernelbtf, struct image *image)
{
	return kernelbtf->source ? open_file_image(image, kernelbtf->source)
				 : open_own_image(image);
}

static void list_targets(struct kernelbtf *kernelbtf, const struct bpf_object *object)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, object)
		if (bpf_program__autoload(prog) && section_of(prog) &&
		    kernelbtf->n_targets < MAX_TARGETS)
			fill_target(&kernelbtf->targets[kernelbtf->n_targets++], prog);
}

static bool write_file(const struct kernelbtf *kernelbtf, const void *data, size_t size)
{
	return data && write(kernelbtf->file_fd, data, size) == (ssize_t)size;
}

void kernelbtf_provide(struct kernelbtf *kernelbtf, const struct bpf_object *object)
{
	struct image image = {};
	struct btf *cut;
	const void *data = NULL;
	uint32_t size = 0;

	if (!kernelbtf || kernelbtf->file_fd < 0 || open_image(kernelbtf, &image))
		return;
	list_targets(kernelbtf, object);
	cut = btf_cut(image.data, image.size, bpf_object__btf(object), kernelbtf->targets,
		      kernelbtf->n_targets);
	if (cut)
		data = btf__raw_data(cut, &size);
	msg_debug("kernel BTF: %u bytes used", size);
	if (!write_file(kernelbtf, data, size))
		write_file(kernelbtf, image.data, image.size);
	btf__free(cut);
	close_image(&image);
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
	if (kernelbtf->file_fd >= 0)
		close(kernelbtf->file_fd);
	free(kernelbtf);
}

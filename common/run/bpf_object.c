// SPDX-License-Identifier: GPL-2.0-only
/* A tool's BPF object; see bpf_object.h. */
#include <bpf/btf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define ZLIB_CONST
#include <zlib.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/load.h"
#include "base/mem.h"
#include "base/msg.h"
#include "run/bpf_object.h"
#include "run/bpfmap.h"
#include "run/capabilities.h"
#include "run/features.h"
#include "run/kernelbtf.h"

/* ---- unpack ---- */

#define GZIP (16 + MAX_WBITS)

static bool inflate_all(const unsigned char *packed, size_t packed_bytes, void *out, size_t bytes)
{
	z_stream z = {
		.next_in = packed,
		.avail_in = (uInt)packed_bytes,
		.next_out = out,
		.avail_out = (uInt)bytes,
	};
	int status;

	if (inflateInit2(&z, GZIP) != Z_OK)
		return false;
	status = inflate(&z, Z_FINISH);
	inflateEnd(&z);
	return status == Z_STREAM_END;
}

/* The gzip format ends with the unpacked size (RFC 1952, 2.3.1). */
void *unpack(const unsigned char *packed, size_t packed_bytes, size_t *bytes)
{
	uint32_t size = load_u32(packed + packed_bytes - sizeof(size));
	void *out = mem_realloc(NULL, size, 1);

	if (!inflate_all(packed, packed_bytes, out, size)) {
		msg_error("embedded BPF object: corrupt (reinstall tracelets)");
		exit(1);
	}
	*bytes = size;
	return out;
}

/* ---- bpf object ---- */

/* First members of every generated skeleton. */
struct skeleton_head {
	struct bpf_object_skeleton *skeleton;
	struct bpf_object *obj;
};

static struct skeleton_head *head_of(const struct run *run)
{
	return run->skeleton;
}

static int print_libbpf(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	if (!msg_verbose || level == LIBBPF_DEBUG)
		return 0;
	return vfprintf(stderr, fmt, ap);
}

static bool kernel_has_btf(void)
{
	return !access("/sys/kernel/btf/vmlinux", R_OK);
}

static int report_no_btf(const char *what)
{
	msg_errno(-ENOENT, "%s (/sys/kernel/btf/vmlinux)", what);
	msg_hint("%s", access("/sys/kernel", F_OK)
			       ? "mount sysfs on /sys"
			       : "use a kernel built with CONFIG_DEBUG_INFO_BTF=y");
	return -ENOENT;
}

static void report_no_types(const char *path, int err)
{
	char reason[128];

	if (err == ENOENT || err == ENODATA || err == LIBBPF_ERRNO__FORMAT)
		snprintf(reason, sizeof(reason), "contains no type information (BTF)");
	else
		libbpf_strerror(err, reason, sizeof(reason)); /* knows libbpf's codes, too */
	msg_error("BTF of %s: %s", path, reason);
}

/* btf__parse() waits for writers of a FIFO, and returns ENOENT also for files without types. */
static struct btf *parse_types(const char *path)
{
	struct btf *types;
	struct stat st;

	if (stat(path, &st)) {
		msg_errno(-errno, "BTF of %s", path);
		return NULL;
	}
	if (!S_ISREG(st.st_mode)) {
		msg_error("BTF of %s: not a regular file", path);
		return NULL;
	}
	types = btf__parse(path, NULL);
	if (!types)
		report_no_types(path, errno);
	return types;
}

const struct btf *object_types(struct run *run)
{
	if (run->types)
		return run->types;
	if (run->btf_path) {
		run->types = parse_types(run->btf_path);
		return run->types;
	}
	run->types = btf__load_vmlinux_btf();
	if (!run->types)
		report_no_types("the kernel", errno);
	return run->types;
}

static void free_types(struct run *run)
{
	btf__free(run->types);
	run->types = NULL;
}

int object_check_kernel(struct run *run)
{
	int err;

	libbpf_set_print(print_libbpf);
	limits_raise();
	err = features_programs();
	if (err) {
		msg_errno(err, "BPF programs: load failed");
		if (err == -EPERM || err == -EACCES)
			capabilities_explain();
		return err;
	}
	if (run->btf_path)
		return object_types(run) ? 0 : -EINVAL;
	return kernel_has_btf() ? 0 : report_no_btf("kernel BTF");
}

int object_open(struct run *run)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);

	run->kernelbtf = kernelbtf_new(&opts);
	if (!run->kernelbtf)
		return msg_errno(-errno, "BPF object: open failed");
	run->skeleton = run->tool->skeleton->open(&opts);
	if (!run->skeleton)
		return msg_errno(-errno, "BPF object: open failed");
	run->object = head_of(run)->obj;
	return 0;
}

/* Returns the number of descriptors of the object: one for each map and program. */
static rlim_t count_descriptors(const struct run *run)
{
	struct bpf_program *prog;
	struct bpf_map *map;
	rlim_t n = 0;

	bpf_object__for_each_program(prog, run->object)
		n += bpf_program__autoload(prog);
	bpf_object__for_each_map(map, run->object)
		n += bpf_map__autocreate(map);
	return n;
}

/*
 * Returns -EMFILE if descriptors were too few, else err: if libbpf can't make a map with its types,
 * it retries without and reports the second failure, which may be EINVAL.
 */
static int reason_of_failure(const struct run *run, int err)
{
	struct rlimit files;
	int lowest_free = dup(STDERR_FILENO);

	if (lowest_free >= 0)
		close(lowest_free);
	if (err != -EINVAL || lowest_free < 0 || getrlimit(RLIMIT_NOFILE, &files))
		return err;
	return (rlim_t)lowest_free + count_descriptors(run) > files.rlim_cur ? -EMFILE : err;
}

/*
 * Prints a hint, except for limits, which msg_errno() has named. The kernel checks programs on
 * typed tracepoints (tp_btf) against its own types: no file replaces these.
 */
static void hint_at_cause(const struct run *run, int err)
{
	const char *option = run->losses.size_option;

	if ((err == -ENOMEM || err == -E2BIG) && option)
		msg_hint("lower --%s (makes the table smaller)", option);
	else if (limit_is_reached(err) || err == -E2BIG)
		return;
	else if (err == -EPERM)
		capabilities_explain();
	else if (run->btf_path && !kernel_has_btf())
		msg_hint(
			"check that %s holds this kernel's types and the kernel has "
			"CONFIG_DEBUG_INFO_BTF=y (the file only replaces a hidden /sys/kernel/btf)",
			run->btf_path);
	else
		msg_hint("use --verbose to see the kernel's message");
}

/*
 * Returns true if the data sections are mapped. Without memory for its probe, libbpf assumes that
 * the kernel can't map data, and the tool's writes would not reach BPF.
 */
static bool has_data(const struct bpf_object_skeleton *s)
{
	for (int i = 0; i < s->map_cnt; i++) {
		const char *at = (const char *)s->maps + i * s->map_skel_sz;
		const struct bpf_map_skeleton *map = (const void *)at;

		if (!strncmp(map->name, ".data", 5) && !*map->mmaped)
			return false;
	}
	return true;
}

int object_load(struct run *run)
{
	struct bpf_object_skeleton *skeleton = head_of(run)->skeleton;
	int err;

	err = kernelbtf_provide(run->kernelbtf, run->object, run->types);
	free_types(run);
	if (err)
		return msg_errno(err, "kernel BTF: read failed");
	err = bpf_object__load_skeleton(skeleton);
	if (!err && has_data(skeleton))
		return 0;
	if (!err)
		return msg_errno(-ENOMEM, "BPF data section: mmap failed");
	err = reason_of_failure(run, err);
	msg_errno(err, "BPF programs: load failed");
	hint_at_cause(run, err);
	return err;
}

int object_attach(struct run *run)
{
	int err;

	run->start_ns = run->report_start_ns = clock_now_ns();
	err = bpf_object__attach_skeleton(head_of(run)->skeleton);
	if (!err)
		err = kernelbtf_attach(head_of(run)->skeleton);
	return err ? msg_errno(err, "BPF programs: attach failed") : 0;
}

/* ---- programs that are loaded again ---- */

struct object_again {
	struct skeleton_head *head;
	struct object_again *former; /* loaded before; NULL: the first ones are run->skeleton's */
};

static struct skeleton_head *latest(const struct run *run)
{
	return run->again ? run->again->head : head_of(run);
}

static bool is_named(const struct bpf_program *prog, const char *const *names)
{
	for (; names && *names; names++)
		if (!strcmp(bpf_program__name(prog), *names))
			return true;
	return false;
}

/* Loads only the programs that replace running ones. */
static void choose_programs(const struct run *run, struct bpf_object *again,
			    const char *const *names)
{
	struct bpf_program *prog, *first;

	bpf_object__for_each_program(prog, again) {
		first = bpf_object__find_program_by_name(run->object, bpf_program__name(prog));
		bpf_program__set_autoload(prog, bpf_program__autoload(first) &&
							(bpf_program__type(prog) ==
								 BPF_PROG_TYPE_PERF_EVENT ||
							 is_named(prog, names)));
	}
}

/* Copies the first object's settings, and shares all other maps. */
static int share_maps(const struct run *run, struct bpf_object *again)
{
	struct bpf_map *map, *first;
	const void *settings;
	size_t size;
	int err = 0;

	bpf_object__for_each_map(map, again) {
		first = map_find(run, bpf_map__name(map));
		if (!bpf_map__autocreate(first)) {
			bpf_map__set_autocreate(map, false);
		} else if (!strncmp(bpf_map__name(map), ".rodata", 7)) {
			settings = bpf_map__initial_value(first, &size);
			err = bpf_map__set_initial_value(map, settings, size);
		} else {
			err = bpf_map__reuse_fd(map, bpf_map__fd(first));
		}
		if (err)
			return err;
	}
	return 0;
}

/* Changes the first bytes of a section. */
static int set_section(struct bpf_object *object, const char *name, const void *value, size_t size)
{
	struct bpf_map *map = bpf_object__find_map_by_name(object, name);
	size_t whole_size = 0;
	const void *former = map ? bpf_map__initial_value(map, &whole_size) : NULL;
	char *whole;
	int err;

	if (!former || size > whole_size)
		return -ENOENT;
	whole = mem_zalloc(1, whole_size);
	memcpy(whole, former, whole_size);
	memcpy(whole, value, size);
	err = bpf_map__set_initial_value(map, whole, whole_size);
	free(whole);
	return err;
}

static int load_again(struct run *run, struct skeleton_head *head, const char *const *names,
		      const char *section, const void *value, size_t size)
{
	int err;

	choose_programs(run, head->obj, names);
	err = share_maps(run, head->obj);
	if (!err)
		err = set_section(head->obj, section, value, size);
	if (!err)
		err = bpf_object__load_skeleton(head->skeleton);
	return err ? err : kernelbtf_attach(head->skeleton);
}

static struct bpf_link **find_link(const struct bpf_object_skeleton *skeleton, const char *name)
{
	for (int i = 0; i < skeleton->prog_cnt; i++)
		if (!strcmp(skeleton->progs[i].name, name))
			return skeleton->progs[i].link;
	return NULL;
}

/* Takes the former program off its events. */
static void replace(struct run *run, const struct skeleton_head *former,
		    const struct bpf_program *program)
{
	const char *name = bpf_program__name(program);
	struct bpf_link **link = find_link(former->skeleton, name);
	struct bpf_program *old = bpf_object__find_program_by_name(former->obj, name);

	for_each_module(use, run)
		if (use->module->replace && run_wants(run, use->module))
			use->module->replace(run, old, program);
	if (link && *link)
		bpf_link__destroy(*link);
	if (link)
		*link = NULL;
}

int object_load_again(struct run *run, const char *const *names, const char *section,
		      const void *value, size_t size)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts);
	const struct skeleton_head *former = latest(run);
	struct skeleton_head *head;
	struct object_again *again;
	struct bpf_program *prog;
	int err;

	kernelbtf_open_again(run->kernelbtf, &opts);
	head = run->tool->skeleton->open(&opts);
	if (!head)
		return -errno;
	err = load_again(run, head, names, section, value, size);
	if (err) {
		run->tool->skeleton->destroy(head);
		return err;
	}
	bpf_object__for_each_program(prog, head->obj)
		if (bpf_program__autoload(prog))
			replace(run, former, prog);
	again = mem_zalloc(1, sizeof(*again));
	*again = (struct object_again){ head, run->again };
	run->again = again;
	return 0;
}

static void visit_programs(const struct bpf_object *object,
			   void (*visit)(const struct bpf_program *program, void *arg), void *arg)
{
	struct bpf_program *prog;

	bpf_object__for_each_program(prog, object)
		visit(prog, arg);
}

void object_visit_programs(const struct run *run,
			   void (*visit)(const struct bpf_program *program, void *arg), void *arg)
{
	visit_programs(run->object, visit, arg);
	for (const struct object_again *again = run->again; again; again = again->former)
		visit_programs(again->head->obj, visit, arg);
}

void object_detach(struct run *run)
{
	for (struct object_again *again = run->again; again; again = again->former)
		bpf_object__detach_skeleton(again->head->skeleton);
	if (run->skeleton)
		bpf_object__detach_skeleton(head_of(run)->skeleton);
}

void object_close(struct run *run)
{
	for (struct object_again *again = run->again, *former; again; again = former) {
		former = again->former;
		run->tool->skeleton->destroy(again->head);
		free(again);
	}
	if (run->skeleton)
		run->tool->skeleton->destroy(run->skeleton);
	kernelbtf_free(run->kernelbtf);
	free_types(run);
}

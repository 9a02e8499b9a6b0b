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
#include "base/mem.h"
#include "base/msg.h"
#include "run/bpf_object.h"
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
	uint32_t size;
	void *out;

	memcpy(&size, packed + packed_bytes - sizeof(size), sizeof(size));
	out = mem_realloc(NULL, size, 1);
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
	msg_hint("use a kernel built with CONFIG_DEBUG_INFO_BTF=y");
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

void object_detach(struct run *run)
{
	if (run->skeleton)
		bpf_object__detach_skeleton(head_of(run)->skeleton);
}

void object_close(struct run *run)
{
	if (run->skeleton)
		run->tool->skeleton->destroy(run->skeleton);
	kernelbtf_free(run->kernelbtf);
	free_types(run);
}

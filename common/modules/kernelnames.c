// SPDX-License-Identifier: GPL-2.0-only
/*
 * Symbols of kernel addresses; see kernelnames.h. Addresses are written to the map in batches, and
 * the iterator returns text. %pB looks up the byte before its argument, a return address, so the
 * map gets address + 1.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "abi/ksym_query.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/readfile.h"
#include "modules/kernelnames.h"
#include "run/bpfmap.h"
#include "symbols/ksyms.h"

#define ANSWERS_MAX_BYTES (KSYMS_AT_ONCE << 10)

struct kernelnames {
	struct bpf_link *link;
	struct ksym_query *query; /* the map's memory */
};

struct text {
	char *bytes; /* NUL-terminated */
	size_t n;
};

static struct bpf_program *find_program(const struct run *run)
{
	return bpf_object__find_program_by_name(run->object, "ksym_answer");
}

void kernelnames_configure(const struct run *run)
{
	bpf_program__set_autoattach(find_program(run), false);
}

void kernelnames_leave_out(const struct run *run)
{
	program_leave_out(run, "ksym_answer");
	map_leave_out(run, "ksym_queries");
}

struct kernelnames *kernelnames_new(const struct run *run)
{
	struct kernelnames *names = mem_zalloc(1, sizeof(*names));
	int map_fd = bpf_map__fd(map_find(run, "ksym_queries"));
	/* one task is enough; before 6.1 the iterator visits all tasks */
	union bpf_iter_link_info info = { .task.tid = (uint32_t)getpid() };
	LIBBPF_OPTS(bpf_iter_attach_opts, opts, .link_info = &info, .link_info_len = sizeof(info));

	names->query =
		mmap(NULL, sizeof(*names->query), PROT_READ | PROT_WRITE, MAP_SHARED, map_fd, 0);
	if (names->query == MAP_FAILED)
		names->query = NULL;
	else
		names->link = bpf_program__attach_iter(find_program(run), &opts);
	if (names->link)
		return names;
	kernelnames_free(names);
	return NULL;
}

void kernelnames_free(struct kernelnames *names)
{
	int err = errno;

	if (!names)
		return;
	bpf_link__destroy(names->link);
	if (names->query)
		munmap(names->query, sizeof(*names->query));
	free(names);
	errno = err;
}

static void append(struct text *text, const char *bytes, size_t n)
{
	text->bytes = mem_realloc(text->bytes, text->n + n + 1, 1);
	memcpy(text->bytes + text->n, bytes, n + 1);
	text->n += n;
}

/*
 * Queries at most KSYMS_AT_ONCE addresses and appends the iterator's text to answers. 0 or -errno.
 */
static int ask(struct kernelnames *names, const uint64_t *addrs, size_t n, struct text *answers)
{
	size_t n_bytes;
	char *text;
	int fd, err;

	for (size_t i = 0; i < KSYMS_AT_ONCE; i++)
		names->query->addrs[i] = i < n ? addrs[i] + 1 : 0;
	fd = bpf_iter_create(bpf_link__fd(names->link));
	if (fd < 0)
		return fd;
	text = readfile_fd(fd, ANSWERS_MAX_BYTES, &n_bytes);
	err = text ? 0 : -errno;
	if (text)
		append(answers, text, n_bytes);
	free(text);
	close(fd);
	return err;
}

static int compare_addrs(const void *a, const void *b)
{
	return order_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

static size_t sort_unique(uint64_t *addrs, size_t n)
{
	size_t kept = 0;

	SORT(addrs, n, compare_addrs);
	for (size_t i = 0; i < n; i++)
		if (!kept || addrs[kept - 1] != addrs[i])
			addrs[kept++] = addrs[i];
	return kept;
}

struct ksyms *kernelnames_for(struct kernelnames *names, uint64_t *addrs, size_t n)
{
	struct text answers = {};
	int err = 0;

	n = sort_unique(addrs, n);
	for (size_t i = 0; !err && i < n; i += KSYMS_AT_ONCE)
		err = ask(names, addrs + i, n - i < KSYMS_AT_ONCE ? n - i : KSYMS_AT_ONCE,
			  &answers);
	if (!err)
		return ksyms_parse(addrs, n, answers.bytes ? answers.bytes : mem_strdup(""));
	free(answers.bytes);
	errno = -err;
	return NULL;
}

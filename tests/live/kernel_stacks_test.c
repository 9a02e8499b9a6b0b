// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel stacks that BPF walks by the kernel's table, each held against the kernel's own walk
 * of the same stack. KERNEL_STACKS=1000000: so many.
 */
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include <bpf/bpf.h>

#include "run/features.h"
#include "live.h"
#include "kernel_stacks.h"
#include "kernel_stacks.skel.h"

/* ---- waits of many kinds ---- */

#define SHORT_NS 20000

static void wait_by_clock(void)
{
	struct timespec briefly = { .tv_nsec = SHORT_NS };
	struct timeval tv = { .tv_usec = SHORT_NS / 1000 };

	nanosleep(&briefly, NULL);
	ppoll(NULL, 0, &briefly, NULL);
	select(0, NULL, NULL, NULL, &tv);
}

static void wait_for_events(int epoll_fd, int fd)
{
	struct pollfd event = { .fd = fd, .events = POLLIN };
	struct epoll_event found;

	epoll_wait(epoll_fd, &found, 1, 1);
	poll(&event, 1, 1);
}

/* It ends at once, later, or after a page of its own was written to. */
static void wait_for_child(int round)
{
	pid_t child = fork();

	if (!child) {
		if (round & 1)
			wait_by_clock();
		_exit(0);
	}
	waitpid(child, NULL, 0);
}

/* Both ends of a socket do the same, so that one is in read() when the other writes. */
static void wait_for_each_other(int fd, int rounds)
{
	int epoll_fd = epoll_create1(0);
	struct epoll_event event = { .events = EPOLLIN };
	char byte = 0;

	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event);
	for (int i = 0; i < rounds; i++) {
		if (write(fd, &byte, 1) != 1)
			break;
		if (i % 16 == 0)
			wait_for_events(epoll_fd, fd);
		if (read(fd, &byte, 1) != 1)
			break;
		if (i % 64 == 0)
			wait_by_clock();
		if (i % 256 == 0)
			wait_for_child(i / 256);
		sched_yield();
	}
	close(epoll_fd);
}

static void wait_in_many_ways(int rounds)
{
	int fds[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		abort();
	child = fork();
	close(fds[!child]);
	wait_for_each_other(fds[!!child], rounds);
	if (!child)
		_exit(0);
	close(fds[1]);
	waitpid(child, NULL, 0);
}

/* ---- comparing ---- */

static struct bpf_program *finder_of(const struct kernel_stacks_bpf *skel)
{
	return bpf_object__find_program_by_name(skel->obj, "kernel_tables_find");
}

static struct kernel_stacks_bpf *load(void)
{
	struct kernel_stacks_bpf *skel = kernel_stacks_bpf__open();
	uint32_t n_slots = (uint32_t)libbpf_num_possible_cpus();

	if (!skel)
		abort();
	leave_out_all(skel->obj);
	bpf_program__set_autoload(skel->progs.kernel_stacks_compare, true);
	bpf_program__set_autoload(finder_of(skel), true);
	bpf_map__set_autocreate(skel->maps.stack_scratch, true);
	bpf_map__set_autocreate(skel->maps.pairs, true);
	bpf_map__set_max_entries(skel->maps.stack_scratch, n_slots);
	bpf_map__set_max_entries(skel->maps.pairs, n_slots);
	CHECK_EQ(kernel_stacks_bpf__load(skel), 0);
	return skel;
}

/* False: the kernel has no table, or doesn't tell. */
static bool find_tables(const struct kernel_stacks_bpf *skel)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	CHECK_EQ(bpf_prog_test_run_opts(bpf_program__fd(finder_of(skel)), &opts), 0);
	return opts.retval;
}

static void print_pair(const char *title, const struct kernel_stacks_pair *pair)
{
	printf("%s\n", title);
	for (size_t i = 0; i < pair->n_ours || i < pair->n_theirs; i++)
		printf("%3zu  %16llx  %16llx\n", i, i < pair->n_ours ? pair->ours[i] : 0,
		       i < pair->n_theirs ? pair->theirs[i] : 0);
}

static uint64_t n_wanted(void)
{
	const char *n = getenv("KERNEL_STACKS");

	return n ? strtoull(n, NULL, 10) : (uint64_t)at_size(100000, 5000);
}

TEST(kernel_stacks_are_what_the_kernel_says)
{
	const struct kernel_stacks_counts *counts;
	struct kernel_stacks_bpf *skel;

	if (features_kallsyms_lookup())
		SKIP("BPF can't look up symbols on this kernel: it walks its stacks itself");
#ifndef __x86_64__
	SKIP("only x86-64 has such a table");
#endif
	skel = load();
	if (!find_tables(skel)) {
		kernel_stacks_bpf__destroy(skel);
		SKIP("this kernel has no unwind table: it walks its stacks itself");
	}
	skel->links.kernel_stacks_compare = bpf_program__attach(skel->progs.kernel_stacks_compare);
	CHECK(skel->links.kernel_stacks_compare != NULL);
	counts = &skel->data_counts->counts;
	while (counts->equal + counts->not_walked < n_wanted() && !counts->different)
		wait_in_many_ways(at_size(2000, 500));
	printf("%llu equal, %llu different, %llu not walked here, %llu not by the kernel\n",
	       counts->equal, counts->different, counts->not_walked, counts->refused);
	if (counts->not_walked)
		print_pair("one that was not:", &counts->last_not_walked);
	if (counts->different)
		print_pair("ours, the kernel's:", &counts->last_different);
	CHECK(counts->equal >= n_wanted() / 2);
	CHECK_EQ(counts->different, 0);
	kernel_stacks_bpf__destroy(skel);
}

// SPDX-License-Identifier: GPL-2.0-only
/* The rate of calls and what they cost; see leakrate.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "abi/memleak.h"
#include "run/bpfmap.h"
#include "base/clock.h"
#include "memleak/leak_probes.h"
#include "memleak/leak_rate.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/msg.h"
#include "base/parse.h"
#include "process/procmaps.h"
#include "process/procstate.h"

#define TICK_NS	      (250 * NS_PER_MS)
#define STATS_TICKS   4 /* for so long the kernel measures the time in BPF */
#define PRICE_CALLS   200
#define PRICE_BATCHES 5

struct process_time {
	pid_t pid;
	uint64_t first_ns, last_ns; /* CPU time */
};

static struct process_time *processes;
static size_t n_processes, processes_cap;

static double alloc_price_ns, free_price_ns; /* of the probes alone */
static double bpf_ns;			     /* of the programs, for each call; 0: not known */
static struct memleak_counts counts, last_counts;
static uint64_t last_ns;
static uint32_t rate_limit, n_ticks;
static int timer_fd = -1, stats_fd = -1;

/* ---- counts ---- */

static void read_counts(const struct run *run, struct memleak_counts *sum)
{
	int n = libbpf_num_possible_cpus(), fd = bpf_map__fd(map_find(run, "memleak_counts"));
	struct memleak_counts *each = mem_zalloc((size_t)n, sizeof(*each));
	uint32_t zero = 0;

	memset(sum, 0, sizeof(*sum));
	if (!bpf_map_lookup_elem(fd, &zero, each))
		for (int i = 0; i < n; i++) {
			sum->allocs += each[i].allocs;
			sum->frees += each[i].frees;
		}
	free(each);
}

/* ---- the price of a probe ---- */

#ifdef __x86_64__
/*
 * As functions begin: with an instruction that the kernel emulates, and with one that it steps
 * over.
 */
__asm__(".pushsection .text\n"
	".type leakrate_cheap, @function\n"
	"leakrate_cheap: push %rbx; pop %rbx; ret\n"
	".type leakrate_dear, @function\n"
	"leakrate_dear: test %rdi, %rdi; ret\n"
	".popsection\n");
void leakrate_cheap(void);
void leakrate_dear(void);
#else
__attribute__((noinline)) static void leakrate_cheap(void)
{
	__asm__ volatile("");
}
#define leakrate_dear leakrate_cheap
#endif

static uint64_t own_file_offset(uint64_t addr)
{
	const struct mapping *m;
	struct mappings maps;
	uint64_t offset = 0;

	if (mappings_read(&maps, getpid()))
		return 0;
	m = mappings_find(&maps, addr);
	if (m)
		offset = addr - m->start + m->offset;
	mappings_free(&maps);
	return offset;
}

static double time_calls(void (*function)(void))
{
	double best_ns = 0, ns;
	uint64_t start_ns;

	for (int batch = 0; batch < PRICE_BATCHES; batch++) {
		start_ns = clock_now_ns();
		for (int i = 0; i < PRICE_CALLS; i++)
			function();
		ns = (double)(clock_now_ns() - start_ns) / PRICE_CALLS;
		best_ns = batch && best_ns < ns ? best_ns : ns;
	}
	return best_ns;
}

/* 0 where it can't be found out. */
static double price_of(enum probe_kind place, bool wants_return)
{
	void (*function)(void) = place == PROBE_STEP ? leakrate_dear : leakrate_cheap;
	struct uprobe_point point = {
		.fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
		.offset = own_file_offset((uintptr_t)function),
		.cookie = wants_return ? MEMLEAK_PRICE : MEMLEAK_PRICE_OF_ENTRY,
		.wants_return = wants_return,
	};
	struct uprobes *link = point.fd < 0 ? NULL : leakprobes_attach_own(&point);
	double ns = link ? time_calls(function) : 0;

	uprobes_detach(link);
	if (point.fd >= 0)
		close(point.fd);
	return ns;
}

void leakrate_calibrate(void)
{
	alloc_price_ns = price_of(leakprobes_place(false), true);
	free_price_ns = price_of(leakprobes_place(true), false);
	msg_debug("a probe costs %.0f ns where memory is given, %.0f ns where it is taken back",
		  alloc_price_ns, free_price_ns);
}

/* ---- the target's CPU time ---- */

void leakrate_watch_pid(pid_t pid)
{
	processes = mem_grow(processes, n_processes, &processes_cap, sizeof(*processes));
	processes[n_processes++] = (struct process_time){ .pid = pid };
}

/* Of a process that has ended, the last value stays. */
static void read_cpu_times(bool first)
{
	for (size_t i = 0; i < n_processes; i++) {
		uint64_t now_ns = process_cpu_ns(processes[i].pid);

		if (now_ns > processes[i].last_ns)
			processes[i].last_ns = now_ns;
		if (first)
			processes[i].first_ns = now_ns;
	}
}

static double target_cpu_ns(void)
{
	double sum_ns = 0;

	for (size_t i = 0; i < n_processes; i++)
		sum_ns += (double)(processes[i].last_ns - processes[i].first_ns);
	return sum_ns;
}

/* ---- the time in BPF ---- */

static uint64_t read_run_ns(const struct run *run)
{
	struct bpf_program *prog;
	uint64_t sum_ns = 0;

	bpf_object__for_each_program(prog, run->object) {
		struct bpf_prog_info info = {};
		uint32_t size = sizeof(info);
		int fd = bpf_program__fd(prog);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &size))
			sum_ns += info.run_time_ns;
	}
	return sum_ns;
}

static void measure_bpf(const struct run *run)
{
	uint64_t n = counts.allocs + counts.frees;

	if (stats_fd < 0)
		return;
	if (n)
		bpf_ns = (double)read_run_ns(run) / (double)n;
	close(stats_fd);
	stats_fd = -1;
}

/* ---- ticks ---- */

static enum loop_verdict check_rate(uint64_t now_ns)
{
	uint64_t n = counts.allocs + counts.frees - last_counts.allocs - last_counts.frees;
	double rate = (double)n * (double)NS_PER_S / (double)(now_ns - last_ns);

	last_counts = counts;
	last_ns = now_ns;
	if (!rate_limit || rate <= rate_limit)
		return LOOP_GO;
	msg_warn("%.0f calls per second, more than --max-rate %u: detached", rate, rate_limit);
	return LOOP_STOP;
}

static enum loop_verdict on_tick(int fd, void *arg)
{
	struct run *run = arg;
	uint64_t expirations;

	if (read(fd, &expirations, sizeof(expirations)) < 0)
		return LOOP_GO;
	read_counts(run, &counts);
	read_cpu_times(false);
	if (++n_ticks == STATS_TICKS)
		measure_bpf(run);
	return check_rate(clock_now_ns());
}

int leakrate_start(struct run *run, uint32_t max_rate)
{
	struct itimerspec spec = { { .tv_nsec = TICK_NS }, { .tv_nsec = TICK_NS } };

	rate_limit = max_rate;
	last_ns = clock_now_ns();
	read_cpu_times(true);
	stats_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (timer_fd < 0 || timerfd_settime(timer_fd, 0, &spec, NULL) ||
	    loop_watch(run->loop, timer_fd, on_tick, run))
		return msg_errno(errno, "making a timer");
	return 0;
}

static double cost_ns(void)
{
	double n = (double)(counts.allocs + counts.frees);

	return (double)counts.allocs * alloc_price_ns + (double)counts.frees * free_price_ns +
	       n * bpf_ns;
}

void leakrate_print(const struct run *run)
{
	double seconds = (double)(run->end_ns - run->start_ns) / (double)NS_PER_S, n, cpu_ns;

	read_counts(run, &counts);
	read_cpu_times(false);
	measure_bpf(run);
	n = (double)(counts.allocs + counts.frees);
	cpu_ns = target_cpu_ns();
	if (!n || !alloc_price_ns || cpu_ns <= cost_ns() * 1.05)
		msg_info("%.0f calls, %.0f per second%s", n, n / seconds,
			 n && alloc_price_ns ? ", which is most of what the target did" : "");
	else
		msg_info("%.0f calls, %.0f per second, about %.2f us each: they made the target's "
			 "work take about %.2f times as long",
			 n, n / seconds, cost_ns() / n / (double)NS_PER_US,
			 cpu_ns / (cpu_ns - cost_ns()));
}

void leakrate_finish(void)
{
	if (timer_fd >= 0)
		close(timer_fd);
	if (stats_fd >= 0)
		close(stats_fd);
	free(processes);
}

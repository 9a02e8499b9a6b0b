// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that do nothing, one per way in which the tools and their peers are attached. What the
 * kernel counts for them is the price of the counting itself.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>

SEC("tp_btf/sched_switch")
int empty_tracing(void *ctx)
{
	return 0;
}

SEC("raw_tp/sched_switch")
int empty_raw_tracepoint(void *ctx)
{
	return 0;
}

SEC("tracepoint/sched/sched_switch")
int empty_tracepoint(void *ctx)
{
	return 0;
}

SEC("tp_btf/sys_exit")
int empty_call_tracing(void *ctx)
{
	return 0;
}

SEC("raw_tp/sys_exit")
int empty_call_raw_tracepoint(void *ctx)
{
	return 0;
}

SEC("tracepoint/raw_syscalls/sys_exit")
int empty_call_tracepoint(void *ctx)
{
	return 0;
}

SEC("perf_event")
int empty_perf_event(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "GPL";

// SPDX-License-Identifier: GPL-2.0-only
/* Counts the stacks of the running task at each perf event. */
#define TASK_READ BPF_CORE_READ /* the current task is an untyped address before 5.11 */
#include "stack/sampled.bpf.h"

const volatile bool include_idle = false;
const volatile bool per_cpu = false;

SEC("perf_event")
int profile_sample(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	bool is_idle = task_is_idle(task);
	struct stack_key key = {};

	sampled_note(ctx, task, is_idle);
	if ((is_idle && !include_idle) || !filter_task(task))
		return 0;
	stack_key_owner(&key, task);
	key.cpu = per_cpu ? bpf_get_smp_processor_id() + 1 : 0;
	key.user_id = sampled_user_stack(ctx);
	key.kernel_id = stack_intern_kernel_current(ctx);
	stack_count(&key, 1, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";

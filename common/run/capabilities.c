// SPDX-License-Identifier: GPL-2.0-only
/* Capabilities and their uses; see capabilities.h. tracelets(8) has the same table. */
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/msg.h"
#include "run/capabilities.h"

/* Missing in older headers: added to include/uapi/linux/capability.h in 5.8 and 5.9. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF	    39
#endif
#ifndef CAP_CHECKPOINT_RESTORE
#define CAP_CHECKPOINT_RESTORE 40
#endif

struct capability {
	const char *name; /* "CAP_BPF" */
	unsigned int number;
	bool is_required;
	const char *need; /* features that need the capability */
};

/* Ordered as printed; an entry without a name ends the table. */
static const struct capability capabilities[] = {
	{ "CAP_BPF", CAP_BPF, true, "all tools" },
	{ "CAP_PERFMON", CAP_PERFMON, true, "all tools" },
	{ "CAP_SYS_PTRACE", CAP_SYS_PTRACE, false,
	  "symbols in containers; on old kernels, of other users" },
	{ "CAP_DAC_READ_SEARCH", CAP_DAC_READ_SEARCH, false,
	  "symbols in files with restricted permissions" },
	{ "CAP_SYSLOG", CAP_SYSLOG, false, "kernel stacks free of the tool's own frames" },
	{ "CAP_CHECKPOINT_RESTORE", CAP_CHECKPOINT_RESTORE, false,
	  "with PTRACE and DAC: symbols in deleted files" },
	{},
};

/* Returns the effective capabilities of this thread. */
static uint64_t read_held(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {};

	syscall(SYS_capget, &header, data);
	return (uint64_t)data[1].effective << 32 | data[0].effective;
}

static bool has_bit(uint64_t held, unsigned int number)
{
	return held >> number & 1;
}

bool capabilities_have(unsigned int number)
{
	return has_bit(read_held(), number);
}

/* bpf_capable(), perfmon_capable(), checkpoint_restore_ns_capable(): include/linux/capability.h. */
static bool is_held(const struct capability *capability, uint64_t held)
{
	bool is_new = capability->number == CAP_BPF || capability->number == CAP_PERFMON ||
		      capability->number == CAP_CHECKPOINT_RESTORE;

	return has_bit(held, capability->number) || (is_new && has_bit(held, CAP_SYS_ADMIN));
}

char *capabilities_missing(char *buf, size_t size, uint64_t held, bool required)
{
	size_t used = 0;

	*buf = '\0';
	for (const struct capability *c = capabilities; c->name && used < size; c++)
		if (c->is_required == required && !is_held(c, held))
			used += (size_t)snprintf(buf + used, size - used, "%s%s", used ? ", " : "",
						 c->name);
	return buf;
}

/* The capabilities of a user namespace's root have no effect outside of the namespace. */
void capabilities_explain(void)
{
	char missing[256];

	capabilities_missing(missing, sizeof(missing), read_held(), true);
	if (*missing)
		msg_hint("grant %s, or run as root (tracelets(8), PRIVILEGES)", missing);
	else
		msg_hint("check lockdown, seccomp, security modules, user namespaces, and before "
			 "Linux 5.11 ulimit -l or LimitMEMLOCK= (the capabilities are sufficient)");
}

void capabilities_announce(void)
{
	char missing[256];

	capabilities_missing(missing, sizeof(missing), read_held(), false);
	if (*missing)
		msg_info(
			"without %s: some symbols and stacks will be missing (see tracelets check)",
			missing);
}

void capabilities_print(FILE *f)
{
	uint64_t held = read_held();

	for (const struct capability *c = capabilities; c->name; c++)
		fprintf(f, "%-23s %-12s %s\n", c->name, is_held(c, held) ? "yes" : "no", c->need);
}

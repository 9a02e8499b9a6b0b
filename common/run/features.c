// SPDX-License-Identifier: GPL-2.0-only
/*
 * Features of the running kernel; see features.h. Nothing is concluded from a version number: each
 * feature is tried once, by the smallest operation that needs it.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/array.h"
#include "base/limits.h"
#include "base/msg.h"
#include "base/readfile.h"
#include "probes/uprobes.h"
#include "run/capabilities.h"
#include "run/features.h"

/* Initializers of struct bpf_insn: opcode, registers (src << 4 | dst), offset, immediate. */
#define INSN(code, dst, src, off, imm) ((struct bpf_insn){ code, dst, src, off, imm })
#define INSN_RETURN_0		       INSN(0xb7, 0, 0, 0, 0), INSN(0x95, 0, 0, 0, 0)

static const struct bpf_insn nothing[] = { INSN_RETURN_0 };

/* *(u64 *)(r10 - 8) = 0; r0 = 0; r1 = 0; cmpxchg(r10 - 8, r0, r1) */
static const struct bpf_insn compare_and_exchange[] = {
	INSN(0x7a, 10, 0, -8, 0),    INSN(0xb7, 0, 0, 0, 0), INSN(0xb7, 1, 0, 0, 0),
	INSN(0xdb, 10, 1, -8, 0xf1), INSN_RETURN_0,
};

/* bpf_kallsyms_lookup_name() of an empty name: r1 = r10 - 8, r2 = 8, r3 = 0, r4 = r10 - 16 */
static const struct bpf_insn kallsyms_lookup[] = {
	INSN(0x7a, 10, 0, -8, 0), INSN(0x7a, 10, 0, -16, 0),
	INSN(0xbf, 1, 10, 0, 0),  INSN(0x07, 1, 0, 0, -8),
	INSN(0xb7, 2, 0, 0, 8),	  INSN(0xb7, 3, 0, 0, 0),
	INSN(0xbf, 4, 10, 0, 0),  INSN(0x07, 4, 0, 0, -16),
	INSN(0x85, 0, 0, 0, 179), INSN_RETURN_0,
};

/*
 * A row of the table. Exactly one of probe and show is set; both return a file descriptor or 0
 * ("yes"), or a negative errno.
 */
struct feature {
	const char *name;
	int (*probe)(const struct feature *feature);
	int (*show)(char *text, size_t size); /* writes the text to print instead of "yes" */
	/* tool or option that needs the feature, and the fallback */
	const char *need;
	const char *target; /* for probe(): name of a function or tracepoint */
	int number;	    /* for probe(): attach type, helper, or another number */
	bool is_required;   /* every tool needs the feature */
};

/* ---- programs ---- */

static int load(enum bpf_prog_type type, int attach_type, uint32_t btf_id,
		const struct bpf_insn *insns, size_t n)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = (enum bpf_attach_type)attach_type,
		    .attach_btf_id = btf_id);
	int fd = bpf_prog_load(type, "tracelets_check", "GPL", insns, n, &opts);

	return fd < 0 ? -errno : fd;
}

static int load_by_btf(const char *name, enum bpf_attach_type attach_type)
{
	int btf_id = libbpf_find_vmlinux_btf_id(name, attach_type);

	if (btf_id < 0)
		return btf_id;
	return load(BPF_PROG_TYPE_TRACING, attach_type, (uint32_t)btf_id, nothing,
		    ARRAY_SIZE(nothing));
}

/* Loads a program that does nothing and attaches it. Returns the link's descriptor, or -errno. */
static int attach_by_btf(const char *name, enum bpf_attach_type attach_type)
{
	int prog_fd = load_by_btf(name, attach_type), fd;

	if (prog_fd < 0)
		return prog_fd;
	fd = bpf_raw_tracepoint_open(NULL, prog_fd);
	fd = fd < 0 ? -errno : fd;
	close(prog_fd);
	return fd;
}

static int probe_attach(const struct feature *feature)
{
	return attach_by_btf(feature->target, (enum bpf_attach_type)feature->number);
}

/* Closes fd and returns 0; returns fd itself if it is a negative errno. */
static int close_tried(int fd)
{
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

/* Loads a program of a type that needs both CAP_BPF and CAP_PERFMON. */
int features_programs(void)
{
	return close_tried(load(BPF_PROG_TYPE_KPROBE, 0, 0, nothing, ARRAY_SIZE(nothing)));
}

static int probe_program(const struct feature *feature)
{
	(void)feature;
	return features_programs();
}

/* The file exists exactly in kernels with quotas (Documentation/scheduler/sched-bwc.rst). */
int features_require_quotas(void)
{
	if (!access("/proc/sys/kernel/sched_cfs_bandwidth_slice_us", F_OK))
		return 0;
	msg_error("--throttled: not supported by this kernel (needs CONFIG_CFS_BANDWIDTH)");
	return -ENOTSUP;
}

bool features_tracepoint(const struct btf *types, const char *name)
{
	char type[128];

	snprintf(type, sizeof(type), "btf_trace_%s", name);
	return btf__find_by_name_kind(types, type, BTF_KIND_TYPEDEF) >= 0;
}

bool features_member(const struct btf *types, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(types, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(types, (uint32_t)id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(types, btf_members(t)[i].name_off), member))
			return true;
	return false;
}

int features_fentry(const char *function)
{
	return close_tried(attach_by_btf(function, BPF_TRACE_FENTRY));
}

static int probe_load(const struct feature *feature)
{
	return load_by_btf(feature->target, (enum bpf_attach_type)feature->number);
}

static int probe_cmpxchg(const struct feature *feature)
{
	(void)feature;
	return load(BPF_PROG_TYPE_KPROBE, 0, 0, compare_and_exchange,
		    ARRAY_SIZE(compare_and_exchange));
}

bool features_compare_and_exchange(void)
{
	return close_tried(probe_cmpxchg(NULL)) !=
	       -EINVAL; /* the verifier's error; other errors are inconclusive */
}

int features_kallsyms_lookup(void)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .prog_flags = BPF_F_SLEEPABLE);
	int fd = bpf_prog_load(BPF_PROG_TYPE_SYSCALL, "tracelets_check", "GPL", kallsyms_lookup,
			       ARRAY_SIZE(kallsyms_lookup), &opts);

	return fd < 0 ? -errno : close_tried(fd);
}

static int probe_kallsyms_lookup(const struct feature *feature)
{
	(void)feature;
	return features_kallsyms_lookup();
}

/* ---- maps and helpers ---- */

/*
 * Converts the result of libbpf_probe_*(): 1, 0 or -errno. Without the needed capability that is 0,
 * so a 0 is checked by loading a program.
 */
static int answer_of(int has)
{
	if (has)
		return has < 0 ? has : 0;
	return features_programs() ?: -ENOTSUP;
}

static int probe_ring_buffer(const struct feature *feature)
{
	(void)feature;
	return answer_of(libbpf_probe_bpf_map_type(BPF_MAP_TYPE_RINGBUF, NULL));
}

static int probe_helper(const struct feature *feature)
{
	return answer_of(libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT,
						 (enum bpf_func_id)feature->number, NULL));
}

/* ---- perf events ---- */

static int probe_event(const struct feature *feature)
{
	bool is_hardware = feature->number == PERF_TYPE_HARDWARE;
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (uint32_t)feature->number,
		.config = is_hardware ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* ---- uprobes ---- */

static int probe_uprobes(const struct feature *feature)
{
	return uprobes_try((enum uprobes_mode)feature->number);
}

/*
 * On x86-64, probed functions return by a reserved system call, uretprobe (since 6.11), and some
 * entry probes are one, uprobe (since 6.18). Kernels 6.11, early 6.12 and 6.13 pass these calls to
 * seccomp filters: filters of sandboxed programs don't know them and kill the program. Other
 * architectures have no calls with these numbers.
 */
static const long probe_calls[] = { 335, 336 };

static void exit_by_signal(int signal)
{
	_exit(signal);
}

/* Installs a filter that traps all system calls but exit_group(). */
static int filter_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
	};
	struct sock_fprog filter = { ARRAY_SIZE(code), code };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

/* Makes a system call in a child. Returns its errno (0: none) or its signal; -1: unknown. */
static int try_call(long number, bool is_filtered)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		signal(SIGILL, exit_by_signal);
		signal(SIGSYS, exit_by_signal);
		if (is_filtered && filter_calls())
			_exit(0);
		_exit(syscall(number) < 0 ? errno : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool features_filters_see(long number)
{
	return try_call(number, true) == SIGSYS;
}

/*
 * Returns true if a system call is reserved for the kernel's own use: it fails for other callers.
 */
static bool is_kernels_own(long number)
{
	int how = try_call(number, false);

	return how == SIGILL || how == ENXIO;
}

bool features_probes_kill(void)
{
	for (size_t i = 0; i < ARRAY_SIZE(probe_calls); i++)
		if (is_kernels_own(probe_calls[i]) && features_filters_see(probe_calls[i]))
			return true;
	return false;
}

static int probe_harmless_probes(const struct feature *feature)
{
	(void)feature;
	return features_probes_kill() ? -ENOTSUP : 0;
}

/* ---- settings ---- */

static int probe_btf(const struct feature *feature)
{
	(void)feature;
	return access("/sys/kernel/btf/vmlinux", R_OK) ? -errno : 0;
}

static int probe_tracefs(const struct feature *feature)
{
	(void)feature;
	return access("/sys/kernel/tracing/events/syscalls", F_OK) ? -errno : 0;
}

/* Reads a file's first line into text. */
static int show_file(const char *path, char *text, size_t size)
{
	char *all = readfile(path, 4096, NULL);

	if (!all)
		return -errno;
	snprintf(text, size, "%.*s", (int)strcspn(all, "\n"), all);
	free(all);
	return 0;
}

static int show_paranoid(char *text, size_t size)
{
	return show_file("/proc/sys/kernel/perf_event_paranoid", text, size);
}

/*
 * Shows the active mode, which the file has in brackets: "none [integrity] confidentiality". -EPERM
 * for confidentiality.
 */
static int show_lockdown(char *text, size_t size)
{
	char line[128];
	const char *start;

	if (show_file("/sys/kernel/security/lockdown", line, sizeof(line))) {
		snprintf(text, size, "none");
		return 0;
	}
	start = strchr(line, '[');
	start = start ? start + 1 : line;
	snprintf(text, size, "%.*s", (int)strcspn(start, "]"), start);
	return strcmp(text, "confidentiality") ? 0 : -EPERM;
}

/* ---- the table ---- */

static const struct feature features[] = {
	{ "type information (BTF)", probe_btf, NULL, "all tools; else --btf FILE for profile",
	  .is_required = true },
	{ "ring buffer", probe_ring_buffer, NULL, "all tools", .is_required = true },
	{ "BPF programs", probe_program, NULL, "all tools", .is_required = true },
	{ "lockdown", NULL, show_lockdown, "confidentiality refuses all tools",
	  .is_required = true },
	{ "tp_btf programs", probe_attach, NULL,
	  "runqlat, biolat, offcputime, locks, syscount; user stacks", "sched_switch",
	  BPF_TRACE_RAW_TP },
	{ "task iterator", probe_load, NULL, "runqlat, offcputime, locks; kernel symbols", "task",
	  BPF_TRACE_ITER },
	{ "task storage", probe_helper, NULL, "task state; else a hash table", NULL,
	  BPF_FUNC_task_storage_get },
	{ "helper task_pt_regs", probe_helper, NULL, "user stacks; else address arithmetic", NULL,
	  BPF_FUNC_task_pt_regs },
	{ "helper kallsyms_lookup", probe_kallsyms_lookup, NULL,
	  "offcputime on x86-64; else the kernel walks its stacks" },
	{ "contention tracepoints", probe_attach, NULL, "locks; else no kernel locks",
	  "contention_begin", BPF_TRACE_RAW_TP },
	{ "atomic cmpxchg", probe_cmpxchg, NULL, "memleak" },
	{ "uprobe with cookie", probe_uprobes, NULL, "memleak", NULL, UPROBES_PERF },
	{ "uprobe.multi", probe_uprobes, NULL, "memleak; else one link each, no --duty-cycle", NULL,
	  UPROBES_MULTI },
	{ "uprobe.session", probe_uprobes, NULL, "memleak; else separate entry and return probes",
	  NULL, UPROBES_SESSION },
	{ "uprobes under seccomp", probe_harmless_probes, NULL,
	  "memleak; else probes would kill the program" },
	{ "fentry", probe_attach, NULL, "pagefaults -L", "handle_mm_fault", BPF_TRACE_FENTRY },
	{ "syscall tracepoints", probe_tracefs, NULL,
	  "syscount (detected only if tracefs is mounted)" },
	{ "event cpu-clock", probe_event, NULL, "profile", NULL, PERF_TYPE_SOFTWARE },
	{ "event cycles (PMU)", probe_event, NULL, "profile --event cycles; else cpu-clock", NULL,
	  PERF_TYPE_HARDWARE },
	{ "perf_event_paranoid", NULL, show_paranoid, "does not bind root" },
};

static bool is_refusal(int err)
{
	return err == -EPERM || err == -EACCES;
}

static int print_feature(FILE *f, const struct feature *feature)
{
	char text[32] = "";
	int fd = feature->probe ? feature->probe(feature) : feature->show(text, sizeof(text));

	if (fd > 0)
		close(fd);
	if (!*text)
		snprintf(text, sizeof(text), fd >= 0 ? "yes" : is_refusal(fd) ? "refused" : "no");
	fprintf(f, "%-23s %-12s %s\n", feature->name, text, feature->need);
	if (fd >= 0 || !feature->is_required)
		return 0;
	return is_refusal(fd) ? -EPERM : -ENOENT;
}

static int print_nothing(enum libbpf_print_level level, const char *fmt, va_list ap)
{
	(void)level;
	(void)fmt;
	(void)ap;
	return 0;
}

int features_print(FILE *f)
{
	struct utsname kernel;
	int worst = 0, err;

	limits_raise();
	libbpf_set_print(print_nothing);
	uname(&kernel);
	fprintf(f, "%-23s %-12s %s\n", kernel.release, "state", "needed by");
	for (size_t i = 0; i < ARRAY_SIZE(features); i++) {
		err = print_feature(f, &features[i]);
		worst = worst ? worst : err;
	}
	fputc('\n', f);
	capabilities_print(f);
	return worst;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Texts of the kernel with words that the traced side chooses: a process's name in /proc/PID/stat,
 * names of symbols and modules; and lists of CPUs. Memory maps have procmaps_fuzz.
 */
#include <sys/prctl.h>

#include "base/cpulist.h"
#include "process/procstate.h"
#include "symbols/ksyms.h"
#include "fuzz.h"

#define COMM_BYTES 16

static void fail_if(bool wrong)
{
	if (wrong)
		abort();
}

/* This process is alive, whatever it is called: "x) Z 1 (y". */
static void check_name(const char *name)
{
	char comm[COMM_BYTES] = "", kept[COMM_BYTES] = "";

	prctl(PR_SET_NAME, name);
	prctl(PR_GET_NAME, kept);
	kept[strcspn(kept, "\n")] = '\0';
	fail_if(process_comm(getpid(), comm, sizeof(comm)) || strcmp(comm, kept));
	fail_if(process_has_ended(getpid()));
}

static int count_cpu(uint32_t cpu, void *arg)
{
	(void)cpu;
	return ++*(int *)arg == 100;
}

static void check_cpus(const char *list)
{
	int n = 0, verdict = cpulist_visit(list, count_cpu, &n);

	fail_if(verdict != (n == 100));
}

static void check_symbols(const char *text)
{
	static const uint64_t addrs[] = { 0x1000, 0x2000, 0x2001, UINT64_MAX - 1 };
	struct ksyms *ks = ksyms_parse(addrs, ARRAY_SIZE(addrs), mem_strdup(text));
	struct ksym sym;

	for (size_t i = 0; i < ARRAY_SIZE(addrs); i++)
		if (ksyms_find(ks, addrs[i], &sym))
			fail_if(!*sym.name || sym.start > addrs[i]);
	ksyms_free(ks);
}

FUZZ(bytes, size)
{
	char *text = mem_strndup((const char *)bytes, size);

	check_name(text);
	check_cpus(text);
	check_symbols(text);
	free(text);
	return 0;
}

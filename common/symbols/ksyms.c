// SPDX-License-Identifier: GPL-2.0-only
/* Kernel symbols, as received from the kernel; see ksyms.h. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/mem.h"
#include "base/order.h"
#include "symbols/ksyms.h"

struct answer {
	uint64_t addr;
	struct ksym sym; /* name NULL: no symbol */
};

struct ksyms {
	char *text;
	size_t count;
	struct answer *answers; /* ascending */
};

/* Reads "0xNUMBER"; *end receives the position after it. */
static bool parse_hex(char *s, uint64_t *value, char **end)
{
	if (strncmp(s, "0x", 2))
		return false;
	*value = strtoull(s + 2, end, 16);
	return *end != s + 2;
}

/* Parses a line of name, offset, size and module. The offset is one too high. */
static void parse_answer(struct answer *answer, char *line)
{
	char *plus = strrchr(line, '+'), *at, *module;
	uint64_t offset, size;

	if (!plus || plus == line || !parse_hex(plus + 1, &offset, &at) || *at != '/' ||
	    !parse_hex(at + 1, &size, &at) || (*at && strncmp(at, " [", 2)))
		return;
	if (!offset || offset > size)
		return;
	module = *at ? at + 2 : NULL;
	if (module)
		module[strcspn(module, "]")] = '\0';
	*plus = '\0';
	answer->sym = (struct ksym){
		.name = line,
		.module = module && strcmp(module, "bpf") ? module : NULL,
		.start = answer->addr - (offset - 1),
	};
}

struct ksyms *ksyms_parse(const uint64_t *addrs, size_t n, char *answers)
{
	struct ksyms *ks = mem_zalloc(1, sizeof(*ks));
	char *line = answers;

	ks->text = answers;
	ks->answers = mem_zalloc(n, sizeof(*ks->answers));
	for (; ks->count < n && *line; ks->count++) {
		char *end = strchrnul(line, '\n'), *next = end + (*end != '\0');

		*end = '\0';
		ks->answers[ks->count].addr = addrs[ks->count];
		parse_answer(&ks->answers[ks->count], line);
		line = next;
	}
	return ks;
}

void ksyms_free(struct ksyms *ks)
{
	if (!ks)
		return;
	free(ks->text);
	free(ks->answers);
	free(ks);
}

static int compare_addr(const void *key, const void *item)
{
	return order_u64(*(const uint64_t *)key, ((const struct answer *)item)->addr);
}

bool ksyms_find(const struct ksyms *ks, uint64_t addr, struct ksym *sym)
{
	const struct answer *found = ks->count ? bsearch(&addr, ks->answers, ks->count,
							 sizeof(*ks->answers), compare_addr)
					       : NULL;

	if (!found || !found->sym.name)
		return false;
	*sym = found->sym;
	return true;
}

static bool has_prefix(const char *s, const char *prefix)
{
	return !strncmp(s, prefix, strlen(prefix));
}

/* bpf_prog_TAG or bpf_prog_TAG_NAME; bpf_prog_load() is the kernel's own. */
bool ksym_is_program(const char *name)
{
	size_t prefix = strlen("bpf_prog_");

	return has_prefix(name, "bpf_prog_") && strspn(name + prefix, "0123456789abcdef") == 16 &&
	       strchr("_", name[prefix + 16]);
}

bool ksym_may_change(const char *name)
{
	return ksym_is_program(name) || has_prefix(name, "bpf_trampoline_") ||
	       has_prefix(name, "bpf_dispatcher_");
}

/*
 * Matches the frames between the traced code and the first address that bpf_get_stack() records:
 * the glue of the tracepoint, the functions that run a program (JITed, through a trampoline,
 * interpreted), and the helper, if the program itself is not in the stack. Perf's own frames stay:
 * they exist without a tracer, too.
 */
bool ksym_is_tracer(const char *name)
{
	static const char *const prefixes[] = {
		"__traceiter_",	   "__bpf_trace_",     "bpf_trace_run",	       "bpf_iter_run_prog",
		"bpf_trampoline_", "__bpf_prog_enter", "__bpf_prog_exit",      "__bpf_prog_run",
		"___bpf_prog_run", "bpf_dispatcher_",  "bpf_overflow_handler",
	};

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (has_prefix(name, prefixes[i]))
			return true;
	name += strspn(name, "_");
	return has_prefix(name, "bpf_get_stack") || has_prefix(name, "bpf_get_task_stack");
}

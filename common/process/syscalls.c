// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names of system calls and errors; see syscalls.h. Headers of the build machine may be older than
 * the running kernel, so calls newer than Linux 6.1 are listed here: from 403 on a number is the
 * same on all architectures (Documentation/process/adding-syscalls.rst; the numbers are those of
 * scripts/syscall.tbl and arch/x86/entry/syscalls).
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/msg.h"
#include "base/order.h"
#include "base/parse.h"
#include "elf/elf64.h"
#include "process/syscalls.h"

#define LIST_COLUMNS 4
#define MAX_ERRNO    4095 /* include/linux/err.h */

/* Number of a 32-bit sigreturn: it restores all registers, including the one with its number. */
#define SIGRETURN_NUMBER (-1)

struct number_name {
	int32_t number;
	const char *name;
};

#define NUMBER(number, name) { number, #name },

static const struct number_name native_names[] = {
#include "syscalls_native.h"
};

static const struct number_name compat_names[] = {
#include "syscalls_compat.h"
	{ SYSCALL_NONE, "" },
};

static const struct number_name newer_names[] = {
	{ 451, "cachestat" },
	{ 452, "fchmodat2" },
	{ 453, "map_shadow_stack" },
	{ 454, "futex_wake" },
	{ 455, "futex_wait" },
	{ 456, "futex_requeue" },
	{ 457, "statmount" },
	{ 458, "listmount" },
	{ 459, "lsm_get_self_attr" },
	{ 460, "lsm_set_self_attr" },
	{ 461, "lsm_list_modules" },
	{ 462, "mseal" },
	{ 463, "setxattrat" },
	{ 464, "getxattrat" },
	{ 465, "listxattrat" },
	{ 466, "removexattrat" },
	{ 467, "open_tree_attr" },
	{ 468, "file_getattr" },
	{ 469, "file_setattr" },
	{ 335, "uretprobe" },
	{ 336, "uprobe" }, /* 335 and 336: x86-64 only */
};

static const struct number_name error_names[] = {
#include "errno_numbers.h"
};

/* include/linux/errno.h */
static const struct number_name restart_names[] = {
	{ 512, "ERESTARTSYS" },
	{ 513, "ERESTARTNOINTR" },
	{ 514, "ERESTARTNOHAND" },
	{ 516, "ERESTART_RESTARTBLOCK" },
};

struct name_table {
	const struct number_name *names;
	size_t count;
};

#define NAME_TABLE(names)                \
	{                                \
		names, ARRAY_SIZE(names) \
	}

static const struct name_table calls[CALL_ABIS][2] = {
	[CALL_NATIVE] = { NAME_TABLE(native_names), NAME_TABLE(newer_names) },
	[CALL_COMPAT] = { NAME_TABLE(compat_names), NAME_TABLE(newer_names) },
};
static const struct name_table errors = NAME_TABLE(error_names);
static const struct name_table restarts = NAME_TABLE(restart_names);

static const char *compat_suffix(void)
{
	return elf64_own_machine() == EM_X86_64 ? " (i386)" : " (arm)";
}

/* Returns true for an alias, which is defined as an older name of the same number. */
static bool is_alias(const char *name)
{
	static const char *const aliases[] = { "EWOULDBLOCK", "EDEADLOCK", "ENOTSUP" };

	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++)
		if (!strcmp(name, aliases[i]))
			return true;
	return false;
}

static const char *find_name(const struct name_table *table, int32_t number)
{
	for (size_t i = 0; number >= 0 && i < table->count; i++)
		if (table->names[i].number == number && !is_alias(table->names[i].name))
			return table->names[i].name;
	return NULL;
}

static int32_t find_number(const struct name_table *table, const char *name)
{
	for (size_t i = 0; i < table->count; i++)
		if (!strcmp(table->names[i].name, name))
			return table->names[i].number;
	return SYSCALL_NONE;
}

/* ---- calls ---- */

/* Returns true if newer_names applies: 32-bit calls below 403 have other numbers. */
static bool is_newer(enum call_abi abi, int32_t number)
{
	return abi != CALL_COMPAT || number >= 403;
}

const char *syscall_name(enum call_abi abi, int32_t number)
{
	const char *name = find_name(&calls[abi][0], number);

	return name || !is_newer(abi, number) ? name : find_name(&calls[abi][1], number);
}

char *syscall_label(char *buf, size_t size, enum call_abi abi, int32_t number)
{
	const char *name = syscall_name(abi, number);
	const char *suffix = abi == CALL_COMPAT ? compat_suffix() : "";

	if (abi == CALL_COMPAT && number == SIGRETURN_NUMBER)
		name = "[rt_]sigreturn";
	if (name)
		snprintf(buf, size, "%s%s", name, suffix);
	else
		snprintf(buf, size, "[%d]%s", number, suffix);
	return buf;
}

int32_t syscall_number(enum call_abi abi, const char *name)
{
	int32_t number = *name ? find_number(&calls[abi][0], name) : SYSCALL_NONE;

	if (number != SYSCALL_NONE || !*name)
		return number;
	number = find_number(&calls[abi][1], name);
	return is_newer(abi, number) ? number : SYSCALL_NONE;
}

/* ---- the list ---- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t list_names(const char **names)
{
	size_t n = 0;

	for (size_t t = 0; t < 2; t++)
		for (size_t i = 0; i < calls[CALL_NATIVE][t].count; i++)
			names[n++] = calls[CALL_NATIVE][t].names[i].name;
	SORT(names, n, by_name);
	return n;
}

void syscall_print_list(FILE *f)
{
	const char *names[ARRAY_SIZE(native_names) + ARRAY_SIZE(newer_names)] = {};
	size_t n = list_names(names), column = 0;

	for (size_t i = 0; i < n; i++) {
		if (i && !strcmp(names[i], names[i - 1]))
			continue; /* a newer name that the headers have, too */
		if (column)
			fputs("   ", f);
		fprintf(f, "%-22s", names[i]);
		column = (column + 1) % LIST_COLUMNS;
		if (!column)
			fputc('\n', f);
	}
	if (column)
		fputc('\n', f);
}

/* ---- errors ---- */

char *errname_label(char *buf, size_t size, uint32_t error)
{
	const char *name = find_name(&errors, (int32_t)error);

	if (!name)
		name = find_name(&restarts, (int32_t)error);
	if (name)
		snprintf(buf, size, "%s", name);
	else
		snprintf(buf, size, "[%u]", error);
	return buf;
}

int errname_parse(const char *what, const char *text, uint32_t *error)
{
	int32_t number = find_number(&errors, text);
	uint64_t value;

	if (number == SYSCALL_NONE)
		number = find_number(&restarts, text);
	if (number != SYSCALL_NONE) {
		*error = (uint32_t)number;
		return 0;
	}
	if (!isdigit((unsigned char)*text))
		return msg_error("%s: '%s' is not the name of an error (example: EPERM)", what,
				 text);
	if (parse_uint(what, text, 1, MAX_ERRNO, &value))
		return -EINVAL;
	*error = (uint32_t)value;
	return 0;
}

bool errname_is_restart(uint32_t error)
{
	return find_name(&restarts, (int32_t)error);
}

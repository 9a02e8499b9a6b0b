# SPDX-License-Identifier: GPL-2.0-only
# Prints NUMBER(number, name) for each macro of a header, from the output of "cc -E -dM", whose name
# begins with `prefix`; the prefix is cut off unless `keep` is set. Resolves macros that refer to
# other ones; omits macros that aren't numbers, and two bounds among the generic header's system
# calls.
function value_of(name)
{
	for (hops = 0; hops < 8 && name in values; hops++)
		name = values[name]
	return name
}

$1 == "#define" && NF == 3 { values[$2] = $3 }

END {
	delete values["__NR_syscalls"]
	delete values["__NR_arch_specific_syscall"]
	for (name in values) {
		value = value_of(name)
		if (index(name, prefix) == 1 && value ~ /^[0-9]+$/)
			printf "NUMBER(%d, %s)\n", value, keep ? name : substr(name, length(prefix) + 1)
	}
}

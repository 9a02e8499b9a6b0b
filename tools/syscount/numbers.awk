# SPDX-License-Identifier: GPL-2.0-only
# Makes a list of NUMBER(number, name) of the macros in a header, as "cc -E -dM" prints them, whose
# names begin with `prefix`, which is cut off unless `keep` is set. A macro that stands for another
# one is followed; what isn't a number in the end is left out. Two of the generic header's numbers of
# system calls are bounds of the list.
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

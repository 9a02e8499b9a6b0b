# SPDX-License-Identifier: GPL-2.0-only
# Makes a C file of vmlinux/vmlinux.h whose BTF holds every type of it: anonymous enums get names,
# and each type is used by a variable, since compilers leave out what isn't used.
/^enum \{/ {
	sub(/^enum \{/, "enum vmlinux_h_" ++n_enums " {")
}

/^(struct|enum) [A-Za-z0-9_]+ \{/ && !(($1, $2) in seen) {
	seen[$1, $2] = 1
	types[++n_types] = $1 " " $2
}

{
	print
}

END {
	for (i = 1; i <= n_types; i++)
		print types[i], (types[i] ~ /^struct/ ? "*" : "") "vmlinux_h_use_" i ";"
}

# SPDX-License-Identifier: GPL-2.0-only
# Units are deep: few functions hide much. A unit of common/ or tools/ exports at most 12 functions, or one per 15
# lines of its .c file, and none that nobody else calls; tests and the lab are others, too.
function unit_of(path)
{
	sub(/\.[ch]$/, "", path)
	return path
}

function complain(text)
{
	print text
	status = 1
}

function is_product(path)
{
	return path ~ /^(common|tools)\//
}

FNR == 1 { unit = unit_of(FILENAME) }

is_product(FILENAME) && FILENAME ~ /\.c$/ { n_lines[unit] = FNR }

# The head of a definition may take several lines.
FILENAME ~ /\.c$/ && is_product(FILENAME) && /^[a-z].*\(/ && !/^(static|typedef)/ {
	head = $0
	sub(/\(.*/, "", head)
	sub(/.*[ *]/, "", head)
}
/;$/ { head = "" }
/^\{/ && head != "" {
	n_exported[unit]++
	home[head] = unit
}
/^\{/ { head = "" }

# A macro of the unit's header uses a function for whoever uses the macro.
{
	for (rest = $0; match(rest, /[a-z][a-z_0-9]*/); rest = substr(rest, RSTART + RLENGTH)) {
		word = substr(rest, RSTART, RLENGTH)
		if (!(word in user))
			user[word] = unit
		else if (user[word] != unit || (FILENAME ~ /\.h$/ && !/\);$/ && !/^[a-z]/))
			user[word] = "several"
	}
}

END {
	for (name in home)
		if (user[name] == home[name] && name != "main")
			complain(home[name] ".c: nobody else calls " name "(): make it static")
	for (unit in n_exported)
		if (n_exported[unit] > 12 && n_exported[unit] * 15 > n_lines[unit])
			complain(unit ".c: " n_exported[unit] " exported functions in " n_lines[unit] " lines; at most 12, or one per 15 lines")
	exit status
}

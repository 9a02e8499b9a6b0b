# SPDX-License-Identifier: GPL-2.0-only
# No circles: x.c and x.h are one unit, and no unit of common/ includes another that, in whatever steps,
# includes it.
function unit_of(path)
{
	sub(/^common\//, "", path)
	sub(/\.[ch]$/, "", path)
	return path
}

/^#[ \t]*include "[a-z]+\// {
	split($0, part, "\"")
	from = unit_of(FILENAME)
	to = unit_of(part[2])
	if (from != to) {
		edge[from, to] = 1
		units[from] = units[to] = 1
	}
}

# True if the unit includes one that is left, or, with `by`, is included by one.
function is_tied(unit, by,   pair, end)
{
	for (pair in edge) {
		split(pair, end, SUBSEP)
		if (end[by ? 2 : 1] == unit && end[by ? 1 : 2] in units)
			return 1
	}
	return 0
}

# Takes away what includes nothing, or is included by nothing, that is left: what remains is in circles.
END {
	do {
		changed = 0
		for (unit in units)
			if (!is_tied(unit, 0) || !is_tied(unit, 1)) {
				delete units[unit]
				changed = 1
			}
	} while (changed)
	for (pair in edge) {
		split(pair, end, SUBSEP)
		if (end[1] in units && end[2] in units) {
			print "in a circle of includes: common/" end[1] " includes common/" end[2]
			status = 1
		}
	}
	exit status
}

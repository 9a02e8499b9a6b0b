# SPDX-License-Identifier: GPL-2.0-only
# No circles: x.c and x.h are one unit, and no unit uses another that, in whatever steps, uses it. A unit uses what it
# includes, and what defines a function that it calls: a header may declare functions of several .c files.
function unit_of(path)
{
	sub(/^(common|tools)\//, "", path)
	sub(/\.[ch]$/, "", path)
	return path
}

function note(from, to, how)
{
	if (from == to || (from, to) in edge)
		return
	edge[from, to] = how
	units[from] = units[to] = 1
}

/^#[ \t]*include "[a-z]+\// {
	split($0, part, "\"")
	note(unit_of(FILENAME), unit_of(part[2]), "includes")
	next
}

# The head of a definition may take several lines.
FILENAME ~ /\.c$/ && /^[a-z].*\(/ && !/^(static|typedef)/ {
	head = $0
	sub(/\(.*/, "", head)
	sub(/.*[ *]/, "", head)
}
/;$/ { head = "" }
/^\{/ && head != "" { home[head] = unit_of(FILENAME) }
/^\{/ { head = "" }

# Not of comments.
/^\t+[^ \t]/ {
	sub(/\/\*.*/, "")
	for (rest = $0; match(rest, /[a-z_0-9]+\(/); rest = substr(rest, RSTART + RLENGTH))
		calls[unit_of(FILENAME), substr(rest, RSTART, RLENGTH - 1)] = 1
}

# True if the unit uses one that is left, or, with `by`, is used by one.
function is_tied(unit, by,   pair, end)
{
	for (pair in edge) {
		split(pair, end, SUBSEP)
		if (end[by ? 2 : 1] == unit && end[by ? 1 : 2] in units)
			return 1
	}
	return 0
}

# Takes away what uses nothing, or is used by nothing, that is left: what remains is in circles.
END {
	for (pair in calls) {
		split(pair, end, SUBSEP)
		if (end[2] in home)
			note(end[1], home[end[2]], "calls")
	}
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
			print "in a circle: " end[1] " " edge[pair] " " end[2]
			status = 1
		}
	}
	exit status
}

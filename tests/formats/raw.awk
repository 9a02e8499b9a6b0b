# SPDX-License-Identifier: GPL-2.0-only
# Folded stacks from what "go tool pprof -raw" prints, equal ones merged.

# label(TEXT, NAME): its value; the labels of a line are sorted by name, and may hold anything.
function label(text, name, next_name)
{
	if (!match(text, "(^| )" name ":\\["))
		return ""
	text = substr(text, RSTART + RLENGTH)
	if (next_name && match(text, "\\] " next_name ":\\["))
		return substr(text, 1, RSTART - 1)
	return substr(text, 1, length(text) - 1)
}

/^Samples:/ { part = "types"; next }
/^Locations/ { part = "locations"; next }
/^Mappings/ { part = "" }
part == "types" { part = "samples"; next }

part == "samples" && /^ *[0-9][ 0-9]*:/ {
	n++
	split($0, halves, ":")
	split(halves[1], values, " ")
	value[n] = values[1]
	stack[n] = halves[2]
	next
}
part == "samples" {
	sub(/^ +/, "")
	sub(/ +$/, "")
	if (/^comm:/) {
		comm[n] = label($0, "comm", / remark:\[/ ? "remark" : "state")
		remark[n] = label($0, "remark", "state")
	} else {
		if (match($0, /cpu:\[[0-9]+/))
			cpu[n] = substr($0, RSTART + 5, RLENGTH - 5)
		if (match($0, /tid:\[[0-9]+/))
			tid[n] = substr($0, RSTART + 5, RLENGTH - 5)
	}
}

# " 7: 0x1100 M=1 leap step.h:9 s=0", then the functions that it is inlined in.
part == "locations" {
	is_first = match($0, /^ *[0-9]+: 0x[0-9a-f]+ (M=[0-9]+ )?/)
	if (is_first) {
		location = $1 + 0
		$0 = substr($0, RLENGTH + 1)
	}
	sub(/^ +/, "")
	sub(/ [^ ]*:[0-9]+(:[0-9]+)? s=[0-9]+(\(.*\))?$/, "")
	names[location] = $0 (is_first ? "" : ";" names[location])
}

END {
	for (i = 1; i <= n; i++) {
		line = ""
		n_locations = split(stack[i], list, " ")
		for (j = 1; j <= n_locations; j++)
			if (names[list[j]] != "[no frames]")
				line = ";" names[list[j]] line
		line = (i in cpu ? "cpu" cpu[i] ";" : "") (i in tid ? "tid" tid[i] ";" : "") comm[i] line (remark[i] != "" ? ";[" remark[i] "]" : "")
		sum[line] += value[i]
	}
	for (line in sum)
		printf "%s %.0f\n", line, sum[line]
}

# SPDX-License-Identifier: GPL-2.0-only
# The rule of includes. A folder of common/ includes itself and the floors that the table in doc/architecture.md
# (-v table=FILE: in FILE) allows it; a tool's own folder includes any floor, but no other tool's; loaders include
# anything. The only part of bpf/ that they all read is bpf/abi/, which includes nothing else of ours.
BEGIN {
	table = table == "" ? "doc/architecture.md" : table
	while ((getline line <table) > 0 && line !~ /^\| floor \|/)
		;
	while ((getline line <table) > 0 && split(line, cell, / *\| */) > 4)
		if (gsub(/`/, "", cell[2])) {
			may[cell[2]] = cell[4] == "–" ? "" : cell[4]
			floors = floors " " cell[2]
		}
	if (floors == "") {
		print "floors.awk: no table of floors in " table
		status = 1
	}
}

function complain(text)
{
	print FILENAME ":" FNR ": " text
	status = 1
}

# The words of `list` include `word`.
function has(list, word)
{
	return index(" " list " ", " " word " ")
}

FNR == 1 {
	split(FILENAME, part, "/")
	room = part[1] == "common" ? part[2] : part[1] == "bpf" && part[2] == "abi" ? "abi" : ""
	tool = part[1] == "tools" && part[3] != "" ? part[2] : ""
	if (room != "" && room != "abi" && !(room in may))
		complain("common/" room " is no floor: name it in doc/architecture.md, with what it may use")
}

/^#[ \t]*include "/ && (room != "" || tool != "") {
	path = $0
	sub(/^[^"]*"/, "", path)
	sub(/".*/, "", path)
	n = split(path, part, "/")
	target = n > 1 ? part[1] : ""
	if (target == "..")
		complain("\"" path "\": name the folder, as in \"base/mem.h\"")
	else if (target == "" && path !~ /\.skel\.h$/ && path !~ /^((flamegraph|heatmap)\.(css|js)|syscalls_(native|compat)|errno_numbers|toolset|vmlinux)\.h$/)
		complain("\"" path "\": name the folder, as in \"base/mem.h\"")
	else if (target == "" || target == "abi" || target == room || target == tool)
		next
	else if (room == "abi" || room != "" && !has(may[room], target))
		complain(room "/ must not include \"" path "\"" (room == "abi" ? "" : ": it may use: " may[room] " abi"))
	else if (tool != "" && !has(floors, target))
		complain("tools/" tool "/ must not include \"" path "\"")
}

END { exit status }

# SPDX-License-Identifier: GPL-2.0-only
# The rule of includes. A folder of common/ includes itself and the floors named here; a tool's own folder
# includes any floor, but no other tool's; loaders include anything. The only part of bpf/ that they all
# read is bpf/abi/, which includes nothing else of ours.
BEGIN {
	may["base"] = ""
	may["elf"] = "base"
	may["process"] = "base elf"
	may["probes"] = "base elf"
	may["output"] = "base"
	may["symbols"] = "base elf process"
	may["runtimes"] = "base elf process"
	may["unwind"] = "base elf process"
	may["run"] = "base output probes"
	may["modules"] = "base output process symbols run"
	may["stacks"] = "base elf process output symbols runtimes unwind run modules"
	for (floor in may)
		floors = floors " " floor
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
		complain("common/" room " is no floor: name it in tests/lint/floors.awk, with what it may use")
}

/^#[ \t]*include "/ && (room != "" || tool != "") {
	path = $0
	sub(/^[^"]*"/, "", path)
	sub(/".*/, "", path)
	n = split(path, part, "/")
	target = n > 1 ? part[1] : ""
	if (target == "..")
		complain("\"" path "\": name the folder, as in \"base/mem.h\"")
	else if (target == "" && path !~ /\.skel\.h$/ && path !~ /^(flamegraph\.(css|js)|syscalls_(native|compat)|errno_numbers|toolset|vmlinux)\.h$/)
		complain("\"" path "\": name the folder, as in \"base/mem.h\"")
	else if (target == "" || target == "abi" || target == room || target == tool)
		next
	else if (room == "abi" || room != "" && !has(may[room], target))
		complain(room "/ must not include \"" path "\"" (room == "abi" ? "" : ": it may use: " may[room] " abi"))
	else if (tool != "" && !has(floors, target))
		complain("tools/" tool "/ must not include \"" path "\"")
}

END { exit status }

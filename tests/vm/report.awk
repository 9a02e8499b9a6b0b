# SPDX-License-Identifier: GPL-2.0-only
# awk -f report.awk -v folder=FOLDER [-v slowest=N] [-v markdown=1] KERNEL...: what the guests said, as a table of
# test programs and kernels ("passed/failed/skipped"), the N tests that took longest, the failures,
# why tests were skipped, and the sums.

function add(kernel, program, what)
{
	count[kernel, program, what]++
	sum[what]++
}

function begin_program(name)
{
	program = name
	text = ""
	fails = 0
	if (!(name in is_known)) {
		is_known[name] = 1
		programs[++n_programs] = name
	}
	was_run[kernel, name] = 1
}

function fail(line)
{
	add(kernel, program, "failed")
	fails++
	text = text line "\n"
}

# Ends a program. One that dies or fails without saying so has failed itself.
function end_program(status)
{
	if (status != 0 && !fails)
		fail("FAIL " program ": exit status " status (status == 137 ? " (killed: timeout?)" : ""))
	if (fails)
		failures = failures "\n# " kernel ": " program "\n" text
	program = ""
}

# The guests' own clocks, added up: "@TIME MS NAME".
function add_time(words)
{
	ms[program "." words[3]] += words[2]
}

function read_line(line)
{
	if (line ~ /^PASS /)
		add(kernel, program, "passed")
	else if (line ~ /^SKIP /) {
		add(kernel, program, "skipped")
		skip_kernels[line] = skip_kernels[line] " " kernel
	} else if (line ~ /^FAIL /)
		fail(line)
	else if (line != "")
		text = text line "\n"
}

function read_log(    line, words, is_done, path)
{
	path = folder "/" kernel ".log"
	is_done = 0
	program = ""
	while ((getline line < path) > 0) {
		sub(/\r$/, "", line)
		split(line, words, " ")
		if (words[1] == "@@TEST")
			begin_program(words[2])
		else if (words[1] == "@@STATUS")
			end_program(words[2])
		else if (words[1] == "@@DONE")
			is_done = 1
		else if (words[1] == "@TIME")
			add_time(words)
		else if (program != "")
			read_line(line)
	}
	close(path)
	if (!is_done)
		report_death()
}

# The guest died: in which program, and what was on its console.
function report_death(    line, path)
{
	if (program == "")
		begin_program("boot")
	path = folder "/" kernel ".console"
	while ((getline line < path) > 0)
		text = text "console: " line "\n"
	close(path)
	fail("FAIL the guest ended or hung here")
	end_program(1)
}

# The longest tests, on request.
function print_times(    name, sorted)
{
	sorted = "sort -rn | head -n " slowest
	for (name in ms)
		printf "%9.1f s in %s\n", ms[name] / 1000, name | sorted
	close(sorted)
}

function cell(kernel, name)
{
	if (!((kernel, name) in was_run))
		return "-"
	return sprintf("%d/%d/%d", count[kernel, name, "passed"], count[kernel, name, "failed"],
		       count[kernel, name, "skipped"])
}

function print_table(    i, k)
{
	printf "\n%-24s", "passed/failed/skipped"
	for (k = 1; k <= n_kernels; k++)
		printf " %11s", kernels[k]
	print ""
	for (i = 1; i <= n_programs; i++) {
		printf "%-24s", programs[i]
		for (k = 1; k <= n_kernels; k++)
			printf " %11s", cell(kernels[k], programs[i])
		print ""
	}
}

function markdown_cell(kernel, name,    failed, skipped)
{
	failed = count[kernel, name, "failed"]
	skipped = count[kernel, name, "skipped"]
	if (!((kernel, name) in was_run))
		return "-"
	return (count[kernel, name, "passed"] + 0) (skipped ? ", " skipped " skipped" : "") \
	       (failed ? ", **" failed " failed**" : "")
}

# For doc/kernels.md.
function print_markdown(    i, k, line)
{
	line = "| |"
	for (k = 1; k <= n_kernels; k++)
		line = line " " kernels[k] " |"
	print "\n" line
	gsub(/ [^|]* /, "---", line)
	gsub(/ /, "---", line)
	print line
	for (i = 1; i <= n_programs; i++) {
		line = "| `" programs[i] "` |"
		for (k = 1; k <= n_kernels; k++)
			line = line " " markdown_cell(kernels[k], programs[i]) " |"
		print line
	}
}

BEGIN {
	n_kernels = ARGC - 1
	for (i = 1; i < ARGC; i++) {
		kernel = kernels[i] = ARGV[i]
		read_log()
	}
	if (markdown)
		print_markdown()
	else
		print_table()
	if (slowest)
		print_times()
	printf "%s", failures
	print ""
	for (line in skip_kernels)
		print line " (" substr(skip_kernels[line], 2) ")"
	printf "%d passed, %d failed, %d skipped\n", sum["passed"], sum["failed"], sum["skipped"]
	exit sum["failed"] > 0
}

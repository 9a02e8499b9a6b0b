# SPDX-License-Identifier: GPL-2.0-only
# The house's limits of size: no function of more than 50 lines, half of them of at most 9; no file of more
# than 600, of C code 1,200; no loader (tools/x.c) of more than 150 lines of code, which are those that are neither blank nor
# comment. The median is that of the product's functions, without the tests' and the lab's.
function close_file()
{
	if (file ~ /^tools\/[^\/]*$/ && n_code > 150)
		complain(file ": " n_code " lines of code; a loader has at most 150")
	if (n_lines > (file ~ /\.c$/ ? 1200 : 600) && file !~ /^(lab|tests)\//)
		complain(file ": " n_lines " lines; a .c file has at most 1200, another 600")
	n_code = 0
}

function complain(text)
{
	print text
	status = 1
}

# Lengths are few: how many functions have each.
function median(   half, seen, length_)
{
	half = n_functions / 2
	for (length_ = 0; length_ <= longest; length_++) {
		seen += count[length_]
		if (seen >= half)
			return length_
	}
	return 0
}

FNR == 1 {
	close_file()
	file = FILENAME
	in_comment = 0
}

{ n_lines = FNR }
/^[ \t]*\/\*/ { in_comment = 1 }
!in_comment && !/^[ \t]*(\/\/|$)/ { n_code++ }
/\*\// { in_comment = 0 }

/^[A-Za-z_].*[^;]$/ { head = $0 }
/^\{/ { first = FNR }
/^\}/ && first {
	lines = FNR - first - 1
	if (lines > 50)
		complain(file ":" first ": " lines " lines; a function has at most 50: " head)
	if (file !~ /^(lab|tests)\//) {
		n_functions++
		count[lines]++
		longest = lines > longest ? lines : longest
	}
	first = 0
}

END {
	close_file()
	if (median() > 9)
		complain("half of the functions have more than 9 lines: the median is " median())
	exit status
}

# SPDX-License-Identifier: GPL-2.0-only
# The house's limits: no function of more than 80 lines, no loader (tools/*.c) of more than 150
# lines of code, which are those that are neither blank nor comment.
function close_file()
{
	if (file ~ /^tools\// && n_code > 150)
		complain(file ": " n_code " lines of code; a loader has at most 150")
	n_code = 0
}

function complain(text)
{
	print text
	status = 1
}

FNR == 1 {
	close_file()
	file = FILENAME
	in_comment = 0
}

/^[ \t]*\/\*/ { in_comment = 1 }
!in_comment && !/^[ \t]*(\/\/|$)/ { n_code++ }
/\*\// { in_comment = 0 }

/^[A-Za-z_].*[^;]$/ { head = $0 }
/^\{/ { first = FNR }
/^\}/ && first {
	if (FNR - first - 1 > 80)
		complain(file ":" first ": " FNR - first - 1 " lines; a function has at most 80: " head)
	first = 0
}

END {
	close_file()
	exit status
}

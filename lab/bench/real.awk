# SPDX-License-Identifier: GPL-2.0-only
# Runs of lab/bench/real as a table in Markdown: least, median and most of each, and the median's share of the one
# without a tool.
BEGIN { FS = "\t" }

# Sorts the values of a key in place, and returns their number.
function order(text,   n, i, j, x)
{
	n = split(text, sorted, " ")
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && sorted[j - 1] + 0 > sorted[j] + 0; j--) {
			x = sorted[j]; sorted[j] = sorted[j - 1]; sorted[j - 1] = x
		}
	return n
}

function median(n)
{
	return (sorted[int((n + 1) / 2)] + sorted[int(n / 2) + 1]) / 2
}

{
	key = $1 FS $2
	if (!(key in work))
		keys[++n_keys] = key
	work[key] = work[key] " " $3
	late[key] = late[key] " " $4
}

function digits(x)
{
	return x < 1 ? "%.3f" : x < 100 ? "%.1f" : "%.0f"
}

function spread(n,   format)
{
	format = digits(median(n))
	return sprintf(format " (" format " to " format ")", median(n), sorted[1], sorted[n])
}

END {
	print "| program | under | work by second | of that without | 99th percentile, ms |"
	print "|---|---|---|---|---|"
	for (k = 1; k <= n_keys; k++) {
		split(keys[k], name, FS)
		n = order(work[keys[k]])
		if (name[2] == "without")
			bare[name[1]] = median(n)
		printf "| %s | %s | %s | %s | ", name[1], (name[2] == "without" ? "no tool" : "`" name[2] "`"), spread(n),
			(bare[name[1]] ? sprintf("%.2f", median(n) / bare[name[1]]) : "")
		n = order(late[keys[k]])
		printf "%s |\n", (sorted[n] > 0 ? spread(n) : "")
	}
}

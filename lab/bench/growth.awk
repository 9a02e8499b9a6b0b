# SPDX-License-Identifier: GPL-2.0-only
# Lines of lab/bench/growth of several rounds to one line each, with the medians, in the order of the first round.
BEGIN { FS = OFS = "\t" }

function median(key, column,   n, i, j, x, v)
{
	n = split(values[key, column], v, " ")
	for (i = 2; i <= n; i++)
		for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) {
			x = v[j]; v[j] = v[j - 1]; v[j - 1] = x
		}
	return (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2
}

{
	key = $1 OFS $2 OFS $3
	if (!(key in seen))
		keys[++n_keys] = key
	seen[key] = 1
	n_columns = NF
	for (i = 4; i <= NF; i++)
		values[key, i] = values[key, i] " " $i
}

END {
	for (k = 1; k <= n_keys; k++) {
		line = keys[k]
		for (i = 4; i <= n_columns; i++)
			line = line OFS median(keys[k], i)
		print line
	}
}

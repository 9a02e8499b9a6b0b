# SPDX-License-Identifier: GPL-2.0-only
# Medians, from growth.awk, as tables in Markdown: one for each series.
BEGIN { FS = "\t" }

function head(series)
{
	printf "%s| %s | tool | until attached | of CPU | BPF maps | the loader | at the end | BPF time per switch | end |\n",
		(NR > 1 ? "\n" : ""), series
	print "|---|---|---|---|---|---|---|---|---|"
}

$1 != series { series = $1; head(series) }
{ printf "| %d | `%s` | %.0f ms | %.0f ms | %.1f MB | %.1f MB | %.1f MB | %.0f ns | %.0f ms |\n",
	$2, $3, $4, $5, $6, $7, $8, $9, $11 }

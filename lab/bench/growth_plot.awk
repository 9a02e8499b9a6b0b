# SPDX-License-Identifier: GPL-2.0-only
# Medians, from growth.awk, as a picture: a row for each series, a panel for each figure, both axes logarithmic.
BEGIN {
	FS = "\t"
	n_panels = split("of CPU until attached, ms|memory at the end, MB|BPF time per switch, ns|end, ms", titles, "|")
	split("#c0392b #2471a3 #1e8449 #b9770e #6c3483", colours, " ")
	wide = 250; high = 170; left = 50; top = 34; gap = 30
}

function log10(x) { return log(x) / log(10) }

# Returns the value of the line that panel p shows.
function figure(p)
{
	return p == 1 ? $5 : p == 2 ? $6 + $8 : p == 3 ? $9 : $11
}

{
	if (!($1 in rows)) {
		rows[$1] = ++n_rows
		names[n_rows] = $1
	}
	if (!($3 in tools)) {
		tools[$3] = ++n_tools
		tool_names[n_tools] = $3
	}
	row = rows[$1]
	x = log10($2)
	if (!(row in x_low) || x < x_low[row]) x_low[row] = x
	if (!(row in x_high) || x > x_high[row]) x_high[row] = x
	for (p = 1; p <= n_panels; p++) {
		y = log10(figure(p) > 0 ? figure(p) : 0.1)
		if (!((row, p) in y_low) || y < y_low[row, p]) y_low[row, p] = y
		if (!((row, p) in y_high) || y > y_high[row, p]) y_high[row, p] = y
		points[row, p, tools[$3]] = points[row, p, tools[$3]] " " x "," y
	}
}

function floor(x,   i) { i = int(x); return i > x ? i - 1 : i }

function text(x, y, anchor, words)
{
	printf "<text x=\"%.0f\" y=\"%.0f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, words
}

function line(x1, y1, x2, y2)
{
	printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", x1, y1, x2, y2
}

# A power of ten.
function label(i) { return i < 3 ? 10 ^ i : i < 6 ? 10 ^ (i - 3) " k" : 10 ^ (i - 6) " M" }

function place_x(row, x) { return at_x + (x - x_low[row]) / (x_high[row] - x_low[row]) * inner_wide }
function place_y(x) { return at_y + inner_high - (x - low) / (high_y - low) * inner_high }

function draw_axes(row,   i)
{
	for (i = floor(low); i <= high_y; i++)
		if (i >= low) {
			line(at_x, place_y(i), at_x + inner_wide, place_y(i))
			text(at_x - 4, place_y(i) + 4, "end", label(i))
		}
	for (i = floor(x_low[row]); i <= x_high[row] + 0.01; i++)
		if (i >= x_low[row] - 0.01) {
			line(place_x(row, i), at_y, place_x(row, i), at_y + inner_high)
			text(place_x(row, i), at_y + inner_high + 13, "middle", label(i))
		}
}

function draw_tool(row, p, t,   n, i, list, pair)
{
	n = split(points[row, p, t], list, " ")
	if (!n)
		return
	printf "<polyline fill=\"none\" stroke-width=\"2\" stroke=\"%s\" points=\"", colours[t]
	for (i = 1; i <= n; i++) {
		split(list[i], pair, ",")
		printf "%.1f,%.1f ", place_x(row, pair[1]), place_y(pair[2])
	}
	print "\"/>"
}

function draw_panel(row, p,   t)
{
	at_x = left + (p - 1) * wide
	at_y = top + gap + (row - 1) * (high + gap)
	inner_wide = wide - 60
	inner_high = high - 30
	low = floor(y_low[row, p])
	high_y = floor(y_high[row, p]) + 1
	text(at_x, at_y - 6, "start", names[row] ": " titles[p])
	draw_axes(row)
	for (t = 1; t <= n_tools; t++)
		draw_tool(row, p, t)
}

END {
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n",
		left + n_panels * wide, top + gap + n_rows * (high + gap)
	print "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>"
	for (t = 1; t <= n_tools; t++) {
		printf "<rect x=\"%d\" y=\"10\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", left + (t - 1) * 170, colours[t]
		text(left + 18 + (t - 1) * 170, 20, "start", tool_names[t])
	}
	for (r = 1; r <= n_rows; r++)
		for (p = 1; p <= n_panels; p++)
			draw_panel(r, p)
	print "</svg>"
}

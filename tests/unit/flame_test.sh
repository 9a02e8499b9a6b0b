#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# The tool flame from its command line: what it draws and lists adds up to what it has read, to the
# last sample, and differences are those that were worked out by hand.
# TRACELETS_BIN: where the tools are.
# shellcheck disable=SC2154 # some variables are set by what is included
cd "$(dirname "$0")/../.." || exit 1
flame=${TRACELETS_BIN:-build}/flame
. tests/lib
LC_ALL=C
export LC_ALL

# random_stacks SEED: 3,000 lines of up to 12 frames, whose functions call each other and themselves;
# many are equal, and any may be the beginning of another.
random_stacks()
{
	awk -v seed="$1" 'BEGIN {
		srand(seed)
		for (i = 0; i < 3000; i++) {
			line = "app" int(rand() * 2)
			for (depth = int(rand() * 12); depth > 0; depth--)
				line = line ";f" int(rand() * rand() * 9)
			print line, 1 + int(rand() * 1000)
		}
	}'
}

# folded_of_svg FILE: the stacks that the picture has in its table.
folded_of_svg()
{
	awk '/^<\/metadata>/ { in_table = 0 }
	in_table {
		row = $1
		name[row] = $4
		value[NR] = $3
		path = ""
		for (i = 1; i <= row; i++) path = path (i > 1 ? ";" : "") name[i]
		paths[NR] = path
		line[row] = NR
		self[NR] += $3
		if (row) self[line[row - 1]] -= $3
	}
	/^<metadata>/ { in_table = 1 }
	END { for (i in self) if (self[i] && paths[i] != "") print paths[i], self[i] }' "$1"
}

# Equal stacks added up.
sums()
{
	awk '{ sum[$1] += $2 } END { for (stack in sum) print stack, sum[stack] }' "$@" | sort
}

# Prints each function's own value, and its total with all that it called, counted once per stack.
functions()
{
	awk '{
		n = split($1, frames, ";")
		self[frames[n]] += $2
		split("", seen)
		for (i = 1; i <= n; i++) if (!seen[frames[i]]++) total[frames[i]] += $2
	} END { for (f in total) print f, self[f] + 0, total[f] }' "$@" | sort
}

test_picture_adds_up()
{
	random_stacks 7 >"$dir/in"
	sums "$dir/in" >"$dir/expected"
	"$flame" --min-width 0 --output "$dir/out.svg" "$dir/in" &&
		folded_of_svg "$dir/out.svg" | sort >"$dir/drawn" &&
		[ "$(wc -l <"$dir/drawn")" -gt 1000 ] && cmp "$dir/expected" "$dir/drawn" &&
		all=$(awk '{ n += $2 } END { print n }' "$dir/in") &&
		grep -q "^0 m[0-9] $all all (" "$dir/out.svg"
}

# Frames that are too narrow are still counted.
test_merged_frames_add_up()
{
	all=$(awk '{ n += $2 } END { print n }' "$dir/in") &&
		"$flame" --min-width 5 --output "$dir/narrow.svg" "$dir/in" &&
		grep -q ' narrow frames) (' "$dir/narrow.svg" &&
		[ "$(folded_of_svg "$dir/narrow.svg" | awk '{ n += $NF } END { print n }')" -eq "$all" ]
}

test_table_adds_up()
{
	functions "$dir/in" >"$dir/expected"
	"$flame" --top 100000 "$dir/in" |
		awk 'NR > 1 { gsub(",", ""); print $5, $1, $3 }' | sort >"$dir/listed" &&
		[ -s "$dir/listed" ] && cmp "$dir/expected" "$dir/listed"
}

test_merging_adds_up()
{
	random_stacks 8 >"$dir/in2"
	sums "$dir/in" "$dir/in2" >"$dir/expected"
	"$flame" --merge "$dir/in" "$dir/in2" | sort | cmp - "$dir/expected"
}

# has FILE CLASS TEXT: a frame of that colour (a regular expression) with that text.
has()
{
	grep "<rect class=\"$2\" " "$1" | grep -qF "<title>$3</title>" && return
	echo "no frame of colour $2 says $3"
	grep '<rect class' "$1"
	return 1
}

# 400 samples before and 800 now: made equal, each from before stands for 2. With 10 and 40 seconds,
# for 4. A shade is ceil(7 sqrt(|difference| / largest)).
test_differences()
{
	printf 'a;x 100\na;y 300\n' >"$dir/before"
	printf 'a;x 300\na;y 300\na;z 200\n' >"$dir/after"
	"$flame" --diff --output "$dir/total.svg" "$dir/before" "$dir/after" &&
		has "$dir/total.svg" r0 'a (800 samples, 100.00 %; before: 400 samples, +0.00 %)' &&
		has "$dir/total.svg" r5 'x (300 samples, 37.50 %; before: 100 samples, +12.50 %)' &&
		has "$dir/total.svg" b7 'y (300 samples, 37.50 %; before: 300 samples, -37.50 %)' &&
		has "$dir/total.svg" r6 'z (200 samples, 25.00 %; before: 0 samples, +25.00 %)'
}

test_differences_by_duration()
{
	"$flame" --diff --durations 10,40 --output "$dir/time.svg" "$dir/before" "$dir/after" &&
		has "$dir/time.svg" b7 'a (800 samples, 100.00 %; before: 400 samples, -100.00 %)' &&
		has "$dir/time.svg" b3 'x (300 samples, 37.50 %; before: 100 samples, -12.50 %)' &&
		has "$dir/time.svg" b7 'y (300 samples, 37.50 %; before: 300 samples, -112.50 %)' &&
		has "$dir/time.svg" r4 'z (200 samples, 25.00 %; before: 0 samples, +25.00 %)' &&
		"$flame" --diff --durations 10s,40s "$dir/before" "$dir/after" | cmp - "$dir/time.svg" &&
		"$flame" --diff --durations 500ms,2 "$dir/before" "$dir/after" | cmp - "$dir/time.svg" &&
		"$flame" --diff --durations 7,14 "$dir/before" "$dir/after" | cmp - "$dir/total.svg"
}

# Stacks that --only keeps and --without leaves out are all stacks, with and without a difference.
test_names_choose()
{
	sums "$dir/in" | grep -E 'f1(;|$| )' >"$dir/with"
	sums "$dir/in" | grep -vE 'f1(;|$| )' >"$dir/without"
	[ -s "$dir/with" ] && [ -s "$dir/without" ] &&
		"$flame" --merge --only '^f1$' "$dir/in" 2>"$dir/said" | sort | cmp - "$dir/with" &&
		grep -q ' [0-9.]* % filtered out by --only or --without$' "$dir/said" &&
		"$flame" --merge --without '^f1$' "$dir/in" 2>"$dir/said" | sort | cmp - "$dir/without" &&
		grep -q ' [0-9.]* % filtered out by --only or --without$' "$dir/said" &&
		"$flame" --merge --only f1 --only f2 --without f2 "$dir/in" 2>/dev/null |
			grep -c . | grep -qx "$(grep -cvE 'f2' "$dir/with")"
}

# Two values a line say the same as two files.
test_differences_in_one_file()
{
	"$flame" --diff --merge "$dir/before" "$dir/after" >"$dir/both" &&
		"$flame" --diff "$dir/both" | cmp - "$dir/total.svg" &&
		"$flame" --diff --durations 10,40 "$dir/both" | cmp - "$dir/time.svg"
}

test_differences_need_two_values()
{
	for what in --merge --table; do
		"$flame" --diff $what "$dir/before" >"$dir/out" 2>"$dir/err" && return 1
		grep -q 'before: no stacks with two values (use files of --merge --diff, or compare two files)$' \
			"$dir/err" && continue
		cat "$dir/err"
		return 1
	done
}

# Shares of 49 and 3 that are equal stay equal when they are scaled.
test_what_is_equal_has_no_colour()
{
	for totals in '10 7' '49 3' '49 1' '98 51' '103 29'; do
		# shellcheck disable=SC2086 # two words
		set -- $totals
		printf 'a;b;c %d\n' "$1" >"$dir/x"
		printf 'a;b;c %d\n' "$2" >"$dir/y"
		"$flame" --diff --output "$dir/equal.svg" "$dir/x" "$dir/y" || return 1
		[ "$(grep -c '<rect class="r0".* +0.00 %)' "$dir/equal.svg")" -eq 3 ] && continue
		echo "$totals:"
		grep '<rect class' "$dir/equal.svg"
		return 1
	done
}

# A remark behind a stack is about its leaf, and what is behind "--" is the waker's.
test_remarks_are_no_functions()
{
	printf '%s\n' 'a;main;f;[blocked throughout] 10' 'a;main;f 1' 'a;main;g;--;wake;waker 5' 'a;[unknown] 3' |
		"$flame" --top 9 >"$dir/listed" &&
		awk '{ print $5, $1, $3 }' "$dir/listed" >"$dir/rows" &&
		grep -qx 'f 11 11' "$dir/rows" && grep -qx 'g 5 5' "$dir/rows" &&
		grep -qx 'wake 0 5' "$dir/rows" && grep -qx '\[unknown\] 3 3' "$dir/rows" &&
		! grep -q -e blocked -e '--' "$dir/rows" && return
	cat "$dir/listed"
	return 1
}

# Sums are exact, shares are right, and what is written is read again as the same.
test_fractions_are_scaled()
{
	printf 'a;b 0.25\na;c 1e-3\na;d 2.\na;b .5\na;c 2.5e-2\na;e 1.2E+01\n' >"$dir/fractions"
	printf 'a;e 12\na;d 2\na;b 0.75\na;c 0.026\n' >"$dir/expected"
	"$flame" --merge "$dir/fractions" >"$dir/merged" 2>"$dir/err" && [ ! -s "$dir/err" ] &&
		cmp "$dir/expected" "$dir/merged" && "$flame" --merge "$dir/merged" | cmp - "$dir/expected" &&
		"$flame" --top 9 "$dir/fractions" | awk 'NR > 1 { print $5, $1, $2, $3 }' >"$dir/rows" &&
		grep -qx 'b 0.75 5.08 0.75' "$dir/rows" && grep -qx 'a 0 0.00 14.776' "$dir/rows" &&
		"$flame" --output "$dir/out.svg" "$dir/fractions" &&
		has "$dir/out.svg" 'u[0-9]' 'b (0.75 samples, 5.08 %)' &&
		"$flame" --unit bytes --output "$dir/out.svg" "$dir/fractions" &&
		has "$dir/out.svg" m3 'all (14.776 B, 100.00 %)' || return
	awk 'BEGIN { for (i = 0; i < 10000; i++) print "a 0.1" }' | "$flame" --merge | grep -qx 'a 1000' &&
		printf 'a;b 1.x\nb .\nc 5e\nd 1e400\na 1\n' | "$flame" --merge 2>/dev/null | tr '\n' , |
		grep -qx 'a 1,'
}

# Both files have one scale.
test_differences_of_fractions()
{
	printf 'a;x 0.1\na;y 0.3\n' >"$dir/tenths"
	printf 'a;x 0.0003\na;y 0.0003\na;z 0.0002\n' >"$dir/small"
	"$flame" --diff --output "$dir/out.svg" "$dir/tenths" "$dir/small" &&
		has "$dir/out.svg" r5 'x (0.0003 samples, 37.50 %; before: 0.1 samples, +12.50 %)' &&
		"$flame" --diff --merge "$dir/tenths" "$dir/small" >"$dir/both" &&
		grep -qx 'a;x 0.1 0.0003' "$dir/both" && "$flame" --diff "$dir/both" | cmp - "$dir/out.svg" &&
		"$flame" --merge --only y "$dir/tenths" "$dir/small" 2>&1 >"$dir/out" |
		grep -q ' 25.07 % filtered out by --only or --without$' && grep -qx 'a;y 0.3003' "$dir/out"
}

test_digits_without_space_are_rounded()
{
	printf 'a 10000000000000000.25\nb 1e-9\nc 0.26\n' | "$flame" --merge >"$dir/out" 2>"$dir/err" &&
		printf 'a 10000000000000000.25\nc 0.26\n' | cmp - "$dir/out" &&
		grep -q '^flame: warning: standard input: values rounded to 3 decimals$' "$dir/err" &&
		printf 'a 0.125\nb 18446744073709551000\na 1.5\n' | "$flame" --merge 2>/dev/null |
		tr '\n' , | grep -qx 'b 18446744073709551000,a 2,'
}

# Functions' own values, means of a side's runs. Counts of samples have a noise even in one run.
test_a_table_of_differences()
{
	printf 'a;x 110\na;y 300\n' >"$dir/before.2"
	"$flame" --diff --table --unit calls "$dir/before" "$dir/before.2" -- "$dir/after" >"$dir/out" &&
		awk '{ print $1, $2, $3, $5, $6, $7 }' "$dir/out" | tr '\n' , | grep -qx "$(printf '%s,' \
			'BEFORE AFTER DIFFERENCE OF ALL% GROWTH%' '405 800 +395 +97.53 +97.5 all' \
			'0 200 +200 +49.38 new z' '105 300 +195 +48.15 +185.7 x' '300 300 +0 +0.00 +0.0 y')" &&
		"$flame" --diff --top 2 "$dir/after" "$dir/before" | awk '{ print $1, $2, $3, $6, $7 }' |
		tail -n 1 | grep -qx '200 0 -200 vanished z' && return
	cat "$dir/out"
	return 1
}

# A method is compiled in one run, and inlined or interpreted in another.
test_kinds_of_code_are_one_function()
{
	echo 'm;A.run_[0];A.f_[i] 1000' >"$dir/inlined"
	echo 'm;A.run_[j];A.f_[1] 1000' >"$dir/compiled"
	"$flame" --diff --table --fail-over 5 "$dir/inlined" "$dir/compiled" >"$dir/out" 2>"$dir/err" &&
		awk 'NR > 2 { print $1, $2, $3, $NF }' "$dir/out" | grep -qx '1,000 1,000 +0 A.f' &&
		"$flame" --top 9 "$dir/inlined" "$dir/compiled" >"$dir/out" &&
		awk 'NR > 1 { print $1, $3, $NF }' "$dir/out" | tr '\n' ' ' |
		grep -qx '2,000 2,000 A.f 0 2,000 A.run 0 2,000 m ' && return
	cat "$dir/out" "$dir/err"
	return 1
}

# counts SEED SLOWER LARGEST: six files of 60 functions. Their counts are random (normal, with the variance of
# samples), around the same values, LARGEST at most; the hottest function's are SLOWER times as high in the last three.
# The generator is that of Park and Miller: the same numbers with any awk.
counts()
{
	awk -v seed="$1" -v slower="$2" -v largest="$3" -v dir="$dir" '
	function uniform() { seed = seed * 16807 % 2147483647; return seed / 2147483647 }
	function normal(i, sum) { for (i = sum = 0; i < 12; i++) sum += uniform(); return sum - 6 }
	BEGIN {
		for (run = 0; run < 6; run++)
			for (f = 1; f <= 60; f++) {
				mean = largest / f * (f == 1 && run > 2 ? slower : 1)
				n = int(mean + sqrt(mean) * normal() + 0.5)
				print "app;main;f" f, n > (dir "/run." run)
			}
	}'
}

# 20 comparisons of equal runs find nothing, 20 of runs with a slower function find that one.
test_growth_beyond_the_noise_has_a_status()
{
	for slower in 1 1.1; do
		for seed in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
			counts "$((seed * 7919))" "$slower" 3400
			"$flame" --diff --table --fail-over 5% "$dir"/run.[012] -- "$dir"/run.[345] >"$dir/out" 2>"$dir/err"
			status=$?
			case $slower in
			1) [ $status -eq 0 ] && [ ! -s "$dir/err" ] ;;
			*) [ $status -eq 3 ] && grep -q '^flame: f1: grew by .* over the limit: 1)$' "$dir/err" ;;
			esac && continue
			echo "seed $seed, $slower times: status $status"
			cat "$dir/out" "$dir/err"
			return 1
		done
	done
	"$flame" --diff --table --fail-over 15% "$dir"/run.[012] -- "$dir"/run.[345] >"$dir/out" &&
		"$flame" --diff --table --fail-over 5% "$dir"/run.[345] -- "$dir"/run.[012] >"$dir/out"
}

# Runs of another length differ in all values, and in no share.
test_shares_of_runs_are_compared()
{
	counts 7919 1 9000
	for run in 1 3 5; do
		awk '{ print $1, int($2 * 1.3 + 0.5) }' "$dir/run.$run" >"$dir/longer" && mv "$dir/longer" "$dir/run.$run"
	done
	"$flame" --diff --table --shares --fail-over 5% "$dir"/run.[012] -- "$dir"/run.[345] >"$dir/out" || return
	awk '/^ .* f1$/ { exit !($4 < 800) }' "$dir/out" || { cat "$dir/out"; return 1; }
	"$flame" --diff --table "$dir"/run.[012] -- "$dir"/run.[345] | awk '/^ .* f1$/ { gsub(",", ""); exit !($4 > 3000) }'
}

# Without samples, and with one run of each, nothing is known of the noise: any growth counts.
test_unknown_noise_is_reported()
{
	printf 'a;x 100\n' >"$dir/one"
	printf 'a;x 106\n' >"$dir/two"
	"$flame" --diff --table --fail-over 5% --unit bytes "$dir/one" "$dir/two" >"$dir/out" 2>"$dir/err"
	[ $? -eq 3 ] && grep -q '^flame: warning: noise unknown: ' "$dir/err" &&
		"$flame" --diff --table --fail-over 5% "$dir/one" "$dir/two" >"$dir/out" 2>"$dir/err" &&
		grep -q '^flame: warning: noise of sampling only: ' "$dir/err"
}

# A stack that only the first file has is as wide as its value would be in the second.
test_vanished_stacks_have_a_width()
{
	printf 'a;x 300\na;z 200\n' >"$dir/without_y"
	"$flame" --diff --output "$dir/out.svg" "$dir/before" "$dir/without_y" &&
		has "$dir/out.svg" b7 'y (0 samples, 0.00 %; before: 300 samples, -75.00 %)' &&
		grep -q '^2 b7 375 y (' "$dir/out.svg" && grep -q '^0 m[0-9] 875 all (500 samples' "$dir/out.svg"
}

# A file that is opened next would get what is said.
test_closed_descriptors_are_not_used_for_files()
{
	echo 'a;b 1
what is this' | "$flame" --output "$dir/closed.svg" 2>&- &&
		head -n 1 "$dir/closed.svg" | grep -q '^<?xml' && ! grep -q '^flame:' "$dir/closed.svg" || return
	echo 'a;b 1' | "$flame" >&- 2>"$dir/err" && return 1
	grep -q "^flame: standard output: closed or read-only" "$dir/err"
}

# In the order of this file: later ones compare with what earlier ones have written.
for test in $(sed -n 's/^test_\(.*\)()$/\1/p' tests/unit/flame_test.sh); do
	"test_$test"
	result "$test" $?
done
exit $failed

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# tests/run itself: what it counts, and when a skipped test is a failure.
# shellcheck disable=SC2154 # some variables are set by what is included
cd "$(dirname "$0")/../.." || exit 1
. tests/lib

# program STATUS LINE...: one that prints these lines.
program()
{
	status=$1
	shift
	{ echo '#!/bin/sh' && printf "echo '%s'\n" "$@" && echo "exit $status"; } >"$dir/program"
	chmod +x "$dir/program"
}

# closes STATUS SUMS [VARIABLE=VALUE]: how a run of the program ends
closes()
{
	env CI= "$3" tests/run "$dir/program" >"$dir/said"
	[ $? -eq "$1" ] && [ "$(tail -n 1 "$dir/said")" = "$2" ] && return
	cat "$dir/said"
	return 1
}

program 0 'PASS a' 'PASS b' 'SKIP c: not root' 'noise FAIL d'
closes 0 '2 passed, 0 failed, 1 skipped' CI= && closes 0 '2 passed, 0 failed, 1 skipped' CI=1
result verdicts_are_counted $?

program 1 'PASS a'
closes 1 '1 passed, 1 failed, 0 skipped' CI= && grep -q '^FAIL .*program: exit status 1$' "$dir/said"
result an_end_without_a_verdict_is_a_failure $?

program 0 'PASS a' 'SKIP b: needs package x' 'SKIP c: needs package with y'
closes 0 '1 passed, 0 failed, 2 skipped' CI= && closes 1 '1 passed, 2 failed, 0 skipped' CI=1 &&
	grep -q '^FAIL b: needs package x, and CI is set$' "$dir/said"
result a_missing_package_is_a_failure_where_CI_is_set $?

# Each waits for the other one between its two lines.
for i in 1 2; do
	{
		echo '#!/bin/sh'
		echo "echo PASS first_of_$i; touch $dir/begun.$i; tries=0"
		echo "until [ -e $dir/begun.$((3 - i)) ] || [ \$((tries += 1)) -gt 200 ]; do sleep 0.05; done"
		echo "[ -e $dir/begun.$((3 - i)) ] && echo PASS second_of_$i"
	} >"$dir/waits.$i"
	chmod +x "$dir/waits.$i"
done
tests/run -j 2 "$dir/waits.1" "$dir/waits.2" >"$dir/said"
[ "$(tail -n 1 "$dir/said")" = '4 passed, 0 failed, 0 skipped' ] &&
	[ "$(grep -A 1 first_of_1 "$dir/said" | tail -n 1)" = 'PASS second_of_1' ] &&
	[ "$(grep -A 1 first_of_2 "$dir/said" | tail -n 1)" = 'PASS second_of_2' ] || { cat "$dir/said"; false; }
result output_of_programs_that_run_at_once_stays_in_one_piece $?
exit $failed

#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Command lines that tools refuse: with status 2, nothing printed and one line of the tool's own on stderr, which names
# the culprit, before anything is attached. TRACELETS_BIN: the folder of the tools.
# shellcheck disable=SC2154 # some variables are set by what is included
cd "$(dirname "$0")/../.." || exit 1
bin=$(realpath "${TRACELETS_BIN:-build}")
export ASAN_OPTIONS=detect_leaks=0 # of a process that only refuses
. tests/lib

# wrong TOOL CULPRIT WORD...: says what is wrong with how it refuses these; false: nothing.
wrong()
{
	tool=$1 culprit=$2
	shift 2
	"$bin/$tool" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	status=$?
	{ IFS= read -r message && ! IFS= read -r _; } <"$dir/err"
	is_one_line=$?
	if [ $status -ne 2 ]; then
		echo "$tool $*: status $status, not 2"
	elif [ -s "$dir/out" ]; then
		echo "$tool $*: it printed: $(head -n 3 "$dir/out")"
	elif [ $is_one_line -ne 0 ]; then
		echo "$tool $*: not one line: $(cat "$dir/err")"
	else
		case $message in
		"$tool: "*"$culprit"*) return 1 ;;
		*) echo "$tool $*: it does not name $culprit: $message" ;;
		esac
	fi
}

close_group()
{
	[ -z "$group" ] || result "$group" $bad
	bad=0
}

# Lines "CULPRIT | TOOLS | WORDS", as a shell reads them, below the name of what they show.
all='runqlat biolat offcputime locks profile syscount pagefaults memleak'
stacks='profile offcputime locks pagefaults memleak biolat'
group='' bad=0
while IFS= read -r line; do
	case $line in
	'') ;;
	*:)
		close_group
		group=${line%:}
		;;
	*)
		culprit=${line%% | *} rest=${line#* | }
		tools=${rest%% | *} words=${rest#* | }
		case $tools in all) tools=$all ;; stacks) tools=$stacks ;; esac
		for tool in $tools; do
			eval "set -- $words"
			! wrong "$tool" "$culprit" "$@" || bad=1
		done
		;;
	esac
done <<'LINES'
an_operand_and_its_option_exclude_each_other:
operand '1' | runqlat offcputime profile | 1 --interval 2 --duration 3
--count and the operand '3' | syscount | --count 2 1 3

a_process_that_is_none_is_refused:
abc | all | -p abc
999999 | all | -p 999999
'1x' | all | -p 1x
-1 | all | -p -1
'' | all | -p 1,
0 | all | -p 0
999999 | all | --tid 999999
thread 1: of process 1, which --pid excludes | all | --pid $$ --tid 1
abc | pagefaults | -t abc
'abc' | syscount | -c abc
4194303 | syscount | -c 4194303

a_time_that_is_none_is_refused:
'1x' | all | 1x
'5sec' | all | --duration 5sec
'' | all | ''
must be | all | 0
nan | all | nan
--count | runqlat offcputime profile | --count 3
'2x' | runqlat | 1 2x
interval | syscount | -i 0
duration | syscount | -d 0
'1x' | syscount | -d 1x

unknown_options_and_operands_too_many_are_refused:
--no-such-option | all | --no-such-option
-Z | runqlat offcputime profile syscount pagefaults | -Z
--pid | all | --pid
'--' | all | --
'extra' | runqlat pagefaults | 1 2 extra
'extra' | offcputime profile | 1 extra

a_cgroup_that_is_none_is_refused:
/nonexistent | all | --cgroup /nonexistent
/proc | all | --cgroup /proc

a_comm_that_no_thread_can_have_is_refused:
sixteen-letters- | all | --comm sixteen-letters-
--comm | all | --comm ''

a_second_report_in_a_file_that_has_one_is_refused:
--format svg: several reports | profile offcputime memleak | --format svg --interval 1
--format pprof: several reports | profile pagefaults | --format pprof --interval 1 --count 2
--format html: several reports | offcputime | --format html --interval 1

a_second_value_is_refused:
--comm: given twice, 'a' and 'b' | all | --comm a --comm b
--cgroup: given twice | all | --cgroup /a --cgroup /b
--frequency: given twice | profile | -F 10 -F 50
--state: given twice | offcputime | --state S --state R
--syscall: given twice | syscount | --syscall read --syscall write
--duration: given twice | all | --duration 1 --duration 2

a_cpu_that_is_none_is_refused:
9999 | profile | -C 9999
200000 | profile | -C 200000
4294967296 | profile | -C 4294967296
'x' | profile | -C x

a_frequency_of_nothing_is_refused:
0 | profile | -F 0
0 | profile | -c 0
'nothing' | profile | --event nothing

options_that_contradict_each_other_are_refused:
exclude each other | stacks | -K -U
exclude each other | offcputime | -KU
exclude each other | offcputime | -u -k
exclude each other | offcputime | --blocked --runnable
exclude each other | profile | -F 99 -c 1000
exclude each other | runqlat | -m -N
exclude | runqlat | -P -L
exclude each other | all | -p 1 -- true
exclude each other | all | --no-follow --follow -- true
--no-follow needs a command | all | --no-follow
--min-block-time | offcputime | -m 10 -M 5
exclude each other | pagefaults | --minor --major
exclude each other | pagefaults | --anon --file
exclude each other | pagefaults | -L --by-file
exclude | pagefaults | -P -f
exclude | pagefaults | -L -U
exclude | pagefaults | --by-file -U --format text
exclude | pagefaults | -P --only x
exclude | pagefaults | -P --without x
exclude | pagefaults | -P --lines
exclude | pagefaults | --by-file --no-python
exclude | pagefaults | -P --unwind fp
exclude | pagefaults | -L --unwind-mem 1M
exclude | pagefaults | -L --no-demangle
exclude each other | syscount | -P --by-process-and-syscall
exclude | runqlat | --throttled -P
exclude | runqlat | --throttled --slower 1ms

states_formats_and_calls_that_are_none_are_refused:
xyz | offcputime | --state xyz
'Q' | offcputime | --state Q
letters of RSDTtXZPI | offcputime | --state d
letters of RSDTtXZPI | offcputime | --state SDZQ
1S | offcputime | --state 1S
'' | offcputime | --state ''
nothing | profile | --format nothing
folded | runqlat | --format folded
no single events | memleak locks pagefaults | --format firefox
no single events | biolat | --stacks --format firefox
--per-cpu | profile | --format firefox --per-cpu
--blocked | offcputime | --format firefox --blocked
--goroutines | profile | --format firefox --wall --goroutines only -p 1
--per-goroutine | offcputime | --format firefox --per-goroutine -p 1
several reports | profile offcputime | --format firefox --interval 1
exclude each other | profile | --format firefox --top
pprof | syscount | --format pprof
'raed' | syscount | --syscall raed
'' | syscount | --syscall ''
'ENOSUCH' | syscount | -e ENOSUCH
--errno | syscount | -e 0
5000 | syscount | -e 5000
'2x' | syscount | -e 2x
--rows | syscount | -T 0
'-1' | syscount | -T -1
--entries | syscount | --entries 1

what_has_no_effect_is_refused:
--milliseconds | runqlat | --slower 1ms -m
--entries | runqlat | --slower 1ms --entries 64
--nanoseconds | pagefaults | -P -N
--milliseconds | pagefaults | -f -m
--timestamp | pagefaults | -f -T
--milliseconds | syscount | -m
--entries | runqlat | --entries 64
--timestamp | runqlat | -T --format json
--timestamp | pagefaults | -LT --format json
--timestamp | pagefaults | -PT --format json

what_has_no_effect_on_csv_is_refused:
--in-flight | syscount | --format csv --in-flight
--milliseconds | syscount | --format csv -Lm
--timestamp | runqlat | --format csv -T
csv, prometheus | runqlat | --format cvs

what_has_no_effect_on_metrics_is_refused:
--only | offcputime | --format prometheus --only x
--without | offcputime | --format prometheus --without x
--user-stacks-only | offcputime | --format prometheus -U
--lines | offcputime | --format prometheus --lines
--unwind | offcputime | --format prometheus --unwind fp
--no-idle | offcputime | --format prometheus --no-idle
--waker | offcputime | --format prometheus --waker
--in-flight | syscount | --format prometheus --in-flight
--rows | syscount | --format prometheus -T 3
--milliseconds | syscount | --format prometheus -Lm
--timestamp | runqlat | --format prometheus -T
--timestamp | pagefaults | --format prometheus -T
--timestamp | pagefaults | --format prometheus -LT

names_of_files_that_promise_what_is_not_written_are_refused:
x.nothing | profile | --output $dir/x.nothing
svg | runqlat | --output $dir/y.svg 1 1
--sort count | memleak | --sort count --format csv 1 1
folded | syscount | --output $dir/y.folded
pprof | pagefaults | --by-file --output $dir/y.pb.gz
the same name | runqlat | --output $dir/%H.txt 1s 1
names repeat | runqlat | --output $dir/%S.txt 1s
names repeat | runqlat | --output $dir/%S.txt --duration 61s --interval 1s
names repeat | runqlat | --output $dir/%H%M.txt --interval 60s --keep 8 --when 'cpu>99%'
%Y | runqlat | --output x-%Q 1s 1
--keep | runqlat | --keep 3 1s 1
--keep | profile | --keep 2 --output $dir/%%.txt 100ms
--keep | profile | --keep-bytes 3M --output $dir/x.svg 1
--keep-bytes | profile runqlat | --keep-bytes 0 --interval 1 --output $dir/x.txt

patterns_that_are_none_are_refused:
--only: '(' is not a regular expression | stacks | --only '('
--without: the pattern is empty | stacks | --without ''

what_locks_can_not_have_is_refused:
--state | locks | --state D
--blocked | locks | --blocked
--runnable | locks | --runnable
--no-idle | locks | --no-idle
--top | locks | --top
prometheus | locks | --format prometheus

what_wall_time_can_not_have_is_refused:
--wall and --per-cpu exclude each other | profile | --wall --per-cpu
--wall and --per-cpu exclude each other | profile | --wall -A
--wall and --cpu exclude each other | profile | --wall -C 0
--wall and --include-idle exclude each other | profile | --wall -I
--no-idle | profile | --wall --no-idle -K
--waker needs --wall | profile | --waker
--no-idle needs --wall | profile | --no-idle
--throttled needs --wall | profile | --throttled

what_memleak_can_not_have_is_refused:
--duty-cycle needs a process | memleak | --duty-cycle=10
exclude each other | memleak | --duty-cycle=10 -t -p 1
exclude each other | memleak | -C -o 5000
--duty-cycle: | memleak | --duty-cycle=51 -p 1
--duty-cycle: | memleak | --duty-cycle=0 -p 1
'true; true' | memleak | -c 'true; true'
--trace | memleak | -p 1 -t --format=json
--trace | memleak | -p 1 -t -f
--show-allocs | memleak | -p 1 -a --format=json
--show-allocs | memleak | -p 1 -a --output $dir/blocks.svg

disks_and_layers_that_are_none_are_refused:
nosuchdisk | biolat | -d nosuchdisk
/dev/null | biolat | -d /dev/null
exclude | biolat | -P -D
--layer | biolat | --layer middle
-Q | biolat | --layer top -Q
--slower | biolat | -P --slower 1ms
prometheus | biolat | -QD --format prometheus
prometheus | biolat | --stacks --format prometheus
--stacks | biolat | -U -P
--stacks | biolat | --unwind fp -P
--bytes | biolat | -f --bytes
--slower | biolat | -f --slower 1ms

goroutines_that_can_not_be_shown_are_refused:
--wall | profile | --per-goroutine -p 1
needs processes | offcputime | --per-goroutine
no exclude | offcputime | --per-goroutine --goroutines no -p 1
--wall | profile | --goroutines only -p 1
--state | offcputime | --goroutines only --state D -p 1
--format | offcputime | --goroutines only --format prometheus -p 1

what_dump_can_not_do_is_refused:
no process | dump | --format text
pprof | dump | -p 1 --format pprof
html | dump | -p 1 --format html
x.md | dump | -p 1 --output $dir/x.md
operand | dump | 185

operands_too_many_or_too_few_of_a_command_are_refused:
'help': wrong number | tracelets | help slow locks
'check': wrong number | tracelets | check slow
'--install': wrong number | tracelets | --install
'halp': unknown | tracelets | halp

captures_that_are_none_are_refused:
--when | runqlat | --when psi:disk:5 --output $dir/r.txt 1
--when | runqlat | --when psi:cpu --output $dir/r.txt 1
--when | runqlat | --when psi:cpu:0% --output $dir/r.txt 1
--when | runqlat | --when psi:cpu:5%:1ms --output $dir/r.txt 1
--when | runqlat | --when 'cpu>-1' --output $dir/r.txt 1
--when | runqlat | --when 'rss>x' --output $dir/r.txt 1
--when | runqlat | --when 'wait>1ms' --output $dir/r.txt 1
--when | runqlat | --when 'stall>' --output $dir/r.txt 1
--when | runqlat | --when cmd: --output $dir/r.txt 1
--when | runqlat | --when signals --output $dir/r.txt 1
--when | runqlat | --when 'runq:p98>1' --output $dir/r.txt 1
--when | runqlat | --when runq:p99 --output $dir/r.txt 1
--when | runqlat | --when never --output $dir/r.txt 1
--interval and --output | runqlat | --when 'cpu>5' 1
--once needs --when | runqlat | --once 1
--keep 5: a capture has 6 files | runqlat | --when 'cpu>5' --keep 5 --output $dir/r.txt 1
--keep 2: a capture has 3 files | offcputime | --when 'runq:p99>1' --keep 2 --before 0 --after 0 --interval 1 --output $dir/r.txt 1
--keep 3: a capture has 4 files | runqlat | --when signal --keep 3 --before 1 --output $dir/r.txt 1
prometheus | runqlat | --when 'cpu>5' --output $dir/r.txt.prom 1
--when rss>1M | runqlat | --when 'rss>1M' --output $dir/r.txt 1
--when cpu>5 | runqlat | --when 'cpu>5' --comm none --output $dir/r.txt 1
--when runq>5 | runqlat | --when 'runq>5' --comm none --output $dir/r.txt 1
--when runq:p99>1ms | runqlat | --when 'runq:p99>1ms' --comm none --output $dir/r.txt 1
--when rss>1M | runqlat | --when 'rss>1M' --comm none --output $dir/r.txt 1
--when wait>1s | runqlat | --when 'wait>1s' --comm none --output $dir/r.txt 1
--when stall>1s | runqlat | --when 'stall>1s' --comm none --output $dir/r.txt 1

what_flame_can_not_draw_list_or_merge_is_refused:
'(' is not a regular expression | flame | --only '('
--unit: | flame | --unit 'samples (1 kHz)'
exclude each other | flame | --top 3 --reverse
exclude each other | flame | --table --reverse a
A1 A2 -- B1 B2 | flame | --diff a b c
--durations | flame | --durations 1,2 a
--fail-over needs --diff --table | flame | --diff --fail-over 5 a b
--shares needs --diff --table | flame | --diff --shares a b
durations | flame | --diff --durations 10 a b
durations | flame | --diff --durations 0,5 a b
durations | flame | --diff --durations 5,0 a b
durations | flame | --diff --durations ,5 a b
durations | flame | --diff --durations 5, a b
durations | flame | --diff --durations a,b a b
durations | flame | --diff --durations 5,5,5 a b
--inverted has no effect with --merge | flame | --merge --inverted
--title has no effect with --merge | flame | --merge --title x
--subtitle has no effect with --merge | flame | --merge --subtitle x
--width has no effect with --merge | flame | --merge --width 300
--min-width has no effect with --merge | flame | --merge --min-width 1
--inverted has no effect with --top | flame | --top 3 --inverted
--title has no effect with --top | flame | --top 3 --title x
--subtitle has no effect with --top | flame | --top 3 --subtitle x
--width has no effect with --top | flame | --top 3 --width 300
--min-width has no effect with --top | flame | --top 3 --min-width 1
--unit | flame | --merge --unit bytes
--durations | flame | --diff --merge --durations 1,2 a b

the_live_view_is_for_a_terminal_alone:
--top: standard output is not a terminal | profile offcputime pagefaults biolat syscount | --top
exclude | profile | --top --format json
exclude | profile | --top --output /dev/null
exclude | profile | --top --folded
exclude | syscount | --top --format json
exclude | syscount | --top --in-flight
LINES
close_group

# fails_on_full TOOL WORD...: prints what the disk has no space for.
fails_on_full()
{
	tool=$1
	shift
	"$bin/$tool" "$@" >/dev/full 2>"$dir/err"
	[ $? -eq 1 ] && [ "$(grep -c 'standard output: write failed: No space' "$dir/err")" -eq 1 ] && return
	echo "$tool $*: $(cat "$dir/err")"
	return 1
}

fails_on_full tracelets && fails_on_full tracelets help && fails_on_full tracelets help slow &&
	fails_on_full tracelets --version && fails_on_full flame --version && fails_on_full syscount --list
result what_can_not_be_printed_is_a_failure $?
[ "$(ls "$dir")" = "$(printf 'err\nout')" ]
result nothing_is_left_behind $?
exit $failed

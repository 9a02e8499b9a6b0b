#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Completion: what the program says about half a command line, and that bash, zsh and fish, each at a terminal of
# its own, make of it what they should. There the tools are scripts that note how they were called.
# TRACELETS_BIN: the folder of the build, with the program tracelets in it.
# shellcheck disable=SC2154 # some variables are set by what is included
cd "$(dirname "$0")/../.." || exit 1
bin=$(realpath "${TRACELETS_BIN:-build}")
. tests/lib
tools=$(basename -s .c tools/*.c | tr '\n' ' ')
tab=$(printf '\t')

# says WORD...: without what they are.
says()
{
	"$bin/tracelets" --complete "$@" | cut -f1 | tr '\n' ' '
}

# is_said WANTED WORD...
is_said()
{
	wanted=$1
	shift
	said=$(says "$@")
	[ "$said" = "$wanted" ] || { echo "$*: said '$said', not '$wanted'"; return 1; }
}

# ---- what the program says ----

is_said 'runqlat ' tracelets ru && is_said '--stack-storage-size --state ' offcputime --st &&
	is_said '--state ' tracelets offcputime --stat && is_said '--state ' /usr/sbin/tl-offcputime -p 1 --stat &&
	is_said '' nonsense --stat && is_said '' tracelets nonsense --stat
result finds_tools_and_options $?

is_said 'folded json pprof prometheus svg text ' offcputime --format '' && is_said 'json prometheus text ' syscount --format '' &&
	is_said 'folded json pprof svg text ' profile --format '' && is_said '--format=json ' profile --format=j && is_said 'json ' profile --form j && is_said 'count size ' memleak --sort '' &&
	is_said 'openat openat2 ' syscount --syscall openat && is_said 'EPERM ' syscount -e EPER &&
	is_said 'D I P R S T X Z t ' offcputime --state ''
result finds_arguments $?

is_said ':files ' profile --output '' && is_said ':files ' flame '' && is_said ':command ' profile -U -- 'ma' &&
	is_said ':folders ' tracelets --install '' && is_said '' profile --frequency ''
result leaves_the_rest_to_the_shell $?

! says profile -U --k | grep -q kernel-stacks && says profile --k | grep -q kernel-stacks &&
	! says profile --duration 5 --d | grep -q duration && says profile --comm -U --k | grep -q kernel-stacks
result leaves_out_what_would_be_refused $?

# Every option of --help, of each tool, can be completed.
for tool in $tools; do
	"$bin/tracelets" "$tool" --help | grep -oE '^  (-.,|   ) --[a-z-]+' | grep -oE -e '--.*' | sort >"$dir/help"
	"$bin/tracelets" --complete "$tool" -- >"$dir/out"
	cut -f1 "$dir/out" | sort | diff "$dir/help" - && ! grep -qv "$tab." "$dir/out"
	result "knows_every_option_of_$tool" $?
done

# A process with a name of its own, and one whose name is to do harm.
evil=$(printf 'e\033[31m\nx')
cp "$(command -v sleep)" "$dir/sleeper-for-tab"
cp "$(command -v sleep)" "$dir/$evil"
"$dir/sleeper-for-tab" 300 &
pid=$!
"$dir/$evil" 300 &
evil_pid=$!
trap 'kill $pid $evil_pid 2>/dev/null; rm -rf "$dir"' EXIT
while ! grep -q sleeper "/proc/$pid/comm"; do sleep 0.1; done
while ! grep -q 31m "/proc/$evil_pid/comm"; do sleep 0.1; done
says profile -p "$pid" | grep -q "^$pid " && says profile -p "1,$pid" | grep -q "^1,$pid " &&
	says profile "-Up$pid" | grep -q "^-Up$pid " && says profile --tid "$pid" | grep -q "^$pid " &&
	is_said 'sleeper-for-tab ' profile --comm sleeper-f &&
	"$bin/tracelets" --complete profile -p "" | grep "^$pid$tab" | grep -q 'sleeper-for-tab 300$'
result finds_processes_and_threads $?

# A folder with a name as Docker's are is all that a container is to us.
id=$(printf '%064x' $$)
group=$("$bin/tracelets" --complete profile --cgroup '' | head -n 1)
folder=${group%/}/docker-$id.scope
if [ -n "$group" ] && mkdir "$folder" 2>/dev/null; then
	is_said "$id " profile --container "$(printf '%.60s' "$id")" && is_said "docker-$id.scope " profile --unit "docker-$id" &&
		is_said "$folder " profile --cgroup "$folder"
	status=$?
	rmdir "$folder"
	result finds_containers_units_and_cgroups $status
else
	echo 'SKIP finds_containers_units_and_cgroups: no cgroup can be made here'
fi

"$bin/tracelets" --complete profile -p "" >"$dir/out" && "$bin/tracelets" --complete profile --comm "" >>"$dir/out" &&
	grep -q "^$evil_pid$tab.*31m" "$dir/out" && ! tr -d '\n\t' <"$dir/out" | grep -q '[[:cntrl:]]' &&
	! grep -q '^e' "$dir/out"
result hostile_names_reach_no_terminal $?

# ---- what shells make of it ----

stubs=$dir/stubs
mkdir "$stubs"
# shellcheck disable=SC2086 # words
env O="$bin" PREFIX="$dir/prefix/more & others" TOOL_PREFIX=tc- scripts/install $tools
for tool in tracelets $(printf 'tc-%s ' $tools); do
	# shellcheck disable=SC2016 # for the script
	printf '#!/bin/sh\necho "${0##*/} $*" >>%s\n' "$dir/said" >"$stubs/$tool"
	chmod +x "$stubs/$tool"
done
share="$dir/prefix/more & others/share"

# begin SHELL...: at a terminal; its keys are what is written to descriptor 3.
begin()
{
	rm -f "$dir/keys" "$dir/said" "$dir/screen"
	: >"$dir/said"
	mkfifo "$dir/keys"
	env -u DISPLAY HOME="$dir" TERM=xterm PATH="$stubs:$PATH" script -q -f -c "$*" "$dir/screen" <"$dir/keys" >/dev/null 2>&1 &
	shell=$!
	exec 3>"$dir/keys"
}

# wait_for PATTERN FILE
wait_for()
{
	for _ in $(seq 200); do
		if grep -aq -e "$1" "$dir/$2"; then return; fi
		sleep 0.1
	done
	echo "not in the $2: $1"
	tail -n 20 "$dir/$2"
	return 1
}

# types KEYS WANTED: what the command is called with in the end.
types()
{
	printf '%b' "$1\n" >&3
	wait_for "^$2\$" said
}

# lists KEYS PATTERN: on the screen; the line is given up.
lists()
{
	printf '%b' "$1" >&3
	wait_for "$2" screen
	status=$?
	printf '\025' >&3
	return $status
}

end()
{
	printf 'exit\n' >&3
	exec 3>&-
	kill $shell 2>/dev/null
	wait $shell 2>/dev/null
}

# completes SHELL: in the one that was begun
completes()
{
	types 'tc-offcputime --sta\tte\tD' 'tc-offcputime --state D' && types 'tracelets ru\t--slo\t5' 'tracelets runqlat --slower 5' &&
		types 'tc-profile --format=fol\t' 'tc-profile --format=folded *'
	result "${1}_completes_options_and_tools" $?
	lists 'tc-profile -p \t\t' "$pid.*sleeper-for-tab"
	result "${1}_lists_processes" $?
	types "tc-profile -p 1,$pid\t--comm sleeper-f\t" "tc-profile -p 1,$pid --comm sleeper-for-tab *"
	result "${1}_completes_processes" $?
	types "tc-flame --output $dir/pref\tx" "tc-flame --output $dir/prefix/x" &&
		types "tc-flame --output=$dir/pref\tx" "tc-flame --output=$dir/prefix/x"
	result "${1}_completes_files" $?
	types 'tc-profile -U -- tc-memlea\t' 'tc-profile -U -- tc-memleak *'
	result "${1}_completes_the_command" $?
}

try()
{
	if ! command -v "$1" >/dev/null || ! command -v script >/dev/null; then
		echo "SKIP ${1}_completes: needs package $1"
		return
	fi
	"try_$1"
	end
}

try_bash()
{
	begin bash --norc --noprofile -i
	types 'stty cols 200 rows 500; bind "set completion-query-items 0"; bind "set page-completions off"\n'"
		. '$share/bash-completion/completions/tracelets'; tracelets ready" 'tracelets ready' && completes bash
}

try_zsh()
{
	begin zsh -f -i
	types "stty cols 200 rows 500; LISTMAX=100000; fpath=('$share/zsh/site-functions' \$fpath)\nautoload -Uz compinit\n\
compinit -u -D; tracelets ready" 'tracelets ready' && completes zsh
}

try_fish()
{
	begin fish --no-config -i
	types "stty cols 200 rows 500; set fish_complete_path '$share/fish/vendor_completions.d' \$fish_complete_path; tracelets ready" \
		'tracelets ready' && completes fish
}

try bash
try zsh
try fish
exit $failed

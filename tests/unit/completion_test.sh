#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# Completion in bash, zsh and fish, each at a terminal of its own. There the tools are scripts that note how they were
# called.
# TRACELETS_BIN: the folder of the build, with the program tracelets in it.
# shellcheck disable=SC2154 # some variables are set by what is included
cd "$(dirname "$0")/../.." || exit 1
bin=$(realpath "${TRACELETS_BIN:-build}")
. tests/lib
tools=$(basename -s .c tools/*.c | tr '\n' ' ')

# A process with a name of its own.
cp "$(command -v sleep)" "$dir/sleeper-for-tab"
"$dir/sleeper-for-tab" 300 &
pid=$!
trap 'kill $pid 2>/dev/null; rm -rf "$dir"' EXIT
while ! grep -q sleeper "/proc/$pid/comm"; do sleep 0.1; done

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
	for _ in $(seq 1200); do
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
	lists "tc-profile -p ${pid%?}\t\t" "$pid"
	result "${1}_lists_processes" $?
	types "tc-profile -p 1,$pid\t" "tc-profile -p 1,$pid *"
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

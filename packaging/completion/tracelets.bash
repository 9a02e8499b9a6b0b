# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Completion for bash of tracelets and its tools: options are read from --help. @PROGRAM@ and @NAMES@ are filled in
# when this is installed.

# Completes the command after "--": its first word has the index $1.
_tracelets_command()
{
	if declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	elif (($1 == COMP_CWORD)); then
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
	else
		compopt -o default
	fi
}

# Completes the word $1 after the tool or option $2 of the tool whose --help is $3.
_tracelets_word()
{
	local list=${1%"${1##*,}"} words='' argument=''

	[[ $3 =~ [[:space:]]"$2"(", "--[a-z-]+)?" "([A-Z]+) ]] && argument=${BASH_REMATCH[2]}
	case "$2 $argument" in
	'-p PID' | '--pid PID') words=$(cd /proc && echo [0-9]*) ;;
	'--format FORMAT') words='text json csv prometheus folded svg pprof firefox' ;;
	-*' FILE' | -*' PATH') compopt -o default && return ;;
	-*' '[A-Z]*) return ;;
	*)
		[[ $1 != -* ]] || words=$(grep -oE -e '^  (-., |    )--[a-z-]+' <<<"$3" | grep -oE -e '--?[A-Za-z-]+')
		[[ ${3%%$'\n'*} != *FILE* ]] || compopt -o default
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -P "$list" -W "$words" -- "${1##*,}")
}

_tracelets()
{
	local tool=${COMP_WORDS[0]##*/} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} i
	local program='@PROGRAM@'

	[[ -x $program ]] || program=tracelets
	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} != -- ]] || { _tracelets_command $((i + 1)) && return; }
	done
	if [[ $tool == tracelets && $COMP_CWORD == 1 ]]; then
		mapfile -t COMPREPLY < <(compgen -W "check help --install $("$program" | sed -n 's/^  \([a-z]*\)  .*/\1/p')" -- "$word")
		return
	fi
	[[ $tool != tracelets ]] || tool=${COMP_WORDS[1]}
	case $tool in
	check) return ;;
	help)
		((COMP_CWORD > 2)) || mapfile -t COMPREPLY < <(compgen -W "$("$program" help | sed -n 's/^  \([a-z]*\)  .*/\1/p')" -- "$word")
		return
		;;
	--*) compopt -o dirnames && return ;;
	esac
	# Bash takes "--format=json" for three words.
	[[ $before != = ]] || before=${COMP_WORDS[COMP_CWORD - 2]}
	_tracelets_word "${word#=}" "$before" "$("$program" "${tool##*-}" --help 2>/dev/null)"
}

complete -F _tracelets @NAMES@

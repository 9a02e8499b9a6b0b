# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Completion for bash of tracelets and its tools: the program itself says what can be typed. @PROGRAM@ and @NAMES@
# are filled in when this is installed.

# What follows "--" is another command.
_tracelets_command()
{
	local i

	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} != -- ]] || break
	done
	if declare -F _command_offset >/dev/null; then
		_command_offset $((i + 1))
	elif ((i + 1 == COMP_CWORD)); then
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
	else
		compopt -o default
	fi
}

# Words are shown with what they are, if there is more than one and none is put into the line.
_tracelets_reply()
{
	local cut=$1 i width=${COLUMNS:-80} text
	shift

	for ((i = 0; i < ${#words[@]}; i++)); do
		printf -v text '%q' "${words[i]}"
		text=${text#"$cut"}
		if ((${#words[@]} > 1 && COMP_TYPE != 37 && COMP_TYPE != 42)) && [[ ${abouts[i]} ]]; then
			text="$text  (${abouts[i]})"
			text=${text:0:width - 1}
		fi
		COMPREPLY+=("$text")
	done
}

_tracelets()
{
	local line=${COMP_LINE:0:COMP_POINT} part=${COMP_WORDS[COMP_CWORD]} program='@PROGRAM@' word about
	local -a typed words=() abouts=()

	# Bash takes words apart at "=" and ":", so it is the line that counts.
	read -r -a typed <<<"$line"
	[[ $line != *[[:blank:]] ]] || typed+=('')
	[[ $part != [=:] ]] || part=
	[[ -x $program ]] || program=tracelets
	while IFS=$'\t' read -r word about; do
		case $word in
		:command) _tracelets_command && return ;;
		:folders) compopt -o dirnames ;;
		:files) compopt -o default ;;
		*)
			words+=("$word")
			abouts+=("$about")
			;;
		esac
	done < <("$program" --complete "${typed[@]}" 2>/dev/null)
	_tracelets_reply "${typed[-1]%"$part"}"
}

complete -F _tracelets @NAMES@

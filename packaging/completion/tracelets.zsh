#compdef @NAMES@
# SPDX-License-Identifier: GPL-2.0-only
# Completion for zsh of tracelets and its tools: the program itself says what can be typed. @PROGRAM@ and @NAMES@
# are filled in when this is installed.

local program='@PROGRAM@' line word
local -a known

[[ -x $program ]] || program=tracelets
for line in "${(@f)$($program --complete "${(@Q)words[1,CURRENT]}" 2>/dev/null)}"; do
	case $line in
	'') ;;
	:command)
		# What follows "--" is another command.
		word=${words[(i)--]}
		shift $word words
		((CURRENT -= word))
		_normal
		return
		;;
	:folders) _files -/ ;;
	:files)
		compset -P '--*='
		_files
		;;
	*)
		word=${line%%$'\t'*}
		known+=("${word//:/\\:}${${line#$word}/$'\t'/:}")
		;;
	esac
done
((! $#known)) || _describe -t words tracelets known

#compdef @NAMES@
# SPDX-License-Identifier: GPL-2.0-only
# Completion for zsh of tracelets and its tools: options are read from --help. @PROGRAM@ and @NAMES@ are filled in
# when this is installed.

local program='@PROGRAM@' tool=${words[1]:t} option=${words[CURRENT - 1]} at argument
local -a help known match

[[ -x $program ]] || program=tracelets
at=${words[(i)--]}
if ((at < CURRENT)); then
	# What follows "--" is another command.
	shift $at words
	((CURRENT -= at))
	_normal
	return
fi
if [[ $tool == tracelets ]]; then
	if ((CURRENT == 2)); then
		known=(${(f)"$($program | sed -n 's/^  \([a-z]*\)  *\([A-Z].*\)/\1:\2/p')"})
		known+=('check:show what this kernel offers to the tools' 'help:list questions and commands' '--install:make a link for each tool')
		_describe -t tools tool known
		return
	fi
	tool=$words[2]
fi
case $tool in
check) return ;;
help)
	known=(${(f)"$($program help | sed -n 's/^  \([a-z]*\)  *\(.*\)/\1:\2/p')"})
	((CURRENT > 3)) || _describe -t topics topic known
	return
	;;
--*) _files -/ && return ;;
esac
help=(${(f)"$($program ${tool##*-} --help 2>/dev/null)"})
if [[ $PREFIX == --*=* ]]; then
	option=${PREFIX%%=*}
	compset -P '--*='
fi
argument=${${(M)help:#*[ ]$option(|, --[a-z-]##) [A-Z]*}[1]}
[[ $argument =~ "$option(, --[a-z-]+)? ([A-Z]+)" ]] && argument=$match[2] || argument=
case "$option $argument" in
'-p PID' | '--pid PID')
	compset -P '*,'
	known=(${(f)"$(ps -eo pid=,args= | sed 's/^ *\([0-9]*\) \(.*\)/\1:\2/')"})
	_describe -t processes process known
	;;
'--format FORMAT') compadd text json csv prometheus folded svg pprof firefox ;;
-*' FILE' | -*' PATH') _files ;;
-*' '[A-Z]*) ;;
*)
	known=(${(f)"$(print -rl -- $help | sed -nE 's/^  (-., |    )(--[a-z-]+)[^ ]*( [A-Z][^ ]*)? +(.*)/\2:\4/p')"})
	[[ $PREFIX == -* ]] && _describe -t options option known
	[[ $help[1] != *FILE* ]] || _files
	;;
esac

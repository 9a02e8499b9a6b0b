# SPDX-License-Identifier: GPL-2.0-only
# Completion for fish of tracelets and its tools: the program itself says what can be typed. @PROGRAM@ and @NAMES@
# are filled in when this is installed.

function __tracelets_complete
    set -l typed (commandline -opc)
    set -l current (commandline -ct)
    set -l program '@PROGRAM@'
    test -x $program; or set program tracelets
    for line in ($program --complete $typed "$current" 2>/dev/null)
        switch $line
            case :command
                # What follows "--" is another command.
                set -l at (contains -i -- -- $typed)
                set -l rest $typed[(math $at + 1)..-1] "$current"
                complete -C (string join ' ' -- (string escape -- $rest[1..-2]) "$current")
            case :folders
                __fish_complete_directories "$current" ''
            case :files
                set -l option (string match -r '^--[^=]*=' -- $current)
                __fish_complete_path (string replace -r '^--[^=]*=' '' -- $current) | string replace -r -- '^' "$option"
            case '*'
                printf '%s\n' $line
        end
    end
end

for name in @NAMES@
    complete -c $name -f -a '(__tracelets_complete)'
end

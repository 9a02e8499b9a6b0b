# SPDX-License-Identifier: GPL-2.0-only
# Completion for fish of tracelets and its tools: options are read from --help. @PROGRAM@ and @NAMES@ are filled in
# when this is installed.

# Completes a word after an option of the tool whose --help is the rest of the arguments.
function __tracelets_word -a word option
    set -l help $argv[3..-1]
    set -l prefix ''
    if string match -qr -- '^--[^=]*=' $word
        set option (string replace -r '=.*' '' -- $word)
        set prefix "$option="
        set word (string replace -r '^[^=]*=' '' -- $word)
    end
    set -l argument (string replace -rf -- "^  .*$option(, --[a-z-]+)? ([A-Z]+).*" '$2' $help)
    switch "$option $argument"
        case '-p PID' '--pid PID'
            __fish_complete_pids | string replace -r -- '^' $prefix(string replace -r '[^,]*$' '' -- $word)
        case '--format FORMAT'
            string replace -r -- '^' "$prefix" text json csv prometheus folded svg pprof firefox
        case '-* FILE' '-* PATH'
            __fish_complete_path $word | string replace -r -- '^' "$prefix"
        case '-* ?*'
        case '*'
            if string match -q -- '-*' $word
                string replace -rf -- '^  (-., |    )(--[a-z-]+)[^ ]*( [A-Z][^ ]*)? +(.*)' '$2\t$4' $help
                string replace -rf -- '^  (-.), .*' '$1' $help
            else if string match -q '*FILE*' $help[1]
                __fish_complete_path $word
            end
    end
end

function __tracelets_complete
    set -l typed (commandline -opc)
    set -l word (commandline -ct)
    set -l program '@PROGRAM@'
    test -x $program; or set program tracelets
    if set -l at (contains -i -- -- $typed)
        set -l rest $typed[(math $at + 1)..-1] "$word"
        complete -C (string join ' ' -- (string escape -- $rest[1..-2]) "$word")
        return
    end
    set -l tool (string replace -r '.*[/-]' '' -- $typed[1])
    if test $tool = tracelets -a (count $typed) -eq 1
        $program | string replace -rf '^  ([a-z]+)  +(.*)' '$1\t$2'
        printf '%s\n' check help --install
        return
    end
    test $tool != tracelets; or set tool $typed[2]
    switch $tool
        case check
        case help
            test (count $typed) -gt 2; or $program help | string replace -rf '^  ([a-z]+)  +(.*)' '$1\t$2'
        case '-*'
            __fish_complete_directories "$word" ''
        case '*'
            __tracelets_word "$word" $typed[-1] ($program $tool --help 2>/dev/null)
    end
end

for name in @NAMES@
    complete -c $name -f -a '(__tracelets_complete)'
end

"""The scripts that connect a shell with `outlive completion`.

A script knows nothing of verbs and options: it asks the installed `outlive`, which answers from the
declarations. So it stays right when outlive is updated.
"""

from __future__ import annotations

SHELLS = ("bash", "zsh", "fish")

_BASH = """\
# Completes command lines of outlive in bash. Load it from ~/.bashrc: source <(outlive completion bash)
_outlive() {
    local -a reply
    local program=${COMP_WORDS[0]/#\\~/$HOME}
    mapfile -t reply < <("$program" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    local kind=${reply[0]}
    COMPREPLY=("${reply[@]:1}")
    case $kind in
        files) compopt -o default ;;
        dirs) compopt -o dirnames ;;
        command*)
            local behind=${kind#command }
            if declare -F _command_offset >/dev/null; then
                _command_offset $((COMP_CWORD - behind))
            elif ((behind == 0)); then
                mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
            else
                compopt -o default
            fi
            ;;
        *) [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace ;;
    esac
    return 0
}
complete -F _outlive outlive
"""

_ZSH = """\
#compdef outlive
# Completes command lines of outlive in zsh. Put it as _outlive into a directory of $fpath, or load it
# from ~/.zshrc behind compinit: source <(outlive completion zsh)
_outlive() {
    local -a reply values shown open
    local kind line
    local -i behind
    reply=("${(@f)$("${(Q)words[1]/#\\~/$HOME}" completion zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
    kind=${reply[1]}
    case $kind in
        (files) _files ;;
        (dirs) _files -/ ;;
        (command*)
            behind=${kind#command }
            shift $((CURRENT - 1 - behind)) words
            CURRENT=$((behind + 1))
            _normal
            ;;
        (*)
            for line in "${(@)reply[2,-1]}"; do
                [[ -z $line ]] && continue
                if [[ $line == *= ]]; then
                    open+=("$line")
                else
                    values+=("${line%%$'\\t'*}")
                    shown+=("${line/$'\\t'/  -- }")
                fi
            done
            (( $#open )) && compadd -U -S '' -a open
            (( $#values )) && compadd -U -l -V outlive -d shown -a values
            ;;
    esac
}
if [[ $funcstack[1] == _outlive ]]; then
    _outlive "$@"
else
    compdef _outlive outlive
fi
"""

_FISH = """\
# Completes command lines of outlive in fish. Put it into ~/.config/fish/completions/outlive.fish
function __outlive_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l reply ($words[1] completion fish -- $words[2..-1] "$current" 2>/dev/null)
    switch "$reply[1]"
        case files
            __fish_complete_path "$current"
        case dirs
            __fish_complete_directories "$current"
        case 'command*'
            set -l behind (string replace 'command ' '' -- $reply[1])
            set -l typed
            test $behind -gt 0; and set typed (string escape -- $words[(math -- -$behind)..-1])
            complete -C (string join ' ' -- $typed "$current")
        case '*'
            test (count $reply) -gt 1; and printf '%s\\n' $reply[2..-1]
    end
end
complete -c outlive -f -a '(__outlive_complete)'
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def of(shell: str) -> str:
    """Return the script of a shell."""
    return _SCRIPTS[shell]

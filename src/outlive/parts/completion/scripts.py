"""The scripts that connect a shell with `outlive completion`.

A script knows nothing of verbs and options: it asks the installed `outlive`, which answers from the declarations. So it
stays right when outlive is updated. Where outlive has nothing to offer, the shell completes files."""

from __future__ import annotations

_BASH = """\
# Completes command lines of outlive in bash. Load it from ~/.bashrc: source <(outlive completion bash)
_outlive() {
    local program=${COMP_WORDS[0]/#\\~/$HOME}
    mapfile -t COMPREPLY < <("$program" completion bash -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _outlive outlive
"""

_ZSH = """\
#compdef outlive
# Completes command lines of outlive in zsh. Put it as _outlive into a directory of $fpath, or load it
# from ~/.zshrc behind compinit: source <(outlive completion zsh)
_outlive() {
    local -a values shown
    local line
    for line in "${(@f)$("${(Q)words[1]/#\\~/$HOME}" completion zsh -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -z $line ]] && continue
        values+=("${line%%$'\\t'*}")
        shown+=("${line/$'\\t'/  -- }")
    done
    if (( $#values )); then
        compadd -U -l -V outlive -d shown -a values
    else
        _files
    fi
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
    if set -q reply[1]
        printf '%s\\n' $reply
    else
        __fish_complete_path "$current"
    end
end
complete -c outlive -f -a '(__outlive_complete)'
"""

SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}

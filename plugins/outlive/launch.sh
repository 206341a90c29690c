#!/bin/sh
# Written by `python scripts/plugins.py`. Starts the installed outlive. It looks in
# fixed places alone, and passes over what lies in the project: there a job may have written it.
caller=${PATH-/usr/bin:/bin}
PATH=/usr/bin:/bin

stop() {
    echo "$2" >&2
    [ "$1" = hook ] && exit 0
    exit 1
}

# Return whether $1 is in the directory $2 or below it. A project is no home, and not above one
is_in() {
    [ -n "$2" ] && folder=$(readlink -f -- "$2") || return 1
    case $home/ in "${folder%/}"/*) return 1 ;; esac
    case $1 in "$folder"/*) return 0 ;; esac
    return 1
}

# Set `found` to the path of $1. `passed`: what lies in the project
find() {
    for place in "$HOME/.local/bin" /usr/local/bin /usr/bin /bin; do
        [ -f "$place/$1" ] && [ -x "$place/$1" ] || continue
        found=$place/$1
        real=$(readlink -f -- "$found") || continue
        [ "${real##*/}" = "$1" ] || continue # a link on the way may be a job's, and lead to a shell
        # The last one: what tools in sandboxes write there
        for project in "$PWD" "$CLAUDE_PROJECT_DIR" "$GEMINI_PROJECT_DIR" "$HOME/.cache/outlive"; do
            if is_in "$found" "$project" || is_in "$real" "$project"; then
                passed=" $found lies in $project, where a job may have written it." && continue 2
            fi
        done
        return 0
    done
    return 1
}

[ -d /proc/self/fd ] || stop "$1" "outlive needs Linux (on Windows: WSL 2)."
home=$(readlink -f -- "$HOME")
if find outlive; then
    PATH=$caller exec "$found" "$@"
fi
stop "$1" "The command outlive is not in ~/.local/bin or /usr/local/bin; see the README of this plugin.$passed"

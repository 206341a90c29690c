#!/bin/sh
# Written by `python scripts/plugins.py`. Starts the installed outlive. It looks in
# fixed places alone, and passes over what lies in the project or where a job ran: a job may have written it.
caller=${PATH-/usr/bin:/bin}
PATH=/usr/bin:/bin

stop() {
    echo "$2" >&2
    [ "$1" = hook ] && exit 0
    exit 1
}

# Return whether $1 is below one of the other directories
is_below() {
    path=$1
    shift
    while [ "${path%/*}" != "$path" ]; do
        path=${path%/*}
        for folder; do
            [ "$path" -ef "$folder" ] && return 0
        done
    done
    return 1
}

# Set `real` to the path of $1, without links: a job may exchange one. `passed`: what a job may have written
find() {
    name=$1
    # What tools in sandboxes write, and where jobs worked: outlive keeps links to these directories
    set -- "$HOME/.cache/outlive" "$state"/outlive/workspaces/*
    for project in "$PWD" "$CLAUDE_PROJECT_DIR" "$GEMINI_PROJECT_DIR"; do
        is_below "$home/." "$project" || set -- "$@" "$project" # a project is no home, and not above one
    done
    for place in "$HOME/.local/bin" /usr/local/bin /usr/bin /bin; do
        [ -f "$place/$name" ] && [ -x "$place/$name" ] || continue
        found=$place/$name
        real=$(readlink -f -- "$found") || continue
        [ "${real##*/}" = "$name" ] || continue # a link on the way may be a job's, and lead to a shell
        is_below "$found" "$@" || is_below "$real" "$@" || return 0
        passed=" $found lies where a job may have written it."
    done
    return 1
}

[ -d /proc/self/fd ] || stop "$1" "outlive needs Linux (on Windows: WSL 2)."
home=$(readlink -f -- "$HOME")
case $XDG_STATE_HOME in
    /*) state=$XDG_STATE_HOME ;;
    *) state=$HOME/.local/state ;; # also in the place of a relative one
esac
if find outlive; then
    PATH=$caller exec "$real" "$@"
fi
stop "$1" "The command outlive is not in ~/.local/bin or /usr/local/bin; see the README of this plugin.$passed"

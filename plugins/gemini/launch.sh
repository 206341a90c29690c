#!/bin/sh
# Written by `python scripts/plugins.py`. Starts the installed outlive.
if [ "$(uname -s)" != Linux ]; then
    echo "outlive needs Linux (on Windows: WSL 2)." >&2
    [ "$1" = hook ] && exit 0
    exit 1
fi
PATH=$PATH:$HOME/.local/bin
if command -v outlive >/dev/null 2>&1; then
    exec outlive "$@"
fi
echo "The command outlive is not installed; see the README of this plugin." >&2
[ "$1" = hook ] && exit 0
exit 1

# What .ci/run and .ci/full share: sourced by both, never run. A copy of the clone, a clean environment, and the steps.
# Sets: $checkout, $scratch (a directory that is gone at the end), $tree (the copy), $python.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
checkout=$PWD
python=${PYTHON:-python3}

if ! "$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    echo "ci: $python is not Python 3.11 or later with venv; name one with PYTHON=" >&2
    exit 1
fi

scratch=$(mktemp -d "${TMPDIR:-/tmp}/outlive-ci.XXXXXX")
tree=$scratch/tree
set -m # what is started with & has a process group of its own, so that all of it can be ended
# What still runs beside the steps ends with them, by its process group.
at_exit() {
    local pids
    exec 2>/dev/null # bash would say of each that it was ended
    pids=$(jobs -p)
    for pid in $pids; do kill -- "-$pid" 2>/dev/null || true; done
    [ -z "$pids" ] || wait
    rm -rf "$scratch"
}
trap at_exit EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# What runs here must not depend on who runs it.
for name in $(compgen -e); do
    case $name in
    OUTLIVE_TEST_CACHE | PYTEST_DEBUG_TEMPROOT) ;;
    OUTLIVE_* | PYTHON* | PYTEST_* | COVERAGE_* | VIRTUAL_ENV | MYPY* | RUFF* | PIP_CONSTRAINT) unset "$name" ;; esac
done
export PIP_DISABLE_PIP_VERSION_CHECK=1
# `python3` of README's command is the chosen interpreter.
mkdir "$scratch/bin"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$("$python" -c 'import sys; print(sys.executable)')" >"$scratch/bin/python3"
chmod +x "$scratch/bin/python3"
export PATH=$scratch/bin:$PATH

# attempt NAME COMMAND…: one line when it goes well; when not, its whole output, and the status of the command.
attempt() {
    local name=$1 status=0 began=$SECONDS output
    output=$scratch/output-${1//[^a-z0-9]/-}
    shift
    "$@" >"$output" 2>&1 </dev/null || status=$?
    if [ "$status" -ne 0 ]; then
        echo "ci: FAILED: $name (exit status $status)"
        echo "--- $*"
        cat "$output"
        return "$status"
    fi
    echo "ci: $name: ok ($((SECONDS - began)) s)"
}

# The files a clone would have, uncommitted ones too, so that no build or test leaves anything in the checkout.
export_tree() {
    mkdir "$tree"
    if git -C "$checkout" ls-files -z --cached --others --exclude-standard >"$scratch/files" 2>/dev/null; then
        "$python" - "$tree" "$scratch/files" <<'PYTHON'
import os, shutil, sys
to, names = sys.argv[1:]
for name in filter(None, open(names, "rb").read().split(b"\0")):
    if os.path.lexists(name):
        target = os.path.join(os.fsencode(to), name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copy2(name, target, follow_symlinks=False)
PYTHON
    else # no git, or not a clone
        cp -R . "$tree" && rm -rf "$tree"/.git "$tree"/.venv "$tree"/build "$tree"/dist "$tree"/.*_cache
    fi
}

in_tree() { (cd "$tree" && "$@"); }

# environment NAME REQUIREMENT…: a virtual environment below $scratch.
environment() {
    "$python" -m venv "$scratch/$1" && in_tree "$scratch/$1/bin/python" -m pip install -q "${@:2}"
}

# required NAME…: what pyproject.toml requires of these packages.
required() {
    in_tree "$python" - "$@" <<'PYTHON'
import re, sys, tomllib
extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]
found = {re.match(r"[\w-]+", line)[0]: line for lines in extras.values() for line in lines}
print(*(found[name] for name in sys.argv[1:]), sep="\n")
PYTHON
}

tools() { # shellcheck disable=SC2046 # one requirement a line, none has a space
    environment tools $(required ruff codespell)
}

lint() {
    in_tree "$scratch/tools/bin/ruff" check --no-cache &&
        in_tree "$scratch/tools/bin/ruff" format --no-cache --check
}

spelling() { in_tree "$scratch/tools/bin/codespell"; }

site_tools() { # shellcheck disable=SC2046
    environment site $(required zensical build)
}

# Strict: a page, a link or an anchor that leads nowhere fails.
site() { in_tree "$scratch/site/bin/zensical" build --strict; }

# From the sdist, so that both are known to be complete.
wheel() { "$scratch/site/bin/python" -m build --outdir "$scratch/dist" "$tree" && environment fresh "$scratch"/dist/*.whl; }

smoke() {
    mkdir -p "$scratch/away/home"
    (
        cd "$scratch/away"
        unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME
        HOME=$scratch/away/home OUTLIVE_ROOT=$scratch/away/jobs "$scratch/fresh/bin/python" "$tree/.ci/smoke.py"
    )
}

readme_command() { in_tree "$python" .ci/readme_command.py README.md 2; }

# What a newcomer's machine has: a home without a file, and the programs of .ci/programs.txt that the tests need. Packages
# that pip has downloaded before are the one thing that is kept.
bare_machine() {
    PIP_CACHE_DIR=$("$python" -m pip cache dir) || return
    chmod a+x "$scratch" # tests run programs as other users, too
    mkdir "$scratch/home" "$scratch/programs" && "$python" "$tree/.ci/programs.py" "$scratch/programs"
}

# on_bare_machine COMMAND…: in a shell of its own, which has that machine.
on_bare_machine() (
    export PIP_CACHE_DIR HOME=$scratch/home PATH=$scratch/programs
    unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME
    "$@"
)

# README's command in two halves: all but its last part makes .venv, the last part runs the tests.
test_environment() { in_tree bash -c "${command% && *}"; }
test_command() { echo "${command##* && }"; }

# In the environment that README's command has made: the extra `test` has mypy and what the tests import.
types() { in_tree .venv/bin/mypy --cache-dir "$scratch/mypy"; }

# A test that hangs shows where, before its time is up.
tests() { in_tree env PYTEST_ADDOPTS="-o faulthandler_timeout=240" "$@"; }

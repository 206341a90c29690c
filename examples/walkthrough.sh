#!/bin/sh
# Make the steps of agent_walkthrough.py from a shell script: every answer is one JSON object on stdout.
#
#     sh examples/walkthrough.sh
#
# The script works in a temporary job root and leaves nothing behind. OUTLIVE chooses the command (default: outlive); fields are
# read with jq, or with Python where there is none.
set -eu

OUTLIVE=${OUTLIVE:-outlive}
place=$(mktemp -d "${TMPDIR:-/tmp}/outlive-walkthrough.XXXXXX")
OUTLIVE_ROOT=$place/jobs
export OUTLIVE_ROOT

tidy() {
    for job in $($OUTLIVE list --all --limit 0 | ids); do
        $OUTLIVE remove "$job" --grace-ms 0 >"$place/removed" || cat "$place/removed" >&2
    done
    rm -rf "$place"
}

# field NAME: that field of the object on stdin.
if command -v jq >/dev/null 2>&1; then
    field() { jq -r --arg name "$1" '.[$name]'; }
    ids() { jq -r '.jobs[].job_id'; }
else
    field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }
    ids() { python3 -c 'import json, sys; [print(job["job_id"]) for job in json.load(sys.stdin)["jobs"]]'; }
fi
text() { printf '%s\n' "$(field output)"; }
trap tidy EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

say() { printf '\n# %s\n' "$*"; }
expect() { # expect WHAT FOUND WANTED
    [ "$2" = "$3" ] || { echo "walkthrough: $1 is '$2', not '$3'" >&2; exit 1; }
}

say "A command that ends within ten seconds is answered with its output. The job's exit code is in the answer."
answer=$($OUTLIVE run 'echo checked; exit 3')
expect "exit code" "$(printf '%s' "$answer" | field exit_code)" 3
printf '%s' "$answer" | text

say "--wait --propagate makes outlive exit like the command."
status=0
$OUTLIVE run --wait --propagate -- sh -c 'exit 5' >/dev/null || status=$?
expect "exit status" "$status" 5

say "--snapshot-after 0 answers at once; the job goes on, whatever happens to this script."
build=$($OUTLIVE run --snapshot-after 0 --title build --tag demo.build -- sh -c '
    for step in 1 2 3 4 5 6; do echo "compiling part $step"; sleep 0.2; done
    echo "error: part 6 does not link" >&2; exit 2' | field job_id)
echo "job $build"

say "Read on from a position: next_seq of one answer is since_seq of the next. Reading consumes nothing."
answer=$($OUTLIVE poll "$build" --timeout-ms 5s)
printf '%s' "$answer" | text
next=$(printf '%s' "$answer" | field next_seq)

say "Wait for the end instead of polling in a loop."
answer=$($OUTLIVE wait "$build" --since-seq "$next" --timeout-ms 30s)
expect "exit code" "$(printf '%s' "$answer" | field exit_code)" 2
printf '%s' "$answer" | text

say "Search the log; lines are numbered from the start of the job for ever."
$OUTLIVE log "$build" --search error --context 0 | text

say "The files are plain files: tail -f, grep and cat work on them."
log=$($OUTLIVE status "$build" | field stdout_log_path)
expect "lines in stdout.log" "$(grep -c compiling "$log")" 6

say "A job that reads its stdin: start it with --stdin open, then write."
asking=$($OUTLIVE run --snapshot-after 0 --stdin open --title question \
    'read name; echo "hello, $name"; read more' | field job_id)
$OUTLIVE write "$asking" --data 'outlive
' | field bytes_written
$OUTLIVE wait "$asking" --until output --timeout-ms 10s | text

say "A program that asks, in a terminal: the answer comes when it is blocked on its question, and says what it asks."
answer=$($OUTLIVE run --pty --title login 'printf "Name? "; read name; stty -echo; printf "Password? "; read word; echo; echo "welcome, $name"')
login=$(printf '%s' "$answer" | field job_id)
expect "prompt" "$(printf '%s' "$answer" | field prompt)" 'Name?'
$OUTLIVE send-keys "$login" --literal Ada Enter | field bytes_written
answer=$($OUTLIVE wait "$login" --until input --timeout-ms 10s)
expect "prompt" "$(printf '%s' "$answer" | field prompt)" 'Password?'
echo "shown while it is typed: $(printf '%s' "$answer" | field echo)"   # a person would type it: outlive attach JOB
$OUTLIVE send-keys "$login" --literal secret Enter | field bytes_written
$OUTLIVE wait "$login" --timeout-ms 10s | text

say "kill ends it and everything it started."
expect "state" "$($OUTLIVE kill "$asking" | field state)" killed

say "A table for a person."
$OUTLIVE list --all --human

echo
echo "all as expected"

#!/bin/sh
# Run a command on a host of the configuration, show what it prints, and end with its exit code. The
# host may be of kind ssh or slurm: examples/hosts.toml has one of each.
#
#     sh examples/on-a-host.sh box 'make -j16 test'
#
# After Ctrl-C, a closed laptop or a lost connection the job goes on. The same line again finds it,
# and shows all of it. OUTLIVE chooses the command (default: outlive).
set -eu

OUTLIVE=${OUTLIVE:-outlive}
host=$1
shift
answer=$($OUTLIVE run --host "$host" --dedupe-key "$host: $*" --snapshot-after 0 -- "$@") || {
    echo "$answer" >&2
    exit 1
}
if command -v jq >/dev/null 2>&1; then
    job=$(printf '%s' "$answer" | jq -r .job_id)
else
    job=$(printf '%s' "$answer" | python3 -c 'import json, sys; print(json.load(sys.stdin)["job_id"])')
fi
echo "job $job on $host" >&2
exec $OUTLIVE log -f --offset 0 --propagate "$job"

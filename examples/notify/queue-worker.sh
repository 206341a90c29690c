# Deliver the events that jobs appended to a file (--notify-file): one pass, each event on the stdin of a command.
#
# Needs:  flock (util-linux). Run it from cron or a timer, or in a loop. An event is done when the command exits with 0.
#         At the first event that fails the pass ends; the next pass begins with that event. FILE.done counts the events
#         that are done.
# Use:    outlive run --notify-file ~/events.ndjson -- make
#         sh queue-worker.sh ~/events.ndjson sh /path/to/webhook.sh
# Test:   echo '{"event_type":"test"}' >> /tmp/events.ndjson; sh queue-worker.sh /tmp/events.ndjson cat

queue=${1:?the file} && shift
exec 9>"$queue.lock"
flock -n 9 || exit 0 # another pass is running
[ -e "$queue" ] || exit 0
count=$(cat "$queue.done" 2>/dev/null || echo 0)
tail -n "+$((count + 1))" "$queue" | while IFS= read -r event; do # a line without its end is left for the next pass
    printf '%s\n' "$event" | "$@" 9>&- || exit 1
    count=$((count + 1))
    echo "$count" >"$queue.done.new" && mv "$queue.done.new" "$queue.done" || exit 1
done

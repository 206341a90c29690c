# Show a desktop notification when a job ends: its name, and how it ended.
#
# Needs:  notify-send (libnotify), jq, and that the job was started from a desktop session.
# Use:    outlive run --notify-command 'sh /path/to/desktop.sh' -- make
# Test:   echo '{"name":"a job","state":"exited","exit_code":0,"duration_ms":1500}' | sh desktop.sh

event=$(cat) &&
    title=$(printf '%s' "$event" | jq -er '.name // .job_id
        | gsub("(?! )[\\p{C}\\p{Z}\\x{2800}\\x{3164}]"; "\u2423")') && # characters that no one would see
    text=$(printf '%s' "$event" | jq -er '
        "\(.state // .event_type) \(.signal // .exit_code // .reason // "") after \((.duration_ms // 0) / 1000 | floor) s"
        | @html') && # the body may hold markup
    exec notify-send --app-name outlive -- "$title" "$text"

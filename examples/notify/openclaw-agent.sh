# Give an OpenClaw session a turn when a job ends, and delivers its reply to a channel.
#
# Needs:  openclaw and outlive on PATH. OPENCLAW_SESSION_ID: the session. OPENCLAW_REPLY_CHANNEL: where its reply goes.
#         `openclaw agent` returns when the turn is over, which may take longer than the 30 s that a notification
#         command has. So the turn is a job of its own, with the tag notify, which keeps its reply and its exit code.
#         A turn that fails within 25 s is a failed delivery; one that still runs then counts as delivered.
# Use:    outlive run --notify-command 'OPENCLAW_SESSION_ID=ID OPENCLAW_REPLY_CHANNEL=CHANNEL sh /path/to/openclaw-agent.sh' -- make
# Test:   set the same variables, and OUTLIVE_EVENT_TYPE=job.finished OUTLIVE_JOB_ID=test OUTLIVE_EVENT_PATH=/dev/null,
#         and run it: sh openclaw-agent.sh; outlive list --all --tag notify

case $(
    outlive run --snapshot-after 25s --timeout 10m --tag notify --title "openclaw told of $OUTLIVE_JOB_ID" -- \
        openclaw agent --deliver --reply-channel "${OPENCLAW_REPLY_CHANNEL:?}" --session-id "${OPENCLAW_SESSION_ID:?}" \
        -m "$OUTLIVE_EVENT_TYPE job_id=$OUTLIVE_JOB_ID event_path=$OUTLIVE_EVENT_PATH"
) in
    *'"state":"running"'* | *'"exit_code":0,'*) ;;
    *) exit 1 ;;
esac

# Wake an OpenClaw session when a job ends: a system event with the job's id and the path of the event, handled at once.
#
# Needs:  openclaw on PATH, its gateway running. OPENCLAW_SESSION_KEY: the session to wake; without it the main session.
#         The gateway takes the event and answers, so this command knows in a second or two whether it arrived.
# Use:    outlive run --notify-command 'OPENCLAW_SESSION_KEY=KEY sh /path/to/openclaw-event.sh' -- make
# Test:   OUTLIVE_EVENT_TYPE=job.finished OUTLIVE_JOB_ID=test OUTLIVE_EVENT_PATH=/dev/null sh openclaw-event.sh

exec openclaw system event --mode now ${OPENCLAW_SESSION_KEY:+--session-key "$OPENCLAW_SESSION_KEY"} \
    --text "$OUTLIVE_EVENT_TYPE job_id=$OUTLIVE_JOB_ID event_path=$OUTLIVE_EVENT_PATH"

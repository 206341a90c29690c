# Wake a Codex session when a job ends: the message is queued, and a terminal that has the session open takes it at once.
#
# Needs:  codex on PATH (0.169 or later: it has `codex queue`). CODEX_THREAD_ID: Codex sets it in its shells, and jobs that
#         its tool `exec` starts have it too. If no terminal has the session open, the message waits until one does.
# Use:    exec with notify_command "sh /path/to/codex.sh"; the agent then ends its turn, and is called at the end of the job
# Test:   with a session open, whose id /status shows: CODEX_THREAD_ID=ID OUTLIVE_EVENT_TYPE=job.finished \
#         OUTLIVE_JOB_ID=test OUTLIVE_EVENT_PATH=/dev/null sh codex.sh

codex queue --thread "${CODEX_THREAD_ID:?}" --message "$OUTLIVE_EVENT_TYPE job_id=$OUTLIVE_JOB_ID event_path=$OUTLIVE_EVENT_PATH
Read the event, look at the job's output (process log), and go on with what it was started for."

# Continue a Claude Code session when a job ends: one more turn, without a window (claude -p --resume).
#
# For sessions that are not open. A session in an open window does not see a turn that is added from outside: there
# the agent runs `outlive wait JOB` in its own background shell (docs/how-to/be-told.md).
#
# Needs:  claude (logged in) and outlive on PATH. CLAUDE_CODE_SESSION_ID and CLAUDE_PROJECT_DIR: Claude Code sets both
#         for the MCP servers it starts, so jobs started by the tool `exec` have them. Claude finds a session only from
#         the directory it belongs to. No person is there to allow a tool, so the allowed tools are named here.
#         A turn takes longer than the 30 s that a notification command has. So it is a job of its own, with the tag
#         notify: a turn that fails within 25 s is a failed delivery; one that still runs then counts as delivered.
# Use:    exec with notify_command "sh /path/to/claude-code.sh"; on the command line set the two variables before `sh`
# Test:   in the project's directory: OUTLIVE_JOB_ID=test OUTLIVE_EVENT_TYPE=job.finished OUTLIVE_EVENT_PATH=/dev/null \
#         CLAUDE_CODE_SESSION_ID=ID sh claude-code.sh; outlive list --all --tag notify

unset CLAUDECODE CLAUDE_CODE_ENTRYPOINT # with these claude refuses to start inside itself
case $(
    outlive run --snapshot-after 25s --timeout 30m --tag notify --title "claude told of $OUTLIVE_JOB_ID" \
        --cwd "${CLAUDE_PROJECT_DIR:-.}" -- \
        claude -p "$OUTLIVE_EVENT_TYPE job_id=$OUTLIVE_JOB_ID event_path=$OUTLIVE_EVENT_PATH
Read the event, look at the job's output (process log), and go on with what it was started for." \
        --resume "${CLAUDE_CODE_SESSION_ID:?}" --allowedTools "Read,mcp__outlive__process"
) in
    *'"state":"running"'* | *'"exit_code":0,'*) ;;
    *) exit 1 ;;
esac

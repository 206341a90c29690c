"""The numbers that a caller can run into, each with its unit in its name, and those that several
modules share.

A number that tunes one module stands in that module.
"""

from __future__ import annotations

SCHEMA_VERSION = "0.1"
JOB_FORMAT = 1  # of the job directory; readers accept every number up to this one

# --- defaults of arguments --------------------------------------------------------------------------------------
YIELD_MS = 10_000  # `exec` and `run` answer after this if the command still runs
BACKGROUND_LOOK_MS = 300  # a job in the background that dies within this is answered as dead
MCP_TIMEOUT_S = 1_800.0  # end of a job started over MCP; the CLI has none
LOOKS_LIKE_MS_S = 10_000.0  # a `timeout` in seconds from which on milliseconds may have been meant
MCP_KILL_AFTER_MS = 5_000
KILL_GRACE_MS = 5_000
REMOVE_GRACE_MS = 25_000  # so that one call over MCP stays under MCP_CALL_MS
KILL_WAIT_EXTRA_MS = 1_000  # `kill` waits for the grace and this
WRITE_MS = 5_000  # `write` waits this long for the job to take the data
REACTION_MS = 1_000  # ... and over MCP until the job was silent for this long
TAIL_LINES = 50
TAIL_BYTES = 65_536
LOG_LINES = 200
SEARCH_CONTEXT_LINES = 2
SHOWN_BYTES = 32_768  # `output` of one answer
MCP_SHOWN_BYTES = 8_192  # everything that one answer over MCP shows
MCP_EVENTS = 50  # of one answer over MCP
LIST_JOBS = 50
EVENTS = 200  # of one answer
QUOTA_BYTES = 10 * 1024**3
GC_OLDER_THAN = "30d"
TERMINAL_COLS, TERMINAL_ROWS = 120, 30
SERVE_PORT = 8330

# --- sizes of what is shown -------------------------------------------------------------------------------------
SNIPPET_BYTES = 2_048
PROMPT_BYTES = 4_096  # of the end of the output in which an unfinished line is looked for
PROMPT_CHARS = 200
COMMAND_CHARS = 200  # of a process's command line
SCRIPT_CHARS = 2_000  # of the beginning of a script
LAST_LINE_CHARS = 160
NAME_CHARS = 48
SHORT_ID_CHARS = 8
LISTED_PROCESSES = 20  # of those that a kill ended or left alive
CANDIDATES = 20  # ids listed by ambiguous_job_id
NOTICES = 20  # jobs told of with one answer; the others come with the next
GC_MAX_PERCENT = 10  # of its file system that a store takes before automatic gc deletes finished jobs
GC_LISTED_JOBS = 500  # `jobs` of one gc answer
SILENT_MS = 5_000  # a running job that has been silent for this long is diagnosed
RETRY_MS = (1_000, 60_000)  # bounds of retry_after_ms
TASK_LOOK_S = 15  # so long after its end a job is left to the client that looks for that by itself

# --- bounds of what a caller may ask ----------------------------------------------------------------------------
MCP_CALL_MS = 50_000  # one blocking MCP call; clients give up at 60 s (TypeScript SDK default)
MCP_SEARCH_S = 20.0  # one search of a log over MCP; the answer says where to go on
MAX_SHOWN_BYTES = 1_048_576
OPEN_FILES = 64  # that a process of ours needs (RLIMIT_NOFILE); a plain `run` has 25
MAX_COMMAND_BYTES = 131_071  # MAX_ARG_STRLEN of execve(2) less the NUL: one longer string is E2BIG
MAX_SCRIPT_BYTES = 8 * 1024**2  # of a shell string, which is a script if it is longer than such a word
MAX_SHELL_CHARS = 4_096  # of the program and flags that run a shell string
MAX_TAGS = 64
MASKED_CHARS = 4  # a shorter value of a masked variable is not looked for: it would be found everywhere
MAX_TAG_CHARS = 128
PORT_NAME_CHARS = 24
MAX_TITLE_CHARS = 120
MAX_CONFIG_BYTES = 8 * 1024**2
MAX_ENV_FILE_BYTES = 1_048_576
MAX_STDIN_WRITE_BYTES = 64 * 1024**2
MAX_PATTERN_CHARS = 1_000
MAX_WATCHES = 16  # of one job
MAX_CONDITIONS = 16  # of one wait
MIN_QUOTA_BYTES = 65_536
MAX_QUOTA_BYTES = 2**62  # positions in files have 63 bits
# Ten years: keeps every deadline inside what epoll and struct accept
MAX_DURATION_MS = 10 * 366 * 86_400_000
MAX_TERMINAL_COLS = MAX_TERMINAL_ROWS = 1_000
TERMINAL_LINE_BYTES = 4_095  # of one line in canonical mode; the kernel drops the rest (termios(3))
TITLED_JOBS = 10_000  # the newest ones, among which a title is looked for
ID_PART_CHARS = 4  # shortest beginning or end of an id that names a job

# --- starting, controlling and ending a job ---------------------------------------------------------------------
LAUNCH_S = 30.0  # from the request to the supervisor's first word; a loaded machine needs seconds
CONTROL_S = 5.0  # a control request that only changes memory
REACTION_S = 5.0  # a job that keeps printing after a write is answered after this, or after a longer wait_ms
UNKILLABLE_S = 10.0  # after this long of KILL sweeps the survivors are reported and left alone
# A delete waits this long for a supervisor that still syncs; a busy disk takes seconds
DELETE_S = 20.0
TMP_AGE_S = 3_600.0  # gc removes half-made directories after this
# Of a job's events.ndjson, and of its notification_events.ndjson; then the older half goes
EVENTS_BYTES = 16 * 1024**2
# Of one record (meta.json, state.json and the like); what is longer was not written by outlive
RECORD_BYTES = 32 * 1024**2

# --- output watches, notifications, conditions ------------------------------------------------------------------
HIT_LINE_BYTES = 500  # of a matching line that is shown
HIT_MATCH_BYTES = 200
HITS_A_MINUTE = 30  # of one watch; further ones are counted and reported once
JOB_HITS_A_MINUTE = 120  # of all watches of a job
SINK_TIMEOUT_S = 30.0  # a notification command is killed after this
DELIVERIES = 3  # of a job's end: a delivery whose supervisor ended this often is given up
SINK_STRIKES = 3  # a watch's command that ran into that limit this often in a row is run no more
SINK_QUEUE = 100  # hits that a full disk did not take, and that wait for their command
# A wait that is shorter than this still gets the first answer of a port or of HTTP
FIRST_ANSWER_S = 1.0

# --- telling MCP clients ----------------------------------------------------------------------------------------
FOLLOWED_RESOURCES = 256  # of one server; each whose job runs costs two open files

# --- stdio ------------------------------------------------------------------------------------------------------
STDIO_LINE_BYTES = MAX_STDIN_WRITE_BYTES  # of one message; over HTTP it is HTTP_BODY_BYTES

# --- HTTP -------------------------------------------------------------------------------------------------------
HTTP_HEADER_BYTES = 32_768  # of one request, its first line included
# A script and 1 MiB for the rest: JSON's escapes make up to three bytes of one (of a control character, six)
HTTP_BODY_BYTES = 3 * MAX_SCRIPT_BYTES + 1024**2
HTTP_IDLE_S = 15.0  # a connection without an authorized request is closed after this, ...
HTTP_WAITING = 200  # ... and when there are more of them, the oldest at once
HTTP_BODY_S = 30.0  # a request has to arrive whole within this
HTTP_SEND_S = 60.0  # a client that takes no data for this long is dropped
HTTP_REVOKED_S = 2.0  # how often the token of an open answer is checked
HTTP_SESSIONS = 500  # of the handshake era, open at a time
HTTP_SESSION_IDLE_S = 1_800.0
HTTP_CALLS = 64  # of one token at a time, open streams included
HTTP_STREAMS = 500  # of all tokens
HTTP_RATE = (200.0, 1_000.0)  # requests of one token: a second, and at once
# Wrong tokens from one address: a second, and at once; the others get 429
HTTP_REFUSALS = (1.0, 30.0)
HTTP_SHUTDOWN_S = 2  # what is still open then is cut; jobs are not affected

# --- shared by several modules ----------------------------------------------------------------------------------
PIPE_BYTES = 65_536  # what one turn moves, and what a pipe holds by default (pipe(7))
PIPE_FULL_BYTES = 1_048_576  # what a pipe found full is enlarged to; pipe-max-size default
CONTROL_BYTES = 65_536  # one control message; larger data travels as a memfd
LISTEN_BACKLOG = 128
HINT_INTERVAL_S = 0.005  # output hints to one waiter are at least this far apart
SWEEP_INTERVAL_S = 0.02
SCAN_S = 0.01  # output is searched in pieces that take about this long

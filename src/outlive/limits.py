"""Every number of outlive, with its unit in its name. Nothing here does anything."""

from __future__ import annotations

SCHEMA_VERSION = "0.1"
JOB_FORMAT = 1  # of the job directory; readers accept every number up to this one

# --- what a caller may leave out -------------------------------------------------------------------------------
YIELD_MS = 10_000  # `exec`/`run` answer after this long if the command still runs
MCP_TIMEOUT_S = 1_800.0  # end of a job started over MCP; the CLI has none
MCP_KILL_AFTER_MS = 5_000
KILL_GRACE_MS = 5_000
REMOVE_GRACE_MS = 25_000  # so that one call over MCP stays under MCP_CALL_MS
KILL_WAIT_EXTRA_MS = 1_000  # `kill` waits for grace + this
TAIL_LINES = 50
TAIL_BYTES = 65_536
LOG_LINES = 200
SHOWN_BYTES = 32_768  # `output` of one answer
SNIPPET_BYTES = 2_048
LIST_JOBS = 50
EVENTS = 200  # of one answer
NOTICES = 20  # jobs told of with one answer; the others come with the next
NOTICE_LOOK_S = 2.0  # how often a job that says nothing is looked at for whether it still lives
LAST_LINE_CHARS = 160
GC_LISTED_JOBS = 500  # `jobs` of one gc answer
COUNTED_GAP_BYTES = 4 * 1024**2  # lines of a larger gap are not counted for a poll
RETRY_MS = (1_000, 60_000)  # bounds of retry_after_ms
QUOTA_BYTES = 10 * 1024**3
MIN_QUOTA_BYTES = 65_536
GC_OLDER_THAN = "30d"
# Automatic collection, which is on for what the configuration bounds
GC_AGE_EVERY_S = 3_600.0  # at most so often where only the age is bounded
GC_EVERY_S = 60.0  # where the number or the bytes are: a store may grow fast
GC_WORK_S = 20.0  # no further job is deleted after this; the next one goes on
GC_GRACE_S = 300.0  # whoever waited for a job's end reads it now
GC_NICE = 10  # behind everything that runs
GC_PAUSE_S = 7 * 86_400.0  # nobody was here for so long, or the clock jumped: the first look deletes nothing
SEARCH_CONTEXT_LINES = 2
TASK_MESSAGE_CHARS = 500  # statusMessage of a task that cannot be read

# --- bounds of what a caller may ask ---------------------------------------------------------------------------
MCP_CALL_MS = 50_000  # one blocking MCP call; clients give up at 60 s (TypeScript SDK default)
MAX_SHOWN_BYTES = 1_048_576
MAX_COMMAND_BYTES = 131_071  # MAX_ARG_STRLEN of execve(2) less the NUL: one longer string is E2BIG
MAX_TAGS = 64
MAX_TAG_CHARS = 128
MAX_TITLE_CHARS = 120
MAX_ENV_FILE_BYTES = 1_048_576
MAX_PATTERN_CHARS = 1_000
MAX_QUOTA_BYTES = 2**62  # positions in files have 63 bits
MAX_DURATION_MS = 10 * 366 * 86_400_000  # ten years: keeps every deadline inside what epoll and struct accept
ID_PART_CHARS = 6  # shortest beginning or end of an id that names a job
SHORT_ID_CHARS = 8
CANDIDATES = 20  # ids listed by ambiguous_job_id
NAME_CHARS = 48
TASKS_FOLLOWED = 64  # by one subscription; each is a connection to a supervisor

# --- telling MCP clients ----------------------------------------------------------------------------------------
FOLLOWED_RESOURCES = 256  # of one server; each that runs costs two open files
UPDATE_EVERY_S = 0.25  # updates of one resource are at least this far apart
PROGRESS_EVERY_S = 1.0  # the first after so long; clients draw each of them
PROGRESS_HEARTBEAT_S = 9.0  # also if nothing is new: who resets a time-out on progress counts on one in 10 s
CHANNEL_EVERY_S = 0.5  # so long a message waits for an answer that says the same

# --- the HTTP door ----------------------------------------------------------------------------------------------
SERVE_PORT = 8330
TOKENS = 100
TOKEN_NAME_CHARS = 40
HTTP_HEADER_BYTES = 32_768  # of one request, its line included
HTTP_BODY_BYTES = 4 * 1024**2
HTTP_IDLE_S = 15.0  # a connection without a request that was let in is closed after so long, ...
HTTP_WAITING = 200  # ... and when there are more of them, the oldest at once
HTTP_BODY_S = 30.0  # a request has to be here as a whole
HTTP_SEND_S = 60.0  # a client that takes nothing for so long is gone
HTTP_REVOKED_S = 2.0  # how often an open answer is looked at for whether its token still holds
HTTP_SESSIONS = 500  # of the handshake era, open at a time
HTTP_SESSION_IDLE_S = 1_800.0
HTTP_CALLS = 64  # of one token at a time, open streams included
HTTP_STREAMS = 500  # of all tokens
HTTP_RATE = (200.0, 1_000.0)  # requests of one token: a second, and at once
HTTP_REFUSALS = (1.0, 30.0)  # wrong tokens from one address: a second, and at once; the others get 429
HTTP_PEERS = 1_000  # addresses that are remembered for that
HTTP_SHUTDOWN_S = 2  # what is open then is cut; jobs do not notice
HTTP_FILES = 8_192  # open files that the server asks for

# --- pumping ---------------------------------------------------------------------------------------------------
PIPE_BYTES = 65_536  # what one turn moves, and what a pipe holds by default (pipe(7))
PIPE_FULL_BYTES = 1_048_576  # what a pipe found full is enlarged to; pipe-max-size default
PIPE_QUIET_S = 2.0  # an enlarged pipe is shrunk after so long without output
FLOOD_TURNS = 16  # of one stream in a row, ...
FLOOD_TURN_S = 0.00025  # ... each so soon after the one before: a flood of small writes
FLOOD_PAUSE_S = (0.00006, 0.0005)  # so long a turn of it waits for more; where only less would do, not at all
KEEPER_FDS = (248, 249)  # inherited read ends; above what shells hand out, below bash's 255
QUOTA_HEAD = 4  # the first quarter of the quota is for the head, the rest for the tail
QUOTA_STEP = 16  # beyond it, output is given back in steps of a sixteenth, ...
QUOTA_STEP_BYTES = 4 * 1024**2  # ... at most this: each byte of it is read once more, for its newlines
GAP_LINE_BYTES = 65_536  # so far a gap is shifted to begin and end between lines
GAP_SYNC_S = 0.5  # the record of a growing gap is synced so often; a power cut costs the steps since then their record
GAP_EVENT_S = (20.0, 600.0)  # events about a growing gap: the second after so long, then less and less often
HINT_INTERVAL_S = 0.005  # output hints to one waiter are at least this far apart

# --- terminals -------------------------------------------------------------------------------------------------
TERMINAL_COLS, TERMINAL_ROWS = 120, 30
TERMINAL_TYPE = "xterm-256color"
MAX_TERMINAL_COLS = MAX_TERMINAL_ROWS = 1_000
TERMINAL_HELD_BYTES = 131_072  # more than a terminal can hold: 64 KiB of buffers and 4 KiB in the line discipline
TERMINAL_LINE_BYTES = 4_095  # of one line in canonical mode; the kernel drops the rest (termios(3))
TERMINAL_SIZES = 64  # remembered resizes
TERMINAL_RETRY_S = 0.05  # a full terminal is tried again, whether or not it told that it has room
ANSWERS_A_SECOND = 100  # to device queries: a file full of them, shown by cat, is no program that asks
CURSOR_QUESTIONS = 8  # that wait for an answer at a time
CURSOR_ANSWER_S = 2.0  # how long finding the cursor may take before a guess is answered
MODES_EVERY_S = 1.0  # how often changed modes of a terminal are written down

# --- waiting for input -----------------------------------------------------------------------------------------
INPUT_QUIET_S = 0.3  # nobody is asked who is blocked before so much silence
INPUT_LOOK_S = (0.3, 2.0)  # then again and again, less and less often
PROMPT_QUIET_S = 3.0  # the same where the kernel does not tell who is blocked
PROMPT_BYTES = 4_096  # of the end of the output in which an unterminated line is looked for
PROMPT_CHARS = 200  # of the prompt that is shown

# --- ending ----------------------------------------------------------------------------------------------------
SWEEP_INTERVAL_S = 0.02
KILL_LOOK_S = 0.1  # during a grace, where no SIGCHLD tells of deaths
CLEAN_SWEEPS = 2  # a tree is gone when this many sweeps in a row found nothing alive
UNKILLABLE_S = 10.0  # after so long of KILL sweeps the survivors are reported and left alone
AFTER_END_S = 0.003  # so long after an end that somebody waits for its files are synced and its sinks told
LINGER_CHECK_S = 1.0  # how often a lingering supervisor looks for descendants that are not its own children
REOPENED_CHECK_S = 10.0  # how often pipes whose writers had all gone are looked at again
SINK_TIMEOUT_S = 30.0  # a notification command is killed after this
EXIT_INFO_S = 3.0  # how long an adopter waits for PIDFD_GET_INFO to know the code (PID 1 has to reap first)
LOGS_LOOK_S = 1.0  # how often, while there is output, it is looked at whether the logs are still in place
DROPPED_EVERY_S = 1.0  # how often lost output is written down while the disk is full
SYNC_AFTER_S = 0.05  # a job that still runs after this has its start synced to disk

# --- watching for lines ----------------------------------------------------------------------------------------
MAX_WATCHES = 16  # of one job
HIT_LINE_BYTES = 500  # of a matching line that is told
HIT_MATCH_BYTES = 200
SCAN_BYTES = (4_096, 1_048_576)  # of output that is searched in one go: as much as takes about...
SCAN_S = 0.01
LINE_BYTES = 262_144  # a longer line is searched in pieces
WATCH_QUIET_S = 0.3  # an unfinished line is looked at after so much silence: it may be a prompt
HITS_A_MINUTE = 30  # that a watch tells of; what is more is counted and told once
JOB_HITS_A_MINUTE = 120  # of all watches of a job
HIT_WINDOW_S = 60.0
SINK_STRIKES = 3  # a watch whose command ran into its time limit so often in a row gets it run no more
SINK_QUEUE = 100  # notification commands that wait for their turn

# --- waiting for conditions ------------------------------------------------------------------------------------
MAX_CONDITIONS = 16  # of one wait
UNFINISHED_QUIET_S = 0.1  # a match at the very end of an unfinished line counts after so much silence
PROBE_S = (0.02, 0.25)  # how often ports, and files where the kernel tells nothing, are looked at
HTTP_S = 5.0  # one request
FIRST_ANSWER_S = 1.0  # a wait with less time than that still hears the first answer from outside
HTTP_EVERY_S = 1.0
FILE_LOOK_S = 2.0  # beside inotify(7), which says nothing of network file systems
CLOCK_TICK_S = 0.01  # file times are cut to a tick of the kernel's clock: 4 ms at 250 Hz, 10 ms at 100 Hz

# --- starting --------------------------------------------------------------------------------------------------
SPARE_PAIR_S = 0.012  # so long after a start the next pair is made ready: the one that starts needs the cores
SPARE_RETRY_S = 1.0  # where that failed, again at growing intervals up to this one
LENT_PAIRS = 16  # so many pairs of a server wait for another job when theirs is over
PAIR_IDLE_S = 60.0  # and so long
BLANKS = 2  # directories that are made ahead; the pairs that made them wait for ever, to delete them
BLANK_S = 1.0  # so long a pair that ends waits for a killed server to let go of a directory that was made ahead
PAIR_JOBS = 500  # and end after so many: no leak of any library may grow for weeks
LAUNCH_S = 30.0  # from the request to the supervisor's word; a loaded machine needs seconds
DELETE_S = 20.0  # how long a delete waits for a supervisor that still syncs; a busy disk takes seconds
CONTROL_S = 5.0  # a control request that only changes memory
EVENTS_BYTES = 16 * 1024**2  # of a job's events.ndjson, and of its notification_events.ndjson; then the older half goes
RESERVE_BYTES = 8_192  # kept in each unfinished job for its outcome; most are 1 KiB, a terminal of many sizes has 4
TMP_AGE_S = 3_600.0  # half-made directories are removed by gc after this
CONTROL_BYTES = 65_536  # one control message; larger data travels as a memfd
LISTEN_BACKLOG = 128
MAX_STDIN_WRITE_BYTES = 64 * 1024**2
WRITE_MS = 5_000  # how long `write` waits for the job to take the data

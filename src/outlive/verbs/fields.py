"""Every field of every answer, once: its JSON Schema and what it means.

`schema/` is made from this and the verbs.
"""

from __future__ import annotations

from outlive import limits
from outlive.core.records import APPROVALS, NETWORKS, REASONS, RIGHTS, SANDBOXES, STATES
from outlive.verbs import host_fields, policy_fields
from outlive.verbs.client_fields import CLIENTS
from outlive.verbs.event_fields import EVENT
from outlive.verbs.field_kinds import count, flag, maybe_count, maybe_string, object_of, of, string, strings
from outlive.verbs.use_fields import RESOURCES, USAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]


_TIME = {"format": "date-time"}

_RIGHTS = {
    "rights": of("array", "What its client may do.", items={"enum": [*RIGHTS]}),
    "workdir": maybe_string("The directory in which, or below which, the client's jobs run; null: any."),
    "expires_at": maybe_string("When it opens nothing any more; null: never.", **_TIME),
    "expired": flag("Does it open nothing any more because of its age?"),
}
_CEILING = of(
    ["object", "null"],
    "The most that its client's jobs may do; null: what the configuration allows.",
    properties={"mode": {"enum": list(SANDBOXES[:-1])}, "network": {"enum": list(NETWORKS)}},
    required=["mode"],
)
_OUTCOME = of(["object", "null"], "Of a start: how its job ended, or how it is now; null: not known any more.")
_ENTRY = object_of(
    "Something that was done: who, over which face and token, what, where.",
    {
        "id": string("The entry's own id."),
        "at": string("When.", **_TIME),
        "verb": string("The verb; end: a job ended."),
    },
    {"job_id": string("The job."), "token": string("The name of the token, over HTTP."), "outcome": _OUTCOME},
) | {"additionalProperties": True}  # the members of each verb: docs/reference/configuration.md
_TAILS = {
    "stdout_tail": string("The end of stdout, exact text."),
    "stderr_tail": string("The end of stderr, exact text."),
    "truncated": flag("Is there more than is included?"),
    "encoding": string("How the text was decoded; invalid bytes are U+FFFD.", const="utf-8"),
    "stdout_observed_bytes": count("Bytes of stdout there are."),
    "stderr_observed_bytes": count("Bytes of stderr there are."),
    "stdout_included_bytes": count("Bytes of stdout in stdout_tail."),
    "stderr_included_bytes": count("Bytes of stderr in stderr_tail."),
}

_GAP = object_of(
    "What is not shown, as positions in the merged output.",
    {
        "from_seq": count("First byte not shown."),
        "to_seq": count("First byte shown again."),
        "bytes": count("How many bytes."),
        "lines": maybe_count("How many lines; null where counting them would cost more than the answer."),
    },
)

_GAPS: Schema = {
    "type": "array",
    "description": "What lies between the bytes shown and no call can show any more: the output passed the job's quota.",
    "items": object_of(
        "One gap, as a whole, also where only a part of it was asked for.",
        {
            "from_seq": count("First byte that is gone."),
            "to_seq": count("First byte that is there again."),
            "bytes": count("How many bytes."),
            "lines": count("How many lines; the numbers of those behind it count them."),
        },
    ),
}

_PATTERN = {
    "pattern": string("What a line has to hold."),
    "match_type": string("How.", enum=["regex", "contains"]),
    "stream": string("Where.", enum=["both", "stdout", "stderr", "either"]),
    "command": maybe_string("Shell command that gets each hit on its stdin."),
    "file": maybe_string("File that gets each hit as one line."),
    "from_seq": count("Lines that begin before this position do not count."),
}
_MATCH = object_of("A pattern.", _PATTERN)
_WATCH = object_of(
    "A watch.", {"id": string("w1, w2 …; remove_watch takes it."), **_PATTERN, "once": flag("Only the first hit?")}
)
_PROCESS = object_of("One process.", {"pid": of("integer", "Process id."), "command": string("Its command line.")})

_APPROVAL = object_of(
    "Of a job that needs a person's approval: what became of it.",
    {"state": string("pending: a person has not answered yet.", enum=list(APPROVALS))},
    {
        "rule": string("The rule that asks."),
        "reason": string("The reason of that rule."),
        "expires_at": string("Until when a person can approve it.", **_TIME),
        "by": string("Who answered."),
        "at": string("When.", **_TIME),
        "answer": string("What the person said."),
    },
)

FIELDS: dict[str, Schema] = {
    "sessionId": string("The job's id, under the name that OpenClaw's tools have for it."),
    "status": string(
        "The job's state as OpenClaw's tools have it. completed: the command ended by itself, with any exit code.",
        enum=["running", "completed", "failed"],
    ),
    "job_id": string("The job's id (ULID).", pattern="^[0-7][0-9A-HJKMNP-TV-Z]{25}$"),
    "short_id": string("The last 8 characters of the id; names the job as well."),
    "state": string("Where the job is in its life.", enum=list(STATES)),
    "name": string("The title given, else the command's verb and target."),
    "command": strings("As given: one element is a shell string, several are an argument vector."),
    "cwd": maybe_string("The directory it runs in."),
    "tags": strings("Its tags."),
    "sandbox": of(
        "object",
        "The boundary it runs in; absent for a job without one.",
        properties={"mode": {"enum": list(SANDBOXES[:-1])}, "network": {"enum": list(NETWORKS)}},
        required=["mode", "network"],
    ),
    "resources": RESOURCES,
    "usage": USAGE,
    "owner": string("Which client started it."),
    "pid": of(["integer", "null"], "Process id of the command; null before it started."),
    "created_at": string("When it was defined.", **_TIME),
    "started_at": maybe_string("When the command started.", **_TIME),
    "finished_at": maybe_string("When it ended.", **_TIME),
    "updated_at": maybe_string("When its state was last written.", **_TIME),
    "duration_ms": maybe_count("From start to end; null where the end was not seen."),
    "exit_code": of(["integer", "null"], "Exit code; null if it was ended by a signal, never ran, or is not known."),
    "signal": maybe_string("The signal that ended it, as SIGTERM."),
    "reason": of(["string", "null"], "Why it ended.", enum=[*REASONS, None]),
    "ended_signal": maybe_string("The signal that ended the command, where one did."),
    "ended_by": string("Who asked for the end, if it was asked for."),
    "errno": string("Why exec(2) failed, as ENOENT."),
    "message": string("One sentence about its end, where there is more to say."),
    "damage": string("What could not be read of its directory."),
    "dropped_bytes": count("Bytes of output that could not be stored."),
    "missing_bytes": count("Bytes of output that were cut out of the logs or deleted with them; positions count them."),
    "adopted": count("How often supervision was taken over after a supervisor was killed."),
    "timeout_ms": count("The job is ended so long after its start; 0: never."),
    "waiting_for_input": flag("Is it blocked reading its input?"),
    "prompt": string("The unfinished last line of its output."),
    "echo": flag("Does its terminal show what is typed? false at a prompt: a password."),
    "keyboard": object_of(
        "There while a person types into its terminal.",
        {"held_by": string("Who, and how: attach or the page."), "since": string("Since when.", **_TIME)},
    ),
    "lines": strings("The rows of the terminal, without the blanks at their ends."),
    "first_row": count("The first of the rows shown, from 0, where not all are."),
    "cursor": object_of(
        "Where the cursor is.",
        {"row": count("From 0: lines[row]."), "column": count("From 0."), "visible": flag("Is it shown?")},
    ),
    "title": maybe_string("The window title that the program set."),
    "alternate_screen": flag("Does a program fill the whole screen, as editors do?"),
    "cols": count("Columns of the terminal."),
    "rows": count("Rows of the terminal."),
    "descendants": maybe_count("Processes it started that are alive besides the command itself; null: not known here."),
    "supervised": flag("Does a process of outlive look after it?"),
    "supervisor": string("There if it stands still (SIGSTOP): output waits, requests fail.", enum=["unresponsive"]),
    "supervisor_pid": of("integer", "Its pid: `kill -CONT PID` continues it."),
    "deduplicated": flag("A running job with the same dedupe_key was found and answered."),
    "restarted_from": string("The job this one repeats."),
    "hint": string("What to do next."),
    "warnings": strings("What was not as asked."),
    "snapshot": object_of("The ends of both streams.", _TAILS, {"gaps": _GAPS}),
    **_TAILS,
    "stdout_log_path": string("The file with all of stdout."),
    "stderr_log_path": string("The file with all of stderr."),
    "waited_ms": count("How long this call waited."),
    "elapsed_ms": count("How long ago the job started; once it ended, how long it ran."),
    "env_vars": strings("NAME=VALUE as given; masked values are ***."),
    "output": string(
        "Both streams in the order of arrival, rendered for reading unless raw; with cursor it ends with the screen. "
        "kill: the end of what the job printed after the signal."
    ),
    "since_seq": count("Position at which output starts."),
    "next_seq": count("Pass this as since_seq to go on."),
    "idle_ms": maybe_count("How long ago it last put something out (or started); null once it ended."),
    "gaps": _GAPS,
    "faults": of(
        "array",
        "Processes of outlive that an exception ended while they worked for this job; the newest of each kind.",
        items=object_of(
            "One.",
            {
                "process": string("supervisor, guardian, fork-server, cursor or gc."),
                "at": string("When.", **_TIME),
                "error": string("The exception."),
                "path": string("The file with the traceback and the versions: what a bug report needs."),
            },
        ),
    ),
    "quota_bytes": count("Most bytes of output that are kept: of more, the head and the tail; 0: all."),
    "stored_bytes": count("Bytes of output that are kept now."),
    "stdout_bytes": count("Bytes of stdout there are, or were."),
    "stderr_bytes": count("Bytes of stderr there are, or were."),
    "snippet": string("The end of what it put out so far, when output is empty."),
    "retry_after_ms": maybe_count("When polling again makes sense; grows while it is quiet, null at the end."),
    "first_line": maybe_count("Number of the first line shown, from 1."),
    "last_line": maybe_count("Number of the last line shown."),
    "total_lines": count("Lines there are; an unterminated last one counts."),
    "events": {"type": "array", "description": "In the order of the output.", "items": EVENT},
    "next_event": count("Pass this as since_event to go on."),
    "matches": count("Lines that matched the search."),
    "fired": of(
        ["object", "null"],
        "What ended the wait; null if it timed out.",
        properties={
            "condition": string("Its name."),
            "job_id": string("The job for which it came true."),
            "pattern": string("regex, fail_regex: the pattern that matched."),
            "match": string("The text that matched."),
            "line": string("The line it stands in; of input: the prompt."),
            "seq": count("Where that line begins."),
            "earlier": flag("Was it printed before this call?"),
            "stream": string("Where it stands.", enum=["stdout", "stderr"]),
            "port": count("The port that is listened on."),
            "host": maybe_string("As asked for."),
            "address": string("What it is bound to."),
            "owned": flag("Does a process of the job listen?"),
            "pid": of(["integer", "null"], "Which."),
            "url": string("What was asked."),
            "status": of("integer", "What it answered."),
            "path": string("The file."),
            "idle_ms": count("How long it has been quiet."),
        },
        required=["condition", "job_id"],
    ),
    "jobs": {
        "type": "array",
        "description": "All jobs that were waited for.",
        "items": object_of(
            "One job.",
            {
                "job_id": string("Its id."),
                "state": string("Its state.", enum=list(STATES)),
            },
            {
                "short_id": string("The last 8 characters of its id, which name it too."),
                "name": string("Its title, or else verb and target of its command."),
                "exit_code": of(["integer", "null"], "Its exit code."),
                "signal": maybe_string("The signal that ended it."),
                "reason": maybe_string("Why it ended."),
                "fired": of(["object", "null"], "What held for it."),
                "last_lines": string("The end of its output, if the answer is about another job."),
            },
        ),
    },
    "timed_out": flag("Did the time run out first?"),
    "bytes_written": count("Bytes the job's stdin took."),
    "stdin": string("Can more be written?", enum=["open", "closed"]),
    "already_ended": flag("The job had ended before, and no signal was sent."),
    "survivors": {
        "type": "array",
        "description": f"Processes of the job that are still alive, at most {limits.LISTED_PROCESSES}.",
        "items": _PROCESS,
    },
    "survivors_count": count("How many are still alive, if not all are listed."),
    "ended": {
        "type": "array",
        "description": f"Processes of the job that ended meanwhile, at most {limits.LISTED_PROCESSES}.",
        "items": _PROCESS,
    },
    "ended_count": count("How many ended, if not all are listed."),
    "freed_bytes": count("Bytes given back."),
    "root": string("The job root."),
    "url": string("A one-time link to the page."),
    "serves": flag("Whether this process serves the page; false if another one does."),
    "skipped": count("Directories that could not be read."),
    "deleted": count("Directories deleted."),
    "dry_run": flag("Was nothing really deleted?"),
    "older_than": string("The retention window."),
    "older_than_source": string("Where it comes from.", enum=["default", "flag", "config"]),
    "out_of_scope": count("Jobs of other owners, left alone."),
    "used_jobs": count("Jobs in the root now, everybody's."),
    "used_bytes": count("What they take on disk."),
    "bounds": object_of(
        "What was kept to besides the age.",
        {
            "max_jobs": maybe_count("Finished jobs; null: any number."),
            "max_bytes": maybe_count("Bytes of all jobs together; null: any number."),
            "max_percent": of(["number", "null"], "Part of the file system; null: any."),
            "share_bytes": maybe_count("That part in bytes; null: no limit, or the file system does not say its size."),
        },
    ),
    "automatic": flag("Are jobs deleted without a call of gc?"),
    "leftovers": count("Half-made and half-deleted directories cleaned up."),
    "notification": object_of(
        "Where the end of the job is reported.",
        {},
        {
            "notify_command": maybe_string("Shell command that gets the event on its stdin."),
            "notify_file": maybe_string("File that gets the event as one line."),
            "watches": {"type": "array", "description": "Lines that are watched for.", "items": _WATCH},
            "last_watch": count("The number of the last watch it ever had."),
            "on_output_match": {**_MATCH, "description": "The one pattern of output_pattern."},
        },
    ),
    "to": string("Where it is recorded now who did what.", enum=["file", "syslog", "off"]),
    "required": flag("Is what cannot be recorded not done?"),
    "entries": {"type": "array", "description": "The entries, the newest first.", "items": _ENTRY},
    "next_before": maybe_string("Pass it as --before for older entries; null: there are none."),
    "unreadable": count("Lines met that are no entries: cut by a full disk, or written by another program."),
    "token": string("The secret, shown this once."),
    **_RIGHTS,
    "revoked": flag("Does it open nothing any more?"),
    "tokens": {
        "type": "array",
        "description": "The tokens.",
        "items": object_of(
            "One token, without its secret.",
            {
                "name": string("The client it was made for."),
                "scope": string("Whose jobs it sees and touches; * is everybody's."),
                **_RIGHTS,
                "sandbox": _CEILING,
                "created_at": string("When it was made.", **_TIME),
            },
        ),
    },
    "approval": _APPROVAL,
    "always": flag("Is the same command in the same directory approved from now on?"),
    **policy_fields.FIELDS,
    "config": maybe_string("The configuration file; null: there is none."),
    **CLIENTS,
    "schema_format": string("Which JSON Schema.", const="json-schema-2020-12"),
    "schema": {"type": "object", "description": "The JSON Schema of every answer."},
    "generated_at": string("When the schema last changed.", **_TIME),
    "healthy": flag("Did no check fail? Warnings do not count."),
    "checks": {
        "type": "array",
        "description": "What was checked.",
        "items": object_of(
            "One check.",
            {
                "name": string("What it is about."),
                "status": string(
                    "fail: outlive does not work as promised. warn: something to know.", enum=["ok", "warn", "fail"]
                ),
                "found": string("What there is, in one sentence."),
            },
            {
                "advice": string("What to do about it."),
                "details": {
                    "type": "object",
                    "description": "The same for a program; what is in it depends on the check.",
                },
            },
        ),
    },
    **host_fields.OF_A_JOB,
    **host_fields.OF_HOSTS,
    "requested_ms": count("How long the caller wanted to wait, where it was more than one call may last."),
    "effective_ms": count("How long the call was allowed to wait."),
}

# Over MCP with any answer
NOTICES: Schema = {
    "type": "array",
    "description": "What happened to this client's other jobs since its last call; each is told once.",
    "items": object_of(
        "One notice.",
        {
            "job_id": string("The job."),
            "name": string("Its name."),
            "state": string("Its state.", enum=list(STATES)),
            "exit_code": of(["integer", "null"], "Its exit code."),
            "signal": maybe_string("The signal that ended it."),
            "reason": maybe_string("Why it ended."),
            "last_line": maybe_string("The last line it put out; of a watch hit: the line."),
            "at": maybe_string("When.", **_TIME),
            "event": string(
                "What happened; unanswered: to its call.", enum=["finished", "unanswered", "watch_hit", "approved"]
            ),
        },
        {
            "watch": string("Which watch."),
            "pattern": string("Its pattern."),
            "seq": count("Where the line begins."),
            "message": string("Of a job that was approved or denied: by whom, and why."),
            "hits": count("How many lines matched since the last call; this is the last of them."),
        },
    ),
}
FIELDS["notices"] = NOTICES

_SHORTENED: Schema = {"description": _GAP["description"], "anyOf": [{"const": False}, _GAP]}
_SERVER_NAME = string("The server's name in the client's configuration file.")
_TOKEN_NAME = string("The client for which the token was made.")
_TOKEN_SCOPE = string("Whose jobs the token sees and touches; * is all jobs.")
_TOKEN_MADE = string("When the token was made.", **_TIME)
_STARTED = string("When the command started (or was about to).", **_TIME)
_DELETED_STATE = string("The job's last state.", enum=list(STATES))

# Field → type of answer → what the field is there, where it is something else than in FIELDS.
OVERRIDES: dict[str, dict[str, Schema]] = {
    "truncated": {
        **dict.fromkeys(("run", "start", "restart", "poll", "log", "wait"), _SHORTENED),
        **dict.fromkeys(("write", "send_keys", "submit", "paste"), _SHORTENED),
        "gc": flag("Are there more jobs than listed?"),
        "events": flag("Are there more events than shown?"),
        "list": flag("Are there more jobs than shown?"),
    },
    "sandbox": dict.fromkeys(("token_add", "token_revoke"), _CEILING),
    "path": {
        "audit": string("The file of the record."),
        **dict.fromkeys(("policy_list", "policy_forget"), string("The file of the approvals for always.")),
    },
    "name": {
        **dict.fromkeys(("install", "uninstall"), _SERVER_NAME),
        **dict.fromkeys(("token_add", "token_revoke"), _TOKEN_NAME),
    },
    "scope": dict.fromkeys(("token_add", "token_revoke"), _TOKEN_SCOPE),
    "created_at": dict.fromkeys(("token_add", "token_revoke"), _TOKEN_MADE),
    "started_at": dict.fromkeys(("run", "start", "restart"), _STARTED),
    "state": dict.fromkeys(("clear", "remove"), _DELETED_STATE),
    "reason": {"policy_check": maybe_string("The reason that the rule has.")},
    "signal": {"kill": maybe_string("The signal that was sent, as SIGTERM.")},
    "freed_bytes": {"gc": count("Bytes given back (dry run: would be).")},
    "skipped": {"gc": count("Jobs that were kept; `jobs` says why.")},
    "last_line": {
        "list": maybe_string(f"The last line it put out, at most {limits.LAST_LINE_CHARS} characters."),
    },
}


def entry_of(names: tuple[str, ...], type_: str) -> Schema:
    """Return the schema of an object with these fields; a trailing `?` marks a field that may be
    absent."""
    plain = [name.removesuffix("?") for name in names]
    return {
        "type": "object",
        "properties": {name: OVERRIDES.get(name, {}).get(type_) or FIELDS[name] for name in plain},
        "required": [name for name in names if not name.endswith("?")],
    }


LIST_ENTRY = tuple(
    (
        "job_id short_id state name command cwd owner tags timeout_ms exit_code signal reason started_at? created_at finished_at "
        "updated_at waiting_for_input last_line usage? approval? host? queue? engine? reachable? unreachable_since? machine? supervisor? supervisor_pid? damage?"
    ).split()
)
OVERRIDES["jobs"] = {
    "list": {"type": "array", "description": "The jobs.", "items": entry_of(LIST_ENTRY, "list")},
    "gc": {
        "type": "array",
        "description": "What was decided about each job.",
        "items": object_of(
            "One job.",
            {
                "job_id": string("Its id."),
                "state": string("Its state.", enum=list(STATES)),
                "action": string("What was done.", enum=["deleted", "would_delete", "skipped"]),
                "reason": string("Why."),
                "bytes": count("What it takes on disk."),
            },
        ),
    },
}

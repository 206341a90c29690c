"""What answers say of a job: how it is, where it is, how it ended, what it waits for, what it uses. And the answer of status,
which says all of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from outlive.answers import EVEN_FALSE, FIRST, FULL_ONLY, HIDDEN, TIME, Answer, Fields, field, inline, maybe, optional
from outlive.answers.advice import Advised
from outlive.answers.named import Approval, Engine, Fault, Keyboard, Notification, Queue, Usage
from outlive.answers.output import GAPS, Gap
from outlive.core.members import object_of
from outlive.core.records import GIT, NETWORKS, REASONS, SANDBOXES, STATES

# Fields that mean the same in several answers
JOB_ID = field("The job's id (ULID).", place=FIRST, human=1, pattern="^[0-7][0-9A-HJKMNP-TV-Z]{25}$")
STATE = field("Where the job is in its life.", place=FIRST, human=2, enum=[*STATES])
SHORT_ID = field("The last 8 characters of the id; names the job as well.", brief=FULL_ONLY, human=HIDDEN)
NAME = field("The title given, else the first words of the command.", brief=FULL_ONLY, human=9)
COMMAND = field("As given: the program and its arguments, or one shell string.", brief=FULL_ONLY, human=10)
COMMAND_BYTES = optional("There if `command` is only the beginning: how long it is.", brief=FULL_ONLY)
CWD = field("The directory it runs in.", brief=FULL_ONLY, human=11, verbatim=True)
TAGS = field("Its tags.", brief=FULL_ONLY, human=13)
OWNER = field("Which client started it.", brief=FULL_ONLY, human=14)
PID = field("Process id of the command; null before it started.", brief=FULL_ONLY, human=12, minimum=None)
EXIT_CODE = "Exit code; null if it was ended by a signal, never ran, or is not known."
STARTED_AT = "When the command started; of a job that ended without a start, when it was defined."
STAGES = optional("Of a pipeline that bash ran: the exit code of each stage; absent where they are not known.")
FINISHED_AT = field("When it ended.", brief=FULL_ONLY, human=16, format=TIME)
ENDED_BY = optional("Who asked for the end, if it was asked for.")
WAITING = field("Is it blocked reading its input?")
TIMEOUT = field("The job is ended so long after its start; 0: never.", brief=FULL_ONLY)
ELAPSED = optional(
    "How long ago the command started; once it ended, how long it ran; absent before its start, and if it never ran.",
    brief=FULL_ONLY,
    human=18,
)
IDLE = "How long ago it last put something out (or started); null once it ended."
WAITED = field("How long this call waited.", brief=FULL_ONLY)
ENV_VARS = field("NAME=VALUE as given; masked values are ***.", brief=FULL_ONLY)
STDOUT_LOG = field("The file with all of stdout.", brief=FULL_ONLY, verbatim=True)
STDERR_LOG = field("The file with all of stderr.", brief=FULL_ONLY, verbatim=True)
HINT: Any = Advised.DECLARED["hint"]
DAMAGE = optional("What of its directory cannot be read, or not be written.")
MISSING = optional(
    "Bytes of output that were cut out of the logs or deleted with them; positions count them.", brief=FULL_ONLY
)
DROPPED = optional("Bytes of output that could not be stored.", brief=FULL_ONLY)
MESSAGE = optional("One sentence about its end, where there is more to say.", human=6)
DESCENDANTS = maybe(
    "Processes it started that are alive besides the command itself; null: not known here.", brief=FULL_ONLY
)
FREED = field("Bytes given back.")
NEXT_SEQ = field("Pass this as since_seq to go on.")
FIRED = "What ended the wait; null if it timed out, or if another program has the port."
TIMED_OUT = "Did the time run out first?"
NOTIFICATION = "Where the end of the job is reported."
REQUESTED = optional("How long the caller wanted to wait, where it was more than one call may last.")
EFFECTIVE = optional("How long the call was allowed to wait.")


class Job(Fields):
    """The job of an answer. The envelope works out `sessionId` and `status` (verbs/envelope.py)."""

    job_id: str = JOB_ID
    sessionId = field(  # noqa: N815 - as OpenClaw spells it
        "The job's id, under the name that OpenClaw's tools have for it.",
        place=FIRST, brief=FULL_ONLY, human=HIDDEN, type="string",
    )  # fmt: skip
    status = field(
        "The job's state as OpenClaw's tools have it, where they have one. completed: the command ended by itself, with any exit code.",
        place=FIRST, brief=FULL_ONLY, human=HIDDEN, type="string", enum=["created", "running", "completed", "failed", "unknown"],
    )  # fmt: skip
    state: str = STATE


USAGE = "What the job uses, with all that it started; what it used, once it has ended. null: not known."
APPROVAL = optional("Of a job that needs a person's approval: what became of it.", without=("facts",))
SANDBOX: dict[str, object] = {
    "properties": {
        "mode": {"enum": [*SANDBOXES[:-1]]},
        "network": {"enum": [*NETWORKS]},
        "git": {"enum": [*GIT]},
        "added": {
            "type": "array",
            "items": {"type": "string"},
            "description": "What is hidden from the job or read-only for it, and was not when it was first defined.",
        },
    },
    "required": ["mode", "network", "git"],
}


class HowEnded(Fields):
    """How a job ended."""

    exit_code: int | None = field(EXIT_CODE, place=FIRST, human=3, minimum=None)
    signal: str | None = field("The signal that ended it, as SIGTERM.", place=FIRST, human=4)
    reason: str | None = field("Why it ended.", place=FIRST, human=5, enum=[*REASONS, None])
    stages: list[int] | None = STAGES


class Outcome(Fields):
    """How a job ended, and what is known of it since."""

    ended: HowEnded = inline(HowEnded)
    finished_at: str | None = FINISHED_AT
    duration_ms: int | None = field("From start to end; null where the end was not seen.", brief=FULL_ONLY, human=17)
    errno: str | None = optional("Why exec(2) failed, as ENOENT.")
    usage: Usage | None = optional(USAGE, brief=FULL_ONLY)
    ended_by: str | None = ENDED_BY


class Prompt(Fields):
    """Whether a job waits for input."""

    waiting_for_input: bool = WAITING
    keyboard: Keyboard | None = optional("There while a person types into its terminal.")
    prompt: str | None = optional("The unfinished last line of its output.")
    echo: bool | None = optional(
        "Does its terminal show what is typed? false at a prompt: a password.", brief=EVEN_FALSE
    )


class Stopped(Fields):
    """A supervisor that stands still."""

    supervisor: str = field(
        "There if it stands still (SIGSTOP): output waits, requests fail.", brief=FULL_ONLY, enum=["unresponsive"]
    )
    supervisor_pid: int = field("Its pid: `kill -CONT PID` continues it.", brief=FULL_ONLY, minimum=None)


class Elsewhere(Fields):
    """Where a job is that is not on this machine."""

    host: str | None = optional("Where the job runs, or is to run; absent: on this machine.")
    engine: Engine | None = optional("What started it there, in its own words.")
    queue: Queue | None = optional("There while the job waits for its start.")
    reachable: bool | None = optional(
        "There, and false, while its host is out of reach: the answer says what was known before.", brief=EVEN_FALSE
    )
    unreachable_since: str | None = optional("Since when.", brief=FULL_ONLY, format=TIME)
    machine: str | None = optional("The machine that has its processes, where that is another than this: ask there.")


class Losses(Fields):
    """What is missing of the output of a job."""

    damage: str | None = DAMAGE
    missing_bytes: int | None = MISSING
    dropped_bytes: int | None = DROPPED
    hint: str | None = None  # for the hint of the answer


class Described(Fields):
    """What a job is, and how it ended if it has."""

    short_id: str = SHORT_ID
    name: str = NAME
    pid: int | None = PID
    cwd: str | None = CWD
    command: list[str] = COMMAND
    command_bytes: int | None = COMMAND_BYTES
    tags: list[str] = TAGS
    owner: str = OWNER
    created_at: str | None = optional("When it was defined.", brief=FULL_ONLY, format=TIME)
    timeout_ms: int = TIMEOUT
    asks: Prompt | None = inline(Prompt)
    stopped: Stopped | None = inline(Stopped)
    elsewhere: Elsewhere | None = inline(Elsewhere)
    started_at: str | None = maybe(STARTED_AT, brief=FULL_ONLY, human=15, format=TIME)
    outcome: Outcome | None = inline(Outcome)
    message: str | None = MESSAGE
    damage: str | None = DAMAGE
    dropped_bytes: int | None = DROPPED
    missing_bytes: int | None = MISSING
    adopted: int | None = optional(
        "How often supervision was taken over after a supervisor was killed.", brief=FULL_ONLY
    )
    restarted_from: str | None = optional("The job this one repeats.")
    approval: Approval | None = APPROVAL
    given: Fields | None = inline("outlive.answers.of_parts:Given")
    sandbox: dict[str, object] | None = optional("The boundary it runs in; absent for a job without one.", **SANDBOX)


class Status(Answer):  # of status
    # descendants, errno and keyboard are in a hint
    IN_SENTENCES = frozenset(
        "job_id state exit_code signal reason message ended_by errno pid name command tags owner waiting_for_input prompt "
        "echo keyboard approval idle_ms stdout_bytes stderr_bytes descendants notification".split()
    )

    job: Job = inline(Job)
    described: Described = inline(Described, keep=("name", "cwd", "tags"))
    of_parts: Fields | None = inline("outlive.answers.of_parts:OfParts")
    stdout_log_path: str = STDOUT_LOG
    stderr_log_path: str = STDERR_LOG
    exit_code: int | None = field(EXIT_CODE, place=FIRST, human=3, minimum=None)
    finished_at: str | None = FINISHED_AT
    updated_at: str | None = field("When its state was last written.", brief=FULL_ONLY, format=TIME)
    elapsed_ms: int | None = ELAPSED.kept()
    idle_ms: int | None = field(IDLE)
    next_seq: int = NEXT_SEQ
    stdout_bytes: int = field("Bytes of stdout there are, or were.")
    stderr_bytes: int = field("Bytes of stderr there are, or were.")
    stored_bytes: int = field("Bytes of output that are kept now.", brief=FULL_ONLY)
    quota_bytes: int = field(
        "Most bytes of output that are kept: of more, the head and the tail; 0: all.", brief=FULL_ONLY
    )
    gaps: list[Gap] | None = GAPS
    faults: list[Fault] | None = optional(
        "Processes of outlive that an exception ended while they worked for this job; the newest of each kind.",
    )
    descendants: int | None = DESCENDANTS.kept()
    usage: Usage | None = optional(USAGE, brief=FULL_ONLY)
    supervised: bool = field("Does a process of outlive look after it?", brief=FULL_ONLY)
    env_vars: list[str] = ENV_VARS
    notification: Notification | None = optional(NOTIFICATION)
    advised: Advised = inline(Advised)


def is_pending(answer: Mapping[str, object]) -> bool:
    """Return whether the job of an answer, or of an entry of a list, waits for approval."""
    return answer.get("state") == "created" and object_of(answer, "approval").get("state") == "pending"


class PortHolder(Fields):
    """A program that has a port in the place of the job."""

    port: int = field("The port.", minimum=1)
    address: str = field("What it is bound to.")
    pid: int = field("Its pid.", minimum=None)
    command: str = field("Its command line; its name alone for a caller who is limited.")
    job_id: str | None = optional("Its job, if it is another job of outlive.")
    name: str | None = optional("The name of that job.")
    owner: str | None = optional("Whose that job is, if it is not the caller's.")


HELD_BY = optional("Another program that has the port or the server of `until`: it did not come true.")

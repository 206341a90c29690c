"""The answers of the verbs that read a job, poll, log, tail, wait, events and notices."""

from __future__ import annotations

from outlive.answers import ALWAYS, FIRST, FULL_ONLY, HIDDEN, LAST, Answer, Fields, field, inline, maybe, optional
from outlive.answers import job as known
from outlive.answers.advice import Advised
from outlive.answers.job import Elsewhere, HowEnded, Job, Losses, Outcome, PortHolder, Prompt, Stopped
from outlive.answers.named import Approval, Event, Fired, Notice
from outlive.answers.of_parts import OfParts
from outlive.answers.other_run import OtherRun
from outlive.answers.output import SEEN, SNIPPET, Excerpt, Shown, Tails
from outlive.core.records import STATES


class Reading(Fields):
    """What a job printed, and how it is."""

    job: Job = inline(Job)
    shown: Shown = inline(Shown)
    asks: Prompt = inline(Prompt)
    stopped: Stopped | None = inline(Stopped)
    elsewhere: Elsewhere | None = inline(Elsewhere)
    idle_ms: int | None = field(known.IDLE, brief=FULL_ONLY)


class Since(Fields):
    """What became of a job that is read."""

    timeout_ms: int = known.TIMEOUT
    outcome: Outcome | None = inline(Outcome)
    of_parts: Fields | None = inline(OfParts)
    descendants: int | None = known.DESCENDANTS
    message: str | None = known.MESSAGE
    approval: Approval | None = known.APPROVAL
    advised: Advised = inline(Advised)
    losses: Losses = inline(Losses)


class Polled(Answer):  # of poll
    snippet: str | None = SEEN
    reading: Reading = inline(Reading)
    retry_after_ms: int | None = field("When polling again makes sense; grows while it is quiet, null at the end.")
    since: Since = inline(Since)
    waited_ms: int = known.WAITED
    requested_ms: int | None = known.REQUESTED
    effective_ms: int | None = known.EFFECTIVE


TIMES = (
    "With times: when each line of output was printed, RFC 3339 in UTC; null: a line of ours, or not known. Lines that came "
    "within a tenth of a second share a time."
)


class LogLines(Fields):
    """Lines of a log that are shown."""

    shown: Excerpt = inline(Excerpt)
    times: list[str | None] | None = optional(TIMES, place=LAST, human=HIDDEN)
    first_line: int | None = field("Number of the first line shown, from 1.")
    last_line: int | None = field("Number of the last line shown.")
    total_lines: int = field("Lines there are; an unterminated last one counts.")
    matches: int | None = optional("Lines that matched the search.")
    compared: OtherRun | None = optional("The run that this one is compared with. gone and new count kinds of lines.")
    hint: str | None = known.HINT


class LoggedJob(Fields):
    """One job."""

    job_id: str = field("Its id.")
    name: str | None = optional("Its title, or else the first words of its command.")
    state: str = field("Its state.", enum=[*STATES])
    exit_code: int | None = maybe("Its exit code.", minimum=None)
    next_seq: int = known.NEXT_SEQ


class Log(Answer):  # of log
    jobs: list[LoggedJob] | None = optional(
        "Of several jobs, all: output has lines of each, with its name in front; the other members are about one of them.",
        place=LAST,
        entry=LoggedJob,
    )
    job: Job = inline(Job)
    ended: HowEnded | None = inline(HowEnded)
    timeout_ms: int = known.TIMEOUT
    lines: LogLines = inline(LogLines)
    losses: Losses = inline(Losses)
    hint: str | None = known.HINT


class Tail(Answer):  # of tail
    job: Job = inline(Job)
    ended: HowEnded | None = inline(HowEnded)
    timeout_ms: int = known.TIMEOUT
    tails: Tails = inline(Tails)
    stdout_log_path: str = known.STDOUT_LOG
    stderr_log_path: str = known.STDERR_LOG
    losses: Losses = inline(Losses)
    hint: str | None = known.HINT


class Waited(Fields):
    """One job."""

    BRIEF = ("job_id", "state", "exit_code", "signal", "reason", "name", "fired", "last_lines")

    job_id: str = field("Its id.")
    short_id: str | None = optional("The last 8 characters of its id, which name it too.")
    name: str | None = optional("Its title, or else the first words of its command.")
    state: str = field("Its state.", enum=[*STATES])
    exit_code: int | None = maybe("Its exit code.", minimum=None)
    signal: str | None = maybe("The signal that ended it.")
    reason: str | None = maybe("Why it ended.")
    fired: dict[str, object] | None = maybe("What held for it.")
    last_lines: str | None = optional("The end of its output, if the answer is about another job.")


class Wait(Answer):  # of wait
    jobs: list[Waited] | None = optional("All jobs that were waited for.", place=LAST, entry=Waited)
    snippet: str | None = SNIPPET
    fired: Fired | None = field(known.FIRED, human=7)
    held_by: PortHolder | None = known.HELD_BY
    elapsed_ms: int | None = known.ELAPSED
    reading: Reading = inline(Reading)
    exit_code: int | None = field(known.EXIT_CODE, place=FIRST, human=3, minimum=None)
    since: Since = inline(Since)
    name: str | None = optional("The title given, else the command's verb and target.", human=9)
    waited_ms: int = known.WAITED
    timed_out: bool = field(known.TIMED_OUT, human=8)
    requested_ms: int | None = known.REQUESTED
    effective_ms: int | None = known.EFFECTIVE


class Events(Answer):  # of events
    job: Job = inline(Job)
    events: list[Event] = field("In the order of the output.", place=LAST, brief=ALWAYS)
    next_event: int = field("Pass this as since_event to go on.")
    next_seq: int = known.NEXT_SEQ
    truncated: bool = field("Are there more events than shown?")
    damage: str | None = known.DAMAGE
    hint: str | None = known.HINT


NOTICES = field("What happened to this client's other jobs since its last call; each is told once.")


class Notices(Answer):  # of notices
    notices: list[Notice] = NOTICES


class Added(Fields):
    """What any answer over MCP may have too."""

    notices: list[Notice] = NOTICES
    masked_secrets: int = field("How many secrets are masked in this answer: the log has them as they are.")

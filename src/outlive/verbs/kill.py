"""End a job and everything it started, or send it a signal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from outlive import limits
from outlive.answers import sentences
from outlive.answers.ending import EndedJob, Killed, Process
from outlive.answers.job import Job
from outlive.core.ids import short_id
from outlive.core.nearest import asked_for, nearest
from outlive.errors import OutliveError, invalid
from outlive.jobs import adoption, ending, job_answer, lookup, processes, several
from outlive.jobs.context import Context
from outlive.jobs.told import known_to_session
from outlive.render import ends
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system import signals, tree

_NOTHING_LEFT = "Nothing of these jobs is left."


def kill(
    ctx: Context,
    *,
    job: Sequence[str] = (),
    tags: Sequence[str] = (),
    signal: str = "TERM",
    grace_ms: int = limits.KILL_GRACE_MS,
    wait_ms: int | None = None,
    **of_parts: object,
) -> Killed:
    """Send TERM to the whole process tree, and KILL to what is left after the grace. Other signals are sent as they
    are. Wait for the end if the signal can bring it about. Several jobs are told first, and then waited for together; a
    job that others of them need is told when these have ended."""
    number = signals.number_of(signal)
    if number is None:
        raise _unknown(signal)
    open_one, live = partial(lookup.open_job, ctx), lookup.live_ids(ctx.caller)
    with several.opened(ctx, job, tags, of_parts, open_one, live) as jobs:
        if len(jobs) == 1:
            only = _Kill(ctx, jobs[0], number, grace_ms)
            answer = only.done(wait_ms)
            only.note_shown()
            return answer
        layers = several.in_order(jobs) if signals.ends(number) else [jobs]
        kills = [[_Kill(ctx, one, number, grace_ms) for one in layer] for layer in layers]
        return _of_several(kills, ending.wait_of(number, grace_ms), wait_ms)


class _Kill:
    """The end of one job, as a call brings it about. It knows the processes of the job before the signal, by pid and start
    time."""

    def __init__(self, ctx: Context, job: JobDir, number: int, grace_ms: int) -> None:
        self._ctx, self._number, self._grace_ms = ctx, number, grace_ms
        self.job = job
        before = adoption.inspect_before_kill(ctx, job)
        self._was_over = before.state.finished
        members = processes.survivors(before, job)
        self._lines = processes.CommandLines(before.definition.mask, members)
        named = ((member, self._command(member)) for member in members)
        # One without a command line has just ended by itself
        self._members = {(member.pid, member.start): words for member, words in named if words}
        self._had_any = bool(self._members) or (before.elsewhere and ending.may_have_left(before, job))
        with Output(job) as output:
            self._printed = self._end = output.end

    def done(self, wait_ms: int | None) -> Killed:
        """Send the signal, and answer after the end, or after `wait_ms`."""
        return self._answer(ending.kill(self._ctx, self.job, self._number, grace_ms=self._grace_ms, wait_ms=wait_ms))

    def note_shown(self) -> None:
        """Take note that the caller is shown what the job printed since the signal, if nothing before it is unread."""
        is_whole = self._end - self._printed <= limits.SNIPPET_BYTES
        if is_whole and known_to_session.seen(self._ctx, self.job, here=True) == self._printed:
            known_to_session.mark_seen(self._ctx, self.job, self._end)

    def over(self, until: float) -> Killed:
        """Answer after the end, or at `until`, when the signal was sent before."""
        if not signals.ends(self._number):
            until = 0.0
        return self._answer(ending.wait_until_over(self._ctx, self.job, until))

    def _command(self, member: tree.Member) -> str:
        return self._lines.of(member.pid)[: limits.COMMAND_CHARS]

    def _answer(self, inspection: Inspection) -> Killed:
        job, number, most = self.job, self._number, limits.LISTED_PROCESSES
        alive = processes.survivors(inspection, job)
        left = [Process(pid=member.pid, command=self._command(member)) for member in alive]
        living = {(member.pid, member.start) for member in alive}
        ended = [Process(pid=key[0], command=words) for key, words in self._members.items() if key not in living]
        sent = self._had_any or not self._was_over
        hint = _hint(inspection, job, number, len(alive), sent=sent)
        if self._was_over and ended and not alive:
            hint = hint or _on_what_was_left(len(ended))
        state, elsewhere = inspection.state, job_answer.elsewhere(inspection, job)
        answer = Killed(
            job=Job(job_id=job.job_id, state=state.state),
            signal=signals.name_of(number),
            timeout_ms=inspection.definition.timeout_ms,
            already_ended=None if sent else True,
            elsewhere=elsewhere,
            survivors=left[:most],
            survivors_count=len(left) if len(left) > most else None,
            ended=ended[:most],
            ended_count=len(ended) if len(ended) > most else None,
            hint=hint,
        )
        outcome = job_answer.outcome(inspection, job)
        if outcome is not None:
            how = outcome.ended
            answer.exit_code, answer.reason, answer.ended_signal = how.exit_code, how.reason, how.signal
            answer.ended_by, answer.finished_at = outcome.ended_by, outcome.finished_at
            answer.message = state.message or None
        elif elsewhere is not None and hint is None:
            answer.hint = (
                f"It runs on {elsewhere.host or elsewhere.machine}, where it was told; wait tells when it has ended."
            )
        if sent:
            with Output(job) as output:  # what the job printed since: how it took the signal
                answer.output = ends.snippet(output, self._printed) or None
                self._end = output.end
        return answer


def _of_several(layers: list[list[_Kill]], layer_ms: int, wait_ms: int | None) -> Killed:
    """Answer about the first job that still runs, or else about the first; `jobs` has all. The jobs of a layer are told when
    those of the layer before have ended, or after `layer_ms`."""
    kills = [one for layer in layers for one in layer]
    errors: dict[str, str] = {}
    answers: list[tuple[_Kill, Killed]] = []
    for layer in layers:
        for one in layer:
            try:
                one.done(0)
            except OutliveError as error:
                if len(errors) == len(kills) - 1:
                    raise
                errors[one.job.job_id] = error.message
        is_last = layer is layers[-1]
        until = time.monotonic() + (wait_ms if is_last and wait_ms is not None else layer_ms) / 1000
        answers += [(one, one.over(until)) for one in layer if one.job.job_id not in errors]
    left = next((answer for _, answer in answers if answer.reason is None or answer.survivors), None)
    answer = left or answers[0][1]
    if left is None and not errors:
        answer.hint = sentences(_NOTHING_LEFT, None if answer.already_ended else answer.hint)
    known = {one.job.job_id: answer for one, answer in answers}
    answer.jobs = [_summary(one, known.get(one.job.job_id), errors.get(one.job.job_id)) for one in kills]
    return answer


def _summary(one: _Kill, answer: Killed | None, error: str | None) -> EndedJob:
    definition = one.job.read_meta()
    return EndedJob(
        job_id=one.job.job_id,
        name=definition.name,
        state="created" if answer is None else answer.job.state,
        exit_code=None if answer is None else answer.exit_code,
        reason=None if answer is None else answer.reason,
        survivors_count=None if answer is None else len(answer.survivors) or None,
        error=error,
    )


def _unknown(signal: str) -> OutliveError:
    word = signal.strip().upper().removeprefix("SIG")
    if word.startswith(("RTMIN", "RTMAX")):
        return invalid(
            "signal", f"unknown signal {signal!r}", hint="Real-time signals are RTMIN, RTMIN+1 … RTMAX-1, RTMAX."
        )
    near = nearest(word, [name.removeprefix("SIG") for name in signals.names()])
    hint = asked_for(near and f"SIG{near}", "Any signal of this system is taken: INT, SIGINT and 2 are the same.")
    return invalid("signal", f"unknown signal {signal!r}", hint=hint)


def _on_what_was_left(count: int) -> str:
    """Return what was ended of a job whose command had ended before."""
    those = "1 process that it left was" if count == 1 else f"{count} processes that it left were"
    return f"The command had ended before; {those} ended."


def _hint(inspection: Inspection, job: JobDir, number: int, alive: int, *, sent: bool) -> str | None:
    """Return what to do about the processes that live, or that nothing was sent; else None."""
    if inspection.unwritten:
        return "Its end could not be written to the disk: this answer is the only record of it."
    stopped = processes.stopped_supervisor(inspection)
    if stopped is not None and not alive:
        ended = f"Its processes were ended directly, because its supervisor (pid {stopped}) is stopped"
        return f"{ended}: `kill -CONT {stopped}` lets it write down the end."
    if not sent:
        return "It had ended before: no signal was sent."
    if not alive or not signals.ends(number):
        return None
    those = "1 process" if alive == 1 else f"{alive} processes"
    told = f"{those} of job {short_id(job.job_id)} still run{'s' if alive == 1 else ''}"
    if number in ending.SURE:
        return f"{told}: KILL follows after the grace; wait, or call kill again with signal KILL."
    return f"{told} after {signals.name_of(number)}: kill with TERM ends what is left, and KILL follows."

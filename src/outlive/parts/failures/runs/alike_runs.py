"""Find jobs that ran the point of a command in another way: `pytest -q` alone, and behind `sed …;` or `cd … &&`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

from outlive.core import shell_strings
from outlive.core.quoted import one_line
from outlive.core.record import Value
from outlive.core.records import Definition
from outlive.jobs import programs
from outlive.jobs.context import Context, Principal
from outlive.jobs.told import ownership
from outlive.parts.failures.runs import earlier_runs
from outlive.store.job_dir import JobDir

_BETWEEN = frozenset({"&&", ";", "\n", ""})  # what may stand behind a `cd` that holds for the rest
# What may stand before a step and reports no failure of its own
_QUIET = frozenset(
    "cd pushd popd export set source . umask true : mkdir rmdir touch chmod cp mv ln rm sed perl patch git sleep kill".split()
)


class Step(Value):
    """The command that a job is named for, and what makes two of them the same."""

    words: tuple[str, ...]
    cwd: str  # behind each `cd` before it
    host: str | None
    sandbox: dict[str, str] | None

    @property
    def shown(self) -> str:
        program, *rest = self.words
        return one_line(" ".join([os.path.basename(program), *rest]))


class Found(Value):
    """A job with the same step; the caller closes `job`."""

    job: JobDir
    step: Step


def same_step(ctx: Context, wanted: Definition, *, passed: bool) -> Found | None:
    """Return the last run before the job with this definition whose command does the same step in the same directory: one of
    the caller's own before one of another session. With `passed`, one that ended with 0. None if there is none."""
    step = _step(wanted)
    if step is None:
        return None
    others: JobDir | None = None
    for job, definition in _runs_before(ctx.caller, wanted, step.words[0], passed=passed):
        is_own = ownership.is_own(ctx, definition)
        if _step(definition) != step or (others is not None and not is_own):
            job.close()
            continue
        if is_own:
            if others is not None:
                others.close()
            return Found(job, step)
        others = job
    return None if others is None else Found(others, step)


def run_before(caller: Principal, wanted: Definition) -> JobDir | None:
    """Return the last run before the job with this definition whose failures are those of the same: of the same command, or
    of a command that ends with the same step, shows all that it prints, and does nothing else that could report a failure. The
    caller closes it."""
    step = _only_step(wanted)
    if step is None:
        return earlier_runs.find(caller, wanted)
    for job, definition in _runs_before(caller, wanted, *step.words):
        if earlier_runs.are_same(definition, wanted) or _only_step(definition) == step:
            return job
        job.close()
    return None


def nearest(caller: Principal, wanted: Definition) -> tuple[str, str] | None:
    """Return the id and the name of the newest job made before this one in the same directory that has ended and runs the
    same program, with other words, else one that runs it among others; None if there is none."""
    program, programs, second = _program(wanted), _programs(wanted), None
    for job, definition in _runs_before(caller, wanted):
        with job:
            if definition.cwd != wanted.cwd:
                continue
            found = definition.job_id, definition.name
            if _program(definition) == program:
                return found
            second = second or (found if programs & _programs(definition) else None)
    return second


def _runs_before(
    caller: Principal, wanted: Definition, *words: str, passed: bool = False
) -> Iterator[tuple[JobDir, Definition]]:
    """Return the jobs made before this one that ran and ended, whose definitions hold these words."""
    parts = [json.dumps(word)[1:-1].encode() for word in words]
    return earlier_runs.ended(caller, *parts, before=wanted.job_id, passed=passed)


def _step(definition: Definition) -> Step | None:
    if definition.script is not None:  # `command` is only its beginning
        return None
    words = programs.main_words(definition.command)
    if not words:
        return None
    sandbox = None if definition.sandbox is None else definition.sandbox.shown
    return Step(tuple(words), _directory(definition), definition.host, sandbox)


def _only_step(definition: Definition) -> Step | None:
    """Return the step of a command whose failures are all that its output reports."""
    if not definition.command:  # it cannot be read
        return None
    text = shell_strings.run_by(definition.command, definition.shell)
    if text is not None:
        *before, last = shell_strings.pipelines(shell_strings.commands(text)) or [[]]
        is_whole = len(last) == 1 and not last[0].kind and not last[0].operator and ">" not in text.replace("2>&1", "")
        if not is_whole or any(len(one) > 1 or one[0].name not in _QUIET for one in before):
            return None
    return _step(definition)


def _directory(definition: Definition) -> str:
    """Return the directory of a job behind each `cd` to a place that its text names."""
    cwd = definition.cwd
    for command in shell_strings.commands(shell_strings.run_by(definition.command, definition.shell)):
        if command.words[:1] == ["cd"] and len(command.words) == 2 and command.operator in _BETWEEN:
            cwd = os.path.normpath(os.path.join(cwd, os.path.expanduser(command.words[1])))
    return cwd


def _program(definition: Definition) -> str:
    return (programs.main_words(definition.command) or [""])[0]


def _programs(definition: Definition) -> set[str]:
    """Return the programs of a command that may be its point."""
    joined = shell_strings.commands(shell_strings.run_by(definition.command, definition.shell))
    each = [command.words for command in shell_strings.every(joined) if not command.kind and command.words]
    return {words[0] for words in map(programs.without_starters, each)} - programs.BESIDE | {_program(definition)}

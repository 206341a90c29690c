"""Wait until conditions hold for jobs: what `wait` does, and `run` with `until`.

A wait is level-triggered: what is true already fires at once. The end of a job ends its wait,
because nothing else can come true any more.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import closing
from typing import Any

from outlive import limits
from outlive.answers import sentences
from outlive.answers.job import PortHolder
from outlive.core.records import Definition
from outlive.jobs import adoption, processes
from outlive.jobs.conditions import of_job, parse
from outlive.jobs.conditions.condition import Condition, Probe, held_by, mark_of
from outlive.jobs.context import Context
from outlive.jobs.control_client import ControlClient
from outlive.jobs.starting import boundary
from outlive.jobs.told import known_to_session
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.merged import Output
from outlive.system.waiting import pause


class JobWait:
    """The wait for one job. Close it after use; the job stays open.

    `fired` is what came true, None before. `held_by` is another program that has the port or the
    server waited for. `in_vain` says that the wait is over because what was waited for cannot come
    any more. What the client was `told` of (known_to_session.reported) does not fire again. `matched_to`
    is where in the output the line ends that fired; None if no line did.
    """

    def __init__(
        self,
        ctx: Context,
        job: JobDir,
        wanted: list[Condition],
        *,
        output_since: int,
        match_since: int,
        told: dict[str, int] | None = None,
    ) -> None:
        self.job = job
        self._told = told or {}
        self._note: str | None = None  # what the answer says besides what fired
        self.fired: dict[str, Any] | None = None
        self.held_by: PortHolder | None = None
        self.in_vain = False
        self.matched_to: int | None = None
        self.still_asks = False  # what the client was told of
        self._names = {condition.name for condition in wanted}
        self.found: Inspection = adoption.inspect_and_adopt(ctx, job)
        self.probes: list[Probe] = of_job.probes_for(
            ctx, wanted, job, self.found, output_since=output_since, match_since=match_since, told=told
        )
        self.control = ControlClient(job, output=any(probe.needs_output for probe in self.probes))

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to wait for any more."""
        return self.fired is not None or self.held_by is not None

    def check(self, ctx: Context) -> None:
        if self.is_over:
            return
        inspection = self.found = adoption.inspect_and_adopt(ctx, self.job)
        adoption.require_in_place(self.job)
        over = of_job.is_over(inspection) and not self._serves(inspection)
        self.still_asks = False
        for probe in self.probes:
            fired = probe.check(inspection)
            self.still_asks = self.still_asks or (fired is not None and fired["condition"] == "input")
            if fired and not self._is_told(fired):
                if not inspection.state.started_at:  # it has since: what it did was seen
                    self.found = adoption.inspect_and_adopt(ctx, self.job)
                self.fired = {**fired, "job_id": self.job.job_id}
                self.in_vain = fired["condition"] == "fail_regex"
                self._note, self.matched_to = probe.note, probe.matched_to
                return
        self.held_by = next((probe.held for probe in self.probes if probe.held is not None), None)
        searching = any(isinstance(probe, of_job.Matches) and probe.again is not None for probe in self.probes)
        if over and not searching and not self.undecided and "exit" not in self._told:
            # Nothing of what was waited for can come any more
            self.fired = {"condition": "exit", "job_id": self.job.job_id}
            if inspection.state.exit_code:  # it may have failed for this
                self.held_by = next((probe.taken for probe in self.probes if probe.taken is not None), None)
        self.in_vain = self.held_by is not None or (self.fired is not None and "exit" not in self._names)

    def _is_told(self, fired: dict[str, object]) -> bool:
        position = self._told.get(mark(fired))
        if position is None or fired["condition"] in ("output", "regex", "fail_regex"):
            return False  # those are looked for behind what was told
        if fired["condition"] not in ("input", "idle_ms"):
            return True
        with Output(self.job) as output:  # a new prompt, or a new silence, comes after new output
            return output.end <= position

    @property
    def spent(self) -> bool:
        """Whether nothing can come any more that the client was not told of."""
        return "exit" in self._told and of_job.is_over(self.found)

    def forget_told(self) -> None:
        """Let everything fire that is true, as if nothing had been told."""
        self._told = {}

    @property
    def undecided(self) -> bool:
        return not self.is_over and any(probe.undecided for probe in self.probes)

    def _serves(self, inspection: Inspection) -> bool:
        """Return whether the job left processes in the background that the wait may be for.

        A failed job leaves none.
        """
        if "exit" in self._names or not inspection.supervised or inspection.state.exit_code != 0:
            return False
        return bool(processes.descendants(inspection, self.job))

    def hint(self) -> str | None:
        """Return a sentence where the rest of the answer may mislead: on what fired, else on what
        was seen last of a condition that did not come true."""
        seen = next((f"Last seen: {probe.last}." for probe in self.probes if probe.last), None)
        told = self._on_the_end() if self.is_over else seen
        skipped = sum(probe.skipped for probe in self.probes if isinstance(probe, of_job.Matches))
        if not skipped or (self.fired and not self.in_vain):
            return told
        gone = f"{skipped:,} bytes of output were gone before they could be searched: it passed the job's quota."
        return f"{told} {gone}" if told else gone

    def _on_the_end(self) -> str | None:
        ended = None
        if self.in_vain and self.fired is not None and self.fired["condition"] == "exit":
            wanted = ", ".join(sorted(self._names - {"fail_regex", "input"})) or "what was waited for"
            again = " again" if any(isinstance(probe, of_job.Matches) and probe.last for probe in self.probes) else ""
            ended = f"The job ended before {wanted} came true{again}."
        if self.held_by is not None:
            return sentences(ended, held_by(self.held_by, is_condition=ended is None))
        return sentences(ended, self._note)

    def close(self) -> None:
        self.control.close()
        for probe in self.probes:
            probe.close()


class Until:
    """What a call waits for that starts a job. It is checked before anything is started. Errors: invalid_argument."""

    def __init__(self, given: Iterable[object], *, stop_at_prompts: bool) -> None:
        self._conditions = parse.parsed(given)
        if stop_at_prompts and all(one.name != "input" for one in self._conditions):
            self._conditions.append(Condition("input"))

    def check(self, ctx: Context, definition: Definition) -> None:
        """Check that the conditions name ports of the job, and that the caller may have looked at what they name. Errors:
        invalid_argument, denied."""
        parse.require(definition, self._conditions)
        limits = boundary.reach(ctx.caller, self._conditions)
        if limits is not None:
            limits.require(definition, self._conditions)

    def wait(self, ctx: Context, job: JobDir, *, began: float, limit: float | None) -> JobWait:
        """Wait as the verb `wait` does, from the start of the job on. Returned is the wait, which is closed."""
        with closing(JobWait(ctx, job, self._conditions, output_since=0, match_since=0)) as waited:
            wait_for(ctx, [waited], began=began, limit=limit)
        if waited.fired is not None and waited.matched_to is not None:
            known_to_session.mark_reported(ctx, job, mark(waited.fired), waited.matched_to)
        return waited


def mark(fired: dict[str, object]) -> str:
    """Return by which name it is remembered that this was told."""
    value = next((fired[name] for name in ("pattern", "port", "url", "path") if name in fired), None)
    return mark_of(str(fired["condition"]), value)


def wait_for(ctx: Context, jobs: list[JobWait], *, began: float, limit: float | None, mode: str = "any") -> bool:
    """Wait until one of the jobs has fired, with mode `all` until all have or one has in vain.

    Return False if `limit` passed first (time.monotonic seconds; None: no limit).
    """
    while True:
        for one in jobs:
            one.check(ctx)
        if all((one.spent or one.still_asks) and not one.is_over for one in jobs):  # there is nothing else to wait for
            for one in jobs:
                one.forget_told()
            continue
        fired = [one for one in jobs if one.is_over]
        in_vain = any(one.in_vain for one in fired)
        if fired if mode == "any" else in_vain or len(fired) == len(jobs):
            return True
        # What is true already fires even without time to wait, but a first answer from a port or
        # server takes a moment
        first = any(one.undecided for one in jobs)
        until = limit if limit is None or not first else max(limit, began + limits.FIRST_ANSWER_S)
        if until is not None and time.monotonic() >= until:
            return False
        _pause([one for one in jobs if not one.is_over and not one.spent], until)


def _pause(waiting: list[JobWait], limit: float | None) -> None:
    """Wait until something may have changed for one of the jobs."""
    fds: list[int] = []
    deadlines = [] if limit is None else [limit]
    for one in waiting:
        awaited = one.control.awaited(limit)
        if awaited is None:
            return
        fds += awaited.fds
        deadlines += [] if awaited.deadline is None else [awaited.deadline]
        for probe in one.probes:
            fds += probe.fds
            deadlines += [] if probe.again is None else [probe.again]
    pause(tuple(fds), min(deadlines, default=None))  # a deadline that has passed: there is more to search
    for one in waiting:
        one.control.drain()

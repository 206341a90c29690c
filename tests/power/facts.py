"""What a recording promised of its jobs, and when: the steps that the program named while it ran (fault points), and the
answers that it gave. recover.py holds what is read after a cut against it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from power import model

_ID = re.compile(r"[0-9A-HJKMNP-TV-Z]{26}")
NEVER = 1 << 60
# The members of an answer that say how a job ended
ENDING = ("state", "exit_code", "signal", "reason")


class Outcome(NamedTuple):
    """How a job is said to have ended."""

    state: str | None
    exit_code: int | None
    signal: str | None
    reason: str | None

    @classmethod
    def of(cls, answer: dict[str, Any]) -> Outcome:
        state, exit_code, signal, reason = (answer.get(name) for name in ENDING)
        return cls(state, exit_code, signal, reason)


class Promise(NamedTuple):
    """What holds for one job after a cut at one moment.

    `ended`: its end was synced, so exactly this is said. `possible`: other ends that are true. `running`: the job had
    begun, and that was synced: it is not `unknown`. `least`: so many bytes of each log were synced when the end, or
    all of its late output, was. `whole`: what the job has written until then; a byte that was not synced may be a
    zero. `holes`: whether a quota gave back some of it. `tags`: which it may have, if an answer named some. `there`: False if its
    deletion had begun. `sinks`: its end is still to be delivered. `created`: it may
    still wait for its start, because that was not synced.
    """

    job: str
    ended: Outcome | None
    possible: tuple[Outcome, ...]
    running: bool
    least: tuple[int, int]
    whole: tuple[bytes, bytes]
    holes: bool
    tags: tuple[frozenset[str], ...]
    there: bool
    sinks: bool
    created: bool


REBOOT = Outcome("failed", None, None, "reboot")
NEVER_RAN = Outcome("failed", None, None, "launch")


class Facts:
    """What one recording says of its jobs."""

    def __init__(self, recording: model.Recording, root: str = "root") -> None:
        self._recording = recording
        self._steps: dict[str, dict[str, list[int]]] = {}  # job → step → when
        self._logs: dict[str, dict[str, int]] = {}  # job → name → inode
        self._directories: dict[int, str] = {}  # inode → job
        self._owner: dict[int, str] = {}  # the same for everything in them
        self._answers: list[tuple[int, dict[str, Any]]] = []
        self._read()
        self.jobs = sorted(self._logs)

    def _read(self) -> None:
        mine: dict[int, str] = {}  # process → the job that it touched last
        starters: set[int] = set()  # processes that started a command
        early: dict[int, list[model.Change]] = {}  # steps of a process that has touched none yet
        for change in self._recording.changes:
            job = self._job_of(change)
            if job is not None:
                mine[change.pid] = job
                for step in early.pop(change.pid, ()):
                    self._step(job, step.mark["point"], step.number)
            if change.op == "rename" and _ID.fullmatch(change.to_name):
                self._step(change.to_name, "visible", change.number)
            elif change.op == "rename" and _ID.fullmatch(change.name):
                self._step(change.name, "deleted", change.number)
            elif change.op == "sync" and change.ino in self._directories and change.pid in starters:
                self._step(self._directories[change.ino], "synced", change.number)
            elif change.op == "mark" and "answer" in change.mark:
                self._answers.append((change.number, change.mark["answer"]))
            elif change.op == "mark" and "point" in change.mark:
                if change.mark["point"] == "start_recorded":  # a sync of another process is about something else
                    starters.add(change.pid)
                if change.pid in mine:
                    self._step(mine[change.pid], change.mark["point"], change.number)
                else:
                    early.setdefault(change.pid, []).append(change)

    def _job_of(self, change: model.Change) -> str | None:
        """The job that a change is about; remembers which of its files and directories has which inode."""
        found = _ID.search(change.to_name) or _ID.search(change.name)
        job = found.group() if found else self._owner.get(change.dir) or self._owner.get(change.ino)
        if job is None:
            return None
        if change.op == "mkdir" and found:
            self._directories[change.ino] = job
            self._logs[job] = {}
        self._owner.setdefault(change.ino, job)
        if change.op == "create" and change.dir in self._directories:
            self._logs[job][change.name] = change.ino
        return job

    def _step(self, job: str, step: str, index: int) -> None:
        self._steps.setdefault(job, {}).setdefault(step, []).append(index)

    def _first(self, job: str, step: str, after: int = -1) -> int:
        return next((index for index in self._steps.get(job, {}).get(step, ()) if index > after), NEVER)

    def end_of(self, job: str) -> Outcome | None:
        """How the job ended in truth: as the last answer of `status` or `wait` about it says."""
        said = [one for _, one in self._answers if one.get("job_id") == job and one.get("reason")]
        return Outcome.of(said[-1]) if said else None

    def promises(self, cut: int, later: int | None = None) -> list[Promise]:
        """What holds for each job after this cut that must, or may, be there. `later`: a cut up to which things may have
        happened already, where the moment of the cut is not known exactly."""
        return [self._promise(job, cut, later or cut) for job in self.jobs if self._first(job, "visible") < cut]

    def _promise(self, job: str, cut: int, later: int) -> Promise:
        end = self.end_of(job)
        was_created = self._first(job, "start_taken") < NEVER
        running = self._first(job, "synced", self._first(job, "start_recorded")) < cut
        begun = self._first(job, "start_spawned") < cut
        synced = self._first(job, "end_synced") < cut
        possible = [REBOOT]
        if not begun:
            possible.append(NEVER_RAN)
        if end is not None and self._first(job, "end_moved") < later:
            possible.append(end)
        delivered = self._first(job, "end_told") < later
        sinks = self._sinks_since(job) < cut and self._first(job, "end_told") < NEVER and not delivered
        claims = [
            at for step in ("end_synced", "end_unlinked") for at in self._steps.get(job, {}).get(step, ()) if at < cut
        ]
        return Promise(
            job=job,
            ended=end if synced else None,
            possible=tuple(possible),
            running=running,
            least=(self._least(job, 0, claims), self._least(job, 1, claims)),
            whole=(self._log(job, 0, later), self._log(job, 1, later)),
            holes=self._first(job, "gap_recorded") < later,
            tags=self._tags(job, cut),
            there=self._first(job, "deleted") >= later,
            sinks=sinks,
            created=was_created and not running and not synced,
        )

    def _sinks_since(self, job: str) -> int:
        """Since when its sinks are known: from its start on, or from the answer that has added them."""
        added = [at for at, one in self._answers if one["type"] == "notify_set" and one["job_id"] == job]
        return added[0] if added else self._first(job, "synced")

    def _log(self, job: str, stream: int, cut: int) -> bytes:
        ino = self._logs[job].get(("stdout.log", "stderr.log")[stream])
        return b"" if ino is None else self._recording.written(ino, cut)

    def _least(self, job: str, stream: int, claims: list[int]) -> int:
        ino = self._logs[job].get(("stdout.log", "stderr.log")[stream])
        if ino is None or not claims:
            return 0
        return len(self._recording.content(ino, self._recording.synced(ino, max(claims)) + 1))

    def _tags(self, job: str, cut: int) -> tuple[frozenset[str], ...]:
        """The tags of the last answer before a cut, and of later ones, whose change may be there already."""
        said = [(at, one) for at, one in self._answers if one.get("job_id") == job and one["type"] == "tag_set"]
        before = [number for number, (at, _) in enumerate(said) if at < cut]
        return tuple(frozenset(one["tags"]) for _, one in said[before[-1] :]) if before else ()

"""One job of a campaign: it is started, everything that its plan says happens to it, and it ends."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from campaign import plan as p
from campaign import victims
from campaign.jobs import Files, ends_itself, output, without_last
from campaign.lane import Lane, McpLane, SshLane
from campaign.plan import Act, JobPlan
from campaign.tally import Tally
from campaign.victims import CONTINUE, KILL, STOP, Held
from outlive.store.job_dir import LOGS, STATE
from outlive.system import fault_points
from support.cli import answer_of
from support.mounts import fill
from support.wait import until

BOUND_S = 120.0
_PAIR = (p.KILL_SUPERVISOR, p.KILL_GUARDIAN, p.KILL_BOTH, p.KILL_IN_TURN)


@dataclass
class Written:
    """One write to the stdin of a job: bytes that have arrived, and bytes behind them that may have."""

    certain: bytes
    maybe: bytes = b""


@dataclass
class Told:
    """What came of one job, for the check. `job` is empty if none was made."""

    job: str = ""
    started: dict[str, Any] = field(default_factory=dict)
    ended: dict[str, Any] = field(default_factory=dict)
    status: dict[str, Any] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)
    written: list[Written] = field(default_factory=list)
    launcher_died: bool = False
    pair_died: bool = False  # both, at a moment when the command could end before a reader had looked
    both_died: bool = False  # at any moment
    died_unstarted: bool = False  # both, before the record of the job named a command: it may never run
    took_s: float = 0.0


class Turn:
    def __init__(self, lane: Lane, plan: JobPlan, tally: Tally) -> None:
        self.lane, self.plan, self.tally = lane, plan, tally
        self.files = Files.below(lane.work, plan.name)
        self.told = Told()
        self._lines = 0  # released so far
        self._end_deaths = 0

    def play(self) -> Told:
        began = time.monotonic()
        self._start()
        if self.told.job and self._runs():
            self._run()
            self._end()
        if self.told.job:
            self._ask()
        self.tally.killed(p.CRASH, self._crashes())
        self.told.took_s = time.monotonic() - began
        return self.told

    def call(self, *words: str) -> dict[str, Any]:
        return self.lane.call(self.files, *words)

    # --- its start ---

    def _start(self) -> None:
        before = self.lane.ids()
        started = self.lane.start(self.plan, self.files, self.plan.start[0] if self.plan.start else None)
        self.tally.killed(p.KILL_LAUNCHER, started.killed)
        self.told.started, self.told.launcher_died = started.answer, started.died
        self.told.job = started.answer.get("job_id", "") or next(iter(self.lane.ids() - before), "")

    def _crashes(self) -> int:
        """Return how many processes have killed themselves at a point."""
        path = self.files.crashes
        return sum(is_point(line) for line in path.read_text().splitlines()) if path.exists() else 0

    def _runs(self) -> bool:
        """Wait until the job runs, or is over. Return which."""

        def begun() -> dict[str, Any]:
            seen = self.look()
            return {} if seen.get("state") == "created" else seen

        found = until(begun, what=f"job {self.told.job} is no longer `created`", timeout=BOUND_S / 2)
        if found["state"] in ("exited", "killed"):  # on a busy machine a time-out comes before this look
            self.told.ended = found
        return bool(found["state"] == "running")

    # --- while it runs ---

    def _run(self) -> None:
        acts = self.plan.running
        for number, act in enumerate(acts, 1):
            self._meet(self.plan.lines * number // (len(acts) + 1), act)
        self._meet(self.plan.lines, None)
        if self.plan.kind == "stdin":
            until(self._closed, what="the end of the input", timeout=BOUND_S)
        elif self.plan.kind not in ("disk", "timeout"):
            # What nobody has read is lost when both die and the command ends: only its last line shall be that
            until(self._is_stored, what="all output so far is stored", timeout=BOUND_S)

    def _is_stored(self) -> bool:
        """Return whether the logs have all that was released, or the job is over."""
        expected = [len(without_last(stream)) for stream in output(self.plan)]
        paths = [self.lane.root / self.told.job / name for name in LOGS]
        stored = [path.stat().st_size if path.exists() else 0 for path in paths]
        enough = all(size >= least for size, least in zip(stored, expected, strict=True))
        return enough or self.look().get("state") != "running"

    def _meet(self, lines: int, act: Act | None) -> None:
        """Release output, or write input, up to so many lines, and let the act happen meanwhile."""
        count, first = max(0, lines - self._lines), self._lines
        self._lines = lines
        if self.plan.kind == "stdin" and count:
            self._write(b"".join(b"in %d\n" % (first + number) for number in range(1, count + 1)), act)
            return
        with self.files.steps.open("ab") as file:
            file.write(b"+" * count)
        if act is not None:
            self._do(act)

    def _write(self, data: bytes, act: Act | None) -> None:
        with self.lane.spawned(self.files, "write", self.told.job, "--data", data.decode()) as process:
            if act is not None:
                self._do(act)
            answer = answer_of(process)
        self.told.written.append(_written(data, answer))

    def _closed(self) -> bool:
        answer = self.call("write", self.told.job, "--eof")
        return bool(answer["ok"] or answer["error"]["code"] in ("stdin_closed", "invalid_state"))

    def look(self) -> dict[str, Any]:
        """Ask for its status, which also gives it a supervisor if it has none."""
        return self.call("status", self.told.job)

    def _do(self, act: Act) -> None:
        time.sleep(act.after_ms / 1000)
        if act.name in _PAIR or act.name.startswith("stop "):
            self._to_pair(act)
        elif act.name == p.LOOK:
            self.look()
        elif act.name == p.CLOCK:
            self.files.clock.write_text(str(act.jump_s))
        elif act.name == p.CRASH_ADOPTION:
            self._to_pair(Act(p.KILL_BOTH))
            with self.lane.spawned(
                self.files, "status", self.told.job, **{fault_points.VARIABLE: act.point}
            ) as process:
                process.communicate(timeout=BOUND_S)
        elif act.name == p.KILL_READER:
            self._kill_reader(act)
        elif act.name == p.FILL:
            filler = fill(self.lane.root)
            time.sleep(act.hold_ms / 1000)
            filler.unlink()
        else:
            self._elsewhere(act)

    def _kill_reader(self, act: Act) -> None:
        verbs = (("wait",), ("log", "-f"), ("events", "-f"), ("status",), ("poll",))
        verb = verbs[act.hold_ms % len(verbs)]
        with self.lane.spawned(self.files, *verb, self.told.job) as process:
            time.sleep(act.hold_ms / 1000)
            if process.poll() is None:
                process.kill()
                self.tally.killed(act.name)
            process.communicate()

    def _elsewhere(self, act: Act) -> None:
        """Act on processes that only some lanes have."""
        if isinstance(self.lane, McpLane) and act.name == p.KILL_SERVER:
            self.tally.killed(act.name, self.lane.kill_server(act.after_ms % 3))
        elif isinstance(self.lane, SshLane) and act.name == p.LOSE:
            self.lane.machine.cut()
            try:
                time.sleep(act.hold_ms / 1000)
            finally:
                self.lane.machine.link()
        else:
            find = {
                p.KILL_FORK_SERVER: victims.fork_server, p.KILL_MIRROR: victims.mirror,
                p.KILL_CONNECTION: victims.connection,
            }[act.name]  # fmt: skip
            self._kill(act.name, find(self.told.job))

    # --- the pair above it ---

    def _to_pair(self, act: Act) -> None:
        supervisor = self._found(victims.supervisor)
        if supervisor is None:
            return
        guardian = victims.guardian(self.told.job)
        unstarted = bool(self.plan.start) and not self._is_recorded()
        try:
            wanted = _wanted(act.name, guardian, supervisor)
            if act.name.startswith("stop "):
                _stop(wanted, act.hold_ms / 1000)
                return
            met = _kill_all(wanted, None if act.name == p.KILL_BOTH else act.hold_ms / 1000)
            self.tally.killed(act.name, met)
            self._end_deaths += met
            both_died = bool(met) and (guardian is None or met > 1 or self._crashes() > 0)
            self.told.both_died |= both_died
            self.told.died_unstarted |= both_died and unstarted
        finally:
            for held in (guardian, supervisor):
                if held is not None:
                    held.close()

    def _is_recorded(self) -> bool:
        """Return whether the record of the job names a command that was started. Of a start that was killed, the
        guardian makes a second one, and until then a job counts as running."""
        try:
            return json.loads((self.lane.root / self.told.job / STATE).read_bytes()).get("pid") is not None
        except (OSError, ValueError):
            return False

    def _found(self, find: Callable[[str], Held | None]) -> Held | None:
        """Return a process of the job that lives. Where there is none, a reader is what brings it back."""
        held = find(self.told.job)
        if held is None and self.look().get("state") == "running":

            def found() -> Held | str | None:
                return find(self.told.job) or ("" if self.look().get("state") == "running" else "over")

            again = until(found, what="a supervisor", timeout=BOUND_S)
            held = again if isinstance(again, Held) else None
        return held

    def _kill(self, name: str, held: Held | None) -> None:
        if held is None:
            return
        with held:
            self.tally.killed(name, held.send(KILL))
            held.wait()

    # --- its end ---

    def _end(self) -> None:
        # What ends while no supervisor lives is lost. On another machine a connection of the mirror brings one back, so a
        # look here is not enough
        held = self._found(victims.supervisor)
        if held is not None:
            held.close()
        self.look()
        found = victims.guardian(self.told.job)
        spare = 1 if found is not None else 0
        if found is not None:
            found.close()
        crashed, self._end_deaths = self._crashes(), 0
        if self.plan.kind == "kill":
            self.call("kill", self.told.job, "--wait-ms", "0")
        else:
            with self.files.steps.open("ab") as file:
                file.write(b"." if ends_itself(self.plan) else b"")
        for act in self.plan.end:
            held = victims.supervisor(self.told.job)
            if held is not None:  # else it is over, and a look for one would be a reader that comes too soon
                held.close()
                self._do(act)
        self.told.ended = until(self._ended, what="its end", timeout=2 * BOUND_S)
        crashes = self._crashes() - crashed
        self.told.pair_died = self._end_deaths + crashes > spare

    def _ended(self) -> dict[str, Any]:
        answer = self.call("wait", self.told.job, "--timeout-ms", "60s")
        return {} if answer.get("timed_out") else answer

    def _ask(self) -> None:
        """Ask what there is to know of a job that is over."""
        self.told.status = self.look()
        self.told.events = self.call("events", self.told.job, "--limit", "0").get("events", [])


def is_point(line: str) -> bool:
    """Return whether a line of OUTLIVE_DEBUG_FILE names the point at which a process killed itself."""
    return line.removeprefix(fault_points.SUCCESSOR) in fault_points.POINTS


def _wanted(name: str, guardian: Held | None, supervisor: Held) -> list[Held]:
    """Return which of the two an act is about. A supervisor that took over, or whose guardian is dead, is alone."""
    if guardian is None or name.endswith("supervisor"):
        return [supervisor]
    return [guardian] if name.endswith("guardian") else [supervisor, guardian]


def _kill_all(wanted: list[Held], pause_s: float | None) -> int:
    """Kill processes, with a pause between them; None: at once, so that none acts on the end of another. Return how
    many lived."""
    if pause_s is None:
        for one in wanted:
            one.send(STOP)
    met = 0
    for one in wanted:
        met += one.send(KILL)
        one.wait()
        time.sleep(pause_s or 0)
    return met


def _stop(wanted: list[Held], hold_s: float) -> None:
    try:
        for one in wanted:
            one.send(STOP)
        time.sleep(hold_s)
    finally:
        for one in wanted:
            one.send(CONTINUE)


def _written(data: bytes, answer: dict[str, Any]) -> Written:
    """Return what an answer to a write promises: a call that may be repeated has written nothing."""
    if answer["ok"]:
        count = answer["bytes_written"]
        return Written(data[:count])  # "write the rest later"
    if answer["error"]["retryable"] or answer["error"]["code"] in ("stdin_closed", "invalid_state"):
        return Written(b"")
    return Written(b"", data)

"""The plan of a campaign: from a seed, the jobs of each lane and what happens to each of them.

Nothing in here looks at the machine, so a seed and the name of a job repeat the job's plan on any machine. When the
processes of that job get a core is not repeated.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

# What a lane runs. A lane runs one job at a time, in a job root of its own.
LANES = {
    "local": ("pipe", "pipe", "stdin", "quota", "watch", "sinks", "terminal", "sandbox", "limits", "timeout", "kill"),
    "mcp": ("mcp",),
    "disk": ("disk",),
    "ssh": ("ssh",),
    "slurm": ("slurm",),
}
KINDS = tuple(sorted({kind for kinds in LANES.values() for kind in kinds}))
# An adopter that dies within five seconds counts as killed by the job, and after five the job is given up
# (store/inspection/adoptions.py). The look before the end may need one more than these.
MOST_ADOPTIONS = 4
# Where the death of both supervising processes costs something that is documented: a terminal, an allocation of Slurm, and
# the end of a command that ends while neither lives, here by a time-out
NO_ADOPTION = {"terminal", "slurm", "timeout"}

KILL_SUPERVISOR, KILL_GUARDIAN, KILL_BOTH = "kill supervisor", "kill guardian", "kill both"
KILL_IN_TURN = "kill one after the other"  # the guardian, while it takes over from its supervisor
STOP_SUPERVISOR, STOP_GUARDIAN, STOP_BOTH = "stop supervisor", "stop guardian", "stop both"
KILL_READER, LOOK, CLOCK, FILL = "kill reader", "look", "clock", "fill disk"
KILL_FORK_SERVER, KILL_SERVER = "kill fork server", "kill server"
KILL_MIRROR, KILL_CONNECTION, LOSE = "kill mirror", "kill connection", "lose packets"
KILL_LAUNCHER, CRASH = "kill launcher", "crash"
CRASH_ADOPTION = "kill both, and crash the adoption"

_USUAL = {
    KILL_SUPERVISOR: 8, KILL_GUARDIAN: 5, KILL_BOTH: 2, KILL_IN_TURN: 2, KILL_READER: 3,
    STOP_SUPERVISOR: 1, STOP_GUARDIAN: 1, STOP_BOTH: 1, LOOK: 1, CLOCK: 1, CRASH_ADOPTION: 1,
}  # fmt: skip
_OF_KIND = {
    "mcp": {KILL_FORK_SERVER: 4, KILL_SERVER: 4},
    "disk": {FILL: 6},
    "ssh": {KILL_MIRROR: 6, KILL_CONNECTION: 6, LOSE: 4, CRASH_ADOPTION: 0},
}
# Points of system/fault_points.py at which a process of the start, or the supervisor at the end, kills itself
LAUNCHER_POINTS = tuple(
    "make_directory make_files make_meta make_live make_visible send_request send_guardian send_done send_answered".split()
)
START_POINTS = tuple(
    "start_told start_ends start_unmarked start_marked start_spawned start_unrecorded start_recorded".split()
)
OUTPUT_POINTS = ("output_ordered", "output_moved")
END_POINTS = tuple(
    "end_seen end_moved end_unwritten end_written end_history end_reaped end_synced end_unlinked".split()
)
TAKEOVER_POINTS = tuple(f"guardian:takeover_{name}" for name in "seen locked taken recorded".split())
ADOPTION_POINTS = tuple(f"adopt_{name}" for name in "locked sent told opened recorded".split())
_DAY_S = 86_400


@dataclass(frozen=True)
class Act:
    """One thing that happens to a job. `after_ms`: since the output that it meets was released. `hold_ms`: how long it
    lasts. `point`: where a process kills itself."""

    name: str
    after_ms: int = 0
    hold_ms: int = 0
    point: str = ""
    jump_s: int = 0

    def __str__(self) -> str:
        rest = [f"at {self.point}"] if self.point else []
        rest += [f"after {self.after_ms} ms"] if self.after_ms else []
        rest += [f"for {self.hold_ms} ms"] if self.hold_ms else []
        rest += [f"by {self.jump_s} s"] if self.jump_s else []
        return " ".join([self.name, *rest])


@dataclass(frozen=True)
class JobPlan:
    """One job: `lines` on each stream, released in as many parts as there are acts while it runs, and one more."""

    lane: str
    number: int
    kind: str
    code: int
    lines: int
    start: tuple[Act, ...] = ()
    running: tuple[Act, ...] = ()
    end: tuple[Act, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.lane}-{self.number}"

    def __str__(self) -> str:
        told = [f"job {self.name}: {self.kind}, {self.lines} lines, exit code {self.code}"]
        for phase in ("start", "running", "end"):
            told += [f"  {phase}: {act}" for act in getattr(self, phase)]
        return "\n".join(told)


@dataclass
class _Pair:
    """What a plan expects to be alive above a command."""

    guarded: bool = True
    adoptions: int = 0
    most: int = MOST_ADOPTIONS

    def takes(self, name: str) -> bool:
        """Note the death that an act causes. Return False, and note nothing, if that would be one adoption too many."""
        if name == CRASH_ADOPTION:  # the adopter may die, and its guardian be left alone
            if self.most - self.adoptions < 2:
                return False
            self.adoptions += 2
            self.guarded = False
            return True
        both = name in (KILL_BOTH, KILL_IN_TURN) or (
            name in (KILL_SUPERVISOR, KILL_GUARDIAN, CRASH) and not self.guarded
        )
        if both and self.adoptions == self.most:
            return False
        if both:
            self.adoptions += 1
        if name in (KILL_SUPERVISOR, KILL_GUARDIAN, KILL_BOTH, KILL_IN_TURN, CRASH):
            self.guarded = both
        return True


def lane_kind(lane: str) -> str:
    return lane.rstrip("0123456789")


def job(seed: int, lane: str, number: int) -> JobPlan:
    """Return the plan of one job. A lane is one of LANES, perhaps with a number: `local1`."""
    dice = random.Random(f"{seed}/{lane}/{number}")
    kind = dice.choice(LANES[lane_kind(lane)])
    pair = _Pair(most=0 if kind in NO_ADOPTION else MOST_ADOPTIONS)
    start = _start(dice, kind)
    if any(act.point in START_POINTS + OUTPUT_POINTS + TAKEOVER_POINTS for act in start):
        pair.takes(CRASH)
    running = tuple(_running(dice, kind, pair))
    return JobPlan(
        lane, number, kind, code=dice.randint(1, 100), lines=dice.randint(40, 200),
        start=start, running=running, end=_end(dice, kind, start),
    )  # fmt: skip


def _start(dice: random.Random, kind: str) -> tuple[Act, ...]:
    if kind in ("mcp", "slurm") or dice.random() < 0.5:
        return ()
    if dice.random() < 0.3:
        return (Act(KILL_LAUNCHER, after_ms=dice.randint(0, 120)),)
    if kind == "ssh":  # the points of the start are reached on the other machine, where this variable is not
        return (Act(CRASH, point=dice.choice(LAUNCHER_POINTS[:5])),)
    every = (LAUNCHER_POINTS, START_POINTS, START_POINTS, OUTPUT_POINTS, TAKEOVER_POINTS, END_POINTS, END_POINTS)
    points = dice.choice([some for some in every if kind not in NO_ADOPTION or some is not TAKEOVER_POINTS])
    return (Act(CRASH, point=dice.choice(points)),)


def _running(dice: random.Random, kind: str, pair: _Pair) -> list[Act]:
    weights = _USUAL | _OF_KIND.get(kind, {})
    acts = []
    for _ in range(dice.randint(0, 14)):
        name = dice.choices(list(weights), list(weights.values()))[0]
        if not pair.takes(name):
            continue
        jump = dice.choice((-_DAY_S, _DAY_S, -3650 * _DAY_S, 3600)) if name == CLOCK else 0
        point = dice.choice(ADOPTION_POINTS) if name == CRASH_ADOPTION else ""
        acts.append(Act(name, after_ms=dice.randint(0, 12), hold_ms=_held_ms(dice, name), jump_s=jump, point=point))
    return acts


def _held_ms(dice: random.Random, name: str) -> int:
    if name.startswith("stop ") or name in (FILL, LOSE):
        return dice.randint(10, 300)
    longest = {KILL_READER: 150, KILL_IN_TURN: 12}.get(name, 0)
    return dice.randint(longest // 8, longest)


def _end(dice: random.Random, kind: str, start: tuple[Act, ...]) -> tuple[Act, ...]:
    if any(act.point in END_POINTS for act in start) or dice.random() < 0.4:
        return ()
    name = dice.choice((KILL_SUPERVISOR, KILL_SUPERVISOR, KILL_GUARDIAN, KILL_BOTH, KILL_IN_TURN))
    if kind == "disk" and dice.random() < 0.5:
        return (Act(FILL, hold_ms=_held_ms(dice, FILL)), Act(name, after_ms=dice.randint(0, 60)))
    return (Act(name, after_ms=dice.randint(0, 60), hold_ms=_held_ms(dice, name)),)

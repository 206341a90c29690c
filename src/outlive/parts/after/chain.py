"""A chain: several jobs of one call, which wait for each other by their names.

Everything is checked before anything is made, and everything is made before anything is started. Jobs that wait for another
one of the chain are started first. Of the others all but the last wait until that one is there: nothing runs before all are,
so a caller that is killed until then leaves no half of a chain that runs. What waits for a job that never comes fails, and
says so.
"""

from __future__ import annotations

import signal
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import filterfalse
from typing import Any

from outlive import limits, verbs
from outlive.answers import sentences
from outlive.answers.starting import Started, StartedJob
from outlive.core.ids import new_id, short_id
from outlive.core.quoted import one_line
from outlive.core.record import Value
from outlive.core.records import Definition
from outlive.errors import OutliveError, argument, from_os, invalid
from outlive.jobs import adoption, definition, ending, lookup
from outlive.jobs.context import Context
from outlive.jobs.starting import making
from outlive.jobs.starting.plan import Plan, Timing
from outlive.jobs.starting.start_and_wait import StartCall
from outlive.mcp.tools.arguments import Reader
from outlive.parts.after import AFTER, CHAIN, CHAIN_FILE, LAST, asked, checks
from outlive.store.new_job import NewJob
from outlive.system.fds import open_named
from outlive.system.waiting import pause
from outlive.verbs import shared_args
from outlive.verbs.spelling import MCP, spelled

_MOST = 50
_GROUP = "group"
_TAKEN_BACK = "The other jobs of the chain were ended and deleted."
_MAX_BYTES = 1 << 20
_GO_S, _GO_AGAIN_S = 0.25, 0.01  # so long the answer waits for jobs that start when all are there; between two looks
# What is not of one job of a chain, or cannot be kept for it while it waits
_NOT_OF_ONE = ("title", "description", "mask", "dedupe_key", CHAIN, CHAIN_FILE)
_OF_ONE_CALL = (
    "command",
    "script",
    "until",
    "wait",
    "follow",
    "propagate",
    "title",
    "mask",
    "dedupe_key",
    AFTER,
)


class _Link(Value):
    """A job of a chain, as it was asked for."""

    name: str  # "": it has none
    args: dict[str, Any]  # of `run`
    after: list[tuple[str, object]]  # the jobs that it names, and the items that do

    @property
    def shown(self) -> str:
        return f"job {self.name}" if self.name else "a job without a name"


def started(ctx: Context, args: Mapping[str, Any]) -> Started:
    """Check, make and start the jobs of a chain, each after those that it waits for; answer about all of them. `args`: of
    the call, which hold for each job where it has none of its own.

    Errors: those of `run`, with the name of the job; nothing has run then.
    """
    given = next((name for name in _OF_ONE_CALL if args.get(name)), None)
    if given is not None:
        message = f"{argument(given)} is of one job, and this call starts several"
        raise invalid(
            given, message, hint="Name it in the jobs of the chain, as far as they take it. wait tells when they end."
        )
    items = _of_file(args[CHAIN_FILE]) if args.get(CHAIN_FILE) else args[CHAIN]
    links = _in_order(_links(items))
    common = {name: args[name] for name in (arg.name for arg in shared_args.DEFINITION) if name in args}
    plans = _planned(ctx, links, common)
    order = _start_order(plans)
    ctx.asks = None  # of several questions the client could ask but one: approve and the page have them all
    made = _made(ctx, order)
    return _started(ctx, plans, list(zip(order, made, strict=True)))


# --- what was asked for ----------------------------------------------------------------------------------------------


def _of_file(path: str) -> list[object]:
    """Return the jobs of a file: [[jobs]] of TOML. Errors: io_error, invalid_argument."""
    try:
        with open(open_named(path), "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise from_os(f"reading {path}", error) from error
    if len(data) > _MAX_BYTES:
        raise invalid(CHAIN_FILE, f"{path} is longer than {_MAX_BYTES:,} bytes")
    try:
        content = tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise invalid(CHAIN_FILE, f"{path} is not TOML: {error}") from None
    items = content.pop("jobs", None)
    if content or not isinstance(items, list) or not items:
        what = f"has {', '.join(content)}" if content else "has no jobs"
        hint = "A chain is a list of tables: [[jobs]], name, command, after."
        raise invalid(CHAIN_FILE, f"{path} {what}", hint=hint)
    return items


def _links(items: Iterable[object]) -> list[_Link]:
    """Errors: invalid_argument."""
    every = list(items)
    if len(every) > _MOST:
        raise invalid(CHAIN, f"{len(every)} jobs; a chain has at most {_MOST}")
    reader = Reader(verbs.load("run"), "a job of a chain")
    links: list[_Link] = []
    for number, item in enumerate(every, start=1):
        if not isinstance(item, dict):
            hint = 'For example {"name": "tests", "command": "make test", "after": ["build"]}.'
            raise invalid(CHAIN, f"job {number} of the chain is not an object", hint=hint)
        link = _link(reader, dict(item), number)
        if link.name and any(other.name == link.name for other in links):
            raise invalid(CHAIN, f"two jobs of the chain have the name {link.name}")
        links.append(link)
    return links


def _link(reader: Reader, item: dict[str, object], number: int) -> _Link:
    given = item.pop("name", None)
    name = one_line(given) if isinstance(given, str) else ""
    if (given is not None and not name) or len(name) > limits.MAX_TITLE_CHARS:
        raise invalid(CHAIN, f"the name of job {number} is a text of 1 to {limits.MAX_TITLE_CHARS} characters")
    link = _Link(name, {}, [])
    with _Named(link.shown if name else f"job {number} of the chain"):
        args = reader.given(item)
        own = {arg.name for arg in shared_args.DEFINITION}.difference(_NOT_OF_ONE)
        wrong = next((one for one in args if one not in own), None)
        if wrong is not None:
            raise invalid(wrong, f"{argument(wrong)} is not of one job of a chain")
        if args.get("command") is None:
            raise invalid("command", "it has no command")
        after = args.pop(AFTER, None)
        link.after.extend((checks.named(one)[0], one) for one in (after if isinstance(after, list) else []))
        link.args.update(args)
    return link


def _in_order(links: list[_Link]) -> list[_Link]:
    """Return the jobs of a chain, each behind those that it waits for, else in the order given. Errors: invalid_argument for
    a circle."""
    left, order = list(links), list[_Link]()
    names = {link.name for link in links if link.name}
    while left:
        done = {link.name for link in order}
        ready = next((one for one in left if all(job in done or job not in names for job, _ in one.after)), None)
        if ready is None:
            circle = ", ".join(link.name or "a job without a name" for link in left)
            raise invalid(
                CHAIN, f"these jobs wait for each other, or for such: {circle}", hint="None of them could start."
            )
        order.append(ready)
        left.remove(ready)
    return order


# --- what is made of it ----------------------------------------------------------------------------------------------


def _planned(ctx: Context, links: list[_Link], common: Mapping[str, Any]) -> list[Plan]:
    """Return the plan of each job. Errors: those of a plan; nothing is left open then."""
    plans: list[Plan] = []
    known: dict[str, Definition] = {}
    first = new_id()
    try:
        for link in links:
            job_id = new_id() if plans else first
            with _Named(link.shown):
                args = {**common, **link.args, "title": link.name or None}
                if _GROUP in common and args.get(_GROUP) is None:
                    args[_GROUP] = f"chain {short_id(first)}"
                args[AFTER] = [checks.edge(ctx, item, known) for _, item in link.after]
                plans.append(definition.plan(ctx, job_id, start_now=True, **args))
            if link.name:
                known[link.name] = plans[-1].definition
    except BaseException:
        for plan in plans:
            plan.close()
        raise
    return plans


def _made(ctx: Context, plans: list[Plan]) -> list[NewJob]:
    """Make the directories of all jobs. Errors: denied, io_error; nothing is left then."""
    made: list[NewJob] = []
    try:
        for plan in plans:
            with _Named(f"job {plan.definition.name}"):
                made.append(making.make(ctx, plan, live=True))
    except BaseException:
        _take_back(ctx, plans, made)
        raise
    return made


def _started(ctx: Context, plans: list[Plan], pairs: list[tuple[Plan, NewJob]]) -> Started:
    """Start the jobs in the order of `pairs`, and answer about all in that of `plans`."""
    answers: dict[str, Started] = {}
    try:
        for plan, new in pairs:
            ctx.job_id = plan.definition.job_id
            call = StartCall(Timing(yield_ms=0))
            with _Named(f"job {plan.definition.name}", _TAKEN_BACK):
                answers[plan.definition.job_id] = call.start(ctx, plan, new)
    except (OutliveError, OSError):
        begun = [new for _, new in pairs[: len(answers) + 1]]
        _take_back(ctx, plans, [new for _, new in pairs[len(answers) + 1 :]], begun)
        raise
    except BaseException:  # the call was cancelled: what was started hears that the others are gone
        _take_back(ctx, plans, [new for _, new in pairs[len(answers) + 1 :]])
        raise
    until = time.monotonic() + _GO_S
    jobs = [_entry(ctx, plan.definition, until) for plan in plans]
    first = plans[0]
    answer = answers[first.definition.job_id]
    if first.definition.kept.get(LAST) is not None:  # it was answered about before it could start
        with lookup.open_known(ctx.caller, first.definition.job_id) as job:
            answer = StartCall(Timing(yield_ms=0)).answer(ctx, job, None, hint=first.hint)
    answer.jobs = jobs
    return answer


def _start_order(plans: list[Plan]) -> list[Plan]:
    """Return the jobs of a chain, each of which stands behind those that it waits for, in the order in which they are started:
    those that wait for others of them, the last one first, then the others as given. Where these are several, all but the
    last get to know which one has to be there before they run. So does the last if it is of a host: it waits here too, and
    is there before its host has it."""
    ids = {plan.definition.job_id for plan in plans}

    def waits(plan: Plan) -> bool:
        return any(edge.job in ids for edge in asked.of_job(plan.definition))

    first = sorted(filterfalse(waits, plans), key=lambda plan: plan.definition.host is None)
    last = first[-1].definition
    for plan in first if last.host is not None and len(first) > 1 else first[:-1]:
        plan.definition = Definition.replace(plan.definition, kept={**plan.definition.kept, LAST: last.job_id})
    return [*filter(waits, reversed(plans)), *first]


def _entry(ctx: Context, of: Definition, until: float) -> StartedJob:
    """Return what is so of a job. A job that had to hear that the last job is there starts just now."""
    state = "unknown"
    with suppress(OutliveError, OSError), lookup.open_known(ctx.caller, of.job_id) as job:
        state = adoption.inspect_and_adopt(ctx, job).state.state
        while state == "created" and of.kept.get(LAST) is not None and time.monotonic() < until:
            pause((), time.monotonic() + _GO_AGAIN_S)
            state = adoption.inspect_and_adopt(ctx, job).state.state
    return StartedJob(job_id=of.job_id, name=of.name, state=state)


def _take_back(ctx: Context, plans: list[Plan], made: list[NewJob], begun: Sequence[NewJob] = ()) -> None:
    """Delete the jobs that were `made`, and those that were `begun`, which are ended: of the last one it is not known whether
    it has started."""
    for plan in plans:
        plan.close()
    try:
        for new in begun:  # first those that wait
            with suppress(OutliveError, OSError), lookup.open_known(ctx.caller, new.dir.job_id) as job:
                ending.end(ctx, job, signal.SIGKILL, 0, limits.DELETE_S, removing=True)
                ending.delete(ctx, job, ending=True)
    finally:
        for new in made:
            ctx.job_id = new.dir.job_id
            making.unmake(ctx, new)
    ctx.job_id = None


class _Named:
    """Have an error say which job it is about, and what became of the chain."""

    def __init__(self, what: str, became: str = "No job of the chain was started.") -> None:
        self._what, self._became = what, became

    def __enter__(self) -> None:
        return

    def __exit__(self, _type: object, error: object, _traceback: object) -> None:
        if isinstance(error, OutliveError):
            spelled(error, MCP, verbs.load("run").args, texts=False)  # as the jobs of a chain spell it
            error.message = f"{self._what}: {error.message}"
            error.hint = sentences(error.hint, self._became)
            error.details = {**(error.details or {}), "field": CHAIN}

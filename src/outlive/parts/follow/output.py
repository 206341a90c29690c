"""`outlive log -f`, `outlive run -f` and `outlive events -f`: show a job's output, or its events, as they come."""

from __future__ import annotations

import contextlib
import os
import select
import stat
import time
from collections.abc import Callable
from typing import Any

from outlive.cli import call, stdio, summary, text
from outlive.cli.main import ANSWERED, INTERRUPTED, note_told
from outlive.core.ids import short_id
from outlive.core.quoted import visible
from outlive.core.records import STREAMS
from outlive.core.units import duration
from outlive.errors import OutliveError, argument, invalid
from outlive.jobs import adoption, ending, job_answer, lookup, several
from outlive.jobs.context import Context
from outlive.jobs.control_client import ControlClient
from outlive.jobs.interaction import merged_logs, screen
from outlive.parts.follow.printer import Printer
from outlive.render import window
from outlive.render.sources import Decoding, Text, lines_of
from outlive.render.times import Clock, local
from outlive.store import history
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir
from outlive.store.output.line_index import Lines
from outlive.store.output.merged import Output
from outlive.store.output.patterns import Pattern
from outlive.system import fds, waiting
from outlive.verbs import envelope
from outlive.verbs.spec import GlobalOptions, Verb

LINES = 10  # of the output so far, as tail(1)
AGAIN_S = 2.0  # within which a second ^C ends the job
_BLOCK = 65_536


def log(ctx: Context, _verb: Verb, _options: GlobalOptions, **args: Any) -> int:
    """Show the last lines of a job, or of each of several, then what they print. Return the exit status."""
    if args["context"] is not None:
        raise invalid("context", "--follow goes without --context: it shows the lines that match", usage=True)
    if args.get("compare") is not None:
        raise invalid("compare", "--follow goes without --compare: it shows what is printed from now on", usage=True)
    is_one = args["job"] is not None
    given = {"offset": args["offset"], "since_seq": args["since_seq"], "propagate": args["propagate"] or None}
    one_alone = next((name for name, value in given.items() if value is not None), None)
    if not is_one and one_alone is not None:
        raise invalid(one_alone, f"--follow of several jobs goes without {argument(one_alone)}", usage=True)
    with contextlib.ExitStack() as stack:
        jobs = stack.enter_context(several.one_or_several(ctx, args["job"], args))
        for warning in [*ctx.named_by_title(), *ctx.warnings]:
            _note(warning)
        names = [""] if is_one else merged_logs.names_of([(job.read_meta().name, short_id(job.job_id)) for job in jobs])
        followers = [stack.enter_context(_of_log(ctx, job, name, args)) for job, name in zip(jobs, names, strict=True)]
        try:
            _follow(followers, is_told=not is_one)
        except KeyboardInterrupt:
            for follower in (one for one in followers if one.ended is None):
                follower.finish()
                _note(f"{follower.name}job {short_id(follower.job.job_id)} goes on")
            return INTERRUPTED
        return _ended(followers[0], followers[0].ended, propagate=args["propagate"]) if is_one else ANSWERED


def _of_log(ctx: Context, job: JobDir, name: str, args: dict[str, Any]) -> _Follower:
    """Return what shows a job from where its last lines begin. `name` is in front of its lines."""
    stream, wanted = STREAMS[args["stream"]], window.decoding(args.get("encoding"))
    printer = _printer(ctx, raw=args["raw"], search=args.get("search"), timed=args["times"], named=bool(name))
    follower = _Follower(ctx, job, printer, stream, wanted, timed=args["times"], name=name)
    if _fills_its_terminal(ctx, job):
        _note(f"{name}it draws on its terminal: `outlive attach --read-only {short_id(job.job_id)}` shows that")
    follower.at = _beginning(job, stream, wanted, args)
    return follower


def start(ctx: Context, verb: Verb, _options: GlobalOptions, **args: Any) -> int:
    """Start a job by `verb` (run, start or restart), and show what it prints from the beginning. Return the exit
    status."""
    if args["until"]:
        raise invalid("until", "--follow goes without --until: it shows the output until the job ends", usage=True)
    raw = args["raw"]
    answer = verb.run(ctx, **{**args, "wait": False, "yield_ms": 0})
    with lookup.open_known(ctx.caller, answer.job.job_id) as job:
        name = short_id(job.job_id)
        known = ["the job with this key runs already"] if answer.deduplicated else []
        for warning in [*ctx.named_by_title(), *ctx.warnings, *known]:
            _note(warning)
        _note(f"job {name}; ^C leaves it running, twice ends it")
        with _Follower(ctx, job, _printer(ctx, raw=raw), None) as follower:
            try:
                inspection = follower.run()
            except KeyboardInterrupt:
                return _interrupted(ctx, job, follower)
            note_told(ctx, {"job_id": job.job_id, "state": None if inspection is None else inspection.state.state})
            return _ended(follower, inspection, propagate=args["propagate"])


def _interrupted(ctx: Context, job: JobDir, follower: _Follower) -> int:
    """Detach after ^C; end the job if a second one follows soon."""
    name = short_id(job.job_id)
    follower.finish()
    _note(f"^C again within {AGAIN_S:.0f} s ends the job", always=True)
    try:
        inspection = follower.run(time.monotonic() + AGAIN_S)
        if inspection is not None:
            note_told(ctx, {"job_id": job.job_id, "state": inspection.state.state})
            _ended(follower, inspection, propagate=False)
        else:
            note_told(ctx, {"job_id": job.job_id})
            follower.finish()
            _note(f"job {name} goes on; `outlive log -f {name}` shows it, `outlive kill {name}` ends it", always=True)
        return INTERRUPTED
    except KeyboardInterrupt:
        follower.finish()
    _note(f"ending job {name}", always=True)
    with contextlib.suppress(KeyboardInterrupt):  # a third one: the supervisor goes through with it alone
        ending.kill(ctx, job)
        _ended(follower, follower.run(time.monotonic()), propagate=False)
    return INTERRUPTED


def _ended(follower: _Follower, inspection: Inspection | None, *, propagate: bool) -> int:
    """Say how the job ended. Return the exit status."""
    follower.finish()
    if inspection is None:  # stdout has no reader any more
        return ANSWERED
    state = inspection.state
    ran_ms = job_answer.elapsed_ms(inspection) if state.finished else None
    took = "" if ran_ms is None else f" after {duration(ran_ms)}"
    job = short_id(inspection.definition.job_id)
    told = f"{follower.name}job {job} {summary.state_of(state.to_dict())}{took}"
    _note(told, always=state.state in ("failed", "unknown"))
    if not propagate:
        return ANSWERED
    return call.status_of_job(state.to_dict())


def _printer(
    ctx: Context, *, raw: bool, search: str | None = None, timed: bool = False, named: bool = False
) -> Printer:
    style = text.Style.of_stdout(ctx.env)
    return Printer(
        terminal=os.isatty(1) and not named,  # of several jobs no one has the last row
        colour=style.colour,
        raw=raw,
        width=lambda: text.Style.of_stdout(ctx.env).width or 80,
        wanted=_wanted(search),
        timed=timed or named,
    )


def _wanted(pattern: str | None) -> Callable[[str], bool] | None:
    if pattern is None:
        return None
    compiled = Pattern(pattern, field="search")
    return lambda line: any(True for _ in compiled.hits(f"{line}\n".encode("utf-8", "replace")))


def _note(said: str, *, always: bool = False) -> None:
    """Tell the person about the job. A script reads how it ended from the exit status."""
    if always or os.isatty(2):
        stdio.note(f"[{visible(said)}]\n")


def _fills_its_terminal(ctx: Context, job: JobDir) -> bool:
    """Return whether the output of the job is a screen (an editor, a pager), of which lines tell nothing."""
    inspection = adoption.inspect_and_adopt(ctx, job)
    if not inspection.state.terminal:
        return False
    with Output(job) as output:
        return screen.alternate_since(inspection, output, output.end) is not None


def _beginning(job: JobDir, stream: int | None, decoding: Decoding | None, args: dict[str, Any]) -> int:
    with Output(job) as output:
        since: int | None = args["since_seq"]
        if since is not None:
            return min(since, output.end_of(stream))
        with contextlib.closing(lines_of(job, output, stream, window.text_of(output, decoding))) as lines:
            if args["offset"] is not None:
                lines.count()
                total, offset = lines.total(), args["offset"]
                if offset < 0:  # from the end
                    offset = max(0, offset + total)
                first: int = lines.start_of(offset) if offset < total else lines.end
                return first
            return output.steady(_last_lines, lines, LINES if args["limit"] is None else args["limit"])


def _last_lines(lines: Lines, count: int) -> int:
    """Return where the last `count` lines begin, or the gap's end if they begin before it. Reads backwards: the log may
    have gigabytes."""
    hole, stop = lines.hole, lines.end
    least = hole.stop if hole.stop < stop else 0
    if count <= 0:
        return stop
    at, is_last = stop, True
    while at > least:
        low = max(least, at - _BLOCK)
        data = lines.read(low, at)
        end = len(data)
        if is_last and data.endswith(b"\n"):
            end -= 1
        is_last = False
        while (end := data.rfind(b"\n", 0, end)) >= 0:
            count -= 1
            if not count:
                return low + end + 1
        at = low
    return least


class _Follower:
    """Writes a job's output to stdout from a position on."""

    def __init__(
        self,
        ctx: Context,
        job: JobDir,
        printer: Printer,
        stream: int | None,
        decoding: Decoding | None = None,
        *,
        timed: bool = False,
        name: str = "",
    ) -> None:
        self.at = 0
        self.ended: Inspection | None = None  # how, once it has
        self.job = job
        self.name = f"{name} | " if name else ""
        self._ctx = ctx
        self._printer = printer
        self._stream = stream
        self._decoding = decoding
        self._timed = timed
        self._stamp = self.name  # what is in front of what is printed next: with a time
        self.control = ControlClient(job, output=True)
        # A reader that goes away is noticed at once: `log -f JOB | head -3` ends while the job is silent
        self.watched = stat.S_ISFIFO(os.fstat(1).st_mode) or stat.S_ISSOCK(os.fstat(1).st_mode)

    def __enter__(self) -> _Follower:
        return self

    def __exit__(self, *_: object) -> None:
        self.control.close()

    def run(self, until: float | None = None) -> Inspection | None:
        """Show output until the job has ended, and return how; None at `until` (time.monotonic seconds), and when
        stdout has no reader any more."""
        _follow([self], until)
        return self.ended

    def look(self) -> bool:
        """Look at the job, and write what is new. Return False if nothing reads it."""
        # First: what was printed before the end is then shown below
        inspection: Inspection = adoption.inspect_and_adopt(self._ctx, self.job)
        if not self._show():
            return False
        if inspection.state.finished or inspection.state.state == "unknown":
            self.ended = inspection
        return True

    def finish(self) -> None:
        """End the line that was begun."""
        self._write(self._printer.finish())

    def _show(self) -> bool:
        """Write what is new. Return False if nothing reads it."""
        with Output(self.job) as output:
            stop, text = (
                output.end_of(self._stream),
                window.text_of(output, self._decoding) if self.at < output.end else None,
            )
            clock = Clock(output, self._stream) if self._timed else None
            while self.at < stop:
                for stream, data in self._next(output, stop, text, clock):
                    self._printer.feed(stream, data, self._stamp)
                if not self._write(self._printer.take()):
                    return False
        return True

    def _next(self, output: Output, stop: int, text: Text | None, clock: Clock | None) -> list[tuple[int, bytes]]:
        """Return the next pieces as (stream, bytes), and go on behind them. With a clock they were printed together."""
        while True:
            hole = output.gap.of(self._stream)
            at = hole.stop if hole.holds(self.at) else self.at
            upto = min(at + _BLOCK, stop, hole.start if at < hole.start else stop)
            if clock is not None and at < upto:
                upto = min(upto, clock.run_of(at))
                self._stamp = self.name + (f"{local(when)} " if (when := clock.at(at)) else "")
            if text is not None:
                pieces = text.pieces(at, upto, self._stream)
            elif self._stream is None:
                pieces = output.pieces(at, upto)
            else:
                pieces = [(self._stream, output.shown_stream(self._stream, at, upto))]
            if output.gap.of(self._stream) is hole:
                if at > self.at:
                    self._printer.note(f"{self.name}[{at - self.at:,} bytes of output are gone: the job's quota]")
                self.at = upto
                return pieces

    def _write(self, data: bytes) -> bool:
        if self.watched and data and fds.poll(1, 0):
            return False
        stdio.write(data)
        return True


def _follow(followers: list[_Follower], until: float | None = None, *, is_told: bool = False) -> None:
    """Show output until all jobs have ended, until `until` (time.monotonic seconds), or until stdout has no reader any more.
    `is_told`: say of each job how it ended."""
    left = followers
    while True:
        for one in left:
            if not one.look():
                return
            if is_told and one.ended is not None:
                _ended(one, one.ended, propagate=False)
        left = [one for one in left if one.ended is None]
        if not left or (until is not None and time.monotonic() >= until) or not _wait(left, until):
            return


def _wait(followers: list[_Follower], until: float | None) -> bool:
    """Wait until something may have changed. Return False if stdout has no reader any more."""
    every = [one.control.awaited(until) for one in followers]
    awaited = [one for one in every if one is not None]
    if len(awaited) < len(every):
        return True
    poller = select.poll()
    for one in awaited:
        for fd in one.fds:
            poller.register(fd, select.POLLIN)
    if followers[0].watched:
        poller.register(1, 0)  # POLLERR alone
    left_s = min((left_s for one in awaited if (left_s := one.left_s()) is not None), default=None)
    ready = waiting.poll(poller, None if left_s is None else int(left_s * 1000) + 1)
    for follower in followers:
        follower.control.drain()
    return not any(fd == 1 for fd, _ in ready)


def events(
    ctx: Context,
    _verb: Verb,
    _options: GlobalOptions,
    *,
    job: str,
    since_seq: int | None = None,
    since_event: int | None = None,
    **_: object,
) -> int:
    """Print every event so far, then each new one, until none can come any more: one object a line. Return the exit
    status."""
    after, offset = since_event or 0, 0
    with lookup.open_job(ctx, job) as job_dir, contextlib.closing(ControlClient(job_dir, output=False)) as control:
        while True:
            try:
                inspection = adoption.inspect_and_adopt(ctx, job_dir)
            except OutliveError as error:
                if error.code == "job_not_found":  # removed: nothing more can come
                    return ANSWERED
                raise
            fresh, offset = history.read(job_dir, after=after, since_seq=since_seq or 0, offset=offset)
            for event in fresh:
                stdio.json_line(envelope.encoded({"job_id": job_dir.job_id, **event}))
                after = max(after, event["n"])
            if not inspection.supervised and (
                inspection.state.finished or inspection.state.state in ("created", "unknown")
            ):
                return ANSWERED
            control.pause(None)

"""Reads a job root after a power cut with the real verbs, in this process and under another boot id, and names every
promise that is broken (`Reader.broken`). To use it on another program, replace this file and facts.py."""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from outlive import config, verbs
from outlive.cli import parse
from outlive.core.ids import is_id
from outlive.errors import OutliveError, from_os
from outlive.jobs import context
from outlive.store.root import Store
from outlive.system import machine, process
from outlive.verbs import envelope
from outlive.verbs.spec import FULL, GlobalOptions
from power import model
from power.facts import REBOOT, Outcome, Promise

_BOOT = "11111111-0000-4000-8000-000000000000"
_ENDED = frozenset({"exited", "killed", "failed"})
_RAW = re.compile(
    r"Errno|Traceback|(Key|Type|Value|Index|Attribute|Assertion)Error|Bad file descriptor|Input/output error|"
    r"No such file|Is a directory|Not a directory|Invalid argument|Illegal seek"
)
_JOB = re.compile(r'"job_id": *"(\w+)"')
_ASKED = ("status", "log", "tail", "list", "wait", "gc", "events")
_WORDS = {"list": ["--all"], "gc": ["--dry-run"], "wait": ["JOB", "--timeout-ms", "0"]}
_STREAMS = ("stdout", "stderr")


def laid(tree: model.Tree, place: Path) -> None:
    """Make `place` a directory that holds `tree`."""
    shutil.rmtree(place, ignore_errors=True)
    os.mkdir(place, 0o700)
    for path, kind, content in tree:
        where = f"{place}/{path}"
        if kind == "mkdir":
            os.mkdir(where, 0o700)
        elif kind == "create":
            fd = os.open(where, os.O_WRONLY | os.O_CREAT, 0o600)
            os.write(fd, content)
            os.close(fd)
        elif kind == "symlink":
            os.symlink(content.decode(), where)
        else:
            os.mknod(where, 0o600 | (stat.S_IFIFO if kind == "fifo" else stat.S_IFSOCK))


@contextmanager
def another_boot() -> Iterator[None]:
    """Everything that ran before ran before the machine went down."""
    before = process.boot_id(), machine._here
    process._boot_id, machine._here = _BOOT, None
    try:
        yield
    finally:
        process._boot_id, machine._here = before


class _Launcher:
    """Notes for which jobs a supervisor was asked for, to deliver an end, and starts none."""

    def __init__(self) -> None:
        self.sent: set[str] = set()

    def send(self, files: dict[str, int]) -> None:
        request = files["request"]
        found = _JOB.search(os.pread(request, os.fstat(request).st_size, 0).decode())
        assert found
        self.sent.add(found.group(1))

    def prepare(self) -> None:
        return


class Reader:
    """A reader of one root. Use it within `another_boot`."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._launcher = _Launcher()
        self._store: Store | None = None
        self._config = config.Config({}, None)
        self._values = {name: self._parsed(name) for name in _ASKED}

    def state(self, promises: Sequence[Promise], turn: int, *, thorough: bool) -> list[tuple[str, str]]:
        """What the answers of all jobs of one state break: job and sentence. See `broken`."""
        self._launcher.sent.clear()
        try:
            return [(one.job, text) for one in promises for text in self.broken(one, turn, thorough=thorough)]
        finally:
            if self._store is not None:
                self._store.close()
                self._store = None

    def _visible(self) -> set[str]:
        """The ids of all jobs whose directory is in its place."""
        return {name for name in os.listdir(self._root) if is_id(name)}

    def _opened(self) -> Store:
        if self._store is None:  # once for all verbs, as a server does
            self._store = Store.open(str(self._root), {})
        return self._store

    def _parsed(self, name: str) -> dict[str, Any]:
        values = parse.arguments(verbs.load(name), _WORDS.get(name, ["JOB"]), GlobalOptions(), "/")
        return {argument: value for argument, value in values.items() if argument not in ("detail", "follow")}

    def ask(self, name: str, job: str, **more: Any) -> dict[str, Any]:
        """The whole answer of one verb, as the command line prints it."""
        verb, values = verbs.load(name), {**self._values[name], **more}
        if "job" in values:
            values["job"] = [job] if isinstance(values["job"], list | tuple) else job
        try:
            caller = context.Principal(
                self._opened(), self._config, face="cli", owner="cli", client=None, cwd="/", env={},
                launcher=self._launcher, shell_words=("sh", "-c"),
            )  # fmt: skip
            ctx = context.Context(caller, name)
            return envelope.sized(envelope.full(verb.type, verb.run(ctx, **values), ctx), FULL)
        except OutliveError as error:
            return envelope.failure(error)
        except OSError as error:
            return envelope.failure(from_os(f"running outlive {name}", error, on="store"))
        except Exception as error:  # noqa: BLE001 - what the command line makes of it
            return envelope.failure(OutliveError("internal_error", f"{type(error).__name__}: {error}"))

    def broken(self, promise: Promise, turn: int, *, thorough: bool) -> list[str]:
        """What one job's answers break of what was promised: a sentence for each. `turn` chooses the verb that is the
        first to see what the cut left; the others see what that one has written down. If not `thorough`, only three
        of the verbs are asked."""
        if not (self._root / promise.job).is_dir():
            synced = promise.there and (promise.ended is not None or promise.running)
            return ["lost: the job is gone, and its directory was synced"] if synced else []
        first, second = turn % len(_ASKED), turn // len(_ASKED) % len(_ASKED)
        asked = [*_ASKED[first:], *_ASKED[:first]]
        if not thorough:
            asked = list(dict.fromkeys((_ASKED[first], "status", _ASKED[second])))
        answers = {name: self.ask(name, promise.job) for name in asked}
        status = answers["status"]
        output = {}
        if any(promise.least) or thorough or turn % 8 == 0:
            output = {
                name: self.ask("log", promise.job, stream=name, raw=True, max_bytes=1 << 20)
                for name in ("both", *_STREAMS)
            }
        found = [*_raw_errors({**answers, **output})]
        if not status["ok"]:
            return [*found, f"readable: status says {status['error']['message']!r}"]
        found += _misjudged(promise, status)
        found += _disagreeing(promise, status, answers, self._visible())
        if promise.there:
            found += _lost_output(promise, output) if output else []
            tags = frozenset(status.get("tags") or ())
            if promise.tags and tags not in promise.tags:
                found.append(f"tags: {sorted(promise.tags[0])} were answered, and now they are {sorted(tags)}")
        known = promise.running or promise.ended is not None
        if (
            promise.sinks
            and promise.there
            and known
            and status["state"] in _ENDED
            and promise.job not in self._launcher.sent
        ):
            found.append("sinks: its end is delivered to nobody")
        return found


def _raw_errors(answers: dict[str, dict[str, Any]]) -> Iterator[str]:
    for name, answer in answers.items():
        error = answer.get("error") if not answer["ok"] else None
        text = f"{error['code']}: {error['message']}" if error else str(answer.get("message") or "")
        if (error and error["code"] == "internal_error") or _RAW.search(f"{text} {answer.get('damage') or ''}"):
            yield f"raw error: {name} answers {text!r}"


def _misjudged(promise: Promise, status: dict[str, Any]) -> Iterator[str]:
    said, state = Outcome.of(status), status["state"]
    if promise.ended is not None:
        if said != promise.ended and promise.there:
            yield f"end: {promise.ended} was synced, and now it is {said} ({status.get('damage') or status.get('message')})"
    elif state == "running":
        yield "for ever: it is said to run, after a reboot"
    elif state == "created":
        if not promise.created:
            yield "for ever: it is said to wait for its start, which was made"
    elif state == "unknown":
        if promise.running and promise.there:
            yield f"running: that it ran was synced, and now it is unknown ({status.get('damage')})"
        elif not status.get("damage"):
            yield "damage: it is unknown, and nothing says why"
    elif said.reason == "lost":
        if promise.running:
            yield f"running: it is {REBOOT}, and is said to be {said}"
    elif said not in promise.possible:
        yield f"words: it is said to be {said} ({status.get('message')}), and only {promise.possible} can be true"


def _disagreeing(
    promise: Promise, status: dict[str, Any], answers: dict[str, dict[str, Any]], visible: set[str]
) -> Iterator[str]:
    for name in ("log", "tail", "wait"):
        answer = answers.get(name)
        if answer and answer["ok"] and answer.get("state") != status["state"]:
            yield f"agreement: status says {status['state']}, {name} says {answer.get('state')}"
    if answers.get("list", {}).get("ok"):
        listed = {one["job_id"]: one["state"] for one in answers["list"]["jobs"]}
        if listed.get(promise.job) != status["state"]:
            yield f"list: it has {listed.get(promise.job)} for a job that is {status['state']}"
        unlisted = visible - listed.keys()  # a mark without a directory counts as skipped, and is no job
        if unlisted:
            yield f"list: it leaves out {sorted(unlisted)}"
    for name in ("list", "gc"):
        if name in answers and not answers[name]["ok"]:
            yield f"readable: {name} says {answers[name]['error']['message']!r}"


def _lost_output(promise: Promise, output: dict[str, dict[str, Any]]) -> Iterator[str]:
    both = output["both"]
    for stream in (0, 1):
        least, whole, log = promise.least[stream], promise.whole[stream], output[_STREAMS[stream]]
        if not log["ok"]:
            if least:
                yield f"output: {least} bytes were synced, and log says {log['error']['message']!r}"
            continue
        shown = log["output"].encode()
        if promise.holes:
            continue
        if shown[:least] != whole[:least]:
            yield f"output: of {_STREAMS[stream]} {whole[:least]!r} was synced, and log shows {shown!r}"
        elif any(byte not in (0, whole[least + at]) for at, byte in enumerate(shown[least : len(whole)])):
            yield f"output: {_STREAMS[stream]} was {whole!r}, and log shows {shown!r}"
        elif len(shown) > len(whole):
            yield f"output: {_STREAMS[stream]} was {whole!r}, and log shows more: {shown!r}"
        lines = set(whole[:least].decode().replace("\r", "").splitlines())
        missing = lines - set(both.get("output", "").splitlines()) if both["ok"] else set()
        if missing and not both.get("truncated"):
            yield f"output: {sorted(missing)} of {_STREAMS[stream]} were synced, and log of both does not show them"

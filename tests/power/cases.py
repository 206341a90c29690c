"""The jobs that are recorded: each is what people do with one, and writes its files in an order of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from power import model, recorder
from support import pair
from support.wait import until

_RECORDER = Path(recorder.__file__)
_GONE_S = 60


class Session:
    """Runs the command line under the recorder. `base` is recorded, and holds the root; `log` lies outside."""

    def __init__(self, base: Path, log: Path, home: Path) -> None:
        self.base, self.log, self.root = base, log, base / "root"
        home.mkdir(exist_ok=True)
        outer = ("OUTLIVE", "XDG_", "CLAUDE")
        self._env = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
        self._env |= {"HOME": str(home), "OUTLIVE_ROOT": str(self.root), "PATH": os.environ["PATH"]}
        self._home = home
        self._recorder = recorder.Recorder(str(log), str(base))

    def __call__(self, *words: str, recorded: bool = True) -> dict[str, Any]:
        """Run `outlive` and return its answer, which is recorded as well."""
        under = [str(_RECORDER), str(self.log), str(self.base), "outlive"] if recorded else ["-m", "outlive"]
        done = subprocess.run(
            [sys.executable, *under, *words],
            env=self._env, cwd=self._home, stdin=subprocess.DEVNULL, capture_output=True, check=False,
        )  # fmt: skip
        assert done.stdout, done.stderr.decode()
        answer: dict[str, Any] = json.loads(done.stdout)
        assert answer["ok"], answer
        self._recorder.mark(answer=answer)
        return answer

    def run(self, command: str, *flags: str) -> str:
        """Start a job in the background and return its id."""
        return str(self("run", "--snapshot-after", "0", *flags, "--", command)["job_id"])

    def over(self, job: str) -> None:
        """Wait until nothing of the job is left, and record how it ended."""
        self("wait", job)
        until(lambda: not pair.is_supervised(self.root, job), _GONE_S, "the end of the supervisor")
        self("status", job, recorded=False)

    def seen(self, job: str, text: bytes, stream: str = "stdout") -> None:
        """Wait until the job has put out a text."""
        until(lambda: text in (self.root / job / f"{stream}.log").read_bytes(), what=f"{text!r}")

    def recording(self) -> model.Recording:
        return model.Recording.load(self.log)


def _plain(outlive: Session) -> None:
    outlive.over(outlive("run", "--wait", "--", "echo early; exit 7")["job_id"])


def _both_streams(outlive: Session) -> None:
    command = (
        "echo a1; echo b1 >&2; sleep 0.1; echo a2; sleep 0.1; echo b2 >&2; sleep 0.1; echo b3 >&2; echo a3; exit 3"
    )
    outlive.over(outlive.run(command))


def _late_output(outlive: Session) -> None:
    command = "(sleep 0.4; echo late; sleep 0.1; echo later >&2) & echo early; exit 7"
    outlive.over(outlive("run", "--wait", "--", command)["job_id"])


def _terminal(outlive: Session) -> None:
    outlive.over(outlive("run", "--wait", "--pty", "--", "echo early; exit 7")["job_id"])


def _timeout(outlive: Session) -> None:
    outlive.over(outlive("run", "--wait", "--timeout", "300", "--", "echo early; exec sleep 100")["job_id"])


def _killed(outlive: Session) -> None:
    job = outlive.run("sleep 100 & echo early; sleep 100 & wait; exit 7")
    outlive.seen(job, b"early")
    outlive("kill", job)
    outlive.over(job)


def _progress(outlive: Session) -> None:
    job = outlive.run("echo early; exec sleep 100", "--progress-every", "150")
    outlive.seen(job, b"early")
    for _ in range(2):  # the sync of another job commits the names of this one
        outlive.over(outlive("run", "--wait", "--", "echo other")["job_id"])
    outlive("kill", job, "--signal", "KILL")
    outlive.over(job)


def _kill_is_ignored(outlive: Session) -> None:
    job = outlive.run("trap '' TERM; echo early; while :; do sleep 100; done")
    outlive.seen(job, b"early")
    outlive("kill", job, "--grace-ms", "60s", "--wait-ms", "0")
    outlive.over(outlive("run", "--wait", "--", "echo other")["job_id"])
    outlive("kill", job, "--signal", "KILL")
    outlive.over(job)


def _changed(outlive: Session) -> None:
    job = outlive.run("echo early; exec sleep 100")
    outlive.seen(job, b"early")
    outlive("tag", "set", job, "--tag", "one")
    outlive("notify", "set", job, "--file", str(outlive.base / "told"))
    outlive("tag", "set", job, "--tag", "two")
    outlive("kill", job)
    outlive.over(job)


def _quota(outlive: Session) -> None:
    command = (
        "i=0; while [ $i -lt 4 ]; do head -c 30000 /dev/zero | tr '\\0' $i; echo; sleep 0.1; i=$((i+1)); done; exit 4"
    )
    outlive.over(outlive("run", "--wait", "--quota-bytes", "65536", "--", command)["job_id"])


def _created(outlive: Session) -> None:
    job = outlive("create", "--", "echo early; exit 7")["job_id"]
    outlive("start", job, "--wait")
    outlive.over(job)


def _deleted(outlive: Session) -> None:
    first = outlive("run", "--wait", "--", "echo first; exit 7")["job_id"]
    outlive.over(first)
    second = outlive("run", "--wait", "--", "echo second; exit 8")["job_id"]
    outlive.over(second)
    outlive("gc", "--max-jobs", "1")
    outlive("remove", second)


def _sinks(outlive: Session) -> None:
    told = str(outlive.base / "told")
    flags = ["--notify-file", told, "--notify-command", "cat >/dev/null", "--watch", "early"]
    outlive.over(outlive("run", "--wait", *flags, "--", "echo early; exit 7")["job_id"])


def _input(outlive: Session) -> None:
    job = outlive.run("read line; echo got $line; read line; echo got $line; exit 5", "--stdin", "open")
    outlive("write", job, "--data", "words\n")
    outlive.seen(job, b"got words")
    outlive("write", job, "--data", "more\n")
    outlive.over(job)


class Case(NamedTuple):
    """`width`: of each set of names, so many combinations of contents are tried (model.py). It is less where the
    recording is long, so that each case has about 8,000 different states."""

    run: Callable[[Session], None]
    width: int


CASES = {
    "plain": Case(_plain, 128), "both streams": Case(_both_streams, 64), "late output": Case(_late_output, 112),
    "terminal": Case(_terminal, 128), "timeout": Case(_timeout, 128), "killed": Case(_killed, 128),
    "progress": Case(_progress, 12),
    "kill is ignored": Case(_kill_is_ignored, 24),
    "changed": Case(_changed, 72), "quota": Case(_quota, 12), "created": Case(_created, 128),
    "deleted": Case(_deleted, 56), "sinks": Case(_sinks, 80), "input": Case(_input, 256),
}  # fmt: skip
FEW = ("late output", "progress", "changed")  # of the default tier


def recorded(name: str, place: Path) -> model.Recording:
    """Record one case below `place`. The recorded directory is `place`/base."""
    base = place / "base"
    base.mkdir(parents=True)
    session = Session(base, place / "log", place / "home")
    CASES[name].run(session)
    return session.recording()

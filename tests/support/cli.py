"""The installed command, driven as a user or a script drives it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from outlive.system.tree import COOKIE
from support import pair, schema
from support.preloaded import OUTLIVE
from support.wait import until


@dataclass(frozen=True)
class Answer:
    """What one call gave: exit status, the one object of stdout, stderr as text. `answer["job_id"]` reads the object."""

    status: int
    json: dict[str, Any]
    stderr: str

    def __getitem__(self, name: str) -> Any:
        return self.json[name]


class Text(NamedTuple):
    """What a call gave that is no object: --help, --version, --human."""

    status: int
    stdout: str
    stderr: str


class Cli:
    """Runs `outlive` in this test's environment. `env` of a call is laid over it; a value None takes a name away."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def run(
        self,
        *argv: str | os.PathLike[str],
        input: str | bytes | None = None,
        env: Mapping[str, str | None] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        timeout: float = 60,
    ) -> Answer:
        """One call and its one object, which keeps every schema and whose exit status says what the object says."""
        text = self.text(*argv, input=input, env=env, cwd=cwd, timeout=timeout)
        answer = Answer(text.status, one_object(text), text.stderr)
        _check_status(answer, argv, logs="OUTLIVE_LOG" in environment(env))
        schema.check_answer(answer.json)
        return answer

    def ok(self, *argv: str | os.PathLike[str], **how: Any) -> dict[str, Any]:
        """The object of a call that must be answered."""
        answer = self.run(*argv, **how)
        assert answer.json["ok"], f"outlive {_shown(argv)}: {answer.json['error']}"
        return answer.json

    def error(self, *argv: str | os.PathLike[str], code: str, status: int | None = None, **how: Any) -> dict[str, Any]:
        """The `error` of a call that must fail with this code (and this exit status)."""
        answer = self.run(*argv, **how)
        assert not answer.json["ok"], f"outlive {_shown(argv)} was answered: {answer.json}"
        assert answer.json["error"]["code"] == code, answer.json["error"]
        assert status in (None, answer.status), f"exit status {answer.status}, not {status}: {answer.json['error']}"
        found: dict[str, Any] = answer.json["error"]
        return found

    def text(
        self,
        *argv: str | os.PathLike[str],
        input: str | bytes | None = None,
        env: Mapping[str, str | None] | None = None,
        cwd: str | os.PathLike[str] | None = None,
        timeout: float = 60,
    ) -> Text:
        """One call whatever it prints. stdout ends when the call does: nothing it started may hold the pipe."""
        data = input.encode() if isinstance(input, str) else input
        stdin: dict[str, Any] = {"stdin": subprocess.DEVNULL} if data is None else {"input": data}
        done = subprocess.run(
            [*OUTLIVE, *(os.fspath(word) for word in argv)],
            capture_output=True,
            env=environment(env),
            cwd=cwd,
            timeout=timeout,
            check=False,
            start_new_session=_is_of_job(env),
            **stdin,
        )
        stderr = done.stderr.decode()
        assert "Traceback" not in stderr, stderr
        return Text(done.returncode, done.stdout.decode(), stderr)

    def spawn(
        self,
        *argv: str | os.PathLike[str],
        env: Mapping[str, str | None] | None = None,
        **how: Any,
    ) -> subprocess.Popen[bytes]:
        """A call that goes on while the test does other things. Use it as a context manager, or wait for it."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        how = {**pipes, "start_new_session": _is_of_job(env), **how}
        process: subprocess.Popen[bytes] = subprocess.Popen(
            [*OUTLIVE, *(os.fspath(word) for word in argv)], env=environment(env), **how
        )
        return process

    @contextlib.contextmanager
    def stopped_at(
        self, point: str, *argv: str | os.PathLike[str], env: Mapping[str, str | None] | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A call that has stopped itself at a fault point. It goes on at SIGCONT, at the latest when the block is left, which
        waits for its end. If it ends without having come there, the test fails with what it said."""
        with self.spawn(*argv, env={**(env or {}), "OUTLIVE_CRASH_AT": f"stop:{point}"}) as call:
            until(lambda: pair.is_stopped(call.pid) or call.poll() is not None, what=f"a stop at {point}")
            said = b"" if call.poll() is None else b"".join(call.communicate())
            assert call.poll() is None, (
                f"outlive {_shown(argv)} did not come to {point}: {call.poll()}, {said.decode()}"
            )
            try:
                yield call
            finally:
                call.send_signal(signal.SIGCONT)
                call.communicate(timeout=60)


class Jobs:
    """All jobs of the test. `keeps_ended`: no later test has the root, so jobs that are over may stay in it."""

    def __init__(self, cli: Cli, *, keeps_ended: bool = False) -> None:
        self._cli = cli
        self._keeps_ended = keeps_ended

    def all(self) -> list[dict[str, Any]]:
        """Every job of the root, as `list` tells it."""
        found: list[dict[str, Any]] = self._cli.ok("list", "--all", "--limit", "0")["jobs"]
        return found

    def end(self, *flags: str) -> None:
        """Kill and delete every job, as a user would; one that is over costs no process if it may stay."""
        for path in self._cli.root.glob("[0-9]*"):  # a look at the directory costs less than `list`
            if not self._keeps_ended or not self._is_over(path):
                until(lambda path=path: self._is_removed(path.name, *flags), timeout=60, what="the job removed")

    def _is_over(self, path: Path) -> bool:
        try:
            state = json.loads((path / "state.json").read_bytes())["state"]
            return state in ("exited", "killed", "failed") and not pair.is_supervised(self._cli.root, path.name)
        except (OSError, ValueError, TypeError, KeyError):  # it is damaged, or goes away
            return False

    def _is_removed(self, job: str, *flags: str) -> bool:
        """Remove a job. On a very busy machine its supervisor takes longer to answer than a call waits: then the answer
        says that the same call may succeed later, and False is returned."""
        answer = self._cli.run("remove", job, *flags).json
        assert answer["ok"] or answer["error"]["retryable"], answer["error"]
        return bool(answer["ok"])


def configured(place: Path, text: str) -> Path:
    """Write the configuration file of the user whose home is in `place`, and return its path."""
    path = place / "home/.config/outlive/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def environment(changes: Mapping[str, str | None] | None = None) -> dict[str, str]:
    """This test's environment with some changes."""
    found = dict(os.environ)
    for name, value in (changes or {}).items():
        if value is None:
            found.pop(name, None)
        else:
            found[name] = value
    return found


def _is_of_job(env: Mapping[str, str | None] | None) -> bool:
    """Return whether a call is to look like one of a job, which is in no session with a person: a person's call in the
    session of all tests would be refused as long as it runs."""
    return COOKIE in (env or {})


def answer_of(call: subprocess.CompletedProcess[bytes] | subprocess.Popen[bytes]) -> dict[str, Any]:
    """The one JSON object of a call that is over, or whose end is waited for."""
    if isinstance(call, subprocess.Popen):
        stdout, stderr = call.communicate(timeout=60)
    else:
        stdout, stderr = call.stdout, call.stderr
    return one_object(Text(call.returncode, stdout.decode(), (stderr or b"").decode()))


def one_object(text: Text) -> dict[str, Any]:
    """The one JSON object of stdout; AssertionError if there is more, less or something that is not JSON."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in found]
        assert len(set(names)) == len(names), f"a name twice in one object: {names}"
        return dict(found)

    def constant(word: str) -> Any:
        raise AssertionError(f"{word} is not JSON")

    decoder = json.JSONDecoder(object_pairs_hook=pairs, parse_constant=constant)
    said = f"exit status {text.status}, stdout {text.stdout[:2000]!r}, stderr {text.stderr[:2000]!r}"
    try:
        found, end = decoder.raw_decode(text.stdout)
    except ValueError as error:
        raise AssertionError(f"stdout is not one JSON object ({error}): {said}") from None
    assert isinstance(found, dict), f"stdout is JSON, but not an object: {said}"
    assert text.stdout[end:] == "\n", f"after the object comes {text.stdout[end:][:200]!r}, not one newline: {said}"
    return found


def _check_status(answer: Answer, argv: tuple[str | os.PathLike[str], ...], *, logs: bool) -> None:
    said = f"outlive {_shown(argv)}: exit status {answer.status} with {answer.json}"
    if answer.json.get("ok"):
        assert answer.status == 0 or "--propagate" in argv, said
    else:
        assert answer.status in (1, 2), said
    # stderr is for logs that were asked for, and for the usage of a call that was worded wrongly.
    logs = logs or bool({"-v", "-vv", "--verbose"} & set(argv))
    assert logs or answer.status == 2 or not answer.stderr, f"{said}; unasked for on stderr: {answer.stderr!r}"


def _shown(argv: tuple[str | os.PathLike[str], ...]) -> str:
    return " ".join(map(str, argv))

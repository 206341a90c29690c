"""One verb on either face: the command line, or the tools of an MCP server."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from outlive.verbs import load
from outlive.verbs.spec import SECONDS, WORDS, Arg
from support.cli import Cli, Text, one_object
from support.mcp_client import McpSession, ToolAnswer
from support.wait import until

BOUND_S = 60


class Begun:
    """A call that goes on while the test does other things. `result` waits for its object."""

    def __init__(self, call: subprocess.Popen[bytes] | Future[ToolAnswer]) -> None:
        self._call = call

    def is_done(self) -> bool:
        return self._call.done() if isinstance(self._call, Future) else self._call.poll() is not None

    def result(self) -> dict[str, Any]:
        if isinstance(self._call, Future):
            return self._call.result(BOUND_S).result
        stdout, _ = self._call.communicate(timeout=BOUND_S)
        return one_object(Text(self._call.returncode, stdout.decode(), ""))


class Face:
    """`face.ok("wait", job, timeout_ms=50)` is `outlive wait --timeout-ms=50 JOB`, or `process` with action=wait. An
    argument has the name of the parameter of the verb's function; the declaration of the verb says how each face spells
    it. A call says `yield_ms` where it matters how long the answer may take."""

    def __init__(self, name: str, cli: Cli, session: McpSession) -> None:
        self.name = name
        self._cli = cli
        self._session = session

    def ask(self, verb: str, job: str | None = None, /, **given: Any) -> dict[str, Any]:
        """Return the object of a call, whatever it says."""
        given = _named(job, given)
        if self.name == "cli":
            return self._cli.run(*words_of(verb, given), timeout=BOUND_S).json
        tool, arguments = arguments_of(verb, given)
        return self._session.call(tool, **arguments).result

    def ok(self, verb: str, job: str | None = None, /, **given: Any) -> dict[str, Any]:
        """Return the object of a call that must be answered."""
        answer = self.ask(verb, job, **given)
        assert answer["ok"], f"{self.name} {verb} {given}: {answer['error']}"
        return answer

    def error(self, verb: str, job: str | None = None, /, *, code: str, **given: Any) -> dict[str, Any]:
        """Return the `error` of a call that must fail with this code. A field in its details has the name of the
        parameter, on both faces."""
        answer = self.ask(verb, job, **given)
        assert not answer["ok"], f"{self.name} {verb} {given} was answered: {answer}"
        error: dict[str, Any] = answer["error"]
        assert error["code"] == code, error
        field = (error.get("details") or {}).get("field")
        named = [name for name in _declared(verb, self.name) if self.spelt(verb, name) == field]
        return error | ({"details": {**error["details"], "field": named[0]}} if named else {})

    def begin(self, verb: str, job: str | None = None, /, **given: Any) -> Begun:
        given = _named(job, given)
        if self.name == "cli":
            return Begun(self._cli.spawn(*words_of(verb, given)))
        tool, arguments = arguments_of(verb, given)
        return Begun(self._session.begin(tool, **arguments))

    def until(self, job: str, condition: Callable[[dict[str, Any]], Any], what: str, verb: str = "status") -> Any:
        """Return the first answer about a job of which the condition is true."""
        return until(lambda: (found := self.ok(verb, job)) and condition(found) and found, what=what)

    def background(self, command: Any, **given: Any) -> str:
        """Return the id of a job that is not waited for."""
        job: str = self.ok("run", command=command, yield_ms=0, **given)["job_id"]
        return job

    def spelt(self, verb: str, parameter: str) -> str:
        """Return how errors on this face name an argument."""
        arg = _declared(verb, self.name)[parameter]
        return arg.mcp if self.name == "mcp" else arg.cli if arg.cli.startswith("-") else arg.cli.lower()


def _declared(verb: str, face: str) -> dict[str, Arg]:
    return {arg.name: arg for arg in load(verb).args if (arg.mcp if face == "mcp" else arg.cli)}


def _named(job: str | None, given: dict[str, Any]) -> dict[str, Any]:
    return given if job is None else {"job": job, **given}


def words_of(verb: str, given: dict[str, Any]) -> list[str]:
    """Return the words of a command line."""
    declared, flags, rest = _declared(verb, "cli"), [], []
    for name, value in given.items():
        arg = declared[name]
        if arg.kind == WORDS and not isinstance(value, str):
            rest += ["--", *value]
        elif not arg.cli.startswith("-"):
            rest += [value] if isinstance(value, str) else value
        elif isinstance(value, bool):
            flags += [arg.cli] if value else []
        else:
            several = [f"{key}={one}" for key, one in value.items()] if isinstance(value, dict) else value
            flags += [f"{arg.cli}={_text(one)}" for one in (several if isinstance(several, (list, tuple)) else [value])]
    return [*verb.split(), *flags, *rest]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def arguments_of(verb: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the tool and its arguments."""
    declared = _declared(verb, "mcp")
    named = {
        declared[name].mcp: value / 1000 if declared[name].kind == SECONDS else value for name, value in given.items()
    }
    return ("exec", named) if verb == "run" else ("process", {"action": load(verb).action, **named})

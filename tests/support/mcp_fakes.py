"""Verbs that start nothing, for the tests of the MCP server; they are shaped like the real ones."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from outlive import config, limits
from outlive.core.records import EXEC
from outlive.jobs.context import Context
from outlive.mcp import server
from outlive.mcp.job_environment import JobEnvironment
from outlive.mcp.tools.call import Calls, Tools
from outlive.system.waiting import pause
from outlive.verbs import spec
from outlive.verbs.spec import Arg, Verb
from support.given import Given

ID = "01JD0000000000000000ABCDEF"
OPEN: list[Calls] = []  # what the tests of a server close again


class Recorder:
    """What the fake verbs were called with."""

    def __init__(self) -> None:
        self.args: dict[str, Any] = {}
        self.ctx: Context | None = None
        self.closed = 0
        self.waiting = 0
        self.answer: dict[str, Any] = {"job_id": ID, "state": "exited", "exit_code": 0, "output": "hello\n"}

    def at_once(self, ctx: Context, **args: Any) -> Given:
        self.ctx, self.args = ctx, args
        return Given(**self.answer)

    def fails(self, ctx: Context, **args: Any) -> Given:
        raise RuntimeError("the disk is made of cheese")

    def fails_late(self, ctx: Context, **args: Any) -> Given:
        ctx.job_id = ID
        raise RuntimeError("after the start")

    def odd(self, ctx: Context, **args: Any) -> Given:
        return Given(job_id=ID, state="running", cwd="/tmp/\udcff", path="\ud800")

    def until_cancelled(self, ctx: Context, **args: Any) -> Given:
        self.args = args
        try:
            self.waiting += 1
            pause((), time.monotonic() + 30)
            return Given(**self.answer)
        finally:
            self.closed += 1


def run_verb(run: Any) -> Verb:
    args = (
        Arg("command", spec.WORDS, "The command. A string is for the shell.", required=True, cli="WORDS"),
        Arg("cwd", spec.PATH, "Where it runs.", mcp="workdir", aliases=("cwd",)),
        Arg("env", spec.ENV, "Literal values."),
        Arg("mask", spec.STRS, "Names shown as ***.", default=[]),
        Arg("timeout_ms", spec.MS, "End it after so long.", cli="--timeout", mcp="", default=0),
        Arg(
            "timeout_ms",
            spec.SECONDS,
            "End it after so long.",
            cli="",
            mcp="timeout",
            aliases=("timeoutSeconds",),
            mcp_default=1800.0,
        ),
        Arg("idle_timeout_ms", spec.MS, "End it after so long without output.", default=0),
        Arg("yield_ms", spec.MS, "Answer after this long.", default=limits.YIELD_MS, cli="--snapshot-after"),
        Arg("background", spec.BOOL, "Answer at once.", default=False, cli=""),
        Arg("until", spec.ITEMS, "What to wait for.", default=()),
        Arg("wait", spec.BOOL, "Answer when it ended.", default=False, mcp=""),
        Arg("stdin", spec.STR, "Its input.", default="closed", choices=("open", "closed")),
        Arg("tags", spec.STRS, "Tags.", default=[], mcp="tags"),
        Arg("title", spec.STR, "A name."),
        spec.MAX_BYTES,
    )
    return Verb("run", "Run a command.", run, args=args, right=EXEC)


def process_verbs(calls: Recorder) -> dict[str, Verb]:
    timeout = Arg("timeout_ms", spec.MS, "How long to wait.", default=0)
    verbs = [
        Verb("poll", "New output.", calls.at_once, args=(spec.JOB, spec.SINCE_SEQ, timeout, spec.MAX_BYTES)),
        Verb(
            "log", "Any output.", calls.at_once, args=(spec.JOB, Arg("limit", spec.INT, "Lines.", minimum=0), spec.RAW)
        ),
        Verb("tail", "The end.", calls.at_once, args=(spec.JOB, Arg("tail_lines", spec.INT, "Lines.", default=50))),
        Verb("wait", "Wait.", calls.until_cancelled, args=(spec.JOB, Arg("timeout_ms", spec.MS, "How long to wait."))),
        Verb(
            "kill",
            "End it.",
            calls.at_once,
            args=(
                spec.JOB,
                Arg("signal", spec.STR, "Which.", default="TERM"),
                Arg("grace_ms", spec.MS, "Before KILL.", default=5000),
                Arg("wait_ms", spec.MS, "How long to wait."),
            ),
        ),
        Verb("tag set", "Tags.", calls.at_once, args=(spec.JOB, Arg("tags", spec.STRS, "All tags.", default=[]))),
        Verb("list", "Jobs.", calls.at_once, args=(Arg("ratio", spec.FLOAT, "A number.", maximum=1),)),
        Verb("clear", "Fails.", calls.fails, args=(spec.JOB,)),
        Verb("status", "Odd.", calls.odd, args=(spec.JOB,)),
    ]
    for verb in verbs:
        verb.right = EXEC
    return {verb.action: verb for verb in verbs}


def tools(
    calls: Recorder, *, offers: tuple[str, ...] = ("exec", "process"), env: Mapping[str, str] | None = None
) -> Tools:
    return Tools(
        run_verb(calls.at_once),
        process_verbs(calls),
        offers,
        config.load({"XDG_CONFIG_HOME": "/nonexistent", **(env or {})}),
    )


def fake_server(calls: Recorder, root: str, **options: Any) -> Any:
    found = config.load({"XDG_CONFIG_HOME": "/nonexistent"})
    environment = JobEnvironment({"PATH": "/usr/bin:/bin"})
    runner = Calls(tools(calls, **options), found, environment, root=root, launcher=None)
    OPEN.append(runner)
    return server.build(runner, found, server.of_client({}, isolate=False))

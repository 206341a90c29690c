"""The connection of `outlive mcp` until the SDK serves it.

A client that waits for our tools shall not wait for the SDK, and many sessions never call a tool.
So the first requests are answered from the declarations alone (first_answers.py). Then the fork
server and the login shell start. The SDK is imported at the first request that it has to answer.
"""

from __future__ import annotations

import os
import signal
import sys
from contextlib import closing
from functools import partial
from itertools import islice

from outlive import verbs
from outlive.answers.listing import List
from outlive.config import Config
from outlive.core.ids import new_id
from outlive.core.record import Value
from outlive.errors import OutliveError
from outlive.jobs import context
from outlive.launch.fork_server_client import Launcher, start
from outlive.mcp import shown
from outlive.mcp.caller import on_stdio
from outlive.mcp.introduction import Introduction, in_plugin
from outlive.mcp.job_environment import JobEnvironment, job_directory
from outlive.mcp.stdio import first_answers
from outlive.mcp.stdio.wire import Wire
from outlive.mcp.tools import listing
from outlive.mcp.tools.offer import shell_of
from outlive.store.inbox import Inbox
from outlive.store.root import Store

_TOGETHER_MS = 20  # a client that asks for tools soon after something else does so within this time
_MANY = 100  # requests that wait for the SDK; a client that sends so many has asked for the tools or never will
_MANY_BYTES = 1_048_576  # of them
_FEW_JOBS = 1000  # so many are read in a tenth of a second
_QUIET_MS = 1000  # a client that shook hands and then asks nothing for so long waits for nothing


def log(line: str) -> None:
    sys.stderr.write(f"outlive mcp: {line}\n")
    sys.stderr.flush()


class Settings(Value):
    """What the server is started with: the arguments of the command, and the job root."""

    tools: frozenset[str]
    root: str | None = None
    channel: bool = False
    isolate: bool = False
    answers: str | None = None


class Session:
    """The connection to the client that started this process. A signal of `ENDING` ends it."""

    ENDING = (signal.SIGINT, signal.SIGTERM)

    def __init__(self, settings: Settings, configuration: Config, wire: Wire) -> None:
        self.settings = settings
        self.config = configuration
        self.wire = wire
        self.launcher: Launcher | None = None  # None until `prepare`
        self.environment: JobEnvironment | None = None
        self.workdir_required = in_plugin(os.environ)
        about = Introduction(settings.tools, channel=settings.channel, workdir_required=self.workdir_required)
        self.front = first_answers.FirstAnswers(about, self._tools)

    def serve_first(self) -> bool:
        """Answer until the SDK is needed, and return whether it is; else the client is gone. What the SDK has to answer
        waits until everything else that came with it is answered: Claude Code lists resources right before it lists
        tools."""
        waiting: list[bytes] = []
        while True:
            lines, self.wire.lines = self.wire.lines, []
            for number, line in enumerate(lines):
                answer = self.front.to(line, waiting=bool(waiting))
                if answer is not None:
                    self.wire.write(answer)
                elif self.front.replay:
                    waiting.append(line)
                else:  # the first request decides the era of the connection, and only the SDK knows this one
                    self.wire.lines = lines[number:]
                    return True
            together_ms = _TOGETHER_MS if self.front.replay and not self.front.listed else 0
            many = len(waiting) >= _MANY or sum(map(len, waiting)) >= _MANY_BYTES
            if waiting and (self.wire.ended or many or not self.wire.can_read(together_ms)):
                self.prepare()
                waiting = self._answered_slowly(waiting)
                if waiting:
                    self.wire.lines = waiting
                    return True
            if self.wire.ended:
                return False
            if self.launcher is None and not waiting and not self.wire.can_read(self._quiet_ms()):
                self.prepare()
            self.wire.read()

    def _answered_slowly(self, lines: list[bytes]) -> list[bytes]:
        """Answer with a look at the jobs, and return the lines from the first line that the SDK has to answer."""
        for number, line in enumerate(lines):
            answer = self.front.to(line, has_jobs=self._has_jobs)
            if answer is None:
                return lines[number:]
            self.wire.write(answer)
        return []

    def _quiet_ms(self) -> int | None:
        """Return how long the client has to be silent before other things are done; None: until its first request."""
        if self.front.listed:
            return 0
        return _QUIET_MS if self.front.replay else None

    def prepare(self) -> None:
        """Start the fork server and the login shell, which the first call needs."""
        if self.launcher is not None:
            return
        self.launcher = start()
        self.environment = JobEnvironment(os.environ)
        self.environment.start()

    def refuse(self, message: str) -> None:
        """Answer every further request with this error, until the client closes the connection."""
        log(message)
        while True:
            for line in self.wire.lines:
                self.wire.write(self.front.to(line) or first_answers.refusal(line, message))
            self.wire.lines.clear()
            if self.wire.ended:
                return
            self.wire.read()

    def _tools(self, client: str | None, capabilities: dict[str, object]) -> list[dict[str, object]]:
        schema = shown.has_output_schema(client, self.settings.answers)
        audience = listing.Audience(schema, capabilities=capabilities, workdir_required=self.workdir_required)
        return listing.tools(self.settings.tools, self.config, audience)

    def _has_jobs(self, client: str | None) -> bool:
        """Return whether this client may have a job to list. It has one if that is not quickly found out."""
        from outlive.jobs import lookup  # late: 2 MB of a server that waits for its first call

        caller = on_stdio(client, os.environ, isolate=self.settings.isolate)
        try:
            with closing(Store.open(self.settings.root, os.environ)) as store:
                who = context.Principal(
                    store,
                    self.config,
                    face="mcp",
                    owner=caller.owner,
                    client=None,
                    inbox=Inbox.of(store, caller.program, job_directory(os.environ), caller.session or new_id()),
                    scope=caller.scope,
                    wall=caller.wall,
                    cwd=None,
                    env=dict(os.environ),
                    launcher=self.launcher,
                    shell_words=partial(shell_of, self.config, os.environ),
                )
                ctx = context.Context(who)
                if sum(1 for _ in islice(lookup.job_ids(ctx.caller), _FEW_JOBS + 1)) > _FEW_JOBS:
                    return True
                listed: List = verbs.load("list").run(ctx, limit=1)
        except (OSError, OutliveError):  # the SDK's server says which
            return True
        return bool(listed.jobs or listed.skipped)

    def close(self) -> None:
        if self.launcher is not None:
            self.launcher.close()
        if self.environment is not None:
            self.environment.close()

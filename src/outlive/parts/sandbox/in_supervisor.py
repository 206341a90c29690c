"""The sandbox in a supervisor, and in a reader of an end that no supervisor saw."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence

from outlive.core.records import Sandbox, State
from outlive.parts.sandbox.confinement import after, inside, session, sink_file, visible_paths
from outlive.store.inspection.workspace import Look
from outlive.supervisor.confinement import Confinement, Inside
from outlive.system.spawn import How


class _Confinement(Confinement):
    def report_pair(self) -> tuple[socket.socket, socket.socket]:
        return inside.report_pair()

    def start(
        self,
        sandbox: Sandbox,
        argv: Sequence[str],
        env: Mapping[str, str],
        stdio: Mapping[int, int],
        *,
        how: How,
        folder: int,
        report: tuple[socket.socket, socket.socket],
    ) -> Inside:
        return session.start(sandbox, argv, env, stdio, how=how, folder=folder, report=report)

    def outcome(self, here: socket.socket) -> int | None:
        return inside.outcome(here)

    def found_again(self, here: socket.socket) -> Inside | None:
        return inside.found_again(here)

    def inherited(self, sandbox: Sandbox, environment: Mapping[str, str]) -> dict[str, str]:
        return visible_paths.filtered(environment, sandbox.environment)

    def start_sink(
        self,
        sandbox: Sandbox,
        words: list[str],
        env: Mapping[str, str],
        stdio: Mapping[int, int],
        how: How,
        folder: int,
    ) -> int:
        return session.start_sink(sandbox, words, env, stdio, how, folder)

    def open_writable(self, sandbox: Sandbox, path: str, flags: int, mode: int) -> int:
        return sink_file.open_writable(sandbox, path, flags, mode)


class _Look(Look):
    def looked_at(
        self, folder: int, sandbox: Sandbox, state: State, tell: Callable[..., None], *, renames: bool
    ) -> State:
        return after.looked_at(folder, sandbox, state, tell, renames=renames)


CONFINEMENT = _Confinement()
LOOK = _Look()

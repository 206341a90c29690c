"""The ports of a job, leased before its command is spawned and as long as anything of it lives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from outlive.core.records import State
from outlive.parts.ports import PORTS, asked, choice
from outlive.parts.ports.leases import Leases
from outlive.supervisor.added import Added, Running

_HELD = f"{PORTS}_leases"  # in escrow


class PortsOfJob(Added):
    """What is done for the ports of one job."""

    _leases: Leases | None = None
    _pids: Callable[[], list[int]] | None = None

    def begin(self, state: State) -> State:
        job = self.definition
        try:
            wanted = asked.of_job(job)
        except ValueError as error:
            raise OSError(0, str(error)) from error
        if wanted is None:
            return state
        self._leases = leases = Leases.opened(wanted.table)
        place = choice.worktree(job.cwd)
        ports = {
            name: leases.lease(wanted.first, wanted.last, place, name, job.job_id, job.restarted_from)
            for name in wanted.names
        }
        return State.replace(state, kept={**state.kept, PORTS: ports})

    def held(self) -> Mapping[str, int]:
        return {} if self._leases is None else {_HELD: self._leases.fd}

    def taken(self, state: State, held: Mapping[str, int]) -> None:
        try:
            wanted = asked.of_job(self.definition)
            if wanted is not None:
                self._leases = Leases(held[_HELD]) if _HELD in held else Leases.opened(wanted.table)
                self._leases.resume([*asked.leased(state).values()], anew=_HELD not in held)
        except (OSError, ValueError):  # the command runs, and its ports are its own as long as its processes live
            return

    def words(self, state: State, command: Sequence[str]) -> list[str]:
        words = [*command]
        for name, port in asked.leased(state).items():
            words = [word.replace(asked.mark(name), str(port)) for word in words]
        return words

    def environment(self, state: State) -> Mapping[str, str]:
        ports = asked.leased(state)
        named = {asked.variable(name): str(port) for name, port in ports.items()}
        return named | ({"PORT": str(*ports.values())} if len(ports) == 1 else {})

    def discard(self) -> None:
        self._release()

    def running(self, job: Running) -> None:
        self._pids = job.pids

    def ended(self, state: State) -> State:
        # Before the outcome is visible: a caller that waited for it may start the next job at once. What the command left
        # behind keeps the ports until this process, which sees it to its end, has ended too
        if self._pids is not None and not self._pids():
            self._release()
        return state

    def _release(self) -> None:
        if self._leases is not None:
            self._leases.release()


ADDED = PortsOfJob

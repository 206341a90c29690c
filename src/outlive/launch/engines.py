"""The way from a job to the engine of its host. No engine is loaded for a job of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from outlive import parts
from outlive.config import Config, HostSettings
from outlive.core.nearest import meant
from outlive.core.object_reference import resolve_name
from outlive.core.record import Value
from outlive.core.records import LOCAL, Definition
from outlive.errors import argument, invalid
from outlive.store.inspection import handed_over, unseen_end
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import JobDir

if TYPE_CHECKING:
    from outlive.launch.engine import Caller, Engine


class Host(Value):
    """A host of the configuration."""

    name: str
    settings: HostSettings

    @property
    def engine(self) -> Engine:
        """Return the engine of the host."""
        return of_kind(self.settings.kind)


def of_kind(kind: str) -> Engine:
    """Return the engine for hosts of this kind; where no part that is installed has one, an engine that says so."""
    code = next((part.engines[kind] for part in parts.every() if kind in part.engines), None)
    engine: Engine = resolve_name(code) if code else resolve_name("outlive.launch.engine:OutOfReach")(kind)
    return engine


def host_of(config: Config, name: str) -> Host:
    """Return the host with this name. Errors: invalid_argument."""
    known = config.hosts()
    if name not in known:
        hint = meant(name, [LOCAL, *known])
        hint = hint if known else "The configuration has no [hosts.NAME]; the configuration page of the docs shows one."
        raise invalid("host", f"no host {name!r} for {argument('host')}", hint=hint)
    return Host(name, known[name])


def is_apart(config: Config, definition: Definition) -> bool:
    """Return whether a job runs on a host that does not share our files. Errors: invalid_argument."""
    return definition.host is not None and host_of(config, definition.host).engine.mirrors


def beside_command(config: Config, definition: Definition) -> Sequence[str]:
    """Return names of what a job gives its host by which more may be run than the command. Errors: invalid_argument."""
    if definition.host is None:
        return ()
    return host_of(config, definition.host).engine.beside_command(definition)


def of_job(job: JobDir, definition: Definition) -> Engine | None:
    """Return the engine that has a job; None for a job that was handed to none yet."""
    record = None if definition.host is None else handed_over.read(job)
    return None if record is None else of_kind(record.kind)


def resumed(ctx: Caller, job: JobDir, inspection: Inspection) -> Inspection:
    """Return the inspection of a job on another host, with what its engine says."""
    engine = of_job(job, inspection.definition)
    if engine is None:
        return unseen_end.settled(job, inspection)
    if inspection.damage is not None:
        return inspection
    if inspection.state.finished and engine.mirrors:
        if inspection.supervised or not job.is_marked_live():
            return inspection
    return engine.resumed(ctx, job, inspection)

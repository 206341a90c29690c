"""The way from a job to the engine of its host. No engine is loaded for a job of this machine."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

from outlive.config import Config
from outlive.core.host_settings import HostSettings
from outlive.core.nearest import nearest
from outlive.core.records import LOCAL, Definition
from outlive.errors import OutliveError, argument, invalid
from outlive.store.inspection import engine_record
from outlive.store.inspection.inspect import Inspection
from outlive.store.job_dir import JobDir

if TYPE_CHECKING:
    from outlive.hosts.engine import Caller, Engine

_ENGINES = {"slurm": "outlive.hosts.slurm.engine:ENGINE", "ssh": "outlive.hosts.ssh.engine:ENGINE"}


class Host(NamedTuple):
    """A host of the configuration."""

    name: str
    settings: HostSettings

    @property
    def engine(self) -> Engine:
        """Return the engine of the host. Errors: not_supported."""
        return of_kind(self.settings.kind)


def of_kind(kind: str) -> Engine:
    """Return the engine for hosts of this kind. Errors: not_supported."""
    try:
        engine: Engine = resolve_name(_ENGINES[kind])
        return engine
    except (KeyError, ModuleNotFoundError):
        raise OutliveError("not_supported", f"this version of outlive reaches no hosts of kind {kind}") from None


def host_of(config: Config, name: str) -> Host:
    """Return the host with this name. Errors: invalid_argument."""
    known = config.hosts()
    if name not in known:
        near = nearest(name, [*known, LOCAL])
        hint = f"Did you mean {near}?" if near else f"Known: {', '.join([LOCAL, *known])}."
        hint = hint if known else "The configuration has no [hosts.NAME]; the configuration page of the docs shows one."
        raise invalid("host", f"no host {name!r} for {argument('host')}", hint=hint)
    return Host(name, known[name])


def of_job(job: JobDir, definition: Definition) -> Engine | None:
    """Return the engine that has a job; None for a job that was handed to none yet."""
    record = engine_record.read(job)
    return None if record is None or definition.host is None else of_kind(record.kind)


def resumed(ctx: Caller, job: JobDir, inspection: Inspection) -> Inspection:
    """Return the inspection of a job on another host, with what its engine says."""
    engine = of_job(job, inspection.definition)
    if engine is None:
        from outlive.hosts import ends  # late: 2 ms, of the sandboxes, and an engine has most jobs

        return ends.settled(job, inspection)
    if inspection.damage is not None:
        return inspection
    if inspection.state.finished and engine.mirrors:
        if inspection.supervised or not job.is_marked_live():
            return inspection
    return engine.resumed(ctx, job, inspection)

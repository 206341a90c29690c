"""The way from a job to the engine of its host. No engine is loaded for a job of this machine."""

from __future__ import annotations

from outlive.answers.job import Place
from outlive.config import Config
from outlive.core.host_settings import HostSettings
from outlive.core.libraries import named
from outlive.core.nearest import nearest
from outlive.core.records import LOCAL, Definition, EngineRecord
from outlive.errors import OutliveError, argument, invalid
from outlive.store.inspection import engine_record
from outlive.store.inspection.inspect import Inspection
from outlive.store.job_dir import JobDir

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.hosts.engine import Caller, Engine

_ENGINES = {"slurm": "outlive.hosts.slurm.engine:ENGINE", "ssh": "outlive.hosts.ssh.engine:ENGINE"}


class Host:
    """A host of the configuration: its name, its kind, and its settings."""

    def __init__(self, name: str, settings: HostSettings) -> None:
        self.name = name
        self.kind = settings.kind
        self.settings = settings

    @property
    def engine(self) -> Engine:
        """Return the engine of the host. Errors: not_supported."""
        return of_kind(self.kind)


def of_kind(kind: str) -> Engine:
    """Return the engine for hosts of this kind. Errors: not_supported."""
    try:
        engine: Engine = named(_ENGINES[kind])
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

        return ends.settled(ctx.store, job, inspection)
    if inspection.damage is not None:
        return inspection
    if inspection.state.finished and engine.mirrors:
        if inspection.supervised or not ctx.store.is_marked_live(job.job_id):
            return inspection
    return engine.resumed(ctx, job, inspection)


def has_teller(job: JobDir, definition: Definition) -> bool:
    """Return whether a mirror notifies the sinks of a job. A job that never ran has none."""
    engine = of_job(job, definition)
    return engine is not None and engine.mirrors


def tells_use(job: JobDir, definition: Definition, verb: str) -> bool:
    """Return whether the host of a job can be asked now what the job uses, and is to be for this
    verb."""
    record, engine = engine_record.read(job), of_job(job, definition)
    is_reached = record is None or record.unreachable_since is None
    return is_reached and engine is not None and verb in engine.tells_use


def advice(job: JobDir, definition: Definition, reason: str | None) -> str | None:
    """Return what to do about a job that waits for this reason; None if there is nothing but to
    wait."""
    engine = of_job(job, definition)
    return None if engine is None else engine.advice(reason)


def place(job: JobDir, definition: Definition, state: str) -> Place:
    """Return where a job of another host is, with what is known there."""
    record = engine_record.read(job) or EngineRecord()
    queue = record.queue if state == "created" else None
    return Place(
        host=definition.host,
        engine=None if record.engine is None else record.engine.to_dict(),
        queue=None if queue is None else queue.to_dict(),
        reachable=False if record.unreachable_since is not None else None,
        unreachable_since=record.unreachable_since,
    )

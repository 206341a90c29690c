"""The way from a job to the engine of its host.

Each engine is a module with these functions; all of them know a job by its directory. `ctx` is the
context of the call (jobs/context.py), `host` a `Host`.

* `planned(ctx, host, definition)`: return the definition as it is to be stored, or raise what
  keeps such a job from running there. Nothing is made yet.
* `SHARES_FILES`: whether paths mean the same there. Where they do not, `directory(ctx, host, given)`
  returns the working directory of a job for which the caller names `given` or None.
* `submit(ctx, host, job, plan, locks)`: hand the job over, as a generator that may pause. The
  caller holds the job's locks. If it raises, nothing was handed over, and nothing will run. It may
  return a socket, on which the start is reported as a supervisor does it (jobs/starting.py).
* `resumed(ctx, job, found)`: return the inspection of a job that has not ended, with what the
  engine says of it. Every reader calls this where it would adopt a job of this machine. With
  `TELLS_ENDS` also of a job that has ended, because the engine's word for that comes later. With
  `MIRRORS` the job's directory is a copy of another one: then also of a job that has ended and is
  still marked live, because the other one is still there.
* `connect(job)`: return a connection to the job's control socket. Errors: OutliveError, retryable
  if the host is out of reach.
  For the verbs in `TELLS_USE` it also takes `usage`, and answers with {usage, descendants} as they
  are there.
* `advice(reason)`, where there is a queue: return what to do about a job that waits for this
  reason, if waiting is not all; else None.
* `cancelled(ctx, job, found)`: end a job that waits, as a generator; return its inspection.
* `forget(job)`: give up what the engine holds of a job whose directory is about to be deleted.
  Errors: OutliveError if the directory must stay.
* `checked(ctx, host, setup=False)`: return the findings about the host: {name, status ok|warn|fail,
  found, advice?}. With `setup`, put there first what is missing.

Nothing here is loaded for a job of this machine.
"""

from __future__ import annotations

from outlive.core.nearest import nearest
from outlive.core.records import LOCAL
from outlive.errors import OutliveError, argument, invalid
from outlive.store import engine_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

    from outlive.config import Config
    from outlive.core.records import Definition
    from outlive.store.inspect import Inspection
    from outlive.store.job_dir import JobDir

_MODULES = {"slurm": "outlive.hosts.slurm.engine", "ssh": "outlive.hosts.ssh.engine"}


class Host:
    """A host of the configuration: its name, its kind, and its settings."""

    __slots__ = ("kind", "name", "settings")

    def __init__(self, name: str, settings: dict[str, Any]) -> None:
        self.name = name
        self.kind: str = settings["kind"]
        self.settings = settings

    @property
    def engine(self) -> Any:
        """Return the engine of the host. Errors: not_supported."""
        return of_kind(self.kind)


def of_kind(kind: str) -> ModuleType:
    """Return the engine for hosts of this kind. Errors: not_supported."""
    import importlib

    try:
        return importlib.import_module(_MODULES[kind])
    except (KeyError, ModuleNotFoundError):
        raise OutliveError("not_supported", f"this version of outlive reaches no hosts of kind {kind}") from None


def host_of(config: Config, name: str, *, field: str = "host") -> Host:
    """Return the host with this name. Errors: invalid_argument."""
    known = config.hosts()
    if name not in known:
        near = nearest(name, [*known, LOCAL])
        hint = f"Did you mean {near}?" if near else f"Known: {', '.join([LOCAL, *known])}."
        hint = hint if known else "The configuration has no [hosts.NAME]; the configuration page of the docs shows one."
        raise invalid(field, f"no host {name!r} for {argument(field)}", hint=hint)
    return Host(name, known[name])


def of_job(job: JobDir, definition: Definition) -> ModuleType | None:
    """Return the engine that has a job; None for a job that was handed to none yet."""
    record = engine_record.read(job)
    return None if record is None or definition.host is None else of_kind(str(record.get("kind")))


def resumed(ctx: Any, job: JobDir, found: Inspection) -> Inspection:
    """Return the inspection of a job on another host, with what its engine says."""
    engine = of_job(job, found.definition)
    if engine is None or found.damage is not None:
        return found
    if found.state.finished and not getattr(engine, "TELLS_ENDS", False):
        mirrored = getattr(engine, "MIRRORS", False) and not found.supervised
        if not mirrored or not ctx.store.is_marked_live(job.job_id):
            return found
    seen: Inspection = engine.resumed(ctx, job, found)
    return seen


def tells_ends(job: JobDir, definition: Definition) -> bool:
    """Return whether the engine of a job knows ends that no process of ours has seen."""
    return bool(getattr(of_job(job, definition), "TELLS_ENDS", False))


def tells_use(job: JobDir, definition: Definition, verb: str) -> bool:
    """Return whether the host of a job can be asked now what the job uses, and is to be for this
    verb."""
    known = not (engine_record.read(job) or {}).get("unreachable_since")
    return known and verb in getattr(of_job(job, definition), "TELLS_USE", ())


def advice(job: JobDir, definition: Definition, reason: str | None) -> str | None:
    """Return what to do about a job that waits for this reason; None if there is nothing but to
    wait."""
    advise = getattr(of_job(job, definition), "advice", None)
    advised: str | None = None if advise is None else advise(reason)
    return advised


def described(job: JobDir, definition: Definition, state: str) -> dict[str, Any]:
    """Return the members of an answer that say where a job is."""
    record = engine_record.read(job) or {}
    answer: dict[str, Any] = {"host": definition.host}
    if record.get("engine"):
        answer["engine"] = record["engine"]
    if record.get("queue") and state == "created":
        answer["queue"] = record["queue"]
    if record.get("unreachable_since"):
        answer |= {"reachable": False, "unreachable_since": record["unreachable_since"]}
    return answer

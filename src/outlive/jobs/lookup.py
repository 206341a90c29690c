"""Find jobs by id, part of an id or title, and list them, as far as they exist for the caller.

Every other module goes through here, so the wall between callers holds.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from sys import intern

from outlive import limits
from outlive.core.ids import is_id, short_id
from outlive.core.labels import Origin
from outlive.core.members import parse_json
from outlive.core.quoted import one_line
from outlive.core.records import Definition, State
from outlive.errors import OutliveError, argument, from_os, invalid
from outlive.jobs.context import Context, Principal, Titled
from outlive.jobs.diagnosis import deleted
from outlive.jobs.told import known_to_session, ownership
from outlive.store import atomic_file
from outlive.store.job_dir import META, STATE, JobDir
from outlive.store.root import Store, not_found
from outlive.system import process
from outlive.system.fds import Closing

_LOOKING = frozenset({"status", "poll", "log", "tail", "wait", "events", "screen"})
_SEARCHED = 200  # jobs, for one that may be meant by a part of its name, of at least so many characters:
_LEAST_PART = 3
_SURE_PART = 6  # characters from which on a part of an id is meant; "make" and "test" end an id of a million too
_MOST_ORIGINS = 50_000  # jobs whose origin a server remembers, 15 MB


def open_job(ctx: Context, text: str) -> JobDir:
    """Open the job that `text` names: by its id, by a part of that, or by the name that `list` shows: its title, else one
    made of its command.

    Errors: job_not_found, ambiguous_job_id; neither tells of jobs behind the wall.
    """
    if len(text.strip()) < _SURE_PART:
        with suppress(OutliveError):  # the name of another session's job: no end of an id is named so either
            job = _titled(ctx, text)
            if job is not None:
                return job
    try:
        return open_by_id(ctx, text)
    except OutliveError as error:
        if error.code != "job_not_found" or is_id(text.strip().upper()):
            raise
        job = _titled(ctx, text)
        if job is None:
            raise _of_part(ctx, text, error) from error
        return job


def open_by_id(ctx: Context, text: str) -> JobDir:
    """Open the job that has this id, or whose id alone begins or ends like this.

    Errors: as `open_job`.
    """
    try:
        job_id = ctx.store.find(
            text, None if ctx.caller.wall is None else lambda candidate: _exists(ctx.caller, candidate)
        )
        job = JobDir.open(ctx.store, job_id)
    except OutliveError as error:
        if error.code != "job_not_found":
            raise
        raise deleted.explained(ctx.caller, text, error) from error
    _note_owner(ctx, job_id)
    return job


def _note_owner(ctx: Context, job_id: str) -> None:
    """Have the answer say whose a job is that this call named, if it is another session's."""
    if ownership.session_of(ctx.caller) is None:
        return
    known = origin(ctx.caller, job_id)
    if known is None or (
        known.session is None and ctx.verb in _LOOKING
    ):  # to look at a person's job is nothing special
        return
    whose = ownership.whose(ctx, known)
    if whose is not None:
        ctx.of_others[job_id] = whose


def open_exactly(ctx: Context, text: str, verb: str, why: str) -> JobDir:
    """Open a job for a verb that takes no titles, because of `why`. Errors: as `open_job`, and
    invalid_argument for a title; it names the job."""
    try:
        return open_by_id(ctx, text)
    except OutliveError as error:
        if error.code == "job_not_found" and not is_id(text.strip().upper()):
            _refuse_title(ctx, text, verb, why)
        raise


def open_known(caller: Principal, job_id: str) -> JobDir:
    """Open the job with this whole id. Errors: job_not_found, io_error."""
    job = JobDir.open(caller.store, job_id)
    if caller.wall is not None and not _exists(caller, job_id):
        job.close()
        raise not_found(job_id)
    return job


def job_ids(caller: Principal) -> Iterator[str]:
    """Yield the ids of all jobs that exist for this caller, newest first."""
    return _inside(caller, caller.store.ids())


def live_ids(caller: Principal) -> Iterator[str]:
    """Yield the ids of the jobs that may still run and exist for this caller."""
    return _inside(caller, caller.store.live_ids())


def left_ids(caller: Principal) -> Iterator[str]:
    """Yield the ids of the jobs that ended and may have left processes, and exist for this caller."""
    return _inside(caller, caller.store.left_ids())


def live_states(store: Store) -> Iterator[State]:
    """Return the states of the jobs that may still run, with those behind a wall: only for what is
    true of this process, never to be shown."""
    return (state for state in _states(store, store.live_ids()) if not state.finished)


def starts_since_boot(store: Store) -> Iterator[int]:
    """Yield when the jobs of this root started, in clock ticks after boot, the oldest first, with those behind a wall: only
    for what is true of this process, never to be shown. A job that killed its supervisor before that had written down
    which process it is, started after the supervisor had said that it would."""
    for state in _states(store, reversed(store.ids())):
        if state.boot_id != process.boot_id():
            continue
        if state.identity is not None and state.identity.start_time is not None:
            yield state.identity.start_time
        elif state.started_ns is not None:  # at the earliest: this clock stands still while the machine sleeps
            yield state.started_ns * os.sysconf("SC_CLK_TCK") // 1_000_000_000


def _states(store: Store, job_ids: Iterable[str]) -> Iterator[State]:
    for job_id in job_ids:
        try:
            with JobDir.open(store, job_id) as job:
                state = job.read_state()
        except (OSError, OutliveError):  # removed meanwhile, or damaged
            continue
        if state is not None:
            yield state


def definition(store: Store, job_id: str) -> Definition | None:
    """Return the definition of a job, also of one behind a wall: only for secrets to be masked, never
    to be shown. None if it cannot be read."""
    try:
        with JobDir.open(store, job_id) as job:
            return job.read_meta()
    except (OSError, OutliveError):  # removed, or damaged
        return None


def _inside(caller: Principal, job_ids: Iterable[str]) -> Iterator[str]:
    return iter(job_ids) if caller.wall is None else (job_id for job_id in job_ids if _exists(caller, job_id))


def _exists(caller: Principal, job_id: str) -> bool:
    """Return whether the job exists for this caller, who is behind a wall. A damaged definition tells no scope: it exists
    for callers without a wall."""
    known = origin(caller, job_id)
    return known is not None and known.scope == caller.wall


def origin(caller: Principal, job_id: str) -> Origin | None:
    """Return where a job comes from; None if its definition cannot be read. That does not change, so
    a server reads the definition of each job once."""
    known = caller.store.origins.get(job_id)
    if known is None:
        meta = definition(caller.store, job_id)
        known = None if meta is None else remember(caller, job_id, meta)
    return known


def remember(caller: Principal, job_id: str, definition: Definition) -> Origin:
    """Return where a job comes from, and keep it for the other calls of this server."""
    scope, session = definition.scope, definition.session
    where = Origin(
        scope and intern(scope), intern(definition.owner), intern(definition.local_cwd), session and intern(session)
    )
    if definition.host is None:  # else its directory is known for certain when it runs
        if len(caller.store.origins) >= _MOST_ORIGINS:
            caller.store.origins.clear()
        caller.store.origins[job_id] = where
    return where


def outcome(caller: Principal, job_id: str) -> State | None:
    """Return state and exit code of a job whose outcome is written; None if it has to be inspected.
    Reading the whole of a job takes twenty times as long."""
    try:
        fd = atomic_file.open_regular(caller.store.fd, f"{job_id}/{STATE}")
    except OSError:
        return None
    with Closing(fd):
        try:
            known = parse_json(os.read(fd, limits.RECORD_BYTES))
            state = State(state=known["state"], exit_code=known.get("exit_code"))
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
    return state if state.finished else None


def _titled(ctx: Context, text: str) -> JobDir | None:
    """Open the caller's newest job with this name; None if there is none among the newest jobs. If
    another job that has it runs, have the answer say once which it is. Errors: job_not_found if the job with
    this name is another session's; it names that.
    """
    title = _as_title(text)
    if title in ctx.titles:
        return open_known(ctx.caller, ctx.titles[title].job_id)
    titled = _titled_jobs(ctx.caller, title)
    foreign = None
    for job_id, definition in titled:
        if not ownership.is_own(ctx, definition):
            foreign = foreign or (job_id, definition)
            continue
        several = other = None
        if foreign is not None:
            other = foreign[0]
            several = f"{title!r} is also the {_kind(definition)} of another session's job: this is the newest of yours, {job_id}."
        elif (other := next((older for older, _ in titled if outcome(ctx.caller, older) is None), None)) is not None:
            several = f"{title!r} is a {_kind(definition)}: this is the newest job that has it, {job_id}; {short_id(other)} runs too."
        job = open_known(ctx.caller, job_id)
        is_news = several is not None and known_to_session.tell_once(ctx, job, f"beside {other}")
        ctx.titles[title] = Titled(job_id, several if is_news else None)
        return job
    if foreign is not None:
        raise _not_own(ctx, text, *foreign)
    return None


def _of_part(ctx: Context, text: str, error: OutliveError) -> OutliveError:
    """Return the error for a name that no job has: it names the caller's newest job whose name has that part."""
    part = text.strip().lower()
    is_searched = len(part) >= _LEAST_PART and "deleted_at" not in (error.details or {})
    for job_id in islice(job_ids(ctx.caller), _SEARCHED if is_searched else 0):
        known = definition(ctx.store, job_id)
        if known is not None and part in known.name.lower() and ownership.is_own(ctx, known):
            return OutliveError(
                "job_not_found",
                error.message,
                hint=f"Did you mean {short_id(job_id)} ({known.name})?",
                details={"candidates": [job_id]},
            )
    return error


def _refuse_title(ctx: Context, text: str, verb: str, why: str) -> None:
    """Raise invalid_argument if a job of the caller has this name, for a verb that takes ids alone;
    job_not_found if only another session's has it. The error names the job."""
    title = _as_title(text)
    titled = list(_titled_jobs(ctx.caller, title))
    own = next((one for one in titled if ownership.is_own(ctx, one[1])), None)
    if own is not None:
        job_id, kind = own[0], _kind(own[1])
        raise invalid(
            "job",
            f"{verb} takes an id, and {title!r} is a {kind}: {why}",
            hint=f"The newest job with this {kind} is {short_id(job_id)}; if you mean it, pass that as {argument('job')}.",
            candidates=[job_id],
        )
    if titled:
        raise _not_own(ctx, text, *titled[0])


def _not_own(ctx: Context, text: str, job_id: str, definition: Definition) -> OutliveError:
    return OutliveError(
        "job_not_found",
        f"{text!r} is the {_kind(definition)} of a job that is not of this session",
        hint=f"Job {short_id(job_id)} has this {_kind(definition)}, but belongs to {ownership.whose(ctx, definition)}; if you mean it, "
        f"pass its id as {argument('job')}.",
        details={"candidates": [job_id]},
    )


def _as_title(text: str) -> str:
    """Return the text as a title is stored; an empty one for what can be none."""
    title = one_line(text)
    return title if len(title) <= limits.MAX_TITLE_CHARS else ""


def _titled_jobs(caller: Principal, title: str) -> Iterator[tuple[str, Definition]]:
    part = json.dumps(title, ensure_ascii=True).encode()  # as atomic_file.dump writes it
    for job_id in islice(job_ids(caller) if title else (), limits.TITLED_JOBS):
        known = definition(caller.store, job_id) if _holds(caller, job_id, (part,)) else None
        if known is not None and known.name == title:
            yield job_id, known


def _kind(definition: Definition) -> str:
    return "name" if definition.title is None else "title"


def defined_with(caller: Principal, *parts: bytes, before: str | None, most: int) -> Iterator[JobDir]:
    """Yield those of the `most` newest jobs, made before this one, that exist for this caller and whose
    definitions hold these texts, as atomic_file.dump writes them; the caller closes them."""
    for job_id in islice((one for one in caller.store.ids() if before is None or one < before), most):
        if not _holds(caller, job_id, parts):
            continue
        try:
            job = open_known(caller, job_id)
        except (OSError, OutliveError):  # removed meanwhile, or behind the wall
            continue
        yield job


def _holds(caller: Principal, job_id: str, parts: tuple[bytes, ...]) -> bool:
    """Return whether the definition of a job holds these texts. Reading it as a record takes
    eight times as long."""
    try:
        data = atomic_file.read(caller.store.fd, f"{job_id}/{META}")
    except OSError:
        return False
    return all(part in data for part in parts)


def change_meta(job: JobDir, change: Callable[[Definition], Definition]) -> Definition:
    """Change a job's definition as `JobDir.change_meta` does. Errors: io_error."""
    try:
        return job.change_meta(change)
    except atomic_file.Damaged as error:
        raise OutliveError("io_error", f"the definition of job {job.job_id} cannot be read: {error.why}") from error
    except OSError as error:
        raise from_os(f"changing the definition of job {job.job_id}", error, on="store") from error

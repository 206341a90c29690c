"""What a client of a server is not shown: secrets in the texts of answers and notifications. The log, and every answer
on the command line, has them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property

from outlive import verbs
from outlive.config import Config
from outlive.core.env_files import read_env_files
from outlive.core.ids import is_id
from outlive.core.records import Definition
from outlive.errors import OutliveError
from outlive.jobs import lookup
from outlive.jobs.starting import boundary
from outlive.mcp.masking import COUNT, Environment, Masking, Opened
from outlive.parts.masks import settings, values
from outlive.parts.masks.masker import Masker
from outlive.parts.masks.values import MaskedValue
from outlive.store.output.masks import Find, Span
from outlive.system import mounts, own_programs, paths, workspaces

_HEAD = frozenset({"schema_version", "ok", "type", "sessionId"})
_MOST_JOBS = 10_000  # whose secrets a server remembers


class Secrets(Masking):
    """The secrets of one server."""

    def __init__(self, config: Config, environment: Environment, store: Opened) -> None:
        self._mode = settings.mode(config)
        self._environment = environment
        self._store = store
        self._of_jobs: dict[str, frozenset[MaskedValue]] = {}
        self._labels: dict[str, set[str]] = {}  # by job: of what was masked in the bytes of its output

    def masker(self, about: object) -> Masker | None:
        """Return what masks texts about these jobs: an answer that names them, or an id. None: nothing is masked."""
        if self._mode == settings.NONE:
            return None
        known = set(self._own)
        masked: set[str] = set()
        for job_id in {about} if isinstance(about, str) else _jobs_in(about):
            known |= self._of_job(job_id)
            masked |= self._labels.get(job_id, set())
        return Masker(known, shapes=self._mode == settings.ALL, masked=masked)

    def find(self, job_id: str) -> Find | None:
        masker = self.masker(job_id)
        if masker is None:
            return None
        if len(self._labels) >= _MOST_JOBS:
            self._labels.clear()
        labels = self._labels.setdefault(job_id, set())

        def find(data: bytes, encoding: str) -> list[Span]:
            spans = masker.spans(data, encoding)
            labels.update(span.label for span in spans)
            return spans

        return find

    def masked(self, text: str, about: object) -> str:
        masker = self.masker(about)
        return text if masker is None else masker.text(text)

    def masked_members(self, members: Mapping[str, object], about: object) -> dict[str, object]:
        masker = self.masker(about)
        return dict(members) if masker is None else masker.members(members)

    def masked_answer(self, answer: Mapping[str, object]) -> dict[str, object]:
        return masked_answer(answer, self.masker(answer))

    @cached_property
    def _own(self) -> set[MaskedValue]:
        return values.of(self._environment())

    def _of_job(self, job_id: str) -> frozenset[MaskedValue]:
        """Return the secrets among the variables that a job was given. They do not change: its definition is read
        once."""
        known = self._of_jobs.get(job_id)
        if known is None:
            store = self._store()
            definition = lookup.definition(store, job_id) if store is not None and is_id(job_id) else None
            if definition is None:  # removed, or damaged
                return frozenset()
            try:
                env = {**read_env_files(definition.env_files, self._check(definition)), **definition.env}
            except OutliveError:  # it was there at the start, and may be again
                return frozenset(values.of(definition.env))
            known = frozenset(values.of(env))
            if len(self._of_jobs) >= _MOST_JOBS:
                self._of_jobs.clear()
            self._of_jobs[job_id] = known
        return known

    def _check(self, definition: Definition) -> boundary.Check | None:
        """Return what refuses to read an env file of a job where a link leads that another job may have made since: which
        words are masked would tell what is in a file that no job sees."""
        check = boundary.reading_in(definition.sandbox)
        return _require_no_link if check is None else check


def _require_no_link(fd: int, path: str, field: str) -> None:
    """Refuse what lies behind a link in a directory that jobs in sandboxes write. Errors: denied."""
    real = os.readlink(f"/proc/self/fd/{fd}")
    written = [*own_programs.known().workspaces, *workspaces.noted(os.environ)]
    written += mounts.other_names(written)
    if real != path and paths.reached(path, written) != real:
        raise OutliveError("denied", f"{path} is a link, which a job may have made", details={"field": field})


def masked_answer(answer: Mapping[str, object], masker: Masker | None) -> dict[str, object]:
    """Return a full answer with its texts masked, and how many secrets that were."""
    if masker is None or masker.is_clean("\n".join(one for one in _each_in(answer) if isinstance(one, str))):
        return dict(answer)
    fields = verbs.fields_of(str(answer["type"])) if answer["ok"] else {}
    has_times = isinstance(answer.get("times"), list)  # one a line of the output
    shown = {}
    for name, value in answer.items():
        field = fields.get(name)
        if name in _HEAD or (field is not None and field.verbatim):
            shown[name] = value
        elif field is not None and "entry" in field.how and isinstance(value, list):
            exact = {inner for inner, one in field.how["entry"].flat().items() if one.verbatim}
            shown[name] = [masker.members(one, exact) for one in value]
        elif has_times and name == "output":
            shown[name] = masker.text(str(value), keep_lines=True)
        else:
            shown[name] = masker.value(value)
    if masker.met:
        shown[COUNT] = len(masker.met)
    return shown


def _jobs_in(answer: object) -> set[str]:
    """Return the ids of the jobs that an answer is about, or names: an error has candidates."""
    return {one for one in _each_in(answer) if isinstance(one, str) and is_id(one)}


def _each_in(answer: object) -> list[object]:
    """Return an answer with every value in it. Those of a list stand together, in their order."""
    each = [answer]
    for one in each:  # which grows meanwhile
        each += one.values() if isinstance(one, dict) else one if isinstance(one, list) else ()
    return each

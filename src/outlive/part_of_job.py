"""What a part does for one job in a caller, a command line or a server: a declaration names the class (`of_job`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

from outlive.core.place import resolve_name
from outlive.part import Definition, Fields, Inspection, JobDir, Look, Part, Said, State


class OfJob:
    """What a part does for a job that has a member of the part in `meta.json`, or for each job if the part keeps none. By
    default it does nothing."""

    def __init__(self, definition: Definition) -> None:
        self.definition = definition

    def check(self) -> None:
        """Refuse a job that is to be made, or made again, and could not do what it asks for. It is asked before anything is
        made. Errors: invalid_argument."""

    def needs_scope(self) -> bool:
        """Return whether a job of this machine should be started in a systemd scope of its own, where one can be had. It is
        asked right before the start."""
        return False

    def facts(self) -> Iterable[tuple[str, str]]:
        """Return label and text of what a person is shown of the job who is asked whether it may run."""
        return ()

    def ports(self, state: State | None) -> Mapping[str, int | None]:
        """Return the ports that the job was given, by the names by which a condition may ask for one; None as long as it has
        not started (`state` None: there is none yet)."""
        return {}

    def given_to(self, inspection: Inspection) -> Said | None:
        """Return what the job was given, in the fields of `given`, and what of it could not be given. None: nothing."""
        return None

    def entry_of(self, inspection: Inspection) -> Fields | None:
        """Return what an entry of a list says of the job: a record of `listed`; None: nothing. It is asked for each entry."""
        return None

    def described(self, look: Look) -> Said | None:
        """Return what the part says of the job; None: nothing. It is asked for each answer about one job."""
        return None

    def wants_person(self, inspection: Inspection, job: JobDir) -> str | None:
        """Return what is to be said of a running job without a terminal that does nothing more until a person comes; None
        of others. A caller who waits for it asks after some seconds, and is answered then."""
        return None


def made(part: Part, definition: Definition) -> OfJob:
    """Return what a part does for a job. Errors: ImportError, of a library."""
    return Declared(part, definition) if not part.of_job else resolve_name(part.of_job)(definition)


class Declared(OfJob):
    """What a declaration has as methods of its own, which take the definition: of the parts groups, after and queues."""

    def __init__(self, part: Part, definition: Definition) -> None:
        super().__init__(definition)
        for name in ("check", "needs_scope", "facts", "ports"):
            if hasattr(part, name):
                setattr(self, name, partial(getattr(part, name), definition))
        for name in ("given_to", "entry_of", "described", "wants_person"):
            if hasattr(part, name):
                setattr(self, name, getattr(part, name))

"""What a part does for one job in a caller, a command line or a server: a declaration names the class (`of_job`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from outlive.part import Definition, Fields, Inspection, JobDir, Look, Need, Said, State


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

    def needs(self, state: State | None = None) -> Iterable[Need]:
        """Return the jobs that the job waits for, or waited for, before it starts: a call that ends it and them ends it first.
        `state`: how it is now; without it nothing is said to hold."""
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

"""What a process of ours is told of where jobs work, and of what a person has configured for it to run."""

from outlive.core.record import Record


class Known(Record):
    """From `workspaces`, directories that jobs in sandboxes may write, the process runs nothing; `named`: the paths of
    [programs] in the configuration, by the names of the programs (system/own_programs.py); `path`: PATH of the process that
    tells, for a process that has no variables."""

    workspaces: list[str] = []
    named: dict[str, str] = {}
    path: str | None = None

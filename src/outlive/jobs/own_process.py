"""The caller as which a process of ours acts that no call of anybody runs: for a job, with what its supervisor knows."""

from __future__ import annotations

from collections.abc import Sequence

from outlive import config
from outlive.jobs.context import Context, Principal, know
from outlive.launch.from_cli import Launcher
from outlive.store.root import Store


def context(
    root: str, environment: dict[str, str], verb: str, shell: Sequence[str] = ("sh", "-c"), *, workspace: str
) -> Context:
    """Return a call of such a process. `environment`: of the job; `shell`: the words that run a shell string; `workspace`:
    the directory from which the job was started, from where this process runs nothing. Errors: OSError, config_error."""
    settings = config.load(environment)
    know(settings, environment, workspace)
    caller = Principal(
        Store.existing(root),
        settings,
        face="cli",
        owner="cli",
        client=None,
        cwd=None,
        env=environment,
        launcher=Launcher(),
        shell_words=tuple(shell),
    )
    return Context(caller, verb)

"""The caller as which a process of ours acts that no call of anybody runs: for a job, with what its supervisor knows."""

from __future__ import annotations

from collections.abc import Sequence

from outlive import config as configuration
from outlive.jobs.context import Context, Principal
from outlive.launch.from_cli import Launcher
from outlive.store.root import Store
from outlive.system import own_programs
from outlive.system.known import Known


def context(
    root: str,
    environment: dict[str, str],
    verb: str,
    shell: Sequence[str] = ("sh", "-c"),
    *,
    config: str | None,
    known: Known,
) -> Context:
    """Return a call of such a process. `environment`: of the job; `shell`: the words that run a shell string; `config`: the
    file of the configuration that the caller of the job went by; `known`: what that one knew. Errors: OSError,
    config_error, also for a configuration that is gone."""
    own_programs.take(known)
    settings = configuration.load(environment, config)
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

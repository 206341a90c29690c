"""What `host check` finds, as it is answered: {name, status ok|warn|fail, found, advice?}."""

from __future__ import annotations

from outlive.config import Config
from outlive.core import quoted
from outlive.errors import shortened
from outlive.launch.engine import Finding
from outlive.parts.sandbox.confinement.bubblewrap import SandboxTrial
from outlive.parts.sandbox.settings import sandbox_of


def finding(name: str, status: str, text: str, advice: str | None = None) -> Finding:
    """`text` and `advice` may quote programs and machines that are not ours."""
    answer: Finding = {"name": name, "status": status, "found": visible(text)}
    return {**answer, "advice": visible(advice)} if advice else answer


def visible(text: str) -> str:
    """Return what a program that is not ours said as it may be shown: not too long, and visible."""
    return quoted.visible(shortened(text))


def is_sandboxed(config: Config, host: str) -> bool:
    """Return whether jobs on a host run in a sandbox unless a call asks for another one."""
    return sandbox_of(config, host).mode not in (None, "off")


def of_sandbox(where: str, trial: SandboxTrial) -> Finding:
    """Return the finding for a trial there."""
    if trial.problem is None:
        return finding("sandbox", "ok", f"{trial.bwrap} works {where}.")
    return finding("sandbox", "fail", f"No sandbox {where}: {trial.problem}.", f"There: {trial.advice}")

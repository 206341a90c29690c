"""Jobs with a terminal, as a model drives them, and a person beside it."""

from __future__ import annotations

from typing import Any

from support.cli import Cli
from support.preloaded import OUTLIVE
from support.terminal import Terminal
from support.wait import until

BASH = ("--shell-wrapper", "bash --norc -c")


def start(cli: Cli, *words: str) -> Any:
    """A job in a terminal, as it is when it first waits for input."""
    found = cli.ok("run", "--pty", "--snapshot-after", "30s", *words)
    assert found["waiting_for_input"], found
    return found


def waits(cli: Cli, job: str) -> dict[str, Any]:
    return until(lambda: (found := cli.ok("status", job))["waiting_for_input"] and found, what="it waits for input")


def screen(cli: Cli, job: str) -> str:
    return "\n".join(cli.ok("screen", job)["lines"])


def sees(cli: Cli, job: str, text: str) -> None:
    until(lambda: text in screen(cli, job), what=f"{text!r} on the screen")


def ended(cli: Cli, job: str) -> dict[str, Any]:
    return cli.ok("wait", job, "--timeout-ms", "50s")


def quits(cli: Cli, job: str) -> None:
    """At the key that ends it."""
    cli.ok("send-keys", job, "q")
    assert ended(cli, job)["exit_code"] == 0


def person(job: str, *flags: str, cols: int = 90, rows: int = 25, through: tuple[str, ...] = ()) -> Terminal:
    """A person at a terminal, with `outlive attach`."""
    return Terminal("attach", job, *flags, cols=cols, rows=rows, program=(*through, *OUTLIVE))

"""`outlive`, `python -m outlive`."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from outlive.launch.from_cli import Launcher


def main() -> int:
    if sys.platform != "linux":  # before the first import of what only Linux has
        sys.stderr.write("outlive needs Linux, or WSL 2 on Windows.\n")
        return 1
    gc.disable()  # while modules are loaded nothing becomes garbage; looking for it is a tenth of `outlive run`
    try:
        launcher = _prepared(sys.argv[1:])
        from outlive.cli.main import main as cli

        return _leave(cli(sys.argv[1:], launcher))
    except KeyboardInterrupt:  # while importing; later ones are answered by the CLI itself
        return 130


def _prepared(argv: list[str]) -> Launcher | None:
    """The launcher of a call that is going to start a command, its pair under way on the other core while we load what
    reads the arguments; None for every other call, which starts nothing or says so later."""
    if argv[:1] not in (["run"], ["exec"]) or argv[1:2] in (["--help"], ["-h"]):
        return None
    from outlive.cli import stdio

    stdio.open_standard_fds()  # else a socket of ours would be one of them
    from outlive.launch.from_cli import Launcher

    launcher = Launcher()
    launcher.prepare()
    return launcher


def _leave(status: int) -> int:
    """End here: taking an interpreter apart costs 5 ms, and nothing of ours waits for that."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return status
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())

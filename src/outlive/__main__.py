"""The entry point of `outlive` and `python -m outlive`."""

from __future__ import annotations

import gc
import os
import sys


def main() -> int:
    if sys.platform != "linux":  # before the first import of what only Linux has
        sys.stderr.write("outlive needs Linux, or WSL 2 on Windows.\n")
        return 1
    if not sys.flags.isolated:  # the installed command is
        _search_last(os.environ.get("PYTHONPATH", ""))
    # While modules are loaded nothing becomes garbage; the search for it is a tenth of a `run`
    gc.disable()
    try:
        launcher = None
        if _starts(sys.argv[1:]):
            from outlive.launch.from_cli import Launcher  # late: only from here on none of its imports is the caller's

            launcher = Launcher()
            launcher.prepare()
        from outlive.cli.main import main as cli  # late: 6 ms, in which the pair that was forked before gets ready

        return _leave(cli(sys.argv[1:], launcher))
    except KeyboardInterrupt:  # while importing; later ones are answered by the CLI itself
        return 130


def _search_last(named: str) -> None:
    """Look for modules in the directories of PYTHONPATH, and in the current one, after all others:
    what is called `json.py` or `mcp` there is of the caller's programs. The directory that outlive
    itself is in stays where it is."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    here = [] if sys.flags.safe_path else sys.path[:1]
    theirs = {*here, *(os.path.abspath(path) for path in named.split(os.pathsep) if path)} - {own}
    sys.path.sort(key=lambda path: path in theirs)


def _starts(argv: list[str]) -> bool:
    """Return whether this call is going to start a command. Its guardian and supervisor are forked now,
    so that they get ready on the other core while this process loads the code that reads the
    arguments."""
    return argv[:1] in (["run"], ["exec"]) and argv[1:2] not in (["--help"], ["-h"])


def _leave(status: int) -> int:
    """Flush the streams and end the process at once: a clean shutdown of the interpreter costs 5 ms
    and does nothing for us."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return status
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())

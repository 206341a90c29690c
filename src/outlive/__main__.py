"""`outlive`, `python -m outlive`."""

from __future__ import annotations

import os
import sys


def main() -> int:
    try:
        from outlive.cli.main import main as cli

        return _leave(cli(sys.argv[1:]))
    except KeyboardInterrupt:  # while importing; later ones are answered by the CLI itself
        return 130


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

"""`outlive`, `python -m outlive`."""

from __future__ import annotations

import sys


def main() -> int:
    try:
        from outlive.cli.main import main as cli

        return cli(sys.argv[1:])
    except KeyboardInterrupt:  # while importing; later ones are answered by the CLI itself
        return 130


if __name__ == "__main__":
    sys.exit(main())

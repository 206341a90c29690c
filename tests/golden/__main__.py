"""Write the golden files again, from what the code answers now: `python -m tests.golden --write`.

The files lie in tests/fixtures/golden, one for each story in stories.py. Read their difference
before you commit them: it is what a caller of outlive will see.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def main() -> int:
    if sys.argv[1:] != ["--write"]:
        sys.stderr.write(str(__doc__))
        return 2
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", str(Path(__file__).parent)]
    return subprocess.run(command, env={**os.environ, "GOLDEN_WRITE": "1"}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

"""Compile init.c and search.c of src/outlive/parts/sandbox/confinement for each architecture into programs.py there.

It needs `gcc` and `aarch64-linux-gnu-gcc` (Debian: gcc-aarch64-linux-gnu) on an x86_64 machine.
"""

from __future__ import annotations

import base64
import subprocess
import tempfile
import textwrap
from pathlib import Path

ROOM = Path(__file__).parents[1] / "src/outlive/parts/sandbox/confinement"
FLAGS = (
    "-Os -static -nostdlib -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables -fno-pic -no-pie "
    "-Wall -Wextra -Werror -Wl,--build-id=none,-z,noseparate-code,-z,noexecstack,-s"
).split()
TOOLS = {
    "x86_64": ("gcc", "objcopy", "-fcf-protection=none"),
    "aarch64": ("aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objcopy"),
}
HEAD = '''"""init.c and search.c, compiled: made by scripts/sandbox_init.py, never edited by hand."""

from __future__ import annotations

# Machine, as os.uname() names it → an ELF program in base64
'''


def compiled(source: str, compiler: str, objcopy: str, *extra: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "init")
        subprocess.run([compiler, *FLAGS, *extra, ROOM / source, "-o", program], check=True)
        subprocess.run([objcopy, "-R", ".comment", program], check=True)
        return program.read_bytes()


def table(name: str, source: str) -> str:
    text = f"{name} = {{\n"
    for machine, tools in TOOLS.items():
        lines = textwrap.wrap(base64.b64encode(compiled(source, *tools)).decode(), 100)
        text += f'    "{machine}": (\n' + "".join(f'        "{line}"\n' for line in lines) + "    ),\n"
    return text + "}\n"


def main() -> None:
    (ROOM / "programs.py").write_text(HEAD + table("INIT", "init.c") + table("SEARCH", "search.c"))


if __name__ == "__main__":
    main()

"""Scripts that stand for Slurm's programs, which say what a test has them say."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

TAKES = "#!/bin/sh\necho 7\n"  # an sbatch that takes every job, and runs none


def programs(place: Path, scripts: Mapping[str, str]) -> Path:
    """Write these scripts and the configuration of a host `cluster` that uses them. Return their directory."""
    found = place / "programs"
    found.mkdir()
    config = place / "home/.config/outlive/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f'[hosts.cluster]\nkind = "slurm"\nprograms = "{found}"\n', encoding="utf-8")
    for name, script in scripts.items():
        put(found, name, script)
    return found


def put(programs: Path, name: str, script: str) -> None:
    (programs / name).write_text(script, encoding="utf-8")
    (programs / name).chmod(0o755)

"""The other machines of these tests: one behind a real sshd, and a real cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support import on_slurm, on_ssh, slurm, sshd
from support.cli import Cli
from support.on_slurm import Slurm


@pytest.fixture
def box(place: Path) -> Iterator[sshd.Machine]:
    yield from on_ssh.used(place)


@pytest.fixture(scope="module")
def cluster() -> Iterator[slurm.Cluster]:
    yield from on_slurm.started()


@pytest.fixture
def on(cluster: slurm.Cluster, cli: Cli, place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slurm]:
    yield from on_slurm.used(cluster, cli, place, monkeypatch)

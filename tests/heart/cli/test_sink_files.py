"""A notification is written into no file of outlive's own, by whichever name a call or a job has for it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from outlive import config
from outlive.store import own_files
from support.cli import Cli
from support.commands import GATE
from support.jobs import recorded
from support.wait import until

CONFIG = '[policy]\ndefault = "allow"\n[audit]\nto = "file"\n'
# Each below the test's own place
OWN = [
    "home/.config/outlive/config.toml",
    "home/.config/outlive/not-there-yet",
    "home/.local/state/outlive/approved.ndjson",
    "home/.local/state/outlive/audit.ndjson",
    "home/.local/state/outlive/approved.secret",
    "root/.tokens.json",
    "root/.ui.json",
]


@pytest.fixture
def own(place: Path, root: Path, cli: Cli) -> dict[str, Path]:
    """The files of outlive, as they are named in OWN."""
    found = {name: root / name.removeprefix("root/") if name.startswith("root/") else place / name for name in OWN}
    for name, path in found.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if "not-there" not in name:
            path.write_text(CONFIG if name.endswith("toml") else "", encoding="utf-8")
            path.chmod(0o600)
    return found


def test_a_file_of_outlive_is_known_by_each_of_its_names(own: dict[str, Path], root: Path, work: Path) -> None:
    files = [str(root), *config.load(os.environ).own_paths(os.environ)]
    for number, path in enumerate(own.values()):
        (work / f"link{number}").symlink_to(path)
        (work / f"dir{number}").symlink_to(path.parent)
        spellings = (
            path,
            f"link{number}",
            f"dir{number}/{path.name}",
            f"{path.parent}/../{path.parent.name}/{path.name}",
        )
        for spelling in spellings:
            assert own_files.owner_of(os.path.join(work, spelling), files), spelling
    assert own_files.owner_of(str(work / "another"), files) is None


@pytest.mark.parametrize("name", [OWN[1], OWN[2], OWN[5]])  # of the configuration, of the state, of the root
def test_a_file_of_outlive_is_refused_however_a_call_names_it(
    cli: Cli, own: dict[str, Path], work: Path, name: str
) -> None:
    path = own[name]
    before = path.read_bytes() if path.exists() else None
    (work / "link").symlink_to(path)
    (work / "dir").symlink_to(path.parent)
    job = cli.ok("create", "echo x")["job_id"]
    ways = (("--file",), ("--watch", "x", "--watch-file"), ("--output-pattern", "x", "--output-file"))
    calls: list[tuple[str, ...]] = [
        ("run", "--notify-file", "link", "echo x"),
        ("run", "--watch", "x", "--watch-file", "link", "echo x"),
        *(("notify", "set", job, *way, f"dir/{path.name}") for way in ways),
    ]
    for call in calls:
        assert "outlive's own" in cli.error(*call, code="denied")["message"], call
    assert (path.read_bytes() if path.exists() else None) == before


def test_a_configuration_file_that_a_flag_names_is_one_of_them(cli: Cli, work: Path) -> None:
    (work / "mine.toml").write_text(CONFIG)
    os.link(work / "mine.toml", work / "another-name")
    for name in ("mine.toml", "another-name"):
        cli.error("--config", "mine.toml", "run", "--notify-file", name, "true", code="denied")


@pytest.mark.parametrize(
    ("how", "name"),
    [("link", OWN[5]), ("hard link", OWN[2]), ("directory", OWN[5]), ("moved away", OWN[0])],
)
def test_a_job_that_puts_another_file_in_the_place_of_its_sink_writes_nothing(
    cli: Cli, own: dict[str, Path], root: Path, work: Path, how: str, name: str
) -> None:
    path, sink = own[name], work / "sinks" / own[name].name
    sink.parent.mkdir()
    words = ("--notify-file", str(sink), "--watch", "hit", "--watch-file", str(sink))
    job = cli.ok("run", "--snapshot-after", "0", *words, f"{GATE}; echo hit")["job_id"]
    if how == "link":
        sink.symlink_to(path)
    elif how == "hard link":
        os.link(path, sink)
    elif how == "directory":
        sink.parent.rmdir()
        sink.parent.symlink_to(path.parent)
    else:  # and linked to from where it was
        path.rename(sink)
        path.symlink_to(sink)
    before = sink.read_bytes()
    (work / "go").touch()
    assert cli.ok("wait", job)["exit_code"] == 0
    until(lambda: recorded(root, job, "notification_failed", 2), what="both refusals")
    failed = [one for one in cli.ok("events", job)["events"] if one["type"] == "notification_failed"]
    assert all("refused" in one["error"] for one in failed), json.dumps(failed)
    assert sink.read_bytes() == before

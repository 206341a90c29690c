"""Where a path leads, however many links are on the way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from outlive.core.real_path import followed, real_path
from support.cli import Cli


def chain(work: Path, links: int) -> Path:
    """Make links that lead one to the next, the last of which leads to nothing."""
    for number in range(links):
        os.symlink(f"l{number + 1}", work / f"l{number}")
    return work / "l0"


@pytest.mark.parametrize(("links", "leads_to"), [(40, "l40"), (3_000, "l0")])
def test_a_path_behind_more_links_than_anything_follows_stays_as_it_is(work: Path, links: int, leads_to: str) -> None:
    assert real_path(str(chain(work, links))) == f"{work}/{leads_to}"


def test_it_is_what_the_system_says(work: Path) -> None:
    (work / "a/b").mkdir(parents=True)
    os.symlink("../a/b/..", work / "a/link")
    os.symlink(work / "a/link", work / "far")
    os.symlink("round", work / "round")
    for path in (
        "",
        ".",
        "/",
        "//",
        "a/../a/link/b",
        f"{work}/far/b/../none/..",
        "far",
        "none/x/../y",
        "a/link/../../..",
    ):
        assert real_path(path) == os.path.realpath(path).replace("//", "/"), path
    assert real_path("round") == f"{work}/round"


def test_the_links_on_the_way_are_told_also_of_what_leads_nowhere(work: Path) -> None:
    (work / "a").mkdir()
    os.symlink("a", work / "one")
    os.symlink(f"{work}/one/../one", work / "two")
    os.symlink("round", work / "round")
    assert followed(f"{work}/two/x") == (f"{work}/a/x", [f"{work}/{name}" for name in ("two", "one", "one")])
    place, links = followed(f"{work}/one/../round/x")
    assert place is None and {*links} == {f"{work}/one", f"{work}/round"}


@pytest.mark.parametrize(("path", "error"), [(7, TypeError), (None, TypeError), ("a\0b", ValueError)])
def test_what_a_damaged_file_may_name_is_an_error_as_of_other_calls(path: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        real_path(path)


def test_a_path_that_is_longer_than_the_kernel_takes_is_not_looked_at(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    with monkeypatch.context() as patched:
        patched.setattr(os, "readlink", looks.append)
        assert real_path("s/" * 2_100) == f"{work}/{'s/' * 2_099}s"
    assert not looks


def test_a_list_has_the_jobs_whose_directory_became_a_chain_of_links(cli: Cli, work: Path) -> None:
    (work / "d").mkdir()
    job = cli.ok("run", "--wait", "--cwd", "d", "true")["job_id"]
    (work / "d").rmdir()
    os.symlink(chain(work, 3_000), work / "d")
    assert [one["job_id"] for one in cli.ok("list", "--all")["jobs"]] == [job]
    assert cli.ok("list")["jobs"] == []
    assert cli.ok("run", "--wait", "true")["exit_code"] == 0

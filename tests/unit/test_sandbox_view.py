"""What a sandbox hides, by the paths that bubblewrap is told."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from outlive.errors import OutliveError
from outlive.sandbox import view


def spec_of(home: Path, work: Path, **settings: list[str]) -> dict[str, object]:
    return view.resolved(
        mode="workspace-write",
        network="none",
        settings={"write": [], "show": [], "hide": [], "environment": [], **settings},
        workspace=str(work),
        homes=[str(home)],
        secret=[],
        installed=[],
        bwrap="/usr/bin/bwrap",
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with keys behind links, as people who keep their configuration elsewhere have them."""
    home = tmp_path / "home"
    (home / ".aws").mkdir(parents=True)
    (tmp_path / "elsewhere" / "gh").mkdir(parents=True)
    (tmp_path / "keys").mkdir()
    (home / ".config").symlink_to(tmp_path / "elsewhere")
    (home / ".ssh").symlink_to(tmp_path / "keys")
    (home / ".gnupg").symlink_to(tmp_path / "nothing")
    return home


def test_what_is_hidden_is_found_through_links_of_its_own_and_of_its_directory(home: Path, tmp_path: Path) -> None:
    work = tmp_path / "project"
    work.mkdir()
    spec = spec_of(home, work, hide=[f"{home}/./.aws/", f"{tmp_path}/project/missing"])
    hidden = set(view._hidden(spec))
    for name in view.HIDDEN_AT_HOME:
        path = f"{home}/{name}"
        assert (os.path.realpath(path) if os.path.exists(path) else path, os.path.exists(path)) in hidden
    assert {(f"{tmp_path}/elsewhere/gh", True), (f"{tmp_path}/keys", True), (f"{home}/.aws", True)} <= hidden
    assert {(f"{home}/.gnupg", False), (f"{tmp_path}/project/missing", False)} <= hidden


def test_where_a_link_to_nothing_leads_a_notification_cannot_write_either(home: Path, tmp_path: Path) -> None:
    work = tmp_path / "project"
    work.mkdir()
    (home / ".netrc").symlink_to(work / "keys")
    (work / "own").symlink_to(work / "later")
    spec = spec_of(home, work, hide=[f"{work}/own"])
    assert not view.is_writable(spec, str(work / "keys"))
    assert not view.is_writable(spec, str(work / "later"))
    assert view.is_writable(spec, str(work / "free"))
    assert f"{work}/own" not in view.mounts(spec, str(work)), "bubblewrap could not cover a link to nothing"


def test_a_directory_that_a_link_of_the_home_hides_is_no_place_for_a_job(home: Path, tmp_path: Path) -> None:
    work = tmp_path / "project"
    work.mkdir()
    spec = spec_of(home, work)
    view.require_visible(spec, str(work), "cwd")
    for place in (tmp_path / "keys", tmp_path / "elsewhere" / "gh", home / ".aws"):
        with pytest.raises(OutliveError, match="is hidden"):
            view.require_visible(spec, str(place), "cwd")


def test_what_the_configuration_shows_is_not_hidden_also_behind_a_link(home: Path, tmp_path: Path) -> None:
    spec = spec_of(home, tmp_path / "project", show=[f"{home}/.ssh"])
    assert f"{tmp_path}/keys" not in {path for path, _ in view._hidden(spec)}

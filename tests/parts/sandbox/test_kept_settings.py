"""What is kept and noted of the settings of editors and agents, before a job starts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from outlive.core.records import Sandbox
from outlive.parts.sandbox.confinement import guard, search
from outlive.parts.sandbox.confinement.search import Unguarded


def test_a_link_deep_in_a_directory_of_settings_is_followed(tmp_path: Path) -> None:
    place = tmp_path / ".claude/plugins/P/skills/S/T"
    place.mkdir(parents=True)
    (tmp_path / "real/a/b").mkdir(parents=True)
    for name in ("real/run", "real/a/b/run"):
        (tmp_path / name).touch()
    (place / "run").symlink_to(tmp_path / "real/run")
    (place / "real").symlink_to(tmp_path / "real")
    (tmp_path / "real/circle").symlink_to(".")
    noted = [path for path, _ in search.Look([str(tmp_path)]).stamps(str(tmp_path))]
    assert {f"{place}/run", f"{place}/real/run", f"{place}/real/a/b/run"} <= {*noted}


def test_a_tree_that_is_too_large_starts_with_git_write_as_the_error_advises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(roots: Mapping[str, int], _names: object) -> list[tuple[str, str]]:
        raise Unguarded(f"there are too many directories below {[*roots]}, or give git=write")

    for name in (".git", ".vscode"):
        (tmp_path / "w" / name).mkdir(parents=True)
    there = (tmp_path / "w").stat()
    sandbox = Sandbox(
        mode="workspace-write",
        home=f"{tmp_path}/home",
        roots=[f"{tmp_path}/w"],
        root_ids=[[there.st_dev, there.st_ino]],
    )
    monkeypatch.setattr(search, "find", found)
    with pytest.raises(Unguarded, match="or give git=write"):
        guard.guarded(sandbox)
    assert guard.guarded(Sandbox.replace(sandbox, git="write")).kept == [f"{tmp_path}/w/.vscode"]

"""The shell that runs what a model writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlive import verbs
from outlive.config import Config
from outlive.core.members import object_of, text_of
from outlive.mcp.tools import listing, offer


def test_bash_is_taken_by_its_name_where_the_path_has_it(tmp_path: Path) -> None:
    assert offer.shell_for_models({"PATH": f"/nowhere::{_with_bash(tmp_path)}"}) == ("bash", "-c")


def test_bash_outside_the_path_is_taken_by_its_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(offer, "_USUAL", (str(_with_bash(tmp_path)),))
    assert offer.shell_for_models({}) == (f"{tmp_path}/bash", "-c")


def test_without_bash_it_is_sh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(offer, "_USUAL", ())
    (tmp_path / "bash").touch()  # cannot be run
    assert offer.shell_for_models({"PATH": str(tmp_path)}) == ("sh", "-c")


def test_a_model_is_told_which_shell_it_writes_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(offer, "_USUAL", ())
    monkeypatch.setenv("PATH", str(_with_bash(tmp_path)))
    assert "bash string" in _description(Config({}, None))
    monkeypatch.setenv("PATH", "/nowhere")
    assert _description(Config({}, None)).startswith("A sh string")
    assert "zsh string" in _description(Config({("shell", "unix"): ["/bin/zsh", "-c"]}, None))


def _description(config: Config) -> str:
    properties = object_of(listing.of_verb(verbs.load("run"), config), "properties")
    return text_of(object_of(properties, "command"), "description")


def _with_bash(folder: Path) -> Path:
    (folder / "bash").touch(0o755)
    return folder

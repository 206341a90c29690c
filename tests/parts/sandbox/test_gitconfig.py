"""Settings of git are read as git reads them: what it would run from there is kept from a job."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from outlive.parts.sandbox.confinement import gitconfig
from support.devices import opens_device

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

FORMS = [
    'bare = true\n[a\t"[core]"]\nhooksPath = /no\n[core]hooksPath = /b',
    "hooksPath = /a/b # c",
    "hooksPath = /a\\\n/b",
    "hooksPath = /a\\\\\n# \\\nhooksPath = /b",  # neither an escaped backslash nor one in a comment goes on
    'hooksPath = /a"b # c"d ; e',
    'hooksPath = "/a;\\"b\\\nc"\\\\d',
    'bare = true # "\\\nhooksPath = /b',
    "hooksPath = ~/hooks\n\thooksPath = ~//hooks\n\thooksPath = ~root/hooks",
    "[alias] a = [core]\n[core] hooksPath = .hooks",
]


def test_hooks_are_where_git_looks_for_them(tmp_path: Path) -> None:
    for form in FORMS:
        (tmp_path / "config").write_text(f"\ufeff[core]\n\t{form}\n", encoding="utf-8")
        words = ["git", "config", "--file", "config", "--type=path", "--get-all", "core.hooksPath"]
        told = subprocess.run(
            words, cwd=tmp_path, env={"HOME": "/h"}, capture_output=True, text=True, timeout=60, check=True
        )
        assert gitconfig.Named([str(tmp_path / "config")], "/h").folders == told.stdout.splitlines(), form


def test_a_section_whose_name_a_tab_ends_includes_too(tmp_path: Path) -> None:
    (tmp_path / "config").write_text('[includeIf\t"onbranch:x"]\n\tpath = more\n')
    assert gitconfig.Named([str(tmp_path / "config")], "/h").included == [str(tmp_path / "more")]


def test_a_remote_for_which_git_runs_a_program_of_path_is_not_harmless() -> None:
    for url in ("evil::x", "ext::sh -c x", "::x", "evil://x/y", "a+b://x"):
        assert not gitconfig.is_harmless(f'[remote "origin"]\n\turl = {url}\n'), url
        assert not gitconfig.is_harmless(f'[branch "main"]\n\tremote = {url}\n'), url
    for url in ("https://[::1]/x", "ssh://git@host/x", "git@host:x/y", "/a/b", "../a", "file:///a"):
        assert gitconfig.is_harmless(f'[remote "origin"]\n\turl = {url}\n'), url


def test_a_device_in_place_of_settings_is_not_opened(tmp_path: Path) -> None:
    assert not opens_device(tmp_path, lambda path: gitconfig.without_secrets(path, "ignore"))

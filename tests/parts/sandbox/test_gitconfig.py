"""Settings of git are read as git reads them: what it would run from there is kept from a job."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from outlive.core.records import Sandbox
from outlive.errors import OutliveError
from outlive.parts.sandbox.confinement import gitconfig
from outlive.parts.sandbox.confinement.search import Unguarded
from outlive.system.fds import Closing
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


@pytest.mark.parametrize(
    ("name", "reads"),
    [
        ("config", lambda git: gitconfig.Named(gitconfig.files_of(git), "/h")),
        ("config.worktree", lambda git: gitconfig.Named(gitconfig.files_of(git), "/h")),
        ("commondir", gitconfig.common),
        ("gitdir", gitconfig.working_tree),
        (".git", lambda top: gitconfig.linked(f"{top}/.git", top)),
    ],
)
def test_what_another_process_keeps_from_being_read_is_not_taken_for_missing(
    tmp_path: Path, name: str, reads: Callable[[str], object]
) -> None:
    (tmp_path / name).write_text("gitdir: /it\n")
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)  # that others open the file is told by it
    with Closing(os.open(tmp_path / name, os.O_RDONLY)) as fd:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        with pytest.raises(Unguarded, match=f"{name} cannot be read"):
            reads(str(tmp_path))
    signal.signal(signal.SIGIO, before)


def test_what_is_no_file_of_settings_names_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "round").symlink_to("round")
    os.mkfifo(tmp_path / "fifo")
    for name in ("nothing", "folder", "link", "fifo", "file/below", "round/below"):
        assert gitconfig.read(str(tmp_path / name)) is None, name


def test_settings_that_are_not_read_to_their_end_are_not_taken_for_missing(tmp_path: Path) -> None:
    (tmp_path / "commondir").write_text("../it\0" + "x" * 70_000)
    with pytest.raises(Unguarded, match="longer than"):
        gitconfig.common(str(tmp_path))


def test_a_device_in_place_of_settings_is_not_opened(tmp_path: Path) -> None:
    assert not opens_device(tmp_path, lambda path: gitconfig.without_secrets(path, "ignore"))


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("#!/bin/sh\nexec sleep 600\n", "did not say in 0.1 seconds"),
        ("#!/bin/sh\nprintf 'file:/etc/gitconfig\\0core.pager\\ncat\\0'; exit 128\n", "could not say"),
        ("#!/nowhere/sh\n", "could not say"),
    ],
    ids=["hangs", "fails", "cannot be run"],
)
def test_a_git_that_does_not_say_what_its_settings_are_is_not_taken_for_one_without_any(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git, work = tmp_path / "bin/git", tmp_path / "w"
    for folder in (git.parent, work):
        folder.mkdir()
    git.write_text(script)
    git.chmod(0o755)
    if said.startswith("did not"):
        monkeypatch.setattr(gitconfig, "_ASKED_S", 0.1)
    sandbox = Sandbox(mode="workspace-write", home=str(tmp_path), roots=[str(work)])
    with pytest.raises(OutliveError, match=f"{git} {said}") as raised:
        gitconfig.noted(sandbox, {"PATH": str(git.parent)})
    assert raised.value.code == "sandbox_unavailable"
    writes = Sandbox.replace(sandbox, git="write")
    assert gitconfig.noted(writes, {"PATH": str(git.parent)}) == writes


def test_git_is_not_asked_about_what_it_would_wait_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / ".gitconfig")
    system = tmp_path / "system"
    system.write_text("[core]\n\thooksPath = .hooks\n")
    monkeypatch.setattr(gitconfig, "_ASKED_S", 60)
    sandbox = Sandbox(mode="workspace-write", home=str(tmp_path), roots=[str(tmp_path)])
    noted = gitconfig.noted(sandbox, {"PATH": os.environ["PATH"], "GIT_CONFIG_SYSTEM": str(system)})
    assert noted.git_folders == [".hooks"]

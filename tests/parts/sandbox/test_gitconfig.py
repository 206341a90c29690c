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
from outlive.parts.sandbox import gitformat
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
    'hooksPath = git\\thooks\n\thooksPath = "git\\nhooks"\n\thooksPath = a\\"\\\\\\b',
    "hooksPath = .hooks\u00a0\n\thooksPath = \x0b.hooks\x0c \t",
    'hooksPath = "" a ""\n\thooksPath = b \\\n\n\thooksPath = " c " \t\r',
    '[a "]"] b = [core]\n[a "x]\\"\\y"] hooksPath = /no\n[CORE]HooksPath = /b',
    'x = "\\\n[core] hooksPath = /no\\\n"\n\thooksPath = a\\\n  b;c',
]


def test_hooks_are_where_git_looks_for_them(tmp_path: Path) -> None:
    for form in FORMS:
        (tmp_path / "config").write_text(f"\ufeff[core]\n\t{form}\n", encoding="utf-8")
        words = ["git", "config", "--file", "config", "--type=path", "--null", "--get-all", "core.hooksPath"]
        told = subprocess.run(
            words, cwd=tmp_path, env={"HOME": "/h"}, capture_output=True, text=True, timeout=60, check=True
        )
        assert gitconfig.Named([str(tmp_path / "config")], "/h").folders == told.stdout.split("\0")[:-1], form


def test_a_tab_in_a_value_is_read_as_every_git_reads_it(tmp_path: Path) -> None:
    """A git before 2.45 has a blank in its place."""
    (tmp_path / "config").write_text('[core]\n\thooksPath = a\tb\r "\tc"\t# d\n', newline="")
    assert gitconfig.Named([str(tmp_path / "config")], "/h").folders == ["a\tb\r \tc", "a b  \tc"]


def test_a_path_that_may_be_missing_is_read_as_every_git_reads_it(tmp_path: Path) -> None:
    """Before git 2.52 the mark is a part of the path."""
    (tmp_path / "config").write_text("[core]\n\thooksPath = :(optional)~/a\n")
    assert gitconfig.Named([str(tmp_path / "config")], "/h").folders == [":(optional)~/a", "/h/a"]


def test_what_git_does_not_read_is_not_harmless(tmp_path: Path) -> None:
    """It takes no settings from such a file; another reader may."""
    for line in ("a b", "[core", "[c_re]", "a = \\x", 'a = "b', "1 = a", "a\x0b= b"):
        (tmp_path / "config").write_text(f"[core]\n\t{line}\n")
        told = subprocess.run(
            ["git", "config", "--file", tmp_path / "config", "--list"], capture_output=True, check=False
        )
        assert told.returncode == 128 and not gitconfig.is_harmless(f"[core]\n\t{line}\n"), line
    assert gitconfig.is_harmless("[core]\n\tbare = false\n")


def test_a_long_file_of_settings_is_read_at_once() -> None:
    """None takes a time that grows with the square of its size: this would be hours."""
    for text in (" " * 4_000_000, "a=b\\\n" * 800_000 + '"', 'a = "\\\n' * 400_000, "[a " * 1_000_000):
        assert len([*gitformat.settings(text)]) <= 1


def test_words_of_a_command_are_those_that_a_shell_reads() -> None:
    at_top = (
        '"$PWD"/a/b',
        "${PWD}/a/b -x",
        "$(git rev-parse --show-toplevel)/a/b",
        '"$GIT_WORK_TREE/a/b"',
        "`pwd`/a/b",
    )
    forms = {
        **dict.fromkeys(
            (*at_top, "!sh a/b", "sh -c 'a/b %f'", '!f() { a/b "$@"; }; f', "env X=a/b c", "x <a/b"), "a/b"
        ),
        **dict.fromkeys(
            ('"a b/c" %f', "'a b'/c", "a\\ b/c", '!"$PWD/a b/c"', '"$(git rev-parse --show-toplevel)/a b/c"'), "a b/c"
        ),
        **dict.fromkeys(("$HOME/a", "${HOME}/a", "~/a"), "/h/a"),
    }
    for command, word in forms.items():
        named = gitconfig.Named([], "/h")
        named.take_command(command)
        assert word in named.words, command


def test_a_git_directory_names_all_trees_that_git_may_take(tmp_path: Path) -> None:
    git = tmp_path / "git"
    git.mkdir()
    (git / "config").write_text(f'[core]\n\tworktree = {tmp_path}/a\n\tworktree = "../b\\tc"\n')
    (git / "config.worktree").write_text("[core]\n\tworktree = ../d\n")
    assert gitconfig.working_trees(str(git)) == [f"{tmp_path}/{name}" for name in ("a", "b\tc", "d")]


def test_a_section_whose_name_a_tab_ends_includes_too(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(
        '[includeIf\t"onbranch:x"]\n\tpath = more\n[includeIf "gitdir:**/[w]/"] path = again\n'
    )
    assert gitconfig.Named([str(tmp_path / "config")], "/h").included == [f"{tmp_path}/more", f"{tmp_path}/again"]


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
        ("gitdir", gitconfig.working_trees),
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


def test_a_file_that_names_a_path_may_end_in_any_blank(tmp_path: Path) -> None:
    name = " git \u00a0"
    git = tmp_path / "top" / name
    subprocess.run(["git", "init", "-q", "--separate-git-dir", git, tmp_path / "top"], check=True)
    (tmp_path / "top/.git").write_text(f"gitdir: {name}\r\n\n", newline="")
    told = subprocess.run(
        ["git", "rev-parse", "--absolute-git-dir"], cwd=tmp_path / "top", capture_output=True, text=True, check=True
    )
    assert gitconfig.linked(f"{tmp_path}/top/.git", f"{tmp_path}/top") == str(git) == told.stdout.removesuffix("\n")
    (tmp_path / "commondir").write_text(f"top/{name}\n")
    assert gitconfig.common(str(tmp_path)) == str(git)


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


def test_settings_that_are_included_from_where_git_is_installed_are_refused(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(f"[include]\n\tpath = %(prefix)/..{tmp_path}/inc\n")
    with pytest.raises(Unguarded, match=r"include %\(prefix\)/"):
        gitconfig.Named([f"{tmp_path}/config"], "/home")


def test_links_in_circles_are_not_followed_to_submodules(tmp_path: Path) -> None:
    modules = tmp_path / "modules"
    (modules / "a/b").mkdir(parents=True)
    (modules / "a/b/HEAD").touch()
    for at in range(100):
        (modules / f"a/{at}").symlink_to(".")
    assert [*gitconfig.registered(str(tmp_path))] == [f"{modules}/a/b"]

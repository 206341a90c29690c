"""A workspace, a toolchain or a link in what jobs cache: each of them could rename a directory above it, and put a link in its
place, which bubblewrap follows while it sees the whole machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from outlive.core.records import Sandbox
from outlive.parts.sandbox.confinement import visible_paths
from outlive.parts.sandbox.confinement.guard import guarded
from outlive.parts.sandbox.confinement.mounts import Mounts, add
from support.cli import Cli, Jobs
from support.mcp_client import McpSession
from support.tiers import ONE_ERA

INSIDE = ("--sandbox", "workspace-write")
BELOW = (*visible_paths.CACHES, *visible_paths.CACHES_IN_TOOLCHAINS, visible_paths.OWN_STORES)
_ONE_PLACE = {"--ro-bind", "--bind-fd", "--ro-bind-fd", "--file", "--symlink"}


@pytest.fixture
def home(place: Path) -> Path:
    return place / "home"


def exchange(home: Path, victim: Path) -> str:
    """What a job runs: a link that bubblewrap would follow takes the place of the directory that the workspace is in."""
    return f"mkdir -p {home}/.cache/a; mv {home}/.cache/a {home}/.cache/b && ln -s /oldroot{victim} {home}/.cache/a"


@ONE_ERA
def test_a_job_in_a_cache_has_nothing_made_elsewhere_by_the_next_start(
    cli: Cli, jobs: Jobs, home: Path, mcp_connect: Callable[..., McpSession]
) -> None:
    workspace, victim = home / ".cache/a/proj", home / "victim"
    for folder in (workspace, victim):
        folder.mkdir(parents=True)
    cli.ok("run", "--wait", *INSIDE, exchange(home, victim), cwd=workspace)
    writes = "echo mine > file && cat file"
    assert cli.ok("run", "--wait", *INSIDE, writes, cwd=workspace)["output"] == "mine\n"
    session = mcp_connect(cwd=workspace)
    session.ok("exec", command=exchange(home, victim), sandbox="workspace-write", yield_ms=30_000)
    answer = session.ok("exec", command=writes, sandbox="workspace-write", yield_ms=30_000)
    assert answer["output"] == "mine\n" and (workspace / "file").read_text() == "mine\n"
    assert list(victim.iterdir()) == []
    jobs.end()


def test_a_link_of_the_user_in_a_cache_is_made_nowhere_else(
    cli: Cli, home: Path, work: Path, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools, victim, config = home / ".cache/a/v1/bin", home / "victim", place / "outlive.toml"
    for folder in (tools, victim):
        folder.mkdir(parents=True)
    (tools / "tool").write_text("seen")
    (home / ".cache/a/cur").symlink_to("v1")
    config.write_text("")
    monkeypatch.setenv("OUTLIVE_CONFIG", str(config))
    cli.ok("run", "--wait", *INSIDE, exchange(home, victim), cwd=work)
    linked = home / ".cache/a/cur/bin"
    config.write_text(f'[sandbox]\nmode = "workspace-write"\nshow = ["{linked}", "{tools}"]\n')
    for given in ((), ("--cwd", str(linked))):
        answer = cli.ok("run", "--wait", *given, f"cat {linked}/tool", cwd=work)
        assert (answer["output"], answer["exit_code"]) == ("seen", 0)
    assert list(victim.iterdir()) == []


def test_an_environment_behind_a_cache_or_a_store_that_is_a_link_is_seen_by_its_name(
    cli: Cli, home: Path, work: Path, place: Path
) -> None:
    """On a larger disk; of some the outer directory is named too."""
    named = {"VIRTUAL_ENV": ".cache/envs/e", "CONDA_PREFIX": ".cache", "JAVA_HOME": ".cache/envs/e/jdk", "GOPATH": "go"}
    for below in ("cache/envs/e/jdk", "pkg/x", "own"):
        (place / "disk" / below).mkdir(parents=True)
    (home / "go").mkdir(parents=True)
    (home / ".cache").symlink_to(place / "disk/cache")
    (home / "go/pkg").symlink_to("../../disk/pkg")
    (home / ".npm").symlink_to(place / "disk/own")
    for given in (("JAVA_HOME", "VIRTUAL_ENV", "GOPATH"), ("CONDA_PREFIX", "VIRTUAL_ENV")):
        env = {name: str(home / named[name]) for name in given}
        words = ["ls -d " + " ".join(f"${name}/." for name in given), "ls ~/go/pkg"] if "GOPATH" in env else [":"]
        if "CONDA_PREFIX" not in env:
            words += ["touch ~/.cache/mine ~/.cache/envs/mine ~/.npm/mine", "! touch $VIRTUAL_ENV/mine"]
        answer = cli.ok("run", "--wait", *INSIDE, " && ".join(words), env=env, cwd=work)
        assert answer["exit_code"] == 0, answer
    assert not any((place / "disk" / below / "mine").exists() for below in ("cache", "cache/envs", "own"))


def sandbox_of(home: Path, root: Path, **more: list[str]) -> Sandbox:
    status = root.stat()
    ids = [[status.st_dev, status.st_ino]]
    cache = str(home / ".cache/outlive/sandbox/0")
    same = {"mode": "workspace-write", "network": "open", "home": str(home), "cache": cache}
    return Sandbox(**same, roots=[str(root)], root_ids=ids, **more)  # type: ignore[arg-type]


def passed(mounts: Mounts, cache: str) -> list[str]:
    """Where bubblewrap makes a mount, a file or a link on a way through what other jobs write."""
    written = []
    for at, word in enumerate(mounts.words):
        if word == "--bind-fd" and is_in(
            os.readlink(f"/proc/self/fd/{mounts.files[int(mounts.words[at + 1])]}"), cache
        ):
            written.append(mounts.words[at + 2])
    assert written, "nothing of the cache is mounted: the test looks at the wrong words"
    places = [mounts.words[at + 2] for at, word in enumerate(mounts.words) if word in _ONE_PLACE]
    places += [mounts.words[at + 1] for at, word in enumerate(mounts.words) if word == "--tmpfs"]
    return [one for one in places for above in written if one.startswith(above + "/")]


def is_in(path: str, folder: str) -> bool:
    return path.startswith(folder + "/")


@pytest.mark.parametrize(
    ("kind", "below"),
    [("workspace", one) for one in BELOW]
    + [(one, ".cache") for one in ("toolchain", "shown", "link", "hidden", "repository")],
)
def test_no_mount_is_made_on_a_way_that_other_jobs_write(tmp_path: Path, kind: str, below: str) -> None:
    """Whatever the moment in which a job changes the way: it is not in the sandbox."""
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    inner = home / below / "a/b"
    for folder in (inner, elsewhere):
        folder.mkdir(parents=True)
    sandbox, cwd = sandbox_of(home, elsewhere), str(elsewhere)
    if kind == "workspace":
        (inner / ".git").mkdir()
        sandbox = sandbox_of(home, inner)
    elif kind == "toolchain":
        sandbox = sandbox_of(home, elsewhere, toolchains=[str(inner)])
    elif kind == "shown":
        sandbox = sandbox_of(home, elsewhere, show=[str(inner)])
    elif kind == "link":
        (home / below / "link").symlink_to(elsewhere)
        cwd = str(home / below / "link")
    elif kind == "hidden":
        (inner / "keys").mkdir()
        sandbox = sandbox_of(home, elsewhere, show=[str(inner)], hide=[str(inner / "keys")])
    else:
        own = inner / ".git/worktrees/w"
        own.mkdir(parents=True)
        (inner / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (inner / ".git/objects").mkdir()
        (own / "gitdir").write_text(f"{elsewhere}/.git\n")
        (own / "commondir").write_text("../..\n")
        (elsewhere / ".git").write_text(f"gitdir: {own}\n")
    mounts = Mounts(100)
    add(mounts, sandbox, cwd, lambda: guarded(sandbox))
    assert passed(mounts, str(home / ".cache/outlive")) == []
    assert any(is_in(one, str(home / below)) for one in mounts.places), "nothing is made there at all"
    mounts.close()


def test_only_the_cache_that_something_lies_in_is_left_out(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for folder in (home / ".cache/proj", tmp_path / "w"):
        folder.mkdir(parents=True)
    for root, own in ((tmp_path / "w", [".cache", ".npm"]), (home / ".cache/proj", [".npm"])):
        mounts = Mounts(100)
        add(mounts, sandbox_of(home, root), str(root), lambda: None)
        words = mounts.words
        bound = [words[at + 2] for at, word in enumerate(words) if word == "--bind-fd"]
        assert [name for name in (".cache", ".npm") if str(home / name) in bound] == own
        mounts.close()

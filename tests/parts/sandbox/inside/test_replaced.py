"""What a job put in the place of something by which a later job is set up: links, and names that change meanwhile."""

from __future__ import annotations

import os
import shutil

import pytest

from parts.sandbox.inside.test_break_out import USERS, Ground
from parts.sandbox.inside.test_break_out import ground as ground  # noqa: PLC0414 - a fixture
from support import landlock, pair

INSIDE = ("--sandbox", "workspace-write")
# Exchanges two names as fast as it can until a file is there: renameat2(2) with RENAME_EXCHANGE
EXCHANGE = """
import ctypes, os, sys
number = 276 if os.uname().machine == "aarch64" else 316
call = ctypes.CDLL(None).syscall
while not os.path.exists("stop"):
    for _ in range(50): call(number, -100, b"folder", -100, b"link", 2)
"""


def _output(answer: dict[str, object]) -> str:
    assert answer["ok"], answer
    return str(answer["output"])


@USERS
@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "PATH"])
def test_a_link_in_the_place_of_a_toolchain_shows_nothing_more(ground: Ground, variable: str) -> None:
    place = ground.directory("work")
    _output(ground.outlive("run", "--wait", *INSIDE, "ln -s ~/.ssh .venv", cwd=place))
    path = f"{place}/.venv" + (f":{os.environ['PATH']}" if variable == "PATH" else "")
    for folder in (place, ground.directory("other")):
        answer = ground.outlive("run", "--wait", *INSIDE, "cat ~/.ssh/*", cwd=folder, **{variable: path})
        assert "secret" not in _output(answer) and answer["exit_code"] != 0, answer


@USERS
def test_a_link_behind_which_no_job_could_write_is_followed(ground: Ground) -> None:
    place, tools = ground.directory("work"), ground.directory("disk", "tools", "bin")
    ground.shell(f"ln -s disk ~/linked; echo 'echo tool' > {tools}/tool; chmod +x {tools}/tool", place)
    path = f"{ground.home}/linked/tools/bin:{os.environ['PATH']}"
    assert _output(ground.outlive("run", "--wait", *INSIDE, "tool", cwd=place, PATH=path)) == "tool\n"


@USERS
def test_a_job_that_may_write_the_caches_does_not_choose_what_later_jobs_write(ground: Ground) -> None:
    place = ground.directory("work")
    write = {"OUTLIVE_SANDBOX_WRITE": f"{ground.home}/.cache"}
    caches = ground.home / ".cache/outlive/sandbox"
    assert "x" not in _output(ground.outlive("run", "--wait", *INSIDE, "true", cwd=place, **write))
    names = [path.name for path in caches.iterdir()]
    replace = f"cd ~/.cache; mv outlive old; for name in {' '.join(names)}; do mkdir -p outlive/sandbox/$name; ln -s ~/.ssh outlive/sandbox/$name/.npm; done; true"
    _output(ground.outlive("run", "--wait", *INSIDE, replace, cwd=place, **write))
    answer = ground.outlive("run", "--wait", *INSIDE, "cat ~/.npm/*; echo x > ~/.npm/new", cwd=place, **write)
    assert "secret" not in str(answer) and not (ground.home / ".ssh/new").exists()


@USERS
def test_a_cache_that_is_a_link_is_refused(ground: Ground) -> None:
    place = ground.directory("work")
    made = ground.outlive("run", "--wait", *INSIDE, "true", cwd=place)
    pair.until_free(ground.root, str(made["job_id"]))  # its supervisor renames the cache when the outcome is recorded
    (own,) = ground.home.glob(".cache/outlive/sandbox/*/at-*")
    shutil.rmtree(own / ".npm")
    (own / ".npm").symlink_to(ground.home / ".ssh")
    answer = ground.outlive("run", "--wait", *INSIDE, "cat ~/.npm/*", cwd=place)
    assert answer["error"]["code"] == "sandbox_unavailable" and ".npm: it is a link" in answer["error"]["message"]


@USERS
def test_a_directory_that_becomes_a_link_meanwhile_is_not_followed(ground: Ground) -> None:
    place, victim = ground.directory("work"), ground.directory("victim")
    ground.shell("git init -q . && echo secret > key", victim)
    script = f"mkdir -p folder/.git/objects; echo > folder/.git/HEAD; ln -s {victim} link; exec {ground.python} -c '{EXCHANGE}'"
    job = ground.outlive("run", "--until", "file=link", *INSIDE, script, cwd=place)["job_id"]
    look = "for name in folder link; do test -L $name || cat $name/key; echo x > $name/new; done"
    found = [ground.outlive("run", "--wait", *INSIDE, look, cwd=place) for _ in range(12)]
    (place / "stop").touch()
    ground.outlive("wait", str(job))
    assert "secret" not in str(found) and not (victim / "new").exists()


@USERS
def test_a_file_that_a_job_reads_as_its_stdin_is_not_written_by_it(ground: Ground) -> None:
    place = ground.directory("work")
    data = place.parent / "data"
    ground.shell("echo data > ~/data", place)
    script = "cat; (echo x > /proc/self/fd/0); chmod 777 /proc/self/fd/0; echo y > /dev/stdout"
    answer = ground.outlive("run", "--wait", *INSIDE, "--stdin", f"@{data}", script, cwd=place)
    if landlock.version() < 3:
        pytest.skip("Landlock of this kernel knows no truncation")
    assert "data\n" in _output(answer) and "y\n" in _output(answer)
    assert data.read_text() == "data\n"


@USERS
def test_what_is_hidden_stays_hidden_where_what_is_around_it_is_renamed(ground: Ground) -> None:
    place = ground.directory("work")
    ground.directory("work", "outer", "diary")
    ground.shell(
        "echo secret > outer/diary/today; mkdir -p ~/.cargo/registry; echo secret > ~/.cargo/registry/key", place
    )
    hide = {"OUTLIVE_SANDBOX_HIDE": f"{place}/outer/diary {ground.home}/.cargo/registry"}
    _output(ground.outlive("run", "--wait", *INSIDE, "mv outer moved", cwd=place, **hide))
    look = "cat outer/diary/today moved/diary/today ~/.cargo/registry/key"
    assert "secret" not in _output(ground.outlive("run", "--wait", *INSIDE, look, cwd=place, **hide))


@USERS
def test_a_directory_is_hidden_where_a_link_shows_it(ground: Ground) -> None:
    place = ground.directory("work")
    ground.shell("mkdir -p ~/disk/versions ~/disk/keys; echo secret > ~/disk/keys/key; ln -s disk ~/.pyenv", place)
    hide = {"OUTLIVE_SANDBOX_HIDE": f"{ground.home}/disk/keys"}
    answer = ground.outlive(
        "run", "--wait", *INSIDE, "ls -d ~/.pyenv/versions; cat ~/.pyenv/keys/key", cwd=place, **hide
    )
    assert "versions" in _output(answer) and "secret" not in _output(answer)


# Where tools keep credentials beside what they installed
CREDENTIALS = (
    ".local/share/uv/credentials/credentials.toml .stack/upload/credentials.json .opam/plugins/opam-publish/me.token "
    ".julia/servers/pkg/auth.toml .julia/logs/repl_history.jl .pub-cache/credentials.json .rye/credentials "
    ".dotnet/corefx/cryptography/x509stores/my/key.pfx"
).split()


@USERS
def test_credentials_beside_toolchains_are_not_shown(ground: Ground) -> None:
    place = ground.directory("work")
    for name in CREDENTIALS:
        ground.shell(f"mkdir -p ~/{os.path.dirname(name)}; echo secret > ~/{name}", place)
    found = ground.outlive("run", "--wait", *INSIDE, "--network", "none", "grep -rl secret ~ 2>/dev/null", cwd=place)
    assert _output(found) == ""

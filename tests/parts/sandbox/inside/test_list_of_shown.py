"""What a sandbox shows is a list: the kernel's settings, the home, the writable directories, and the bits of files."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from outlive.store.job_dir import COMPLETION, NOTIFICATIONS
from parts.sandbox.inside.test_break_out import USERS, Ground
from parts.sandbox.inside.test_break_out import ground as ground  # noqa: PLC0414 - a fixture
from parts.sandbox.inside.test_works_inside import PYTHON
from support import landlock, wait
from support.cli import Cli, Jobs
from support.serve import Served

INSIDE = ("--sandbox", "workspace-write")
# Prints each file below /proc and /sys that it can open for writing. What a process has open itself is left out
OPEN_ALL = """
import os, sys
def files(top):
    for folder, names, found in os.walk(top):
        names[:] = [n for n in names if n not in ("fd", "map_files", "fdinfo", "task", "cwd", "root") and not (top == folder and n.isdigit())]
        yield from (os.path.join(folder, n) for n in found)
count = 0
for top in ("/proc", "/sys", "/proc/self"):
    for path in files(top):
        count += 1
        if os.path.islink(path): continue
        try: os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
        except OSError: continue
        print("OPEN", path)
print("END", count > 100)
"""
# Each call that can set the mode of a file, by its number on x86_64 and aarch64; 0: the machine has none
SET_ID = """
import ctypes, os, sys
c = ctypes.CDLL(None, use_errno=True)
arm = os.uname().machine == "aarch64"
fd = os.open("f", os.O_CREAT | os.O_RDWR, 0o755)
def call(x86, other, *a):
    number = other if arm else x86
    if number: c.syscall(number, *a)
for bits in (0o4755, 0o2755):
    call(90, 0, b"f", bits); call(91, 52, fd, bits); call(268, 53, -100, b"f", bits); call(452, 452, -100, b"f", bits, 0)
    call(2, 0, b"g%o" % bits, 0o101, bits); call(85, 0, b"h%o" % bits, bits); call(257, 56, -100, b"i%o" % bits, 0o101, bits)
    call(133, 0, b"j%o" % bits, 0o100000 | bits, 0); call(259, 33, -100, b"k%o" % bits, 0o100000 | bits, 0)
    call(83, 0, b"l%o" % bits, bits); call(258, 34, -100, b"m%o" % bits, bits)
    how = (ctypes.c_uint64 * 3)(0o101, bits, 0); call(437, 437, -100, b"n%o" % bits, how, 24)
for name in os.listdir("."):
    if os.lstat(name).st_mode & 0o6000: print("SET", name)
print("END")
"""


@USERS
def test_no_file_of_the_kernel_can_be_opened_for_writing(ground: Ground) -> None:
    for mode in ("read-only", "workspace-write"):
        answer = ground.outlive("run", "--wait", "--sandbox", mode, "--", ground.python, "-c", OPEN_ALL)
        assert answer["output"] == "END True\n", (mode, answer["output"][:2000])
    if ground.ids[0] == 0:
        assert os.access("/proc/sys/kernel/core_pattern", os.W_OK)


@USERS
def test_no_set_id_bit_can_be_set(ground: Ground) -> None:
    place = ground.directory("bits")
    answer = ground.outlive("run", "--wait", *INSIDE, "--", ground.python, "-c", SET_ID, cwd=place)
    assert answer["output"] == "END\n", answer
    free = ground.outlive("run", "--wait", "--", ground.python, "-c", SET_ID, cwd=place)
    assert free["output"].count("SET") > 5, "an attempt that fails anyway proves nothing"


@USERS
def test_what_comes_into_the_home_meanwhile_is_not_there(ground: Ground) -> None:
    place = ground.directory("work")
    look = "cat ~/.netrc ~/.aws/credentials ~/.ssh/id ~/.ssh.old/* ~/new/key"
    script = f"until test -e go; do sleep 0.05; done; {look}; ls -A ~ | sort"
    job = str(ground.outlive("run", "--snapshot-after", "0", *INSIDE, "--network", "none", script, cwd=place)["job_id"])
    ground.shell(
        "echo SECRET > ~/.n; mv ~/.n ~/.netrc; mkdir -p ~/.aws ~/new; echo SECRET > ~/.aws/credentials; echo SECRET > ~/new/key;"
        "mv ~/.ssh ~/.ssh.old; mkdir ~/.ssh; echo SECRET > ~/.ssh/id; touch go",
        place,
    )
    ended = ground.outlive("wait", job)
    assert "SECRET" not in ended["output"] and "secret" not in ended["output"]
    assert "SECRET" in ground.outlive("run", "--wait", look, cwd=place)["output"]


@USERS
def test_tools_work_and_write_into_a_cache_of_their_own(ground: Ground) -> None:
    place = ground.directory("work")
    ground.shell(
        "mkdir -p ~/.local/bin ~/.cache/pip ~/.cargo/bin; echo 'echo tool' > ~/.local/bin/tool; chmod +x ~/.local/bin/tool",
        place,
    )
    ground.shell(
        "printf '[user]\\n\\tname = Me\\n[credential]\\n\\thelper = store\\n[http]\\n\\textraheader = SECRET\\n' > ~/.gitconfig",
        place,
    )
    script = "~/.local/bin/tool; ! touch ~/.local/bin/x && echo kept > ~/.cache/mine && git config --list --global"
    answer = ground.outlive("run", "--wait", *INSIDE, script, cwd=place)
    assert answer["exit_code"] == 0 and "tool\n" in answer["output"], answer
    assert "user.name=Me" in answer["output"] and "SECRET" not in answer["output"] and "helper" not in answer["output"]
    assert not (ground.home / ".cache/mine").exists()
    assert ground.outlive("run", "--wait", *INSIDE, "cat ~/.cache/mine", cwd=place)["output"] == "kept\n"
    other = ground.directory("other")
    assert ground.outlive("run", "--wait", *INSIDE, "cat ~/.cache/mine", cwd=other)["exit_code"] != 0


@USERS
def test_a_writable_directory_that_a_job_replaced_by_a_link_is_refused(ground: Ground) -> None:
    place, victim = ground.directory("work"), ground.directory("victim")
    write = {"OUTLIVE_SANDBOX_WRITE": f"{place}/cache"}
    assert ground.outlive("run", "--wait", *INSIDE, "ls -d cache", cwd=place, **write)["exit_code"] == 0
    ground.outlive("run", "--wait", *INSIDE, f"rmdir cache; ln -s {victim} cache", cwd=place)
    answer = ground.outlive("run", "--wait", *INSIDE, "echo pwned > cache/pwned", cwd=place, **write)
    assert answer["error"]["code"] == "config_error" and str(victim) in answer["error"]["hint"], answer
    assert list(victim.iterdir()) == []


@pytest.mark.parametrize("user", ["self"])
def test_a_stored_job_runs_in_the_directory_that_it_was_made_for_or_not_at_all(ground: Ground) -> None:
    place = ground.directory("work")
    job = str(ground.outlive("create", *INSIDE, "echo x > file", cwd=place)["job_id"])
    ground.shell("mv work old; mkdir work", ground.home)
    answer = ground.outlive("start", job, "--wait", cwd=ground.home / "old")
    assert not answer["ok"], answer
    assert not (place / "file").exists()


def test_a_token_is_for_the_directory_that_it_was_made_for(serve: Callable[..., Served], place: Path) -> None:
    served, inner, victim = serve(), place / "work/inner", place / "victim"
    inner.mkdir()
    victim.mkdir()
    secret = served.token("held", "--sandbox", "workspace-write", "--workdir", str(inner))
    assert served.tool("exec", token=secret, command="touch here")["exit_code"] == 0
    inner.rename(place / "work/old")
    inner.symlink_to(victim)
    found = served.tool("exec", token=secret, command="touch pwned")
    assert found["error"]["code"] in ("denied", "config_error"), found
    assert list(victim.iterdir()) == []


def test_a_home_is_not_writable_as_a_whole_and_no_file_is_hidden(cli: Cli, place: Path) -> None:
    (place / "work/file").touch()
    for name, value, said in (
        ("WRITE", str(place / "home"), "a home directory"),
        ("WRITE", "/", "a home directory"),
        ("HIDE", f"{place}/work/file", "only directories can be hidden"),
    ):
        answer = cli.run("run", "--wait", *INSIDE, "true", cwd=place / "work", env={f"OUTLIVE_SANDBOX_{name}": value})
        assert answer["error"]["code"] == "config_error" and said in answer["error"]["message"], answer.json


def test_a_directory_that_is_not_shown_is_no_place_for_a_job(cli: Cli, place: Path) -> None:
    other = place / "other"
    other.mkdir()
    error = cli.run("run", "--wait", *INSIDE, "--cwd", str(other), "true", cwd=place / "work")["error"]
    assert error["code"] == "invalid_argument" and "[sandbox] write or show" in error["hint"]
    shown = {"OUTLIVE_SANDBOX_SHOW": str(other)}
    answer = cli.ok("run", "--wait", *INSIDE, "--cwd", str(other), "pwd; ! touch x", cwd=place / "work", env=shown)
    assert (answer["exit_code"], answer["output"].splitlines()[0]) == (0, str(other))


def test_a_directory_behind_a_link_is_reached_by_its_name(cli: Cli, place: Path) -> None:
    (place / "real").mkdir()
    (place / "link").symlink_to("real")
    shown = {"OUTLIVE_SANDBOX_SHOW": str(place / "link")}
    answer = cli.ok("run", "--wait", *INSIDE, f"cd {place}/link && pwd", cwd=place / "work", env=shown)
    assert answer["output"] == f"{place}/link\n"


def test_leaving_git_to_a_job_needs_a_ceiling_that_allows_it(cli: Cli, place: Path) -> None:
    def code(*flags: str, **settings: str) -> str:
        env = {f"OUTLIVE_SANDBOX_{name.upper()}": value for name, value in settings.items()}
        answer = cli.run("run", "--wait", *flags, "true", cwd=place / "work", env=env).json
        return str(answer["error"]["code"] if "error" in answer else answer["sandbox"]["git"])

    assert code(mode="workspace-write") == "read"
    assert code("--git", "write", mode="workspace-write") == "denied"
    assert code("--git", "write", mode="workspace-write", git_ceiling="write") == "write"
    assert code("--git", "write", mode="workspace-write", ceiling="off") == "write"
    assert code(mode="workspace-write", git="write") == "write"
    assert code("--git", "read", mode="workspace-write", git="write") == "read"


@USERS
def test_an_abstract_socket_outside_is_out_of_reach_where_landlock_scopes(ground: Ground) -> None:
    if landlock.version() < 6:
        pytest.skip("Landlock of this kernel has no scopes")
    name = f"outlive-test-{os.getpid()}"
    serve = f"import socket,sys; s=socket.socket(socket.AF_UNIX); s.bind('\\0{name}'); s.listen(); print('up', flush=True); s.accept()"
    reach = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}'); print('reached')"
    server = str(ground.outlive("run", "--snapshot-after", "0", "--", ground.python, "-c", serve)["job_id"])
    ground.outlive("wait", server, "--until", "regex=up")
    answer = ground.outlive("run", "--wait", *INSIDE, "--network", "open", "--", ground.python, "-c", reach)
    assert "reached" not in answer["output"], answer
    assert "reached" in ground.outlive("run", "--wait", "--", ground.python, "-c", reach)["output"]
    wait.until(lambda: ground.outlive("status", server)["state"] == "exited")


def test_an_abstract_socket_outside_is_out_of_reach_for_what_is_run_because_of_a_job(
    cli: Cli, jobs: Jobs, work: Path
) -> None:
    if landlock.version() < 6:
        pytest.skip("Landlock of this kernel has no scopes")
    name, told = f"outlive-test-{os.getpid()}", work / "told"
    reach = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')"
    command = f'{PYTHON} -c "{reach}"; echo $? > told.new; mv told.new told; exit 3'
    ways = (
        (("--notify-command", "true"), COMPLETION),
        (("--watch", "hit", "--watch-command", "echo hit"), NOTIFICATIONS),
    )
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{name}")
        listener.listen()
        for inside, reached in ((INSIDE, "1\n"), ((), "0\n")):
            for (*words, script), record in ways:
                flags = (*inside, *(("--network", "open") if inside else ()), *words, command)
                job = cli.ok("run", *flags, script, cwd=work)["job_id"]
                wait.until(told.exists, what=f"the command of {words}")
                assert told.read_text() == reached, (inside, words)
                told.unlink()
                path = cli.root / job / record
                wait.until(lambda path=path: path.exists() and '"exit_code": 3' in path.read_text(), what="its status")
    jobs.end()


def test_a_kill_leaves_what_notifies_of_the_end_alone(cli: Cli, work: Path) -> None:
    """Of its processes bwrap has an environment of its own."""
    command = "touch began; until test -e go; do sleep 0.05; done; touch told"
    job = cli.ok("run", *INSIDE, "--snapshot-after", "0", "--notify-command", command, "exec sleep 300", cwd=work)[
        "job_id"
    ]
    assert cli.ok("kill", job)["state"] == "killed"
    wait.until((work / "began").exists, what="the command")
    cli.ok("kill", job)
    (work / "go").touch()
    wait.until((work / "told").exists, what="its end")


def test_a_directory_below_etc_is_hidden_as_any_other(cli: Cli, work: Path) -> None:
    shown = cli.ok("run", "--wait", *INSIDE, "find /etc -mindepth 1 -maxdepth 3 -type f")["output"].splitlines()
    folders = sorted({os.path.dirname(path) for path in shown} - {"/etc", "/etc/ssl", "/etc/pki/tls"})
    assert folders
    for folder in folders[:3]:
        for mode in ("read-only", "workspace-write"):
            hide = {"OUTLIVE_SANDBOX_HIDE": folder}
            answer = cli.ok("run", "--wait", "--sandbox", mode, f"ls -A {folder}", env=hide)
            assert (answer["exit_code"], answer["output"]) == (0, ""), (folder, answer)

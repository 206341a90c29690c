"""Programs that want a person, without a terminal: the answer says so before its time is up, and names the way out."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from outlive.parts.failures import failure, person
from support.cli import Cli, Jobs

EDITOR = f"#!{sys.executable}\nimport select\nselect.select([0], [], [], 0.1)\nselect.select([], [], [])\n"
REPOSITORY = "git init -q . && git config user.name x && git config user.email x@x && touch a && git add a"
KEY = "ssh-keygen -q -t ed25519 -N secret -f key"
WITHOUT_TEXT = "git commit"
WAYS = {
    "git commit": "pass the text with -m",
    "git commit --amend": "pass the text with -m",
    "git rebase -i --root": "GIT_EDITOR=true",
    "vi a": "start it with pty",
    "vim a": "start it with pty",
    "nano a": "start it with pty",
    "passwd": "`chpasswd`",
    "docker login": "--password-stdin",
    "npm init": "pass -y",
    "gpg --symmetric --output b a": "--pinentry-mode loopback",
    "dialog --yesno really 8 20": "pty",
    "sudo -k true": "pty",
    "python3 -c 'input(\"name? \")'": "stdin_data",
    "python3 -c 'import getpass; getpass.getpass()'": "GetPassWarning",
    "openssl genrsa -aes128 -out b 2048": "-passout",
    "npm login": "a token into ~/.npmrc",
    "ssh-keygen -p -f key": "-P with the old one",
    "git -c core.editor=vim notes add": "-m",
    "top": "-b -n 1",
    "su -s /bin/sh nobody -c su": "`sudo -n`",
    "tmux": "pty",
}


SAID = {  # what programs say that would change the machine if they were tried
    "Do you want to continue? [Y/n] Abort.\n": ("apt-get remove less", "pass -y"),
    "dpkg: error processing package x (--install):\n end of file on stdin at conffile prompt\n": (
        "dpkg -i x.deb",
        "--force-confold",
    ),
    "E: Sub-process /usr/bin/dpkg returned: end of file on stdin at conffile prompt\n": (
        "apt-get install -y x",
        "Dpkg::Options::=--force-confold",
    ),
}


def program(command: str) -> str:
    return command.split(maxsplit=1)[0]


def editor(work: Path, name: str) -> Path:
    path = work / name
    path.write_text(EDITOR)
    path.chmod(0o755)
    return path


@pytest.fixture
def repository(work: Path) -> Path:
    subprocess.run(REPOSITORY, shell=True, cwd=work, check=True)
    return work


@pytest.mark.parametrize("name", ["nano", "editor"])
def test_a_commit_that_waits_for_its_editor_is_answered_at_once(
    cli: Cli, jobs: Jobs, repository: Path, name: str
) -> None:
    env = {"GIT_EDITOR": str(editor(repository, name))}
    ran = cli.ok("run", "--snapshot-after", "600000", WITHOUT_TEXT, env=env)
    assert ran["state"] == "running"
    assert ran["hint"] == (
        f"In the foreground: git → {name}, which wants a terminal; its stdin is closed: kill it and pass the text with "
        "-m or --no-edit, or set GIT_EDITOR=true, or start it with pty."
    )
    jobs.end()


def test_an_editor_that_works_by_itself_is_let_work(cli: Cli, work: Path) -> None:
    path = editor(work, "vim")
    path.write_text(f"#!{sys.executable}\nimport select\nselect.select([], [], [], 1.2)\n")
    ran = cli.ok("run", "--snapshot-after", "60000", f"{path} -es script")
    assert (ran["state"], ran["exit_code"], ran.get("hint")) == ("exited", 0, None)


def test_an_editor_in_a_terminal_is_none_that_wants_one(cli: Cli, jobs: Jobs, work: Path) -> None:
    ran = cli.ok("run", "--pty", "--snapshot-after", "1500", str(editor(work, "nano")))
    assert ran["state"] == "running"
    assert "wants a terminal" not in ran["hint"]
    jobs.end()


@pytest.mark.parametrize("command", WAYS)
@pytest.mark.slow
def test_each_real_program_is_answered_with_its_way_out(cli: Cli, jobs: Jobs, repository: Path, command: str) -> None:
    if shutil.which(program(command)) is None:
        pytest.skip(f"{program(command)} is not installed")
    if command.startswith("ssh-keygen"):
        subprocess.run(KEY.split(), cwd=repository, check=True)
    if command != WITHOUT_TEXT:
        subprocess.run(["git", "commit", "-q", "-m", "one"], cwd=repository, check=True)
    bound = ("--snapshot-after", "20000", "--timeout", "120s")
    ran = cli.ok("run", *bound, command, env={"EDITOR": None, "VISUAL": None, "TERM": "xterm"})
    assert ran["state"] == "running" or ran["exit_code"]
    assert WAYS[command] in ran["hint"]
    jobs.end()


@pytest.mark.slow
def test_twelve_real_programs_are_tried() -> None:
    programs = sorted(set(map(program, WAYS)))
    missing = [name for name in programs if shutil.which(name) is None]
    tried = len(programs) - len(missing)
    assert len(programs) >= 14
    if tried < 12:
        pytest.skip(f"only {tried} of {len(programs)} are installed, and tried above; not {', '.join(missing)}")


@pytest.mark.parametrize("said", SAID)
def test_what_a_package_manager_asks_is_answered_by_its_options(said: str) -> None:
    command, way = SAID[said]
    assert way in str(failure.sentence("closed", said, command))


def test_the_way_out_is_that_of_the_program_that_asks() -> None:
    assert "-m" in str(person.way_of(["bash", "git", "sh", "vim"]))
    assert "loopback" in str(person.way_of(["make", "gpg2"]))
    assert "loopback" in str(person.way_of(["pinentry-curses"]))
    assert "EDITOR=true" in str(person.way_of(["make", "nano"]))
    assert "PAGER=cat" in str(person.way_of(["man", "sh", "less"]))
    assert "GIT_PAGER=cat" in str(person.way_of(["git", "less"]))
    assert person.way_of(["nano"]) is None, "it was asked for by its name"
    assert person.way_of_command("cd /tmp && /usr/bin/docker login registry") == person.way_of(["docker"])
    assert person.way_of_command("git clone https://x") is None, "what it asks for is no text"

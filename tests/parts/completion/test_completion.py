"""Tab completes verbs, options, and the titles and ids of jobs, in real shells."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive import verbs
from outlive.parts.completion import candidates
from support.cli import Cli
from support.terminal import Terminal
from support.tiers import first
from support.wait import until

BIN = str(Path(sys.executable).parent)


def offered(cli: Cli, *words: str, shell: str = "zsh") -> list[str]:
    lines = cli.text("completion", shell, "--", *words).stdout.splitlines()
    return [line.partition("\t")[0] for line in lines]


def titled(cli: Cli, title: str) -> str:
    found: str = cli.ok("run", "--wait", "--title", title, "true")["job_id"]
    return found


def test_every_verb_is_offered(cli: Cli) -> None:
    wanted = {name.partition(" ")[0] for name in verbs.names() if verbs.load(name).cli}
    assert set(offered(cli, "")) == wanted | {"help"}
    assert offered(cli, "re") == ["restart", "resize", "remove"] or set(offered(cli, "re")) >= {
        "restart",
        "resize",
        "remove",
    }
    assert offered(cli, "tag", "") == ["set"]


def test_every_option_of_a_verb_is_offered_and_no_hidden_one() -> None:
    for name in (name for name in verbs.names() if verbs.load(name).cli):
        found = candidates.of([*name.split(), "--"], {}, described=False)
        args = verbs.load(name).args
        assert {value for value, _ in found} >= {a.cli for a in args if a.cli.startswith("-") and a.hidden is not True}
        assert not {value for value, _ in found} & {a.cli for a in args if a.hidden is True}


def test_an_option_is_completed_behind_others_and_commands_and_values_are_left_to_the_shell(cli: Cli) -> None:
    titled(cli, "example")
    assert offered(cli, "log", "--hu") == ["--human"]
    for line in ("--root /x list --al", "--root=/x list --al", "list --state exited --al"):
        assert offered(cli, *line.split()) == ["--all"], line
    rows: list[tuple[str, ...]] = [
        ("run", ""),
        ("run", "--wait", "make", "tes"),
        ("run", "make", "-"),
        ("run", "--", "make", "a", ""),
        ("run", "--", "-"),
        ("run", "--cwd", ""),
        ("run", "--cwd", "-"),
        ("--root", ""),
        ("list", "--state", "ex"),
        ("list", "--state=ex"),
    ]
    for words in rows:
        assert offered(cli, *words) == [], words


def test_titles_and_ids_are_offered_the_running_first(cli: Cli, work: Path) -> None:
    old, new = titled(cli, "web server"), titled(cli, "other")
    running = cli.ok("run", "--snapshot-after", "0", "until [ -e go ]; do sleep 0.1; done")["job_id"]
    assert offered(cli, "log", "") == [running[-8:], "other", new[-8:], "web server", old[-8:]]
    assert offered(cli, "log", "we") == ["web server"]
    assert offered(cli, "log", old[-8:-3].lower()) == [old[-8:]]
    assert offered(cli, "log", old[:12]) == [old] or old in offered(cli, "log", old[:12])
    assert offered(cli, "kill", "") == [running[-8:]]  # no other can be killed
    assert "other" not in offered(cli, "remove", "")  # takes no title
    assert offered(cli, "--root", "/nowhere", "log", "") == []
    (work / "go").touch()
    cli.ok("wait", running)


def test_completing_makes_no_job_root(cli: Cli, place: Path) -> None:
    assert (
        cli.text(
            "--root", str(place / "new"), "completion", "zsh", "--", "--root", str(place / "new"), "log", ""
        ).status
        == 0
    )
    assert not (place / "new").exists()


@pytest.mark.fault("F70")
def test_a_title_cannot_act_on_the_terminal_or_become_a_command(cli: Cli) -> None:
    titled(cli, "\x1b]0;t\x07evil")
    titled(cli, "u;$(touch x) `b`")  # no job id begins with this letter
    titled(cli, "--from-start")
    text = cli.text("completion", "zsh", "--", "log", "").stdout
    assert "\x1b" not in text
    assert "--from-start" not in offered(cli, "log", "")  # it would be an option
    assert offered(cli, "log", "u", shell="bash") == ["u\\;\\$\\(touch\\ x\\)\\ \\`b\\`"]


def test_bash_splits_words_at_signs_that_are_put_together_again(cli: Cli) -> None:
    titled(cli, "web: dev")
    assert offered(cli, "--root", "=", "/x", "sta", shell="bash") == ["start", "status"]
    assert offered(cli, "log", "web", ":", shell="bash") == ["\\ dev"]
    assert offered(cli, "log", "'web", shell="bash") == ["web:\\ dev"]


# --- real shells -----------------------------------------------------------------------------------------------------

START = {
    "bash": (("bash", "--norc", "--noprofile", "-i"), "PS1='> '; source <(outlive completion bash); echo rea''dy"),
    "zsh": (
        ("zsh", "-f", "-i"),
        "PS1='> '; autoload -Uz compinit; compinit -u -D; source <(outlive completion zsh); echo rea''dy",
    ),
    "fish": (
        ("fish", "--no-config", "-i"),
        "function fish_prompt; echo '> '; end; outlive completion fish | source; echo rea''dy",
    ),
}


@pytest.fixture(params=first(1, ["bash", "zsh", "fish"]))
def shell(request: pytest.FixtureRequest, cli: Cli) -> Iterator[Terminal]:
    name: str = request.param
    if not shutil.which(name):
        pytest.skip(f"{name} is not installed here")
    program, begin = START[name]
    env = {"PATH": f"{BIN}:{os.environ['PATH']}", "TERM": "xterm", "PYTHONDONTWRITEBYTECODE": "1"}
    with Terminal(program=program, env=env, cols=100, rows=30) as terminal:
        terminal.type(f"{begin}\n".encode())
        terminal.until_row("ready")
        yield terminal
        terminal.type(b"\x15\x04")  # ^U ^D


def typed(shell: Terminal, keys: str, wanted: str) -> None:
    """Type into an empty line; the last row with a prompt must begin with `wanted`."""
    shell.type(f"\x15{keys}\t".encode())

    def line() -> str:
        prompts = [row for row in shell.rows() if row.startswith("> ")]
        return prompts[-1][2:] if prompts else ""

    until(lambda: line().startswith(wanted), what=f"{wanted!r} after {keys!r} and Tab; the screen: {shell.rows()}")


def test_tab_completes_in_a_real_shell(cli: Cli, shell: Terminal, work: Path) -> None:
    job = titled(cli, "web server")
    (work / "a_file").touch()
    typed(shell, "outlive resta", "outlive restart")
    typed(shell, "outlive list --sta", "outlive list --state")
    typed(shell, "outlive run cat a_f", "outlive run cat a_file")
    typed(shell, "outlive log we", "outlive log web\\ server")
    typed(shell, f"outlive log {job[-8:-2]}", f"outlive log {job[-8:]}")
    typed(shell, "outlive tag s", "outlive tag set")

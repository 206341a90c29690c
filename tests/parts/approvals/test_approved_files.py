"""A person approves a command with the programs and scripts that it names, as they are when the question is asked."""

from __future__ import annotations

import itertools
import mmap
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from outlive.parts.approvals import files
from outlive.parts.approvals.files import _first_line
from support.cli import Cli, configured
from support.devices import opens_device
from support.tiers import only
from support.wait import until

TOUCH = "#!/bin/sh\ntouch {}\n"
ASKS = '[policy]\ndefault = "ask"\n'

pytestmark = pytest.mark.usefixtures("system_path")


@pytest.fixture(autouse=True)
def script(place: Path, work: Path) -> Path:
    """An executable file `x` that makes `good`, in the work directory."""
    configured(place, ASKS)
    return written(work / "x", "good")


def written(path: Path, makes: str) -> Path:
    path.write_text(TOUCH.format(makes), encoding="utf-8")
    path.chmod(0o755)
    return path


def asked(cli: Cli, *words: str) -> str:
    job: str = cli.ok("run", "--snapshot-after", "0", *words)["job_id"]
    return job


COMMANDS = [
    ("--", "./x"), ("./x",), ("true && ./x",), ("for i in 1; do ./x; done",), ("A=1 ./x > log",), ("--", "sh", "x"), ("sh x",),
    ("sh < x",), ("cd below && ./x",), ("cd below; sh x",), ("--", "env", "sh", "x"), ("--env", "PATH=.:/usr/bin:/bin", "--", "x"),
    ("--env", "PATH=.:/usr/bin:/bin", "x",), ("--", "./link"), ("--", "./second"), ("--notify-command", "./x", "true"),
    ("--notify-command", "cd below; sh x", "--", "true"),
]  # fmt: skip


HOWS = ["replaced", "rewritten", "link"]
EACH_HOW = [("--", "./x"), ("--", "./link"), ("--", "./second")]


def in_turn(case: tuple[tuple[str, ...], str]) -> bool:
    """Which file a command runs, and that it is another one now, are found by different code: each command is tried with
    one change, each change with several commands, and a link that is named with all of them."""
    words, how = case
    return words in EACH_HOW or (COMMANDS.index(words) + HOWS.index(how)) % len(HOWS) == 0


@pytest.mark.parametrize(
    ("words", "how"),
    only(in_turn, itertools.product(COMMANDS, HOWS)),
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_a_file_that_is_replaced_after_the_question_is_not_run(
    cli: Cli, work: Path, words: tuple[str, ...], how: str, script: Path
) -> None:
    (work / "below").mkdir()
    written(work / "below/x", "good")
    (work / "link").symlink_to("x")
    (work / "second").symlink_to("link")
    other = written(work / "other", "evil")
    job = asked(cli, *words)
    for path in (script, work / "below/x"):
        if how == "rewritten":
            path.write_text(TOUCH.format("evil"))
        elif how == "replaced":
            written(work / "new", "evil").rename(path)
        else:
            path.unlink()
            path.symlink_to(other)
    cli.ok("approve", job)
    ended = cli.ok("wait", job)
    assert (ended["state"], ended["reason"]) == ("failed", "denied")
    assert "x, which the command runs, has changed since it was asked about" in ended["message"] or any(
        f"{name}, which the command runs, has changed" in ended["message"] for name in ("link", "second")
    )
    assert not [*work.rglob("evil")]


def test_a_file_that_a_process_had_mapped_before_the_question_is_not_run(cli: Cli, work: Path, script: Path) -> None:
    with script.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[:1] = mapped[:1]  # from here on no fault tells the kernel of a change, which then notes no time
        job = asked(cli, "--", "sh", "x")
        before = script.stat()
        mapped[:] = mapped[:].replace(b"good", b"evil")
        assert script.stat() == before and script.read_text() == TOUCH.format("evil")
        cli.ok("approve", job)
        ended = cli.ok("wait", job)
    assert (ended["state"], ended["reason"]) == ("failed", "denied")
    assert not (work / "evil").exists()


@pytest.mark.parametrize("order", ["after", "queue"])
def test_a_file_that_is_replaced_while_an_approved_job_waits_for_its_start_is_not_run(
    cli: Cli, place: Path, work: Path, script: Path, order: str
) -> None:
    configured(place, ASKS + "[queue.one]\nslots = 1\n")
    first = asked(cli, "--queue", "one", "until [ -e go ]; do sleep 0.1; done")
    cli.ok("approve", first)
    until(lambda: cli.ok("status", first)["state"] == "running", what="the first job runs")
    waits = ("--after", first) if order == "after" else ("--queue", "one")
    jobs = [asked(cli, *waits, "--notify-command", f"touch told{n}", "--", "./x") for n in range(2)]
    for job in jobs:
        assert cli.ok("approve", job)["state"] == "created"
    written(script, "evil")
    (work / "go").touch()
    for job in jobs:
        ended = cli.ok("wait", job)
        assert (ended["state"], ended["reason"]) == ("failed", "denied")
        assert "/x, which the command runs, has changed since it was asked about" in ended["message"]
        failed = until(partial(_not_notified, cli, job), what="its notification")
        assert [one["error"] for one in failed] == [
            "not run: the start of its job was denied, and its notification commands with it"
        ]
    assert not {"evil", "good", "told0", "told1"} & {path.name for path in work.iterdir()}


def _not_notified(cli: Cli, job: str) -> list[dict[str, Any]]:
    return [one for one in cli.ok("events", job)["events"] if one["type"] == "notification_failed"]


IN_SHELL = [
    "sh ~/y", "sh $HOME/y", 'sh "${HOME}/y"', "sh $PWD/a\\ b", 'sh "a b"', "sh 'a b'", "sh a\\ b", "sh [x]*", "awk -f x", "make -f x", "./by",
    "python3 -m module", "python3 folder", "node module", "make",
]  # fmt: skip


@pytest.mark.parametrize("command", IN_SHELL)
def test_a_file_is_known_however_the_words_name_it(cli: Cli, work: Path, command: str, place: Path) -> None:
    home = place / "home"
    home.mkdir(exist_ok=True)
    (work / "folder").mkdir()
    (work / "by").write_text(f"#!{work}/x\n")
    (work / "by").chmod(0o755)
    changed = [home / "y", work / "x", work / "a b", *(work / f"module.{end}" for end in ("py", "js"))]
    for path in (*changed, work / "folder/__main__.py", work / "Makefile"):
        path.write_text("")
        path.chmod(0o755)
    job: str = cli.ok("run", "--snapshot-after", "0", command, env={"HOME": str(home)})["job_id"]
    for path in (*changed, work / "folder/__main__.py", work / "Makefile"):
        path.write_text("evil")
    cli.ok("approve", job)
    assert cli.ok("wait", job)["reason"] == "denied"


AWAY = [
    ". ./x", "source ./x", 'eval "$(cat x)"', "cd below; cd deep; ./x", "cd below/deep && cd .. && ./x", "python3 -mbelow.module", "awk -fx y",
    "sed -fx y", "~+/x", "./{x,y}", f"ls {' '.join(map(str, range(16)))}; cd below && ./x",
]  # fmt: skip


@pytest.mark.parametrize("command", AWAY)
def test_a_file_is_known_that_is_sourced_attached_or_behind_several_directories(
    cli: Cli, work: Path, command: str
) -> None:
    for name in ("below/deep", *map(str, range(16))):
        (work / name).mkdir(parents=True)
    changed = [work / "x", work / "below/x", work / "below/deep/x", work / "below/module.py"]
    for path in changed:
        written(path, "good")
    job = asked(cli, "--shell-wrapper", "bash -c", command)
    for path in changed:
        written(path, "evil")
    cli.ok("approve", job)
    assert cli.ok("wait", job)["reason"] == "denied"
    assert not [*work.rglob("evil")]


@pytest.mark.parametrize(
    "words",
    [("sh new",), ("--", "./new"), ("./new",), ("sh ./new",), ("x",), ("--", "x"), ("make",), ("python3 -m a.new",)],
)
def test_a_file_that_was_not_there_is_not_run(cli: Cli, work: Path, words: tuple[str, ...]) -> None:
    for name in ("early", "late", "a"):
        (work / name).mkdir()
    written(work / "late/x", "good")
    path = f"{work}/early:{work}/late:/usr/bin:/bin"
    job = asked(cli, "--env", f"PATH={path}", *words)
    for new in ("new", "early/x", "a/new.py", "GNUmakefile"):
        written(work / new, "evil")
    cli.ok("approve", job)
    assert cli.ok("wait", job)["reason"] == "denied"
    assert not [*work.rglob("evil")]


def test_no_value_of_a_variable_but_a_path_is_noted(cli: Cli, work: Path, root: Path) -> None:
    """What a word becomes in the shell may be a secret."""
    job = asked(cli, "--env", "TOKEN=s3cret-value", "sh x --url=https://h/$TOKEN $TOKEN/y")
    assert "s3cret-value" not in (root / job / "meta.json").read_text().replace('"TOKEN":"s3cret-value"', "")
    cli.ok("kill", job)


def test_what_is_as_it_was_runs_and_data_may_change(cli: Cli, work: Path) -> None:
    (work / "data").write_text("one")
    os.utime(work / "x", (1, 1))
    for words in (("./x data",), ("cat data && ./x",), ("cat data $PWD/x && ./x data",), ("--", "cat", "data")):
        job = asked(cli, *words)
        (work / "data").write_text("two")
        cli.ok("approve", job)
        assert cli.ok("wait", job)["exit_code"] == 0, words


def test_a_link_that_leads_elsewhere_after_the_question_is_not_run(cli: Cli, work: Path) -> None:
    written(work / "other", "evil")
    (work / "link").symlink_to("x")
    job = asked(cli, "--", "./link")
    (work / "new").symlink_to("other")
    (work / "new").rename(work / "link")
    cli.ok("approve", job)
    assert cli.ok("wait", job)["reason"] == "denied"
    assert not (work / "evil").exists()


def test_a_file_that_is_removed_is_not_run(cli: Cli, work: Path, script: Path) -> None:
    job = asked(cli, "--", "./x")
    script.unlink()
    cli.ok("approve", job)
    assert cli.ok("wait", job)["reason"] == "denied"


def test_the_question_says_what_is_not_held(cli: Cli, work: Path) -> None:
    label = "What it runs is not held"
    for words, why in (
        (('"$(pwd)/x"',), "`$(…)/x` is known only when it runs"),
        (("D=.; $D/x",), "`$D/x` is known only when it runs"),
        (("./x",), None),
        (("--", "./x"), None),
    ):
        job = asked(cli, *words)
        shown = [fact["value"] for fact in cli.ok("status", job)["approval"]["facts"] if fact["label"] == label]
        assert shown == ([] if why is None else [why]), words
        cli.ok("kill", job)


BEHIND = [
    ("make",), ("A=1 make",), ("timeout 9 make",), ("nice make",), ("'make' all",), ("ma'k'e",), ("\\make",), ("! make",),
    ("if make; then true; fi",), ("2>/dev/null make",), ("command make",), ("f() { make; }; f",), ("sh -c 'A=1 make'",),
    ("--", "env", "A=1", "make"), ("--", "sh", "-c", "make"), ("--env", "GIT_EDITOR=make -s", "--", "git", "commit", "--allow-empty"),
    ("timeout 9 absent",), ("A=1 absent",), ("--", "env", "absent"),
]  # fmt: skip


@pytest.mark.parametrize("words", BEHIND, ids=" ".join)
def test_a_program_that_appears_earlier_in_path_since_the_question_is_not_run_wherever_it_is_called(
    cli: Cli, work: Path, words: tuple[str, ...]
) -> None:
    (work / "bin").mkdir()
    job = asked(cli, "--env", f"PATH={work}/bin:/usr/bin:/bin", *words)
    for name in ("make", "absent"):
        written(work / "bin" / name, str(work / "evil"))
    cli.ok("approve", job)
    assert cli.ok("wait", job)["reason"] == "denied"
    assert not (work / "evil").exists()


@pytest.mark.parametrize(
    "line", ["/usr/bin/env tool", "/usr/bin/env -S tool -x", "/usr/bin/env python3", "/usr/bin/env -S sh tool"]
)
def test_what_env_finds_for_the_first_line_of_a_script_is_noted(cli: Cli, work: Path, line: str) -> None:
    (work / "bin").mkdir()
    written(work / "bin/tool", "good")
    written(work / "tool", "good")
    (work / "script").write_text(f"#!{line}\n", encoding="utf-8")
    (work / "script").chmod(0o755)
    job = asked(cli, "--env", f"PATH={work}/bin:/usr/bin:/bin", "./script")
    for path in ("bin/tool", "bin/python3", "tool"):
        written(work / path, str(work / "evil"))
    cli.ok("approve", job)
    assert cli.ok("wait", job)["reason"] == "denied"
    assert not (work / "evil").exists()


@pytest.mark.parametrize(
    "variable",
    [
        "GIT_EDITOR=./x -w",
        "GIT_EDITOR=sh ./x",
        "GIT_EDITOR=./new",
        "BASH_ENV=$PWD/x",
        "NODE_OPTIONS=--require=./x",
        "MAKEFILES=a x",
    ],
)
def test_a_file_within_the_value_of_a_variable_is_noted(cli: Cli, work: Path, script: Path, variable: str) -> None:
    job = asked(cli, "--env", variable, "--", "bash", "-c", "true")
    written(script, "evil")
    written(work / "new", "evil")
    cli.ok("approve", job)
    assert cli.ok("wait", job)["reason"] == "denied"


def test_a_variable_that_the_command_itself_sets_is_like_one_of_the_call(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "x.so").touch()

    def of(name: str, value: str, *, shell: bool) -> files.Noted:
        words = [f"{name}={value} ls"] if shell else ["env", f"{name}={value}", "ls"]
        return files.noted(words, ["sh", "-c"] if shell else [], str(tmp_path), {"PATH": "/usr/bin:/bin"}, {})

    for shell in (True, False):
        assert f"{tmp_path}/./x.so" in of("LD_PRELOAD", "./x.so", shell=shell).stamps
        assert f"{tmp_path}/x.so" in of("GIT_CONFIG_GLOBAL", "x.so", shell=shell).stamps
        assert (
            "LD_LIBRARY_PATH names a directory, in which it may find what it runs"
            in of("LD_LIBRARY_PATH", "lib", shell=shell).unheld
        )
        assert of("NOTE", "lib", shell=shell).unheld == []


def test_a_script_of_any_language_is_noted(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    for program in ("R -f", "elixir", "groovy", "guile", "ocaml", "octave", "racket", "scala", "swipl"):
        found = files.noted([f"{program} x"], ["sh", "-c"], str(tmp_path), {"PATH": "/usr/bin:/bin"}, {})
        assert f"{tmp_path}/x" in found.stamps, program


def test_a_file_of_an_option_that_is_not_there_yet_is_noted(cli: Cli, work: Path) -> None:
    job = asked(cli, "--", "git", "-c", "core.fsmonitor=./new", "status")
    written(work / "new", "evil")
    cli.ok("approve", job)
    assert cli.ok("wait", job)["reason"] == "denied"


@pytest.mark.parametrize(
    ("name", "is_said"), [("ZDOTDIR", True), ("GIT_EXEC_PATH", True), ("HOME", True), ("TMPDIR", False)]
)
def test_a_directory_that_a_variable_names_is_said_not_to_be_held(
    cli: Cli, work: Path, name: str, is_said: bool
) -> None:
    (work / "below").mkdir()
    job = asked(cli, "--env", f"{name}={work}/below", "--", "true")
    facts = cli.ok("status", job)["approval"]["facts"]
    said = [one["value"] for one in facts if one["label"] == "What it runs is not held"]
    assert any(f"{name} names a directory" in one for one in said) is is_said


def test_a_device_in_place_of_a_script_is_not_opened(tmp_path: Path) -> None:
    assert not opens_device(tmp_path, _first_line)

"""A job that stands still, or that met the end of its input, is told why and what to do."""

from __future__ import annotations

import sys
from pathlib import Path

from outlive import limits
from support.cli import Cli, Jobs
from support.commands import python

OVER_MS = str(limits.SILENT_MS + 100)


def _program(path: Path, *lines: str) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    path.chmod(0o755)


def test_an_editor_without_a_terminal_is_diagnosed_in_every_answer(cli: Cli, jobs: Jobs, work: Path) -> None:
    _program(work / "vim", f"#!{sys.executable}", "import time", "print('~', flush=True)", "time.sleep(600)")
    _program(work / "git", "#!/bin/sh", "./vim", "exit $?")
    words = (
        "in the foreground: git → vim, which wants a terminal; its stdin is closed: kill it and pass the text with -m or "
        "--no-edit, or set GIT_EDITOR=true, or start it with pty."
    )
    started = cli.ok("run", "--snapshot-after", OVER_MS, "./git")
    job = started["job_id"]
    while started["elapsed_ms"] < limits.SILENT_MS:  # a loaded machine starts programs late
        started = cli.ok("wait", job, "--timeout-ms", OVER_MS)
    late = cli.ok("wait", job, "--timeout-ms", OVER_MS, "--until", "file=never")
    for answer in (cli.ok("poll", job), cli.ok("status", job), late):
        assert answer["hint"].endswith(words), answer["hint"]
    assert late["hint"].startswith("Last seen: there is no")
    jobs.end()


def test_a_child_whose_output_its_parent_does_not_read_is_a_deadlock(cli: Cli, jobs: Jobs) -> None:
    waits = "import subprocess as s; p = s.Popen(['sh', '-c', 'yes | head -c 200000'], stdout=s.PIPE); p.wait()"
    started = cli.ok("run", "--snapshot-after", OVER_MS, *python(waits))
    while started["elapsed_ms"] < limits.SILENT_MS:  # a loaded machine starts programs late
        started = cli.ok("wait", started["job_id"], "--timeout-ms", OVER_MS)
    hint, pid = started["hint"], started["pid"]
    assert "→ head, which is blocked writing to a full pipe that " in hint, hint
    assert f" (pid {pid}) does not read;" in hint
    assert f"; pid {pid} waits for a child process to end: a deadlock" in hint
    assert [one["deadlock"] for one in started["advice"] if one["kind"] == "silence"] == [True]
    jobs.end()


def test_a_job_that_has_just_printed_is_not_diagnosed(cli: Cli, jobs: Jobs) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "while echo on; do sleep 0.1; done")["job_id"]
    cli.ok("wait", job, "--until", "output")
    assert "hint" not in cli.ok("poll", job)
    jobs.end()


def test_a_job_that_met_the_end_of_its_input_is_told_to_give_it_some(cli: Cli) -> None:
    ask = python("import sys; name = input('Overwrite (y/n)? ')")
    found = cli.ok("run", "--wait", *ask)
    assert found["exit_code"] == 1
    assert "met the end of its input: its stdin is closed. Run it again with" in found["hint"]
    assert cli.ok("wait", found["job_id"])["hint"] == found["hint"]
    apt = "echo '1 newly installed'; printf 'Do you want to continue? [Y/n] Abort.\\n'; exit 1"
    assert cli.ok("run", "--wait", apt)["hint"].startswith("It asked a question and met the end of its input")
    assert "hint" not in cli.ok("run", "--wait", "echo no such thing >&2; exit 1")
    assert "hint" not in cli.ok("run", "--wait", "printf 'Continue? [y/N] yes'")


def test_a_program_that_wants_a_terminal_is_told_to_start_with_one(cli: Cli) -> None:
    found = cli.ok("run", "--wait", *python("import os; os.get_terminal_size(0)"))
    assert found["hint"] == "It seems to want a terminal, and has none: run it again with pty."

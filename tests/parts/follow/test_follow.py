"""`log -f` follows a job like tail -f, `run -f` from its start."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support import pair
from support.cli import Cli, Jobs
from support.commands import GATE, in_order
from support.terminal import CTRL_C, Terminal


def begun(cli: Cli, *words: str) -> str:
    found: str = cli.ok("run", "--snapshot-after", "0", *words)["job_id"]
    return found


def test_a_log_that_is_followed_begins_with_the_last_lines_and_ends_with_the_job(cli: Cli, work: Path) -> None:
    job = begun(cli, f"seq 1 20; {GATE}; echo last; exit 3")
    cli.ok("wait", job, "--until", "regex=20")
    with cli.spawn("log", "-f", job) as call:
        assert call.stdout
        lines = [call.stdout.readline() for _ in range(10)]
        assert lines == [f"{n}\n".encode() for n in range(11, 21)]
        (work / "go").touch()
        assert call.stdout.read() == b"last\n"
        assert call.wait() == 0
        assert call.stderr
        assert call.stderr.read() == b""


def test_where_a_followed_log_begins_and_what_it_shows(cli: Cli) -> None:
    pieces = ((1, "a1\n"), (2, "b1\n"), (1, "a2\n"), (2, "b2\n"), (1, "a3\n"))
    job = cli.ok("run", "--wait", *in_order(*pieces))["job_id"]
    rows = {
        "--limit 2": "b2\na3\n",
        "--limit 0": "",
        "--offset 2": "a2\nb2\na3\n",
        "--since-seq 9": "b2\na3\n",
        "--stream stderr": "b1\nb2\n",
        "--stream stdout --limit 1": "a3\n",
        "--search ^a": "a1\na2\na3\n",
        "": "a1\nb1\na2\nb2\na3\n",
    }
    assert {flags: cli.text("log", "--follow", job, *flags.split()).stdout for flags in rows} == rows


@pytest.mark.parametrize(("command", "status"), [("exit 7", 7), ("kill -TERM $$", 143), ("true", 0)])
def test_following_ends_with_the_jobs_code_if_asked(cli: Cli, command: str, status: int) -> None:
    assert cli.text("run", "-f", "--propagate", command).status == status
    job = cli.ok("list", "--all")["jobs"][0]["job_id"]
    assert cli.text("log", "-f", "--propagate", job).status == status
    assert cli.text("log", "-f", job).status == 0


def test_a_command_that_cannot_run_is_said_on_stderr(cli: Cli) -> None:
    text = cli.text("run", "-f", "--propagate", "--", "no-such-program", "x")
    assert (text.status, text.stdout) == (127, "")
    assert "no-such-program" in text.stderr


def test_output_that_goes_to_a_pipe_is_text_unless_raw_is_asked_for(cli: Cli) -> None:
    command = ("--", "printf", r"\033[31mred\033[0m \033]0;title\007x\n")
    assert cli.text("run", "-f", *command).stdout == "red x\n"
    assert cli.text("run", "-f", "--raw", *command).stdout == "\x1b[31mred\x1b[0m \x1b]0;title\x07x\n"


def test_propagate_without_follow_and_until_with_it_are_mistakes(cli: Cli) -> None:
    assert (
        cli.error("log", "--propagate", "x" * 8, code="invalid_argument", status=2)["details"]["field"] == "--propagate"
    )
    cli.error("log", "-f", "--context", "1", "x" * 8, code="invalid_argument", status=2)
    cli.error("run", "-f", "--until", "output", "true", code="invalid_argument", status=2)
    assert not cli.ok("list", "--all")["jobs"]


def test_following_ends_when_its_reader_goes_away_and_the_job_goes_on(cli: Cli, jobs: Jobs) -> None:
    with cli.spawn("run", "-f", f"echo one; {GATE}") as call:
        assert call.stdout
        assert call.stdout.readline() == b"one\n"
        call.stdout.close()
        assert call.wait(60) == 0
    assert jobs.all()[0]["state"] == "running"
    jobs.end()


def test_a_job_that_is_removed_while_it_is_followed_is_an_error(cli: Cli) -> None:
    job = begun(cli, f"echo one; {GATE}")
    with cli.spawn("log", "-f", job) as call:
        assert call.stdout
        assert call.stdout.readline() == b"one\n"
        cli.ok("remove", job, "--grace-ms", "0")
        call.communicate(timeout=60)
        assert call.returncode in (0, 1)  # it saw the end, or came too late for it


def test_a_supervisor_that_dies_does_not_end_the_following(cli: Cli, work: Path) -> None:
    job = begun(cli, f"echo one; {GATE}; echo two")
    with cli.spawn("log", "-f", job) as call:
        assert call.stdout
        assert call.stdout.readline() == b"one\n"
        pair.end(pair.supervisor(job))
        (work / "go").touch()
        assert call.stdout.read() == b"two\n"
        assert call.wait(60) == 0


def test_on_a_terminal_stderr_is_red_and_the_end_is_said(cli: Cli) -> None:
    with Terminal("run", "-f", "--", "sh", "-c", "echo out; echo err >&2; exit 3") as terminal:
        assert terminal.status() == 0
        text = terminal.text()
    assert "out\n" in text
    assert "\x1b[31merr\x1b[0m\n" in text
    assert "exited with code 3 after" in text.splitlines()[-1]


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colour_where_none_is_wanted(cli: Cli, env: dict[str, str]) -> None:
    with Terminal("run", "-f", "--", "sh", "-c", r"printf '\033[32mout\n'; echo err >&2", env=env) as terminal:
        assert terminal.status() == 0
        assert "\x1b[3" not in terminal.text()
        assert "out\n" in terminal.text()


def test_ctrl_c_detaches_and_says_how_to_come_back(cli: Cli, jobs: Jobs) -> None:
    with Terminal("run", "-f", f"echo one; {GATE}") as terminal:
        terminal.until("one\n")
        terminal.type(CTRL_C)
        terminal.until("^C again within 2 s ends the job")
        assert terminal.status() == 130
        job = jobs.all()[0]
        assert f"`outlive log -f {job['short_id']}`" in terminal.text()
    assert job["state"] == "running"
    jobs.end()


def test_ctrl_c_twice_ends_the_job(cli: Cli) -> None:
    with Terminal("run", "-f", "trap 'echo bye; exit 9' TERM; echo one; while :; do sleep 0.02; done") as terminal:
        terminal.until("one\n")
        terminal.type(CTRL_C)
        terminal.until("^C again")
        terminal.type(CTRL_C)
        assert terminal.status() == 130
        assert "bye\n" in terminal.text()
        assert "exited: kill SIGTERM" in terminal.text() or "kill" in terminal.text().splitlines()[-1]
    job = cli.ok("list", "--all")["jobs"][0]
    assert (job["state"], job["reason"]) == ("exited", "kill")


def test_ctrl_c_ends_the_following_of_a_log_and_not_the_job(cli: Cli, jobs: Jobs) -> None:
    job = begun(cli, f"printf one; {GATE}")
    with Terminal("log", "-f", job) as terminal:
        terminal.until("one")
        terminal.type(CTRL_C)
        assert terminal.status() == 130
        assert f"one\n[job {job[-8:]} goes on]\n" in terminal.text().replace("^C", "").replace("\r\x1b[K", "")
    assert cli.ok("status", job)["state"] == "running"
    jobs.end()


@pytest.mark.fault("F70")
def test_what_a_job_prints_does_not_act_on_the_terminal_that_follows(cli: Cli) -> None:
    evil = r"\033]0;owned\007\033[2J\033[6n\033[?1049h\302\2332Jtext\r\n"
    with Terminal("run", "-f", "--title", "\x1b]0;t\x07", "--", "printf", evil * 3) as terminal:
        assert terminal.status() == 0
        text = terminal.text()
    assert text.count("text\n") == 3
    assert not [bad for bad in ("\x1b]", "\x1b[2J", "\x1b[6n", "\x1b[?", "\x9b") if bad in text]


def test_who_follows_an_editor_is_told_how_to_see_its_screen(cli: Cli, jobs: Jobs) -> None:
    job = cli.ok("run", "--pty", "--until", "output", f"printf '\\033[?1049hscreen'; {GATE}")["job_id"]
    with Terminal("log", "-f", job) as terminal:
        terminal.until(f"`outlive attach --read-only {job[-8:]}` shows that")
        terminal.type(CTRL_C)
        assert terminal.status() == 130
    jobs.end()


def test_a_followed_restart_and_start_show_the_output_too(cli: Cli) -> None:
    job = cli.ok("create", "--", "echo", "hi")["job_id"]
    assert cli.text("start", "-f", job).stdout == "hi\n"
    assert cli.text("restart", "-f", job).stdout == "hi\n"


def test_a_log_that_is_followed_has_times_of_day(cli: Cli, work: Path) -> None:
    job = begun(cli, f"echo one; {GATE}; printf 'tw'; sleep 0.2; echo o >&2; echo o")
    cli.ok("wait", job, "--until", "regex=one")
    with cli.spawn("log", "-f", "--times", job) as call:
        assert call.stdout
        first = call.stdout.readline()
        (work / "go").touch()
        lines = [line.decode().split(" ", 1) for line in (first, *call.stdout.read().splitlines(keepends=True))]
        call.wait()
    assert [line for _, line in lines] == ["one\n", "o\n", "two\n"]
    times = [at for at, _ in lines]
    assert all(re.fullmatch(r"\d\d:\d\d:\d\d\.\d\d\d", at) for at in times)
    every = cli.ok("log", "--times", "--stream", "stdout", job)["times"]
    assert [times[0][-6:], times[2][-6:]] == [at[-7:-1] for at in every], "the time at which a line begins"
    assert cli.text("log", "--human", "--times", job, "--offset", "0", "--limit", "1").stdout == f"{times[0]} one\n"

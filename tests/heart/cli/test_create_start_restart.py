"""Defining a job now and running it later, and running a finished one again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support import trees
from support.cli import Cli, Jobs, Text, one_object
from support.wait import until

# --- create --------------------------------------------------------------------------------------------------------


def test_create_checks_as_run_does_and_takes_no_options_about_watching(cli: Cli, jobs: Jobs, place: Path) -> None:
    for flag in ("--wait", "--snapshot-after=0", "--tail-lines=1", "--propagate"):
        cli.error("create", flag, "true", code="invalid_argument", status=2)
    rows = [
        (["--cwd", "missing", "true"], "invalid_argument", "--cwd"),
        (["--env", "NAME", "true"], "invalid_argument", "--env"),
        (["--stdin", "-", "true"], "invalid_argument", "--stdin"),
        (["--timeout=-5", "true"], "invalid_argument", "--timeout"),
        ([""], "invalid_argument", "command"),
        (["--tag", "a b", "true"], "invalid_tag", "--tag"),
    ]
    for words, code, field in rows:
        assert cli.error("create", *words, code=code)["details"]["field"] == field
    cli.error("create", "--env-file", "missing", "true", code="io_error")
    masked = cli.error("create", "--env", "TOKEN=hunter2", "--mask", "TOKEN", "true", code="invalid_argument")
    assert "--env-file" in masked["hint"]
    assert jobs.all() == []
    assert trees.holding("hunter2", place) == []


# --- start ---------------------------------------------------------------------------------------------------------


def test_start_has_the_observing_options_of_run(cli: Cli, jobs: Jobs) -> None:
    made = cli.ok("create", "seq 5; sleep 60")["job_id"]
    assert cli.ok("start", "--snapshot-after", "0", made)["state"] == "running"
    done = cli.ok("create", "seq 5; exit 9")["job_id"]
    answer = cli.run("start", "--wait", "--propagate", "--tail-lines", "1", done)
    assert (answer.status, answer["snapshot"]["stdout_tail"]) == (9, "5\n")
    jobs.end()


def test_a_job_starts_once(cli: Cli, jobs: Jobs) -> None:
    made = cli.ok("create", "sleep 60")["job_id"]
    cli.ok("start", "--snapshot-after", "0", made)
    cli.error("start", made, code="invalid_state", status=1)
    cli.ok("kill", made)
    cli.error("start", made, code="invalid_state")
    cli.error("start", cli.ok("run", "true")["job_id"], code="invalid_state")
    jobs.end()


def test_env_files_are_read_again_at_each_start(cli: Cli, work: Path) -> None:
    (work / "env").write_text("A=old\n")
    made = cli.ok("create", "--env-file", "env", "echo $A")["job_id"]
    (work / "env").unlink()
    cli.error("start", made, code="io_error")
    assert cli.ok("status", made)["state"] == "created"
    (work / "env").write_text("A=new\n")
    assert cli.ok("start", made)["output"] == "new\n"


@pytest.mark.fault("F55")
def test_a_directory_that_went_away_stops_the_start_and_the_job_stays_created(cli: Cli, work: Path) -> None:
    (work / "sub").mkdir()
    made = cli.ok("create", "--cwd", "sub", "echo here")["job_id"]
    (work / "sub").rmdir()
    assert cli.error("start", made, code="invalid_argument")["details"]["field"] == "cwd"
    assert cli.ok("status", made)["state"] == "created"
    (work / "sub").mkdir()
    assert cli.ok("start", made)["output"] == "here\n"


def test_the_input_of_a_created_job_is_kept_for_it(cli: Cli, work: Path) -> None:
    (work / "input").write_text("from a file\n")
    assert cli.ok("start", cli.ok("create", "--stdin-data", "kept\n", "cat")["job_id"])["output"] == "kept\n"
    assert cli.ok("start", cli.ok("create", "--stdin", "@input", "cat")["job_id"])["output"] == "from a file\n"


def test_the_time_out_counts_from_the_start(cli: Cli) -> None:
    made = cli.ok("create", "--timeout", "200", "sleep 60")["job_id"]
    started = cli.ok("start", "--wait", made)
    assert (started["state"], started["reason"]) == ("killed", "timeout")


def test_a_program_that_is_not_there_fails_at_the_start_only(cli: Cli) -> None:
    made = cli.ok("create", "no-such-program-at-all", "x")["job_id"]
    started = cli.ok("start", made)
    assert (started["state"], started["reason"], started["errno"]) == ("failed", "launch", "ENOENT")


def test_a_wait_for_a_created_job_goes_on_through_its_start(cli: Cli) -> None:
    made = cli.ok("create", "echo done")["job_id"]
    waited = cli.ok("wait", made, "--timeout-ms", "0")
    assert (waited["timed_out"], waited["state"]) == (True, "created")
    with cli.spawn("wait", made) as call:
        cli.ok("start", made)
        found = one_object(Text(0, call.communicate(timeout=60)[0].decode(), ""))
    assert (found["state"], found["timed_out"], found["output"]) == ("exited", False, "done\n")


# --- restart -------------------------------------------------------------------------------------------------------


def test_a_masked_variable_must_be_given_again(cli: Cli, jobs: Jobs, root: Path) -> None:
    old = cli.ok("run", "--env", "TOKEN=hunter2", "--mask", "TOKEN", "echo ${#TOKEN}")
    error = cli.error("restart", old["job_id"], code="invalid_argument")
    assert error["details"]["field"] == "--env"
    assert "TOKEN" in error["message"]
    assert len(jobs.all()) == 1
    new = cli.ok("restart", old["job_id"], "--env", "TOKEN=hunter22")
    assert (new["output"], new["env_vars"]) == ("8\n", ["TOKEN=***"])
    assert trees.holding("hunter2", root) == []
    cli.error("restart", new["job_id"], code="invalid_argument")


def test_a_job_that_never_started_is_not_restarted(cli: Cli, jobs: Jobs) -> None:
    """One that runs is ended first (faces/test_several_jobs_on_both.py)."""
    cli.error("restart", cli.ok("create", "sleep 60")["job_id"], code="invalid_state")
    assert len(jobs.all()) == 1
    jobs.end()


def test_a_killed_and_a_failed_job_can_be_restarted(cli: Cli, work: Path) -> None:
    killed = cli.ok("run", "[ -e again ] || { touch again; kill -9 $$; }; echo second")
    assert killed["state"] == "killed"
    assert cli.ok("restart", killed["job_id"])["output"] == "second\n"
    failed = cli.ok("run", "./program", "x")
    (work / "program").write_text("#!/bin/sh\necho now there\n")
    (work / "program").chmod(0o755)
    assert cli.ok("restart", failed["job_id"])["output"] == "now there\n"


def test_restart_gives_the_same_input_again(cli: Cli, work: Path) -> None:
    (work / "input").write_text("file\n")
    data = cli.ok("run", "--stdin-data", "data\n", "cat")["job_id"]
    assert cli.ok("restart", data)["output"] == "data\n"
    file = cli.ok("run", "--stdin", "@input", "cat")["job_id"]
    assert cli.ok("restart", file)["output"] == "file\n"
    opened = cli.ok("run", "--stdin", "open", "--snapshot-after", "0", "cat")["job_id"]
    cli.ok("write", opened, "--data", "x", "--eof")
    cli.ok("wait", opened)
    again = cli.ok("restart", opened, "--snapshot-after", "0")["job_id"]
    cli.ok("write", again, "--data", "y", "--eof")
    assert cli.ok("wait", again)["output"] == "y"


def test_the_stdin_of_a_client_that_is_gone_cannot_be_given_again(cli: Cli, jobs: Jobs) -> None:
    old = cli.ok("run", "--stdin", "-", "cat", input="once")
    assert old["output"] == "once"
    cli.error("restart", old["job_id"], code="invalid_argument")
    assert len(jobs.all()) == 1


def test_restart_runs_the_definition_as_it_is_now(cli: Cli, work: Path) -> None:
    old = cli.ok("run", "true")["job_id"]
    cli.ok("tag", "set", old, "--tag", "later")
    cli.ok("notify", "set", old, "--file", "events")
    new = cli.ok("restart", old)
    assert new["tags"] == ["later"]
    until(lambda: (work / "events").exists() and new["job_id"] in (work / "events").read_text())


def test_a_directory_that_went_away_stops_the_restart(cli: Cli, jobs: Jobs, work: Path) -> None:
    (work / "sub").mkdir()
    old = cli.ok("run", "--cwd", "sub", "true")["job_id"]
    os.rmdir(work / "sub")
    cli.error("restart", old, code="invalid_argument")
    assert len(jobs.all()) == 1

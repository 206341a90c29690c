"""What a command of `run` is born with: program, directory, environment, input. For files, signals, limits:
durability/test_inherited.py."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli, Jobs, Text, one_object
from support.commands import python
from support.jobs import job_ids, started
from support.mcp_client import McpSession
from support.preloaded import OUTLIVE
from support.wait import until

REAL = pytest.mark.real_start  # what a start inherits


# --- Python --------------------------------------------------------------------------------------------------------


@REAL
def test_modules_of_a_project_on_pythonpath_take_the_place_of_none_of_ours(cli: Cli, place: Path) -> None:
    project = place / "project"
    project.mkdir()
    for name in ("json", "select", "mcp", "re2"):
        (project / f"{name}.py").write_text("raise RuntimeError('this is no module for outlive')")
    paths = f"/nowhere:{project}:"
    found = cli.ok("run", "--wait", "--watch", "no", 'echo "$PYTHONPATH"', env={"PYTHONPATH": paths})
    assert (found["exit_code"], found["output"]) == (0, f"{paths}\n")
    with McpSession(env={"PYTHONPATH": paths}, log=place / "log") as session:
        assert session.ok("exec", command='echo "$PYTHONPATH"')["output"] == f"{paths}\n"


@REAL
def test_variables_that_are_too_long_for_the_kernel_are_not_taken_for_a_wrong_name(cli: Cli, work: Path) -> None:
    (work / "variables").write_text(f"A={'x' * 200_000}\n")
    found = cli.ok("run", "--wait", "--env-file", "variables", "true")
    assert (found["state"], found["reason"], found["errno"]) == ("failed", "launch", "E2BIG")
    assert "shorten its words and variables" in found["hint"]


# --- directory -----------------------------------------------------------------------------------------------------


def test_the_variables_of_the_directory_are_those_of_the_job(cli: Cli, work: Path) -> None:
    (work / "sub").mkdir()
    (work / "link").symlink_to("sub")
    caller = {"PWD": str(work), "OLDPWD": "/"}

    def printed(*flags: str, env: dict[str, str] = caller) -> str:
        return str(cli.ok("run", "--wait", *flags, "--", "printenv", "PWD", "OLDPWD", env=env)["output"])

    assert printed("--cwd", "sub") == f"{work}/sub\n"
    assert printed("--cwd", "link") == f"{work}/link\n", "as it was given"
    assert printed() == f"{work}\n"
    assert printed("--cwd", "sub", env={"PWD": f"{work}/link"}) == f"{work}/link\n", "another name of it stays"
    assert printed("--cwd", "sub", env={"PWD": "sub"}) == f"{work}/sub\n"
    given = ("--env", f"PWD={work}", "--env", "OLDPWD=/usr")
    assert printed("--cwd", "sub", *given) == f"{work}\n/usr\n"
    cli.ok(
        "run",
        "--wait",
        "--cwd",
        "sub",
        "--notify-command",
        f"printenv PWD OLDPWD > {work}/notified",
        "true",
        env=caller,
    )
    until(lambda: (work / "notified").exists() and (work / "notified").read_text() == f"{work}/sub\n", what="its PWD")


def test_a_deleted_current_directory_is_an_error_and_another_can_be_named(cli: Cli, work: Path) -> None:
    gone = work / "gone"
    gone.mkdir()
    script = 'cd "$0" && rmdir "$0" && exec "$@"'
    words = ["sh", "-c", script, str(gone), *OUTLIVE]
    here = subprocess.run([*words, "run", "true"], capture_output=True, check=False)
    error = one_object(Text(here.returncode, here.stdout.decode(), ""))["error"]
    assert error["details"]["field"] == "--cwd"
    assert f"the current one, {gone}, was deleted; nothing was run" in error["message"]
    assert "--cwd" in error["hint"]
    gone.mkdir()
    again = ["sh", "-c", script.replace('rmdir "$0"', 'rmdir "$0" && mkdir "$0"'), *words[3:], "run", "true"]
    here = subprocess.run(again, capture_output=True, check=False)
    error = one_object(Text(here.returncode, here.stdout.decode(), ""))["error"]
    assert error["hint"] == f"Another one is there now: cd {gone}"
    config = work / "config.toml"
    config.write_text("[exec]\nbackground_ms = 9000\n", encoding="utf-8")  # which is read from there too
    words = [*words[:3], str(gone), *OUTLIVE, "--config", str(config)]
    there = subprocess.run([*words, "run", "--cwd", str(work), "pwd"], capture_output=True, check=False)
    assert one_object(Text(there.returncode, there.stdout.decode(), ""))["output"] == f"{work}\n"


# --- environment ---------------------------------------------------------------------------------------------------


def test_the_callers_environment_is_inherited_a_later_env_file_wins_and_env_wins_over_files(
    cli: Cli, work: Path
) -> None:
    (work / "one").write_text("# first\n\nA=one\nB=one\n  C = spaced \nD=a=b\n")
    (work / "two").write_text("B=two\r\nE=two\n")
    words = ["--env", "E=flag", "--env-file", "one", "--env-file", "two", 'echo "$A|$B|$C|$D|$E|$F"']
    assert cli.ok("run", *words, env={"A": "caller", "F": "caller"})["output"] == "one|two| spaced|a=b|flag|caller\n"


def test_only_line_feeds_end_a_line_of_an_env_file(cli: Cli, work: Path) -> None:
    (work / "file").write_bytes("A=x\fy\u2028z\u0085w\n".encode())
    found = cli.ok("run", "--env-file", "file", *python("import os; print(ascii(os.environ['A']))"))
    assert found["output"] == "'x\\x0cy\\u2028z\\x85w'\n"


@pytest.mark.parametrize("line", ["no equals sign", "=value", "1A=x", "A B=x", "export A=x"])
def test_a_broken_env_file_is_refused_and_nothing_runs(cli: Cli, root: Path, work: Path, line: str) -> None:
    (work / "file").write_text(f"GOOD=1\n{line}\n")
    error = cli.error("run", "--env-file", "file", "touch ran", code="invalid_argument")
    assert error["details"]["field"] == "--env-file"
    assert job_ids(root) == set()
    assert not (work / "ran").exists()


@pytest.mark.parametrize("path", ["missing", "."])
def test_an_env_file_that_cannot_be_read_is_an_io_error(cli: Cli, root: Path, path: str) -> None:
    error = cli.error("run", "--env-file", path, "true", code="io_error")
    assert not error["retryable"]
    assert job_ids(root) == set()


def test_a_job_can_start_a_job_that_outlives_it(cli: Cli, jobs: Jobs) -> None:
    inner = " ".join([*OUTLIVE, "run", "--snapshot-after", "0", "sleep", "60"])
    outer = cli.ok("run", inner)
    assert outer["exit_code"] == 0
    cli.ok("remove", outer["job_id"])
    (left,) = jobs.all()
    assert (left["command"], left["state"]) == (["sleep", "60"], "running")
    jobs.end()


# --- stdin ---------------------------------------------------------------------------------------------------------


@pytest.mark.fault("F44")
def test_stdin_is_closed_by_default_and_no_pipe_to_a_program_that_looks(cli: Cli) -> None:
    look = python("import os, stat; mode = os.fstat(0).st_mode; print(stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode))")
    found = cli.ok("run", f"read x; echo $?; cat | wc -c; {shlex.join(look[1:])}", input="not for the job")
    assert found["output"] == "1\n0\nFalse\n"


def test_the_callers_stdin_is_handed_on_when_asked(cli: Cli) -> None:
    found = cli.ok("run", "--stdin", "-", "wc -c; head -c3 /dev/null", input="x" * 200_000)
    assert found["output"] == "200000\n"


def test_a_file_can_be_the_stdin(cli: Cli, work: Path) -> None:
    (work / "input").write_bytes(b"from\0file\n")
    assert cli.ok("run", "--stdin", "@input", "wc -c")["output"] == "10\n"
    assert cli.ok("run", "--stdin", f"@{work}/input", "cat")["next_seq"] == 10


def test_text_comes_first_where_stdin_stays_open(cli: Cli) -> None:
    job = started(cli, "--stdin", "open", "--stdin-data", "first\n", "cat")
    cli.ok("write", job, "--data", "second\n", "--eof")
    assert cli.ok("wait", job)["output"] == "first\nsecond\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--stdin", "@missing"], "io_error"),
        (["--stdin", "maybe"], "invalid_argument"),
        (["--stdin", "@"], "invalid_argument"),
        (["--stdin", "@."], "io_error"),
        (["--stdin", "-", "--stdin-data", "x"], "invalid_argument"),
        (["--stdin", "@f", "--stdin-data", "x"], "invalid_argument"),
    ],
)
def test_a_stdin_that_cannot_be_is_refused(cli: Cli, root: Path, work: Path, words: list[str], code: str) -> None:
    (work / "f").touch()
    cli.error("run", *words, "true", code=code)
    assert job_ids(root) == set()


# --- what cannot be executed ---------------------------------------------------------------------------------------


def _script(work: Path, text: str, mode: int = 0o755) -> str:
    (work / "script").write_text(text)
    (work / "script").chmod(mode)
    return "./script"


def _launch_failure(cli: Cli, errno_name: str, *words: str) -> dict[str, Any]:
    found = cli.ok("run", *words)
    assert (found["state"], found["reason"], found["errno"]) == ("failed", "launch", errno_name)
    assert (found["exit_code"], found["signal"]) == (None, None)
    assert found["message"]
    again = cli.ok("status", found["job_id"])
    assert (again["state"], again["reason"], again["errno"]) == ("failed", "launch", errno_name)
    return found


@pytest.mark.fault("F56")
def test_a_file_that_may_not_be_executed_is_a_job_that_failed(cli: Cli, work: Path) -> None:
    _launch_failure(cli, "EACCES", _script(work, "#!/bin/sh\n", 0o644), "x")
    _launch_failure(cli, "EACCES", str(work), "x")


@pytest.mark.fault("F56")
def test_a_script_whose_interpreter_is_missing_says_so(cli: Cli, work: Path) -> None:
    found = _launch_failure(cli, "ENOENT", _script(work, "#!/no/such/interpreter -x\n"), "x")
    assert "/no/such/interpreter" in found["message"]


def test_a_script_without_a_first_line_is_run_by_sh(cli: Cli, work: Path) -> None:
    found = cli.ok("run", _script(work, 'echo "ran with $1"\n'), "x y")
    assert (found["output"], found["exit_code"]) == ("ran with x y\n", 0)


def test_an_interpreter_that_refers_to_itself_is_a_job_that_failed(cli: Cli, work: Path) -> None:
    found = cli.ok("run", _script(work, f"#!{work}/script\n"), "x")
    assert (found["state"], found["reason"]) == ("failed", "launch")


def test_the_program_is_looked_up_along_the_jobs_own_path(cli: Cli, work: Path) -> None:
    (work / "bin").mkdir()
    program = work / "bin" / "only-here"
    program.write_text("#!/bin/sh\necho found\n")
    program.chmod(0o755)
    assert cli.ok("run", "--env", f"PATH={work}/bin:/bin:/usr/bin", "only-here", "x")["output"] == "found\n"
    _launch_failure(cli, "ENOENT", "only-here", "x")


@pytest.mark.fault("F60")
@REAL
def test_arguments_longer_than_the_kernel_takes_leave_an_error_or_a_failed_job(cli: Cli) -> None:
    found = cli.ok("run", "true", *(["x" * 100_000] * 3))
    assert found["exit_code"] == 0
    words = ["x" * 60_000] * 30  # for us it just fits; for the command it does with what we add
    answer = cli.run("run", "true", *words)
    assert answer["state"] == "exited" if answer["ok"] else answer["error"]["code"] == "launch_failed"


# --- odd surroundings ----------------------------------------------------------------------------------------------


@REAL
def test_a_client_without_standard_streams_starts_a_job_all_the_same(cli: Cli, jobs: Jobs, work: Path) -> None:
    words = [
        "sh",
        "-c",
        'exec "$@" 0<&- 1>&- 2>&-',
        "sh",
        *OUTLIVE,
        "run",
        "echo out; readlink /proc/self/fd/0; exit 3",
    ]
    assert subprocess.run(words, check=False, timeout=60).returncode in (0, 1)
    (job,) = jobs.all()
    assert (job["state"], job["exit_code"]) == ("exited", 3)
    assert cli.ok("poll", job["job_id"])["output"] == "out\n/dev/null\n"


@REAL
def test_a_program_has_the_standard_streams_that_its_caller_has_closed(root: Path) -> None:
    """Python itself leaves sys.stdin None then, and sys.stderr."""
    hook = ["sh", "-c", 'exec "$@" 0<&-', "sh", *OUTLIVE, "hook", "codex"]
    done = subprocess.run(hook, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    page = ["sh", "-c", 'exec "$@" 2>&-', "sh", *OUTLIVE, "--root", str(root), "ui", "--no-open"]
    with subprocess.Popen(page, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        assert '"type":"ui"' in served.stdout.readline()
        served.terminate()
        assert served.communicate(timeout=60)[0] == ""


@pytest.mark.fault("F29", "F30")
@pytest.mark.parametrize("name", ["x" * 200 + "/" + "y" * 200, "two words\nand a line", os.fsdecode(b"no \xff text")])
def test_a_root_may_have_any_name(cli: Cli, place: Path, name: str) -> None:
    root = ["--root", str(place / name)]
    job = cli.ok(*root, "run", "--stdin", "open", "--snapshot-after", "0", "cat; exit 3")["job_id"]
    assert cli.ok(*root, "write", job, "--data", "x\n", "--eof")["bytes_written"] == 2
    found = cli.ok(*root, "wait", job)
    assert (found["output"], found["exit_code"]) == ("x\n", 3)


def test_a_directory_may_have_any_name(cli: Cli, work: Path) -> None:
    odd = work / os.fsdecode(b" \xff\n'\" ")
    odd.mkdir()
    found = cli.ok("run", "--cwd", str(odd), "touch made")
    assert found["exit_code"] == 0
    assert found["cwd"] == str(odd)
    assert (odd / "made").exists()
    assert [job["job_id"] for job in cli.ok("list", "--cwd", str(odd))["jobs"]] == [found["job_id"]]

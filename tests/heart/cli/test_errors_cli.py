"""What goes wrong around a job: wrong words, an unsafe or full root, a broken configuration; and what stays secret."""

from __future__ import annotations

import json
import os
import secrets
import stat
import subprocess
from pathlib import Path

import pytest

from support import processes, trees
from support.cli import Cli, Jobs, configured
from support.jobs import IS_CLEANED
from support.mounts import Mounts, fill
from support.tiers import first
from support.wait import until

SECRET = secrets.token_hex(12)  # of this run alone: another one on this machine has its own


# --- words ---------------------------------------------------------------------------------------------------------


def test_words_that_are_wrong_and_help_make_no_root_and_run_nothing(cli: Cli, work: Path, root: Path) -> None:
    for words in (["run", "--tiemout", "5", "touch ran"], ["run", "--wait", "true", "--", "touch", "ran"], ["write"]):
        answer = cli.run(*words)
        assert (answer.status, answer["error"]["code"], bool(answer.stderr)) == (2, "invalid_argument", True)
    found = cli.text("status", "--bogus", "--human")  # for a person too if the flag comes behind the mistake
    assert (found.status, found.stdout, "--bogus" in found.stderr) == (2, "", True)
    for words in (["--help"], ["run", "--help"], ["help", "list"], ["tag", "set", "-h"], ["--version"]):
        found = cli.text(*words)
        assert (found.status, bool(found.stdout.strip()), found.stderr) == (0, True, "")
    assert not root.exists()
    assert not (work / "ran").exists()


def test_a_bare_number_that_other_tools_take_for_seconds_is_told(cli: Cli) -> None:
    hint = cli.ok("run", "--timeout", "900", "--kill-after", "5", "true")["hint"]
    assert "--timeout 900 means 900 ms; --timeout 900s means 900 s." in hint
    assert "--kill-after 5s" in hint
    for words in (("--timeout", "900ms"), ("--timeout", "5000"), ("--timeout", "0"), ("--snapshot-after", "500")):
        assert "hint" not in cli.ok("run", "--wait", *words, "true"), words


def test_words_for_a_shell_in_an_array_are_answered_with_the_form_that_runs_them(cli: Cli) -> None:
    hint = cli.ok("run", "ls -la | head", "x")["hint"]
    assert "Give one string: ls -la | head" in hint


def test_text_for_stdin_is_answered_with_the_argument_for_it(cli: Cli) -> None:
    assert "--stdin-data" in cli.error("run", "--stdin", "hello", "cat", code="invalid_argument", status=None)["hint"]


def test_the_schema_is_printed_even_where_the_root_is_unsafe(cli: Cli, root: Path) -> None:
    root.mkdir(mode=0o777)
    root.chmod(0o777)
    found = cli.ok("schema")
    assert found["schema_format"] == "json-schema-2020-12"
    assert {"run", "status", "error"} <= set(found["schema"]["$defs"])


# --- which root ----------------------------------------------------------------------------------------------------


def test_the_root_is_the_flag_before_the_environment_before_the_data_directory(cli: Cli, place: Path) -> None:
    def used(*words: str, **env: str | None) -> Path:
        return Path(cli.ok(*words, env=env)["root"])

    flag, variable = place / "flag", place / "variable"
    assert used("--root", str(flag), "list", OUTLIVE_ROOT=str(variable)) == flag
    assert used("list", "--root", str(flag), OUTLIVE_ROOT=str(variable)) == flag
    assert used("list", f"--root={flag}", OUTLIVE_ROOT=str(variable)) == flag
    assert used("list", OUTLIVE_ROOT=str(variable)) == variable
    assert used("list", OUTLIVE_ROOT=None, XDG_DATA_HOME=str(place / "data")) == place / "data/outlive/jobs"
    assert used("list", OUTLIVE_ROOT="", XDG_DATA_HOME="relative") == place / "home/.local/share/outlive/jobs"
    assert used("list", OUTLIVE_ROOT=None, XDG_DATA_HOME=None) == place / "home/.local/share/outlive/jobs"
    assert used("--root", "here", "list") == place / "work/here"


def test_a_root_is_made_for_its_owner_alone(cli: Cli, place: Path) -> None:
    with cli.spawn("--root", str(place / "a" / "b"), "list", preexec_fn=lambda: os.umask(0)) as call:
        call.communicate(timeout=60)
    assert stat.S_IMODE((place / "a" / "b").stat().st_mode) == 0o700


# --- unsafe roots --------------------------------------------------------------------------------------------------

CALLS = [
    ["run", "touch ran"],
    ["create", "true"],
    ["list"],
    ["status", "x" * 8],
    ["clear", "all"],
    *([["gc"]] if IS_CLEANED else []),
]


@pytest.mark.fault("S02")
@pytest.mark.parametrize("mode", first(1, [0o1777, 0o770]))
def test_a_root_that_others_may_write_is_refused(cli: Cli, root: Path, work: Path, mode: int) -> None:
    root.mkdir()
    root.chmod(mode)
    for words in CALLS:
        error = cli.error(*words, code="store_unsafe", status=1)
        assert str(root) in error["message"]
        assert error["hint"]
        assert not error["retryable"]
    assert list(root.iterdir()) == []
    assert not (work / "ran").exists()


@pytest.mark.fault("S02")
def test_a_root_of_somebody_else_is_refused(cli: Cli, root: Path, work: Path) -> None:
    root.mkdir(mode=0o700)
    if os.geteuid() != 0:
        pytest.skip("only root can give a directory away")
    os.chown(root, 12345, 12345)
    for words in CALLS:
        cli.error(*words, code="store_unsafe", status=1)
    assert list(root.iterdir()) == []
    assert not (work / "ran").exists()


@pytest.mark.parametrize("below", first(1, ["", "/below"]))
def test_a_file_in_the_place_of_the_root_is_an_error(cli: Cli, place: Path, below: str) -> None:
    (place / "file").write_text("kept")
    for words in CALLS:
        error = cli.error("--root", f"{place}/file{below}", *words, code="io_error", status=1)
        assert str(place / "file") in error["message"]
    assert (place / "file").read_text() == "kept"


@pytest.mark.fault("F29")
def test_a_root_through_a_link_is_the_directory_it_points_to(cli: Cli, place: Path) -> None:
    (place / "real").mkdir(mode=0o700)
    (place / "link").symlink_to(place / "real")
    job = cli.ok("--root", str(place / "link"), "run", "echo x")
    assert job["stdout_log_path"].startswith(str(place / "real"))
    assert cli.ok("--root", str(place / "real"), "status", job["job_id"])["exit_code"] == 0


# --- full and read-only disks --------------------------------------------------------------------------------------


@pytest.mark.fault("F17")
def test_a_full_disk_at_creation_is_an_error_and_leaves_nothing(cli: Cli, work: Path, mount: Mounts) -> None:
    root = mount("small", "size=64k,mode=700")
    filler = fill(root)
    for words in (["run", "touch ran"], ["create", "touch ran"], ["run", "--stdin-data", "x", "touch ran"]):
        error = cli.error("--root", str(root), *words, code="io_error", status=1)
        assert (error["retryable"], error["details"]["errno"]) == (True, "ENOSPC")
        assert str(root) in error["message"]
        assert error["hint"]
    left = {path.name for path in root.rglob("*")}
    assert left <= {"filler", ".live", ".dedupe.lock"}
    assert not (work / "ran").exists()
    assert cli.ok("--root", str(root), "list")["jobs"] == []
    filler.unlink()
    assert cli.ok("--root", str(root), "run", "echo works")["output"] == "works\n"


@pytest.mark.fault("F18")
def test_a_read_only_root_can_be_read_and_nothing_is_started(cli: Cli, work: Path, mount: Mounts) -> None:
    path = mount("ro", "size=1m,mode=700")
    root = ["--root", str(path)]
    job = cli.ok(*root, "run", "echo kept; exit 3")["job_id"]
    processes.wait_gone(path, 20)
    subprocess.run(["mount", "-o", "remount,ro", str(path)], check=True)
    assert cli.ok(*root, "status", job)["exit_code"] == 3
    for verb in ("poll", "log", "wait"):
        assert cli.ok(*root, verb, job)["output"] == "kept\n"
    assert cli.ok(*root, "tail", job)["stdout_tail"] == "kept\n"
    assert [one["job_id"] for one in cli.ok(*root, "list")["jobs"]] == [job]
    for words in (["run", "touch ran"], ["create", "true"], ["clear", job], ["remove", job], ["tag", "set", job]):
        error = cli.error(*root, *words, code="io_error", status=1)
        assert error["details"]["errno"] == "EROFS"
        assert not error["retryable"]
    assert not (work / "ran").exists()
    if IS_CLEANED:
        gc = cli.run(*root, "gc", "--older-than", "0s")
        assert gc["deleted"] == 0 if gc["ok"] else gc["error"]["code"] == "io_error"


def test_a_read_only_root_can_be_read_though_an_end_is_still_to_be_told(cli: Cli, work: Path, mount: Mounts) -> None:
    path = mount("ro", "size=1m,mode=700")
    root = ["--root", str(path)]
    job = cli.ok(*root, "run", "--notify-file", str(work / "told"), "echo kept; exit 3")["job_id"]
    processes.wait_gone(path, 20)
    event = path / job / "completion_event.json"
    untold = {"delivered": False, "pending": True, "delivery_results": []}
    event.write_text(json.dumps(json.loads(event.read_bytes()) | untold), encoding="utf-8")
    (work / "told").unlink()
    subprocess.run(["mount", "-o", "remount,ro", str(path)], check=True)
    assert cli.ok(*root, "status", job)["exit_code"] == 3
    assert cli.ok(*root, "log", job)["output"] == "kept\n"
    subprocess.run(["mount", "-o", "remount,rw", str(path)], check=True)
    assert cli.ok(*root, "status", job)["exit_code"] == 3
    until((work / "told").exists, what="what was still to be told")
    processes.wait_gone(path, 20)
    assert json.loads(event.read_bytes())["delivered"] is True


# --- configuration -------------------------------------------------------------------------------------------------


def test_a_wrong_configuration_is_an_error_that_names_the_nearest_and_nothing_runs(
    cli: Cli, place: Path, work: Path
) -> None:
    path = configured(place, "[exec]\nbackground_sm = 5\n")
    error = cli.error("run", "touch ran", code="config_error", status=1)
    assert "background_ms" in error["hint"]
    assert str(path) in error["message"]
    assert not (work / "ran").exists()


def test_the_shell_of_the_configuration_runs_shell_strings_and_the_flag_goes_before_it(cli: Cli, place: Path) -> None:
    path = configured(place, "[shell]\nunix = ['bash', '-c']\n")
    command = "echo ${BASH_VERSION:+bash}"
    assert cli.ok("run", command)["output"] == "bash\n"
    assert cli.ok("run", "--shell-wrapper", "sh -c", command)["output"] == "\n"
    assert cli.ok("run", command, env={"OUTLIVE_SHELL_UNIX": "sh -c"})["output"] == "\n"
    other = place / "other.toml"
    path.rename(other)
    assert cli.ok("--config", str(other), "run", command)["output"] == "bash\n"
    assert cli.ok("run", "--config", str(other), command)["output"] == "bash\n"
    cli.error("--config", str(path), "run", command, code="config_error")


@pytest.mark.parametrize("shell", ["no-such-shell -c", "./file -c", "./ -c", ""])
def test_a_shell_that_is_no_program_is_refused(cli: Cli, work: Path, shell: str) -> None:
    (work / "file").touch()
    error = cli.error("run", "--shell-wrapper", shell, "touch ran", code="invalid_argument")
    assert error["message"] == f"the shell wrapper {shell!r} names no program"
    assert not (work / "ran").exists()


def test_an_unknown_variable_of_ours_is_an_error_that_names_the_nearest(cli: Cli) -> None:
    error = cli.error("list", env={"OUTLIVE_EXEC_BACKGROUND": "5"}, code="config_error")
    assert "OUTLIVE_EXEC_BACKGROUND_MS" in error["hint"]
    own = {"OUTLIVE_JOB_ID": "x", "OUTLIVE_SHELL": "exec", "OUTLIVE_EVENT_PATH": "x", "OUTLIVE_EVENT_TYPE": "x"}
    cli.ok("list", env=own)


# --- secrets -------------------------------------------------------------------------------------------------------


def _arguments_with(text: str) -> list[int]:
    """The processes that name it in their command line. This one's own pid is never among them."""
    return [pid for pid in processes.all_pids() if text.encode() in processes._read(pid, "cmdline")]


@pytest.mark.fault("S06")
def test_a_masked_value_is_nowhere_on_disk_and_in_no_command_line(
    cli: Cli, jobs: Jobs, place: Path, root: Path
) -> None:
    given = ["--env", f"TOKEN={SECRET}", "--mask", "TOKEN", "--notify-command", "cat > told", "--title", "t"]
    answer = cli.ok("run", "--snapshot-after", "0", *given, "echo ${#TOKEN}; until [ -e go ]; do sleep 0.1; done")
    job = answer["job_id"]
    cli.ok("wait", job, "--until", "output")
    assert cli.ok("poll", job)["output"] == f"{len(SECRET)}\n"  # it did get it
    assert SECRET not in json.dumps([answer, cli.ok("status", job), cli.ok("list"), cli.ok("poll", job)])
    assert _arguments_with(SECRET) == []
    assert trees.holding(SECRET, place) == []
    (place / "work" / "go").touch()
    cli.ok("wait", job)
    until((place / "work" / "told").exists)
    until(lambda: not processes.of(place))
    assert trees.holding(SECRET, place) == []
    assert SECRET not in json.dumps(cli.ok("status", job))


@pytest.mark.fault("S06")
def test_a_value_from_an_env_file_is_not_copied_into_the_root(cli: Cli, jobs: Jobs, work: Path, root: Path) -> None:
    (work / "env").write_text(f"TOKEN={SECRET}\n")
    created = cli.ok("create", "--env-file", "env", "--mask", "TOKEN", "echo ${#TOKEN}; sleep 60")["job_id"]
    answer = cli.ok("start", "--snapshot-after", "0", created)
    cli.ok("wait", created, "--until", "output")
    assert cli.ok("poll", created)["output"] == f"{len(SECRET)}\n"
    assert SECRET not in json.dumps([answer, cli.ok("status", created)])
    assert trees.holding(SECRET, root) == []
    assert _arguments_with(SECRET) == []
    jobs.end()


@pytest.mark.fault("S06")
def test_the_callers_environment_is_not_copied_into_the_root(cli: Cli, jobs: Jobs, root: Path) -> None:
    words = ["run", "--snapshot-after", "0", "--notify-command", "true", "echo up; sleep 60"]
    job = cli.ok(*words, env={"API_KEY": SECRET})["job_id"]
    cli.ok("wait", job, "--until", "output")
    assert trees.holding(SECRET, root) == []
    jobs.end()


@pytest.mark.fault("F54", "S01")
@pytest.mark.parametrize("when", ["running", "finished"])
def test_every_file_of_ours_is_0600_and_every_directory_0700(cli: Cli, jobs: Jobs, root: Path, when: str) -> None:
    words = ["--stdin-data", "x", "--dedupe-key", "k", "--notify-command", "true", "--progress-every", "50"]
    command = "umask 0; echo up; cat" + ("; sleep 60" if when == "running" else "")
    with cli.spawn("run", "--snapshot-after", "300", *words, command, preexec_fn=lambda: os.umask(0)) as call:
        answer = json.loads(call.communicate(timeout=60)[0])
    cli.ok("tag", "set", answer["job_id"], "--tag", "a")
    cli.ok("create", "true")
    modes = {path: entry.st_mode for path, entry in trees.entries(root).items()}
    wrong = {
        str(path): oct(mode)
        for path, mode in modes.items()
        if stat.S_IMODE(mode) != (0o700 if stat.S_ISDIR(mode) else 0o600)
    }
    assert wrong == {}
    assert len(modes) > 12
    jobs.end()

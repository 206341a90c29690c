"""`run` from the outside: words, output, how the end is told and when, time-outs, and what is refused."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support import processes
from support.cli import Cli, Jobs, Text, one_object
from support.commands import python
from support.tiers import first
from support.wait import until


def _nothing_was_made(root: Path) -> bool:
    return not root.exists() or not [name for name in os.listdir(root) if not name.startswith(".")]


# --- output and exit codes -----------------------------------------------------------------------------------------


def test_a_short_command_is_answered_with_its_output_and_its_code(cli: Cli, work: Path) -> None:
    found = cli.ok("run", "echo out; echo err >&2; exit 3")
    assert (found["state"], found["exit_code"], found["reason"], found["signal"]) == ("exited", 3, "exit", None)
    assert sorted(found["output"].splitlines()) == ["err", "out"]
    assert found["snapshot"]["stdout_tail"] == "out\n"
    assert found["snapshot"]["stderr_tail"] == "err\n"
    assert Path(found["stdout_log_path"]).read_bytes() == b"out\n"
    assert Path(found["stderr_log_path"]).read_bytes() == b"err\n"
    assert found["cwd"] == str(work)
    assert found["truncated"] is False
    assert found["next_seq"] == 8
    assert found["started_at"] <= found["finished_at"]
    assert found["short_id"] == found["job_id"][-8:]


@pytest.mark.parametrize("code", [1, 137, 255])
def test_an_exit_code_is_told_as_it_was_and_is_never_the_clis_own(cli: Cli, code: int) -> None:
    answer = cli.run("run", f"exit {code}")
    assert answer.status == 0
    assert (answer["state"], answer["exit_code"], answer["reason"]) == ("exited", code, "exit")


@pytest.mark.parametrize("name", ["HUP", "INT", "KILL", "PIPE"])
def test_a_command_ended_by_a_signal_is_killed_and_names_the_signal(cli: Cli, name: str) -> None:
    found = cli.ok("run", *python(f"import os, signal; os.kill(os.getpid(), signal.SIG{name})"))
    # Python ignores SIGPIPE and turns SIGINT into its own end by the same signal.
    if name == "PIPE":
        assert (found["state"], found["exit_code"]) == ("exited", 0)
    else:
        assert (found["state"], found["signal"], found["exit_code"]) == ("killed", f"SIG{name}", None)
        assert found["reason"] == "signal"


@pytest.mark.fault("F74")
def test_both_streams_are_kept_in_the_order_of_their_arrival(cli: Cli) -> None:
    # The next piece leaves when the last one is stored: the order of arrival is then certain.
    script = 'cd "$OUTLIVE_ROOT/$OUTLIVE_JOB_ID" && for i in 0 1 2 3 4 5; do echo $i >&$((1 + i % 2)); '
    script += "until [ $(cat stdout.log stderr.log | wc -l) -gt $i ]; do :; done; done"
    found = cli.ok("run", script)
    assert found["output"] == "0\n1\n2\n3\n4\n5\n"
    assert found["snapshot"]["stdout_tail"] == "0\n2\n4\n"


def test_a_command_without_output_has_empty_output(cli: Cli) -> None:
    found = cli.ok("run", "true")
    assert (found["output"], found["next_seq"], found["snapshot"]["stdout_tail"]) == ("", 0, "")


def test_the_shells_own_not_found_is_an_exit_code(cli: Cli) -> None:
    found = cli.ok("run", "no-such-command-anywhere")
    assert (found["state"], found["exit_code"]) == ("exited", 127)


@pytest.mark.fault("F41")
def test_the_writer_of_a_pipe_without_reader_ends_by_sigpipe(cli: Cli) -> None:
    found = cli.ok("run", "yes | head -1")
    assert (found["output"], found["exit_code"]) == ("y\n", 0)
    assert found["descendants"] == 0


def test_stderr_can_be_opened_again_by_name(cli: Cli) -> None:
    found = cli.ok("run", "echo one > /dev/stderr; echo two > /dev/stdout; echo three >> /proc/self/fd/2")
    assert found["exit_code"] == 0
    assert found["snapshot"]["stderr_tail"] == "one\nthree\n"
    assert found["snapshot"]["stdout_tail"] == "two\n"


@pytest.mark.fault("F31", "F33")
def test_a_background_child_does_not_hold_up_the_end_and_kill_ends_it(cli: Cli, jobs: Jobs, place: Path) -> None:
    found = cli.ok("run", "(sleep 60 &) ; echo hi")
    assert (found["state"], found["exit_code"], found["output"]) == ("exited", 0, "hi\n")
    assert found["descendants"] == 1
    assert cli.ok("status", found["job_id"])["descendants"] == 1
    killed = cli.ok("kill", found["job_id"])
    assert killed["survivors"] == []
    assert (killed["state"], killed["exit_code"], killed["reason"]) == ("exited", 0, "exit")
    assert cli.ok("status", found["job_id"])["descendants"] == 0
    assert processes.wait_gone(place, 60) == {}
    jobs.end()


@pytest.mark.fault("F31")
def test_a_background_childs_later_output_still_arrives(cli: Cli, work: Path) -> None:
    job = cli.ok("run", "(until [ -e go ]; do sleep 0.1; done; echo late) & echo early")["job_id"]
    assert cli.ok("status", job)["state"] == "exited"
    (work / "go").touch()
    until(lambda: cli.ok("poll", job)["output"] == "early\nlate\n")


# --- words ---------------------------------------------------------------------------------------------------------


def test_one_word_is_a_shell_string(cli: Cli) -> None:
    found = cli.ok("run", "echo $((6 * 7)) | tr 4 5")
    assert found["output"] == "52\n"
    assert found["command"] == ["echo $((6 * 7)) | tr 4 5"]


def test_several_words_are_an_argument_vector_that_no_shell_sees(cli: Cli) -> None:
    found = cli.ok("run", "echo", "$HOME", "a  b", ";", "*", "", "--root")
    assert found["output"] == "$HOME a  b ; *  --root\n"
    assert found["command"] == ["echo", "$HOME", "a  b", ";", "*", "", "--root"]


@pytest.mark.parametrize("words", [["--", "echo", "--tag", "x"], ["echo", "--tag", "x"]])
def test_the_first_word_of_the_command_ends_our_options_with_and_without_dashes(cli: Cli, words: list[str]) -> None:
    found = cli.ok("run", *words)
    assert (found["output"], found["tags"]) == ("--tag x\n", [])


def test_dashes_inside_the_command_belong_to_it(cli: Cli) -> None:
    assert cli.ok("run", "echo", "--", "x")["output"] == "-- x\n"
    assert cli.ok("run", "--", "echo", "--", "x")["output"] == "-- x\n"


def test_bytes_that_are_no_text_reach_the_command_unchanged(cli: Cli, place: Path) -> None:
    raw = os.fsdecode(b"a\xff\xfeb")
    found = cli.ok("run", *python("import os, sys; sys.stdout.write(os.fsencode(sys.argv[1]).hex())"), raw)
    assert found["output"] == "61fffe62"


def test_another_shell_can_be_asked_for(cli: Cli) -> None:
    assert cli.ok("run", "--shell-wrapper", "bash -c", "echo $BASH_VERSION")["output"].strip()
    assert cli.ok("run", "--shell-wrapper", f"{sys.executable} -c", "print(6 * 7)")["output"] == "42\n"


def test_a_shell_that_is_not_there_is_refused(cli: Cli, root: Path) -> None:
    for wrapper in ("no-such-shell -c", "", "'unclosed"):
        error = cli.error("run", "--shell-wrapper", wrapper, "echo x", code="invalid_argument")
        assert error["details"]["field"] == "--shell-wrapper"
    assert _nothing_was_made(root)


def test_exec_is_another_name_of_run(cli: Cli) -> None:
    assert cli.ok("exec", "echo", "x")["type"] == "run"


@pytest.mark.parametrize("words", [[], ["--"], [""], ["--", ""], ["  "], ["", "x"]])
def test_an_empty_command_is_refused(cli: Cli, root: Path, words: list[str]) -> None:
    error = cli.error("run", *words, code="invalid_argument")
    assert error["details"]["field"] == "command"
    assert _nothing_was_made(root)


# --- name, tags ----------------------------------------------------------------------------------------------------


def test_a_job_is_named_by_its_title_or_else_by_verb_and_target(cli: Cli) -> None:
    assert cli.ok("run", "--title", "the build", "true")["name"] == "the build"
    assert cli.ok("run", "true", "--quiet", "target")["name"] == "true target"
    assert cli.ok("run", "X=1 /bin/echo -n hello | cat")["name"] == "echo hello"


def test_tags_are_kept_once_each_in_their_order(cli: Cli) -> None:
    found = cli.ok("run", "--tag", "project.build", "--tag", "ci", "--tag", "project.build", "true")
    assert found["tags"] == ["project.build", "ci"]
    assert cli.ok("status", found["job_id"])["tags"] == ["project.build", "ci"]


@pytest.mark.parametrize("tag", first(3, ["", "a b", "a..b", "a.*", "ä", "a\n", "a_b"]))
def test_what_is_no_tag_is_refused_and_nothing_runs(cli: Cli, root: Path, work: Path, tag: str) -> None:
    cli.error("run", f"--tag={tag}", "touch ran", code="invalid_tag")
    assert _nothing_was_made(root)
    assert not (work / "ran").exists()


# --- when the answer comes -----------------------------------------------------------------------------------------


def test_without_patience_the_answer_comes_while_it_runs(cli: Cli, jobs: Jobs) -> None:
    found = cli.ok("run", "--snapshot-after", "0", "sleep 60")
    assert found["state"] == "running"
    assert found["pid"] and processes.is_alive(found["pid"])
    assert {"exit_code", "signal", "reason", "finished_at"}.isdisjoint(found)
    assert found["hint"]
    jobs.end()


def test_the_answer_of_a_running_job_holds_what_it_put_out_so_far(cli: Cli, jobs: Jobs) -> None:
    for patience in ("200", "2s", "20s"):  # enough for a shell to start and to print
        found = cli.ok("run", "--snapshot-after", patience, "echo so far; sleep 60")
        jobs.end()
        if found["output"]:
            break
    assert (found["state"], found["output"], found["snapshot"]["stdout_tail"]) == ("running", "so far\n", "so far\n")


def test_wait_waits_for_the_end(cli: Cli) -> None:
    found = cli.ok("run", "--snapshot-after", "0", "--wait", "--wait-poll-ms", "50", "sleep 0.3; echo end")
    assert (found["state"], found["output"]) == ("exited", "end\n")


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["exit 7"], 7),
        (["true"], 0),
        (["kill -TERM $$"], 128 + signal.SIGTERM),
        (["no-such-program-at-all", "x"], 127),
        (["/", "x"], 126),
    ],
)
def test_propagate_makes_the_jobs_end_the_exit_status(cli: Cli, words: list[str], status: int) -> None:
    assert cli.run("run", "--wait", "--propagate", *words).status == status


def test_propagate_needs_wait(cli: Cli, root: Path) -> None:
    error = cli.error("run", "--propagate", "true", code="invalid_argument", status=2)
    assert "--wait" in error["hint"]
    assert _nothing_was_made(root)


def test_the_snapshot_has_as_many_lines_and_bytes_as_asked(cli: Cli) -> None:
    snapshot = cli.ok("run", "--tail-lines", "2", "seq 10")["snapshot"]
    assert (snapshot["stdout_tail"], snapshot["truncated"]) == ("9\n10\n", True)
    assert (snapshot["stdout_observed_bytes"], snapshot["stdout_included_bytes"]) == (21, 5)
    snapshot = cli.ok("run", "--max-bytes", "4", "printf 123456789")["snapshot"]
    assert (snapshot["stdout_tail"], snapshot["truncated"]) == ("6789", True)


@pytest.mark.fault("F50")
def test_interrupting_the_client_leaves_the_job_running(cli: Cli, jobs: Jobs) -> None:
    with cli.spawn("run", "--wait", "sleep 60") as call:
        until(lambda: [job for job in jobs.all() if job["state"] == "running"])
        call.send_signal(signal.SIGINT)
        _, said = call.communicate(timeout=60)
    assert call.returncode == 130
    (job,) = jobs.all()
    assert job["state"] == "running"
    assert b"Traceback" not in said
    jobs.end()


# --- time-outs -----------------------------------------------------------------------------------------------------


def test_a_time_out_ends_the_job_and_looks_like_one(cli: Cli) -> None:
    found = cli.ok("run", "--wait", "--timeout", "150", "sleep 60")
    assert (found["state"], found["reason"], found["exit_code"]) == ("killed", "timeout", None)
    assert found["signal"] in ("SIGTERM", "SIGKILL")
    assert cli.ok("status", found["job_id"])["reason"] == "timeout"


def _timed_out(cli: Cli, *words: str) -> dict[str, Any]:
    """Return the answer about a command whose time was over after it had said that it is up."""
    for limit in ("150", "1s", "5s", "20s"):
        found = cli.ok("run", "--wait", "--timeout", limit, *words)
        if "up\n" in found["output"]:
            return found
    raise AssertionError(f"it was never up in time: {found}")


def test_between_term_and_kill_the_command_has_time_to_clean_up(cli: Cli) -> None:
    found = _timed_out(
        cli, "--kill-after", "20s", "trap 'echo cleaned; exit 3' TERM; echo up; while :; do sleep 0.05; done"
    )
    assert (found["state"], found["exit_code"], found["reason"]) == ("exited", 3, "timeout")
    assert found["output"].endswith("cleaned\n")  # after the shell's word about its child, which got SIGTERM too


def test_a_command_that_ignores_term_is_killed_after_kill_after(cli: Cli) -> None:
    found = _timed_out(cli, "--kill-after", "150", "trap '' TERM; echo up; while :; do sleep 0.05; done")
    assert (found["state"], found["signal"], found["reason"]) == ("killed", "SIGKILL", "timeout")


def test_without_kill_after_a_time_out_ends_also_what_ignores_term(cli: Cli, place: Path) -> None:
    found = _timed_out(cli, "trap '' TERM; setsid sleep 60 & echo up; while :; do sleep 0.05; done")
    assert (found["state"], found["reason"]) == ("killed", "timeout")
    assert processes.wait_gone(place, 60) == {}


def test_a_quiet_job_is_ended_by_the_idle_time_out(cli: Cli) -> None:
    for limit in ("200", "2s", "20s"):  # enough for a shell to start and to print
        found = cli.ok("run", "--wait", "--idle-timeout", limit, "echo a; sleep 60")
        if found["output"]:
            break
    assert (found["state"], found["reason"], found["output"]) == ("killed", "idle_timeout", "a\n")


def test_output_puts_the_idle_time_out_off(cli: Cli) -> None:
    """A machine that is so busy that the command was not run for as long gets more time."""
    for limit_s in (1, 4, 16):
        code = f"import time\nend = time.monotonic() + {1.3 * limit_s}\nwhile time.monotonic() < end: print('on', flush=True); time.sleep({limit_s / 20})"
        found = cli.ok("run", "--wait", "--idle-timeout", f"{limit_s}s", *python(code))
        if found["state"] == "exited":
            break
    assert (found["state"], found["exit_code"]) == ("exited", 0)


def test_every_answer_about_a_running_job_says_its_time_out(cli: Cli, jobs: Jobs) -> None:
    found = cli.ok("run", "--snapshot-after", "0", "--timeout", "30m", "sleep 60")
    job = found["job_id"]
    answers = [found, cli.ok("status", job), cli.ok("poll", job), cli.ok("wait", job, "--timeout-ms", "0")]
    assert [answer["timeout_ms"] for answer in answers] == [1_800_000] * 4
    jobs.end()


def test_a_command_that_ends_in_time_is_not_touched(cli: Cli) -> None:
    found = cli.ok("run", "--timeout", "1m", "--idle-timeout", "1m", "exit 4")
    assert (found["state"], found["exit_code"], found["reason"]) == ("exited", 4, "exit")


@pytest.mark.parametrize(
    ("flag", "value"),
    first(
        3,
        [
            (flag, "-1")
            for flag in ("--timeout", "--idle-timeout", "--kill-after", "--snapshot-after", "--progress-every")
        ]
        + [("--timeout", value) for value in ("soon", "5y", "", "1e9", "nan", "99999999999d")],
    ),
)
def test_what_is_no_duration_is_a_usage_error(cli: Cli, root: Path, flag: str, value: str) -> None:
    cli.error("run", f"{flag}={value}", "true", code="invalid_argument", status=2)
    assert _nothing_was_made(root)


# --- dedupe_key ----------------------------------------------------------------------------------------------------


@pytest.mark.fault("F07")
def test_a_running_job_with_the_same_key_is_answered_instead_of_started_twice(cli: Cli, jobs: Jobs, work: Path) -> None:
    words = ["run", "--dedupe-key", "dev server", "--snapshot-after", "0"]
    first = cli.ok(*words, "echo one; sleep 60")
    second = cli.ok(*words, "echo two; sleep 60")
    assert second["job_id"] == first["job_id"]
    assert second["deduplicated"] is True
    assert not first.get("deduplicated")
    assert len(jobs.all()) == 1
    jobs.end()


def test_an_ended_job_another_key_and_another_directory_do_not_count(cli: Cli, jobs: Jobs, work: Path) -> None:
    (work / "sub").mkdir()
    ended = cli.ok("run", "--dedupe-key", "k", "true")
    runs = [
        cli.ok("run", "--snapshot-after", "0", "--dedupe-key", key, "--cwd", cwd, "sleep 60")
        for key, cwd in (("k", "."), ("other", "."), ("k", "sub"))
    ]
    plain = cli.ok("run", "--snapshot-after", "0", "sleep 60")
    assert len({found["job_id"] for found in [ended, plain, *runs]}) == 5
    assert not any(found.get("deduplicated") for found in runs)
    jobs.end()


def test_of_clients_that_ask_at_once_with_one_key_only_one_starts_it(cli: Cli, jobs: Jobs) -> None:
    with contextlib.ExitStack() as stack:
        words = ["run", "--dedupe-key", "k", "--snapshot-after", "0", "sleep 60"]
        calls = [stack.enter_context(cli.spawn(*words)) for _ in range(4)]
        answers = [one_object(Text(0, call.communicate(timeout=60)[0].decode(), "")) for call in calls]
    assert all(answer["ok"] for answer in answers), answers
    assert len({answer["job_id"] for answer in answers}) == 1
    assert sum(not answer.get("deduplicated") for answer in answers) == 1
    jobs.end()


# --- many at once --------------------------------------------------------------------------------------------------


@pytest.mark.fault("F63")
def test_jobs_started_at_once_all_end_with_their_own_output(cli: Cli, jobs: Jobs) -> None:
    with contextlib.ExitStack() as stack:
        calls = [stack.enter_context(cli.spawn("run", f"echo {i}; exit {i}")) for i in range(6)]
        answers = [one_object(Text(0, call.communicate(timeout=60)[0].decode(), "")) for call in calls]
    assert [(one["output"], one["exit_code"]) for one in answers] == [(f"{i}\n", i) for i in range(6)]
    assert len(jobs.all()) == 6


def test_progress_every_refreshes_the_time_of_the_state(cli: Cli, jobs: Jobs) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "--progress-every", "50", "sleep 60")["job_id"]
    before = cli.ok("status", job)["updated_at"]
    until(lambda: cli.ok("status", job)["updated_at"] > before)
    jobs.end()


def test_an_answer_of_a_call_says_the_same_as_status(cli: Cli) -> None:
    found = cli.ok("run", "--tag", "a", "--title", "t", "--timeout", "5m", "exit 2")
    status = cli.ok("status", found["job_id"])
    same: Callable[[dict[str, Any]], dict[str, Any]] = lambda one: {  # noqa: E731
        name: one[name]
        for name in ("name", "pid", "cwd", "command", "tags", "owner", "exit_code", "signal", "reason", "started_at",
                     "finished_at", "duration_ms", "timeout_ms", "stdout_log_path", "created_at")
    }  # fmt: skip
    assert same(found) == same(status)


@pytest.mark.parametrize(
    "text",
    [
        '["echo", "$HOME", "*"]',
        ' ["echo","$HOME","*"]\n',
        '[ "echo", "$HOME", "*" ]',
        '[\n  "echo",\n  "$HOME",\n  "*"\n]',
    ],
)
def test_the_text_of_an_array_is_that_array(cli: Cli, work: Path, text: str) -> None:
    (work / "e").touch()  # which a shell would find for the pattern
    ran = cli.ok("run", "--wait", text)
    assert (ran["output"], ran["exit_code"]) == ("$HOME *\n", 0)
    assert cli.ok("status", ran["job_id"])["command"] == ["echo", "$HOME", "*"]


@pytest.mark.parametrize("text", ['[ "x" ]', "[ 1 ]", "[ -d . ]", "[ -d / ] && true", "[[ a == [a]* ]]"])
def test_a_test_of_the_shell_is_no_array(cli: Cli, text: str) -> None:
    ran = cli.ok("run", "--wait", "--shell-wrapper", "bash -c", text)
    assert ran["exit_code"] == 0 and ran["command"] == [text]


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ('["echo", 1]', "an array of 2 values that are not all strings"),
        ('["echo"', "no JSON"),
        ('["a"] && ["b"]', "no JSON"),
        ("[]", "an empty array"),
        ("[1,2]", "an array of 2 values that are not all strings"),
        ("[ 1, 2 ]", "an array of 2 values that are not all strings"),
        ("[null]", "an array of 1 values that are not all strings"),
    ],
)
def test_the_text_of_no_argument_vector_is_refused_with_what_was_seen(cli: Cli, text: str, seen: str) -> None:
    error = cli.error("run", text, code="invalid_argument")
    assert f"looks like the text of an array, but is {seen}" in error["message"]
    assert cli.ok("list")["jobs"] == []

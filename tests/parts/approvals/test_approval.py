"""Jobs that wait for a person: whichever process ends, the first answer counts, and nothing runs before it."""

from __future__ import annotations

import hashlib
import json
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from outlive.jobs import lookup
from outlive.parts.approvals import answer_file, wait_for_answer
from outlive.store.job_dir import Locks
from outlive.store.root import Store
from outlive.system import fault_points
from support.cli import Cli, configured
from support.contexts import context_of
from support.mcp_client import McpSession
from support.preloaded import MAIN, OUTLIVE
from support.tiers import MODERN_FIRST
from support.wait import until

RULES = """
[policy]
default = "allow"
ask_timeout = "{timeout}"

[[policy.rule]]
prefix = [["touch", "printenv"]]
decision = "ask"
reason = "files are made by hand"
"""

POINTS = [point for point in fault_points.POINTS if point.startswith("approve_")]


@pytest.fixture
def config(place: Path) -> Path:
    return configured(place, RULES.format(timeout="1h"))


def pending(cli: Cli, *words: str, **how: Any) -> str:
    found = cli.ok("run", "--snapshot-after", "0", *(words or ("touch made",)), **how)
    assert (found["state"], found["approval"]["state"]) == ("created", "pending")
    job: str = found["job_id"]
    return job


@pytest.mark.usefixtures("system_path")
def test_a_job_that_waits_says_so_everywhere_and_runs_when_it_is_approved(cli: Cli, config: Path, work: Path) -> None:
    found = cli.ok("run", "--snapshot-after", "0", "touch made")
    job, name = found["job_id"], found["short_id"]
    assert found["approval"]["reason"] == "files are made by hand"
    assert f"outlive approve {name}" in found["hint"]
    assert f"outlive approve {name}" in cli.ok("list")["hint"]
    shown = cli.text("list", "--human").stdout
    assert "pending" in shown
    assert f"outlive approve {name}" in shown
    assert cli.ok("status", job)["approval"]["rule"] == "rule 1 (touch|printenv)"
    assert "waits for the user's approval" in cli.error("write", job, "--data", "x", code="invalid_state")["hint"]
    assert cli.ok("wait", job, "--timeout-ms", "0")["approval"]["state"] == "pending"
    assert cli.ok("poll", job)["approval"]["state"] == "pending"
    assert not (work / "made").exists()
    approved = cli.ok("approve", job, "--reason", "go ahead")
    assert (approved["approval"]["state"], approved["approval"]["answer"]) == ("approved", "go ahead")
    assert cli.ok("wait", job)["exit_code"] == 0
    assert (work / "made").exists()
    events = [event["type"] for event in cli.ok("events", job)["events"]]
    assert events == ["approval_asked", "approved", "started", "finished"]


def test_a_denial_is_answered_when_the_process_that_made_the_job_has_ended_it(
    cli: Cli, config: Path, root: Path
) -> None:
    job = pending(cli)
    with closing(Store.open(str(root), {})) as store:
        ctx = context_of(store)
        with lookup.open_known(ctx.caller, job) as job_dir:
            locks = Locks(job_dir)  # held by the process that ends it
            let_go = threading.Timer(0.3, locks.close)
            let_go.start()
            decided = wait_for_answer.decide(ctx, job_dir, answer_file.DENIED, by="tests")
            assert not let_go.is_alive()
            assert decided.state.state == "failed"


def test_a_job_that_is_denied_never_runs_nor_does_its_notification(cli: Cli, config: Path, work: Path) -> None:
    job = pending(cli, "--notify-command", "touch told", "--notify-file", "told-file", "touch made")
    denied = cli.ok("deny", job, "--reason", "not now")
    assert (denied["state"], denied["reason"], denied["approval"]["answer"]) == ("failed", "denied", "not now")
    ended = cli.ok("wait", job)
    assert (ended["state"], ended["reason"]) == ("failed", "denied")
    assert ended["message"].endswith("(outlive deny): not now; it never ran")
    assert cli.ok("list", "--state", "running")["jobs"] == []
    assert {path.name for path in work.iterdir()} == set()
    cli.ok("clear", job)


def test_a_caller_that_waits_starts_the_job_with_its_own_environment(cli: Cli, config: Path, work: Path) -> None:
    words = ("--env", "MARK=secret", "--mask", "MARK", "printenv", "MARK", "OTHER")
    waiting = cli.spawn("run", "--wait", *words, env={"OTHER": "of the caller"})
    (job,) = until(lambda: cli.ok("list")["jobs"], what="the job")
    cli.ok("approve", job["job_id"])
    out, said = waiting.communicate(timeout=60)
    answer = json.loads(out)
    assert (answer["state"], answer["output"]) == ("exited", "******\nof the caller\n")
    assert f"waits for approval: outlive approve {job['short_id']}" in said.decode()


def test_what_only_a_caller_knew_that_is_gone_cannot_be_approved(cli: Cli, config: Path, work: Path) -> None:
    job = pending(cli, "--env", "MARK=secret", "--mask", "MARK", "touch made")
    assert "masked" in cli.error("approve", job, code="invalid_state")["message"]
    assert cli.ok("deny", job)["state"] == "failed"


def test_an_approval_that_comes_too_late_is_seen_by_the_next_look(cli: Cli, config: Path, work: Path) -> None:
    config.write_text(RULES.format(timeout="1ms"), encoding="utf-8")
    job = cli.ok("run", "--snapshot-after", "0", "touch made")["job_id"]
    found = cli.ok("list")["jobs"][0]
    assert (found["state"], found["reason"], found["approval"]["state"]) == ("failed", "denied", "expired")
    assert "already" in cli.error("approve", job, code="invalid_state")["message"]
    assert not (work / "made").exists()


def test_kill_withdraws_and_remove_deletes(cli: Cli, config: Path, work: Path) -> None:
    job = pending(cli)
    killed = cli.ok("kill", job, "--detail", "brief")
    assert (killed["state"], killed["reason"]) == ("failed", "kill")
    assert killed["message"] == "it was withdrawn by cli before it was approved; it never ran"
    assert "signal" not in killed
    found = cli.ok("status", job)
    assert (found["state"], found["approval"]["state"]) == ("failed", "withdrawn")
    cli.error("approve", job, code="invalid_state")
    other = pending(cli)
    cli.ok("remove", other)
    assert not (work / "made").exists()


def test_nothing_but_a_person_starts_it(cli: Cli, config: Path, work: Path) -> None:
    job = pending(cli)
    assert "outlive approve" in cli.error("start", job, code="denied")["hint"]
    outlive = f"{' '.join(OUTLIVE)} approve {job}"
    for command in (
        outlive,
        f"env -u OUTLIVE_JOB_ID {outlive}",
        f"setsid -w env -i HOME=$HOME PATH=$PATH OUTLIVE_ROOT=$OUTLIVE_ROOT {outlive}",
    ):
        config.rename(work / "away")  # the policy itself would ask about these
        inside = cli.ok("run", "--wait", command)
        (work / "away").rename(config)
        assert json.loads(inside["output"])["error"]["code"] == "denied", inside["output"]
    assert cli.ok("status", job)["approval"]["state"] == "pending"


def test_always_binds_command_directory_and_variables(cli: Cli, config: Path, work: Path) -> None:
    cli.ok("approve", pending(cli), "--always")
    assert cli.ok("run", "--wait", "touch made")["exit_code"] == 0
    (work / "below").mkdir()
    for words in (("touch made2",), ("--cwd", "below", "touch made"), ("--env", "A=1", "touch made"),
                  ("--notify-command", "touch x", "touch made"), ("--notify-file", "x", "touch made"), ("touch", "made"),
                  ("--watch", "x", "--watch-file", "x", "touch made"), ("--stdin", "open", "touch made"),
                  ("--stdin-data", "x", "touch made"), ("--pty", "touch made"), ("--resource", "nice=5", "touch made"),
                  ("--shell-wrapper", "bash -c", "touch made")):  # fmt: skip
        cli.ok("deny", pending(cli, *words))
    config.write_text(RULES.format(timeout="1h").replace('"ask"', '"deny"'), encoding="utf-8")
    cli.error("run", "touch made", code="denied")


def test_always_binds_the_value_of_a_masked_variable_and_the_file_of_another(
    cli: Cli, config: Path, work: Path
) -> None:
    (work / "vars").write_text("MODE=safe\n")
    words = ("--env", "KEY={}", "--mask", "KEY", "--env-file", "vars", "printenv", "KEY", "MODE")

    def run(value: str) -> list[str]:
        return [word.format(value) for word in words]

    first = cli.spawn("run", "--wait", *run("first-secret"))
    (job,) = until(lambda: cli.ok("list", "--state", "created")["jobs"], what="the question")
    cli.ok("approve", job["job_id"], "--always")
    assert json.loads(first.communicate(timeout=60)[0])["exit_code"] == 0
    assert cli.ok("run", "--wait", *run("first-secret"))["output"] == "************\nsafe\n"
    cli.ok("deny", pending(cli, *run("other-secret")))
    (work / "vars").write_text("MODE=evil\n")
    cli.ok("deny", pending(cli, *run("first-secret")))


def test_always_binds_the_input_of_a_created_job(cli: Cli, config: Path, work: Path) -> None:
    for data, state in (("safe", "pending"), ("safe", None), ("evil", "pending")):
        job = cli.ok("create", "--stdin-data", data, "touch made; cat")["job_id"]
        found = cli.ok("start", job, "--snapshot-after", "0")
        assert found.get("approval", {}).get("state") == state, data
        if state:
            cli.ok("approve" if data == "safe" else "deny", job, *(("--always",) if data == "safe" else ()))
        else:
            cli.ok("wait", job)


def test_where_no_secret_can_be_kept_a_command_is_approved_once(
    cli: Cli, config: Path, place: Path, work: Path
) -> None:
    state = place / "home/.local/state/outlive"
    state.mkdir(parents=True)
    (state / "approved.secret").write_text("known to others")
    job = pending(cli)
    assert "approved once, not always" in cli.error("approve", job, "--always", code="io_error")["message"]
    assert cli.ok("wait", job)["exit_code"] == 0
    cli.ok("deny", pending(cli))


# --- what is shown -----------------------------------------------------------------------------------------------------


def facts(cli: Cli, job: str) -> list[tuple[str, str]]:
    return [(fact["label"], fact["value"]) for fact in cli.ok("status", job)["approval"]["facts"]]


def test_everything_that_decides_what_runs_is_shown(cli: Cli, config: Path, work: Path) -> None:
    (work / "vars").write_text("PATH=/usr/bin:/bin\nTOKEN=of-a-file\n")
    options = ["--env", "LD_PRELOAD=/ws/x.so", "--env", "BASH_ENV=rc file", "--env", "NOTE=plain", "--env-file", "vars"]
    options += ["--notify-command", "sh told", "--notify-file", "end", "--watch", "oops", "--watch-command", "sh hit"]
    options += ["--stdin-data", "id\nwhoami", "--resource", "nice=5", "--timeout", "60000", "--pty"]
    found = facts(cli, pending(cli, *options, "--shell-wrapper", "bash -c", "touch made\ntouch more"))
    assert found == [
        ("Command, line 1 of 2", "touch made"),
        ("Command, line 2 of 2", "touch more"),
        ("Read by", "bash -c"),
        ("Terminal", "yes"),
        ("Directory", str(work)),
        ("Host", "this machine"),
        ("Sandbox", "none"),
        ("Variable", "LD_PRELOAD=/ws/x.so"),
        ("Variable", "'BASH_ENV=rc file'"),
        ("Variable", "NOTE=plain"),
        ("Variables of", str(work / "vars")),
        ("Variable of a file", "PATH=/usr/bin:/bin"),
        ("Variable of a file", "TOKEN"),
        ("Input data", "9 bytes, SHA-256 " + hashlib.sha256(b"id\nwhoami").hexdigest()),
        ("Input data, line 1 of 2", "id"),
        ("Input data, line 2 of 2", "whoami"),
        ("At its end runs", "sh told"),
        ("At its end writes to", str(work / "end")),
        ("At lines with", "oops"),
        ("  runs", "sh hit"),
        ("Resource nice", "5"),
        ("Time limit", "60 s"),
        ("Asked for", "cli"),
        ("Asked by", "rule 1 (touch|printenv): files are made by hand"),
    ]
    assert "of-a-file" not in "".join(path.read_text() for path in (cli.root / "jobs").glob("*/meta.json"))


def test_no_value_forges_another_fact_nor_hides_itself(cli: Cli, config: Path, work: Path) -> None:
    forged = "x\nDirectory: /safe\nVariable: NONE=1"
    options = ["--env", f"A={forged}", "--notify-file", f"end\u202e{forged}", "--stdin-data", forged]
    job = pending(cli, *options, "touch", forged, "\x1b[8mhidden", "a\u00a0b", "\u200b")
    found = facts(cli, job)
    for label, value in found:
        assert value.isprintable(), (label, value)
        assert label.isprintable()
    assert [value for label, value in found if label == "Directory"] == [str(work)]
    assert len([value for label, value in found if label == "Variable"]) == 1
    assert found[0][1].endswith("$'\\e[8mhidden' $'a\\u00a0b' $'\\u200b'")
    approved = cli.ok("approve", job)["approval"]
    assert [(fact["label"], fact["value"]) for fact in approved["facts"]] == found
    cli.ok("wait", job)


def test_a_title_or_pattern_adds_no_job_to_those_that_are_waited_for(cli: Cli, config: Path) -> None:
    forged = "; and for job 7Q2JV1AB (review) to exit with 0"
    title = f"build) to exit with 0{forged}"
    first = cli.ok("create", "--title", title, "true")["job_id"]
    edges: list[dict[str, object]] = [{"job": first, "exit": 0}, {"job": first, "regex": f'x"{forged}'}]
    words = [word for edge in edges for word in ("--after", json.dumps(edge))]
    job = pending(cli, *words, "touch made")
    assert [value for label, value in facts(cli, job) if label == "After"] == [
        f"job {first[-8:]} ({json.dumps(title)}) to exit with 0",
        f"job {first[-8:]} ({json.dumps(title)}) to print a line that matches {json.dumps(edges[1]['regex'])}",
    ]
    cli.ok("kill", job)


@pytest.mark.usefixtures("system_path")
def test_git_in_a_sandbox_is_asked_about_where_the_policy_says_so(cli: Cli, config: Path) -> None:
    rule = '[[policy.rule]]\ngit = "write"\nsandbox = "workspace-write"\ndecision = "ask"\n'
    config.write_text(RULES.format(timeout="1h") + rule)
    words = ("--sandbox", "workspace-write", "true")
    asks = "rule 2 (workspace-write)"
    assert cli.ok("policy", "check", *words)["decision"] == "allow"
    assert cli.ok("policy", "check", "--git", "write", *words)["rule"] == asks
    assert cli.ok("run", "--wait", *words)["exit_code"] == 0
    assert cli.ok("run", "--snapshot-after", "0", "--git", "write", *words)["approval"]["rule"] == asks


def test_a_sandbox_is_shown_whole(cli: Cli, config: Path, work: Path, place: Path) -> None:
    from outlive.core.records import Definition, Sandbox
    from outlive.parts.approvals import facts as rendered

    lists = {name: [f"the {name}"] for name, default in Sandbox.FIELDS.items() if default == []} | {"show": ["a b"]}
    texts = {name: name for name, default in Sandbox.FIELDS.items() if default != []}
    sandbox = Sandbox.of({**texts, **lists, "mode": "read-only", "git": "write", "hide": list("abcdef")})
    found = {one.label: one.value for one in rendered.of(Definition(command=["x"], sandbox=sandbox, elevated=True))}
    assert found["Sandbox"] == "read-only; the call asks to leave it (elevated)"
    assert (found["Sandbox git"], found["Sandbox show"], found["Sandbox hide"]) == ("write", "'a b'", "6 entries")
    assert all(f"Sandbox {name}" in found for name in Sandbox.FIELDS if name != "mode")


def test_what_was_shown_cannot_be_changed_before_the_answer(cli: Cli, config: Path, work: Path) -> None:
    job = pending(cli)
    assert (
        "waits for the user's approval"
        in cli.error("notify", "set", job, "--file", "x", code="invalid_state")["message"]
    )
    cli.error("notify", "set", job, "--watch", "x", "--watch-file", "x", code="invalid_state")
    cli.ok("deny", job)


def test_env_files_that_change_after_the_question_are_not_approved_with_it(cli: Cli, config: Path, work: Path) -> None:
    (work / "vars").write_text("PATH=/usr/bin:/bin\n")
    job = pending(cli, "--env-file", "vars", "touch made")
    (work / "vars").write_text(f"PATH={work}\n")
    cli.ok("approve", job)
    ended = cli.ok("wait", job)
    assert (ended["state"], ended["reason"]) == ("failed", "denied")
    assert "env files have changed" in ended["message"]
    assert not (work / "made").exists()


def test_an_approval_for_always_is_listed_and_taken_back(cli: Cli, config: Path, work: Path) -> None:
    for words in (("touch made",), ("printenv", "HOME")):
        cli.ok("approve", pending(cli, *words), "--always", "--reason", "fine")
    found = cli.ok("policy", "list")
    assert (found["config"], found["default"]) == (str(config), "allow")
    rule = {"rule": "rule 1 (touch|printenv)", "decision": "ask", "reason": "files are made by hand"}
    assert found["rules"] == [rule]
    assert [(one["command"], one["cwd"]) for one in found["approvals"]] == [
        (["touch made"], str(work)),
        (["printenv", "HOME"], str(work)),
    ]
    first, second = found["approvals"]
    assert first["by"].endswith("(outlive approve)")
    assert cli.ok("policy", "forget", first["id"])["forgotten"] == [first]
    assert cli.ok("policy", "list")["approvals"] == [second]
    cli.ok("approve", pending(cli), "--always")
    assert [one["id"] for one in cli.ok("policy", "list")["approvals"]] == [second["id"], first["id"]]
    assert cli.ok("run", "--wait", "printenv", "HOME")["exit_code"] == 0
    assert len(cli.ok("policy", "forget", "--all")["forgotten"]) == 2
    assert cli.ok("policy", "list")["approvals"] == []
    cli.ok("deny", pending(cli))


def test_what_is_no_approval_is_not_forgotten(cli: Cli, config: Path) -> None:
    cli.ok("approve", pending(cli), "--always")
    for words in ((), ("0123456789",), ("01",), ("01234567", "--all")):
        error = cli.error("policy", "forget", *words, code="invalid_argument")
        assert error["details"]["field"] == "approval"
        assert "`outlive policy list`" in error["hint"]
    assert len(cli.ok("policy", "list")["approvals"]) == 1


def test_a_restart_is_asked_about_again(cli: Cli, config: Path, work: Path) -> None:
    job = pending(cli)
    cli.ok("approve", job)
    cli.ok("wait", job)
    again = cli.ok("restart", job, "--snapshot-after", "0")
    assert (again["state"], again["approval"]["state"]) == ("created", "pending")
    config.unlink()
    assert cli.ok("restart", job, "--wait")["exit_code"] == 0
    cli.ok("kill", again["job_id"])


# A server that may wait for five answers, and gets to waiting only when the file `go` is there
FEW = f"""
import os, sys, time
from outlive.parts.approvals import wait_for_answer, compose_question
compose_question.MOST_HELD, hold = 5, wait_for_answer._hold
def late(*given):
    while not os.path.exists("go"):
        time.sleep(0.01)
    return hold(*given)
wait_for_answer._hold = late
{MAIN}"""


@MODERN_FIRST
def test_a_model_cannot_pile_up_questions(mcp_connect: Callable[..., McpSession], config: Path, work: Path) -> None:
    session = mcp_connect(command=[sys.executable, "-c", FEW, "mcp"])
    asked = [session.begin("exec", command="touch made", yield_ms=0) for _ in range(6)]
    codes = [answer.result.get("error", {}).get("code") for answer in (call.result(60) for call in asked)]
    assert codes.count("denied") == 1
    (work / "go").touch()
    for answer in (call.result(60) for call in asked):
        if answer.result["ok"]:
            session.ok("process", action="remove", job_id=answer.result["job_id"])


@MODERN_FIRST
def test_a_call_that_is_cancelled_leaves_the_question(
    mcp_connect: Callable[..., McpSession], cli: Cli, config: Path, work: Path
) -> None:
    session = mcp_connect(args=("--tools", "exec"))  # a call that is cancelled ends its job there
    call = session.begin("exec", command="touch made")
    (job,) = until(lambda: cli.ok("list")["jobs"], what="the job")
    call.cancel()
    answered = session.begin("exec", command="echo next").result(60)
    assert f"left job {job['job_id']} (touch made) waiting for the user's approval" in answered.text
    assert cli.ok("approve", job["job_id"])["approval"]["state"] == "approved"
    assert cli.ok("wait", job["job_id"])["exit_code"] == 0


def test_a_key_finds_the_job_that_waits(cli: Cli, config: Path) -> None:
    job = pending(cli, "--dedupe-key", "k", "touch made")
    again = cli.ok("run", "--snapshot-after", "0", "--dedupe-key", "k", "touch made")
    assert (again["job_id"], again["deduplicated"]) == (job, True)
    cli.ok("kill", job)


def test_of_several_answers_at_once_one_counts(cli: Cli, config: Path, work: Path) -> None:
    job = pending(cli, "touch made")
    answers: list[dict[str, Any]] = []
    verbs = ("approve", "deny", "approve", "deny")
    threads = [threading.Thread(target=lambda verb=verb: answers.append(cli.run(verb, job).json)) for verb in verbs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (won,) = [answer for answer in answers if answer["ok"]]
    lost = [answer["error"]["code"] for answer in answers if not answer["ok"]]
    assert lost == ["invalid_state"] * 3
    ended = cli.ok("wait", job)
    assert (ended["state"] == "exited") == (won["type"] == "approve")
    assert (work / "made").exists() == (won["type"] == "approve")


@MODERN_FIRST
def test_a_server_starts_the_job_and_tells_the_model(
    mcp_connect: Callable[..., McpSession], cli: Cli, config: Path, work: Path
) -> None:
    session = mcp_connect(env={"OTHER": "of the server"})
    words = ["printenv", "MARK", "OTHER"]
    answer = session.call("exec", command=words, yield_ms=0, env={"MARK": "secret"}, mask=["MARK"])
    job = answer.result["job_id"]
    assert (answer.result["state"], answer.result["approval"]["state"]) == ("created", "pending")
    assert "waits for the user's approval" in answer.text
    assert "outlive approve" in answer.text
    cli.ok("approve", job)
    assert cli.ok("wait", job)["output"] == "******\nof the server\n"
    notices = session.call("process", action="list", state="created").result["notices"]
    assert [(one["event"], one["state"]) for one in notices] == [("approved", "exited"), ("finished", "exited")]
    denied = session.ok("exec", command="touch made", yield_ms=0)["job_id"]
    session.error("process", action="start", job_id=denied, code="denied")
    cli.ok("deny", denied, "--reason", "not now")
    told = session.call("process", action="wait", job_id=denied)
    assert (told["state"], told["reason"]) == ("failed", "denied")
    assert "not now" in told.text


def test_a_job_stays_if_its_server_is_killed(
    mcp_connect: Callable[..., McpSession], cli: Cli, config: Path, work: Path
) -> None:
    session = mcp_connect()
    job = session.ok("exec", command="touch made", yield_ms=0)["job_id"]
    session.kill()
    assert cli.ok("status", job)["approval"]["state"] == "pending"
    cli.ok("approve", job)
    assert cli.ok("wait", job)["exit_code"] == 0
    assert (work / "made").exists()


@pytest.mark.parametrize("point", POINTS)
def test_an_approval_that_dies_is_finished_by_the_next_look(cli: Cli, config: Path, work: Path, point: str) -> None:
    job = pending(cli)
    died = {fault_points.VARIABLE: point, fault_points.REPORT: str(work / "crashes")}
    assert cli.text("approve", job, env=died).status == -signal.SIGKILL
    assert (work / "crashes").read_text().split() == [point]
    cli.ok("status", job)
    assert cli.ok("wait", job)["exit_code"] == 0
    assert (work / "made").exists()
    events = [event["type"] for event in cli.ok("events", job)["events"]]
    assert events == ["approval_asked", "approved", "started", "finished"]

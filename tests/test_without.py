"""Each part may be taken away: what is left lists its tools, starts and shows jobs, and does not know the part's verbs."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import pytest
from mcp.types import INVALID_PARAMS, METHOD_NOT_FOUND

from outlive import parts
from outlive.core.records import Definition, EngineRecord, Sandbox
from outlive.mcp.stdio.first_answers import PREFIX
from outlive.part import Part
from outlive.parts.page.chat.declaration import VIEW_URI
from outlive.parts.push import TASKS
from outlive.store.inspection import handed_over
from outlive.store.job_dir import JobDir
from outlive.store.root import Store
from outlive.supervisor import added
from support import processes
from support.cli import Cli
from support.installed import Installed
from support.mcp_client import McpRefusal, RawMcp
from support.pages import CHECKOUT
from support.ui import Browser, Ui
from support.wait import until


@pytest.mark.parametrize("part", parts.every(), ids=lambda part: part.name)
def test_outlive_works_without_a_part(part: Part, cli: Cli, place: Path) -> None:
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / part.name)
    env: dict[str, str | None] = {**installed.env}
    job = cli.ok("run", "--wait", "echo here", env=env)
    assert (job["state"], job["output"]) == ("exited", "here\n")
    assert [one["job_id"] for one in cli.ok("list", env=env)["jobs"]] == [job["job_id"]]
    help_ = cli.text("--help", env=env).stdout
    for verb in part.verbs:
        assert f"\n  {verb} " not in help_
        assert cli.error(*verb.split(), code="invalid_argument", env=env)["message"].startswith("unknown verb")
    with RawMcp(log=place / "log", command=[*installed.command, "mcp"], env=env) as raw:
        raw.start()
        assert [tool["name"] for tool in raw.request("tools/list")["tools"]] == ["exec", "process"]
        started = raw.call("exec", command="echo there")
        assert started["output"] == "there\n"
        assert raw.call("process", action="status", job_id=started["job_id"])["state"] == "exited"
        assert {one["job_id"] for one in raw.call("process", action="list")["jobs"]} >= {started["job_id"]}


def test_the_list_of_tests_that_need_a_part_names_tests() -> None:
    """`.ci/heart.py` leaves them out."""
    lines = (CHECKOUT / ".ci" / "heart.txt").read_text(encoding="utf-8").splitlines()
    for name in (line for line in lines if line.startswith("tests/")):
        file, _, test = name.partition("::")
        assert f"def {test}" in (CHECKOUT / file).read_text(encoding="utf-8"), name


def test_a_job_on_a_host_stays_readable_without_the_part(cli: Cli, place: Path, root: Path) -> None:
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "hosts")
    env: dict[str, str | None] = {**installed.env}
    job = cli.ok("create", "true")["job_id"]
    with closing(Store.open(str(root), {})) as store, JobDir.open(store, job) as directory:
        directory.write_meta(Definition.replace(directory.read_meta(), host="box"))
        handed_over.write(directory, EngineRecord(kind="ssh"))
    found = cli.ok("status", job, env=env)
    assert found["state"] == "created"
    assert "handed to box, and this outlive reaches no hosts of kind ssh" in found["hint"]
    assert [one["job_id"] for one in cli.ok("list", env=env)["jobs"]] == [job]
    assert cli.ok("log", job, env=env)["output"] == ""
    for words in (("kill", job), ("remove", job)):  # the other machine may run it
        assert "no hosts of kind ssh" in cli.error(*words, code="not_supported", env=env)["message"]
    assert (root / job).is_dir()
    config = place / "config.toml"
    config.write_text('[hosts.box]\nkind = "ssh"\ntarget = "box"\n', encoding="utf-8")
    error = cli.error("list", code="config_error", env={**env, "OUTLIVE_CONFIG": str(config)})
    assert "[hosts]: the part of outlive that this section is for is not installed" in error["message"]


def test_the_page_shows_jobs_without_the_parts_that_order_them(cli: Cli, place: Path) -> None:
    before = cli.ok("run", "--snapshot-after", "0", "exec sleep 600")["job_id"]
    job = cli.ok("run", "--snapshot-after", "0", "--after", before, "true")["job_id"]
    installed = Installed(place)
    for part in ("after", "queues"):
        shutil.rmtree(installed.package / "parts" / part)
    with Ui(place / "ui.log", env={**installed.env}) as ui, Browser(ui) as browser:
        found = browser.call("jobs")
        entries = {one["job_id"]: one for one in found["jobs"]}
        assert found["turns"] == [] and "needs" not in entries[job]
        assert [(entries[one]["state"], entries[one]["waits"]) for one in (before, job)] == [
            ("running", False),
            ("created", True),
        ]
        assert browser.run("kill", job_id=job)["reason"] == "kill"
        browser.run("kill", job_id=before)


def test_nothing_runs_without_the_sandbox_it_was_to_have(cli: Cli, place: Path, root: Path) -> None:
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "sandbox")
    env: dict[str, str | None] = {**installed.env}
    job, ended = cli.ok("create", "touch ran")["job_id"], cli.ok("run", "--wait", "true")["job_id"]
    for one in (job, ended):
        with closing(Store.open(str(root), {})) as store, JobDir.open(store, one) as directory:
            directory.write_meta(Definition.replace(directory.read_meta(), sandbox=Sandbox(mode="workspace-write")))
    found = cli.ok("status", job, env=env)
    assert (found["state"], found["sandbox"]["mode"]) == ("created", "workspace-write")
    assert "made with the part sandbox of outlive, which is not installed here" in found["hint"]
    for words in (("start", job), ("restart", ended)):
        error = cli.error(*words, code="not_supported", env=env)
        assert "the part sandbox of outlive, which is not installed here; nothing was run" in error["message"]
    error = cli.error("run", "--sandbox", "read-only", "touch ran", code="invalid_argument", env=env)
    assert error["message"] == "unknown option of run: --sandbox"
    with RawMcp(log=place / "log", command=[*installed.command, "mcp"], env=env) as raw:
        raw.start()
        for given in ({"sandbox": "read-only"}, {"network": "none"}):
            refused = raw.call("exec", command="touch ran", **given)
            assert (refused["ok"], refused["error"]["code"]) == (False, "invalid_argument")
    config = place / "config.toml"
    config.write_text('[sandbox]\nmode = "workspace-write"\n', encoding="utf-8")
    created = cli.ok("create", "touch ran")["job_id"]
    for of, what in (
        ({**env, "OUTLIVE_CONFIG": str(config)}, "section"),
        ({**env, "OUTLIVE_SANDBOX_MODE": "read-only"}, "variable"),
    ):
        for words in (("run", "touch ran"), ("start", created)):
            error = cli.error(*words, code="config_error", env=of)
            assert f"the part of outlive that this {what} is for is not installed" in error["message"]
    assert not Path("ran").exists()
    cli.ok("start", "--wait", created, env=env)
    assert Path("ran").exists()
    assert cli.ok("policy", "check", "touch ran", env=env)["decision"] == "allow"


def test_a_job_with_a_test_report_stays_readable_without_the_part(cli: Cli, place: Path) -> None:
    job = cli.ok("run", "--wait", "--report", "r.tap", "echo 'ok 1' > r.tap; echo out")
    assert job["tests"]["passed"] == 1
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "reports")
    env: dict[str, str | None] = {**installed.env}
    for verb in ("status", "poll", "wait"):
        found = cli.ok(verb, job["job_id"], env=env)
        assert (found["state"], "tests" in found) == ("exited", False)
        assert "made with the part reports of outlive, which is not installed here" in found["hint"]
    again = cli.ok("restart", "--wait", job["job_id"], env=env)
    assert "the part reports" in again["hint"]
    assert cli.ok("status", again["job_id"])["tests"]["passed"] == 1, "what a part keeps goes on with the definition"
    assert "the part" not in str(cli.ok("run", "--wait", "true", env=env).get("hint"))
    error = cli.error("run", "--report", "r.tap", "true", code="invalid_argument", env=env)
    assert error["message"] == "unknown option of run: --report"


def test_a_job_with_limits_stays_readable_and_is_not_started_without_the_part(
    cli: Cli, place: Path, root: Path
) -> None:
    nice = ("--resource", "nice=7")
    job = cli.ok("run", "--wait", *nice, "nice")
    assert (job["output"], job["resources"]["nice"]["applied"]) == ("7\n", "kernel")
    created = cli.ok("create", *nice, "touch ran")["job_id"]
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "limits")
    env: dict[str, str | None] = {**installed.env}
    for verb in ("status", "poll", "wait"):
        found = cli.ok(verb, job["job_id"], env=env)
        assert (found["state"], "resources" in found) == ("exited", False)
        assert "made with the part limits of outlive, which is not installed here" in found["hint"]
    error = cli.error("run", *nice, "true", code="invalid_argument", env=env)
    assert error["message"] == "unknown option of run: --resource"
    for words in (("start", created), ("restart", job["job_id"])):
        error = cli.error(*words, code="not_supported", env=env)
        assert "made with the part limits of outlive, which is not installed here; nothing was run" in error["message"]
    assert not Path("ran").exists()
    assert cli.ok("status", created, env=env)["state"] == "created"
    cli.ok("start", "--wait", created)
    assert Path("ran").exists(), "with the part it starts as it was made"


def test_a_job_with_ports_stays_readable_and_is_not_started_without_the_part(cli: Cli, place: Path) -> None:
    ports = ("--port", "web")
    job = cli.ok("run", "--snapshot-after", "0", *ports, "echo $PORT; sleep 60")
    assert job["ports"]["web"]["port"]
    created = cli.ok("create", *ports, "touch ran")["job_id"]
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "ports")
    env: dict[str, str | None] = {**installed.env}
    for verb in ("status", "poll"):
        found = cli.ok(verb, job["job_id"], env=env)
        assert (found["state"], "ports" in found) == ("running", False)
        assert "made with the part ports of outlive, which is not installed here" in found["hint"]
    assert not any("ports" in one for one in cli.ok("list", env=env)["jobs"])
    error = cli.error("run", *ports, "true", code="invalid_argument", env=env)
    assert error["message"] == "unknown option of run: --port"
    error = cli.error("list", *ports, code="invalid_argument", env=env)
    assert error["message"] == "unknown option of list: --port"
    error = cli.error("run", "--until", "port=web", "touch ran", code="invalid_argument", env=env)
    assert error["message"] == "a port is a number from 1 to 65535, not 'web'"
    for words in (("start", created), ("restart", job["job_id"])):
        error = cli.error(*words, code="not_supported", env=env)
        assert "made with the part ports of outlive, which is not installed here; nothing was run" in error["message"]
    assert not Path("ran").exists()
    config = place / "config.toml"
    config.write_text("[ports]\nfirst = 21000\n", encoding="utf-8")
    error = cli.error("list", code="config_error", env={**env, "OUTLIVE_CONFIG": str(config)})
    assert "[ports]: the part of outlive that this section is for is not installed" in error["message"]
    assert cli.ok("kill", job["job_id"], env=env)["state"] == "killed"
    assert cli.ok("start", "--wait", created)["state"] == "exited", "with the part it starts as it was made"


def test_a_job_in_a_queue_stays_readable_and_is_not_started_without_the_part(cli: Cli, place: Path) -> None:
    config = place / "config.toml"
    config.write_text("[queue.heavy]\nslots = 1\n", encoding="utf-8")
    here = {"OUTLIVE_CONFIG": str(config)}
    queue = ("--queue", "heavy")
    first = cli.ok("run", "--snapshot-after", "0", *queue, "sleep 60", env={**here})["job_id"]
    job = cli.ok("run", "--snapshot-after", "0", *queue, "touch ran", env={**here})["job_id"]
    created = cli.ok("create", *queue, "touch made", env={**here})["job_id"]
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "queues")
    env: dict[str, str | None] = {**installed.env}
    for verb in ("status", "poll"):
        found = cli.ok(verb, job, env=env)
        assert (found["state"], "queued" in found) == ("created", False)
        assert "made with the part queues of outlive, which is not installed here" in found["hint"]
    error = cli.error("run", *queue, "true", code="invalid_argument", env=env)
    assert error["message"] == "unknown option of run: --queue"
    error = cli.error("list", *queue, code="invalid_argument", env=env)
    assert error["message"] == "unknown option of list: --queue"
    error = cli.error("start", created, code="not_supported", env=env)
    assert "made with the part queues of outlive, which is not installed here; nothing was run" in error["message"]
    error = cli.error("list", code="config_error", env={**env, **here})
    assert "[queue]: the part of outlive that this section is for is not installed" in error["message"]
    assert cli.ok("kill", first, env=env)["state"] == "killed"
    assert cli.ok("wait", job)["state"] == "exited", "its supervisor has the part"
    assert cli.ok("start", "--wait", created)["state"] == "exited", "with the part it starts as it was made"


POLICY = """
[policy]
default = "ask"

[[policy.rule]]
prefix = ["touch", "allowed"]
decision = "allow"

[[policy.rule]]
prefix = ["touch", "denied"]
decision = "deny"
"""


@pytest.mark.usefixtures("system_path")
def test_what_a_person_would_be_asked_about_is_refused_without_the_part_that_asks(cli: Cli, place: Path) -> None:
    created = cli.ok("create", "touch asked")["job_id"]
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "approvals")
    config = place / "config.toml"
    config.write_text(POLICY, encoding="utf-8")
    env: dict[str, str | None] = {**installed.env, "OUTLIVE_CONFIG": str(config)}
    allowed = cli.ok("run", "--wait", "touch allowed", env=env)
    assert (allowed["exit_code"], Path("allowed").exists()) == (0, True)
    assert "the policy denies `touch denied`" in cli.error("run", "touch denied", code="denied", env=env)["message"]
    refused = (
        "the part approvals of outlive, which is not installed here, would ask the user about `touch asked` (default); "
        "nothing was run"
    )
    for words in (
        ("run", "touch asked"),
        ("run", "--notify-command", "touch asked", "touch allowed"),
        ("create", "touch asked"),
        ("start", created),
        ("notify", "set", allowed["job_id"], "--command", "touch asked"),
    ):
        error = cli.error(*words, code="denied", env=env)
        assert (error["message"], error["details"]["rule"]) == (refused, "default"), words
    with RawMcp(log=place / "log", command=[*installed.command, "mcp"], env=env) as raw:
        raw.start()
        assert raw.call("exec", command="touch asked")["error"]["message"] == refused
    assert cli.ok("policy", "check", "touch asked", env=env)["decision"] == "ask"
    assert cli.ok("status", created, env=env)["state"] == "created"
    assert not Path("asked").exists() and not Path("denied").exists()
    assert {one["job_id"] for one in cli.ok("list", "--all", env=env)["jobs"]} == {created, allowed["job_id"]}


@pytest.mark.usefixtures("system_path")
@pytest.mark.parametrize("gone", ["approvals", "policy"])
def test_a_job_that_waits_for_approval_stays_so_without_the_part(gone: str, cli: Cli, place: Path) -> None:
    config = place / "config.toml"
    config.write_text('[policy]\ndefault = "ask"\n', encoding="utf-8")
    asks = {"OUTLIVE_CONFIG": str(config)}
    job = cli.ok("run", "--snapshot-after", "0", "touch ran", env={**asks})["job_id"]
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / gone)
    env: dict[str, str | None] = {**installed.env}
    if gone == "policy":
        error = cli.error("run", "touch ran", code="config_error", env={**env, **asks})
        assert "[policy]: the part of outlive that this section is for is not installed" in error["message"]
    for verb in ("status", "poll", "wait"):
        found = cli.ok(verb, job, *(["--timeout-ms", "0"] if verb == "wait" else []), env=env)
        assert (found["state"], "approval" in found) == ("created", False)
        assert "made with the part approvals of outlive, which is not installed here" in found["hint"]
    assert [one["job_id"] for one in cli.ok("list", "--all", env=env)["jobs"]] == [job]
    error = cli.error("start", job, code="not_supported", env=env)
    assert "made with the part approvals of outlive, which is not installed here; nothing was run" in error["message"]
    assert "no process" in cli.error("kill", job, code="invalid_state", env=env)["message"]
    assert cli.ok("status", job, env={**asks})["approval"]["state"] == "pending"
    assert not Path("ran").exists()
    cli.ok("remove", job, env=env)


def test_a_supervisor_starts_no_job_that_needs_a_part_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its caller may have another version of outlive."""
    monkeypatch.setattr(parts, "IN_SUPERVISOR", ("missing",))
    monkeypatch.setattr(parts, "KEEPERS", {"lost": "missing"})
    definition = Definition(kept={"lost": 1})
    with pytest.raises(OSError, match="made with the part missing of outlive, which is not installed here") as caught:
        added.to_start(definition)
    assert caught.value.errno == 0, "else the sentence of the number is said in place of ours"
    assert not added.of_started(definition), "a command that runs is looked after all the same"
    assert not added.to_start(Definition(kept={"lost": None}))


def test_a_failed_job_is_shown_without_what_is_found_of_failures(cli: Cli, place: Path) -> None:
    words = ("run", "--wait", "echo 'x: not a terminal' >&2; false | tail")
    assert {one["kind"] for one in cli.ok(*words)["advice"]} & {"cause", "exit_code"}
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "failures")
    env: dict[str, str | None] = {**installed.env}
    job = cli.ok(*words, env=env)
    assert (job["state"], job["exit_code"]) == ("exited", 0)
    assert not {one["kind"] for one in job.get("advice", [])} & {"cause", "exit_code"}
    failed = cli.ok("run", "--wait", "exit 3", env=env)
    assert (failed["exit_code"], "previous" in failed) == (3, False)
    assert "exited with code 3" in cli.text("status", failed["job_id"], "--human", env=env).stdout
    long = cli.ok("run", "--wait", "--max-bytes", "999", "echo FAILED a.py::b; seq 9999; exit 1", env=env)
    assert "FAILED" in long["output"] and "9999\n" in long["output"]
    assert "9999\n" in cli.text("log", "--follow", long["job_id"], env=env).stdout
    error = cli.error("log", "--compare", "previous", failed["job_id"], code="invalid_argument", env=env)
    assert error["message"] == "unknown option of log: --compare"
    config = place / "config.toml"
    config.write_text('[[output.problem_matcher]]\nowner = "x"\npattern = [{regexp = "x"}]\n', encoding="utf-8")
    error = cli.error("list", code="config_error", env={**env, "OUTLIVE_CONFIG": str(config)})
    assert "[output.problem_matcher]: the part of outlive that this section is for" in error["message"]


def test_nothing_is_done_without_the_record_that_was_asked_for(cli: Cli, place: Path) -> None:
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "audit")
    env: dict[str, str | None] = {**installed.env}
    config = place / "config.toml"
    config.write_text('[audit]\nto = "file"\n', encoding="utf-8")
    asked = {"OUTLIVE_CONFIG": str(config)}, {"OUTLIVE_AUDIT_TO": "file"}, {"OUTLIVE_AUDIT_REQUIRED": "1"}
    for variables, what in zip(asked, ("section", "variable", "variable"), strict=True):
        error = cli.error("run", "touch ran", code="config_error", env={**env, **variables})
        assert f"the part of outlive that this {what} is for is not installed" in error["message"]
    assert not Path("ran").exists()
    assert cli.error("list", code="config_error", env={**env, "OUTLIVE_AUDITS": "1"})["message"].startswith("the env")
    cli.ok("run", "--wait", "touch ran", env=env)
    assert Path("ran").exists()


def test_output_is_read_as_utf_8_without_encodings(cli: Cli, place: Path, work: Path) -> None:
    data = "\ufeffGröße\n".encode("utf-16-le") + bytes(range(256))
    (work / "data").write_bytes(data)
    words = ("run", "--wait", "printf 'ä\\344\\n'; cat data >&2")
    assert cli.ok("tail", cli.ok(*words)["job_id"])["stderr_tail"].startswith("Größe\n")
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "encodings")
    env: dict[str, str | None] = {**installed.env}
    found = cli.ok(*words, env=env)
    job, errors = found["job_id"], data.decode("utf-8", "replace")
    assert "ä\ufffd\n" in found["output"]
    assert not [one for one in found.get("advice", []) if one["kind"] == "encoding"]
    tail = cli.ok("tail", job, env=env)
    assert (tail["stdout_tail"], tail["stderr_tail"], tail["encoding"]) == ("ä\ufffd\n", errors, "utf-8")
    assert cli.ok("log", job, "--stream", "stdout", env=env)["output"] == "ä\ufffd\n"
    assert cli.ok("log", job, "--search", "ä", "--context", "0", env=env)["output"] == "1:ä\ufffd\n"
    assert "ä\ufffd\n" in cli.ok("poll", job, env=env)["output"]
    assert cli.text("log", "--follow", "--stream", "stdout", job, env=env).stdout == "ä\ufffd\n"
    for verb in ("log", "tail", "poll"):
        error = cli.error(verb, "--encoding", "latin-1", job, code="invalid_argument", env=env)
        assert error["message"] == f"unknown option of {verb}: --encoding"


def test_values_that_a_caller_masks_stay_masked_without_the_part(cli: Cli, place: Path) -> None:
    named = {"WORD": "sesame-street-1"}
    job = cli.ok("run", "--wait", "--env", f"WORD={named['WORD']}", "--mask", "WORD", "echo $WORD")["job_id"]
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "masks")
    env: dict[str, str | None] = {**installed.env}
    with RawMcp(log=place / "log", command=[*installed.command, "mcp"], env=env) as raw:
        raw.start()
        assert raw.call("process", action="log", job_id=job)["output"] == "***************\n"
        again = raw.call("exec", command="echo $WORD $CI_TOKEN", env=named | {"CI_TOKEN": "shown-4f9a"}, mask=["WORD"])
        assert again["output"] == "*************** shown-4f9a\n"
    config = place / "config.toml"
    config.write_text('[mcp]\nmask = "all"\n', encoding="utf-8")
    asked = {"OUTLIVE_CONFIG": str(config)}, {"OUTLIVE_MCP_MASK": "named"}
    for variables, what in zip(asked, ("section", "variable"), strict=True):
        error = cli.error("list", code="config_error", env={**env, **variables})
        assert f"the part of outlive that this {what} is for is not installed" in error["message"]


DECLARED: dict[str, object] = {f"{PREFIX}clientCapabilities": {"extensions": {TASKS: {}}, "elicitation": {"form": {}}}}
OF_PUSH: dict[str, dict[str, object]] = {
    "resources/list": {},
    "resources/templates/list": {},
    "resources/subscribe": {"uri": "job://x"},
    "tasks/get": {"taskId": "x"},
    "subscriptions/listen": {"notifications": {}},
}


@pytest.mark.parametrize(("era", "gone"), [("legacy", ("push",)), ("modern", ("push", "page"))])
def test_a_server_without_push_declares_and_answers_only_what_it_has(
    era: str, gone: tuple[str, ...], cli: Cli, place: Path
) -> None:
    installed = Installed(place)
    for name in gone:
        shutil.rmtree(installed.package / "parts" / name)
    words, env = [*installed.command, "mcp", "--channel"], {**installed.env, "OUTLIVE_CONFIG": "/dev/null"}
    with RawMcp(era=era, log=place / "log", command=words, env={**env}) as raw:
        said = raw.start().greeting or raw.request("server/discover")
        documents = {} if "page" in gone else {"resources": {"listChanged": False}}
        assert said["capabilities"] == {**documents, "tools": {"listChanged": False}}
        for _ in range(2):  # before the SDK is loaded, and behind the first call
            for method, params in OF_PUSH.items():
                with pytest.raises(McpRefusal) as refused:
                    raw.request(method, params)
                assert refused.value.code == METHOD_NOT_FOUND, method
            meta = {**(DECLARED if era == "modern" else {}), "progressToken": "mine"}
            for given in (
                {"command": "sleep 60", "yield_ms": 0},
                {"command": "sleep 1.2; echo ready; sleep 60", "until": "regex=ready"},
            ):
                params = {"name": "exec", "arguments": given, "_meta": meta}
                answer = raw.request("tools/call", params)
                assert answer.get("resultType", "complete") == "complete"
                assert answer["structuredContent"].get("state") == "running", answer
                cli.ok("remove", answer["structuredContent"]["job_id"], "--grace-ms", "0", env={**env})
        assert raw.others == []
        if "page" not in gone:
            (document,) = raw.request("resources/read", {"uri": VIEW_URI})["contents"]
            assert document["uri"] == VIEW_URI
            with pytest.raises(McpRefusal) as refused:
                raw.request("resources/read", {"uri": "job://x"})
            assert refused.value.code == INVALID_PARAMS


def test_a_part_that_needs_another_goes_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [part.name for part in parts.every()]
    every = [*parts.NAMES]
    for missing, gone in (("http", {"http", "page"}), ("policy", {"policy", "approvals", "page", "push", "top"})):
        assert gone <= set(names)
        monkeypatch.setattr(parts, "NAMES", [name for name in every if name != missing])
        assert [part.name for part in parts.every.__wrapped__()] == [name for name in names if name not in gone]


def test_a_part_that_cannot_be_loaded_is_not_taken_for_one_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "broken.py").write_text("import no_such_package\n", encoding="utf-8")
    monkeypatch.setattr(parts, "__path__", [str(tmp_path)])
    monkeypatch.setattr(parts, "NAMES", ("broken", "missing"))
    with pytest.raises(ModuleNotFoundError, match="no_such_package"):
        parts.every.__wrapped__()


def test_a_job_asks_and_is_answered_on_a_terminal_without_the_part(cli: Cli, place: Path) -> None:
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "terminal")
    env: dict[str, str | None] = {**installed.env}
    asks = "read -p 'name? ' name; read -sp 'word? ' word; echo; echo $name $word"
    words = ("run", "--pty", "--snapshot-after", "30s", "--shell-wrapper", "bash -c", asks)
    job = cli.ok(*words, env=env)
    assert (job["prompt"], "keyboard" in job) == ("name?", False)
    assert job["hint"] == "Answer with submit, which types text and Enter."
    (Path(cli.ok("status", job["job_id"], env=env)["stdout_log_path"]).parent / ".keyboard").touch()
    answered = cli.ok("submit", job["job_id"], "--text", "ann", "--wait-ms", "30s", env=env)
    assert (answered["prompt"], answered["echo"], "warnings" in answered) == ("word?", False, False)
    asked = cli.ok("poll", job["job_id"], env=env)["hint"]
    assert asked == "It asks for a password (what is typed is not shown): submit types text and Enter."
    cli.ok("submit", job["job_id"], "--text", "key", env=env)
    assert cli.ok("wait", job["job_id"], env=env)["output"].endswith("ann key\n")


def test_a_screen_is_shown_as_text_and_its_cursor_is_guessed_without_the_part(cli: Cli, place: Path) -> None:
    asks = r"printf '\033[?1049h\033[3;5Hmenu\033[6n'; read -s -d R at; printf %s. ${at#*[}; read -s end"
    words = ("run", "--pty", "--until", r"regex=\d;\d\.", "--shell-wrapper", "bash -c", asks)
    drawn = cli.ok(*words)
    assert (drawn["alternate_screen"], "    menu3;9." in drawn["output"]) == (True, True)
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "terminal")
    env: dict[str, str | None] = {**installed.env}
    job = cli.ok(*words, env=env)
    assert job["output"].strip() == "menu1;1." and "alternate_screen" not in job, job
    assert "faults" not in cli.ok("status", job["job_id"], env=env)
    for one in (drawn["job_id"], job["job_id"]):
        cli.ok("kill", one, env=env)


def test_a_job_of_a_group_stays_readable_and_starts_without_the_part(cli: Cli, place: Path) -> None:
    job = cli.ok("run", "--wait", "--group", "stack", "true")
    created = cli.ok("create", "--group", "stack", "touch ran")["job_id"]
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "groups")
    env: dict[str, str | None] = {**installed.env}
    found = cli.ok("status", job["job_id"], env=env)
    assert (found["state"], "group" in found) == ("exited", False)
    assert "made with the part groups of outlive, which is not installed here" in found["hint"]
    for verb in ("run", "list", "kill", "log"):
        error = cli.error(verb, "--group", "stack", "true", code="invalid_argument", env=env)
        assert error["message"] == f"unknown option of {verb}: --group"
    assert "needs" in cli.error("log", code="invalid_argument", env=env)["message"]
    assert cli.ok("start", "--wait", created, env=env)["state"] == "exited"
    assert len(cli.ok("list", "--group", "stack")["jobs"]) == 2


def test_a_job_that_waits_for_others_stays_readable_and_is_not_started_without_the_part(cli: Cli, place: Path) -> None:
    other = cli.ok("run", "--wait", "true")["job_id"]
    created = cli.ok("create", "--after", other, "touch ran")["job_id"]
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "after")
    env: dict[str, str | None] = {**installed.env}
    found = cli.ok("status", created, env=env)
    assert (found["state"], "waiting_for" in found) == ("created", False)
    assert "made with the part after of outlive, which is not installed here" in found["hint"]
    error = cli.error("start", created, code="not_supported", env=env)
    assert "made with the part after of outlive, which is not installed here; nothing was run" in error["message"]
    error = cli.error("run", "--after", other, "true", code="invalid_argument", env=env)
    assert error["message"] == "unknown option of run: --after"
    assert not Path("ran").exists()
    assert cli.ok("start", "--wait", created)["state"] == "exited", "with the part it starts as it was made"


def test_what_comes_is_not_followed_without_the_part_and_says_so(cli: Cli, place: Path) -> None:
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "follow")
    env: dict[str, str | None] = {**installed.env}
    job = cli.ok("run", "--wait", "echo here", env=env)["job_id"]
    for words in (("log", job), ("events", job), ("list",), ("run", "true"), ("restart", job)):
        error = cli.error(words[0], "--follow", *words[1:], code="not_supported", env=env)
        assert error["message"] == "--follow needs the part follow of outlive, which is not installed here"
    assert [one["job_id"] for one in cli.ok("list", "--all", env=env)["jobs"]] == [job], "nothing was started"
    assert cli.ok("log", job, env=env)["output"] == "here\n"


def test_a_wait_knows_no_condition_of_a_part_that_is_not_there(cli: Cli, place: Path) -> None:
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "outside")
    env: dict[str, str | None] = {**installed.env}
    job = cli.ok("run", "--wait", "echo ready", env=env)["job_id"]
    for condition in ("port=8080", '{"http": "http://127.0.0.1/"}', "file=x"):
        error = cli.error("wait", job, "--until", condition, code="invalid_argument", env=env)
        assert error["message"].startswith("unknown condition")
    assert "port" not in cli.error("wait", job, "--until", "port=8080", code="invalid_argument", env=env)["hint"]
    assert cli.ok("wait", job, "--until", "regex=ready", env=env)["fired"]["line"] == "ready"


def test_no_job_runs_without_the_scope_it_was_to_have(cli: Cli, place: Path) -> None:
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "limits")
    env: dict[str, str | None] = {**installed.env}
    job = cli.ok("create", "--systemd-scope", "touch ran")["job_id"]
    for words in (("run", "--systemd-scope", "touch ran"), ("start", job)):
        error = cli.error(*words, code="not_supported", env=env)
        assert "the part limits of outlive, which is not installed here; nothing was run" in error["message"]
    assert not Path("ran").exists()
    assert "made with the part limits" in cli.ok("status", job, env=env)["hint"]


def test_what_has_ended_stays_until_it_is_removed_without_the_part_that_cleans_up(cli: Cli, place: Path) -> None:
    looked_at = cli.root / ".collected"
    job = cli.ok("run", "--wait", "true")["job_id"]
    until(looked_at.exists, what="the look that a supervisor has at the end of its job")
    assert processes.wait_gone(place, 60) == {}
    looked_at.unlink()
    installed = Installed(place)
    shutil.rmtree(installed.package / "parts" / "cleanup")
    env: dict[str, str | None] = {**installed.env}
    with RawMcp(log=place / "log", command=[*installed.command, "mcp"], env=env) as raw:
        raw.start()
        assert raw.call("exec", command="echo here")["output"] == "here\n"
        assert raw.call("process", action="gc")["error"]["message"].startswith("'gc' is not an action")
    last = cli.ok("run", "--wait", "true", env=env)["job_id"]
    assert processes.wait_gone(place, 60) == {}
    assert not looked_at.exists()
    assert len(cli.ok("list", "--all", env=env)["jobs"]) == 3
    assert cli.error("gc", code="invalid_argument", env=env)["message"].startswith("unknown verb")
    assert "gc" not in {check["name"] for check in cli.ok("doctor", env=env)["checks"]}
    config = place / "config.toml"
    config.write_text("[gc]\nmax_jobs = 1\n", encoding="utf-8")
    for variables in ({"OUTLIVE_CONFIG": str(config)}, {"OUTLIVE_GC_MAX_JOBS": "1"}):
        error = cli.error("list", code="config_error", env={**env, **variables})
        assert "of outlive that this" in error["message"] and "is not installed" in error["message"]
    cli.ok("remove", job, env=env)
    cli.ok("clear", last, env=env)
    assert len(cli.ok("list", "--all", env=env)["jobs"]) == 1

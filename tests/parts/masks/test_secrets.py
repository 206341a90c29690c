"""Secrets that a job prints: no answer over MCP shows them, the log and the command line have them."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import MCPError
from mcp.client.extension import advertise

from outlive.parts.page.chat import declaration
from support.cli import Cli
from support.commands import GATE
from support.mcp_client import McpSession, RawMcp
from support.surroundings import settle_in
from support.tasks_client import Created, TasksClient, get, start
from support.tiers import MODERN_FIRST, ONE_ERA
from support.wait import until

Connect = Callable[..., McpSession]
INHERITED, GIVEN, FILED = "inherited-0f9a3c77d1e84b", "given-77d1e84b20aa51", "filed-c01a55e7e11e5"
GITHUB = "ghp_" + "a1B2c3" * 6
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nS3cretS3cret==\n-----END PRIVATE KEY-----\n"
SECRETS = (INHERITED, GIVEN, FILED, GITHUB, "s3cr3t-pw", "S3cretS3cret", "0pen-Sesame.1")
SERVER = {"env": {"CI_JOB_TOKEN": INHERITED}}
SAID = "masked in what is shown (not in the log); [mcp] mask changes that."


@pytest.fixture(scope="module")
def shared_where(shared_place: Path) -> dict[str, Any]:
    return {"env": settle_in(shared_place) | SERVER["env"], "cwd": shared_place / "work"}


@pytest.fixture
def session(shared_session: McpSession) -> McpSession:
    return shared_session


def everything(answer: Any) -> str:
    return json.dumps([answer.result, answer.text], ensure_ascii=False)


def nothing_leaks(text: str) -> bool:
    assert "[masked: " in text
    return not any(secret in text or secret[:8] in text for secret in SECRETS)


@MODERN_FIRST
@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("env", {}),
        ("printenv CI_JOB_TOKEN DEPLOY_KEY", {}),
        ('set -x; : curl -H "Authorization: Bearer $CI_JOB_TOKEN" https://example.org', {}),
        ("cat .env", {".env": f"A=1\nDB_PASSWORD=0pen-Sesame.1\nGH={GITHUB}\nexport X_SECRET='{FILED}'\n"}),
        ("cat remotes", {"remotes": "origin\thttps://me:s3cr3t-pw@example.org/x.git (fetch)\n"}),
        ("cat key.pem", {"key.pem": PEM}),
        ("cat trace", {"trace": "  headers={'Authorization': 'Bearer 0pen-Sesame.1'}\nValueError: 401\n"}),
        ("cat npm.log", {"npm.log": "npm verb cfg //registry.npmjs.org/:_authToken=0pen-Sesame.1\n"}),
    ],
    ids=lambda value: value.split()[0] + value.split()[-1] if isinstance(value, str) else "",
)
def test_what_leaks_often_is_masked_in_every_answer_and_stays_in_the_log(
    session: McpSession, work: Path, cli: Cli, command: str, files: dict[str, str]
) -> None:
    for name, content in files.items():
        (work / name).write_text(content)
    env = {"DEPLOY_KEY": GIVEN}
    ran = session.call("exec", command=f"{command}; echo kept", env=env, yield_ms=30_000)
    job = ran["job_id"]
    assert nothing_leaks(everything(ran)), ran.text
    assert SAID in ran.text.partition("\n\n")[0]
    assert ran["masked_secrets"] >= 1
    assert "kept" in ran["output"]
    shown = cli.ok("log", job)
    assert any(secret in shown["output"] for secret in SECRETS), "people see their own"
    assert "masked_secrets" not in shown
    stored = Path(ran["stdout_log_path"]).read_text() + Path(ran["stderr_log_path"]).read_text()
    assert any(secret in stored for secret in SECRETS)
    for action, more in (
        *(("log", {}), ("log", {"search": "."}), ("tail", {}), ("poll", {"since_seq": 0})),
        *(("wait", {"since_seq": 0}), ("list", {}), ("status", {}), ("events", {})),
    ):
        for detail in ("full", "brief"):
            named = {} if action == "list" else {"job_id": job}
            answer = session.call("process", action=action, detail=detail, **named, **more)
            assert not any(secret in everything(answer) for secret in SECRETS), (action, answer.text)


@ONE_ERA
def test_positions_are_those_of_the_log(session: McpSession, cli: Cli) -> None:
    ran = session.ok("exec", command="echo $CI_JOB_TOKEN; echo end", yield_ms=30_000)
    alike = ("since_seq", "next_seq", "truncated", "total_lines", "first_line", "last_line")
    over_mcp = session.ok("process", action="log", job_id=ran["job_id"])
    there = cli.ok("log", ran["job_id"])
    assert {name: over_mcp[name] for name in alike} == {name: there[name] for name in alike}
    assert over_mcp["next_seq"] == len(f"{INHERITED}\nend\n")
    assert over_mcp["output"] == "[masked: CI_JOB_TOKEN]\nend\n"
    rest = session.ok("process", action="poll", job_id=ran["job_id"], since_seq=len(INHERITED) + 1)
    assert (rest["output"], "masked_secrets" in rest) == ("end\n", False)


# Encodings in which the bytes of a secret are other characters, alone or behind what a job printed before it
WIDE, STATEFUL = ("utf-16", "utf-16-be", "utf-32", "cp037", "cp500"), ("gbk", "shift_jis", "hz", "iso2022_jp", "utf-7")
FORMS = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "cp037", "cp500", "gbk", "hz")


def maps_back(answer: Any) -> bool:
    """Return whether 6 characters of the secret can be had from what was shown, in any encoding of FORMS."""
    parts = {INHERITED[at : at + 6] for at in range(len(INHERITED) - 5)}
    text = everything(answer).replace("\\u0000", "").replace("\\x00", "")
    forms = [text.encode(form, "replace").decode("latin-1") for form in FORMS]
    shown = [re.sub(r"\x1b\[0m|[\0-\x1f]", "", one) for one in forms]
    return any(part in one for part in parts for one in shown)


@ONE_ERA
@pytest.mark.parametrize(
    ("before", "encodings"),
    [
        ("", WIDE),
        (r"\377\376", (None, *WIDE)),
        (r"\376\377x", (None, "utf-16", "gbk")),
        (r"\377\376\0\0", (None, "utf-16")),
        (r"\201", STATEFUL),
        (r"~{", STATEFUL),
        (r"\033$B", STATEFUL),
        ("+", STATEFUL),
    ],
)
def test_no_encoding_shows_a_secret_as_other_characters(
    session: McpSession, before: str, encodings: tuple[str | None, ...]
) -> None:
    printed = f"printf '{before}'; echo $CI_JOB_TOKEN"
    ran = session.call("exec", command=f"{printed}; ({printed}) >&2", yield_ms=30_000)
    job = ran["job_id"]
    assert not maps_back(ran)
    for encoding in encodings:
        given = {"job_id": job} | ({"encoding": encoding} if encoding else {})
        for action, more in (
            *(("log", {}), ("log", {"raw": True}), ("log", {"search": "."}), ("log", {"stream": "stderr"})),
            *(("tail", {}), ("poll", {"since_seq": 0}), ("poll", {"since_seq": 12})),
        ):
            answer = session.call("process", action=action, **given, **more)
            assert not maps_back(answer), (encoding, action, more, answer.text)
    for action in ("status", "list", "events"):
        assert not maps_back(session.call("process", action=action, **({} if action == "list" else {"job_id": job})))


@ONE_ERA
def test_a_secret_that_was_masked_in_bytes_is_named_and_counted_once(session: McpSession) -> None:
    job = session.ok("exec", command="echo a $CI_JOB_TOKEN", yield_ms=30_000)["job_id"]
    answer = session.call("process", action="log", job_id=job, encoding="utf-16-le")
    assert (answer["output"].count("[masked: CI_JOB_TOKEN]"), answer["masked_secrets"]) == (1, 1)
    assert f"1 secret is {SAID}" in answer.text
    latin = session.ok("process", action="log", job_id=job, encoding="latin-1")
    assert (latin["output"], latin["masked_secrets"]) == ("a [masked: CI_JOB_TOKEN]\n", 1)


@ONE_ERA
def test_a_secret_at_the_edge_of_what_is_searched_and_shown_is_masked(session: McpSession) -> None:
    script = "import os, sys; sys.stdout.write(('x' * 262_128 + os.environ['CI_JOB_TOKEN'] + '\\n') * 3)"
    job = session.ok("exec", command=["python3", "-c", script], yield_ms=30_000)["job_id"]
    for encoding in ("utf-16-le", "cp037"):
        for at in (262_128, 262_133, 262_144, 262_148):
            answer = session.call("process", action="log", job_id=job, since_seq=at, max_bytes=40, encoding=encoding)
            assert not maps_back(answer), (encoding, at)
            answer = session.call(
                "process", action="log", job_id=job, since_seq=at - 40, max_bytes=60, encoding=encoding
            )
            assert not maps_back(answer), (encoding, at)


@ONE_ERA
@pytest.mark.parametrize("between", ["\0", "\1", "\33[0m"])
def test_control_characters_in_a_secret_do_not_hide_it(session: McpSession, between: str) -> None:
    script = f"import os; print({between!r}.join(os.environ['CI_JOB_TOKEN']))"
    job = session.ok("exec", command=["python3", "-c", script], yield_ms=30_000)["job_id"]
    for action, more in (("log", {}), ("tail", {}), ("log", {"raw": True})):
        answer = session.call("process", action=action, job_id=job, **more)
        assert "[masked: CI_JOB_TOKEN]" in everything(answer), (action, more)
        assert not maps_back(answer)
    for encoding in ("cp037", "utf-16-le"):  # its characters are others there, and so are those between them
        answer = session.call("process", action="log", job_id=job, encoding=encoding)
        assert "[masked: CI_JOB_TOKEN]" in everything(answer), encoding
        assert not maps_back(answer), encoding


@ONE_ERA
def test_a_secret_that_a_terminal_draws_as_lines_is_masked(session: McpSession) -> None:
    job = session.ok("exec", command=r"printf '\033(0'; echo $CI_JOB_TOKEN", pty=True, yield_ms=30_000)["job_id"]
    assert session.ok("process", action="screen", job_id=job)["lines"][0] == "[masked: CI_JOB_TOKEN]"


@ONE_ERA
def test_what_another_caller_gave_a_job_is_masked_too(session: McpSession, cli: Cli, work: Path) -> None:
    (work / "vars").write_text(f"FILE_SECRET={FILED}\n")
    words = ("--env", f"DEPLOY_KEY={GIVEN}", "--env-file", work / "vars")
    job = cli.ok("run", "--wait", *words, "echo $DEPLOY_KEY $FILE_SECRET")["job_id"]
    answer = session.call("process", action="log", job_id=job)
    assert answer["output"] == "[masked: DEPLOY_KEY] [masked: FILE_SECRET]\n"
    assert f"2 secrets are {SAID}" in answer.text
    assert nothing_leaks(everything(session.call("process", action="status", job_id=job))), "env_vars"
    assert (
        session.ok("process", action="list", all=True)["jobs"][0]["last_line"]
        == "[masked: DEPLOY_KEY] [masked: FILE_SECRET]"
    )


@ONE_ERA
@pytest.mark.parametrize("sandbox", ["workspace-write", "off"])
@pytest.mark.parametrize("linked", [".env", "app/.env"])
def test_a_link_in_the_place_of_an_env_file_tells_no_client_what_is_in_another_file(
    mcp_connect: Connect, cli: Cli, work: Path, place: Path, monkeypatch: pytest.MonkeyPatch, sandbox: str, linked: str
) -> None:
    """The client's own job puts it there, and another one prints what the client guesses: what is masked is right."""
    config, other = place / "outlive.toml", place / "other"
    config.write_text('[sandbox]\nmode = "workspace-write"\nceiling = "off"\n')
    monkeypatch.setenv("OUTLIVE_CONFIG", str(config))
    other.mkdir()
    (other / ".env").write_text(f"A_SECRET={FILED}\n")
    (work / "app").mkdir()
    (work / linked).write_text(f"A_SECRET={GIVEN}\n")
    words = ("--sandbox", sandbox, "--env-file", work / linked)
    job = cli.ok("run", "--wait", *words, f"echo {FILED} $A_SECRET")["job_id"]
    seen = mcp_connect(cwd=work).ok("process", action="log", job_id=job)["output"]
    assert seen == f"{FILED} [masked: A_SECRET]\n"
    top = linked.split("/", maxsplit=1)[0]
    session = mcp_connect(cwd=work)
    swap = f"mv {top} old && ln -s {other / '.env' if top == linked else other} {top}"
    session.ok("exec", command=swap, sandbox="workspace-write", yield_ms=30_000)
    assert (work / linked).read_text() == f"A_SECRET={FILED}\n"
    assert FILED in session.ok("process", action="log", job_id=job)["output"]
    # What is there again is read again
    (work / top).unlink()
    (work / "old").rename(work / top)
    assert session.ok("process", action="log", job_id=job)["output"] == seen


@ONE_ERA
def test_a_value_that_looks_like_no_secret_is_shown_unless_it_is_masked_or_from_a_file(
    session: McpSession, cli: Cli, work: Path
) -> None:
    (work / "vars").write_text("FILED=from-a-file-1\n")
    words = ("--env", "DSN=a-b-c-d-1", "--env", "PIN=e-f-g-h-2", "--mask", "PIN", "--env-file", work / "vars")
    job = cli.ok("run", *words, "true")["job_id"]
    answer = session.call("process", action="status", job_id=job, detail="full")
    assert answer["env_vars"] == ["DSN=a-b-c-d-1", "PIN=***"]
    assert not any(value in everything(answer) for value in ("e-f-g-h-2", "from-a-file-1"))


@ONE_ERA
def test_words_numbers_and_paths_are_shown(session: McpSession) -> None:
    plain = {
        "A_TOKEN": "productive",
        "B_SECRET": "1234567890",
        "C_KEY": "/run/secrets/key",
        "D_AUTH": "true",
        "E_KEY": "short",
    }
    answer = session.call("exec", command="env | sort | grep '^[A-E]_'", env=plain, yield_ms=30_000)
    assert answer["output"] == "".join(f"{name}={value}\n" for name, value in plain.items())
    assert "masked" not in everything(answer)


@ONE_ERA
@pytest.mark.parametrize(
    ("how", "output"), [("named", f"[masked: CI_JOB_TOKEN] {GITHUB}\n"), ("none", f"{INHERITED} {GITHUB}\n")]
)
def test_the_configuration_says_what_is_masked(mcp_connect: Connect, how: str, output: str) -> None:
    session = mcp_connect(env={**SERVER["env"], "OUTLIVE_MCP_MASK": how})
    answer = session.call("exec", command=f"echo $CI_JOB_TOKEN {GITHUB}", yield_ms=30_000)
    assert answer["output"] == output
    assert (SAID in answer.text) == (how == "named")


@ONE_ERA
def test_a_screen_a_prompt_and_a_process_show_none(session: McpSession, work: Path) -> None:
    command = f'cat key.pem; printf "$CI_JOB_TOKEN? "; read x; sh -c "{GATE}; : $CI_JOB_TOKEN"'
    (work / "key.pem").write_text(PEM)
    job = session.ok("exec", command=command, pty=True, yield_ms=0)["job_id"]
    asked = until(
        lambda: (
            (found := session.call("process", action="poll", job_id=job, since_seq=0))["waiting_for_input"] and found
        ),
        what="its prompt",
    )
    assert asked["prompt"].strip() == "[masked: CI_JOB_TOKEN]?"
    assert nothing_leaks(everything(asked))
    screen = session.call("process", action="screen", job_id=job)
    assert nothing_leaks(everything(screen))
    assert screen["lines"][screen["cursor"]["row"]] == "[masked: CI_JOB_TOKEN]?"
    assert INHERITED not in everything(session.call("process", action="write", job_id=job, data="y\n", wait_ms=300))
    killed = session.call("process", action="kill", job_id=job)
    assert not any(secret in everything(killed) for secret in SECRETS)


@ONE_ERA
def test_hits_and_notices_show_none(session: McpSession, cli: Cli, work: Path) -> None:
    command = f"{GATE}; echo ready $CI_JOB_TOKEN"
    job = session.ok("exec", command=command, yield_ms=0, watch=["ready"])["job_id"]
    other = session.ok("exec", command=f"{GATE}; echo other $CI_JOB_TOKEN", yield_ms=0)["job_id"]
    (work / "go").touch()
    fired = session.call("process", action="wait", job_id=job, until=[{"regex": "ready.*"}], timeout_ms=30_000)
    assert fired["fired"]["match"] == "ready [masked: CI_JOB_TOKEN]"
    assert nothing_leaks(everything(fired))
    read = session.call("process", action="events", job_id=job)
    assert nothing_leaks(everything(read))
    cli.ok("wait", other)
    told = session.call("process", action="status", job_id=job)
    # The other one may end before any of these answers.
    notices = [notice for answer in (fired, read, told) for notice in answer.result.get("notices", [])]
    assert "other [masked: CI_JOB_TOKEN]" in [notice["last_line"] for notice in notices]
    assert INHERITED not in everything(told)


@MODERN_FIRST
def test_resources_and_progress_show_none(session: McpSession, work: Path) -> None:
    call, told = session.begin_told("exec", command=f"echo $CI_JOB_TOKEN; {GATE}", yield_ms=40_000)
    until(lambda: told and told[-1].message != "running, no output yet", what="the line it printed")
    assert told[-1].message == "[masked: CI_JOB_TOKEN]"
    (work / "go").touch()
    job = call.result(60)["job_id"]
    (output,) = session.ask(lambda client: client.read_resource(f"job://{job}/output")).contents
    assert output.text == "[masked: CI_JOB_TOKEN]\n"
    assert output.meta["masked_secrets"] == 1
    (status,) = session.ask(lambda client: client.read_resource(f"job://{job}")).contents
    assert INHERITED not in status.text
    job = session.ok("exec", command=r"printf '\377\376'; echo $CI_JOB_TOKEN", yield_ms=30_000)["job_id"]
    (output,) = session.ask(lambda client: client.read_resource(f"job://{job}/output")).contents
    assert output.text.startswith("[masked: CI_JOB_TOKEN]")


@ONE_ERA
def test_an_error_shows_none(session: McpSession) -> None:
    answer = session.call("process", action="log", job_id="x", search=f"({GITHUB}")
    assert answer.is_error
    assert GITHUB not in everything(answer)
    job = session.ok("exec", command=f"echo named {GIVEN}", env={"DEPLOY_KEY": GIVEN}, yield_ms=30_000)["job_id"]
    for answer in (session.call("process", action=action, job_id="echo named") for action in ("status", "kill")):
        assert answer.is_error and job in everything(answer)
        assert nothing_leaks(everything(answer))


@ONE_ERA
@pytest.mark.parametrize("uri", ["job://none-{}", "{}"])
def test_an_error_of_the_protocol_shows_none(session: McpSession, uri: str) -> None:
    with pytest.raises(MCPError) as raised:
        session.ask(lambda client: client.read_resource(uri.format(INHERITED)))
    assert nothing_leaks(f"{raised.value.error}")


def test_the_channel_shows_none(raw_mcp: Callable[..., RawMcp], work: Path) -> None:
    raw = raw_mcp(args=("--channel",), **SERVER)
    raw.call("exec", command=f"{GATE}; echo $CI_JOB_TOKEN", yield_ms=0)
    (work / "go").touch()
    raw.read_until(lambda: any("channel" in one["method"] for one in raw.others), "a message on the channel")
    (message,) = [one["params"]["content"] for one in raw.others if "channel" in one["method"]]
    assert "Last line: '[masked: CI_JOB_TOKEN]'." in message


@ONE_ERA
def test_a_task_shows_none(mcp_connect: Connect, work: Path) -> None:
    session = mcp_connect(extensions=[TasksClient()], **SERVER)
    found = start(session, f"echo $CI_JOB_TOKEN; {GATE}", yield_ms=0)
    assert isinstance(found, Created)
    until(lambda: get(session, found.task_id).status_message == "[masked: CI_JOB_TOKEN]", what="the line it printed")
    (work / "go").touch()
    ended = until(lambda: (task := get(session, found.task_id)).status == "completed" and task, what="its end")
    assert INHERITED not in ended.model_dump_json()
    assert "[masked: CI_JOB_TOKEN]" in ended.model_dump_json()


@ONE_ERA
def test_the_view_of_a_job_shows_none(mcp_connect: Connect, work: Path) -> None:
    views = advertise(declaration.EXTENSION, {"mimeTypes": [declaration.MIME_TYPE]})
    session = mcp_connect(extensions=[views], **SERVER)
    job = session.ok("exec", command="echo $CI_JOB_TOKEN", pty=True, yield_ms=30_000)["job_id"]
    for method in ("rows", "terminal"):
        asked = {"method": method, "given": {"job_id": job}}
        answer = session.ask(lambda client, asked=asked: client.call_tool(declaration.VIEW, asked)).structured_content
        assert answer["ok"]
        text = json.dumps(answer)
        if method == "terminal":
            text += base64.b64decode(answer["data"]).decode()
        assert INHERITED not in text
        assert "[masked: CI_JOB_TOKEN]" in text


def shown_rows(session: McpSession, job: str) -> list[Any]:
    asked = {"method": "rows", "given": {"job_id": job}}
    answer = session.ask(lambda client: client.call_tool(declaration.VIEW, asked)).structured_content
    assert answer["ok"]
    return [runs for _, _, runs, *_ in answer["rows"]]


@ONE_ERA
def test_the_view_of_a_job_shows_none_that_goes_over_rows_or_streams(mcp_connect: Connect, work: Path) -> None:
    session = mcp_connect(
        extensions=[advertise(declaration.EXTENSION, {"mimeTypes": [declaration.MIME_TYPE]})], **SERVER
    )
    (work / "key.pem").write_text(PEM)
    first, second = INHERITED[:7], INHERITED[7:]  # too short to be masked before the rest is there
    command = f"echo before; cat key.pem; printf %s {first}; {GATE}; echo {second} >&2; echo behind"
    job = session.ok("exec", command=command, yield_ms=0)["job_id"]
    until(lambda: shown_rows(session, job)[-1] == [0, first], what="the first part")
    (work / "go").touch()
    session.ok("process", action="wait", job_id=job)
    assert shown_rows(session, job) == [
        [0, "before"],
        [0, "[masked: private key]"],
        *[[0, ""]] * 3,
        [0, "[masked: CI_JOB_TOKEN]"],
        [0, "behind"],
    ]

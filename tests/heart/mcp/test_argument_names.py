"""An error names an argument as its caller spells it: `workdir` over MCP, `--cwd` on the command line."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from outlive import verbs
from outlive.cli.main import main
from outlive.verbs import spec
from outlive.verbs.spec import Arg, Verb
from support.cli import Cli
from support.mcp_client import McpSession

# A wrong value for each argument: by the parameter's name, else by its kind. Text that may be anything has none.
WRONG: dict[str, Any] = {
    **dict.fromkeys(("command", "text", "output_pattern", "certfile", "socket", "allow_host", "host"), ""),
    **dict.fromkeys(("cwd", "env_file", "workdir", "keyfile"), "/no/such/place"),
    **dict.fromkeys(("job", "name"), "/"),
    **dict.fromkeys(("notify_command", "watch_command", "output_command"), " "),
    **dict.fromkeys(("watch", "search", "until"), "("),
    **dict.fromkeys(("shell", "stdin", "signal", "scope", "tools", "older_than"), "no-such-thing"),
    **dict.fromkeys(("tags", "title", "mask", "url", "prefix", "token_env"), "no good " + "x" * 130),
    "hex_": "zz",
    "offset": "first",
    "quota_bytes": "1",
    "env": "A-B=1",
}
WRONG_KIND = {**dict.fromkeys((spec.INT, spec.FLOAT, spec.MS, spec.SECONDS, spec.BYTES), "-1"), spec.PATH: ""}
# What else a call needs to come to the argument in question. JOB is a job that has ended.
NEEDED = {
    "command": "true",
    "job": "JOB",
    "name": "n",
    "client": "cursor",
    "cols": "80",
    "rows": "24",
    "token_env": "T",
    "host": "local",
}
WITH = {
    "token_env": {"url": "http://127.0.0.1/mcp", "client": "cursor"},
    "url": {"client": "cursor"},
    "job": {"text": "x"},
}
WITH |= {name: {"output_pattern": "x"} for name in ("output_command", "output_file")}
ANYTHING_GOES = {
    *(("list", "cwd"), ("token add", "scope")),
    *(("install", "name"), ("install", "command"), ("uninstall", "name"), ("uninstall", "url")),
}


class NoLauncher:
    """Nothing is started by a call that is refused."""

    def prepare(self) -> None:
        return


NO_LAUNCHER: Any = NoLauncher()


def wrong(arg: Arg) -> str | None:
    return "no-such-thing" if arg.choices else WRONG.get(arg.name, WRONG_KIND.get(arg.kind))


def declared() -> list[tuple[Verb, Arg]]:
    found = [(verb, arg) for verb in map(verbs.load, verbs.names()) for arg in verb.args]
    return [(verb, arg) for verb, arg in found if (verb.name, arg.name) not in ANYTHING_GOES]


def said(error: dict[str, Any]) -> str:
    return f"{error['message']} {error.get('hint', '')}"


def words_of(verb: Verb, arg: Arg, job: str) -> list[str]:
    """A command line with a wrong value for `arg` and right ones for what else is required."""
    values = {one.name: NEEDED[one.name] for one in verb.args if one.required} | WITH.get(arg.name, {})
    named = {name: job if value == "JOB" else value for name, value in values.items()} | {arg.name: wrong(arg)}
    given = [one for one in verb.args if one.cli and one.name in named and (one is arg or one.name != arg.name)]
    flags = [f"{one.cli}={named[one.name]}" for one in given if one.cli.startswith("-")]
    return [*verb.name.split(), *flags, *(str(named[one.name]) for one in given if not one.cli.startswith("-"))]


def test_the_command_line_names_the_flag(cli: Cli, capfd: pytest.CaptureFixture[str]) -> None:
    job = cli.ok("run", "--wait", "true")["job_id"]
    flags = {arg.cli for _, arg in declared()}
    foreign = {arg.mcp for _, arg in declared() if arg.mcp not in flags and ("_" in arg.mcp or arg.mcp == "workdir")}
    broken, asked = [], 0
    for verb, arg in declared():
        if not (verb.cli and arg.cli) or arg.hidden is True or wrong(arg) is None:
            continue
        words = words_of(verb, arg, job)
        capfd.readouterr()
        main(words, NO_LAUNCHER)
        answer = json.loads(capfd.readouterr().out)
        error = answer.get("error", {"code": None, "message": "it was taken"})
        field = (error.get("details") or {}).get("field", arg.cli)
        asked += 1
        if "⟨" in said(error) or field.lower() != arg.cli.lower() or answer["ok"]:
            broken.append(f"{words}: {error}")
        if names := {name for name in foreign if re.search(rf"\b{name}\b", said(error))}:
            broken.append(f"{words}: {names} in {error}")
    assert not broken, "\n".join(broken)
    assert asked > 100


@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_over_mcp_it_is_the_tools_argument(cli: Cli, mcp_session: McpSession) -> None:
    job = cli.ok("run", "--wait", "true")["job_id"]
    broken, asked = [], 0
    for verb, arg in declared():
        if not arg.mcp or not (verb.right or verb.name == "run") or wrong(arg) is None:
            continue
        known = {one.mcp for one in verb.args}
        needed: dict[str, Any] = {
            one.mcp: NEEDED[one.name] for one in verb.args if one.required and one.mcp
        } | WITH.get(arg.name, {})
        needed = {name: value for name, value in needed.items() if name in known} | {arg.mcp: wrong(arg)}
        given = {name: job if value == "JOB" else value for name, value in needed.items()}
        if arg.kind == spec.ENV:
            given[arg.mcp] = {"A-B": "1"}
        tool, action = ("exec", {}) if verb.name == "run" else ("process", {"action": verb.action})
        answer = mcp_session.call(tool, **action, **given).result
        error = answer.get("error", {"code": None, "message": "it was taken"})
        field = (error.get("details") or {}).get("field", arg.mcp)
        asked += 1
        if "⟨" in said(error) or field != arg.mcp or re.search(r"(^|[\s`(])--[a-z]", said(error)) or answer["ok"]:
            broken.append(f"{verb.name} {given}: {error}")
    assert not broken, "\n".join(broken)
    assert asked > 60


@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_what_one_verb_advises_about_another_is_spelt_for_the_caller_too(cli: Cli, mcp_session: McpSession) -> None:
    job = cli.ok("run", "--snapshot-after", "0", "sleep 60")["job_id"]
    ours = cli.error("write", job, "--data", "x", code="stdin_closed")
    theirs = mcp_session.error("process", code="stdin_closed", action="write", job_id=job, data="x").result["error"]
    assert "--stdin open" in ours["hint"] and "--pty" in ours["hint"]
    assert "with stdin open" in theirs["hint"] and "--" not in theirs["hint"]
    cli.ok("remove", job)

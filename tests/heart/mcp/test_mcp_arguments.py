"""What a client may send, and what it is told when it may not."""

from __future__ import annotations

from typing import Any

import pytest

from outlive import config, limits
from outlive.errors import OutliveError
from outlive.mcp.tools.arguments import Tools, clamp


def tools(*offers: str, **env: str) -> Tools:
    found = config.load({"XDG_CONFIG_HOME": "/nonexistent", **env})
    return Tools(offers or ("exec", "process"), found)


TOOLS = tools()


def read(tool: str, **given: Any) -> dict[str, Any]:
    return TOOLS.read(tool, given)[1]


def refused(tool: str, **given: Any) -> dict[str, Any]:
    with pytest.raises(OutliveError) as caught:
        read(tool, **given)
    assert caught.value.code == "invalid_argument"
    return caught.value.to_dict()


def refused_action(action: Any, **given: Any) -> dict[str, Any]:
    return refused("exec", **given) if action == "exec" else refused("process", action=action, **given)


def test_defaults_are_those_of_the_declaration_and_of_the_configuration() -> None:
    args = read("exec", command="true")
    assert args["yield_ms"] == limits.YIELD_MS
    assert args["timeout_ms"] == 1_800_000
    assert args["wait"] is False
    assert read("process", action="log", job_id="x")["max_bytes"] == limits.MCP_SHOWN_BYTES


def test_a_job_in_the_background_has_no_time_limit_unless_one_is_asked_for_or_configured() -> None:
    assert read("exec", command="serve", background=True)["timeout_ms"] == 0
    assert read("exec", command="serve", background=True, timeout=None)["timeout_ms"] == 0
    assert read("process", action="spawn", command="serve")["timeout_ms"] == 0
    assert read("exec", command="serve", background=True, timeoutSeconds=5)["timeout_ms"] == 5_000
    configured = tools(OUTLIVE_EXEC_TIMEOUT_SEC="60")
    assert configured.read("exec", {"command": "serve", "background": True})[1]["timeout_ms"] == 60_000
    assert read("exec", command="make", yield_ms=0)["timeout_ms"] == 1_800_000


def test_configured_defaults_go_before_declared_ones_and_stay_in_bounds() -> None:
    found = tools(
        OUTLIVE_EXEC_BACKGROUND_MS="250", OUTLIVE_EXEC_TIMEOUT_SEC="0", OUTLIVE_EXEC_MAX_OUTPUT_BYTES="99999999"
    )
    args = found.read("exec", {"command": "true"})[1]
    assert (args["yield_ms"], args["timeout_ms"]) == (250, 0)
    assert found.read("process", {"action": "log", "job_id": "x"})[1]["max_bytes"] == limits.MAX_SHOWN_BYTES


@pytest.mark.parametrize("name", ["job", "job-id"])
def test_a_job_is_named_by_any_of_its_names(name: str) -> None:
    """The other ones are in test_tool_names.py."""
    assert read("process", action="tail", **{name: "01JABC"})["job"] == "01JABC"


def test_two_names_of_one_argument_must_agree() -> None:
    assert read("process", action="tail", job_id="a", sessionId="a")["job"] == "a"
    error = refused("process", action="tail", job_id="a", sessionId="b")
    assert "job_id and sessionId" in error["message"]


def test_null_is_absent_even_where_the_argument_is_another_actions() -> None:
    assert read("process", action="poll", job_id="x", since_seq=None, tail_lines=None)["since_seq"] is None
    assert refused("process", action="poll", job_id=None)["details"]["field"] == "job_id"


LOG, POLL, TRUE = {"action": "log", "job_id": "x"}, {"action": "poll", "job_id": "x"}, {"command": "true"}


def test_a_value_may_come_in_any_form_that_means_it() -> None:
    rows: list[tuple[str, dict[str, Any], str, list[tuple[Any, Any]]]] = [
        ("process", LOG, "limit", [("7", 7), (7, 7), (7.0, 7)]),
        ("process", LOG, "raw", [("true", True), (1, True), ("no", False), (False, False)]),
        ("process", POLL, "timeout_ms", [(250, 250), (250.4, 250), ("250", 250), ("5s", 5000), ("1.5 m", 90_000), (0.2, 1)]),
        ("exec", {}, "command", [(one, one) for one in ("ls -l", ["ls", "-l"], ["my prog"], '["ls"]')]),
        ("exec", TRUE, "tags", [("a", ["a"]), (["a"], ["a"]), ('["a"]', ["a"])]),
        ("exec", TRUE, "env", [({"A": "x", "B": 3, "C": 1.5}, {"A": "x", "B": "3", "C": "1.5"}), ('{"A":"x"}', {"A": "x"})]),
        ("exec", TRUE, "show", [("PLAIN", "plain")]),
    ]  # fmt: skip
    for tool, given, name, values in rows:
        for value, meant in values:
            assert read(tool, **given, **{name: value})[name] == meant


def test_seconds_reach_the_action_as_milliseconds() -> None:
    rows: list[tuple[Any, int]] = [(1.5, 1500), (30, 30_000), ("30", 30_000), ("5m", 300_000), (0, 0), (0.0001, 1)]
    for value, ms in rows:
        assert read("exec", command="true", timeout=value)["timeout_ms"] == ms


BAD_TIMES = [-1, "-1", "abc", True, float("nan"), float("inf"), 1e300, [], {}, ""]


def test_what_means_nothing_is_refused() -> None:
    rows: list[tuple[str, dict[str, Any], str, list[Any]]] = [
        ("process", LOG, "limit", [True, "abc", 1.5, [1], {}, 10**30]),
        ("exec", TRUE, "timeout", BAD_TIMES),
        ("process", POLL, "timeout_ms", BAD_TIMES),
        # An empty one is refused by the action
        ("exec", {}, "command", [[1, 2], ["a", 1, None], None, 5, {"a": 1}, "a\0b", ["a", "b\0"]]),
        ("exec", TRUE, "env", [{"": "x"}, {"A=B": "x"}, {"A\0": "x"}, ["A=1"], '{"A":' * 50_000]),
        ("exec", TRUE, "yield_ms", [-5]),
        ("exec", TRUE, "background", ["perhaps"]),
        ("process", POLL, "since_seq", [-1, 1.5]),
        ("process", POLL, "max_bytes", [0]),
        ("process", LOG, "stream", ["out"]),
        ("process", {"action": "list"}, "state", ["runing"]),
    ]
    for tool, given, name, values in rows:
        for value in values:
            assert refused(tool, **given, **{name: value})["details"]["field"] == name


def test_the_words_for_a_wrong_value_are_ours() -> None:
    error = refused("process", action="poll", job_id="x", timeout_ms="abc")
    assert error["message"] == "timeout_ms must be a whole number of milliseconds, got 'abc'"
    error = refused("process", action="log", job_id="x", limit=-3)
    assert error["message"] == "limit must be at least 0, got -3"
    error = refused("process", action="log", job_id="x", context=101)
    assert error["message"] == "context must be at most 100, got 101"


def test_an_error_names_the_argument_as_the_caller_wrote_it() -> None:
    rows: list[tuple[dict[str, Any], str]] = [
        ({"timeoutMs": "abc"}, "timeoutMs"),
        ({"timeout-ms": -1}, "timeout-ms"),
        ({"job": 7.5j}, "job"),
    ]
    for given, name in rows:
        error = refused("process", action="poll", **{"job_id": "x"} | given if "job" not in given else given)
        assert error["details"]["field"] == name
        assert error["message"].startswith(f"{name} must be ")


@pytest.mark.parametrize(
    "given", [{"cols": "x", "rows": True}, {"rows": True, "cols": "x"}, {"rows": "y", "cols": "x"}]
)
def test_of_several_wrong_values_the_first_in_the_declaration_is_told(given: dict[str, Any]) -> None:
    error = refused("process", action="resize", job_id="01J9ABCD", **given)
    assert error["message"] == "cols must be a whole number, got 'x'"


def test_choices_are_named() -> None:
    error = refused("exec", command="cat", show="plainn")
    assert "auto, plain" in error["message"]
    assert error["hint"] == "Did you mean plain?"


def test_a_variable_is_a_string_or_a_number() -> None:
    for value in (True, None, {"b": 1}):
        assert refused("exec", command="true", env={"A": value})["message"] == "env.A must be a string"


def test_an_unknown_argument_names_the_nearest() -> None:
    error = refused("exec", command="true", yeild_ms=5)
    assert error["message"] == "yeild_ms is not an argument of exec"
    assert error["hint"] == "Did you mean yield_ms (milliseconds)?"
    assert error["details"]["field"] == "yeild_ms"


def test_a_wrong_unit_is_said() -> None:
    assert refused("exec", command="true", timeout_ms=5000)["hint"] == "Did you mean timeout (seconds)?"
    assert refused("process", action="poll", job_id="x", timeout=5)["hint"] == "Did you mean timeout_ms (milliseconds)?"


def test_an_argument_of_another_action_says_whose_it_is() -> None:
    error = refused("process", action="poll", job_id="x", tail_lines=5)
    assert error["hint"] == "It belongs to process tail."
    assert "log" in refused("process", action="poll", job_id="x", offset=3)["hint"]
    assert "since_seq" in refused("process", action="poll", job_id="x", since=3)["hint"]
    assert "process" in refused("exec", command="true", job_id="x")["hint"]


def test_a_mistake_is_answered_with_what_to_write() -> None:
    rows: list[tuple[str, dict[str, Any], str]] = [
        # By what another name means
        ("exec", {"input": "x"}, "Did you mean stdin_data?"),
        ("exec", {"command": None, "cmd": "x"}, "Did you mean command?"),
        ("tail", {"id": "x"}, "Did you mean job_id?"),
        ("tail", {"lines": "x"}, "Did you mean tail_lines?"),
        # A name that is near none: no guess, and no list
        *(("exec", {name: 1}, "Leave it out; the schema of the tool lists what exec takes.") for name in ("nice_level", "id", "end")),
        # The right form
        ("exec", {"env": ["A=1"]}, 'For example env={"NAME": "value"}.'),
        ("exec", {"tags": {"a": 1}}, 'For example tags=["project.build"].'),
        ("exec", {"command": 5}, 'For example command="make test".'),
        ("tail", {"job_id": {"id": 5}}, 'For example job_id="01J9ABCD".'),
        ("exec", {"idle_timeout_ms": -1}, "0: never."),
    ]  # fmt: skip
    for action, given, hint in rows:
        assert refused_action(action, **(TRUE | given if action == "exec" else given))["hint"] == hint


def test_a_missing_argument_is_named() -> None:
    assert refused("exec")["message"] == "exec needs command"
    assert refused("exec")["hint"] == 'For example command="make test".'
    assert "action=list" in refused("process", action="tail")["hint"]


def test_a_wrong_action_names_the_one_that_is_meant() -> None:
    rows: list[tuple[Any, str]] = [(None, "help"), ("", "help"), ("pol", "poll?"), ("read", "log?"), ("stop", "kill?"),
     ("run", "tool exec"), (5, "help"), (["poll"], "help"), ("frobnicate", "help")]  # fmt: skip
    for name, said in rows:
        error = refused_action(name, job_id="x")
        assert error["details"]["field"] == "action"
        assert said in error["hint"]
        assert "poll, " not in error["hint"], "all names are told only to a caller that asks for them"


def test_all_unknown_arguments_are_refused_at_once() -> None:
    error = refused("exec", command="true", yeild_ms=5, size=1, colour="red", shape="round")
    assert error["message"] == "yeild_ms, size, colour, shape are not arguments of exec"
    assert error["hint"].startswith(
        "yeild_ms: Did you mean yield_ms (milliseconds)? size, colour, shape: Leave them out;"
    )
    assert (
        refused("exec", command="true", search="x", compare="y")["hint"]
        == "search, compare: They belong to process log."
    )
    many = refused("exec", command="true", **{f"zzz{number}": 1 for number in range(30)})
    assert "zzz9 and 20 more are not arguments" in many["message"]


def test_names_that_other_tools_have_are_taken() -> None:
    args = read("exec", command="true", description="Say true", run_in_background=True)
    assert (args["description"], args["background"], args["title"]) == ("Say true", True, None)


def test_spawn_is_exec_in_the_background() -> None:
    verb, args = TOOLS.read("process", {"action": "spawn", "command": "make", "yield_ms": 5000})
    assert verb.name == "run"
    assert (args["background"], args["yield_ms"]) == (True, 5000), "for until"
    with pytest.raises(OutliveError):
        tools("process").read("process", {"action": "spawn", "command": "make"})


def test_exec_alone_waits_for_the_end_and_ignores_yielding() -> None:
    alone = tools("exec")
    args = alone.read("exec", {"command": "make", "yieldMs": "nonsense", "background": True})[1]
    assert args["wait"] is True
    assert args["background"] is False


@pytest.mark.parametrize(
    ("tool", "given", "effective", "report"),
    [
        ("process", {"action": "poll", "job_id": "x", "timeout_ms": 60_000}, ("timeout_ms", 50_000), 60_000),
        ("process", {"action": "poll", "job_id": "x", "timeout_ms": 50_000}, ("timeout_ms", 50_000), None),
        ("process", {"action": "wait", "job_id": "x"}, ("timeout_ms", 30_000), None),
        ("process", {"action": "wait", "job_id": "x", "timeout_ms": "2m"}, ("timeout_ms", 50_000), 120_000),
        ("process", {"action": "kill", "job_id": "x"}, ("wait_ms", None), None),
        ("process", {"action": "kill", "job_id": "x", "grace_ms": 60_000}, ("wait_ms", 50_000), 61_000),
        ("exec", {"command": "x", "yield_ms": 90_000}, ("yield_ms", 50_000), 90_000),
        ("exec", {"command": "x", "yield_ms": 90_000, "background": True}, ("yield_ms", 90_000), None),
        ("exec", {"command": "x", "yield_ms": 90_000, "background": True, "until": ["port=1"]}, ("yield_ms", 50_000), 90_000),
        ("exec", {"command": "x", "timeout": 90}, ("timeout_ms", 90_000), None),
    ],
)  # fmt: skip
def test_no_call_waits_longer_than_clients_do(
    tool: str, given: dict[str, Any], effective: tuple[str, int | None], report: int | None
) -> None:
    verb, args = TOOLS.read(tool, given)
    args, told = clamp(verb, args, lambda: 50_000)
    assert args[effective[0]] == effective[1]
    assert told == ({} if report is None else {"requested_ms": report, "effective_ms": 50_000})


def test_a_wait_is_as_long_as_its_client_allows_and_is_asked_about_only_if_it_is_long() -> None:
    asked: list[int] = []

    def longest() -> int:
        asked.append(1)
        return 110_000

    for wanted, effective in ((50_000, 50_000), (90_000, 90_000), (600_000, 110_000)):
        args, told = clamp(*TOOLS.read("process", {"action": "wait", "job_id": "x", "timeout_ms": wanted}), longest)
        assert args["timeout_ms"] == effective
        assert told == ({} if wanted == effective else {"requested_ms": wanted, "effective_ms": effective})
    assert len(asked) == 2


def test_a_write_waits_for_its_reader_and_for_the_reaction_no_longer_than_clients_do() -> None:
    for action in ("write", "send-keys", "submit", "paste"):
        waits: tuple[dict[str, int], ...] = ({}, {"wait_ms": 60_000}, {"timeout_ms": 70_000, "wait_ms": 60_000})
        calls = [
            clamp(*TOOLS.read("process", {"action": action, "job_id": "x", **given}), lambda: 110_000)
            for given in waits
        ]
        assert [(args["timeout_ms"], args["wait_ms"]) for args, _ in calls] == [
            (5_000, 1_000),
            (5_000, 50_000),
            (50_000, 50_000),
        ]
        assert [told.get("requested_ms") for _, told in calls] == [None, 60_000, 70_000]

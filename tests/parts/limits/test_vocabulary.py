"""The vocabulary of resources: what is read, its one form, and what is refused on both faces."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlive.errors import OutliveError
from outlive.parts.limits import names, vocabulary
from support.cli import Cli
from support.mcp_client import McpSession
from support.tiers import MODERN_FIRST

AS_WORDS = {
    "memory": "2G",
    "cpus": "1.5",
    "cpu_time": "10m",
    "processes": "200",
    "nice": "-5",
    "options.partition": "gpu",
}
AS_VALUES = {
    "cpus": 1.5,
    "memory": 2 * 1024**3,
    "cpu_time": "600s",
    "processes": 200,
    "nice": -5,
    "options": {"partition": "gpu"},
}


def test_words_of_a_command_line_and_values_of_an_object_mean_the_same() -> None:
    found = vocabulary.parsed(AS_WORDS)
    assert found and found == vocabulary.parsed(AS_VALUES) and found.to_dict() == AS_VALUES
    assert [*found.to_dict()] == [name for name in names.NAMES if name != "gpus"]


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "cpus": st.floats(0.01, 500).map(lambda value: round(value, 2)),
            "memory": st.integers(1024**2, 2**50),
            "gpus": st.integers(1, 8),
            "cpu_time": st.integers(1_000, 10**9).map(lambda ms: f"{ms}ms"),
            "processes": st.integers(1, 10**5),
            "nice": st.integers(-20, 19),
            "options": st.dictionaries(st.sampled_from(["qos", "mem-bind"]), st.sampled_from(["high", 3, True])),
        },
    )
)
def test_the_canonical_form_is_parsed_to_itself(asked: dict[str, Any]) -> None:
    found = vocabulary.parsed(asked)
    canonical = {} if found is None else found.to_dict()
    assert vocabulary.parsed(canonical) == found
    assert canonical.keys() == asked.keys()


@pytest.mark.parametrize("names", [("options", "options.b"), ("options.b", "options")])
def test_options_are_given_whole_and_one_by_one(names: tuple[str, str]) -> None:
    whole = {"a": 1}
    found = vocabulary.parsed({name: whole if name == "options" else 2 for name in names})
    assert found and (found.options, whole) == ({"a": 1, "b": 2}, {"a": 1})


def test_a_time_is_counted_in_milliseconds() -> None:
    found = vocabulary.parsed({"cpu_time": "1.5s"})
    assert found and vocabulary.milliseconds(found.cpu_time) == 1_500
    assert vocabulary.milliseconds(None) == 0


@pytest.mark.parametrize(
    ("given", "said", "hint"),
    [
        ({"memry": "2G"}, "no member 'memry'", "Did you mean memory?"),
        ({"ram": "2G"}, "no member 'ram'", "Did you mean memory?"),
        ({"colour": 1}, "no member 'colour'", "Members: cpus, memory, gpus, cpu_time, processes, nice, options."),
        ({"memory": 512}, "memory is a size from 1M on, not 512", 'Write bytes, or "500M" or "2G".'),
        ({"memory": "much"}, "memory is a size", "500M"),
        ({"memory": True}, "memory is a size", "500M"),
        ({"cpu_time": 60}, "cpu_time is a duration with its unit, at least 1s, not 60", '"90s"'),
        ({"cpu_time": "60"}, "cpu_time is a duration with its unit", '"90s"'),
        ({"cpu_time": "10ms"}, "at least 1s", '"90s"'),
        ({"cpus": 0}, "cpus is a number from 0.01 on", "2 or 0.5"),
        ({"cpus": "nan"}, "cpus is a number", "2 or 0.5"),
        ({"cpus": [2]}, "cpus is a number", "2 or 0.5"),
        ({"processes": 0}, "processes is a whole number from 1", "200"),
        ({"processes": 1.5}, "processes is a whole number", "200"),
        ({"nice": 20}, "nice is a whole number from -20 to 19", "10"),
        ({"gpus": "a100"}, "gpus is a whole number", "1"),
        ({"options": "x"}, "options is an object", "partition"),
        ({"options": "x", "options.a": "y"}, "options is an object, not 'x'", "partition"),
        ({"options.": "x"}, "not the name of an option: ''", "letters"),
        ({"options": {"--wrap": "x"}}, "not the name of an option: '--wrap'", "letters"),
        ({"options": {"wrap": "a\nb"}}, "the option wrap is a text of one line", "wrap"),
        ({"options": {"wrap": ["a"]}}, "the option wrap is a text of one line", "wrap"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_the_way_to_write_it(given: dict[str, Any], said: str, hint: str) -> None:
    with pytest.raises(OutliveError) as caught:
        vocabulary.parsed(given)
    assert said in caught.value.message
    assert hint in (caught.value.hint or "")
    assert caught.value.details is not None
    assert (caught.value.code, caught.value.details["field"]) == ("invalid_argument", "resources")


@MODERN_FIRST
def test_both_faces_store_the_same_and_restart_keeps_it(shared_session: McpSession, cli: Cli) -> None:
    words = [word for name, value in AS_WORDS.items() for word in ("--resource", f"{name}={value}")]
    mine = cli.ok("create", *words, "--", "true")["job_id"]
    theirs = shared_session.ok("process", action="create", command="true", resources=AS_VALUES)["job_id"]
    as_text = shared_session.ok("process", action="create", command="true", resources='{"cpus": 1.5}')["job_id"]
    shown = {name: {"value": value} for name, value in AS_VALUES.items()}
    assert cli.ok("status", mine)["resources"] == cli.ok("status", theirs)["resources"] == shown
    assert cli.ok("status", as_text)["resources"] == {"cpus": {"value": 1.5}}
    assert "resources" not in cli.ok("status", cli.ok("create", "--", "true")["job_id"])


def test_a_mistake_is_named_as_its_face_spells_the_argument(shared_session: McpSession, cli: Cli) -> None:
    mine = cli.error("run", "--resource", "memory=512", "--", "true", code="invalid_argument")
    assert mine["message"].startswith("--resource: memory is a size")
    assert (
        cli.error("run", "--resource", "memory", "--", "true", code="invalid_argument")["hint"]
        == "Write --resource memory=VALUE."
    )
    theirs = shared_session.error("exec", command="true", resources={"memory": 512}, code="invalid_argument").result[
        "error"
    ]
    assert theirs["message"].startswith("resources: memory is a size")
    assert (
        "must be an object" in shared_session.error("exec", command="true", resources=7, code="invalid_argument").text
    )

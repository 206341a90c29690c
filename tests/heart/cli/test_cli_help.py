"""Help is made from the declarations and is readable in a terminal."""

from __future__ import annotations

import pytest

from outlive import verbs
from outlive.cli import help as help_
from outlive.verbs import spec
from outlive.verbs.spec import Arg, Verb

RUN = Verb(
    "run",
    "Start a command as a job.",
    lambda ctx: {},
    args=(
        Arg("command", spec.WORDS, "The command and its arguments.", required=True, cli="COMMAND"),
        Arg("timeout_ms", spec.MS, "End the job after this long.", cli="--timeout", default=90_000),
        Arg("grace_ms", spec.MS, "Time to end.", minimum=0, maximum=1_500),
        Arg("tail_lines", spec.INT, "Lines of output.", default=50, minimum=1, maximum=1_000),
        Arg("tags", spec.STRS, "A tag.", cli="--tag", metavar="TAG"),
        Arg("match", spec.STR, "How to match.", choices=("regex", "contains"), default="contains"),
        Arg("wait", spec.BOOL, "Answer when it ended.", default=False),
        Arg("words", spec.STR, "A long story. " * 20),
        Arg("poll_ms", spec.MS, "No effect.", cli="--wait-poll-ms", hidden=True),
        Arg("elevated", spec.BOOL, "Only over MCP.", cli=""),
        Arg("env", spec.ENV, "A variable."),
    ),
    detail="Two or more words are an argument vector.\n\nOne word is a shell string.",
)
WAIT = Verb(
    "wait",
    "Wait for jobs.",
    lambda ctx: {},
    args=(Arg("jobs", spec.STRS, "The jobs.", required=True, cli="JOB"), Arg("x", spec.STR, "It.", required=True)),
)
ODD = Verb("odd", "A verb without a group.", lambda ctx: {})
MCP = Verb("mcp", "Serve MCP on stdio.", group="Serve")


def line_of(text: str, start: str) -> str:
    """The entry that begins with `start`, its folded lines joined."""
    _, found, rest = text.partition(f"\n  {start}")
    assert found, f"no entry {start} in\n{text}"
    entry = rest.split("\n  -")[0].split("\n\n")[0]
    return " ".join((start + entry).split())


def test_every_verb_has_a_line_and_one_without_a_group_is_shown_with_the_others() -> None:
    text = help_.overview([RUN, WAIT, ODD, MCP], 100)
    assert line_of(text, "run ").startswith("run Start a command as a job.")
    of_group = {heading: text.partition(f"\n{heading}:\n")[2].partition("\n\n")[0] for heading in ("Other", "Serve")}
    assert "odd" in of_group["Other"] and "mcp" in of_group["Serve"] and "odd" not in of_group["Serve"]
    assert not [name for name in verbs.names() if verbs.load(name).cli and verbs.load(name).group == "Other"]


def test_the_overview_shows_examples_and_the_global_options() -> None:
    text = help_.overview([RUN], 100)
    assert "outlive run make test" in text
    assert "--root PATH" in text
    assert "-v, -vv, --verbose" in text


def test_the_usage_line_shows_what_is_required_and_where_the_command_goes() -> None:
    assert help_.of_verb(RUN, 100).startswith("usage: outlive run [OPTIONS] [--] COMMAND…\n")
    assert help_.of_verb(WAIT, 100).startswith("usage: outlive wait --x TEXT JOB…\n")


def test_an_option_tells_its_value_bounds_default_and_unit() -> None:
    rows: list[tuple[str, str]] = [
        ("--timeout DURATION", "End the job after this long. Default: 90000 ms (90s)."),
        ("--grace-ms DURATION", "Time to end. 0 to 1500 ms."),
        ("--tail-lines N", "Lines of output. 1 to 1000. Default: 50."),
        ("--tag TAG", "A tag. May be repeated."),
        ("--match regex|contains", "How to match. Default: contains."),
        ("--wait ", "Answer when it ended."),
        ("--env NAME=VALUE", "A variable. May be repeated."),
    ]
    for flag, said in rows:
        assert line_of(help_.of_verb(RUN, 100), flag) == f"{flag.strip()} {said}"


def test_what_is_hidden_or_not_offered_is_not_shown() -> None:
    text = help_.of_verb(RUN, 100)
    assert "--wait-poll-ms" not in text
    assert "elevated" not in text


def test_the_detail_keeps_its_paragraphs() -> None:
    assert "\n\nTwo or more words are an argument vector.\n\nOne word is a shell string.\n\n" in help_.of_verb(RUN, 100)


def test_durations_are_explained_where_there_are_any() -> None:
    assert "a bare number is milliseconds" in help_.of_verb(RUN, 100)
    assert "milliseconds" not in help_.of_verb(WAIT, 100)


def test_no_line_is_wider_than_the_terminal() -> None:
    for width in [60, 80, 100]:
        for text in (help_.of_verb(RUN, width), help_.overview([RUN, WAIT, ODD, MCP], width)):
            assert [line for line in text.splitlines() if len(line) > width] == []


@pytest.mark.parametrize(
    ("columns", "width"), [("72", 72), ("10", 40), ("500", 100), ("9" * 5_000, 100), ("wide", 100), ("", 100)]
)
def test_the_width_is_the_terminals_within_reason(monkeypatch: pytest.MonkeyPatch, columns: str, width: int) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    monkeypatch.setattr("os.get_terminal_size", lambda fd: (_ for _ in ()).throw(OSError()))
    assert help_.terminal_width() == width


def test_the_short_usage_of_a_mistake_points_to_the_help() -> None:
    assert help_.short_usage(RUN).splitlines() == [
        "usage: outlive run [OPTIONS] [--] COMMAND…",
        "`outlive run --help` explains the options.",
    ]
    assert "outlive --help" in help_.short_usage(None)

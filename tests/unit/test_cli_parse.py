"""argv → verb, arguments, global options. By a made-up verb: the rules belong to the parser, not to `run`."""

from __future__ import annotations

from typing import Any

import pytest

from outlive.cli import parse
from outlive.errors import OutliveError
from outlive.verbs import load, spec
from outlive.verbs.spec import Arg, GlobalOptions, Verb

RUN = Verb(
    "run",
    "Start a command.",
    lambda ctx, **given: given,
    args=(
        Arg("command", spec.WORDS, "The command.", required=True, cli="COMMAND"),
        Arg("cwd", spec.PATH, "Where."),
        Arg("env", spec.ENV, "Variables."),
        Arg("tags", spec.STRS, "Tags.", cli="--tag", default=[]),
        Arg("snapshot_after_ms", spec.MS, "Answer after.", cli="--snapshot-after", default=10_000),
        Arg("timeout_ms", spec.MS, "End after.", cli="--timeout", mcp="", cli_default=0),
        Arg("timeout_ms", spec.SECONDS, "End after.", cli="", mcp="timeout", default=1_800.0),
        Arg("wait", spec.BOOL, "Wait.", default=False),
        Arg("title", spec.STR, "A name."),
        Arg("stdin", spec.STR, "What it reads.", default="closed"),
        Arg("poll_ms", spec.MS, "No effect.", cli="--wait-poll-ms", hidden=True),
        Arg("elevated", spec.BOOL, "MCP only.", cli="", default=False),
    ),
)
LIST = Verb(
    "list",
    "Jobs.",
    lambda ctx, **given: given,
    args=(
        Arg("limit", spec.INT, "How many.", default=50, minimum=0, maximum=1_000),
        Arg("state", spec.STR, "Which.", choices=("running", "exited")),
        Arg("ratio", spec.FLOAT, "A fraction.", minimum=0.5),
    ),
)
WAIT = Verb(
    "wait",
    "Wait.",
    lambda ctx, **given: given,
    args=(
        Arg("jobs", spec.STRS, "Jobs.", required=True, cli="JOB"),
        Arg("timeout_ms", spec.MS, "How long."),
        Arg("mode", spec.STR, "How.", choices=("any", "all"), default="any"),
    ),
)
STATUS = Verb("status", "State.", lambda ctx, **given: given, args=(spec.JOB,))
KEYS = Verb(
    "send-keys",
    "Keys.",
    lambda ctx, **given: given,
    args=(
        spec.JOB,
        Arg("keys", spec.WORDS, "Keys.", required=True, cli="KEY"),
        Arg("literal", spec.BOOL, "As they are.", default=False),
    ),
)
MUST = Verb("must", "Needs.", lambda ctx, **given: given, args=(Arg("pattern", spec.STR, "P.", required=True),))


def read(verb: Verb, *argv: str, cwd: str | None = "/here") -> dict[str, Any]:
    return parse.arguments(verb, list(argv), GlobalOptions(), cwd)


def options_of(verb: Verb, *argv: str) -> GlobalOptions:
    options = GlobalOptions()
    parse.arguments(verb, list(argv), options, "/here")
    return options


def refused(verb: Verb, *argv: str, cwd: str | None = "/here") -> OutliveError:
    with pytest.raises(OutliveError) as caught:
        read(verb, *argv, cwd=cwd)
    assert caught.value.code == "invalid_argument"
    assert caught.value.usage
    assert caught.value.details
    return caught.value


def field(verb: Verb, *argv: str, cwd: str | None = "/here") -> str:
    details = refused(verb, *argv, cwd=cwd).details
    assert details
    return str(details["field"])


# --- where our options end -----------------------------------------------------------------------------------------


def test_the_first_word_of_the_command_ends_our_options() -> None:
    found = read(RUN, "--wait", "make", "--wait", "--timeout", "5", "--root", "/x", "-v", "--help")
    assert found["command"] == ["make", "--wait", "--timeout", "5", "--root", "/x", "-v", "--help"]
    assert found["wait"] is True
    assert found["timeout_ms"] == 0


def test_a_global_option_behind_the_first_word_of_the_command_is_not_ours() -> None:
    assert vars(options_of(RUN, "make", "--root", "/x", "-v")) == vars(GlobalOptions())


def test_two_dashes_in_front_of_the_command_are_optional() -> None:
    assert read(RUN, "--wait", "--", "make", "all") == read(RUN, "--wait", "make", "all")


def test_after_two_dashes_a_command_may_begin_with_a_dash() -> None:
    assert read(RUN, "--", "--wait", "x")["command"] == ["--wait", "x"]


def test_only_the_first_two_dashes_are_ours() -> None:
    assert read(RUN, "git", "log", "--", "file")["command"] == ["git", "log", "--", "file"]
    assert read(RUN, "--", "--", "file")["command"] == ["--", "file"]


def test_a_command_keeps_empty_words_and_bytes_that_are_no_utf8() -> None:
    assert read(RUN, "", "\udcff", " a ")["command"] == ["", "\udcff", " a "]


@pytest.mark.parametrize("argv", [[], ["--"], ["--wait"], ["--wait", "--"]])
def test_a_command_of_no_words_is_refused(argv: list[str]) -> None:
    error = refused(RUN, *argv)
    assert "empty command" in error.message
    assert error.details == {"field": "command"}


def test_words_begin_once_the_places_before_them_are_taken() -> None:
    found = read(KEYS, "--literal", "01ABCD", "C-c", "--literal")
    assert (found["job"], found["keys"], found["literal"]) == ("01ABCD", ["C-c", "--literal"], True)


def test_options_may_follow_the_positionals_of_other_verbs() -> None:
    assert read(WAIT, "01ABCD", "--timeout-ms", "5", "01ABCE")["jobs"] == ["01ABCD", "01ABCE"]
    assert read(WAIT, "01ABCD", "--timeout-ms", "5")["timeout_ms"] == 5


def test_after_two_dashes_everything_is_positional_for_other_verbs_too() -> None:
    assert read(WAIT, "--", "--mode", "all")["jobs"] == ["--mode", "all"]


def test_a_single_dash_is_a_word() -> None:
    assert read(WAIT, "-")["jobs"] == ["-"]
    assert read(RUN, "--stdin", "-", "cat")["stdin"] == "-"
    assert read(RUN, "-", "x")["command"] == ["-", "x"]


def test_one_positional_too_many_is_refused() -> None:
    assert field(STATUS, "01ABCD", "01ABCE") == "01ABCE"
    assert field(LIST, "running") == "running"


# --- options and values --------------------------------------------------------------------------------------------


def test_a_value_follows_its_flag_or_an_equals_sign() -> None:
    assert read(LIST, "--limit", "7")["limit"] == read(LIST, "--limit=7")["limit"] == 7


def test_a_flag_may_be_written_as_hints_name_it() -> None:
    assert read(RUN, "--snapshot_after=7", "x")["snapshot_after_ms"] == 7
    assert read(RUN, "--snapshot_after", "7", "x")["snapshot_after_ms"] == 7
    assert refused(RUN, "--snapshot_afte=7", "x").hint == "Did you mean --snapshot-after?"


def test_only_the_first_equals_sign_divides() -> None:
    assert read(RUN, "--title=a=b", "x")["title"] == "a=b"


def test_an_empty_value_is_a_value() -> None:
    assert read(RUN, "--title=", "x")["title"] == read(RUN, "--title", "", "x")["title"] == ""


def test_of_a_repeated_option_the_last_counts() -> None:
    assert read(LIST, "--limit", "7", "--limit=9")["limit"] == 9


def test_a_repeatable_option_collects() -> None:
    assert read(RUN, "--tag", "a", "--tag=b", "--tag", "a", "x")["tags"] == ["a", "b", "a"]


def test_a_value_may_begin_with_a_dash() -> None:
    assert read(RUN, "--title", "-5 degrees", "x")["title"] == "-5 degrees"


@pytest.mark.parametrize("after", [[], ["--wait", "x"], ["--", "x"], ["--tag=a", "x"], ["-v", "x"], ["--help"]])
def test_a_flag_whose_value_was_forgotten_is_refused(after: list[str]) -> None:
    assert field(RUN, "--title", *after) == "title"


def test_a_value_that_is_one_of_our_flags_is_given_with_an_equals_sign() -> None:
    assert read(RUN, "--title=--wait", "x")["title"] == "--wait"


def test_a_boolean_takes_no_value() -> None:
    assert field(RUN, "--wait=true", "x") == "wait"


def test_what_is_left_out_has_its_default_of_the_command_line() -> None:
    assert read(RUN, "x") == {
        "command": ["x"],
        "cwd": None,
        "env": None,
        "tags": [],
        "snapshot_after_ms": 10_000,
        "timeout_ms": 0,
        "wait": False,
        "title": None,
        "stdin": "closed",
        "poll_ms": None,
        "elevated": False,
    }


def test_a_default_is_not_shared_between_calls() -> None:
    read(RUN, "x")["tags"].append("mine")
    assert read(RUN, "x")["tags"] == []
    read(RUN, "--tag", "mine", "x")
    assert read(RUN, "x")["tags"] == []


def test_an_argument_of_the_other_face_is_not_offered() -> None:
    assert field(RUN, "--elevated", "x") == "--elevated"


def test_a_hidden_option_is_accepted() -> None:
    assert read(RUN, "--wait-poll-ms", "200", "x")["poll_ms"] == 200


def test_a_missing_required_argument_is_refused() -> None:
    assert field(STATUS) == "job"
    assert field(WAIT, "--mode", "all") == "jobs"
    assert field(MUST) == "pattern"


# --- kinds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "ms"), [("250", 250), ("0", 0), ("5s", 5_000), ("1.5s", 1_500), ("30m", 1_800_000)])
def test_a_bare_duration_is_milliseconds_and_a_unit_may_be_given(text: str, ms: int) -> None:
    assert read(RUN, "--timeout", text, "x")["timeout_ms"] == ms


@pytest.mark.parametrize("text", ["-1", "soon", "", "5 parsecs", "99999999d"])
def test_a_bad_duration_names_the_flag_and_the_argument(text: str) -> None:
    error = refused(RUN, f"--timeout={text}", "x")
    assert "--timeout" in error.message
    assert error.details == {"field": "timeout_ms"}


@pytest.mark.parametrize("text", ["x", "", "1.5", "1_000", " 5", "٣", "9" * 5_000, "--5", "+"])
def test_a_bad_whole_number_is_refused(text: str) -> None:
    assert field(LIST, f"--limit={text}") == "limit"


@pytest.mark.parametrize("text", ["x", "", "nan", "inf", "-inf", "1_0", "1e999"])
def test_a_bad_number_is_refused(text: str) -> None:
    assert field(LIST, f"--ratio={text}") == "ratio"


def test_numbers_are_read() -> None:
    found = read(LIST, "--ratio", "0.75", "--limit", "+7")
    assert (found["ratio"], found["limit"]) == (0.75, 7)


@pytest.mark.parametrize("argv", [["--limit", "-1"], ["--limit", "1001"], ["--ratio", "0.4"]])
def test_a_number_out_of_bounds_is_refused(argv: list[str]) -> None:
    assert field(LIST, *argv) == argv[0].removeprefix("--")


def test_the_bounds_themselves_are_allowed() -> None:
    assert read(LIST, "--limit", "0")["limit"] == 0
    assert read(LIST, "--limit", "1000")["limit"] == 1_000


def test_a_choice_that_is_not_offered_is_refused_and_the_nearest_named() -> None:
    error = refused(LIST, "--state", "runing")
    assert error.details == {"field": "state"}
    assert error.hint == "Did you mean running?"


def test_variables_are_collected_and_the_last_value_of_a_name_counts() -> None:
    found = read(RUN, "--env", "A=1", "--env=B=x=y", "--env", "C=", "--env", "A=2", "x")
    assert found["env"] == {"A": "2", "B": "x=y", "C": ""}


@pytest.mark.parametrize("text", ["NAME", "", "=value", "="])
def test_a_variable_without_a_name_or_without_a_value_is_refused(text: str) -> None:
    assert field(RUN, "--env", text, "x") == "env"


@pytest.mark.parametrize(
    ("text", "path"), [("sub", "/here/sub"), (".", "/here"), ("../b", "/b"), ("/x/y/", "/x/y"), ("~", "/here/~")]
)
def test_a_path_becomes_absolute(text: str, path: str) -> None:
    assert read(RUN, "--cwd", text, "x")["cwd"] == path


def test_an_empty_path_is_refused_because_it_would_mean_here() -> None:
    assert field(RUN, "--cwd", "", "x") == "cwd"


def test_where_the_directory_is_gone_only_absolute_paths_work() -> None:
    assert read(RUN, "--cwd", "/x", "y", cwd=None)["cwd"] == "/x"
    assert field(RUN, "--cwd", "x", "y", cwd=None) == "cwd"


# --- what is unknown -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "meant"), [("--tiemout", "--timeout"), ("--snapshot", "--snapshot-after"), ("--rooot=/x", "--root")]
)
def test_an_unknown_option_names_the_nearest_known_one(typed: str, meant: str) -> None:
    error = refused(RUN, typed, "x")
    assert error.hint == f"Did you mean {meant}?"
    assert error.details == {"field": typed.partition("=")[0]}


def test_a_dry_run_of_install_is_called_print() -> None:
    assert refused(load("install"), "claude-code", "--dry-run").hint == "Did you mean --print?"


@pytest.mark.parametrize("typed", ["--time", "--ti", "-w", "-q", "---", "-v5", "-vx", "--v"])
def test_nothing_is_abbreviated(typed: str) -> None:
    assert field(RUN, typed, "5", "x") == typed


def test_a_hidden_option_is_not_suggested() -> None:
    assert "--wait-poll-ms" not in str(refused(RUN, "--wait-pol", "x").hint)


def test_an_option_like_nothing_we_know_points_to_the_help_and_to_the_two_dashes() -> None:
    hint = refused(RUN, "-Zq", "x").hint
    assert hint
    assert "outlive run --help" in hint
    assert "--" in hint


@pytest.mark.parametrize(("typed", "meant"), [("lst", "list"), ("stats", "status"), ("tag", "tag set"), ("mpc", "mcp")])
def test_an_unknown_verb_names_the_nearest_known_one(typed: str, meant: str) -> None:
    with pytest.raises(OutliveError) as caught:
        parse.verb_name([typed])
    assert caught.value.hint == f"Did you mean {meant}?"
    assert caught.value.details == {"field": "verb"}
    assert caught.value.usage


def test_a_verb_like_nothing_we_know_may_be_a_command() -> None:
    with pytest.raises(OutliveError) as caught:
        parse.verb_name(["xyzzy", "x"])
    assert caught.value.hint
    assert "outlive run xyzzy" in caught.value.hint


def test_no_verb_at_all_is_refused() -> None:
    with pytest.raises(OutliveError) as caught:
        parse.verb_name([])
    assert caught.value.usage


# --- verbs and global options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "name", "left"),
    [
        (["notify", "set", "J"], "notify set", ["J"]),
        (["notify_set", "J"], "notify set", ["J"]),
        (["notify-set", "J"], "notify set", ["J"]),
        (["tag", "set"], "tag set", []),
        (["list", "set"], "list", ["set"]),
        (["exec", "x"], "run", ["x"]),
    ],
)
def test_a_verb_of_two_words_is_written_with_a_space_a_hyphen_or_an_underscore(
    words: list[str], name: str, left: list[str]
) -> None:
    assert parse.verb_name(words) == (name, left)


@pytest.mark.parametrize(
    "argv",
    [
        ["--root", "/x", "-v", "--human", "status", "J"],
        ["status", "--root", "/x", "-v", "--human", "J"],
        ["status", "J", "--human", "--root=/x", "--verbose"],
        ["--root=/x", "status", "-v", "J", "--human"],
    ],
)
def test_global_options_stand_before_or_after_the_verb(argv: list[str]) -> None:
    options = GlobalOptions()
    name, words = parse.verb_name(parse.leading(argv, options, "/here"))
    assert name == "status"
    assert parse.arguments(STATUS, words, options, "/here") == {"job": "J"}
    assert vars(options) == {**vars(GlobalOptions()), "root": "/x", "verbose": 1, "human": True}


def test_of_a_root_before_and_after_the_verb_the_last_counts() -> None:
    options = GlobalOptions()
    words = parse.leading(["--root", "/a", "status", "J", "--root", "/b"], options, "/here")
    parse.arguments(STATUS, words[1:], options, "/here")
    assert options.root == "/b"


def test_the_root_and_the_configuration_become_absolute() -> None:
    options = options_of(STATUS, "J", "--root", "r", "--config=c.toml")
    assert (options.root, options.config) == ("/here/r", "/here/c.toml")


@pytest.mark.parametrize(("words", "count"), [(["-v"], 1), (["-vv"], 2), (["-v", "-v", "--verbose"], 3)])
def test_verbosity_counts(words: list[str], count: int) -> None:
    assert options_of(STATUS, "J", *words).verbose == count


def test_an_option_of_a_verb_in_front_of_it_says_where_it_belongs() -> None:
    with pytest.raises(OutliveError) as caught:
        parse.leading(["--snapshot-after", "0", "run", "x"], GlobalOptions(), "/here")
    assert caught.value.hint
    assert "after it" in caught.value.hint


def test_help_ends_the_reading_so_nothing_is_missing() -> None:
    for argv in (["--help"], ["--wait", "-h", "--bogus"], ["--help", "make"]):
        assert options_of(RUN, *argv).help is True
    assert options_of(RUN, "--version").version is True


def test_help_in_front_of_the_verb_leaves_the_verb_to_be_read() -> None:
    options = GlobalOptions()
    assert parse.leading(["-h", "run", "x"], options, "/here") == ["run", "x"]
    assert options.help is True


def test_a_whole_command_line_gives_the_verb_its_arguments_and_the_global_options() -> None:
    options = GlobalOptions()
    name, words = parse.verb_name(parse.leading(["-v", "status", "J"], options, "/here"))
    assert (name, parse.arguments(STATUS, words, options, "/here"), options.verbose) == ("status", {"job": "J"}, 1)

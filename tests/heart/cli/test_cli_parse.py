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
        Arg("timeout_ms", spec.MS, "End after.", cli="--timeout", mcp="", default=0),
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


def shown(value: Any) -> str | None:
    """Return an argv as it is typed: the id of a row."""
    return " ".join(value) or "nothing" if isinstance(value, list) else None


# --- what is read --------------------------------------------------------------------------------------------------


def test_words_are_read_as_the_arguments_that_they_mean() -> None:
    rows: list[tuple[Verb, list[str], dict[str, Any]]] = [
        # The first word of the command ends our options
        (RUN, ["--wait", "make", "--wait", "--timeout", "5", "--root", "/x", "-v", "--help"],
         {"command": ["make", "--wait", "--timeout", "5", "--root", "/x", "-v", "--help"], "wait": True, "timeout_ms": 0}),
        (RUN, ["--wait", "--", "make", "all"], {"command": ["make", "all"], "wait": True}),
        (RUN, ["--", "--wait", "x"], {"command": ["--wait", "x"], "wait": False}),
        (RUN, ["git", "log", "--", "file"], {"command": ["git", "log", "--", "file"]}),
        (RUN, ["--", "--", "file"], {"command": ["--", "file"]}),
        (RUN, ["", "\udcff", " a "], {"command": ["", "\udcff", " a "]}),
        (KEYS, ["--literal", "01ABCD", "C-c", "--literal"], {"job": "01ABCD", "keys": ["C-c", "--literal"], "literal": True}),
        # Options may follow the positionals of other verbs
        (WAIT, ["01ABCD", "--timeout-ms", "5", "01ABCE"], {"jobs": ["01ABCD", "01ABCE"], "timeout_ms": 5}),
        (WAIT, ["--", "--mode", "all"], {"jobs": ["--mode", "all"], "mode": "any"}),
        (WAIT, ["-"], {"jobs": ["-"]}),
        (RUN, ["--stdin", "-", "cat"], {"stdin": "-"}),
        (RUN, ["-", "x"], {"command": ["-", "x"]}),
        # Values
        (LIST, ["--limit", "7"], {"limit": 7}),
        (LIST, ["--limit=7"], {"limit": 7}),
        (LIST, ["--limit", "7", "--limit=9"], {"limit": 9}),
        (LIST, ["--limit", "0"], {"limit": 0}),
        (LIST, ["--limit", "1000"], {"limit": 1_000}),
        (LIST, ["--ratio", "0.75", "--limit", "+7"], {"ratio": 0.75, "limit": 7}),
        (RUN, ["--snapshot_after=7", "x"], {"snapshot_after_ms": 7}),
        (RUN, ["--snapshot_after", "7", "x"], {"snapshot_after_ms": 7}),
        (RUN, ["--title=a=b", "x"], {"title": "a=b"}),
        (RUN, ["--title=", "x"], {"title": ""}),
        (RUN, ["--title", "", "x"], {"title": ""}),
        (RUN, ["--title", "-5 degrees", "x"], {"title": "-5 degrees"}),
        (RUN, ["--title=--wait", "x"], {"title": "--wait"}),
        (RUN, ["--tag", "a", "--tag=b", "--tag", "a", "x"], {"tags": ["a", "b", "a"]}),
        (RUN, ["--wait-poll-ms", "200", "x"], {"poll_ms": 200}),
        (RUN, ["--timeout", "250", "x"], {"timeout_ms": 250}),
        (RUN, ["--timeout", "0", "x"], {"timeout_ms": 0}),
        (RUN, ["--timeout", "1.5s", "x"], {"timeout_ms": 1_500}),
        (RUN, ["--timeout", "30m", "x"], {"timeout_ms": 1_800_000}),
        (RUN, ["--env", "A=1", "--env=B=x=y", "--env", "C=", "--env", "A=2", "x"], {"env": {"A": "2", "B": "x=y", "C": ""}}),
        (RUN, ["--cwd", "sub", "x"], {"cwd": "/here/sub"}),
        (RUN, ["--cwd", ".", "x"], {"cwd": "/here"}),
        (RUN, ["--cwd", "../b", "x"], {"cwd": "/b"}),
        (RUN, ["--cwd", "/x/y/", "x"], {"cwd": "/x/y"}),
        (RUN, ["--cwd", "~", "x"], {"cwd": "/here/~"}),
    ]  # fmt: skip
    for verb, argv, read_as in rows:
        found = read(verb, *argv)
        assert {name: found[name] for name in read_as} == read_as


def test_a_global_option_behind_the_first_word_of_the_command_is_not_ours() -> None:
    assert vars(options_of(RUN, "make", "--root", "/x", "-v")) == vars(GlobalOptions())


def test_what_is_left_out_has_its_default_of_the_command_line() -> None:
    assert read(RUN, "x") == {
        "command": ["x"], "cwd": None, "env": None, "tags": [], "snapshot_after_ms": 10_000, "timeout_ms": 0,
        "wait": False, "title": None, "stdin": "closed", "poll_ms": None, "elevated": False,
    }  # fmt: skip


def test_a_default_is_not_shared_between_calls() -> None:
    read(RUN, "x")["tags"].append("mine")
    assert read(RUN, "x")["tags"] == []
    read(RUN, "--tag", "mine", "x")
    assert read(RUN, "x")["tags"] == []


def test_where_the_directory_is_gone_only_absolute_paths_work() -> None:
    assert read(RUN, "--cwd", "/x", "y", cwd=None)["cwd"] == "/x"
    assert refused(RUN, "--cwd", "x", "y", cwd=None).details == {"field": "cwd"}


# --- what is refused -----------------------------------------------------------------------------------------------


def test_what_is_wrong_is_refused_and_named() -> None:
    rows: list[tuple[Verb, list[str], str]] = [
        *((RUN, argv, "command") for argv in ([], ["--"], ["--wait"], ["--wait", "--"])),
        (STATUS, ["01ABCD", "01ABCE"], "01ABCE"),
        (LIST, ["running"], "running"),
        # A flag whose value was forgotten
        *((RUN, ["--title", *after], "title") for after in ([], ["--wait", "x"], ["--", "x"], ["--tag=a", "x"], ["-v", "x"], ["--help"])),
        (RUN, ["--wait=true", "x"], "wait"),
        (RUN, ["--wait", "true", "--", "x"], "--wait"),  # a flag takes no word, or a command would be one shorter
        (RUN, ["--elevated", "x"], "--elevated"),  # of the other face
        (STATUS, [], "job"),
        (WAIT, ["--mode", "all"], "jobs"),
        (MUST, [], "pattern"),
        *((LIST, [f"--limit={text}"], "limit") for text in ("x", "", "1.5", "1_000", " 5", "٣", "9" * 5_000, "--5", "+", "-1", "1001")),
        *((LIST, [f"--ratio={text}"], "ratio") for text in ("x", "", "nan", "inf", "-inf", "1_0", "1e999", "0.4")),
        *((RUN, ["--env", text, "x"], "env") for text in ("NAME", "", "=value", "=")),
        *((load("list"), [f"--limit={text}"], "limit") for text in ("-1", "many", "1.5", "")),
        (load("events"), ["J", "--since-seq", "-1"], "since_seq"),
        (load("events"), ["J", "--since-event", "x"], "since_event"),
        (load("events"), ["J", "--limit", "-1"], "limit"),
        *((load("poll"), ["J", f"--max-bytes={text}"], "max_bytes") for text in ("0", "-1", "x", "99999999999")),
        (RUN, ["--cwd", "", "x"], "cwd"),  # it would mean here
        # Nothing is abbreviated
        *((RUN, [typed, "5", "x"], typed) for typed in ("--time", "--ti", "-w", "-q", "---", "-v5", "-vx", "--v")),
    ]  # fmt: skip
    for verb, argv, field in rows:
        error = refused(verb, *argv)
        assert error.details == {"field": field}
        assert ("empty command" in error.message) == (field == "command")


def test_a_bad_duration_names_the_flag_and_the_argument() -> None:
    for text in ["-1", "soon", "", "5 parsecs", "99999999d"]:
        error = refused(RUN, f"--timeout={text}", "x")
        assert "--timeout" in error.message
        assert error.details == {"field": "timeout_ms"}
    for flag in ("--timeout", "--idle-timeout", "--kill-after", "--snapshot-after", "--progress-every"):
        assert flag in refused(load("run"), f"{flag}=-1", "x").message


def test_what_is_nearest_to_a_mistake_is_named() -> None:
    rows: list[tuple[Verb, list[str], str, str]] = [
        (RUN, ["--tiemout", "x"], "--tiemout", "--timeout"),
        (RUN, ["--snapshot", "x"], "--snapshot", "--snapshot-after"),
        (RUN, ["--snapshot_afte=7", "x"], "--snapshot_afte", "--snapshot-after"),
        (RUN, ["--rooot=/x", "x"], "--rooot", "--root"),
        (LIST, ["--state", "runing"], "state", "running"),
        (load("install"), ["claude-code", "--dry-run"], "--dry-run", "--print"),
        (load("run"), ["--tags", "a", "x"], "--tags", "--tag"),
        (load("run"), ["--envfile", "f", "x"], "--envfile", "--env-file"),
        (load("run"), ["--workdir", "/", "x"], "--workdir", "--cwd"),  # what other tools call it
        (load("list"), ["--al"], "--al", "--all"),
        (load("gc"), ["--dryrun"], "--dryrun", "--dry-run"),
        (load("wait"), ["--timeout", "5", "x"], "--timeout", "--timeout-ms"),
    ]
    for verb, argv, field, meant in rows:
        error = refused(verb, *argv)
        assert (error.hint, error.details) == (f"Did you mean {meant}?", {"field": field})
    assert refused(load("run"), "--search", "x", "x").hint == "It belongs to outlive log."
    assert refused(load("status"), "--id", "x").hint == "Write it without a flag: JOB."
    assert "JSON already" in str(refused(load("list"), "--json").hint)


def test_a_hidden_option_is_not_suggested() -> None:
    assert "--wait-poll-ms" not in str(refused(RUN, "--wait-pol", "x").hint)


def test_an_option_like_nothing_we_know_points_to_the_help_and_to_the_two_dashes() -> None:
    hint = str(refused(RUN, "-Zq", "x").hint)
    assert "outlive run --help" in hint
    assert "--" in hint.replace("--help", "")


# --- verbs and global options --------------------------------------------------------------------------------------


def test_a_verb_of_two_words_is_written_with_a_space_a_hyphen_or_an_underscore() -> None:
    rows: list[tuple[list[str], str, list[str]]] = [
        (["notify", "set", "J"], "notify set", ["J"]),
        (["notify_set", "J"], "notify set", ["J"]),
        (["notify-set", "J"], "notify set", ["J"]),
        (["tag", "set"], "tag set", []),
        (["list", "set"], "list", ["set"]),
        (["exec", "x"], "run", ["x"]),
    ]
    for words, name, left in rows:
        assert parse.verb_name(words) == (name, left)


def test_what_is_no_verb_is_refused_and_the_nearest_named() -> None:
    rows: list[tuple[list[str], str]] = [
        *(([typed], f"Did you mean {meant}?") for typed, meant in (
            ("lst", "list"), ("stauts", "status"), ("tag", "tag set"), ("mpc", "mcp"), ("strat", "start"), ("rn", "run"),
            ("RUN", "run"), ("remov", "remove"), ("read", "log"), ("stop", "kill"), ("ps", "list"))),
        *((words, "Did you mean tag set?") for words in (["tags", "set"], ["tag", "get", "x"])),
        (["xyzzy", "x"], "outlive run xyzzy"),  # it may be a command
        ([], ""),
    ]  # fmt: skip
    for words, hint in rows:
        with pytest.raises(OutliveError) as caught:
            parse.verb_name(words)
        assert hint in str(caught.value.hint)
        assert caught.value.usage
        if hint.startswith("Did"):
            assert (caught.value.hint, caught.value.details) == (hint, {"field": "verb"})


def test_global_options_stand_before_or_after_the_verb() -> None:
    rows: list[list[str]] = [
        ["--root", "/x", "-v", "--human", "status", "J"],
        ["status", "--root", "/x", "-v", "--human", "J"],
        ["status", "J", "--human", "--root=/x", "--verbose"],
        ["--root=/x", "status", "-v", "J", "--human"],
        ["--root", "/a", "-v", "--human", "status", "J", "--root", "/x"],  # the last counts
    ]
    for argv in rows:
        options = GlobalOptions()
        name, words = parse.verb_name(parse.leading(argv, options, "/here"))
        assert name == "status"
        assert parse.arguments(STATUS, words, options, "/here") == {"job": "J"}
        assert vars(options) == {**vars(GlobalOptions()), "root": "/x", "verbose": 1, "human": True}


def test_the_root_and_the_configuration_become_absolute() -> None:
    options = options_of(STATUS, "J", "--root", "r", "--config=c.toml")
    assert (options.root, options.config) == ("/here/r", "/here/c.toml")


def test_verbosity_counts() -> None:
    rows: list[tuple[list[str], int]] = [(["-v"], 1), (["-vv"], 2), (["-v", "-v", "--verbose"], 3)]
    for words, count in rows:
        assert options_of(STATUS, "J", *words).verbose == count


def test_an_option_of_a_verb_in_front_of_it_says_where_it_belongs() -> None:
    with pytest.raises(OutliveError) as caught:
        parse.leading(["--snapshot-after", "0", "run", "x"], GlobalOptions(), "/here")
    assert "after it" in str(caught.value.hint)


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

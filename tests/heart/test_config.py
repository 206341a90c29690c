"""Configuration: flag before environment before file before default, and no word that is not understood."""

from __future__ import annotations

import os
import pwd
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from outlive import config
from outlive.config import KEYS, Config
from outlive.core import base_directories
from outlive.errors import OutliveError
from outlive.store import root


def load(text: str | None = None, *, explicit: str | None = None, **env: str) -> Config:
    """What is in force with this file in the usual place and these variables."""
    if text is not None:
        path = Path(config.default_path(os.environ))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return config.load({**os.environ, **env}, explicit)


def refused(text: str | None = None, **how: str) -> OutliveError:
    with pytest.raises(OutliveError) as caught:
        load(text, **how)
    assert caught.value.code == "config_error"
    assert not caught.value.retryable
    return caught.value


def test_without_a_file_everything_has_its_default() -> None:
    found = load()
    assert found.path is None
    assert found.get("exec", "background_ms") == 10_000
    assert found.get("exec", "timeout_sec") == 1_800
    assert found.get("shell", "unix") is None
    assert not found.is_set("exec", "background_ms")


def test_the_file_goes_before_the_default(place: Path) -> None:
    found = load("[exec]\nbackground_ms = 5\n")
    assert found.get("exec", "background_ms") == 5
    assert found.is_set("exec", "background_ms")
    assert found.get("exec", "notify_on_exit") is True
    assert found.path == str(place / "home/.config/outlive/config.toml")


def test_the_environment_goes_before_the_file() -> None:
    found = load("[exec]\nbackground_ms = 5\ntimeout_sec = 9\n", OUTLIVE_EXEC_BACKGROUND_MS="7")
    assert found.get("exec", "background_ms") == 7
    assert found.get("exec", "timeout_sec") == 9


def test_the_flag_names_the_file_before_the_environment_does(place: Path) -> None:
    for name, value in (("flag", 1), ("variable", 2)):
        (place / name).write_text(f"[exec]\nbackground_ms = {value}\n", encoding="utf-8")
    text = "[exec]\nbackground_ms = 3\n"
    variable = {"OUTLIVE_CONFIG": str(place / "variable")}
    assert load(text, explicit=str(place / "flag"), **variable).get("exec", "background_ms") == 1
    assert load(text, **variable).get("exec", "background_ms") == 2
    assert load(text).get("exec", "background_ms") == 3


def test_the_usual_place_follows_the_home_where_xdg_says_nothing() -> None:
    expected = os.path.join(os.environ["HOME"], ".config/outlive/config.toml")
    assert config.default_path({}) == expected
    assert config.default_path({"XDG_CONFIG_HOME": "not/absolute"}) == expected
    assert config.default_path({"XDG_CONFIG_HOME": "/x"}) == "/x/outlive/config.toml"


@pytest.mark.parametrize("empty", ["", "relative/home"])
def test_a_home_that_is_no_absolute_path_is_that_of_the_password_database(
    empty: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty one made `/.local` and `/.config` of a container's root the user's own."""
    theirs = pwd.getpwuid(os.getuid()).pw_dir
    monkeypatch.setenv("HOME", empty)
    env = {"HOME": empty, "XDG_DATA_HOME": "relative"}
    assert config.default_path(env) == f"{theirs}/.config/outlive/config.toml"
    assert base_directories.state_directory(env) == f"{theirs}/.local/state/outlive"
    assert root.default_path(env) == f"{theirs}/.local/share/outlive/jobs"
    monkeypatch.setattr(os, "getuid", lambda: 2**31)
    assert base_directories.home(env) == "/nonexistent"


def test_a_variable_is_read_as_its_key_wants_it() -> None:
    rows: list[tuple[str, str, str, str, Any]] = [
        ("OUTLIVE_SHELL_UNIX", "bash -lc 'a b'", "shell", "unix", ["bash", "-lc", "a b"]),
        ("OUTLIVE_EXEC_TIMEOUT_SEC", "1.5", "exec", "timeout_sec", 1.5),
        ("OUTLIVE_EXEC_NOTIFY_ON_EXIT", "no", "exec", "notify_on_exit", False),
        ("OUTLIVE_EXEC_ON_CANCEL", "kill", "exec", "on_cancel", "kill"),
        ("OUTLIVE_EXEC_NOTIFY_ON_EXIT_EMPTY_SUCCESS", "TRUE", "exec", "notify_on_exit_empty_success", True),
        ("OUTLIVE_EXEC_QUOTA_BYTES", "0", "exec", "quota_bytes", 0),
    ]
    for name, text, section, key, value in rows:
        assert load(**{name: text}).get(section, key) == value


def test_variables_of_a_job_are_no_configuration() -> None:
    rows: list[str] = [
        "OUTLIVE_ROOT",
        "OUTLIVE_JOB_ID",
        "OUTLIVE_SHELL",
        "OUTLIVE_EVENT_PATH",
        "OUTLIVE_EVENT_TYPE",
        "OUTLIVE_SLOTS",
        "OUTLIVE_LOG",
    ]
    for name in rows:
        found, usual = load(**{name: "anything"}), load()
        assert (found._values, found.path) == (usual._values, usual.path)


def test_what_is_unknown_is_named_with_the_nearest() -> None:
    rows: list[tuple[str | None, dict[str, str], str, str]] = [
        (None, {"OUTLIVE_EXEC_TIMEOUT_SECS": "5"}, "", "OUTLIVE_EXEC_TIMEOUT_SEC"),  # without a file
        ("[exec]\nbackgroundms = 5\n", {}, "backgroundms", "background_ms"),
        ("[exce]\n", {}, "", "exec"),
        ("[shel]\nunix = ['sh', '-c']\n", {}, "", "shell"),
    ]
    for text, variables, said, nearest in rows:
        error = refused(text, **variables)
        assert said in error.message
        assert nearest in str(error.hint)


def test_an_unknown_key_near_nothing_lists_what_there_is() -> None:
    assert all(key in str(refused("[output]\nzzz = 1\n").hint) for key in KEYS["output"])


@pytest.mark.parametrize(
    "text",
    [
        "[exec]\nbackground_ms = -1\n", "[exec]\nbackground_ms = 1.5\n", "[exec]\nbackground_ms = true\n",
        "[exec]\nbackground_ms = '5'\n", "[exec]\nnotify_on_exit = 1\n", '[exec]\non_cancel = "stop"\n',
        "[exec]\ntimeout_sec = -0.5\n", "[exec]\ntimeout_sec = nan\n", "[exec]\ntimeout_sec = inf\n",
        "[shell]\nunix = 'sh -c'\n", "[shell]\nunix = []\n", "[shell]\nunix = ['sh', 1]\n",
        "exec = 1\n", "[[exec]]\nbackground_ms = 1\n", "[exec]\nquota_bytes = 1.5\n", "[exec]\nquota_bytes = true\n",
        "[exec]\nbackground_ms = " + "9" * 5_000, "[exec]\ntimeout_sec = 1e9\n",
        "not toml", "exec]", "[exec", "a = ", "\0", "a = " + "[" * 2_000,
    ],
)  # fmt: skip
def test_a_value_that_makes_no_sense_and_what_is_no_toml_is_refused_and_its_file_named(text: str, place: Path) -> None:
    assert str(place / "home") in refused(text).message


def test_a_variable_of_the_wrong_kind_is_refused_and_named() -> None:
    rows: list[dict[str, str]] = [
        {"OUTLIVE_EXEC_BACKGROUND_MS": "soon"}, {"OUTLIVE_EXEC_BACKGROUND_MS": ""},
        {"OUTLIVE_EXEC_BACKGROUND_MS": "-1"}, {"OUTLIVE_EXEC_TIMEOUT_SEC": "nan"},
        {"OUTLIVE_EXEC_NOTIFY_ON_EXIT": "maybe"}, {"OUTLIVE_SHELL_UNIX": ""},
        {"OUTLIVE_SHELL_UNIX": "sh 'unfinished"},
    ]  # fmt: skip
    for variable in rows:
        (name,) = variable
        assert name in refused(**variable).message


# A parameter called `place` would replace the fixture of that name, and the file would be the user's own.
def test_a_mistake_in_the_file_is_told_with_line_and_column() -> None:
    rows: list[tuple[str, str]] = [
        ("[exec]\na b\n", "line 2, column 3"),
        ("[exec]\nbackground_ms = [1,\n", "line 3, column 1"),
        ("# one\n[exec]\n  cleanup_ms = -1\n", "line 3, column 3"),
        ("[output]\nshow = 'auto'\n[exec]\nshow = 'auto'\n", "line 4, column 1"),
        ("[output]\n[exce]\n", "line 2, column 1"),
        ("exec.timeout_sec = 'x'\n", "line 1, column 1"),
        ('[exec]\n"timeout_sec" = true\n', "line 2, column 1"),
    ]
    for text, where in rows:
        assert refused(text).message.startswith(f"{config.default_path(os.environ)}, {where}: ")


def test_the_variables_of_openclaw_are_defaults() -> None:
    variables = {
        "PI_BASH_YIELD_MS": "2500",
        "PI_BASH_MAX_OUTPUT_CHARS": "999999",
        "OPENCLAW_BASH_PENDING_MAX_OUTPUT_CHARS": "4000",
        "PI_BASH_JOB_TTL_MS": "1",
    }
    found = load(**variables)
    told = {key: found.get("exec", key) for key in ("background_ms", "max_output_bytes", "pending_max_output_bytes")}
    assert told == {"background_ms": 2500, "max_output_bytes": 200_000, "pending_max_output_bytes": 4_000}
    assert found.get("exec", "cleanup_ms") == 60_000, "OpenClaw keeps it between a minute and three hours"
    assert load(**variables, OPENCLAW_BASH_YIELD_MS="70").get("exec", "background_ms") == 70, "the new name wins"
    many = load(PI_BASH_YIELD_MS="9" * 5_000, OPENCLAW_BASH_JOB_TTL_MS="0" * 5_000 + "70000")
    assert (many.get("exec", "background_ms"), many.get("exec", "cleanup_ms")) == (120_000, 70_000)
    assert load(PI_BASH_YIELD_MS="soon").get("exec", "background_ms") == load().get("exec", "background_ms")


def test_a_variable_of_openclaw_that_means_nothing_is_reported() -> None:
    found = load(PI_BASH_YIELD_MS="soon", PI_BASH_JOB_TTL_MS="-5", OPENCLAW_BASH_YIELD="70", OPENCLAW_BASH_OTHER="x")
    assert found.ignored == [
        "PI_BASH_YIELD_MS is 'soon', which is not a whole number: it is ignored",
        "PI_BASH_JOB_TTL_MS is '-5', which is not a whole number: it is ignored",
        "OPENCLAW_BASH_YIELD is ignored: OPENCLAW_BASH_YIELD_MS may be meant",
    ]
    assert load(PI_BASH_YIELD_MS="2500").ignored == []


def test_the_configuration_wins_over_the_variables_of_openclaw() -> None:
    text = "[exec]\nbackground_ms = 3\n"
    assert load(text, PI_BASH_YIELD_MS="2500").get("exec", "background_ms") == 3
    assert load(PI_BASH_YIELD_MS="2500", OUTLIVE_EXEC_BACKGROUND_MS="4").get("exec", "background_ms") == 4


def test_a_file_that_is_not_utf_8_is_refused() -> None:
    path = Path(config.default_path(os.environ))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"[exec]\n# \xff\n")
    assert str(path) in refused().message


def test_a_file_that_was_named_must_exist(place: Path) -> None:
    missing = str(place / "missing.toml")
    for error in (refused(explicit=missing), refused(OUTLIVE_CONFIG=missing)):
        assert missing in error.message
        assert error.hint


def test_what_is_no_file_or_has_no_end_is_refused_at_once(place: Path) -> None:
    default = Path(config.default_path(os.environ))
    default.parent.mkdir(parents=True)
    os.mkfifo(default)
    assert "is a FIFO" in refused().message
    default.unlink()
    with default.open("wb") as file:
        file.truncate(1 << 40)
    assert "is larger than" in refused().message


def test_a_pipe_that_was_named_is_read() -> None:
    """As `--config <(…)` of a shell names one."""
    here, there = os.pipe()
    os.write(there, b"[exec]\nbackground_ms = 7\n")
    os.close(there)
    with closing(os.fdopen(here, "rb")):
        assert config.load({}, f"/dev/fd/{here}").get("exec", "background_ms") == 7


def test_a_file_that_cannot_be_read_is_refused() -> None:
    path = Path(config.default_path(os.environ))
    path.mkdir(parents=True)
    assert str(path) in refused().message


def test_a_number_of_bytes_may_have_a_unit() -> None:
    found = load('[exec]\nmax_output_bytes = "10G"\nquota_bytes = "64K"\n', OUTLIVE_EXEC_QUOTA_BYTES="1MB")
    assert (found.get("exec", "max_output_bytes"), found.get("exec", "quota_bytes")) == (10 << 30, 1_000_000)
    with pytest.raises(OutliveError) as caught:
        load('[exec]\nquota_bytes = "ten"\n')
    assert caught.value.code == "config_error"
    assert "exec.quota_bytes is not a size" in caught.value.message

"""Job records: their values, their file, and what the type checker finds."""

from __future__ import annotations

import os
import subprocess
import sys
import types
import typing
from pathlib import Path

import pytest

from outlive.core import records
from outlive.core.rights import Rights
from outlive.store.tokens import Token
from outlive.supervisor.request import Request

RECORDS = [records.Definition, records.State, Request, Rights, Token]


def test_what_is_not_given_has_its_default() -> None:
    state = records.State(pid=7)
    assert (state.pid, state.state, state.exit_code) == (7, "running", None)


def test_a_record_is_frozen() -> None:
    state = records.State()
    with pytest.raises(AttributeError, match="frozen"):
        state.pid = 7
    assert state.pid is None


def test_replace_makes_another_record() -> None:
    running = records.State(pid=7)
    ended = running.replace(state="exited", exit_code=3)
    assert (ended.pid, ended.exit_code, running.exit_code) == (7, 3, None)


def test_an_unknown_name_is_a_mistake_of_the_code() -> None:
    with pytest.raises(TypeError, match="colour"):
        records.State(colour="red")
    with pytest.raises(AttributeError):
        records.State().colour  # noqa: B018


def test_an_unknown_name_in_a_file_is_passed_over() -> None:
    assert records.State.of({"pid": 7, "of_a_newer_version": 1}) == records.State(pid=7)


def test_a_record_survives_being_written_and_read() -> None:
    definition = records.Definition(command=["make"], tags=["a"], env={"A": "1"})
    assert records.Definition.of(definition.to_dict()) == definition


def test_changing_the_dictionary_does_not_change_the_record() -> None:
    state = records.State(pid=7)
    state.to_dict()["pid"] = 8
    assert state.pid == 7


def test_records_of_different_kinds_are_different() -> None:
    assert records.State() != records.Definition()
    assert records.State() == records.State()


@pytest.mark.parametrize("name", records.STATES)
def test_only_an_end_is_finished(name: str) -> None:
    assert records.State(state=name).finished == (name in ("exited", "killed", "failed"))


# --- types ---------------------------------------------------------------------------------------------------------

SNIPPET = """\
from outlive.core.records import Definition, State


def misspelt(state: State, definition: Definition) -> None:
    {line}
"""


def checked(line: str, folder: Path) -> str:
    """What `mypy --strict` says of one line about a state and a definition; "" if it finds nothing."""
    path = folder / "snippet.py"
    path.write_text(SNIPPET.format(line=line), encoding="utf-8")
    words = ["--strict", "--follow-imports=silent", "--no-error-summary", f"--cache-dir={os.devnull}", str(path)]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *words], capture_output=True, text=True, cwd=folder, timeout=300, check=False
    )
    assert not done.stderr, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_type_checker_finds_a_misspelt_name_of_a_record(tmp_path: Path) -> None:
    lines = {
        "state.exit_cod": "attr-defined",
        'definition.replace(titel="a")': "call-arg",
        "State(exit_cod=1)": "call-arg",
        'state.replace(exit_code="1")': "arg-type",
        "state.exit_code = 1": "misc",  # frozen
    }
    said = checked("\n    ".join(lines), tmp_path)
    assert [line.rpartition("[")[2].strip("]") for line in said.splitlines()] == list(lines.values()), said
    assert not checked('print(state.exit_code, definition.replace(title="a").title)', tmp_path)


@pytest.mark.parametrize("kind", RECORDS)
def test_every_value_of_a_record_has_the_type_that_it_is_declared_with(kind: type[records.Record]) -> None:
    assert list(kind.__annotations__) == list(kind.FIELDS)
    for name, nullable, plain in kind._EXPECTED:
        text = kind.__annotations__[name].replace("Identity", "dict[str, Any]")
        declared = eval(text, {"Any": typing.Any})
        default = kind.FIELDS[name]
        assert nullable == (default is None) == isinstance(declared, types.UnionType), name
        one = typing.get_args(declared)[0] if nullable else declared
        assert plain is (typing.get_origin(one) or one), name
        assert nullable or type(default) is plain, name


def test_every_record_is_in_that_test() -> None:
    assert {kind for kind in records.Record.__subclasses__() if kind.__module__.startswith("outlive.")} == {*RECORDS}

"""Job records: their values, their file, and what the type checker finds."""

import importlib
import os
import re
import subprocess
import sys
import types
import typing
from pathlib import Path

import pytest

import outlive
from outlive import answers
from outlive.answers.job import Elsewhere
from outlive.core import records
from outlive.core.record import ABSENT, Record, Value

SOURCE = Path(outlive.__file__).parent
DECLARES = re.compile(r"^class (\w+)\(\s*(?:Record|Word)\b", re.MULTILINE)


def below(kind: type[Record]) -> list[type[Record]]:
    return [one for inner in kind.__subclasses__() for one in (inner, *below(inner))]


def name_of(kind: type[Record]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def declared() -> dict[str, list[str]]:
    """Return the names of the records that each module declares, of the parts that are here too."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        if names := DECLARES.findall(path.read_text(encoding="utf-8")):
            found[".".join(("outlive", *path.relative_to(SOURCE).with_suffix("").parts))] = names
    return found


def every_record() -> list[type[Record]]:
    """In one order in all workers: they imported the modules in different ones."""
    for module in sorted(declared()):
        importlib.import_module(module)
    known = {kind for kind in below(Record) if kind.__module__.startswith("outlive.") and _is_read(kind)}
    return sorted(known, key=name_of)


def _is_read(kind: type[Record]) -> bool:
    """Whether it is read from JSON: its types are known when it is made."""
    types_known = not any(isinstance(declared, str) for declared in kind.__annotations__.values())
    return types_known and not issubclass(kind, (answers.Fields, Value))


RECORDS = every_record()
# Made in a process, and never read from a file
NOT_READ = {
    f"outlive.{name}"
    for name in (
        "answers.__init__.Fields",
        "core.record.Value",
        "jobs.starting.plan.Plan",
    )
}


def test_what_is_not_given_has_its_default() -> None:
    state = records.State(pid=7)
    assert (state.pid, state.state, state.exit_code) == (7, "running", None)


def test_a_record_is_frozen() -> None:
    state = records.State()
    with pytest.raises(AttributeError, match="frozen"):
        state.pid = 7  # type: ignore[misc]  # mypy says so too
    assert state.pid is None


def test_replace_makes_another_record() -> None:
    running = records.State(pid=7)
    ended = records.State.replace(running, state="exited", exit_code=3)
    assert (ended.pid, ended.exit_code, running.exit_code) == (7, 3, None)


def test_an_unknown_name_is_a_mistake_of_the_code() -> None:
    with pytest.raises(TypeError, match="colour"):
        records.State(colour="red")  # type: ignore[call-arg]  # the mistake
    with pytest.raises(AttributeError):
        records.State().colour  # type: ignore[attr-defined]  # noqa: B018  # the mistake


def test_an_unknown_name_in_a_file_is_passed_over() -> None:
    content = {"pid": 7, "of_a_newer_version": 1}
    assert records.SupervisorId.of(content) == records.SupervisorId(pid=7)
    assert records.State.of(content) == records.State(pid=7, kept={"of_a_newer_version": 1}), "a part may know it"


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
        'Definition.replace(definition, titel="a")': "call-arg",
        "State(exit_cod=1)": "call-arg",
        'State.replace(state, exit_code="1")': "arg-type",
        "state.exit_code = 1": "misc",  # frozen
    }
    said = checked("\n    ".join(lines), tmp_path)
    errors = [line for line in said.splitlines() if ": error: " in line]  # a note says where `replace` is defined
    assert [line.rpartition("[")[2].strip("]") for line in errors] == list(lines.values()), said
    assert not checked('print(state.exit_code, Definition.replace(definition, title="a").title)', tmp_path)


def test_every_value_of_a_record_has_the_type_that_it_is_declared_with() -> None:
    for kind in RECORDS:
        hints = typing.get_type_hints(kind)
        assert list(kind.FIELDS) == [name for name, _ in kind.layout().types], kind
        for name, in_json in kind.layout().types:
            where = f"{name_of(kind)}.{name}"
            declared, default = hints[name], kind.FIELDS[name]
            options = typing.get_args(declared) if isinstance(declared, types.UnionType) else (declared,)
            plain = [typing.get_origin(one) or one for one in options]
            assert in_json == tuple(dict if issubclass(one, Record) else one for one in plain), where
            assert default is ABSENT or type(default) in plain, where


def test_every_record_is_in_that_test() -> None:
    known = {name_of(kind) for kind in RECORDS}
    assert {f"outlive.core.records.{name}" for name in ("Definition", "State")} <= known
    assert {f"{module}.{name}" for module, names in declared().items() for name in names} - known == NOT_READ


class Part(Record, omitted=("note",)):
    number: int = 0
    note: str | None = None


class Given(Record):
    must: int


class Whole(Record):
    one: Part | None = None
    many: list[Part] = []
    named: dict[str, Part] | None = None
    texts: list[str] = []
    given: Given | None = None


def test_records_in_a_record_are_written_and_read_with_it() -> None:
    whole = Whole(
        one=Part(number=1), many=[Part(), Part(note="x")], named={"a": Part()}, texts=["x"], given=Given(must=1)
    )
    written = {"one": {"number": 1}, "many": [{"number": 0}, {"number": 0, "note": "x"}], "named": {"a": {"number": 0}}}
    written |= {"texts": ["x"], "given": {"must": 1}}
    assert whole.to_dict() == written
    assert Whole.of(written) == whole
    assert Whole.misfit(written) is None


def test_a_misfit_is_named_with_its_path() -> None:
    rows: list[tuple[dict[str, typing.Any], str]] = [
        ({"one": {"number": "1"}}, "one.number"),
        ({"one": []}, "one"),
        ({"many": None}, "many"),
        ({"many": [{}, {"note": 1}]}, "many[1].note"),
        ({"many": [1]}, "many[0]"),
        ({"named": {"a": {"number": None}}}, "named.a.number"),
        ({"texts": ["a", 1]}, "texts[1]"),
        ({"given": {}}, "given.must"),
    ]
    for content, name in rows:
        assert Whole.misfit(content) == name


def test_a_part_of_an_answer_refuses_a_field_that_it_does_not_have() -> None:
    known: dict[str, typing.Any] = {"machine": "x"}
    unknown: dict[str, typing.Any] = {"machin": "x"}
    assert Elsewhere(**known).to_dict() == known
    with pytest.raises(TypeError, match="machin'"):
        Elsewhere(**unknown)

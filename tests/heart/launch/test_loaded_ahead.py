"""An update of outlive may replace its files at any time: what a long-lived process may import later is loaded ahead.

A server has its code in memory besides (tests/heart/durability/test_updates.py)."""

from __future__ import annotations

import ast
import functools
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import outlive
from outlive import parts
from outlive.part import OfJob

SOURCE = Path(outlive.__file__).parent
OURS = "[name for name in sys.modules if name.partition('.')[0] == 'outlive']"


def test_guardian_and_supervisor_import_nothing_of_ours_later_but_large_code() -> None:
    loaded = _loaded("import outlive.supervisor.guardian")
    assert _reachable(loaded, HOOKS) - loaded == set()


def test_a_fork_server_has_loaded_large_code_too() -> None:
    loaded = _loaded("from outlive.launch import fork_server; fork_server.large_code.load()")
    assert {parts.EMULATOR, *map(parts.in_supervisor, (*parts.IN_SUPERVISOR, parts.CONFINES))} <= loaded
    assert _reachable(loaded, HOOKS) == loaded


# What a part does for a job in a caller (part.py): no supervisor calls it
HOOKS = frozenset(name for name, hook in vars(OfJob).items() if callable(hook))
IN_A_SERVER = frozenset({"tools", "reads_object", "longest_call_ms"})
# A fork for each verb: the interpreter and what all of them load are the same
FOR_EACH = f"""
import json, os, sys
from outlive import parts, verbs
from outlive.cli import main
from outlive.core.object_reference import resolve_name
for verb in sys.argv[1:]:
    if os.fork() == 0:
        verbs.load(verb)
        for followed in filter(None, map(parts.follows, ("log", "list"))):
            resolve_name(followed)
        main.load_what_answers_need()
        print(json.dumps({OURS}), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0
"""
# Loaded before the wait: a look at a condition, or the program, comes first
EARLY = (
    "outlive.jobs.several",
    f"{parts.__name__}.outside.http_get",  # a run of the heart alone passes over files that import a part
)


def test_a_command_line_has_loaded_what_its_answer_may_need_when_it_waits_long() -> None:
    words = ["wait", "run", "start", "restart", "kill", "poll", "log", "list", "events", "notify set"]
    done = subprocess.run([sys.executable, "-c", FOR_EACH, *words], capture_output=True, check=True, timeout=60)
    for verb, line in zip(words, done.stdout.splitlines(), strict=True):
        loaded = set(json.loads(line))
        assert _reachable(loaded) - loaded - set(EARLY) == set(), verb


@pytest.mark.parametrize("library", ["re2", "pyte"])
def test_a_call_that_waits_long_does_not_fail_for_a_library_that_is_missing(library: str) -> None:
    loaded = _loaded(f"sys.modules[{library!r}] = None; from outlive.cli import main; main.load_what_answers_need()")
    assert "outlive.supervisor.guardian" in loaded


@pytest.mark.parametrize("module", ["outlive.cli.summary", parts.EMULATOR])
def test_a_call_that_waits_long_does_not_fail_for_a_file_that_an_update_takes_away_meanwhile(module: str) -> None:
    """The importer has found it when it reads it."""
    folder, _, name = module.replace(".", "/").rpartition("/")
    taken = f"{folder}/{name}.", f"{folder}/__pycache__/{name}."  # its source, and its bytecode
    loaded = _loaded(
        "from importlib.machinery import SourceFileLoader as Loader; read = Loader.get_data; "
        f"Loader.get_data = lambda self, path: read(self, '/gone' if any(map(path.__contains__, {taken})) else path); "
        "from outlive.cli import main; main.load_what_answers_need()"
    )
    assert module not in loaded and "outlive.supervisor.guardian" in loaded


def _loaded(code: str) -> set[str]:
    """The modules of ours that this code loads, in an interpreter of its own."""
    words = [sys.executable, "-c", f"import json, sys; {code}; print(json.dumps({OURS}))"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    return set(json.loads(done.stdout))


def _reachable(loaded: Iterable[str], never_called: frozenset[str] = IN_A_SERVER) -> set[str]:
    """These modules, what they may import at any time, what that may import, and so on."""
    seen = set(loaded)
    todo = sorted(seen)
    while todo:
        found = _imported(todo.pop(), never_called) - seen
        seen |= found
        todo += sorted(found)
    return seen


@functools.cache
def _imported(module: str, never_called: frozenset[str]) -> set[str]:
    """The modules of ours that a module imports at any time, other than for a type checker, or in these functions."""
    nodes = [*ast.walk(ast.parse(_file(module).read_bytes()))]
    tests = [node for node in nodes if isinstance(node, ast.If) and _named(node.test) == "TYPE_CHECKING"]
    branches = [branch for test in tests for branch in test.body]
    branches += [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name in never_called]
    never = {id(node) for branch in branches for node in ast.walk(branch)}
    imported: set[str] = set()
    for node in nodes:
        if id(node) in never:
            continue
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
        if isinstance(node, ast.Call) and _named(node.func) == "resolve_name":
            names = [str(ast.literal_eval(one)).partition(":")[0] for one in node.args if isinstance(one, ast.Constant)]
        imported |= {name for name in names if name.startswith("outlive") and _file(name).exists()}
    return imported


def _named(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _file(module: str) -> Path:
    place = SOURCE.parent / module.replace(".", os.sep)
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")

"""Code that is held in memory: what is imported after its files were replaced or deleted."""

from __future__ import annotations

import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import outlive
from outlive.system import held_code

SOURCE = Path(outlive.__file__).parent
# Each program runs in an interpreter of its own: the modules of this one are loaded already.
HOLD = "import os, shutil, sys; sys.path[:0] = sys.argv[1:]; from outlive.system.held_code import hold; "


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The package `thing` with a module and a package below it, as Python has compiled them."""
    made = tmp_path / "thing"
    for name, text in {
        "__init__.py": "",
        "one.py": "WHAT = 'old'",
        "deep/__init__.py": "WHAT = 'old'",
        "deep/two.py": "from thing.one import WHAT",
    }.items():
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text(text)
        py_compile.compile(str(made / name))
    return made


def run(code: str, package: Path, *flags: str) -> str:
    words = [sys.executable, "-I", "-S", *flags, "-c", HOLD + code, str(SOURCE.parent), str(package.parent)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert not done.returncode, done.stderr
    return done.stdout


def replaced(package: Path) -> str:
    """A line of Python that puts a version into the package's place which cannot be imported."""
    new = package.parent / "new"
    shutil.copytree(package, new, ignore=shutil.ignore_patterns("__pycache__"))
    for path in new.rglob("*.py"):
        path.write_text("raise ImportError('the new version')")
    return f"shutil.rmtree({str(package)!r}); shutil.move({str(new)!r}, {str(package)!r}); "


def test_a_module_that_is_held_is_imported_after_its_files_are_gone(package: Path) -> None:
    code = f"hold('thing'); shutil.rmtree({str(package)!r}); "
    code += "import thing.deep, thing.deep.two as two; print(two.WHAT, thing.deep.__path__[0], two.__file__)"
    assert run(code, package).split() == ["old", f"{package}/deep", f"{package}/deep/two.py"]


def test_a_module_that_is_held_is_the_old_one_when_a_new_version_lies_in_its_place(package: Path) -> None:
    code = f"hold('thing.deep', 'thing.one'); {replaced(package)}import thing.deep.two as two; print(two.WHAT)"
    assert run(code, package) == "old\n"


def test_a_module_in_an_image_is_imported_from_there_when_the_file_of_the_image_is_closed(package: Path) -> None:
    code = "from outlive.system import held_code; fd = held_code.image('thing'); held_code.serve(fd); os.close(fd); "
    code += f"{replaced(package)}import thing.deep.two as two; print(two.WHAT, two.__file__)"
    assert run(code, package).split() == ["old", f"{package}/deep/two.py"]


def test_what_is_held_already_goes_into_an_image_as_it_is(package: Path) -> None:
    code = f"from outlive.system import held_code; hold('thing'); {replaced(package)}fd = held_code.image('thing'); "
    code += "held_code._held.clear(); held_code.serve(fd); import thing.deep.two as two; print(two.WHAT)"
    assert run(code, package) == "old\n"


def test_what_was_not_held_is_looked_for_on_disk(package: Path) -> None:
    code = f"hold('thing.one', 'thing.none', 'nothing'); {replaced(package)}import thing.one\n"
    code += "try: import thing.deep\nexcept ImportError as error: print(error)"
    assert run(code, package) == "the new version\n"


@pytest.mark.parametrize("flags", [[], ["-B"], ["-O"]])
def test_bytecode_that_is_not_of_this_source_is_not_held(package: Path, flags: list[str]) -> None:
    (package / "one.py").write_text("WHAT = 'changed'")
    shutil.rmtree(package / "deep" / "__pycache__")
    code = f"hold('thing'); shutil.rmtree({str(package)!r}); from thing.deep.two import WHAT; print(WHAT)"
    assert run(code, package, *flags) == "changed\n"


def test_the_code_of_another_interpreter_comes_through_an_open_file(package: Path) -> None:
    code = f"{held_code.BOOT}from thing.deep import two; print(two.WHAT, [p for p in sys.path if 'outlive' in p], file=sys.stderr)"
    starter = "from outlive.system import fds, held_code; fd = held_code.image('thing'); "
    starter += f"shutil.rmtree({str(package)!r}); os.dup2(fd, 1); "
    starter += f"os.execv(sys.executable, [sys.executable, '-I', '-S', '-c', {code!r}])"
    words = [sys.executable, "-I", "-S", "-c", HOLD + starter, str(SOURCE.parent), str(package.parent)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == "old []\n"


def test_source_without_bytecode_is_compiled_as_by_an_import() -> None:
    """Not with the __future__ of the module that compiles it: a record reads the types of its values."""
    namespace: dict[str, object] = {}
    exec(held_code._code(b"value: int = 1\n", "module.py"), namespace)
    assert namespace["__annotations__"] == {"value": int}

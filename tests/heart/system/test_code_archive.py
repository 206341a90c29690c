"""Code in memory: what is imported after its files were replaced or deleted."""

from __future__ import annotations

import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import outlive

SOURCE = Path(outlive.__file__).parent
# Each program runs in an interpreter of its own, with the package `thing` loaded and in an archive
KEEP = """
import os, shutil, sys
sys.path[:0] = sys.argv[1:]
from outlive.system import code_archive, fds
import thing
fd = fds.memory_file("thing", b"")
"""
IN_FORK = "code_archive.write_in_fork(fd, 'thing', 'nothing')\n"
HERE = "code_archive.write(fd, 'thing', 'nothing')\n"
USE = "code_archive.import_from(fd, 'thing')\n"


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
    words = [sys.executable, "-I", "-S", *flags, "-c", KEEP + code, str(SOURCE.parent), str(package.parent)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert not done.returncode, done.stderr
    return done.stdout


def replaced(package: Path) -> str:
    """A line of Python that puts a version into the package's place which cannot be imported."""
    new = package.parent / "new"
    shutil.copytree(package, new, ignore=shutil.ignore_patterns("__pycache__"))
    for path in new.rglob("*.py"):
        path.write_text("raise ImportError('the new version')")
    return f"shutil.rmtree({str(package)!r}); shutil.move({str(new)!r}, {str(package)!r})\n"


@pytest.mark.parametrize("write", [IN_FORK, HERE])
def test_a_module_is_imported_after_its_files_are_gone(package: Path, write: str) -> None:
    code = f"{write}{USE}shutil.rmtree({str(package)!r}); import thing.deep.two as two; print(two.WHAT)"
    assert run(code, package) == "old\n"


def test_a_module_is_the_old_one_when_a_new_version_lies_in_its_place(package: Path) -> None:
    code = f"import thing.deep\n{IN_FORK}{USE}{replaced(package)}import thing.deep.two as two; print(two.WHAT)"
    assert run(code, package) == "old\n"


@pytest.mark.parametrize("flags", [[], ["-B"], ["-O"]])
def test_bytecode_that_is_not_of_its_source_is_passed_over(package: Path, flags: list[str]) -> None:
    (package / "one.py").write_text("WHAT = 'changed'")
    shutil.rmtree(package / "deep" / "__pycache__")
    code = f"{IN_FORK}{USE}shutil.rmtree({str(package)!r}); from thing.deep.two import WHAT; print(WHAT)"
    assert run(code, package, *flags) == "changed\n"


def test_another_interpreter_imports_through_an_open_file(package: Path) -> None:
    program = "import sys; sys.path[:0] = sys.argv[1:]; from thing.deep import two; print(two.WHAT, file=sys.stderr)"
    code = f"{IN_FORK}shutil.rmtree({str(package)!r}); os.dup2(1, 2); os.dup2(fd, 1)\n"
    code += f"os.execv(sys.executable, [sys.executable, '-I', '-S', '-c', {program!r}, code_archive.path_of(1)])"
    assert run(code, package) == "old\n"


def test_an_archive_that_cannot_be_written_is_an_error(package: Path) -> None:
    code = "os.close(fd)\ntry: code_archive.write_in_fork(fd, 'thing')\nexcept OSError as error: print(error)"
    assert run(code, package).startswith("the code of outlive could not be copied")


def test_no_child_is_waited_for_where_the_kernel_reaps_them(package: Path) -> None:
    code = f"import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)\n{IN_FORK}{USE}"
    code += f"shutil.rmtree({str(package)!r}); import thing.one; print(thing.one.WHAT)"
    assert run(code, package) == "old\n"

"""Private parts of Python that the lower rooms lean on: a Python that changes one fails here, by name.

Those of the packages below the MCP server are in outlive/mcp/private_parts.py.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import outlive
from outlive.system import fds, held_code

SOURCE = Path(outlive.__file__).parent
# Where each is used. `_json` and `_signal` have a fallback, which costs milliseconds at every start. (`_thread` is
# documented, and always there.)
PRIVATE_MODULES = {
    "system/held_code.py": {"_frozen_importlib", "_frozen_importlib_external"},
    "fastjson.py": {"_json"},
    "mcp/threads.py": {"_thread"},
    "system/fds.py": {"_socket", "_thread"},
    "system/prctl.py": {"_ctypes"},
    "system/signals.py": {"_signal"},
    "store/cleanup/deletions.py": {"_thread"},
}
LEAN = """
import sys
sys.path.insert(0, sys.argv[1])
from outlive import fastjson
from outlive.system import fds, signals
assert fastjson.loads(fastjson.dumps({"a": [1.5, "b", None]})) == {"a": [1.5, "b", None]}
assert signals.name_of(signals.number_of("TERM")) == "SIGTERM"
here, there = fds.pair()
fds.send(here, b"x", (0,))
assert fds.receive(there, 10)[0] == b"x"
print(*sys.modules)
"""


def test_private_modules_of_python_are_imported_where_this_list_says() -> None:
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        source = path.read_bytes()
        for node in ast.walk(ast.parse(source)) if re.search(rb"\b(import|from) _[a-z]", source) else ():
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            names += [str(node.module)] if isinstance(node, ast.ImportFrom) else []
            private = {name for name in names if name.startswith("_") and name != "__future__"}
            if private:
                found.setdefault(str(path.relative_to(SOURCE)), set()).update(private)
    assert found == PRIVATE_MODULES


def test_the_halves_in_c_do_without_the_modules_around_them() -> None:
    words = [sys.executable, "-I", "-S", "-c", LEAN, str(SOURCE.parent)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert not {"json", "re", "signal", "socket", "selectors", "enum"} & set(done.stdout.split())


def test_a_socket_in_c_accepts_as_a_file_descriptor(tmp_path: Path) -> None:
    listener, caller = fds.new_socket(), fds.new_socket()
    listener.bind(str(tmp_path / "socket"))
    listener.listen(1)
    caller.connect(str(tmp_path / "socket"))
    accepted = fds.accept(listener)
    fds.send(caller, b"hello")
    assert fds.receive(accepted, 10) == (b"hello", [])
    for sock in (listener, caller, accepted):
        sock.close()


def test_bytecode_lies_where_and_as_it_is_read(tmp_path: Path) -> None:
    """Its header (PEP 552): magic number, flags, and of the source the time in seconds and the size."""
    source = tmp_path / "module.py"
    source.write_text("answer = 42\n", encoding="utf-8")
    spec = importlib.util.spec_from_file_location("module", source)
    assert spec is not None and spec.loader is not None
    writes, sys.dont_write_bytecode = sys.dont_write_bytecode, False
    try:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    finally:
        sys.dont_write_bytecode = writes
    data = held_code._data(str(source))
    assert data[:4] == importlib.util.MAGIC_NUMBER, "the source was read, as if there were no bytecode"
    namespace: dict[str, object] = {}
    exec(held_code._code(data, str(source)), namespace)
    assert namespace["answer"] == 42


def test_the_python_that_a_virtual_environment_was_made_of_is_known() -> None:
    assert os.access(sys._base_executable, os.X_OK)  # type: ignore[attr-defined]  # private

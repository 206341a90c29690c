"""Private parts of Python that the lower rooms lean on: a Python that changes one fails here, by name.

Those of the packages below the MCP server are in outlive/mcp/server.py.
"""

from __future__ import annotations

import ast
import importlib.util
import marshal
import os
import re
import sys
from pathlib import Path

import outlive
from outlive.system import code_archive

SOURCE = Path(outlive.__file__).parent
# Where each is used. (`_thread` is documented, and always there.)
PRIVATE_MODULES = {
    "mcp/threads.py": {"_thread"},
    # `threading` runs code after each fork: 0.3 MB of each job
    "store/deletions.py": {"_thread"},
    "store/inbox.py": {"_thread"},
    "system/fds.py": {"_thread"},
    "system/prctl.py": {"_ctypes"},
}


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
    suffix, data = code_archive._code(str(source))
    assert suffix == ".pyc", "the source was read, as if there were no bytecode"
    namespace: dict[str, object] = {}
    exec(marshal.loads(data[16:]), namespace)
    assert namespace["answer"] == 42


def test_the_python_that_a_virtual_environment_was_made_of_is_known() -> None:
    assert os.access(sys._base_executable, os.X_OK)  # type: ignore[attr-defined]  # private

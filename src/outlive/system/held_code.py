"""Code that stays within reach when its files are replaced or deleted.

An update of this package must not touch a running process: `pip install -U` replaces every file,
`pip uninstall` and `pipx uninstall` delete them, and an import that comes later would find another
version or nothing. `hold` therefore reads the modules that this process may still import and serves
them from memory. It reads bytecode as it lies on disk (about 8 KB and 40 µs a module, nothing is
unmarshalled), and forked processes share the pages.

The standard library is not held: an update of this package does not touch it.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, PathFinder, cache_from_source
from marshal import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType, ModuleType

    Held = tuple[str, bool, bytes]  # file name, is it a package, its bytecode file or its source

# PEP 552: magic number, flags, and of the source the time in seconds and the size
_HEADER_BYTES = 16
# Starts an interpreter whose fd 1 is an `image`. It needs no file of ours, and no directory to
# import from.
BOOT = (
    "import marshal, os, sys\n"
    "held = marshal.loads(os.pread(1, os.fstat(1).st_size, 0))\n"
    f"sys.modules[{__name__!r}] = module = type(sys)({__name__!r})\n"
    f"file, _, data = held[{__name__!r}]\n"
    f"code = marshal.loads(data[{_HEADER_BYTES}:]) if data[:4] == {MAGIC_NUMBER!r} else compile(data, file, 'exec')\n"
    "exec(code, module.__dict__)\n"
    "module.serve(held)\n"
)
_held: dict[str, Held] = {}  # what was not imported yet
# Modules, and packages with everything below them, that need not be read again
_known: set[str] = set()


def hold(*names: str) -> None:
    """Keep within reach what these modules, and packages with everything below them, have not
    loaded yet.

    A name that cannot be found is passed over: the import will say why.
    """
    wanted = [name for name in names if name not in _known]
    if wanted:
        serve(_read({module: file for module, file in _find(wanted) if module not in sys.modules}))
        _known.update(wanted)


def image(*names: str) -> bytes:
    """Return these modules and packages, loaded or not, for another interpreter (`BOOT`)."""
    return dumps(_read(dict(_find([*names, __name__]))) | _held)


def serve(held: dict[str, Held]) -> None:
    """Import these modules from memory from now on."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
    _held.update(held)
    _known.update(held)


class _Finder:
    """Finder and loader of the modules that are held (PEP 451)."""

    @classmethod
    def find_spec(cls, name: str, _path: Sequence[str] | None = None, _target: object = None) -> ModuleSpec | None:
        if name not in _held:
            return None
        file, is_package, _ = _held[name]
        spec = ModuleSpec(name, cls, origin=file, is_package=is_package)  # type: ignore[arg-type]
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [os.path.dirname(file)]
        return spec

    @staticmethod
    def create_module(_spec: ModuleSpec) -> None:
        """Let Python make it."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        file, _, data = _held[module.__name__]
        exec(_code(data, file), module.__dict__)  # noqa: S102 - what every loader does
        _held.pop(module.__name__, None)


def _code(data: bytes, file: str) -> CodeType:
    code: CodeType = loads(data[_HEADER_BYTES:]) if data[:4] == MAGIC_NUMBER else compile(data, file, "exec")
    return code


def _read(files: dict[str, str]) -> dict[str, Held]:
    found = {}
    for module, file in files.items():
        try:
            found[module] = file, file.endswith("__init__.py"), _data(file)
        except OSError:  # it is being replaced just now
            continue
    return found


def _find(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (module, file) of each name: its parents, itself, and everything below it."""
    for name in names:
        place = _place_of(name)
        if place is None:
            continue
        parent, above = name.rpartition(".")[0], os.path.dirname(place)
        while parent:
            yield parent, f"{above}/__init__.py"
            parent, above = parent.rpartition(".")[0], os.path.dirname(above)
        yield from _files(name, place)


def _place_of(name: str) -> str | None:
    """Return the path of a module without its `.py`, None if it is no file of Python's own kind."""
    top, _, rest = name.partition(".")
    module = sys.modules.get(top)
    spec = PathFinder.find_spec(top) if module is None else module.__spec__
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return None
    place = spec.origin.removesuffix(".py").removesuffix("/__init__")
    return os.path.join(place, *rest.split(".")) if rest else place


def _files(name: str, place: str) -> Iterator[tuple[str, str]]:
    """Yield (module, file) for a module, or for a package and everything below it."""
    if not os.path.isdir(place):
        yield name, f"{place}.py"
        return
    for entry in sorted(os.listdir(place)):
        if entry == "__init__.py":
            yield name, f"{place}/{entry}"
        elif entry.endswith(".py"):
            yield f"{name}.{entry[:-3]}", f"{place}/{entry}"
        elif entry != "__pycache__" and os.path.isfile(f"{place}/{entry}/__init__.py"):
            yield from _files(f"{name}.{entry}", f"{place}/{entry}")


def _data(file: str) -> bytes:
    """Return the bytecode of a source file, or the source where there is none that is up to date.
    Errors: OSError."""
    try:
        data = _contents(cache_from_source(file))
    except (OSError, NotImplementedError):  # none was written; or this Python writes none
        return _contents(file)
    status = os.stat(file)
    fresh = (0, int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)
    header = tuple(int.from_bytes(data[at : at + 4], "little") for at in (4, 8, 12))
    return data if data[:4] == MAGIC_NUMBER and header == fresh else _contents(file)


def _contents(file: str) -> bytes:
    fd = os.open(file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, os.fstat(fd).st_size)
    finally:
        os.close(fd)

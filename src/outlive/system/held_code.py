"""Code that stays within reach when its files are replaced or deleted.

An update of this package must not touch a running process: `pip install -U` replaces every file,
`pip uninstall` and `pipx uninstall` delete them, and an import that comes later would find another
version or nothing. `hold` therefore reads the modules that this process may still import and serves
them from memory. It reads bytecode as it lies on disk (about 8 KB and 40 µs a module, nothing is
unmarshalled), and forked processes share the pages.

A process that may still need much code makes an `image` of it: a file in memory. No process maps a
page of it before it imports the module on that page.

The standard library is not held: an update of this package does not touch it.
"""

from __future__ import annotations

import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import MAGIC_NUMBER, PathFinder, cache_from_source
from itertools import chain
from marshal import dumps, loads
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import CodeType, ModuleType

    Code = bytes | memoryview  # a bytecode file, or a source where there is none
    Held = tuple[str, bool, Code]  # file name, is it a package, its code

# PEP 552: magic number, flags, and of the source the time in seconds and the size
_HEADER_BYTES = 16
# An image ends with its index and the length of the index:
# module → (file name, is it a package, where its code begins, how long that is)
_LENGTH_BYTES = 8
# Starts an interpreter whose fd 1 is an `image`. It needs no file of ours, and no directory to
# import from.
BOOT = (
    "import marshal, mmap, os, sys\n"
    "image = memoryview(mmap.mmap(1, 0, access=mmap.ACCESS_READ))\n"
    f"length = int.from_bytes(image[-{_LENGTH_BYTES}:], 'little')\n"
    f"file, _, at, size = marshal.loads(image[-{_LENGTH_BYTES} - length:])[{__name__!r}]\n"
    "data = image[at : at + size]\n"
    f"sys.modules[{__name__!r}] = module = type(sys)({__name__!r})\n"
    f"code = marshal.loads(data[{_HEADER_BYTES}:]) if data[:4] == {MAGIC_NUMBER!r} else compile(data, file, 'exec')\n"
    "exec(code, module.__dict__)\n"
    "module.serve(image)\n"
)
_images: list[memoryview] = []  # never let go: the fd in a mapping may be that of another file by now
_held: dict[str, Held] = {}  # what was not imported yet
# Modules, and packages with everything below them, that need not be read again
_known: set[str] = set()


def hold(*names: str) -> None:
    """Keep within reach what these modules, and packages with everything below them, have not loaded yet. A name that
    cannot be found is passed over: the import will say why."""
    wanted = [name for name in names if name not in _known]
    if wanted:
        files = {module: file for module, file in _find(wanted) if module not in sys.modules}
        _import_from(dict(_read(files)))
        _known.update(wanted)


def image(*names: str) -> int:
    """Return an fd of a file in memory with these modules and packages, loaded or not, and with
    what is held already: for another interpreter (`BOOT`), or for `serve`. Errors: OSError."""
    from outlive.system import fds  # late: `BOOT` runs this module before it can import another one

    files = {module: file for module, file in _find([*names, __name__]) if module not in _held}
    fd = fds.memory_file("outlive", b"")
    try:
        index, end = {}, 0
        for module, (file, is_package, data) in chain([*_held.items()], _read(files)):
            fds.write_all(fd, data)
            index[module] = file, is_package, end, len(data)
            end += len(data)
        ending = dumps(index)
        fds.write_all(fd, ending + len(ending).to_bytes(_LENGTH_BYTES, "little"))
    except BaseException:
        os.close(fd)
        raise
    return fd


def serve(image: int | memoryview) -> None:
    """Import from an image, an fd or its mapping, what is in it and not loaded yet."""
    if isinstance(image, int):
        import mmap  # late: a short call makes no image

        image = memoryview(mmap.mmap(image, 0, access=mmap.ACCESS_READ))
    length = int.from_bytes(image[-_LENGTH_BYTES:], "little")
    index = loads(image[-_LENGTH_BYTES - length :])
    _images.append(image)
    _import_from(
        {
            module: (file, is_package, image[at : at + size])
            for module, (file, is_package, at, size) in index.items()
            if module not in sys.modules
        }
    )


def _import_from(held: dict[str, Held]) -> None:
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


def _code(data: Code, file: str) -> CodeType:
    if data[:4] == MAGIC_NUMBER:
        code: CodeType = loads(data[_HEADER_BYTES:])
        return code
    # Else the module would inherit `annotations` from the __future__ of this one (compile())
    return compile(data, file, "exec", dont_inherit=True)


def _read(files: dict[str, str]) -> Iterator[tuple[str, Held]]:
    """Yield each module and its code."""
    for module, file in files.items():
        try:
            yield module, (file, file.endswith("__init__.py"), _data(file))
        except OSError:  # it is being replaced just now
            continue


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
    """Return the bytecode of a source file, or the source if that is not up to date. Errors: OSError."""
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

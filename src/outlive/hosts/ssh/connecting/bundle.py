"""What we carry to another machine: a zipapp of the parts that need the standard library alone."""

from __future__ import annotations

import hashlib
import io
import os

import outlive
from outlive.annotations import Iterator

# Rooms that a job elsewhere has no use for, or that need a library
_LEFT_HERE = frozenset("mcp client_config cli verbs web demo.py __main__.py __pycache__".split())
_MAIN = b"from outlive.far.main import main\n\nraise SystemExit(main())\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same files make the same bundle


class Bundle:
    """The files of the bundle. They are read when `name` is first asked for."""

    def __init__(self) -> None:
        self._files: dict[str, bytes] = {}
        self._name = ""

    @property
    def name(self) -> str:
        """The name of the bundle, which changes with the contents of the files: another version
        never replaces the files of a copy that runs."""
        if not self._name:
            self._files = dict(_files())
            digest = hashlib.sha256()
            for name, data in self._files.items():
                digest.update(f"{name}\0{len(data)}\0".encode() + data)
            self._name = f"{outlive.__version__}-{digest.hexdigest()[:16]}"
        return self._name

    def zipped(self) -> bytes:
        """Return the zipapp (PEP 441)."""
        import zipfile  # late: 14 ms, for a host that has not this version yet

        assert self.name
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
            for name, data in self._files.items():
                archive.writestr(zipfile.ZipInfo(name, _EPOCH), data, zipfile.ZIP_DEFLATED)
        return made.getvalue()


def _files() -> Iterator[tuple[str, bytes]]:
    yield "__main__.py", _MAIN
    top = os.path.dirname(outlive.__file__)
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(set(folders) - _LEFT_HERE)
        inside = os.path.relpath(folder, os.path.dirname(top))
        for name in sorted(names):
            if name.endswith(".py") and not (folder == top and name in _LEFT_HERE):
                with open(os.path.join(folder, name), "rb") as file:
                    yield os.path.join(inside, name), file.read()

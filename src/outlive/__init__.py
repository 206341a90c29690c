"""Commands that outlive the agent, the client and the server that started them."""

from __future__ import annotations

import os
import sys
from _frozen_importlib import ModuleSpec
from _frozen_importlib_external import SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__version__ = "0.1.0"


class _Finder:
    """Finder of the modules of this package (PEP 451).

    For each module Python asks four finders, and the last one lists its directory and tries five
    suffixes. This one saves `outlive status`, which imports 60 modules, 5 % of its time.
    """

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, _target: object = None) -> ModuleSpec | None:
        """Return the spec of a module of this package. None leaves it to the other finders."""
        if not path or not name.startswith("outlive."):
            return None
        place = f"{path[0]}/{name.rpartition('.')[2]}"
        for file, inside in ((f"{place}.py", None), (f"{place}/__init__.py", [place])):
            try:
                os.stat(file)
            except OSError:
                continue
            spec = ModuleSpec(name, SourceFileLoader(name, file), origin=file)
            spec.has_location, spec.submodule_search_locations = True, inside
            return spec
        return None


if isinstance(__spec__.loader, SourceFileLoader):  # this is neither an archive nor held code
    sys.meta_path.insert(0, _Finder)

"""What is hidden from a job in directories that it is shown: each is an empty directory to it.

A directory that is missing is made before the start. Made later, by you or by another process of outlive, the job would see it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from outlive.core.records import Sandbox
from outlive.parts.sandbox.confinement import visible_paths
from outlive.parts.sandbox.confinement.search import Unguarded
from outlive.system.paths import is_folder, is_in, make_folders


def to_cover(sandbox: Sandbox, entries: Mapping[str, str], areas: list[str]) -> list[str]:
    """Return the directories to be covered in `areas`, which the job is shown, outer ones alone: what is in one is gone
    with it. `entries`: those of the home that are shown, each with where it leads. Errors: Unguarded."""
    for path in sorted(sandbox.hide):
        if is_in(path, areas) and path not in sandbox.roots:
            _make(path, may_be_file=sandbox.mode != "workspace-write" or not is_in(path, sandbox.roots))
    places = [(os.path.join(sandbox.home, name), real) for name, real in entries.items()]
    places += visible_paths.of_etc().items()
    # Where one is shown that lies in a directory which a link leads to, of the home or of /etc
    behind = [at + one.removeprefix(real) for one in sandbox.hide for at, real in places if is_in(one, [real])]
    covered: list[str] = []
    for path in sorted({*sandbox.hide, *behind}):
        above = any(is_in(area, [path]) for area in areas) and not any(is_in(root, [path]) for root in sandbox.roots)
        is_shown = (above or is_in(path, areas)) and path not in sandbox.roots
        if is_shown and not is_in(path, covered) and is_folder(path):
            covered.append(path)
    return covered


def _make(path: str, *, may_be_file: bool) -> None:
    """Make a directory that is to be hidden, unless it is there: what leads to a mount cannot be renamed then. A file that
    no job writes stays as it is, as a configuration that a variable names. Errors: Unguarded if another one would be
    hidden, or none."""
    if may_be_file and os.path.isfile(path) and not os.path.islink(path):
        return
    try:
        make_folders(path, 0o700)
    except OSError as error:
        what = f"{error.filename}: {error.strerror}"
        raise Unguarded(
            f"{path} cannot be hidden from the job: it is missing and cannot be made, or a job may have made what is "
            f"there ({what})"
        ) from error

"""Open a file outside the sandbox, for a supervisor, that a job in it could write itself.

The job may change every name below its writable directories while its supervisor opens one, so no
link below them is followed.
"""

from __future__ import annotations

import errno
import os

from outlive.core.real_path import real_path
from outlive.core.records import Sandbox
from outlive.parts.sandbox.confinement import access
from outlive.parts.sandbox.confinement.guard import guarded
from outlive.parts.sandbox.confinement.mounts import require_one_spelling
from outlive.parts.sandbox.confinement.visible_paths import is_in
from outlive.system.fds import DIRECTORY, Closing
from outlive.system.paths import opened


def open_writable(sandbox: Sandbox, path: str, flags: int, mode: int) -> int:
    """Return an fd of the file, in directories that are made. Errors: OSError; EROFS if the job may not write."""
    path = os.path.join(real_path(os.path.dirname(path)), os.path.basename(path))
    root = next((one for one in sandbox.roots if is_in(path, [one])), None)
    names = path.removeprefix(root or "").strip("/").split("/")
    guard = guarded(sandbox)
    if root is None or not access.is_writable(sandbox, path) or guard.keeps(path):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
    require_one_spelling(guard.kept, sandbox.roots)
    folder = opened(root, sandbox.root_ids[sandbox.roots.index(root)])
    for name in names[:-1]:
        with Closing(folder):
            folder = _entered(folder, name)
    with Closing(folder):
        return os.open(names[-1], flags | os.O_NOFOLLOW, mode, dir_fd=folder)


def _entered(folder: int, name: str) -> int:
    """Return an fd of a directory in `folder`, which is made if it is missing."""
    try:
        return os.open(name, DIRECTORY, dir_fd=folder)
    except FileNotFoundError:
        os.mkdir(name, 0o777, dir_fd=folder)
        return os.open(name, DIRECTORY, dir_fd=folder)

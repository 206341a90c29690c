"""Read and replace another program's configuration file as a whole, and keep its first original beside it."""

from __future__ import annotations

import contextlib
import os
import stat

from outlive.core.real_path import real_path
from outlive.errors import OutliveError, from_os
from outlive.system import own_programs, process
from outlive.system.fds import Closing, NotRegular, open_regular
from outlive.system.paths import is_in

MOST_BYTES = 64 << 20
BACKUP = ".before-outlive"  # appended to the file's name


class ConfigFile:
    """A file by its `path`. `real` is the target of links: a linked dotfile stays a link, and its target is changed."""

    def __init__(self, path: str, *, shared: bool = False, project: str | None = None) -> None:
        """`shared`: a new file gets the mode of the umask; else it is for its owner alone. `project`: the directory
        that it has to lie in, since a job may have made it a link."""
        self.path = path
        self.shared = shared
        self.project = project
        self.real = real_path(path)

    def read(self) -> bytes | None:
        """Return the content, or None if there is no file. Errors: io_error."""
        try:
            with Closing(open_regular(self.real)) as fd:
                if os.fstat(fd).st_size > MOST_BYTES:
                    raise OutliveError("io_error", f"{self.path} is too large for a configuration")
                with open(fd, "rb", closefd=False) as file:
                    return file.read()
        except FileNotFoundError:
            return None
        except NotRegular as error:
            raise OutliveError("io_error", f"{self.path} is not a regular file") from error
        except OSError as error:
            raise from_os(f"reading {self.path}", error) from error

    def write(self, before: bytes | None, data: bytes, *, keep: bool = True) -> str | None:
        """Replace `before` by `data`. Return the path of the original, the file as it was before the first change; None
        if there is none. With `keep` False none is made now. Errors: io_error, retryable if another program has changed
        the file; nothing is written."""
        if self._leads_out():
            out = "" if self.project is None else ", out of the project"
            message = f"{self.path} leads to {self.real}{out}; nothing was written"
            raise OutliveError("io_error", message, hint="A job may have made this link: remove it, or use --print.")
        try:
            mode = self._mode(before)
            # rename(2) does not ask for this permission, but the file's owner meant it
            if not mode & 0o222:
                raise OutliveError("io_error", f"{self.path} is read-only; nothing was written", hint="Use --print.")
            backup = None
            if before is not None:
                backup = self.real + BACKUP
                if not os.path.lexists(backup):
                    backup = _replace(backup, before, mode, self.real) if keep else None
            else:
                os.makedirs(os.path.dirname(self.real), mode=0o777 if self.shared else 0o700, exist_ok=True)
            if self.read() != before:
                message = f"{self.path} was changed by another program in this moment; nothing was written"
                raise OutliveError(
                    "io_error", message, retryable=True, hint="Try again; close the client if it goes on."
                )
            _replace(self.real, data, mode, self.real)
        except OSError as error:
            raise from_os(f"writing {self.path}", error) from error
        return backup

    def is_as_it_was(self, data: bytes) -> bool:
        """Return whether this content is that of the original, which is removed then."""
        if self._leads_out():
            return False
        try:
            original = ConfigFile(self.real + BACKUP).read()
            if original is None or original != data:
                return False
            os.unlink(self.real + BACKUP)
        except (OSError, OutliveError):
            return False
        return True

    def _leads_out(self) -> bool:
        if self.project is None:
            return not own_programs.is_followed(self.path, os.environ)
        return not is_in(self.real, [real_path(self.project)])

    def _mode(self, before: bytes | None) -> int:
        if before is not None:
            return stat.S_IMODE(os.stat(self.real).st_mode)
        if not self.shared:
            return 0o600
        return 0o666 & ~process.umask()


def _replace(path: str, data: bytes, mode: int, like: str) -> str:
    """Write a new file, with the owner of the file `like`, and rename it to `path`. Return `path`."""
    temporary = f"{path}.{os.getpid()}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with open(fd, "wb") as file:
            file.write(data)
            file.flush()
            # `like` does not exist yet, or we may not give files away
            with contextlib.suppress(OSError):
                owner = os.stat(like)
                os.fchown(fd, owner.st_uid, owner.st_gid)
            os.fchmod(fd, mode)
            os.fsync(fd)
        os.replace(temporary, path)
        return path
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise

"""Variables of a job: their names, and the files that they are read from."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable

from outlive import limits
from outlive.errors import from_os, invalid


def is_env_name(text: str) -> bool:
    """Return whether every shell can set a variable of this name."""
    return text.isascii() and text.isidentifier()


def check_env(env: dict[str, str]) -> dict[str, str]:
    """Return the variables. Errors: invalid_argument for what no environment can hold."""
    for name, value in env.items():
        if not is_env_name(name):
            raise invalid("env", f"not the name of a variable: {name!r}", hint="Letters, digits and _, no digit first.")
        if "\0" in value:
            raise invalid("env", f"the value of {name} holds a NUL character")
    return dict(env)


def read_env_files(paths: list[str], check: Callable[[int, str, str], None] | None = None) -> dict[str, str]:
    """Return the variables of files with NAME=VALUE lines, blank and # lines skipped; a later file wins. `check` gets
    each as an open fd, and raises if it may not be read. Errors: invalid_argument, io_error."""
    variables: dict[str, str] = {}
    for path in paths:
        try:
            data = _read_regular(path, check)
        except OSError as error:
            raise from_os(f"reading the env file {path}", error) from error
        if len(data) > limits.MAX_ENV_FILE_BYTES:
            raise invalid("env_file", f"{path} is larger than {limits.MAX_ENV_FILE_BYTES:,} bytes")
        for number, line in enumerate(data.decode("utf-8", "surrogateescape").split("\n"), 1):
            text = line.strip(" \t\r")
            if not text or text.startswith("#"):
                continue
            name, equals, value = text.partition("=")
            if not equals or not is_env_name(name.strip()):
                raise invalid("env_file", f"{path}:{number} is not NAME=VALUE", hint="Quotes and export are not read.")
            variables.update(check_env({name.strip(): value}))
    return variables


def _read_regular(path: str, check: Callable[[int, str, str], None] | None) -> bytes:
    """Return the beginning of a plain file. A FIFO or a device could block for ever, or begin something when it is
    opened, and is refused before that."""
    there = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        mode = os.fstat(there).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
        if not stat.S_ISREG(mode):
            raise invalid("env_file", f"{path} is not a plain file")
        if check is not None:
            check(there, path, "env_file")
        with open(os.open(f"/proc/self/fd/{there}", os.O_RDONLY | os.O_CLOEXEC), "rb") as file:
            return file.read(limits.MAX_ENV_FILE_BYTES + 1)
    finally:
        os.close(there)

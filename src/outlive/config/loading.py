"""Load the configuration: the file, and the variables of the environment, which win over it."""

from __future__ import annotations

from collections.abc import Mapping

from outlive.config import Config, file, variables
from outlive.config.checks import check_whole, unreadable


def load(env: Mapping[str, str], path: str, given: list[str], *, must_exist: bool) -> Config:
    """Return what the file at `path` and the variables `given` say. Errors: config_error."""
    values, ignored = variables.of_openclaw(env)
    text = _text(path, must_exist=must_exist)
    if text is not None:
        values |= file.values_in(text, path)
    values |= variables.of_ours(env, given)
    config = Config(values, None if text is None else path, ignored)
    check_whole(config, path)
    return config


def _text(path: str, *, must_exist: bool) -> bytes | None:
    """Return the content of the configuration file; None if there is none. Errors: config_error."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not must_exist:
            return None
        raise unreadable(path, error) from error

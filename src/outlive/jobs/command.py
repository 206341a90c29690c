"""The command of a job, as a caller gives it."""

from __future__ import annotations

import os
import shlex
from typing import Any

from outlive import limits
from outlive.core.members import parse_json
from outlive.core.record import is_passable
from outlive.errors import argument, from_os, invalid
from outlive.jobs.context import Principal
from outlive.system import fds, scripts, spawn


def given_in(args: dict[str, Any]) -> str | list[str]:
    """Return the command of a call, or what is in the file that it names instead. Errors:
    invalid_argument, io_error."""
    path: str | None = args.get("script")
    if path is None:
        return args["command"]  # type: ignore[no-any-return]
    flag = argument("script")
    if args["command"] or (path == "-" and args.get("stdin") == "-"):
        other = "a command" if args["command"] else f"{argument('stdin')} -"
        raise invalid("script", f"not both: {flag} and {other}")
    try:
        with open(0 if path == "-" else fds.open_named(path), "rb", closefd=path != "-") as file:
            data = file.read(limits.MAX_SCRIPT_BYTES + 1)
    except OSError as error:
        raise from_os(f"reading {path}", error) from error
    if b"\0" in data:
        raise invalid("script", f"the file of {flag} contains a NUL character: it is no text")
    return data.decode("utf-8", "surrogateescape")


def words_of(
    caller: Principal, given: str | list[str], shell: str | None
) -> tuple[list[str], list[str] | None, bytes | None]:
    """Return the words of a command as they are stored, the wrapper of a shell string, and the whole
    string if the words are only its beginning.

    Errors: invalid_argument.
    """
    if caller.face == "cli" and len(given) == 1:  # one word of a command line is a shell string
        given = given[0]
    if isinstance(given, str) and _is_array(given):
        given = _array_in(given)
    words = _command(given)
    wrapper = list(_wrapper(caller, shell))
    if not isinstance(given, str):
        return words, None, None
    text = given.encode("utf-8", "surrogateescape")
    if len(text) <= limits.MAX_COMMAND_BYTES:
        return words, wrapper, None
    _require_readable(text, wrapper)
    return [given[: limits.SCRIPT_CHARS]], wrapper, text


def lost_with_its_shell(caller: Principal, words: list[str], shell: list[str] | None) -> list[str]:
    """Return what to do instead of a command that does nothing but change its own shell."""
    verb, _, rest = words[0].strip().partition(" ")
    if shell is None or verb not in ("cd", "export") or any(char in rest for char in ";&|\n"):
        return []
    instead = {"cd": ("workdir", "--cwd"), "export": ("env", "--env")}[verb]
    return [
        f"Every job has a new shell: this {verb} lasts for no other one. Pass {instead[caller.face == 'cli']} with the command it is for."
    ]


def _is_array(text: str) -> bool:
    """Return whether a string is meant as the text of an array: what begins like one of strings, and a list
    of JSON, but not `[ "$x" ]`, which is a command of the shell."""
    text = text.strip()
    if text.startswith('["') or not text.startswith("["):
        return text.startswith("[")
    try:
        words = parse_json(text)
    except ValueError:
        return False
    return isinstance(words, list) and (len(words) > 1 or not text.startswith("[ "))


def _array_in(text: str) -> list[str]:
    """Return the array that some clients send as its text. A shell would take it for a pattern of file
    names. Errors: invalid_argument."""
    try:
        words = parse_json(text)
    except ValueError as error:
        seen = f"is no JSON: {error}"
    else:
        seen = f"is an array of {len(words)} values that are not all strings" if words else "is an empty array"
        if isinstance(words, list) and words and all(isinstance(word, str) for word in words):
            if is_passable("".join(words)):  # an escape may stand for what no program can be given
                return words
            seen = "is an array with a NUL character, or half a character"
    raise invalid(
        "command",
        f"{argument('command')} looks like the text of an array, but {seen}",
        hint='For example ["git", "--version"]; a shell string begins with a program.',
    )


def _command(given: str | list[str]) -> list[str]:
    words = [given] if isinstance(given, str) else list(given)
    if not words or not words[0] or (isinstance(given, str) and not given.strip()):
        raise invalid(
            "command", "the command is empty", hint="Give a shell string, or an array of program and arguments."
        )
    for word in () if isinstance(given, str) else words:
        if len(word.encode("utf-8", "surrogateescape")) > limits.MAX_COMMAND_BYTES:
            raise invalid(
                "command",
                f"one argument is longer than {limits.MAX_COMMAND_BYTES:,} bytes, which the kernel refuses",
                hint=f"Put the text into a file, or pass it with {argument('stdin_data')}.",
            )
    return words


def _require_readable(script: bytes, wrapper: list[str]) -> None:
    if len(script) > limits.MAX_SCRIPT_BYTES:
        raise invalid(
            "command",
            f"the shell string is longer than {limits.MAX_SCRIPT_BYTES:,} bytes (8 MiB)",
            hint="Put it into a file, and run that.",
        )
    if not scripts.can_read(wrapper):
        raise invalid(
            "shell",
            f"`{' '.join(wrapper)}` takes no string of more than {limits.MAX_COMMAND_BYTES:,} bytes, which the kernel refuses",
            hint="bash, sh, dash, ash, ksh, mksh, zsh and busybox take one, where -c is the last of their options.",
        )


def _wrapper(caller: Principal, given: str | None) -> tuple[str, ...]:
    if given is None:
        return caller.shell
    if len(given) > limits.MAX_SHELL_CHARS:  # shlex takes quadratic time, in which a server answers no call
        raise invalid("shell", f"the shell wrapper is longer than {limits.MAX_SHELL_CHARS:,} characters")
    try:
        words = tuple(shlex.split(given))
    except ValueError as error:
        raise invalid("shell", f"the shell wrapper cannot be split into words: {error}") from error
    program = spawn.find(words[0], caller.env) if words else ""
    if not (os.path.isfile(program) and os.access(program, os.X_OK)):
        raise invalid("shell", f"the shell wrapper {given!r} names no program", hint='For example "bash -lc".')
    return words

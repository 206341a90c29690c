"""Turn the watch arguments of run, create and notify set into watches as they are stored, and the
names of files that get events into paths.
"""

from __future__ import annotations

import os
from typing import Any

from outlive import limits
from outlive.core.members import parse_json
from outlive.core.nearest import asked_for, nearest
from outlive.core.records import CONTAINS, EXEC, MATCH_TYPES, REGEX, STREAMS, Watch
from outlive.errors import OutliveError, argument, invalid
from outlive.jobs.context import Principal
from outlive.store import own_files
from outlive.store.output.patterns import Pattern, check_length

_KEYS = ("pattern", "match_type", "stream", "once", "command", "file")
_MEANT = {"regex": "pattern", "text": "pattern", "line": "pattern", "contains": "pattern, with match_type contains"}


def parsed(
    caller: Principal, args: dict[str, Any], known: list[Watch], *, number: int = 0, from_seq: int = 0
) -> list[Watch]:
    """Return the watches `known`, followed by those of the arguments, each with an id of its own.

    `number` is the number of the last watch that the job ever had. Errors: invalid_argument.
    """
    given = args.get("watch") or ()
    common = {
        "match_type": args.get("watch_match_type") or REGEX,
        "stream": args.get("watch_stream") or "both",
        "once": bool(args.get("watch_once")),
        "command": args.get("watch_command"),
        "file": args.get("watch_file"),
    }
    for sink in ("watch_command", "watch_file"):
        if not given and args.get(sink) is not None:
            message = f"{argument(sink)} needs {argument('watch')}"
            raise invalid(sink, message, hint=f"Give the pattern with {argument('watch')}.")
    watches = list(known)
    for item in given:
        asked = _asked(item)
        _check_keys(asked)
        watch = checked(caller, f"w{number + 1}", {**common, **asked}, from_seq)
        if not any(_is_same(watch, other) for other in watches):
            number += 1
            watches.append(watch)
    if len(watches) > limits.MAX_WATCHES:
        raise invalid("watch", f"{len(watches)} watches; a job has at most {limits.MAX_WATCHES}")
    return watches


def _is_same(one: Watch, other: Watch) -> bool:
    """Return whether both watches would tell of the same hits, as after a repeated call.

    `once` may be asked for again.
    """
    return not one.once and one == Watch.replace(other, id=one.id, from_seq=one.from_seq)


def _asked(item: Any) -> dict[str, object]:
    """Return the members of a watch that is given as a pattern, as an object, or as the JSON text
    of an object."""
    if isinstance(item, str) and item.lstrip()[:1] == "{":
        try:
            members = parse_json(item)
        except ValueError:
            members = None  # a pattern that begins with a brace
        if isinstance(members, dict) and "pattern" in members:
            return members
    if isinstance(item, str):
        return {"pattern": item}
    return {"match_type" if name == "matchType" else name: value for name, value in item.items() if value is not None}


def _check_keys(asked: dict[str, object]) -> None:
    for name in asked:
        if name not in _KEYS:
            near = _MEANT.get(name) or nearest(name, list(_KEYS))
            hint = asked_for(near, f"A watch has: {', '.join(_KEYS)}.")
            raise invalid("watch", f"a watch has no {name!r}", hint=hint)


def checked(
    caller: Principal, name: str, asked: dict[str, object], from_seq: int, *, prefix: str | None = None
) -> Watch:
    """Return a watch as it is stored. Errors: invalid_argument, denied.

    With `prefix` the members of `asked` are arguments of their own, whose names begin with it.
    """

    def field(member: str) -> str:
        return "watch" if prefix is None else prefix + member

    if asked["command"] is not None or asked["file"] is not None:
        caller.rights.require(EXEC, "the command or file of a watch")
    pattern, kind, stream = asked.get("pattern"), asked["match_type"], asked["stream"]
    if not isinstance(pattern, str):
        raise invalid(field("pattern"), "a watch needs a pattern (a string)")
    if kind not in MATCH_TYPES:
        raise invalid(field("match_type"), f"match_type is one of {', '.join(MATCH_TYPES)}, not {kind!r}")
    stream = "both" if stream == "either" else stream
    if stream not in STREAMS:
        raise invalid(field("stream"), f"stream is one of {', '.join(STREAMS)}, not {stream!r}")
    if not isinstance(asked["once"], bool):
        raise invalid(field("once"), "once is true or false")
    if kind == CONTAINS:
        check_length(pattern, field("pattern"))
    else:
        Pattern(pattern, kind, field("pattern"))
    command = _text(asked["command"], field("command"), "command of a watch is a shell command")
    file = _text(asked["file"], field("file"), "file of a watch is a path")
    return Watch(
        id=name,
        pattern=pattern,
        match_type=kind,
        stream=stream,
        once=asked["once"],
        command=command,
        file=None if file is None else sink_file(caller, file, field("file")),
        from_seq=from_seq,
    )


def _text(given: object, field: str, what: str) -> str | None:
    if given is None or (isinstance(given, str) and given.strip()):
        return given
    raise invalid(field, f"the {what} (a string that is not empty)")


def last_number(watches: list[Watch], before: int) -> int:
    """Return the number of the last watch that the job ever had.

    An id is given once, because the history names it.
    """
    return max([before, *(int(watch.id[1:]) for watch in watches)])


def without(watches: list[Watch], remove: Any) -> list[Watch]:
    """Return the watches without those that `remove` names by id or pattern.

    Errors: invalid_argument for an unknown one.
    """
    left = list(watches)
    for name in remove:
        kept = [watch for watch in left if name not in (watch.id, watch.pattern)]
        if len(kept) == len(left):
            known = ", ".join(f"{watch.id} ({watch.pattern})" for watch in left) or "none"
            raise invalid("remove_watch", f"no watch {name!r}", hint=f"There are: {known}.")
        left = kept
    return left


def sink_file(caller: Principal, given: str, field: str) -> str:
    """Return the absolute path of a file that gets events. Errors: denied if it is outlive's own."""
    path = os.path.normpath(os.path.join(caller.cwd or "/", given))
    try:
        owner = own_files.owner_of(path, [caller.store.path, *caller.config.own_paths(caller.env)])
    except ValueError as error:
        raise invalid(field, f"not a path: {error}") from error
    if owner is not None:
        message = f"{argument(field)} {path} is in {owner}, whose files are outlive's own"
        raise OutliveError("denied", message, hint="Name a file outside of it.", details={"field": field})
    return path

"""What a sandbox may have to do with how its job ended: what it keeps from a job that failed, and what of its writes is
gone.

Only from the rules of the sandbox and from what the job printed or was told to run: whether a file is there outside is
nothing that a job may learn.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from outlive.core.quoted import quoted
from outlive.core.records import Sandbox
from outlive.parts import last_words
from outlive.parts.sandbox.confinement import visible_paths
from outlive.store.inspection.inspection import Inspection
from outlive.store.output.merged import Output
from outlive.system.paths import is_in

_LAST_BYTES = 4000
_BEFORE_CHARS = 100
_GIT = re.compile(
    r"(?:\.git\b|Unable to create '.*\.lock'|could not lock config file ).*Read-only file system"
    r"|could not create [^'\n]*'[^'\n]*\.git/"
    r"|unable to create temporary (?:file: Read-only file system|object directory)"
)
_SILENT_OF_GIT = re.compile(r"^(?>.*?\bgit\b).*\bstash\b", re.MULTILINE)  # fails without a word
_READ_ONLY = re.compile(r"Read-only file system|\bEROFS\b")
_MISSING = re.compile(
    r"No such file or directory|\bENOENT\b|does not exist|Cannot connect to|\b(?:Not|not) found|Permission denied|\bEACCES\b"
)
_NETWORK = re.compile(
    r"(?:Could not|Couldn't|Failed to|cannot|unable to|failed to) (?:resolve|lookup|look up)\b|[Nn]ame or service not known"
    r"|[Tt]emporary failure (?:in name resolution|resolving)|(?:Network|network|host) is (?:unreachable|down)|No route to host"
    r"|Address family not supported|[Nn]o such host|\b(?:ENOTFOUND|EAI_AGAIN|ENETUNREACH|EHOSTUNREACH|EAFNOSUPPORT)\b"
    r"|[Ff]ailed to establish a new connection|(?:Couldn't|Could not|[Ff]ailed to|[Uu]nable to) connect\b|dns error"
    r"|[Nn]odename nor servname|[Cc]onnection refused|\bECONNREFUSED\b|\(from versions: none\)"
)
_RIGHTS = re.compile(
    r"Operation not permitted|\bEPERM\b|must be (?:root|superuser)|changing ownership of|mount: .*permission denied"
)
_PATH = re.compile(r"(?<![\w.~/$}-])(?:~|\$HOME|\$\{HOME\})?/[\w.@+-][\w.@+/-]*")
_OWN = ("/tmp", "/var/tmp")  # noqa: S108 - of the sandbox, as its home
_SHARED_MEMORY = "/dev/shm"  # noqa: S108 - as these
_ENTERED = re.compile(r"\b(?:cd|pushd)\s+[\"']?$")  # before a directory: what is written there then need not name it
_REACHES = {"none": "reaches no network", "loopback": "reaches nothing but a loopback of its own"}


def hint(inspection: Inspection, output: Output) -> str | None:
    """Return what of its sandbox may have made a job fail; None if its output does not look like that."""
    sandbox = inspection.definition.sandbox
    assert sandbox is not None
    last = output.read(max(0, output.end - _LAST_BYTES), output.end).decode("utf-8", "replace")
    last = last_words.kept(last, last_words.of_command(inspection.definition))
    return cause(sandbox, last, " ".join(inspection.definition.command))


def cause(sandbox: Sandbox, last: str, command: str) -> str | None:
    """Return what of a sandbox may have made a job fail. `last`: the end of its output."""
    if sandbox.git != "write" and (_GIT.search(last) or (not last and _SILENT_OF_GIT.search(command))):
        needs = ' in a sandbox "workspace-write"' if sandbox.mode == "read-only" else ""
        return f'The sandbox keeps .git read-only; git = "write"{needs} lets a job change it.'
    if _READ_ONLY.search(last):
        return f"The sandbox may be the cause: {_writable(sandbox)}"
    shown = visible_paths.visible(sandbox)
    for line in reversed(last.splitlines()):
        if _MISSING.search(line):
            hidden = next((path for path, _ in _named(line, sandbox) if not _is_shown(sandbox, path, shown)), None)
            if hidden is not None:
                return (
                    f"The sandbox may be the cause: it does not show {quoted(hidden)}. [sandbox] show in the user's "
                    'configuration adds a directory; sandbox = "off" shows all, where the user allows it.'
                )
        if sandbox.network != "open" and _NETWORK.search(line):
            reaches = _REACHES.get(sandbox.network, "reaches no network")
            return f'The sandbox may be the cause: it {reaches}. network = "open" opens it, where the user allows that.'
        if _RIGHTS.search(line):
            return "The sandbox may be the cause: nothing in it has rights of root, and mounts and namespaces are forbidden."
    return None


def gone(sandbox: Sandbox, command: str) -> str | None:
    """Return that what the command names lies in a place of the sandbox's own, and is gone with it; None if it names none."""
    shown = visible_paths.visible(sandbox)
    for path, before in _named(command, sandbox):
        top = next((one for one in (*_OWN, _SHARED_MEMORY, sandbox.home) if is_in(path, [one])), None)
        if top is None or is_in(path, shown):
            continue
        if path != top or _ENTERED.search(before):
            kept = " or ".join(map(quoted, sandbox.roots)) if sandbox.mode == "workspace-write" else ""
            keep = f" What is to stay belongs below {kept}." if kept else ""
            return f"{quoted(top)} is the sandbox's own: empty when it starts, gone when it ends.{keep}"
    return None


def _writable(sandbox: Sandbox) -> str:
    if sandbox.mode == "read-only":
        return (
            "in read-only a job writes nothing but files in /tmp and its home, which are gone at its end. "
            'sandbox = "workspace-write" lets it write in the workspace, where the user allows that.'
        )
    roots = " or ".join(map(quoted, sandbox.roots)) or "no directory"
    return f"a job writes below {roots}, and nowhere else but in /tmp and its home, which are gone at its end."


def _is_shown(sandbox: Sandbox, path: str, shown: list[str]) -> bool:
    etc = [f"/etc/{name}" for name in (*visible_paths.ETC_FOLDERS, *visible_paths.ETC_FILES)]
    if path in (sandbox.home, "/etc", "/dev/tty") or is_in(path, shown):
        return True
    its_own = [] if is_in(path, [sandbox.home]) else [*_OWN, "/proc"]
    return is_in(path, [*its_own, *etc, *visible_paths.OF_KERNEL, *visible_paths.OF_RUN])


def _named(text: str, sandbox: Sandbox) -> Iterator[tuple[str, str]]:
    """Yield the absolute paths that a text names, each with what stands right before it."""
    text = text.replace("unix://", " ")
    for match in _PATH.finditer(text):
        path = match.group().rstrip(".")
        start = path.find("/")
        before = text[max(0, match.start() - _BEFORE_CHARS) : match.start()]
        yield os.path.normpath(sandbox.home + path[start:] if start else path), before

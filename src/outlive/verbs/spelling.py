"""Errors name an argument as the caller spells it: `workdir` over MCP, `--cwd` on the command line.

What jobs/ raises names an argument by the parameter of the verb's function: in `details.field` as it is, in a message
or a hint as a mark made by `errors.argument`. Each face passes its errors through `spelled`.

A caller may mean a verb or an argument by another word: `read` means `log`, and `id` means `job_id`. Errors say so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from outlive.core.nearest import letters_of, nearest
from outlive.errors import FACES, MARK, OutliveError
from outlive.verbs import load
from outlive.verbs.spec import Arg

# Verb → the words that other tools use for it. A word that may mean two things stands nowhere.
VERBS = {
    "run": "execute shell bash sh command cmd launch invoke startprocess runcommand executecommand",
    "status": "show info inspect describe get details state",
    "poll": "readoutput getoutput newoutput fetch readprocessoutput",
    "log": "read cat output logs getlogs readlog showlog stdout stderr print dump view more less grep search",
    "tail": "last end",
    "wait": "await join block sleep waitfor expect waituntil",
    "events": "history timeline",
    "screen": "screenshot display capture snapshot capturepane",
    "write": "input send stdin sendinput writestdin type feed interact interactwithprocess eof closestdin",
    "send-keys": "keys key press keypress sendkey presskey",
    "submit": "enter return sendline",
    "attach": "connect fg foreground",
    "kill": "stop terminate cancel abort interrupt signal stopprocess killprocess terminateprocess forceterminate quit",
    "list": "ls ps jobs processes sessions listprocesses listsessions listjobs all",
    "notify set": "watch notify subscribe alert setwatch",
    "remove": "rm delete del destroy drop",
    "clear": "forget dismiss",
    "restart": "rerun retry again relaunch respawn",
    "inbox": "questions pending approvals",
    "gc": "clean cleanup prune purge collect",
    "tag set": "label settags retag",
}

# Argument over MCP → the words that other tools use for it. Of several arguments that a word may
# mean, a verb takes one.
ARGUMENTS = {
    "job_id": "id job pid jobid processid sessionid taskid shellid bashid handle uuid name process session",
    "command": "cmd commands script argv args arguments program code exec run line shellcommand",
    "workdir": "dir directory cwd path folder workingdirectory workingdir pwd root",
    "env": "environment vars variables envvars environmentvariables",
    "timeout": "timelimit maxtime duration maxruntime deadline timeoutlimit",
    "idle_timeout_ms": "silencetimeout inactivitytimeout",
    "pty": "tty terminal interactive usepty",
    "stdin_data": "input stdintext stdincontent stdinstring inputdata",
    "data": "input text content string message chars stdin line value",
    "text": "input data content string message chars value line",
    "keys": "key input text data sequence keystrokes",
    "resources": "limits resource ulimit rlimits memory mem memorylimit cpulimit maxmemory",
    "title": "name label description desc summary",
    "tags": "labels",
    "tag": "tags labels label",
    "background": "async detach detached runinbackground isbackground daemon bg nowait",
    "yield_ms": "wait waitms yieldtime yieldtimems waitforms snapshotafter waitfor",
    "timeout_ms": "wait waitms yieldms deadline maxwait maxwaitms",
    "wait_ms": "timeout timeoutms yieldms wait",
    "max_bytes": "maxchars maxoutput maxoutputbytes maxoutputchars maxoutputtokens maxtokens limitbytes maxoutputlength outputlimit",
    "limit": "lines n count numlines maxlines linelimit taillines head tail length",
    "tail_lines": "lines n count numlines limit maxlines",
    "offset": "from fromline startline line skip first",
    "since_seq": "since seq cursor position after fromseq nextseq",
    "search": "pattern query grep regex filter match find contains",
    "until": "condition conditions for waitfor pattern regex port http expect ready event",
    "watch": "watches patterns notifypattern alerton",
    "signal": "sig signum signalname",
    "grace_ms": "grace graceperiod killafter killafterms timeout timeoutms",
    "older_than": "age maxage days before olderthandays",
    "cols": "width columns",
    "rows": "height lines",
    "all": "everything allsessions includeall global everyone",
    "state": "status states",
    "failed": "failures failure errors unsuccessful onlyfailed",
    "since": "newerthan sincetime within",
    "eof": "close end closestdin done endofinput",
    "shell": "shellwrapper interpreter",
    "notify_command": "onexit oncomplete callback hook command",
    "notify_file": "eventsfile",
    "dedupe_key": "idempotencykey uniquekey",
    "mask": "secrets secret redact hide",
    "detail": "verbose verbosity brief full format",
    "show": "dryrun preview nowrite",
    "action": "verb operation op method command subcommand",
}

_UNITS = ("milliseconds", "millis", "msecs", "msec", "ms", "seconds", "secs", "sec")


def verb(word: str, known: Iterable[str]) -> str | None:
    """Return the name in `known` that `word` means or misspells; None if it is no near one."""
    return _meant(word, VERBS, list(known))


def argument(word: str, known: Iterable[str], *, spelling: bool = True) -> str | None:
    """Return the name in `known`, as arguments are called over MCP, that `word` means or, with
    `spelling`, misspells."""
    names = list(known)
    plain = _without_unit(word)
    for name in names:  # timeout_ms instead of timeout: only the unit is wrong
        if _without_unit(name) == plain:
            return name
    return _meant(word, ARGUMENTS, names, spelling=spelling)


def _meant(word: str, words: dict[str, str], known: list[str], *, spelling: bool = True) -> str | None:
    meant = letters_of(word)
    meanings = {letters_of(name): others.split() for name, others in words.items()}
    same = [name for name in known if meant in meanings.get(letters_of(name), ())]
    if same:
        return same[0] if len(same) == 1 else None
    return nearest(word, known) if spelling else None


def _without_unit(name: str) -> str:
    letters = letters_of(name)
    return next((letters.removesuffix(unit) for unit in _UNITS if letters.endswith(unit) and letters != unit), letters)


CLI, MCP = "cli", "mcp"


def spelled(
    error: OutliveError,
    face: str,
    args: Iterable[Arg],
    written: Mapping[str, str] | None = None,
    *,
    texts: bool = True,
) -> OutliveError:
    """Return the error with every argument named as on this face. `args` are the arguments of the verb that was called,
    `written` tells for parameters that the caller named otherwise, by an alias or in camelCase, how it wrote them. Without
    `texts` what else differs by the face is left to a later call."""
    details = error.details or {}
    if "field" not in details and MARK[0] not in f"{error.message}{error.hint}":
        return error
    own = {**_names(face, args), **(written or {})}
    names = {**_names(face, load("run").args), **own}  # a hint may say how to start the job another time
    shown = face if texts else None
    error.message = _replaced(error.message, names, shown)
    error.hint = None if error.hint is None else _replaced(error.hint, names, shown)
    if "field" in details:
        field = _replaced(str(details["field"]), own, shown)
        error.details = {**details, "field": own.get(field, field)}
    return error


def _names(face: str, args: Iterable[Arg]) -> dict[str, str]:
    """Return the names on this face by parameter. A positional of the command line is named in lower case."""
    names = {}
    for arg in args:
        name = arg.mcp if face == MCP else arg.cli if arg.cli.startswith("-") else arg.cli.lower()
        if name:
            names[arg.name] = name
    return names


def _replaced(text: str, names: dict[str, str], face: str | None) -> str:
    if MARK[0] not in text:
        return text
    named = re.sub(f"{MARK[0]}([a-z_]+){MARK[1]}", lambda mark: names.get(mark[1], mark[1]), text)
    if face is None:
        return named
    texts = f"{MARK[0]}([^{MARK}]*){FACES}([^{MARK}]*){MARK[1]}"
    return re.sub(texts, lambda mark: mark[2 if face == MCP else 1], named)

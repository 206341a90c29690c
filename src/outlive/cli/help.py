"""`outlive --help` and `outlive VERB --help`, made from the declarations, so no option lacks its line."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Iterable

from outlive import limits, verbs
from outlive.cli.parse import GLOBALS, is_positional
from outlive.cli.values import metavar
from outlive.verbs.spec import BOOL, ENV, ITEMS, MS, OBJECT, STRS, WORDS, Arg, Verb

WIDTH = 100
_COLUMN = 30  # where the explanations begin

INTRO = (
    "Runs commands as jobs that outlive the agent, the client and the server that started them. "
    "Every answer is one JSON object on stdout; logs go to stderr."
)
EXAMPLES = (
    ("outlive run make test", "answers when it has ended, or after 10 s"),
    ("outlive run --wait --propagate -- make test", "waits, and exits like make"),
    ("outlive run -f make test", "shows its output; ^C leaves it running"),
    ("outlive run --snapshot-after 0 'npm run dev'", "one word is a shell string; answers at once"),
    ("outlive wait JOB --timeout-ms 30s", "until it ends, at most 30 seconds"),
    ("outlive log JOB --search ERROR", ""),
    ("outlive list --all --human", "a table of every directory's jobs"),
)
DURATION = "DURATION: a bare number is milliseconds; or with a unit: 250ms, 5s, 30m, 2h, 7d."
JOB = f"JOB: an id, any unique beginning or end of it of at least {limits.ID_PART_CHARS} characters, or its name as `list` shows it: the newest job that has it."


def terminal_width() -> int:
    """Return the columns to write in: COLUMNS, else the terminal's; at most and by default 100."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isascii() and columns.isdigit() and (width := int(columns[:9])):
        return max(40, min(width, WIDTH))
    try:
        return max(40, min(os.get_terminal_size(1).columns or WIDTH, WIDTH))
    except OSError:
        return WIDTH


def of(about: Verb | str | None) -> str:
    """Return the help of a verb, of the verbs that begin with a word, or of all, as wide as the terminal."""
    width = terminal_width()
    if about is None:
        return overview(_verbs(), width)
    if isinstance(about, str):
        return of_several(about, [verb for verb in _verbs() if verb.name.startswith(f"{about} ")], width)
    return of_verb(about, width)


def _verbs() -> list[Verb]:
    return [verb for verb in map(verbs.load, verbs.names()) if verb.cli]


def short_usage(verb: Verb | None) -> str:
    """Return what stderr says after a usage error."""
    if verb is None:
        return "usage: outlive [--root PATH] VERB …\n`outlive --help` lists the verbs.\n"
    return f"usage: {usage(verb)}\n`outlive {verb.name} --help` explains the options.\n"


def overview(listed: Iterable[Verb], width: int) -> str:
    """Return the text of `outlive --help`."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for verb in listed:
        groups.setdefault(verb.group, []).append((verb.name, verb.help))
    column = max(len(name) for rows in groups.values() for name, _ in rows) + 4
    parts = ["usage: outlive [GLOBAL OPTIONS] VERB [OPTIONS] …", textwrap.fill(INTRO, width)]
    parts += [_table(heading, rows, width, column) for heading, rows in groups.items()]
    rows = [(_global_signature(arg), arg.help) for arg in GLOBALS]
    parts.append(_table("Global options, before or after the verb", rows, width))
    parts.append(_examples(width))
    parts.append(_fill("`outlive VERB --help` explains a verb.", width) + "\n" + _fill(f"{JOB} {DURATION}", width))
    return "\n\n".join(parts) + "\n"


def of_several(word: str, listed: Iterable[Verb], width: int) -> str:
    """Return the text of `outlive token --help`, about the verbs that begin with `word`."""
    rows = [(verb.name, verb.help) for verb in listed]
    usage = f"usage: outlive {word} {'|'.join(name.partition(' ')[2] for name, _ in rows)} …"
    return "\n\n".join([usage, _table("Verbs", rows, width), f"`outlive {rows[0][0]} --help` explains one."]) + "\n"


def of_verb(verb: Verb, width: int) -> str:
    """Return the text of `outlive VERB --help`."""
    shown = [arg for arg in verb.args if arg.cli and arg.hidden is not True]
    parts = [_fill(f"usage: {usage(verb)}", width, indent="  "), _fill(verb.help, width)]
    parts += [_fill(paragraph, width) for paragraph in verb.detail.split("\n\n") if paragraph.strip()]
    positional = [(name_of(arg), explained(arg)) for arg in shown if is_positional(arg)]
    options = [(signature(arg), explained(arg)) for arg in shown if not is_positional(arg)]
    if positional:
        parts.append(_table("Arguments", positional, width))
    if options:
        parts.append(_table("Options", options, width))
    parts.append(_fill(f"Global options: {', '.join(map(_global_signature, GLOBALS))}.", width))
    if any(arg.kind == MS for arg in shown):
        parts.append(_fill(DURATION, width))
    return "\n\n".join(parts) + "\n"


def usage(verb: Verb) -> str:
    shown = [arg for arg in verb.args if arg.cli and arg.hidden is not True]
    words = ["outlive", verb.name]
    flags = [arg for arg in shown if not is_positional(arg)]
    words += [signature(arg) for arg in flags if arg.required]
    if any(not arg.required for arg in flags):
        words.append("[OPTIONS]")
    words += [_place(arg) for arg in shown if is_positional(arg)]
    return " ".join(words)


def _place(arg: Arg) -> str:
    if arg.kind == WORDS:
        return f"[--] {name_of(arg)}"
    return name_of(arg) if arg.required else f"[{name_of(arg)}]"


def name_of(arg: Arg) -> str:
    return f"{arg.cli}…" if arg.kind in (STRS, WORDS) else arg.cli


def signature(arg: Arg) -> str:
    name = f"{arg.short}, {arg.cli}" if arg.short else arg.cli
    return name if arg.kind == BOOL else f"{name} {metavar(arg)}"


def explained(arg: Arg) -> str:
    words = [re.sub(r"\s*\(MCP: [^)]*\)", "", arg.help).replace("CLI also: ", "Also ").replace("CLI: ", "")]
    if arg.kind in (STRS, ENV, OBJECT, ITEMS) and not is_positional(arg):
        words.append("May be repeated.")
    if arg.required and not is_positional(arg):
        words.append("Required.")
    words += _bounds(arg)
    default = _default(arg)
    if default:
        words.append(f"Default: {default}.")
    return " ".join(words)


def _bounds(arg: Arg) -> list[str]:
    if arg.minimum is not None and arg.maximum is not None:
        return [f"{_amount(arg, arg.minimum)} to {_amount(arg, arg.maximum)}."]
    if arg.maximum is not None:
        return [f"At most {_amount(arg, arg.maximum)}."]
    return [f"At least {_amount(arg, arg.minimum)}."] if arg.minimum else []


def _default(arg: Arg) -> str | None:
    default = arg.default
    if default is None or isinstance(default, bool) or default in ("", [], (), {}):
        return None
    if isinstance(default, (list, tuple)):
        return ", ".join(map(str, default))
    return _amount(arg, default)


def _amount(arg: Arg, number: object) -> str:
    """Return a number with its unit: `10000 ms (10s)`, `50`."""
    if arg.kind != MS or not isinstance(number, int) or not number:
        return str(number)
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)):
        if number % size == 0:
            return f"{number} ms ({number // size}{unit})"
    return f"{number} ms"


def _global_signature(arg: Arg) -> str:
    return f"-v, -vv, {signature(arg)}" if arg.name == "verbose" else signature(arg)


def _examples(width: int) -> str:
    lines = ["Examples:"]
    for command, remark in EXAMPLES:
        line = f"  {command:<46}  # {remark}" if remark else f"  {command}"
        if len(line) > width:
            lines.append(f"  # {remark}")
            line = f"  {command}"
        lines.append(line)
    return "\n".join(lines)


def _table(heading: str, rows: list[tuple[str, str]], width: int, column: int | None = None) -> str:
    column = column or min(_COLUMN, max(len(left) for left, _ in rows) + 4)
    return "\n".join([f"{heading}:", *(_row(left, right, width, column) for left, right in rows)])


def _row(left: str, right: str, width: int, column: int) -> str:
    """Return a row of two columns; the explanation of an entry too long for the left one starts below it."""
    indent = " " * column
    start = f"  {left}"
    if len(start) + 2 > column:
        return start + "\n" + textwrap.fill(right, width, initial_indent=indent, subsequent_indent=indent)
    return textwrap.fill(right, width, initial_indent=f"{start:<{column}}", subsequent_indent=indent)


def _fill(text: str, width: int, indent: str = "") -> str:
    return textwrap.fill(" ".join(text.split()), width, subsequent_indent=indent, break_on_hyphens=False)

"""The man page, from the declarations: the same words as `outlive VERB --help`."""

from __future__ import annotations

from outlive import __version__, verbs
from outlive.cli import help as cli_help
from outlive.cli.parse import GLOBALS, is_positional

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from outlive.verbs.spec import Arg, Verb

_FILES = (
    ("$XDG_DATA_HOME/outlive/jobs", "the job root: one directory for each job. --root or OUTLIVE_ROOT names another"),
    ("$XDG_CONFIG_HOME/outlive/config.toml", "the configuration. --config or OUTLIVE_CONFIG names another"),
)
_STATUS = (
    ("0", "the verb answered, whatever became of the job"),
    ("1", "the answer is an error object"),
    ("2", "the command line was wrong"),
    ("130", "interrupted; the job goes on"),
)


def page() -> str:
    """Return outlive(1) for groff and mandoc."""
    declared = [verb for verb in map(verbs.load, verbs.names()) if verb.cli]
    lines = [f'.TH OUTLIVE 1 "" "outlive {__version__}" "User Commands"']
    lines += [".SH NAME", "outlive \\- commands as jobs that outlive the agent, the client and the server"]
    lines += [".SH SYNOPSIS", ".B outlive", _text("[GLOBAL OPTIONS] VERB [OPTIONS] …")]
    lines += [".SH DESCRIPTION", _text(cli_help.INTRO), ".PP", _text(cli_help.JOB), ".PP", _text(cli_help.DURATION)]
    lines += [".SH GLOBAL OPTIONS", *_terms((cli_help.signature(arg), arg.help) for arg in GLOBALS)]
    lines += [".SH VERBS"]
    for verb in declared:
        lines += _of_verb(verb)
    lines += [".SH EXAMPLES", *_terms((example, about) for example, about in cli_help.EXAMPLES)]
    lines += [".SH EXIT STATUS", *_terms(_STATUS), ".SH FILES", *_terms(_FILES)]
    return "\n".join(lines) + "\n"


def _of_verb(verb: Verb) -> list[str]:
    shown = [arg for arg in verb.args if arg.cli and arg.hidden is not True]
    lines = [f".SS {_text(cli_help.usage(verb))}", _text(verb.help)]
    for paragraph in verb.detail.split("\n\n"):
        lines += [".PP", _text(paragraph)] if paragraph.strip() else []
    return lines + _terms((_name(arg), cli_help.explained(arg)) for arg in shown)


def _name(arg: Arg) -> str:
    return cli_help.name_of(arg) if is_positional(arg) else cli_help.signature(arg)


def _terms(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [line for term, about in rows for line in (".TP", f".B {_text(term)}", _text(about) or "\\&")]


def _text(text: str) -> str:
    """Return one line of text as roff shows it: nothing in it is a request or an escape."""
    text = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    text = text.replace('"', "\\(dq").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{text}" if text.startswith((".", "'")) else text

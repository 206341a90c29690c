"""Values for the arguments of each verb: what calls every verb takes them from here."""

from __future__ import annotations

from typing import Any

from outlive import verbs
from outlive.verbs import spec
from outlive.verbs.spec import Arg, Verb
from support.cli import Cli
from support.face import arguments_of, words_of

# By the names of the parameters. An argument that is declared as required and is not here gets a value of its kind
_GIVEN: dict[str, dict[str, Any]] = {
    "write": {"data": "x"},
    "send-keys": {"keys_": ["Enter"]},
    "submit": {"text": "x"},
    "paste": {"text": "x"},
    "resize": {"cols": 80, "rows": 24},
    "tag set": {"tags": ["taken"]},
    "notify set": {"watch": ["x"]},
}


def _value(arg: Arg) -> Any:
    if arg.choices:
        return arg.choices[0]
    if arg.kind in (spec.STRS, spec.ITEMS):
        return ["x"]
    if arg.kind in (spec.ENV, spec.OBJECT):
        return {"X": "x"}
    return "true" if arg.kind in (spec.STR, spec.RUN, spec.WORDS, spec.PATH) else max(arg.minimum or 0, 1)


def takes_job(verb: Verb) -> bool:
    return any(arg.name == "job" and arg.cli == spec.JOB.cli for arg in verb.args)


def job_for(cli: Cli, name: str, *options: str) -> str:
    """Return a job with which a verb can do its work; it was started with these options, if it runs."""
    if name == "start":
        return str(cli.ok("create", "true")["job_id"])
    if name in ("clear", "restart"):
        return str(cli.ok("run", "true")["job_id"])
    return str(cli.ok("run", "--stdin", "open", *options, "--snapshot-after", "0", "cat")["job_id"])


def given(name: str, job: str | None = None) -> dict[str, Any]:
    """Return what a verb needs to come as far as its work, by parameter; about this job, if it takes one."""
    verb = verbs.load(name)
    needed = {arg.name: _value(arg) for arg in verb.args if arg.required and arg.name != "job"}
    about = {"job": job} if job and takes_job(verb) else {}
    return {**about, **needed, **_GIVEN.get(name, {})}


def words(name: str, job: str | None = None) -> list[str]:
    """Return a call as the words of a command line."""
    return words_of(name, given(name, job))


def arguments(name: str, job: str | None = None) -> dict[str, Any]:
    """Return a call as the arguments of the tool `process`."""
    return arguments_of(name, given(name, job))[1]

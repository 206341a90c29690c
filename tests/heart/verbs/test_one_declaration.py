"""A field and a verb are declared once: what is added here to the declarations alone shows in every face."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from outlive import config, verbs
from outlive.answers import ALWAYS, TIME, Answer, field, inline, optional
from outlive.answers.job import Job, Status
from outlive.answers.listing import Listed
from outlive.cli import help as help_
from outlive.cli import human, parse
from outlive.cli.text import Style
from outlive.core.members import object_of, texts_of
from outlive.core.records import READ
from outlive.mcp.tools import answer_text, listing
from outlive.mcp.tools.arguments import Tools
from outlive.mcp.tools.offer import process_verbs
from outlive.parts.schema.document import document
from outlive.verbs import envelope
from outlive.verbs.spec import BOOL, INT, JOB, Arg, GlobalOptions, Verb

ID, AT = "01M8K68G5C4F4NK8WD4JA1JHSB", "2026-01-02T03:04:05.678Z"
JOB_OF: dict[str, Any] = {
    "job_id": ID, "short_id": "4JA1JHSB", "state": "running", "name": "n", "command": ["x"], "started_at": AT, "created_at": AT,
}  # fmt: skip
STYLE = Style(now=0)


class Pinged(Answer):
    job: Job = inline(Job)
    answered_ms: int = field("How long it took.")
    alive: bool = field("Does it answer?", brief=ALWAYS)


class Said(Pinged):
    TEXT = "Job {job_id} answered after {answered_ms} ms."


@pytest.fixture
def ping(monkeypatch: pytest.MonkeyPatch) -> Verb:
    """The verb `ping`, which answers Pinged, in the registry."""
    return _added(monkeypatch, Pinged)


def _added(monkeypatch: pytest.MonkeyPatch, record: type[Answer]) -> Verb:
    args = (JOB, Arg("count", INT, "How often.", default=1, metavar="N"))
    made = Verb("ping", "Ask whether a job is alive.", _ping, args=args, right=READ, result=record, group="New things")
    module: Any = types.ModuleType("pinging")
    module.PING = made
    monkeypatch.setitem(sys.modules, "outlive.verbs.declarations.pinging", module)
    monkeypatch.setitem(verbs.VERBS, "ping", "declarations.pinging")
    return made


def _ping(_ctx: object, *, job: str, count: int = 1) -> Pinged:
    return Pinged(job=Job(job_id=ID, state="running"), answered_ms=1_500 * count, alive=bool(job))


def test_a_verb_shows_in_the_help_the_schema_and_the_tool(ping: Verb) -> None:
    assert "\nNew things:\n  ping " in help_.of(None) and "--count N" in help_.of(ping)
    assert parse.verb_name(["ping", ID]) == ("ping", [ID])
    assert parse.arguments(ping, [ID, "--count", "2"], GlobalOptions(), None)["count"] == 2
    kinds = document()["$defs"]
    assert kinds["ping"]["properties"]["answered_ms"]["description"] == "How long it took."
    assert {"job_id", "answered_ms", "alive"} <= set(kinds["ping"]["required"])
    assert "answered_ms" in kinds["ping_brief"]["properties"]
    tool = object_of(listing.of_actions(process_verbs(), None, config.load({})), "properties")
    assert "ping" in texts_of(object_of(tool, "action"), "enum") and "ping" in str(object_of(tool, "count"))
    verb, given = Tools(("process",), config.load({})).read("process", {"action": "ping", "job_id": ID, "count": 2})
    assert (verb, given["job"], given["count"]) == (ping, ID, 2)


def test_an_answer_shows_as_json_in_brief_to_a_person_and_to_a_model(ping: Verb) -> None:
    full = envelope.answer(ping.type, ping.run(None, job="").to_dict())
    short = envelope.sized(full, "brief")
    assert full["answered_ms"] == 1_500
    assert short == {"ok": True, "type": "ping", "job_id": ID, "state": "running", "answered_ms": 1_500, "alive": False}
    shown = human.answer(full, STYLE)
    assert "1.5 s" in shown and "alive" in shown
    for answer in (full, short):
        assert answer_text.render(answer).splitlines() == [
            f"job_id: {ID}",
            "state: running",
            "answered: 1.5 s",
            "alive: false",
        ]


def test_an_answer_of_a_server_about_a_job_can_say_whose_job_it_is() -> None:
    about_a_job = [verb for verb in process_verbs().values() if verb.result and "job_id" in verb.result.flat()]
    lacks = [verb.name for verb in about_a_job if verb.result and "hint" not in verb.result.flat()]
    assert not lacks, "add `hint: str | None = known.HINT` to the record"


def test_an_answer_has_words_of_its_own_for_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    made = _added(monkeypatch, Said)
    answer = envelope.answer(made.type, Said(job=Job(job_id=ID, state="running"), answered_ms=7, alive=True).to_dict())
    assert answer_text.render(answer) == f"Job {ID} answered after 7 ms."


def test_a_field_of_status_shows_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    class WithLuck(Status):
        lucky_number: int = field("A number that says nothing.")
        lucky_since: str | None = optional("Since when.", format=TIME)

    monkeypatch.setattr("outlive.verbs.declarations.job.STATUS", _like(verbs.load("status"), WithLuck))
    full = envelope.answer("status", {**JOB_OF, "lucky_number": 7, "lucky_since": AT})
    short = envelope.sized(full, "brief")
    assert (short["lucky_number"], short["lucky_since"]) == (7, AT)
    properties = document()["$defs"]["status"]["properties"]
    assert properties["lucky_number"]["type"] == "integer" and properties["lucky_since"]["format"] == TIME
    for shown in (answer_text.render(short), human.answer(full, STYLE).replace("lucky ", "lucky_")):
        assert "\nlucky_number: 7\n" in shown and f"\nlucky_since: {AT}" in shown


def test_a_field_of_list_is_a_column_and_shows_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = {**Listed.flat(), "luck": field("Its luck.")}
    monkeypatch.setattr(Listed, "flat", lambda: flat)
    monkeypatch.setattr(Listed, "BRIEF", (*Listed.BRIEF, "luck"))
    entry = {**JOB_OF, "luck": "good"}
    assert envelope.brief_entry(entry, Listed)["luck"] == "good"
    answer = {"ok": True, "type": "list", "jobs": [entry], "truncated": False, "root": "/r", "skipped": 0}
    head, row, *_ = human.answer(answer, STYLE).splitlines()
    assert "LUCK" in head and "good" in row
    assert "[luck: good]" in answer_text.render(answer)


def _like(verb: Verb, result: type[Answer]) -> Verb:
    return Verb(verb.name, verb.help, verb.function, args=(JOB,), right=verb.right, result=result)


def test_an_option_shows_in_the_help_and_in_the_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    known_verb = verbs.load("list")
    args = (
        *(arg for arg in known_verb.args if arg.name != "detail"),
        Arg("oldest_first", BOOL, "Oldest first.", default=False),
    )
    made = Verb("list", known_verb.help, known_verb.function, args=args, right=READ, result=known_verb.result)
    monkeypatch.setattr("outlive.verbs.declarations.listing.LIST", made)
    assert "--oldest-first  " in help_.of(made)
    tool = object_of(listing.of_actions(process_verbs(), None, config.load({})), "properties")
    assert object_of(tool, "oldest_first") == {"type": "boolean", "description": "list: Oldest first"}

"""The way of an answer from its record to what is sent."""

from __future__ import annotations

from typing import Any

import pytest

from outlive.answers.advice import Advised, told
from outlive.answers.job import HowEnded, Job, Losses
from outlive.answers.output import Excerpt, Gap
from outlive.answers.reading import Log, LogLines
from outlive.core.record import Record
from outlive.jobs.context import Context, Titled
from outlive.mcp.json_safe import encodable_members
from outlive.store.root import Store
from outlive.verbs import envelope
from outlive.verbs.spec import BRIEF, FULL
from support.contexts import context_of
from support.given import Given

ID = "01JD0000000000000000ABCDEF"


@pytest.fixture
def ctx(store: Store) -> Context:
    return context_of(store, face="mcp", client="tests")


def log_of(**more: Any) -> Log:
    shown = Excerpt(output="hello\n", since_seq=0, next_seq=6, truncated=False)
    lines = LogLines(shown=shown, first_line=1, last_line=1, total_lines=1)
    ended = HowEnded(exit_code=0, signal=None, reason="exit")
    return Log(job=Job(job_id=ID, state="exited"), ended=ended, timeout_ms=0, lines=lines, losses=Losses(), **more)


def test_only_the_record_itself_makes_an_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its parts write into that one."""
    made: list[str] = []
    real = Record.to_dict

    def counted(self: Record) -> dict[str, Any]:
        made.append(type(self).__name__)
        return real(self)

    monkeypatch.setattr(Record, "to_dict", counted)
    assert envelope.full("log", log_of())["output"] == "hello\n"
    assert made == []
    log_of(hint="x").to_dict()
    assert made == ["Log"]


@pytest.mark.parametrize("detail", [FULL, BRIEF])
def test_what_a_face_adds_stands_before_the_output(detail: str) -> None:
    answer = envelope.full("log", log_of())
    answer |= {"notices": [{"job_id": ID}], "masked_secrets": 1}
    before = dict(answer)
    names = list(envelope.sized(answer, detail))
    assert names[-3:] == ["notices", "masked_secrets", "output"]
    assert names[:2] == (["schema_version", "ok"] if detail == FULL else ["ok", "type"])
    assert answer == before
    assert envelope.sized(answer, FULL)["status"] == "completed"


def test_what_is_false_and_says_something_stands_before_the_output_too() -> None:
    answer = envelope.full("poll", Given(job_id=ID, state="running", echo=False, output="x", retry_after_ms=5))
    assert list(envelope.sized(answer, BRIEF)) == ["ok", "type", "job_id", "state", "retry_after_ms", "echo", "output"]


def test_what_the_call_has_to_say_stands_in_the_hint_of_its_answer(ctx: Context) -> None:
    ctx.titles["web"] = Titled(ID, "web is a title.")
    ctx.of_others[ID] = "codex"
    ctx.warnings.append("Not recorded.")
    of_other = "This job belongs to codex, not to this session."
    assert envelope.full("log", log_of(), ctx)["hint"] == f"web is a title. {of_other} Not recorded."
    assert (
        envelope.full("log", log_of(hint="Read on."), ctx, titles=False)["hint"] == f"{of_other} Not recorded. Read on."
    )
    assert "hint" not in envelope.full("log", log_of())


def test_what_the_call_has_to_say_is_advice_of_its_own_kind(ctx: Context) -> None:
    ctx.warnings.append("Not recorded.")
    advised = Advised.made_of([*told("still_running", "It runs."), *told("left_running", "One is left.")])
    answer = envelope.full("poll", Given(job_id=ID, **advised.to_dict()), ctx)
    assert [one["kind"] for one in answer["advice"]] == ["left_running", "call", "still_running"]  # type: ignore[attr-defined]
    assert answer["hint"] == "One is left. Not recorded. It runs."
    assert [one.kind for one in advised.advice or ()] == ["left_running", "still_running"], "the record is as it was"


def test_how_long_a_call_might_wait_is_said_once() -> None:
    answer = Given(job_id=ID, state="running", signal="SIGTERM")
    report = {"requested_ms": 90_000, "effective_ms": 50_000}
    assert report.items() <= envelope.full("kill", answer, report=report).items()


def test_an_object_that_can_be_sent_stays_as_it_is() -> None:
    whole: dict[str, object] = {"a": ["ü", {"b": None, "c": 1.5}], "d": True}
    assert encodable_members(whole) == whole


@pytest.mark.parametrize("value", ["\udcff", ["x", "\udcff"], {"\udcff": 1}, [{"x": "\udcff"}], ("x",)])
def test_an_object_that_cannot_be_sent_is_copied_and_stays_as_it_was(value: Any) -> None:
    whole: dict[str, object] = {"a": value, "b": {"c": "x"}}
    sent = encodable_members(whole)
    assert "\udcff" not in str(sent) and "(" not in str(sent)
    assert whole["a"] is value
    assert sent["b"] == {"c": "x"}


@pytest.mark.parametrize("value", [b"x", {1}, Gap, [object()]])
def test_what_json_does_not_have_is_a_mistake_of_ours(value: Any) -> None:
    with pytest.raises(TypeError):
        encodable_members({"a": value})

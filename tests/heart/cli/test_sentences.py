"""A person gets sentences, a screen and one footer, never JSON: with --human, and from what prints text anyway."""

from __future__ import annotations

import json

import pytest

from outlive import verbs
from support import examples
from support.cli import Cli, Jobs
from support.commands import GATE
from support.terminal import Terminal

TAKES_JOB = [
    name for name in verbs.names() if examples.takes_job(verb := verbs.load(name)) and verb.cli and verb.function
]


def told(*words: str, status: int, env: dict[str, str | None] | None = None) -> str:
    """What a person sees of a call that fails at a terminal: no JSON, and none of its words."""
    with Terminal(*words, cols=200, env=env) as terminal:
        assert terminal.status() == status
        seen = terminal.text()
    assert seen.startswith("error: ")
    assert "{" not in seen and "job_id" not in seen
    return seen


@pytest.mark.parametrize("name", TAKES_JOB)
def test_every_verb_says_to_a_person_that_there_is_no_such_job(cli: Cli, name: str) -> None:
    found = cli.text("--human", *examples.words(name, "no such job"))
    assert found.stdout == ""
    error, hint = found.stderr.splitlines()[:2]
    assert error == "error: no job 'no such job'"
    assert hint.startswith("hint: A job is named by its id")


@pytest.mark.parametrize(
    "words", [("attach",), ("log", "-f"), ("log", "--follow"), ("run", "-f"), ("completion",), ("mcp", "--bogus")]
)
def test_what_prints_text_says_a_mistake_as_a_sentence_at_a_terminal(cli: Cli, words: tuple[str, ...]) -> None:
    seen = told(*words, status=2)
    assert "usage: outlive" in seen
    assert seen.count("--help`") == 1
    assert json.loads(cli.text(*words).stdout)["error"]["code"] == "invalid_argument"  # a script gets the object


def test_a_list_that_is_json_says_its_mistakes_as_json(cli: Cli) -> None:
    with Terminal("list", "--follow", "--bogus", cols=400) as terminal:
        assert terminal.status() == 2
        assert json.loads(terminal.text().splitlines()[0])["ok"] is False


@pytest.mark.parametrize("words", [("attach",), ("attach", "--read-only"), ("log", "-f")])
def test_a_wrong_id_is_a_sentence(cli: Cli, words: tuple[str, ...]) -> None:
    assert "no job 'nosuch'" in told(*words, "nosuch", status=1)


def test_attach_says_what_to_type_instead(cli: Cli, jobs: Jobs) -> None:
    def short(*words: str) -> str:
        return str(cli.ok(*words)["job_id"])[-8:]

    ended = short("run", "--wait", "--pty", "true")
    seen = told("attach", ended, status=1)
    assert f"job {ended} has ended" in seen and f"`outlive screen --human {ended}`" in seen
    plain = short("run", "--wait", "true")
    assert f"`outlive log {plain}` shows what it printed.\n" in told("attach", plain, status=1)
    made = short("create", "--pty", "true")
    seen = told("attach", made, status=1)
    assert f"job {made} has not started yet" in seen and f"`outlive start {made}` runs it" in seen
    deaf = short("run", "--snapshot-after", "0", GATE)
    seen = told("attach", deaf, status=1)
    assert "runs without a terminal" in seen and f"`outlive log -f {deaf}`" in seen and "outlive write" not in seen
    open_ = short("run", "--snapshot-after", "0", "--stdin", "open", "cat")
    assert f"`outlive write {open_} --data TEXT`" in told("attach", open_, status=1)
    jobs.end()


@pytest.mark.parametrize("flags", [(), ("--read-only",)])
def test_attach_refuses_a_terminal_that_cannot_be_drawn_on(cli: Cli, jobs: Jobs, flags: tuple[str, ...]) -> None:
    job = cli.ok("run", "--pty", "--snapshot-after", "0", "cat")["job_id"][-8:]
    seen = told("attach", *flags, job, status=1, env={"TERM": "dumb"})
    assert "TERM is dumb" in seen and f"`outlive submit {job} --text LINE`" in seen
    assert "\x1b" not in seen
    jobs.end()


def test_screen_shows_a_person_the_screen_alone(cli: Cli) -> None:
    job = cli.ok("run", "--wait", "--pty", "printf 'one\\n\\n  two'")["job_id"]
    assert cli.text("screen", "--human", job).stdout == "one\n\n  two\n"
    assert "alternate screen" in cli.text("-v", "screen", "--human", job).stdout
    assert (
        cli.text("screen", "--human", cli.ok("run", "--wait", "--pty", "true")["job_id"]).stdout
        == "(the screen is empty)\n"
    )


def test_the_list_has_one_footer_in_words_of_the_command_line(cli: Cli) -> None:
    for _ in range(3):
        cli.ok("run", "--wait", "true")
    cut = cli.text("list", "--human", "--all", "--limit", "2").stdout.splitlines()
    assert cut[3:] == ["(There are more than these 2: --limit 0 shows all.)"]


def test_each_name_in_the_list_names_its_job(cli: Cli) -> None:
    commands = (
        ["sleep", "0"],
        ["echo -n a; echo b"],
        ["printf", "%s", "ü…'"],
        ["sh", "-c", "exit 0"],
        ["env", "A=" + "x" * 90],
    )
    for words in commands:
        cli.ok("run", "--wait", "--", *words)
    cli.ok("run", "--wait", "--title", "a title", "--", "true")
    listed = cli.ok("list", "--all")["jobs"]
    assert len({job["name"] for job in listed}) == len(listed) == len(commands) + 1
    for job in listed:
        assert cli.ok("log", job["name"])["job_id"] == job["job_id"]


def test_a_name_of_several_jobs_is_the_newest_and_deletes_none(cli: Cli) -> None:
    old, new = (cli.ok("run", "--wait", "--", "sleep", "0")["job_id"] for _ in range(2))
    answer = cli.ok("log", "sleep 0")
    assert (answer["job_id"], "hint" in answer) == (new, False), "none that runs could be meant"
    error = cli.error("remove", "sleep 0", code="invalid_argument")
    assert error["details"]["candidates"] == [new]
    assert "'sleep 0' is a name" in error["message"]
    assert cli.ok("status", old)["state"] == "exited"

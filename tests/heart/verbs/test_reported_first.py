"""What a verb is about to do, each part hears first, and may refuse."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from outlive import parts, verbs
from outlive.cli import parse
from outlive.core.records import READ
from outlive.errors import OutliveError
from outlive.jobs.context import Context
from outlive.part import Act
from outlive.store.root import Store
from outlive.verbs.spec import GlobalOptions
from support.cli import Cli, Jobs
from support.contexts import caller_of
from support.examples import job_for, takes_job, words


def _jobs(cli: Cli) -> list[object]:
    return [(job["job_id"], job["state"], job["tags"]) for job in cli.ok("list", "--all")["jobs"]]


def test_each_verb_that_changes_something_reports_it_and_does_nothing_if_a_part_refuses(
    cli: Cli, jobs: Jobs, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = set(verbs.VERBS) & set(verbs.offered())
    changing = [verb for verb in map(verbs.load, sorted(names)) if verb.right != READ]
    assert {"run", "create", "write", "kill", "remove"} <= {verb.name for verb in changing}
    about = {verb.name: job_for(cli, verb.name) for verb in changing}
    before = _jobs(cli)
    heard: list[Act] = []

    def refuse(act: Act) -> None:
        heard.append(act)
        raise OutliveError("denied", "a part refuses it")

    monkeypatch.setattr(parts, "functions_for", lambda hook, _: [("", refuse)] if hook == "about_to" else [])
    with closing(Store.open(str(root), {})) as store:
        for verb in changing:
            _, given = parse.verb_name(words(verb.name, about[verb.name]))
            values = parse.arguments(verb, given, GlobalOptions(), "/")
            values.pop("detail", None)  # which is for the face
            ctx = Context(caller_of(store, cwd=str(root), shell_words=("sh", "-c")), verb.name)
            with pytest.raises(OutliveError, match="a part refuses it"):
                verb.run(ctx, **values)
            act = heard.pop()
            assert act.verb == verb.name and not heard
            assert not takes_job(verb) or about[verb.name] in (
                act.job_id,
                getattr(act.definition, "restarted_from", None),
            )
    assert _jobs(cli) == before
    jobs.end()

"""What every real verb has to keep so that the command line can be made from it, and the command lines of the agent-exec CLI."""

from __future__ import annotations

import shlex

from outlive import verbs as verbs_module
from outlive.cli import help as help_
from outlive.cli import parse
from outlive.verbs import spec
from outlive.verbs.spec import Arg, GlobalOptions, Verb

GLOBAL = {arg.cli for arg in parse.GLOBALS} | {"-h", "-v"}

# The examples of the README (`agent-exec` left out), and every flag its tables name. The output-match flags of notify
# set are not here yet: they come with watches.
SEED = """
run echo "hello world"
run sleep 30
run --timeout 5000 --kill-after 2000 sleep 60
create -- echo "deferred hello"
create --cwd /x --env A=1 --env-file f --mask A --timeout 1 --kill-after 1 --progress-every 1 -- true
create --notify-command c --notify-file f --shell-wrapper "bash -lc" -- true
start --wait 01J9ABC123
start --snapshot-after 0 --tail-lines 5 --max-bytes 100 --wait-poll-ms 200 01J9ABC123
run --snapshot-after 0 --timeout 0 --kill-after 0 --tail-lines 50 --max-bytes 65536 --cwd . --env K=V true
run --mask K --tag a --wait --wait-poll-ms 200 --notify-command c --notify-file f --config c.toml true
run --progress-every 1000 --env-file f --shell-wrapper "bash -lc" -- my_script.sh
run --tag project.build --tag ci -- make build
--root /tmp/jobs run echo hello
run --root /tmp/jobs echo hello
--root /tmp/jobs status 01J9ABC123
status --root /tmp/jobs 01J9ABC123
tail 01J9ABC123
tail --tail-lines 5 01J9ABC123
wait 01J9ABC123
wait --timeout-ms 5 --poll-ms 5 01J9ABC123
kill --signal TERM 01J9ABC123
kill --signal KILL 01J9ABC123
list --all --tag ci
list --state created --limit 5
list --all --tag project.build.*
list --tag ci --tag release
tag set 01J9ABC123 --tag project.release --tag approved
tag set 01J9ABC123
notify set 01J9ABC123 --command 'cat > /tmp/event.json'
gc --dry-run
gc --older-than 7d --dry-run
--root /tmp/jobs gc --older-than 7d
-v run echo hello
schema
"""


def verbs() -> list[Verb]:
    return [verb for verb in map(verbs_module.load, verbs_module.names()) if verb.cli]


def offered(verb: Verb) -> list[Arg]:
    return [arg for arg in verb.args if arg.cli]


def test_a_command_line_of_the_seed_is_still_understood() -> None:
    for line in SEED.strip().splitlines():
        name, words = parse.verb_name(parse.leading(shlex.split(line), GlobalOptions(), "/here"))
        parse.arguments(verbs_module.load(name), words, GlobalOptions(), "/here")
        assert f" {name} " in f" {line} "


def test_a_declaration_can_be_a_command_line() -> None:
    for name in verbs_module.names():
        verb = verbs_module.load(name)
        flags = [arg.cli for arg in offered(verb)]
        assert verb.name == name
        assert len(set(flags)) == len(flags), f"{name}: a flag twice"
        assert not GLOBAL & set(flags), f"{name}: a flag of ours that every verb has"
        for arg in offered(verb):
            assert parse.is_positional(arg) == arg.cli.isupper(), f"{name} {arg.cli}"
            assert arg.kind != spec.SECONDS, f"{name} {arg.cli}: the command line counts in milliseconds"
        greedy = [arg for arg in offered(verb) if parse.is_positional(arg)][:-1]
        assert not [arg for arg in greedy if arg.kind in (spec.WORDS, spec.STRS)], (
            f"{name}: only the last takes several"
        )


def test_the_help_of_a_verb_is_whole_sentences_that_fit() -> None:
    for verb in map(verbs_module.load, verbs_module.names()):
        texts = [verb.help, *(arg.help for arg in offered(verb) if not arg.hidden)]
        assert [text for text in texts if not text.endswith((".", ")"))] == [], f"{verb.name}: no sentences"
        assert [line for line in help_.of_verb(verb, 80).splitlines() if len(line) > 80] == [], verb.name


def test_the_overview_names_every_verb() -> None:
    text = help_.overview(verbs(), 80)
    assert [verb.name for verb in verbs() if f"\n  {verb.name} " not in text] == []
    assert [line for line in text.splitlines() if len(line) > 80] == []

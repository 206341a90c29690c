"""The name of a job that has no title, made of its command."""

from __future__ import annotations

import re

from outlive import limits
from outlive.core.quoted import one_line
from outlive.core.shell import reader
from outlive.core.shell.reader import Command

_NAMED_WORDS = 2
# What they prepare says more
_BEFORE = frozenset("cd pushd popd export set shopt source . trap umask ulimit read test [ [[ true : = exit".split())
# What stands beside them says more
_BESIDE = frozenset(
    "echo printf sleep wait kill pkill rm mkdir rmdir touch chmod chown cp mv ln cat head tail ls pwd date".split()
)
BESIDE = _BEFORE | _BESIDE
_SAYING = frozenset({"echo", "printf"})
_ESCAPED = re.compile(r"\\(?:033|e|x1[bB])\[[\d;?]*[A-Za-z]|\\[nrt]")  # in what they print, as it is written in a shell
# Programs that run another one, and the options of all these programs that have a value
_STARTERS = frozenset("timeout nohup nice sudo env command exec setsid stdbuf ionice".split())
_VALUES = {
    program: frozenset(options.split())
    for programs, options in (
        ("git", "-c -C --git-dir --work-tree --namespace --exec-path"),
        ("docker", "-H --host --context --config -l --log-level"),
        ("kubectl helm", "-n --namespace --context --kube-context --kubeconfig --cluster --user -s --server"),
        ("npm", "--prefix -w --workspace -C"),
        ("pnpm yarn", "--filter -F -C --dir --cwd"),
        ("cargo go", "--config -Z -C --color"),
        ("uv poetry", "-C --directory -P --project --config-file --cache-dir"),
        ("gh", "-R --repo"),
        ("aws gcloud", "--profile --region --output --endpoint-url --project --account --configuration"),
        ("systemctl", "-H --host -M --machine"),
        ("ssh", "-p -i -l -o -F -J -L -R -D -b -c -E -e -I -m -O -Q -S -W -w"),
        (
            "curl",
            "-o --output -w --write-out -H --header -d --data -X --request -u --user -A -b -c -e -F -m --max-time --retry",
        ),
        ("wget", "-O -o -P -U -t --header"),
        ("gcc g++ cc c++ clang clang++", "-o -I -L -D -x -include -isystem"),
        ("psql", "-U --username -h --host -p --port -d --dbname"),
        ("rsync", "-e --rsh"),
        ("python", "-X -W --check-hash-based-pycs"),
        ("timeout nice stdbuf ionice", "-s --signal -k --kill-after -n --adjustment -i -o -e -c"),
        ("sudo", "-u --user -g --group -h -p -C -D -R -T"),
        ("env", "-u --unset -C --chdir"),
    )
    for program in programs.split()
}


def name_of(command: list[str]) -> str:
    """Return a name for lists, made of the program and what it is told to do: `npm run build`,
    `pytest tests`, `python3 -m venv`. Of several commands the last that does more than prepare, say or clear up."""
    words = main_words(command)
    if not words:
        return one_line(command[0])[: limits.NAME_CHARS].strip() or "command"
    verb = words[0].rsplit("/", 1)[-1] or words[0]
    rest = _without_options(verb, words[1:])
    if rest[:1] == ["-m"] and len(rest) > 1 and _known(verb) == "python":
        verb, rest = f"{verb} -m {rest[1]}", rest[2:]
    if verb in _SAYING:
        rest = [_ESCAPED.sub(" ", word) for word in rest]
    text = one_line(" ".join([verb, *_named(rest)]))
    if len(text) <= limits.NAME_CHARS:
        return text
    half = (limits.NAME_CHARS - 1) // 2
    return text[:half] + "…" + text[-half:]


def main_words(command: list[str]) -> list[str]:
    """Return the words of the command that a job is named for; none if it has none."""
    words = command if len(command) > 1 else _words(command[0])
    inside = reader.run_by(words) if words else None
    words = [word for word in (inside and _words(inside)) or words if word.strip()]
    return without_starters(words) if words else []


def without_starters(words: list[str]) -> list[str]:
    """Return the words of the command that `timeout 5`, `sudo -u x` or `env A=1` starts; these words if they start none."""
    found = words
    while (starter := found[0].rpartition("/")[2]) in _STARTERS:
        rest = _without_options(starter, found[1:])
        if starter == "timeout":
            rest = rest[1:]
        while rest and starter in ("env", "sudo") and "=" in rest[0]:
            rest = rest[1:]
        if not rest:
            break
        found = rest
    return found


def _known(program: str) -> str:
    return "python" if program.startswith(("python", "pypy")) else program


def _without_options(program: str, words: list[str]) -> list[str]:
    """Return the words behind the options of a program whose options with a value are known, up to python's -m."""
    values = _VALUES.get(_known(program))
    at = 0
    while values is not None and at < len(words) and words[at][:1] == "-" and words[at] != "-m":
        at += 2 if words[at] in values else 1
    return words[at:] or words


def _named(words: list[str]) -> list[str]:
    """Return the first words that are no options, at most two, up to an option behind them: the word
    after that may be its value."""
    named: list[str] = []
    for word in words:
        if word.startswith("-"):
            if named:
                break
        else:
            named.append(word)
    return named[:_NAMED_WORDS]


def _words(text: str) -> list[str]:
    """Return the words of the command that a shell string is named for; none if it cannot be read."""
    each = _first_stages(reader.commands(text))
    for passed in (BESIDE, _BEFORE | _SAYING, _BEFORE):
        chosen = next((words for words in reversed(each) if words[0].rpartition("/")[2] not in passed), None)
        if chosen is not None:
            return chosen
    return each[-1] if each else []


def _first_stages(joined: list[Command]) -> list[list[str]]:
    """Return the words of the first stage of each pipeline, those inside groups and loops too."""
    found = []
    for stages in reader.pipelines([one for one in joined if not one.defines]):
        first = next((one for one in stages if one.kind or one.name not in _BEFORE), stages[0])
        found += _first_stages(first.inside) if first.kind else [first.words]
    return found

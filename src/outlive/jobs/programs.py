"""The programs of a command: what a job of it is called, and the exit codes of all stages of a pipeline, which bash alone
knows.

A question behind the command would show in `ps`. So bash sets a trap before it runs the string (stages.bash, which it finds
by BASH_ENV and forgets), and writes the codes into the job's directory as it ends. The command has the words, variables,
files, processes and signals that it has without. Only `trap` would show it: a string with that word is left alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

import outlive
from outlive import limits
from outlive.core import shell_strings
from outlive.core.quoted import one_line
from outlive.core.records import Definition
from outlive.core.shell_strings import Command
from outlive.store import atomic_file
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import STAGES, JobDir

_SCRIPT = os.path.join(outlive.DIRECTORY, "jobs/stages.bash")
_EXPANDED = frozenset("$`\\'\"~")  # what bash does not take as it stands in BASH_ENV
# With one of these bash reads other files, or has options of the caller's
_OTHERS = ("BASH_ENV", "POSIXLY_CORRECT", "SHELLOPTS", "BASHOPTS")
_OVER_SSH = ("SSH_CLIENT", "SSH2_CLIENT")  # as the first shell of a session, bash may read .bashrc instead
_LEAVING = frozenset({"set", "exit", "exec", "return", "logout"})  # the string may end before its last pipeline
_MOST_BYTES = 4_096


def stages_of(definition: Definition) -> list[str]:
    """Return the name of each stage of the pipeline that a shell string ends with; nothing if it ends with none, or if
    another pipeline of the string might be taken for it."""
    if definition.shell is None or "|" not in definition.command[0]:
        return []
    joined = shell_strings.commands(definition.command[0])
    if not joined or joined[-1].operator == "&":
        return []
    *others, last = shell_strings.pipelines(joined)
    before = joined[-len(last) - 1].operator if others else ""
    around = shell_strings.every([one for stages in others for one in stages])
    if len(last) < 2 or last[0].is_negated or any(one.defines for one in around):
        return []
    is_reached = before in (";", "\n", "&") and not any(one.name in _LEAVING for one in around)
    is_alike = not is_reached and any(len(one) == len(last) or one[0].kind for one in others)
    return [] if is_alike else [one.name for one in last]


def stage_variables(definition: Definition, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make the shell of a job write the codes down; none where it cannot, or where the command
    would see it. `environment`: of the job."""
    if (definition.host or definition.sandbox or definition.script) is not None or not stages_of(definition):
        return {}
    shell = definition.shell or [""]
    if os.path.basename(shell[0]) != "bash" or shell[1:] not in (["-c"], ["-lc"], ["-l", "-c"]):
        return {}
    if "trap" in definition.command[0] or any(name in environment for name in _OTHERS):
        return {}
    if any(name in environment for name in _OVER_SSH) and environment.get("SHLVL", "0") == "0":
        return {}
    return {"BASH_ENV": _SCRIPT} if _EXPANDED.isdisjoint(_SCRIPT) and os.path.isfile(_SCRIPT) else {}


def stage_codes(inspection: Inspection, job: JobDir) -> list[int] | None:
    """Return the code of each stage of the pipeline that a job ended with; None where they are not known."""
    code = inspection.state.exit_code
    stages = stages_of(inspection.definition) if code is not None else []
    if not stages:
        return None
    try:
        found = [int(word) for word in atomic_file.read(job.fd, STAGES, _MOST_BYTES).split()]
    except (OSError, ValueError):  # bash did not come to its end, or the job wrote something else
        return None
    # With pipefail the code is that of another stage
    return found if len(found) == len(stages) and code in found and all(0 <= one <= 255 for one in found) else None


_NAMED_WORDS = 2
# What they prepare says more
_BEFORE = frozenset("cd pushd popd export set shopt source . trap umask ulimit read test [ [[ true : = exit".split())
# What stands beside them says more
_BESIDE = frozenset(
    "echo printf sleep wait kill pkill rm mkdir rmdir touch chmod chown cp mv ln cat head tail ls pwd date".split()
)
BESIDE = _BEFORE | _BESIDE
_SAYING = frozenset({"echo", "printf"})
_ESCAPED = r"\\(?:033|e|x1[bB])\[[\d;?]*[A-Za-z]|\\[nrt]"  # in what they print, as it is written in a shell
# Programs that run another one, and the options of all these programs that have a value
_STARTERS = frozenset("timeout nohup nice sudo env command exec setsid stdbuf ionice".split())
_VALUES = {
    program: frozenset(options.split())
    for programs_of, options in (
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
    for program in programs_of.split()
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
        rest = [re.sub(_ESCAPED, " ", word) for word in rest]
    text = one_line(" ".join([verb, *_named(rest)]))
    if len(text) <= limits.NAME_CHARS:
        return text
    half = (limits.NAME_CHARS - 1) // 2
    return text[:half] + "…" + text[-half:]


def main_words(command: list[str]) -> list[str]:
    """Return the words of the command that a job is named for; none if it has none."""
    words = command if len(command) > 1 else _words(command[0])
    inside = shell_strings.run_by(words) if words else None
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
    each = _first_stages(shell_strings.commands(text))
    for passed in (BESIDE, _BEFORE | _SAYING, _BEFORE):
        chosen = next((words for words in reversed(each) if words[0].rpartition("/")[2] not in passed), None)
        if chosen is not None:
            return chosen
    return each[-1] if each else []


def _first_stages(joined: list[Command]) -> list[list[str]]:
    """Return the words of the first stage of each pipeline, those inside groups and loops too."""
    found = []
    for stages in shell_strings.pipelines([one for one in joined if not one.defines]):
        first = next((one for one in stages if one.kind or one.name not in _BEFORE), stages[0])
        found += _first_stages(first.inside) if first.kind else [first.words]
    return found

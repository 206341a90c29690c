"""The exit codes of all stages of a pipeline, which bash alone knows.

A question behind the command would show in `ps`. So bash sets a trap before it runs the string (stages.bash, which it finds
by BASH_ENV and forgets), and writes the codes into the job's directory as it ends. The command has the words, variables,
files, processes and signals that it has without. Only `trap` would show it: a string with that word is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

import outlive
from outlive.core.records import Definition
from outlive.core.shell import reader
from outlive.store import atomic_file
from outlive.store.inspection.inspection import Inspection
from outlive.store.job_dir import STAGES, JobDir

_SCRIPT = os.path.join(outlive.DIRECTORY, "jobs/pipelines/stages.bash")
_EXPANDED = frozenset("$`\\'\"~")  # what bash does not take as it stands in BASH_ENV
# With one of these bash reads other files, or has options of the caller's
_OTHERS = ("BASH_ENV", "POSIXLY_CORRECT", "SHELLOPTS", "BASHOPTS")
_OVER_SSH = ("SSH_CLIENT", "SSH2_CLIENT")  # as the first shell of a session, bash may read .bashrc instead
_LEAVING = frozenset({"set", "exit", "exec", "return", "logout"})  # the string may end before its last pipeline
_MOST_BYTES = 4_096


def of(definition: Definition) -> list[str]:
    """Return the name of each stage of the pipeline that a shell string ends with; nothing if it ends with none, or if
    another pipeline of the string might be taken for it."""
    if definition.shell is None or "|" not in definition.command[0]:
        return []
    joined = reader.commands(definition.command[0])
    if not joined or joined[-1].operator == "&":
        return []
    *others, last = reader.pipelines(joined)
    before = joined[-len(last) - 1].operator if others else ""
    around = reader.every([one for stages in others for one in stages])
    if len(last) < 2 or last[0].is_negated or any(one.defines for one in around):
        return []
    is_reached = before in (";", "\n", "&") and not any(one.name in _LEAVING for one in around)
    is_alike = not is_reached and any(len(one) == len(last) or one[0].kind for one in others)
    return [] if is_alike else [one.name for one in last]


def variables(definition: Definition, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make the shell of a job write the codes down; none where it cannot, or where the command
    would see it. `environment`: of the job."""
    if (definition.host or definition.sandbox or definition.script) is not None or not of(definition):
        return {}
    shell = definition.shell or [""]
    if os.path.basename(shell[0]) != "bash" or shell[1:] not in (["-c"], ["-lc"], ["-l", "-c"]):
        return {}
    if "trap" in definition.command[0] or any(name in environment for name in _OTHERS):
        return {}
    if any(name in environment for name in _OVER_SSH) and environment.get("SHLVL", "0") == "0":
        return {}
    return {"BASH_ENV": _SCRIPT} if _EXPANDED.isdisjoint(_SCRIPT) and os.path.isfile(_SCRIPT) else {}


def codes(inspection: Inspection, job: JobDir) -> list[int] | None:
    """Return the code of each stage of the pipeline that a job ended with; None where they are not known."""
    code = inspection.state.exit_code
    stages = of(inspection.definition) if code is not None else []
    if not stages:
        return None
    try:
        found = [int(word) for word in atomic_file.read(job.fd, STAGES, _MOST_BYTES).split()]
    except (OSError, ValueError):  # bash did not come to its end, or the job wrote something else
        return None
    # With pipefail the code is that of another stage
    return found if len(found) == len(stages) and code in found and all(0 <= one <= 255 for one in found) else None

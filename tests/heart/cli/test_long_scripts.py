"""Shell strings that are longer than a word of execve(2) may be run like any other."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from outlive import limits
from outlive.system import fds, scripts
from support import pair, trees
from support.cli import Cli
from support.mcp_client import McpSession
from support.tiers import MODERN_FIRST
from support.wait import until

PADDING = "# " + "x" * 60 + "\n"
FILLED = PADDING * (limits.MAX_COMMAND_BYTES // len(PADDING) + 1)  # 2,081 lines
LINES = FILLED.count("\n")
SHELLS = ("bash", "sh")
OTHER_SHELLS = ("zsh", "ksh", "mksh", "busybox ash", "busybox sh")


def put(work: Path, text: str | bytes, name: str = "script.sh") -> Path:
    path = work / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def run(cli: Cli, work: Path, text: str | bytes, *flags: str, shell: str = "bash -c", **how: Any) -> dict[str, Any]:
    words = ("--wait", "--shell-wrapper", shell, *flags, "--script", str(put(work, text)))
    return cli.ok("run", *words, **how)


def errors_of(answer: Mapping[str, Any]) -> str:
    return Path(answer["stderr_log_path"]).read_text()


# --- as with -c ---------------------------------------------------------------------------------------------------

SCRIPTS = {
    "what a shell is": 'echo "$0 $- $# $*"; test -e /proc/$$/fd/9; echo $?',
    "first status": "echo $?; false; echo $?",
    "line of an error": "nosuchcommand",
    "line in a function": "f() {\n  nosuchcommand\n}\n\nf\n",
    "syntax error": "echo before\n)\necho after\n",
    "syntax error at the end": "echo before\nif true; then\n  echo x\n",
    "unset variable": "set -u\necho $missing\necho after",
    "errexit": "set -e\necho before\nfalse\necho after",
    "exit": "trap 'echo bye' EXIT\nexit 7",
    "last command": "(exit 5)",
    "signal": "kill -TERM $$",
    "document": "cat <<'EOF'\n$a `b` \\c \\\\ \"d\" '\nEOF\n",
    "document with expansions": "cat <<EOF\n$0 $(echo in)\nEOF",
    "document without an end": "cat <<EOF\nfoo\n\n\n",
    "newlines at the end": "echo a \\\n\n\n",
    "quote without an end": "echo before\necho 'a\n\n\n",
    "backslash at the end": "echo a \\",
    "comment at the end": "echo a # b",
    "input": "read line; echo got $line; cat",
    "positional": "set -- a b; echo $1 $#",
}


# ksh looks for errors of syntax in all of what it evaluates before it runs any of it
CHECKED_AHEAD = {"syntax error", "syntax error at the end", "quote without an end"}


@pytest.mark.parametrize("shell", [*SHELLS, *OTHER_SHELLS])
def test_what_reads_a_script_does_what_c_does_with_the_same_text(shell: str, tmp_path: Path) -> None:
    need(shell)
    for name, script in SCRIPTS.items():
        text = script.encode()
        (tmp_path / "script").write_bytes(text)
        with (tmp_path / "script").open("rb") as file:
            word, end = scripts.reading([*shell.split(), "-c"])
            copy = scripts.copied(file.fileno(), len(text), hashlib.sha256(text).hexdigest(), end)
        try:
            read = ran([*shell.split(), "-c", word], copy)
        finally:
            os.close(copy)
        status, out, errors = ran([*shell.split(), "-c", script], None)
        ahead = shell == "ksh" and name in CHECKED_AHEAD
        assert read == (status, b"" if ahead else out, errors), name


def need(shell: str) -> None:
    if shutil.which(shell.split(maxsplit=1)[0]) is None:
        pytest.skip(f"there is no {shell}")


def ran(words: list[str], script: int | None) -> tuple[int, bytes, str]:
    """Exit status, stdout and stderr without the name of what the shell reads."""

    def move() -> None:
        if script is not None:
            os.dup2(script, fds.SCRIPT)

    done = subprocess.run(
        words, input=b"line one\nline two\n", capture_output=True, preexec_fn=move,
        pass_fds=() if script is None else (fds.SCRIPT,), env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}, check=False,
    )  # fmt: skip
    return (
        done.returncode,
        done.stdout,
        re.sub(_BUSYBOX, "", re.sub(_READER, "", done.stderr.decode(), flags=re.MULTILINE), flags=re.MULTILINE),
    )


# What only says that the text was read: `eval: `, `(eval):2` in zsh, `ksh: eval[5]: f[2]`, `ash: line 2: ` in busybox
_READER = r"-c: |eval: |^(?:\(eval\)|zsh)(?=:)|^ksh(?:: eval)?\[\d+\]: |^ksh: "
_BUSYBOX = r"(?<=^ash: )line \d+: |(?<=^sh: )line \d+: "


LINE = {  # of an error; mksh names none with -c either, and busybox counts what eval reads from 0
    "bash": "line {}: ",
    "sh": ": {}: ",
    "zsh": ":{}: ",
    "ksh": "[{}]: ",
    "mksh": "mksh: nosuchcommand",
    "busybox": "line {1}: ",
}


@pytest.mark.parametrize(
    "shell",
    ["bash -c", "sh -lc", "bash --norc -euo pipefail -c", "zsh -fc", "ksh -c", "mksh -c", "busybox ash -c"],
)
def test_a_long_script_runs_with_its_own_name_options_lines_input_and_exit_code(
    cli: Cli, work: Path, shell: str
) -> None:
    need(shell)
    short = cli.ok("run", "--wait", "--shell-wrapper", shell, 'echo "$0 $-"')["output"]
    text = (
        FILLED
        + 'echo "$0 $-"\nread line; echo "got $line"\ntest -e /proc/$$/fd/9 || echo closed\nnosuchcommand || (exit 7)'
    )
    done = run(cli, work, text, "--stdin-data", "line one\n", shell=shell)
    assert (done["state"], done["exit_code"], done["reason"]) == ("exited", 7, "exit")
    assert Path(done["stdout_log_path"]).read_text() == f"{short}got line one\nclosed\n"
    number = LINES + 4
    assert LINE[shell.split(maxsplit=1)[0]].format(number, number - 1) in errors_of(done)


@pytest.mark.parametrize("shell", ["bash -lc", "sh -lc"])
@pytest.mark.parametrize("line", ["exec 9>&-", "exec 9</dev/null", "exec 9>lock"])
def test_a_script_that_a_start_file_of_the_shell_has_hidden_is_no_script_that_ran(
    cli: Cli, work: Path, place: Path, shell: str, line: str
) -> None:
    for name in (".profile", ".bash_profile"):
        (place / "home" / name).write_text(line + "\n")
    done = run(cli, work, FILLED + "touch made", shell=shell)
    assert (done["state"], done["exit_code"]) == ("exited", 126)
    assert "was closed or replaced by a start file of the shell" in errors_of(done)


def test_the_bytes_of_a_script_arrive_as_they_are(cli: Cli, work: Path) -> None:
    data = bytes(range(1, 256)).replace(b"\n", b"") * 700
    for shell in SHELLS:
        done = run(cli, work, b"cat <<'END'\n" + data + b"\nEND\n", shell=f"{shell} -c")
        assert Path(done["stdout_log_path"]).read_bytes() == data + b"\n"
    done = run(cli, work, FILLED + 'printf %s "$BASH_EXECUTION_STRING" | tail -n 1')
    assert done["output"] == 'printf %s "$BASH_EXECUTION_STRING" | tail -n 1'


def test_a_file_that_has_the_number_of_a_script_gives_it_up(tmp_path: Path) -> None:
    """spawn takes no fd that is both source and target."""
    with (tmp_path / "one").open("w") as one, (tmp_path / "two").open("w") as two:
        files = {1: os.dup(one.fileno()), 2: os.dup(two.fileno())}
        first = files[1]
        fds.keep_free(first, files)
        assert files[1] > first and not os.path.exists(f"/proc/self/fd/{first}")
        assert [os.fstat(fd) for fd in files.values()] == [os.fstat(file.fileno()) for file in (one, two)]
        for fd in files.values():
            os.close(fd)


def test_a_script_in_a_terminal_reads_what_is_typed(cli: Cli, work: Path) -> None:
    path = put(work, FILLED + "read line; echo got $line; test -t 0")
    job = cli.ok("run", "--snapshot-after", "0", "--pty", "--script", str(path))["job_id"]
    cli.ok("write", job, "--data", "typed\n")
    done = cli.ok("wait", job)
    assert done["exit_code"] == 0 and "got typed" in cli.ok("log", job)["output"]


# --- the ways in --------------------------------------------------------------------------------------------------


@MODERN_FIRST
def test_a_script_of_8_mib_runs_and_one_byte_more_is_refused(cli: Cli, work: Path, mcp_session: McpSession) -> None:
    head, end = "cat <<'END' | wc -c\n", "\nEND\n"
    text = head + "x" * (limits.MAX_SCRIPT_BYTES - len(head) - len(end)) + end
    size = f"{limits.MAX_SCRIPT_BYTES - len(head) - len(end) + 1}\n"
    for shell in SHELLS:
        assert run(cli, work, text, shell=f"{shell} -c")["output"] == size
    error = cli.error("run", "--script", str(put(work, text + "#")), code="invalid_argument")
    assert "8,388,608 bytes" in error["message"]
    found = mcp_session.ok("exec", command=text)
    assert (found["exit_code"], found["output"]) == (0, size)
    assert "8,388,608 bytes" in mcp_session.error("exec", command=text + "#", code="invalid_argument").text


def test_create_start_and_restart_run_the_whole_script(cli: Cli, work: Path) -> None:
    path = put(work, FILLED + "echo whole; exit 3")
    made = cli.ok("create", "--script", str(path))["job_id"]
    path.unlink()
    for job in (made, cli.ok("restart", cli.ok("start", made, "--wait")["job_id"], "--wait")["job_id"]):
        found = cli.ok("wait", job)
        assert (found["exit_code"], cli.ok("log", job)["output"]) == (3, "whole\n")


def test_a_script_comes_from_stdin_and_only_from_one_place(cli: Cli, work: Path) -> None:
    assert cli.ok("run", "--wait", "--script", "-", input="echo $0; cat")["output"] == "sh\n"  # a short one too
    path = str(put(work, "true"))
    for words in (("--script", path, "true"), ("--script", "-", "--stdin", "-")):
        assert "not both" in cli.error("run", *words, code="invalid_argument", input="true")["message"]
    assert "NUL" in cli.error("run", "--script", str(put(work, b"a\0b")), code="invalid_argument")["message"]
    assert "empty" in cli.error("run", "--script", str(put(work, "\n")), code="invalid_argument")["message"]
    cli.error("run", "--script", "missing", code="io_error")


@pytest.mark.parametrize("shell", ["python3 -c", "nice bash -c", "bash file -c", "bash -c -l", "bash -co", "env"])
def test_a_program_that_cannot_read_a_script_is_not_given_one(cli: Cli, work: Path, shell: str) -> None:
    words = ("run", "--shell-wrapper", shell, "--script", str(put(work, FILLED)))
    error = cli.error(*words, code="invalid_argument")
    assert "131,071 bytes" in error["message"] and "bash" in error["hint"]
    assert not trees.contents(cli.root)


# --- what is kept and shown ---------------------------------------------------------------------------------------


@MODERN_FIRST
def test_every_answer_has_the_beginning_and_the_size(cli: Cli, work: Path, mcp_session: McpSession) -> None:
    text = "echo begun\n" + FILLED * 3 + "exit 1"
    told = str(work / "told")
    started = run(cli, work, text, "--notify-file", told, "--notify-command", "cat > handed; env > variables")
    job = started["job_id"]
    until((work / "variables").exists, what="the command is told")
    beginning = [text[: limits.SCRIPT_CHARS]]
    answers = [started, cli.ok("status", job), *cli.ok("list")["jobs"], mcp_session.ok("exec", command=text)]
    answers += [json.loads(Path(told).read_text()), json.loads((work / "handed").read_text())]
    for answer in answers:
        assert "command" not in answer or (answer["command"], answer["command_bytes"]) == (beginning, len(text))
        assert len(json.dumps(answer)) < 10_000
    assert sum("command" in answer for answer in answers) == 6
    assert max(map(len, (cli.text("status", job, "--human").stdout, cli.text("list", "--human").stdout))) < 10_000
    stored = {path.name: len(data) for path, data in trees.contents(cli.root / job).items() if data}
    assert stored.pop("script") == len(text)
    assert max(stored.values()) < 10_000 and len((work / "variables").read_bytes()) < 20_000
    assert "command_bytes" not in cli.ok("run", "true")


def test_nothing_is_left_in_a_temporary_directory(cli: Cli, work: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    job = run(cli, work, FILLED + "echo $TMPDIR; ls -A $TMPDIR", env={"TMPDIR": str(tmp_path / "empty")})["job_id"]
    assert cli.ok("log", job)["output"] == f"{tmp_path}/empty\n"
    assert not [*(tmp_path / "empty").iterdir()]
    cli.ok("remove", job)
    assert not [*cli.root.glob(f"*{job}*")]


def test_a_script_that_was_changed_is_not_run(cli: Cli, work: Path) -> None:
    job = cli.ok("create", "--script", str(put(work, FILLED + "touch made")))["job_id"]
    script = cli.root / job / "script"
    whole = script.read_bytes()
    script.write_bytes(whole.replace(b"touch made", b"touch evil"))
    assert scripts.CHANGED in cli.error("start", job, code="launch_failed")["message"]
    script.write_bytes(whole + b"#")
    assert scripts.CHANGED in cli.error("start", job, code="launch_failed")["message"]
    script.unlink()
    cli.error("start", job, code="launch_failed")
    with cli.spawn("start", job, env={"OUTLIVE_CRASH_AT": "send_done"}) as killed:  # nobody hears why
        assert killed.wait(60) == -signal.SIGKILL
    pair.until_free(cli.root, job)
    script.write_bytes(whole)
    ended = cli.ok("start", job, "--wait")
    assert (ended["exit_code"], "faults" in cli.ok("status", job)) == (0, False)
    assert [one.name for one in work.iterdir() if one.name != "script.sh"] == ["made"]


@pytest.mark.real_start
def test_a_supervisor_does_not_keep_the_script(cli: Cli, work: Path) -> None:
    text = ": <<'END'\n" + "x" * (limits.MAX_SCRIPT_BYTES - 100) + "\nEND\nkill -STOP $$"
    job = cli.ok("run", "--snapshot-after", "0", "--shell-wrapper", "bash -c", "--script", str(put(work, text)))[
        "job_id"
    ]
    supervisor = pair.supervisor(job)
    until(lambda: cli.ok("status", job)["pid"], what="its command")
    assert not [link for link in Path(f"/proc/{supervisor}/fd").iterdir() if "memfd:script" in os.readlink(link)]
    other = cli.ok("run", "--snapshot-after", "0", "kill -STOP $$")["job_id"]
    assert resident_bytes(supervisor) - resident_bytes(pair.supervisor(other)) < limits.MAX_SCRIPT_BYTES
    for one in (job, other):
        cli.ok("kill", one)


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")

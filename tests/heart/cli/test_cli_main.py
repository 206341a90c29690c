"""From argv to one object on stdout and an exit status, by made-up verbs: what `run` does is not the CLI's."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from outlive import verbs
from outlive.cli import main as cli
from outlive.errors import OutliveError, invalid
from outlive.jobs import context as context_module
from outlive.system.waiting import pause
from outlive.verbs import spec
from outlive.verbs.spec import Arg, GlobalOptions, Verb
from support.given import Given

pytestmark = pytest.mark.real_start  # how the process starts and ends

Run = Callable[..., Any]
PROGRAMS = [name for name in verbs.names() if verbs.load(name).program]
WAIT_ARGS = (
    spec.JOB,
    Arg("wait", spec.BOOL, "Wait.", default=False),
    Arg("propagate", spec.BOOL, "Exit like the job.", default=False),
)


@pytest.fixture
def verb(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`verb(run, name="status")` makes this function answer the verb."""

    def make(run: Run, name: str = "status", args: tuple[Arg, ...] = WAIT_ARGS, **more: Any) -> None:
        module: Any = types.ModuleType("fake")
        kept = ("store", "configuration", "waits") if name in verbs.names() else ()
        about = {one: getattr(verbs.load(name), one) for one in kept}
        made = Verb(name, "A made-up verb.", run, args=args, **about, **more)
        setattr(module, name.upper().replace(" ", "_"), made)
        monkeypatch.setitem(verbs.VERBS, name, "fake_" + name.replace(" ", "_"))
        monkeypatch.setitem(sys.modules, "outlive.verbs.fake_" + name.replace(" ", "_"), module)

    return make


class Called:
    def __init__(self, capfd: pytest.CaptureFixture[str]) -> None:
        self._capfd = capfd
        self.status = -1
        self.out = self.err = ""

    def __call__(self, *argv: str) -> dict[str, Any]:
        """The one object of stdout."""
        self.text(*argv)
        assert self.out.endswith("\n")
        assert self.out.count("\n") == 1
        found: dict[str, Any] = json.loads(self.out)
        return found

    def text(self, *argv: str) -> str:
        self.status = cli.main(list(argv))
        self.out, self.err = self._capfd.readouterr()
        return self.out

    def refused(self, *argv: str) -> dict[str, Any]:
        found = self(*argv)
        assert found["ok"] is False
        assert found["type"] == "error"
        error: dict[str, Any] = found["error"]
        return error


@pytest.fixture
def call(capfd: pytest.CaptureFixture[str]) -> Called:
    return Called(capfd)


def answers(**result: Any) -> Run:
    return lambda ctx, **given: Given(**result)


def raises(error: BaseException) -> Run:
    def run(ctx: Any, **given: Any) -> Any:
        raise error

    return run


# --- answers -------------------------------------------------------------------------------------------------------


def test_text_that_is_no_utf8_is_answered_as_escapes(verb: Any, call: Called) -> None:
    verb(answers(cwd="/\udcff", name="ü"))
    found = call("status", "J")
    assert (found["cwd"], found["name"]) == ("/\udcff", "ü")
    assert call.out.isascii()


def test_a_deleted_working_directory_is_no_error(verb: Any, call: Called, place: Path) -> None:
    gone = place / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    verb(lambda ctx, **given: Given(cwd=ctx.cwd))
    assert call("status", "J")["cwd"] is None
    assert call.refused("status", "J", "--root", "here")["details"] == {"field": "--root"}


# --- errors and exit status ----------------------------------------------------------------------------------------


def test_an_argument_that_an_action_refuses_is_status_1_unless_it_is_the_wording(verb: Any, call: Called) -> None:
    verb(raises(invalid("cwd", "no such directory")))
    call.refused("status", "J")
    assert (call.status, call.err) == (1, "")
    verb(raises(invalid("cwd", "no such directory", usage=True)))
    call.refused("status", "J")
    assert call.status == 2


def test_a_bug_is_an_internal_error_and_its_traceback_only_for_who_asks(verb: Any, call: Called) -> None:
    verb(raises(KeyError("oops")))
    error = call.refused("status", "J")
    assert (error["code"], error["message"], call.status) == ("internal_error", "KeyError: 'oops'", 1)
    assert call.err == ""
    call.refused("status", "J", "-v")
    assert "Traceback" in call.err


def test_an_answer_that_is_no_json_is_an_internal_error(verb: Any, call: Called) -> None:
    for value in (object(), float("nan")):
        verb(answers(value=value))
        assert call.refused("status", "J")["code"] == "internal_error"


def test_a_failed_system_call_is_an_io_error_that_says_whether_to_try_again(verb: Any, call: Called) -> None:
    verb(raises(OSError(28, "No space left on device", "/x")))
    error = call.refused("status", "J")
    assert (error["code"], error["retryable"], call.status) == ("io_error", True, 1)
    assert "/x" in error["message"]


def test_a_bad_configuration_and_an_unsafe_root_are_error_objects(
    verb: Any, call: Called, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    verb(answers())
    assert call.refused("status", "J", "--config", "nowhere.toml")["code"] == "config_error"
    shared = place / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    error = call.refused("status", "J", "--root", str(shared))
    assert (error["code"], error["hint"]) == ("store_unsafe", f"Run: chmod 700 {shared}")
    shared.chmod(0o1777)
    error = call.refused("status", "J", "--root", str(shared))
    assert (error["code"], error["hint"][:23]) == ("store_unsafe", "Choose another job root"), "as /tmp is"
    shared.chmod(0o777)
    verb(answers(), name="schema", args=())
    assert call("schema", "--root", str(shared))["ok"], "the schema needs no root"
    verb(answers(), name="doctor", args=())
    assert call("doctor", "--root", str(shared), "--config", "nowhere.toml")["ok"], "whose work it is to say so"


def test_an_action_of_the_server_only_is_no_verb_here(verb: Any, call: Called) -> None:
    verb(answers(), cli=False)
    assert call.refused("status", "J")["code"] == "invalid_argument"
    assert call.status == 2


# --- ^C ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("wait", None, "outlive: interrupted; job J goes on\n"),
        ("wait", "01JWHOLE", "outlive: interrupted; job 01JWHOLE goes on\n"),
        ("status", None, "outlive: interrupted\n"),
    ],
)
def test_an_interrupt_ends_the_waiting_and_says_that_the_job_goes_on(
    verb: Any, call: Called, name: str, known: str | None, said: str
) -> None:
    closed: list[bool] = []

    def run(ctx: context_module.Context, **given: Any) -> None:
        ctx.job_id = known
        try:
            signal.raise_signal(signal.SIGINT)
            pause((), None)
        finally:
            closed.append(True)

    verb(run, name=name)
    call.text(name, "J")
    assert (call.status, call.out, call.err) == (130, "", said)
    assert closed == [True]


# --- --propagate ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "status"),
    [
        ({"state": "exited", "exit_code": 0}, 0),
        ({"state": "exited", "exit_code": 42}, 42),
        ({"state": "killed", "exit_code": None, "signal": "SIGKILL"}, 137),
        ({"state": "killed", "exit_code": None, "signal": "SIGRTMIN+2"}, 128 + signal.SIGRTMIN + 2),
        ({"state": "failed", "exit_code": None, "reason": "launch", "errno": "ENOENT"}, 127),
        ({"state": "failed", "exit_code": None, "reason": "launch", "errno": "EACCES"}, 126),
        ({"state": "failed", "exit_code": None, "reason": "lost"}, 1),
    ],
)
def test_propagate_exits_like_the_job_and_still_answers(
    verb: Any, call: Called, result: dict[str, Any], status: int
) -> None:
    verb(answers(**result))
    assert call("status", "--wait", "--propagate", "J")["state"] == result["state"]
    assert call.status == status
    call("status", "--wait", "J")
    assert call.status == 0


# --- help, version, human, logs ------------------------------------------------------------------------------------


@pytest.mark.parametrize("argv", [["status", "--help"], ["-h", "status"], ["help", "status"], ["status", "J", "-h"]])
def test_help_of_a_verb_is_text_on_stdout(verb: Any, call: Called, argv: list[str]) -> None:
    verb(raises(AssertionError()))
    assert call.text(*argv).startswith("usage: outlive status [OPTIONS] JOB\n")
    assert (call.status, call.err) == (0, "")


@pytest.mark.parametrize("argv", [["token", "--help"], ["-h", "token"], ["help", "token"]])
def test_help_of_a_first_word_shows_the_verbs_that_begin_with_it(call: Called, argv: list[str]) -> None:
    text = call.text(*argv)
    assert (call.status, call.err) == (0, "")
    assert all(f"\n  {name} " in text for name in ("token add", "token list", "token revoke")) and "tag set" not in text


@pytest.mark.parametrize("argv", [["token"], ["token", "ad"], ["token", "ad", "--help"]])
def test_a_first_word_alone_is_told_what_follows_it(call: Called, argv: list[str]) -> None:
    assert "token add, token list, token revoke" in call.refused(*argv)["hint"]
    assert call.status == 2


def test_help_alone_shows_every_verb(verb: Any, call: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verbs, "VERBS", {})
    monkeypatch.setattr("outlive.parts.verbs", dict)
    verb(answers())
    verb(answers(), name="poll", cli=False)
    text = call.text("--help")
    assert "\n  status" in text
    assert "\n  poll" not in text
    assert call.text("help") == text


def test_version_is_text_wherever_it_stands(verb: Any, call: Called) -> None:
    verb(answers())
    assert call.text("--version") == call.text("status", "--version") == "outlive 0.1.0\n"


def test_human_answers_are_tables_and_human_errors_go_to_stderr(verb: Any, call: Called) -> None:
    verb(answers(job_id="01J"))
    assert call.text("status", "J", "--human") == "job id  01J\n"
    verb(raises(OutliveError("job_not_found", "no job", hint="Look.")))
    assert call.text("--human", "status", "J") == ""
    assert (call.status, call.err) == (1, "error: no job\nhint: Look.\n")


def test_nothing_is_logged_unless_asked_for(verb: Any, call: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    verb(answers())
    call("status", "J")
    assert call.err == ""
    call("status", "J", "-v")
    assert "verb=status" in call.err
    assert "config=" not in call.err
    call("status", "J", "-vv")
    assert "config=" in call.err
    monkeypatch.setenv("OUTLIVE_LOG", "debug")
    call("status", "J")
    assert "config=" in call.err


# --- commands that answer otherwise --------------------------------------------------------------------------------


def test_a_program_gets_its_arguments_and_the_global_options(call: Called, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def serve(values: dict[str, Any], options: GlobalOptions) -> int:
        seen.append((values["tools"], values["isolate"], options.root))
        return 7

    module: Any = types.ModuleType("fake_program")
    module.serve = serve
    monkeypatch.setitem(sys.modules, "fake_program", module)
    made = Verb("mcp", "A made-up program.", args=verbs.load("mcp").args, program="fake_program:serve")
    monkeypatch.setattr("outlive.verbs.programs.MCP", made)
    call.text("--root", "/a", "mcp", "--tools", "exec", "--root", "/b")
    assert call.status == 7
    assert seen == [("exec", False, "/b")]


@pytest.mark.parametrize("verb", PROGRAMS)
def test_the_help_of_a_program_is_made_from_its_declaration(call: Called, verb: str) -> None:
    text = call.text(verb, "--help")
    assert call.status == 0
    assert text == call.text("help", verb)
    assert text.startswith(f"usage: outlive {verb}")
    declared = [arg.cli for arg in verbs.load(verb).args if arg.hidden is not True]
    assert [flag for flag in declared if flag not in text] == []


@pytest.mark.parametrize("verb", PROGRAMS)
def test_a_mistake_in_the_options_of_a_program_is_an_error_object(call: Called, verb: str) -> None:
    assert f"outlive {verb} --help" in call.refused(verb, "--zzz")["hint"]
    assert call.status == 2


# --- as a process --------------------------------------------------------------------------------------------------

# Each would cost `outlive status` 5 to 200 ms.
_HEAVY = (
    *("dataclasses", "argparse", "logging", "inspect", "shutil", "subprocess", "difflib"),
    *("mcp", "pydantic", "anyio", "asyncio"),
)


def python(*argv: str, **how: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *argv], text=True, check=False, timeout=60, **how)


def test_the_way_to_an_answer_imports_nothing_heavy() -> None:
    program = f"""
import sys
before = set(sys.modules)
import types
from outlive import verbs
from outlive.verbs import spec
module = types.ModuleType("fake")
from outlive.answers import Fields, field
class Echo(Fields):
    job = field("Which.")
module.STATUS = spec.Verb("status", "x", lambda ctx, job: Echo(job=job), args=(spec.JOB,))
sys.modules["outlive.verbs.declarations.job"] = module
import outlive.__main__
from outlive.cli.main import main  # what it calls; it ends the process itself
status = main(["status", "J"])
print(sorted((set(sys.modules) - before) & set({_HEAVY!r})), file=sys.stderr)
sys.exit(status)
"""
    done = python("-c", program, capture_output=True)
    assert done.stderr == "[]\n"
    assert json.loads(done.stdout)["job"] == "J"


def test_a_reader_that_is_gone_is_no_traceback() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = python("-m", "outlive", "--version", stdout=write_end, stderr=subprocess.PIPE)
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", ["nonsense", "--version", "list --all", "list --follow", "--human list --follow"])
def test_an_answer_that_could_not_be_written_is_status_1_and_says_so(words: str) -> None:
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = python("-m", "outlive", *words.split(), stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (1, "outlive: while writing the answer: No space left on device\n")


def test_closed_standard_streams_are_never_a_file_of_the_store() -> None:
    done = python(
        "-c",
        "import os, sys; [os.close(fd) for fd in (0, 1)]\n"
        "from outlive.system import fds; fds.open_standard(); fds.open_standard()\n"
        "print([os.readlink(f'/proc/self/fd/{fd}') for fd in (0, 1)], file=sys.stderr)",
        stderr=subprocess.PIPE,
    )
    assert done.stderr.strip() == "['/dev/null', '/dev/null']"


def test_a_large_answer_gets_through_a_full_non_blocking_pipe() -> None:
    program = (
        "import os; os.set_blocking(1, False)\n"
        "from outlive.cli import stdio\n"
        "stdio.write(b'x' * 3_000_000); stdio.write(b'y')"
    )
    done = python("-c", program, stdout=subprocess.PIPE)
    assert done.stdout == "x" * 3_000_000 + "y"


def test_the_process_ends_with_the_status_and_says_everything_first() -> None:
    done = python("-m", "outlive", "--version", capture_output=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("outlive ")
    program = (
        "import sys; print('buffered'); sys.argv = ['outlive', 'nonsense']; from outlive.__main__ import main; main()"
    )
    env = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    done = python("-c", program, capture_output=True, env=env)
    assert done.returncode == 2
    assert done.stdout.startswith('{"schema_version"')
    assert done.stdout.endswith("buffered\n")

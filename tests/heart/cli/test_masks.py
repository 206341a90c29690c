"""Values of masked variables, which a job prints: no answer shows them, the logs keep them."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive.store.atomic_file import NotOurs
from outlive.store.job_dir import LOGS, JobDir
from outlive.store.output.masks import Mask
from outlive.store.output.merged import Output
from outlive.supervisor.output.masking import Masking
from outlive.system import fds
from support import pair, trees
from support.cli import Cli, Jobs
from support.commands import GATE
from support.mcp_client import McpSession
from support.tiers import ONE_ERA, first
from support.wait import until

SECRET = "hunter22"
GIVEN = ("--env", f"KEY={SECRET}", "--mask", "KEY")


def test_no_answer_shows_a_masked_value_and_the_logs_keep_it(cli: Cli, root: Path, jobs: Jobs) -> None:
    words = ("--watch", "hunter", "--watch", "token", "echo token $KEY; echo $KEY >&2; printf $KEY")
    job = cli.ok("run", *GIVEN, *words)["job_id"]
    answers = [
        cli.ok("log", job),
        cli.ok("log", job, "--raw"),
        cli.ok("log", job, "--stream", "stderr"),
        cli.ok("log", job, "--search", "hunter"),
        cli.ok("tail", job),
        cli.ok("poll", job, "--raw"),
        cli.ok("events", job),
        cli.ok("list"),
        cli.ok("status", job),
        cli.ok("wait", job, "--until", "regex=token", "--since-seq", "0"),
        cli.ok("restart", job, "--env", f"KEY={SECRET}"),
    ]
    assert SECRET not in json.dumps(answers)
    assert "hunter" not in json.dumps([answer for answer in answers if answer["type"] == "log"][:3])
    assert answers[3]["output"] == "", "a search is no way to find out a value"
    assert "token ********" in answers[0]["output"]
    assert [event["line"] for event in answers[6]["events"] if "line" in event] == ["token ********"]
    assert (root / job / LOGS[0]).read_text() == f"token {SECRET}\n{SECRET}"
    holding = {path.name for path, content in trees.contents(root / job).items() if SECRET.encode() in content}
    assert holding == {*LOGS}
    jobs.end()


def test_kill_masks_the_command_lines_that_it_shows(cli: Cli) -> None:
    inner = "env -i /bin/sh -c 'sleep 300; true' name $KEY"
    job = cli.ok("run", "--snapshot-after", "0", *GIVEN, f"{inner}; true")["job_id"]
    until(lambda: cli.ok("status", job)["descendants"] == 2, what="its shell and its sleep")
    for found in (cli.ok("kill", job, "--signal", "CONT")["survivors"], cli.ok("kill", job)["ended"]):
        assert SECRET not in json.dumps(found)
        assert any(one["command"].endswith(" name ***") for one in found), found
    inner = inner.replace("sleep", "echo up; sleep")
    job = cli.ok("run", "--snapshot-after", "0", *GIVEN, f"exec {inner}")["job_id"]  # nothing knows the value
    # A login shell may have children of its own before
    until(lambda: cli.ok("tail", job)["stdout_tail"] and cli.ok("status", job)["descendants"] == 1, what="its sleep")
    assert {one["command"] for one in cli.ok("kill", job)["ended"]} == {"/bin/sh", "sleep"}


def test_a_value_is_masked_across_the_borders_of_what_was_written(cli: Cli, work: Path) -> None:
    command = f"printf 'a hunt'; echo >&2; {GATE}; printf 'er22 b'"
    job = cli.ok("run", *GIVEN, "--snapshot-after", "0", command)["job_id"]
    seen = until(lambda: cli.ok("poll", job)["output"] == "a ", what="the output before what may be the value")
    assert seen
    assert cli.ok("tail", job)["stdout_tail"] == "a "
    (work / "go").touch()
    cli.ok("wait", job)
    assert cli.ok("tail", job)["stdout_tail"] == "a ******** b"
    assert cli.ok("poll", job)["output"] == "a ****\n**** b"


def test_the_beginning_of_a_value_at_the_end_of_the_output_is_shown(cli: Cli) -> None:
    assert cli.ok("run", *GIVEN, "printf 'end hunter2'")["output"] == "end hunter2"


def test_each_line_of_a_value_is_masked_wherever_the_value_comes_from(cli: Cli, place: Path) -> None:
    (place / "env").write_text("FILE=fromfile\n")
    given = ("--env", "KEY=first line\nab\nlast line", "--mask", "KEY", "--env-file", place / "env", "--mask", "FILE")
    command = 'echo "$KEY"; echo $FILE $INHERITED'
    found = cli.ok("run", *given, "--mask", "INHERITED", command, env={"INHERITED": "fromoutside"})
    assert found["output"] == "**********\nab\n*********\n******** ***********\n"


@ONE_ERA
def test_both_faces_and_a_terminal_mask_the_same(cli: Cli, mcp_session: McpSession) -> None:
    asked: dict[str, Any] = {"command": f"echo {SECRET}; {GATE}", "env": {"KEY": SECRET}, "mask": ["KEY"], "pty": True}
    job = mcp_session.ok("exec", **asked, yield_ms=0)["job_id"]
    waited = mcp_session.ok("process", action="wait", job_id=job, until=[{"regex": "^\\*+$"}], since_seq=0)
    assert waited["fired"]["line"] == "********"
    assert mcp_session.ok("process", action="screen", job_id=job)["lines"][0] == "********"
    assert cli.ok("screen", job)["lines"][0] == "********"
    assert cli.ok("list")["jobs"][0]["last_line"] == "********"
    cli.ok("kill", job)


@pytest.mark.parametrize("asked", [("--pty",), ("--stdin", "open")], ids=["terminal", "pipe"])
def test_the_history_has_no_masked_value_in_a_prompt(cli: Cli, root: Path, asked: tuple[str, ...]) -> None:
    job = cli.ok("run", "--snapshot-after", "0", *GIVEN, *asked, 'printf "Use $KEY? "; read answer')["job_id"]
    assert cli.ok("wait", job, "--until", "input")["prompt"] == "Use ********?"

    def told() -> list[str]:
        return [one["prompt"] for one in cli.ok("events", job)["events"] if one["type"] == "waiting_for_input"]

    assert until(told, what="the event") == ["Use ********?"]
    holding = {path.name for path, content in trees.contents(root / job).items() if SECRET.encode() in content}
    assert holding == {LOGS[0]}
    cli.ok("kill", job)


@pytest.mark.parametrize("both", [False, True], ids=["supervisor", "supervisor and guardian"])
def test_output_is_masked_after_its_supervisors_were_killed(cli: Cli, work: Path, both: bool, jobs: Jobs) -> None:
    job = cli.ok("run", *GIVEN, "--snapshot-after", "0", f"echo one $KEY; {GATE}; echo two $KEY")["job_id"]
    until(lambda: cli.ok("poll", job)["output"] == "one ********\n", what="the first line")
    pair.end(*([pair.guardian(job)] if both else []), pair.supervisor(job))
    until(lambda: cli.ok("status", job)["state"] == "running", what="a look after which it is supervised again")
    (work / "go").touch()
    cli.ok("wait", job)
    assert cli.ok("poll", job, "--since-seq", "0")["output"] == "one ********\ntwo ********\n"
    jobs.end()


def test_what_was_printed_when_no_process_knew_the_value_any_more_is_not_shown(
    cli: Cli, work: Path, jobs: Jobs
) -> None:
    (work / "without").write_text(f"echo one $1; {GATE}; echo two $1", encoding="utf-8")
    job = cli.ok("run", *GIVEN, "--snapshot-after", "0", 'exec env -u KEY sh ./without "$KEY"')["job_id"]
    until(lambda: cli.ok("poll", job)["output"] == "one ********\n", what="the first line")
    pair.end(pair.guardian(job), pair.supervisor(job))
    until(lambda: cli.ok("status", job)["state"] == "running", what="a look after which it is supervised again")
    (work / "go").touch()
    cli.ok("wait", job)
    hint = until(lambda: cli.ok("poll", job).get("hint"), what="the end of the supervisor, after which none searches")
    assert "The last 13 bytes of output are not shown" in hint
    assert cli.ok("poll", job, "--since-seq", "0")["output"] == "one ********\n"
    jobs.end()


def test_what_no_process_searched_is_not_shown(cli: Cli, root: Path) -> None:
    job = cli.ok("run", *GIVEN, "echo one; echo $KEY")["job_id"]
    masks = root / job / ".mask0"
    data = masks.read_bytes()
    masks.write_bytes((4).to_bytes(8, "little") + data[8:])
    assert cli.ok("poll", job)["output"] == "one\n"
    hint = until(lambda: cli.ok("poll", job).get("hint"), what="the end of the supervisor, after which none searches")
    assert "The last 9 bytes of output are not shown" in hint
    assert cli.ok("tail", job)["stdout_tail"] == "one\n"


def _replaced_by_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize("spoil", [Path.unlink, _replaced_by_a_directory])
def test_of_a_log_whose_masked_places_are_gone_nothing_is_shown(
    cli: Cli, root: Path, spoil: Callable[[Path], object]
) -> None:
    job = cli.ok("run", *GIVEN, "echo $KEY; echo $KEY >&2")["job_id"]
    pair.until_free(root, job)
    spoil(root / job / ".mask1")
    for verb in ("status", "poll", "log", "tail", "wait"):
        assert SECRET not in str(cli.ok(verb, job))
    assert "The last 9 bytes of output are not shown" in cli.ok("poll", job)["hint"]


def test_output_that_cannot_be_read_leaves_no_file_open(cli: Cli, root: Path) -> None:
    job = cli.ok("run", *GIVEN, "for n in 1 2 3; do echo $n; sleep 0.05; echo $n >&2; sleep 0.05; done")["job_id"]
    pair.until_free(root, job)
    order, masks = root / job / "order", root / job / ".mask0"
    masks.write_bytes(bytes(8) + masks.read_bytes()[8:])
    records = order.read_bytes()
    order.write_bytes(records[:32] + b"\xff" * (len(records) - 64) + records[-32:])
    with JobDir(str(root), job, os.open(root / job, os.O_RDONLY | os.O_DIRECTORY)) as found:
        before = fds.open_fds()
        with pytest.raises(NotOurs):
            Output(found)
        assert fds.open_fds() == before


# --- the search --------------------------------------------------------------------------------------


@pytest.fixture
def job(tmp_path: Path) -> Iterator[JobDir]:
    for name in LOGS:
        (tmp_path / name).touch()
    with JobDir(str(tmp_path.parent), tmp_path.name, os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)) as found:
        yield found


def is_masked_in_pieces(
    job: JobDir, folder: Path, chance: random.Random, values: list[str], data: bytes, wanted: bytes, longest: int
) -> None:
    """Check what readers see of output that comes in pieces shorter than `longest`, whichever supervisor searches it."""
    search, shown = Masking(job, values), b""
    mask = Mask.of(job, 0)
    assert mask is not None
    at = 0
    while at < len(data):
        at = min(len(data), at + chance.randrange(1, longest))
        (folder / LOGS[0]).write_bytes(data[:at])
        if chance.random() < 0.1:  # a supervisor that takes over
            search.close()
            search = Masking(job, values)
        search.look([at, 0], final=at == len(data))
        searched = mask.searched
        assert searched <= at
        shown += mask.applied(len(shown), data[len(shown) : searched])
        assert shown == wanted[: len(shown)]
    assert shown == wanted
    for start in (0, 100, 250):
        assert mask.applied(start, data[start : start + 60]) == wanted[start : start + 60]
    mask.close()
    search.close()


def masked(data: bytes, values: list[str]) -> bytes:
    """Return the data with every byte of every value masked, one value after the other."""
    found = bytearray(data)
    for value in map(str.encode, values):
        for at in range(len(data)):
            if data.startswith(value, at):
                found[at : at + len(value)] = b"*" * len(value)
    return bytes(found)


@pytest.mark.parametrize("seed", first(6, range(20)))
def test_whatever_the_pieces_every_value_is_found_and_nothing_is_shown_too_early(
    job: JobDir, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    values = ["abab", "babba", "aaaa", "xabaabay"]
    data = bytes(chance.choices(b"aabbxy", k=400))
    wanted = masked(data, values)
    is_masked_in_pieces(job, tmp_path, chance, values, data, wanted, 12)


DROPPED = ("\0", "\r", "\x1b[01;31m\x1b[K", "\x1b]8;;http://x\x07", "\x1b]0;title\x1b\\", "\x1b(B", "\x1bM", "\x1b")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "cp1252", "gbk"])
@pytest.mark.parametrize("seed", first(2, range(20)))
def test_a_value_is_found_in_each_encoding_with_anything_in_it_that_is_not_seen(
    job: JobDir, tmp_path: Path, encoding: str, seed: int
) -> None:
    chance = random.Random(seed)
    values = ["hunter22", {"cp1252": "naïve-pä55", "gbk": "密码密码号"}.get(encoding, "pä55-密码密码号")]
    dropped = [*DROPPED, *(("\x9b1m", "\x85", "\u202e", "\ufeff") if encoding == "utf-8" else ())]
    data, wanted = b"", b""
    for _ in range(40):
        around = "".join(chance.choices(["x", "y ", "\n", "\t", *dropped[:-1]], k=8)) + "z"
        value, many = chance.choice(values), chance.choice((0, 0.3, 1))
        within = [char + "".join(one for one in dropped[:7] + dropped[8:] if chance.random() < many) for char in value]
        written = "".join([*within[:-1], value[-1]]).encode(encoding)
        data += around.encode(encoding) + written
        wanted += around.encode(encoding) + bytes(42 if byte else 0 for byte in written)
    data, wanted = data + "\n".encode(encoding), wanted + "\n".encode(encoding)
    is_masked_in_pieces(job, tmp_path, chance, values, data, wanted, 40)


@pytest.mark.parametrize(
    "many", [b"\0", b"\x1b", b"\x1b[", b"\x1b]", b"\x1b[1;", b"\xc2\x9b", b"\xc2", b"h\0", b"h\x1b[m"]
)
def test_what_is_never_seen_holds_no_output_back_for_ever(job: JobDir, tmp_path: Path, many: bytes) -> None:
    data = b"hunter2" + many * 5_000
    search = Masking(job, [SECRET])
    mask = Mask.of(job, 0)
    assert mask is not None
    for at in (7, 9, 4_000, len(data) - 1, len(data)):
        (tmp_path / LOGS[0]).write_bytes(data[:at])
        search.look([at, 0])
        assert at - mask.searched < 5_000
    assert mask.applied(0, data) == data
    mask.close()
    search.close()


def test_values_that_touch_stay_masked_in_the_middle_after_a_takeover(job: JobDir, tmp_path: Path) -> None:
    data = b"secret" * 20
    (tmp_path / LOGS[0]).write_bytes(data)
    first = Masking(job, ["secret"])
    first.look([len(data), 0])
    first.close()
    Masking(job, ["secret"]).close()
    mask = Mask.of(job, 0)
    assert mask is not None
    assert mask.applied(60, data[60:80]) == b"*" * 20
    mask.close()


def test_a_full_disk_hides_what_cannot_be_recorded(
    job: JobDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = Masking(job, [SECRET])
    mask = Mask.of(job, 0)
    assert mask is not None
    (tmp_path / LOGS[0]).write_bytes(f"{SECRET} ".encode())

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", full)
        search.look([9, 0])
    assert mask.searched == 0
    search.look([9, 0])
    assert mask.applied(0, (tmp_path / LOGS[0]).read_bytes()) == b"******** "
    mask.close()
    search.close()

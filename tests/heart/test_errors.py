"""The one error family: what a caller sees of it."""

from __future__ import annotations

import errno
import os
import resource

import pytest

from outlive import errors
from outlive.core.nearest import nearest
from outlive.errors import OutliveError


def test_an_error_shows_code_message_whether_to_try_again_and_hint_and_details_where_there_are_any() -> None:
    plain = {"code": "io_error", "message": "no", "retryable": False}
    assert OutliveError("io_error", "no").to_dict() == plain
    assert OutliveError("io_error", "no", hint="look", details={}).to_dict() == plain | {"hint": "look", "details": {}}
    assert str(OutliveError("io_error", "no such thing")) == "no such thing"


def test_what_a_caller_gave_is_shortened_wherever_it_is_repeated() -> None:
    given = "a" * 3_000 + "b" * 5_000_000 + "c" * 1_000
    shown = OutliveError("invalid_tag", given, hint=given, details={"tag": given, "n": 1}).to_dict()
    short = "a" * 3_000 + "[… 5,000,000 characters …]" + "c" * 1_000
    assert (shown["message"], shown["hint"], shown["details"]) == (short, short, {"tag": short, "n": 1})
    assert OutliveError("invalid_tag", "a" * 4_000).message == "a" * 4_000


def test_an_invalid_argument_names_its_field() -> None:
    error = errors.invalid("cwd", "not a directory", path="/x")
    assert (error.code, error.retryable, error.usage) == ("invalid_argument", False, False)
    assert error.details == {"field": "cwd", "path": "/x"}


@pytest.mark.parametrize(
    ("retryable", "numbers"),
    [
        (True, [errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT]),
        (False, [errno.ENOENT, errno.EACCES, errno.EROFS, errno.ENOTDIR]),
    ],
)
def test_what_may_pass_may_be_tried_again(retryable: bool, numbers: list[int]) -> None:
    assert {errors.from_os("writing", OSError(number, "")).retryable for number in numbers} == {retryable}


def test_an_error_of_the_system_says_what_was_being_done() -> None:
    error = errors.from_os("creating /x", OSError(errno.ENOSPC, "whatever"), on="root")
    assert error.message == f"while creating /x: {os.strerror(errno.ENOSPC)}"
    assert error.code == "io_error"
    assert error.details == {"errno": "ENOSPC"}
    assert "gc" in str(error.hint)
    assert errors.from_os("starting", OSError(errno.E2BIG, ""), code="launch_failed").code == "launch_failed"


def test_advice_is_about_what_the_operation_was_on() -> None:
    rows: list[tuple[errors.Object, int, str]] = [
        ("root", errno.EACCES, "job root"),
        ("root", errno.EROFS, "job root"),
        ("root", errno.ENOSPC, "outlive gc"),
        ("store", errno.ENOSPC, "outlive gc"),
        ("root", errno.EPERM, "job root"),
        ("process", errno.EAGAIN, "limit of processes"),
        ("file", errno.ENOSPC, "that file system"),
        # A lock that is held is no limit of processes; another job root is of use only where it is about the root
        ("store", errno.EAGAIN, "None"),
        *((on, number, "None") for on in ("store", "process", "file") for number in (errno.EACCES, errno.EROFS)),
    ]
    for on, number, said in rows:
        hint = errors.from_os("working", OSError(number, "", "/x"), on=on).hint
        assert hint is None if said == "None" else said in str(hint)


@pytest.mark.parametrize(
    ("kind", "most", "number", "said"),
    [
        (resource.RLIMIT_NOFILE, 20, errno.EMFILE, "may open 20 files (`ulimit -n`), and outlive needs 64: raise it"),
        (resource.RLIMIT_NOFILE, 2_000, errno.EMFILE, "may open 2,000 files (`ulimit -n`): try again"),
        (resource.RLIMIT_FSIZE, 4_096, errno.EFBIG, "larger than 4,096 bytes (`ulimit -f`)"),
        (resource.RLIMIT_FSIZE, resource.RLIM_INFINITY, errno.EFBIG, "None"),
        (resource.RLIMIT_NPROC, 300, errno.EAGAIN, "(`ulimit -u`: 300; a container may allow fewer)"),
        (resource.RLIMIT_NPROC, resource.RLIM_INFINITY, errno.EAGAIN, "The limit of processes is reached: try again"),
    ],
)
def test_a_limit_that_was_met_is_named_with_its_value(
    kind: int, most: int, number: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda asked: (most, most) if asked == kind else (1, 1))
    assert said in str(errors.from_os("working", OSError(number, ""), on="process").hint)


def test_an_error_of_the_system_names_the_path_unless_it_is_named_already() -> None:
    error = PermissionError(errno.EACCES, "", "/a/b")
    assert errors.from_os("making /a/b/c", error).message.endswith("/a/b/c: Permission denied")
    assert errors.from_os("starting", error).message == "while starting: Permission denied (/a/b)"
    assert errors.from_os("starting", PermissionError(errno.EACCES, "", b"/a/b")).message.endswith("(/a/b)")


def test_every_code_is_one_lower_case_word() -> None:
    assert len(set(errors.CODES)) == len(errors.CODES)
    assert all(code.replace("_", "").isalpha() and code.islower() for code in errors.CODES)


KNOWN = ["--timeout", "--snapshot-after", "status", "start", "--wait", "--mask", "--no-systemd"]


def test_the_nearest_known_name_is_found() -> None:
    rows: list[tuple[str, str | None]] = [
        ("--timout", "--timeout"), ("--snapshot", "--snapshot-after"), ("statsu", "status"), ("sttus", "status"),
        ("--maks", "--mask"), ("", None), ("zzz", None), ("--colour", None),
        # Neither the contrary nor another short word is near
        ("--no-wait", None), ("--nowait", None), ("--ask", None), ("--systemd", None),
    ]  # fmt: skip
    for word, meant in rows:
        assert nearest(word, KNOWN) == meant


def test_an_error_that_has_no_number_is_not_given_one() -> None:
    error = errors.from_os("reading /x", OSError("timed out"))
    assert error.message == "while reading /x: timed out"
    assert "details" not in error.to_dict()

"""What is made of the answers of a supervisor, in whose place any program may stand."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from outlive.errors import OutliveError
from outlive.jobs.interaction.stdin import Put, put
from outlive.supervisor.control_server import listen
from outlive.system import fds
from support.kept import Job, made


@contextmanager
def answering(job: Job, answer: dict[str, object]) -> Iterator[None]:
    """A program that gives every request this answer."""
    job.dir.make_io()
    with closing(listen(job.dir)) as listener:
        listener.setblocking(True)

        def serve() -> None:
            with closing(fds.accept(listener)) as caller:
                while data := caller.recv(65_536):
                    if json.loads(data)["op"] != "watch":
                        caller.send(json.dumps(answer).encode())

        thread = threading.Thread(target=serve)
        thread.start()
        yield
        thread.join()


def test_an_answer_without_its_members_is_no_bug_of_ours(tmp_path: Path) -> None:
    with made(tmp_path, 0) as job, answering(job, {"ok": True, "written": "all"}):
        assert put(job.dir, b"x", timeout_ms=100) == Put(0, 1)


def test_an_error_of_any_form_is_an_error(tmp_path: Path) -> None:
    answers: list[tuple[dict[str, object], str]] = [
        ({"code": "io_error", "message": "full"}, "the job's supervisor was killed during the write"),
        ({"ok": False, "code": "io_error", "message": "full", "hint": 3, "details": [4]}, "full"),
    ]
    for answer, says in answers:
        with made(tmp_path, 0) as job, answering(job, answer):
            with pytest.raises(OutliveError, match=says) as caught:
                put(job.dir, b"x", timeout_ms=100)
            assert caught.value.code == "io_error"

"""Our end on another machine, for itself: which jobs it starts, and which never."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from outlive.core.ids import new_id
from outlive.core.records import Definition
from outlive.errors import OutliveError
from outlive.jobs import adoption
from outlive.parts.hosts.far import orphans, starting
from outlive.parts.hosts.ssh.connecting import wire, words
from outlive.store import atomic_file
from outlive.store.root import Store
from outlive.system import own_programs
from support import pair
from support.cli import Cli

MAIN = "from outlive.parts.hosts.far.main import main; main()"


@pytest.fixture
def there(place: Path) -> Iterator[Store]:
    store = Store.open(str(place / "there"), os.environ)
    yield store
    os.close(store.fd)


@pytest.fixture
def said(cli: Cli) -> dict[str, Any]:
    """What a mirror says to start a job that would leave a file."""
    job = cli.ok("run", "--wait", "--", "true")["job_id"]
    known: Definition = Definition.of(atomic_file.load((cli.root / job / "meta.json").read_bytes()))
    wanted = Definition.replace(known, job_id=new_id(), command=["touch ran"])
    return {"definition": wanted.to_dict(), "overrides": {}, "stdin_data": None}


def answers(place: Path, *content: bytes) -> list[words.Word]:
    """Return what a connection answers to these messages, until it ends."""
    sent = [words.Open(root=str(place / "there")).packed(), *content]
    done = subprocess.run([sys.executable, "-c", MAIN], input=b"".join(sent), capture_output=True, check=True)
    _, _, rest = done.stdout.partition(b"\n")
    said = [words.unpacked(data) for kind, _, data in wire.Parser().feed(rest) if kind == wire.WORD]
    return [word for word in said if not isinstance(word, words.Beat | words.Opened)]


def jobs(there: Store) -> list[str]:
    return [name for name in os.listdir(there.path) if not name.startswith(".")]


def test_a_job_has_what_the_profile_of_its_login_was_not_given(
    place: Path, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_programs.know([str(work)])
    own = {"PATH": f"{work}/bin:/usr/bin", "LD_LIBRARY_PATH": f"{work}/lib:/opt/lib", "BASH_ENV": f"{work}/rc"}
    own |= {"HOME": str(place / "home"), "SHLVL": "1"}
    given = {}

    def printed(_shell: str, variables: dict[str, str]) -> dict[str, str]:
        given.update(variables)
        return {**variables, "PATH": f"/profile:{variables['PATH']}", "SHLVL": "2"}

    monkeypatch.setattr(starting, "_printed", printed)
    monkeypatch.setattr(os, "environ", own)
    found = starting.login_environment()
    assert given == {"PATH": "/usr/bin", "LD_LIBRARY_PATH": "/opt/lib", "HOME": own["HOME"], "SHLVL": "1"}
    assert found == {**own, "PATH": f"/profile:{own['PATH']}", "SHLVL": "2"}


def test_a_job_that_was_told_to_be_absent_is_never_started(place: Path, there: Store, said: dict[str, Any]) -> None:
    job = said["definition"]["job_id"]
    follow = words.Follow(job=job).packed()
    assert answers(place, follow) == [words.Gone()]
    # The start of a mirror that was killed, over a connection that was cut, comes only now
    start = wire.message(wire.DATA, 0, json.dumps(said).encode()) + words.Start().packed()
    with pytest.raises(OutliveError) as error:
        starting.start(there, said, lambda: True)
    assert error.value.code == "launch_failed"
    (answer,) = answers(place, start)
    assert isinstance(answer, words.Refused)
    assert (answer.refused, answer.error.code) == ("Start", "launch_failed")
    assert jobs(there) == [] and not (place / "work/ran").exists()


def test_a_start_that_is_under_way_is_withdrawn_when_its_job_is_told_to_be_absent(
    there: Store, said: dict[str, Any], place: Path
) -> None:
    def asked_meanwhile() -> bool:
        starting.mark_absent(there, said["definition"]["job_id"])
        return True

    with pytest.raises(OutliveError):
        starting.start(there, said, asked_meanwhile)
    assert jobs(there) == [] and not (place / "work/ran").exists()


def test_a_job_that_comes_while_it_is_looked_for_is_there(
    there: Store, said: dict[str, Any], monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    """The second look, after the mark: a start that was too far to see the mark is seen by it."""
    from outlive.parts.hosts.far import main as far
    from outlive.parts.hosts.far import starting

    job = next(iter(cli.root.glob("[0-9]*")))
    mark = starting.mark_absent

    def and_then_it_comes(store: Store, job_id: str) -> None:
        mark(store, job_id)
        job.rename(Path(there.path) / job_id)

    monkeypatch.setattr(far, "mark_absent", and_then_it_comes)
    source, out = os.pipe()
    peer = far.Peer(-1, out)
    peer._store = there
    peer._ctx = starting.context(there, dict(os.environ))
    peer._follow(words.Follow(job=job.name), b"")
    first = next(iter(wire.Parser().feed(os.read(source, 65_536))))
    assert isinstance(words.unpacked(bytes(first[2])), words.Followed)
    assert peer._job is not None
    peer._job.close()
    if peer._hints is not None:  # its supervisor has not let go yet
        peer._hints.close()
    os.close(source)
    os.close(out)


def test_a_start_whose_origin_cannot_be_written_leaves_no_directory(
    there: Store, said: dict[str, Any], place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(orphans, "note", full)
    with pytest.raises(OSError, match="No space"):
        starting.start(there, said, lambda: True, "origin")
    assert jobs(there) == [] and not (place / "work/ran").exists()


def test_a_look_that_fails_is_followed_by_another_one(there: Store, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    """Beats go on, so the mirror would wait for output for ever."""
    from outlive.parts.hosts.far import main as far

    job = cli.ok("run", "--wait", "true")["job_id"]
    pair.until_free(cli.root, job)
    (cli.root / job).rename(Path(there.path) / job)
    inspect = adoption.inspect_and_adopt
    looks: list[bool] = []

    def scarce(ctx: Any, of: Any) -> Any:
        looks.append(True)
        if len(looks) == 1:
            raise OutliveError("io_error", "too many processes", retryable=True)
        return inspect(ctx, of)

    monkeypatch.setattr(adoption, "inspect_and_adopt", scarce)
    monkeypatch.setattr(far, "_LOOK_S", 0.01)
    source, out = os.pipe()
    peer = far.Peer(-1, out)
    peer._store = there
    peer._ctx = starting.context(there, dict(os.environ))
    peer._loop.timer(peer._loop.stop).after(20)
    monkeypatch.setattr(peer, "_turn", peer._loop.stop)
    peer._follow(words.Follow(job=job), b"")
    peer._loop.run()
    assert len(looks) == 2
    assert peer._job is not None
    peer._job.close()
    peer._loop.close()
    os.close(source)
    os.close(out)


def test_marks_are_deleted_after_a_day(place: Path, there: Store) -> None:
    old, new = new_id(), new_id()
    for job in (old, new):
        starting.mark_absent(there, job)
    os.utime(Path(there.path) / f".absent-{old}", (0, 0))
    assert answers(place) == []
    assert [name for name in os.listdir(there.path) if name.startswith(".absent-")] == [f".absent-{new}"]

"""Ports of a job's own: given to it, shown, found again, waited for by name."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.commands import GATE
from support.face import Face

SHOWS = "echo ${PORT-none} $PORT_WEB ${PORT_DB-none} {port:web}"
SERVES = f"exec {sys.executable} -m http.server --bind 127.0.0.1 {{port:web}}"


def number(answer: dict[str, object], name: str = "web") -> int:
    found = answer["ports"]
    assert isinstance(found, dict), answer
    port = found[name]["port"]
    assert found[name]["url"] == f"http://localhost:{port}"
    assert isinstance(port, int)
    return port


def test_a_job_is_given_its_ports(face: Face, work: Path) -> None:
    one = face.ok("run", command=f"{SHOWS}; {GATE}", ports=["web"], until=["output"])
    port = number(one)
    assert one["output"] == f"{port} {port} none {port}\n"
    two = face.ok("run", command=f"{SHOWS}; {GATE}", ports=["web", "db"], until=["output"])
    assert len({port, number(two), number(two, "db")}) == 3
    assert two["output"] == f"none {number(two)} {number(two, 'db')} {number(two)}\n"
    for verb in ("status", "poll", "wait"):
        assert number(face.ok(verb, one["job_id"], **({"timeout_ms": 0} if verb == "wait" else {}))) == port
    shown = {job["job_id"]: job.get("ports") for job in face.ok("list")["jobs"]}
    assert shown[one["job_id"]] == {"web": port}
    assert shown[two["job_id"]] == {"web": number(two), "db": number(two, "db")}
    (work / "go").touch()
    ended = face.ok("wait", one["job_id"], timeout_ms=50_000)
    assert (ended["state"], "ports" in ended) == ("exited", False)
    words = face.ok(
        "run", command=[sys.executable, "-c", "import sys; print(sys.argv[1:])", "{port:api}"], ports=["api"]
    )
    assert words["output"].strip("[]\n'").isdigit()


def test_the_same_worktree_gets_the_same_port_again(face: Face, work: Path) -> None:
    for name in ("one", "two"):
        (work / name / ".git").mkdir(parents=True)
        (work / name / "app").mkdir()
    started = {place: face.ok("run", command="sleep 60", cwd=str(work / place), ports=["web"], yield_ms=0) for place in ("one", "two")}  # fmt: skip
    ports = {place: number(answer) for place, answer in started.items()}
    assert ports["one"] != ports["two"]
    again = face.ok("restart", started["one"]["job_id"], yield_ms=0)
    assert number(again) == ports["one"]
    for job in (again, started["two"]):
        face.ok("kill", job["job_id"])
    for place in ("two", "one"):
        inside = face.ok("run", command="sleep 60", cwd=str(work / place / "app"), ports=["web"], yield_ms=0)
        assert number(inside) == ports[place]


def test_a_port_is_waited_for_by_its_name(face: Face, work: Path) -> None:
    served = face.ok("run", command=SERVES, ports=["web"], until=["port=web"], yield_ms=50_000)
    port = number(served)
    assert (served["fired"]["condition"], served["fired"]["port"], served["fired"]["owned"]) == ("port", port, True)
    fired = face.ok("wait", served["job_id"], until=[{"port": "web"}], timeout_ms=50_000)["fired"]
    assert (fired["port"], fired["owned"]) == (port, True)
    again = face.ok("restart", served["job_id"], yield_ms=50_000)
    assert (number(again), again["fired"]["port"]) == (port, port), "a restart waits for the same"
    error = face.error("wait", again["job_id"], code="invalid_argument", until=["port=db"], timeout_ms=0)
    assert (error["message"], error["hint"]) == (
        "a port is a number from 1 to 65535, not 'db'",
        "The ports of this job: web.",
    )
    error = face.error("run", code="invalid_argument", command="touch ran", until=["port=web"])
    assert error["message"] == "a port is a number from 1 to 65535, not 'web'"
    assert not (work / "ran").exists()


def test_a_job_that_was_made_for_later_gets_its_ports_when_it_starts(face: Face) -> None:
    made = face.ok("create", command="sleep 60", ports=["web"])["job_id"]
    assert "ports" not in face.ok("status", made)
    waiting = face.begin("wait", made, until=["port=web"], timeout_ms=50_000)
    started = face.ok("start", made, yield_ms=0)
    assert number(started)
    face.ok("kill", made)
    assert waiting.result()["fired"]["condition"] == "exit"


def test_one_call_says_which_job_is_at_a_port(face: Face, work: Path) -> None:
    (work / "there").mkdir()
    served = face.ok("run", command=SERVES, cwd=str(work / "there"), ports=["web"], until=["port=web"], yield_ms=50_000)
    leased = face.ok("run", command="sleep 60", ports=["db"], yield_ms=0)
    own = "import os, socket; s = socket.create_server(('127.0.0.1', 0)); print(s.getsockname()[1], flush=True); os.read(0, 1)"
    bare = face.ok("run", command=["env", "-i", sys.executable, "-c", own], stdin="open", until=["output"])
    for job, port in ((served, number(served)), (leased, number(leased, "db")), (bare, int(bare["output"]))):
        found = face.ok("list", port=port)
        assert [one["job_id"] for one in found["jobs"]] == [job["job_id"]], found
        place = work / "there" if job is served else work
        assert found["hint"] == f"Port {port}: job {job['job_id'][-8:]} in {place}."
    face.ok("kill", leased["job_id"])
    found = face.ok("list", port=number(leased, "db"))
    assert (found["jobs"], found["hint"].startswith("No process listens on port ")) == ([], True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"ports": ["3000"]}, "not '3000'"),
        ({"ports": ["web one"]}, "not 'web one'"),
        ({"ports": ["ü"]}, "not 'ü'"),
        ({"ports": ["w" * 25]}, f"not '{'w' * 25}'"),
        ({"ports": ["a-b", "a_b"]}, "two ports would both be PORT_A_B: a_b"),
        ({"ports": [f"p{number}" for number in range(17)]}, "17 ports; a job has at most 16"),
        ({"ports": ["web"], "env": {"PORT_WEB": "1"}}, "PORT_WEB"),
        ({"ports": ["web"], "env": {"PORT": "1"}, "mask": ["PORT"]}, "PORT"),
        ({"ports": ["web"], "command": "touch ran; echo {port:db}"}, "the job has no port 'db'"),
    ],
)
def test_what_cannot_be_given_is_refused(face: Face, work: Path, given: dict[str, object], message: str) -> None:
    error = face.error("run", code="invalid_argument", **{"command": "touch ran", **given})
    assert message in error["message"]
    assert not (work / "ran").exists()

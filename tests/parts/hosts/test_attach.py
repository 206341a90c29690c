"""A person's terminal joined to a job on another machine: over a real sshd, and on a node of a real Slurm cluster."""

from __future__ import annotations

import pytest

from support import processes, sshd
from support.cli import Cli
from support.on_slurm import Slurm
from support.on_ssh import SOON_S
from support.terminal import Terminal
from support.wait import until

pytestmark = [pytest.mark.slow, pytest.mark.real_start]
BASH = ("--", "bash", "--norc", "-i")


def start(cli: Cli, host: str, *words: str) -> str:
    """Start a job with a terminal, and return its id once it runs."""
    job: str = cli.ok("run", "--host", host, "--pty", "--snapshot-after", "0", *words)["job_id"]
    until(lambda: cli.ok("status", job)["state"] == "running", what="it runs", timeout=SOON_S)
    return job


def is_joined(cli: Cli, job: str) -> None:
    """What a person types reaches the job, what the job draws the person, and the terminal's size follows."""
    with Terminal("attach", job, cols=90, rows=25) as one:
        one.until("attached to job")
        one.type(b"stty size; echo from-the-pers''on\r")
        one.until_row("25 90")
        one.until_row("from-the-person")
        one.resize(70, 20)
        until(lambda: cli.ok("screen", job)["cols"] == 70, what="the size that follows")
        one.type(b"stty size\r")
        one.until_row("20 70")
        cli.ok("send-keys", job, "--literal", "echo from-the-mod''el", "Enter")
        one.until_row("from-the-model")
        one.type(b"\x1dd")
        assert one.status() == 0
        assert "goes on" in one.text()
    found = cli.ok("status", job)
    assert (found["state"], cli.ok("screen", job)["cols"]) == ("running", 120)
    assert "keyboard" not in found


def has_one_keyboard(cli: Cli, job: str) -> None:
    """One person types, and another one takes the keyboard."""
    with Terminal("attach", job) as one, Terminal("attach", job, "--read-only") as reader:
        one.until("attached to job")
        reader.until("watching job")
        with Terminal("attach", job, cols=70, rows=20) as two:
            two.until("(outlive attach) types; Ctrl-] k takes the keyboard")
            two.type(b"echo nev''er\r")
            two.type(b"\x1dk")
            two.until("the keyboard is yours")
            one.until("(outlive attach) types; Ctrl-] k takes the keyboard")
            one.type(b"echo too-la''te\r")
            two.type(b"stty size; echo ye''s\r")
            two.until_row("20 70")
            two.until_row("yes")
            for other in (one, reader):
                other.until_row("yes")
            two.type(b"\x1dd")
            assert two.status() == 0
        one.type(b"echo fr''ee\r")  # the first key takes a keyboard that is free
        one.until_row("free")
        reader.type(b"echo ne''ver\r")
        one.type(b"exit 3\r")
        for other in (one, reader):
            assert other.status() == 0
            assert "exited with code 3" in other.text()
    output = cli.ok("log", job)["output"]
    assert "never" not in output and "too-late" not in output
    assert cli.ok("status", job)["exit_code"] == 3


def test_a_person_joins_a_job_over_ssh(cli: Cli, box: sshd.Machine) -> None:
    job = start(cli, "box", *BASH)
    is_joined(cli, job)
    has_one_keyboard(cli, job)


def test_a_cut_link_is_told_on_the_terminal_and_the_job_goes_on_there(cli: Cli, box: sshd.Machine) -> None:
    job = start(cli, "box", *BASH)
    with Terminal("attach", job, cols=90, rows=25) as one:
        one.until("attached to job")
        one.type(b"while [ ! -e seen ]; do sleep 0.1; done; echo af''ter; cat\r")
        one.until_row("; cat")
        box.cut()
        until(lambda: "out of reach since" in one.text(), what="that it is told", timeout=SOON_S)
        (box.home / "seen").touch()
        one.type(b"lost-keys\r")
        until(lambda: "host 'box' cannot be reached" in one.text(), what="that keys are refused", timeout=SOON_S)
        one.resize(70, 20)
        box.link()
        until(lambda: "host box is reached again" in one.text(), what="that it is back", timeout=SOON_S)
        one.until_row("after")
        until(lambda: cli.ok("screen", job)["cols"] == 70, what="the size of meanwhile", timeout=SOON_S)
        one.type(b"more\r")
        until(lambda: [row for row in one.rows() if row == "more"] == ["more"] * 2, what="the echo and the line of cat")
        told = one.text().count("out of reach since")
        box.cut()
        until(lambda: one.text().count("out of reach since") > told, what="that it is told again", timeout=SOON_S)
        one.type(b"\x1dd")
        assert one.status() == 0
        assert "goes on" in one.text()
    with Terminal("attach", job) as late:
        late.until_row("out of reach since")
        box.link()
        until(lambda: "host box is reached again" in late.text(), what="that it is back", timeout=SOON_S)
        late.type(b"\x04exit 3\r")
        assert late.status() == 0
        assert "exited with code 3" in late.text()
    assert "lost-keys" not in cli.ok("log", job)["output"]


def test_a_person_joins_a_job_on_a_node(on: Slurm) -> None:
    job = start(on.cli, "cluster", *BASH)
    is_joined(on.cli, job)
    has_one_keyboard(on.cli, job)


def test_a_connection_to_a_node_that_ends_is_made_again(on: Slurm) -> None:
    job = start(on.cli, "cluster", *BASH)
    engine_id = on.cli.ok("status", job)["engine"]["job_id"]

    def carriers() -> list[int]:
        """The processes that carry keys there: srun, and one of ours that has started it."""
        found = [(pid, processes.command_line(pid)) for pid in processes.all_pids()]
        ours = "outlive.parts.hosts.slurm.pump"
        return [pid for pid, words in found if f"--jobid={engine_id}" in words or (ours in words and job in words)]

    def connections() -> list[int]:
        return [pid for pid in carriers() if processes.name(pid) == "srun"]

    with Terminal("attach", job) as one:
        one.until("attached to job")
        one.type(b"echo fir''st\r")
        one.until_row("first")
        processes.kill(*until(connections, what="the connection", timeout=SOON_S))
        until(lambda: not carriers(), what="its end", timeout=SOON_S)  # keys of before it are told to be lost
        one.type(b"echo sec''ond\r")
        one.until_row("second")
        on.cluster.kill_controller()
        one.type(b"echo thi''rd\r")  # the connection does not need the controller
        one.until_row("third")
        one.type(b"\x1dd")
        assert one.status() == 0
    assert on.cli.ok("status", job)["state"] == "running"

"""Jobs over a real sshd, on a machine that is namespaces of its own: the link is cut, processes are killed, it reboots."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support import on_ssh, pair, processes, sshd
from support.cli import Cli
from support.on_ssh import SOON_S
from support.preloaded import OUTLIVE
from support.wait import until

pytestmark = pytest.mark.slow

CUTS = 50
MANY, CALLERS = 60, 60
LINES = 100_000
# All of the lines, some of them on stderr. It waits between them until the test has cut the link often enough
PRINTER = """
import os, sys, time
for number in range(1, {lines} + 1):
    print("line", number, file=sys.stderr if number % 97 == 0 else sys.stdout, flush=number % 97 in (0, 96))
    if number % 100 == 0 and not os.path.exists("fast"):
        sys.stdout.flush()
        time.sleep(0.1)
    while number == {lines} - 100 and not os.path.exists("fast"):
        time.sleep(0.1)
sys.stdout.flush()
sys.exit(23)
"""


@pytest.fixture
def box(place: Path) -> Iterator[sshd.Machine]:
    yield from on_ssh.used(place)


def start(cli: Cli, *words: str) -> str:
    job: str = cli.ok("run", "--host", "box", "--snapshot-after", "0", *words)["job_id"]
    return job


def mirror_of(job: str) -> int:
    def mirrors(pid: int) -> bool:
        return processes.name(pid) == "outmirror" and processes.is_alive(pid) and job in processes.command_line(pid)[-1]

    return until(
        lambda: next((pid for pid in processes.all_pids() if mirrors(pid)), 0), what="a mirror", timeout=SOON_S
    )


def kill_pair(box: sshd.Machine, job: str) -> None:
    """Kill guardian and supervisor of the job there at once."""
    theirs = [pid for pid in box.pids("outrunner") if job in " ".join(processes.command_line(pid))]
    assert theirs
    pair.end_both(theirs[0])


def events_of(cli: Cli, job: str) -> list[str]:
    return [one["type"] for one in cli.ok("events", job)["events"]]


def check_lines(cli: Cli, job: str) -> None:
    """Every line is there once, in the log of its stream, in order."""
    for name, wanted in (
        ("stdout.log", [n for n in range(1, LINES + 1) if n % 97]),
        ("stderr.log", [n for n in range(1, LINES + 1) if n % 97 == 0]),
    ):
        found = (cli.root / job / name).read_text(encoding="utf-8").splitlines()
        assert found == [f"line {number}" for number in wanted], name
    kinds = events_of(cli, job)
    assert kinds.count("started") == kinds.count("finished") == 1


def wait_done(cli: Cli, box: sshd.Machine, job: str) -> dict[str, Any]:
    answer = cli.ok("wait", job, "--timeout-ms", "240000", timeout=270)
    until(lambda: not box.jobs(), what="nothing is left there", timeout=SOON_S)
    return answer


def test_every_verb_works_over_a_real_connection(cli: Cli, box: sshd.Machine) -> None:
    found = cli.ok("host", "setup", "box")
    assert found["healthy"] and "box is box" in found["checks"][0]["found"]
    answer = cli.ok("run", "--host", "box", "--wait", "--", "hostname; pwd; echo err >&2; exit 3")
    assert (answer["state"], answer["exit_code"], answer["host"]) == ("exited", 3, "box")
    assert answer["output"].splitlines()[:2] == ["box", str(box.home)]
    job = start(cli, "--pty", "--", "stty size; read x; echo got $x")
    cli.ok("wait", job, "--until", "regex=30 120")
    assert "got abc" in cli.ok("send-keys", job, "a", "b", "c", "Enter", "--wait-ms", "60000")["output"]
    job = start(cli, "--stdin", "open", "--", "cat; sleep 1000")
    assert cli.ok("write", job, "--data", "one\n", "--wait-ms", "60000")["output"] == "one\n"
    assert cli.ok("kill", job)["reason"] == "kill"
    again = cli.ok("restart", answer["job_id"], "--wait")
    assert (again["exit_code"], again["host"]) == (3, "box")
    until(lambda: not box.jobs(), what="nothing is left there", timeout=SOON_S)
    assert cli.ok("remove", job)["ok"]
    assert not (box.home / ".ssh").exists()


def test_a_job_there_gets_no_way_back_to_the_keys_here(cli: Cli, box: sshd.Machine, place: Path) -> None:
    socket = place / "agent"
    with box.config.open("a", encoding="utf-8") as config:
        config.write("    ForwardAgent yes\n")
    with subprocess.Popen(["ssh-agent", "-D", "-a", str(socket)], stdout=subprocess.DEVNULL) as agent:
        try:
            until(socket.exists, what="an agent of keys", timeout=SOON_S)
            env = {"SSH_AUTH_SOCK": str(socket)}
            subprocess.run(["ssh-add", "-q", str(box.place / "client_key")], env={**os.environ, **env}, check=True)
            mine = (box.place / "client_key.pub").read_text(encoding="utf-8").split()[1]
            seen = f"for s in /tmp/ssh-*/agent.*; do SSH_AUTH_SOCK=$s ssh-add -L; done 2>/dev/null | grep -c {mine}"
            by_hand = ["ssh", "-F", str(box.config), "box", seen]
            assert (
                subprocess.run(by_hand, env={**os.environ, **env}, stdout=subprocess.DEVNULL, check=False).returncode
                == 0
            )
            answer = cli.ok("run", "--host", "box", "--wait", "--", seen, env=env)
            assert (answer["output"], answer["exit_code"]) == ("0\n", 1)
        finally:
            agent.terminate()


@pytest.mark.fault("H17")
def test_a_key_that_is_not_known_or_has_changed_is_never_accepted(cli: Cli, box: sshd.Machine) -> None:
    known = box.place / "known_hosts"
    known.write_text("", encoding="utf-8")
    error = cli.error("run", "--host", "box", "--", "true", code="io_error")
    assert "Host key verification failed" in error["message"] and "accepts none" in error["hint"]
    assert known.read_text(encoding="utf-8") == "" and cli.ok("list", "--all")["jobs"] == []
    other = (box.place / "client_key.pub").read_text(encoding="utf-8")
    known.write_text(f"{box.address} {other}", encoding="utf-8")
    error = cli.error("run", "--host", "box", "--", "true", code="io_error")
    assert "has changed" in error["message"] and "another key than before" in error["hint"]
    box.trust()
    assert cli.ok("run", "--host", "box", "--wait", "--", "true")["exit_code"] == 0


@pytest.mark.fault("H13")
def test_a_link_that_is_cut_fifty_times_loses_nothing_and_doubles_nothing(cli: Cli, box: sshd.Machine) -> None:
    """Short cuts, which TCP survives; connections that are reset; cuts that are longer than ssh waits. In between the mirror
    is killed, and guardian and supervisor are."""
    seed = random.randrange(1 << 30)
    dice = random.Random(seed)
    (box.home / "printer.py").write_text(PRINTER.format(lines=LINES), encoding="utf-8")
    job = start(cli, "--", f"exec {sys.executable} printer.py")
    log = cli.root / job / "stdout.log"
    kinds = ["short"] * (CUTS - 20) + ["reset"] * 15 + ["long"] * 5
    dice.shuffle(kinds)
    for number, kind in enumerate(kinds):
        time.sleep(dice.uniform(0.0, 0.4))  # not waited for: the moment is what is random
        if kind == "reset":
            box.reset()
            continue
        box.cut()
        time.sleep(dice.uniform(2.5, 4.0) if kind == "long" else dice.uniform(0.05, 0.5))
        box.link()
        if number in (10, 25, 40):
            processes.kill(mirror_of(job))
            assert cli.ok("status", job)["state"] == "running"
        if number == 30:
            before = log.stat().st_size
            until(lambda before=before: log.stat().st_size > before, what="output comes", timeout=SOON_S)
            kill_pair(box, job)
    assert cli.ok("status", job)["state"] == "running", f"seed {seed}: the job must print while the link is cut"
    (box.home / "fast").touch()
    answer = wait_done(cli, box, job)
    check_lines(cli, job)
    assert (answer["state"], answer["exit_code"]) in (("exited", 23), ("failed", None)), f"seed {seed}"
    if answer["exit_code"] is None:  # no kernel before 6.15 tells the code of a command whose supervisors were killed
        assert answer["reason"] == "lost"


@pytest.mark.fault("H14")
def test_an_exit_code_survives_every_cut(cli: Cli, box: sshd.Machine) -> None:
    """With its supervisor alive, the outcome is exact: the code is there although the link was down at the end."""
    job = start(cli, "--", "echo begin; while [ ! -e end ]; do sleep 0.1; done; echo end; exit 42")
    cli.ok("wait", job, "--until", "regex=begin")
    box.cut()
    (box.home / "end").touch()
    found = until(
        lambda: (one := cli.ok("status", job)).get("reachable") is False and one, what="out of reach", timeout=SOON_S
    )
    assert found["state"] == "running"
    error = cli.error("kill", job, code="io_error")
    assert error["retryable"] and "box" in error["message"]
    box.link()
    answer = wait_done(cli, box, job)
    assert (answer["state"], answer["exit_code"]) == ("exited", 42)
    assert cli.ok("tail", job)["stdout_tail"] == "begin\nend\n"


def test_sshd_that_is_gone_for_a_while_costs_nothing(cli: Cli, box: sshd.Machine) -> None:
    job = start(cli, "--stdin", "open", "--", "echo one; read x; echo $x; exit 5")
    cli.ok("wait", job, "--until", "regex=one")
    box.stop_sshd()
    until(lambda: cli.ok("status", job).get("reachable") is False, what="out of reach", timeout=SOON_S)
    assert "Connection refused" in cli.error("write", job, "--data", "x\n", code="io_error")["message"]
    assert cli.error("run", "--host", "box", "--", "true", code="io_error")["retryable"]
    box.start_sshd()
    until(lambda: cli.run("write", job, "--data", "two\n").json["ok"], what="it is back", timeout=SOON_S)
    assert wait_done(cli, box, job)["exit_code"] == 5
    assert cli.ok("tail", job)["stdout_tail"] == "one\ntwo\n"


def test_many_jobs_at_once_all_run_though_sshd_drops_logins(cli: Cli, box: sshd.Machine) -> None:
    """Half of the logins are dropped when three wait, and all when ten do (Debian: 10:30:100)."""
    box.configure(MaxStartups="3:50:10")
    words = ["run", "--host", "box", "--snapshot-after", "0", "--title"]
    with ThreadPoolExecutor(CALLERS) as callers:
        made = list(
            callers.map(lambda n: cli.ok(*words, f"t{n}", "--", f"echo {n}; exit {n % 7}", timeout=SOON_S), range(MANY))
        )
    for number, job in enumerate(made):
        answer = cli.ok("wait", job["job_id"], "--timeout-ms", "600000", timeout=SOON_S * 3)
        assert (answer["state"], answer["exit_code"]) == ("exited", number % 7), answer
        assert cli.ok("tail", job["job_id"])["stdout_tail"] == f"{number}\n"
    until(lambda: not box.jobs(), what="nothing is left there", timeout=SOON_S)


@pytest.mark.fault("H15")
def test_a_machine_that_reboots_ends_its_jobs_without_an_exit_code(cli: Cli, box: sshd.Machine) -> None:
    job = start(cli, "--", "echo before; sleep 1000")
    cli.ok("wait", job, "--until", "regex=before")
    box.power_off()
    until(lambda: cli.ok("status", job).get("reachable") is False, what="out of reach", timeout=SOON_S)
    box.boot()
    answer = wait_done(cli, box, job)
    assert (answer["state"], answer["reason"], answer["exit_code"]) == ("failed", "reboot", None)
    assert cli.ok("tail", job)["stdout_tail"] == "before\n"


@pytest.mark.fault("H16")
def test_a_reboot_here_costs_a_job_there_nothing(cli: Cli, box: sshd.Machine, place: Path) -> None:
    """The mirror is dead, and the boot id is another one: the next reader starts a mirror."""
    job = start(cli, "--", "echo before; while [ ! -e end ]; do sleep 0.1; done; echo after; exit 9")
    cli.ok("wait", job, "--until", "regex=before")
    processes.kill(mirror_of(job))
    (place / "boot-id").write_text("00000000-0000-4000-8000-000000000000\n", encoding="ascii")
    after = f"mount --bind {place}/boot-id /proc/sys/kernel/random/boot_id && exec " + " ".join(OUTLIVE)
    shell = ["unshare", "-m", "sh", "-c", f'{after} "$@"', "sh"]
    done = subprocess.run([*shell, "status", job], capture_output=True, text=True, check=True)
    assert '"state":"running"' in done.stdout
    (box.home / "end").touch()
    done = subprocess.run([*shell, "wait", job], capture_output=True, text=True, check=True, timeout=SOON_S)
    assert '"exit_code":9' in done.stdout
    until(lambda: not box.jobs(), what="nothing is left there", timeout=SOON_S)
    assert cli.ok("tail", job)["stdout_tail"] == "before\nafter\n"

"""A person at the terminal of a job, with `outlive attach`, beside a model."""

from __future__ import annotations

from pathlib import Path

from support import trees
from support.cli import Cli
from support.in_terminal import BASH, ended, person, screen, sees, start, waits
from support.wait import until


def test_a_person_and_a_model_share_one_terminal(cli: Cli) -> None:
    job = start(cli, "--", "bash", "--norc", "-i")["job_id"]
    with person(job) as one, person(job, "--read-only") as two:
        one.until("Ctrl-] d")
        two.until("watching")
        one.type(b"stty size; echo from-the-pers''on\r")
        one.until("from-the-person")
        two.until("from-the-person")
        sees(cli, job, "25 90")  # its size is the person's
        cli.ok("send-keys", job, "--literal", "echo from-the-mod''el", "Enter")
        one.until("from-the-model")
        two.type(b"echo ne''ver\r")
        one.resize(70, 20)
        until(lambda: cli.ok("screen", job)["cols"] == 70, what="the size that follows")
        one.type(b"\x1dd")
        assert one.status() == 0
        assert b"goes on" in one.seen
        assert (cli.ok("screen", job)["cols"], cli.ok("status", job)["state"]) == (120, "running")
        assert "never" not in screen(cli, job)
        cli.ok("send-keys", job, "--literal", "exit 3", "Enter")
        assert two.status() == 0
        assert b"exited with code 3" in two.seen
    assert ended(cli, job)["exit_code"] == 3


def test_a_size_is_followed_also_without_a_signal(cli: Cli) -> None:
    """The kernel signals only the foreground process group of a terminal, and attach may be in another one."""
    job = start(cli, "--", "bash", "--norc", "-i")["job_id"]
    with person(job, through=("setsid", "-w")) as one:
        one.until("Ctrl-] d")
        one.resize(70, 20)
        until(lambda: cli.ok("screen", job)["cols"] == 70, what="the size that follows")
    cli.ok("kill", job, "--grace-ms", "0")


def test_one_person_holds_the_keyboard_and_another_takes_it(cli: Cli) -> None:
    job = start(cli, "--", "bash", "--norc", "-i")["job_id"]
    with person(job) as one:
        one.until("attached to")
        held = cli.ok("status", job)["keyboard"]
        assert held["held_by"].endswith("(outlive attach)")
        assert "type nothing" in cli.ok("screen", job)["hint"]
        with person(job, cols=70, rows=20) as two:
            two.until("(outlive attach) types; Ctrl-] k takes the keyboard")
            two.type(b"echo nev''er\r")
            two.type(b"\x1dk")
            two.until("the keyboard is yours")
            one.until("(outlive attach) types; Ctrl-] k takes the keyboard")
            assert cli.ok("screen", job)["cols"] == 70
            one.type(b"echo too-la''te\r")
            two.type(b"echo ye''s\r")
            sees(cli, job, "yes")
            assert cli.ok("status", job)["keyboard"] != held
            two.type(b"\x1dd")
            assert two.status() == 0
        assert "keyboard" not in cli.ok("status", job)
        one.type(b"echo fr''ee\r")  # the keyboard is free: the first key takes it
        sees(cli, job, "free")
        shown = screen(cli, job)
        assert "never" not in shown and "too-late" not in shown
        one.kill()  # its keyboard ends with it
        until(lambda: "keyboard" not in cli.ok("status", job), what="the keyboard that is free")
    cli.ok("kill", job)


def test_a_model_is_told_that_a_person_holds_the_keyboard(cli: Cli) -> None:
    job = start(cli, "--", "cat")["job_id"]
    with person(job) as typist:
        typist.until("attached to")
        for action in ("status", "screen", "poll"):
            found = cli.ok(action, job)
            assert found["keyboard"]["held_by"].endswith("(outlive attach)")
            assert "type nothing" in found["hint"]
        assert "holds the keyboard" in cli.ok("write", job, "--data", "x\n")["warnings"][0]
        typist.type(b"\x1dd")
        assert typist.status() == 0
    assert "warnings" not in cli.ok("write", job, "--data", "x\n")
    cli.ok("kill", job)


def test_what_a_job_prints_asks_nothing_of_the_terminal_of_a_person(cli: Cli, work: Path) -> None:
    (work / "asks").write_bytes(
        b"\x1b]52;c;cHduZWQ=\x07\x1b]4;1;?\x07\x1b[21t\x05\xc2\x9b6n\x1b[32mgreen\x1b[0m \x1b]2;the title\x07all of it\n"
    )
    job = start(cli, *BASH, "read -rs; cat asks; read -rs; cat asks")["job_id"]
    with person(job) as user:
        user.until("Ctrl-] d")
        user.type(b"\r")  # shown as it comes
        user.until("all of it")
        waits(cli, job)
    with person(job) as other:  # painted, and then shown as it comes
        other.until("all of it")
        other.type(b"\r")
        assert other.status() == 0
    for seen in (user.seen, other.seen):
        assert b"\x1b]2;the title\x07" in seen
        assert b"\x1b[32m" in seen
        assert not [bad for bad in (b"cHduZWQ", b"]4;1", b"[21t", b"\x05", b"\xc2\x9b", b"6n") if bad in seen]


def test_attach_works_in_a_directory_that_was_deleted(cli: Cli, work: Path) -> None:
    job = start(cli, "--", "cat")["job_id"]
    gone = work / "gone"
    gone.mkdir()
    with person(job, through=("sh", "-c", 'cd "$0" && rmdir "$0" && exec "$@"', str(gone))) as user:
        user.until("Ctrl-] d")
        user.type(b"\x1dd")
        assert user.status() == 0
    cli.ok("remove", job)


def test_a_password_that_a_person_types_is_nowhere_on_disk(cli: Cli) -> None:
    job = start(cli, *BASH, 'read -rs -p "Password: " word; echo; echo "${#word} characters"')["job_id"]
    with person(job) as user:
        user.until("Password:")
        user.type(b"Pa55word-of-a-person\r")
        assert user.status() == 0
        assert b"20 characters" in user.seen
    stored = b"".join(trees.contents(cli.root / job).values())
    assert b"Pa55word" not in stored


def test_attach_needs_terminals_on_both_sides(cli: Cli) -> None:
    job = cli.ok("run", "--stdin", "open", "--snapshot-after", "0", "--", "cat")["job_id"]
    cli.error("attach", job, code="invalid_argument")
    with person(job) as user:
        assert user.status() == 1
        assert b"runs without a terminal" in user.seen
    cli.ok("kill", job)

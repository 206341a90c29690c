"""A job of a cluster that waits for others of it: Slurm itself is asked to have it wait."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support import fake_slurm
from support.cli import Cli
from support.on_slurm import Slurm
from support.wait import until

# Takes every job, under the next number, and runs none
COUNTS = '#!/bin/sh\necho "$@" >>{place}/calls\nwc -l <{place}/calls\n'
SAYS = "#!/bin/sh\ncat {place}/queue\n"
DONE = "#!/bin/sh\nexit 0\n"


@pytest.fixture
def calls(place: Path) -> Callable[[], list[str]]:
    """What sbatch was called with, a line each."""
    scripts = {"sbatch": COUNTS, "squeue": SAYS, "scancel": DONE}
    fake_slurm.programs(place, {name: script.format(place=place) for name, script in scripts.items()})
    (place / "queue").touch()
    return lambda: (place / "calls").read_text(encoding="utf-8").splitlines()


@pytest.fixture
def says(place: Path) -> Callable[..., None]:
    """`says((job, word, reason), …)` is what squeue says of jobs from now on."""

    def say(*jobs: tuple[str, str, str]) -> None:
        lines = [f"{number}|{job}|{word}|{why}|0|0|\n" for number, (job, word, why) in enumerate(jobs, start=1)]
        (place / "queue.new").write_text("".join(lines), encoding="utf-8")
        (place / "queue.new").rename(place / "queue")

    return say


def queued(cli: Cli, *words: str) -> str:
    answer = cli.ok("run", "--host", "cluster", "--snapshot-after", "0", *words, "true")
    assert answer["state"] == "created"
    return str(answer["job_id"])


def held(call: str) -> list[str]:
    return [word for word in call.split() if "depend" in word or "invalid-dep" in word]


def test_slurm_is_asked_to_have_it_wait_and_the_answer_says_for_what(cli: Cli, calls: Callable[[], list[str]]) -> None:
    first, second = queued(cli), queued(cli)
    job = queued(cli, "--after", first, "--after", f"{second} exit")
    assert held(calls()[-1]) == ["--dependency=afterok:1,afterany:2", "--kill-on-invalid-dep=yes"]
    found = cli.ok("status", job)
    assert [(one["job_id"], one["condition"]) for one in found["waiting_for"]] == [(first, "exit=0"), (second, "exit")]
    assert found["engine"]["job_id"] == "3"
    assert cli.ok("kill", job)["reason"] == "kill"


@pytest.mark.parametrize("what", ["exit=3", "regex=ready", "here", "ended", "option"])
def test_what_slurm_cannot_wait_for_is_waited_for_here(
    what: str, cli: Cli, calls: Callable[[], list[str]], place: Path
) -> None:
    first = queued(cli)
    words = ["--after", f"{first} {what}" if "=" in what else first]
    if what == "here":
        words += ["--after", cli.ok("run", "--snapshot-after", "0", "sleep 600")["job_id"]]
    elif what == "ended":
        words += ["--after", cli.ok("run", "--snapshot-after", "0", "sleep 600")["job_id"]]
        cli.ok("kill", first)
        words[1] = f"{first} exit"
    elif what == "option":
        config = place / "home/.config/outlive/config.toml"
        config.write_text(
            config.read_text(encoding="utf-8") + 'options = ["--dependency=singleton"]\n', encoding="utf-8"
        )
    job = queued(cli, *words)
    assert len(calls()) == 1
    assert cli.ok("status", job)["waiting_for"]
    for one in cli.ok("list")["jobs"]:
        cli.ok("kill", one["job_id"])


def test_it_waits_for_no_other_once_slurm_gives_another_reason(
    cli: Cli, calls: Callable[[], list[str]], says: Callable[..., None]
) -> None:
    first = queued(cli)
    job = queued(cli, "--after", first)
    says((first, "RUNNING", "None"), (job, "PENDING", "Dependency"))
    until(lambda: (cli.ok("status", job)["queue"] or {}).get("reason") == "Dependency", what="the word of Slurm")
    assert cli.ok("status", job)["waiting_for"]
    says((first, "RUNNING", "None"), (job, "PENDING", "Resources"))
    found = until(lambda: "waiting_for" not in (one := cli.ok("status", job)) and one, what="another reason")
    assert (found["state"], found["queue"]["reason"]) == ("created", "Resources")
    for one in (job, first):
        cli.ok("kill", one)


def test_a_job_that_slurm_gave_up_says_why(cli: Cli, calls: Callable[[], list[str]], says: Callable[..., None]) -> None:
    first = queued(cli, "--title", "build")
    job = queued(cli, "--after", first)
    says((first, "FAILED", "NonZeroExitCode"), (job, "CANCELLED", "DependencyNeverSatisfied"))
    ended = cli.ok("wait", job, "--timeout-ms", "50000")
    assert (ended["state"], ended["reason"]) == ("failed", "dependency")
    assert "(build) to exit with 0, and that failed: its batch script ended" in ended["message"]


@pytest.mark.slow
def test_jobs_of_a_real_cluster_run_in_their_order_or_say_why_not(on: Slurm) -> None:
    first = on.run("--snapshot-after", "0", "sleep 3; echo built >> order")["job_id"]
    job = on.run("--after", first, "--snapshot-after", "0", "echo tested >> order")
    assert [one["job_id"] for one in job["waiting_for"]] == [first]
    assert "Dependency" in on.cluster.run("squeue", "-h", "-o", "%r")
    assert on.ended(job["job_id"])["exit_code"] == 0
    assert Path("order").read_text(encoding="utf-8") == "built\ntested\n"
    bad = on.run("--title", "bad", "--snapshot-after", "0", "sleep 3; exit 3")["job_id"]
    never = on.run("--after", bad, "--snapshot-after", "0", "touch ran")["job_id"]
    either = on.run("--after", f"{bad} exit", "--snapshot-after", "0", "exit 4")["job_id"]
    ended = on.ended(never)
    assert (ended["state"], ended["reason"]) == ("failed", "dependency")
    assert "(bad) to exit with 0, and that exited with code 3" in ended["message"]
    assert on.ended(either)["exit_code"] == 4
    assert not Path("ran").exists()

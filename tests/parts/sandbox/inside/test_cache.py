"""The cache of sandboxes has another name after each job: words that a job left lead nowhere. No job can keep the name."""

from __future__ import annotations

from pathlib import Path

from parts.sandbox.inside.test_works_inside import PYTHON
from support import wait
from support.cli import Cli, Jobs

INSIDE = ("--sandbox", "workspace-write")
# All that a job sees and may open: locks of both kinds on it, which it keeps
HOLD = """
import fcntl, os, time
held = []
for top in (os.path.expanduser("~"), "/dev", "/tmp", "/proc/self/fd", "/proc/1/fd", "."):
    for folder, names, files in os.walk(top):
        for path in (folder, *(os.path.join(folder, name) for name in files)):
            for lock in (fcntl.flock, fcntl.lockf):
                try:
                    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
                    held.append(fd)
                    lock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    pass
print("held", len(held), flush=True)
time.sleep(600)
"""


def cached(place: Path) -> list[str]:
    return [path.name for path in place.glob("home/.cache/outlive/sandbox/*/at-*")]


def test_no_job_keeps_the_name_of_the_cache(cli: Cli, place: Path, work: Path, jobs: Jobs) -> None:
    (work / "hold.py").write_text(HOLD)
    job = cli.ok("run", *INSIDE, "--snapshot-after", "0", f"{PYTHON} hold.py", cwd=work)["job_id"]
    assert "held" in str(cli.ok("wait", job, "--until", "output"))
    # A notification command has a sandbox too, which starts when that of its job has ended
    notified = ("--notify-command", "cat > noted; touch done")
    for words in ((), notified, ()):
        before = cached(place)
        cli.ok("run", *INSIDE, "--wait", *words, "touch ~/.cache/mine", cwd=work)
        if words:
            wait.until((work / "done").exists)
        wait.until(lambda old=before: cached(place) != old, what="another name of the cache")
    assert len(cached(place)) == 1
    cli.ok("kill", job)
    jobs.end()


def test_nothing_is_made_where_a_link_of_a_job_in_the_place_of_the_cache_leads(
    cli: Cli, place: Path, work: Path, jobs: Jobs
) -> None:
    """`~/.cache` is a link into a workspace, as to a larger disk. Of a caller whose HOME is another one it is not kept."""
    home, other, victim = place / "at-home", place / "other", place / "victim"
    for folder in (home, other, victim, work / "cache"):
        folder.mkdir()
    (home / ".cache").symlink_to(work / "cache")
    inside = ("run", "--wait", "--sandbox", "workspace-write", "--network", "none")
    env = {"HOME": str(home), "XDG_STATE_HOME": str(place / "state")}
    cli.ok(*inside, "mkdir -p ~/.cache && touch ~/.cache/kept", env=env, cwd=other)
    assert [*(work / "cache").rglob("kept")], "a link of the user is followed"
    moved = "mv cache old && ln -s {} cache"
    assert cli.ok(*inside, moved.format(victim), env=env, cwd=work)["exit_code"] == 1
    theirs = {"HOME": str(place), "XDG_STATE_HOME": str(place / "state")}
    assert cli.ok(*inside, moved.format(victim), env=theirs, cwd=work)["exit_code"] == 0
    for cwd in (other, work):
        assert cli.ok(*inside, "mkdir -p ~/.cache && touch ~/.cache/gone", env=env, cwd=cwd)["exit_code"] == 0
    assert not [*victim.iterdir()]
    jobs.end()

"""Jobs as tests need them: running, over, or over for long."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from ulid import ULID

from outlive import verbs
from outlive.store import atomic_file
from support import pair
from support.cli import Cli

DAY_S = 86_400.0
IS_CLEANED = "gc" in verbs.names()  # the tests of the heart run without parts too
UNASKED = {"OUTLIVE_GC_AUTOMATIC": "false"} if IS_CLEANED else {}  # no job deletes others at its end


def job_ids(root: Path) -> set[str]:
    return {name for name in os.listdir(root) if not name.startswith(".")} if root.exists() else set()


def collected(cli: Cli, *words: str, **how: Any) -> dict[str, Any] | None:
    """What `gc` answers; None where there is no such verb."""
    return cli.ok("gc", *words, **how) if IS_CLEANED else None


def rewrite(path: Path, **changes: Any) -> None:
    """Change members of a record."""
    path.write_bytes(atomic_file.dump(atomic_file.load(path.read_bytes()) | changes))


def make_running(root: Path, job: str, **changes: Any) -> None:
    """Rewrite a finished job's record as that of one whose supervisors vanished while it ran."""
    pair.until_free(root, job)
    ended = dict.fromkeys(("exit_code", "reason", "finished_at", "duration_ms"))
    rewrite(root / job / "state.json", **{"state": "running", "phase": "running", **ended, **changes})
    pair.forget_end(root, job)


def background(cli: Cli, *words: str) -> str:
    """A job that is not waited for; without words it sleeps."""
    job: str = cli.ok("run", "--snapshot-after", "0", *(words or ("sleep 60",)))["job_id"]
    return job


def started(cli: Cli, *words: str) -> str:
    """A job that has put something out, and so is past its first line, and goes on."""
    job = background(cli, *words)
    assert not cli.ok("wait", job, "--until", "output", "--timeout-ms", "50s")["timed_out"]
    return job


def settled(cli: Cli, *words: str) -> str:
    """A finished job that no process holds any more."""
    job: str = cli.ok("run", "--wait", *(words or ("true",)), env=UNASKED)["job_id"]
    pair.until_free(cli.root, job)
    return job


def aged(cli: Cli, days: float, *words: str) -> str:
    """A job that began and ended so long ago."""
    return made_older(cli.root, settled(cli, *words), days * DAY_S)


def made_older(root: Path, job: str, seconds_ago: float) -> str:
    """Have a settled job be one that began and ended so long ago. Return its id, which tells the time too."""
    then = time.time() - seconds_ago
    # Not new_id: it counts up from the newest id that this process has made
    old = str(ULID.from_timestamp(then))[:10] + job[10:]
    (root / job).rename(root / old)
    path = root / old / "state.json"
    state = json.loads(path.read_bytes())
    state.pop("checksum", None)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(then))
    path.write_text(json.dumps(state | {"job_id": old, "finished_at": stamp}), encoding="utf-8")
    return old


def recorded(root: Path, job: str, kind: str, count: int = 1) -> bool:
    """Whether the history of a job has so many events of a kind, for a test that waits for them: a look starts no
    process."""
    return (root / job / "events.ndjson").read_bytes().count(f'"type":"{kind}"'.encode()) >= count


def wait(cli: Cli, job: str, *conditions: Any, **options: Any) -> dict[str, Any]:
    """Wait for any of these conditions, each as it is typed, or an object."""
    words = [json.dumps(one) if isinstance(one, dict) else one for one in conditions]
    flags = [word for one in words for word in ("--until", one)]
    more = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    return cli.ok("wait", job, *flags, *more)

"""Jobs that ended long ago."""

from __future__ import annotations

import json

from ulid import ULID

from support import pair
from support.cli import Cli
from support.wait import until

_THEN_S, _THEN = 1_577_836_800.0, "2020-01-01T00:00:00.000Z"


def aged(cli: Cli) -> str:
    """A finished job that says it ended in 2020. Nothing is collected at its end."""
    job = cli.ok("run", "--wait", "true", env={"OUTLIVE_GC_AUTOMATIC": "false"})["job_id"]
    until(lambda: not pair.is_supervised(cli.root, job))
    # Not new_id: it counts up from the newest id that this process has made
    old = str(ULID.from_timestamp(_THEN_S))[:10] + job[10:]
    (cli.root / job).rename(cli.root / old)
    path = cli.root / old / "state.json"
    state = json.loads(path.read_bytes())
    state.pop("checksum")
    path.write_text(json.dumps(state | {"job_id": old, "finished_at": _THEN}), encoding="utf-8")
    return old

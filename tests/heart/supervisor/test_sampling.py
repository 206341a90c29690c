"""The samples of what a job uses, which its supervisor takes."""

from __future__ import annotations

import json
import os
from pathlib import Path

from outlive.core.records import State
from outlive.supervisor.ending.members import Reaper, Sampling
from outlive.supervisor.event_loop import EventLoop
from support.kept import made


def test_each_sample_is_followed_by_another_one_until_the_end(tmp_path: Path) -> None:
    with made(tmp_path, 100_000) as job:
        state, file = State(job_id=job.dir.job_id), Path(job.dir.path) / "usage.ndjson"
        sampling = Sampling(
            EventLoop(), job.dir, lambda: [os.getpid()], Reaper(state, parent=False), end_of_output=lambda: 7
        )
        sampling.begin(state)
        for taken in (1, 2):
            sampling._timer.fire()
            lines = [json.loads(line) for line in file.read_text().splitlines()]
            assert len(lines) == taken
            assert [(memory > 0, end) for _, _, memory, end in lines] == [(True, 7)] * taken
        sampling.end()
        assert not sampling._timer.is_set

"""What `meta.json` keeps of the jobs that a job waits for."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlive.core.ids import new_id
from outlive.core.records import Definition
from outlive.parts.after import chain
from outlive.parts.after.asked import Edge, of_job
from support.devices import opens_device

OTHER, OWN = new_id(), new_id()


def definition(after: object) -> Definition:
    return Definition(job_id=OWN, kept={} if after is None else {"after": after})


def test_what_was_written_is_read() -> None:
    edges = [Edge(job=OTHER, exit=0), Edge(job=OTHER, until=[{"port": 5432}, "exit"])]
    assert of_job(definition([edge.to_dict() for edge in edges])) == edges
    assert of_job(definition(None)) == []


@pytest.mark.parametrize(
    "spoilt",
    [
        "x",
        {},
        [1],
        [{"job": 1, "exit": 0}],
        [{"job": "x", "exit": 0}],
        [{"job": OTHER}],
        [{"job": OTHER, "exit": "0"}],
        [{"job": OTHER, "exit": 0, "until": ["exit"]}],
        [{"job": OWN, "exit": 0}],
    ],
)
def test_what_another_program_has_spoilt_is_an_error(spoilt: object) -> None:
    with pytest.raises(ValueError, match=r"^meta\.json was changed by another program: after makes no sense$"):
        of_job(definition(spoilt))


def test_a_device_in_place_of_a_file_of_jobs_is_not_opened(tmp_path: Path) -> None:
    assert not opens_device(tmp_path, chain._of_file)

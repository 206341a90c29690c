"""A list without a job says which jobs there are."""

from __future__ import annotations

from support.face import Face

ENDLESS = "while :; do sleep 0.05; done"


def test_a_filter_that_no_job_fits_is_answered_with_the_jobs_there_are(face: Face) -> None:
    of = {"cli": "here", "mcp": "of yours"}[face.name]
    nothing = face.ok("list", state="running")
    assert (nothing["jobs"], nothing.get("hint")) == ([], None), "there is no job at all"
    for _ in range(2):
        face.ok("run", command="true")
    for asked, said in (
        ({"state": "running"}, "is running"),
        ({"state": "killed"}, "has the state killed"),
        ({"failed": True}, "fits"),
        ({"tags": ["no.such"]}, "fits"),
        ({"state": "running", "tags": ["no.such"]}, "fits"),
    ):
        assert face.ok("list", **asked)["hint"] == f"No job {of} {said}; 2 have ended."
    face.background(ENDLESS)
    assert face.ok("list", failed=True)["hint"] == f"No job {of} fits; 2 have ended, 1 not."
    assert len(face.ok("list", state="running")["jobs"]) == 1

"""What a caller may write for a job: its id, a short end of it, its title."""

from __future__ import annotations

from support.face import Face


def test_four_characters_of_an_id_name_its_job_and_ambiguous_ones_name_the_candidates(face: Face) -> None:
    one, other = (face.ok("run", command=f"echo {n}")["job_id"] for n in "ab")
    for part in (one[-4:], one[-5:], one[-4:].lower(), f" {one[-4:]} "):
        assert face.ok("status", part)["job_id"] == one
    error = face.error("status", one[:4], code="ambiguous_job_id")
    assert {one, other} <= set(error["details"]["candidates"])
    assert "4 or more characters" in face.error("status", one[-3:], code="job_not_found")["hint"]


def test_a_title_as_short_as_a_word_wins_over_an_id_that_ends_like_it(face: Face) -> None:
    first = face.ok("run", command="true")["job_id"]
    titled = face.ok("run", command="true", title=first[-4:])["job_id"]
    assert face.ok("status", first[-4:])["job_id"] == titled
    assert face.ok("status", first[-6:])["job_id"] == first

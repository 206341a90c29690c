"""The names of our processes in the process table."""

from __future__ import annotations

from itertools import combinations

from outlive.system import tree

TITLES = (tree.GUARDIAN, tree.SUPERVISOR, tree.FORK_SERVER)
COMM_CHARS = 15  # of a name in the process table (prctl(2), PR_SET_NAME)


def _parts(name: str) -> set[str]:
    return {name[at : at + 4] for at in range(len(name) - 3)}


def test_no_one_pattern_ends_a_job_and_what_watches_over_it() -> None:
    for one, other in combinations((*TITLES, "outlive", "mcp serve"), 2):
        assert not _parts(one) & _parts(other), f"{one} and {other} share a word"


def test_pkill_python_ends_none_of_them() -> None:
    assert not [title for title in TITLES if "python" in title]
    assert all(len(title) <= COMM_CHARS for title in TITLES)

"""A rule that allows by the program allows none that is found by a link which a job can change."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from outlive.core import real_path
from outlive.parts.policy import decide, rules
from outlive.parts.policy.answers import Checked
from outlive.parts.policy.decide import Policy
from outlive.parts.policy.rules import Rule, Surroundings

TRUE = "/usr/bin/true"


def found(cwd: Path, program: str, path: str = "/usr/bin:/bin", decides: str = "allow") -> Checked:
    rules = [Rule(1, {"program": [TRUE, "/usr/lib/tool"], "decision": decides})]
    policy = Policy("deny" if decides == "allow" else "allow", 0, rules)
    return decide.strictest(decide.decided(policy, [program], None, Surroundings(str(cwd), path=path)))


def linked(place: Path) -> str:
    (place / "link").symlink_to(TRUE)
    return f"{place}/link"


def linked_twice(place: Path) -> str:
    (place / "first").symlink_to(TRUE)
    (place / "link").symlink_to("first")
    return f"{place}/link"


def linked_above(place: Path) -> str:
    (place / "bin").symlink_to("/usr/bin")
    return f"{place}/bin/true"


def linked_relative(place: Path) -> str:
    linked(place)
    return "./link"


def elsewhere_in_the_words(place: Path) -> str:
    """Return a path whose words lead to TRUE where a link on it is no link."""
    deep = place / "/".join(["deep"] * len(place.parts))
    (deep / "usr/bin").mkdir(parents=True)
    (deep / "usr/bin/true").touch()
    inner = deep / "/".join(["x"] * len(place.parts))
    inner.mkdir(parents=True)
    (place / "link").symlink_to(inner)
    return f"{place}/link" + "/.." * len(place.parts) + TRUE


@pytest.mark.parametrize("way", [linked, linked_twice, linked_above, linked_relative, elsewhere_in_the_words])
def test_a_link_that_a_job_can_change_is_no_way_to_an_allowed_program(
    tmp_path: Path, way: Callable[[Path], str]
) -> None:
    work, other = tmp_path / "one", tmp_path / "other"
    work.mkdir()
    other.mkdir()
    program = way(work)
    for cwd in (work, other) if os.path.isabs(program) else (work,):
        decision = found(cwd, program)
        assert decision.decision == "deny", program
        if way is not elsewhere_in_the_words:
            assert f"{work}/" in (decision.reason or "")
            assert "is a link, which a job can change" in (decision.reason or "")


def test_a_link_in_path_is_none_either(tmp_path: Path) -> None:
    (tmp_path / "true").symlink_to(TRUE)
    assert found(tmp_path, "true").decision == "allow"
    assert found(tmp_path, "true", path=f"{tmp_path}:/usr/bin").decision == "deny"
    assert found(Path("/"), "true", path=f"{tmp_path}:/usr/bin").decision == "deny"


def test_links_of_the_system_are_followed(tmp_path: Path) -> None:
    assert os.path.islink("/bin")
    for program in (TRUE, "/bin/true", "/usr/bin/../bin/true", "/bin/../bin/true"):
        assert found(tmp_path, program).decision == "allow", program
        assert found(Path("/"), program).decision == "allow", program


@pytest.mark.parametrize("way", [linked, linked_twice, linked_above, linked_relative])
def test_a_rule_that_denies_follows_every_link(tmp_path: Path, way: Callable[[Path], str]) -> None:
    assert found(tmp_path, way(tmp_path), decides="deny").decision == "deny"


def test_a_rule_that_denies_finds_a_program_behind_a_link_and_a_parent(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/usr/lib")
    assert found(tmp_path, f"{tmp_path}/link/../bin/true", decides="deny").decision == "deny"


def test_where_the_default_allows_a_link_is_asked_about_like_what_is_unknown(tmp_path: Path) -> None:
    rules = [Rule(1, {"program": TRUE, "decision": "allow"}), Rule(2, {"prefix": ["rm"], "decision": "deny"})]
    decisions = decide.decided(
        Policy("allow", 0, rules), [linked(tmp_path)], None, Surroundings(str(tmp_path), path="")
    )
    assert [one.decision for one in decisions] == ["ask"]


@pytest.mark.parametrize("after", ["another link", "a file"])
def test_a_link_that_changes_while_it_is_decided_about_allows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    """A program that changes it all the time was allowed by three of a hundred decisions: one look found what the rule
    names, and the next no link that could be changed."""
    link, follow = tmp_path / "link", real_path.followed
    link.symlink_to(TRUE)

    def followed(path: str) -> tuple[str | None, list[str]]:
        seen = follow(path)
        if seen[0] == os.path.realpath(TRUE):
            link.unlink()
            link.symlink_to("/usr/bin/false") if after == "another link" else link.write_text("#!/bin/sh\n")
        return seen

    monkeypatch.setattr(rules, "followed", followed)
    assert found(tmp_path, str(link)).decision == "deny"


def test_a_directory_behind_a_link_that_a_job_can_change_is_not_allowed(tmp_path: Path) -> None:
    """A job may have it lead to `/`."""
    real, link = tmp_path / "real", tmp_path / "link"
    real.mkdir()
    link.symlink_to(real)
    for directory, decides, expected in (
        (link, "allow", "deny"), (real, "allow", "allow"), (link, "deny", "deny"), (real, "deny", "deny"),
    ):  # fmt: skip
        policy = Policy(
            "deny" if decides == "allow" else "allow", 0, [Rule(1, {"directory": str(directory), "decision": decides})]
        )
        decision = decide.strictest(decide.decided(policy, ["make"], None, Surroundings(str(real), path="/usr/bin")))
        assert decision.decision == expected, (directory, decides)
        if expected != decides:
            assert f"{link} is a link, which a job can change" in (decision.reason or "")

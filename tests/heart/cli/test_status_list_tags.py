"""Which jobs there are, how they are named, and what is said of those whose files are damaged."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.cli import Cli, Jobs
from support.jobs import background, collected, settled
from support.tiers import first, only
from support.wait import until

NOBODY = "01ARZ3NDEKTSV4RRFFQ69G5FAV"  # a well-formed id of no job


def _finished(cli: Cli, *words: str) -> str:
    job: str = cli.ok("run", *(words or ("echo out",)))["job_id"]
    return job


def _listed(cli: Cli, *words: str, **how: Any) -> list[str]:
    return [job["job_id"] for job in cli.ok("list", *words, **how)["jobs"]]


# --- status --------------------------------------------------------------------------------------------------------


def test_status_of_a_running_job(cli: Cli, jobs: Jobs, work: Path) -> None:
    job = background(cli, "--tag", "t", "echo abc; echo de >&2; sleep 60")
    status = until(lambda: (found := cli.ok("status", job))["next_seq"] == 7 and found)
    assert (status["state"], status["exit_code"], status["finished_at"]) == ("running", None, None)
    assert (status["stdout_bytes"], status["stderr_bytes"]) == (4, 3)
    assert (status["tags"], status["cwd"], status["owner"]) == (["t"], str(work), "cli")
    assert status["idle_ms"] >= 0
    assert status["elapsed_ms"] >= 0
    assert status["supervised"] is True
    assert status["waiting_for_input"] is False
    assert os.readlink(f"/proc/{status['pid']}/cwd") == str(work)
    jobs.end()


# --- ids -----------------------------------------------------------------------------------------------------------


def test_a_job_is_named_by_any_unique_beginning_or_end_of_six_characters_or_more(cli: Cli) -> None:
    job = _finished(cli)
    for name in (job, job[-8:], job[-6:], job[:-1], job[1:], job[:6], job[:10], job.lower(), job[-8:].lower()):
        assert cli.ok("status", name)["job_id"] == job


@pytest.mark.fault("S03")
def test_what_names_no_job_is_not_found(cli: Cli) -> None:
    _finished(cli)
    for name in [
        "",
        " ",
        ".",
        "..",
        "../x",
        "/etc/passwd",
        "*",
        "a\nb",
        "-",
        "\udcff",
        NOBODY,
        "x" * 5000,
        ".live",
        "ILOILO",
    ]:
        cli.error("status", "--", name, code="job_not_found", status=1)


def test_a_job_that_is_not_there_may_have_been_removed(cli: Cli) -> None:
    hint = cli.error("status", NOBODY, code="job_not_found")["hint"]
    assert "may have been removed" in hint
    assert "`outlive list --all`" in hint


def test_three_characters_name_no_job_and_no_part_from_the_middle_does(cli: Cli) -> None:
    job = _finished(cli)
    for name in (job[:3], job[-3:], job[5:12]):
        cli.error("status", name, code="job_not_found")


@pytest.mark.fault("S02")
def test_a_link_in_the_place_of_a_job_is_no_job(cli: Cli, root: Path, place: Path) -> None:
    job = _finished(cli)
    os.rename(root / job, place / "elsewhere")
    os.symlink(place / "elsewhere", root / job)
    cli.error("status", job, code="job_not_found")
    cli.error("remove", job, code="job_not_found")
    assert (place / "elsewhere" / "stdout.log").exists()
    assert _listed(cli, "--all") == []


# --- list ----------------------------------------------------------------------------------------------------------


def test_running_jobs_come_first_and_then_the_newest(cli: Cli, jobs: Jobs) -> None:
    first = background(cli)
    done = [_finished(cli), _finished(cli)]
    second = background(cli)
    assert _listed(cli) == [second, first, done[1], done[0]]
    jobs.end()


def test_an_empty_list_counts_the_jobs_of_other_directories(cli: Cli, jobs: Jobs, work: Path) -> None:
    elsewhere = work / "elsewhere"
    elsewhere.mkdir()
    cli.ok("run", "--cwd", str(elsewhere), "true")
    running = cli.ok("run", "--snapshot-after", "0", "--cwd", str(elsewhere), "exec sleep 60")["job_id"]
    assert cli.ok("list")["hint"] == "None here; 1 running, 1 not running elsewhere: --all shows them."
    assert cli.ok("list", "--state", "running")["hint"] == "None here; 1 running elsewhere: --all shows them."
    assert "hint" not in cli.ok("list", "--tag", "no.such")
    cli.ok("kill", running)


def test_an_entry_tells_a_job_apart(cli: Cli, work: Path) -> None:
    job = _finished(cli, "--tag", "a", "--title", "build", "echo one; echo; echo ' last '; exit 2")
    (entry,) = cli.ok("list")["jobs"]
    assert (entry["job_id"], entry["short_id"], entry["name"]) == (job, job[-8:], "build")
    assert (entry["state"], entry["exit_code"], entry["reason"]) == ("exited", 2, "exit")
    assert (entry["cwd"], entry["tags"], entry["owner"], entry["last_line"]) == (str(work), ["a"], "cli", "last")


def test_the_limit_counts_and_says_that_there_are_more(cli: Cli) -> None:
    made = [_finished(cli, "true") for _ in range(3)]
    found = cli.ok("list", "--limit", "2")
    assert ([job["job_id"] for job in found["jobs"]], found["truncated"]) == (made[:0:-1], True)
    assert cli.ok("list", "--limit", "3")["truncated"] is False
    assert _listed(cli, "--limit", "0") == made[::-1]


def test_only_the_jobs_of_the_current_directory_are_listed(cli: Cli, work: Path) -> None:
    (work / "sub").mkdir()
    (work / "link").symlink_to("sub")
    here, there = _finished(cli), _finished(cli, "--cwd", "sub", "true")
    assert _listed(cli) == [here]
    assert _listed(cli, cwd=work / "sub") == [there]
    assert _listed(cli, "--cwd", "sub") == [there]
    assert _listed(cli, "--cwd", "link") == [there]
    assert _listed(cli, "--all") == [there, here]
    cli.error("list", "--all", "--cwd", "sub", code="invalid_argument")


def test_a_directory_that_is_gone_still_selects_its_jobs(cli: Cli, work: Path) -> None:
    (work / "sub").mkdir()
    job = _finished(cli, "--cwd", "sub", "true")
    (work / "sub").rmdir()
    assert _listed(cli, "--cwd", "sub") == [job]


def test_jobs_are_selected_by_state(cli: Cli, jobs: Jobs) -> None:
    made = {
        "created": cli.ok("create", "true")["job_id"],
        "running": background(cli),
        "exited": _finished(cli, "exit 1"),
        "killed": _finished(cli, "kill -9 $$"),
        "failed": _finished(cli, "no-such-program-at-all", "x"),
    }
    assert {state: _listed(cli, "--state", state) for state in made} == {state: [job] for state, job in made.items()}
    (created,) = cli.ok("list", "--state", "created")["jobs"]
    assert "started_at" not in created
    assert set(_listed(cli)) == set(made.values())
    error = cli.error("list", "--state", "exitd", code="invalid_argument", status=2)
    assert "exited" in error["hint"]
    jobs.end()


def test_jobs_are_selected_by_their_owner(cli: Cli) -> None:
    mine = _finished(cli, "true")
    theirs = cli.ok("run", "true", env={"OUTLIVE_OWNER": "somebody"})["job_id"]
    assert _listed(cli, "--owner", "somebody") == [theirs]
    assert _listed(cli, "--owner", "cli") == [mine]
    assert set(_listed(cli)) == {mine, theirs}


def test_what_is_no_job_in_the_root_is_passed_over(cli: Cli, root: Path) -> None:
    job = _finished(cli)
    (root / "README").write_text("not a job")
    (root / "some-directory").mkdir()
    (root / NOBODY).write_text("a file named like a job")
    assert _listed(cli) == [job]
    cli.error("status", NOBODY, code="job_not_found")


# --- tags ----------------------------------------------------------------------------------------------------------


def test_tags_select_exactly_or_by_name_space_and_all_must_match(cli: Cli) -> None:
    build = _finished(cli, "--tag", "project.build", "--tag", "ci", "true")
    deep = _finished(cli, "--tag", "project.build.fast", "true")
    other = _finished(cli, "--tag", "projector", "true")
    _finished(cli, "true")
    assert _listed(cli, "--tag", "project.build") == [build]
    assert _listed(cli, "--tag", "project.*") == [deep, build]
    assert _listed(cli, "--tag", "project.build.fast") == [deep]
    assert _listed(cli, "--tag", "project.*", "--tag", "ci") == [build]
    assert _listed(cli, "--tag", "projector") == [other]
    assert _listed(cli, "--tag", "PROJECT.*") == []
    assert deep in _listed(cli, "--tag", "project.build.*")
    cli.error("list", "--tag=a*", code="invalid_tag")


def test_tag_set_has_an_underscore_form_and_works_in_every_state(cli: Cli, jobs: Jobs) -> None:
    for job in (cli.ok("create", "true")["job_id"], background(cli), _finished(cli)):
        found = cli.ok("tag_set", job, "--tag", "t")
        assert (found["type"], found["job_id"]) == ("tag_set", job)
        assert cli.ok("tag-set", job, "--tag", "u")["tags"] == ["u"]
    jobs.end()


# --- damaged files -------------------------------------------------------------------------------------------------

DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "truncated": lambda data: data[: len(data) // 2],
    "zero-filled": lambda data: bytes(len(data)),
    "another type": lambda data: b"[]\n",
    "one bit": lambda data: data.replace(b'"job_id":"0', b'"job_id":"1'),
}


def _damage(root: Path, job: str, name: str, how: str) -> None:
    path = root / job / name
    path.write_bytes(DAMAGE[how](path.read_bytes()))


@pytest.mark.fault("F19")
@pytest.mark.parametrize("how", first(2, DAMAGE))
def test_a_damaged_state_is_said_and_the_job_is_still_listed_and_readable(cli: Cli, root: Path, how: str) -> None:
    job = settled(cli, "--tag", "t", "echo kept")
    (root / job / "events.ndjson").unlink()  # which would know the end
    _damage(root, job, "state.json", how)
    status = cli.ok("status", job)
    assert (status["state"], status["exit_code"], status["tags"]) == ("unknown", None, ["t"])
    assert status["damage"]
    (entry,) = cli.ok("list")["jobs"]
    assert (entry["job_id"], entry["state"]) == (job, "unknown")
    assert entry["damage"]
    assert cli.ok("poll", job)["output"] == "kept\n"
    assert cli.ok("tail", job)["stdout_tail"] == "kept\n"
    assert cli.ok("log", job)["output"] == "kept\n"
    assert cli.ok("wait", job, "--timeout-ms", "50s")["timed_out"] is False
    cli.error("start", job, code="io_error")
    cli.error("clear", job, code="invalid_state")
    collected(cli, "--older-than", "1h")
    assert _listed(cli) == [job], "its directory is young"
    cli.ok("remove", job)
    assert _listed(cli) == []


def test_a_missing_state_of_a_job_with_output_is_not_said_to_have_never_run(cli: Cli, root: Path) -> None:
    job = settled(cli, "echo kept")
    (root / job / "events.ndjson").unlink()  # which would know the end
    (root / job / "state.json").unlink()
    status = cli.ok("status", job)
    assert (status["state"], status["reason"], status["exit_code"]) == ("failed", "lost", None)
    assert _listed(cli) == [job]
    assert cli.ok("poll", job)["output"] == "kept\n"


@pytest.mark.parametrize("how", only(lambda how: how in ("one bit", "missing"), [*DAMAGE, "missing"]))
def test_a_damaged_definition_is_said_and_the_outcome_stays(cli: Cli, root: Path, how: str) -> None:
    job = settled(cli, "echo kept; exit 3")
    (root / job / "meta.json").unlink() if how == "missing" else _damage(root, job, "meta.json", how)
    status = cli.ok("status", job)
    assert (status["state"], status["exit_code"]) == ("exited", 3)
    assert status["damage"]
    (entry,) = cli.ok("list")["jobs"]
    assert entry["job_id"] == job
    assert entry["damage"]
    assert cli.ok("poll", job)["output"] == "kept\n"
    cli.error("restart", job, code="io_error")
    cli.error("tag", "set", job, "--tag", "a", code="io_error")
    cli.ok("remove", job)
    assert _listed(cli) == []


def test_a_running_job_whose_state_is_damaged_can_be_ended(cli: Cli, root: Path, place: Path) -> None:
    job = background(cli, "echo up; sleep 60")
    until(lambda: cli.ok("status", job)["stdout_bytes"])
    _damage(root, job, "state.json", "truncated")
    killed = cli.ok("kill", job)
    assert (killed["state"], killed["reason"], killed["survivors"]) == ("killed", "kill", [])


def _rewritten(root: Path, job: str, name: str, **changes: Any) -> None:
    path = root / job / name
    content = json.loads(path.read_bytes())
    content.pop("checksum", None)  # it is optional: writers of old formats have none
    path.write_text(json.dumps({**content, **changes}))


@pytest.mark.fault("F13")
@pytest.mark.parametrize("name", ["state.json", "meta.json"])
def test_a_newer_format_is_an_error_that_says_so_and_is_never_changed(cli: Cli, root: Path, name: str) -> None:
    job, plain = settled(cli), settled(cli)
    _rewritten(root, job, name, format=999)
    before = (root / job / name).read_bytes()
    error = cli.error("status", job, code="io_error", status=1)
    assert "999" in error["message"]
    for verb in ("poll", "wait", "clear"):
        cli.error(verb, job, code="io_error")
    found = cli.ok("list")
    assert ([one["job_id"] for one in found["jobs"]], found["skipped"]) == ([plain], 1)
    gc = collected(cli, "--older-than", "0s")
    assert gc is None or gc["deleted"] == 1
    assert (root / job / name).read_bytes() == before


@pytest.mark.parametrize("value", first(1, ["2", None]))
def test_a_format_that_is_no_number_is_damage(cli: Cli, root: Path, value: Any) -> None:
    job = settled(cli)
    (root / job / "events.ndjson").unlink()  # which would know the end
    _rewritten(root, job, "state.json", format=value)
    status = cli.ok("status", job)
    assert (status["state"], status["damage"]) == ("unknown", "state.json: its format is not a number")
    found = cli.ok("list")
    assert ([(one["job_id"], one["state"]) for one in found["jobs"]], found["skipped"]) == ([(job, "unknown")], 0)


@pytest.mark.fault("F19", "S05")
@pytest.mark.parametrize("changes", first(2, [{"state": "banana"}, {"exit_code": "zero"}, {"ending": 5}]))
def test_json_that_makes_no_sense_is_damage_and_no_crash(cli: Cli, root: Path, changes: dict[str, Any]) -> None:
    job = settled(cli)
    _rewritten(root, job, "state.json", **changes)
    assert cli.ok("status", job).get("damage")
    assert [one["job_id"] for one in cli.ok("list")["jobs"]] == [job]


def test_a_job_whose_state_is_a_link_is_not_read_through_it(cli: Cli, root: Path, place: Path) -> None:
    job = settled(cli)
    (place / "outside").write_bytes((root / job / "state.json").read_bytes())
    (root / job / "state.json").unlink()
    (root / job / "events.ndjson").unlink()  # which would know the end
    (root / job / "state.json").symlink_to(place / "outside")
    status = cli.ok("status", job)
    assert (status["state"], status["exit_code"]) == ("unknown", None)
    assert status["damage"] == "state.json: it is a symbolic link"


def test_status_for_a_person_ends_with_the_last_lines(cli: Cli) -> None:
    job = cli.ok("run", "--title", "counts", "--", "sh", "-c", "seq 20; exit 3")["job_id"]
    lines = cli.text("--human", "status", job).stdout.splitlines()
    assert lines[0].startswith("counts  job ")
    assert lines[2].startswith("exited with code 3")
    assert lines[-10:] == [str(number) for number in range(11, 21)]


def test_a_job_that_cannot_be_read_is_unknown_and_one_that_was_not_started_is_created(cli: Cli, root: Path) -> None:
    job = cli.ok("run", "true")["job_id"]
    (root / job / "state.json").write_bytes(b"")
    (root / job / "events.ndjson").unlink()  # nothing tells of its end
    found = cli.ok("status", job)
    assert (found["state"], found["status"]) == ("unknown", "unknown")
    created = cli.ok("create", "true")["job_id"]
    assert cli.ok("status", created)["status"] == "created"

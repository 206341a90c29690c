"""`[hosts.NAME]` of the configuration: what is checked, and who sees it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from outlive import config
from support import fake_slurm, processes
from support.cli import Cli, configured
from support.mcp_client import McpSession
from support.tiers import MODERN_FIRST, first
from support.wait import until

HOSTS = """
[hosts.cluster]
kind = "slurm"

[hosts.box]
kind = "ssh"
target = "me@box"
"""


@pytest.fixture
def hosts(place: Path) -> Path:
    return configured(place, HOSTS)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[hosts.box]\ntarget = "box"', "[hosts.box] has no kind"),
        ('[hosts.box]\nkind = "slrm"', "Did you mean slurm?"),
        ('[hosts.box]\nkind = "ssh"', "A host of kind ssh needs target."),
        ('[hosts.box]\nkind = "ssh"\ntarget = "-oProxyCommand=x"', "is a host, not a flag"),
        ('[hosts.box]\nkind = "slurm"\ntarget = "x"', "unknown key target in [hosts.box]"),
        ('[hosts.box]\nkind = "slurm"\npyton = "/x"', "Did you mean python?"),
        ('[hosts.box]\nkind = "slurm"\npython = "python3"', "must be absolute path"),
        ('[hosts.box]\nkind = "slurm"\noptions = "-p x"', "must be array of strings"),
        ('[hosts.local]\nkind = "slurm"', "local is this machine"),
        ('[hosts."a b"]\nkind = "slurm"', "not a name for a host"),
        ("[hosts]\nbox = 1", "write [hosts.box]"),
        ('[exec]\nhost = "clustr"\n[hosts.cluster]\nkind = "slurm"', "Did you mean cluster?"),
    ],
)
def test_a_mistake_in_a_host_is_named_with_its_place(cli: Cli, place: Path, text: str, said: str) -> None:
    path = place / "config.toml"
    path.write_text(text, encoding="utf-8")
    error = cli.error("--config", str(path), "list", code="config_error")
    assert said in f"{error['message']} {error.get('hint')}"
    assert str(path) in error["message"]


def test_hosts_are_listed_and_a_wrong_name_is_told(cli: Cli, hosts: Path) -> None:
    found = cli.ok("host", "list")["hosts"]
    assert [(one["name"], one["kind"], one["default"]) for one in found] == [
        ("local", "local", True),
        ("cluster", "slurm", False),
        ("box", "ssh", False),
    ]
    assert "Did you mean cluster?" in cli.error("run", "--host", "custer", "true", code="invalid_argument")["hint"]
    assert "Did you mean box?" in cli.error("host", "check", "bx", code="invalid_argument")["hint"]
    assert cli.ok("list", "--all")["jobs"] == []


def test_local_is_always_there(cli: Cli, place: Path) -> None:
    assert cli.ok("run", "--host", "local", "--wait", "true")["state"] == "exited"
    assert [one["name"] for one in cli.ok("host", "list")["hosts"]] == ["local"]
    assert cli.ok("host", "check", "local")["healthy"]
    assert cli.error("run", "--host", "cluster", "true", code="invalid_argument")
    assert len(cli.ok("list", "--host", "local")["jobs"]) == 1
    assert cli.ok("list", "--host", "cluster")["jobs"] == []


def test_the_hosts_of_the_configuration_reach_the_schema(hosts: Path) -> None:
    from outlive import verbs
    from outlive.core.members import object_of, texts_of
    from outlive.mcp.tools import listing
    from outlive.mcp.tools.offer import process_verbs

    for found, offered in ((config.load({}, str(hosts)), True), (config.Config({}, None), False)):
        run = object_of(listing.of_verb(verbs.load("run"), found), "properties")
        process = object_of(listing.of_actions(process_verbs(), verbs.load("run"), found), "properties")
        assert ("host" in run, "host" in process, "hosts" in texts_of(object_of(process, "action"), "enum")) == (
            offered,
        ) * 3


@MODERN_FIRST
def test_both_faces_list_the_same_hosts(mcp_connect: Callable[..., McpSession], cli: Cli, hosts: Path) -> None:
    assert mcp_connect().ok("process", action="hosts")["hosts"] == cli.ok("host", "list")["hosts"]


# --- what programs that are not ours print ---------------------------------------------------------

ENDLESS = "#!/bin/sh\nexec yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa {where}\n"
RINGS = "#!/bin/sh\nprintf '\\033]0;title\\007\\342\\200\\256reversed\\n' >&2\nexit 1\n"


@pytest.mark.fault("H29")
@pytest.mark.parametrize("where", first(1, [">&2", ""]))
def test_a_check_of_a_cluster_ends_programs_that_print_without_end(cli: Cli, place: Path, where: str) -> None:
    script = ENDLESS.format(where=where)
    fake_slurm.programs(place, dict.fromkeys(("sbatch", "squeue", "scancel", "srun", "sinfo", "scontrol"), script))
    found = cli.ok("host", "check", "cluster")
    (check,) = [one for one in found["checks"] if one["name"] == "controller"]
    assert check["status"] == "fail" and "printed more than" in check["found"]
    until(lambda: not processes.of(place), what="its programs have ended")


@pytest.mark.fault("H29")
def test_what_a_program_of_a_cluster_says_is_shown_with_visible_control_characters(cli: Cli, place: Path) -> None:
    fake_slurm.programs(place, dict.fromkeys(("sbatch", "squeue", "scancel", "srun", "sinfo", "scontrol"), RINGS))
    (check,) = [one for one in cli.ok("host", "check", "cluster")["checks"] if one["name"] == "controller"]
    assert check["found"].endswith(r"\e]0;title\x07\u202ereversed")
    error = cli.error("run", "--host", "cluster", "true", code="launch_failed")
    assert r"\e]0;title\x07\u202ereversed" in error["message"]


@pytest.mark.fault("H29")
def test_what_ssh_prints_is_bounded_and_shown_with_visible_control_characters(cli: Cli, place: Path) -> None:
    programs = place / "programs"
    programs.mkdir()
    configured(place, HOSTS)
    env = {"PATH": f"{programs}:{os.environ['PATH']}"}
    fake_slurm.put(programs, "ssh", RINGS)
    (check,) = cli.ok("host", "check", "box", env=env)["checks"]
    assert check["found"] == r"\e]0;title\x07\u202ereversed"
    fake_slurm.put(programs, "ssh", "#!/bin/sh\nhead -c 500000000 /dev/zero | tr '\\0' 'x' >&2\nexit 255\n")
    (check,) = cli.ok("host", "check", "box", env=env)["checks"]
    assert check["status"] == "fail" and len(check["found"]) < 10_000

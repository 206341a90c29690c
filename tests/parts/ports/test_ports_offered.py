"""Where ports are offered, and where they are not to be had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from outlive import config
from outlive.mcp.tools import listing
from outlive.parts.sandbox.confinement import bubblewrap
from support.cli import Cli, configured
from support.commands import GATE

LOOPBACK = ("--sandbox", "workspace-write", "--network", "loopback")


def test_the_argument_is_listed_where_the_configuration_is_about_ports(place: Path) -> None:
    def properties(text: str) -> dict[str, object]:
        tools = listing.tools(("exec", "process"), config.load({}, str(configured(place, text))))
        found: dict[str, object] = json.loads(json.dumps(tools[0]))["inputSchema"]["properties"]
        return found

    assert "ports" not in properties("")
    assert properties("[ports]\nfirst = 21000\n")["ports"] == {
        "type": "array",
        "items": {"type": "string"},
        "description": "Names: free ports, as PORT_NAME and {port:name}",
    }


def test_ports_are_of_the_range_of_the_configuration(cli: Cli, place: Path) -> None:
    configured(place, "[ports]\nfirst = 24100\nlast = 24103\n")
    job = cli.ok("run", "--port", "a", "--port", "b", "--snapshot-after", "0", "exec sleep 60")
    assert {one["port"] for one in job["ports"].values()} <= {*range(24_100, 24_104)}
    configured(place, "[ports]\nfirst = 24300\nlast = 24310\n")
    again = cli.ok("restart", "--snapshot-after", "0", job["job_id"])
    assert again["ports"] == job["ports"], "a job keeps the range that it was made with"
    cli.ok("kill", again["job_id"])
    configured(place, "[ports]\nfirst = 24300\nlast = 24200\n")
    error = cli.error("run", "--port", "a", "true", code="config_error")
    assert error["message"] == "ports.first, 24300, is larger than ports.last, 24200"


def test_a_job_on_another_machine_has_none(cli: Cli, place: Path) -> None:
    configured(place, '[hosts.box]\nkind = "ssh"\ntarget = "box"\n')
    error = cli.error("run", "--host", "box", "--port", "web", "true", code="invalid_argument")
    assert error["message"] == "--port is of this machine, and the job is to run on box"


def test_a_script_is_given_the_variable_alone(cli: Cli, work: Path) -> None:
    long = work / "long.sh"
    long.write_text(f"echo $PORT_WEB {{port:web}}\n{'# a comment' * 20_000}\n")
    error = cli.error("run", "--port", "web", "--script", str(long), code="invalid_argument")
    assert (error["message"], error["hint"]) == (
        "in so long a script {port:web} is not replaced",
        "Write $PORT_WEB there.",
    )
    long.write_text(long.read_text().replace(" {port:web}", ""))
    ended = cli.ok("run", "--wait", "--port", "web", "--script", str(long))
    assert ended["output"].strip().isdigit()


def test_a_file_of_variables_does_not_win(cli: Cli, work: Path) -> None:
    (work / ".env").write_text("PORT=1\nPORT_WEB=2\nOTHER=3\n")
    ended = cli.ok("run", "--wait", "--env-file", ".env", "--port", "web", "echo $PORT $PORT_WEB {port:web} $OTHER")
    numbers = ended["output"].split()
    assert (len({*numbers[:3]}), numbers[3]) == (1, "3")


def test_a_job_with_a_network_of_its_own_says_that_nothing_reaches_its_ports(cli: Cli, work: Path) -> None:
    if bubblewrap.tried(bubblewrap.find(None)) is not None:
        pytest.skip("no sandbox can be set up here")
    job = cli.ok("run", *LOOPBACK, "--port", "web", "--until", "output", "echo $PORT; exec sleep 60")
    assert job["output"] == f"{job['ports']['web']['port']}\n"
    assert "a network of its own: nothing outside of it reaches its ports" in job["hint"]
    cli.ok("kill", job["job_id"])


def test_a_person_reads_the_ports_of_a_job(cli: Cli, work: Path) -> None:
    job = cli.ok("run", "--port", "web", "--snapshot-after", "0", GATE)
    port = job["ports"]["web"]["port"]
    assert f"port web: {port}, http://localhost:{port}\n" in cli.text("status", "--human", job["job_id"]).stdout
    assert f"(web {port})" in cli.text("list", "--human").stdout
    (work / "go").touch()
    cli.ok("wait", job["job_id"])

"""Of output that is longer than an answer may be, the lines that report a failure are shown first."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import Cli, Jobs
from support.commands import python

BUILD = (
    "seq -f 'unit %g of the build is compiled' 3000; echo 'main.c:3:1: error: no such type'; "
    "seq -f 'unit %g of the tests is compiled' 2000; echo 'make: *** [all] Error 2'; exit 2"
)
ERROR = "main.c:3:1: error: no such type"


@pytest.fixture
def job(cli: Cli) -> str:
    return str(cli.ok("run", "--wait", "--max-bytes", "4096", BUILD)["job_id"])


def test_run_poll_and_wait_show_the_failure_and_log_what_it_is_asked_for(cli: Cli, job: str, jobs: Jobs) -> None:
    asked = ("--since-seq", "0", "--max-bytes", "4096")
    answers = [
        cli.ok("run", "--wait", "--max-bytes", "4096", BUILD),
        cli.ok("poll", job, *asked),
        cli.ok("wait", job, *asked),
    ]
    for answer in answers:
        assert f"\n{ERROR}\n" in answer["output"]
        assert answer["output"].startswith("unit 1 of the build is compiled\n")
        assert answer["output"].endswith("make: *** [all] Error 2\n")
        assert len(answer["output"]) <= 4096
        cut = answer["truncated"]
        assert (cut["from_seq"], cut["to_seq"]) == (cut["gaps"][0]["from_seq"], cut["gaps"][-1]["to_seq"])
        gap = cut["gaps"][0]
        shown = cli.ok("log", job, "--since-seq", str(gap["from_seq"]), "--limit", "1")
        assert f"since_seq={gap['from_seq']} shows them" in answer["output"]
        assert shown["output"] == "unit 3 of the build is compiled\n"
    whole = cli.ok("log", job, "--since-seq", "0", "--limit", "6000", "--max-bytes", "4096")["output"]
    assert ERROR not in whole, "log and tail choose nothing"
    jobs.end()


def test_all_of_a_large_output_is_searched_where_the_command_failed(cli: Cli, jobs: Jobs) -> None:
    printed = "seq -f 'INFO  request %.0f is served' 60000"
    error = "echo 'Traceback (most recent call last):'; echo 'KeyError: \"epoch\"'"
    found = cli.ok("run", "--wait", "--max-bytes", "8192", f"{printed}; {error}; {printed}; exit 1")
    assert '\nKeyError: "epoch"\n' in found["output"]
    assert "(2 in all)" in found["output"] and "log search=…" in found["output"]
    assert len(found["output"].splitlines()) < 60
    succeeded = cli.ok("run", "--wait", "--max-bytes", "8192", f"{printed}; {error}; {printed}")
    assert "searched: the first 256 KiB and the last 1 MiB" in succeeded["output"]
    jobs.end()


def test_plain_is_asked_for_by_a_call_or_by_the_configuration(cli: Cli, job: str, work: Path, jobs: Jobs) -> None:
    config = work / "config.toml"
    config.write_text('[output]\nshow = "plain"\n', encoding="utf-8")
    asked = ("poll", job, "--since-seq", "0", "--max-bytes", "4096")
    plain = cli.ok(*asked, "--show", "plain")
    assert ERROR not in plain["output"]
    assert "gaps" not in plain["truncated"]
    assert cli.ok(*asked, "--config", str(config))["output"] == plain["output"]
    assert ERROR in cli.ok(*asked, "--config", str(config), "--show", "auto")["output"]
    cli.error(*asked, "--show", "all", code="invalid_argument")
    jobs.end()


def test_the_last_line_of_a_list_says_why(cli: Cli, jobs: Jobs) -> None:
    cli.ok("run", "--wait", f"echo '{ERROR}'; echo 'make: *** [all] Error 2'; echo bye; exit 2")
    cli.ok("run", "--wait", f"echo '{ERROR}'; echo bye")
    good, bad = cli.ok("list")["jobs"]
    assert (bad["exit_code"], bad["last_line"]) == (2, ERROR)
    assert (good["exit_code"], good["last_line"]) == (0, "bye"), "the text of a command that succeeded says nothing"
    jobs.end()


def test_a_matcher_of_the_configuration_counts_and_a_wrong_one_is_refused(cli: Cli, work: Path, jobs: Jobs) -> None:
    config = work / "config.toml"
    matcher = '[[output.problem_matcher]]\nowner = "ours"\npattern = [{ regexp = "^KABOOM (.*)$", message = 1 }]\n'
    config.write_text(matcher, encoding="utf-8")
    cli.ok("run", "--wait", "echo KABOOM here; echo bye; exit 1")
    assert cli.ok("list", "--config", str(config))["jobs"][0]["last_line"] == "KABOOM here"
    assert cli.ok("list")["jobs"][0]["last_line"] == "bye"
    for written, said in (
        (matcher.replace("(.*)", "(.*"), "line 1: output.problem_matcher: not an RE2 pattern: missing ): ^KABOOM (.*$"),
        (matcher.replace("message", "massage"), "unknown key 'massage'"),
        ('[output]\nproblem_matcher = "x"\n', "write [[output.problem_matcher]]"),
        ('[output]\nshow = "some"\n', "output.show must be auto or plain"),
    ):
        config.write_text(written, encoding="utf-8")
        assert said in cli.error("list", "--config", str(config), code="config_error")["message"]
    jobs.end()


def test_long_lines_of_which_none_is_left_out_are_shown_plain(cli: Cli) -> None:
    """Shortened, all 60 lines fit."""
    long = python(
        "import os\nfor i in range(60): os.write(1 + i % 2, b'%s %d %s\\n' % (b'oe'[i % 2:][:1], i, b'x' * 1_000))"
    )
    ran = cli.ok("run", "--wait", *long)
    for answer in (ran, cli.ok("wait", ran["job_id"]), cli.ok("poll", ran["job_id"])):
        assert answer["truncated"]["lines"] > 0
        assert answer["output"].startswith("o 0 xx") and answer["output"].endswith("xx\n")

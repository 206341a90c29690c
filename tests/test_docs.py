"""README and docs/ say what is true: each command on them is understood, each example runs, each link leads somewhere."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

import outlive
from outlive import config, verbs
from outlive.cli import parse
from outlive.config import file
from outlive.parts.demo import main as demo
from outlive.verbs.spec import Arg, GlobalOptions
from support import pages
from support.cli import Cli, Jobs, environment
from support.mcp_client import McpSession
from support.pages import CHECKOUT, PAGES, name_of
from support.wait import until

README = CHECKOUT / "README.md"
DOCS = CHECKOUT / "docs"
REFERENCE = DOCS / "reference"
# A page that teaches shows a command, and a page that is named here shows one that is run.
TEACHING = [page for page in PAGES if page.parent.name in ("tutorial", "how-to")]
RUN = [page for page in PAGES if pages.steps(page)]
# a client, a network, systemd, another machine
NOT_RUN = {"agent-session.md", "serve-over-http.md", "survive-a-logout.md", "ssh.md", "slurm.md"}
LINE_CHARS = 100

needs_jq = pytest.mark.skipif(not shutil.which("jq"), reason="no jq here")


def page_id(page: Path) -> str:
    return name_of(page)


# --- README ----------------------------------------------------------------------------------------------------------


def test_the_first_two_blocks_of_the_readme_are_one_line_commands() -> None:
    first, second, *_ = pages.blocks(README)
    assert first.count("\n") == second.count("\n") == 1
    assert first.strip().endswith("outlive demo")
    assert "pytest" in second


def test_the_readme_is_short() -> None:
    lines = pages.text_of(README).splitlines()
    assert len(lines) <= 120
    assert max(map(len, lines)) <= LINE_CHARS


def test_the_readme_names_every_client() -> None:
    (told,) = re.findall(r"^The clients are (.*?)\. ", pages.text_of(README), re.MULTILINE | re.DOTALL)
    (client,) = [arg for arg in verbs.load("install").args if arg.name == "client"]
    assert re.findall(r"`(\S+)`", told) == list(client.choices)


BUILD = """\
echo compiling part 1
echo compiling part 2
until [ -e go ]; do sleep 0.1; done
echo compiling part 3
echo part 3 does not link
exit 2
"""


@pytest.mark.parametrize("era", ["modern"], indirect=True)
def test_the_session_of_the_readme_goes_as_it_is_shown(
    mcp_connect: Callable[..., McpSession], work: Path, jobs: Jobs
) -> None:
    (work / "build.sh").write_text(BUILD)
    before, after = pages.session(README)
    (start,) = before
    first = mcp_connect(client_name="agent", cwd=work)
    answer = first.call(start.tool, **start.arguments)
    job_id = answer["job_id"]
    found, shown = answer.text.splitlines(), [*start.lines]
    # A server that is killed as it answers has not written down what it told: that is told again
    until(
        lambda: "compiling" not in first.call("process", action="poll", job_id=job_id, wait_ms=0).text,
        what="a poll without news",
    )
    first.kill()
    second = mcp_connect(client_name="agent", cwd=work)
    until(
        lambda: "None of yours" not in second.call("process", action="list").text, what="the end of the first session"
    )
    for call in after:
        if call.arguments.get("action") == "wait":
            (work / "go").touch()
        given = {name: job_id if name == "job_id" else value for name, value in call.arguments.items()}
        found += second.call(call.tool, **given).text.splitlines()
        shown += call.lines
    assert parted(found) == parted(shown)
    jobs.end()


def parted(lines: list[str]) -> tuple[list[str], list[str]]:
    """What the command printed, and what the server said. On a busy machine a line may come with the next answer."""
    printed = [line for line in map(str.strip, lines) if f"echo {line}\n" in BUILD]
    return printed, [plain(line) for line in lines if line.strip() and line.strip() not in printed]


def plain(line: str) -> str:
    """A line of a session without what is different each time. `…` ends a line that the page cuts."""
    line = re.sub(r" :: .*", " ::", line)
    line = re.sub(r"\d{4}-\d\d-\d\dT[\d:]+Z", "TIME", " ".join(line.split()))
    line = re.sub(r"\b[0-9A-HJKMNP-TV-Z]{26}\b|^[0-9A-HJKMNP-TV-Z]{8}\b", "JOB", line)
    return re.sub(r"pid \d+", "pid N", line).split("Use process")[0].removesuffix("…").strip()


def test_the_recording_is_one_of_this_demo() -> None:
    path = DOCS / "demo.svg"
    assert path.stat().st_size < 200_000
    drawn = ET.fromstring(path.read_text(encoding="utf-8"))
    texts = ["".join(text.itertext()) for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert texts[0] == "$ outlive demo"
    assert any(f"= {demo.LINES} of {demo.LINES}" in text for text in texts)
    assert "@keyframes" in path.read_text(encoding="utf-8"), "it does not move"


# --- examples --------------------------------------------------------------------------------------------------------


def test_a_page_that_teaches_shows_a_command() -> None:
    shown = {
        name_of(page): [call for line in pages.commands(page) for call in pages.calls_of(line)] for page in TEACHING
    }
    assert shown and not [name for name, calls in shown.items() if not calls], "no call of outlive was found there"


def test_what_pages_show_is_run() -> None:
    assert {page.name for page in TEACHING} - {page.name for page in RUN} == NOT_RUN


def test_every_command_a_page_shows_is_understood() -> None:
    for line in (line for page in PAGES for line in pages.commands(page)):
        for call in pages.calls_of(line):
            name, words = parse.verb_name(parse.leading(call, GlobalOptions(), "/"))
            parse.arguments(verbs.load(name), words, GlobalOptions(), "/")


@needs_jq
@pytest.mark.parametrize("page", RUN, ids=page_id)
def test_what_a_page_shows_is_what_a_shell_prints(page: Path, place: Path, cli: Cli, work: Path) -> None:
    wrong = pages.differing(page, place)
    for root in filter(Path.exists, (cli.root, work / "jobs")):  # the tutorial chooses a root of its own
        for job in cli.ok("--root", root, "list", "--all", "--limit", "0")["jobs"]:
            if job["state"] in ("created", "running") or "descendants" in job:
                cli.ok("--root", root, "remove", job["job_id"])
    assert not wrong, "\n".join(wrong)


def test_every_verb_a_page_names_exists() -> None:
    code = [span for page in PAGES for span in re.findall(r"`([^`]+)`", pages.prose(page))]
    spans = [span.split() for span in code if span.startswith("outlive ")]
    for _, first, *more in spans:
        named = any(map(verbs.canonical, (first, " ".join([first, *more[:1]]))))
        assert named or first.startswith("-") or first in ("VERB", "NAME"), (first, *more)


# --- reference -------------------------------------------------------------------------------------------------------


def test_the_pages_written_from_the_declarations_are_up_to_date() -> None:
    words = [sys.executable, str(CHECKOUT / "scripts" / "reference.py"), "--check"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment(), check=False)
    assert done.returncode == 0, done.stderr


def _named(arg: Arg) -> str:
    return f"{arg.short}, {arg.cli}" if arg.short else arg.cli


def test_the_reference_has_every_verb_and_its_arguments() -> None:
    told = pages.text_of(REFERENCE / "cli.md")
    for name in (name for name in verbs.names() if verbs.load(name).cli):
        section = told.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        for arg in verbs.load(name).args:
            assert arg.hidden is True or not arg.cli or f"`{_named(arg)}" in section, (
                f"{name} {arg.cli}: make generated"
            )


def test_the_configuration_on_its_page_is_what_holds_without_a_file(place: Path) -> None:
    path = place / "config.toml"
    path.write_text(pages.blocks(REFERENCE / "configuration.md", "toml")[0])
    shown = config.load({}, str(path))
    for section, keys in file.known().items():
        for key, setting in keys.items():
            assert shown.set_in(section).get(key, setting.default) == setting.default, (
                f"the page tells another default of {section}.{key}"
            )
            assert key in pages.text_of(REFERENCE / "configuration.md"), key


def column(page: str, heading: str) -> set[str]:
    """The names in the first cells of the table of a reference page that begins with `heading`."""
    _, _, table = pages.text_of(REFERENCE / page).partition(f"\n{heading}")
    return set(re.findall(r"^\| `([^`]+)` ", table.split("\n\n")[0], re.MULTILINE))


def test_every_error_code_state_reason_and_event_has_its_line(cli: Cli) -> None:
    schema = cli.ok("schema")["schema"]["$defs"]
    codes = schema["error"]["properties"]["error"]["properties"]["code"]["enum"]
    status = schema["status"]["properties"]
    events = schema["Event"]["properties"]["type"]["enum"]
    assert column("errors.md", "| code | when |") == set(codes)
    assert column("states.md", "| `state` | meaning |") == set(status["state"]["enum"])
    assert column("states.md", "| `reason` | meaning |") == set(status["reason"]["enum"]) - {None}
    assert column("events.md", "| `type` | what happened |") == set(events)


def test_every_package_that_is_declared_has_its_reason() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    declared = [
        *project["dependencies"],
        *(one for extra in project["optional-dependencies"].values() for one in extra),
    ]
    names = {re.split(r"[<>=\[;~! ]", one)[0] for one in declared} - {"outlive"}
    text = pages.text_of(DOCS / "explanation" / "dependencies.md")
    told = set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))
    assert names <= told, names - told


# --- all pages -------------------------------------------------------------------------------------------------------


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.*)$", pages.prose(page), re.MULTILINE)
    words = (re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w\- ]", "", one).strip().replace(" ", "-") for one in words}


def test_every_link_leads_somewhere() -> None:
    for page in PAGES:
        text = pages.prose(page)
        targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r"^\[\w+\]: (\S+)", text, re.MULTILINE)
        for target in (one for one in targets if "://" not in one):
            path, _, anchor = target.partition("#")
            there = (page.parent / path) if path else page
            assert there.exists(), (page, target)
            assert not anchor or anchor in anchors(there), (page, target)


def test_every_page_is_in_the_index_and_in_the_site() -> None:
    linked = set(re.findall(r"\]\(([^)#]+)\)", pages.text_of(DOCS / "index.md")))
    site = (CHECKOUT / "zensical.toml").read_text(encoding="utf-8")
    for page in DOCS.rglob("*.md"):
        name = str(page.relative_to(DOCS))
        assert name == "index.md" or name in linked, name
        assert f'"{name}"' in site, name


def test_every_page_and_file_that_is_named_is_there() -> None:
    sources = [*PAGES, *Path(outlive.__file__).parent.rglob("*.py"), *(CHECKOUT / "benchmarks").rglob("*.py")]
    for source in sources:
        named = re.findall(
            r"(?<![\w./])((?:docs|examples|tests|scripts|schema|src/outlive|benchmarks)/[\w./-]+\.\w+)",
            source.read_text(encoding="utf-8"),
        )
        if source.name != "CHANGELOG.md":  # it tells of what was
            assert not [name for name in named if not (CHECKOUT / name).exists()], source


def test_lines_of_prose_fit_a_window() -> None:
    for page in (page for page in PAGES if page.name not in pages.WRITTEN):
        measured = re.sub(r"<!-- measured: begin -->.*<!-- measured: end -->", "", pages.prose(page), flags=re.DOTALL)
        wide = [line for line in measured.splitlines() if len(line) > LINE_CHARS and not line.startswith("|")]
        assert not wide, page


def test_every_json_that_a_page_shows_is_json() -> None:
    shown = 0
    for page in PAGES:
        for block in pages.blocks(page, "json"):
            rest = block.strip()
            while rest:
                _, end = json.JSONDecoder().raw_decode(rest)
                rest = rest[end:].strip()
                shown += 1
    assert shown, "no page shows JSON"


# --- how to write a test ---------------------------------------------------------------------------------------------


def test_each_example_of_a_test_is_the_test_of_the_file_that_it_names() -> None:
    page = CHECKOUT / "tests" / "README.md"
    shown = re.findall(r"^From `(\S+\.py)`.*?^```python\n(.*?)^```$", pages.text_of(page), re.DOTALL | re.MULTILINE)
    assert len(shown) == len(pages.blocks(page, "python")) == 4
    for name, example in shown:
        known = _parts((page.parent / name).read_text(encoding="utf-8"))
        for part in _parts(example):
            assert part in known, f"{name} has no\n{part}"


def _parts(code: str) -> list[str]:
    """The statements of a module, in one form; each name that is imported for itself."""
    found: list[str] = []
    for part in ast.parse(code).body:
        if isinstance(part, ast.ImportFrom):
            found += [f"from {part.module} import {one.name}" for one in part.names]
        else:
            found.append(ast.unparse(part))
    return found

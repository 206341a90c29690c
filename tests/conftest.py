"""Every test has a home, a job root and a directory of its own, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import gc
import importlib
import itertools
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings, strategies

from support import leaks, preloaded, proofs
from support.cli import Cli, Jobs
from support.mcp_client import ERAS, McpSession, RawMcp
from support.mounts import Mounts
from support.serve import Served

TEST_S, SLOW_TEST_S = 300, 900  # a test that hangs is ended with a traceback
MOST_WORKERS = 8
# Neither our own variables nor those by which a client is known reach the tests.
_OUTER = tuple("OUTLIVE_ XDG_ CLAUDE CODEX CURSOR OPENCLAW VSCODE MCP_".split())
_failed = pytest.StashKey[bool]()
_numbers = itertools.count()
# No judgement by the clock, and nothing written outside the test's own directory. The slow tier loads `thorough`.
settings.register_profile(
    "tests", max_examples=15, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("tests"), max_examples=400)
settings.load_profile("tests")
# Tests start Python some thousand times: what it compiles is kept, or each start takes three times as long.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# What imports and the collection of the tests make is kept: looking for garbage in it is a sixth of their time.
gc.disable()
_kill = os.kill


def _kill_one(pid: int, number: int) -> None:
    """Send a signal to one process. A helper that finds no process answers 0, and kill(2) takes 0 for the whole process
    group: the runner of the tests, and whatever started it."""
    assert pid > 0, f"kill({pid}, {number}) would signal a process group: the process that the test wanted is gone"
    _kill(pid, number)


os.kill = _kill_one
preloaded.install()


@pytest.hookimpl(optionalhook=True)  # of a plugin that may be switched off
def pytest_xdist_auto_num_workers() -> int:
    """Return how many processes `-n auto` runs tests in: three a core: most tests wait
    for other processes, and each of these costs 6 s of CPU before its first test."""
    return min(MOST_WORKERS, 3 * len(os.sched_getaffinity(0)))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--real-starts",
        action="store_true",
        help="start outlive for real in every test (see tests/support/preloaded.py)",
    )


def pytest_configure(config: pytest.Config) -> None:
    # A shell starts its background commands with SIGINT ignored, and what is ignored stays so in everything started
    # from here: tests that interrupt a command would wait for ever.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers", "leaves_jobs: processes may outlive this test; they are ended after it instead of failing it"
    )
    config.addinivalue_line("markers", "slow: runs in .ci/run only, or with -m slow (see tests/support/tiers.py)")
    config.addinivalue_line("markers", "real_start: outlive is started for real (see tests/support/preloaded.py)")
    config.addinivalue_line("markers", "fault(id): proves the behaviour that tests/faults.py has under this id")
    if not hasattr(config, "workerinput"):  # the process that was started: it hears of every test
        config.pluginmanager.register(proofs.Proofs())


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Have each worker import a share of the modules of a fresh checkout first. Else all of them rewrite the assertions
    of every module, each for itself, which takes a process longer than all the rest of the collection."""
    worker = getattr(session.config, "workerinput", None)
    if worker is None and session.config.getoption("dist", "no") != "no":
        # Hypothesis makes a table of characters in a fresh checkout, and keeps it: here while the workers collect, or each
        # of them makes one, for more than a second.
        threading.Thread(target=strategies.text().validate, daemon=True).start()
    if worker is None or session.config.args != session.config.getini("testpaths"):
        return
    number, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    for path in sorted(Path(__file__).parent.rglob("test_*.py"))[number::count]:
        if not any(path.parent.glob(f"__pycache__/{path.stem}.*-pytest-*.pyc")):
            sys.path.insert(0, str(path.parent))  # as pytest does it, for each folder once
            with contextlib.suppress(Exception):  # the collection says what is wrong
                importlib.import_module(path.stem)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    proofs.carry_ids(items)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    real = item.config.getoption("real_starts") or any(map(item.get_closest_marker, ("real_start", "slow")))
    preloaded.allowed = not real


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    report = yield
    item.stash[_failed] = item.stash.get(_failed, False) or report.failed
    return report


def _settle_in(place: Path) -> dict[str, str | None]:
    """Directories of its own, and the environment that leads to them: name → value, None for what may not be there."""
    # What lies in a home is made by the program that writes there; every directory less is a millisecond less for each test.
    for path in ("home", "run", "work"):
        (place / path).mkdir(mode=0o700, exist_ok=True)
    where = {
        "HOME": "home",
        "XDG_CONFIG_HOME": "home/.config",
        "XDG_DATA_HOME": "home/.local/share",
        "XDG_STATE_HOME": "home/.local/state",
        "XDG_CACHE_HOME": "home/.cache",
        "XDG_RUNTIME_DIR": "run",
        "OUTLIVE_ROOT": "jobs",
    }
    outer: dict[str, str | None] = {name: None for name in os.environ if name.startswith(_OUTER)}
    return outer | {name: str(place / path) for name, path in where.items()}


def _change(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str | None]) -> None:
    for name, value in environment.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def used() -> Iterator[list[Path]]:
    """Directories of tests, to be deleted when all have run: an ext4 without a journal makes no inode before it has
    looked at each that was deleted within the last minute (recently_deleted in the kernel's fs/ext4/ialloc.c)."""
    paths: list[Path] = []
    yield paths
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def tmp_path(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, used: list[Path]
) -> Iterator[Path]:
    """A directory of the test, which stays if the test failed. pytest's own looks through its neighbours for a free
    number and keeps a link to the newest one."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    path = tmp_path_factory.getbasetemp() / f"{name}{next(_numbers)}"
    path.mkdir(mode=0o700)
    yield path
    if not request.node.stash.get(_failed, False):
        used.append(path)


@pytest.fixture(autouse=True)
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The test's own directory. HOME, XDG_* and OUTLIVE_ROOT lie in it: the user's own store is out of reach. With
    a server that tests share it is the server's, empty again."""
    found: Path = request.getfixturevalue("shared_place") if "shared_place" in request.fixturenames else tmp_path
    _change(monkeypatch, _settle_in(found))
    monkeypatch.chdir(found / "work")
    return found


@pytest.fixture(autouse=True)
def nothing_left(request: pytest.FixtureRequest, place: Path) -> Iterator[None]:
    """No process, no zombie and no open file of a test survives it."""
    before = leaks.Before(shared="shared_place" in request.fixturenames)
    with _limit(SLOW_TEST_S if request.node.get_closest_marker("slow") else TEST_S):
        yield
    failed = request.node.stash.get(_failed, False)
    may_live = request.node.get_closest_marker("leaves_jobs") is not None
    left = leaks.found(before, place, jobs_may_live=failed or may_live)
    if left and not failed:  # a test that failed half-way has not come to its own clearing up
        pytest.fail("the test left behind:\n" + "\n".join(left), pytrace=False)


@contextlib.contextmanager
def _limit(seconds: int) -> Iterator[None]:
    def over(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"the test ran for {seconds} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture
def root(place: Path) -> Path:
    """The job root of this test. It exists once something made it."""
    return place / "jobs"


@pytest.fixture
def work(place: Path) -> Path:
    """The empty directory that is the current one."""
    return place / "work"


@pytest.fixture
def cli(root: Path) -> Cli:
    """The installed command."""
    return Cli(root)


@pytest.fixture
def jobs(cli: Cli) -> Jobs:
    """All jobs of this test: `jobs.end()` kills and deletes them."""
    return Jobs(cli)


@pytest.fixture
def mount(place: Path) -> Iterator[Mounts]:
    """`mount(name, options)`, `mount.ext4(name, mib)`: a small file system of its own; it is gone after the test."""
    mounts = Mounts(place)
    with contextlib.closing(mounts):
        yield mounts


@pytest.fixture(scope="module", params=ERAS)
def era(request: pytest.FixtureRequest) -> str:
    """A test that uses this, or a fixture that does, runs once for each era of the protocol."""
    found: str = request.param
    return found


@pytest.fixture
def mcp_connect(era: str, place: Path) -> Iterator[Callable[..., McpSession]]:
    """`mcp_connect(client_name=…, args=…, env=…, cwd=…)` starts a server and connects the SDK's client to it."""
    with contextlib.ExitStack() as stack:

        def connect(**how: Any) -> McpSession:
            return stack.enter_context(McpSession(**{"log": place / "mcp.log", "era": era, **how}))

        yield connect


@pytest.fixture
def serve(cli: Cli, place: Path) -> Iterator[Callable[..., Served]]:
    """`serve(*args)` starts `outlive serve` on a free port of this machine, with a token named tests."""
    with contextlib.ExitStack() as stack:
        started = 0

        def start(*args: str, **how: Any) -> Served:
            nonlocal started
            started += 1
            return stack.enter_context(Served(cli, place / f"serve{started}.log", *args, **how))

        yield start


@pytest.fixture
def mcp_session(mcp_connect: Callable[..., McpSession]) -> McpSession:
    """A server with the SDK's client connected to it, in each era."""
    return mcp_connect()


@pytest.fixture(scope="module")
def shared_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the servers live that tests of this module share."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def shared_options() -> dict[str, Any]:
    """What the client of a module's shared server has beyond the usual; a module overrides it."""
    return {}


@pytest.fixture(scope="module")
def shared_where(shared_place: Path) -> dict[str, Any]:
    """Environment and directory of a server that tests of this module share."""
    return {"env": _settle_in(shared_place), "cwd": shared_place / "work"}


@pytest.fixture(scope="module")
def shared_server(
    era: str, shared_place: Path, shared_where: dict[str, Any], shared_options: dict[str, Any]
) -> Iterator[McpSession]:
    with McpSession(log=shared_place / "mcp.log", era=era, **shared_where, **shared_options) as session:
        yield session


@pytest.fixture
def shared_session(shared_server: McpSession, place: Path) -> Iterator[McpSession]:
    """One server for all tests of a module: starting one for each costs more than what most of them do. It has no job
    when a test begins, and the directories are empty. A module whose tests leave the server as it is says so once:
    its `mcp_session` is this one (and a mark that sets `era` is `indirect`)."""
    shared_server.messages.clear()
    yield shared_server
    _clear(shared_server, place)


def _clear(server: McpSession | RawMcp, place: Path) -> None:
    for job in server.call("process", action="list", all=True, limit=0)["jobs"]:
        assert server.call("process", action="remove", job_id=job["job_id"])["ok"]
    for path in (place / "work").iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@pytest.fixture(scope="module")
def shared_raw_options() -> dict[str, Any]:
    """What the server and the client of `shared_raw` have beyond the usual; a module overrides it."""
    return {}


@pytest.fixture(scope="module")
def shared_raw_server(
    era: str, shared_place: Path, shared_where: dict[str, Any], shared_raw_options: dict[str, Any]
) -> Iterator[RawMcp]:
    with RawMcp(log=shared_place / "raw.log", era=era, **shared_where, **shared_raw_options) as raw:
        yield raw.start()


@pytest.fixture
def shared_raw(shared_raw_server: RawMcp, place: Path) -> Iterator[RawMcp]:
    """Lines of JSON-RPC to one server for all tests of a module. When a test begins, there is no job, no open request
    and no message, as with `shared_session`."""
    yield shared_raw_server
    shared_raw_server.cancel_all()
    _clear(shared_raw_server, place)
    shared_raw_server.others.clear()


@pytest.fixture(scope="module")
def shared_serve(shared_place: Path) -> Iterator[Served]:
    """One `outlive serve -v`, started for real, for tests of a module that leave it as it is."""
    with contextlib.ExitStack() as stack:
        with pytest.MonkeyPatch.context() as monkeypatch:
            monkeypatch.setattr(preloaded, "allowed", False)
            _change(monkeypatch, _settle_in(shared_place))
            served = Served(Cli(shared_place / "jobs"), shared_place / "serve.log", "-v")
            stack.enter_context(served)
        yield served


@pytest.fixture
def raw_mcp(place: Path) -> Iterator[Callable[..., RawMcp]]:
    """`raw_mcp(era="modern", …)` starts a server and gives a line of JSON-RPC to it, hands shaken (`start=False`: not)."""
    with contextlib.ExitStack() as stack:

        def connect(*, start: bool = True, **how: Any) -> RawMcp:
            raw = stack.enter_context(RawMcp(**{"log": place / "mcp.log", **how}))
            return raw.start() if start else raw

        yield connect

"""What the tests take from npm, installed once: `packages/package.json` names it, the lock file beside it pins the rest.

No install script is run. Node comes as a package too, since the suite and the Inspector want a newer one than machines have.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

WANTED = Path(__file__).parent / "packages"
FILES = ("package.json", "package-lock.json")
INSTALL_S = 240
FETCH_MS = 20_000  # a registry that does not answer is given up, twice
TOLD_S = 300  # that it could not be installed is believed for so long: other processes of one run need not try again
_OURS_TO_MEND = ("EUSAGE", "EINTEGRITY", "EJSONPARSE")


class Unavailable(Exception):
    """What is wanted cannot be installed here; the message says why."""


def _cache() -> Path:
    """$OUTLIVE_TEST_CACHE, or outlive-tests in the user's cache directory."""
    if named := os.environ.get("OUTLIVE_TEST_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "outlive-tests"


CACHE = _cache()  # when this is imported: tests have another home
_ENVIRONMENT = dict(os.environ)


class Packages(NamedTuple):
    """An installed `node_modules`."""

    folder: Path

    @property
    def node(self) -> Path:
        """Errors: Unavailable where npm has no Node for this machine."""
        found = next(iter(sorted(self.folder.glob("node-linux-*/bin/node"))), None)
        if found is None:
            raise Unavailable(f"npm has no Node for {os.uname().machine}")
        return found

    @property
    def suite(self) -> list[str]:
        return [str(self.node), str(self.folder / "@modelcontextprotocol/conformance/dist/index.js")]

    @property
    def inspector(self) -> list[str]:
        launcher = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
        return [str(self.node), str(self.folder / launcher), "--cli"]


def installed() -> Packages:
    """Install what is wanted, unless it was before. Takes at most INSTALL_S. Errors: Unavailable."""
    content = b"\0".join((WANTED / name).read_bytes() for name in FILES) + os.uname().machine.encode()
    place = CACHE / f"npm-{hashlib.sha256(content).hexdigest()[:12]}"
    found = Packages(place / "node_modules")
    keep(place, ["ci"], FILES)
    assert found.node.exists()
    return found


def keep(place: Path, words: list[str], files: tuple[str, ...] = ()) -> None:
    """Let npm fill `place`, a directory in the cache, unless it did before: `words` is its command, `files` are those
    of WANTED that it reads. Errors: Unavailable."""
    if place.exists():
        return
    if shutil.which("npm") is None:
        raise Unavailable("npm is not installed")
    try:
        CACHE.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"no cache directory: {error}; OUTLIVE_TEST_CACHE names another") from error
    with _alone(place.with_name(f"{place.name}.lock")):
        if not place.exists():
            _install(place, words, files)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One process of many installs."""
    deadline = time.monotonic() + INSTALL_S
    with path.open("w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Unavailable(f"another process has been installing for {INSTALL_S} s: {path}") from None
                time.sleep(0.1)
        yield


def _install(place: Path, words: list[str], files: tuple[str, ...]) -> None:
    failed = place.with_name(f"{place.name}.failed")
    with contextlib.suppress(OSError):
        if time.time() - failed.stat().st_mtime < TOLD_S:
            raise Unavailable(failed.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix=".installing-", dir=CACHE) as folder:
        for name in files:
            shutil.copy(WANTED / name, folder)
        try:
            _npm(folder, words)
        except Unavailable as reason:
            failed.write_text(str(reason), encoding="utf-8")
            raise
        os.rename(folder, place)
        Path(folder).mkdir()  # what the context manager deletes


def _npm(folder: str, words: list[str]) -> None:
    how = f"--ignore-scripts --no-audit --no-fund --prefer-offline --loglevel=error --fetch-timeout={FETCH_MS}"
    command = ["npm", *words, *how.split(), "--fetch-retries=1", "--fetch-retry-mintimeout=1000"]
    done = bounded(command, INSTALL_S, cwd=folder, env=_ENVIRONMENT)
    if done.status is None:
        raise Unavailable(f"npm did not finish within {INSTALL_S} s")
    if done.status:
        assert not any(f"code {code}" in done.said for code in _OURS_TO_MEND), f"npm {words[0]}: {done.said}"
        lines = [line.removeprefix("npm error ") for line in done.said.splitlines() if line.startswith("npm error ")]
        raise Unavailable("npm could not install: " + " ".join(lines[:3]))


class Done(NamedTuple):
    """How a command ended. `status` None: it was ended, with all it started, when its time was up."""

    status: int | None
    out: str
    said: str  # to standard error


def bounded(
    command: list[str], timeout: float, *, cwd: str | Path | None = None, env: dict[str, str] | None = None
) -> Done:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as error:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=error, cwd=cwd, env=env, start_new_session=True
        )
        status: int | None = None
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            pass
        finally:
            if status is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return Done(status, *(_content(file) for file in (out, error)))


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")

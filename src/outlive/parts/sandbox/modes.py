"""Which sandbox a call gets: what it asks for, the default, and the most that its caller may have."""

from __future__ import annotations

from outlive.core.record import Value
from outlive.core.records import GIT, NETWORKS, GrantedSandbox, Sandbox
from outlive.core.records import SANDBOXES as MODES
from outlive.errors import OutliveError, argument, invalid
from outlive.parts.sandbox.settings import Settings

OFF = "off"


class Bounds(Value):
    """The sandbox of a call that asks for none (`mode`, `network`, `git`), and the most that a call
    may ask for (`most_mode`, `most_network`, `most_git`)."""

    mode: str
    network: str
    git: str
    most_mode: str
    most_network: str
    most_git: str


def stricter(order: tuple[str, ...], one: str, other: str) -> str:
    return min(one, other, key=order.index)


def bounds(settings: Settings, ceiling: dict[str, str] | None) -> Bounds:
    """Return the bounds of a caller.

    `settings` is [sandbox] of the configuration. A ceiling that is not set is the default, so a
    default alone cannot be left. `ceiling` is the caller's own ({"mode", "network", "git"}, each may
    be missing): the stricter one holds, and a caller with a ceiling has it as its default.
    """
    own = ceiling or {}
    mode = settings.mode or settings.ceiling or own.get("mode") or OFF
    named = settings.network or settings.network_ceiling
    most_mode = settings.ceiling or settings.mode or OFF
    most_network = settings.network_ceiling or settings.network or ("open" if most_mode == OFF else "loopback")
    own_network = own.get("network") or named or ("loopback" if own else "open")
    git = settings.git or "read"
    # Where a call may leave the sandbox it may change repositories in any case
    most_git = settings.git_ceiling or ("write" if most_mode == OFF else git)
    most_mode = stricter(MODES, most_mode, own.get("mode", OFF))
    most_network = stricter(NETWORKS, most_network, own_network)
    most_git = stricter(GIT, most_git, own.get("git", "read") if own else "write")
    return Bounds(
        stricter(MODES, mode, most_mode),
        stricter(NETWORKS, named or own.get("network") or "loopback", most_network),
        stricter(GIT, git, most_git),
        most_mode,
        most_network,
        most_git,
    )


def granted(limit: Bounds, mode: str | None, network: str | None, git: str | None, *, elevated: bool) -> GrantedSandbox:
    """Return the sandbox of a call that asks for this; None asks for the default, `elevated` for none. Errors: denied,
    invalid_argument."""
    if elevated and mode not in (None, OFF):
        raise invalid("elevated", f"{argument('elevated')} leaves the sandbox that {argument('sandbox')} asks for")
    wanted = OFF if elevated else mode or limit.mode
    _require(MODES, wanted, limit.most_mode, "elevated" if elevated else "sandbox")
    if wanted == OFF:
        if network not in (None, "open"):
            hint = f"Give {argument('sandbox')} workspace-write or read-only as well."
            raise invalid("network", f"network {network} needs a sandbox; nothing was run", hint=hint)
        return GrantedSandbox(OFF, "open", "write")
    chosen = network or limit.network
    _require(NETWORKS, chosen, limit.most_network, "network")
    _require(GIT, git or limit.git, limit.most_git, "git")
    return GrantedSandbox(wanted, chosen, git or limit.git)


def _require(order: tuple[str, ...], wanted: str, most: str, field: str) -> None:
    if order.index(wanted) <= order.index(most):
        return
    asked = f"{argument('elevated')}" if field == "elevated" else f"{argument(field)} {wanted}"
    kind = "network" if order is NETWORKS else "git" if order is GIT else "sandbox"
    raise OutliveError(
        "denied",
        f"{asked} is more than this caller may have: {kind} {most}; nothing was run",
        hint=f"Leave {argument(field)} out, or ask the user: the ceiling is set in [sandbox] or [hosts.NAME] of "
        "the configuration, or with the token.",
        details={"field": field, "ceiling": most},
    )


def within(sandbox: Sandbox | None, limit: Bounds) -> bool:
    """Return whether a job that was defined with this sandbox may do no more than the bounds allow."""
    if sandbox is None:
        return limit.most_mode == OFF
    return (
        MODES.index(sandbox.mode) <= MODES.index(limit.most_mode)
        and NETWORKS.index(sandbox.network) <= NETWORKS.index(limit.most_network)
        and GIT.index(sandbox.git) <= GIT.index(limit.most_git)
    )

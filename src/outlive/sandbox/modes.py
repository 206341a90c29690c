"""Which sandbox a call gets: what it asks for, the default, and the most that its caller may have."""

from __future__ import annotations

from outlive.core.records import NETWORKS
from outlive.core.records import SANDBOXES as MODES
from outlive.errors import OutliveError, argument, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

OFF = "off"


class Bounds:
    """The sandbox of a call that asks for none (`mode`, `network`), and the most that a call may
    ask for (`most_mode`, `most_network`)."""

    __slots__ = ("mode", "most_mode", "most_network", "network")

    def __init__(self, mode: str, network: str, most_mode: str, most_network: str) -> None:
        self.most_mode = most_mode
        self.most_network = most_network
        self.mode = stricter(MODES, mode, most_mode)
        self.network = stricter(NETWORKS, network, most_network)


def stricter(order: tuple[str, ...], one: str, other: str) -> str:
    return min(one, other, key=order.index)


def bounds(settings: dict[str, Any], ceiling: dict[str, str] | None) -> Bounds:
    """Return the bounds of a caller.

    `settings` is [sandbox] of the configuration. A ceiling that is not set is the default, so a
    default alone cannot be left. `ceiling` is the caller's own ({"mode", "network"}, both may be
    missing): the stricter one holds, and a caller with a ceiling has it as its default.
    """
    own = ceiling or {}
    mode = settings["mode"] or settings["ceiling"] or own.get("mode") or OFF
    named = settings["network"] or settings["network_ceiling"]
    most_mode = settings["ceiling"] or settings["mode"] or OFF
    most_network = settings["network_ceiling"] or settings["network"] or ("open" if most_mode == OFF else "loopback")
    own_network = own.get("network") or named or ("loopback" if own else "open")
    return Bounds(
        mode,
        named or own.get("network") or "loopback",
        stricter(MODES, most_mode, own.get("mode", OFF)),
        stricter(NETWORKS, most_network, own_network),
    )


def granted(found: Bounds, mode: str | None, network: str | None, *, elevated: bool) -> tuple[str, str]:
    """Return (mode, network) of a call that asks for these; None asks for the default. With
    `elevated` a call asks to run outside the sandbox.

    Errors: denied, invalid_argument.
    """
    if elevated and mode not in (None, OFF):
        raise invalid("elevated", f"{argument('elevated')} leaves the sandbox that {argument('sandbox')} asks for")
    wanted = OFF if elevated else mode or found.mode
    _require(MODES, wanted, found.most_mode, "elevated" if elevated else "sandbox")
    if wanted == OFF:
        if network not in (None, "open"):
            hint = f"Give {argument('sandbox')} workspace-write or read-only as well."
            raise invalid("network", f"network {network} needs a sandbox; nothing was run", hint=hint)
        return OFF, "open"
    chosen = network or found.network
    _require(NETWORKS, chosen, found.most_network, "network")
    return wanted, chosen


def _require(order: tuple[str, ...], wanted: str, most: str, field: str) -> None:
    if order.index(wanted) <= order.index(most):
        return
    asked = f"{argument('elevated')}" if field == "elevated" else f"{argument(field)} {wanted}"
    kind = "network" if order is NETWORKS else "sandbox"
    raise OutliveError(
        "denied",
        f"{asked} is more than this caller may have: {kind} {most}; nothing was run",
        hint=f"Leave {argument(field)} out, or ask the user: the ceiling is set in [sandbox] or [hosts.NAME] of "
        "the configuration, or with the token.",
        details={"field": field, "ceiling": most},
    )


def within(spec: dict[str, Any] | None, found: Bounds) -> bool:
    """Return whether a job that was defined with this sandbox may do no more than the bounds allow."""
    mode, network = (OFF, "open") if spec is None else (spec["mode"], spec["network"])
    if MODES.index(mode) > MODES.index(found.most_mode):
        return False
    return mode == OFF or NETWORKS.index(network) <= NETWORKS.index(found.most_network)

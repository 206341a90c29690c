"""Which sandbox a call gets."""

from __future__ import annotations

from typing import Any

import pytest

from outlive.errors import OutliveError
from outlive.sandbox import modes, syscalls

NONE: dict[str, Any] = dict.fromkeys(("mode", "ceiling", "network", "network_ceiling"))


def bounds(own: dict[str, str] | None = None, **settings: str) -> tuple[str, str, str, str]:
    found = modes.bounds(NONE | settings, own)
    return found.mode, found.network, found.most_mode, found.most_network


@pytest.mark.parametrize(
    ("own", "settings", "expected"),
    [
        (None, {}, ("off", "loopback", "off", "open")),
        (None, {"mode": "workspace-write"}, ("workspace-write", "loopback", "workspace-write", "loopback")),
        (None, {"ceiling": "read-only", "network": "none"}, ("read-only", "none", "read-only", "none")),
        (None, {"mode": "read-only", "ceiling": "off"}, ("read-only", "loopback", "off", "open")),
        (None, {"mode": "off", "ceiling": "read-only"}, ("read-only", "loopback", "read-only", "loopback")),
        ({"mode": "read-only"}, {}, ("read-only", "loopback", "read-only", "loopback")),
        ({"mode": "workspace-write", "network": "open"}, {}, ("workspace-write", "open", "workspace-write", "open")),
        ({"mode": "workspace-write"}, {"network": "open"}, ("workspace-write", "open", "workspace-write", "open")),
        (
            {"mode": "workspace-write", "network": "open"},
            {"mode": "read-only"},
            ("read-only", "loopback", "read-only", "loopback"),
        ),
        (
            {"mode": "read-only", "network": "none"},
            {"mode": "workspace-write"},
            ("read-only", "none", "read-only", "none"),
        ),
    ],
)
def test_the_stricter_of_configuration_and_token_holds(
    own: dict[str, str] | None, settings: dict[str, str], expected: tuple[str, str, str, str]
) -> None:
    assert bounds(own, **settings) == expected


def test_a_call_may_ask_for_less_and_not_for_more() -> None:
    found = modes.bounds(NONE | {"mode": "workspace-write", "network": "loopback"}, None)
    assert modes.granted(found, None, None, elevated=False) == ("workspace-write", "loopback")
    assert modes.granted(found, "read-only", "none", elevated=False) == ("read-only", "none")
    for mode, network, elevated in (("off", None, False), (None, "open", False), (None, None, True)):
        with pytest.raises(OutliveError) as raised:
            modes.granted(found, mode, network, elevated=elevated)
        assert raised.value.code == "denied"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("network", ["none", "loopback", "open"])
def test_every_jump_of_the_filter_stays_in_it_and_every_path_returns(machine: str, network: str) -> None:
    import struct

    code = list(struct.iter_unpack("=HBBI", syscalls.program(machine, network)))
    assert len(code) < 4096  # BPF_MAXINSNS
    for at, (kind, yes, no, _) in enumerate(code):
        if kind & 7 == 5:  # a jump
            assert max(at + 1 + yes, at + 1 + no) < len(code)
    assert code[-1][0] == 6  # a return

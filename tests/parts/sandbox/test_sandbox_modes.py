"""Which sandbox a call gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from outlive.errors import OutliveError
from outlive.parts.sandbox import modes
from outlive.parts.sandbox.confinement import bubblewrap, syscalls
from outlive.parts.sandbox.settings import Settings


def bounds(own: dict[str, str] | None = None, **settings: str) -> tuple[str, str, str, str]:
    found = modes.bounds(Settings(**settings), own)
    return found.mode, found.network, found.most_mode, found.most_network


def test_the_stricter_of_configuration_and_token_holds() -> None:
    rows: list[tuple[dict[str, str] | None, dict[str, str], tuple[str, str, str, str]]] = [
        (None, {}, ("off", "loopback", "off", "open")),
        (None, {"mode": "workspace-write"}, ("workspace-write", "loopback", "workspace-write", "loopback")),
        (None, {"ceiling": "read-only", "network": "none"}, ("read-only", "none", "read-only", "none")),
        (None, {"mode": "read-only", "ceiling": "off"}, ("read-only", "loopback", "off", "open")),
        (None, {"mode": "off", "ceiling": "read-only"}, ("read-only", "loopback", "read-only", "loopback")),
        ({"mode": "read-only"}, {}, ("read-only", "loopback", "read-only", "loopback")),
        ({"mode": "workspace-write", "network": "open"}, {}, ("workspace-write", "open", "workspace-write", "open")),
        ({"mode": "workspace-write"}, {"network": "open"}, ("workspace-write", "open", "workspace-write", "open")),
        ({"mode": "workspace-write", "network": "open"}, {"mode": "read-only"}, ("read-only", "loopback", "read-only", "loopback")),
        ({"mode": "read-only", "network": "none"}, {"mode": "workspace-write"}, ("read-only", "none", "read-only", "none")),
    ]  # fmt: skip
    for own, settings, expected in rows:
        assert bounds(own, **settings) == expected


def test_a_call_may_ask_for_less_and_not_for_more() -> None:
    found = modes.bounds(Settings(mode="workspace-write", network="loopback"), None)
    for mode, network, expected in (
        (None, None, ("workspace-write", "loopback", "read")),
        ("read-only", "none", ("read-only", "none", "read")),
    ):
        granted = modes.granted(found, mode, network, None, elevated=False)
        assert (granted.mode, granted.network, granted.git) == expected
    for mode, network, git, elevated in (
        ("off", None, None, False),
        (None, "open", None, False),
        (None, None, "write", False),
        (None, None, None, True),
    ):
        with pytest.raises(OutliveError) as raised:
            modes.granted(found, mode, network, git, elevated=elevated)
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


def test_git_is_written_where_both_ceilings_allow_it() -> None:
    rows: list[tuple[dict[str, str] | None, dict[str, str], tuple[str, str]]] = [
        (None, {"mode": "workspace-write"}, ("read", "read")),
        (None, {"mode": "workspace-write", "git": "write"}, ("write", "write")),
        (None, {"mode": "workspace-write", "git_ceiling": "write"}, ("read", "write")),
        (None, {}, ("read", "write")),
        ({"mode": "workspace-write"}, {"git": "write"}, ("read", "read")),
        ({"mode": "workspace-write", "git": "write"}, {"mode": "workspace-write"}, ("read", "read")),
        ({"mode": "workspace-write", "git": "write"}, {"git_ceiling": "write"}, ("read", "write")),
    ]
    for own, settings, expected in rows:
        found = modes.bounds(Settings(**settings), own)
        assert (found.git, found.most_git) == expected


@pytest.mark.parametrize(
    ("files", "uid", "can"),
    [
        ({}, 1000, True),
        ({"/proc/sys/user/max_user_namespaces": "0\n"}, 1000, False),
        ({"/proc/sys/user/max_user_namespaces": "0\n"}, 0, True),
        ({"/proc/sys/kernel/apparmor_restrict_unprivileged_userns": "1\n"}, 1000, False),
        ({"/proc/self/status": "CapEff:\t00000000a80425fb\nSeccomp:\t2\n"}, 0, False),
        ({"/proc/self/status": "CapEff:\t000001ffffffffff\nSeccomp:\t2\n"}, 0, True),
        ({"/proc/self/status": "CapEff:\t0000000000000000\nSeccomp:\t0\n"}, 1000, True),
    ],
)
def test_whether_a_sandbox_can_be_made_is_read_from_files(
    files: dict[str, str], uid: int, can: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    program = tmp_path / "bwrap"
    program.touch(mode=0o755)
    monkeypatch.setattr(bubblewrap, "_read", lambda path: files.get(path, ""))
    monkeypatch.setattr("os.geteuid", lambda: uid)
    assert bubblewrap.can_work(str(program)) is can
    assert not bubblewrap.can_work(str(tmp_path / "missing"))

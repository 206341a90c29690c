"""An approval for always binds everything that decides what a job does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from outlive.core.records import Definition, Notification, Sandbox, Watch
from outlive.parts.policy import always

SANDBOX = Sandbox(mode="workspace-write", roots=["/ws"])
WATCH = Watch(id="w1", pattern="x", file="/ws/hits")
NOTIFICATION = Notification(notify_command="cat", watches=[WATCH])
BASE = Definition(
    command=["make"],
    shell=["sh", "-c"],
    cwd="/ws",
    env={"A": "1"},
    masked_env=["KEY"],
    notification=NOTIFICATION,
    sandbox=SANDBOX,
    kept={"resources": {"cpus": 1}},
)
VALUES = {"A": "1", "KEY": "secret"}


def other_members() -> list[Sandbox]:
    """Sandboxes that differ from the one of BASE in one member each."""
    others: dict[type, Any] = {str: "other", list: ["/other"], type(None): "/cache"}
    members = SANDBOX.to_dict()
    return [Sandbox.of(members | {name: others[type(value)]}) for name, value in members.items()]


CHANGES: list[dict[str, Any]] = [
    {"command": ["make", "all"]}, {"shell": ["bash", "-c"]}, {"shell": None}, {"cwd": "/ws/below"},
    {"stdin": "open"}, {"stdin": "file", "stdin_path": "/ws/in"}, {"pty": True}, {"host": "cluster"},
    {"elevated": True}, {"systemd_scope": True}, {"kept": {"resources": {"cpus": 2}}}, {"kept": {}},
    {"kept": {**BASE.kept, "ports": {"names": ["web"], "first": 20000, "last": 29999, "table": "/ports"}}},
    {"sandbox": None},
    *({"sandbox": other} for other in other_members()),
    {"notification": Notification(notify_command="cat")},
    {"notification": Notification.replace(NOTIFICATION, notify_file="/ws/end")},
    {"notification": Notification.replace(NOTIFICATION, watches=[Watch.replace(WATCH, command="sh")])},
]  # fmt: skip


def test_a_job_that_differs_in_anything_is_another_one(tmp_path: Path) -> None:
    key = always.key_of(str(tmp_path), BASE, VALUES, None)
    same = Definition.replace(BASE, job_id="another", created_at="later")
    assert key == always.key_of(str(tmp_path), same, VALUES, None)
    for change in CHANGES:
        assert key != always.key_of(str(tmp_path), Definition.replace(BASE, **change), VALUES, None), change


@pytest.mark.parametrize(
    ("values", "data"),
    [
        ({**VALUES, "A": "2"}, None),
        ({**VALUES, "KEY": "another secret"}, None),
        ({**VALUES, "FROM_A_FILE": "1"}, None),
        ({"A": "1"}, None),
        (VALUES, b"data"),
    ],
)
def test_variables_and_input_are_bound_by_their_values(
    tmp_path: Path, values: dict[str, str], data: bytes | None
) -> None:
    assert always.key_of(str(tmp_path), BASE, VALUES, None) != always.key_of(str(tmp_path), BASE, values, data)


def test_a_masked_value_cannot_be_guessed_without_the_secret_of_the_user(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    assert always.key_of(str(one), BASE, VALUES, None) != always.key_of(str(other), BASE, VALUES, None)
    secret = Path(always.secret_path(str(one)))
    assert (secret.stat().st_mode & 0o777, one.stat().st_mode & 0o777, secret.stat().st_size) == (0o600, 0o700, 32)
    assert [path.name for path in one.iterdir()] == [secret.name]


def test_a_line_that_cannot_be_read_hides_no_other(tmp_path: Path) -> None:
    Path(always.path(str(tmp_path))).write_text(f'{"[" * 100_000}\n{{"key":\n5\n')
    always.add(str(tmp_path), {"key": "k", "command": ["make"], "cwd": "/", "by": "me", "at": "now"})
    assert [*always.approved(str(tmp_path))] == ["k"]


@pytest.mark.parametrize("spoil", ["readable", "short", "link", "FIFO", "directory"])
def test_a_secret_that_is_none_binds_nothing(tmp_path: Path, spoil: str) -> None:
    always.key_of(str(tmp_path), BASE, VALUES, None)
    secret = Path(always.secret_path(str(tmp_path)))
    if spoil == "readable":
        secret.chmod(0o644)
    elif spoil == "short":
        secret.write_bytes(b"")
    elif spoil == "FIFO":
        secret.unlink()
        os.mkfifo(secret, 0o600)
    elif spoil == "directory":
        secret.unlink()
        secret.mkdir(0o700)
    else:
        secret.rename(tmp_path / "elsewhere")
        secret.symlink_to(tmp_path / "elsewhere")
    assert always.key_of(str(tmp_path), BASE, VALUES, None) is None
    assert not always.has(str(tmp_path), None)

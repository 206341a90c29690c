"""JSON that is printed to a terminal is the same JSON, without a character that the terminal acts upon."""

from __future__ import annotations

import json

from support.cli import Cli
from support.pair import until_free
from support.terminal import Terminal

# C1 as UTF-8, DEL, bidirectional controls, a line separator, a format character beyond 16 bits
ODD = "a\x9b31m\x9d0;t\x9c\x7f\u202eb\u2066c\u2028d\U000e0041 h\xe4\xdf \u4e2d \U0001f600"
SHOWN = ("h\xe4\xdf \u4e2d \U0001f600").encode()
NEVER = [char.encode() for char in "\x9b\x9c\x9d\x7f\u202e\u2066\u2028\U000e0041"]


def _on_terminal(*words: str) -> bytes:
    """What a call prints to a terminal."""
    with Terminal(*words) as terminal:
        assert terminal.status() in (0, 1)
        return terminal.seen.replace(b"\r\n", b"\n")


def test_json_on_a_terminal_is_the_same_json_in_escapes(cli: Cli) -> None:
    job = cli.ok("run", "--watch", "31m", "--env", f"A={ODD}", "--title", "odd", "--", "printf", "%s\\n", ODD)["job_id"]
    cli.ok("wait", job)
    until_free(cli.root, job)
    for verb, *flags in (("status",), ("log",), ("events",), ("events", "--follow")):
        piped = cli.text(verb, job, *flags).stdout
        seen = _on_terminal(verb, job, *flags)
        assert not [bad for bad in NEVER if bad in seen]
        found, wanted = ([json.loads(line) for line in text.split("\n")[:-1]] for text in (seen.decode(), piped))
        for one in (*found, *wanted):
            for changing in ("elapsed_ms", "idle_ms"):
                one.pop(changing, None)
        assert found == wanted
        if verb != "status":
            assert SHOWN in seen and SHOWN in piped.encode()


def test_an_error_on_a_terminal_repeats_no_control_of_an_argument(cli: Cli) -> None:
    seen = _on_terminal("--root", str(cli.root), "status", "\x9b31m\u202e")
    assert not [bad for bad in NEVER if bad in seen]
    seen = _on_terminal("--root", str(cli.root), "--human", "status", "\x9b31m\u202e")
    assert not [bad for bad in NEVER if bad in seen]

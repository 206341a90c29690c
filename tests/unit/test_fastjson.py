"""`outlive.fastjson` answers exactly as the modules that it stands for."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlive import fastjson
from outlive.system import signals

# Lone surrogates too: that is what bytes that are no UTF-8 are in a command or a path
TEXTS = st.text(st.characters(codec=None, categories=None), max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS | st.integers() | st.none(), inner, max_size=4),
    max_leaves=12,
)
ODD = [
    "", " ", "\0\0\0\0", "{", "[1,]", '{"a":1}x', '{"a":1,"a":2}', '"\\ud800"', '"\n"', "NaN", "-Infinity", "1e999", "01",
    '\ufeff{"a":1}', " \t\n\r{} \n", "\u00a0{}", "'a'", "nul", "9" * 5000,
]  # fmt: skip


def told(call: Callable[..., Any], *values: Any, **named: Any) -> tuple[str, str]:
    """What it answers or raises, as a text: NaN is not equal to itself."""
    try:
        return "answer", repr(call(*values, **named))
    except (ValueError, TypeError) as error:
        return type(error).__name__, str(error)


@given(VALUES, st.booleans(), st.booleans(), st.sampled_from([(",", ":"), (", ", ": ")]))
def test_what_is_written_is_what_json_writes(
    content: Any, ensure_ascii: bool, allow_nan: bool, separators: tuple[str, str]
) -> None:
    how = {"ensure_ascii": ensure_ascii, "allow_nan": allow_nan, "separators": separators}
    assert told(fastjson.dumps, content, **how) == told(json.dumps, content, **how)


@given(VALUES, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32-le"]), st.integers(0, 3))
def test_what_is_read_is_what_json_reads(content: Any, encoding: str, cut: int) -> None:
    text = json.dumps(content)
    for found in (text, f" {text}\n", text[cut:], text.encode(encoding), text.encode(encoding)[: -cut or None]):
        assert told(fastjson.loads, found) == told(json.loads, found)
    raw = json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass")
    assert told(fastjson.loads, raw) == told(json.loads, raw)


def test_what_is_odd_is_read_or_refused_as_json_does() -> None:
    for text in ODD:
        assert told(fastjson.loads, text) == told(json.loads, text)
        assert told(fastjson.loads, text.encode()) == told(json.loads, text.encode())


def test_what_is_nested_too_deeply_is_refused_as_everything_is_that_cannot_be_read() -> None:
    for text in ("[" * 100_000 + "]" * 100_000, '{"a":' * 100_000):
        with pytest.raises(ValueError, match="nested too deeply"):
            fastjson.loads(text)


def test_what_is_no_json_at_all_is_refused_as_json_does() -> None:
    ring: list[Any] = []
    ring.append(ring)
    for content in (object(), {b"a": 1}, {1, 2}, ring, [{"a": object()}], {("a",): 1}):
        assert told(fastjson.dumps, content) == told(json.dumps, content)


def test_without_the_halves_in_c_everything_is_as_before() -> None:
    """Another Python may have none of them, or call them otherwise."""
    program = (
        "import json, signal, sys; sys.modules['_json'] = sys.modules['_signal'] = None\n"
        "from outlive import fastjson\n"
        "from outlive.system import signals\n"
        "assert signals.signal is signal\n"
        "assert fastjson.loads(b'{\"a\": [1, NaN]}')['a'][0] == 1\n"
        "assert fastjson.dumps({'a': [1, '\\ud800']}, separators=(',', ':')) == '{\"a\":[1,\"\\\\ud800\"]}'\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr


def test_names_of_signals_are_those_of_the_library() -> None:
    assert signals.names() == sorted(one.name for one in signal.valid_signals() if isinstance(one, signal.Signals))
    for one in signal.Signals:
        assert signals.name_of(int(one)) == one.name
        assert signals.number_of(one.name.lower()) == one
    assert signals.number_of("SIGCLD") == signal.SIGCHLD
    assert signals.number_of("_BLOCK") is None
    assert [signals.number_of(text) for text in ("65", "²", "9" * 5_000)] == [None] * 3
    assert signals.name_of(int(signal.SIGRTMIN) + 3) == "SIGRTMIN+3"
    assert [signals.number_of(text) for text in ("RTMIN+1", "sigrtmin+0", "SIGRTMAX-2")] == [
        signal.SIGRTMIN + 1,
        signal.SIGRTMIN,
        signal.SIGRTMAX - 2,
    ]
    for number in range(signal.SIGRTMIN, signal.SIGRTMAX + 1):
        assert signals.number_of(signals.name_of(number)) == number
    assert [
        signals.number_of(text) for text in ("RTMIN+99", "RTMIN-1", "RTMAX+1", "RTMIN+", "RTMIN+x", "RTMAX-40")
    ] == [None] * 6

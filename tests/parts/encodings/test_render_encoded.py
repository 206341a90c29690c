"""Bytes to text in encodings other than UTF-8, however the bytes are cut."""

from __future__ import annotations

import encodings
import pkgutil
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from outlive.errors import OutliveError
from outlive.parts.encodings.encodings import Encoding, asked
from outlive.parts.encodings.text import Text, of
from outlive.store.output.gap import NO_GAP, Hole
from outlive.store.output.merged import Output

WIDE = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
OF_LINES = ["gbk", "gb18030", "big5", "shift_jis", "euc_jp", "euc_kr", "latin-1", "cp1252", "koi8_r", "cp037"]
STATEFUL = ["iso2022_jp", "iso2022_kr", "hz", "utf-7"]
# U+4E0A, U+0A38 and U+010A have a byte 0x0A in UTF-16; many trail bytes are ASCII letters
LETTERS = "a\n\r é上ਸĊ😀日本語ソ表東한|~+&"
TEXTS = st.text(st.sampled_from(LETTERS), max_size=60)
CUTS = st.lists(st.integers(0, 9), max_size=60)


class Stored:
    """An output of runs (stream, bytes) as `Output` reads it."""

    def __init__(self, runs: list[tuple[int, bytes]]) -> None:
        self.job = SimpleNamespace(job_id="", secrets_of=None, has=lambda _: False)
        self._runs = runs
        self.missing = [Hole(), Hole()]
        self.gap = NO_GAP
        self._logs = [b"".join(data for one, data in runs if one == stream) for stream in (0, 1)]
        self.sizes = [len(log) for log in self._logs]
        self.end = sum(self.sizes)

    def end_of(self, stream: int | None) -> int:
        return self.end if stream is None else self.sizes[stream]

    def read_stream(self, stream: int, start: int, stop: int) -> bytes:
        return self._logs[stream][start:stop]

    def placed(self, start: int, stop: int) -> list[tuple[int, int, bytes]]:
        found, at, offsets = [], 0, [0, 0]
        for stream, data in self._runs:
            low, high = max(start, at), min(stop, at + len(data))
            if low < high:
                found.append((stream, offsets[stream] + low - at, data[low - at : high - at]))
            at += len(data)
            offsets[stream] += len(data)
        return found


def stored(*runs: tuple[int, bytes]) -> Output:
    return cast("Output", Stored(list(runs)))


def text(output: Output, name: str) -> Text:
    found = of(output, asked(name))
    assert found is not None
    return found


def in_pieces(output: Output, name: str, cuts: list[int], stream: int | None = None) -> str:
    """Read as callers with a cursor do, each by itself."""
    shown, at, end = [], 0, 0
    for step in cuts:
        end = min(end + step, output.end_of(stream))
        part, held = text(output, name).shown(at, end, stream, more=True)
        shown.append(part)
        at = end - held
    return "".join(shown) + text(output, name).of(at, output.end_of(stream), stream, final=True)


def encoded(letters: str, name: str) -> bytes:
    return "".join(one for one in letters if one.encode(name, "ignore")).encode(name)


@pytest.mark.parametrize("name", WIDE + OF_LINES + STATEFUL)
@given(TEXTS, CUTS)
def test_reads_in_pieces_are_the_text_of_the_whole(name: str, letters: str, cuts: list[int]) -> None:
    data = encoded(letters, name)
    assert in_pieces(stored((0, data)), name, cuts) == data.decode(name)
    assert in_pieces(stored((1, data)), name, cuts, 1) == data.decode(name)


@pytest.mark.parametrize("name", WIDE + OF_LINES)
@given(st.binary(max_size=60), CUTS)
@example(b"\x00\xd8\x00", [1, 1])  # half of a surrogate pair
def test_of_any_bytes_pieces_are_what_one_decoder_says(name: str, data: bytes, cuts: list[int]) -> None:
    decoder: Any = Encoding(name).decoder()
    assert in_pieces(stored((0, data)), name, cuts) == decoder.decode(data, True)


@pytest.mark.parametrize("name", ["utf-16-le", "gbk", "shift_jis", "iso2022_jp"])
@given(TEXTS, st.lists(st.tuples(st.sampled_from([0, 1]), st.integers(1, 5)), max_size=30), CUTS)
def test_a_character_that_the_other_stream_or_a_cursor_interrupts_stays_whole(
    name: str, letters: str, turns: list[tuple[int, int]], cuts: list[int]
) -> None:
    data = encoded(letters, name)
    left = [data, data]
    runs = []
    for stream, size in turns:
        runs.append((stream, left[stream][:size]))
        left[stream] = left[stream][size:]
    shown = in_pieces(stored(*runs, (0, left[0]), (1, left[1])), name, cuts)
    assert "\ufffd" not in shown
    assert sorted(shown) == sorted(data.decode(name) * 2)


@pytest.mark.parametrize("name", ["utf-16-le", "utf-16-be", "utf-32-le", "cp037", "gbk"])
@given(TEXTS, CUTS)
def test_lines_end_where_newlines_end(name: str, letters: str, cuts: list[int]) -> None:
    data = encoded(letters, name)
    output = stored((0, data))
    ends, at = [], 0
    for step in [*cuts, len(data)]:
        part = text(output, name).lines(None, at, min(at + step, len(data)))
        ends += [at + place + 1 for place, byte in enumerate(part) if byte == 0x0A]
        at += len(part)
    lines = data.decode(name).split("\n")[:-1]
    assert ends == [
        len("".join(f"{line}\n" for line in lines[: count + 1]).encode(name)) for count in range(len(lines))
    ]


def test_far_behind_the_beginning_a_character_begins_behind_the_last_newline() -> None:
    for name in ["gbk", "iso2022_jp", "utf-16-le"]:
        data = ("上海\n" * 70_000).encode(name)
        output = stored((0, data))
        for start in range(len(data) - 40, len(data)):
            shown = text(output, name).of(start, len(data), final=True)
            assert shown == ("上海\n" * 20)[len("上海\n" * 20) - len(shown) :]


@pytest.mark.parametrize("name", ["utf-16", "utf-32"])
def test_a_byte_order_mark_says_the_encoding_of_its_stream_alone(name: str) -> None:
    for order in ("le", "be"):
        data = "\ufeffé\n".encode(f"{name}-{order}")
        output = stored((1, b"\xc3\xa9"), (0, data), (1, b"!\n"))
        found = of(output)
        assert found is not None
        assert found.of(0, output.end, final=True) == "éé\n!\n"
        assert found.name == f"{name}-{order}"
        assert text(stored((0, data)), name).of(0, len(data), final=True) == "é\n"
    assert of(stored((0, b"\xc3\xa9"), (1, b"\xff"))) is None
    assert text(stored((0, "é".encode("utf-16-le"))), "utf-16").of(0, 2, final=True) == "é"


def test_bytes_that_were_cut_out_of_a_log_shift_nothing() -> None:
    data = "abcdef".encode("utf-16-le")
    output = stored((0, data))
    output.missing[0] = Hole(3, 7)
    assert text(output, "utf-16-le").of(0, len(data), final=True) == "aef"


def test_an_escape_sequence_that_is_not_complete_waits_for_its_rest() -> None:
    data = "ok\x1b[3".encode("utf-16-le")
    assert text(stored((0, data)), "utf-16-le").shown(0, len(data), None, more=True) == ("ok", 6)
    assert text(stored((0, data)), "utf-16-le").shown(0, len(data), None, more=False) == ("ok\x1b[3", 0)
    assert text(stored((0, b"50%\xe9\r")), "latin-1").shown(0, 5, None, more=True) == ("50%é", 1)


def test_what_is_no_encoding_is_refused_with_one_that_is() -> None:
    rows: list[tuple[str, str]] = [
        ("latni1", "unknown encoding 'latni1'; did you mean 'latin-1'?"),
        ("nonsense", "unknown encoding 'nonsense'; known are latin-1, "),
        ("../x", "unknown encoding '../x'"),
        ("é", "unknown encoding 'é'"),
        ("x" * 10_000, "unknown encoding 'xxx"),
        ("", "unknown encoding ''"),
        ("hex", "'hex' is no encoding of text; such are latin-1"),
        ("zip", "'zip' is no encoding of text"),
        ("rot13", "'rot13' is no encoding of text"),
        ("idna", "'idna' is no encoding of text"),
        ("undefined", "'undefined' is no encoding of text"),
    ]
    for name, said in rows:
        with pytest.raises(OutliveError, match="encoding") as caught:
            asked(name)
        assert caught.value.message.startswith(said)
        assert len(caught.value.message) < 200


@pytest.mark.filterwarnings("ignore:.*invalid escape sequence:DeprecationWarning")  # unicode_escape
def test_each_encoding_of_text_that_python_knows_is_read_and_no_other() -> None:
    read, refused = set(), set()
    for name in sorted(module.name for module in pkgutil.iter_modules(encodings.__path__) if module.name[0] != "_"):
        try:
            encoding = asked(name)
        except OutliveError:
            refused.add(name)
            continue
        read.add(name)
        if encoding is not None and name not in ("utf_16", "utf_32"):  # those write a mark
            data = "a line\nend".encode(name)
            assert in_pieces(stored((0, data)), name, [3, 1, 4]) == "a line\nend", name
            ends = text(stored((0, data)), name).lines(None, 0, len(data)).count(b"\n")
            assert ends == data.count(b"\n") if "escape" in name else ends == 1, name
    assert len(read) > 90
    of_bytes = {name for name in refused if name.endswith("_codec")}
    assert len(of_bytes) > 5
    assert refused - of_bytes <= {"aliases", "idna", "mbcs", "oem", "punycode", "rot_13", "undefined"}
    assert {"idna", "punycode"} <= refused


def test_utf_8_by_any_name_is_what_is_read_anyhow() -> None:
    assert [asked(name) for name in (None, "utf8", "UTF-8", "U8", "utf-8-sig")] == [None] * 5

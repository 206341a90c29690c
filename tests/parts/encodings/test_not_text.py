"""Which output is no text."""

from __future__ import annotations

import random
import zlib

from outlive.parts.encodings.not_text import dump, is_no_text

TEXTS = {
    "ASCII": b"plain text\n" * 30,
    "UTF-8": "schöne Grüße, 上海\n".encode() * 30,
    "latin-1": "schöne Grüße\n".encode("latin-1") * 30,
    "gbk": "上海上海\n".encode("gbk") * 30,
    "escape sequences": b"\x1b[31mred\x1b[0m\r\n" * 30,
    "names that NUL ends": b"a.py\0b.py\0" * 30,
    "backspaces": b"a\b \b" * 30,
    "UTF-16": "plain text\n".encode("utf-16-le") * 30,
    "little": bytes(range(60)),
}


def test_text_in_any_encoding_is_text() -> None:
    assert {name: is_no_text(data) for name, data in TEXTS.items()} == dict.fromkeys(TEXTS, False)


def test_archives_programs_and_random_bytes_are_none() -> None:
    made = random.Random(5)
    program = b"\x7fELF\2\1\1" + bytes(9) + b"".join(made.randbytes(8) + bytes(8) for _ in range(40))
    for data in (made.randbytes(300), zlib.compress(made.randbytes(900)), program):
        assert is_no_text(data)


def test_a_dump_is_of_the_first_bytes() -> None:
    assert dump(b"\x7fELF" + bytes(96), 3_000).splitlines()[:2] == [
        "[3,000 bytes, not text; it begins with:]",
        "00000000  7f 45 4c 46 00 00 00 00 00 00 00 00 00 00 00 00  .ELF............",
    ]

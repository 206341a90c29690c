"""Output in other encodings than UTF-8: `encoding` of log, tail and poll, and byte order marks."""

from __future__ import annotations

import codecs
import re
from pathlib import Path
from typing import Any

import pytest

from outlive.store.output import forms
from support.cli import Cli, Jobs
from support.commands import PUT, python
from support.face import Face
from support.wait import until

# 上 is 4E 0A and ਸ is 0A 38 in UTF-16: bytes 0x0A that end no line
TEXT = "Größe\n上海 ਸ 表ソ 😀\nerror: 上\n\x1b[31mred\x1b[0m\nend"
SHOWN = TEXT.replace("\x1b[31m", "").replace("\x1b[0m", "")
CJK = "日本語 表示\nソース error\n二行\n"


def put(cli: Cli, data: bytes, fd: int = 1) -> str:
    """A job that printed these bytes."""
    Path("data").write_bytes(data)
    job: str = cli.ok("run", "--wait", f"cat data >&{fd}")["job_id"]
    return job


@pytest.mark.parametrize(
    ("encoding", "text", "name"),
    [
        ("gb18030", TEXT, "gb18030"),
        ("utf-16", TEXT.encode("utf-16-le"), "utf-16-le"),
        ("UTF_16_BE", TEXT, "utf-16-be"),
        ("utf-32-be", TEXT, "utf-32-be"),
        ("shift_jis", CJK, "shift_jis"),
        ("iso2022_jp", CJK, "iso2022_jp"),
    ],
    ids=["gb18030", "utf-16", "utf-16-be", "utf-32-be", "shift_jis", "iso2022_jp"],
)
def test_log_tail_and_poll_read_an_encoding(cli: Cli, encoding: str, text: str | bytes, name: str) -> None:
    data = text if isinstance(text, bytes) else text.encode(encoding)
    expected = SHOWN if text is TEXT or isinstance(text, bytes) else CJK
    job = put(cli, data)
    of = ("--encoding", encoding)
    for verb in ("log", "poll"):
        found = cli.ok(verb, job, *of)
        assert (found["output"], found["next_seq"]) == (expected, len(data))
        assert "U+FFFD" not in (found.get("hint") or "")
    lines = expected.splitlines(keepends=True)
    assert cli.ok("log", job, *of)["total_lines"] == len(lines)
    for number, line in enumerate(lines):
        found = cli.ok("log", job, *of, "--offset", str(number), "--limit", "1")
        assert (found["output"], found["first_line"], found["last_line"]) == (line, number + 1, number + 1)
    found = cli.ok("log", job, *of, "--search", "error", "--context", "0")
    assert (found["output"], found["matches"]) == (
        "".join(f"{n + 1}:{x}" for n, x in enumerate(lines) if "error" in x),
        1,
    )
    tail = cli.ok("tail", job, *of, "--tail-lines", "2")
    assert tail["stdout_tail"] == "".join(data.decode(name).splitlines(keepends=True)[-2:])
    assert tail["encoding"] == name
    assert cli.text("log", "-f", "--limit", "2", job, *of).stdout == "".join(lines[-2:])


def test_a_search_goes_on_where_it_stopped(cli: Cli) -> None:
    data = "".join(f"上 {number} {'odd' if number % 2 else 'even'}\n" for number in range(40)).encode("utf-16-le")
    job = put(cli, data)
    found = cli.ok("log", job, "--encoding", "utf-16-le", "--search", "odd$", "--limit", "3", "--context", "0")
    assert found["output"] == "2:上 1 odd\n4:上 3 odd\n6:上 5 odd\n"
    at = str(found["next_seq"])
    on = cli.ok(
        "log", job, "--encoding", "utf-16-le", "--search", "odd$", "--since-seq", at, "--limit", "2", "--context", "1"
    )
    assert on["output"] == "8:上 7 odd\n9-上 8 even\n10:上 9 odd\n11-上 10 even\n"
    assert on["matches"] == 2


@pytest.mark.parametrize("mark", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_what_begins_with_a_byte_order_mark_is_text_in_every_answer(cli: Cli, mark: str) -> None:
    data = f"\ufeff{TEXT}".encode(mark)
    Path("data").write_bytes(data)
    found = cli.ok("run", "--wait", "cat data; printf 'caf\\303\\251\\n' >&2")
    assert found["output"] in (f"{SHOWN}café\n", f"café\n{SHOWN}")
    assert found["snapshot"]["stdout_tail"] == TEXT and found["snapshot"]["stderr_tail"] == "café\n"
    assert found["snapshot"]["encoding"] == mark
    assert "hint" not in found or "U+FFFD" not in found["hint"]
    job = found["job_id"]
    assert cli.ok("wait", job)["output"] == found["output"] == cli.ok("poll", job)["output"]
    assert (
        cli.ok("log", job, "--stream", "stdout", "--offset", "1", "--limit", "1")["output"] == SHOWN.splitlines(True)[1]
    )
    assert cli.ok("log", job, "--stream", "stdout", "--search", "海")["matches"] == 1
    assert cli.ok("log", job, "--encoding", "latin-1")["output"].startswith(data[:2].decode("latin-1").strip("\0"))
    followed = cli.text("log", "-f", "--stream", "stdout", "--limit", "3", job).stdout
    assert followed == "".join(SHOWN.splitlines(keepends=True)[-3:])
    assert cli.ok("list")["jobs"][0]["last_line"] in ("end", "endcafé")


def test_without_its_mark_utf_16_is_not_guessed(cli: Cli) -> None:
    job = put(cli, "上海".encode("utf-16-le"))
    assert cli.ok("tail", job)["encoding"] == "utf-8"


@pytest.mark.parametrize(("encoding", "size"), [("gbk", 1), ("utf-16-le", 7), ("iso2022_jp", 2)])
def test_from_cursor_to_cursor_no_character_is_lost_or_replaced(cli: Cli, encoding: str, size: int) -> None:
    text = "上海表\nab上\n"
    data = text.encode(encoding)
    job = put(cli, data)
    at, read = 0, ""
    while at < len(data):
        found = cli.ok("log", job, "--encoding", encoding, "--since-seq", str(at), "--max-bytes", str(size), "--raw")
        assert at < found["next_seq"]
        read, at = read + found["output"], found["next_seq"]
    assert read == text


@pytest.mark.fault("F67")
@pytest.mark.parametrize("encoding", ["gbk", "utf-16-be", "utf-8"])
def test_half_a_character_is_left_to_the_next_answer(cli: Cli, jobs: Jobs, work: Path, encoding: str) -> None:
    data = "ab上!".encode(encoding)
    cut = len("ab".encode(encoding)) + 1
    code = (
        f"{PUT}\nput(1, {data[:cut]!r})\nwhile not os.path.exists('go'): time.sleep(0.01)\n"
        f"put(2, b'x'); put(1, {data[cut:]!r}); time.sleep(60)"
    )
    job = cli.ok("run", "--snapshot-after", "0", *python(code))["job_id"]
    until(lambda: cli.ok("status", job)["stdout_bytes"] == cut)
    first = cli.ok("poll", job, "--encoding", encoding)
    assert (first["output"], first["next_seq"]) == ("ab", cut - 1)
    of_stdout = cli.ok("log", job, "--encoding", encoding, "--stream", "stdout")
    assert (of_stdout["output"], of_stdout["next_seq"]) == ("ab", cut - 1)
    sought = cli.ok("log", job, "--encoding", encoding, "--stream", "stdout", "--search", "ab", "--context", "0")
    assert sought["output"] == ("1:ab\ufffd\n" if encoding == "utf-8" else "1:ab\n")
    tail = cli.ok("tail", job, "--encoding", encoding)
    assert tail["stdout_tail"] == "ab"
    assert not [one for one in (first, of_stdout, tail) if "UTF-8" in (one.get("hint") or "")]
    (work / "go").touch()
    until(lambda: cli.ok("status", job)["stdout_bytes"] == len(data))
    stdout = ("--stream", "stdout", "--encoding", encoding)
    assert cli.ok("log", job, *stdout, "--since-seq", str(cut - 1))["output"] == "上!"
    if encoding != "utf-8":
        assert cli.ok("log", job, *stdout, "--since-seq", str(cut))["output"] == "上!"
    jobs.end()


def test_long_output_is_cut_between_lines_and_each_line_can_be_read(cli: Cli) -> None:
    lines = [f"上 line {number} ਸ\n" for number in range(60_000)]  # more than the line index needs
    data = "\ufeff" + "".join(lines)
    job = put(cli, data.encode("utf-16-le"))
    found = cli.ok("poll", job, "--max-bytes", "2000")
    cut = found["truncated"]
    head, _, tail = found["output"].partition("[... ")
    assert data[1:].startswith(head) and data.endswith(tail.partition("\n")[2])
    assert head.endswith("\n") and tail.partition("\n")[2].startswith("上 line ")
    assert cut["bytes"] == cut["to_seq"] - cut["from_seq"]
    shown = len(head.splitlines()) + len(tail.splitlines()) - 1
    assert cut["lines"] is None or cut["lines"] == len(lines) - shown
    found = cli.ok("log", job, "--offset", "54321", "--limit", "2")
    assert (found["output"], found["total_lines"]) == ("".join(lines[54_321:54_323]), len(lines))
    found = cli.ok("log", job, "--search", "line 59999 ")
    assert found["output"].endswith("60000:上 line 59999 ਸ\n")


def test_output_that_is_not_utf_8_says_how_to_read_it(cli: Cli) -> None:
    job = put(cli, "café\n".encode("latin-1"))
    for verb in ("log", "tail", "poll", "wait"):
        hint = cli.ok(verb, job)["hint"]
        assert "not UTF-8" in hint and "--encoding latin-1" in hint
    found = cli.ok("run", "--wait", "printf 'caf\\351'")
    assert (found["output"], "--encoding" in found["hint"]) == ("caf\ufffd", True)
    assert "--encoding" in cli.ok("log", job, "--search", "caf")["hint"]
    assert "--encoding" in cli.ok("log", job, "--stream", "stdout")["hint"]


def test_a_replacement_character_that_was_printed_needs_no_hint(cli: Cli) -> None:
    job = put(cli, "a \ufffd b é\n".encode())
    for verb in ("log", "tail", "poll"):
        assert "UTF-8" not in (cli.ok(verb, job).get("hint") or "")
    assert "UTF-8" not in (cli.ok("log", job, "--max-bytes", "4").get("hint") or "")


def test_a_name_that_is_no_encoding_of_text_is_refused(cli: Cli) -> None:
    job = put(cli, b"text\n")
    for verb in ("log", "tail", "poll"):
        message = cli.error(verb, job, "--encoding", "latni1", code="invalid_argument")["message"]
        assert message == "unknown encoding 'latni1'; did you mean 'latin-1'?"
        message = cli.error(verb, job, "--encoding", "base64", code="invalid_argument")["message"]
        assert message.startswith("'base64' is no encoding of text; such are latin-1, ")
        assert "U+FFFD" not in (cli.ok(verb, job, "--encoding", "utf8").get("hint") or "")


def test_comparing_goes_without_an_encoding(cli: Cli) -> None:
    put(cli, "\ufeffone\ntwo\n".encode("utf-16-le"))
    job = put(cli, "\ufeffone\nthree\n".encode("utf-16-le"))
    found = cli.ok("log", job, "--compare", "previous")
    assert "2:three" in found["output"] and "1:one" not in found["output"]
    cli.error("log", job, "--compare", "previous", "--encoding", "gbk", code="invalid_argument")


MASKED: dict[str, Any] = {"env": {"API_TOKEN": "hunter2-pässwörd"}, "mask": ["API_TOKEN"]}
STARS = "*" * len("hunter2-pässwörd")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "cp1252", "latin-1", "mac_roman"])
def test_a_masked_value_in_another_encoding_is_masked(face: Face, encoding: str) -> None:
    write = f"import os, sys; sys.stdout.buffer.write(f'token {{os.environ[\"API_TOKEN\"]}}\\n'.encode('{encoding}'))"
    job = face.ok("run", command=python(write)[1:], until=["exit"], **MASKED)["job_id"]
    for verb in ("log", "poll", "tail"):
        asked = {} if encoding == "utf-16" else {"encoding": encoding}  # its mark says which
        found = face.ok(verb, job, **asked, **({"since_seq": 0} if verb == "poll" else {}))
        assert found["stdout_tail" if verb == "tail" else "output"] == f"token {STARS}\n"


@pytest.mark.parametrize("encoding", ["cp037", "utf-7", "gb18030", "unicode_escape"])
def test_masked_values_are_not_shown_in_an_encoding_in_which_they_are_not_found(face: Face, encoding: str) -> None:
    masked = face.ok("run", command="echo $API_TOKEN", **MASKED)["job_id"]
    for verb in ("log", "poll", "tail"):
        since = {"since_seq": 0} if verb == "poll" else {}
        found = face.error(verb, masked, encoding=encoding, code="invalid_argument", **since)
        assert "the masked values of this job are not found in" in found["message"]
        assert found["details"]["field"] == "encoding"
    plain = face.ok("run", command="echo text")["job_id"]
    assert face.ok("log", plain, encoding=encoding)["output"]


def test_the_pages_name_the_encodings_in_which_masked_values_are_found_in_the_same_words() -> None:
    pages = [
        Path(__file__).parents[3] / "docs" / page for page in ("explanation/security.md", "how-to/use-in-scripts.md")
    ]
    said = [re.search(r"Each line of a value that has.*?direction\.", page.read_text(), re.DOTALL) for page in pages]
    assert said[0] and said[1] and said[0][0] == said[1][0]
    named = re.findall(r"[\w-]+", re.sub(".*encodings|; of.*", "", said[0][0].replace("\n", " ")).replace(" and ", " "))
    assert [codecs.lookup(name).name for name in named] == list(forms.SEARCHED[len(forms.WIDE) :])

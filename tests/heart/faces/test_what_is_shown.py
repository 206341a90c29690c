"""What answers show of output that is made for terminals."""

from __future__ import annotations

from typing import Any

import pytest

from support.commands import python
from support.face import Face
from support.tiers import IN_TURN

FRAMES = (
    "for n in range(30):\n"
    " if n: out('\\x1b[2K\\x1b[1A' * 5 + '\\x1b[2K\\x1b[G')\n"
    " out(''.join(f'layer {row}: {n} of 30, pulling from the registry and more of it\\n' for row in range(5)))\n"
)
LAST = "".join(f"layer {row}: 29 of 30, pulling from the registry and more of it\n" for row in range(5))
PICTURE = "out('\\x1b]1337;File=inline=1:' + 'QUJD' * 15_000 + '\\x07')\n"


def job(face: Face, body: str) -> tuple[str, str]:
    """Run a program; return the job and what the answer shows of it."""
    command = python(f"import sys\nout = sys.stdout.write\n{body}")[1:]
    ran = face.ok("run", command=command, max_bytes=8_192, until=["exit"], yield_ms=20_000)
    return ran["job_id"], ran["output"]


def test_what_is_drawn_again_and_again_is_shown_once_and_the_log_has_all(face: Face) -> None:
    made, shown = job(face, f"out('start\\n')\n{FRAMES}out('end\\n')")
    assert shown == f"start\n{LAST}end\n"
    assert face.ok("log", made, limit=1, offset=147)["output"].startswith("layer 1: 29 ")


@pytest.mark.parametrize("around", [("before\n", "\n"), ("", "")])
def test_a_picture_takes_no_room(face: Face, around: tuple[str, str]) -> None:
    before, after = around
    _, shown = job(face, f"out({before!r})\n{PICTURE}out({after!r})\nout('accuracy 0.91\\n')")
    assert shown == f"{before}{after}accuracy 0.91\n"


@IN_TURN
@pytest.mark.parametrize(
    ("begin", "end"), [(r"\x1b]1337;File=inline=1:", r"\x07"), (r"\x1bPq", r"\x1b\\"), (r"\x1b_G", r"\x1b\\")]
)
@pytest.mark.parametrize("before", ["", "line of text\\n"])
def test_no_cut_shows_the_data_of_a_picture(face: Face, begin: str, end: str, before: str) -> None:
    made, shown = job(face, f"out('{before}' * 50_000 + '{begin}' + 'QUJD' * 140_000 + '{end}accuracy 0.91\\n')")
    assert shown.endswith("accuracy 0.91\n")
    begin_at = len(before.replace("\\n", "\n")) * 50_000
    parts = [
        shown,
        face.ok("poll", made, since_seq=begin_at + 200_000, max_bytes=500)["output"],
        face.ok("log", made, since_seq=begin_at, max_bytes=500)["output"],
        face.ok("tail", made, max_bytes=500)["stdout_tail"],
        face.ok("list", all=True)["jobs"][0]["last_line"],
    ]
    assert [part for part in parts if "QUJD" in part] == []
    assert parts[-1] == "accuracy 0.91"


@pytest.mark.parametrize(
    ("frames", "behind"), [("|/-+", ""), ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", ""), (".", ""), ("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", " installing packages")]
)
def test_a_spinner_that_prints_a_line_for_each_frame_is_a_few_lines(face: Face, frames: str, behind: str) -> None:
    lines = [frames[number % len(frames)] + behind for number in range(2_000)]
    made, shown = job(
        face,
        f"out('start\\n' + ''.join({frames!r}[n % {len(frames)}] + {behind!r} + '\\n' for n in range(2_000)) + 'done\\n')",
    )
    kept = "".join(f"{line}\n" for line in lines[:3])
    assert shown == f"start\n{kept}[... 1,997 more lines like these; log shows them ...]\ndone\n"
    assert face.ok("log", made, offset=4, limit=2)["output"] == "".join(f"{line}\n" for line in lines[3:5])
    assert face.ok("log", made, offset=0, limit=100)["output"].count("\n") == 100


@pytest.mark.parametrize("line", ["str(n % 10)", "'abc'[n % 3]", "'same line'", "'.F'[n == 30]", "'-' * (n + 1)"])
def test_lines_that_are_no_frames_are_all_shown(face: Face, line: str) -> None:
    _, shown = job(face, f"for n in range(60): out({line} + '\\n')")
    assert shown.count("\n") == 60


def test_a_sequence_without_an_end_swallows_no_line(face: Face) -> None:
    made, shown = job(face, "out('\\x1b]' + 'a' * 5_000 + '\\n' + 'b' * 5_000 + '\\n')")
    assert "b" * 2_000 in shown
    assert face.ok("log", made, since_seq=6_000)["output"] == "b" * (5_000 + 5_003 - 6_000) + "\n"


@pytest.mark.parametrize(
    "made", ["random.Random(3).randbytes(3_000)", "zlib.compress(random.Random(3).randbytes(2_989))"]
)
def test_bytes_that_are_no_text_are_a_short_dump(face: Face, made: str) -> None:
    command = python(f"import random, sys, zlib\nsys.stdout.buffer.write({made})")[1:]
    ran = face.ok("run", command=command, until=["exit"], yield_ms=20_000)
    first, *rows = ran["output"].splitlines()
    assert (first, len(rows), ran["next_seq"]) == ("[3,000 bytes, not text; it begins with:]", 4, 3_000)
    assert rows[0].startswith("00000000  ")
    assert "encoding" not in ran.get("hint", "")
    assert face.ok("log", ran["job_id"], limit=1)["output"] != ran["output"], "the log shows them"


def test_a_tail_begins_with_a_line_where_one_has_room_and_says_where_none_has(face: Face) -> None:
    job = face.ok("run", command="seq 100000 100400; seq -s x 100000 100400 >&2")["job_id"]
    found = face.ok("tail", job, max_bytes=40, detail="full")
    assert found["stdout_tail"] == "".join(f"{number}\n" for number in range(100396, 100401))
    assert (found["stdout_included_bytes"], found["stderr_included_bytes"]) == (35, 40)
    assert found["hint"] == "Of the only line of stderr the beginning has no room here."
    whole = face.ok("tail", job, max_bytes=42, stream="stdout")
    assert whole["stdout_tail"] == "".join(f"{number}\n" for number in range(100395, 100401))
    assert "hint" not in whole
    assert "hint" not in face.ok("tail", job, max_bytes=7, stream="stdout"), "one line, which is whole"
    assert "of stdout the" in face.ok("tail", job, max_bytes=6, stream="stdout")["hint"]


def test_what_a_full_screen_program_drew_is_not_mixed_into_a_line_when_it_has_ended(face: Face) -> None:
    drawn = r"\033[?1049h\033[24;1H'f' 2 lines\033[1;1Halpha\r\nbeta\r\n\033[3;1H~  \033[4;1H~  \033[24;1Hwritten\r\r\n\033[?1049l"
    found = face.ok("run", command=f'printf "{drawn}after\\n"', pty=True, until=["exit"])["output"]
    assert [line.strip() for line in found.splitlines()] == ["'f' 2 lines", "alpha", "beta", "~", "written", "after"]


def test_the_last_line_is_one_that_is_still_on_the_screen(face: Face) -> None:
    up, erase = "\\033[1A", "\\033[2K"
    frames = "for i in 1 2 3 4 5 6 7 8 9; do for f in - / '|'; do printf '%s resolving a package\\n%s' $f \"$UP\"; done; done"
    shown = {
        rf"printf 'done\nworking\n{up}{erase}'": "done",
        r"printf 'one\ntwo\nthree\n\033[2F\033[J'": "one",
        rf"printf 'one\ntwo\033[1F{erase}three\n\n'": "two",
        rf"UP='{up}{erase}'; echo done; UP=$(printf \"$UP\"); {frames}; {frames}; {frames}": "done",
        r"printf 'one\nspin\r\033[K'": "one",
    }
    for command, line in shown.items():
        job = face.ok("run", command=command)["job_id"]
        (row,) = (one for one in face.ok("list", all=True)["jobs"] if one["job_id"] == job)
        assert row["last_line"] == line, command


def test_of_a_job_that_waits_for_input_a_list_shows_the_prompt(face: Face) -> None:
    asks = "print('Python 3, a banner'); input('>>> ')"
    job = face.ok("run", command=["python3", "-c", asks], pty=True, until=["input"], yield_ms=20_000)["job_id"]
    (row,) = (one for one in face.ok("list", all=True)["jobs"] if one["job_id"] == job)
    assert (row["waiting_for_input"], row["last_line"]) == (True, ">>>")
    face.ok("kill", job)


def test_of_the_steps_of_a_build_that_goes_on_the_last_ones_are_shown(face: Face) -> None:
    steps = 'for i in $(seq 400); do echo "[$i/1000] Building CXX object src/file$i.o"; done'

    def shown(command: str, **given: Any) -> str:
        made = face.background(f"{command}; echo over >&2; exec sleep 60", **given)
        face.ok("wait", made, until=[{"regex": "over"}])
        text: str = face.ok("poll", made, since_seq=0, max_bytes=8_192)["output"]
        return text

    lines = shown(steps).splitlines()
    assert lines[-15:] == [*(f"[{n}/1000] Building CXX object src/file{n}.o" for n in range(387, 401)), "over"]
    assert len(lines) < 60 and any("not shown: log job_id=" in line for line in lines)
    assert "src/a.c:3:5: error: unknown type\n" in shown(f"{steps}; echo 'src/a.c:3:5: error: unknown type'; {steps}")
    assert shown(steps, stdin="open").count("\n") > 100, "it may have been asked for these lines"
    assert face.ok("run", command=steps, max_bytes=8_192)["output"].count("\n") > 100

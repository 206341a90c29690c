"""What of a job's output reaches a person's terminal: everything but what makes that terminal answer, print, or change
what the person would paste.

The job's supervisor answers the queries of its programs, so an answer of the terminal would be typed into the job,
where a shell may take it for a command. Output that was written to be seen as a log can hold such a query too. Escape
sequences are read as terminals do (ECMA-48, DEC's parser, xterm's ctlseqs): in 7-bit and 8-bit forms, with control
characters inside, broken off by another one. Sequences of kinds that are not known to be harmless are left out where a
string follows, and passed on where none does."""

from __future__ import annotations

import codecs
import re

_HELD = 4_096  # characters of an unfinished sequence that are held back; a longer one is left out


def _folded(low: str, high: str) -> str:
    """Return the part of a character class that a terminal takes for this range inside a sequence:
    many ignore the eighth bit there. U+DC80 and up are bytes that are not UTF-8."""
    ends = ord(low), ord(high)
    return "".join(f"{re.escape(chr(base + ends[0]))}-{re.escape(chr(base + ends[1]))}" for base in (0, 0x80, 0xDC80))


# Executed inside a sequence, which goes on; CAN, SUB and ESC end it
_C0 = r"\x00-\x17\x19\x1c-\x1f\x7f"
_C1 = r"\x80-\x9f\udc80-\udc9f"
# Text, and most of what programs send with it
_USUAL = re.compile(rf"(?>(?:[^\x05\x1b{_C1}]++|\x1b\[[0-9;:]*+[A-HJ-MPSTX@`adefghlmrs])+)")
_ESC = re.compile(rf"\x1b[{_C0}]*")
_INTERMEDIATE = re.compile(rf"[{_folded(' ', '/')}{_C0}]*")
_CSI_BODY = re.compile(rf"[{_folded(' ', '?')}{_C0}]*")
_FINAL = re.compile(rf"[{_folded('@', '~')}]")
_ESC_FINAL = re.compile(rf"[{_folded('0', '~')}]")
_STRING_BODY = re.compile(rf"[^\x07\x18\x1a\x1b{_C1}]*")
_UNSEEN_BODY = re.compile(rf"[^\x07\x0a\x18\x1a\x1b{_C1}]*")
_CSI = re.compile(r"([<=>?]?)([0-9;:]*)([ -/]*)([@-~])")
_STRINGS = frozenset("PX]^_")  # DCS SOS OSC PM APC, behind ESC

# Private marker, intermediates and final of sequences that a terminal answers or prints for
_ANSWERED = frozenset(
    {
        *(("", "", final) for final in "cnxi"),  # attributes, status, parameters; media copy
        *(("?", "", final) for final in "nuSmgi"),
        *((">", "", final) for final in "cq"),
        ("=", "", "c"),
        *((marker, "$", "p") for marker in ("", "?")),  # is a mode set?
        *(("", "$", final) for final in "uw"),
        *(("", middle, "u") for middle in "&,"),
        *(("", "'", final) for final in "w|"),
        *(("", "#", final) for final in "R|"),
        *(("", "*", "y"), ("", '"', "v"), ("", "+", "x")),
    }
)
_WINDOW_REPORTS = frozenset({11, 13, 14, 15, 16, 18, 19, 20, 21})  # of CSI t
_COLOURS = frozenset(
    {4, 5, 6, *range(10, 20), 22, *range(104, 107), *range(110, 120)}
)  # and the pointer: set, not queried
_TEXTS = frozenset({0, 1, 2, 7, 8, 133, 633, 777})  # titles, directory, links, marks, notes
_MARKS = ("SetMark", "CurrentDir=", "RemoteHost=", "ShellIntegrationVersion=")  # of OSC 1337
_SIXEL = re.compile(r"[0-9;]*q")
_UPDATE = re.compile(r"=[12]s")  # begin and end of a synchronized update


class ForTerminals:
    """Filters a stream of output. What is cut at the end of a piece waits for its rest."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._rest = ""
        self._in = ""  # shown | unseen: a string whose beginning decided it; csi: one that is too long

    def feed(self, data: bytes) -> bytes:
        """Return what of it is to be shown."""
        text = self._rest + self._decoder.decode(data)
        self._rest = ""
        out: list[str] = []
        at = 0
        while at < len(text):
            at = self._within(text, at, out) if self._in else self._next(text, at, out)
        return "".join(out).encode("utf-8", "surrogateescape")

    def _next(self, text: str, start: int, out: list[str]) -> int:
        """Take what is usual, or one sequence. Return where the next one begins."""
        usual = _USUAL.match(text, start)
        if usual is not None:
            out.append(usual[0])
            return usual.end()
        if text[start] == "\x05":  # ENQ: the answerback message
            return start + 1
        kind, behind = _introducer(text, start)
        if behind >= len(text) and kind in ("", "["):
            return self._hold(text, start, "csi" if kind else "")
        if kind == "[":
            return self._csi(text, start, behind, out)
        if kind in _STRINGS:
            return self._string(kind, text, start, behind, out)
        return self._escape(kind, text, start, behind, out)

    def _hold(self, text: str, start: int, too_long: str) -> int:
        """Keep an unfinished sequence for the next piece; leave it out if it is too long."""
        if len(text) - start <= _HELD:
            self._rest = text[start:]
        else:
            self._in = too_long
        return len(text)

    def _csi(self, text: str, start: int, behind: int, out: list[str]) -> int:
        body = _CSI_BODY.match(text, behind)
        assert body is not None
        if body.end() == len(text):
            return self._hold(text, start, "csi")
        final = _FINAL.match(text, body.end())
        if final is None:  # broken off: shown without its end, it would go on with what follows
            out.append(_executed(text[start : body.end()]))
            return body.end()
        whole = text[start : final.end()]
        harmless = _is_harmless(_plain(text[behind : final.end()]))
        out.append(whole.replace("\x05", "") if harmless else _executed(whole))
        return final.end()

    def _escape(self, kind: str, text: str, start: int, behind: int, out: list[str]) -> int:
        """Take ESC and what follows, or an 8-bit control that begins no string."""
        if kind != "\x1b":
            if kind != "Z":  # DECID
                out.append(text[start:behind])
            return behind
        middle = _INTERMEDIATE.match(text, behind)
        assert middle is not None
        if middle.end() == len(text):
            return self._hold(text, start, "")
        final = _ESC_FINAL.match(text, middle.end())
        end = middle.end() if final is None else final.end()
        whole = text[start:end]
        said = _plain(text[behind:end])
        # DECID; another character set, in which bytes of UTF-8 are controls; answers in 8 bits
        harmful = final is None or said == "Z" or said.startswith("%") or said == " G"
        out.append(_executed(whole) if harmful else whole.replace("\x05", ""))
        return end

    def _string(self, kind: str, text: str, start: int, behind: int, out: list[str]) -> int:
        body = _STRING_BODY.match(text, behind)
        assert body is not None
        content = _plain(body[0], fold=False)
        end, ended = _string_end(text, body.end(), bell=kind == "]")
        if end > len(text):  # unfinished
            if len(text) - start <= _HELD:
                return self._hold(text, start, "")
            self._in = "shown" if _is_shown(kind, content, whole=False) else "unseen"
            if self._in == "shown":
                out.append(text[start : body.end()].replace("\x05", ""))
                return body.end()
            return behind
        if not ended or not _is_shown(kind, content, whole=True):
            if ended and "\n" not in body[0]:
                return end
            self._in = "unseen"  # up to the end of the line: a stray introducer swallows no more
            return behind
        out.append(text[start:end].replace("\x05", ""))
        return end

    def _within(self, text: str, at: int, out: list[str]) -> int:
        """Go on with a sequence whose beginning was shown or left out."""
        if self._in == "csi":
            body = _CSI_BODY.match(text, at)
            assert body is not None
            if body.end() < len(text):
                self._in = ""
                final = _FINAL.match(text, body.end())
                return body.end() if final is None else final.end()
            return len(text)
        shown = self._in == "shown"
        body = (_STRING_BODY if shown else _UNSEEN_BODY).match(text, at)
        assert body is not None
        if shown:
            out.append(body[0].replace("\x05", ""))
        if body.end() == len(text):
            return len(text)
        end, ended = _string_end(text, body.end(), bell=True)
        if end > len(text):  # ESC, and perhaps a backslash next
            self._rest = text[body.end() :]
            return len(text)
        self._in = ""
        if shown and ended:
            out.append(text[body.end() : end])
        elif shown:  # else the terminal would still wait for its end
            out.append("\x1b\\")
        return end if ended else body.end()


def _introducer(text: str, start: int) -> tuple[str, int]:
    """Return what begins at `start` as the character behind ESC if it is a CSI, a string or one
    8-bit control, else ESC; "" if it is not known yet. And where what follows begins."""
    if text[start] != "\x1b":
        return chr((ord(text[start]) & 0xFF) - 0x40), start + 1
    match = _ESC.match(text, start)
    assert match is not None
    if match.end() == len(text):
        return "", len(text)
    kind = _plain(text[match.end()])
    return (kind, match.end() + 1) if kind == "[" or kind in _STRINGS else ("\x1b", match.end())


def _string_end(text: str, at: int, *, bell: bool) -> tuple[int, bool]:
    """Return where a string whose body ends at `at` is over, and whether by a terminator. Beyond
    the end of the text: not yet."""
    if at >= len(text) or text[at:] == "\x1b":
        return len(text) + 1, False
    if text.startswith("\x1b\\", at):
        return at + 2, True
    if text[at] in ("\x9c", "\udc9c"):
        return at + 1, True
    if text[at] == "\x07":  # xterm ends an OSC by it; others any string
        return at + 1, bell
    return at, False


def _plain(text: str, *, fold: bool = True) -> str:
    """Return a part of a sequence without the controls inside, in seven bits."""
    return "".join(
        chr(ord(char) & 0x7F) if fold and (ord(char) < 0x100 or ord(char) >= 0xDC80) else char
        for char in text
        if not (char < " " or char == "\x7f")
    )


def _executed(sequence: str) -> str:
    """Return the controls inside a sequence that is left out: a terminal executes them at once."""
    return "".join(char for char in sequence if char in "\x07\x08\t\n\x0b\x0c\r")


def _is_harmless(csi: str) -> bool:
    match = _CSI.fullmatch(csi)
    if match is None:
        return False
    marker, params, middle, final = match.groups()
    if (marker, middle, final) == ("", "", "t"):
        first = re.split("[;:]", params)[0]
        return not (first and int(first[-6:]) in _WINDOW_REPORTS)
    return (marker, middle, final) not in _ANSWERED


def _is_shown(kind: str, content: str, *, whole: bool) -> bool:
    """Return whether a string may reach the terminal. Of an unfinished one the beginning is known."""
    if kind == "P":
        return bool(_SIXEL.match(content) or (whole and _UPDATE.fullmatch(content)))
    if kind != "]":
        return False
    number, _, rest = content.partition(";")
    code = int(number) if number.isascii() and number.isdigit() and len(number) < 6 else -1
    if code == 1337:
        head = rest.partition(":")[0]
        return (head.startswith("File=") and "inline=1" in head.split("=", 1)[1].split(";")) or (
            whole and rest.startswith(_MARKS)
        )
    if not whole:
        return False
    if code in _COLOURS:
        return "?" not in rest
    if code == 9:  # a note, or progress; other numbers run macros
        return rest.startswith("4;") or not re.match(r"\d+(;|\Z)", rest)
    return code in _TEXTS
